//! The paper's experiments: train networks, repair their failures by gradient-based inference and
//! its competitors, and return a [`Report`](cajole_report::Report).
//!
//! Each experiment is a function `reproduce` that prints nothing and reports progress to a
//! [`Watch`](cajole_tasks::Watch). They share the repair methods, saved results, tuning on the dev
//! set, and summaries over seeds.

mod bootstrap;
mod comparison;
mod error;
mod example;
mod kept;
pub mod parsing;
mod repair;
mod reproduce;
mod side_by_side;
pub mod srl;
mod study;
mod summary;
pub mod transduction;
mod tuning;

pub(crate) use bootstrap::{Interval, Score, Tally, Verdict};
pub(crate) use comparison::{FailureSet, LEGEND, OURS, Tallies, ahead_on_all, tally_table};
pub use error::{ExperimentError, UnknownCorpus};
pub(crate) use example::{NEAREST, choose};
pub(crate) use kept::Kept;
pub use kept::KeptError;
pub use repair::Repair;
pub(crate) use repair::milliseconds_to;
pub use reproduce::Places;
pub(crate) use reproduce::{Experiment, reproduce};
pub(crate) use side_by_side::{SHOWN, SideBySide, side_by_side_table};
pub use study::{Study, Variant};
pub(crate) use summary::{
    SHARES, Summary, conversion_curve, converted_steps, steps_table, with_costs,
};
pub(crate) use tuning::{best_of, nearly_best_of};

#[cfg(test)]
mod tests {
    use cajole_tasks::Presets;

    use crate::parsing::ParsingConfig;
    use crate::srl::SrlConfig;

    #[test]
    fn experiments_use_the_presets_of_their_tasks() {
        for text in [ParsingConfig::DEFAULT, ParsingConfig::QUICK] {
            let config: ParsingConfig = toml::from_str(text).unwrap();
            assert_eq!(config.gbi, Presets::built_in(Presets::PARSING));
            config.check().unwrap();
            let names: Vec<String> = config.seeded().into_iter().map(|n| n.name).collect();
            let of_studies = config.studies.iter().flat_map(|study| &study.networks);
            of_studies.for_each(|name| assert!(names.contains(name), "{name}"));
        }
        for text in [SrlConfig::DEFAULT, SrlConfig::QUICK] {
            let config: SrlConfig = toml::from_str(text).unwrap();
            assert_eq!(config.gbi, Presets::built_in(Presets::SRL));
            config.check().unwrap();
            let names: Vec<String> = config.seeded().into_iter().map(|n| n.name).collect();
            let of_studies = config.studies.iter().flat_map(|study| &study.networks);
            let of_studies = of_studies.chain(config.collapse.iter().flat_map(|c| &c.networks));
            let named = of_studies.chain(&config.every_kind);
            named.for_each(|name| assert!(names.contains(name), "{name}"));
        }
    }
}
