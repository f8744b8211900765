//! Conjunction: several constraints at once.
//!
//! A feasible set is often an intersection of simple ones: well formed, *and* with the right
//! counts. Each constraint keeps its own measure and blame. The weights say how strongly one
//! violation pushes compared with another:
//!
//! ```text
//! g(y, Lˣ) = Σ_k w_k · g_k(y, Lˣ)      Lˣ = ⋂_k Lˣ_k
//! ```
//!
//! No `g_k` is negative and every `w_k` is positive, so the sum is zero exactly when all terms are.

use super::{Automaton, Product, Weighted};
use crate::constraint::{Constraint, Fault, Violation};
use crate::model::Symbol;

/// Limit on the arcs of an enumerated intersection; beyond it, states are created on demand.
const MOST_ARCS: usize = 1 << 18;
/// The same limit over all intermediate intersections together.
const MOST_ARCS_IN_ALL: usize = 1 << 20;

/// The output must satisfy every one of these constraints; `g` is their weighted sum.
///
/// Without constraints every output is feasible.
///
/// ```
/// use cajole_core::Constraint;
/// use cajole_core::constraints::{All, Count, Language, Regular};
///
/// let pairs = Regular::new(&Language::word(&[0, 1]).star().automaton(2));
/// let as_many = Count { source: 0, target: 0, ratio: 1, n_symbols: 2 };
/// let both: All<[u32]> = All::new().with(1.0, pairs).with(0.5, as_many);
/// assert_eq!(both.check(&[0, 0], &[0, 1, 0, 1]).total(), 0.0);
/// assert!(both.check(&[0, 0], &[0, 1]).total() > 0.0); // too few
/// assert!(both.check(&[0, 0], &[0, 0]).total() > 0.0); // no pairs
/// ```
pub type All<'a, X> = Weighted<'a, X, Sum>;

/// Combines constraints as [`All`] does.
#[derive(Clone, Copy, Debug)]
pub enum Sum {}

