//! The names of everything that is measured.
//!
//! All experiments share one list, so figures are checked at compile time and their JSON names
//! cannot drift. Rates are in per cent. Figures are over the failure set unless their name begins
//! with `Whole`.

use serde::{Deserialize, Serialize};

/// The name of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Figure {
    /// Percentage of all inputs whose first output violates the constraint.
    FailureRate,
    /// Percentage of all first outputs that are in the target language, whatever the input.
    WholeGrammatical,
    /// Percentage of failures whose output satisfies the constraint after repair.
    Conversion,
    /// The same, as competing engines report it.
    Satisfied,
    /// Percentage of failures for which a search hit its limits.
    GaveUp,
    /// Percentage of correct positions, before repair.
    AccuracyBefore,
    /// Percentage of correct positions, after repair.
    AccuracyAfter,
    /// Percentage of exactly correct outputs.
    Exact,
    /// The same over all inputs.
    WholeExact,
    /// Percentage of exactly correct outputs, before repair.
    ExactBefore,
    /// Percentage of exactly correct outputs, after repair.
    ExactAfter,
    /// The same over all inputs, before repair.
    WholeExactBefore,
    /// The same over all inputs, after repair.
    WholeExactAfter,
    /// Precision of brackets or arguments, before repair.
    PrecisionBefore,
    /// Precision of brackets or arguments, after repair.
    PrecisionAfter,
    /// The same over all inputs, before repair.
    WholePrecisionBefore,
    /// The same over all inputs, after repair.
    WholePrecisionAfter,
    /// Recall of brackets or arguments, before repair.
    RecallBefore,
    /// Recall of brackets or arguments, after repair.
    RecallAfter,
    /// The same over all inputs, before repair.
    WholeRecallBefore,
    /// The same over all inputs, after repair.
    WholeRecallAfter,
    /// F1 of brackets or arguments, before repair.
    F1Before,
    /// F1 of brackets or arguments, after repair.
    F1After,
    /// The lower end of the 95 % interval of that.
    F1Low,
    /// The upper end of the 95 % interval of that.
    F1High,
    /// The same over all inputs, before repair.
    WholeF1Before,
    /// The same over all inputs, after repair.
    WholeF1After,
    /// Percentage of arguments that are not constituents, before repair.
    DisagreementBefore,
    /// Percentage of arguments that are not constituents, after repair.
    DisagreementAfter,
    /// Edits needed to turn outputs into trees, before repair.
    MendedBefore,
    /// Edits needed to turn outputs into trees, after repair.
    MendedAfter,
    /// The task's own metric.
    Metric,
    /// The same over all inputs.
    WholeMetric,
    /// Percentage of gold outputs that violate a rule.
    Violate,
    /// The mean constraint loss of those.
    MeanG,
    /// `log p` of the outputs under the original weights.
    LogProb,
    /// The beam width used for decoding.
    Width,
    /// `η`.
    StepSize,
    /// The iteration limit of Algorithm 1.
    Limit,
    /// Steps within which 25 % of the failures were converted.
    #[serde(rename = "steps_25")]
    Steps25,
    /// Steps within which 50 % of the failures were converted.
    #[serde(rename = "steps_50")]
    Steps50,
    /// Steps within which 80 % of the failures were converted.
    #[serde(rename = "steps_80")]
    Steps80,
    /// Steps within which 95 % of the failures were converted.
    #[serde(rename = "steps_95")]
    Steps95,
    /// Sequences the network was run over, per failure.
    Passes,
    /// Time per failure on one thread.
    Milliseconds,
    /// Time to decode one input by itself.
    ViterbiMs,
    /// Time of a repair beyond the first pass, in units of one pass.
    RepairCost,
}
