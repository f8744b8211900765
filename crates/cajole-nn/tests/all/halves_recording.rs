//! Within a recording every product reads the same weights, however many rows it has.
//!
//! Under a `W_λ` in which matrices move, half-precision copies are rounded, so this is not for free.
//! What can be compared is the log-probability of one output under the same `W_λ`: as a beam found it
//! among the rows of others, as greedy decoding did in a row of its own, and as it is when forced,
//! beside what was recorded, alone or with others. All recordings begin with the same products, so
//! they even agree with each other.

use crate::networks::{moved_by, one_modulo_three, parser, rounded, symbols, tokens, transducer};
use cajole_core::decoders::{Beam, Greedy, MaskedBeam};
use cajole_core::{
    Candidate, ConstrainedDecoder, Decoder, Force, Found, Model, Moving, Pass, Sought, Symbol,
    Wanted, Workspace,
};
use cajole_nn::models::{Architecture, StartState};
use cajole_nn::tape::{Graph, Tape};
use cajole_nn::{AutoRegressive, Network, Nudge, Trained, kernels};

/// Layers large enough to be read in half precision.
const HIDDEN: usize = 96;

/// A `W_λ` after steps that f16 cannot follow.
fn nudge<N: Network>(model: &Trained<N>, x: &N::Input, moves: &[&str]) -> Nudge {
    let patterns: Vec<String> = moves.iter().map(|&pattern| pattern.to_owned()).collect();
    let moving = Moving::choose(&model.parameters(), &patterns).unwrap();
    let mut workspace = Workspace::new(model);
    let found = workspace.decode(model, &*model.decoder(1.into()), x).unwrap();
    let blame = found.best().unwrap().marks.iter().map(|&mark| (mark, 1.0)).collect();
    let mut own = moved_by(model, &moving, 0, 3e-3, blame);
    let set = std::slice::from_mut(&mut own);
    model.gradient(workspace.session(model).scratch, set).unwrap();
    model.take_step(set).unwrap();
    own.nudge
}

/// Decodes and forces under one `W_λ`.
struct Nudged<'a, N: AutoRegressive> {
    model: &'a Trained<N>,
    pass: Pass<'a, Trained<N>>,
    workspace: Workspace<Trained<N>>,
}

impl<N: AutoRegressive> Nudged<'_, N> {
    fn decode(&mut self, decoder: &dyn Decoder<Trained<N>>) -> Vec<Candidate> {
        let mut found = [Found::default()];
        let mut session = self.workspace.session(self.model);
        decoder.decode(&mut session, &[self.pass], &mut found).unwrap();
        found[0].candidates().to_vec()
    }

    /// Forces all of these at once, beside what was decoded last.
    fn force(&mut self, ys: &[&[Symbol]]) -> Vec<Candidate> {
        let mut forced = vec![Candidate::default(); ys.len()];
        let pass = Pass { place: Some(0), ..self.pass };
        let each = ys.iter().zip(&mut forced);
        let mut set: Vec<_> =
            each.map(|(y, forced)| Force { pass, output: y, forced, passes: 0 }).collect();
        self.model.force(self.workspace.session(self.model).scratch, &mut set).unwrap();
        forced
    }
}

