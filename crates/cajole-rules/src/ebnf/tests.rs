use std::sync::Arc;

use cajole_core::constraints::{Automaton, ContextFree, Edit, EditDistance};
use cajole_core::{Constraint, Symbol};
use proptest::prelude::*;

use super::*;
use crate::named::{NamedGrammar, NamedRegular};
use crate::subject::Subject;

fn letters() -> Arc<Vocabulary> {
    Arc::new(Vocabulary::new(["a", "b", "(", ")", "+"], ""))
}

/// Every text of up to `max_len` letters.
fn texts(letters: &str, max_len: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut longest = 0..1;
    for _ in 0..max_len {
        let longer = all[longest.clone()]
            .iter()
            .flat_map(|text| letters.chars().map(move |letter| text.clone() + &letter.to_string()));
        let longer: Vec<String> = longer.collect();
        longest = all.len()..all.len() + longer.len();
        all.extend(longer);
    }
    all
}

fn is_member(grammar: &Grammar, text: &str) -> bool {
    let constraint = ContextFree::new(grammar.clone());
    constraint.check(&(), &letters().read(text).unwrap()).is_satisfied()
}

/// Compares a pattern, parsed as such and as the only rule of a grammar, with its meaning.
fn check(pattern: &str, is_meant: impl Fn(&str) -> bool) {
    let language = language(pattern, &letters()).unwrap().automaton(5);
    let grammar = grammar(&format!("s = {pattern} ;"), None, &letters()).unwrap();
    for text in texts("ab", 5) {
        let y = letters().read(&text).unwrap();
        assert_eq!(language.contains(&y), is_meant(&text), "{text:?} in {pattern}");
        assert_eq!(is_member(&grammar, &text), is_meant(&text), "{text:?} in s = {pattern}");
    }
}

#[test]
fn patterns_mean_what_they_say() {
    check("'ab'", |y| y == "ab");
    check("\"a\", 'b'", |y| y == "ab");
    check("'a' 'b' | 'b' 'a'", |y| y == "ab" || y == "ba");
    check("'a' ('b' | 'a') 'a'", |y| y == "aba" || y == "aaa");
    check("'a' [ 'b' ]", |y| y == "a" || y == "ab");
    check("'ab'?", |y| y.is_empty() || y == "ab");
    check("{ 'ab' }", |y| y == "ab".repeat(y.len() / 2));
    check("'ab'*", |y| y == "ab".repeat(y.len() / 2));
    check("'a'+", |y| !y.is_empty() && !y.contains('b'));
    check("'a'+?", |y| !y.contains('b'));
    check("'a'?*+", |y| !y.contains('b'));
    check(". 'b' .", |y| y.len() == 3 && y[1..].starts_with('b'));
    check("", str::is_empty);
    check("| 'a'", |y| y.is_empty() || y == "a");
    check("''", str::is_empty);
    check("(* 'b' *) 'a' # 'b'\n", |y| y == "a");
    check("('a' 'b'+)+", |y| y.starts_with('a') && y.ends_with('b') && !y.contains("aa"));
}

#[test]
fn rules_may_nest_and_end_without_a_semicolon() {
    let text = "
        sum ::= term { '+' term }      # the first is the start
        term-1 := 'a' | 'b'
        term = term-1 | '(' sum ')' ;  (* over
                                          two lines *)
    ";
    let sums = grammar(text, None, &letters()).unwrap();
    for member in ["a", "a+b", "(a)", "(a+(b+a))+b"] {
        assert!(is_member(&sums, member), "{member}");
    }
    for other in ["", "+", "a+", "(a", "ab", "()", "(a+b))"] {
        assert!(!is_member(&sums, other), "{other}");
    }
    let terms = grammar(text, Some("term-1"), &letters()).unwrap();
    assert!(is_member(&terms, "b") && !is_member(&terms, "a+b"));
    assert_eq!(terms.n_productions(), 2);
}

#[test]
fn errors_report_their_place() {
    let said = |text: &str| grammar(text, None, &letters()).unwrap_err().to_string();
    assert_eq!(said(""), "line 1, column 1: expected a rule name, found the end");
    assert_eq!(said("s 'a'"), "line 1, column 3: expected \"=\", found the terminal \"a\"");
    assert_eq!(said("s = ('a' ;"), "line 1, column 10: expected \")\", found \";\"");
    assert_eq!(
        said("s = 'a' )"),
        "line 1, column 9: expected \";\" or more of the rule, found \")\""
    );
    assert_eq!(
        said("s = 'a',;"),
        "line 1, column 9: expected an expression after \",\", found \";\""
    );
    assert_eq!(said("s = 'a'\nt = 'ab"), "line 2, column 5: \"'ab\" is never closed");
    assert_eq!(said("s = (* 'a' ;"), "line 1, column 5: \"(*\" is never closed");
    assert_eq!(
        said("s = %"),
        "line 1, column 5: expected a rule, a terminal or a bracket, found '%'"
    );
    assert_eq!(said("s = 'a' |\n  t;"), "line 2, column 3: there is no rule \"t\"");
    assert_eq!(said("s = 'a'\ns = 'b'"), "line 2, column 1: the rule \"s\" is defined twice");
    assert_eq!(said("s = 'é' 'ac'"), "line 1, column 5: the network has no output symbol \"é\"");
    assert_eq!(said("s = 'ac'"), "line 1, column 5: the network has no output symbol \"c\"");
    let unknown = grammar("s = 'a'", Some("t"), &letters()).unwrap_err();
    assert_eq!(unknown.to_string(), "line 1, column 1: there is no rule \"t\"");
    let named = language("'a' b", &letters()).unwrap_err();
    assert_eq!(
        named.to_string(),
        "line 1, column 5: \"b\" is not in quotes, and a pattern has no rules"
    );
}

