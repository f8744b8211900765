//! Generated pairs: expressions such as `a + b * c - d`, and their fully bracketed form, `( ( a + (
//! b * c ) ) - d )`.
//!
//! They are for trying things out without data. The gold output follows from operator precedence:
//! `^` binds more tightly than `*` and `/`, which bind more tightly than `+` and `-`. All are
//! left-associative except `^`, which is right-associative. A network trained on short expressions
//! fails on longer ones, and its errors are visible without the gold output: unmatched brackets,
//! lost operands.

use std::ops::RangeInclusive;
use std::str::FromStr;

use cajole_nn::random::Random;

use super::corpus::Pair;

/// The operands.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The split of an expression. Splits never overlap, whatever the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// 80 % of all expressions.
    Train,
    /// 10 %.
    Dev,
    /// 10 %.
    Test,
}

/// The range of operand counts, within 2 to [`Operands::MOST`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operands(RangeInclusive<usize>);

/// Why a range of operands is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperandsError {
    /// It is not a number or a range.
    #[error("{text:?} is neither a number of operands nor a range of them such as 2..=8")]
    NoRange {
        /// The text.
        text: String,
    },
    /// It is out of bounds.
    #[error("{least}..={most} operands; expressions have 2 to {MOST}", MOST = Operands::MOST)]
    Range {
        /// The minimum.
        least: usize,
        /// The maximum.
        most: usize,
    },
}

impl Operands {
    /// The maximum number of operands.
    pub const MOST: usize = 100;

    /// A range of operand counts.
    ///
    /// # Errors
    /// If the range is empty or out of bounds.
    pub fn new(range: RangeInclusive<usize>) -> Result<Self, OperandsError> {
        let (least, most) = (*range.start(), *range.end());
        match 2 <= least && least <= most && most <= Operands::MOST {
            true => Ok(Operands(range)),
            false => Err(OperandsError::Range { least, most }),
        }
    }
}

/// `7`, or `2..=8`.
impl FromStr for Operands {
    type Err = OperandsError;

    fn from_str(text: &str) -> Result<Self, OperandsError> {
        let (least, most) = text.split_once("..=").unwrap_or((text, text));
        match (least.trim().parse(), most.trim().parse()) {
            (Ok(least), Ok(most)) => Operands::new(least..=most),
            _ => Err(OperandsError::NoRange { text: text.to_owned() }),
        }
    }
}

/// Generates the first `n` pairs of a split for a seed, with uniformly distributed lengths. There
/// are few short expressions, so these repeat.
///
/// A pair depends only on the seed, the split, the lengths and its index, so a longer list begins
/// with the shorter one.
///
/// ```
/// use cajole_tasks::pairs::generated::{Operands, Split, generate};
///
/// let operands: Operands = "3".parse().unwrap();
/// let pair = generate(Split::Test, 4, &operands, 1).last().unwrap();
/// let (input, output) = (pair.input.join(" "), pair.output.join(" "));
/// assert_eq!(output.replace(['(', ')', ' '], ""), input.replace(' ', ""));
/// ```
pub fn generate(
    split: Split,
    n: usize,
    operands: &Operands,
    seed: u64,
) -> impl Iterator<Item = Pair> + use<> {
    let (least, most) = (*operands.0.start(), *operands.0.end());
    let pair = move |number: usize| {
        let mut random = Random::derive(seed, &[split as u64, number as u64]);
        let length = least + random.below(most - least + 1);
        loop {
            let expression = Expression::random(length, &mut random);
            if expression.split() == split {
                break Pair { input: expression.plain(), output: expression.bracketed() };
            }
        }
    };
    (0..n).map(pair)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

impl Operator {
    const ALL: [Operator; 5] =
        [Operator::Plus, Operator::Minus, Operator::Times, Operator::Over, Operator::Power];

    fn name(self) -> &'static str {
        match self {
            Operator::Plus => "+",
            Operator::Minus => "-",
            Operator::Times => "*",
            Operator::Over => "/",
            Operator::Power => "^",
        }
    }

    /// Its precedence.
    fn strength(self) -> u8 {
        match self {
            Operator::Plus | Operator::Minus => 0,
            Operator::Times | Operator::Over => 1,
            Operator::Power => 2,
        }
    }

    /// The minimum precedence of an operator inside its right operand.
    fn least_to_the_right(self) -> u8 {
        match self {
            Operator::Power => self.strength(),
            _ => self.strength() + 1,
        }
    }
}

