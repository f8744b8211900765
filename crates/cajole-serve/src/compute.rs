//! The threads that answer inputs. The event loop never does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use cajole_core::UnknownParameter;
use cajole_infer::record::Record;
use cajole_infer::run::Hand;

use crate::limits::LONG_BYTES;
use crate::metrics::Metrics;
use crate::models::Network;
use crate::queue::{Item, Lane, Queue};
use crate::request::Input;
use crate::ticket::{Done, Entry, Receipt, Terms};

/// The niceness of threads for large requests, so that small ones come first.
const NICENESS: i32 = 10;

/// Starts `threads` threads for small requests, and as many for large ones.
pub(crate) fn start(
    queue: &Arc<Queue<Entry>>,
    metrics: &Arc<Metrics>,
    threads: usize,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let lanes = [(Lane::Small, "small"), (Lane::Large, "large")];
    let all = lanes.iter().flat_map(|lane| std::iter::repeat_n(lane, threads));
    all.map(|&(lane, name)| {
        let (queue, metrics) = (queue.clone(), metrics.clone());
        Builder::new().name(name.to_owned()).spawn(move || {
            if lane == Lane::Large {
                be_nice();
            }
            work(&queue, lane, &metrics);
        })
    })
    .collect()
}

#[cfg(target_os = "linux")]
fn be_nice() {
    // On Linux this affects the calling thread only. If it fails, all threads are equal.
    let _ = rustix::process::nice(NICENESS);
}

#[cfg(not(target_os = "linux"))]
fn be_nice() {
    let _ = NICENESS; // elsewhere it would affect the whole process
}

fn work(queue: &Queue<Entry>, lane: Lane, metrics: &Metrics) {
    // Memory of the network that was used last.
    let mut kept: Option<(Network, Hand<'static>)> = None;
    while let Some(lot) = queue.take(lane) {
        let Some(terms) = lot.first().map(|entry| entry.terms().clone()) else { continue };
        let is_long = lot.iter().any(|entry| LONG_BYTES < entry.bytes());
        let (inputs, receipts): (Vec<Input>, Vec<Receipt>) =
            lot.into_iter().map(Entry::split).unzip();
        metrics.lot(inputs.len());
        let (network, mut hand) = match kept.take() {
            Some((network, hand)) if std::ptr::addr_eq(network, terms.network) => (network, hand),
            _ => (terms.network, terms.network.hand()),
        };
        // A bug in one lot must not cost the others their thread.
        let records = catch_unwind(AssertUnwindSafe(|| answer(&mut hand, inputs, &terms)));
        match records {
            Ok(Ok(records)) if records.len() == receipts.len() => {
                hand_over(receipts, &records, metrics);
                // Memory that a long input took is not kept for the short ones that follow.
                kept = (!is_long).then_some((network, hand));
            }
            _ => {
                metrics.lost();
                tracing::error!(model = network.name(), "the work on a lot of inputs was lost");
                for receipt in receipts {
                    let lost = receipt.lost();
                    receipt.send(lost);
                }
            }
        }
    }
}

/// Delivers the records of a lot. All are written first, so that the event loop wakes up once for
/// the lot, not for each record.
fn hand_over(receipts: Vec<Receipt>, records: &[Record], metrics: &Metrics) {
    let done: Vec<Done> =
        receipts.iter().zip(records).map(|(of, record)| of.done(record)).collect();
    done.iter().for_each(|done| metrics.answered(&done.figures));
    receipts.into_iter().zip(done).for_each(|(receipt, done)| receipt.send(done));
}

fn answer(
    hand: &mut Hand<'_>,
    inputs: Vec<Input>,
    terms: &Terms,
) -> Result<Vec<Record>, UnknownParameter> {
    hand.answer(inputs, terms.rules.as_ref(), &terms.settings)
}
