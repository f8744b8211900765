//! Studies: variants of a preset, side by side, on the dev failures of some networks.
//!
//! Each thing that the paper mentions in passing (how strong the regulariser is, which optimiser
//! moves the weights, how many steps are allowed) becomes a table. The variants are settings, so
//! new studies need no code.

use cajole_core::{Config, UnknownParameter};
use cajole_nn::settings::{non_empty, positive};
use cajole_report::{Cell, Figure, Row, Table};
use cajole_tasks::{Preset, Presets};
use serde::{Deserialize, Serialize};

use crate::{ExperimentError, Kept, best_of};

/// A preset with overrides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variant {
    /// Its name in tables.
    pub name: String,
    /// The preset.
    #[serde(default = "paper")]
    pub preset: Preset,
    /// What is changed, such as `{ pull = 0.1 }`.
    #[serde(default)]
    pub set: toml::Table,
    /// Candidate step sizes, tuned for each network on the failures of the study. If empty, the
    /// preset's, which for `paper` is the network's tuned one.
    #[serde(default)]
    pub step_sizes: Vec<f32>,
}

fn paper() -> Preset {
    Preset::Paper
}

/// Variants to compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Study {
    /// What is compared.
    pub title: String,
    /// The networks whose failures are used; those that are not configured are skipped.
    #[serde(deserialize_with = "non_empty")]
    pub networks: Vec<String>,
    /// The maximum number of failures.
    #[serde(deserialize_with = "positive")]
    pub failures: usize,
    /// The variants.
    #[serde(deserialize_with = "non_empty")]
    pub variants: Vec<Variant>,
}

impl Variant {
    /// Its settings, for a network whose tuned step size is `step_size`.
    ///
    /// # Errors
    /// If an override does not fit the preset.
    pub(crate) fn config(
        &self,
        presets: &Presets,
        step_size: f32,
    ) -> Result<Config, ExperimentError> {
        let varied = presets.varied(self.preset, &self.set);
        let mut config = varied
            .map_err(|problem| ExperimentError::Variant { name: self.name.clone(), problem })?;
        let chosen = self.set.get("schedule").and_then(|schedule| schedule.get("step-size"));
        if self.preset == Preset::Paper && chosen.is_none() {
            config.schedule.step_size = step_size;
        }
        Ok(config)
    }
}

impl Study {
    /// Checks that every variant fits its preset.
    ///
    /// # Errors
    /// If one does not.
    pub(crate) fn check(&self, presets: &Presets) -> Result<(), ExperimentError> {
        self.variants.iter().try_for_each(|variant| variant.config(presets, 1.0).map(drop))
    }

    /// Whether it is about the network of this name.
    pub(crate) fn is_about(&self, network: &str) -> bool {
        self.networks.iter().any(|name| name == network)
    }

    /// Measures the variants on one network: `repair` gives the figures of named settings. Returns
    /// one row per variant.
    pub(crate) fn measure(
        &self,
        name: &str,
        presets: &Presets,
        step_size: f32,
        kept: &Kept,
        repair: impl Fn(&str, Config) -> Result<Row, UnknownParameter>,
    ) -> Result<Vec<Row>, ExperimentError> {
        let of_one = |variant: &Variant| {
            kept.get(&format!("{name} study {} {}", self.title, variant.name), || {
                let config = variant.config(presets, step_size)?;
                let with = |size: f32| {
                    let mut config = config.clone();
                    config.schedule.step_size = size;
                    config
                };
                let tried = |size: f32| {
                    let label = format!("{}, step size {size}", variant.name);
                    repair(&label, with(size)).map(|row| quality(&row))
                };
                let size = best_of(variant.step_sizes.iter().copied(), tried)?;
                let size = size.unwrap_or(config.schedule.step_size);
                let row = repair(&variant.name, with(size))?;
                Ok(row.with(Figure::StepSize, f64::from(size)))
            })
        };
        self.variants.iter().map(of_one).collect()
    }

