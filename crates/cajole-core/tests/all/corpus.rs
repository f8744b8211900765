//! Many inputs on many threads: the same outcomes, in order.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::backend::bigram::{Bigram, KINDS, Prompt};
use crate::backend::outcomes::{all_told, jobs, told};
use cajole_core::constraints::{Language, Regular};
use cajole_core::corpus::{decode_all, in_parallel};
use cajole_core::{Candidate, Config, Gbi, Model, Outcome, Symbol};

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn prompts(n: usize) -> Vec<Prompt> {
    (0..n).map(|id| Prompt { id, kind: id % KINDS, cap: 2 + id % 4 }).collect()
}

#[test]
fn results_come_in_order_from_any_number_of_threads() {
    for threads in [1, 2, 5] {
        let squares = pool(threads).install(|| in_parallel(100, || (), |(), i| i * i));
        assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
    }
}

#[test]
fn a_first_pass_gives_every_input_its_own_output() {
    let (model, inputs) = (Bigram::random(9, 1.5, 6), prompts(100));
    for width in [1, 3] {
        let decoder = model.decoder(width.into());
        let alone = |x: &Prompt| decode_all(&model, &*decoder, &[x]).unwrap().remove(0);
        let expected: Vec<Candidate> = inputs.iter().map(alone).collect();
        let different: BTreeSet<&[Symbol]> = expected.iter().map(|y| &y.output[..]).collect();
        assert!(5 < different.len(), "{different:?}");
        assert!(expected.iter().all(|y| y.marks.is_empty()), "nothing is recorded");
        for threads in [1, 3] {
            let xs: Vec<&Prompt> = inputs.iter().collect();
            let outputs = pool(threads).install(|| decode_all(&model, &*decoder, &xs)).unwrap();
            assert_eq!(outputs, expected);
        }
        // Outputs without recording are those with it.
        let free = |_: &Prompt, _: &[Symbol]| 0.0;
        let mut config = Config::paper();
        config.width = width;
        let gbi = Gbi::with(&model, config).unwrap();
        for (x, y) in inputs.iter().zip(&expected).filter(|(_, y)| !y.capped) {
            let outcome = gbi.run(x, &free);
            assert_eq!(
                (outcome.output, outcome.trace.steps()[0].log_prob),
                (y.output.clone(), y.log_prob)
            );
        }
    }
}

#[test]
fn a_corpus_is_repaired_alike_on_any_number_of_threads() {
    let (model, inputs) = (Bigram::random(4, 0.8, 3), prompts(50));
    // (0|1)2*
    let language = Language::any_of([0, 1]).then(Language::Symbol(2).star());
    let rule = Regular::new(&language.automaton(3));
    let jobs = jobs(&inputs, &rule);
    let alone: Vec<Outcome> = inputs.iter().map(|x| Gbi::new(&model).run(x, &rule)).collect();
    let repaired = alone.iter().filter(|outcome| outcome.is_converted()).count();
    assert!(5 < repaired, "{repaired}");
    for (threads, in_step) in [(1, 1), (1, 8), (3, 1), (3, 8), (3, 64)] {
        let reported = Mutex::new(vec![0; jobs.len()]);
        let gbi = Gbi::new(&model).in_step(in_step);
        let outcomes = pool(threads).install(|| {
            gbi.run_all(&jobs, |i, outcome| {
                assert_eq!(told(outcome), told(&alone[i]), "job {i}");
                reported.lock().unwrap()[i] += 1;
            })
        });
        assert_eq!(all_told(&outcomes), all_told(&alone));
        assert!(reported.into_inner().unwrap().iter().all(|&n| n == 1), "each is reported once");
    }
}
