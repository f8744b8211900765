//! Lines to records: in order, on any number of threads, and a bad line costs only its own record.
#![cfg(unix)]

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use cajole_infer::engine::Engine;
use cajole_infer::infer::{InferError, Tally};
use cajole_infer::limits::MAX_LINE_BYTES;
use cajole_infer::run::{Each, Stream};
use cajole_infer::sink::Sink;
use cajole_infer::source::Source;
use cajole_infer::task::Task;
use cajole_infer::{Opened, Registry, Settings};
use cajole_rules::Rules;
use cajole_tasks::transduction::USUAL_RULES as COUNT;
use serde_json::{Value, json};

fn engine(name: &str) -> Engine {
    name.parse().unwrap()
}

fn transducer() -> Opened {
    Registry::standard().open("transducer").unwrap()
}

/// A run over some lines: what it wrote, what it reported, how it ended.
struct Ran {
    bytes: Vec<u8>,
    told: Vec<String>,
    ended: Result<(), InferError>,
    tally: Tally,
}

impl Ran {
    fn records(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The network's usual settings on two threads, without times.
fn settings(network: &dyn Task, engine: Engine) -> Settings {
    Settings::of(network).by(engine).threads(2)
}

fn run(network: &dyn Task, rules: Option<&Arc<Rules>>, settings: &Settings, lines: &[u8]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mut source = Source::of("lines".to_owned(), Cursor::new(lines.to_vec())).unwrap();
    let mut sink = Sink::of(fs::File::create(&path).unwrap());
    let (tally, told) = (Tally::default(), Mutex::new(Vec::new()));
    let tell = |error: Option<&InferError>| {
        told.lock().unwrap().extend(error.map(ToString::to_string));
    };
    let stream = Stream { source: &mut source, sink: &mut sink, tally: &tally, told: &tell };
    let ended = network.infer(rules, settings, stream);
    sink.finish().unwrap();
    Ran { bytes: fs::read(&path).unwrap(), told: told.into_inner().unwrap(), ended, tally }
}

fn rules(network: &dyn Task, text: &str) -> Arc<Rules> {
    Arc::new(Rules::parse("here", text, None, network.vocabulary()).unwrap())
}

/// Short lines, and now and then one that takes a hundred times as long.
fn uneven(n: usize) -> Vec<String> {
    let line = |i: usize| match i % 37 {
        5 => "azbz".repeat(12) + &"az".repeat(i % 5),
        11 => String::new(),
        k => format!(r#"{{"id": "n{i}", "input": "{}"}}"#, "bz".repeat(k % 3 + 1)),
    };
    (0..n).map(line).collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_in_order() {
    let task = transducer();
    let rules = rules(&*task, COUNT);
    let before = task.fingerprint();
    let lines = uneven(170);
    let text = lines.join("\n");
    for engine in [Engine::gbi(), engine("sample"), Engine::auto()] {
        let ran = |threads| {
            let settings = settings(&*task, engine.clone()).threads(threads);
            let ran = run(&*task, Some(&rules), &settings, text.as_bytes());
            ran.ended.as_ref().unwrap();
            ran
        };
        let one = ran(1);
        for threads in [2, 5] {
            assert!(ran(threads).bytes == one.bytes, "{engine:?} at {threads} threads");
        }
        let asked = lines.iter().enumerate().filter(|(_, line)| !line.is_empty());
        let numbers: Vec<usize> = asked.map(|(i, _)| i + 1).collect();
        let records = one.records();
        let answered: Vec<u64> = records.iter().map(|r| r["line"].as_u64().unwrap()).collect();
        assert!(answered.iter().map(|&n| n as usize).eq(numbers.iter().copied()));
        assert_eq!(Tally::get(&one.tally.lines), 170);
        assert_eq!(Tally::get(&one.tally.inputs) as usize, numbers.len());
        let failures = records.iter().filter(|r| r["g_before"] != json!(0.0)).count();
        assert!(0 < failures && Tally::get(&one.tally.failures) as usize == failures);
        for record in &records {
            let line = &lines[record["line"].as_u64().unwrap() as usize - 1];
            let id = serde_json::from_str::<Value>(line).ok().map(|line| line["id"].clone());
            assert_eq!(record.get("id").cloned(), id, "{line}");
        }
    }
    assert_eq!(task.fingerprint(), before, "W is as it was");
}

/// The records of lines that are asked for all at once are those of lines asked for one by one.
fn check_batches(network: &dyn Task, text: &str, engine: Engine, lines: &[String]) -> Vec<Value> {
    let rules = rules(network, text);
    let settings = settings(network, engine).traces(true).log_probs(true);
    let all = run(network, Some(&rules), &settings, lines.join("\n").as_bytes()).records();
    assert_eq!(all.len(), lines.len());
    for (line, together) in lines.iter().zip(&all) {
        let mut alone = run(network, Some(&rules), &settings, line.as_bytes()).records().remove(0);
        alone["line"] = together["line"].clone();
        assert_eq!(alone, *together, "{line}");
    }
    all
}

#[test]
fn what_stands_in_a_batch_does_not_matter() {
    let lines: Vec<String> = uneven(100).into_iter().filter(|line| !line.is_empty()).collect();
    let records = check_batches(&*transducer(), COUNT, Engine::gbi(), &lines);
    assert!(records.iter().all(|record| record["log_prob"].is_number()), "{records:?}");
}

/// Sentences of different lengths, with trees that the tagger's outputs violate.
fn sentences() -> Vec<String> {
    let words = "the old man saw that she gave him dogs which barked at the door".split(' ');
    let words: Vec<&str> = words.collect();
    let leaf = |word: &&str| format!("(XX {word})");
    let line = |n: usize| {
        let (left, right) = words[..n].split_at(n / 2);
        let [left, right] = [left, right].map(|words| words.iter().map(leaf).collect::<String>());
        json!({"tokens": words[..n], "tree": format!("(S (X {left}) (Y {right}))")}).to_string()
    };
    (2..words.len()).map(line).collect()
}

#[test]
fn nor_does_it_for_other_networks() {
    let registry = Registry::standard();
    let sentences = sentences();
    for (name, rules) in [("parser", None), ("tagger", Some("spans-in-tree = 'phrasal'"))] {
        let network = registry.open(name).unwrap();
        let rules = rules.or(network.usual_rules()).unwrap();
        check_batches(&*network, rules, Engine::gbi(), &sentences);
    }
}

/// Too many things to count for an automaton, but for short inputs.
fn counts() -> String {
    let count = |symbol| format!("count(out,\"{symbol}\") = count(in,\"{symbol}\")");
    let counts: Vec<String> = "abcdefgh+-*/^".chars().map(count).collect();
    format!("arithmetic = '{} and len(out) = 3 * len(in) - 4'", counts.join(" and "))
}

#[test]
fn the_usual_engine_searches_where_rules_of_pairs_can_be_followed() {
    let network = Registry::standard().open("expressions").unwrap();
    let long = ["a + b * c - d / e + f ^ g * h - a", "h - g - f - e - d - c - b - a"];
    let lines = [long[0], "a * b * c", long[1], "c - b - a", "a + a * a"].map(str::to_owned);
    let (length, counts) = ("arithmetic = 'len(out) = 3 * len(in) - 4'", counts());
    let texts = [(length, [true; 5]), (&*counts, [false, true, false, true, true])];
    for (text, searches) in texts {
        let records = |engine| check_batches(&*network, text, engine, &lines);
        let (usual, auto, gbi) =
            (records(Engine::usual()), records(Engine::auto()), records(Engine::gbi()));
        for (i, searches) in searches.into_iter().enumerate() {
            assert_eq!(usual[i], if searches { &auto } else { &gbi }[i], "{text}: {}", lines[i]);
            assert_ne!(auto[i], gbi[i], "{text}: {}", lines[i]);
        }
    }
}

#[test]
fn a_cancelled_run_takes_no_more_lines() {
    let task = transducer();
    let rules = rules(&*task, COUNT);
    let settings = settings(&*task, Engine::gbi());
    let text = uneven(2000).join("\n");
    let mut source = Source::of("lines".to_owned(), Cursor::new(text.into_bytes())).unwrap();
    let tally = Tally::default();
    let mut n = 0;
    let mut put = |records: Vec<_>| {
        n += records.len();
        settings.cancel.set();
        Ok(())
    };
    let each = Each { source: &mut source, put: &mut put, tally: &tally, told: &|_| {} };
    let ended = task.infer_each(Some(&rules), &settings, each);
    assert!(matches!(ended, Err(InferError::Interrupted)), "{ended:?}");
    assert!(0 < n && n < 1900, "{n} lines were answered");
}

/// Bad lines, each with the message about it.
fn bad_lines() -> Vec<(Vec<u8>, &'static str)> {
    let mut lines: Vec<(Vec<u8>, &str)> = [
        ("{\"input\": \"az\"", "no JSON object"),
        ("{\"input\": \"az\"} x", "no JSON object"),
        ("{\"input\": 7}", "\"input\", not 7"),
        ("{\"input\": [\"a\", null]}", "\"input\", not"),
        ("{\"input\": null}", "\"input\", not null"),
        ("{\"inputs\": \"az\"}", "expected the field \"input\""),
        ("[\"a\", \"z\"]", "no symbol \"[\""),
        ("{\"id\": 3, \"input\": \"aqz\"}", "no symbol \"q\""),
        ("{\"input\": [\"az\"]}", "no symbol \"az\""),
        ("{\"input\": \"az\", \"constraint\": {\"patern\": \"a\"}}", "patern"),
        ("{\"input\": \"az\", \"constraint\": 7}", "constraint"),
        ("{\"input\": \"az\", \"constraint\": {\"must-have\": [\"q\"]}}", "\"q\""),
        ("{\"input\": \"az\", \"constraint\": {\"checker\": {\"command\": [\"true\"]}}}", "true"),
        ("{\"input\": \"az\", \"constraint\": {\"bio\": true}}", "BIO"),
    ]
    .map(|(line, said)| (line.as_bytes().to_vec(), said))
    .to_vec();
    lines.push(("az".repeat(501).into_bytes(), "more than 256 tokens"));
    lines.push((b"az\xff".to_vec(), "not UTF-8"));
    lines.push((vec![b'a'; MAX_LINE_BYTES + 1], "longer than 1048576 bytes"));
    let deep = format!("{{\"input\": {}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    lines.push((deep.into_bytes(), "no JSON object"));
    lines
}

#[test]
fn bad_lines_cost_only_themselves() {
    let task = transducer();
    let rules = rules(&*task, COUNT);
    let good = "{\"id\": 1, \"input\": \"azbzazaz\"}";
    let mut text = Vec::new();
    for (line, _) in &bad_lines() {
        text.extend_from_slice(line);
        text.extend(format!("\n{good}\n").into_bytes());
    }
    let settings = settings(&*task, Engine::gbi());
    let ran = run(&*task, Some(&rules), &settings, &text);
    ran.ended.as_ref().unwrap();
    let mut expected = run(&*task, Some(&rules), &settings, good.as_bytes()).records().remove(0);
    let records = ran.records();
    assert_eq!(records.len(), 2 * bad_lines().len());
    for (i, (_, said)) in bad_lines().iter().enumerate() {
        let (bad, number) = (&records[2 * i], 2 * i + 1);
        assert_eq!((&bad["line"], &bad["status"]), (&json!(number), &json!("bad-line")));
        assert!(bad["error"].as_str().unwrap().contains(said), "{said}: {bad}");
        let is_told =
            |told: &&String| told.starts_with(&format!("lines:{number}: ")) && told.contains(said);
        assert_eq!(ran.told.iter().filter(is_told).count(), 1, "{said}: {:?}", ran.told);
        expected["line"] = json!(2 * i + 2);
        assert_eq!(records[2 * i + 1], expected);
    }
    let of_id: Vec<&Value> = records.iter().filter(|r| r["id"] == json!(3)).collect();
    assert!(matches!(of_id[..], [bad] if bad["status"] == "bad-line"), "{of_id:?}");
    assert_eq!(Tally::get(&ran.tally.bad) as usize, bad_lines().len());
}

#[test]
fn a_strict_run_stops_at_the_first_bad_line() {
    let task = transducer();
    let rules = rules(&*task, COUNT);
    let slow = "azbz".repeat(14);
    // Slow lines before the first bad one, quick ones before the second.
    let quick = vec!["az"; 200];
    let lines = [&quick[..130], &[slow.as_str(); 20], &["q"], &quick, &["r"], &quick];
    let text = lines.concat().join("\n");
    let settings = settings(&*task, Engine::gbi());
    for threads in [1, 4] {
        let settings = settings.clone().strict(true).threads(threads);
        let ran = run(&*task, Some(&rules), &settings, text.as_bytes());
        let error = ran.ended.as_ref().unwrap_err().to_string();
        assert!(error.starts_with("lines:151: ") && error.contains("\"q\""), "{error}");
        let records = ran.records();
        assert!(records.len() <= 150 && records.iter().all(|r| r["status"] != "bad-line"));
        assert_eq!(records.len(), 120, "all lots before that of the bad line");
    }
}

#[test]
fn empty_and_endless_inputs_are_answered() {
    let long = |field: &str, symbol: &str| json!({field: vec![symbol; 257]}).to_string();
    let of = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    for (name, mut lines, long) in [
        ("transducer", of(&[r#"{"input": ""}"#, r#"{"input": []}"#]), long("input", "a")),
        ("expressions", of(&[r#"{"input": []}"#, r#"{"input": " "}"#]), long("input", "a")),
        ("parser", of(&[r#"{"tokens": []}"#, r#"{"text": ""}"#]), long("tokens", "dog")),
        ("tagger", of(&[r#"{"tokens": []}"#, r#"{"tokens": ["x"]}"#]), long("tokens", "saw")),
    ] {
        lines.push(long);
        check_answered(&*Registry::standard().open(name).unwrap(), &lines);
    }
}

/// Each line has its record, good or bad; the last is too long.
fn check_answered(task: &dyn Task, lines: &[String]) {
    let rules = rules(task, task.usual_rules().unwrap_or("pattern = '.*'"));
    for engine in task.engines() {
        let settings = settings(task, engine);
        let ran = run(task, Some(&rules), &settings, lines.join("\n").as_bytes());
        ran.ended.as_ref().unwrap();
        let records = ran.records();
        assert_eq!(records.len(), lines.len(), "{}: {records:?}", task.name());
        let last = records[lines.len() - 1]["error"].to_string();
        assert!(last.contains("more than 256 "), "{}: {last}", task.name());
    }
}

#[test]
fn a_line_may_bring_its_own_rules() {
    let task = transducer();
    let rules = rules(&*task, COUNT);
    let settings = settings(&*task, engine("masked"));
    let lines = [
        json!({"input": "azbz"}),
        json!({"input": "azbz", "constraint": {"arithmetic": "len(out) = 7"}}),
        json!({"input": "azbz", "constraint": "must-have = ['bbbb']"}),
        json!({"input": "azbz", "constraint": null}),
        json!({"input": "azbz", "constraint": {"arithmetic": "len(out) = 7"}}),
    ];
    let text = lines.each_ref().map(ToString::to_string).join("\n");
    let output = |record: &Value| record["output"].as_str().unwrap().to_owned();
    let records = run(&*task, Some(&rules), &settings, text.as_bytes()).records();
    assert!(records.iter().all(|record| record["status"] == "satisfied"), "{records:?}");
    assert_eq!(output(&records[0]).matches('a').count(), 3);
    assert_eq!(output(&records[1]).len(), 7);
    assert!(output(&records[2]).contains("bbbb"));
    assert_eq!(output(&records[3]), output(&records[0]));
    assert_eq!(output(&records[4]), output(&records[1]));
    let ran = run(&*task, None, &settings, text.as_bytes());
    let bad: Vec<bool> = ran.records().iter().map(|r| r["status"] == "bad-line").collect();
    assert_eq!(bad, [true, false, false, true, false]);
    assert!(ran.told[0].contains("no rules"), "{:?}", ran.told);
}

#[test]
fn every_line_may_bring_rules_that_no_other_brings() {
    let task = transducer();
    let usual = rules(&*task, COUNT);
    let settings = settings(&*task, Engine::gbi());
    // More rule sets than are kept, one after the other: the last of a batch must not evict the
    // first while those are in use.
    let rule =
        |i: usize| json!({"arithmetic": format!("len(out) >= {}", i % 3), "name": i.to_string()});
    let line = |i| json!({"input": "azbz", "constraint": rule(i)}).to_string() + "\n";
    let settings = settings.threads(1);
    let ran =
        run(&*task, Some(&usual), &settings, (0..700).map(line).collect::<String>().as_bytes());
    ran.ended.as_ref().unwrap();
    let records = ran.records();
    assert_eq!(records.len(), 700);
    for record in records {
        assert_eq!((&record["output"], &record["status"]), (&json!("aaazb"), &json!("satisfied")));
    }
}

#[test]
fn rules_of_a_line_are_those_that_its_tree_is_read_for() {
    let task = Registry::standard().open("tagger").unwrap();
    let phrasal = "spans-in-tree = 'phrasal'";
    let (others, spans) = (rules(&*task, "bio = true"), rules(&*task, phrasal));
    let trees =
        ["(S (X (DT the)) (Y (NN dog) (VBD saw)))", "(S (X (PRP she) (VBD saw)) (NN dogs))"];
    let line = |tree: &str| json!({"tree": tree, "predicates": [0, 1, 2]});
    let records = |rules, own: Value| {
        let lines = trees.map(|tree| {
            let mut line = line(tree);
            line["constraint"] = own.clone();
            line.to_string()
        });
        let settings = settings(&*task, engine("exact"));
        run(&*task, Some(rules), &settings, lines.join("\n").as_bytes()).records()
    };
    let by_line = records(&others, json!(phrasal));
    assert_eq!(by_line, records(&spans, Value::Null));
    let answers = by_line.iter().flat_map(|record| record["answers"].as_array().unwrap());
    let failures: Vec<_> = answers.filter(|answer| answer["g_before"] != json!(0.0)).collect();
    assert!(!failures.is_empty());
    assert!(failures.iter().all(|answer| answer["status"] == "satisfied"), "{failures:?}");
}

/// A rule whose script approves of everything, but does `$then` for one input.
fn checked(folder: &Path, task: &dyn Task, then: &str) -> Arc<Rules> {
    let script = format!(
        "while read -r line; do case $line in \
         *'\"input\":\"bzaz\"'*) {then} ;; *) echo '{{\"loss\": 0}}' ;; esac; done"
    );
    fs::write(folder.join("check.sh"), script).unwrap();
    let script = folder.join("check.sh");
    let text = format!(
        "[[all]]\narithmetic = 'count(out, \"a\") = 3 * count(in, \"a\")'\n\
         [[all]]\nchecker = {{command = ['sh', '{}'], timeout-ms = 1500, max-reply-bytes = 4096}}\n",
        script.display()
    );
    Arc::new(Rules::parse("here", &text, Some(folder), task.vocabulary()).unwrap())
}

#[test]
fn a_checker_that_fails_costs_only_its_own_input() {
    let task = transducer();
    let folder = tempfile::tempdir().unwrap();
    let mut lines: Vec<String> = (1..12).map(|n| "azbz".repeat(n)).collect();
    lines.insert(4, "bzaz".to_owned());
    let text = lines.join("\n");
    let of = |then: &str| {
        let rules = checked(folder.path(), &*task, then);
        let config = task.presets().paper.clone();
        let settings = Settings::with(&*task, config).by(Engine::gbi());
        let ran = run(&*task, Some(&rules), &settings.threads(2), text.as_bytes());
        ran.ended.as_ref().unwrap();
        (ran.records(), Tally::get(&ran.tally.unmeasured))
    };
    let (good, unmeasured) = of("echo '{\"loss\": 0}'");
    assert_eq!(unmeasured, 0);
    for (then, said) in [
        ("sleep 60", "within 1500 ms"),
        ("exit 3", "ended without a reply"),
        ("kill -9 $$", "ended without a reply"),
        ("yes 0123456789 | tr -d '\\n'", "more than 4096 bytes"),
        ("echo nonsense", "nonsense"),
        ("echo '{\"loss\": -1}'", "-1"),
        ("echo '{\"loss\": 1e999}'", "1e999"),
    ] {
        let (records, unmeasured) = of(then);
        assert_eq!((records.len(), unmeasured), (good.len(), 1), "{then}");
        for (record, good) in records.iter().zip(&good) {
            if record["line"] != 5 {
                assert_eq!(record, good, "{then}");
                continue;
            }
            assert_eq!(record["status"], "unmeasured", "{then}");
            assert_eq!((&record["g_before"], &record["g_after"]), (&Value::Null, &Value::Null));
            assert_eq!(record["output"], good["output"], "{then}: the network's own");
            let faults = record["faults"].to_string();
            assert!(faults.contains(said), "{then}: {faults}");
        }
    }
}
