//! Version, features and licences of the binary.

use std::process::Command;

fn said(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cajole")).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_licences_of_built_in_networks_are_told() {
    assert_eq!(said(&["--version"]), format!("cajole {}\n", env!("CARGO_PKG_VERSION")));
    let text = said(&["--version", "--verbose"]);
    let line = |name: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    assert!(line("code").ends_with(" MIT OR Apache-2.0"), "{text}");
    for network in ["parser", "tagger"] {
        assert!(line(network).contains("CC-BY-SA-4.0 AND PDDL-1.0"), "{text}");
    }
    assert!(text.contains("English Web Treebank") && text.contains("GloVe"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&said(&["--version", "--verbose", "--json"])).unwrap();
    assert_eq!(json["licences"][0]["licence"], "MIT OR Apache-2.0");
}
