//! A table cell: text that is already rounded, and its emphasis.

use serde::Serialize;

use super::html::escape;
use super::markdown;
use super::number;
use super::text::{Ink, Line, Terminal, fit};

/// One entry of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// Its emphasis.
    pub emphasis: Emphasis,
}

/// How a cell stands out from its neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Emphasis {
    /// Not at all.
    #[default]
    Plain,
    /// The best of its kind: bold.
    Best,
    /// Background information: faint.
    Muted,
}

impl Cell {
    /// A cell without emphasis.
    pub fn plain(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), emphasis: Emphasis::Plain }
    }

    /// A number with `decimals` decimals; a muted dash if it is not finite.
    pub fn number(value: f64, decimals: usize) -> Cell {
        let cell = Cell::plain(number::fixed(value, decimals));
        if value.is_finite() { cell } else { cell.muted() }
    }

    /// Marks the cell as the best of its kind.
    pub fn best(self) -> Cell {
        Cell { emphasis: Emphasis::Best, ..self }
    }

    /// Marks the cell as background information.
    pub fn muted(self) -> Cell {
        Cell { emphasis: Emphasis::Muted, ..self }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::plain(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::plain(text)
    }
}

impl Cell {
    /// The cell wrapped at `width`.
    pub(super) fn lines(&self, terminal: &Terminal, width: usize) -> Vec<Line> {
        let ink = match self.emphasis {
            Emphasis::Plain => Ink::Plain,
            Emphasis::Best => Ink::Bold,
            Emphasis::Muted => Ink::Dim,
        };
        fit(&self.text, width).iter().map(|line| Line::new(terminal, line, ink)).collect()
    }

    /// The content between two pipes. Markdown cannot mute text.
    pub(super) fn to_markdown(&self) -> String {
        let text = markdown::escape(self.text.trim());
        match self.emphasis {
            Emphasis::Best if !text.is_empty() => format!("**{text}**"),
            _ => text,
        }
    }

    /// The content of an HTML cell.
    pub(super) fn to_html(&self) -> String {
        let text = escape(&self.text);
        match self.emphasis {
            Emphasis::Plain => text,
            Emphasis::Best => format!("<strong>{text}</strong>"),
            Emphasis::Muted => format!(r#"<span class="muted">{text}</span>"#),
        }
    }
}
