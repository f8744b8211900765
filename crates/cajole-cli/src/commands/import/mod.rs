//! `cajole import`: networks that were trained elsewhere, as checkpoints.

#[cfg(feature = "import")]
mod convert;

use std::path::PathBuf;

use crate::Session;

/// Make a checkpoint from a network that was trained elsewhere
#[derive(clap::Args, Debug)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) from: Origin,
}

#[derive(clap::Subcommand, Debug)]
pub(crate) enum Origin {
    /// A semantic role labeler from AllenNLP, as a tagger for role labeling
    ///
    /// ARCHIVE is a model.tar.gz, or the folder of a training run with config.json, best.th and
    /// vocabulary/ in it. Its model must be of type srl: word embeddings, ELMo's vectors or both,
    /// and an lstm or alternating_lstm encoder. The checkpoint computes the same probabilities,
    /// looks up words and decodes as AllenNLP does:
    ///
    ///     cajole import allennlp model.tar.gz --out srl
    ///
    /// A network that reads ELMo's vectors needs the two files that its ELMo is published in; they
    /// are checked against the archive and copied into the checkpoint:
    ///
    ///     cajole import allennlp model.tar.gz --options options.json --weights weights.hdf5 --out srl
    #[command(verbatim_doc_comment)]
    Allennlp(Allennlp),
    /// An encoder-decoder around PyTorch's nn.Transformer that reads and writes characters
    ///
    /// FILE is a state dict that torch.save wrote. Nothing in it is executed. The mapping file names
    /// the tensors around nn.Transformer and the vocabulary, and says what shapes cannot:
    ///
    ///     [network]
    ///     transformer = "transformer"     # the prefix of nn.Transformer's tensors
    ///     reads = "src_emb.weight"        # the table of what is read
    ///     writes = "trg_emb.weight"       # the table of what is written
    ///     output = "generator"            # the linear layer that scores symbols
    ///     ignored = ["positions.pe"]      # tensors that the network does without
    ///     heads = 8
    ///     positions = 5000                # sines and cosines in turn
    ///     scales-symbols = true           # rows of symbols times the root of their width
    ///
    ///     [symbols]
    ///     vocabulary = "vocab.json"       # characters and their numbers, beside this file
    ///     start = "<SOS>"
    ///     end = "<EOS>"
    ///     unknown = "<UNK>"
    ///     special = ["<PAD>"]
    ///     ends-input = true
    ///     max-length = 64
    ///
    /// Hugging Face folders need no import: --model FOLDER reads them directly.
    #[command(verbatim_doc_comment)]
    Torch(Torch),
}

#[derive(clap::Args, Debug)]
pub(crate) struct Torch {
    /// The state dict
    pub(crate) file: PathBuf,

    /// The mapping file
    #[arg(long, value_name = "FILE")]
    pub(crate) mapping: PathBuf,

    /// Where the checkpoint goes
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,

    /// Replace files of a checkpoint that are there; what is imported is never replaced
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Allennlp {
    /// The archive or folder
    pub(crate) archive: PathBuf,

    /// Where the checkpoint goes
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,

    /// Replace files of a checkpoint that are there; what is imported is never replaced
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// The options of the ELMo that the network reads
    #[arg(long, value_name = "FILE", requires = "weights")]
    pub(crate) options: Option<PathBuf>,

    /// The weights of that ELMo
    #[arg(long, value_name = "FILE", requires = "options")]
    pub(crate) weights: Option<PathBuf>,
}

#[cfg(feature = "import")]
pub(crate) fn run(what: &Import, session: &Session) -> anyhow::Result<()> {
    match &what.from {
        Origin::Allennlp(what) => convert::allennlp(what, session),
        Origin::Torch(what) => convert::torch(what, session),
    }
}

/// Without its readers the command stays in the help, and says where it is.
#[cfg(not(feature = "import"))]
pub(crate) fn run(what: &Import, _: &Session) -> anyhow::Result<()> {
    let (file, from) = match &what.from {
        Origin::Allennlp(Allennlp { archive, .. }) => (archive, "AllenNLP archives"),
        Origin::Torch(Torch { file, .. }) => (file, "PyTorch state dicts"),
    };
    anyhow::bail!(
        "cannot import {}: this build reads no {from}: cargo build --release --features import",
        file.display()
    )
}
