//! Errors in constraint files report the file, the line and the offending value.

use std::fs;
use std::sync::Arc;

use cajole_rules::{RuleFileError, RuleText, Rules, Vocabulary};
use serde_json::{Value, json};

fn letters() -> Arc<Vocabulary> {
    Arc::new(Vocabulary::new(["a", "b"], ""))
}

fn tags() -> Arc<Vocabulary> {
    Arc::new(Vocabulary::new(["O", "B-A", "I-A", "B-V"], " "))
}

/// Checks that the file is rejected with a message that contains all `parts`.
#[track_caller]
fn check(vocabulary: &Arc<Vocabulary>, text: &str, parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rule.toml");
    fs::write(&path, text).unwrap();
    let error = Rules::read(&path, vocabulary).err().expect("it should be refused").to_string();
    for part in ["rule.toml"].iter().chain(parts) {
        assert!(error.contains(part), "{text:?} should say {part:?}, not:\n{error}");
    }
}

/// The same for a JSON object sent with a line.
#[track_caller]
fn check_line(object: &Value, parts: &[&str]) {
    let vocabulary = letters();
    let error = RuleText::of_json(object)
        .and_then(|text| text.compile(&vocabulary))
        .err()
        .expect("it should be refused");
    let error = error.to_string();
    for part in ["the line's constraint"].iter().chain(parts) {
        assert!(error.contains(part), "{object} should say {part:?}, not:\n{error}");
    }
}

#[test]
fn invalid_rules_are_rejected() {
    let v = letters();
    check(&v, "", &[":1:", "no key", "must-not-have"]);
    check(&v, "name = 'x'", &[":1:", "no key"]);
    check(&v, "patern = 'a'", &["line 1", "patern", "pattern"]);
    check(&v, "pattern = 7", &["line 1", "string"]);
    check(&v, "pattern = 'a", &["line 1"]);
    check(&v, "\n\nweight = 'much'\npattern = 'a'", &["line 3", "much"]);
    check(&v, "divide-by = 'input'\npattern = 'a'", &["line 1", "input", "lengths"]);
    check(&v, "all = []", &[":1:", "\"all\" has no rules"]);
    check(&v, "[[all]]\npattern = 'a'\n[[all]]\nany = []", &[":3:", "\"any\" has no rules"]);
}

#[test]
fn a_rule_has_exactly_one_kind() {
    let v = letters();
    check(&v, "pattern = 'a'\nsymbols = '\"a\"'", &[":1:", "\"pattern\"", "\"symbols\""]);
    check(&v, "must-not-have = ['a']\npattern = 'a'", &["\"pattern\"", "\"must-not-have\""]);
    check(&v, "grammar-file = 'g'\npattern = 'a'", &["\"pattern\"", "\"grammar-file\""]);
    let second = "[[all]]\npattern = 'a'\n\n[[all]]\n# here\nmust-have = ['a']\nsymbols = '\"a\"'";
    check(&v, second, &[":4:", "\"symbols\"", "\"must-have\""]);
    for (stray, kind) in
        [("squared = true", "arithmetic"), ("start = 's'", "grammar"), ("free-roles = []", "spans")]
    {
        check(&v, &format!("pattern = 'a'\n{stray}"), &[":1:", &stray[..5], kind]);
        // It may not stand next to a list either, where it would belong to none of the rules.
        check(&v, &format!("{stray}\n[[all]]\npattern = 'a'"), &[":1:", &stray[..5], kind]);
        check(&v, &format!("{stray}\n[[any]]\npattern = 'a'"), &[":1:", &stray[..5], kind]);
    }
}

#[test]
fn errors_report_the_line_of_the_rule() {
    let v = letters();
    let deep = "[[all]]\npattern = 'a'\n[[all]]\nname = 'x'\n\n  [[all.any]]\n  pattern = 'b'\n\n  \
                [[all.any]]\n  must-have = ['c']\n";
    check(&v, deep, &[":9:", "\"c\""]);
    let inline = "all = [\n  {pattern = 'a'},\n  {must-have = ['c']},\n]";
    check(&v, inline, &[":3:", "\"c\""]);
    let after = "# Why.\n\n[[all]]\nspans-in-tree = 'all'\nfree-roles = ['X']";
    check(&tags(), after, &[":3:", "\"X\"", "A, V"]);
    check(&tags(), "[[all]]\nbio = true\n[[all]]\nunique-roles = ['A', 'X']", &[":3:", "\"X\""]);
}

#[test]
fn weights_must_be_positive_and_finite() {
    for weight in ["0", "0.0", "-1", "nan", "inf", "-inf", "1e39", "1e-60"] {
        let text = format!("[[all]]\npattern = 'a'\n[[all]]\npattern = 'b'\nweight = {weight}");
        check(&letters(), &text, &[":3:", "weight", "positive"]);
        let nested = format!("[[any]]\n[[any.all]]\npattern = 'b'\nweight = {weight}");
        check(&letters(), &nested, &[":2:", "weight", "positive"]);
    }
    check(&letters(), "pattern = 'b'\nweight = -2.5", &[":1:", "-2.5"]);
}

