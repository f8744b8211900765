//! The networks that tag roles: LSTMs over words, or a pretrained encoder over pieces of words.

use cajole_nn::Tagger;
use cajole_nn::layout::Layout;
use cajole_nn::models::transformer::{EncoderTagger, EncoderTaggerConfig};
use cajole_nn::models::{LstmTagger, TaggerConfig};
use cajole_nn::tape::{Graph, Var};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::instance::Instance;

/// A network that tags the roles of one predicate.
#[derive(Clone, Debug)]
pub enum RoleNetwork {
    /// LSTMs.
    Lstm(Box<LstmTagger<Instance>>),
    /// A transformer.
    Encoder(Box<EncoderTagger<Instance>>),
}

/// Its architecture. In a file, an encoder has a `stack`, and LSTMs have none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RoleNetworkConfig {
    /// LSTMs.
    Lstm(TaggerConfig),
    /// A transformer.
    Encoder(EncoderTaggerConfig),
}

impl<'de> Deserialize<'de> for RoleNetworkConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.get("stack").is_some() {
            true => serde_json::from_value(value).map(RoleNetworkConfig::Encoder),
            false => serde_json::from_value(value).map(RoleNetworkConfig::Lstm),
        }
        .map_err(D::Error::custom)
    }
}

impl RoleNetworkConfig {
    /// Layers and their width.
    pub fn size(&self) -> (usize, usize) {
        match self {
            RoleNetworkConfig::Lstm(config) => (config.layers, config.hidden),
            RoleNetworkConfig::Encoder(config) => (config.stack.layers, config.stack.width),
        }
    }

    /// `V`.
    pub fn tags(&self) -> usize {
        match self {
            RoleNetworkConfig::Lstm(config) => config.tags,
            RoleNetworkConfig::Encoder(config) => config.tags,
        }
    }
}

impl RoleNetwork {
    /// A network of this architecture.
    pub fn new(config: &RoleNetworkConfig) -> Self {
        match config {
            RoleNetworkConfig::Lstm(config) => {
                RoleNetwork::Lstm(Box::new(LstmTagger::new(config.clone())))
            }
            RoleNetworkConfig::Encoder(config) => {
                RoleNetwork::Encoder(Box::new(EncoderTagger::new(config.clone())))
            }
        }
    }

    /// Its architecture.
    pub fn config(&self) -> RoleNetworkConfig {
        match self {
            RoleNetwork::Lstm(net) => RoleNetworkConfig::Lstm(net.config.clone()),
            RoleNetwork::Encoder(net) => RoleNetworkConfig::Encoder(net.config.clone()),
        }
    }
}

impl Tagger for RoleNetwork {
    type Input = Instance;

    fn layout(&self) -> &Layout {
        match self {
            RoleNetwork::Lstm(net) => net.layout(),
            RoleNetwork::Encoder(net) => net.layout(),
        }
    }

    fn n_tags(&self) -> usize {
        match self {
            RoleNetwork::Lstm(net) => net.n_tags(),
            RoleNetwork::Encoder(net) => net.n_tags(),
        }
    }

    fn len(&self, x: &Instance) -> usize {
        match self {
            RoleNetwork::Lstm(net) => net.len(x),
            RoleNetwork::Encoder(net) => net.len(x),
        }
    }

    fn log_probs(&self, g: &mut Graph<'_>, xs: &[&Instance]) -> Var {
        match self {
            RoleNetwork::Lstm(net) => net.log_probs(g, xs),
            RoleNetwork::Encoder(net) => net.log_probs(g, xs),
        }
    }
}
