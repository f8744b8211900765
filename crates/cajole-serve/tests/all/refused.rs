//! Who and what is refused: tokens, hosts, origins, paths, and rules that reach outside.

use cajole_serve::{Options, ServeError, Server, Token};

use crate::client::{Response, Running, start, written};

const TOKEN: &str = "a-token-of-some-length";

#[test]
fn listening_elsewhere_needs_a_token_or_leave() {
    let bind = |change: fn(&mut Options)| {
        let mut options = Options::new("0.0.0.0:0".parse().unwrap());
        change(&mut options);
        Server::bind(std::sync::Arc::new(cajole_infer::Registry::standard()), &options)
    };
    assert!(matches!(bind(|_| {}), Err(ServeError::Open(_))));
    assert!(bind(|options| options.no_auth = true).is_ok());
    assert!(bind(|options| options.token = Token::new(TOKEN).ok()).is_ok());
}

#[test]
fn the_api_needs_the_token_and_the_page_does_not() {
    let server = start(|options| options.token = Token::new(TOKEN).ok());
    let with = |token: &str| {
        let headers = format!("Content-Type: application/json\r\n{token}");
        server.request("POST /v1/infer", &headers, br#"{"input": "az"}"#)
    };
    let problem = with("");
    problem.is_problem(401, None);
    assert_eq!(problem.header("www-authenticate"), Some("Bearer"));
    with("Authorization: Bearer a-token-of-some-lengtH\r\n").is_problem(401, None);
    with("Authorization: Basic a-token-of-some-length\r\n").is_problem(401, None);
    assert_eq!(with(&format!("Authorization: Bearer {TOKEN}\r\n")).status, 200);
    for path in ["/v1/models", "/v1/rules", "/metrics", "/v1/nothing"] {
        server.get(path).is_problem(401, None);
    }
    for path in ["/", "/app.js", "/app.css", "/icon.svg", "/openapi.json", "/healthz", "/readyz"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let server = start(|options| options.cors = vec!["https://app.example".to_owned()]);
    let of = |host: &str, origin: &str| -> Response {
        let headers = format!("{host}{origin}Content-Type: application/json\r\n");
        server.send(&written("POST /v1/infer", &headers, br#"{"input": "az"}"#))
    };
    let own = format!("Host: {}\r\n", server.address);
    of("Host: evil.example\r\n", "").is_problem(403, Some("Host"));
    of("Host: evil.example:8080\r\n", "Origin: http://evil.example:8080\r\n")
        .is_problem(403, Some("Host"));
    of("", "").is_problem(403, Some("Host"));
    of(&own, "Origin: https://evil.example\r\n").is_problem(403, Some("Origin"));
    of(&own, "Origin: null\r\n").is_problem(403, Some("Origin"));
    assert_eq!(of(&own, &format!("Origin: http://{}\r\n", server.address)).status, 200);
    assert_eq!(of(&format!("Host: localhost:{}\r\n", server.address.port()), "").status, 200);
    let allowed = of(&own, "Origin: https://app.example\r\n");
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://app.example"));
    let preflight = server.request(
        "OPTIONS /v1/infer",
        "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\n",
        b"",
    );
    assert_eq!(preflight.status, 204);
    let foreign = server.request("OPTIONS /v1/infer", "Origin: https://evil.example\r\n", b"");
    foreign.is_problem(403, Some("Origin"));
}

/// Rules that a request brings.
fn under(server: &Running, rules: &str) -> Response {
    server.post("/v1/infer", &format!(r#"{{"input": "az", "rules": {rules}}}"#))
}

#[test]
fn rules_of_requests_reach_nothing_outside() {
    let folder = tempfile::tempdir().unwrap();
    let witness = folder.path().join("started");
    let server = start(|_| {});
    let program = format!("checker = {{ command = ['touch', '{}'] }}", witness.display());
    let toml = |text: &str| serde_json::json!({"toml": text}).to_string();
    let problem = under(&server, &toml(&format!("# a program\n{program}")));
    let problem = problem.is_problem(422, Some("/rules/toml"));
    assert_eq!(
        (&problem["position"]["line"], &problem["position"]["column"]),
        (&2.into(), &1.into())
    );
    let table = serde_json::json!({"table": {"checker": {"command": ["touch", "x"]}}}).to_string();
    under(&server, &table).is_problem(422, Some("/rules/table"));
    under(&server, &toml("grammar-file = '/etc/passwd'")).is_problem(422, Some("/rules/toml"));
    under(&server, &toml("any = [{ all = [{ grammar-file = 'x' }] }]"))
        .is_problem(422, Some("/rules/toml"));
    for name in ["../transduction", "/etc/passwd", "transduction.toml", "..", ""] {
        let named = serde_json::json!({"name": name}).to_string();
        under(&server, &named).is_problem(404, Some("/rules/name"));
    }
    // Bad rules of a single input cost that input only.
    let own = serde_json::json!({"inputs": [{"input": "az", "constraint": program}, "az"]});
    let records = server.post("/v1/infer", &own.to_string()).json();
    assert_eq!(records["records"][0]["status"], "bad-line", "{records}");
    assert_eq!(records["records"][1]["status"], "satisfied");
    let lint = serde_json::json!({"rules": {"toml": program}}).to_string();
    assert_eq!(server.post("/v1/lint", &lint).json()["valid"], false);
    let lines = serde_json::json!({"input": "az", "constraint": program}).to_string();
    assert!(server.lines("", &lines).text().contains("bad-line"));
    assert!(!witness.exists(), "nothing was started");
}

#[test]
fn names_of_models_are_no_paths() {
    let server = start(|options| options.models = vec!["transducer".to_owned()]);
    for name in ["../transducer", "/etc", ".", "parser", "transducer/../transducer", ""] {
        let body = serde_json::json!({"model": name, "input": "az"}).to_string();
        server.post("/v1/infer", &body).is_problem(404, Some("/model"));
    }
    server.lines("?model=..%2Ftransducer", "az").is_problem(404, Some("/model"));
    for path in
        ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "/app.js/../../Cargo.toml", "/page/dist/app.js"]
    {
        server.get(path).is_problem(404, None);
    }
}

#[test]
fn the_page_asks_nobody_else() {
    let server = start(|_| {});
    let page = server.get("/");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    for path in ["/", "/app.js", "/app.css", "/icon.svg"] {
        let response = server.get(path);
        let text = response.text();
        let urls = text.match_indices("://").map(|(at, _)| &text[..at]);
        for before in urls {
            let rest = &text[before.len()..];
            let is_name = rest.starts_with("://www.w3.org/");
            assert!(is_name, "{path} names {}", &rest[..rest.len().min(40)]);
        }
    }
}
