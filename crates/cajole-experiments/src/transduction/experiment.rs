//! The whole transduction experiment: train, find failures, repair them by every method, report.

use cajole_core::{Search, Symbol, UnknownParameter};
use cajole_files::Folder;
use cajole_infer::Transduction;
use cajole_nn::checkpoint::Precision;
use cajole_nn::models::StartState;
use cajole_report::{Figure, Report, Row};
use cajole_tasks::checkpoint::LoadError;
use cajole_tasks::transduction::{Kind, Splits, train};
use cajole_tasks::{Checkpoint, Watch};

use super::case_study::{case_study, sample_repairs};
use super::config::TransductionConfig;
use super::methods::{Failures, Method};
use super::tables;
use super::tuning::{choose_step_size, papers_step_size};
use crate::{Kept, Study, converted_steps};

/// Why the experiment could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] LoadError),
    /// A preset does not fit the network.
    #[error(transparent)]
    Preset(#[from] UnknownParameter),
    /// A study does not fit its preset.
    #[error(transparent)]
    Study(#[from] Box<crate::ExperimentError>),
}

/// The measurements for one network and one constraint.
pub(super) struct Measured {
    pub(super) start_state: StartState,
    pub(super) kind: Kind,
    /// One per method, the untouched outputs first.
    pub(super) rows: Vec<Row>,
    /// The steps of each conversion and the number of failures, by nudging method.
    pub(super) steps: Vec<(String, Vec<usize>, usize)>,
}

/// Runs the experiment. Networks are saved under `out`, if given.
///
/// # Errors
/// If a network cannot be saved, or a preset does not fit it.
pub fn reproduce(
    config: &TransductionConfig,
    out: Option<&Folder>,
    watch: &dyn Watch,
) -> Result<Report, ExperimentError> {
    let mut splits = Splits::new(config.tuning.inputs);
    if let Some(n) = config.test_inputs {
        splits = splits.with_test_inputs(n);
    }
    let check = |study: &Study| study.check(&config.gbi);
    config.studies.iter().try_for_each(check).map_err(Box::new)?;
    let (mut measured, mut cases) = (Vec::new(), Vec::new());
    let mut studies = vec![Vec::new(); config.studies.len()];
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
                let folder = out.within(format!("nets/{name}")).map_err(LoadError::from)?;
                model.save(&folder, &card, Precision::F32)?;
            }
            let task = Transduction::new(model);
            for kind in Kind::ALL {
                let mut of_kind = measure(&name, &task, kind, config, &splits, watch)?;
                of_kind.start_state = start_state;
                measured.push(of_kind);
            }
            for (study, rows) in config.studies.iter().zip(&mut studies) {
                rows.extend(measure_study(study, &name, &task, config, &splits, watch)?);
            }
            if seed == config.seeds[0] {
                cases.extend(case_study(&name, &task, config, &splits.test)?);
            }
        }
    }
    Ok(tables::report(config, &measured, &studies, cases))
}

/// The rows of a study, if it is about this network: on failures among longer inputs.
fn measure_study(
    study: &Study,
    name: &str,
    task: &Transduction,
    config: &TransductionConfig,
    splits: &Splits,
    watch: &dyn Watch,
) -> Result<Vec<Row>, ExperimentError> {
    if !study.is_about(name) {
        return Ok(Vec::new());
    }
    let failures = Failures::find(task, Kind::Count, &splits.tune)?.truncated(study.failures);
    let step_size = choose_step_size(&failures, config, watch)?;
    let kept = Kept::open(None, &"").map_err(|error| Box::new(error.into()))?;
    let rows = study.measure(name, &config.gbi, step_size, &kept, |variant, preset| {
        watch.begin(variant, failures.cases.len() as u64);
        let repairs = failures.by(Search::Gbi(Box::new(preset)), watch)?;
        watch.end();
        Ok(failures.row(name, variant, &repairs))
    });
    Ok(rows.map_err(Box::new)?)
}

/// Measures every method on one network's failures under one constraint.
fn measure(
    name: &str,
    task: &Transduction,
    kind: Kind,
    config: &TransductionConfig,
    splits: &Splits,
    watch: &dyn Watch,
) -> Result<Measured, UnknownParameter> {
    let failures = Failures::find(task, kind, &splits.test)?;
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
            row = row.with(Figure::StepSize, step_size.to_string().parse().unwrap_or(f64::NAN));
        }
        if matches!(method, Method::Paper(_)) && kind == Kind::Count {
            sample_repairs(&failures, &repairs).iter().for_each(|line| watch.say(line));
        }
        watch.say(&summary(&row));
        if repairs.iter().any(|r| r.steps.is_some()) {
            steps.push((method_name, converted_steps(&repairs), repairs.len()));
        }
        rows.push(row);
    }
    Ok(Measured { start_state: config.network.start_state, kind, rows, steps })
}

/// The methods, with the tuned step sizes of plain SGD.
fn methods(
    failures: &Failures<'_>,
    config: &TransductionConfig,
    tune: &[Vec<Symbol>],
    watch: &dyn Watch,
) -> Result<Vec<Method>, UnknownParameter> {
    let most = config.tuning.failures;
    let longer = Failures::find(failures.task, failures.kind, tune)?.truncated(most);
    let trials = config.tuning.step_sizes.len() * longer.cases.len();
    watch.begin("tuning the step size on longer inputs", trials as u64);
    let tuned = choose_step_size(&longer, config, watch)?;
    watch.end();
    let mut methods = vec![Method::Paper(tuned)];
    if failures.kind == Kind::Count {
        let inputs = failures.inputs(most);
        let some = Failures::find(failures.task, failures.kind, &inputs)?;
        let trials = config.tuning.shorter_step_sizes.len() * some.cases.len();
        watch.begin("looking for the paper's operating point", trials as u64);
        methods.push(Method::PaperPoint(papers_step_size(tuned, &some, config, watch)?));
        watch.end();
    }
    methods.extend([Method::Best, Method::BestBlackBox, Method::Small, Method::DoublingBeam]);
    methods.extend([Method::MaskedGreedy, Method::MaskedBeam, Method::Sampling]);
    Ok(methods)
}

/// A progress line for one method.
fn summary(row: &Row) -> String {
    format!(
        "    {:<24} converts {:>5.1} %, accuracy {:.1} → {:.1}",
        row.method,
        row.figure(Figure::Conversion),
        row.figure(Figure::AccuracyBefore),
        row.figure(Figure::AccuracyAfter)
    )
}
