//! `config.json`: settings of a network, by key, with their limits.

use std::path::PathBuf;

use serde_json::Value;

use super::super::{ImportError, damaged};
use super::json_of;
use crate::layers::activation::Nonlinearity;
use crate::settings::MOST_SIZE;

/// The most layers.
const MOST_LAYERS: usize = 1000;

/// The most labels that are not named.
const MOST_LABELS: usize = 1 << 16;

/// The most positions: tables of sinusoids are computed.
const MOST_POSITIONS: usize = 1 << 17;

/// The settings of a folder.
#[derive(Clone, Debug)]
pub struct Config {
    path: PathBuf,
    value: Value,
}

impl Config {
    pub(super) fn open(path: PathBuf) -> Result<Config, ImportError> {
        let value: Value = json_of(&path)?;
        match value.is_object() {
            true => Ok(Config { path, value }),
            false => Err(damaged(&path, "it holds no JSON object")),
        }
    }

    /// The same with keys of other names, which transformers prefers to the usual ones.
    pub(super) fn renamed(mut self, names: &[(&str, &str)]) -> Config {
        for (other, usual) in names {
            if let Some(value) = self.get(other).cloned() {
                self.value[*usual] = value;
            }
        }
        self
    }

    /// A remark about these settings.
    pub(super) fn remark(&self, remark: &str) -> String {
        format!("{}: {remark}", self.path.display())
    }

    /// The classes of transformers that the network was saved as.
    pub(super) fn architectures(&self) -> impl Iterator<Item = &str> {
        let names = self.get("architectures").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The first number of the version of transformers that saved it; `None` if it does not say.
    pub(super) fn major_version(&self) -> Option<u32> {
        let version = self.get("transformers_version")?.as_str()?;
        version.split('.').next()?.parse().ok()
    }

    /// An error about these settings.
    pub(super) fn problem(&self, problem: impl Into<String>) -> ImportError {
        ImportError::Options { path: self.path.clone(), problem: problem.into() }
    }

    /// The value of `key`; null counts as none.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    /// What kind of network it is.
    pub(super) fn model_type(&self) -> Result<&str, ImportError> {
        let value = self.get("model_type").and_then(Value::as_str);
        value.ok_or_else(|| self.problem("there is no \"model_type\", a string"))
    }

    pub(super) fn whole(
        &self,
        key: &str,
        least: usize,
        most: usize,
    ) -> Result<Option<usize>, ImportError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let n = value.as_u64().and_then(|n| usize::try_from(n).ok());
        match n.filter(|n| (least..=most).contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(self.problem(format!(
                "{key:?} is {value}; it must be a number from {least} to {most}"
            ))),
        }
    }

    fn needed<T>(&self, key: &str, value: Option<T>) -> Result<T, ImportError> {
        value.ok_or_else(|| self.problem(format!("there is no {key:?}")))
    }

    /// A dimension.
    pub(super) fn size(&self, key: &str) -> Result<usize, ImportError> {
        self.needed(key, self.whole(key, 1, MOST_SIZE)?)
    }

    /// A dimension that may be zero or left out.
    pub(super) fn size_or(&self, key: &str, or: usize) -> Result<usize, ImportError> {
        Ok(self.whole(key, 0, MOST_SIZE)?.unwrap_or(or))
    }

    /// A number of layers.
    pub(super) fn layers(&self, key: &str) -> Result<usize, ImportError> {
        self.needed(key, self.whole(key, 1, MOST_LAYERS)?)
    }

    /// A number of positions.
    pub(super) fn positions(&self, key: &str) -> Result<usize, ImportError> {
        self.needed(key, self.whole(key, 1, MOST_POSITIONS)?)
    }

    /// A symbol below `n`.
    pub(super) fn symbol(&self, key: &str, n: usize) -> Result<u32, ImportError> {
        Ok(self.needed(key, self.whole(key, 0, n.saturating_sub(1))?)? as u32)
    }

    /// A symbol below `n`, if there is one.
    pub(super) fn symbol_if(&self, key: &str, n: usize) -> Result<Option<u32>, ImportError> {
        Ok(self.whole(key, 0, n.saturating_sub(1))?.map(|symbol| symbol as u32))
    }

    /// Symbols below `n`: one, or a list; empty if left out.
    pub(super) fn symbol_or_list(&self, key: &str, n: usize) -> Result<Vec<u32>, ImportError> {
        match self.get(key) {
            Some(Value::Array(_)) => self.symbols(key, n),
            _ => Ok(self.symbol_if(key, n)?.into_iter().collect()),
        }
    }

