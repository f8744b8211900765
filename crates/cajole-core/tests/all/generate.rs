//! Beams that rank as `generate` of transformers does, against that search written out, and against the
//! enumeration of all outputs.

use crate::backend::bigram::{Bigram, KINDS, Prompt};
use cajole_core::decoders::{Beam, Ranking, Stopping};
use cajole_core::{Decoder, Found, Pass, Stepper, Symbol, Workspace};

/// An output, whether it ended, its log-probability and its rank.
type Ranked = (Vec<Symbol>, bool, f64, f64);

const STOPPINGS: [Stopping; 3] = [Stopping::Early, Stopping::Likely, Stopping::Never];
const PENALTIES: [f32; 4] = [0.0, 1.0, 2.0, -0.5];

fn models() -> impl Iterator<Item = Bigram> {
    (0..6).map(|seed| Bigram::random(3 + seed as usize % 2, 1.0 + seed as f32 / 4.0, seed))
}

fn prompts() -> Vec<Prompt> {
    (0..12).map(|id| Prompt { id, kind: id % KINDS, cap: 1 + id % 5 }).collect()
}

fn found(model: &Bigram, beam: Beam, x: &Prompt) -> Found {
    let mut found = [Found::default()];
    let set = [Pass::base(x)];
    beam.decode(&mut Workspace::new(model).session(model), &set, &mut found).unwrap();
    let [found] = found;
    found
}

fn rank(log_prob: f64, n: usize, penalty: f32) -> f64 {
    log_prob / (n as f64).powf(penalty.into())
}

/// The extensions of a prefix by one symbol.
fn extensions(model: &Bigram, x: &Prompt, y: &[Symbol], score: f64) -> Vec<(Vec<Symbol>, f64)> {
    let previous = y.last().copied().unwrap_or(model.end());
    let log_probs = model.log_probs(x, None, y.len(), previous);
    (0..).zip(log_probs).map(|(v, log_prob)| ([y, &[v]].concat(), score + log_prob)).collect()
}

/// The search of `generate`: of twice `width` extensions, what ends among the first `width` is finished,
/// the best `width` of the others go on, and at the limit everything has ended.
fn generate(model: &Bigram, x: &Prompt, width: usize, penalty: f32, stopping: Stopping) -> Ranked {
    let (mut rows, mut finished): (Vec<(Vec<Symbol>, f64)>, Vec<Ranked>) =
        (vec![(Vec::new(), 0.0)], Vec::new());
    for t in 1..=x.cap {
        let mut all: Vec<(Vec<Symbol>, f64)> =
            rows.iter().flat_map(|(y, score)| extensions(model, x, y, *score)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(2 * width);
        let ends = |y: &[Symbol]| y.last() == Some(&model.end());
        for (y, score) in all.iter().take(width).filter(|(y, _)| t == x.cap || ends(y)) {
            let own = if ends(y) { y[..t - 1].to_vec() } else { y.clone() };
            finished.push((own, ends(y), *score, rank(*score, t, penalty)));
        }
        finished.sort_by(|a, b| b.3.total_cmp(&a.3));
        finished.truncate(width);
        rows = all.into_iter().filter(|(y, _)| !ends(y)).take(width).collect();
        if finished.len() == width {
            let length = if stopping == Stopping::Never && 0.0 < penalty { x.cap } else { t };
            let best = rows.first().map_or(f64::NEG_INFINITY, |row| rank(row.1, length, penalty));
            if stopping == Stopping::Early || best <= finished[width - 1].3 {
                break;
            }
        }
    }
    finished.swap_remove(0)
}

/// All outputs, those at the limit whether they end there or not.
fn everything(model: &Bigram, x: &Prompt, penalty: f32) -> Vec<Ranked> {
    let (mut rows, mut all) = (vec![(Vec::new(), 0.0)], Vec::new());
    for t in 1..=x.cap {
        let longer: Vec<(Vec<Symbol>, f64)> =
            rows.iter().flat_map(|(y, score)| extensions(model, x, y, *score)).collect();
        let (ended, open): (Vec<_>, Vec<_>) =
            longer.into_iter().partition(|(y, _)| y.last() == Some(&model.end()));
        let ended = ended.into_iter().map(|(mut y, score)| {
            y.pop();
            (y, true, score, rank(score, t, penalty))
        });
        all.extend(ended);
        if t == x.cap {
            let open = open.iter().cloned();
            all.extend(open.map(|(y, score)| (y, false, score, rank(score, t, penalty))));
        }
        rows = open;
    }
    all
}

fn check(found: &Found, (y, ends, log_prob, _): &Ranked, what: &str) {
    let best = found.best().expect("a beam always finds something");
    assert_eq!((&best.output, best.capped), (y, !ends), "{what}");
    assert!((f64::from(best.log_prob) - log_prob).abs() < 1e-4, "{what}");
    assert_eq!(best.marks.len(), y.len() + usize::from(*ends), "{what}");
}

#[test]
fn beams_rank_and_stop_as_generate_does() {
    let (mut n_capped, mut n_stopped) = (0, 0);
    for model in models() {
        for x in prompts() {
            for (penalty, stopping) in
                PENALTIES.into_iter().flat_map(|p| STOPPINGS.map(|stopping| (p, stopping)))
            {
                let ranking = Ranking::Generate { penalty, stopping };
                for width in [2, 3, 5] {
                    let want = generate(&model, &x, width, penalty, stopping);
                    let got = found(&model, Beam { width, ranking }, &x);
                    check(&got, &want, &format!("{width} beams, {ranking:?}"));
                    n_capped += usize::from(!want.1);
                    let never = generate(&model, &x, width, penalty, Stopping::Never);
                    n_stopped += usize::from(never.0 != want.0);
                }
            }
        }
    }
    assert!(100 < n_capped && 20 < n_stopped, "{n_capped} capped, {n_stopped} stopped too early");
}

#[test]
fn a_beam_that_is_wide_enough_finds_the_best_output_open_or_ended() {
    for model in models() {
        for x in prompts() {
            for penalty in PENALTIES {
                let ranking = Ranking::Generate { penalty, stopping: Stopping::Never };
                let mut all = everything(&model, &x, penalty);
                all.sort_by(|a, b| b.3.total_cmp(&a.3));
                check(&found(&model, Beam { width: 2000, ranking }, &x), &all[0], "all outputs");
            }
        }
    }
}

/// A beam is no exhaustive search, so single outputs may rank lower than with another. Most rank higher.
#[test]
fn outputs_rank_higher_than_where_finished_ones_take_places() {
    let (mut better, mut worse) = (0, 0);
    for model in models() {
        for (x, width) in prompts().into_iter().flat_map(|x| [2, 3, 5].map(|w| (x.clone(), w))) {
            let per_symbol = |found: &Found| {
                let best = found.best().expect("a beam always finds something");
                best.log_prob / (best.output.len() + usize::from(!best.capped)) as f32
            };
            let ranking = Ranking::Generate { penalty: 1.0, stopping: Stopping::Never };
            let new = per_symbol(&found(&model, Beam { width, ranking }, &x));
            let old = per_symbol(&found(&model, Beam::of(width).ranked(Ranking::PerSymbol), &x));
            better += usize::from(old + 1e-5 < new);
            worse += usize::from(new + 1e-5 < old);
        }
    }
    assert!(20 < better && worse <= better / 20, "{better} are better, {worse} worse");
}
