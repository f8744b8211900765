//! What the service answers is what `infer` writes, byte for byte, however inputs arrive.

use std::sync::Arc;

use cajole_infer::infer::Tally;
use cajole_infer::options::{Field, Place};
use cajole_infer::run::Each;
use cajole_infer::source::Source;
use cajole_infer::{Opened, Registry, Run};
use cajole_rules::Rules;
use serde_json::{Value, json};

use crate::client::{Running, start};

/// What `infer --no-times` writes for these lines, under the model's own rules.
fn inferred(network: &Opened, lines: &str, run: &Run, traces: bool) -> Vec<String> {
    let rules = Rules::parse("rules", network.usual_rules().unwrap(), None, network.vocabulary());
    let rules = Arc::new(rules.unwrap());
    let settings = run.settings(&**network).unwrap().traces(traces).threads(2);
    let bytes = std::io::Cursor::new(lines.as_bytes().to_vec());
    let mut source = Source::of("lines".to_owned(), bytes).unwrap();
    let mut written = Vec::new();
    let mut put = |records: Vec<cajole_infer::record::Record>| {
        written.extend(records.iter().map(|record| record.to_line(false)));
        Ok(())
    };
    let (tally, told) = (Tally::default(), |_: Option<&_>| {});
    let each = Each { source: &mut source, put: &mut put, tally: &tally, told: &told };
    network.infer_each(Some(&rules), &settings, each).unwrap();
    written
}

/// The examples of a model, and other lines, which need no repair.
fn lines_of(server: &Running, model: &str, others: &[&str]) -> Vec<String> {
    let models = server.get("/v1/models").json();
    let models = models["models"].as_array().unwrap();
    let found = models.iter().find(|found| found["name"] == model).unwrap();
    let examples = found["examples"].as_array().unwrap().iter();
    let line = |example: &Value| match &example["input"] {
        Value::String(text) => text.clone(),
        object => object.to_string(),
    };
    let mut lines: Vec<String> = examples.map(line).collect();
    lines.extend(others.iter().map(|&line| line.to_owned()));
    lines
}

fn input_of(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|_| json!(line))
}

#[track_caller]
fn check(server: &Running, model: &str, others: &[&str]) {
    let lines = lines_of(server, model, others);
    let network = Registry::standard().open(model).unwrap();
    let run = Run::default();
    let expected = inferred(&network, &lines.join("\n"), &run, false);
    assert!(expected.iter().any(|record| record.contains("\"gbi\"")), "some need a repair");
    // As one body.
    let inputs: Vec<Value> = lines.iter().map(|line| input_of(line)).collect();
    let body = json!({"model": model, "inputs": inputs, "times": false}).to_string();
    let whole = format!("{{\"model\":\"{model}\",\"records\":[{}]}}", expected.join(","));
    assert_eq!(server.post("/v1/infer", &body).text(), whole);
    // As lines.
    let query = format!("?model={model}&times=false");
    let streamed = server.lines(&query, &lines.join("\n"));
    assert_eq!(streamed.text().lines().collect::<Vec<_>>(), expected);
    // One by one, all at the same time, so that they are answered together.
    std::thread::scope(|scope| {
        for (i, (line, expected)) in lines.iter().zip(&expected).enumerate() {
            scope.spawn(move || {
                let body = json!({"model": model, "input": input_of(line), "times": false});
                let answer = server.post("/v1/infer", &body.to_string());
                let expected = expected.replacen(&format!("\"line\":{}", i + 1), "\"line\":1", 1);
                let whole = format!("{{\"model\":\"{model}\",\"records\":[{expected}]}}");
                assert_eq!(answer.text(), whole);
            });
        }
    });
    // With traces.
    let traced = inferred(&network, &lines.join("\n"), &run, true);
    let whole = format!("{{\"model\":\"{model}\",\"records\":[{}]}}", traced.join(","));
    assert_eq!(server.post("/v1/explain", &body).text(), whole);
}

#[test]
fn of_the_transducer() {
    let server = start(|options| options.threads = 2);
    check(
        &server,
        "transducer",
        &["azbz", "bz", "{\"id\": 7, \"input\": \"az\"}", "q", "{", "azaz"],
    );
}

