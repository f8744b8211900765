//! Rules for networks that write text in pieces: they apply to the text, and blame pieces.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;

use cajole_core::constraints::{Automaton, Spelling, State, Trie};
use cajole_core::{Constraint, Symbol};
use cajole_rules::{Rules, Subject, Vocabulary};
use proptest::prelude::*;
use regex::Regex;

/// Pieces of text, including halves of characters. The last writes nothing.
const PIECES: [&[u8]; 9] =
    [b"a", b"ab", b" ", b"b", b" the", b"\xc3", b"\xa9", "日".as_bytes(), b""];

/// The same where the text begins, without the blank.
const FIRST: [&[u8]; 9] = [b"a", b"ab", b"", b"b", b"the", b"\xc3", b"\xa9", "日".as_bytes(), b""];

fn vocabulary(differs: bool) -> Arc<Vocabulary> {
    let names = PIECES.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let silent = PIECES.iter().map(|bytes| bytes.is_empty()).collect();
    let first = differs.then(|| Trie::new(FIRST));
    Arc::new(Vocabulary::of_pieces(names, Spelling { later: Trie::new(PIECES), first, silent }))
}

fn input(text: &str) -> Subject {
    Subject::new(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), text.into())
}

fn rules(text: &str, vocabulary: &Arc<Vocabulary>) -> Rules {
    Rules::parse("here", text, None, vocabulary).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The bytes of an output, by definition.
fn bytes(y: &[Symbol], differs: bool) -> Vec<u8> {
    let written = y.iter().position(|&s| s != 8).unwrap_or(0);
    let spell = |(t, &s): (usize, &Symbol)| match differs && t <= written {
        true => FIRST[s as usize],
        false => PIECES[s as usize],
    };
    y.iter().enumerate().flat_map(spell).copied().collect()
}

/// Every output of up to `max_len` pieces.
fn outputs(max_len: u32) -> impl Iterator<Item = Vec<Symbol>> {
    (0..=max_len).flat_map(|len| {
        (0..9u32.pow(len)).map(move |code| (0..len).map(|k| code / 9u32.pow(k) % 9).collect())
    })
}

/// Compares a rule with its meaning, `holds`, on texts that are UTF-8; other texts violate it if
/// `is_strict`. Faults add up to `g`, and the automaton has exactly the feasible outputs.
fn check(text: &str, is_strict: bool, x: &Subject, holds: impl Fn(&str) -> bool) {
    for differs in [false, true] {
        let vocabulary = vocabulary(differs);
        let rules = rules(text, &vocabulary);
        let automaton = rules.automaton(x);
        for y in outputs(3) {
            let bytes = bytes(&y, differs);
            let violation = rules.check(x, &y);
            let expected = match str::from_utf8(&bytes) {
                Ok(text) => Some(holds(text)),
                Err(_) => is_strict.then_some(false),
            };
            let feasible = violation.is_satisfied();
            assert!(expected.is_none_or(|expected| expected == feasible), "{text}: {bytes:?}");
            let faults = rules.explain(x, &y);
            let told: f32 = faults.iter().map(|fault| fault.cost).sum();
            assert!((told - violation.total()).abs() <= 1e-4 * told, "{text}: {faults:?}");
            for fault in &faults {
                assert!(fault.at.start < fault.at.end && fault.at.end <= y.len() + 1, "{fault:?}");
            }
            if let Some(automaton) = &automaton {
                assert_eq!(automaton.contains(&y), feasible, "{text}: {bytes:?}");
            }
        }
        if let Some(automaton) = automaton {
            check_masks(&*automaton);
        }
    }
}

/// Checks that the listed successors of a state are those of each symbol.
fn check_masks(automaton: &dyn Automaton) {
    let (mut seen, mut open) = (HashSet::new(), vec![automaton.start()]);
    while let Some(state) = open.pop().filter(|_| seen.len() < 30) {
        let mut listed: Vec<(Symbol, State)> = Vec::new();
        automaton.each_next(state, &mut |symbol, to| listed.push((symbol, to)));
        listed.sort_unstable();
        let tried = (0..9).filter_map(|s| Some((s, automaton.next(state, s)?)));
        assert_eq!(listed, tried.collect::<Vec<_>>());
        open.extend(listed.into_iter().map(|(_, to)| to).filter(|to| seen.insert(*to)));
    }
}

#[test]
fn patterns_are_over_characters() {
    for pattern in ["(ab)*", "a.b", ".{3}", "é+|the( the)?", "[^a]*", r"(\w+ ?)*"] {
        let regex = Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap();
        check(&format!("pattern = '{pattern}'"), true, &input(""), |text| regex.is_match(text));
    }
}

#[test]
fn grammars_and_expressions_are_over_characters() {
    check(r#"symbols = '"ab"* . "é"?'"#, true, &input(""), |text| {
        Regex::new("\\A(ab)*(?s:.)é?\\z").unwrap().is_match(text)
    });
    let nested = "grammar = '''s = \"a\" s \"b\" | . | /[0-9é]+/'''";
    check(nested, true, &input(""), |text| {
        let inner = text.trim_start_matches('a').trim_end_matches('b');
        let inner = Regex::new(r"\A[0-9é]+\z").unwrap().is_match(inner);
        (0..=text.len() / 2).any(|n| {
            let Some(rest) = text.strip_prefix(&"a".repeat(n)) else { return false };
            let Some(rest) = rest.strip_suffix(&"b".repeat(n)) else { return false };
            rest.chars().count() == 1 || (inner && rest.chars().all(|c| c == 'é'))
        })
    });
}

