//! `cajole generate`: data to try things out with.

use std::io::{BufWriter, Write, stdout};

use cajole_tasks::pairs::generated::{Split, generate};
use serde_json::json;

use crate::args::{Expressions, Generate, Kind, PairsSplit};

pub(crate) fn run(what: &Generate) -> anyhow::Result<()> {
    match &what.what {
        Kind::Expressions(what) => expressions(what),
    }
}

fn expressions(what: &Expressions) -> anyhow::Result<()> {
    let Expressions { n, operands, split, seed } = what;
    let (split, name) = match split {
        PairsSplit::Train => (Split::Train, "train"),
        PairsSplit::Dev => (Split::Dev, "dev"),
        PairsSplit::Test => (Split::Test, "test"),
    };
    let mut out = BufWriter::new(stdout().lock());
    for (i, pair) in generate(split, *n, operands, *seed).enumerate() {
        let (id, input) = (format!("{name}-{seed}-{i}"), pair.input.join(" "));
        let line = json!({"id": id, "input": input, "output": pair.output.join(" ")});
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}
