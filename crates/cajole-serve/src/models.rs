//! The models that are served, each loaded on first use.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use cajole_infer::Registry;
use cajole_infer::engine::Engine;
use cajole_infer::task::Task;
use cajole_tasks::Preset;
use serde_json::{Value, json};

use crate::examples;
use crate::problem::Problem;

/// The most output symbols that the list of models names.
const LISTED_SYMBOLS: usize = 256;

/// A loaded network. It lives as long as the process: threads that answer keep memory for it.
pub(crate) type Network = &'static dyn Task;

/// The models, in the order of the command line; the first is the default.
pub(crate) struct Models {
    registry: Arc<Registry>,
    models: Vec<Model>,
    max_tokens: usize,
}

/// A model.
pub(crate) struct Model {
    /// As requests name it.
    pub(crate) name: String,
    /// The built-in network or folder.
    source: String,
    network: OnceLock<Result<Network, String>>,
    description: OnceLock<Value>,
}

/// Why models cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelsError {
    /// Two models would have the same name.
    #[error("two models are called {name:?}: {one} and {other}; rename a folder")]
    SameName {
        /// The name.
        name: String,
        /// The first.
        one: String,
        /// The second.
        other: String,
    },
    /// A model is neither built in nor a folder.
    #[error("{source_name} is no folder with a checkpoint, and none of {known}")]
    Unknown {
        /// The name that was given.
        source_name: String,
        /// The built-in networks.
        known: String,
    },
}

impl Models {
    /// These networks or checkpoint folders; by default, all built-in networks.
    pub(crate) fn new(
        registry: Arc<Registry>,
        sources: &[String],
        max_tokens: usize,
    ) -> Result<Models, ModelsError> {
        let built_in: Vec<&str> = registry.built_in().collect();
        let all = || built_in.iter().map(|name| (*name).to_owned()).collect();
        let sources = if sources.is_empty() { all() } else { sources.to_vec() };
        let mut models: Vec<Model> = Vec::new();
        for source in sources {
            let folder = Path::new(&source);
            if !built_in.contains(&source.as_str()) && !folder.is_dir() {
                let known = built_in.join(", ");
                return Err(ModelsError::Unknown { source_name: source, known });
            }
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            let name = name.to_string_lossy().into_owned();
            if let Some(known) = models.iter().find(|model| model.name == name) {
                let one = known.source.clone();
                return Err(ModelsError::SameName { name, one, other: source });
            }
            models.push(Model {
                name,
                source,
                network: OnceLock::new(),
                description: OnceLock::new(),
            });
        }
        Ok(Models { registry, models, max_tokens })
    }

    /// The model of this name, or the first. Names are looked up among the served models; they are
    /// never paths.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<&Model, Problem> {
        let found = match name {
            Some(name) => self.models.iter().find(|model| model.name == name),
            None => self.models.first(),
        };
        found.ok_or_else(|| {
            let known: Vec<&str> = self.iter().map(|model| model.name.as_str()).collect();
            let name = name.unwrap_or_default();
            Problem::not_found(format!(
                "there is no model {name:?}; there are {}",
                known.join(", ")
            ))
            .of("/model")
        })
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Model> {
        self.models.iter()
    }

    /// The network of a model, loaded by the first caller. Blocks.
    pub(crate) fn load(&self, model: &Model) -> Result<Network, Problem> {
        let load = || {
            let opened = self.registry.open(&model.source).map_err(|error| error.to_string());
            opened.map(|network| &*Box::leak(network))
        };
        let network = model.network.get_or_init(load).clone();
        network
            .map_err(|error| Problem::unavailable(format!("cannot load {}: {error}", model.name)))
    }

    /// What a client may want to know about a model. Blocks until it is loaded.
    pub(crate) fn describe<'m>(&self, model: &'m Model) -> &'m Value {
        model.description.get_or_init(|| self.description(model))
    }

    fn description(&self, model: &Model) -> Value {
        let name = &model.name;
        let network = match self.load(model) {
            Ok(network) => network,
            Err(_) => {
                let error = model.network.get().and_then(|network| network.as_ref().err());
                return json!({"name": name, "state": "failed", "error": error});
            }
        };
        let vocabulary = network.vocabulary();
        let symbols = &vocabulary.names()[..vocabulary.len().min(LISTED_SYMBOLS)];
        let engines = network.engines().into_iter().chain([Engine::network()]);
        let is_built_in = self.registry.built_in().any(|built_in| built_in == model.source);
        let examples = is_built_in.then(|| examples::of(&model.source));
        json!({
            "name": name,
            "state": "ready",
            "task": network.name(),
            "display": network.display(),
            "separator": vocabulary.separator(),
            "symbols": symbols,
            "n_symbols": vocabulary.len(),
            "weights": format!("{:016x}", network.fingerprint()),
            "rules": network.usual_rules(),
            "presets": presets(network),
            "engines": engines.collect::<Vec<_>>(),
            "width": network.beam().width,
            "max_tokens": self.max_tokens,
            "examples": examples.unwrap_or_default(),
        })
    }
}

impl Model {
    /// Its network, if it is loaded already.
    pub(crate) fn loaded(&self) -> Option<Network> {
        self.network.get()?.as_ref().ok().copied()
    }
}

fn presets(network: Network) -> Vec<Value> {
    let presets = network.presets();
    let preset = |preset: Preset| {
        let config = presets.get(preset);
        json!({
            "name": preset,
            "is_default": preset == presets.default,
            "moves": config.moves,
            "max_steps": config.schedule.max_steps,
            "in_step": preset == Preset::Small,
        })
    };
    [Preset::Small, Preset::Best, Preset::Paper].map(preset).to_vec()
}