#[test]
fn phrases_are_found_across_pieces() {
    let text = "must-have = ['ab']\nmust-not-have = ['é', ' t']";
    check(text, false, &input(""), |text| {
        text.contains("ab") && !text.contains('é') && !text.contains(" t")
    });
}

#[test]
fn rules_may_be_over_words() {
    let text = "must-have = ['the']\nmust-not-have = ['a ab']\nwords = true";
    check(text, false, &input(""), |text| {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        words.contains(&"the") && !words.windows(2).any(|pair| pair == ["a", "ab"])
    });
    check("symbols = '\"the\"* .'\nwords = true", false, &input(""), |text| {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        words.split_last().is_some_and(|(_, before)| before.iter().all(|word| *word == "the"))
    });
}

#[test]
fn formulas_count_characters_words_and_texts() {
    let x = input("a the é");
    let words = |text: &str| text.split_ascii_whitespace().count();
    check("arithmetic = 'len(out) = 4'", false, &x, |text| text.chars().count() == 4);
    check("arithmetic = 'len(out) < len(in)'", false, &x, |text| text.chars().count() < 7);
    check("arithmetic = 'len(words(out)) = len(words(in)) - 1'", false, &x, |t| words(t) == 2);
    check("arithmetic = 'count(out, \"ab\") = 2'", false, &x, |t| t.matches("ab").count() == 2);
    check(
        "arithmetic = 'count(words(out), \"the\") = count(words(in), \"the\")'",
        false,
        &x,
        |t| t.split_ascii_whitespace().filter(|word| *word == "the").count() == 1,
    );
    check(
        "arithmetic = '2*len(words(out)) >= len(out) and count(out, \"é\") <= 1'",
        false,
        &x,
        |t| 2 * words(t) >= t.chars().count() && t.matches('é').count() <= 1,
    );
}

#[test]
fn rules_are_combined_over_the_same_text() {
    let text = "[[any]]\npattern = 'a*'\n[[any]]\nall = [{must-have = ['b']}, {arithmetic = 'len(out) = 2'}]";
    check(text, false, &input(""), |text| {
        text.chars().all(|c| c == 'a') || (text.contains('b') && text.chars().count() == 2)
    });
}

