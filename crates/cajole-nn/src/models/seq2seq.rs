//! Encoder-decoder networks with additive attention, as in the paper's parsers.
//!
//! Two architectures share their parts:
//! - `simple`: stacked unidirectional LSTMs encode the input and stacked LSTMs write the output.
//!   The top decoder layer attends to the encoder, and the context feeds the output layer alone.
//! - `gnmt` (Wu et al. 2016): the first encoder layer is bidirectional, layers from the third on
//!   are residual, and the *bottom* decoder layer attends. Its context feeds every layer above, the
//!   output, and the bottom layer of the next step.
//!
//! A token is a word of the network's own vocabulary and, optionally, a row of fixed word vectors.
//! Alphabet: `E` and `P` sizes of the two embeddings, `H` hidden units, `A` width of the attention,
//! `V` output symbols, `T` tokens, `B` inputs, `R` rows of a step; time-major, row `t · B + b`.

use cajole_core::model::Symbol;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::autoregressive::{AutoRegressive, Encoded, Vars};
use crate::layers::attention::Keys;
use crate::layers::lstm::Input;
use crate::layers::lstm_layer::{CellKind, Direction, Layer};
use crate::layout::{Init, Layout, Param};
use crate::models::Token;
use crate::settings::{optional_size, size};
use crate::tape::{Graph, Var};

/// The size of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Seq2SeqConfig {
    /// The architecture.
    pub architecture: Architecture,
    /// Size of the input vocabulary.
    #[serde(deserialize_with = "size")]
    pub words: usize,
    /// `E`.
    #[serde(deserialize_with = "size")]
    pub embedding: usize,
    /// Number of fixed word vectors; zero for none.
    #[serde(deserialize_with = "optional_size")]
    pub vectors: usize,
    /// `P`.
    #[serde(deserialize_with = "optional_size")]
    pub vector_size: usize,
    /// `V`, including the end symbol, which is the last.
    #[serde(deserialize_with = "size")]
    pub output_symbols: usize,
    /// Size of the output symbols' embeddings.
    #[serde(deserialize_with = "size")]
    pub output_embedding: usize,
    /// Number of layers of the encoder, and of the decoder.
    #[serde(deserialize_with = "layers")]
    pub layers: usize,
    /// `H`.
    #[serde(deserialize_with = "size")]
    pub hidden: usize,
    /// `A`.
    #[serde(deserialize_with = "size")]
    pub attention: usize,
    /// Dropout rate between layers.
    pub dropout: f32,
    /// Dropout rate on embeddings.
    pub embedding_dropout: f32,
    /// Whether the input is read in reverse.
    pub reversed_input: bool,
    /// The output symbol that consumes the next token, if the decoder is shown that token.
    pub pointer: Option<Symbol>,
    /// The length limit of outputs is this factor times the input length, plus 20.
    #[serde(deserialize_with = "optional_size")]
    pub cap_factor: usize,
}

/// For `#[serde(deserialize_with)]`: layers whose state fits a [`Vars`] with context and token count.
///
/// # Errors
/// If it is out of range or not an integer.
pub fn layers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    const MOST: usize = (Vars::MOST - 2) / 2;
    match usize::deserialize(deserializer)? {
        n @ 1..=MOST => Ok(n),
        n => Err(D::Error::custom(format!("{n} layers; there must be 1 to {MOST}"))),
    }
}

/// How the layers are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// Unidirectional encoder, attention from the top layer.
    Simple,
    /// Bidirectional first layer, residuals, attention from the bottom layer, feeding all layers.
    Gnmt,
}

/// The result of attention: a context vector, or weights over already projected values.
#[derive(Clone, Copy)]
enum Context {
    Vector(Var),
    Weights(Var),
}

/// Index of the first projected values in the memory.
const PROJECTED: usize = 4;

