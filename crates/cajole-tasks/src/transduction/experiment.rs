//! The whole transduction experiment: train, find failures, repair them by every method, report.

use std::path::Path;

use cajole_core::report::{Report, Row};
use cajole_core::{Symbol, UnknownGroup};
use cajole_nn::models::StartState;

use super::case_study::{case_study, sample_repairs};
use super::checkpoint;
use super::config::TransductionConfig;
use super::constraint::ConstraintKind;
use super::language::Splits;
use super::methods::{Failures, Method, Net};
use super::tables;
use super::training::train;
use super::tuning::{choose_step_size, papers_step_size};
use crate::checkpoint::LoadError;
use crate::experiment::{Watch, converted_steps};

/// Why the experiment could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] LoadError),
    /// A preset does not fit the network.
    #[error(transparent)]
    Preset(#[from] UnknownGroup),
}

/// What was measured on one network with one constraint.
pub(super) struct Measured {
    pub(super) start_state: StartState,
    pub(super) kind: ConstraintKind,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
    /// Steps of each conversion and number of failures, by method that nudges.
    pub(super) steps: Vec<(String, Vec<usize>, usize)>,
}

/// Runs the experiment. Networks are kept under `out`, if given.
///
/// # Errors
/// If a network cannot be kept, or a preset does not fit it.
pub fn reproduce(
    config: &TransductionConfig,
    out: Option<&Path>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    let mut splits = Splits::new(config.tuning.inputs);
    if let Some(n) = config.test_inputs {
        splits = splits.with_test_inputs(n);
    }
    let (mut measured, mut cases) = (Vec::new(), Vec::new());
    for &start_state in &config.start_states {
        for &seed in &config.seeds {
            let name = format!("{}-{seed}", start_state.name());
            watch.say(&format!("\n{name}: a decoder started from {}", start_state.describe()));
            let mut network = config.network.clone();
            network.start_state = start_state;
            let (model, card) = train(&network, &config.training, &splits, seed, None, watch)?;
            watch.say(&format!(
                "  trained; {:.1} % of the training inputs and {:.1} % of the held-out ones come \
                 out right",
                card.train_exact, card.dev_exact
            ));
            if let Some(out) = out {
                checkpoint::save(&out.join("nets").join(&name), &model, &card)?;
            }
            for kind in ConstraintKind::ALL {
                measured.push(measure(&name, &model, kind, config, &splits, watch)?);
            }
            if seed == config.seeds[0] {
                cases.extend(case_study(&name, &model, config, &splits.test)?);
            }
        }
    }
    Ok(tables::report(config, &measured, cases))
}

/// Every method on one network's failures under one constraint.
fn measure(
    name: &str,
    model: &Net,
    kind: ConstraintKind,
    config: &TransductionConfig,
    splits: &Splits,
    watch: &dyn Watch,
) -> Result<Measured, UnknownGroup> {
    let failures = Failures::find(model, kind, &splits.test);
    watch.say(&format!(
        "  {}: {} of {} test outputs violate it",
        kind.describe(),
        failures.cases.len(),
        failures.total
    ));
    let methods = methods(&failures, config, &splits.tune, watch)?;
    let mut rows = vec![failures.row(name, "greedy", &failures.untouched())];
    let mut steps = Vec::new();
    for method in methods {
        let method_name = method.name(&config.rivals);
        watch.begin(&method_name, failures.cases.len() as u64);
        let repairs = failures.repair(&method, config, watch)?;
        watch.end();
        let mut row = failures.row(name, &method_name, &repairs);
        if let Method::Paper(step_size) | Method::PaperPoint(step_size) = method {
            // The shortest decimal, not the nearest binary fraction.
            row = row.with("step_size", step_size.to_string().parse().unwrap_or(f64::NAN));
        }
        if matches!(method, Method::Paper(_)) && kind == ConstraintKind::Count {
            sample_repairs(&failures, &repairs).iter().for_each(|line| watch.say(line));
        }
        watch.say(&summary(&row));
        if repairs.iter().any(|r| r.steps.is_some()) {
            steps.push((method_name, converted_steps(&repairs), repairs.len()));
        }
        rows.push(row);
    }
    let start_state = model.net.config.start_state;
    Ok(Measured { start_state, kind, rows, steps })
}

/// The methods, with the step sizes that plain SGD needs to be told.
fn methods(
    failures: &Failures<'_>,
    config: &TransductionConfig,
    tune: &[Vec<Symbol>],
    watch: &dyn Watch,
) -> Result<Vec<Method>, UnknownGroup> {
    let most = config.tuning.failures;
    let longer = Failures::find(failures.model, failures.kind, tune).truncated(most);
    let trials = config.tuning.step_sizes.len() * longer.cases.len();
    watch.begin("choosing a step size on longer inputs", trials as u64);
    let tuned = choose_step_size(&longer, config, watch)?;
    watch.end();
    let mut methods = vec![Method::Paper(tuned)];
    if failures.kind == ConstraintKind::Count {
        let inputs = failures.inputs(most);
        let some = Failures::find(failures.model, failures.kind, &inputs);
        let trials = config.tuning.shorter_step_sizes.len() * some.cases.len();
        watch.begin("looking for the paper's operating point", trials as u64);
        methods.push(Method::PaperPoint(papers_step_size(tuned, &some, config, watch)?));
        watch.end();
    }
    methods.extend([Method::Best, Method::BestBlackBox, Method::DoublingBeam]);
    methods.extend([Method::MaskedGreedy, Method::MaskedBeam, Method::Sampling]);
    Ok(methods)
}

/// One line per method while the experiment runs.
fn summary(row: &Row) -> String {
    format!(
        "    {:<24} converts {:>5.1} %, accuracy {:.1} → {:.1}",
        row.method,
        row.figure("conversion"),
        row.figure("accuracy_before"),
        row.figure("accuracy_after")
    )
}
