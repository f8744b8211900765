//! Bodies of requests to the service: refused with a place, or accepted within limits.
#![no_main]

use cajole_serve::limits::MOST_INPUTS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for path in ["/v1/infer", "/v1/explain", "/v1/compare", "/v1/lint"] {
        match cajole_serve::check_body(path, bytes) {
            Ok(inputs) => assert!(inputs <= MOST_INPUTS, "{path}"),
            Err(problem) => {
                let problem: serde_json::Value =
                    serde_json::from_str(&problem).expect("problems are JSON");
                let status = problem["status"].as_u64().expect("with a status");
                assert!([400, 413].contains(&status), "{path}: {problem}");
                assert!(!problem["detail"].as_str().unwrap_or_default().is_empty(), "{problem}");
            }
        }
    }
});