#[test]
fn hostile_texts_do_not_panic() {
    let nested = |n: usize| "(".repeat(n) + "'a'" + &")".repeat(n);
    assert!(language(&nested(MAX_DEPTH), &letters()).is_ok());
    let deep = language(&nested(MAX_DEPTH + 1), &letters()).unwrap_err();
    assert_eq!(deep.problem, Problem::TooDeep);
    assert_eq!(deep.place, Place { line: 1, column: MAX_DEPTH + 1 });
    assert!(language(&"[".repeat(1_000_000), &letters()).is_err());
    assert!(language(&("'a'".to_owned() + &"+".repeat(1_000_000)), &letters()).is_ok());
    let doubled = (0..100).fold("'a'".to_owned(), |inner, _| format!("({inner})+"));
    assert!(matches!(language(&doubled, &letters()).unwrap_err().problem, Problem::TooLarge(..)));
    assert!(grammar(&format!("s = {doubled}"), None, &letters()).is_ok());
    let wide = ".* 'a' ".to_owned() + &". ".repeat(30);
    let vocabulary = letters();
    let states = NamedRegular::read(&wide, &vocabulary).unwrap_err();
    assert!(matches!(states.problem, Problem::TooLarge(_, "states")), "{states}");
    let rules: String = (0..64).map(|k| format!("r{k} = r{0} r{0};\n", k + 1)).collect();
    let huge = grammar(&(rules + "r64 = 'a';"), None, &vocabulary).unwrap_err();
    assert!(matches!(huge.problem, Problem::Grammar(_)), "{huge}");
}

#[test]
fn faults_name_symbols_and_add_up() {
    let vocabulary = letters();
    let subject = Subject::default();
    let rule = NamedGrammar::read("s = 'a' s 'b' | '+' ;", None, &vocabulary).unwrap();
    let said = |rule: &dyn Constraint<Subject>, text: &str| {
        let y = vocabulary.read(text).unwrap();
        let faults = rule.explain(&subject, &y);
        let costs = faults.iter().fold(0.0, |sum, fault| sum + fault.cost);
        assert_eq!(costs, rule.check(&subject, &y).total(), "{text}");
        faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>()
    };
    assert!(said(&rule, "a+b").is_empty());
    assert_eq!(said(&rule, "aa+b)"), ["position 4: \")\" does not fit here"]);
    assert_eq!(said(&rule, ""), ["something is missing at the end"]);
    let pattern = NamedRegular::read("'ab' '+'", &vocabulary).unwrap();
    assert_eq!(said(&pattern, "b+"), ["something is missing before position 0"]);
    assert_eq!(said(&pattern, "a(+"), ["position 1: \"(\" does not fit here"]);
    let none = NamedGrammar::read("s = 'a' s", None, &vocabulary).unwrap();
    assert_eq!(said(&none, "aa"), ["no output satisfies this rule"]);
}

proptest! {
    #[test]
    fn any_text_parses_or_is_rejected(text in "[ab=|,;.()\\[\\]{}*+?'\"# \n\u{e9}-]{0,40}") {
        let vocabulary = letters();
        let _ = grammar(&text, None, &vocabulary);
        if let Ok(rule) = NamedRegular::read(&text, &vocabulary) {
            // A pattern is also a valid right-hand side, with the same meaning.
            let grammar = grammar(&format!("s = {text}\n;"), None, &vocabulary).unwrap();
            for text in texts("ab", 3) {
                let y: Vec<Symbol> = vocabulary.read(&text).unwrap();
                let is_match = rule.check(&Subject::default(), &y).is_satisfied();
                prop_assert_eq!(is_match, is_member(&grammar, &text), "{}", text);
            }
        }
    }

    #[test]
    fn patterns_and_grammars_agree_on_distance(pattern in "(['][ab]{1,2}['][*+?]?[|]? ){1,4}") {
        let vocabulary = letters();
        let regular = NamedRegular::read(&pattern, &vocabulary).unwrap();
        let nested = ContextFree::new(grammar(&format!("s = {pattern};"), None, &vocabulary).unwrap());
        for text in texts("ab", 4) {
            let y = vocabulary.read(&text).unwrap();
            let edits: Vec<Edit> = nested.edits(&y).unwrap();
            let g = regular.check(&Subject::default(), &y).total();
            prop_assert_eq!(edits.len() as f32, g, "{} to {}", text, pattern);
        }
    }
}
