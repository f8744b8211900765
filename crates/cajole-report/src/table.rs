//! A table of results for people: cells are text that is already rounded.

use serde::Serialize;

use super::cell::Cell;
use super::html::{self, escape};
use super::markdown;
use super::text::{Ink, Line, Terminal, fit, lay_out};

/// Rows of cells under a header.
///
/// A row may be shorter than the header; cells beyond the header are not shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What the table shows, and the unit.
    pub caption: String,
    /// The name of each column.
    pub header: Vec<String>,
    /// The alignment of each column. Missing entries mean right, for numbers.
    pub align: Vec<Align>,
    /// The cells.
    pub rows: Vec<Vec<Cell>>,
    /// The indices of rows that start a new block, with a rule above them, in increasing order.
    pub blocks: Vec<usize>,
}

/// How the cells of a column are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

impl Table {
    /// A table without rows: names in the first column, numbers in the others.
    pub fn new<S: Into<String>>(
        caption: impl Into<String>,
        header: impl IntoIterator<Item = S>,
    ) -> Table {
        Table {
            caption: caption.into(),
            header: header.into_iter().map(Into::into).collect(),
            align: vec![Align::Left],
            ..Table::default()
        }
    }

    /// Sets the alignment of the columns, starting with the first.
    pub fn aligned(mut self, align: impl IntoIterator<Item = Align>) -> Table {
        self.align = align.into_iter().collect();
        self
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(mut self, cells: impl IntoIterator<Item = C>) -> Table {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// Starts a new block of rows.
    pub fn rule(mut self) -> Table {
        self.blocks.push(self.rows.len());
        self
    }

    /// Renders the table for a terminal of `max_width` columns, optionally with ANSI bold and dim.
    pub fn to_text(&self, max_width: usize, colour: bool) -> String {
        let terminal = Terminal { width: max_width, colour };
        let (widths, gap) = self.widths(max_width);
        let total = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
        let rule = terminal.rule(total);

        let mut text = terminal.heading(&self.caption);
        text += &rule;
        text += &lay_out(&self.header_lines(&terminal, &widths), &widths, |c| self.align(c), gap);
        for block in self.row_blocks() {
            text += &rule;
            for row in block {
                let cells: Vec<Vec<Line>> = (row.iter().zip(&widths))
                    .map(|(cell, &width)| cell.lines(&terminal, width))
                    .collect();
                text += &lay_out(&cells, &widths, |column| self.align(column), gap);
            }
        }
        text + &rule
    }

    /// Renders the table in Markdown. A row of empty cells stands for a rule, which Markdown lacks.
    pub fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let columns = self.header.len();
        let mut text = String::new();
        if !self.caption.is_empty() {
            text += &format!("**{}**\n\n", markdown::escape(&self.caption));
        }
        text += &line(self.header.iter().map(|name| markdown::escape(name)).collect());
        text += &line((0..columns).map(|c| markdown_rule(self.align(c)).to_owned()).collect());
        for (at, block) in self.row_blocks().into_iter().enumerate() {
            if at > 0 {
                text += &line(vec![String::new(); columns]);
            }
            for row in block {
                let mut cells: Vec<String> = row.iter().map(Cell::to_markdown).collect();
                cells.resize(columns, String::new());
                text += &line(cells);
            }
        }
        text
    }

    /// Renders the table as an HTML element that scrolls horizontally when it does not fit.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        for block in self.row_blocks() {
            body += "<tbody>\n";
            for row in block {
                let cells: String = (0..self.header.len())
                    .map(|column| self.cell_html(column, row.get(column)))
                    .collect();
                body += &format!("<tr>{cells}</tr>\n");
            }
            body += "</tbody>\n";
        }
        let header: String = (self.header.iter().enumerate())
            .map(|(column, name)| {
                format!(r#"<th scope="col"{}>{}</th>"#, self.align(column).class(), escape(name))
            })
            .collect();
        let caption = html::element("span", &escape(&self.caption));
        let caption = html::element("caption", &caption);
        let content = format!("{caption}<thead>\n<tr>{header}</tr>\n</thead>\n{body}");
        html::scroll(&self.caption, &content)
    }

