//! A network that fails for one input, and counts the decoders it is asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cajole_core::decoders::{Beam, Ranking};
use cajole_core::{
    BackendError, ConstrainedDecoder, Decoder, DoesNotFit, Found, Pass, Search, Session, Sought,
    Symbol,
};
use cajole_infer::answer::{Answer, Status};
use cajole_infer::case::Case;
use cajole_infer::engine::Engine;
use cajole_infer::line::{Line, LineError};
use cajole_infer::lines::Answering;
use cajole_infer::solver::{Network, Solver, solver};
use cajole_infer::task::Task;
use cajole_infer::{Settings, Transduction};
use cajole_rules::{Rules, Vocabulary};
use cajole_tasks::transduction::{Net, USUAL_RULES, parse};
use cajole_tasks::{Checkpoint, Presets};

/// The transducer, but searches and recordings fail if this input is among theirs.
struct Frail {
    own: Transduction,
    input: Vec<Symbol>,
    n_decoders: AtomicUsize,
}

impl Frail {
    fn new(input: &str) -> Self {
        let (own, input) = (Transduction::new(Net::built_in()), parse(input).unwrap());
        Frail { own, input, n_decoders: AtomicUsize::new(0) }
    }
}

/// A decoder or a search of it.
struct FrailSearch<'a, D> {
    own: D,
    input: &'a [Symbol],
}

impl<D> FrailSearch<'_, D> {
    fn call<'s>(&self, mut set: impl Iterator<Item = Pass<'s, Net>>) -> Result<(), BackendError> {
        match set.any(|pass| pass.input == self.input) {
            true => Err(BackendError::new("too much")),
            false => Ok(()),
        }
    }
}

impl<D: Decoder<Net>> Decoder<Net> for FrailSearch<'_, D> {
    fn decode(
        &self,
        at: &mut Session<'_, Net>,
        set: &[Pass<'_, Net>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.call(set.iter().copied())?;
        self.own.decode(at, set, found)
    }

    fn skim(
        &self,
        at: &mut Session<'_, Net>,
        set: &[Pass<'_, Net>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.own.skim(at, set, found)
    }
}

impl ConstrainedDecoder<Net> for FrailSearch<'_, Box<dyn ConstrainedDecoder<Net> + '_>> {
    fn search(
        &self,
        at: &mut Session<'_, Net>,
        set: &[Sought<'_, '_, Net>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        self.call(set.iter().map(|sought| sought.pass))?;
        self.own.search(at, set, found)
    }
}

impl Network for Frail {
    type Model = Net;
    type Input = Vec<Symbol>;

    fn model(&self) -> &Net {
        self.own.model()
    }

    fn decoder(&self, beam: Beam) -> Box<dyn Decoder<Net> + '_> {
        self.n_decoders.fetch_add(1, Ordering::Relaxed);
        Box::new(FrailSearch { own: self.own.decoder(beam), input: &self.input })
    }

    fn search<'a>(
        &'a self,
        search: &Search,
        ranking: Ranking,
        rules: &'a Rules,
    ) -> Result<Box<dyn ConstrainedDecoder<Net> + 'a>, DoesNotFit> {
        let own = self.own.search(search, ranking, rules)?;
        Ok(Box::new(FrailSearch { own, input: &self.input }))
    }
}

impl Task for Frail {
    fn name(&self) -> &'static str {
        "frail"
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.own.vocabulary()
    }

    fn presets(&self) -> &Presets {
        self.own.presets()
    }

    fn fingerprint(&self) -> u64 {
        self.own.fingerprint()
    }

    fn cases(&self, line: &Line, rules: &Rules) -> Result<Vec<Case>, LineError> {
        self.own.cases(line, rules)
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }
}

/// Inputs whose outputs violate the rule; the second is the one that the network fails for.
const INPUTS: [&str; 4] = [
    "azbzazazazazazazazazbz",
    "azbzazbzazbzazbzazbzazbzazbz",
    "azbzazbzazbzazbzazbzazbzazbzazbz",
    "azbzazbzazbzazbzazbzazbzazbzazbzazbz",
];

fn answers(input: &str, engine: &str) -> Vec<Answer> {
    let task = Frail::new(input);
    let rules = Rules::parse("here", USUAL_RULES, None, task.vocabulary()).unwrap();
    let settings = Settings::of(&task).by(engine.parse().unwrap()).log_probs(true);
    let mut answering = Answering::new(&task, Some(Arc::new(rules)), &settings).unwrap();
    let lines = (1..).zip(INPUTS).map(|(i, text)| Line::parse(i, text.to_owned()));
    let lines = lines.map(|line| Ok(line.unwrap().unwrap())).collect();
    let records = answering.answer(lines).into_iter();
    records.map(|record| record.answers.unwrap().remove(0).answer).collect()
}

#[test]
fn an_input_that_fails_costs_nobody_else() {
    for engine in ["gbi", "network", "masked", "beam", "exact", "sample"] {
        let (fine, frail) = (answers("bz", engine), answers(INPUTS[1], engine));
        for (i, (fine, frail)) in fine.iter().zip(&frail).enumerate() {
            assert!(0.0 < fine.g_before, "{} needs a repair", INPUTS[i]);
            if i == 1 {
                let expected = match engine {
                    "network" => (Status::Unchanged, None),
                    _ => (Status::Failed, Some(BackendError::new("too much"))),
                };
                assert_eq!((frail.status, frail.failure.clone()), expected, "{engine:?}");
                continue;
            }
            assert_eq!((&frail.output, frail.status), (&fine.output, fine.status), "{engine:?}");
            assert_eq!(frail.log_prob, fine.log_prob, "{engine:?}: {}", INPUTS[i]);
            assert!(fine.log_prob.is_some());
        }
    }
}

#[test]
fn a_thread_needs_two_decoders_however_many_sets_it_repairs() {
    let task = Frail::new("bz");
    let settings = Settings::of(&task).by(Engine::gbi());
    let mut answering = Answering::new(&task, None, &settings).unwrap();
    // Each line has rules of its own and is repaired alone.
    let line = |i: u64| {
        let rule = format!("arithmetic = 'len(out) = {i}'");
        let line = serde_json::json!({"input": "azbz", "constraint": rule});
        Ok(Line::parse(i, line.to_string()).unwrap().unwrap())
    };
    let records = answering.answer((7..10).map(line).collect());
    let answers = records.iter().flat_map(|record| record.answers.as_ref().unwrap());
    assert!(answers.clone().count() == 3 && answers.clone().all(|a| 0.0 < a.answer.g_before));
    let own_and_nudged = 2;
    assert_eq!(task.n_decoders.load(Ordering::Relaxed), own_and_nudged);
}
