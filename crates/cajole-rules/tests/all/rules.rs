//! Compares constraint files with independent implementations of their meaning.

use std::fs;
use std::sync::Arc;

use cajole_core::{Constraint, Symbol};
use cajole_rules::{RuleText, Rules, Subject, Vocabulary};
use cajole_treebank::penn::parse_tree;
use cajole_treebank::roles::Reading;
use regex::Regex;
use serde_json::json;

fn letters(text: &str) -> Subject {
    Subject::new(text.chars().map(String::from).collect::<Vec<_>>(), json!(text))
}

fn rules(text: &str, vocabulary: &Arc<Vocabulary>) -> Rules {
    Rules::parse("here", text, None, vocabulary).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Every output over `n_symbols` of up to `longest` symbols.
fn outputs(n_symbols: usize, longest: usize) -> Vec<Vec<Symbol>> {
    let mut all = vec![Vec::new()];
    let mut begin = 0;
    for _ in 0..longest {
        let end = all.len();
        for i in begin..end {
            for symbol in 0..n_symbols as Symbol {
                all.push([&all[i][..], &[symbol]].concat());
            }
        }
        begin = end;
    }
    all
}

/// Checks that the rules give `y` the cost `g`, with faults that add up to it, and that their
/// automaton agrees, if they have one.
#[track_caller]
fn check(rules: &Rules, x: &Subject, y: &[Symbol], g: f32) {
    let is_near = |a: f32| (a - g).abs() <= 1e-5 * g.abs();
    let total = rules.check(x, y).total();
    assert!(is_near(total), "{y:?} costs {total}, not {g}");
    let faults = rules.explain(x, y);
    let told: f32 = faults.iter().map(|fault| fault.cost).sum();
    assert!(is_near(told), "{y:?}: {faults:?} add up to {told}, not {g}");
    assert_eq!(faults.is_empty(), g == 0.0, "{y:?}: {faults:?}");
    if let Some(automaton) = rules.automaton(x) {
        assert_eq!(automaton.contains(y), g == 0.0, "{y:?}");
    }
}

/// The same for every output of up to `longest` symbols, given its text.
#[track_caller]
fn check_all(text: &str, input: &str, longest: usize, g: impl Fn(&str) -> f32) {
    let vocabulary = Arc::new(Vocabulary::new(["a", "b", "z"], ""));
    let rules = rules(text, &vocabulary);
    for y in outputs(3, longest) {
        check(&rules, &letters(input), &y, g(&vocabulary.text(&y)));
    }
}

/// Checks that the rules are satisfied by exactly the right outputs of up to `longest` symbols.
#[track_caller]
fn check_members(text: &str, longest: usize, is_member: impl Fn(&str) -> bool) {
    let vocabulary = Arc::new(Vocabulary::new(["a", "b", "z"], ""));
    let rules = rules(text, &vocabulary);
    for y in outputs(3, longest) {
        let g = rules.check(&letters(""), &y).total();
        assert_eq!(g == 0.0, is_member(&vocabulary.text(&y)), "{y:?} costs {g}");
        check(&rules, &letters(""), &y, g);
    }
}

fn count(text: &str, letter: char) -> f32 {
    text.chars().filter(|&c| c == letter).count() as f32
}

#[test]
fn arithmetic_measures_how_far_counts_are_off() {
    let a_off = |y: &str| (count(y, 'a') - 6.0).abs();
    let rule = r#"arithmetic = 'count(out, "a") = 3 * count(in, "a")'"#;
    check_all(rule, "abab", 5, a_off);
    check_all(&format!("{rule}\nsquared = true"), "abab", 5, |y| a_off(y).powi(2));
    check_all(&format!("{rule}\nsquared = false"), "abab", 5, a_off);
    check_all(&format!("{rule}\ndivide-by = 'output'"), "abab", 5, |y| {
        a_off(y) / (y.len() as f32).max(1.0)
    });
    check_all(&format!("{rule}\nsquared = true\ndivide-by = 'lengths'"), "abab", 5, |y| {
        a_off(y).powi(2) / (4 + y.len()) as f32
    });
    check_all("arithmetic = 'len(out) < 2 and count(out, \"b\") != 0'", "", 5, |y| {
        (y.len() as f32 - 1.0).max(0.0) + f32::from(count(y, 'b') == 0.0)
    });
}

#[test]
fn languages_match_the_output_text() {
    let whole = Regex::new("^((aaa|zb)*)$").unwrap();
    check_members("pattern = '(aaa|zb)*'", 6, |y| whole.is_match(y));
    let whole = Regex::new("^(a?b+)$").unwrap();
    check_members(r#"symbols = '["a"] "b"+'"#, 6, |y| whole.is_match(y));
    let nested = |y: &str| {
        let half = y.len() / 2;
        y.len() == 2 * half && y == "a".repeat(half) + &"b".repeat(half)
    };
    check_members(r#"grammar = 's = [ "a" s "b" ] ;'"#, 6, nested);
    let two = r#"grammar = 'b = "z" ; s = [ "a" s "b" ] ;'"#;
    check_members(two, 6, |y| y == "z");
    check_members(&format!("{two}\nstart = 's'"), 6, nested);
}

#[test]
fn grammar_files_are_relative_to_the_rule_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ab.ebnf"), "s = [ \"a\" s \"b\" ] ;").unwrap();
    let path = folder.path().join("rule.toml");
    fs::write(&path, "grammar-file = 'ab.ebnf'").unwrap();
    let vocabulary = Arc::new(Vocabulary::new(["a", "b"], ""));
    let rules = Rules::read(&path, &vocabulary).unwrap();
    check(&rules, &letters(""), &[0, 0, 1, 1], 0.0);
    check(&rules, &letters(""), &[0, 0, 1], 1.0);
    let [(name, weight, _)] = rules.iter().collect::<Vec<_>>()[..] else { panic!("one rule") };
    assert_eq!((name, weight), ("grammar-file", 1.0));
}

#[test]
fn rules_say_which_files_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let grammar = write("ab.ebnf", "s = [ \"a\" s \"b\" ] ;");
    let script = write("check.sh", "true");
    let command = format!("checker = {{ command = ['sh', '{}', 'none'] }}", script.display());
    let text = format!(
        "[[all]]\nany = [{{ {command} }}, {{ pattern = 'a*' }}]\n\
                        [[all]]\ngrammar-file = 'ab.ebnf'\n[[all]]\n{command}\n"
    );
    let path = write("rule.toml", &text);
    let vocabulary = Arc::new(Vocabulary::new(["a", "b"], ""));
    assert_eq!(Rules::read(&path, &vocabulary).unwrap().reads(), [grammar, script]);
    let bare = Rules::parse("here", "pattern = 'a*'", None, &vocabulary).unwrap();
    assert!(bare.reads().is_empty());
}

#[cfg(all(feature = "json-schema", feature = "sql"))]
#[test]
fn rules_over_text_may_name_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let terms = write("terms.tsv", "Haus\thouse\n\nAuto\tcar\n");
    let schema = write("schema.json", r#"{"items": {"type": "integer"}}"#);
    let tables = write("tables.sql", "CREATE TABLE t (c INT);");
    let path = write(
        "rule.toml",
        "[[any]]\ncopies = { glossary-file = 'terms.tsv' }\n[[any]]\n\
         json-schema-file = 'schema.json'\n[[any]]\nsql = { schema-file = 'tables.sql' }\n",
    );
    let vocabulary = Arc::new(Vocabulary::new(
        ["the", "house", "[1]", "['1']", "SELECT", "c", "FROM", "t"],
        " ",
    ));
    let rules = Rules::read(&path, &vocabulary).unwrap();
    assert_eq!(rules.reads(), [schema, tables, terms]);
    let g = |y: &str| {
        let y = vocabulary.read(y).unwrap();
        rules.check(&Subject::new(vec![], json!("das Haus")), &y).total()
    };
    let all = ["the house", "[1]", "SELECT c FROM t", "['1']", "SELECT the FROM t"];
    assert_eq!(all.map(g), [0.0, 0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn rules_about_spans_are_read() {
    let vocabulary = Arc::new(Vocabulary::new(TAGS, " "));
    let (role, other) = ("A", "V");
    let text = format!(
        "[[all]]\nconsistent = ['{role}']\n[[all]]\nvalid = {{ roles = ['{role}'], checksum = 'luhn' }}"
    );
    let rules = Rules::parse("here", &text, None, &vocabulary).unwrap();
    let x = Subject::new(["00", "x", "00"].map(str::to_owned).to_vec(), json!(null));
    let g = |y: &str| rules.check(&x, &vocabulary.read(y).unwrap()).total();
    assert_eq!(g(&format!("B-{role} O B-{role}")), 0.0);
    assert_eq!(g(&format!("B-{role} O O")), 1.0);
    assert_eq!(g(&format!("O B-{role} O")), 1.0);
    assert_eq!(g(&format!("B-{other} B-{other} O")), 0.0);
}

#[cfg(feature = "json-schema")]
#[test]
fn schemas_may_be_json_text() {
    let vocabulary = Arc::new(Vocabulary::new(["null", "1"], ""));
    let text = r#"json-schema = '{"enum": [null]}'"#;
    let rules = Rules::parse("here", text, None, &vocabulary).unwrap();
    let x = Subject::default();
    assert!(rules.check(&x, &[0]).is_satisfied() && !rules.check(&x, &[1]).is_satisfied());
}

#[test]
fn phrases_are_had_and_not_had() {
    let of = |y: &str, phrase: &str| {
        (0..y.len()).filter(|&at| y[at..].starts_with(phrase)).count() as f32
    };
    let missing = |y: &str| f32::from(!y.contains("ab"));
    check_all("must-have = ['ab']\nmust-not-have = ['bb', 'z']", "", 6, |y| {
        missing(y) + of(y, "bb") + of(y, "z")
    });
    check_all("must-have = ['ab']", "", 5, missing);
    check_all("must-not-have = ['aa']", "", 5, |y| of(y, "aa"));
}

#[test]
fn all_sums_costs_and_any_takes_the_minimum() {
    let (a, b) = (|y: &str| (count(y, 'a') - 2.0).abs(), |y: &str| (count(y, 'b') - 1.0).abs());
    let [of_a, of_b] = ["a", "b"].map(|letter| format!(r#"arithmetic = 'count(out, "{letter}")"#));
    let both = |key: &str| {
        format!("[[{key}]]\nweight = 3\n{of_a} = 2'\n[[{key}]]\nweight = 0.5\n{of_b} = 1'\n")
    };
    check_all(&both("all"), "", 5, |y| 3.0 * a(y) + 0.5 * b(y));
    check_all(&both("any"), "", 5, |y| (3.0 * a(y)).min(0.5 * b(y)));
    // Weights of a whole list, and of nested lists.
    check_all(&format!("weight = 2\n{}", both("all")), "", 4, |y| 6.0 * a(y) + b(y));
    check_all(&format!("divide-by = 'output'\n{}", both("any")), "", 4, |y| {
        (3.0 * a(y)).min(0.5 * b(y)) / (y.len() as f32).max(1.0)
    });
    let nested = format!(
        "[[all]]\nweight = 0.25\ndivide-by = 'lengths'\n\
         [[all.any]]\n{of_a} = 2'\nweight = 7\n[[all.any]]\n{of_b} = 1'\n\
         [[all]]\nmust-not-have = ['z']\nweight = 10\n"
    );
    check_all(&nested, "abz", 5, |y| {
        0.25 * (7.0 * a(y)).min(b(y)) / (3 + y.len()) as f32 + 10.0 * count(y, 'z')
    });
}

#[test]
fn no_weight_hides_a_violation() {
    let text = "divide-by = 'output'\n[[all]]\nweight = 1e-44\nmust-not-have = ['a']\n\
                [[all]]\nweight = 1e30\npattern = '[ab]*'\n";
    let vocabulary = Arc::new(Vocabulary::new(["a", "b"], ""));
    let tiny = rules(text, &vocabulary);
    let long = [&[0][..], &[1; 999]].concat();
    assert!(!tiny.check(&letters(""), &long).is_satisfied());
    assert!(tiny.check(&letters(""), &long[1..]).is_satisfied());
}

const TAGS: [&str; 9] = ["O", "B-A", "I-A", "B-C-A", "I-C-A", "B-R-A", "I-R-A", "B-V", "I-V"];

/// The labelled spans of tags, read as conlleval does: an `I-` that continues nothing begins a
/// span.
fn spans<'t>(tags: &[&'t str]) -> Vec<(&'t str, usize, usize)> {
    let mut spans: Vec<(&str, usize, usize)> = Vec::new();
    for (t, tag) in tags.iter().enumerate() {
        let Some((kind, role)) = tag.split_once('-') else { continue };
        match spans.last_mut() {
            Some((of, _, end)) if kind == "I" && *of == role && *end == t => *end = t + 1,
            _ => spans.push((role, t, t + 1)),
        }
    }
    spans
}

#[test]
fn tag_rules_match_their_reference() {
    let vocabulary = Arc::new(Vocabulary::new(TAGS, " "));
    let bio = rules("bio = true", &vocabulary);
    let unique = rules("unique-roles = ['A', 'V']", &vocabulary);
    let continuations = rules("continuations = true", &vocabulary);
    let references = rules("references = true", &vocabulary);
    let x = letters("");
    for y in outputs(TAGS.len(), 4) {
        let tags: Vec<&str> = y.iter().map(|&s| TAGS[s as usize]).collect();
        let spans = spans(&tags);
        let goes_on = |t: usize| 0 < t && tags[t - 1][1..] == tags[t][1..];
        let strays = (0..y.len()).filter(|&t| tags[t].starts_with('I') && !goes_on(t)).count();
        check(&bio, &x, &y, strays as f32);
        // The other rules are about spans, and assume `bio`.
        if 0 < strays {
            continue;
        }
        // The positions of a span share its fault, which costs 1 / the span's length.
        let g = |is_fault: &dyn Fn(usize) -> bool| -> f32 {
            let faults = spans.iter().enumerate().filter(|(i, _)| is_fault(*i));
            faults.map(|(_, (_, start, end))| 1.0 / (end - start) as f32).sum()
        };
        let is_before = |i: usize, role: &str| spans[..i].iter().any(|span| span.0 == role);
        let core = ["A", "V"];
        let second = |i: usize| core.contains(&spans[i].0) && is_before(i, spans[i].0);
        check(&unique, &x, &y, g(&second));
        check(&continuations, &x, &y, g(&|i| spans[i].0 == "C-A" && !is_before(i, "A")));
        let is_there = is_before(spans.len(), "A");
        check(&references, &x, &y, g(&|i| spans[i].0 == "R-A" && !is_there));
    }
}

#[test]
fn spans_must_be_nodes_of_the_tree() {
    let vocabulary = Arc::new(Vocabulary::new(TAGS, " "));
    let tree = parse_tree("(S (NP (D the) (N cat)) (VP (V sat) (PP (P on))))").unwrap();
    let phrases = [(0, 2), (2, 4), (3, 4), (0, 4)];
    let x = letters("").with_tree(Some(tree));
    for (text, words_are_nodes, free) in [
        ("spans-in-tree = 'phrasal'", false, "V"),
        ("spans-in-tree = 'all'", true, "V"),
        ("spans-in-tree = 'phrasal'\nfree-roles = ['A']", false, "A"),
        ("spans-in-tree = 'all'\nfree-roles = []", true, ""),
    ] {
        let rule = rules(text, &vocabulary);
        for y in outputs(TAGS.len(), 4).into_iter().filter(|y| y.len() == 4) {
            let tags: Vec<&str> = y.iter().map(|&s| TAGS[s as usize]).collect();
            let is_node = |&(role, start, end): &(&str, usize, usize)| {
                role == free
                    || phrases.contains(&(start, end))
                    || words_are_nodes && end - start == 1
            };
            let holds = spans(&tags).iter().all(is_node);
            assert_eq!(rule.check(&x, &y).is_satisfied(), holds, "{text}: {tags:?}");
            assert!(rule.check(&letters(""), &y).is_satisfied(), "nothing is known without a tree");
        }
    }
}

#[test]
fn a_sole_span_rule_is_recognised() {
    let vocabulary = Arc::new(Vocabulary::new(TAGS, " "));
    let reading = |text: &str| rules(text, &vocabulary).only_spans().map(|(reading, _)| reading);
    assert_eq!(reading("spans-in-tree = 'phrasal'"), Some(Reading::Phrasal));
    assert_eq!(reading("spans-in-tree = 'all'\nname = 'x'\nweight = 2"), Some(Reading::All));
    assert_eq!(reading("[[all]]\nspans-in-tree = 'all'"), Some(Reading::All));
    assert_eq!(reading("[[all]]\nspans-in-tree = 'all'\n[[all]]\nbio = true"), None);
    assert_eq!(reading("[[any]]\nspans-in-tree = 'all'"), None);
    assert_eq!(reading("bio = true"), None);
    let tags = vocabulary.tags().unwrap();
    let free = rules("spans-in-tree = 'all'\nfree-roles = ['R-A']", &vocabulary);
    let free = free.only_spans().unwrap().1;
    assert!(free.contains(tags.role("R-A").unwrap()) && !free.contains(tags.role("V").unwrap()));
}

#[test]
fn commands_must_build_one_tree_over_the_input() {
    /// Follows commands with an explicit stack.
    fn is_tree(commands: &[&str], n_tokens: usize) -> bool {
        let (mut items, mut shifts, mut reduced) = (0usize, 0, false);
        for command in commands {
            match *command {
                "s" if !reduced => (items, shifts) = (items + 1, shifts + 1),
                "r" if 0 < items => (items, reduced) = (items - 1, true),
                close if close.starts_with('!') && reduced => {
                    (items, reduced) = (items + 1, false);
                }
                _ => return false,
            }
        }
        items == 1 && !reduced && shifts == n_tokens
    }
    let names = ["s", "r", "!X"];
    let vocabulary = Arc::new(Vocabulary::new(names, " "));
    let full = rules("shift-reduce = 'full'", &vocabulary);
    let paper = rules("shift-reduce = 'paper'", &vocabulary);
    for n_tokens in 1..=2 {
        let x = letters(&"ab"[..n_tokens]);
        for y in outputs(3, 7) {
            let commands: Vec<&str> = y.iter().map(|&s| names[s as usize]).collect();
            let holds = is_tree(&commands, n_tokens);
            assert_eq!(full.check(&x, &y).is_satisfied(), holds, "{commands:?}");
            assert!(!holds || paper.check(&x, &y).is_satisfied(), "{commands:?}");
            let automaton = full.automaton(&x).unwrap();
            assert_eq!(automaton.contains(&y), holds, "{commands:?}");
        }
    }
    assert!(paper.check(&letters("ab"), &[0, 0]).is_satisfied(), "it does not ask for one tree");
}

#[test]
fn messages_include_rule_names() {
    let vocabulary = Arc::new(Vocabulary::new(["a", "b"], ""));
    let text = "[[all]]\nname = 'no b'\nmust-not-have = ['b']\n\
                [[all]]\nmust-not-have = ['bb']\n\
                [[all]]\nname = 'one way'\n\
                [[all.any]]\nname = 'short'\narithmetic = 'len(out) <= 1'\n\
                [[all.any]]\npattern = 'a*'\nweight = 9\n";
    let rules = rules(text, &vocabulary);
    let names: Vec<&str> = rules.iter().map(|(name, _, _)| name).collect();
    assert_eq!(names, ["no b", "must-not-have", "one way"]);
    let told = |y: &[Symbol]| -> Vec<String> {
        rules.explain(&letters(""), y).into_iter().map(|fault| fault.message).collect()
    };
    let expected = [
        r#"no b: "b" at position 1 is forbidden"#,
        "one way: short: len(out) <= 1: 2 is more than 1",
    ];
    assert_eq!(told(&[0, 1]), expected);
    assert_eq!(told(&[0, 1, 1])[2], r#"must-not-have: "bb" at positions 1..3 is forbidden"#);
}

#[test]
fn json_and_text_say_the_same_as_a_file() {
    let text = "divide-by = 'lengths'\n\
                [[all]]\narithmetic = 'len(out) = 2 * len(in)'\nsquared = true\nweight = 2\n\
                [[all]]\nname = 'either'\n\
                [[all.any]]\npattern = '(ab)*'\n\
                [[all.any]]\nmust-have = ['a', 'z']\nweight = 0.5\n";
    let object = json!({
        "all": [
            {"arithmetic": "len(out) = 2 * len(in)", "squared": true, "weight": 2},
            {
                "any": [{"pattern": "(ab)*"}, {"weight": 0.5, "must-have": ["a", "z"]}],
                "name": "either",
            },
        ],
        "divide-by": "lengths",
    });
    let vocabulary = Arc::new(Vocabulary::new(["a", "b", "z"], ""));
    let file = rules(text, &vocabulary);
    for json in [object, json!(text)] {
        let line = RuleText::of_json(&json).and_then(|text| text.compile(&vocabulary)).unwrap();
        for y in outputs(3, 5) {
            let x = letters("ab");
            assert_eq!(line.check(&x, &y), file.check(&x, &y), "{y:?}");
            assert_eq!(line.explain(&x, &y), file.explain(&x, &y), "{y:?}");
        }
    }
}

/// Finds the rules that no output satisfies, on their own or together.
#[test]
fn unsatisfiable_rules_are_found() {
    let vocabulary = Arc::new(Vocabulary::new(["a", "b"], ""));
    for (text, expected) in [
        ("pattern = '(ab)*'", &[][..]),
        ("pattern = 'a[^ab]'", &["the rule \"pattern\""]),
        ("grammar = 'S = \"a\" S ;'", &["the rule \"grammar\""]),
        ("arithmetic = 'len(out) < 0'", &["the rule \"arithmetic\""]),
        ("name = 'both'\nmust-have = ['ab']\nmust-not-have = ['b']", &["the rule \"both\""]),
        ("[[any]]\npattern = 'a[^ab]'\n[[any]]\npattern = 'a'", &[]),
        (
            "[[all]]\npattern = 'a*'\n[[all]]\narithmetic = 'count(out, \"b\") = 1'",
            &["all of the rules together"],
        ),
        ("[[all]]\npattern = 'a*'\n[[all]]\narithmetic = 'len(out) = 2'", &[]),
        // For some inputs an output satisfies it.
        ("arithmetic = 'len(out) = len( in ) - 1'", &[]),
    ] {
        assert_eq!(rules(text, &vocabulary).unsatisfiable(), expected, "{text}");
    }
}