/// Operator `i` is between operands `i` and `i + 1`.
#[derive(Clone, Debug)]
struct Expression {
    operands: Vec<usize>,
    operators: Vec<Operator>,
}

impl Expression {
    fn random(length: usize, random: &mut Random) -> Self {
        let operands = (0..length).map(|_| random.below(NAMES.len())).collect();
        let operator = |_| Operator::ALL[random.below(Operator::ALL.len())];
        Expression { operands, operators: (1..length).map(operator).collect() }
    }

    /// The split of an expression, which never changes.
    fn split(&self) -> Split {
        let operators = self.operators.iter().map(|&operator| operator as u64);
        let all: Vec<u64> = self.operands.iter().map(|&i| i as u64).chain(operators).collect();
        match Random::derive(0, &all).below(10) {
            0 => Split::Test,
            1 => Split::Dev,
            _ => Split::Train,
        }
    }

    fn plain(&self) -> Vec<String> {
        let none = vec![0; self.operands.len()];
        self.write(&none, &none)
    }

    fn bracketed(&self) -> Vec<String> {
        let n = self.operands.len();
        let mut climber =
            Climber { operators: &self.operators, at: 0, opens: vec![0; n], closes: vec![0; n] };
        climber.climb(0);
        self.write(&climber.opens, &climber.closes)
    }

    /// The symbols, with `opens` brackets before and `closes` brackets after each operand.
    fn write(&self, opens: &[usize], closes: &[usize]) -> Vec<String> {
        let mut symbols = Vec::new();
        for (i, &operand) in self.operands.iter().enumerate() {
            symbols.extend(std::iter::repeat_n("(", opens[i]));
            symbols.push(NAMES[operand]);
            symbols.extend(std::iter::repeat_n(")", closes[i]));
            symbols.extend(self.operators.get(i).map(|operator| operator.name()));
        }
        symbols.into_iter().map(str::to_owned).collect()
    }
}

/// Precedence climbing: finds the brackets around the operands of each operator.
struct Climber<'e> {
    operators: &'e [Operator],
    /// The index of the last operand read, which is also that of the next operator.
    at: usize,
    /// Opening brackets before each operand.
    opens: Vec<usize>,
    /// Closing brackets after each operand.
    closes: Vec<usize>,
}

