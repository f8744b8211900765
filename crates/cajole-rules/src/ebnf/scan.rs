//! Splits text into tokens.

use cajole_files::Place;

use super::{EbnfError, Problem};

/// A token and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'t> {
    pub(super) place: Place,
    pub(super) kind: Kind<'t>,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'t> {
    /// A rule name.
    Name(&'t str),
    /// The text between quotes.
    Quoted(&'t str),
    /// The regular expression between slashes.
    Pattern(&'t str),
    /// `=`, `:=` or `::=`.
    Defines,
    /// Any other punctuation.
    Sign(char),
    /// The end of the text.
    End,
}

impl Kind<'_> {
    /// The token as shown in messages.
    pub(super) fn describe(self) -> String {
        match self {
            Kind::Name(name) => format!("{name:?}"),
            Kind::Quoted(text) => format!("the terminal {text:?}"),
            Kind::Pattern(text) => format!("the pattern /{text}/"),
            Kind::Defines => "\"=\"".to_owned(),
            Kind::Sign(sign) => format!("{:?}", sign.to_string()),
            Kind::End => "the end".to_owned(),
        }
    }
}

/// The tokens of `text`, ending with [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, EbnfError> {
    let mut scanner = Scanner { rest: text, place: Place::START };
    let mut tokens = Vec::new();
    loop {
        scanner.skip_blanks()?;
        let place = scanner.place;
        let kind = scanner.token()?;
        tokens.push(Token { place, kind });
        if kind == Kind::End {
            return Ok(tokens);
        }
    }
}

struct Scanner<'t> {
    rest: &'t str,
    place: Place,
}

impl<'t> Scanner<'t> {
    fn token(&mut self) -> Result<Kind<'t>, EbnfError> {
        let Some(first) = self.rest.chars().next() else { return Ok(Kind::End) };
        for defines in ["::=", ":=", "="] {
            if self.rest.starts_with(defines) {
                self.take(defines.len());
                return Ok(Kind::Defines);
            }
        }
        match first {
            '"' | '\'' => self.quoted(first),
            '/' => self.pattern(),
            c if c.is_alphabetic() || c == '_' => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
                let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
                Ok(Kind::Name(self.take(end)))
            }
            c if "|,;.()[]{}*+?".contains(c) => {
                self.take(c.len_utf8());
                Ok(Kind::Sign(c))
            }
            c => {
                let (expected, found) = ("a rule, a terminal or a bracket", format!("{c:?}"));
                Err(Problem::Expected { expected, found }.at(self.place))
            }
        }
    }

    /// Text between quotes, which must close on the same line.
    fn quoted(&mut self, quote: char) -> Result<Kind<'t>, EbnfError> {
        let inner = &self.rest[1..];
        let line = inner.lines().next().unwrap_or("");
        match line.find(quote) {
            Some(end) => {
                let whole = self.take(end + 2);
                Ok(Kind::Quoted(&whole[1..=end]))
            }
            None => {
                let shown = quote.to_string() + line;
                Err(Problem::Unclosed(shown).at(self.place))
            }
        }
    }

    /// A regular expression between slashes, on one line; a slash within it has a backslash before.
    fn pattern(&mut self) -> Result<Kind<'t>, EbnfError> {
        let line = self.rest[1..].lines().next().unwrap_or("");
        let mut is_escaped = false;
        let closes = |&(_, c): &(usize, char)| {
            let closes = c == '/' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            closes
        };
        match line.char_indices().find(closes) {
            Some((end, _)) => {
                let whole = self.take(end + 2);
                Ok(Kind::Pattern(&whole[1..=end]))
            }
            None => Err(Problem::Unclosed(format!("/{line}")).at(self.place)),
        }
    }

    /// Skips blanks and comments.
    fn skip_blanks(&mut self) -> Result<(), EbnfError> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if self.rest.starts_with('#') {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(end);
            } else if self.rest.starts_with("(*") {
                let Some(end) = self.rest[2..].find("*)") else {
                    return Err(Problem::Unclosed("(*".to_owned()).at(self.place));
                };
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    /// Consumes the next `len` bytes.
    fn take(&mut self, len: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(len);
        self.place = self.place.after(taken);
        self.rest = rest;
        taken
    }
}
