//! Which parameters move.
//!
//! A pattern matches parameter names. `*` matches any characters; a pattern without one also
//! matches everything below it, so `decoder` covers `decoder.0.w_h`. `@vectors` selects every
//! parameter that the model can move per input at little cost: biases, and gains of norms.

use std::fmt;

/// One named parameter of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, such as `decoder.0.w_h`.
    pub name: String,
    /// Its number of weights.
    pub len: usize,
    /// Whether `@vectors` selects it.
    pub is_vector: bool,
}

/// The parameters of a model that move, chosen by patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    /// One flag per parameter, in the model's order.
    chosen: Vec<bool>,
    n_weights: usize,
    only_vectors: bool,
}

impl Moving {
    /// The pattern that selects biases and gains.
    pub const VECTORS: &'static str = "@vectors";

    /// All parameters.
    pub fn all(parameters: &[Parameter]) -> Self {
        Moving {
            chosen: vec![true; parameters.len()],
            n_weights: parameters.iter().map(|p| p.len).sum(),
            only_vectors: parameters.iter().all(|p| p.is_vector),
        }
    }

    /// The parameters matched by any of `patterns`; without patterns, all.
    ///
    /// # Errors
    /// If a pattern matches nothing.
    pub fn choose(parameters: &[Parameter], patterns: &[String]) -> Result<Self, UnknownParameter> {
        if patterns.is_empty() {
            return Ok(Moving::all(parameters));
        }
        let mut chosen = vec![false; parameters.len()];
        for pattern in patterns {
            let mut is_used = false;
            for (chosen, parameter) in chosen.iter_mut().zip(parameters) {
                if matches(pattern, parameter) {
                    (*chosen, is_used) = (true, true);
                }
            }
            if !is_used {
                let known = parameters.iter().map(|p| p.name.clone()).collect();
                return Err(UnknownParameter { pattern: pattern.clone(), known });
            }
        }
        let moving = || parameters.iter().zip(&chosen).filter(|(_, chosen)| **chosen);
        let n_weights = moving().map(|(p, _)| p.len).sum();
        let only_vectors = moving().all(|(p, _)| p.is_vector);
        Ok(Moving { chosen, n_weights, only_vectors })
    }

    /// Whether the `i`-th parameter moves.
    pub fn moves(&self, i: usize) -> bool {
        self.chosen.get(i).copied().unwrap_or(false)
    }

    /// Number of weights that move.
    pub fn n_weights(&self) -> usize {
        self.n_weights
    }

    /// Whether only biases and gains move, so that inputs can share every matrix.
    pub fn only_vectors(&self) -> bool {
        self.only_vectors
    }
}

fn matches(pattern: &str, parameter: &Parameter) -> bool {
    if pattern == Moving::VECTORS {
        return parameter.is_vector;
    }
    if pattern.contains('*') {
        return glob(pattern, &parameter.name);
    }
    let rest = parameter.name.strip_prefix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether `pattern` matches all of `name`; `*` matches any characters.
fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A pattern matches no parameter of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownParameter {
    /// The pattern.
    pub pattern: String,
    /// The model's parameters.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        let UnknownParameter { pattern, known } = self;
        let shown = known.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let more = if SHOWN < known.len() { ", …" } else { "" };
        write!(f, "no parameter matches {pattern:?}; this model has {shown}{more}")
    }
}

impl std::error::Error for UnknownParameter {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, len: usize, is_vector: bool) -> Parameter {
        Parameter { name: name.to_owned(), len, is_vector }
    }

    #[test]
    fn patterns_choose_by_prefix_glob_and_kind() {
        let all = [
            parameter("encoder.w", 10, false),
            parameter("encoder.b", 2, true),
            parameter("decoder.0.w", 20, false),
            parameter("decoder.0.b", 3, true),
            parameter("decoders.w", 5, false),
        ];
        for (patterns, want) in [
            (vec![], "11111"),
            (vec!["decoder"], "00110"),
            (vec!["decoder.0.b"], "00010"),
            (vec!["*.b"], "01010"),
            (vec!["*coder*w"], "10101"),
            (vec!["*"], "11111"),
            (vec!["@vectors"], "01010"),
            (vec!["encoder", "*.0.b"], "11010"),
        ] {
            let patterns: Vec<String> = patterns.into_iter().map(String::from).collect();
            let moving = Moving::choose(&all, &patterns).unwrap();
            let got: String = (0..5).map(|i| if moving.moves(i) { '1' } else { '0' }).collect();
            assert_eq!(got, want, "{patterns:?}");
            let n = all.iter().enumerate().filter(|(i, _)| moving.moves(*i));
            assert_eq!(moving.n_weights(), n.map(|(_, p)| p.len).sum::<usize>());
            assert_eq!(moving.only_vectors(), want == "01010" || want == "00010", "{patterns:?}");
        }
        for nothing in ["decode", "b", "*x", "w*", "decoder.0.w.x"] {
            let error = Moving::choose(&all, &[nothing.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(nothing) && error.contains("encoder.w"), "{error}");
        }
    }
}
