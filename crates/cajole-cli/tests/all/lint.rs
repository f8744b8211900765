//! `cajole lint` as a user runs it, against counts by hand.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::failure::check_failed;

fn lint(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cajole"));
    command.current_dir(folder).arg("lint").args(args).output().unwrap()
}

#[track_caller]
fn printed(folder: &Path, args: &[&str]) -> String {
    let output = lint(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check_error(folder: &Path, args: &[&str], parts: &[&str]) {
    let output = lint(folder, args);
    assert_eq!(output.status.code(), Some(1), "{args:?} should fail");
    check_failed(&output, args, parts);
}

/// How many outputs violate a rule, of how many, and their mean cost.
#[track_caller]
fn check_row(report: &str, group: &str, rule: &str, (n, of): (u64, u64), mean_g: Option<f64>) {
    let report: Value = serde_json::from_str(report).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["net"] == group && row["constraint"] == rule);
    let row = row.unwrap_or_else(|| panic!("{group}, {rule} in {rows:?}"));
    assert_eq!((row["failures"].as_u64(), row["total"].as_u64()), (Some(n), Some(of)), "{row}");
    assert_eq!(row["violate"].as_f64(), Some(100.0 * n as f64 / of as f64), "{row}");
    assert_eq!(row["mean_g"].as_f64(), mean_g, "{row}");
}

const RULES: &str = "[[all]]\nname = 'three'\narithmetic = 'len(out) = 3'\n\
                     [[all]]\nmust-not-have = ['no']\nweight = 10\n";

const GOLD: &str = r#"{"input": "x", "output": "a b c", "genre": "news"}
{"input": "x", "output": "a no no", "genre": "news"}

{"input": "x", "output": ["a", "b"], "genre": "web"}
{"input": "x", "gold": "no", "genre": "web", "year": 7}
{"input": "x", "output": "a b c d e", "genre": "web", "year": 8}
{"input": "x", "output": "a b a"}
"#;

#[cfg(feature = "json-schema")]
#[test]
fn outputs_may_be_text() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "[[all]]\nname = 'numbers'\ncopies = { numbers = true }\n\
                 [[all]]\nname = 'short'\narithmetic = 'len(words(out)) <= 2'\n\
                 [[all]]\nname = 'json'\njson-schema = { type = 'integer' }\n";
    let gold = "{\"input\": \"12 é\", \"output\": \"12\"}\n\
                {\"input\": \"7 Hunde\", \"output\": \"17 big dogs\"}\n";
    fs::write(folder.path().join("rules.toml"), rules).unwrap();
    fs::write(folder.path().join("gold.jsonl"), gold).unwrap();
    let report = printed(folder.path(), &["rules.toml", "gold.jsonl", "--text", "--json"]);
    check_row(&report, "all", "numbers", (1, 2), Some(1.0));
    check_row(&report, "all", "short", (1, 2), Some(1.0));
    check_row(&report, "all", "json", (1, 2), Some(10.0));
    let words = ["rules.toml", "gold.jsonl"];
    check_error(folder.path(), &words, &["`words` needs a network that writes text in pieces"]);
}

#[test]
fn right_outputs_are_counted_by_rule_and_by_group() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("rules.toml"), RULES).unwrap();
    fs::write(at.join("gold"), GOLD).unwrap();
    let report = printed(at, &["rules.toml", "gold", "--json"]);
    check_row(&report, "all", "three", (3, 6), Some((1.0 + 2.0 + 2.0) / 3.0));
    // Its weight is 10, as in the g of records.
    check_row(&report, "all", "must-not-have", (2, 6), Some(15.0));
    check_row(&report, "news", "three", (0, 2), None);
    check_row(&report, "news", "must-not-have", (1, 2), Some(20.0));
    check_row(&report, "web", "three", (3, 3), Some(5.0 / 3.0));
    check_row(&report, "web", "must-not-have", (1, 3), Some(10.0));
    let by_year = printed(at, &["rules.toml", "gold", "--json", "--by=year"]);
    check_row(&by_year, "7", "three", (1, 1), Some(2.0));
    check_row(&by_year, "8", "must-not-have", (0, 1), None);

    // Several files, gzipped or not, are one.
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(GOLD.as_bytes()).unwrap();
    fs::write(at.join("gold.gz"), gz.finish().unwrap()).unwrap();
    let twice = printed(at, &["rules.toml", "gold", "gold.gz", "--json"]);
    check_row(&twice, "all", "three", (6, 12), Some(5.0 / 3.0));
    check_row(&twice, "news", "must-not-have", (2, 4), Some(20.0));
}

