//! The code in `docs/` compiles and runs: every line of it is a line of this file.
#![allow(clippy::print_stdout, reason = "as the guides have it")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cajole::core::Cancel;
use cajole::infer::engine::Engine;
use cajole::infer::line::Line;
use cajole::infer::{Registry, Settings};
use cajole::prelude::*;
#[cfg(all(feature = "json-schema", feature = "sql"))]
use cajole::rules::Vocabulary;

type Tested = Result<(), Box<dyn std::error::Error>>;

fn count(s: &[Symbol]) -> f32 {
    s.iter().filter(|&&s| s == transduction::A).count() as f32
}

#[test]
fn one_input_and_its_trace() -> Tested {
    let model = transduction::Net::built_in();
    let count = |s: &[Symbol]| s.iter().filter(|&&s| s == transduction::A).count() as f32;
    let thrice = |x: &[Symbol], y: &[Symbol]| (3.0 * count(x) - count(y)).abs();

    let x = transduction::parse("azbzazazazbzazazazazbzbz")?;
    let outcome = Gbi::new(&model).run(&x, &thrice);
    assert!(outcome.is_converted());
    let mut last = Vec::new();
    for step in outcome.trace.changes() {
        println!("{}: g {}, log p {}", step.iteration, step.g, step.log_prob);
        let y = outcome.trace.output(step);
        last = y.to_vec();
    }
    assert_eq!(last, outcome.output);
    Ok(())
}

#[test]
fn many_inputs_with_and_without_a_workspace() -> Tested {
    let model = transduction::Net::built_in();
    let thrice = |x: &[Symbol], y: &[Symbol]| (3.0 * count(x) - count(y)).abs();
    let inputs = ["azbz", "azazbzazazazazbz"].map(transduction::parse);
    let inputs = inputs.into_iter().collect::<Result<Vec<_>, _>>()?;
    let jobs: Vec<_> = inputs.iter().map(|x| Job::new(x.as_slice(), &thrice)).collect();
    let gbi = Gbi::new(&model);
    let outcomes = gbi.run_all(&jobs, |i, outcome| println!("{i}: {:?}", outcome.stop));

    let (batches, mut handled) = (jobs.chunks(1), Vec::new());
    let mut handle = |_: usize, outcome: Outcome| handled.push(outcome.output);
    let mut workspace = Workspace::new(&model);
    for batch in batches {
        gbi.run_set(batch, &mut workspace, &mut handle);
    }
    assert_eq!(handled, outcomes.into_iter().map(|outcome| outcome.output).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn cancellation() -> Tested {
    let model = transduction::Net::built_in();
    let cancel = Cancel::default();
    let gbi = Gbi::new(&model).cancel(cancel.clone());
    // elsewhere: cancel.set();
    cancel.set();
    let never = |_: &[Symbol], _: &[Symbol]| 1.0;
    assert_eq!(gbi.run(&transduction::parse("azbz")?, &never).stop, Stop::Cancelled);
    Ok(())
}

#[test]
fn lines_without_the_command_line() -> Tested {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("rules.toml"), "arithmetic = 'count(out, \"+\") <= 9'\n")?;
    std::env::set_current_dir(folder.path())?;
    let network = Registry::standard().open("expressions")?;
    let rules = Arc::new(Rules::read("rules.toml".as_ref(), network.vocabulary())?);
    let settings = Settings::of(&*network).by(Engine::gbi());
    let line = Line::parse(1, r#"{"input": "a + b * c"}"#.to_owned())?.unwrap();
    let records = network.answer(vec![Ok(line)], Some(&rules), &settings)?;
    println!("{}", records[0].to_json(false));
    assert_eq!(records[0].to_json(false)["status"], "satisfied");
    Ok(())
}

/// Every line of Rust in the guides is in this file, or in the example of a task of one's own.
#[test]
fn the_guides_show_code_that_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let tested =
        text("crates/cajole/tests/guide.rs") + &text("crates/cajole-cli/examples/own_task.rs");
    let tested: Vec<&str> = tested.lines().map(str::trim).collect();
    for path in ["docs/library.md", "docs/own-task.md"] {
        let text = text(path);
        let mut is_rust = false;
        for (i, line) in text.lines().enumerate() {
            match line {
                "```rust" => is_rust = true,
                "```" => is_rust = false,
                _ if is_rust && !tested.contains(&line.trim()) => {
                    panic!("{path}:{}: {line:?} is compiled by no test", i + 1)
                }
                _ => {}
            }
        }
    }
}

/// Every block of TOML in the reference of rules is a constraint file, for some kind of network.
#[cfg(all(feature = "json-schema", feature = "sql"))]
#[test]
fn the_reference_shows_rules_that_are_read() -> Tested {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/rules.md"))?;
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    write("terms.tsv", "Auto\tcar\n")?;
    write("schema.sql", "CREATE TABLE users (id INT, name TEXT)")?;
    let operators = ["(", ")", "+", "-", "*", "/", "^"].into_iter();
    let operands = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let roles = ["ARG0", "ARG1", "ARG2", "V", "C-V", "PER", "ORG", "CARD", "EMAIL"];
    let tags = roles.iter().flat_map(|role| [format!("B-{role}"), format!("I-{role}")]);
    let vocabularies = [
        Arc::new(Vocabulary::new(["a", "b", "z"], "")),
        Arc::new(Vocabulary::new(operators.chain(operands), " ")),
        Arc::new(Vocabulary::new(["O".to_owned()].into_iter().chain(tags), " ")),
        Arc::new(Vocabulary::new(["s", "r", "!NP"], " ")),
        Arc::clone(Vocabulary::bytes()),
    ];
    let blocks: Vec<&str> = text.split("```toml\n").skip(1).collect();
    assert!(20 < blocks.len());
    for block in blocks {
        let (rules, _) = block.split_once("```").expect("the end of a block");
        let read =
            |v: &Arc<Vocabulary>| Rules::parse("docs", rules, Some(folder.path()), v).map(drop);
        let errors: Vec<_> = vocabularies.iter().filter_map(|v| read(v).err()).collect();
        assert!(errors.len() < vocabularies.len(), "{rules}{}", errors[4]);
    }
    Ok(())
}
