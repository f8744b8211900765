//! Tunes the step size of plain SGD for a network, on inputs longer than the test set's.

use cajole_core::UnknownParameter;
use cajole_tasks::Watch;

use super::config::TransductionConfig;
use super::methods::{Failures, Method};

/// The percentage of failures that the paper converts.
const PAPER_CONVERSION: f64 = 65.2;

/// Accuracies this close, in points, count as equal.
const CLOSE: f64 = 0.5;

/// The result of one step size.
#[derive(Clone, Copy)]
struct Trial {
    step_size: f32,
    accuracy: f64,
    conversion: f64,
}

/// The most accurate step size on `failures`, which must not be from the test set; among nearly
/// equal ones, the one that converts most.
///
/// # Errors
/// If the preset names a parameter that the network does not have.
pub(super) fn choose_step_size(
    failures: &Failures<'_>,
    config: &TransductionConfig,
    watch: &dyn Watch,
) -> Result<f32, UnknownParameter> {
    let sizes = config.tuning.step_sizes.iter();
    let trials: Result<Vec<Trial>, _> =
        sizes.map(|&size| Trial::run(size, failures, config, watch)).collect();
    Ok(choose(&trials?).unwrap_or(config.gbi.paper.schedule.step_size))
}

/// The step size, no larger than `tuned`, whose conversion is closest to the paper's.
///
/// This only locates the paper's operating point and supports no claim, so it may look at the
/// failures it is then shown on.
///
/// # Errors
/// If the preset names a parameter that the network does not have.
pub(super) fn papers_step_size(
    tuned: f32,
    failures: &Failures<'_>,
    config: &TransductionConfig,
    watch: &dyn Watch,
) -> Result<f32, UnknownParameter> {
    let sizes = config.tuning.shorter_step_sizes.iter().filter(|&&size| size <= tuned);
    let mut best = (tuned, f64::INFINITY);
    for &size in sizes {
        let trial = Trial::run(size, failures, config, watch)?;
        let off = (trial.conversion - PAPER_CONVERSION).abs();
        if off < best.1 {
            best = (size, off);
        }
        if trial.conversion < PAPER_CONVERSION {
            break; // smaller steps convert even fewer
        }
    }
    Ok(best.0)
}

impl Trial {
    fn run(
        step_size: f32,
        failures: &Failures<'_>,
        config: &TransductionConfig,
        watch: &dyn Watch,
    ) -> Result<Trial, UnknownParameter> {
        let repairs = failures.repair(&Method::Paper(step_size), config, watch)?;
        let converted = repairs.iter().filter(|r| r.converted).count();
        Ok(Trial {
            step_size,
            accuracy: failures.score(&repairs).accuracy(),
            conversion: 100.0 * converted as f64 / repairs.len() as f64,
        })
    }
}

fn choose(trials: &[Trial]) -> Option<f32> {
    let best = trials.iter().map(|t| t.accuracy).reduce(f64::max)?;
    let good = trials.iter().filter(|t| best - CLOSE <= t.accuracy);
    good.max_by(|a, b| a.conversion.total_cmp(&b.conversion)).map(|t| t.step_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_first_then_conversion() {
        let trial = |step_size, accuracy, conversion| Trial { step_size, accuracy, conversion };
        let trials = [
            trial(1.0, 80.0, 61.0),
            trial(2.0, 84.0, 90.0),
            trial(3.0, 83.7, 97.0),
            trial(4.0, 70.0, 99.0),
        ];
        assert_eq!(choose(&trials), Some(3.0));
        assert_eq!(choose(&[]), None);
    }
}
