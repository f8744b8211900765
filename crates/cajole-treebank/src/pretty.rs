//! Draws a tree in a terminal.
//!
//! ```text
//! S
//! ├─ NP The dog
//! ├─ VP barked
//! │  └─ PP at
//! │     └─ NP the old cat
//! └─ .
//! ```
//!
//! Each phrase starts a line with its label and the words before its first child phrase. Its other
//! children follow below, adjacent words on one line. Unary chains share a line: `S › VP`. Long
//! lines break between words. Deep trees get narrower guides; when even those leave no room, the
//! depth replaces the outer guides: `⋯40 └ NP`.

use super::tree::Tree;

/// Options for drawing a tree.
///
/// ```
/// use cajole_treebank::{Pretty, penn};
///
/// let tree = penn::parse_tree("(S (NP (PRP I)) (VP (VBP see) (NP (PRP you))))").unwrap();
/// assert_eq!(Pretty::default().draw(&tree), "S\n├─ NP I\n└─ VP see\n   └─ NP you");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pretty {
    /// The columns of the terminal. Only a single word that is too long exceeds them.
    pub width: usize,
    /// Whether to colour labels, tags and guides with ANSI codes. Words keep the terminal's colour,
    /// which is readable on any background.
    pub colour: bool,
    /// Whether to show POS tags: `dog/NN`.
    pub tags: bool,
}

/// Plain text, 80 columns.
impl Default for Pretty {
    fn default() -> Self {
        Self { width: 80, colour: false, tags: false }
    }
}

impl Pretty {
    /// Draws the tree, without a final newline.
    pub fn draw(&self, tree: &Tree) -> String {
        let guides_room = (self.width / 2).max(self.width.saturating_sub(ROOM));
        let step = if levels(tree) * WIDE <= guides_room { WIDE } else { WIDE - 1 };
        let mut drawing =
            Drawing { style: *self, guides_room, step, more: Vec::new(), text: String::new() };
        drawing.phrase(tree);
        drawing.text.pop();
        drawing.text
    }
}

/// The columns reserved for labels and words, if the terminal has twice as many.
const ROOM: usize = 24;

/// The width of a guide when there is room.
const WIDE: usize = 3;

const LABEL: &str = "1;36";
const TAG: &str = "32";
const GUIDE: &str = "2";

