//! Disjunction: one of several constraints must hold.
//!
//! An output may be feasible in more than one way, such as a date in one of two formats. It is
//! judged by the nearest alternative, and only that one contributes a gradient; a sum would pull
//! towards all of them at once and satisfy none:
//!
//! ```text
//! g(y, Lˣ) = min over k of w_k · g_k(y, Lˣ)      Lˣ = ⋃_k Lˣ_k
//! ```
//!
//! No `g_k` is negative and every `w_k` is positive, so the minimum is zero exactly when one of
//! them is.

use super::{Automaton, Dfa, State, Weighted};
use crate::constraint::{Constraint, Fault, Violation};
use crate::model::Symbol;

/// The output must satisfy at least one of these constraints; `g` is their weighted minimum.
///
/// Ties go to the first. A NaN counts as farther than any number. Without constraints no output is
/// feasible, and all violate by 1.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_core::constraints::{Any, Language, Regular};
///
/// let pairs = Regular::new(&Language::word(&[0, 1]).star().automaton(2));
/// let one = Regular::new(&Language::Any.automaton(2));
/// let either: Any<[u32]> = Any::new().with(1.0, pairs).with(0.5, one);
/// for y in [&[0, 1][..], &[1]] {
///     assert_eq!(either.check(&[], y).total(), 0.0);
/// }
/// assert!(either.check(&[], &[1, 1]).total() > 0.0);
/// ```
pub type Any<'a, X> = Weighted<'a, X, Minimum>;

/// Combines constraints as [`Any`] does.
#[derive(Clone, Copy, Debug)]
pub enum Minimum {}

impl<X: ?Sized> Any<'_, X> {
    /// The index of the nearest constraint, and its weighted violation.
    fn nearest(&self, x: &X, y: &[Symbol]) -> Option<(usize, Violation)> {
        let violations = self.constraints.iter().map(|(w, c)| c.check(x, y).scaled(*w));
        // `f32::total_cmp` alone orders negative NaNs below zero.
        let distance = |violation: &Violation| (violation.total().is_nan(), violation.total());
        violations.enumerate().min_by(|(_, a), (_, b)| {
            let ((a_is_nan, a), (b_is_nan, b)) = (distance(a), distance(b));
            a_is_nan.cmp(&b_is_nan).then(a.total_cmp(&b))
        })
    }
}

impl<X: ?Sized> Constraint<X> for Any<'_, X> {
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        self.nearest(x, y).map_or(Violation::Whole(1.0), |(_, violation)| violation)
    }

    fn explain(&self, x: &X, y: &[Symbol]) -> Vec<Fault> {
        let Some((k, _)) = self.nearest(x, y) else {
            let message = "there are no alternatives to satisfy".to_owned();
            return vec![Fault { at: 0..y.len() + 1, cost: 1.0, message }];
        };
        let (weight, constraint) = &self.constraints[k];
        constraint.explain(x, y).into_iter().map(|fault| fault.scaled(*weight)).collect()
    }

    /// The union, if every constraint has an automaton and there is at least one.
    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        let automata = self.automata(x)?;
        let n_symbols = automata.iter().map(|automaton| automaton.n_symbols()).max()?;
        let are_finite = automata.iter().all(|automaton| automaton.is_finite());
        let union = are_finite.then(|| union(&automata, n_symbols)).flatten();
        union.map(|union| Box::new(union) as Box<_>)
    }
}

/// Limits on the states of a union, and on states times symbols.
const MOST_STATES: usize = 1 << 14;
const MOST_ARCS: usize = 1 << 22;

