//! An iteration of one input whose weights all move, beside one of twenty inputs in step that move only
//! biases, on one thread.
//!
//! Inputs that move biases share every matrix, so that a whole set is one pass, forward and backward.
//! This is what the `small` preset gains by it.

use std::borrow::Borrow;
use std::time::Duration;

use anyhow::{Result, ensure};
use cajole_core::corpus::BATCH;
use cajole_core::{Model, Moving};
use serde_json::{Value, json};

use crate::iteration::{Iteration, Worker};
use crate::{ms, parsing, tagger};

/// Checks that inputs in step come to what they come to alone.
pub(crate) fn prepare() -> Result<Value> {
    let net1 = parsing::model();
    let of = |in_step| parsing::iteration(&net1, BIASES, in_step);
    check(of, &parsing::cases(&net1, BATCH))?;
    let tagger = tagger::model()?;
    let parts = tagger::Parts::new(&tagger.net.tags);
    check(|in_step| parts.of(&tagger, BIASES, in_step), &tagger::cases(BATCH))?;
    Ok(json!({ "in_step": BATCH }))
}

/// One round: time per input and iteration, of both networks either way.
pub(crate) fn time() -> Result<Value> {
    let net1 = parsing::model();
    let of = |moves, in_step| parsing::iteration(&net1, moves, in_step);
    let [net1_all, net1_biases] = times(of, &parsing::cases(&net1, BATCH));
    let tagger = tagger::model()?;
    let parts = tagger::Parts::new(&tagger.net.tags);
    let of = |moves, in_step| parts.of(&tagger, moves, in_step);
    let [tagger_all, tagger_biases] = times(of, &tagger::cases(BATCH));
    Ok(json!({
        "net1_all_ms": ms(net1_all),
        "net1_biases_ms": ms(net1_biases),
        "tagger_all_ms": ms(tagger_all),
        "tagger_biases_ms": ms(tagger_biases),
    }))
}

const ALL: &[&str] = &[];
const BIASES: &[&str] = &[Moving::VECTORS];

/// Per input: all weights of one at a time, and the biases of a set.
fn times<'a, M: Model + 'a, X: Borrow<M::Input>>(
    of: impl Fn(&'static [&'static str], usize) -> Iteration<'a, M>,
    cases: &[X],
) -> [Duration; 2]
where
    M::Input: 'a,
{
    [(ALL, 1), (BIASES, BATCH)].map(|(moves, in_step)| {
        Worker::new(of(moves, in_step)).times(cases, Duration::from_millis(500)).iteration
    })
}

/// After a step, every input decodes to the same output, alone or in a set.
fn check<'a, M: Model + 'a, X: Borrow<M::Input>>(
    of: impl Fn(usize) -> Iteration<'a, M>,
    cases: &[X],
) -> Result<()>
where
    M::Input: 'a,
{
    let xs: Vec<&M::Input> = cases.iter().map(Borrow::borrow).collect();
    let mut set = Worker::new(of(xs.len()));
    set.iterate(&xs);
    set.decode(&xs);
    let mut one = Worker::new(of(1));
    for (i, x) in xs.iter().enumerate() {
        one.restore();
        one.iterate(&[x]);
        one.decode(&[x]);
        let (alone, in_step) = (one.found[0].best(), set.found[i].best());
        let same = alone.zip(in_step).is_some_and(|(alone, in_step)| {
            alone.output == in_step.output
                && (alone.log_prob - in_step.log_prob).abs() <= 1e-4 * alone.log_prob.abs().max(1.0)
        });
        ensure!(same, "input {i} is decoded differently in a set");
    }
    Ok(())
}