#[test]
fn of_the_parser() {
    let server = start(|options| options.threads = 2);
    check(&server, "parser", &["Dogs bark .", "{\"id\": [1], \"tokens\": [\"Stop\", \"!\"]}"]);
}

/// A beam of the parser's ranks per symbol, as its preset says.
#[test]
fn of_a_wider_parser() {
    let server = start(|options| options.threads = 2);
    let lines = lines_of(&server, "parser", &["The dog that barked at the cat saw a man ."]);
    let network = Registry::standard().open("parser").unwrap();
    let run = Run { width: Some(5), max_steps: Some(9), ..Run::default() };
    let expected = inferred(&network, &lines.join("\n"), &run, false);
    let inputs: Vec<Value> = lines.iter().map(|line| input_of(line)).collect();
    let body = json!({
        "model": "parser", "inputs": inputs, "width": 5, "max_steps": 9, "times": false
    });
    let whole = format!("{{\"model\":\"parser\",\"records\":[{}]}}", expected.join(","));
    assert_eq!(server.post("/v1/infer", &body.to_string()).text(), whole);
}

#[test]
fn of_the_tagger() {
    let server = start(|options| options.threads = 2);
    check(
        &server,
        "tagger",
        &["{\"tree\": \"(S (NP (NNS Dogs)) (VP (VBP bark)))\"}", "Dogs bark ."],
    );
}

#[test]
fn examples_need_a_repair_and_can_be_repaired() {
    let server = start(|_| {});
    let models = server.get("/v1/models").json();
    for model in models["models"].as_array().unwrap() {
        let examples = model["examples"].as_array().unwrap();
        assert!(!examples.is_empty(), "{}", model["name"]);
        for example in examples {
            let mut body = json!({"model": model["name"], "input": example["input"]});
            if let Some(rules) = example["rules"].as_str() {
                body["rules"] = json!({"toml": rules});
            }
            let answer = server.post("/v1/infer", &body.to_string()).json();
            let record = &answer["records"][0];
            let mut answers = match record["answers"].as_array() {
                Some(answers) => answers.clone(),
                None => vec![record.clone()],
            };
            answers.retain(|answer| answer["g_before"] != 0.0);
            assert!(!answers.is_empty(), "{example}");
            assert!(answers.iter().all(|answer| answer["status"] == "satisfied"), "{record}");
        }
    }
}