    fn cell_html(&self, column: usize, cell: Option<&Cell>) -> String {
        let content = cell.map(Cell::to_html).unwrap_or_default();
        let align = self.align(column).class();
        match column {
            0 => format!(r#"<th scope="row"{align}>{content}</th>"#),
            _ => format!("<td{align}>{content}</td>"),
        }
    }

    fn align(&self, column: usize) -> Align {
        self.align.get(column).copied().unwrap_or(Align::Right)
    }

    fn row_blocks(&self) -> Vec<&[Vec<Cell>]> {
        let ends = self.blocks.iter().map(|&at| at.min(self.rows.len())).chain([self.rows.len()]);
        let mut start = 0;
        let blocks = ends.map(|end| {
            let block = &self.rows[start.min(end)..end];
            start = start.max(end);
            block
        });
        blocks.filter(|block| !block.is_empty()).collect()
    }

    fn header_lines(&self, terminal: &Terminal, widths: &[usize]) -> Vec<Vec<Line>> {
        let names: Vec<Vec<String>> =
            self.header.iter().zip(widths).map(|(name, &width)| fit(name, width)).collect();
        let height = names.iter().map(Vec::len).max().unwrap_or(0);
        let lines = |name: Vec<String>| {
            let mut lines = vec![Line::default(); height - name.len()];
            lines.extend(name.iter().map(|line| Line::new(terminal, line, Ink::Plain)));
            lines
        };
        names.into_iter().map(lines).collect()
    }

    /// Column widths, and the gap between columns, such that everything fits `room`.
    ///
    /// These shrink, in this order: the gaps, multi-word headers, the names in the first column,
    /// the words of the headers, and finally everything.
    fn widths(&self, room: usize) -> (Vec<usize>, usize) {
        const NAME: usize = 12;
        let columns = self.header.len();
        let cells = |column: usize| {
            let lengths = self.rows.iter().filter_map(|row| row.get(column));
            lengths.map(|cell| cell.text.chars().count()).max().unwrap_or(0)
        };
        let header: Vec<usize> = self.header.iter().map(|name| name.chars().count()).collect();
        let longest_word = |name: &String| name.split(' ').map(|w| w.chars().count()).max();
        let words: Vec<usize> =
            self.header.iter().map(|name| longest_word(name).unwrap_or(0)).collect();

        let mut widths: Vec<usize> = (0..columns).map(|c| header[c].max(cells(c))).collect();
        let mut floor: Vec<usize> = (0..columns).map(|c| words[c].max(cells(c))).collect();
        let gaps = columns.saturating_sub(1);
        let gap = if widths.iter().sum::<usize>() + 2 * gaps <= room { 2 } else { 1 };
        let room = room.saturating_sub(gap * gaps);
        shrink(&mut widths, &floor, room);
        if let Some(first) = floor.first_mut() {
            *first = NAME.min(*first);
        }
        shrink(&mut widths, &floor, room);
        let floor: Vec<usize> = (0..columns).map(|c| floor[c].min(cells(c)).max(1)).collect();
        shrink(&mut widths, &floor, room);
        shrink(&mut widths, &vec![1; columns], room);
        (widths, gap)
    }
}

/// Shrinks the widest column that is above its floor, until all fit `room` or none can shrink.
fn shrink(widths: &mut [usize], floor: &[usize], room: usize) {
    while room < widths.iter().sum() {
        let yielding = (0..widths.len()).filter(|&column| floor[column] < widths[column]);
        let Some(widest) = yielding.max_by_key(|&column| widths[column]) else { return };
        widths[widest] -= 1;
    }
}

fn markdown_rule(align: Align) -> &'static str {
    match align {
        Align::Left => ":--",
        Align::Right => "--:",
    }
}

impl Align {
    /// The class attribute of an HTML cell.
    pub(super) fn class(self) -> &'static str {
        match self {
            Align::Left => "",
            Align::Right => r#" class="number""#,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::markup::assert_balanced;
    use super::{Align, Table};

    fn table() -> Table {
        Table::new("Inputs repaired", ["method", "conversion", "accuracy after"])
            .row([Cell::plain("beam | x2"), Cell::number(91.0, 1), Cell::number(f64::NAN, 1)])
            .rule()
            .row([Cell::plain("gbi"), Cell::number(98.2, 1).best(), Cell::number(-7.0, 1)])
    }

    #[test]
    fn text_is_ruled_and_aligned() {
        assert_eq!(
            table().to_text(100, false),
            "\
Inputs repaired
=====================================
method     conversion  accuracy after
=====================================
beam | x2        91.0               –
=====================================
gbi              98.2            −7.0
=====================================
"
            .replace('=', "─")
        );
    }

    #[test]
    fn text_fits_any_width() {
        let table = table().row(["a method with a remarkably-long-name and a few words", "1", "2"]);
        for width in 5..120 {
            let text = table.to_text(width, false);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
        assert!(table.to_text(60, false).contains("98.2"));
        assert!(table.to_text(40, false).contains("98.2"), "numbers are the last to be cut");
        assert!(table.to_text(30, false).contains('…'));
    }

    #[test]
    fn colour_changes_nothing_but_escape_codes() {
        let coloured = table().to_text(80, true);
        assert!(coloured.contains("\x1b[1m98.2\x1b[0m") && coloured.contains("\x1b[2m–\x1b[0m"));
        let bare = ["\x1b[0m", "\x1b[1m", "\x1b[2m"]
            .iter()
            .fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(bare, table().to_text(80, false));
    }

    #[test]
    fn markdown_escapes_pipes_and_keeps_blocks() {
        assert_eq!(
            table().to_markdown(),
            "**Inputs repaired**\n\n\
             | method | conversion | accuracy after |\n\
             | :-- | --: | --: |\n\
             | beam \\| x2 | 91.0 | – |\n\
             |  |  |  |\n\
             | gbi | **98.2** | −7.0 |\n"
        );
    }

    #[test]
    fn html_has_a_body_per_block() {
        let html = table().aligned([Align::Left, Align::Left]).to_html();
        assert_balanced(&html);
        assert_eq!(html.matches("<tbody>").count(), 2);
        assert!(html.contains("<td><strong>98.2</strong></td>"));
        assert!(html.contains(r#"<td class="number"><span class="muted">–</span></td>"#));
    }

    #[test]
    fn degenerate_tables_render() {
        let empty = Table { blocks: vec![3, 1], ..Table::default() };
        let ragged = Table { blocks: vec![9, 0], ..table() }.row(["short"]);
        for table in [empty, ragged] {
            assert!(table.to_text(20, true).lines().count() >= 2);
            assert!(table.to_markdown().ends_with("|\n"));
            assert_balanced(&table.to_html());
        }
    }
}
