//! The paper's parsing network `net1`, with what its workloads need to run it on generated data.
//!
//! Its weights are random, since the time of a pass depends on lengths alone. So that outputs are
//! as long as trees are, the end symbol is made so improbable that it is never decoded, and a cap
//! ends every output in its stead: several symbols per token of the input.

use cajole_core::Symbol;
use cajole_nn::layout::Layout;
use cajole_nn::models::{Architecture, Seq2Seq, Seq2SeqConfig, Token};
use cajole_nn::random::Random;
use cajole_nn::tape::{Graph, Var};
use cajole_nn::{AutoRegressive, Encoded, Vars};

const SEED: u64 = 1;

/// `net1`, whose outputs end at a cap of one's own.
pub(crate) struct Net1 {
    pub(crate) net: Seq2Seq,
    pub(crate) cap: fn(&[Token]) -> usize,
}

impl Net1 {
    pub(crate) fn new(dropout: f32, cap: fn(&[Token]) -> usize) -> Self {
        let net = Seq2Seq::new(Seq2SeqConfig {
            architecture: Architecture::Gnmt,
            words: 10_000,
            embedding: 64,
            vectors: 36_000,
            vector_size: 50,
            output_symbols: 32,
            output_embedding: 32,
            layers: 3,
            hidden: 128,
            attention: 128,
            dropout,
            embedding_dropout: dropout,
            reversed_input: false,
            pointer: None,
            cap_factor: 4,
        });
        Net1 { net, cap }
    }

    /// The weights that training starts from; word vectors are random too.
    pub(crate) fn fresh_weights(&self) -> Vec<f32> {
        let mut w = self.layout().initial(SEED);
        if let Some(vectors) = self.net.vectors() {
            let mut random = Random::derive(SEED, &[u64::MAX]);
            w[vectors.range()].iter_mut().for_each(|v| *v = random.uniform(-0.5, 0.5));
        }
        w
    }

    /// The same, but louder, since fresh weights decode one symbol over and over; and never to end.
    pub(crate) fn babbling_weights(&self) -> Vec<f32> {
        let mut w = self.fresh_weights();
        for entry in self.layout().entries() {
            let values = &mut w[entry.param.range()];
            match entry.name.as_str() {
                "decoder.symbols" => values.iter_mut().for_each(|v| *v *= 10.0),
                "output.w_h" | "output.w_context" => values.iter_mut().for_each(|v| *v *= 4.0),
                "output.b" => values[self.end() as usize] = -100.0,
                _ => {}
            }
        }
        w
    }

    /// An input of `n` random tokens.
    pub(crate) fn input(&self, random: &mut Random, n: usize) -> Vec<Token> {
        let Seq2SeqConfig { words, vectors, .. } = self.net.config;
        let mut draw = |n| random.below(n) as Symbol;
        (0..n).map(|_| Token { word: draw(words), vector: draw(vectors) }).collect()
    }

    /// Words and word vectors of an input, as a rival reads them: with the end that the network
    /// itself adds.
    pub(crate) fn columns(&self, x: &[Token]) -> (Vec<Symbol>, Vec<Symbol>) {
        let end = Token { word: self.net.config.words as Symbol, vector: 0 };
        x.iter().chain([&end]).map(|token| (token.word, token.vector)).unzip()
    }
}

/// `n` tokens, as long as sentences of a treebank are: from 5 to 40, about 22 on average.
pub(crate) fn sentence_length(random: &mut Random) -> usize {
    5 + random.below(36)
}

impl AutoRegressive for Net1 {
    type Input = [Token];

    fn layout(&self) -> &Layout {
        self.net.layout()
    }

    fn n_symbols(&self) -> usize {
        self.net.n_symbols()
    }

    fn end(&self) -> Symbol {
        self.net.end()
    }

    fn cap(&self, x: &[Token]) -> usize {
        (self.cap)(x)
    }

    fn encode(&self, g: &mut Graph<'_>, xs: &[&[Token]]) -> Encoded {
        self.net.encode(g, xs)
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        encoded: &Encoded,
        state: &mut Vars,
        inputs: &[u32],
        previous: &[Symbol],
    ) -> Var {
        self.net.step(g, encoded, state, inputs, previous)
    }
}
