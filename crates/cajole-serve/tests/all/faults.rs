//! What clients do wrong harms no other client.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use cajole_serve::limits::{MOST_BODY_BYTES, MOST_INPUTS};
use serde_json::{Value, json};

use crate::client::{Running, read, start, written};

/// A request that takes as long as the server allows: no output of at most 60 letters has both.
const ENDLESS: &str = r#"{"input": "azazazazazazazaz", "max_steps": 1000000, "preset": "paper",
    "rules": {"toml": "arithmetic = 'len(out) = 1000 and count(out, \"a\") = 1'"}}"#;

#[track_caller]
fn is_well(server: &Running) {
    let answer = server.post("/v1/infer", r#"{"input": "az"}"#);
    assert_eq!(answer.json()["records"][0]["output"], "aaa");
}

/// A figure of the server.
fn figure(server: &Running, name: &str) -> u64 {
    let metrics = server.get("/metrics");
    let line = metrics.text().lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap().parse().unwrap()
}

#[track_caller]
fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn bodies_that_are_too_large_are_refused_unread() {
    let server = start(|_| {});
    let host = format!("Host: {}\r\nContent-Type: application/json\r\n", server.address);
    let head = format!("POST /v1/infer HTTP/1.1\r\n{host}Content-Length: 99999999999\r\n\r\n");
    server.send(head.as_bytes()).is_problem(413, None);
    // A body that does not say how large it is.
    let mut bytes =
        format!("POST /v1/infer HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..=MOST_BODY_BYTES / 65536 {
        bytes.extend_from_slice(b"10000\r\n");
        bytes.resize(bytes.len() + 65536, b' ');
        bytes.extend_from_slice(b"\r\n");
    }
    server.send(&bytes).is_problem(413, None);
    let many = json!({"inputs": vec!["a"; MOST_INPUTS + 1]}).to_string();
    server.post("/v1/infer", &many).is_problem(413, Some("/inputs"));
    let rules = json!({"input": "a", "rules": {"toml": "#".repeat(70_000)}}).to_string();
    server.post("/v1/infer", &rules).is_problem(413, Some("/rules/toml"));
    is_well(&server);
}

#[test]
fn bodies_that_are_no_json_are_refused_at_their_place() {
    let server = start(|_| {});
    let json = "Content-Type: application/json\r\n";
    let utf8 = server.request("POST /v1/infer", json, b"{\"input\":\n \"\xff\"}");
    let problem = utf8.is_problem(400, None);
    assert_eq!(problem["position"], json!({"line": 2, "column": 3}));
    let deep = "[".repeat(100_000);
    for body in [deep.clone(), format!("{{\"input\": {deep}"), "{\"a\":".repeat(100_000)] {
        assert_eq!(server.post("/v1/infer", &body).status, 400);
    }
    let deep_rules =
        json!({"input": "a", "rules": {"toml": format!("a = {}", "[".repeat(30_000))}});
    server.post("/v1/infer", &deep_rules.to_string()).is_problem(422, Some("/rules/toml"));
    let gzip = format!("{json}Content-Encoding: gzip\r\n");
    let bomb = server.request("POST /v1/infer", &gzip, b"\x1f\x8b\x08\x00\x00\x00\x00\x00");
    bomb.is_problem(415, Some("Content-Encoding"));
    let lines = "Content-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\n";
    server.request("POST /v1/infer", lines, b"\x1f\x8b").is_problem(415, Some("Content-Encoding"));
    let mixed = server.request(
        "POST /v1/infer",
        "Content-Type: application/x-ndjson\r\n",
        b"az\n\xff\xfe\n{\"input\": [[[[\naz",
    );
    let records: Vec<Value> =
        mixed.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let statuses: Vec<&str> = records.iter().map(|r| r["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["satisfied", "bad-line", "bad-line", "satisfied"]);
    is_well(&server);
}

#[test]
fn heads_that_are_none_are_refused() {
    let server = start(|_| {});
    assert_eq!(server.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").status, 400);
    let long = format!("X-Long: {}\r\n", "x".repeat(100_000));
    assert_eq!(server.request("GET /healthz", &long, b"").status, 431);
    let many = "X-Many: 1\r\n".repeat(1000);
    assert_eq!(server.request("GET /healthz", &many, b"").status, 431);
    is_well(&server);
}

#[test]
fn clients_that_vanish_free_their_threads() {
    // One thread for each lane: if it were not freed, nobody else would be served.
    let server = start(|options| options.threads = 1);
    let host = format!("Host: {}\r\nContent-Type: application/json\r\n", server.address);
    for accept in ["", "Accept: text/event-stream\r\n"] {
        for _ in 0..3 {
            let mut stream = server.connect();
            let request = written("POST /v1/infer", &format!("{host}{accept}"), ENDLESS.as_bytes());
            stream.write_all(&request).unwrap();
            wait_until("it is taken up", || figure(&server, "cajole_requests_in_progress") == 2);
            drop(stream);
            wait_until("it is given up", || figure(&server, "cajole_requests_in_progress") == 1);
            is_well(&server);
        }
    }
    // Half a body, then nothing.
    let mut stream = server.connect();
    stream
        .write_all(
            format!("POST /v1/infer HTTP/1.1\r\n{host}Content-Length: 50\r\n\r\n{{").as_bytes(),
        )
        .unwrap();
    drop(stream);
    // Lines that never end, from a client that hangs up in the middle.
    let mut stream = server.connect();
    let lines = host.replace("application/json", "application/x-ndjson");
    let head = format!("POST /v1/infer HTTP/1.1\r\n{lines}Transfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"5\r\nazbz\n\r\n").unwrap();
    let mut some = [0; 64];
    assert!(0 < stream.read(&mut some).unwrap(), "records come while lines are still sent");
    drop(stream);
    wait_until("all are gone", || figure(&server, "cajole_requests_in_progress") == 1);
    is_well(&server);
}

#[test]
fn rules_that_blow_up_are_refused_and_bounded() {
    let server = start(|_| {});
    let under = |toml: &str| {
        let body = json!({"input": "azbz", "rules": {"toml": toml}, "deadline_ms": 2000});
        server.post("/v1/infer", &body.to_string())
    };
    under("pattern = '(a|b)*a(a|b){30}'").is_problem(422, Some("/rules/toml"));
    under("pattern = '((a{1,100}){1,100}){1,100}'").is_problem(422, Some("/rules/toml"));
    under("symbols = '((\"a\" | \"b\")* \"a\" (\"a\" | \"b\")){40}'")
        .is_problem(422, Some("/rules/toml"));
    let grammar: String =
        (0..2000).map(|i| format!("r{i} = r{} r{} | \"a\" ;\n", i + 1, i / 2)).collect();
    let huge = under(&format!("grammar = '''\n{grammar}r2000 = \"b\" ;\n'''"));
    assert!([200, 422].contains(&huge.status), "{}", huge.text());
    let nested = format!("arithmetic = '{}len(out){} = 1'", "(".repeat(20_000), ")".repeat(20_000));
    under(&nested).is_problem(422, Some("/rules/toml"));
    is_well(&server);
}

#[test]
fn too_much_at_once_is_told_to_come_back() {
    let server = start(|options| {
        options.threads = 1;
        options.max_requests_per_client = 3;
    });
    let host = format!("Host: {}\r\nContent-Type: application/json\r\n", server.address);
    let mut streams = Vec::new();
    let is_refused = || server.get("/v1/models").status == 429;
    // The probing requests count, too, so one of the three may be refused instead.
    wait_until("the fourth is too many", || {
        let mut stream = server.connect();
        stream.write_all(&written("POST /v1/infer", &host, ENDLESS.as_bytes())).unwrap();
        streams.push(stream);
        std::thread::sleep(Duration::from_millis(50));
        is_refused() && is_refused()
    });
    let refused = server.post("/v1/infer", r#"{"input": "az"}"#);
    refused.is_problem(429, None);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.get("/healthz").status, 200);
    drop(streams);
    wait_until("they are gone", || server.get("/v1/models").status == 200);
    is_well(&server);
}

#[test]
fn deadlines_count_from_arrival() {
    let server = start(|options| options.threads = 1);
    let body = ENDLESS.replacen('{', "{\"deadline_ms\": 300, ", 1);
    let started = Instant::now();
    std::thread::scope(|scope| {
        // These wait for each other, but on an idle machine none waits longer than its deadline.
        for _ in 0..4 {
            scope.spawn(|| {
                let answer = server.post("/v1/infer", &body).json();
                assert_eq!(answer["records"][0]["status"], "timed-out", "{answer}");
            });
        }
    });
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_server_that_ends_answers_what_has_come() {
    let server = start(|_| {});
    let body = json!({"inputs": vec!["azbzazazazazazazazazbz"; 300]}).to_string();
    let host = format!("Host: {}\r\nContent-Type: application/json\r\n", server.address);
    let mut streams: Vec<_> = (0..8).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(&written("POST /v1/infer", &host, body.as_bytes())).unwrap();
    }
    server.remote.stop();
    for stream in &mut streams {
        let answer = read(stream);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json()["records"].as_array().unwrap().len(), 300);
    }
    assert!(server.stop(), "all were answered");
}

#[test]
fn models_outlive_their_folders_and_rules_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules");
    std::fs::create_dir(&rules).unwrap();
    std::fs::write(rules.join("short.toml"), "arithmetic = 'len(out) <= 3'").unwrap();
    let server = start(|options| options.rules = Some(rules.clone()));
    let ask = |name: &str| {
        let body = json!({"input": "azaz", "engine": "network", "rules": {"name": name}});
        server.post("/v1/infer", &body.to_string())
    };
    assert_eq!(ask("short").json()["records"][0]["status"], "unchanged");
    std::fs::write(rules.join("short.toml"), "arithmetic = 'len(out) <= 30'").unwrap();
    std::fs::write(rules.join("new.toml"), "must-have = ['a']").unwrap();
    assert_eq!(ask("short").json()["records"][0]["status"], "unchanged", "not before it is told");
    ask("new").is_problem(404, Some("/rules/name"));
    assert_eq!(server.remote.reload().unwrap(), 2);
    assert_eq!(ask("short").json()["records"][0]["status"], "satisfied");
    assert_eq!(ask("new").json()["records"][0]["status"], "satisfied");
    std::fs::remove_dir_all(&rules).unwrap();
    assert!(server.remote.reload().is_err());
    assert_eq!(ask("new").json()["records"][0]["status"], "satisfied", "rules stay as they were");
}

#[test]
fn files_that_rules_name_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("letters.toml", "grammar-file = 'letters.ebnf'");
    let server = start(|options| options.rules = Some(folder.path().to_owned()));
    let body = json!({"input": "azaz", "engine": "network", "rules": {"name": "letters"}});
    let ask = || server.post("/v1/infer", &body.to_string());
    ask().is_problem(422, Some("/rules/name"));
    for (letters, status) in [("'z'*", "unchanged"), ("('a' | 'b' | 'z')*", "satisfied")] {
        write("letters.ebnf", &format!("s = {letters} ;"));
        assert_eq!(server.remote.reload().unwrap(), 1);
        assert_eq!(ask().json()["records"][0]["status"], status, "{letters}");
    }
}
