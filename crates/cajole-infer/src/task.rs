//! What inference needs of a checkpoint, whatever the network is for.

use std::borrow::Borrow;

use cajole_core::{Config, Decoder, Model, Symbol};
use cajole_rules::{Bound, Rules, Subject, Vocabulary};
use serde_json::{Map, Value};

use crate::engine::{Engine, Limits, Preset, Rival};
use crate::line::{Line, LineError};

/// One input with all that belongs to it. A line has one; a sentence one for each predicate.
#[derive(Clone, Debug)]
pub struct Case<I> {
    /// What the network reads.
    pub input: I,
    /// What rules see of it.
    pub subject: Subject,
    /// The right output, if it was given.
    pub gold: Option<Vec<Symbol>>,
    /// What is to stand in the record beside the output, such as the predicate.
    pub about: Map<String, Value>,
}

/// An input with an output for it.
pub type Output<'a, I> = (&'a Case<I>, &'a [Symbol]);

/// A decoder for one input and its rules.
pub type Search<'a, M> = Box<dyn Decoder<M> + 'a>;

/// The decoders of a kind of network.
pub trait Decoders<M: Model> {
    /// The engines that differ for it.
    fn engines(&self) -> Vec<Engine>;

    /// `f(x; W)`: its own inference procedure, with a beam where it has one.
    fn own(&self, width: usize) -> Search<'_, M>;

    /// A way of finding satisfying outputs; none, if it does not fit this network or these rules.
    fn rival<'a>(
        &'a self,
        rival: Rival,
        rules: &'a Rules<'_>,
        bound: &'a Bound<'a>,
        limits: &Limits,
    ) -> Option<Search<'a, M>>;

    /// Where gradient-based inference takes satisfying candidates from.
    fn sources<'a>(
        &'a self,
        rules: &'a Rules<'_>,
        bound: &'a Bound<'a>,
        limits: &Limits,
    ) -> Vec<Search<'a, M>>;
}

/// A network with its vocabulary and the decoders that fit it.
pub trait Task: Sync {
    /// As checkpoints call it.
    const NAME: &'static str;

    /// Whether a line is one input; if not, its record has a list of answers.
    const IS_ONE_A_LINE: bool = true;

    /// The network.
    type Model: Model;

    /// An input that can be kept.
    type Input: Borrow<<Self::Model as Model>::Input> + Send + Sync;

    /// The network.
    fn model(&self) -> &Self::Model;

    /// The names of its output symbols.
    fn vocabulary(&self) -> &Vocabulary;

    /// What its outputs have to satisfy if nobody says otherwise, as a constraint file.
    fn usual_rules(&self) -> Option<&'static str>;

    /// The settings of gradient-based inference that are known to work for it.
    fn gbi(&self, preset: Preset) -> Config;

    /// How far engines go with it, if nobody says otherwise.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// The inputs of a line, each of which has to obey `rules`.
    ///
    /// # Errors
    /// If the network cannot read them.
    fn cases(&self, line: &Line, rules: &Rules<'_>) -> Result<Vec<Case<Self::Input>>, LineError>;

    /// What stands in the record of an output.
    fn record(&self, case: &Case<Self::Input>, y: &[Symbol]) -> Map<String, Value>;

    /// The decoders that fit its network.
    fn decoders(&self) -> &dyn Decoders<Self::Model>;

    /// How good outputs are, in per cent, with the name of the measure: the task's own.
    fn score(&self, outputs: &[Output<'_, Self::Input>]) -> (&'static str, f64);
}