#[test]
fn rules_for_other_networks_are_rejected() {
    for rule in ["bio = true", "unique-roles = ['A']", "continuations = true", "references = true"]
    {
        let (key, _) = rule.split_once(' ').unwrap();
        check(&letters(), rule, &[":1:", key, "BIO tags", "a b"]);
    }
    check(&letters(), "spans-in-tree = 'all'", &[":1:", "spans-in-tree", "BIO tags", "a b"]);
    check(&letters(), "shift-reduce = 'full'", &[":1:", "shift-reduce", "!LABEL", "a b"]);
    check(&tags(), "shift-reduce = 'half'", &["line 1", "half", "paper"]);
    check(&tags(), "spans-in-tree = 'words'", &["line 1", "words", "phrasal"]);
    check(&tags(), "bio = false", &["line 1", "omit the key"]);
}

#[test]
fn language_errors_report_their_position() {
    let v = letters();
    check(&v, "arithmetic = 'count(out, \"c\") = 1'", &[":1:", "column 12", "\"c\""]);
    check(&v, "arithmetic = 'len(out) ='", &["arithmetic", "column 11", "the end"]);
    check(&v, "arithmetic = 'len(out) * len(out) = 1'", &["column 1", "len(out) * len(out)"]);
    check(&v, "pattern = 'a('", &["pattern \"a(\"", "unclosed"]);
    check(&v, "symbols = '\"a\" \"c\"'", &["symbols", "line 1, column 5", "\"c\""]);
    check(&v, "symbols = 's'", &["symbols", "\"s\"", "no rules"]);
    check(&v, "grammar = '''\ns = \"a\" t ;\n'''", &[":1:", "grammar: line 1", "\"t\""]);
    check(&v, "grammar = 's = \"a\" ;'\nstart = 'q'", &["grammar", "\"q\""]);
    check(&v, "grammar = 's = \"a\" ;'\ngrammar-file = 'g'", &["\"grammar\"", "\"grammar-file\""]);
    check(&v, "must-have = ['ab', 'abc']", &["\"abc\"", "\"c\""]);
    check(&v, "must-not-have = ['']", &["\"\"", "no symbols"]);
    check(&v, "[checker]\ncommand = []", &["checker", "no program"]);
    check(&v, "checker = {command = ['true'], timeout-ms = 0}", &["checker", "timeout-ms is 0"]);
    check(&v, "[checker]\ncommand = ['true']\ntimeout = 3", &["line 3", "timeout"]);
}

