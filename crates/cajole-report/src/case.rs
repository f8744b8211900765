//! Follows one input iteration by iteration, as in the tables of the paper's appendix.

use serde::{Deserialize, Deserializer, Serialize};

use super::html::{self, escape};
use super::number::fixed;
use super::text::{Ink, Line, Terminal, lay_out, one_line, wrap};
use super::{Align, markdown};

/// How the output for one input changed until it satisfied its constraint, or failed to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseStudy {
    /// What the case illustrates.
    pub title: String,
    /// The input.
    pub source: String,
    /// The gold output.
    pub target: String,
    /// The iterations worth showing.
    pub steps: Vec<CaseStep>,
    /// What to notice.
    pub note: String,
}

/// The output of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseStep {
    /// The index of the descent from the trained weights: restarts and races have several.
    pub attempt: usize,
    /// The number of nudges so far in this descent; 0 is the network as trained.
    pub iteration: usize,
    /// The output, split where it changes between correct and wrong. Concatenated, they are all of
    /// it.
    pub pieces: Vec<Piece>,
    /// The constraint loss of the output.
    #[serde(deserialize_with = "or_nan")]
    pub g: f32,
    /// The log probability of the output under the nudged weights.
    #[serde(deserialize_with = "or_nan")]
    pub log_prob: f32,
    /// The distance of the nudged weights from the trained ones.
    #[serde(deserialize_with = "or_nan")]
    pub distance: f32,
    /// The accuracy of the output, in per cent.
    #[serde(deserialize_with = "or_nan")]
    pub accuracy: f64,
}

/// Deserializes `null`, which JSON has in place of non-finite numbers, as NaN.
fn or_nan<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + From<f32>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(|| T::from(f32::NAN)))
}

/// A stretch of output that is entirely correct or entirely wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The text, including spaces.
    pub text: String,
    /// Whether it differs from the target.
    pub wrong: bool,
}

const HEADER: [&str; 6] = ["iteration", "output", "g", "log p", "distance", "accuracy, %"];

impl CaseStep {
    /// The iteration, prefixed by its descent if that is not the first: `2:11`.
    fn label(&self) -> String {
        match self.attempt {
            0 => self.iteration.to_string(),
            attempt => format!("{}:{}", attempt + 1, self.iteration),
        }
    }

    fn figures(&self) -> [String; 4] {
        let CaseStep { g, log_prob, distance, accuracy, .. } = *self;
        [
            fixed(g.into(), 4),
            fixed(log_prob.into(), 2),
            fixed(distance.into(), 4),
            fixed(accuracy, 1),
        ]
    }
}

impl CaseStudy {
    /// Renders the case for a terminal of `max_width` columns. Errors are red and underlined;
    /// without colour, carets point at them from below.
    pub fn to_text(&self, max_width: usize, colour: bool) -> String {
        let terminal = Terminal { width: max_width, colour };
        let gap = 2;
        let mut widths = HEADER.map(|name| name.chars().count());
        for step in &self.steps {
            for (width, figure) in widths[2..].iter_mut().zip(step.figures()) {
                *width = figure.chars().count().max(*width);
            }
        }
        let longest = self.steps.iter().map(|step| characters(&step.pieces).len()).max();
        let others = widths.iter().sum::<usize>() - widths[1] + gap * (widths.len() - 1);
        widths[1] = longest.unwrap_or(0).min(max_width.saturating_sub(others)).max(widths[1]);
        let rule = terminal.rule(widths[1] + others);
        let row = |cells: [Vec<Line>; 6]| lay_out(&cells, &widths, align, gap);
        let plain = |text: &str| vec![Line::new(&terminal, text, Ink::Plain)];

        let mut text = terminal.heading(&self.title);
        for (name, string) in [("source", &self.source), ("target", &self.target)] {
            let widths = [name.len(), max_width.saturating_sub(name.len() + gap)];
            let right: Vec<(char, bool)> = one_line(string).chars().map(|c| (c, false)).collect();
            let cells = [plain(name), output_lines(&terminal, &right, widths[1])];
            text += &lay_out(&cells, &widths, |_| Align::Left, gap);
        }
        text += &rule;
        text += &row(HEADER.map(plain));
        text += &rule;
        for step in &self.steps {
            let [g, log_prob, distance, accuracy] = step.figures().map(|figure| plain(&figure));
            let output = output_lines(&terminal, &characters(&step.pieces), widths[1]);
            let iteration = plain(&step.label());
            text += &row([iteration, output, g, log_prob, distance, accuracy]);
        }
        text + &rule + &terminal.paragraph(&self.note)
    }

    /// Renders the case in Markdown, with errors in bold.
    pub fn to_markdown(&self) -> String {
        let mut text = markdown::heading(3, &self.title);
        let (source, target) = (markdown::escape(&self.source), markdown::escape(&self.target));
        text += &format!("{source} ⟶ {target}\n\n");
        text += &format!("| {} |\n", HEADER.join(" | "));
        text += "| --: | :-- | --: | --: | --: | --: |\n";
        for step in &self.steps {
            let output: String = step.pieces.iter().map(Piece::to_markdown).collect();
            text += &format!("| {} | {output} | {} |\n", step.label(), step.figures().join(" | "));
        }
        text.push('\n');
        text + &markdown::paragraph(&self.note)
    }

