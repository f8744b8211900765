//! Other programs' networks. One binary, because each links every network.

mod elmo;
mod srl;
mod torch;
mod torch_transformer;