/// A piece of text that is never broken across lines.
enum Atom<'t> {
    Label(&'t str),
    /// A label whose only child follows on the same line.
    Over(&'t str),
    Word {
        tag: &'t str,
        word: &'t str,
    },
}

struct Drawing {
    style: Pretty,
    guides_room: usize,
    step: usize,
    /// For each ancestor, from the root: whether it has more children below.
    more: Vec<bool>,
    text: String,
}

impl Drawing {
    fn phrase(&mut self, tree: &Tree) {
        let (labels, children) = unary(tree);
        let over = labels.len().saturating_sub(1);
        let mut atoms: Vec<_> = labels[..over].iter().map(|label| Atom::Over(label)).collect();
        atoms.extend(labels[over..].iter().map(|label| Atom::Label(label)));
        let (head, below) = children.split_at(leading_words(children));
        atoms.extend(words(head));
        self.item(&atoms, !below.is_empty());

        let mut groups = below.chunk_by(|a, b| is_word(a) && is_word(b)).peekable();
        while let Some(group) = groups.next() {
            self.more.push(groups.peek().is_some());
            match group {
                [phrase @ Tree::Node { .. }] => self.phrase(phrase),
                _ => self.item(&words(group).collect::<Vec<_>>(), false),
            }
            self.more.pop();
        }
    }

    /// Draws one branch: as many atoms per line as fit, the rest as a hanging indent.
    fn item(&mut self, atoms: &[Atom], has_below: bool) {
        let mut column = self.guides(None);
        let mut is_first = true;
        for atom in atoms {
            let width = columns(&self.paint(atom, false));
            if !is_first && self.style.width < column + 1 + width {
                self.text.push('\n');
                column = self.guides(Some(has_below));
                is_first = true;
            }
            if !is_first {
                self.text.push(' ');
                column += 1;
            }
            self.text += &self.paint(atom, self.style.colour);
            column += width;
            is_first = false;
        }
        self.text.push('\n');
    }

    /// Starts a line and returns its width so far. `hangs` is `None` on the first line of a branch;
    /// on a hanging line it says whether to draw a guide to the children below.
    fn guides(&mut self, hangs: Option<bool>) -> usize {
        let depth = self.more.len();
        let mut guides = String::new();
        let mut shown = depth;
        if self.guides_room < depth * self.step {
            guides = format!("⋯{depth} ");
            shown = self.guides_room.saturating_sub(columns(&guides)) / self.step;
            shown = shown.clamp(1, depth);
        }
        for (level, &more) in self.more.iter().enumerate().skip(depth - shown) {
            let is_branch = level + 1 == depth && hangs.is_none();
            guides += match (is_branch, more) {
                (true, true) => self.guide("├─ "),
                (true, false) => self.guide("└─ "),
                (false, true) => self.guide("│  "),
                (false, false) => self.guide("   "),
            };
        }
        match hangs {
            Some(true) => guides += self.guide("│  "),
            Some(false) => guides += self.guide("   "),
            None => {}
        }
        let width = columns(&guides);
        self.text += &painted(&guides, GUIDE, self.style.colour && !guides.trim().is_empty());
        width
    }

    fn guide(&self, wide: &'static str) -> &'static str {
        match wide {
            _ if self.step == WIDE => wide,
            "├─ " => "├ ",
            "└─ " => "└ ",
            "│  " => "│ ",
            _ => "  ",
        }
    }

    fn paint(&self, atom: &Atom, colour: bool) -> String {
        match atom {
            Atom::Label(label) => painted(&printable(label), LABEL, colour),
            Atom::Over(label) => {
                painted(&printable(label), LABEL, colour) + " " + &painted("›", GUIDE, colour)
            }
            Atom::Word { tag, word } if self.style.tags => {
                printable(word) + &painted(&format!("/{}", printable(tag)), TAG, colour)
            }
            Atom::Word { word, .. } => printable(word),
        }
    }
}

fn painted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Follows a unary chain down: its labels, and the children of its last phrase.
fn unary(tree: &Tree) -> (Vec<&str>, &[Tree]) {
    let mut labels = Vec::new();
    let mut children = std::slice::from_ref(tree);
    while let [Tree::Node { label, children: inner }] = children {
        labels.push(label.as_str());
        children = inner;
    }
    (labels, children)
}

/// How many levels of guides the drawing needs.
fn levels(tree: &Tree) -> usize {
    let (_, children) = unary(tree);
    let below = &children[leading_words(children)..];
    below.iter().map(|child| 1 + if is_word(child) { 0 } else { levels(child) }).max().unwrap_or(0)
}

fn leading_words(children: &[Tree]) -> usize {
    children.iter().take_while(|child| is_word(child)).count()
}

fn is_word(tree: &Tree) -> bool {
    matches!(tree, Tree::Leaf { .. })
}

fn words(trees: &[Tree]) -> impl Iterator<Item = Atom<'_>> {
    trees.iter().filter_map(|tree| match tree {
        Tree::Leaf { tag, word } => Some(Atom::Word { tag, word }),
        Tree::Node { .. } => None,
    })
}

/// Makes a text visible and free of terminal escapes.
fn printable(text: &str) -> String {
    match text {
        "" => "·".to_owned(),
        _ => text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect(),
    }
}

/// The display width of a text in columns; approximate for rare scripts.
fn columns(text: &str) -> usize {
    let columns = |c: char| match c {
        // Combining accents, joiners, variation selectors.
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        // East Asian scripts, full-width forms, pictographs.
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => 2,
        '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' => 2,
        '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    };
    text.chars().map(columns).sum()
}

#[cfg(test)]
#[path = "pretty_tests.rs"]
mod tests;
