//! The network, preset and constraint that a command was asked for.

use std::path::Path;

use anyhow::Context;
use cajole_core::{Constraint, Decoder, Gbi, Symbol};
use cajole_nn::decoders::{Beam, Greedy, MaskedBeam};
use cajole_tasks::transduction::{ConstraintKind, Net, TransductionConfig, checkpoint};

use crate::args::{Cajoling, Demand, Preset};
use crate::settings;

/// Everything needed to cajole a network.
pub(crate) struct Ready {
    pub(crate) model: Net,
    pub(crate) kind: ConstraintKind,
    pub(crate) config: TransductionConfig,
    preset: Preset,
    constraint: Box<dyn Constraint<[Symbol]> + Send>,
}

impl Ready {
    /// Loads what was asked for.
    pub(crate) fn new(cajoling: &Cajoling) -> anyhow::Result<Self> {
        let config: TransductionConfig =
            settings::read(TransductionConfig::DEFAULT, &cajoling.settings)?;
        let kind = match cajoling.constraint {
            Demand::Count => ConstraintKind::Count,
            Demand::Full => ConstraintKind::Full,
        };
        let model = match &cajoling.model {
            Some(folder) => load(folder)?,
            None => checkpoint::built_in(),
        };
        let (preset, constraint) = (cajoling.preset, kind.build());
        Ok(Ready { model, kind, config, preset, constraint })
    }

    /// Hands gradient-based inference with the chosen preset to `work`.
    pub(crate) fn with_gbi<T>(
        &self,
        work: impl FnOnce(&Gbi<'_, Net, dyn Decoder<Net>, dyn Constraint<[Symbol]>>) -> T,
    ) -> T {
        let constraint: &dyn Constraint<[Symbol]> = &*self.constraint;
        let narrow = MaskedBeam { width: 5, constraint };
        let greedy = MaskedBeam { width: 1, constraint };
        let (decoder, sources, config): (&dyn Decoder<Net>, Vec<&dyn Decoder<Net>>, _) =
            match self.preset {
                Preset::Paper => (&Greedy, Vec::new(), &self.config.gbi.paper),
                Preset::Best => (&Beam { width: 5 }, vec![&narrow, &greedy], &self.config.gbi.best),
            };
        work(&Gbi { model: &self.model, decoder, constraint, sources, config: config.clone() })
    }
}

fn load(folder: &Path) -> anyhow::Result<Net> {
    let (model, _) = checkpoint::load(folder)
        .with_context(|| format!("cannot load the model in {}", folder.display()))?;
    Ok(model)
}