#[test]
fn examples_are_shown_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("rules.toml"), RULES).unwrap();
    fs::write(at.join("gold"), GOLD).unwrap();
    let text = printed(at, &["rules.toml", "gold", "--examples=2"]);
    for part in ["6 right outputs", "50.00", "33.33", "a no no", "2 is not 3", "1 is not 3"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("5 is not 3"), "two examples are enough: {text}");
    let shows = |number: &str, output: &str| {
        let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.any(|words| words.first() == Some(&number) && words.join(" ").contains(output))
    };
    assert!(shows("2", "a no no") && shows("4", "a b") && shows("5", "no"), "{text}");
    let none = printed(at, &["rules.toml", "gold", "--examples=0"]);
    assert!(!none.contains("a no no") && none.contains("50.00"), "{none}");
}

#[test]
fn roles_are_counted_predicate_by_predicate() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(
        at.join("rules.toml"),
        "[[all]]\nname = 'phrases'\nspans-in-tree = 'phrasal'\n\
         [[all]]\nname = 'once'\nunique-roles = ['ARG1']\n",
    )
    .unwrap();
    let tree = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NNS cats))))";
    let line = |p: usize, bio: &str| {
        format!(r#"{{"tree": "{tree}", "srl": [{{"p": {p}, "bio": "{bio}"}}]}}"#)
    };
    let gold = [
        line(2, "B-ARG0 I-ARG0 B-V B-ARG1"), // fine
        line(2, "O B-ARG0 B-V B-ARG1"),      // "dog" alone is not a phrase
        line(1, "B-ARG1 B-V O B-ARG1"),      // "the" is not one, twice; and not a verb
    ];
    fs::write(at.join("gold"), gold.join("\n")).unwrap();
    let all = printed(at, &["rules.toml", "gold", "--json"]);
    check_row(&all, "all", "phrases", (2, 3), Some(1.0));
    check_row(&all, "all", "once", (1, 3), Some(1.0));
    let verbs = printed(at, &["rules.toml", "gold", "--json", "--verbs"]);
    check_row(&verbs, "all", "phrases", (1, 2), Some(1.0));
    check_row(&verbs, "all", "once", (0, 2), None);
}

#[test]
fn characters_may_be_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("rules.toml"), "arithmetic = 'len(out) = 2 * len(in)'").unwrap();
    fs::write(at.join("gold"), "{\"input\": \"ab\", \"output\": \"a bé\"}\n").unwrap();
    let letters = printed(at, &["rules.toml", "gold", "--json", "--characters"]);
    check_row(&letters, "all", "arithmetic", (0, 1), None);
    let words = printed(at, &["rules.toml", "gold", "--json"]);
    check_row(&words, "all", "arithmetic", (0, 1), None);
    fs::write(at.join("gold"), "{\"input\": \"ab\", \"output\": \"abc\"}\n").unwrap();
    let letters = printed(at, &["rules.toml", "gold", "--json", "--characters"]);
    check_row(&letters, "all", "arithmetic", (1, 1), Some(1.0));
}

