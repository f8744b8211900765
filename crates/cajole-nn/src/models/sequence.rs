//! A network that reads a sequence of tokens and writes another, of either kind: LSTMs with
//! attention, or a transformer. Tasks that train both hold one of these.

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::model::{Mark, Symbol};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Recording, Search, decoders,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::seq2seq::{Seq2Seq, Seq2SeqConfig};
use super::token::Token;
use super::transformer::{Decoding, EncoderDecoder, EncoderDecoderConfig};
use crate::autoregressive::Steps;
use crate::layout::{Layout, Param};
use crate::network::{Forcing, Network, Trainable, Trained};
use crate::stepwise::Stepwise;
use crate::tape::{Graph, Tape};
use crate::train::Example;

/// A network of either kind.
#[derive(Clone, Debug)]
pub enum SequenceNetwork {
    /// LSTMs with attention.
    Lstm(Box<Seq2Seq>),
    /// A transformer.
    Transformer(Box<EncoderDecoder>),
}

/// Its architecture. In a file, a transformer has a `decoder`, and LSTMs have none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SequenceConfig {
    /// LSTMs with attention.
    Lstm(Seq2SeqConfig),
    /// A transformer.
    Transformer(Box<EncoderDecoderConfig>),
}

impl<'de> Deserialize<'de> for SequenceConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.get("decoder").is_none() {
            return serde_json::from_value(value)
                .map(SequenceConfig::Lstm)
                .map_err(D::Error::custom);
        }
        let config: EncoderDecoderConfig =
            serde_json::from_value(value).map_err(D::Error::custom)?;
        config.check().map_err(D::Error::custom)?;
        if config.end as usize + 1 != config.writes.symbols {
            let (end, last) = (config.end, config.writes.symbols - 1);
            return Err(D::Error::custom(format!("the end is symbol {end}, and should be {last}")));
        }
        Ok(SequenceConfig::Transformer(Box::new(config)))
    }
}

impl SequenceConfig {
    /// Symbols of the input vocabulary, without the end of the input.
    pub fn words(&self) -> usize {
        match self {
            SequenceConfig::Lstm(config) => config.words,
            SequenceConfig::Transformer(config) => {
                config.reads.symbols - usize::from(config.reads_end)
            }
        }
    }

    /// Number of fixed word vectors and their size, if there are any.
    pub fn vectors(&self) -> Option<(usize, usize)> {
        match self {
            SequenceConfig::Lstm(config) => {
                (0 < config.vectors).then_some((config.vectors, config.vector_size))
            }
            SequenceConfig::Transformer(config) => {
                config.vectors.map(|vectors| (vectors.rows, vectors.size))
            }
        }
    }

    /// `V`, including the end symbol.
    pub fn output_symbols(&self) -> usize {
        match self {
            SequenceConfig::Lstm(config) => config.output_symbols,
            SequenceConfig::Transformer(config) => config.writes.symbols,
        }
    }
}

/// Makes a call on the network that it is, with that network's part of a lane if there is one.
macro_rules! forward {
    ($self:ident, $net:ident => $call:expr) => {
        match $self {
            SequenceNetwork::Lstm($net) => $call,
            SequenceNetwork::Transformer($net) => $call,
        }
    };
    ($self:ident, $net:ident, $lane:ident => $call:expr) => {{
        let SequenceLane { lstm, transformer } = $lane;
        match $self {
            SequenceNetwork::Lstm($net) => {
                let $lane = lstm;
                $call
            }
            SequenceNetwork::Transformer($net) => {
                let $lane = transformer;
                $call
            }
        }
    }};
}

impl SequenceNetwork {
    /// A network of this architecture.
    pub fn new(config: SequenceConfig) -> Self {
        match config {
            SequenceConfig::Lstm(config) => SequenceNetwork::Lstm(Box::new(Seq2Seq::new(config))),
            SequenceConfig::Transformer(config) => {
                SequenceNetwork::Transformer(Box::new(EncoderDecoder::new(*config)))
            }
        }
    }

    /// The table of fixed word vectors, which training does not change: `(n, P)`.
    pub fn vectors(&self) -> Option<Param> {
        forward!(self, net => net.vectors())
    }
}

/// State of a pass: that of the network's kind; the other stays empty.
#[derive(Default)]
pub struct SequenceLane {
    lstm: Steps,
    transformer: Decoding,
}

impl Trainable for SequenceNetwork {
    type Input = [Token];

    fn layout(&self) -> &Layout {
        forward!(self, net => net.layout())
    }

    fn size(&self, x: &[Token]) -> usize {
        forward!(self, net => net.size(x))
    }

    fn n_terms(&self, y: &[Symbol]) -> usize {
        forward!(self, net => net.n_terms(y))
    }

    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, [Token]>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64 {
        forward!(self, net => net.teach(g, examples, weight, blame))
    }
}

impl Network for SequenceNetwork {
    type Lane = SequenceLane;

    fn force(
        &self,
        g: &mut Graph<'_>,
        lane: &mut SequenceLane,
        outputs: &mut [Forcing<'_>],
    ) -> Result<(), BackendError> {
        forward!(self, net, lane => net.force(g, lane, outputs))
    }

    fn record(
        &self,
        g: &mut Graph<'_>,
        lane: &mut SequenceLane,
        blamed: &mut [&mut Vec<(Mark, f32)>],
    ) -> Result<(), BackendError> {
        forward!(self, net, lane => net.record(g, lane, blamed))
    }

    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Trained<Self>> + '_> {
        decoders::own(beam)
    }

    fn search(
        &self,
        search: &Search,
        ranking: Ranking,
    ) -> Result<Box<dyn ConstrainedDecoder<Trained<Self>> + '_>, DoesNotFit> {
        decoders::search(search, ranking)
    }
}

impl Stepwise for SequenceNetwork {
    fn n_symbols(&self) -> usize {
        forward!(self, net => net.n_symbols())
    }

    fn end(&self) -> Symbol {
        forward!(self, net => net.end())
    }

    fn cap(&self, x: &[Token]) -> usize {
        forward!(self, net => net.cap(x))
    }

    fn begin(
        &self,
        g: &mut Graph<'_>,
        lane: &mut SequenceLane,
        xs: &[&[Token]],
        recording: Recording,
    ) {
        forward!(self, net, lane => net.begin(g, lane, xs, recording));
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        lane: &mut SequenceLane,
        symbols: &[Symbol],
        recording: Recording,
    ) -> Result<(), BackendError> {
        forward!(self, net, lane => net.step(g, lane, symbols, recording))
    }

    fn said<'t>(&self, tape: &'t Tape, lane: &'t SequenceLane, row: usize) -> &'t [f32] {
        forward!(self, net, lane => net.said(tape, lane, row))
    }

    fn reorder(&self, tape: &mut Tape, lane: &mut SequenceLane, rows: &[u32]) {
        forward!(self, net, lane => net.reorder(tape, lane, rows));
    }

    fn mark(&self, tape: &Tape, lane: &SequenceLane, row: usize, symbol: Symbol) -> Mark {
        forward!(self, net, lane => net.mark(tape, lane, row, symbol))
    }

    fn save(&self, tape: &Tape, lane: &mut SequenceLane) {
        forward!(self, net, lane => net.save(tape, lane));
    }

    fn recall(&self, tape: &mut Tape, lane: &mut SequenceLane, which: &[u32]) {
        forward!(self, net, lane => net.recall(tape, lane, which));
    }
}
