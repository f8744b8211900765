//! `cajole evalb`: trees against gold's, by evalb's measure.

use std::path::PathBuf;

use anyhow::bail;
use cajole_tasks::Watch;
use cajole_treebank::evalb::{Evaluation, Params};

use crate::Session;
use crate::screen::{self, Screen};

/// Score parse trees as evalb does: brackets, crossings and tags, in evalb's own table
#[derive(clap::Args, Debug)]
pub(crate) struct Evalb {
    /// The right trees, one sentence per line
    pub(crate) gold: PathBuf,

    /// The trees to score, line by line; a blank line is a sentence without a parse
    pub(crate) test: PathBuf,

    /// A parameter file of evalb [default: Collins's, built in]
    #[arg(long, value_name = "FILE")]
    pub(crate) param: Option<PathBuf>,
}

pub(crate) fn run(what: &Evalb, session: &Session) -> anyhow::Result<()> {
    let params = match &what.param {
        None => Params::collins(),
        Some(path) => Params::read(path)?,
    };
    let evaluation = Evaluation::of_files(&what.gold, &what.test, &params)?;
    let screen = Screen::new();
    evaluation.messages().for_each(|message| screen.say(&message));
    match session.json {
        true => screen::print(&serde_json::to_string_pretty(&evaluation.to_json())?)?,
        false => screen::print(&evaluation.to_string())?,
    }
    if evaluation.is_cut_off {
        let (line, most) = (evaluation.sentences.len(), params.most_errors);
        let errors = evaluation.all.errors;
        bail!(
            "{errors} errors, and MAX_ERROR is {most}: stopped at {}:{line}",
            what.test.display()
        );
    }
    Ok(())
}
