//! An encoder-decoder as a model: steps over cached keys and values, and recordings made late.
//!
//! A step computes one position of every hypothesis and records nothing. The mark of a decoded symbol
//! names the node of the prefix that it follows. Before a gradient, the paths to blamed nodes are
//! forced through the network, all positions at once, and marks are replaced by those of that
//! recording. So hypotheses that are given up are never recorded, and what is recorded takes products
//! of many rows.

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::model::{Mark, Symbol};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Recording, Search, decoders,
};
use smallvec::SmallVec;

use super::cache::{Cache, Cached, ROOT};
use super::draft::Drafts;
use super::encoder_decoder::{EncoderDecoder, EncoderDecoderConfig, Memory};
use super::generation::Standing;
use crate::layout::Layout;
use crate::models::Token;
use crate::network::{Forcing, Network, Trainable, Trained};
use crate::stepwise::Stepwise;
use crate::tape::{Graph, Tape, Var};
use crate::train::Example;

/// Floats of cached keys and values beyond which no step is begun.
const MOST_CACHED: usize = 1 << 30;

/// Levels of what is recorded: what was decoded is walked back first, then what was forced. So a sum
/// of both has the same bits, whether the former was recorded late or as a draft.
const FORCED: u8 = 1;
pub(super) const OWN: u8 = 2;

/// State of a pass, beside its tape.
#[derive(Default)]
pub struct Decoding {
    memory: Memory,
    cache: Cache,
    /// The node and the input of each row.
    rows: Vec<u32>,
    inputs: Vec<u32>,
    drafts: Drafts,
    open: Open,
    /// Of the last step, `(R, V)`.
    log_probs: Vec<f32>,
    /// Of the last step, by row: what was subtracted from scores, if decoding has to know.
    log_sums: Vec<f32>,
    /// The symbols of a prefix.
    prefix: Vec<Symbol>,
    /// The node and the input of each saved row.
    saved: Vec<(u32, u32)>,
    late: Late,
}

/// Rows that no draft has an answer for.
#[derive(Default)]
struct Open {
    /// Their numbers among all rows.
    rows: Vec<u32>,
    /// Their nodes, inputs and symbols.
    nodes: Vec<u32>,
    inputs: Vec<u32>,
    symbols: Vec<Symbol>,
}

impl Open {
    fn clear(&mut self) {
        let Open { rows, nodes, inputs, symbols } = self;
        [rows, nodes, inputs, symbols].into_iter().for_each(Vec::clear);
    }
}

/// What is recorded late.
#[derive(Default)]
struct Late {
    blamed: Vec<u32>,
    /// By node: its row in the recording, or [`ROOT`].
    places: Vec<u32>,
    /// Blamed nodes that no other blamed node extends.
    ends: Vec<End>,
    /// Their paths, one after another, without the start symbol.
    outputs: Vec<Symbol>,
}

/// The end of a path.
#[derive(Clone, Copy)]
struct End {
    node: u32,
    input: u32,
    /// Its place among the paths.
    at: u32,
    len: u32,
}

impl End {
    fn path(self, outputs: &[Symbol]) -> &[Symbol] {
        &outputs[self.at as usize..][..self.len as usize]
    }
}

/// A mark of a symbol after the prefix of a node, not recorded yet.
const LATE: u64 = 1 << 63;

fn late(node: u32, symbol: Symbol) -> Mark {
    Mark(LATE | u64::from(node) << 32 | u64::from(symbol))
}

/// The node and the symbol of a late mark.
fn parts(Mark(mark): Mark) -> Option<(u32, Symbol)> {
    (mark & LATE != 0).then_some((((mark & !LATE) >> 32) as u32, mark as u32))
}

impl Decoding {
    /// Goes on with rows of these nodes and inputs.
    fn go_on_with(&mut self, all: &[(u32, u32)]) {
        self.rows.clear();
        self.inputs.clear();
        self.rows.extend(all.iter().map(|(row, _)| row));
        self.inputs.extend(all.iter().map(|(_, input)| input));
    }

    /// Takes one step with every row.
    fn step(
        &mut self,
        net: &EncoderDecoder,
        g: &mut Graph<'_>,
        symbols: &[Symbol],
    ) -> Result<(), BackendError> {
        let Decoding {
            memory, cache, rows, inputs, drafts, open, log_probs, log_sums, prefix, ..
        } = self;
        drafts.record(net, g, (memory, cache), (rows, inputs, symbols));
        let n = net.config.writes.symbols;
        log_probs.resize(rows.len() * n, 0.0);
        log_sums.clear();
        log_sums.resize(rows.len(), 0.0);
        open.clear();
        for (i, (row, &symbol)) in rows.iter_mut().zip(symbols).enumerate() {
            match drafts.follow(cache, *row, symbol) {
                Some(node) => *row = node,
                None => {
                    open.rows.push(i as u32);
                    open.nodes.push(*row);
                    open.inputs.push(inputs[i]);
                    open.symbols.push(symbol);
                    continue;
                }
            }
            if let Some((said, at)) = drafts.place(cache, *row) {
                log_probs[i * n..][..n].copy_from_slice(g.tape.value(said.row(at)));
            }
        }
        if !open.rows.is_empty() {
            extend(net, g, (memory, cache), open, (log_probs, log_sums))?;
        }
        for (&row, &node) in open.rows.iter().zip(&open.nodes) {
            rows[row as usize] = node;
        }
        inputs.iter().zip(&*rows).for_each(|(&input, &node)| drafts.reach(input, node));
        let EncoderDecoderConfig { start, end, cap, .. } = net.config;
        for ((own, &node), &log_sum) in log_probs.chunks_exact_mut(n).zip(&*rows).zip(&*log_sums) {
            prefix.clear();
            if net.generation.needs_prefix() {
                cache.path(node, prefix);
            }
            let depth = cache.nodes[node as usize].depth as usize;
            net.generation.apply(own, Standing { start, end, depth, prefix, cap, log_sum });
        }
        Ok(())
    }
}

