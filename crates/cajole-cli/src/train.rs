//! `cajole train`: a network from a seed, as a checkpoint folder.

use std::fs;

use anyhow::Context;
use cajole_tasks::experiment::finish;
use cajole_tasks::transduction::{Splits, TransductionConfig, checkpoint, train};

use crate::args::{Args, Task, Train};
use crate::screen::{self, Screen};
use crate::settings;

pub(crate) fn run(what: &Train, args: &Args) -> anyhow::Result<()> {
    let Task::Transduction = what.task;
    let config: TransductionConfig = settings::read(TransductionConfig::DEFAULT, &what.settings)?;
    let folder = &what.out;
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let splits = Splits::new(0);
    let screen = Screen::new();
    let (network, training) = (&config.network, &config.training);
    let (model, card) = train(network, training, &splits, what.seed, Some(folder), &screen)
        .with_context(|| format!("remove {} to start afresh", folder.display()))?;
    checkpoint::save(folder, &model, &card)?;
    finish(folder)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&card)?);
    }
    screen::print(&format!(
        "{}: {:.1} % of the training inputs come out right, {:.1} % of the held-out ones.\n\
         Try `cajole explain --model {0}` or `cajole eval --model {0}`.",
        folder.display(),
        card.train_exact,
        card.dev_exact
    ))
}
