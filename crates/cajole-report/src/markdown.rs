//! Renders the report in GitHub-flavoured Markdown. Plots become tables.

use super::{CaseStudy, Plot, Report};

impl Report {
    /// The report in Markdown.
    pub fn to_markdown(&self) -> String {
        let tables = self.tables.iter().map(|table| table.to_markdown() + "\n");
        let plots = self.plots.iter().map(Plot::to_markdown);
        let cases = self.cases.iter().map(CaseStudy::to_markdown);
        let notes = self.notes.iter().map(|note| format!("- {}\n", escape(note)));
        let sections = [
            ("Results", tables.collect::<String>()),
            ("Figures", plots.collect()),
            ("Cases", cases.collect()),
            ("Notes", notes.collect()),
        ];
        let mut text = heading(1, &self.title);
        text.extend(self.intro.iter().map(|text| paragraph(text)));
        for (title, content) in sections.iter().filter(|(_, content)| !content.is_empty()) {
            text += &heading(2, title);
            text += content;
        }
        text.trim_end().to_owned() + "\n"
    }
}

/// A heading; nothing if `text` is empty.
pub(super) fn heading(level: usize, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{} {}\n\n", "#".repeat(level), escape(text))
}

/// A paragraph, escaped so that it cannot start a list or heading; nothing if `text` is empty.
pub(super) fn paragraph(text: &str) -> String {
    let text = escape(text.trim());
    let number = text.chars().take_while(char::is_ascii_digit).count();
    let begins_block = |rest: &str, with: &[char]| rest.starts_with(with);
    let text = match text.split_at(number) {
        ("", rest) if begins_block(rest, &['#', '-', '+', '=']) => format!("\\{rest}"),
        (number, rest) if !number.is_empty() && begins_block(rest, &['.', ')']) => {
            format!("{number}\\{rest}")
        }
        _ => text,
    };
    if text.is_empty() { text } else { text + "\n\n" }
}

/// `text` on one line, with Markdown characters and pipes escaped.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' | '$' => {
                escaped.extend(['\\', character]);
            }
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::{Report, sample};
    use super::{escape, paragraph};

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(escape("a|b *c* [d](e) <f> g\nh"), r"a\|b \*c\* \[d\](e) &lt;f&gt; g h");
    }

    #[test]
    fn paragraphs_do_not_start_lists_or_headings() {
        assert_eq!(paragraph("1. one"), "1\\. one\n\n");
        assert_eq!(paragraph("- two"), "\\- two\n\n");
        assert_eq!(paragraph("3 nets"), "3 nets\n\n");
        assert_eq!(paragraph(" "), "");
    }

    #[test]
    fn every_table_row_has_as_many_pipes_as_its_header() {
        for report in [sample::report(), sample::report_of("x | y\n<script>")] {
            let text = report.to_markdown();
            assert!(!text.contains("<script"), "{text}");
            for table in text.split("\n\n").filter(|block| block.starts_with('|')) {
                let pipes = |line: &str| line.replace("\\|", "").matches('|').count();
                let columns = pipes(table.lines().next().unwrap());
                assert!(table.lines().all(|line| pipes(line) == columns), "{table}");
            }
        }
    }

    #[test]
    fn sections_without_content_are_left_out() {
        assert_eq!(Report::new("Title").to_markdown(), "# Title\n");
    }
}