#[test]
fn pieces_are_blamed_for_what_they_write() {
    let vocabulary = vocabulary(true);
    let rules = rules("pattern = 'the ab é'\ndivide-by = 'output'", &vocabulary);
    // "the", " ", "a", " ", "é" in two halves
    let y = [4, 2, 0, 2, 5, 6];
    let [fault] = &rules.explain(&input(""), &y)[..] else { panic!("one letter is missing") };
    assert_eq!((fault.at.clone(), fault.cost), (3..4, 1.0 / 7.0));
    assert_eq!(fault.message, "pattern: something is missing before character 5");
    let y = [4, 2, 1, 2, 3];
    let faults = rules.explain(&input(""), &y);
    // "é" has two bytes, of which "b" can be one.
    assert_eq!(faults.iter().map(|f| f.at.clone()).collect::<Vec<_>>(), [4..5, 4..5]);
    assert_eq!(faults[1].message, "pattern: character 7: \"b\" does not fit here");
}

#[test]
fn rules_about_tags_or_symbols_say_what_they_need() {
    let vocabulary = vocabulary(false);
    let error =
        |text: &str| Rules::parse("here", text, None, &vocabulary).err().unwrap().to_string();
    assert!(error("bio = true").contains("needs BIO tags"), "{}", error("bio = true"));
    let letters = Arc::new(Vocabulary::new(["a", "b"], ""));
    let error = |text: &str| Rules::parse("here", text, None, &letters).err().unwrap().to_string();
    let words = error("must-have = ['a']\nwords = true");
    assert!(words.contains("\"words\" needs a network that writes text in pieces"), "{words}");
    let words = error("arithmetic = 'len(words(out)) = 1'");
    assert!(words.contains("column 5: `words` needs a network that writes text"), "{words}");
    assert!(error("grammar = 's = /a/ ;'").contains("/a/ must be in a grammar of a network"));
}

#[test]
#[cfg(unix)]
fn checkers_see_characters() {
    let folder = tempfile::tempdir().unwrap();
    // Objects to the third character.
    let script = "while read line; do echo \"$line\" >> \"$1\"; \
                  echo '{\"loss\": 1, \"parts\": [{\"start\": 2, \"end\": 3, \"cost\": 1}]}'; done";
    let log = folder.path().join("log");
    let rule = format!(
        "checker = {{ command = ['sh', '-c', '''{script}''', 'sh', '{}'] }}",
        log.display()
    );
    let vocabulary = vocabulary(false);
    let rules = Rules::parse("here", &rule, Some(folder.path()), &vocabulary).unwrap();
    let [fault] = &rules.explain(&input("x"), &[7, 0, 5, 6, 3])[..] else { panic!("one part") };
    assert_eq!(fault.at, 2..4, "both halves of the character");
    assert!(fault.message.contains("\"é\" at character 2"), "{}", fault.message);
    let asked = fs::read_to_string(log).unwrap();
    assert!(asked.contains(r#""output":"日aéb","symbols":["日","a","é","b"]"#), "{asked}");
}

proptest! {
    #[test]
    fn random_outputs_of_random_rules(
        y in prop::collection::vec(0..9u32, 0..12),
        pattern in "(a|b|ab|é|the| |日|[ab]\\*|\\.){1,4}",
        n in 0..9usize,
    ) {
        let vocabulary = vocabulary(true);
        let text = format!("[[all]]\npattern = '({pattern})*'\n[[all]]\narithmetic = 'len(out) <= {n}'");
        let rules = rules(&text, &vocabulary);
        let x = input("");
        let written = vocabulary.text(&y);
        let regex = Regex::new(&format!(r"\A(?:({pattern})*)\z")).unwrap();
        if !written.contains(char::REPLACEMENT_CHARACTER) {
            let expected = regex.is_match(&written) && written.chars().count() <= n;
            prop_assert_eq!(rules.check(&x, &y).is_satisfied(), expected, "{:?}", written);
        }
        let automaton = rules.automaton(&x).unwrap();
        prop_assert_eq!(automaton.contains(&y), rules.check(&x, &y).is_satisfied());
    }
}
