//! The tokens of bracketed text, with their positions.
//!
//! A position is a plain value, so a reader can return to an earlier one.

/// A position in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'t> {
    pub(super) rest: &'t str,
    pub(super) line: usize,
}

pub(super) enum Token<'t> {
    Open,
    Close,
    Word(&'t str),
}

impl<'t> Scan<'t> {
    /// Skips the tree that begins here, stopping at the next line that begins with a bracket; also
    /// returns how many brackets are still open there.
    pub(super) fn skip_tree(mut self) -> (Self, usize) {
        let mut depth = 0;
        loop {
            let next = self.skip_blanks();
            let blanks = &self.rest[..self.rest.len() - next.rest.len()];
            if blanks.ends_with('\n') && next.rest.starts_with('(') {
                return (next, depth);
            }
            self = next;
            match self.token() {
                Some(Token::Open) => depth += 1,
                Some(Token::Close) => depth -= 1,
                Some(Token::Word(_)) => {}
                None => return (self, depth),
            }
            if depth == 0 {
                return (self, depth);
            }
        }
    }

    /// The text before the next line that begins with a bracket.
    pub(super) fn until_bracket_line(self) -> Self {
        let end = self.rest.find("\n(").map_or(self.rest.len(), |end| end + 1);
        Self { rest: &self.rest[..end], ..self }
    }

    pub(super) fn token(&mut self) -> Option<Token<'t>> {
        *self = self.skip_blanks();
        let (token, length) = match self.rest.as_bytes().first()? {
            b'(' => (Token::Open, 1),
            b')' => (Token::Close, 1),
            _ => {
                let ends = |c: char| c.is_ascii_whitespace() || c == '(' || c == ')';
                let length = self.rest.find(ends).unwrap_or(self.rest.len());
                (Token::Word(&self.rest[..length]), length)
            }
        };
        self.rest = &self.rest[length..];
        Some(token)
    }

    pub(super) fn skip_blanks(self) -> Self {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let blanks = &self.rest[..self.rest.len() - rest.len()];
        Self { rest, line: self.line + blanks.bytes().filter(|&b| b == b'\n').count() }
    }

    pub(super) fn skip_line(self) -> Self {
        match self.rest.split_once('\n') {
            Some((_, rest)) => Self { rest, line: self.line + 1 },
            None => Self { rest: "", ..self },
        }
    }

    pub(super) fn skip_comments(self) -> Self {
        let mut scan = self.skip_blanks();
        while scan.rest.starts_with('#') {
            scan = scan.skip_line().skip_blanks();
        }
        scan
    }
}
