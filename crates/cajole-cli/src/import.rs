//! `cajole import`: networks that were trained elsewhere, as checkpoints.

use anyhow::{Context, bail};
use cajole_nn::checkpoint::Precision;
use cajole_tasks::checkpoint;
use cajole_tasks::srl::{self, ElmoFiles};

use crate::args::{Allennlp, Args, Import, Origin};
use crate::screen;

pub(crate) fn run(what: &Import, args: &Args) -> anyhow::Result<()> {
    match &what.from {
        Origin::Allennlp(what) => allennlp(what, args),
    }
}

fn allennlp(what: &Allennlp, args: &Args) -> anyhow::Result<()> {
    let Allennlp { archive, out, options, weights } = what;
    if checkpoint::exists(out) {
        bail!("{} holds a checkpoint already", out.display());
    }
    let elmo = options.clone().zip(weights.clone());
    let elmo = elmo.map(|(options, weights)| ElmoFiles { options, weights });
    let (tagger, card) = srl::import::allennlp(archive, elmo.as_ref())
        .with_context(|| format!("cannot import {}", archive.display()))?;
    srl::tagger::save(out, &tagger, &card, Precision::F32)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    let (network, lexicon) = (&card.network, &tagger.vocabulary.lexicon);
    let elmo = match network.dense {
        0 => String::new(),
        n => format!(", ELMo vectors of {n}"),
    };
    let layers = match network.layers {
        1 => "1 layer".to_owned(),
        n => format!("{n} layers"),
    };
    screen::print(&format!(
        "{}: {layers} of {} units; {} words{elmo}, {} tags.",
        out.display(),
        network.hidden,
        lexicon.words().len(),
        network.tags,
    ))
}