impl<X: ?Sized> Constraint<X> for All<'_, X> {
    fn check(&self, x: &X, y: &[Symbol]) -> Violation {
        self.constraints.iter().fold(Violation::NONE, |all, (weight, constraint)| {
            all.and(constraint.check(x, y).scaled(*weight), y.len() + 1)
        })
    }

    fn explain(&self, x: &X, y: &[Symbol]) -> Vec<Fault> {
        let faults = self.constraints.iter().flat_map(|(weight, constraint)| {
            constraint.explain(x, y).into_iter().map(|fault| fault.scaled(*weight))
        });
        faults.collect()
    }

    /// The intersection, if every constraint has an automaton and there is at least one.
    ///
    /// If some are not [finite](Automaton::is_finite), it is not enumerated: then the distance to
    /// acceptance is a lower bound, and a prefix may be a dead end.
    fn automaton(&self, x: &X) -> Option<Box<dyn Automaton + '_>> {
        let mut left = MOST_ARCS_IN_ALL;
        self.automata(x)?.into_iter().reduce(|all, next| {
            let are_finite = all.is_finite() && next.is_finite();
            let (most, n_symbols) = (MOST_ARCS.min(left), all.n_symbols().max(1));
            let list = || all.intersect_within(most / n_symbols, &*next);
            let listed = (are_finite && 0 < left).then(list).flatten();
            let used = listed.as_ref().map_or(most, |both| both.n_states() * n_symbols);
            left -= used.min(left);
            match listed {
                Some(both) => Box::new(both),
                None => Box::new(Product::new(all, next)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::constraint::Part;
    use crate::constraints::oracle::{language, matches, strings};
    use crate::constraints::{
        ContextFree, Count, Element, Grammar, Language, Length, Production, Regular,
    };

    const NO_INPUT: &[Symbol] = &[];

    fn ends_in(symbol: Symbol) -> impl Fn(&[Symbol], &[Symbol]) -> f32 + Sync {
        move |_: &[Symbol], y: &[Symbol]| f32::from(y.last() != Some(&symbol))
    }

    #[test]
    fn without_constraints_everything_is_feasible() {
        let none: All<[Symbol]> = All::default();
        assert_eq!(none.check(NO_INPUT, &[0, 1]), Violation::NONE);
        assert!(none.automaton(NO_INPUT).is_none());
    }

    #[test]
    fn violations_are_weighted_and_added() {
        let two = Length { required: |_: &[Symbol]| 2, n_symbols: 2 };
        let all = All::new().with(2.0, two).with(0.5, ends_in(1));
        assert_eq!(all.check(NO_INPUT, &[0]), Violation::Whole(2.0 * 1.0 + 0.5));
        assert_eq!(all.check(NO_INPUT, &[0, 0]), Violation::Whole(0.5));
        assert_eq!(all.check(NO_INPUT, &[0, 1]), Violation::NONE);
    }

    #[test]
    fn parts_stay_parts_beside_a_whole() {
        let pairs = Regular::new(&Language::word(&[0, 1]).star().automaton(2));
        let all = All::new().with(3.0, pairs).with(0.5, ends_in(1));
        let stray = Part { at: 1..2, cost: 3.0 };
        assert_eq!(all.check(NO_INPUT, &[0, 0, 1]), Violation::Parts(vec![stray.clone()]));
        let everywhere = Part { at: 0..3, cost: 0.5 };
        let both = Violation::Parts(vec![stray, everywhere]);
        assert_eq!(all.check(NO_INPUT, &[0, 0]), both);
    }

    #[test]
    fn the_automaton_is_the_intersection() {
        let pairs = Regular::new(&Language::word(&[0, 1]).star().automaton(2));
        let as_many = Count { source: 0, target: 0, ratio: 2, n_symbols: 2 };
        let all: All<Vec<Symbol>> = All::new().with(1.0, pairs).with(1.0, as_many);
        for x in strings(2, 2) {
            let dfa = all.automaton(&x).expect("both are automata");
            for y in strings(2, 8) {
                assert_eq!(dfa.contains(&y), all.check(&x, &y).is_satisfied(), "{x:?} to {y:?}");
            }
        }
        let black_box = all.with(1.0, |_: &Vec<Symbol>, _: &[Symbol]| 0.0);
        assert!(black_box.automaton(&vec![0]).is_none());
    }

    #[test]
    fn context_free_constraints_intersect_on_demand() {
        let [open, close, list] = [Element::Symbol(0), Element::Symbol(1), Element::Variable(0)];
        let nested = Production { head: 0, body: vec![open, list, close, list] };
        let nothing = Production { head: 0, body: vec![] };
        let balanced = || Grammar::new(2, 0, vec![nested.clone(), nothing.clone()]).unwrap();
        let six = Length { required: |_: &[Symbol]| 6, n_symbols: 2 };
        let deep = Regular::new(&Language::word(&[0, 0]).then(Language::Any.star()).automaton(2));
        let all = All::new().with(1.0, six).with(1.0, deep).with(1.0, ContextFree::new(balanced()));
        let automaton = all.automaton(NO_INPUT).expect("all are automata");
        assert!(!automaton.is_finite());
        let members: Vec<_> = strings(2, 8).filter(|y| automaton.contains(y)).collect();
        let feasible: Vec<_> =
            strings(2, 8).filter(|y| all.check(NO_INPUT, y).is_satisfied()).collect();
        assert_eq!(members, feasible);
        assert_eq!(members.len(), 3, "((())), (()()), (())()");
        for y in &members {
            let mut state = automaton.start();
            for (t, &symbol) in y.iter().enumerate() {
                assert!(automaton.distance_to_accept(state).unwrap() <= y.len() - t, "{y:?}");
                state = automaton.next(state, symbol).unwrap();
            }
        }
    }

    #[test]
    fn many_constraints_stay_within_the_arc_limit() {
        let n = 9000;
        let many = (0..100).fold(All::new(), |all, _| {
            all.with(1.0, Length { required: move |_: &[Symbol]| n, n_symbols: 2 })
        });
        assert!(MOST_ARCS_IN_ALL < 99 * 2 * n, "not every intersection can be enumerated");
        let automaton = many.automaton(NO_INPUT).expect("all are automata");
        assert_eq!(automaton.distance_to_accept(automaton.start()), Some(n));
        assert!(automaton.contains(&vec![1; n]) && !automaton.contains(&vec![1; n - 1]));
    }

    #[test]
    fn tiny_violations_do_not_vanish() {
        let tiny = |_: &[Symbol], _: &[Symbol]| 1e-30;
        assert!(!All::new().with(1e-30, tiny).check(NO_INPUT, &[]).is_satisfied());
    }

    #[test]
    fn weights_must_be_positive_and_finite() {
        for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let built = std::panic::catch_unwind(|| {
                let _: All<[Symbol]> = All::new().with(weight, ends_in(0));
            });
            assert!(built.is_err(), "{weight} should be rejected");
        }
    }

    proptest! {
        #[test]
        fn zero_exactly_when_all_hold(
            languages in prop::collection::vec((1e-3..1e3f32, language(2)), 0..4),
            symbol in 0..2u32,
        ) {
            let last = (f32::MIN_POSITIVE, ends_in(symbol));
            let mut all = All::new().with(last.0, last.1);
            for (weight, language) in &languages {
                all = all.with(*weight, Regular::new(&language.automaton(2)));
            }
            for y in strings(2, 5) {
                let feasible = y.last() == Some(&symbol)
                    && languages.iter().all(|(_, language)| matches(language, &y));
                prop_assert_eq!(all.check(NO_INPUT, &y).is_satisfied(), feasible, "{:?}", y);
            }
        }
    }
}