/// The network.
#[derive(Clone, Debug)]
pub struct Seq2Seq {
    /// Its size.
    pub config: Seq2SeqConfig,
    layout: Layout,
    vectors: Option<Param>, // (n, P)
    embedding: Param,       // (words + 1, E), the last for the end of input
    encoder: Encoder,
    attention: Attention,
    decoder: Vec<Cell>,
    w_next: Option<Param>, // (H, 4H), for the next token
    symbols: Param,        // (V, output_embedding)
    output: Output,
}

#[derive(Clone, Debug)]
struct Encoder {
    /// The first layer, with an optional second cell that reads backwards.
    first: (Cell, Option<Cell>),
    /// The layers above.
    upper: Vec<Cell>,
}

/// The weights of an LSTM with one or two inputs.
#[derive(Clone, Debug)]
struct Cell {
    w_x: Param,         // (input, 4H)
    w_y: Option<Param>, // (second input, 4H)
    w_h: Param,         // (H, 4H)
    b: Param,           // (4H)
}

#[derive(Clone, Debug)]
struct Attention {
    w_key: Param,   // (H, A)
    b: Param,       // (A)
    w_query: Param, // (H, A)
    v: Param,       // (A)
}

#[derive(Clone, Debug)]
struct Output {
    w_h: Param,       // (H, V)
    w_context: Param, // (H, V)
    b: Param,         // (V)
}

impl Cell {
    fn declare(l: &mut Layout, name: &str, input: usize, second: Option<usize>, h: usize) -> Self {
        let gates = Init::Glorot { blocks: 4 };
        Cell {
            w_x: l.matrix(&format!("{name}.w_x"), input, 4 * h, gates),
            w_y: second.map(|n| l.matrix(&format!("{name}.w_y"), n, 4 * h, gates)),
            w_h: l.matrix(&format!("{name}.w_h"), h, 4 * h, gates),
            b: l.bias(&format!("{name}.b"), 4 * h, Init::LstmBias { blocks: 4 }),
        }
    }

    /// The projected inputs `(rows, 4H)`.
    fn project(&self, g: &mut Graph<'_>, x: Var, y: Option<Var>) -> Var {
        match (y, self.w_y) {
            (Some(y), Some(w_y)) => g.affine(&[(x, self.w_x), (y, w_y)], Some(self.b)),
            _ => g.affine(&[(x, self.w_x)], Some(self.b)),
        }
    }
}

impl Seq2Seq {
    /// A network of this size.
    pub fn new(config: Seq2SeqConfig) -> Self {
        let Seq2SeqConfig { hidden: h, attention: a, layers, .. } = config;
        let is_gnmt = config.architecture == Architecture::Gnmt;
        let l = &mut Layout::default();
        let vectors = (0 < config.vectors)
            .then(|| l.matrix("vectors.table", config.vectors, config.vector_size, Init::Zero));
        let embedding =
            l.matrix("embedding.table", config.words + 1, config.embedding, Init::Uniform(0.1));

        let (e, p) = (config.embedding, vectors.map(|_| config.vector_size));
        let forward = Cell::declare(l, "encoder.0", e, p, h);
        let backward = is_gnmt.then(|| Cell::declare(l, "encoder.0.backward", e, p, h));
        let upper = (1..layers).map(|i| {
            let second = (i == 1 && is_gnmt).then_some(h);
            Cell::declare(l, &format!("encoder.{i}"), h, second, h)
        });
        let encoder = Encoder { upper: upper.collect(), first: (forward, backward) };

        let one = Init::Glorot { blocks: 1 };
        let attention = Attention {
            w_key: l.matrix("attention.w_key", h, a, one),
            b: l.bias("attention.b", a, Init::Zero),
            w_query: l.matrix("attention.w_query", h, a, one),
            v: l.vector("attention.v", a, one),
        };
        let symbols = l.matrix(
            "decoder.symbols",
            config.output_symbols,
            config.output_embedding,
            Init::Uniform(0.1),
        );
        let decoder = (0..layers).map(|i| {
            let input = if i == 0 { config.output_embedding } else { h };
            Cell::declare(l, &format!("decoder.{i}"), input, is_gnmt.then_some(h), h)
        });
        let decoder = decoder.collect();
        let gates = Init::Glorot { blocks: 4 };
        let w_next = config.pointer.map(|_| l.matrix("decoder.w_next", h, 4 * h, gates));
        let output = Output {
            w_h: l.matrix("output.w_h", h, config.output_symbols, one),
            w_context: l.matrix("output.w_context", h, config.output_symbols, one),
            b: l.bias("output.b", config.output_symbols, Init::Zero),
        };
        let layout = std::mem::take(l);
        Seq2Seq {
            config,
            layout,
            vectors,
            embedding,
            encoder,
            attention,
            decoder,
            w_next,
            symbols,
            output,
        }
    }