/// Whatever finds an output, its log-probability has the same bits.
fn check<N: AutoRegressive>(name: &str, model: &Trained<N>, x: &N::Input, moves: &[&str]) {
    let nudge = nudge(model, x, moves);
    let pass = Pass { nudge: Some(&nudge), ..Pass::base(x) };
    let mut nudged = Nudged { model, pass, workspace: Workspace::new(model) };

    let beam: Vec<_> = nudged.decode(&Beam::of(5));
    let ended: Vec<_> = beam.iter().filter(|y| !y.capped).collect();
    assert!(1 < ended.len(), "{name}: a beam of outputs");
    let ys: Vec<&[Symbol]> = ended.iter().map(|y| y.output.as_slice()).collect();
    let same = |what: &str, got: &Candidate, want: &Candidate| {
        assert_eq!(got.output, want.output, "{name}, {what}");
        let [got, want] = [got, want].map(|y| y.log_prob);
        assert_eq!(got.to_bits(), want.to_bits(), "{name}, {what}: {got}, not {want}");
    };
    // In the beam's recording: each alone, and all in one pass, whose rows end one after another.
    for (y, want) in ys.iter().zip(&ended) {
        same("forced alone", &nudged.force(&[y])[0], want);
    }
    let together = nudged.force(&ys);
    together.iter().zip(&ended).for_each(|(got, want)| same("forced together", got, want));

    // In a recording that has had one row so far.
    let greedy = nudged.decode(&Greedy).remove(0);
    assert!(!greedy.capped, "{name}: greedy decoding ends");
    same("greedy", &nudged.force(&[&greedy.output])[0], &greedy);
    let together = nudged.force(&ys);
    together.iter().zip(&ended).for_each(|(got, want)| same("after greedy", got, want));

    // Aside, without a recording.
    let constraint = one_modulo_three(model.net.n_symbols());
    let wanted = Wanted::new(x, &constraint);
    let mut found = [Found::default()];
    let sought = [Sought { pass: Pass { place: Some(0), ..pass }, wanted: &wanted }];
    MaskedBeam::of(5).search(&mut nudged.workspace.session(model), &sought, &mut found).unwrap();
    assert!(found[0].best().is_some(), "{name}: something satisfies");
    for y in found[0].candidates() {
        same("masked", &nudged.force(&[&y.output])[0], y);
    }

    let w = model.nudged(&nudge);
    let single = ended.iter().map(|y| in_single_precision(&model.net, &w, x, &y.output));
    let is_single = single.zip(&ended).all(|(single, y)| single == y.log_prob);
    assert_eq!(is_single, !kernels::pays(), "{name}: half precision is used where it pays");
}

/// The log-probability of `y` by a tape that knows of no halves.
fn in_single_precision<N: AutoRegressive>(net: &N, w: &[f32], x: &N::Input, y: &[Symbol]) -> f32 {
    let mut tape = Tape::default();
    let mut g = Graph::new(w, &mut tape);
    let encoded = net.encode(&mut g, &[x]);
    let (mut state, mut previous, mut sum) = (encoded.state, net.end(), 0.0);
    for symbol in y.iter().copied().chain([net.end()]) {
        let log_probs = net.step(&mut g, &encoded, &mut state, &[0], &[previous]);
        sum += g.tape.value(log_probs)[symbol as usize];
        previous = symbol;
    }
    sum
}

/// A network that was stored in half precision, with outputs that end.
fn stored<N: Network>(net: N) -> Trained<N> {
    let model = rounded(net);
    let mut weights = model.weights().to_vec();
    *weights.last_mut().unwrap() = 1.5; // the bias of the end
    Trained::new(model.net, weights)
}

#[test]
fn a_transducers_log_probabilities_do_not_depend_on_rows() {
    for start in [StartState::Encoder, StartState::Zero] {
        let model = stored(transducer(start, HIDDEN));
        for (moves, n) in [(&[][..], 7), (&["decoder"], 7), (&["encoder"], 3)] {
            check(&format!("{start:?} {moves:?}"), &model, &symbols(n, 4), moves);
        }
    }
}

#[test]
fn a_parsers_log_probabilities_do_not_depend_on_rows() {
    for architecture in [Architecture::Simple, Architecture::Gnmt] {
        for pointer in [None, Some(0)] {
            let model = stored(parser(architecture, pointer, HIDDEN));
            // With nothing to read, even what is projected for all positions is one row.
            for (moves, n) in
                [(&[][..], 7), (&["decoder", "output"], 7), (&["encoder"], 3), (&[], 0)]
            {
                let name = format!("{architecture:?} {pointer:?} {moves:?}");
                check(&name, &model, &tokens(n, 4), moves);
            }
        }
    }
}
