//! A network and the rules that it has to obey, as the command line names them.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use cajole_core::Config;
use cajole_infer::engine::{Engine, Limits, Preset as Name, Rival};
use cajole_infer::task::Task;
use cajole_infer::{AnyTask, BUILT_IN};
use cajole_rules::Rules;

use crate::args::infer::{EngineName, Ruled};
use crate::args::{Preset, Settings};
use crate::settings;

/// The network that is named: one that is built in, or a checkpoint folder.
pub(crate) fn open(ruled: &Ruled) -> anyhow::Result<AnyTask> {
    if let Some(task) = AnyTask::built_in(&ruled.model) {
        return Ok(task);
    }
    let folder = Path::new(&ruled.model);
    if !folder.is_dir() {
        let names = BUILT_IN.join(", ");
        bail!("{} is no folder with a checkpoint, and none of {names}", folder.display());
    }
    AnyTask::open(folder).with_context(|| format!("cannot load {}", folder.display()))
}

/// What the network's outputs have to satisfy, and what that is called.
pub(crate) fn rules<'t, T: Task>(
    ruled: &Ruled,
    task: &'t T,
) -> anyhow::Result<Option<(String, Rules<'t>)>> {
    let vocabulary = task.vocabulary();
    Ok(match (&ruled.constraint, task.usual_rules()) {
        (Some(path), _) => {
            let name = path.file_stem().unwrap_or(path.as_os_str());
            Some((name.to_string_lossy().into_owned(), Rules::read(path, vocabulary)?))
        }
        (None, Some(text)) => {
            let name = format!("the usual rules of {}", T::NAME);
            let rules = Rules::parse(&name, text, None, vocabulary)?;
            Some((name, rules))
        }
        (None, None) => None,
    })
}

/// The settings of gradient-based inference.
pub(crate) fn config<T: Task>(ruled: &Ruled, task: &T) -> anyhow::Result<Config> {
    let preset = match ruled.preset {
        Preset::Paper => Name::Paper,
        Preset::Best => Name::Best,
    };
    let built_in = toml::to_string(&task.gbi(preset)).context("a preset is plain data")?;
    let settings = Settings { config: None, overrides: ruled.overrides.clone() };
    let mut config: Config = settings::read(&built_in, &settings)?;
    if let Some(max_steps) = ruled.max_steps {
        config.schedule.max_steps = max_steps;
        config.restarts.iter_mut().for_each(|schedule| schedule.max_steps = max_steps);
    }
    Ok(config)
}

/// How far engines go.
pub(crate) fn limits<T: Task>(ruled: &Ruled, task: &T) -> Limits {
    let mut limits = task.limits();
    limits.width = ruled.width.get();
    limits.deadline = ruled.deadline_ms.map(Duration::from_millis);
    if ruled.preset == Preset::Paper {
        // Algorithm 1 as printed knows the decoded output only.
        (limits.inner_width, limits.sources) = (limits.width, Vec::new());
    }
    limits
}

/// The engine of this name.
pub(crate) fn engine(name: EngineName) -> Engine {
    match name {
        EngineName::Gbi => Engine::Gbi,
        EngineName::Beam => Engine::Rival(Rival::Beam),
        EngineName::Masked => Engine::Rival(Rival::Masked),
        EngineName::Astar => Engine::Rival(Rival::Astar),
        EngineName::Exact => Engine::Rival(Rival::Exact),
        EngineName::Sample => Engine::Rival(Rival::Sample),
        EngineName::Auto => Engine::Auto,
    }
}
