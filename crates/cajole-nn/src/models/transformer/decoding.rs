//! An encoder-decoder as a model: steps over cached keys and values, and recordings made late.
//!
//! A step computes one position of every hypothesis and records nothing. The mark of a decoded symbol
//! names the node of the prefix that it follows. Before a gradient, the paths to blamed nodes are
//! forced through the network, all positions at once, and marks are replaced by those of that
//! recording. So hypotheses that are given up are never recorded, and what is recorded takes products
//! of many rows.

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::model::{Force, Mark, Pass, Symbol};
use cajole_core::{ConstrainedDecoder, Decoder, Failure, Recording, Source, Stepper, decoders};
use smallvec::SmallVec;

use super::cache::{Cache, Cached, ROOT};
use super::draft::Drafts;
use super::encoder_decoder::{EncoderDecoder, Memory};
use crate::lanes::{Lane, Padding, Scratch};
use crate::layout::Layout;
use crate::network::{Network, Trainable, Trained};
use crate::tape::{Graph, Var};
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
    /// The symbols to extend rows by.
    symbols: Vec<Symbol>,
    drafts: Drafts,
    open: Open,
    /// Of the last step, `(R, V)`.
    log_probs: Vec<f32>,
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
    /// Takes one step with every row.
    fn step(&mut self, net: &EncoderDecoder, g: &mut Graph<'_>) -> Result<(), Failure> {
        let Decoding { memory, cache, rows, inputs, symbols, drafts, open, log_probs, .. } = self;
        drafts.record(net, g, (memory, cache), (rows, inputs, symbols));
        let n = net.config.writes.symbols;
        log_probs.resize(rows.len() * n, 0.0);
        open.clear();
        for (i, (row, &symbol)) in rows.iter_mut().zip(&*symbols).enumerate() {
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
            extend(net, g, (memory, cache), open, log_probs)?;
        }
        for (&row, &node) in open.rows.iter().zip(&open.nodes) {
            rows[row as usize] = node;
        }
        inputs.iter().zip(&*rows).for_each(|(&input, &node)| drafts.reach(input, node));
        for (own, &node) in log_probs.chunks_exact_mut(n).zip(&*rows) {
            net.generation.apply(own, cache.nodes[node as usize].depth as usize);
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
    log_probs: &mut [f32],
) -> Result<(), Failure> {
    if MOST_CACHED < cache.len() {
        return Err(Failure::new(format!(
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
    let x = net.writes.read(g, read, nodes.len()); // (R, D)
    let mut look = Cached::new(net, cache, memory, nodes.len());
    let x = net.decoder.run(g, x, &mut look); // (R, D)
    let said = net.log_probs(g, x); // (R, V)
    let n = said.cols as usize;
    for (i, &row) in rows.iter().enumerate() {
        log_probs[row as usize * n..][..n].copy_from_slice(g.tape.value(said.row(i)));
    }
    g.tape.rewind(start);
    Ok(())
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

impl Stepper for Trained<EncoderDecoder> {
    fn n_symbols(&self) -> usize {
        self.net.config.writes.symbols
    }

    fn end(&self) -> Symbol {
        self.net.config.end
    }

    fn cap(&self, _: &[Symbol]) -> usize {
        self.net.config.cap
    }

    fn begin(
        &self,
        scratch: &mut Scratch<Decoding>,
        set: &[Pass<'_, Self>],
        recording: Recording,
    ) -> Result<(), Failure> {
        let lanes = scratch.begin(&self.net.layout, set, recording, Padding::None);
        for lane in lanes.used() {
            let xs = lane.inputs(set);
            let (mut g, own) = lane.graph(lane.nudge(set), self.weights());
            let is_recorded = recording == Recording::Kept;
            own.drafts.begin(&own.cache, xs.iter().copied(), is_recorded);
            self.net.encode(&mut g, xs.iter().copied(), &mut own.memory);
            own.cache.begin(g.tape, &own.memory, self.net.config.decoder.heads(true));
            own.rows.clear();
            own.rows.resize(xs.len(), ROOT);
            own.inputs.clear();
            own.inputs.extend(0..xs.len() as u32);
            own.saved.clear();
        }
        Ok(())
    }

    fn step(
        &self,
        scratch: &mut Scratch<Decoding>,
        set: &[Pass<'_, Self>],
        symbols: &[Symbol],
        log_probs: &mut Vec<f32>,
    ) -> Result<(), Failure> {
        let lanes = scratch.lanes();
        lanes.used().iter_mut().for_each(|lane| lane.own.symbols.clear());
        for (&(lane, _), &symbol) in lanes.rows.iter().zip(symbols) {
            lanes.lanes[lane as usize].own.symbols.push(symbol);
        }
        for lane in lanes.used().iter_mut().filter(|lane| !lane.own.rows.is_empty()) {
            lane.tape.check_room()?;
            let (mut g, own) = lane.graph(lane.nudge(set), self.weights());
            own.step(&self.net, &mut g)?;
        }
        log_probs.clear();
        let n = self.n_symbols();
        for &(lane, row) in &lanes.rows {
            let own = &lanes.lanes[lane as usize].own;
            log_probs.extend_from_slice(&own.log_probs[row as usize * n..][..n]);
        }
        Ok(())
    }

    fn reorder(&self, scratch: &mut Scratch<Decoding>, rows: &[u32]) -> Result<(), Failure> {
        let lanes = scratch.lanes();
        lanes.reorder(rows, |lane, chosen| {
            let Decoding { rows, inputs, .. } = &mut lane.own;
            let all: SmallVec<[(u32, u32); 128]> =
                chosen.iter().map(|&i| (rows[i as usize], inputs[i as usize])).collect();
            rows.clear();
            inputs.clear();
            rows.extend(all.iter().map(|(row, _)| row));
            inputs.extend(all.iter().map(|(_, input)| input));
        });
        Ok(())
    }

    fn mark(&self, scratch: &Scratch<Decoding>, row: usize, symbol: Symbol) -> Mark {
        let lanes = scratch.lanes_of(Recording::Kept);
        let (lane, row) = lanes.rows[row];
        late(lanes.lanes[lane as usize].own.rows[row as usize], symbol)
    }

    fn save(&self, scratch: &mut Scratch<Decoding>) -> Result<(), Failure> {
        if let [Lane { own: Decoding { rows, inputs, saved, .. }, .. }] = scratch.lanes().used() {
            saved.extend(rows.iter().copied().zip(inputs.iter().copied()));
            return Ok(());
        }
        Err(Failure::new("saving rows of several lanes is not supported"))
    }

    fn recall(&self, scratch: &mut Scratch<Decoding>, which: &[u32]) -> Result<(), Failure> {
        let lanes = scratch.lanes();
        lanes.rows.clear();
        lanes.rows.extend((0..which.len() as u32).map(|row| (0, row)));
        if let [Lane { own: Decoding { rows, inputs, saved, .. }, .. }] = lanes.used() {
            rows.clear();
            inputs.clear();
            rows.extend(which.iter().map(|&i| saved[i as usize].0));
            inputs.extend(which.iter().map(|&i| saved[i as usize].1));
        }
        Ok(())
    }
}

impl Trainable for EncoderDecoder {
    type Input = [Symbol];

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn size(&self, x: &[Symbol]) -> usize {
        x.len()
    }

    fn n_terms(&self, y: &[Symbol]) -> usize {
        y.len() + 1
    }

    fn teach(
        &self,
        g: &mut Graph<'_>,
        examples: &[Example<'_, [Symbol]>],
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
        outputs: &mut [(usize, &mut Force<'_, Trained<Self>>)],
    ) -> Result<(), Failure> {
        g.tape.check_room()?;
        g.level(FORCED);
        let ys = outputs.iter().map(|(b, force)| (*b, force.output));
        let said = EncoderDecoder::force(self, g, &lane.memory, ys, None); // (R, V)
        let mut row = 0;
        for (_, force) in outputs {
            force.passes = 1;
            force.forced.clear();
            force.forced.output.extend_from_slice(force.output);
            for (t, &symbol) in force.output.iter().chain([&self.config.end]).enumerate() {
                if !self.generation.is_certain(t) {
                    force.forced.log_prob += g.tape.value(said.row(row))[symbol as usize];
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
    ) -> Result<(), Failure> {
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
                *mark = g.tape.mark(said, row, symbol as usize);
            }
        }
        Ok(())
    }

    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Trained<Self>> + '_> {
        decoders::own(beam)
    }

    fn source(
        &self,
        source: &Source,
        ranking: Ranking,
    ) -> Option<Box<dyn ConstrainedDecoder<Trained<Self>> + '_>> {
        decoders::source(source, ranking)
    }
}
