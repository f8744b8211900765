use proptest::prelude::*;

use super::*;
use crate::oracle::{check_automaton, check_cost, letters, strings};

const LETTERS: &str = "abc";

fn vocabulary() -> Vocabulary {
    Vocabulary::new(LETTERS.chars(), "")
}

/// An input and an output as text, with counting helpers.
#[derive(Clone, Copy)]
struct Counted<'t> {
    x: &'t str,
    y: &'t str,
}

impl Counted<'_> {
    fn x(self, c: char) -> i64 {
        self.x.matches(c).count() as i64
    }

    fn y(self, c: char) -> i64 {
        self.y.matches(c).count() as i64
    }

    fn m(self) -> i64 {
        self.x.len() as i64
    }

    fn n(self) -> i64 {
        self.y.len() as i64
    }
}

/// A comparison in Rust: how far off it is, and whether it holds.
type Measure = fn(Counted) -> (i64, bool);

/// A formula, and each of its comparisons in Rust.
struct Case {
    text: &'static str,
    comparisons: &'static [Measure],
    has_automaton: bool,
}

const CASES: &[Case] = &[
    Case {
        text: r#"count(out,"a") = 3*count(in,"a")"#,
        comparisons: &[|s| ((s.y('a') - 3 * s.x('a')).abs(), s.y('a') == s.x('a') * 3)],
        has_automaton: true,
    },
    Case {
        text: "len(out)<=2*len(in)+1",
        comparisons: &[|s| ((s.n() - 2 * s.m() - 1).max(0), s.n() <= 2 * s.m() + 1)],
        has_automaton: true,
    },
    Case {
        text: r#"count(out,"b") == count(out,"c") and len(out) >= 1"#,
        comparisons: &[
            |s| ((s.y('b') - s.y('c')).abs(), s.y('b') == s.y('c')),
            |s| ((1 - s.n()).max(0), s.n() >= 1),
        ],
        has_automaton: false,
    },
    // The length bounds a difference that can move both ways.
    Case {
        text: r#"count(out,"b") == count(out,"c") and len(out) < 5 and 0 != count(out,"b")"#,
        comparisons: &[
            |s| ((s.y('b') - s.y('c')).abs(), s.y('b') == s.y('c')),
            |s| ((s.n() - 4).max(0), s.n() < 5),
            |s| (i64::from(s.y('b') == 0), s.y.contains('b')),
        ],
        has_automaton: true,
    },
    Case {
        text: r#"2*count(out,"a") + 3*count(out,"b") = len(in) + 5"#,
        comparisons: &[|s| {
            let (l, r) = (2 * s.y('a') + 3 * s.y('b'), s.m() + 5);
            ((l - r).abs(), l == r)
        }],
        has_automaton: true,
    },
    Case {
        text: r#"-(len(out) - count(out,"a"))*count(in,"b") > -len(in) - 1"#,
        comparisons: &[|s| {
            let (l, r) = (-(s.n() - s.y('a')) * s.x('b'), -s.m() - 1);
            ((r + 1 - l).max(0), l > r)
        }],
        has_automaton: true,
    },
    Case {
        text: r#"len(out) - len(in) - 2 != - -1*count(in,"a")"#,
        comparisons: &[|s| {
            let same = s.n() - s.m() - 2 == s.x('a');
            (i64::from(same), !same)
        }],
        has_automaton: true,
    },
    Case {
        text: r#"len(in) < 2 and len(out) >= len(in)*count(in,"a")*1"#,
        comparisons: &[
            |s| ((s.m() - 1).max(0), s.m() < 2),
            |s| ((s.m() * s.x('a') - s.n()).max(0), s.n() >= s.m() * s.x('a')),
        ],
        has_automaton: true,
    },
    Case {
        text: r#"3 > len(out)-count(in,"?") and count(out,"c")+2 > 2"#,
        comparisons: &[
            |s| ((s.n() - 2).max(0), s.n() < 3),
            |s| ((1 - s.y('c')).max(0), s.y.contains('c')),
        ],
        has_automaton: true,
    },
];