#[test]
fn steps_are_told_as_they_are_traced() {
    let server = Arc::new(start(|_| {}));
    let body = r#"{"inputs": ["azbzazazazazazazazazbz", "q"], "times": false}"#;
    let headers = "Content-Type: application/json\r\nAccept: text/event-stream\r\n";
    let events = server.request("POST /v1/explain", headers, body.as_bytes());
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    let explained = server.post("/v1/explain", body).json();
    let (mut steps, mut records, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for event in events.text().split("\n\n").filter(|event| !event.is_empty()) {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        names.push(name.strip_prefix("event: ").unwrap());
        match *names.last().unwrap() {
            "step" => {
                assert_eq!((&data["line"], &data["answer"]), (&json!(1), &json!(0)));
                steps.push(data["step"].clone());
            }
            "record" => records.push(data),
            "done" => assert_eq!(data, json!({"model": "transducer", "records": 2})),
            other => panic!("{other}"),
        }
    }
    assert_eq!(json!(steps), explained["records"][0]["trace"]["steps"]);
    records.sort_by_key(|record| record["line"].as_u64());
    assert_eq!(json!(records), explained["records"]);
    assert_eq!((names.len(), names.last()), (steps.len() + 3, Some(&"done")));
}

/// Whole numbers that no float tells apart, decimals, and what no float can hold.
#[test]
fn ids_come_back_as_they_were_written() {
    let server = start(|_| {});
    let ids = ["123456789012345678901234567890", "123456789012345678901234567891", "1.00", "1e400"];
    let inputs = ids.map(|id| format!(r#"{{"id":{id},"input":"az"}}"#));
    let body = format!(r#"{{"inputs":[{}]}}"#, inputs.join(","));
    let alone = ids.map(|id| format!(r#"{{"input":{{"id": {id},"input":"az"}}}}"#));
    let events = "Content-Type: application/json\r\nAccept: text/event-stream\r\n";
    let mut answers = vec![
        server.post("/v1/infer", &body),
        server.post("/v1/explain", &body),
        server.lines("", &(inputs.join("\n") + "\n")),
        server.request("POST /v1/explain", events, body.as_bytes()),
    ];
    for id in ids {
        for answer in &answers {
            let (text, expected) = (answer.text(), format!(r#""id":{id},"#));
            assert!(text.contains(&expected), "expected {expected} in {text}");
        }
    }
    answers.clear();
    for (body, id) in alone.iter().zip(ids) {
        let answer = server.post("/v1/infer", body);
        assert!(answer.text().contains(&format!(r#""id":{id},"#)), "{}", answer.text());
    }
    let list = r#"{"inputs":["az",{"id":1,"input":"az"},[1,{"a":2}]]}"#;
    let problem = server.post("/v1/infer", list).is_problem(400, Some("/inputs/2"));
    assert!(problem["detail"].as_str().unwrap().contains("not a list"), "{problem}");
}

/// Every option, as a field and as a parameter of a query, is what the table says.
#[test]
fn options_are_those_of_the_table() {
    let samples = [
        ("engine", json!("masked:width=3")),
        ("preset", json!("paper")),
        ("deadline_ms", json!(0)),
        ("max_steps", json!(1)),
        ("patience", json!(1)),
        ("width", json!(8)),
        ("times", json!(false)),
        ("log_probs", json!(true)),
    ];
    let names: Vec<&str> = Field::all_of(Place::Http).map(|field| field.name).collect();
    assert_eq!(names, samples.each_ref().map(|(name, _)| *name));
    let server = start(|options| options.threads = 2);
    let network = Registry::standard().open("transducer").unwrap();
    let lines = ["azbzazazazazazazazazbz", "azbz"];
    for (name, value) in samples {
        let mut run = Run::default();
        run.read(name, &value).unwrap();
        let expected = inferred(&network, &lines.join("\n"), &run, false);
        let mut body = json!({"model": "transducer", "inputs": lines, "times": false});
        body[name] = value.clone();
        let whole = format!("{{\"model\":\"transducer\",\"records\":[{}]}}", expected.join(","));
        assert_eq!(server.post("/v1/infer", &body.to_string()).text(), whole, "{name}");
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let times = if name == "times" { "" } else { "&times=false" };
        let query = format!("?model=transducer&{name}={text}{times}");
        let streamed = server.lines(&query, &lines.join("\n"));
        assert_eq!(streamed.text().lines().collect::<Vec<_>>(), expected, "{query}");
    }
}

/// Fields are refused by name, and numbers by their range, wherever they are.
#[test]
fn wrong_options_are_named() {
    let server = start(|_| {});
    let body = |path: &str, body: Value| server.post(path, &body.to_string());
    for (path, field, value, said) in [
        ("/v1/infer", "width", json!(0), "width is 0; it goes from 1 to 1024"),
        ("/v1/infer", "width", json!("3"), "expected a whole number"),
        ("/v1/infer", "settings", json!([]), "unknown field `settings`, expected one of `input`"),
        ("/v1/compare", "times", json!(true), "unknown field `times`, expected one of `input`"),
        ("/v1/compare", "patience", json!(-1), "patience is -1; it goes from 0 to 1000000"),
    ] {
        let mut asked = json!({"input": "az"});
        asked[field] = value;
        let problem = body(path, asked).is_problem(400, Some(&format!("/{field}")));
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
    }
    let problem = server.lines("?width=0", "az").is_problem(400, Some("width"));
    let said = "in the query: width is 0; it goes from 1 to 1024";
    assert_eq!(problem["detail"], said);
    let twice = server.post("/v1/infer", r#"{"input": "az", "width": 1, "width": 2}"#);
    let problem = twice.is_problem(400, None);
    assert!(problem["detail"].as_str().unwrap().contains("duplicate field `width`"), "{problem}");
}