/// Extends open rows by a symbol each, and writes their log-probabilities among those of all rows.
fn extend(
    net: &EncoderDecoder,
    g: &mut Graph<'_>,
    (memory, cache): (&Memory, &mut Cache),
    Open { rows, nodes, inputs, symbols }: &mut Open,
    (log_probs, log_sums): (&mut [f32], &mut [f32]),
) -> Result<(), BackendError> {
    if MOST_CACHED < cache.len() {
        return Err(BackendError::new(format!(
            "the cache has {} floats, and the limit is {MOST_CACHED}: search for less",
            cache.len()
        )));
    }
    let start = g.tape.position();
    cache.extend(nodes, inputs, symbols);
    g.list(inputs.iter().copied());
    let node = |&node: &u32| &cache.nodes[node as usize];
    let read = nodes.iter().map(node).map(|node| match node.depth {
        0 => (net.config.start, 0),
        depth => (node.symbol, depth as usize),
    });
    let x = net.writes.read(g, read, None, nodes.len()); // (R, D)
    let mut look = Cached::new(net, cache, memory, nodes.len());
    let x = net.decoder.run(g, x, &mut look); // (R, D)
    let scores = net.scores(g, x);
    let said = g.log_softmax(scores); // (R, V)
    let n = said.cols as usize;
    for (i, &row) in rows.iter().enumerate() {
        let own = g.tape.value(said.row(i));
        log_probs[row as usize * n..][..n].copy_from_slice(own);
        if net.generation.needs_scores() {
            // The same for every symbol.
            log_sums[row as usize] = g.tape.value(scores.row(i))[0] - own[0];
        }
    }
    g.tape.rewind(start);
    Ok(())
}

impl EncoderDecoder {
    /// The symbol that stands for `symbol` where these are the log-probabilities: the end symbol may
    /// stand for others.
    fn spoken(&self, symbol: Symbol, log_probs: &[f32]) -> Symbol {
        if symbol == self.config.end { self.generation.ending(symbol, log_probs) } else { symbol }
    }
}

impl Late {
    /// Finds the paths that have to be recorded for these nodes to be. Their order depends on nothing
    /// but the paths, so that gradients are always summed alike.
    fn collect(&mut self, cache: &Cache, nodes: impl Iterator<Item = u32>) {
        let Late { blamed, places, ends, outputs } = self;
        blamed.clear();
        blamed.extend(nodes);
        blamed.sort_unstable();
        blamed.dedup();
        ends.clear();
        outputs.clear();
        places.clear();
        places.resize(cache.nodes.len(), ROOT);
        // A node comes after those it extends, so a path is met at its end first.
        for &node in blamed.iter().rev() {
            if places[node as usize] == ROOT {
                let input = cache.nodes[node as usize].input;
                let at = outputs.len() as u32;
                cache.each_up(node, |node, _| places[node as usize] = 0);
                cache.path(node, outputs);
                ends.push(End { node, input, at, len: outputs.len() as u32 - at });
            }
        }
        ends.sort_unstable_by_key(|end| (end.input, end.path(outputs)));
        places.fill(ROOT);
        let mut first = 0;
        for end in &*ends {
            cache.each_up(end.node, |node, depth| {
                let place = &mut places[node as usize];
                *place = if *place == ROOT { first + depth } else { *place };
            });
            first += end.len + 1;
        }
    }

    /// The paths, each with its input.
    fn outputs(&self) -> impl Iterator<Item = (usize, &[Symbol])> + Clone {
        self.ends.iter().map(|end| (end.input as usize, end.path(&self.outputs)))
    }
}

impl Stepwise for EncoderDecoder {
    fn n_symbols(&self) -> usize {
        self.config.writes.symbols
    }

    fn end(&self) -> Symbol {
        self.config.end
    }

    fn cap(&self, x: &[Token]) -> usize {
        self.config.cap + self.config.cap_factor * x.len()
    }