#[test]
fn formulas_and_automata_agree_with_rust_predicates() {
    let vocabulary = vocabulary();
    for case in CASES {
        let plain = Formula::parse(case.text, &vocabulary, false).expect(case.text);
        let squared = Formula::parse(case.text, &vocabulary, true).expect(case.text);
        for x in strings(2, 3).map(|x| vocabulary.text(&x)) {
            let off = |y: &[Symbol]| -> Vec<(i64, bool)> {
                let y = vocabulary.text(y);
                case.comparisons.iter().map(|of| of(Counted { x: &x, y: &y })).collect()
            };
            let subject = letters(&x);
            for y in strings(3, 6) {
                let off = off(&y);
                assert!(off.iter().all(|&(off, holds)| (off == 0) == holds), "{}", case.text);
                check_cost(&plain, &subject, &y, off.iter().map(|(d, _)| d).sum::<i64>() as f32);
                let squares: i64 = off.iter().map(|(d, _)| d * d).sum();
                check_cost(&squared, &subject, &y, squares as f32);
            }
            let automaton = plain.automaton(&subject);
            assert_eq!(automaton.is_some(), case.has_automaton, "{} for {x:?}", case.text);
            if let Some(automaton) = automaton {
                check_automaton(&*automaton, 7, |y| off(y).iter().all(|&(_, holds)| holds));
            }
        }
    }
}

#[test]
fn faults_quote_the_comparison_and_give_both_values() {
    let vocabulary = vocabulary();
    let told = |text: &str, x: &str, y: &str| -> Vec<String> {
        let formula = Formula::parse(text, &vocabulary, false).unwrap();
        let y = vocabulary.read(y).unwrap();
        formula.explain(&letters(x), &y).into_iter().map(|fault| fault.message).collect()
    };
    let thrice = r#"count(out,"a") = 3*count(in,"a")"#;
    assert_eq!(told(thrice, "aa", "aab"), [format!("{thrice}: 2 is not 6")]);
    assert_eq!(told(thrice, "a", "aaa"), [""; 0]);
    let both = r#" len(out)<= 1  and len(out) >= 2*len(in) "#;
    let expected = ["len(out)<= 1: 2 is more than 1", "len(out) >= 2*len(in): 2 is less than 4"];
    assert_eq!(told(both, "ab", "ab"), expected);
    let rest = "len(out) < 2 and len(out) > 2 and len(out) != 2";
    let expected = [
        "len(out) < 2: 2 is not less than 2",
        "len(out) > 2: 2 is not more than 2",
        "len(out) != 2: both are 2",
    ];
    assert_eq!(told(rest, "", "ab"), expected);
}

