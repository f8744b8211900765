//! Splits a formula into words, signs, numbers and quotations.

use std::ops::Range;

use cajole_files::column;

use super::FormulaError;

/// A token and its place.
pub(super) enum Lexeme {
    Number {
        at: Range<usize>,
        value: i64,
    },
    Quoted {
        at: Range<usize>,
        name: String,
    },
    /// A word or a sign: anything else.
    Other {
        at: Range<usize>,
    },
}

impl Lexeme {
    pub(super) fn at(&self) -> Range<usize> {
        let (Lexeme::Number { at, .. } | Lexeme::Quoted { at, .. } | Lexeme::Other { at }) = self;
        at.clone()
    }
}

/// The lexemes of `text`, without white space.
pub(super) fn lexemes(text: &str) -> Result<Vec<Lexeme>, FormulaError> {
    let (mut lexemes, mut begin) = (Vec::new(), 0);
    while let Some(c) = text[begin..].chars().next() {
        let rest = &text[begin..];
        let run = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let len = if c.is_whitespace() {
            begin += c.len_utf8();
            continue;
        } else if c == '"' {
            quoted(rest).ok_or_else(|| unclosed(text, begin))?
        } else if c.is_ascii_digit() {
            run(|c| c.is_ascii_digit())
        } else if c.is_alphabetic() {
            run(|c| c.is_alphanumeric() || c == '_')
        } else if ["==", "!=", "<=", ">="].iter().any(|sign| rest.starts_with(sign)) {
            2
        } else {
            c.len_utf8()
        };
        let at = begin..begin + len;
        lexemes.push(match c {
            '"' => Lexeme::Quoted { name: unescaped(&rest[1..len - 1]), at },
            '0'..='9' => Lexeme::Number { value: number(text, &at)?, at },
            _ => Lexeme::Other { at },
        });
        begin += len;
    }
    Ok(lexemes)
}

/// The length of the quotation at the start of `rest`, if it is closed.
fn quoted(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    let ends = |&(at, c): &(usize, char)| {
        let ends = c == '"' && !is_escaped && 0 < at;
        is_escaped = c == '\\' && !is_escaped;
        ends
    };
    rest.char_indices().find(ends).map(|(at, _)| at + 1)
}

/// The content of a quotation, with escaped quotes and backslashes resolved.
fn unescaped(text: &str) -> String {
    let (mut name, mut chars) = (String::new(), text.chars().peekable());
    while let Some(c) = chars.next() {
        let escaped = chars.next_if(|&next| c == '\\' && matches!(next, '"' | '\\'));
        name.push(escaped.unwrap_or(c));
    }
    name
}

fn number(text: &str, at: &Range<usize>) -> Result<i64, FormulaError> {
    let digits = &text[at.clone()];
    let too_large =
        |_| FormulaError::TooLarge { column: column(text, at.start), text: digits.to_owned() };
    digits.parse().map_err(too_large)
}

fn unclosed(text: &str, begin: usize) -> FormulaError {
    FormulaError::Unclosed { column: column(text, begin), text: text[begin..].to_owned() }
}