    /// Renders the case as an HTML section, with errors red and underlined.
    pub fn to_html(&self) -> String {
        let cell = |tag: &str, scope: &str, column: usize, content: &str| {
            let class = if column == 1 { r#" class="output""# } else { align(column).class() };
            format!("<{tag}{scope}{class}>{content}</{tag}>")
        };
        let header: String = (HEADER.iter().enumerate())
            .map(|(column, name)| cell("th", r#" scope="col""#, column, name))
            .collect();
        let mut body = String::new();
        for step in &self.steps {
            let output: String = step.pieces.iter().map(Piece::to_html).collect();
            body += "<tr>";
            body += &cell("th", r#" scope="row""#, 0, &step.label());
            body += &cell("td", "", 1, &output);
            for (column, figure) in step.figures().iter().enumerate() {
                body += &cell("td", "", column + 2, figure);
            }
            body += "</tr>\n";
        }
        let table = format!("<thead>\n<tr>{header}</tr>\n</thead>\n<tbody>\n{body}</tbody>\n");
        format!(
            "<section class=\"case\">\n{}<dl>\n<dt>source</dt>\n<dd>{}</dd>\n<dt>target</dt>\n\
             <dd>{}</dd>\n</dl>\n{}{}</section>\n",
            html::element("h3", &escape(&self.title)),
            escape(&self.source),
            escape(&self.target),
            html::scroll(&self.title, &table),
            html::element("p", &escape(&self.note)),
        )
    }
}

impl Piece {
    /// Uses tags: Markdown ignores asterisks between a letter and a punctuation mark.
    fn to_markdown(&self) -> String {
        let text = markdown::escape(&self.text);
        if self.wrong { format!("<b>{text}</b>") } else { text }
    }

    /// `<u>` is HTML's element for non-textual annotations; here it means an error.
    fn to_html(&self) -> String {
        let text = escape(&self.text);
        if self.wrong { format!(r#"<u class="wrong">{text}</u>"#) } else { text }
    }
}

fn align(column: usize) -> Align {
    if column == 1 { Align::Left } else { Align::Right }
}

/// The characters of an output, each with whether it is wrong.
fn characters(pieces: &[Piece]) -> Vec<(char, bool)> {
    let of =
        |piece: &Piece| one_line(&piece.text).chars().map(|c| (c, piece.wrong)).collect::<Vec<_>>();
    pieces.iter().flat_map(of).collect()
}

/// Wraps an output at `width`. Without colour, a line of carets follows each line with errors.
fn output_lines(terminal: &Terminal, output: &[(char, bool)], width: usize) -> Vec<Line> {
    let text: Vec<char> = output.iter().map(|(character, _)| *character).collect();
    let mut lines = Vec::new();
    for range in wrap(&text, width) {
        let mut line = Line::default();
        for run in output[range.clone()].chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|(character, _)| *character).collect();
            let ink = if run[0].1 { Ink::Wrong } else { Ink::Plain };
            line.shown += &terminal.paint(&text, ink);
            line.width += run.len();
        }
        lines.push(line);
        if !terminal.colour && output[range.clone()].iter().any(|(_, wrong)| *wrong) {
            let carets = output[range].iter().map(|(_, wrong)| if *wrong { '^' } else { ' ' });
            lines.push(Line::new(terminal, &carets.collect::<String>(), Ink::Plain));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::markup::assert_balanced;
    use super::{CaseStep, CaseStudy, Piece};

    fn case() -> CaseStudy {
        let piece = |text: &str, wrong| Piece { text: text.to_owned(), wrong };
        let step = |iteration, pieces, g, accuracy| CaseStep {
            attempt: 0,
            iteration,
            pieces,
            g,
            log_prob: -1.5,
            distance: 0.01,
            accuracy,
        };
        let wrong = vec![piece("aaazb", false), piece("a!", true), piece("zb", false)];
        CaseStudy {
            title: "A repair".to_owned(),
            source: "azbzbz".to_owned(),
            target: "aaazbzbzb".to_owned(),
            steps: vec![
                step(0, wrong, 0.25, 66.7),
                step(3, vec![piece("aaazbzbzb", false)], 0.0, 100.0),
            ],
            note: String::new(),
        }
    }

    #[test]
    fn non_finite_figures_round_trip() {
        let mut case = case();
        (case.steps[0].accuracy, case.steps[0].log_prob) = (f64::NAN, f32::NEG_INFINITY);
        let kept = serde_json::to_string(&case).unwrap();
        let read: CaseStudy = serde_json::from_str(&kept).unwrap();
        assert!(read.steps[0].accuracy.is_nan() && read.steps[0].log_prob.is_nan());
        assert_eq!(read.steps[1], case.steps[1]);
    }

    #[test]
    fn carets_point_at_errors() {
        assert_eq!(
            case().to_text(100, false),
            "\
A repair
source  azbzbz
target  aaazbzbzb
=========================================================
iteration  output          g  log p  distance  accuracy, %
=========================================================
        0  aaazba!zb  0.2500  −1.50    0.0100         66.7
                ^^
        3  aaazbzbzb  0.0000  −1.50    0.0100        100.0
=========================================================
"
            .replace(&"=".repeat(57), &"─".repeat(58))
        );
    }

    #[test]
    fn colour_replaces_carets() {
        let text = case().to_text(100, true);
        assert!(text.contains("aaazb\x1b[31;4ma!\x1b[0mzb") && !text.contains('^'));
    }

    #[test]
    fn long_outputs_wrap_with_their_carets() {
        let mut case = case();
        case.steps[0].pieces.push(Piece { text: "zbzb".repeat(40), wrong: true });
        let text = case.to_text(80, false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.matches('^').count(), 162);
        assert!(case.to_text(0, false).contains('^'));
    }

    #[test]
    fn errors_are_marked_in_markdown_and_html() {
        assert!(case().to_markdown().contains("| 0 | aaazb<b>a!</b>zb | 0.2500 | −1.50 |"));
        let html = case().to_html();
        assert_balanced(&html);
        assert!(html.contains(r#"aaazb<u class="wrong">a!</u>zb"#));
    }
}
