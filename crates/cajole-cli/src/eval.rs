//! `cajole eval`: a network on a whole split, before and after.

use std::sync::atomic::{AtomicU64, Ordering};

use cajole_core::Symbol;
use cajole_core::report::{Cell, Table};
use cajole_tasks::experiment::{Repair, Watch};
use cajole_tasks::transduction::{Failures, Splits};

use crate::args::{Args, Eval, Split};
use crate::model::Ready;
use crate::screen::{self, Screen};

pub(crate) fn run(what: &Eval, args: &Args) -> anyhow::Result<()> {
    let ready = Ready::new(&what.cajoling)?;
    let splits = Splits::new(ready.config.tuning.inputs);
    let (name, inputs) = match what.split {
        Split::Train => ("train", &splits.train),
        Split::Dev => ("dev", &splits.dev),
        Split::Tune => ("tune", &splits.tune),
        Split::Test => ("test", &splits.test),
    };
    let failures = Failures::find(&ready.model, ready.kind, inputs);
    let screen = Screen::new();
    screen.begin("repairing", failures.cases.len() as u64);
    let xs: Vec<&[Symbol]> = failures.cases.iter().map(|(x, _)| *x).collect();
    let done = AtomicU64::new(0);
    let outcomes = ready.with_gbi(|gbi| {
        gbi.run_all(&xs, |_, _| {
            screen.advance(done.fetch_add(1, Ordering::Relaxed) + 1, "");
        })
    })?;
    screen.end();
    let repairs: Vec<Repair> = outcomes.into_iter().map(Repair::from).collect();
    let preset = format!("{:?}", what.cajoling.preset).to_lowercase();
    let row = failures.row(name, &format!("gbi {preset}"), &repairs);
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&row)?);
    }
    let figure = |name: &str| Cell::number(row.figure(name), 1);
    let caption = format!(
        "{} of {} {name} outputs violate the {}",
        row.failures,
        row.total,
        ready.kind.describe()
    );
    let table = Table::new(caption, ["", "before", "after"])
        .row([Cell::plain("failures converted, %"), Cell::plain(""), figure("conversion")])
        .row([
            Cell::plain("accuracy on failures, %"),
            figure("accuracy_before"),
            figure("accuracy_after"),
        ])
        .row([
            Cell::plain("exact match on failures, %"),
            figure("exact_before"),
            figure("exact_after"),
        ])
        .row([
            Cell::plain("exact match on all, %"),
            figure("whole_exact_before"),
            figure("whole_exact_after"),
        ]);
    screen::print(&table.to_text(screen::width(), screen::has_colour()))
}
