//! Which searches are tried on an output that violates its rules, and which of several answers is
//! kept.

use cajole_core::Search;

use crate::input::Input;
use crate::settings::Settings;

/// Searches in the order in which they are tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name: that of its search, or `auto`.
    pub name: &'static str,
    /// The searches. With none, the network's own output is kept.
    pub searches: Vec<Search>,
    /// Which answer is kept.
    pub choose: Choose,
}

/// Which of several answers is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choose {
    /// The first that satisfies; no search follows.
    First,
    /// The one that the network finds most probable, of those that satisfy. A search that proves
    /// that its answer is the most probable is the last.
    MostProbable,
}

impl Plan {
    /// The plan of one search.
    pub fn one(search: Search) -> Plan {
        let name = search.name();
        let searches = if search == Search::Network { Vec::new() } else { vec![search] };
        Plan { name, searches, choose: Choose::First }
    }

    /// The plan of gradient-based inference.
    pub fn gbi(settings: &Settings) -> Plan {
        Plan::one(Search::Gbi(Box::new(settings.config.clone())))
    }

    /// The cheapest search that can guarantee to satisfy, then others, gradient-based inference
    /// last. Each has its numbers from the settings.
    pub fn auto(settings: &Settings) -> Plan {
        let before = ["masked", "exact", "beam"].into_iter().filter_map(Search::named);
        let mut searches: Vec<Search> = before.map(|usual| settings.search(usual)).collect();
        searches.push(Search::Gbi(Box::new(settings.config.clone())));
        Plan { name: "auto", searches, choose: Choose::MostProbable }
    }

    /// Whether a search is part of the plan.
    pub(crate) fn contains(&self, search: &Search) -> bool {
        self.searches.contains(search)
    }
}

/// The plans of a run. Rules may have an automaton for short inputs but none for long ones, so each
/// input has its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Plans {
    /// For inputs whose rules can be followed symbol by symbol.
    pub followed: Plan,
    /// For other inputs, if that is another plan.
    pub otherwise: Option<Plan>,
}

impl Plans {
    /// The same plan for all inputs.
    pub fn all(plan: Plan) -> Plans {
        Plans { followed: plan, otherwise: None }
    }

    /// The plan for one input. It depends on that input alone.
    pub(crate) fn choose(&self, input: &Input<'_>) -> &Plan {
        match &self.otherwise {
            Some(plan) if input.time.is_up() || !input.wanted.has_automaton() => plan,
            _ => &self.followed,
        }
    }

    /// Every search of any plan, once.
    pub(crate) fn searches(&self) -> impl Iterator<Item = &Search> {
        let others = self.otherwise.iter().flat_map(|plan| &plan.searches);
        let others = others.filter(|search| !self.followed.contains(search));
        self.followed.searches.iter().chain(others)
    }
}
