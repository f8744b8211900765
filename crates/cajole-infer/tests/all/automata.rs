//! What rules are as an automaton is found out once for an input, whatever asks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cajole_core::constraints::Automaton;
use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_infer::engine::Engine;
use cajole_infer::line::Line;
use cajole_infer::{Registry, Settings};
use cajole_rules::{Rules, Subject};

/// Rules that count how often they are asked for an automaton.
struct Counted {
    rules: Rules,
    n_built: Arc<AtomicUsize>,
    /// Whether there is one.
    is_followed: bool,
}

impl Constraint<Subject> for Counted {
    fn check(&self, x: &Subject, y: &[Symbol]) -> Violation {
        self.rules.check(x, y)
    }

    fn explain(&self, x: &Subject, y: &[Symbol]) -> Vec<Fault> {
        self.rules.explain(x, y)
    }

    fn automaton(&self, x: &Subject) -> Option<Box<dyn Automaton + '_>> {
        self.n_built.fetch_add(1, Ordering::Relaxed);
        self.rules.automaton(x).filter(|_| self.is_followed)
    }
}

#[test]
fn an_automaton_is_built_once_for_an_input() {
    let network = Registry::standard().open("expressions").unwrap();
    let length = "arithmetic = 'len(out) = 3 * len(in) - 4'";
    let lines = ["a * b * c", "h - g - f - e - d - c - b - a"];
    for engine in network.engines().into_iter().chain([Engine::usual()]) {
        for is_followed in [true, false] {
            let n_built = Arc::new(AtomicUsize::new(0));
            let rules = Rules::parse("here", length, None, network.vocabulary()).unwrap();
            let counted = Counted { rules, n_built: Arc::clone(&n_built), is_followed };
            let rules = Arc::new(Rules::of("counted", counted));
            let settings = Settings::of(&*network).by(engine.clone());
            let lines = (1..).zip(lines).map(|(i, line)| Line::parse(i, line.to_owned()));
            let lines = lines.map(|line| Ok(line.unwrap().unwrap())).collect();
            let records = network.answer(lines, Some(&rules), &settings).unwrap();
            let answers = records.iter().flat_map(|record| record.answers.as_ref().unwrap());
            assert!(answers.clone().all(|answer| 0.0 < answer.answer.g_before));
            let (n_built, n) = (n_built.load(Ordering::Relaxed), answers.count());
            assert!(n_built <= n, "{engine:?} builds {n_built} for {n} inputs, {is_followed}");
        }
    }
}
