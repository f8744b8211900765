//! One row: a word with all its columns.

use std::fmt;

use cajole_files::excerpt;

use crate::roles::error::RoleFault;

/// The columns of one word, spelled as in the file; `-` means none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The document's name.
    pub document: String,
    /// The part of the document.
    pub part: String,
    /// The index of the word.
    pub number: String,
    /// The word.
    pub word: String,
    /// Its POS tag.
    pub pos: String,
    /// Its parse bit: `(S(NP*`.
    pub parse: String,
    /// The lemma.
    pub lemma: String,
    /// The frameset of a predicate: `01`.
    pub frameset: String,
    /// The sense of the word.
    pub sense: String,
    /// The speaker.
    pub speaker: String,
    /// Its named-entity bit: `(DATE*`.
    pub entity: String,
    /// One argument bit per predicate of the sentence: `(ARG0*`.
    pub arguments: Vec<String>,
    /// Coreference mentions that begin or end here: `(1|(3`.
    pub coreference: String,
    /// The blanks of the row.
    pub layout: Layout,
}

/// The blanks of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The blanks before each column; missing entries mean a single blank.
    pub gaps: Vec<String>,
    /// Everything after the last column.
    pub end: String,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { gaps: vec![String::new()], end: "\n".to_owned() }
    }
}

impl Row {
    /// The minimum number of columns: a sentence without predicates.
    pub(super) const COLUMNS: usize = 12;

    /// Parses a line, including its line ending.
    pub(super) fn read(line: &str) -> Result<Self, RoleFault> {
        let (cells, layout) = cut(line);
        let [
            document,
            part,
            number,
            word,
            pos,
            parse,
            lemma,
            frameset,
            sense,
            speaker,
            entity,
            arguments @ ..,
            coreference,
        ] = cells.as_slice()
        else {
            let (found, least, row) = (cells.len(), Row::COLUMNS, excerpt(line));
            return Err(RoleFault::FewColumns { found, least, row });
        };
        let own = |cell: &&str| (*cell).to_owned();
        Ok(Row {
            document: own(document),
            part: own(part),
            number: own(number),
            word: own(word),
            pos: own(pos),
            parse: own(parse),
            lemma: own(lemma),
            frameset: own(frameset),
            sense: own(sense),
            speaker: own(speaker),
            entity: own(entity),
            arguments: arguments.iter().map(own).collect(),
            coreference: own(coreference),
            layout,
        })
    }

    /// Whether the word has a proposition.
    pub(super) fn is_predicate(&self) -> bool {
        self.frameset != "-"
    }

    fn cells(&self) -> impl Iterator<Item = &String> {
        let Row { document, part, number, word, pos, parse, lemma, .. } = self;
        let Row { frameset, sense, speaker, entity, arguments, coreference, .. } = self;
        let words = [document, part, number, word, pos, parse, lemma];
        let rest = [frameset, sense, speaker, entity];
        words.into_iter().chain(rest).chain(arguments).chain([coreference])
    }
}

/// The line, including its line ending.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layout { gaps, end } = &self.layout;
        let gaps = gaps.iter().map(String::as_str).chain(std::iter::repeat(" "));
        for (gap, cell) in gaps.zip(self.cells()) {
            write!(f, "{gap}{cell}")?;
        }
        f.write_str(end)
    }
}

/// Splits a line into cells and the blanks around them.
fn cut(line: &str) -> (Vec<&str>, Layout) {
    let (mut cells, mut gaps, mut rest) = (Vec::new(), Vec::new(), line);
    while let Some(start) = rest.find(|c: char| !c.is_ascii_whitespace()) {
        let (gap, cell) = rest.split_at(start);
        let end = cell.find(|c: char| c.is_ascii_whitespace()).unwrap_or(cell.len());
        gaps.push(gap.to_owned());
        cells.push(&cell[..end]);
        rest = &cell[end..];
    }
    (cells, Layout { gaps, end: rest.to_owned() })
}
