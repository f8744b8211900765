//! What can be set: which parameters move, and presets as text.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::backend::bigram::{Bigram, CAP, KINDS, Prompt};
use crate::backend::table::{Sentence, Table};
use cajole_core::{
    Config, Gbi, Moving, Schedule, StepRule, Stepper, Stop, Symbol, UnknownParameter,
};

/// How many positions hold symbol 0.
fn zeros<X>(_: &X, y: &[Symbol]) -> f32 {
    y.iter().filter(|&&v| v == 0).count() as f32
}

fn moving(patterns: &[&str], schedule: Schedule) -> Config {
    let mut config = Config::paper();
    config.moves = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    config.schedule = schedule;
    config
}

#[test]
fn only_chosen_parameters_move() {
    let model = Table::new(&[&[0.5, 0.0], &[0.5, 0.0]]);
    let schedule = Schedule { rule: StepRule::Sgd, step_size: 0.3, max_steps: 30 };
    let config = moving(&["position1"], schedule);
    let outcome = Gbi::with(&model, config).unwrap().run(&model.plain(), &zeros);
    assert_eq!((outcome.stop, outcome.output), (Stop::StepLimit, vec![0, 1]), "0 cannot move");
    assert_eq!(outcome.trace.moving, 2);
    let Err(error) = Gbi::with(&model, moving(&["position0", "position7"], schedule)) else {
        panic!("there is no position7")
    };
    let known = vec!["position0".to_owned(), "position1".to_owned()];
    assert_eq!(error, UnknownParameter { pattern: "position7".into(), known });
    let text = error.to_string();
    assert!(text.contains("\"position7\"") && text.contains("position0, position1"), "{text}");
}

/// `η‖∇‖` over the parameters with these numbers, for `cost · log p(y)` under `W`.
fn first_step(model: &Bigram, x: &Prompt, y: &[Symbol], cost: f64, parameters: &[usize]) -> f64 {
    let mut gradient: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
    let mut previous = model.end();
    for (t, v) in y.iter().copied().chain([model.end()]).enumerate() {
        let log_probs = model.log_probs(x, None, t, previous);
        for (u, log_prob) in log_probs.iter().enumerate() {
            let d = cost * (f64::from(u8::from(u == v as usize)) - log_prob.exp());
            let rows = [previous as usize, t, x.kind, 0];
            parameters.iter().for_each(|&p| *gradient.entry((p, rows[p], u)).or_default() += d);
        }
        previous = v;
    }
    gradient.values().map(|d| d * d).sum::<f64>().sqrt()
}

#[test]
fn patterns_choose_what_moves() {
    let model = Bigram::random(4, 1.0, 1);
    let x = Prompt { id: 0, kind: 2, cap: CAP };
    let one = Schedule { rule: StepRule::Sgd, step_size: 1.0, max_steps: 1 };
    let len = [4 * 4, CAP * 4, KINDS * 4, 4];
    // Parameters 0, 1 and 3 belong to the decoder.
    for (patterns, parameters) in [
        (vec![], vec![0, 1, 2, 3]),
        (vec!["*"], vec![0, 1, 2, 3]),
        (vec!["decoder"], vec![0, 1, 3]),
        (vec!["encoder"], vec![2]),
        (vec!["encoder.input"], vec![2]),
        (vec!["*.p*"], vec![0, 1]),
        (vec![Moving::VECTORS], vec![3]),
        (vec!["decoder.bias", "*bias", Moving::VECTORS], vec![3]),
        (vec!["encoder", "decoder.position"], vec![1, 2]),
    ] {
        let never = |_: &Prompt, _: &[Symbol]| 0.5;
        let outcome = Gbi::with(&model, moving(&patterns, one)).unwrap().run(&x, &never);
        let expected = parameters.iter().map(|&p| len[p]).sum::<usize>();
        assert_eq!(outcome.trace.moving, expected, "{patterns:?}");
        let decoded = outcome.trace.output(&outcome.trace.steps()[0]);
        assert!(!outcome.trace.steps()[0].capped, "the end symbol is blamed, too");
        let distance = f64::from(outcome.trace.steps()[1].distance);
        let expected = first_step(&model, &x, decoded, 0.5, &parameters);
        assert!((distance - expected).abs() < 1e-6, "{patterns:?}: {distance}, not {expected}");
    }
    for pattern in ["decode", "bias", "", "*.q*"] {
        let Err(error) = Gbi::with(&model, moving(&["decoder", pattern], one)) else {
            panic!("{pattern:?} matches nothing")
        };
        assert_eq!(error.pattern, pattern);
    }
}

#[test]
fn the_small_preset_moves_vectors_only() {
    let model = Bigram::random(4, 1.0, 5);
    let x = Prompt { id: 0, kind: 2, cap: CAP };
    let (small, best) = (Gbi::with(&model, Config::small()).unwrap(), Gbi::new(&model));
    assert_eq!(small.config().moves, [Moving::VECTORS]);
    assert_eq!(small.run(&x, &zeros).trace.moving, 4);
    assert_eq!(best.run(&x, &zeros).trace.moving, model.bits().len());
    let table = Table::new(&[&[0.5, 0.0]]);
    let Err(error) = Gbi::with(&table, Config::small()) else { panic!("it has no vectors") };
    assert_eq!(error.to_string(), "no parameter matches \"@vectors\"; this model has position0");
}

#[test]
fn a_run_needs_two_lines() {
    let model = Table::new(&[&[0.5, 0.0], &[0.0, 1.0]]);
    let no_zero = |_: &Sentence, y: &[Symbol]| zeros(&(), y);
    let outcome = Gbi::new(&model).run(&model.plain(), &no_zero);
    assert_eq!((outcome.output, outcome.stop), (vec![1, 1], Stop::Satisfied));
}

#[test]
fn presets_survive_being_written_down() {
    let mut hurried = Config::best();
    hurried.deadline = Some(Duration::from_millis(250));
    for preset in [Config::paper(), Config::best(), Config::small(), hurried] {
        let text = serde_json::to_string(&preset).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), preset);
    }
    let config: Config = serde_json::from_str(r#"{"deadline-ms": 40}"#).unwrap();
    assert_eq!(config.deadline, Some(Duration::from_millis(40)));
    let error = serde_json::from_str::<Config>(r#"{"pul": 1}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `pul`") && error.contains("pull"), "{error}");
}