    /// The table of fixed word vectors, which training does not change: `(n, P)`.
    pub fn vectors(&self) -> Option<Param> {
        self.vectors
    }

    /// Whether values are multiplied by every layer's weights before attention mixes them: fewer
    /// products, but projected values of many inputs fit no inner cache, and dropout needs the context.
    fn projects_beforehand(&self, g: &Graph<'_>) -> bool {
        let keeps_all = g.random.is_none() || self.config.dropout == 0.0;
        self.is_gnmt() && keeps_all && !g.shares_matrices()
    }

    fn is_gnmt(&self) -> bool {
        self.config.architecture == Architecture::Gnmt
    }

    /// Number of matrices in the decoder's state: `h` and `c` of every layer, the context that is
    /// fed back, and the number of tokens consumed.
    fn n_state(&self) -> usize {
        2 * self.config.layers
            + usize::from(self.is_gnmt())
            + usize::from(self.config.pointer.is_some())
    }

    /// How many tokens each row has consumed, `(R, 1)`.
    fn taken(&self, g: &mut Graph<'_>, before: Var, previous: &[Symbol]) -> Var {
        let taken = g.zeros(previous.len(), 1);
        for (i, &symbol) in previous.iter().enumerate() {
            let more = if Some(symbol) == self.config.pointer { 1.0 } else { 0.0 };
            let count = g.tape.value(before)[i] + more;
            g.fill(taken.row(i), [count].into_iter());
        }
        taken
    }

    /// The encoding of each row's next token, or of the end once all are consumed: `(R, H)`.
    fn next_token(
        &self,
        g: &mut Graph<'_>,
        values: Var,
        lengths: Var,
        taken: Var,
        inputs: &[u32],
    ) -> Var {
        let n_inputs = lengths.cols as usize;
        // Gather even a single row, so that gradients of the values are summed in the same order.
        g.gather(values, inputs.len(), |tape, i| {
            let input = inputs[i] as usize;
            let len = tape.value(lengths)[input] as usize - 1;
            let t = (tape.value(taken)[i] as usize).min(len);
            (self.place(t, len) * n_inputs + input) as u32
        })
    }

    fn dropout(&self, g: &mut Graph<'_>, x: Var) -> Var {
        g.dropout(x, self.config.dropout)
    }

    /// Runs `cell` over the projected inputs.
    fn read(&self, g: &mut Graph<'_>, x: Var, cell: &Cell, d: Direction, xs: &[&[Token]]) -> Layer {
        g.lstm_layer(CellKind::Lstm, x, cell.w_h, xs.iter().map(|x| x.len() + 1), d, 0.0)
    }

    /// Maps between token index and reading position (its own inverse); the end stays at the end.
    fn place(&self, t: usize, len: usize) -> usize {
        if self.config.reversed_input && t < len { len - 1 - t } else { t }
    }

    /// The embeddings of every token and of the end, time-major: `(T·B, E)` and `(T·B, P)`.
    fn embed(&self, g: &mut Graph<'_>, xs: &[&[Token]]) -> (Var, Option<Var>) {
        let longest = xs.iter().map(|x| x.len()).max().unwrap_or(0) + 1;
        let end = Token { word: self.config.words as Symbol, vector: 0 };
        let token = move |row: usize| {
            let (t, x) = (row / xs.len(), xs[row % xs.len()]);
            x.get(self.place(t, x.len())).copied().unwrap_or(end)
        };
        let tokens = (0..longest * xs.len()).map(token);
        let words = g.embed(self.embedding, tokens.clone().map(|token| token.word));
        let words = g.dropout(words, self.config.embedding_dropout);
        let vectors = self.vectors.map(|table| {
            let vectors = g.embed(table, tokens.map(|token| token.vector));
            g.dropout(vectors, self.config.embedding_dropout)
        });
        (words, vectors)
    }
}

