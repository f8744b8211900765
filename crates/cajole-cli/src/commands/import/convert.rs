//! Reads the network and writes the checkpoint.

use std::path::Path;

use anyhow::Context;
use cajole_nn::checkpoint::Precision;
use cajole_nn::models::transformer::EncoderDecoderConfig;
use cajole_tasks::Checkpoint;
use cajole_tasks::srl::ElmoFiles;

use super::{Allennlp, Torch};
use crate::Session;
use crate::output::folder;
use crate::screen;

/// Writes a checkpoint folder, all of it or nothing.
fn save<C: Checkpoint>(
    network: &C,
    card: &C::Card,
    out: &Path,
    overwrite: bool,
) -> anyhow::Result<()> {
    let folder = folder(out, overwrite)?;
    C::claim(&folder)?;
    Ok(network.save(&folder, card, Precision::F32)?)
}

pub(super) fn torch(what: &Torch, session: &Session) -> anyhow::Result<()> {
    let Torch { file, mapping, out, overwrite } = what;
    let (writer, card) = cajole_import::writer::torch(file, mapping)
        .with_context(|| format!("cannot import {}", file.display()))?;
    save(&writer, &card, out, *overwrite)?;
    if session.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    let EncoderDecoderConfig { reads, encoder, writes, decoder, .. } = &card.network;
    screen::print(&format!(
        "{}: {} + {} layers of {} units; {} symbols read, {} written.",
        out.display(),
        encoder.layers,
        decoder.layers,
        encoder.width,
        reads.symbols,
        writes.symbols,
    ))
}

pub(super) fn allennlp(what: &Allennlp, session: &Session) -> anyhow::Result<()> {
    let Allennlp { archive, out, overwrite, options, weights } = what;
    let elmo = options.clone().zip(weights.clone());
    let elmo = elmo.map(|(options, weights)| ElmoFiles { options, weights });
    let (tagger, card) = cajole_import::srl::allennlp(archive, elmo.as_ref())
        .with_context(|| format!("cannot import {}", archive.display()))?;
    save(&tagger, &card, out, *overwrite)?;
    if session.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    let (network, lexicon) = (&card.network, &tagger.vocabulary.lexicon);
    let elmo = match &tagger.vocabulary.embedder {
        None => String::new(),
        Some(embedder) => format!(", ELMo vectors of {}", embedder.elmo().dim()),
    };
    let (layers, units) = network.size();
    let layers = match layers {
        1 => "1 layer".to_owned(),
        n => format!("{n} layers"),
    };
    screen::print(&format!(
        "{}: {layers} of {units} units; {} words{elmo}, {} tags.",
        out.display(),
        lexicon.words().len(),
        network.tags(),
    ))
}
