//! `cajole lint`: what rules say of outputs that are known to be right.

use anyhow::{Context, bail};
use cajole_infer::line::{Line, LineError};
use cajole_infer::lint::{Gold, Lint as Linter, Look, Names};
use cajole_rules::Rules;
use cajole_tasks::experiment::Watch;

use crate::args::Args;
use crate::args::infer::Lint;
use crate::infer::source;
use crate::screen::{self, Screen};

pub(crate) fn run(what: &Lint, args: &Args) -> anyhow::Result<()> {
    let separator = if what.characters { "" } else { " " };
    let look = Look { by: what.by.clone(), verbs: what.verbs, separator: separator.to_owned() };
    let screen = Screen::new();
    // Twice: first for the symbols that there are, then for what the rules say of them.
    for path in &what.files {
        let cannot = || format!("cannot read {}", path.display());
        if !path.metadata().with_context(cannot)?.is_file() {
            bail!("{} is no file, and cannot be read twice", path.display());
        }
    }
    let mut names = Names::default();
    let bad = each(what, &look, Some(&screen), |gold| {
        names.add(gold);
        Ok(())
    })?;
    let vocabulary = names.with_rules(&what.constraint, separator);
    let rules = Rules::read(&what.constraint, &vocabulary)?;
    let mut lint = Linter::new(&rules, &vocabulary, what.examples);
    each(what, &look, None, |gold| Ok(lint.add(gold)?))?;
    let report = lint.report(&what.constraint.display().to_string());
    match args.json {
        true => screen::print(&report.to_json())?,
        false => {
            for table in &report.tables {
                let text = table.to_text(screen::width(), screen::has_colour());
                screen::print(&format!("{text}\n"))?;
                screen::print("")?;
            }
        }
    }
    match bad {
        0 => Ok(()),
        n => bail!("{n} line{} could not be read; see above", if n == 1 { "" } else { "s" }),
    }
}

/// Calls `look` at every right output; returns how many lines are bad.
fn each(
    what: &Lint,
    look: &Look,
    told: Option<&Screen>,
    mut at: impl FnMut(&Gold) -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    let mut bad = 0;
    for path in &what.files {
        let mut source = source(path)?;
        while let Some((number, text)) =
            source.line().with_context(|| format!("cannot read {}", path.display()))?
        {
            let line = text.map_err(LineError::from).and_then(|text| Line::parse(number, text));
            let golds = line.and_then(|line| line.map_or(Ok(Vec::new()), |line| look.golds(&line)));
            match golds {
                Ok(golds) => golds.iter().try_for_each(&mut at)?,
                Err(error) => {
                    bad += 1;
                    if let Some(screen) = told {
                        screen.say(&format!("passed over: {}:{number}: {error}", path.display()));
                    }
                }
            }
        }
    }
    Ok(bad)
}