    /// A list of symbols below `n`, each of which may stand in a list of its own; empty if left out.
    pub(super) fn symbols(&self, key: &str, n: usize) -> Result<Vec<u32>, ImportError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let symbol = |item: &Value| {
            let item = item.as_array().filter(|list| list.len() == 1).map_or(item, |list| &list[0]);
            item.as_u64().filter(|&symbol| symbol < n as u64).map(|symbol| symbol as u32)
        };
        let symbols = value.as_array().and_then(|list| list.iter().map(symbol).collect());
        symbols.ok_or_else(|| {
            self.problem(format!("{key:?} is {value}; it must be a list of symbols below {n}"))
        })
    }

    /// A whole number from 1, if there is one.
    pub(super) fn count_if(&self, key: &str) -> Result<Option<usize>, ImportError> {
        self.whole(key, 1, MOST_SIZE)
    }

    /// A number.
    pub(super) fn number_or(&self, key: &str, or: f32) -> Result<f32, ImportError> {
        let Some(value) = self.get(key) else { return Ok(or) };
        let number = value.as_f64().map(|v| v as f32).filter(|v| v.is_finite());
        number.ok_or_else(|| self.problem(format!("{key:?} is {value}; it must be a number")))
    }

    /// A truth value.
    pub(super) fn flag_or(&self, key: &str, or: bool) -> Result<bool, ImportError> {
        let Some(value) = self.get(key) else { return Ok(or) };
        let flag = value.as_bool();
        flag.ok_or_else(|| self.problem(format!("{key:?} is {value}; it must be true or false")))
    }

    /// A name.
    pub(super) fn name_or<'a>(&'a self, key: &str, or: &'a str) -> Result<&'a str, ImportError> {
        let Some(value) = self.get(key) else { return Ok(or) };
        let name = value.as_str();
        name.ok_or_else(|| self.problem(format!("{key:?} is {value}; it must be a string")))
    }

    /// An activation.
    pub(super) fn activation(&self, key: &str, or: &str) -> Result<Nonlinearity, ImportError> {
        let name = self.name_or(key, or)?;
        self.nonlinearity(key, name)
    }

    /// The activation of this name, which `key` has.
    pub(super) fn nonlinearity(&self, key: &str, name: &str) -> Result<Nonlinearity, ImportError> {
        match name {
            "relu" => Ok(Nonlinearity::Relu),
            "gelu" | "gelu_python" => Ok(Nonlinearity::Gelu),
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" | "gelu_accurate" => {
                Ok(Nonlinearity::GeluTanh)
            }
            "silu" | "swish" => Ok(Nonlinearity::Silu),
            other => Err(self.problem(format!(
                "{key:?} is {other:?}; relu, gelu, gelu_new and silu are supported"
            ))),
        }
    }

    /// Width and heads, which must divide it.
    pub(super) fn heads(&self, width: &str, heads: &str) -> Result<(usize, usize), ImportError> {
        let (d, h) = (self.size(width)?, self.size(heads)?);
        match d.is_multiple_of(h) {
            true => Ok((d, h)),
            false => Err(self.problem(format!("{width:?} is {d}, no multiple of {heads:?}, {h}"))),
        }
    }

    /// An error unless `key` is left out or has this value.
    pub(super) fn only(&self, key: &str, value: &Value) -> Result<(), ImportError> {
        match self.get(key) {
            Some(other) if other != value => {
                Err(self.problem(format!("{key:?} is {other}; only {value} is supported")))
            }
            _ => Ok(()),
        }
    }

    /// The names of labels, by number: transformers leaves out the names that it gives itself.
    pub(super) fn labels(&self) -> Result<Vec<String>, ImportError> {
        let Some(labels) = self.get("id2label") else {
            let n = self.whole("num_labels", 1, MOST_LABELS)?.unwrap_or(2);
            return Ok((0..n).map(|i| format!("LABEL_{i}")).collect());
        };
        let labels = labels.as_object().ok_or_else(|| {
            self.problem("\"id2label\" is no object from numbers to the names of labels")
        })?;
        let name = |i: usize| labels.get(&i.to_string()).and_then(Value::as_str).map(str::to_owned);
        (0..labels.len())
            .map(|i| name(i).ok_or_else(|| self.problem(format!("\"id2label\" has no {i}"))))
            .collect()
    }
}