/// The union as a trimmed DFA; `None` if it has too many states.
///
/// A state holds one state per automaton, or `None` once that automaton has rejected.
fn union(automata: &[Box<dyn Automaton + '_>], n_symbols: usize) -> Option<Dfa> {
    let start: Vec<Option<State>> = automata.iter().map(|a| Some(a.start())).collect();
    let next = |states: &Vec<Option<State>>, symbol: Symbol| {
        let step = |automaton: &dyn Automaton, state: Option<State>| {
            let is_known = (symbol as usize) < automaton.n_symbols();
            state.filter(|_| is_known).and_then(|state| automaton.next(state, symbol))
        };
        let to: Vec<_> = automata.iter().zip(states).map(|(a, &state)| step(&**a, state)).collect();
        to.iter().any(Option::is_some).then_some(to)
    };
    let accepts = |states: &Vec<Option<State>>| {
        automata.iter().zip(states).any(|(a, state)| state.is_some_and(|state| a.accepts(state)))
    };
    let max_states = MOST_STATES.min(MOST_ARCS / n_symbols.max(1));
    Some(Dfa::explore_within(max_states, n_symbols, start, next, accepts)?.trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraint::Part;
    use crate::constraints::oracle::{language, matches, strings};
    use crate::constraints::{Count, Language, Length, Regular};

    const NO_INPUT: &[Symbol] = &[];

    fn always(g: f32) -> impl Fn(&[Symbol], &[Symbol]) -> f32 + Sync {
        move |_: &[Symbol], _: &[Symbol]| g
    }

    #[test]
    fn without_alternatives_nothing_is_feasible() {
        let none: Any<[Symbol]> = Any::default();
        assert_eq!(none.check(NO_INPUT, &[0, 1]), Violation::Whole(1.0));
        let faults = none.explain(NO_INPUT, &[0, 1]);
        assert_eq!((faults.len(), faults[0].cost, faults[0].at.clone()), (1, 1.0, 0..3));
        assert!(none.automaton(NO_INPUT).is_none());
    }

    #[test]
    fn the_nearest_alternative_gives_the_parts_and_messages() {
        let pairs = Regular::new(&Language::word(&[0, 1]).star().automaton(2));
        let any = Any::new().with(3.0, pairs).with(0.5, always(7.0));
        let stray = Part { at: 1..2, cost: 3.0 };
        assert_eq!(any.check(NO_INPUT, &[0, 0, 1]), Violation::Parts(vec![stray]));
        let [fault] = &any.explain(NO_INPUT, &[0, 0, 1])[..] else { panic!("one edit will do") };
        assert_eq!((fault.at.clone(), fault.cost), (1..2, 3.0));
        assert_eq!(
            any.check(NO_INPUT, &[0, 0]),
            Violation::Parts(vec![Part { at: 1..2, cost: 3.0 }])
        );
        assert_eq!(any.check(NO_INPUT, &[1, 1, 0, 0, 0, 0]), Violation::Whole(3.5));
        assert!(any.check(NO_INPUT, &[0, 1]).is_satisfied());
        assert!(any.explain(NO_INPUT, &[0, 1]).is_empty());
    }

    #[test]
    fn nan_does_not_hide_other_alternatives() {
        for nan in [f32::NAN, -f32::NAN] {
            for (g, is_feasible) in [(0.0, true), (2.0, false), (f32::INFINITY, false)] {
                let first = Any::new().with(1.0, always(nan)).with(1.0, always(g));
                let last = Any::new().with(1.0, always(g)).with(1.0, always(nan));
                for any in [first, last] {
                    assert_eq!(any.check(NO_INPUT, &[]), Violation::Whole(g));
                    assert_eq!(any.check(NO_INPUT, &[]).is_satisfied(), is_feasible);
                }
            }
            assert!(!Any::new().with(1.0, always(nan)).check(NO_INPUT, &[]).is_satisfied());
        }
    }

    #[test]
    fn the_automaton_is_the_union() {
        let pairs = Regular::new(&Language::word(&[0, 1]).star().automaton(2));
        let as_many = Count { source: 0, target: 0, ratio: 2, n_symbols: 3 };
        let any: Any<Vec<Symbol>> = Any::new().with(1.0, pairs).with(1.0, as_many);
        for x in strings(2, 2) {
            let dfa = any.automaton(&x).expect("both are automata");
            assert_eq!(dfa.n_symbols(), 3);
            for y in strings(3, 6) {
                assert_eq!(dfa.contains(&y), any.check(&x, &y).is_satisfied(), "{x:?} to {y:?}");
            }
        }
        let black_box = any.with(1.0, |_: &Vec<Symbol>, _: &[Symbol]| 0.0);
        assert!(black_box.automaton(&vec![0]).is_none());
    }

    #[test]
    fn tiny_violations_do_not_vanish() {
        let any = Any::new().with(1e-30, always(1e-30)).with(1.0, always(1.0));
        assert!(!any.check(NO_INPUT, &[]).is_satisfied());
    }

    #[test]
    fn weights_must_be_positive_and_finite() {
        for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let built = std::panic::catch_unwind(|| {
                let _: Any<[Symbol]> = Any::new().with(weight, always(0.0));
            });
            assert!(built.is_err(), "{weight} should be rejected");
        }
    }

    proptest! {
        #[test]
        fn g_is_the_minimum_and_zero_exactly_when_one_holds(
            languages in prop::collection::vec((1e-3..1e3f32, language(2)), 0..4),
            len in 0..4usize,
        ) {
            let mut any = Any::new().with(0.25, Length { required: move |_: &[Symbol]| len, n_symbols: 2 });
            for (weight, language) in &languages {
                any = any.with(*weight, Regular::new(&language.automaton(2)));
            }
            let dfa = any.automaton(NO_INPUT).expect("all are automata");
            for y in strings(2, 5) {
                let feasible = y.len() == len || languages.iter().any(|(_, language)| matches(language, &y));
                let g = languages.iter().map(|(weight, language)| {
                    let regular = Regular::new(&language.automaton(2));
                    weight * regular.check(NO_INPUT, &y).total()
                });
                let off = 0.25 * y.len().abs_diff(len) as f32 / y.len().max(1) as f32;
                let violation = any.check(NO_INPUT, &y);
                prop_assert_eq!(violation.is_satisfied(), feasible, "{:?}", y);
                prop_assert_eq!(dfa.contains(&y), feasible, "{:?}", y);
                let least = g.fold(off, f32::min);
                prop_assert!((violation.total() - least).abs() <= 1e-5 * least, "{:?}", y);
                let told: f32 = any.explain(NO_INPUT, &y).iter().map(|fault| fault.cost).sum();
                prop_assert!((told - least).abs() <= 1e-5 * least, "{:?}", y);
            }
        }
    }
}
