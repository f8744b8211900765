//! The backend that the other tests rely on: its gradients are those of its log-probabilities.

use crate::backend::bigram::{Bigram, Prompt};
use crate::backend::deltas::Deltas;
use crate::backend::table::Table;
use cajole_core::{
    Candidate, Config, Force, Found, Model, Move, Moving, Parameter, Pass, Symbol, Workspace,
};

/// Decodes `x` under a nudge, forces `y` beside it, blames both, and compares `∇` with differences.
fn check<M: Model<Nudge = Deltas>>(
    model: &M,
    x: &M::Input,
    y: &[Symbol],
    patterns: &[String],
    log_prob: impl Fn(&Deltas, &[Symbol]) -> f64,
) {
    let parameters = model.parameters();
    let moving = Moving::choose(&parameters, patterns).unwrap();
    let mut nudge = model.nudge(&moving).unwrap();
    nudge.set_shift(1, 0.3);
    let mut workspace = Workspace::new(model);
    let mut session = workspace.session(model);
    let mut found = [Found::default()];
    let pass = Pass { nudge: Some(&nudge), ..Pass::base(x) };
    model.decoder(1.into()).decode(&mut session, &[pass], &mut found).unwrap();
    let decoded = found[0].best().filter(|y| !y.capped).expect("an output that ends");
    let expected = log_prob(&nudge, &decoded.output);
    assert!((f64::from(decoded.log_prob) - expected).abs() < 1e-5);
    let mut forced = Candidate::default();
    let pass = Pass { place: Some(0), ..pass };
    let force = Force { pass, output: y, forced: &mut forced, passes: 0 };
    model.force(session.scratch, &mut [force]).unwrap();
    assert!((f64::from(forced.log_prob) - log_prob(&nudge, y)).abs() < 1e-5);
    let blame =
        |y: &Candidate, cost: f32| y.marks.iter().map(move |&m| (m, cost)).collect::<Vec<_>>();
    let own = Move {
        nudge: nudge.clone(),
        place: 0,
        t: 1,
        schedule: Config::paper().schedule,
        pull: 0.0,
        blame: [blame(decoded, 2.0), blame(&forced, -0.5)].concat(),
        norm: 0.0,
        distance: 0.0,
        is_over: false,
    };
    let mut set = [own];
    model.gradient(session.scratch, &mut set).unwrap();
    let loss = |nudge: &Deltas| 2.0 * log_prob(nudge, &decoded.output) - 0.5 * log_prob(nudge, y);
    let parameter = parameters.iter().enumerate().flat_map(|(p, parameter)| vec![p; parameter.len]);
    let mut n_moved = 0;
    for (i, parameter) in parameter.enumerate() {
        let at = |shift: f64| {
            let mut nudge = nudge.clone();
            nudge.set_shift(i, Deltas::shift(Some(&nudge), i) + shift);
            loss(&nudge)
        };
        let difference = match moving.moves(parameter) {
            true => (at(1e-5) - at(-1e-5)) / 2e-5,
            false => 0.0,
        };
        let gradient = set[0].nudge.gradient(i);
        assert!((gradient - difference).abs() < 1e-8, "weight {i}: {gradient}, not {difference}");
        n_moved += usize::from(gradient != 0.0);
    }
    assert!(0 < n_moved);
}

#[test]
fn gradients_are_those_of_the_log_probabilities() {
    let table = Table::new(&[&[0.2, -0.1, 0.4], &[1.0, 0.3, -0.5], &[0.0, 0.1, 0.2]]);
    let mut x = table.plain();
    x.scores[1][2] = 1.2;
    for patterns in [vec![], vec!["position1".to_owned()]] {
        check(&table, &x, &[0, 1, 2], &patterns, |nudge, y| {
            let log_probs = table.log_probs(&x, Some(nudge));
            y.iter().enumerate().map(|(t, &v)| log_probs[t * 3 + v as usize]).sum()
        });
    }
    let bigram = Bigram::random(4, 1.0, 1);
    let x = Prompt { id: 0, kind: 3, cap: 5 };
    for patterns in [vec![], vec![Moving::VECTORS.to_owned()], vec!["decoder.p*".to_owned()]] {
        check(&bigram, &x, &[2, 0, 0], &patterns, |nudge, y| bigram.log_prob(&x, Some(nudge), y));
    }
}

#[test]
fn parameters_are_all_weights() {
    let count = |parameters: Vec<Parameter>| parameters.iter().map(|p| p.len).sum::<usize>();
    let (table, bigram) = (Table::new(&[&[0.0, 1.0][..]; 3]), Bigram::random(4, 1.0, 7));
    assert_eq!(count(table.parameters()), table.bits().len());
    assert_eq!(count(bigram.parameters()), bigram.bits().len());
}
