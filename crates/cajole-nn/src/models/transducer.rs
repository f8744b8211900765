//! The paper's sequence transducer: a small encoder-decoder without attention.
//!
//! One LSTM encodes the input; another writes the output and receives the encoder's final state at
//! every step. `V_in` input symbols, `V` output symbols with the end symbol last, `E` embedding
//! dimension, `H` hidden units.
//!
//! Vocabularies are tiny, so the input projection is computed once per pass for the whole
//! vocabulary, and a step looks up its row. The encoder's final state is constant during decoding,
//! so its product is computed once too.

use cajole_core::model::Symbol;
use serde::{Deserialize, Serialize};

use crate::autoregressive::{AutoRegressive, Encoded, Vars};
use crate::layers::lstm::Input;
use crate::layout::{Init, Layout, Param};
use crate::settings::{optional_size, size};
use crate::tape::{Graph, Var};

/// The size of a transducer, and choices the paper leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransducerConfig {
    /// `V_in`.
    #[serde(deserialize_with = "size")]
    pub input_symbols: usize,
    /// `V`, including the end symbol, which is the last.
    #[serde(deserialize_with = "size")]
    pub output_symbols: usize,
    /// `E`.
    #[serde(deserialize_with = "size")]
    pub embedding: usize,
    /// `H`.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// The decoder's initial state.
    pub start_state: StartState,
    /// Dropout rate on embeddings and on the input of the output layer.
    pub dropout: f32,
    /// The length limit of outputs is this factor times the input length, plus 10.
    #[serde(deserialize_with = "optional_size")]
    pub cap_factor: usize,
}

/// The decoder's initial state. The paper does not specify it; it decides how hard the task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartState {
    /// The encoder's final state: outputs for long inputs are mostly right.
    Encoder,
    /// Zero: the decoder sees the input only through the encoder state fed at every step.
    Zero,
}

impl StartState {
    /// Its name in network names.
    pub fn name(self) -> &'static str {
        match self {
            StartState::Encoder => "encoder",
            StartState::Zero => "zero",
        }
    }

    /// A short description.
    pub fn describe(self) -> &'static str {
        match self {
            StartState::Encoder => "the encoder's state",
            StartState::Zero => "zero",
        }
    }
}

/// The network.
#[derive(Clone, Debug)]
pub struct Transducer {
    /// Its size.
    pub config: TransducerConfig,
    layout: Layout,
    encoder: Encoder,
    decoder: Decoder,
    output: (Param, Param), // (H, V), (V)
}

#[derive(Clone, Debug)]
struct Encoder {
    embedding: Param, // (V_in, E)
    w_x: Param,       // (E, 4H)
    w_h: Param,       // (H, 4H)
    b: Param,         // (4H)
}

#[derive(Clone, Debug)]
struct Decoder {
    embedding: Param, // (V, E)
    w_x: Param,       // (E, 4H)
    w_s: Param,       // (H, 4H), for the encoder's final state
    w_h: Param,       // (H, 4H)
    b: Param,         // (4H)
}

impl Transducer {
    /// A transducer of this size.
    pub fn new(config: TransducerConfig) -> Self {
        let TransducerConfig { input_symbols, output_symbols, embedding, hidden, .. } = config;
        let mut layout = Layout::default();
        let gates = 4 * hidden;
        // Small enough that units start in their linear range, whatever their number.
        let init = Init::Uniform(1.0 / (hidden as f32).sqrt());
        let encoder = Encoder {
            embedding: layout.matrix(
                "encoder.embedding",
                input_symbols,
                embedding,
                Init::Uniform(1.0),
            ),
            w_x: layout.matrix("encoder.w_x", embedding, gates, init),
            w_h: layout.matrix("encoder.w_h", hidden, gates, init),
            b: layout.bias("encoder.b", gates, init),
        };
        let decoder = Decoder {
            embedding: layout.matrix(
                "decoder.embedding",
                output_symbols,
                embedding,
                Init::Uniform(1.0),
            ),
            w_x: layout.matrix("decoder.w_x", embedding, gates, init),
            w_s: layout.matrix("decoder.w_s", hidden, gates, init),
            w_h: layout.matrix("decoder.w_h", hidden, gates, init),
            b: layout.bias("decoder.b", gates, init),
        };
        let output = (
            layout.matrix("output.w", hidden, output_symbols, init),
            layout.bias("output.b", output_symbols, init),
        );
        Transducer { config, layout, encoder, decoder, output }
    }

    /// `embedding · W_x + b` for every symbol: `(V, 4H)`.
    fn table(&self, g: &mut Graph<'_>, embedding: Param, w_x: Param, b: Param) -> Var {
        let e = g.param(embedding);
        let e = g.dropout(e, self.config.dropout);
        g.affine(&[(e, w_x)], Some(b))
    }
}

impl AutoRegressive for Transducer {
    type Input = [Symbol];

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_symbols(&self) -> usize {
        self.config.output_symbols
    }

    fn cap(&self, x: &[Symbol]) -> usize {
        self.config.cap_factor * x.len() + 10
    }

    /// Memory: the decoder's table `(V, 4H)` and its input from the encoder `(B, 4H)`.
    /// State: `h` and `c`, each `(B, H)`.
    fn encode(&self, g: &mut Graph<'_>, xs: &[&[Symbol]]) -> Encoded {
        let (rows, longest) = (xs.len(), xs.iter().map(|x| x.len()).max().unwrap_or(0));
        let enc = &self.encoder;
        let table = self.table(g, enc.embedding, enc.w_x, enc.b); // (V_in, 4H)
        let zero = g.zeros(rows, self.config.hidden); // (B, H)
        let (mut h, mut c) = (zero, zero);
        for t in 0..longest {
            // Finished inputs keep their state; any symbol will do for them.
            let symbols = xs.iter().map(|x| x.get(t).copied().unwrap_or(0));
            let alive = |i: usize| t < xs[i].len();
            let all_alive = xs.iter().all(|x| t < x.len());
            let x = g.rows(table, symbols); // (B, 4H)
            let inputs = [x.into(), Input::Shift(enc.b)];
            (h, c) = g.lstm(&inputs, (h, c), enc.w_h, (!all_alive).then_some(&alive));
        }
        let dec = &self.decoder;
        let table = self.table(g, dec.embedding, dec.w_x, dec.b); // (V, 4H)
        let from_encoder = g.affine(&[(h, dec.w_s)], None); // (B, 4H)
        let state = match self.config.start_state {
            StartState::Encoder => Vars::new(&[h, c]),
            StartState::Zero => Vars::new(&[zero, zero]),
        };
        Encoded { memory: Vars::new(&[table, from_encoder]), state }
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        encoded: &Encoded,
        state: &mut Vars,
        inputs: &[u32],
        previous: &[Symbol],
    ) -> Var {
        let x = g.rows(encoded.memory[0], previous.iter().copied()); // (R, 4H)
        let from_encoder = g.select(encoded.memory[1], inputs); // (R, 4H)
        let inputs = [x.into(), Input::Shift(self.decoder.b), from_encoder.into()];
        let (h, c) = g.lstm(&inputs, (state[0], state[1]), self.decoder.w_h, None);
        (state[0], state[1]) = (h, c);
        let features = g.dropout(h, self.config.dropout);
        let scores = g.affine(&[(features, self.output.0)], Some(self.output.1)); // (R, V)
        g.log_softmax(scores)
    }
}