#[test]
fn names_may_have_quotes() {
    let vocabulary = Vocabulary::new([r#"""#, r"\", r"\n", "日"], "");
    let text =
        r#"count(out,"\"") = 1 and count(out, "\\")=2 and count(out,"\n")=3 and count(out,"日")=4"#;
    let formula = Formula::parse(text, &vocabulary, false).unwrap();
    check_cost(&formula, &letters(""), &[0, 1, 1, 2, 2, 2, 3, 3, 3, 3], 0.0);
    check_cost(&formula, &letters(""), &[0, 1, 1, 2, 2, 2, 3], 3.0);
}

#[test]
fn invalid_formulas_are_rejected() {
    let error = |text: &str| Formula::parse(text, &vocabulary(), false).unwrap_err().to_string();
    let check = |text: &str, expected: &str| assert_eq!(error(text), expected, "{text}");
    check("", "column 1: expected a number, `len`, `count`, `-` or `(`, found the end");
    check("len(out) 3", "column 10: expected an operator or a comparison, found `3`");
    check("1 < 2 < 3", "column 7: expected an operator, `and`, or the end, found `<`");
    check("len(y) = 1", "column 5: expected `in` or `out`, found `y`");
    check("len out = 1", "column 5: expected `(`, found `out`");
    check("(1 = 1)", "column 4: expected an operator or `)`, found `=`");
    check("count(in,a) = 1", "column 10: expected a symbol in double quotes, found `a`");
    check("count(in) = 1", "column 9: expected `,` and a symbol in quotes, found `)`");
    check("1 = 2 and", "column 10: expected a number, `len`, `count`, `-` or `(`, found the end");
    check("1 ≤ 2", "column 3: expected an operator or a comparison, found `≤`");
    check(r#"count(out,"é") = 1"#, r#"column 11: the network has no output symbol "é""#);
    check(r#"1 = count(in,"é\""#, r#"column 14: "é\" has no closing quote"#);
    check("1 < 99999999999999999999", "column 5: 99999999999999999999 is too large");
    let product = "9223372036854775807*2";
    check(&format!("1 < {product}"), &format!("column 5: {product} is too large"));
    check(
        "1 + 2*len(out)*(1-len(out)) = 0",
        "column 5: 2*len(out)*(1-len(out)) multiplies the output by itself",
    );
    let deep = format!("{}1{} = 1", "(".repeat(10_000), ")".repeat(10_000));
    check(&deep, "column 65: terms are nested more than 64 deep");
    check(&format!("{}1 = 1", "-".repeat(10_000)), "column 65: terms are nested more than 64 deep");
}

#[test]
fn long_sums_are_not_deep() {
    let text = format!("len(out){} = 100000", "+1*1".repeat(100_000));
    let formula = Formula::parse(&text, &vocabulary(), false).unwrap();
    check_cost(&formula, &letters(""), &[], 0.0);
    check_cost(&formula, &letters(""), &[0], 1.0);
}

#[test]
fn overflow_counts_as_a_violation() {
    let vocabulary = vocabulary();
    let max = i64::MAX;
    let parse = |text: String, squared| Formula::parse(&text, &vocabulary, squared).unwrap();
    // Fits for the empty input, but already overflows for a short one.
    let grows = parse(format!("len(in)*{max}*len(in) <= {max}*len(in)*len(in)"), false);
    check_cost(&grows, &letters(""), &[], 0.0);
    check_cost(&grows, &letters("aa"), &[], 1.0);
    assert!(grows.explain(&letters("aa"), &[])[0].message.ends_with("the numbers overflow"));
    assert!(grows.automaton(&letters("aa")).is_none());
    // Values of outputs may exceed 64 bits.
    let wide = parse(format!("{max}*len(out) = {max} + {max}*(len(out) - 1)"), false);
    check_cost(&wide, &letters(""), &[0; 9], 0.0);
    let far = parse(format!("{max}*len(out) <= -{max} - 1"), true);
    let g = far.check(&letters(""), &[0; 9]).total();
    assert!(g.is_finite() && 1e30 < g, "{g}");
    let many = parse("len(out) >= 1000000".to_owned(), false);
    assert!(many.automaton(&letters("")).is_none());
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "len", "count", "in", "out", "(", ")", ",", "\"a\"", "\"", "\\", "1", "99", "+", "-",
                "*", "=", "<=", "!=", "and", " ", "é", "len(out)", "count(in,\"b\")",
            ]),
            0..12,
        ),
    ) {
        let text = parts.concat();
        if let Ok(formula) = Formula::parse(&text, &vocabulary(), false) {
            let x = letters("ab");
            let y = [0, 1, 2];
            let told: f32 = formula.explain(&x, &y).iter().map(|fault| fault.cost).sum();
            prop_assert_eq!(formula.check(&x, &y).total(), told, "{}", text);
        }
    }

    /// Compares automata with direct evaluation on random linear formulas.
    #[test]
    fn random_linear_comparisons(
        weights in prop::array::uniform3(-2..4i64),
        other in prop::array::uniform3(0..3i64),
        bound in -4..5i64,
        relation in 0..6usize,
        max_len in 0..5i64,
    ) {
        let vocabulary = vocabulary();
        let sign = ["=", "!=", "<", "<=", ">", ">="][relation];
        let holds = |l: i64, r: i64| [l == r, l != r, l < r, l <= r, l > r, l >= r][relation];
        let form = |w: [i64; 3]| {
            let term = |(w, c): (i64, char)| format!("({w})*count(out,\"{c}\")");
            w.into_iter().zip(LETTERS.chars()).map(term).collect::<Vec<_>>().join(" + ")
        };
        let text = format!(
            "{} {sign} {} + {bound} and len(out) <= {max_len}", form(weights), form(other)
        );
        let formula = Formula::parse(&text, &vocabulary, false).unwrap();
        let is_feasible = |y: &[Symbol]| {
            let sum = |w: [i64; 3]| y.iter().map(|&s| w[s as usize]).sum::<i64>();
            holds(sum(weights), sum(other) + bound) && y.len() as i64 <= max_len
        };
        let x = letters("");
        for y in strings(3, 5) {
            prop_assert_eq!(formula.check(&x, &y).is_satisfied(), is_feasible(&y), "{} {:?}", text, y);
        }
        let automaton = formula.automaton(&x).expect("the length is bounded");
        check_automaton(&*automaton, 5, is_feasible);
    }
}