#[test]
fn missing_files_are_reported() {
    check(&letters(), "grammar-file = 'no.ebnf'", &[":1:", "no.ebnf", "No such file"]);
    let error = Rules::read("no/where.toml".as_ref(), &letters()).err().unwrap().to_string();
    assert!(error.starts_with("no/where.toml: No such file"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rule.toml");
    fs::write(folder.path().join("g.ebnf"), "s = \"a\" ;\nt = \"c\" ;").unwrap();
    fs::write(&path, "[[all]]\npattern = 'a'\n[[all]]\ngrammar-file = 'g.ebnf'").unwrap();
    let error = Rules::read(&path, &letters()).err().unwrap().to_string();
    for part in ["rule.toml:3:", "g.ebnf: line 2, column 5", "\"c\""] {
        assert!(error.contains(part), "{error}");
    }
    fs::write(&path, b"pattern = '\xff'").unwrap();
    assert!(matches!(Rules::read(&path, &letters()), Err(RuleFileError::Read(_))));
}

#[test]
fn a_line_may_neither_start_programs_nor_read_files() {
    check_line(&json!({"checker": {"command": ["rm", "x"]}}), &["cannot run \"rm\""]);
    let deep = json!({"any": [{"pattern": "a"}, {"all": [{"checker": {"command": ["rm"]}}]}]});
    check_line(&deep, &["cannot run \"rm\""]);
    check_line(&json!("checker = {command = ['rm']}"), &["cannot run \"rm\""]);
    check_line(&json!({"grammar-file": "/etc/passwd"}), &["cannot name", "/etc/passwd"]);
    let file = |rule: Value| check_line(&rule, &["cannot name", "/etc/passwd"]);
    file(json!({"copies": {"glossary-file": "/etc/passwd"}}));
    file(json!({"all": [{"any": [{"copies": {"glossary-file": "/etc/passwd"}}]}]}));
    let program = json!({"valid": {"roles": ["A"], "checker": {"command": ["rm"]}}});
    let error = RuleText::of_json(&program)
        .and_then(|text| text.compile(&tags()))
        .err()
        .expect("it should be refused")
        .to_string();
    assert!(error.contains("cannot run \"rm\""), "{error}");
}

#[cfg(feature = "json-schema")]
#[test]
fn a_schema_sent_with_a_line_refers_to_nothing() {
    check_line(&json!({"json-schema-file": "/etc/passwd"}), &["cannot name", "/etc/passwd"]);
    let doubling = json!({"json-schema": {"$defs": {}, "allOf": [{"$ref": "#/$defs/a"}]}});
    check_line(&doubling, &["a schema sent with a line cannot have \"$ref\""]);
}

#[cfg(feature = "json-schema")]
#[test]
fn invalid_schemas_are_rejected() {
    let v = letters();
    check(&v, "json-schema = { type = 'strin' }", &["json-schema: ", "strin"]);
    check(&v, "json-schema = '{'", &["json-schema: ", "EOF"]);
    check(&v, "json-schema-file = 'no.json'", &["no.json"]);
    check(&v, "json-schema = {}\njson-schema-file = 'x'", &["json-schema-file: there is a"]);
}

#[cfg(feature = "sql")]
#[test]
fn invalid_rules_over_sql_are_rejected() {
    let v = letters();
    check(&v, "sql = { dialect = 'x' }", &["sql: there is no dialect \"x\""]);
    check(&v, "sql = { schema-file = 'no.sql' }", &["no.sql"]);
    check_line(&json!({"sql": {"schema-file": "/etc/passwd"}}), &["cannot name", "/etc/passwd"]);
    let deep = json!({"all": [{"any": [{"sql": {"schema-file": "/etc/passwd"}}]}]});
    check_line(&deep, &["cannot name", "/etc/passwd"]);
}

/// Parts that are not built say how to get them, and typing errors are found all the same.
#[test]
fn rules_that_are_not_built_say_how_to_build_them() {
    let v = letters();
    if cfg!(not(feature = "sql")) {
        let how = "this build has no sql rules: cargo build --release --features sql";
        check(&v, "pattern = 'a'\n[[all]]\nsql = {}", &["\"all\""]);
        check(&v, "[[all]]\nsql = { dialect = 'sqlite' }", &[":1:", how]);
    }
    if cfg!(not(feature = "json-schema")) {
        let how =
            "this build has no json-schema rules: cargo build --release --features json-schema";
        check(&v, "json-schema = { type = 'integer' }", &[":1:", how]);
        check(&v, "json-schema-file = 'x.json'", &[how]);
    }
    check(&v, "sql = { dialekt = 'sqlite' }", &["dialekt"]);
}

#[test]
fn invalid_rules_over_text_and_spans_are_rejected() {
    let v = letters();
    check(&v, "copies = {}", &[":1:", "copies: nothing is to be copied"]);
    check(&v, "[copies]\nnumber = true", &["line 2", "number", "numbers"]);
    check(&v, "copies = { pattern = '(' }", &["copies: ", "unclosed group"]);
    check(&v, "copies = { glossary-file = 'no.tsv' }", &["no.tsv"]);
    check(&v, "consistent = true", &["\"consistent\" needs BIO tags"]);
    check(&v, "valid = { roles = ['A'] }", &["\"valid\" needs BIO tags"]);
    check(&v, "pattern = 'a'\nwords = true", &["\"words\" needs"]);
    let v = tags();
    check(&v, "consistent = false", &["consistent: expected true"]);
    check(&v, "consistent = 7", &["line 1", "expected true or a list of roles"]);
    check(&v, "consistent = ['B']", &["no role \"B\""]);
    check(&v, "valid = { roles = ['B'], checksum = 'luhn' }", &["no role \"B\""]);
    check(&v, "valid = { roles = ['A'] }", &["valid: nothing says what is valid"]);
    check(&v, "valid = { roles = ['A'], checksum = 'crc' }", &["line 1", "crc", "luhn"]);
}

#[test]
fn invalid_rules_in_lines_are_rejected() {
    check_line(&json!(7), &[]);
    check_line(&json!(true), &[]);
    check_line(&json!([]), &[]);
    check_line(&json!([{"pattern": "a"}]), &[]);
    check_line(&json!({}), &["no key"]);
    check_line(&json!(""), &["no key"]);
    check_line(&json!({"pattern": null}), &["unsupported"]);
    check_line(&json!({"pattern": "a", "x": 1}), &["unknown field `x`"]);
    check_line(&json!({"pattern": "a", "weight": -1}), &["weight -1"]);
    check_line(&json!({"must-have": ["a", 7]}), &[]);
    check_line(&json!({"must-have": "c"}), &[]);
}

#[test]
fn deep_nesting_does_not_crash() {
    let deep = 2_000;
    let object = "{\"all\":[".repeat(60) + "{\"pattern\":\"(\"}" + &"]}".repeat(60);
    check_line(&serde_json::from_str(&object).unwrap(), &[]);
    check_line(&json!("all=[{".repeat(deep) + &"}]".repeat(deep)), &[]);
    let headers: String = (1..deep).map(|n| format!("[[all{}]]\n", ".all".repeat(n - 1))).collect();
    check_line(&json!(headers), &[]);
    check_line(&json!(format!("all{} = 1", ".all".repeat(100_000))), &[]);
    check_line(&json!(format!("pattern = '{}{}'", "(".repeat(100_000), ")".repeat(100_000))), &[]);
    check_line(&json!({"arithmetic": "(".repeat(100_000)}), &["nested"]);
    check_line(&json!({"symbols": "(".repeat(100_000)}), &["brackets"]);
}
