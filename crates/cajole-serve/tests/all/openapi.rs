//! The service answers as its description says.

use serde_json::{Value, json};

use crate::client::{Response, start};

/// The schemas of the description, with one of them at the root.
fn validator(schema: Value) -> jsonschema::Validator {
    let document: Value = serde_json::from_str(cajole_serve::OPENAPI).unwrap();
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": document["components"],
    });
    root["allOf"] = json!([schema]);
    jsonschema::validator_for(&root).unwrap()
}

fn named(name: &str) -> jsonschema::Validator {
    validator(json!({"$ref": format!("#/components/schemas/{name}")}))
}

#[track_caller]
fn check(value: &Value, name: &str) {
    let errors: Vec<String> = named(name)
        .iter_errors(value)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{value:#}");
}

#[track_caller]
fn answers(response: &Response, status: u16, name: &str) {
    assert_eq!(response.status, status, "{}", response.text());
    check(&response.json(), name);
}

#[test]
fn responses_are_as_described() {
    let server = start(|_| {});
    let post = |path: &str, body: Value| server.post(path, &body.to_string());
    let tree =
        "(S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (NNS eyes)))))";
    let inputs = [
        json!({"model": "transducer", "inputs": ["azbzazazazazazazazazbz", "q", {"id": null, "input": ["a", "z"]}]}),
        json!({"model": "parser", "input": "Dogs bark .", "engine": "masked"}),
        json!({"model": "tagger", "inputs": [{"tree": tree, "id": "x"}, "Dogs bark ."]}),
        json!({"model": "expressions", "input": "a + b", "rules": {"table": {"must-have": ["a"]}}}),
        json!({"input": "azbz", "deadline_ms": 1, "preset": "paper", "max_steps": 3, "width": 2}),
        json!({"input": "azbz", "engine": "usual", "patience": 1}),
    ];
    for body in &inputs {
        check(body, "AskRequest");
        answers(&post("/v1/infer", body.clone()), 200, "Records");
        answers(&post("/v1/explain", body.clone()), 200, "Records");
    }
    for body in &inputs[..3] {
        let mut body = body.clone();
        body.as_object_mut().unwrap().remove("engine");
        answers(&post("/v1/compare", body), 200, "Comparison");
    }
    answers(&server.get("/v1/models"), 200, "Models");
    answers(&server.get("/v1/rules"), 200, "RuleFiles");
    answers(&server.get("/healthz"), 200, "Health");
    answers(&server.get("/readyz"), 200, "Health");
    for rules in ["must-have = ['q']", "must-have = [", "pattern = 'a'", "weight = 1", ""] {
        let gold = json!([{"input": "az", "output": "aaa"}, {"input": "a", "output": "b"}, "x"]);
        let body = json!({"rules": {"toml": rules}, "gold": gold});
        answers(&post("/v1/lint", body), 200, "LintResult");
    }
}

#[test]
fn problems_are_as_described() {
    let server = start(|_| {});
    let post = |path: &str, body: &str| server.post(path, body);
    for (status, body) in [
        (400, "{"),
        (400, "[]"),
        (400, "{}"),
        (400, r#"{"input": "a", "inputs": ["a"]}"#),
        (400, r#"{"input": 5}"#),
        (400, r#"{"input": "a", "engine": "magic"}"#),
        (400, r#"{"input": "a", "width": 0}"#),
        (400, r#"{"input": "a", "max_steps": 1000001}"#),
        (400, r#"{"input": "a", "patience": -1}"#),
        (400, r#"{"input": "a", "deadline_ms": 86400001}"#),
        (400, r#"{"input": "a", "rules": {"toml": "", "name": ""}}"#),
        (404, r#"{"input": "a", "model": "nobody"}"#),
        (404, r#"{"input": "a", "rules": {"name": "nothing"}}"#),
        (422, r#"{"input": "a", "rules": {"toml": "must-have = ["}}"#),
    ] {
        answers(&post("/v1/infer", body), status, "Problem");
        answers(&post("/v1/explain", body), status, "Problem");
    }
    answers(&post("/v1/infer?model=parser", r#"{"input": "a"}"#), 400, "Problem");
    answers(&server.get("/v1/infer"), 405, "Problem");
    answers(&server.get("/v2"), 404, "Problem");
    let typed =
        |kind: &str| server.request("POST /v1/infer", &format!("{kind}\r\n"), br#"{"input": "a"}"#);
    answers(&typed("Content-Type: text/plain"), 415, "Problem");
    answers(&typed("X-Nothing: 1"), 415, "Problem");
    answers(&typed("Content-Type: application/json\r\nAccept: image/png"), 406, "Problem");
    answers(&server.lines("?engine=magic", "a"), 400, "Problem");
    answers(&server.lines("?rules=nothing", "a"), 404, "Problem");
}

#[test]
fn the_description_describes_every_path() {
    let document: Value = serde_json::from_str(cajole_serve::OPENAPI).unwrap();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let server = start(|_| {});
    assert_eq!(server.get("/openapi.json").json(), document);
    for (path, item) in document["paths"].as_object().unwrap() {
        let method = item.as_object().unwrap().keys().next().unwrap().to_uppercase();
        let response = server.request(&format!("{method} {path}"), "", b"");
        assert!(![404, 405].contains(&response.status), "{path}: {}", response.status);
        let other = if method == "GET" { "DELETE" } else { "GET" };
        assert_eq!(server.request(&format!("{other} {path}"), "", b"").status, 405, "{path}");
    }
    // Examples match their schemas.
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            check(example, name);
        }
    }
}
