//! Places in texts: where something is, and how a message names or quotes it.

use std::fmt;

use serde::Serialize;

/// Something that was read from a file, with its line number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// The line it begins on, counting from 1.
    pub line: usize,
    /// The tree, the sentence or the line.
    pub item: T,
}

/// A place in a text. Line and column count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character within it; in functions that say so, the byte.
    pub column: usize,
}

impl Place {
    /// The first character.
    pub const START: Place = Place { line: 1, column: 1 };

    /// The place of a byte of a text, or of its end.
    pub fn in_text(text: &str, byte: usize) -> Place {
        Place::START.after(text.get(..byte).unwrap_or(text))
    }

    /// The place of a byte among others, or of their end; columns count bytes.
    pub fn in_bytes(bytes: &[u8], byte: usize) -> Place {
        let before = bytes.get(..byte).unwrap_or(bytes);
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Place { line, column: 1 + before.len() - start }
    }

    /// The place behind a text that begins here.
    #[must_use]
    pub fn after(self, text: &str) -> Place {
        match text.rfind('\n') {
            None => Place { column: self.column + text.chars().count(), ..self },
            Some(end) => Place {
                line: self.line + text.matches('\n').count(),
                column: column(&text[end + 1..], text.len()),
            },
        }
    }

    /// The byte of a text at this place, or its length if the text ends before.
    pub fn byte_in(self, text: &str) -> usize {
        let start = line_start(text, self.line);
        let rest = &text[start..];
        let character = rest.char_indices().nth(self.column.saturating_sub(1));
        character.map_or(text.len(), |(at, _)| start + at)
    }

    /// The byte of a text at this place, where columns count bytes, as in errors of `serde_json`.
    pub fn byte_by_bytes(self, text: &str) -> usize {
        let start = line_start(text, self.line);
        start.saturating_add(self.column.saturating_sub(1)).min(text.len())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The place of an error in JSON; columns count bytes.
impl From<&serde_json::Error> for Place {
    fn from(error: &serde_json::Error) -> Place {
        Place { line: error.line(), column: error.column() }
    }
}

/// The column of a byte of a line, in characters from 1.
pub fn column(line: &str, byte: usize) -> usize {
    1 + line.get(..byte).unwrap_or(line).chars().count()
}

/// The byte at which a line begins.
fn line_start(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum()
}

/// The message of an error in JSON without its place, for those who name the place in another way: a
/// line of a file knows its number, and `serde_json` takes it for the first.
pub fn without_place(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    if let Some(end) = message.rfind(" at line ") {
        message.truncate(end);
    }
    message
}

/// A text for a message, or its first `most` characters and an ellipsis.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first line of a text for a message, shortened, but enough of it to search for.
pub fn excerpt(text: &str) -> String {
    const MOST: usize = 60;
    shortened(text.lines().next().unwrap_or_default().trim_end(), MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "é\n\nab\r\n日本";

    #[test]
    fn every_byte_has_a_place_and_every_place_a_byte() {
        let places = [
            (0, 1, 1),
            (2, 1, 2),
            (3, 2, 1),
            (4, 3, 1),
            (5, 3, 2),
            (6, 3, 3),
            (7, 3, 4),
            (8, 4, 1),
            (11, 4, 2),
            (14, 4, 3),
        ];
        for (byte, line, column) in places {
            let place = Place { line, column };
            assert_eq!(Place::in_text(TEXT, byte), place);
            assert_eq!(place.byte_in(TEXT), byte);
            assert_eq!(Place::START.after(&TEXT[..byte]), place);
            let (before, after) = TEXT.split_at(byte);
            assert_eq!(Place::START.after(before).after(after), Place { line: 4, column: 3 });
        }
    }

    #[test]
    fn what_is_beyond_the_text_is_its_end() {
        assert_eq!(Place::in_text(TEXT, 99), Place { line: 4, column: 3 });
        assert_eq!(Place::in_text(TEXT, 1), Place { line: 4, column: 3 }, "within a character");
        for place in [(4, 4), (5, 1), (9, usize::MAX)].map(|(line, column)| Place { line, column })
        {
            assert_eq!(place.byte_in(TEXT), TEXT.len(), "{place}");
            assert_eq!(place.byte_by_bytes("ab"), 2, "{place}");
        }
        assert_eq!(Place { line: 0, column: 0 }.byte_in(TEXT), 0);
    }

    #[test]
    fn columns_of_bytes_are_those_of_json() {
        for text in ["[1,\n \"é\" 2]", "{\"é\":\n\n 01}", "[\"日本\", x]"] {
            let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
            let place = Place::from(&error);
            let byte = place.byte_by_bytes(text);
            assert!(text[byte..].starts_with(['2', '1', 'x']), "{place}: {}", &text[byte..]);
            assert_eq!(Place::in_bytes(text.as_bytes(), byte), place);
        }
        assert_eq!(Place::in_bytes("é\nb".as_bytes(), 2), Place { line: 1, column: 3 });
        assert_eq!(Place::in_bytes(b"a\nb", 99), Place { line: 2, column: 2 });
    }

    #[test]
    fn messages_come_without_the_place_of_json() {
        let error = serde_json::from_str::<Vec<u8>>("[\n\" at line 3 column 4\"]").unwrap_err();
        assert!(error.to_string().ends_with(" at line 2 column 21"), "{error}");
        let message = without_place(&error);
        assert!(message.ends_with("\" at line 3 column 4\", expected u8"), "{message}");
        let error = <serde_json::Error as serde::de::Error>::custom("no place");
        assert_eq!(without_place(&error), "no place");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shortened("日本語", 3), "日本語");
        assert_eq!(shortened("日本語", 2), "日本…");
        assert_eq!(shortened("", 0), "");
        assert_eq!(excerpt("one \r\ntwo"), "one");
        assert_eq!(excerpt(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(excerpt(""), "");
    }
}
