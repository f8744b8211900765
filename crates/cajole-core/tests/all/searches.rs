//! Searches against the enumeration of all outputs, on a network that has few of them.

use std::collections::BTreeSet;

use crate::backend::bigram::{Bigram, KINDS, Prompt};
use crate::backend::deltas::Deltas;
use cajole_core::constraints::{Dfa, Language, Regular};
use cajole_core::decoders::{
    Beam, BestFirst, DoublingBeam, Greedy, MaskedBeam, Ranking, Relaxation, Sampled, Sampling,
};
use cajole_core::{
    ConstrainedDecoder, Constraint, Decoder, Found, Model, Moving, Pass, Sought, Stepper, Symbol,
    Wanted, Workspace,
};

/// An output with its log-probability.
type Scored = (Vec<Symbol>, f64);

fn models() -> impl Iterator<Item = Bigram> {
    (0..6).map(|seed| Bigram::random(3 + seed as usize % 2, 1.0 + seed as f32 / 4.0, seed))
}

fn prompts() -> Vec<Prompt> {
    (0..12).map(|id| Prompt { id, kind: id % KINDS, cap: 1 + id % 5 }).collect()
}

fn decode(model: &Bigram, decoder: &dyn Decoder<Bigram>, set: &[Pass<'_, Bigram>]) -> Vec<Found> {
    let mut found = vec![Found::default(); set.len()];
    decoder.decode(&mut Workspace::new(model).session(model), set, &mut found).unwrap();
    found
}

fn search(
    model: &Bigram,
    decoder: &dyn ConstrainedDecoder<Bigram>,
    set: &[Pass<'_, Bigram>],
    constraints: &[&dyn Constraint<Prompt>],
) -> Vec<Found> {
    let wanted = set.iter().zip(constraints.iter().cycle());
    let wanted: Vec<_> = wanted.map(|(pass, c)| Wanted::new(pass.input, *c)).collect();
    let sought = set.iter().zip(&wanted).map(|(&pass, wanted)| Sought { pass, wanted });
    let mut found = vec![Found::default(); set.len()];
    let mut workspace = Workspace::new(model);
    decoder.search(&mut workspace.session(model), &sought.collect::<Vec<_>>(), &mut found).unwrap();
    found
}

/// Whether these are the outputs that were found, in this order.
fn check(found: &Found, expected: &[Scored], what: &str) {
    let outputs: Vec<&[Symbol]> = found.candidates().iter().map(|y| &y.output[..]).collect();
    let wanted: Vec<&[Symbol]> = expected.iter().map(|(y, _)| &y[..]).collect();
    assert_eq!(outputs, wanted, "{what}");
    for (y, (_, log_prob)) in found.candidates().iter().zip(expected) {
        assert!((f64::from(y.log_prob) - log_prob).abs() < 1e-4, "{what}: {y:?}, not {log_prob}");
    }
}

/// A beam straight from its definition: of all extensions of all prefixes, it keeps the best
/// `width`. `goes_on` says which prefixes may be considered, and which outputs may end.
fn naive_beam(
    model: &Bigram,
    x: &Prompt,
    width: usize,
    goes_on: &dyn Fn(&[Symbol]) -> bool,
    may_end: &dyn Fn(&[Symbol]) -> bool,
) -> (Vec<Scored>, Vec<Scored>) {
    let (mut rows, mut finished): (Vec<Scored>, _) = (vec![(Vec::new(), 0.0)], Vec::new());
    for t in 0..x.cap {
        let mut extensions: Vec<Scored> = Vec::new();
        for (y, score) in &rows {
            let previous = y.last().copied().unwrap_or(model.end());
            for (v, log_prob) in (0..).zip(model.log_probs(x, None, t, previous)) {
                let longer = [&y[..], &[v]].concat();
                let is_allowed = if v == model.end() { may_end(y) } else { goes_on(&longer) };
                if is_allowed {
                    extensions.push((longer, score + log_prob));
                }
            }
        }
        extensions.sort_by(|a, b| b.1.total_cmp(&a.1));
        extensions.truncate(width);
        rows.clear();
        for (mut y, score) in extensions {
            match y.last() == Some(&model.end()) {
                true => finished.push((y.drain(..t).collect(), score)),
                false => rows.push((y, score)),
            }
        }
    }
    finished.sort_by(|a, b| b.1.total_cmp(&a.1));
    (finished, rows)
}

/// The same outputs by log-probability per symbol, the end included.
fn per_symbol(mut outputs: Vec<Scored>) -> Vec<Scored> {
    let rank = |(y, log_prob): &Scored| log_prob / (y.len() + 1) as f64;
    outputs.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    outputs
}

fn free_beam(model: &Bigram, x: &Prompt, width: usize) -> (Vec<Scored>, Vec<Scored>) {
    let (mut finished, cut_off) = naive_beam(model, x, width, &|_| true, &|_| true);
    finished.truncate(width);
    (finished, cut_off)
}

/// The outputs that satisfy, best first.
fn satisfying(model: &Bigram, x: &Prompt, constraint: &dyn Constraint<Prompt>) -> Vec<Scored> {
    let all = model.all(x).into_iter();
    all.filter(|(y, _)| constraint.check(x, y).is_satisfied()).collect()
}

/// `0*1(0|1)`, the words without `11`, and nothing at all.
fn languages() -> [Regular; 3] {
    let [first, second] = [0, 1].map(Language::Symbol);
    let tail = first.clone().star().then(1).then(Language::any_of([0, 1]));
    let sparse = Language::any_of([first, second.then(0)]).star();
    [tail, sparse, Language::any_of([0; 0])].map(|l| Regular::new(&l.automaton(2)))
}

/// How many ones an output lacks to have two, as a black box.
fn two_ones(_: &Prompt, y: &[Symbol]) -> f32 {
    y.iter().filter(|&&v| v == 1).count().abs_diff(2) as f32
}

fn anything(_: &Prompt, _: &[Symbol]) -> f32 {
    0.0
}

#[test]
fn greedy_takes_the_best_symbol_every_time() {
    let (mut n_capped, mut n_ended) = (0, 0);
    for model in models() {
        for x in prompts() {
            let (mut y, mut sum): (Vec<Symbol>, f64) = (Vec::new(), 0.0);
            let ends = loop {
                if y.len() == x.cap {
                    break false;
                }
                let previous = y.last().copied().unwrap_or(model.end());
                let log_probs = model.log_probs(&x, None, y.len(), previous);
                let best =
                    (0..log_probs.len()).max_by(|&a, &b| log_probs[a].total_cmp(&log_probs[b]));
                sum += log_probs[best.unwrap()];
                match best.unwrap() as Symbol {
                    v if v == model.end() => break true,
                    v => y.push(v),
                }
            };
            let decoders: [&dyn Decoder<Bigram>; 2] = [&Greedy, &Beam::of(1)];
            for decoder in decoders {
                let found = &decode(&model, decoder, &[Pass::base(&x)])[0];
                check(found, &[(y.clone(), sum)], "greedy");
                let decoded = found.best().unwrap();
                assert_eq!((decoded.capped, found.passes), (!ends, 1));
                assert_eq!(decoded.marks.len(), y.len() + usize::from(ends));
            }
            *(if ends { &mut n_ended } else { &mut n_capped }) += 1;
        }
    }
    assert!(10 < n_capped && 10 < n_ended, "{n_capped} are cut off, {n_ended} end");
}

#[test]
fn beams_keep_the_best_prefixes() {
    for model in models() {
        for x in prompts() {
            for width in [1, 2, 3, 5, 8] {
                let found = &decode(&model, &Beam::of(width), &[Pass::base(&x)])[0];
                let (finished, cut_off) = free_beam(&model, &x, width);
                let is_capped = finished.is_empty();
                check(found, if is_capped { &cut_off } else { &finished }, "beam");
                assert!(found.candidates().iter().all(|y| y.capped == is_capped));
                assert_eq!(found.passes, width);
            }
            let found = &decode(&model, &Beam::of(1000), &[Pass::base(&x)])[0];
            check(found, &model.all(&x), "a beam that is wide enough finds all");
        }
    }
}

#[test]
fn masked_beams_keep_the_best_prefixes_of_members() {
    for model in models() {
        for (x, rule) in prompts().iter().flat_map(|x| languages().map(|rule| (x.clone(), rule))) {
            let members = satisfying(&model, &x, &rule);
            let prefix =
                |y: &Vec<Symbol>| (0..=y.len()).map(|n| y[..n].to_vec()).collect::<Vec<_>>();
            let prefixes: BTreeSet<Vec<Symbol>> =
                members.iter().flat_map(|(y, _)| prefix(y)).collect();
            let goes_on = |y: &[Symbol]| prefixes.contains(y);
            let may_end = |y: &[Symbol]| members.iter().any(|(member, _)| member == y);
            for width in [1, 2, 3, 5] {
                let found = &search(&model, &MaskedBeam::of(width), &[Pass::base(&x)], &[&rule])[0];
                let (finished, _) = naive_beam(&model, &x, width, &goes_on, &may_end);
                check(found, &finished[..finished.len().min(width)], "masked beam");
                assert!(members.is_empty() || !finished.is_empty(), "there always is one");
                assert!(found.candidates().iter().all(|y| !y.capped && y.marks.is_empty()));
            }
            let wide = MaskedBeam::of(1000);
            check(&search(&model, &wide, &[Pass::base(&x)], &[&rule])[0], &members, "all members");
        }
    }
}

#[test]
fn beams_rank_outputs_per_symbol() {
    let mut n_changed = 0;
    for model in models() {
        for x in prompts() {
            for width in [1, 2, 3, 5, 8] {
                let beam = Beam::of(width).ranked(Ranking::PerSymbol);
                let found = &decode(&model, &beam, &[Pass::base(&x)])[0];
                let (finished, _) = naive_beam(&model, &x, width, &|_| true, &|_| true);
                let best = per_symbol(finished.clone()).into_iter().next();
                let Some((y, log_prob)) = best else { continue };
                let decoded = found.best().unwrap();
                assert_eq!(decoded.output, y, "a beam of {width}");
                assert!((f64::from(decoded.log_prob) - log_prob).abs() < 1e-4, "not per symbol");
                n_changed += usize::from(finished[0].0 != y);
            }
            let wide = Beam::of(1000).ranked(Ranking::PerSymbol);
            let found = &decode(&model, &wide, &[Pass::base(&x)])[0];
            check(found, &per_symbol(model.all(&x)), "a beam that is wide enough finds all");
            for rule in languages() {
                let members = per_symbol(satisfying(&model, &x, &rule));
                let wide = MaskedBeam::of(1000).ranked(Ranking::PerSymbol);
                check(&search(&model, &wide, &[Pass::base(&x)], &[&rule])[0], &members, "members");
            }
            let doubling = DoublingBeam::of(1000, 1000).ranked(Ranking::PerSymbol);
            let best = per_symbol(satisfying(&model, &x, &two_ones));
            let found = &search(&model, &doubling, &[Pass::base(&x)], &[&two_ones])[0];
            check(found, &best[..best.len().min(1)], "the first that satisfies");
        }
    }
    assert!(50 < n_changed, "{n_changed} beams have another best output than by probability");
}

#[test]
fn best_first_finds_the_constrained_maximum() {
    let [tail, sparse, nothing] = languages();
    let constraints: [&dyn Constraint<Prompt>; 5] =
        [&tail, &sparse, &nothing, &two_ones, &anything];
    for model in models() {
        for (x, constraint) in prompts().iter().flat_map(|x| constraints.map(|c| (x, c))) {
            let mut expected = satisfying(&model, x, constraint);
            expected.truncate(1);
            for batch in [1, 4, 16] {
                let decoder = BestFirst { batch, ..BestFirst::default() };
                let found = &search(&model, &decoder, &[Pass::base(x)], &[constraint])[0];
                check(found, &expected, "best first");
            }
            let only = BestFirst { only_black_boxes: true, ..BestFirst::default() };
            let found = &search(&model, &only, &[Pass::base(x)], &[constraint])[0];
            match constraint.automaton(x).is_some() {
                true => assert_eq!((found.candidates().len(), found.passes), (0, 0)),
                false => check(found, &expected, "a black box"),
            }
        }
    }
}

#[test]
fn best_first_gives_up_at_its_limit() {
    let (model, x) = (Bigram::random(3, 1.0, 2), Prompt { id: 0, kind: 1, cap: 5 });
    let least = model.all(&x).pop().unwrap().0;
    let last = |_: &Prompt, y: &[Symbol]| f32::from(u8::from(y != least));
    let found = |max_expansions: usize| {
        let decoder = BestFirst { max_expansions, batch: 4, only_black_boxes: false };
        let found = search(&model, &decoder, &[Pass::base(&x)], &[&last]);
        found[0].candidates().len()
    };
    // There are 1 + 2 + 4 + 8 + 16 prefixes that can be extended.
    assert_eq!([found(0), found(1), found(15), found(31)], [0, 0, 0, 1]);
    // Below the limit it finds nothing rather than something that may not be the best.
    let mut n_found = 0;
    for model in models() {
        for x in prompts() {
            let mut best = satisfying(&model, &x, &two_ones);
            best.truncate(1);
            for (max_expansions, batch) in (0..32).flat_map(|limit| [(limit, 2), (limit, 16)]) {
                let decoder = BestFirst { max_expansions, batch, only_black_boxes: false };
                let found = &search(&model, &decoder, &[Pass::base(&x)], &[&two_ones])[0];
                if !found.candidates().is_empty() {
                    check(found, &best, "best first with a limit");
                    n_found += 1;
                }
            }
        }
    }
    assert!(0 < n_found);
}

#[test]
fn a_beam_is_doubled_until_something_satisfies() {
    let [tail, sparse, nothing] = languages();
    let constraints: [&dyn Constraint<Prompt>; 5] =
        [&tail, &sparse, &nothing, &two_ones, &anything];
    let mut widths = BTreeSet::new();
    for model in models() {
        for (x, constraint) in prompts().iter().flat_map(|x| constraints.map(|c| (x, c))) {
            let is_fine = |(y, _): &Scored| constraint.check(x, y).is_satisfied();
            let (mut passes, mut expected) = (0, Vec::new());
            for width in [2, 4, 8] {
                passes += width;
                expected.extend(free_beam(&model, x, width).0.into_iter().find(is_fine));
                if !expected.is_empty() {
                    widths.insert(width);
                    break;
                }
            }
            let decoder = DoublingBeam::of(2, 15);
            let found = &search(&model, &decoder, &[Pass::base(x)], &[constraint])[0];
            check(found, &expected, "doubling beam");
            assert_eq!(found.passes, passes);
        }
    }
    assert_eq!(widths, BTreeSet::from([2, 4, 8]), "each was needed");
}

#[test]
fn masked_search_needs_an_automaton() {
    let (model, inputs) = (Bigram::random(3, 1.0, 2), prompts());
    let [tail, ..] = languages();
    let set: Vec<Pass<'_, Bigram>> = inputs.iter().map(Pass::base).collect();
    let decoder = MaskedBeam::of(3);
    // Every second input has a black box; the search finds for the others what it finds alone.
    let found = search(&model, &decoder, &set, &[&two_ones, &tail]);
    for (i, found) in found.iter().enumerate() {
        let alone = &search(&model, &decoder, &set[i..=i], &[&tail])[0];
        match i % 2 {
            0 => assert_eq!((found.candidates().len(), found.passes), (0, 0)),
            _ => assert_eq!(found.candidates(), alone.candidates()),
        }
    }
    assert!(found.iter().any(|found| 1 < found.candidates().len()));
}

#[test]
fn samples_have_the_networks_own_distribution() {
    let (model, x) = (Bigram::random(3, 1.0, 2), Prompt { id: 0, kind: 1, cap: 3 });
    const N: usize = 20_000;
    for temperature in [1.0, 0.5, 2.0] {
        let mut counts = std::collections::BTreeMap::<Vec<Symbol>, usize>::new();
        for seed in 0..N as u64 {
            let sampled = Sampled { temperature, ..Sampled::default() };
            let decoder = Sampling::of(1, seed).drawn_from(sampled);
            let found = &search(&model, &decoder, &[Pass::base(&x)], &[&anything])[0];
            if let Some(y) = found.best() {
                assert!((f64::from(y.log_prob) - model.log_prob(&x, None, &y.output)).abs() < 1e-5);
                *counts.entry(y.output.clone()).or_default() += 1;
            }
        }
        for (y, _) in model.all(&x) {
            // p^(1/T), normalised at every step.
            let mut previous = model.end();
            let mut p = 1.0;
            for (t, v) in y.iter().copied().chain([model.end()]).enumerate() {
                let log_probs = model.log_probs(&x, None, t, previous);
                let weight = |v: usize| (log_probs[v] / f64::from(temperature)).exp();
                p *= weight(v as usize) / (0..3).map(weight).sum::<f64>();
                previous = v;
            }
            let (mean, n) = (N as f64 * p, counts.get(&y).copied().unwrap_or(0));
            let off = (n as f64 - mean).abs();
            assert!(off < 4.5 * (mean * (1.0 - p)).sqrt(), "{y:?} {n} times, not {mean}");
        }
    }
}

#[test]
fn the_best_satisfying_sample_is_taken() {
    for model in models() {
        for x in prompts() {
            let mut expected = satisfying(&model, &x, &two_ones);
            expected.truncate(1);
            let sampled = Sampled { temperature: 2.0, ..Sampled::default() };
            let decoder = Sampling::of(3000, 4).drawn_from(sampled);
            let found = &search(&model, &decoder, &[Pass::base(&x)], &[&two_ones])[0];
            check(found, &expected, "of thousands of samples one is the best");
            assert_eq!(found.passes, 3000);
        }
    }
}

/// Everything that was found, except where it was recorded.
fn told(found: &Found) -> String {
    let candidates = found.candidates().iter();
    let said = candidates.map(|y| format!("{:?} {} {}", y.output, y.log_prob, y.capped));
    format!("{:?} in {}", said.collect::<Vec<_>>(), found.passes)
}

#[test]
fn an_input_of_a_set_is_found_what_it_is_found_alone() {
    let model = Bigram::random(4, 1.0, 3);
    // Two out of three are under weights of their own.
    let nudge = |id: usize| {
        let mut nudge = Deltas::new(&Moving::all(&model.parameters()));
        (0..model.bits().len()).for_each(|i| nudge.set_shift(i, ((i * id) as f64).sin()));
        (!id.is_multiple_of(3)).then_some(nudge)
    };
    let inputs: Vec<(Prompt, Option<Deltas>)> =
        (0..30).map(|id| (Prompt { id, kind: id % KINDS, cap: 1 + id % 5 }, nudge(id))).collect();
    let pass = |(x, nudge)| Pass { nudge: Option::as_ref(nudge), ..Pass::base(x) };
    let set: Vec<Pass<'_, Bigram>> = inputs.iter().map(|(x, nudge)| pass((x, nudge))).collect();
    let own: [&dyn Decoder<Bigram>; 3] = [&Greedy, &Beam::of(2), &Beam::of(5)];
    for decoder in own {
        for (i, found) in decode(&model, decoder, &set).iter().enumerate() {
            assert_eq!(told(found), told(&decode(&model, decoder, &set[i..=i])[0]), "input {i}");
        }
    }
    let [tail, sparse, nothing] = languages();
    let constraints: [&dyn Constraint<Prompt>; 5] =
        [&two_ones, &tail, &sparse, &anything, &nothing];
    let constrained: [&dyn ConstrainedDecoder<Bigram>; 6] = [
        &MaskedBeam::of(1),
        &MaskedBeam::of(4),
        &BestFirst::default(),
        &BestFirst { only_black_boxes: true, ..BestFirst::default() },
        &DoublingBeam::of(1, 16),
        &Sampling::of(50, 1),
    ];
    for (d, decoder) in constrained.into_iter().enumerate() {
        for (i, found) in search(&model, decoder, &set, &constraints).iter().enumerate() {
            let alone = search(&model, decoder, &set[i..=i], &[constraints[i % 5]]);
            assert_eq!(told(found), told(&alone[0]), "search {d}, input {i}");
        }
    }
}

#[test]
fn no_output_fits_into_no_steps() {
    let (model, x) = (Bigram::random(3, 1.0, 2), Prompt { id: 0, kind: 1, cap: 0 });
    let any = Regular::new(&Dfa::explore(2, (), |(), _| Some(()), |()| true));
    for decoder in [&Greedy as &dyn Decoder<Bigram>, &Beam::of(3)] {
        let found = &decode(&model, decoder, &[Pass::base(&x)])[0];
        let best = found.best().expect("a decoder always finds something");
        assert!(best.capped && best.output.is_empty() && best.marks.is_empty());
    }
    let constrained: [&dyn ConstrainedDecoder<Bigram>; 4] =
        [&MaskedBeam::of(3), &BestFirst::default(), &DoublingBeam::of(1, 4), &Sampling::of(5, 1)];
    for decoder in constrained {
        assert_eq!(search(&model, decoder, &[Pass::base(&x)], &[&any])[0].candidates().len(), 0);
    }
}

/// Prices on symbols satisfy rules that count, and never return what violates.
#[test]
fn a_relaxation_satisfies_counts_by_prices() {
    let (mut n_satisfied, mut n_own, mut n_asked) = (0, 0, 0);
    for model in models() {
        for x in prompts().iter().filter(|x| 3 < x.cap) {
            for wanted in 0..3 {
                let count = move |_: &Prompt, y: &[Symbol]| {
                    let n = y.iter().filter(|&&symbol| symbol == 0).count();
                    n.abs_diff(wanted) as f32
                };
                let relaxation = Relaxation { rounds: 64, rate: 0.5 };
                let found = search(&model, &relaxation, &[Pass::base(x)], &[&count]);
                n_asked += 1;
                n_satisfied += found[0].candidates().len();
                for y in found[0].candidates() {
                    assert!(!y.capped && count(x, &y.output) == 0.0, "{y:?}");
                }
                // Without a violation, it is the network's own output.
                let own = decode(&model, &Greedy, &[Pass::base(x)]);
                let own = own[0].best().unwrap();
                if count(x, &own.output) == 0.0 && !own.capped {
                    n_own += 1;
                    assert_eq!(
                        (found[0].passes, &found[0].best().unwrap().output),
                        (1, &own.output)
                    );
                }
            }
        }
    }
    // There is a gap between the relaxed problem and the one that is asked.
    assert!(2 * n_own <= n_satisfied, "{n_own}, then {n_satisfied} of {n_asked}");
}
