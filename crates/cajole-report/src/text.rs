//! Lays out fixed-width text for a terminal.
//!
//! Every character counts as one column.

use std::ops::Range;

use super::{Align, Report};

impl Report {
    /// Renders the report for a terminal of `max_width` columns, optionally with ANSI colours.
    pub fn to_text(&self, max_width: usize, colour: bool) -> String {
        let terminal = Terminal { width: max_width, colour };
        let title = terminal.heading(&self.title) + &terminal.rule(self.title.chars().count());
        let mut blocks = vec![title];
        blocks.extend(self.intro.iter().map(|paragraph| terminal.paragraph(paragraph)));
        blocks.extend(self.tables.iter().map(|table| table.to_text(max_width, colour)));
        for plot in &self.plots {
            blocks.extend(plot.to_tables().iter().map(|table| table.to_text(max_width, colour)));
            blocks.push(terminal.paragraph(&plot.caption));
        }
        blocks.extend(self.cases.iter().map(|case| case.to_text(max_width, colour)));
        blocks.extend(self.notes.iter().map(|note| terminal.paragraph(note)));
        blocks.retain(|block| !block.trim().is_empty());
        blocks.join("\n")
    }
}

/// The terminal that text is laid out for.
pub(super) struct Terminal {
    pub(super) width: usize,
    pub(super) colour: bool,
}

/// The colour of a piece of text.
#[derive(Clone, Copy)]
pub(super) enum Ink {
    Plain,
    Bold,
    Dim,
    Wrong,
}

impl Terminal {
    /// Wraps `text` in the escape codes for `ink`.
    pub(super) fn paint(&self, text: &str, ink: Ink) -> String {
        let codes = match ink {
            _ if !self.colour || text.is_empty() => "",
            Ink::Plain => "",
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Wrong => "31;4",
        };
        if codes.is_empty() { text.to_owned() } else { format!("\x1b[{codes}m{text}\x1b[0m") }
    }

    /// Wrapped bold lines; nothing if `text` is empty.
    pub(super) fn heading(&self, text: &str) -> String {
        self.lines(text, Ink::Bold)
    }

    /// Wrapped plain lines; nothing if `text` is empty.
    pub(super) fn paragraph(&self, text: &str) -> String {
        self.lines(text, Ink::Plain)
    }

    /// A horizontal rule of at most `width` columns.
    pub(super) fn rule(&self, width: usize) -> String {
        self.paint(&"─".repeat(width.min(self.width)), Ink::Dim) + "\n"
    }

    fn lines(&self, text: &str, ink: Ink) -> String {
        let characters: Vec<char> = one_line(text).trim_end().chars().collect();
        let mut lines = String::new();
        for line in wrap(&characters, self.width).into_iter().filter(|line| !line.is_empty()) {
            lines += &self.paint(&characters[line].iter().collect::<String>(), ink);
            lines.push('\n');
        }
        lines
    }
}

/// One line of a grid cell: its text with escape codes, and its width without them.
#[derive(Clone, Default)]
pub(super) struct Line {
    pub(super) shown: String,
    pub(super) width: usize,
}

impl Line {
    /// A line in one ink.
    pub(super) fn new(terminal: &Terminal, text: &str, ink: Ink) -> Line {
        Line { shown: terminal.paint(text, ink), width: text.chars().count() }
    }
}

/// Lays out cells side by side, each of one or more lines, with `gap` columns between them.
pub(super) fn lay_out(
    cells: &[Vec<Line>],
    widths: &[usize],
    align: impl Fn(usize) -> Align,
    gap: usize,
) -> String {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..height {
        let mut line = String::new();
        for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            let Line { shown, width: used } = cell.get(row).cloned().unwrap_or_default();
            let padding = " ".repeat(width.saturating_sub(used));
            line += &" ".repeat(if column == 0 { 0 } else { gap });
            line += &match align(column) {
                Align::Left => shown + &padding,
                Align::Right => padding + &shown,
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// `text` on one line: control characters, which a terminal would interpret, become spaces.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Wraps `text` at `width`, truncating longer words with an ellipsis.
pub(super) fn fit(text: &str, width: usize) -> Vec<String> {
    let one_line = one_line(text);
    let words: Vec<String> = one_line.split(' ').map(|word| shorten(word, width.max(1))).collect();
    let characters: Vec<char> = words.join(" ").chars().collect();
    wrap(&characters, width).into_iter().map(|line| characters[line].iter().collect()).collect()
}

/// Splits `text` into lines of at most `width`, at spaces if possible. Returns at least one line.
pub(super) fn wrap(text: &[char], width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut start = 0;
    while width < text.len() - start {
        let space = (start + 1..=start + width).rev().find(|&at| text[at] == ' ');
        let end = space.unwrap_or(start + width);
        lines.push(start..end);
        start = if space.is_some() { end + 1 } else { end };
    }
    lines.push(start..text.len());
    lines
}

fn shorten(word: &str, width: usize) -> String {
    if word.chars().count() <= width {
        return word.to_owned();
    }
    word.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::{fit, wrap};

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        let characters: Vec<char> = text.chars().collect();
        wrap(&characters, width).into_iter().map(|line| characters[line].iter().collect()).collect()
    }

    #[test]
    fn wraps_at_spaces_where_it_can() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("azbzazbz", 3), ["azb", "zaz", "bz"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("ab", 0), ["a", "b"]);
    }

    #[test]
    fn fits_long_words_with_an_ellipsis() {
        assert_eq!(fit("a remarkable net", 6), ["a", "remar…", "net"]);
    }

    #[test]
    fn a_report_fits_the_terminal() {
        let text = sample::report().to_text(100, false);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(!text.contains('\x1b'));
        for part in ["masked beam 20", "conversion against steps", "^^"] {
            assert!(text.to_lowercase().contains(part), "no {part} in:\n{text}");
        }
    }

    #[test]
    fn no_control_character_reaches_the_terminal() {
        let text = sample::report_of("\x1b[2Jx\ty\u{7}").to_text(80, false);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}
