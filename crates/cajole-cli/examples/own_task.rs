//! A task of your own, with all commands:
//!
//!     cargo run --release -p cajole-cli --example own_task -- explain --model reverser 31421
//!
//! A small network has not quite learnt to reverse digits. Its outputs must be as long as their
//! inputs.

use std::process::ExitCode;
use std::sync::Arc;

use cajole_core::{Search, Symbol};
use cajole_files::fingerprint;
use cajole_infer::case::Case;
use cajole_infer::line::{Line, LineError};
use cajole_infer::solver::{Network, Solver, solver};
use cajole_infer::task::Task;
use cajole_infer::{Registry, sequences};
use cajole_nn::models::{StartState, Transducer, TransducerConfig};
use cajole_nn::random::Random;
use cajole_nn::{Example, TrainConfig, Trained, Trainer};
use cajole_rules::{Rules, Subject, Vocabulary};
use cajole_tasks::Presets;
use serde_json::Value;

const DIGITS: usize = 5;

struct Reversing {
    model: Trained<Transducer>,
    vocabulary: Arc<Vocabulary>,
    presets: Presets,
}

impl Reversing {
    /// The digits of a text.
    fn digits(&self, value: &Value) -> Result<Vec<Symbol>, LineError> {
        let text = value.as_str().ok_or_else(|| LineError::other("expected a text of digits"))?;
        self.vocabulary.read(text).map_err(LineError::other)
    }
}

impl Network for Reversing {
    type Model = Trained<Transducer>;
    type Input = Vec<Symbol>;

    fn model(&self) -> &Self::Model {
        &self.model
    }
}

impl Task for Reversing {
    fn name(&self) -> &'static str {
        "reversing"
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.model.weights())
    }

    fn presets(&self) -> &Presets {
        &self.presets
    }

    fn usual_rules(&self) -> Option<&'static str> {
        Some("name = \"as long as the input\"\narithmetic = 'len(out) = len(in)'\n")
    }

    fn cases(&self, line: &Line, _: &Rules) -> Result<Vec<Case>, LineError> {
        let value = line.input()?;
        let input = self.digits(&value)?;
        let gold = line.gold().map(|gold| self.digits(gold)).transpose()?;
        let names = input.iter().map(|&digit| self.vocabulary.name(digit).to_owned());
        let symbols: Vec<String> = names.collect();
        let subject = Subject::new(symbols, value);
        Ok(vec![Case::new(input, subject).with_gold(gold)])
    }

    fn searches(&self) -> Vec<Search> {
        sequences::usual_searches()
    }

    fn solver(&self) -> Box<dyn Solver + '_> {
        solver(self)
    }
}

/// Learns to reverse up to six digits, in a second or two.
fn reverser() -> Reversing {
    let net = Transducer::new(TransducerConfig {
        input_symbols: DIGITS,
        output_symbols: DIGITS + 1, // with the end symbol
        embedding: 16,
        hidden: 32,
        start_state: StartState::Encoder,
        dropout: 0.0,
        cap_factor: 2,
    });
    let mut random = Random::new(1);
    let mut digits =
        || (0..=random.below(6)).map(|_| random.below(DIGITS) as Symbol).collect::<Vec<_>>();
    let inputs: Vec<_> = (0..400).map(|_| digits()).collect();
    let outputs: Vec<Vec<_>> = inputs.iter().map(|x| x.iter().rev().copied().collect()).collect();
    let pairs = inputs.iter().zip(&outputs);
    let examples = pairs.map(|(x, y)| Example { input: x.as_slice(), output: y }).collect();
    let config = TrainConfig::new(12, 1e-2).with(|config| config.batch_size = 16);
    let mut trainer = Trainer::new(&net, config, examples, 1);
    while !trainer.is_done() {
        trainer.epoch();
    }
    let weights = trainer.state().weights.clone();
    Reversing {
        model: Trained::new(net, weights),
        vocabulary: Arc::new(Vocabulary::new((0..DIGITS).map(|digit| digit.to_string()), "")),
        presets: Presets::default(),
    }
}

fn main() -> ExitCode {
    let registry = Registry::standard().with_network("reverser", || Box::new(reverser()));
    cajole_cli::main_with(registry)
}