#[test]
fn rules_may_name_what_right_outputs_never_have() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rules = [
        ("must-not-have = ['never', 'ever so']", (0, 6)),
        ("arithmetic = 'count(out, \"q\") = 2'", (6, 6)),
        ("symbols = '{\"a\" | \"b\" | \"c\" | \"q\" | \"r\"}'", (3, 6)),
        ("grammar = 's = {\"a\" | \"no\" | t} ; t = \"q\" ;'", (4, 6)),
    ];
    fs::write(at.join("gold"), GOLD).unwrap();
    for (rule, counts) in rules {
        fs::write(at.join("rules.toml"), format!("name = 'it'\n{rule}")).unwrap();
        let report: Value =
            serde_json::from_str(&printed(at, &["rules.toml", "gold", "--json"])).unwrap();
        let row = &report["rows"][0];
        assert_eq!((&row["failures"], &row["total"]), (&counts.0.into(), &counts.1.into()));
    }
    // Each letter is a symbol; what is not a symbol can be in no output.
    fs::write(at.join("rules.toml"), "must-not-have = ['aqr']").unwrap();
    let report = printed(at, &["rules.toml", "gold", "--json", "--characters"]);
    check_row(&report, "all", "must-not-have", (0, 6), None);
    fs::write(at.join("rules.toml"), "arithmetic = 'count(out, \"ab\") = 0'").unwrap();
    check_error(at, &["rules.toml", "gold", "--characters"], &["rules.toml:1:", "\"ab\""]);

    let line = r#"{"tokens": ["a", "b"], "srl": [{"p": 0, "bio": "B-V B-ARG0"}]}"#;
    fs::write(at.join("gold"), line).unwrap();
    fs::write(at.join("rules.toml"), "unique-roles = ['ARG0', 'ARG5']").unwrap();
    let report = printed(at, &["rules.toml", "gold", "--json"]);
    check_row(&report, "all", "unique-roles", (0, 1), None);
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("rules.toml"), RULES).unwrap();
    fs::write(at.join("gold"), GOLD.to_owned() + "{\"input\": \"x\"}\n{oops\n").unwrap();
    let output = lint(at, &["rules.toml", "gold", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    check_row(&String::from_utf8(output.stdout).unwrap(), "all", "three", (3, 6), Some(5.0 / 3.0));
    let said = String::from_utf8(output.stderr).unwrap();
    for part in ["gold:8: ", "gold:9: ", "2 lines"] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    check_error(at, &["rules.toml", "nowhere"], &["nowhere", "No such file"]);
    check_error(at, &["nowhere.toml", "gold"], &["nowhere.toml", "No such file"]);
    // A source that can be read only once cannot be linted.
    check_error(at, &["rules.toml", "/dev/null"], &["/dev/null", "twice"]);
    fs::write(at.join("rules.toml"), "patern = 'a'").unwrap();
    check_error(at, &["rules.toml", "gold"], &["rules.toml", "patern"]);
    fs::write(at.join("empty"), "").unwrap();
    fs::write(at.join("rules.toml"), "pattern = 'a'").unwrap();
    let report = printed(at, &["rules.toml", "empty", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["rows"][0]["total"], 0);
}

#[test]
fn rules_that_nothing_satisfies_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("gold"), GOLD).unwrap();
    for (rules, warning) in [
        ("symbols = '\"a\"*'", ""),
        (
            "arithmetic = 'len(out) < 0'",
            "warning: rules: no output can satisfy the rule \"arithmetic\"\n",
        ),
    ] {
        fs::write(at.join("rules"), rules).unwrap();
        let output = lint(at, &["rules", "gold"]);
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stderr).unwrap(), warning);
    }
}

#[test]
fn rules_that_no_data_makes_right_are_refused_before_data_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Each line of the data is bad, so that reading any would be reported.
    fs::write(at.join("gold"), "{\n".repeat(10)).unwrap();
    for (rule, said) in [
        ("pattern = '('", "rule.toml:1"),
        ("patern = 'a'", "patern"),
        ("grammar-file = 'nowhere.ebnf'", "nowhere.ebnf"),
        ("not toml", "rule.toml"),
    ] {
        fs::write(at.join("rule.toml"), rule).unwrap();
        let ran = lint(at, &["rule.toml", "gold"]);
        check_failed(&ran, &[rule], &[said]);
        let all = String::from_utf8_lossy(&ran.stderr);
        assert!(!all.contains("passed over"), "{rule}: no data is read: {all}");
    }
}

#[test]
fn rules_that_make_a_network_worse_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let right = |input: &str| input.replace("az", "aaa").replace("bz", "zb");
    let gold =
        ["azbz", "bzaz", "azaz"].map(|x| json!({"input": x, "output": right(x)}).to_string());
    fs::write(at.join("gold"), gold.join("\n")).unwrap();
    fs::write(at.join("wrong.toml"), "arithmetic = 'len(out) = 1'\n").unwrap();
    fs::write(at.join("true.toml"), "arithmetic = 'len(out) > len(in)'\n").unwrap();
    let with = |rules: &str, more: &[&str]| {
        let args = [&[rules, "gold", "--characters", "--model=transducer"], more].concat();
        let output = lint(at, &args);
        assert!(output.status.success(), "{output:?}");
        output
    };
    let warned = |rules| {
        let said = String::from_utf8(with(rules, &[]).stderr).unwrap();
        said.contains("costs accuracy")
    };
    assert!(warned("wrong.toml") && !warned("true.toml"));
    let report: Value = serde_json::from_slice(&with("wrong.toml", &["--json"]).stdout).unwrap();
    assert_eq!(report["obeyed"][0]["rows"][0]["failures"], json!(3));
}

#[test]
fn a_network_that_cannot_be_opened_is_reported_before_data_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("gold"), "{\"input\": \n").unwrap();
    fs::write(at.join("rules.toml"), "arithmetic = 'len(out) = 1'\n").unwrap();
    let output = lint(at, &["rules.toml", "gold", "--model=nobody"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot load nobody") && !said.contains("gold:1"), "{said}");
}