    fn begin(&self, g: &mut Graph<'_>, lane: &mut Decoding, xs: &[&[Token]], recording: Recording) {
        let Decoding { memory, cache, rows, inputs, drafts, saved, .. } = lane;
        // Drafts keep log-probabilities alone.
        let is_drafted = recording == Recording::Kept && !self.generation.needs_scores();
        drafts.begin(cache, xs.iter().copied(), is_drafted);
        self.encode(g, xs.iter().copied(), memory);
        cache.begin(g.tape, memory, self.config.decoder.heads(true));
        rows.clear();
        rows.resize(xs.len(), ROOT);
        inputs.clear();
        inputs.extend(0..xs.len() as u32);
        saved.clear();
    }

    fn step(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Decoding,
        symbols: &[Symbol],
        _: Recording,
    ) -> Result<(), BackendError> {
        lane.step(self, g, symbols)
    }

    fn said<'t>(&self, _: &'t Tape, lane: &'t Decoding, row: usize) -> &'t [f32] {
        let n = self.config.writes.symbols;
        &lane.log_probs[row * n..][..n]
    }

    fn reorder(&self, _: &mut Tape, lane: &mut Decoding, chosen: &[u32]) {
        let Decoding { rows, inputs, .. } = lane;
        let all: SmallVec<[(u32, u32); 128]> =
            chosen.iter().map(|&i| (rows[i as usize], inputs[i as usize])).collect();
        lane.go_on_with(&all);
    }

    fn mark(&self, _: &Tape, lane: &Decoding, row: usize, symbol: Symbol) -> Mark {
        late(lane.rows[row], symbol)
    }

    fn save(&self, _: &Tape, lane: &mut Decoding) {
        let Decoding { rows, inputs, saved, .. } = lane;
        saved.extend(rows.iter().copied().zip(inputs.iter().copied()));
    }

    fn recall(&self, _: &mut Tape, lane: &mut Decoding, which: &[u32]) {
        let all: SmallVec<[(u32, u32); 128]> =
            which.iter().map(|&i| lane.saved[i as usize]).collect();
        lane.go_on_with(&all);
    }
}

impl Trainable for EncoderDecoder {
    type Input = [Token];

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn size(&self, x: &[Token]) -> usize {
        x.len()
    }

    fn n_terms(&self, y: &[Symbol]) -> usize {
        y.len() + 1
    }

    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, [Token]>],
        weight: f32,
        blame: &mut Vec<(Mark, f32)>,
    ) -> f64 {
        let mut memory = Memory::default();
        self.encode(g, examples.iter().map(|example| example.input), &mut memory);
        let outputs = examples.iter().map(|example| example.output).enumerate();
        let said = self.force(g, &memory, outputs, None); // (R, V)
        let (mut loss, mut row) = (0.0, 0);
        for example in examples {
            for &symbol in example.output.iter().chain([&self.config.end]) {
                loss -= f64::from(g.tape.value(said.row(row))[symbol as usize]);
                blame.push((g.tape.mark(said, row, symbol as usize), -weight));
                row += 1;
            }
        }
        loss
    }
}

impl Network for EncoderDecoder {
    type Lane = Decoding;

    fn force(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Decoding,
        outputs: &mut [Forcing<'_>],
    ) -> Result<(), BackendError> {
        g.tape.check_room()?;
        g.level(FORCED);
        let ys = outputs.iter().map(|force| (force.input, force.output));
        let said = EncoderDecoder::force(self, g, &lane.memory, ys, None); // (R, V)
        let mut row = 0;
        for force in outputs {
            *force.passes = 1;
            force.forced.clear();
            force.forced.output.extend_from_slice(force.output);
            for (t, &symbol) in force.output.iter().chain([&self.config.end]).enumerate() {
                let own = g.tape.value(said.row(row));
                let symbol = self.spoken(symbol, own);
                if !self.generation.is_certain(t, self.config.cap) {
                    force.forced.log_prob += own[symbol as usize];
                }
                force.forced.marks.push(g.tape.mark(said, row, symbol as usize));
                row += 1;
            }
        }
        Ok(())
    }

    /// Records the paths to blamed nodes.
    fn record(
        &self,
        g: &mut Graph<'_>,
        lane: &mut Decoding,
        blamed: &mut [&mut Vec<(Mark, f32)>],
    ) -> Result<(), BackendError> {
        let Decoding { memory, cache, drafts, late, .. } = lane;
        let all = blamed.iter().flat_map(|blame| blame.iter());
        let nodes = all.filter_map(|&(mark, _)| Some(parts(mark)?.0));
        drafts.keep(cache, nodes.clone());
        late.collect(cache, nodes.filter(|&node| drafts.place(cache, node).is_none()));
        let mut said: Option<Var> = None;
        if !late.ends.is_empty() {
            g.tape.check_room()?;
            g.level(OWN);
            let outputs = late.outputs();
            said = Some(EncoderDecoder::force(self, g, memory, outputs, None)); // (R, V)
        }
        for (mark, _) in blamed.iter_mut().flat_map(|blame| blame.iter_mut()) {
            let Some((node, symbol)) = parts(*mark) else { continue };
            let row = late.places[node as usize] as usize;
            let place = drafts.place(cache, node).or(said.map(|said| (said, row)));
            if let Some((said, row)) = place {
                let symbol = self.spoken(symbol, g.tape.value(said.row(row)));
                *mark = g.tape.mark(said, row, symbol as usize);
            }
        }
        Ok(())
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