/// A step of `cell`, with those inputs that are present.
fn lstm(
    g: &mut Graph<'_>,
    cell: &Cell,
    inputs: [Option<Input>; 4],
    state: (Var, Var),
) -> (Var, Var) {
    let mut given = [Input::Bias(cell.b); 4];
    let mut n = 0;
    for input in inputs.into_iter().flatten() {
        given[n] = input;
        n += 1;
    }
    g.lstm(&given[..n], state, cell.w_h, None)
}

impl AutoRegressive for Seq2Seq {
    type Input = [Token];

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn n_symbols(&self) -> usize {
        self.config.output_symbols
    }

    fn cap(&self, x: &[Token]) -> usize {
        self.config.cap_factor * x.len() + 20
    }

    /// Memory: keys `(T·B, A)`, values `(T·B, H)`, lengths `(1, B)`, the decoder's table of
    /// projected output symbols `(V, 4H)`; if values are projected beforehand, also the values
    /// projected for every layer, `(T·B, 4H)`, and for the output, `(T·B, V)`. State: `h` and `c`
    /// of every decoder layer, each `(B, H)`, and if it is fed back, the context `(B, H)` or its
    /// attention weights `(B, T)`.
    fn encode(&self, g: &mut Graph<'_>, xs: &[&[Token]]) -> Encoded {
        let (words, vectors) = self.embed(g, xs);
        let (cell, backward) = &self.encoder.first;
        let z = cell.project(g, words, vectors); // (T·B, 4H)
        let first = self.read(g, z, cell, Direction::Forward, xs);
        let first_backward = backward.as_ref().map(|cell| {
            let z = cell.project(g, words, vectors);
            self.read(g, z, cell, Direction::Backward, xs)
        });

        let mut state = [first.h; Vars::MOST];
        let (h, c) = first_backward.unwrap_or(first).last;
        state[..2].copy_from_slice(&[h, c]);
        let mut x = self.dropout(g, first.h); // (T·B, H)
        let mut second = first_backward.map(|layer| self.dropout(g, layer.h));
        for (i, cell) in (1..).zip(&self.encoder.upper) {
            let z = cell.project(g, x, second.take());
            let layer = self.read(g, z, cell, Direction::Forward, xs);
            state[2 * i..2 * i + 2].copy_from_slice(&[layer.last.0, layer.last.1]);
            let h = self.dropout(g, layer.h);
            x = if self.is_gnmt() && 2 <= i { g.sum(x, h) } else { h };
        }

        let keys = g.affine(&[(x, self.attention.w_key)], Some(self.attention.b)); // (T·B, A)
        let lengths = g.zeros(1, xs.len());
        g.fill(lengths, xs.iter().map(|x| (x.len() + 1) as f32));
        let symbols = g.param(self.symbols);
        let symbols = g.dropout(symbols, self.config.embedding_dropout);
        let table = g.affine(&[(symbols, self.decoder[0].w_x)], Some(self.decoder[0].b)); // (V, 4H)
        let mut memory = [keys; Vars::MOST];
        memory[..PROJECTED].copy_from_slice(&[keys, x, lengths, table]);
        let mut n_memory = PROJECTED;
        if self.projects_beforehand(g) {
            let uses = self.decoder.iter().filter_map(|cell| cell.w_y);
            for w in uses.chain([self.output.w_context]) {
                memory[n_memory] = g.affine(&[(x, w)], None);
                n_memory += 1;
            }
        }
        if self.is_gnmt() {
            let positions = keys.rows as usize / xs.len().max(1);
            let fed = if self.projects_beforehand(g) { positions } else { self.config.hidden };
            state[2 * self.config.layers] = g.zeros(xs.len(), fed);
        }
        if self.w_next.is_some() {
            state[self.n_state() - 1] = g.zeros(xs.len(), 1);
        }
        Encoded {
            memory: Vars::new(&memory[..n_memory]),
            state: Vars::new(&state[..self.n_state()]),
        }
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        encoded: &Encoded,
        state: &mut Vars,
        inputs: &[u32],
        previous: &[Symbol],
    ) -> Var {
        let layers = self.config.layers;
        let memory = &encoded.memory;
        let (keys, values, lengths, table) = (memory[0], memory[1], memory[2], memory[3]);
        let is_projected = self.projects_beforehand(g);
        let attend = |g: &mut Graph<'_>, h: Var| {
            let query = g.affine(&[(h, self.attention.w_query)], None); // (R, A)
            let keys = Keys { keys, lengths };
            let weights = g.attention(query, keys, self.attention.v, inputs); // (R, T)
            if is_projected {
                return Context::Weights(weights);
            }
            let context = g.seen(weights, values, lengths, inputs);
            let context = g.mix(context); // (R, H)
            Context::Vector(self.dropout(g, context))
        };
        // The attention input of layer `i`, over its projected values or the plain ones.
        let seen = |g: &mut Graph<'_>, context: Context, i: usize| match context {
            Context::Vector(context) => self.decoder[i].w_y.map(|w_y| Input::Times(context, w_y)),
            Context::Weights(weights) => {
                Some(Input::Seen(g.seen(weights, memory[PROJECTED + i], lengths, inputs)))
            }
        };

        // The bottom layer is fed its own previous context; the others depend only on layers below.
        g.level(1);
        let z = g.rows(table, previous.iter().copied()); // (R, 4H)
        let fed = self.is_gnmt().then(|| match is_projected {
            true => Context::Weights(state[2 * layers]),
            false => Context::Vector(state[2 * layers]),
        });
        let fed = fed.and_then(|fed| seen(g, fed, 0));
        let shown = self.w_next.map(|w_next| {
            let taken = self.taken(g, state[self.n_state() - 1], previous);
            state[self.n_state() - 1] = taken;
            g.level(0); // encodings do not depend on the output
            let token = self.next_token(g, values, lengths, taken, inputs);
            g.level(1);
            Input::Times(token, w_next)
        });
        let below = [Some(Input::Projected(z)), Some(Input::Shift(self.decoder[0].b)), fed, shown];
        let (h, c) = lstm(g, &self.decoder[0], below, (state[0], state[1]));
        (state[0], state[1]) = (h, c);
        let mut context = self.is_gnmt().then(|| attend(g, h));
        if let Some(Context::Vector(fed) | Context::Weights(fed)) = context {
            state[2 * layers] = fed;
        }
        let mut x = self.dropout(g, h); // (R, H)
        for (i, cell) in self.decoder.iter().enumerate().skip(1) {
            g.level(1 + i as u8);
            let seen = context.and_then(|context| seen(g, context, i));
            let below = [Some(Input::Bias(cell.b)), Some(Input::Times(x, cell.w_x)), seen, None];
            let (h, c) = lstm(g, cell, below, (state[2 * i], state[2 * i + 1]));
            (state[2 * i], state[2 * i + 1]) = (h, c);
            let h = self.dropout(g, h);
            x = if self.is_gnmt() && 2 <= i { g.sum(x, h) } else { h };
        }
        g.level(1 + layers as u8);
        let Output { w_h, w_context, b } = self.output;
        let scores = match *context.get_or_insert_with(|| attend(g, x)) {
            Context::Weights(weights) => {
                let own = g.affine(&[(x, w_h)], Some(b));
                let seen = g.seen(weights, memory[PROJECTED + layers], lengths, inputs);
                let seen = g.mix(seen);
                g.sum(own, seen)
            }
            Context::Vector(context) => g.affine(&[(x, w_h), (context, w_context)], Some(b)),
        }; // (R, V)
        let log_probs = g.log_softmax(scores);
        g.level(0);
        log_probs
    }
}
