//! Renders the report as one self-contained web page: no script, no font, no network.

use super::look::Looks;
use super::{CaseStudy, Report, Table};

const STYLE: &str = include_str!("page.css");

impl Report {
    /// The report as a self-contained page, for light and dark screens and for print.
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let paragraphs = |texts: &[String]| -> String {
            texts.iter().map(|text| element("p", &escape(text))).collect()
        };
        let looks = Looks::of(&self.plots);
        let plots: String = self.plots.iter().map(|plot| plot.html_with(&looks)).collect();
        let notes: String = self.notes.iter().map(|note| element("li", &escape(note))).collect();
        let sections = [
            section("Results", &self.tables.iter().map(Table::to_html).collect::<String>()),
            section("Figures", &block("div class=\"plots\"", &plots)),
            section("Cases", &cases(&self.cases)),
            section("Notes", &block("ul", &notes)),
        ];
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <header>\n<h1>{title}</h1>\n{}</header>\n{}</main>\n</body>\n</html>\n",
            paragraphs(&self.intro),
            sections.concat(),
        )
    }
}

/// Escapes `text` for HTML, SVG and quoted attributes.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\n' | '\t' => escaped.push(character),
            _ if character.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Wraps `content`, which is markup, in an element; empty content stays empty.
pub(super) fn element(tag: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("<{tag}>{content}</{tag}>\n") }
}

/// All cases. If there are many, each is collapsed.
fn cases(cases: &[CaseStudy]) -> String {
    /// The most that are shown expanded.
    const FEW: usize = 4;
    let folded = |case: &CaseStudy| {
        let summary = format!("{}: {}", case.title, case.source);
        let summary = element("summary", &escape(&summary));
        format!("<details>\n{summary}{}</details>\n", case.to_html())
    };
    match cases.len() <= FEW {
        true => cases.iter().map(CaseStudy::to_html).collect(),
        false => cases.iter().map(folded).collect(),
    }
}

/// A table that scrolls horizontally when it does not fit, also by keyboard.
pub(super) fn scroll(label: &str, content: &str) -> String {
    let label = escape(label);
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">\n\
         <table>\n{content}</table>\n</div>\n"
    )
}

/// Wraps markup in an element given with its attributes; empty content stays empty.
fn block(opening: &str, content: &str) -> String {
    let tag = opening.split(' ').next().unwrap_or(opening);
    if content.is_empty() { String::new() } else { format!("<{opening}>\n{content}</{tag}>\n") }
}

fn section(title: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    block("section", &format!("<h2>{title}</h2>\n{content}"))
}

#[cfg(test)]
mod tests {
    use super::super::markup::assert_balanced;
    use super::super::{Report, sample};
    use super::escape;

    #[test]
    fn the_page_is_well_formed_and_self_contained() {
        let page = sample::report().to_html();
        assert_balanced(&page);
        let addresses = page.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http", "url(", "@import", "<script", "<link", "src="] {
            assert!(!addresses.contains(outside), "{outside}");
        }
    }

    #[test]
    fn every_string_is_escaped() {
        let hostile = r#"<script>alert("x & 'y'")</script>"#;
        let page = sample::report_of(hostile).to_html();
        assert_balanced(&page);
        assert!(page.contains(&escape(hostile)));
        let escaped = page.matches("&lt;script").count() + page.matches("&lt;/script").count();
        assert_eq!(page.matches("script").count(), escaped);
    }

    #[test]
    fn many_cases_are_folded() {
        let mut report = sample::report();
        let n = |report: &Report| report.to_html().matches("<details>").count();
        let before = n(&report);
        report.cases = vec![report.cases[0].clone(); 5];
        assert_eq!(n(&report), before + 5);
        assert_balanced(&report.to_html());
    }

    #[test]
    fn an_empty_report_is_a_page() {
        let page = Report::default().to_html();
        assert_balanced(&page);
        assert!(!page.contains("<section"));
    }
}
