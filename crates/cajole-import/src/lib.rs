//! Networks that other programs trained, as checkpoints.
//!
//! - [`srl`]: role labelers of AllenNLP. [`allennlp`] reads the archives that they come in.
//! - [`writer`]: encoder-decoders around PyTorch's `nn.Transformer`, which are bare state dicts.
//!   [`torch_transformer`] places their tensors.
//! - [`torch`]: the tensors of PyTorch's files.
//!
//! Published networks come as Python pickles. These become named [`Tensors`] of `f32`; mapping them to
//! parameters is up to the network. The files are untrusted: nothing in them is executed, memory use is
//! bounded by the file size, and malformed bytes are only ever an error.
//!
//! Two formats are read elsewhere, because networks are opened in them: Hugging Face folders in
//! [`cajole_nn::import`], and ELMo's HDF5 files, which checkpoints hold, in
//! [`cajole_nn::models::elmo`].

pub mod allennlp;
mod pickle;
pub mod srl;
mod tensors;
pub mod torch;
pub mod torch_transformer;
pub mod writer;

pub use tensors::{Tensors, expect};