    /// The table, from the rows of every network.
    pub(crate) fn table(&self, rows: &[Row]) -> Table {
        let is_f1 = rows.iter().any(|row| row.get(Figure::F1After).is_some());
        let header = [
            "net",
            "variant",
            "η",
            "failures",
            "converted",
            if is_f1 { "F1" } else { "accuracy" },
            "exact",
            "25 %",
            "50 %",
            "80 %",
            "95 %",
            "passes",
        ];
        let caption = format!(
            "Study, on dev failures: {}; steps within which a share of the failures is converted",
            self.title
        );
        let mut table = Table::new(caption, header);
        for (i, row) in rows.iter().enumerate() {
            if 0 < i && rows[i - 1].net != row.net {
                table = table.rule();
            }
            let whole = |figure| match row.figure(figure) {
                steps if steps.is_nan() => Cell::plain("–").muted(),
                steps => Cell::plain(steps.to_string()),
            };
            table = table.row([
                Cell::plain(row.net.as_str()),
                Cell::plain(row.method.as_str()),
                Cell::plain(format!("{}", row.figure(Figure::StepSize) as f32)),
                Cell::plain(row.failures.to_string()),
                Cell::number(row.figure(Figure::Conversion), 1),
                Cell::number(quality(row), 1),
                Cell::number(row.figure(Figure::ExactAfter), 1),
                whole(Figure::Steps25),
                whole(Figure::Steps50),
                whole(Figure::Steps80),
                whole(Figure::Steps95),
                Cell::number(row.figure(Figure::Passes), 1),
            ]);
        }
        table
    }
}

/// F1 on the failures, or the accuracy of tasks that have no F1.
fn quality(row: &Row) -> f64 {
    row.get(Figure::F1After).unwrap_or_else(|| row.figure(Figure::AccuracyAfter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(variants: &str) -> Study {
        let text = format!("title = \"t\"\nnetworks = [\"a\"]\nfailures = 5\n{variants}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn step_sizes_are_tuned_or_the_networks() {
        let presets = Presets::built_in(Presets::PARSING);
        let study = study(
            "[[variants]]\nname = \"plain\"\n[[variants]]\nname = \"tuned\"\nset = { pull = 2.0 }\n\
             step-sizes = [1.0, 3.0, 2.0]\n[[variants]]\nname = \"fixed\"\n\
             set = { schedule.step-size = 0.5 }\n[[variants]]\nname = \"best\"\npreset = \"best\"\n",
        );
        let kept = Kept::open(None, &"").unwrap();
        // The nearer the step size is to 3, the better.
        let repair = |name: &str, config: Config| {
            let size = f64::from(config.schedule.step_size);
            let row = Row::new("a", name, "").with(Figure::F1After, -(size - 3.0).abs());
            Ok(row.with(Figure::Limit, f64::from(config.pull)))
        };
        let rows = study.measure("a", &presets, 0.25, &kept, repair).unwrap();
        let sizes: Vec<f64> = rows.iter().map(|row| row.figure(Figure::StepSize)).collect();
        let best = f64::from(presets.best.schedule.step_size);
        assert_eq!(sizes, [0.25, 3.0, 0.5, best]);
        assert_eq!(rows[1].figure(Figure::Limit), 2.0);
        assert_eq!(study.table(&rows).rows.len(), 4);
    }

    #[test]
    fn mistakes_are_found_before_anything_is_measured() {
        let presets = Presets::built_in(Presets::PARSING);
        let check = |study: &Study| study.check(&presets).map_err(|e| e.to_string());
        assert_eq!(check(&study("[[variants]]\nname = \"v\"\n")), Ok(()));
        let error = check(&study("[[variants]]\nname = \"v\"\nset = { pul = 1.0 }")).unwrap_err();
        assert!(error.contains("\"v\"") && error.contains("pul"), "{error}");
    }
}
