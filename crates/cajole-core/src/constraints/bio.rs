//! The BIO rule, which makes a sequence of tags unambiguous.
//!
//! ```text
//! y_t = I-X  only if  y_{t−1} ∈ {B-X, I-X}      g(y) = number of violations
//! ```

use super::{Automaton, State, Tag, TagSet};
use crate::constraint::{Constraint, Fault, Part, Violation};
use crate::model::Symbol;

/// Every span must begin with `B-`; `g` counts stray `I-` tags.
#[derive(Clone, Debug)]
pub struct Bio {
    /// The tags.
    pub tags: TagSet,
}

impl<X: ?Sized> Constraint<X> for Bio {
    fn check(&self, _: &X, y: &[Symbol]) -> Violation {
        Violation::Parts(self.tags.strays(y).map(|t| Part { at: t..t + 1, cost: 1.0 }).collect())
    }

    fn explain(&self, x: &X, y: &[Symbol]) -> Vec<Fault> {
        let tag = |t: usize| y.get(t).and_then(|&symbol| self.tags.name(symbol)).unwrap_or("?");
        let message = |part: &Part| {
            format!("{} at position {} continues nothing", tag(part.at.start), part.at.start)
        };
        self.check(x, y).into_faults(y.len() + 1, message)
    }

    fn automaton(&self, _: &X) -> Option<Box<dyn Automaton + '_>> {
        Some(Box::new(self.clone()))
    }
}

/// A state is the role that may continue, counted from 1; in state 0 none may. All accept.
impl Automaton for Bio {
    fn n_symbols(&self) -> usize {
        self.tags.n_tags()
    }

    fn start(&self) -> State {
        State::new(0)
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        match self.tags.tag(symbol)? {
            Tag::O => Some(State::new(0)),
            Tag::B(role) => Some(State::new(role.index() as u64 + 1)),
            Tag::I(role) => (state.index() == role.index() + 1).then_some(state),
        }
    }

    fn accepts(&self, _: State) -> bool {
        true
    }

    fn distance_to_accept(&self, _: State) -> Option<usize> {
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::oracle::strings;

    #[test]
    fn the_constraint_the_automaton_and_validity_agree() {
        let tags = TagSet::new(["I-A", "O", "B-V", "B-A"]).unwrap();
        let bio = Bio { tags: tags.clone() };
        let names = |y: &[Symbol]| y.iter().map(|&s| tags.name(s).unwrap()).collect::<Vec<_>>();
        for y in strings(4, 6) {
            // From the names: an I-A needs an A right before it.
            let stray = |w: &(usize, &str)| {
                w.1 == "I-A" && (w.0 == 0 || !names(&y)[w.0 - 1].ends_with("-A"))
            };
            let n_strays = names(&y).into_iter().enumerate().filter(stray).count();
            let g = bio.check("", &y);
            assert_eq!(g.total(), n_strays as f32, "{y:?}");
            assert_eq!(tags.is_valid(&y), n_strays == 0, "{y:?}");
            assert_eq!(bio.contains(&y), n_strays == 0, "{y:?}");
        }
        let strays = vec![Part { at: 0..1, cost: 1.0 }, Part { at: 3..4, cost: 1.0 }];
        assert_eq!(bio.check("", &[0, 0, 1, 0]), Violation::Parts(strays));
        assert!(!bio.check("", &[9]).is_satisfied() && !bio.contains(&[9]));
    }
}