impl Climber<'_> {
    /// Reads on while operators have at least this precedence.
    fn climb(&mut self, least: u8) {
        let first = self.at;
        while let Some(operator) = self.operators.get(self.at)
            && least <= operator.strength()
        {
            self.at += 1;
            self.climb(operator.least_to_the_right());
            self.opens[first] += 1;
            self.closes[self.at] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The brackets by definition: the operator applied last is the rightmost of the weakest, or
    /// the leftmost if these are powers; recurse on both sides.
    fn by_definition(infix: &[&str]) -> String {
        let last = ["+-", "*/"]
            .into_iter()
            .find_map(|kind| infix.iter().rposition(|symbol| kind.contains(symbol)));
        match last.or_else(|| infix.iter().position(|&symbol| symbol == "^")) {
            None => infix.concat(),
            Some(at) => {
                let (left, right) = (by_definition(&infix[..at]), by_definition(&infix[at + 1..]));
                format!("( {left} {} {right} )", infix[at])
            }
        }
    }

    fn operands(text: &str) -> Operands {
        text.parse().unwrap()
    }

    #[test]
    fn brackets_follow_operator_precedence() {
        for pair in generate(Split::Train, 2000, &operands("2..=14"), 3) {
            let input: Vec<&str> = pair.input.iter().map(String::as_str).collect();
            assert_eq!(pair.output.join(" "), by_definition(&input));
            let is_bracket = |symbol: &&String| *symbol == "(" || *symbol == ")";
            let rest: Vec<&String> = pair.output.iter().filter(|s| !is_bracket(s)).collect();
            assert!(rest.into_iter().eq(&pair.input), "the input without brackets");
        }
    }

    /// Evaluates a bracketed expression, consuming its symbols.
    fn value(symbols: &mut std::slice::Iter<'_, String>, of: &impl Fn(&str) -> f64) -> f64 {
        let symbol = symbols.next().unwrap();
        if symbol != "(" {
            return of(symbol);
        }
        let left = value(symbols, of);
        let operator = symbols.next().unwrap();
        let right = value(symbols, of);
        assert_eq!(symbols.next().unwrap(), ")");
        match operator.as_str() {
            "+" => left + right,
            "-" => left - right,
            "*" => left * right,
            "/" => left / right,
            _ => left.powf(right),
        }
    }

    #[test]
    fn values_agree_with_python() {
        use Operator::{Minus, Over, Plus, Power, Times};
        // With a = 2, b = 3, c = 4, as Python evaluates a - b - c, a ** b ** a, ...
        for (operators, expected) in [
            ([Minus, Minus].as_slice(), -5.0),
            (&[Over, Over], 2.0 / 3.0 / 4.0),
            (&[Power, Power], 2_417_851_639_229_258_349_412_352.0),
            (&[Plus, Times], 14.0),
            (&[Times, Plus], 10.0),
            (&[Times, Power], 162.0),
            (&[Minus, Plus], 3.0),
            (&[Over, Times], 8.0 / 3.0),
        ] {
            let expression = Expression { operands: vec![0, 1, 2], operators: operators.to_vec() };
            let output = expression.bracketed();
            let of = |name: &str| {
                [("a", 2.0), ("b", 3.0), ("c", 4.0)]
                    .into_iter()
                    .find(|(known, _)| *known == name)
                    .unwrap()
                    .1
            };
            let mut symbols = output.iter();
            assert_eq!(value(&mut symbols, &of), expected, "{}", output.join(" "));
            assert!(symbols.next().is_none());
        }
    }

    #[test]
    fn splits_share_no_expression() {
        let inputs = |split, seed| -> BTreeSet<Vec<String>> {
            generate(split, 3000, &operands("2..=3"), seed).map(|p| p.input).collect()
        };
        let [train, dev, test] =
            [(Split::Train, 1), (Split::Dev, 2), (Split::Test, 1)].map(|(s, seed)| inputs(s, seed));
        assert!(train.is_disjoint(&dev) && train.is_disjoint(&test) && dev.is_disjoint(&test));
        assert!(100 < dev.len() && 100 < test.len());
    }

    #[test]
    fn lengths_are_respected_and_longer_lists_extend_shorter_ones() {
        let range = operands("4..=6");
        let many: Vec<Pair> = generate(Split::Dev, 200, &range, 1).collect();
        let lengths: BTreeSet<usize> = many.iter().map(|pair| pair.input.len()).collect();
        assert!(lengths.into_iter().eq([7, 9, 11]));
        assert!(generate(Split::Dev, 50, &range, 1).eq(many[..50].iter().cloned()));
        assert!(generate(Split::Dev, 50, &range, 2).ne(many[..50].iter().cloned()));
        let longest = generate(Split::Test, 1, &operands("100"), 1).next().unwrap();
        assert_eq!(longest.input.len(), 199);
    }

    #[test]
    fn invalid_ranges_are_reported() {
        for text in ["1", "0..=3", "5..=4", "2..=101"] {
            let error = text.parse::<Operands>().unwrap_err();
            assert!(matches!(error, OperandsError::Range { .. }), "{text}");
        }
        for text in ["", "2..5", "two", "..=3", "-2"] {
            let error = text.parse::<Operands>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is neither")), "{error}");
        }
    }
}
