//! Parses the rules of `grammar.txt` and writes trees from them.

use std::collections::BTreeMap;

use super::lexicon::Lexicon;
use super::{Genre, MOST_WORDS};
use crate::Tree;
use cajole_core::random::Random;

/// Factor by which each enclosing starred choice reduces the weight of a starred choice.
const DECAY: f32 = 0.55;

/// How often to redraw a part that repeats its neighbour.
const TRIES: usize = 4;

/// A weighted grammar.
#[derive(Debug)]
pub(super) struct Grammar {
    symbols: Vec<Symbol>,
    root: usize,
}

/// The grammar symbol behind a phrase or a word, which the tree no longer shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin<'g> {
    /// The symbol of a phrase, such as `PP.tool`.
    Phrase(&'g str),
    /// A word of the lexicon.
    Word {
        /// Its class, `fix`.
        class: &'g str,
        /// Its base form, `open`.
        lemma: String,
    },
    /// A word spelled out in a rule.
    Spelled,
}

/// A nonterminal with its alternatives.
#[derive(Debug)]
struct Symbol {
    name: String,
    /// The label of its phrase; `None` splices its parts into the parent.
    label: Option<String>,
    choices: Vec<Choice>,
    /// The minimum number of words it expands to.
    least: usize,
}

/// One way to write a symbol.
#[derive(Debug)]
struct Choice {
    weights: [f32; Genre::ALL.len()],
    starred: bool,
    parts: Vec<Part>,
    least: usize,
}

#[derive(Debug)]
enum Part {
    Word { word: String, tag: String },
    Class { class: String, tag: String },
    Symbol(usize),
}

impl Grammar {
    /// Parses the grammar file.
    ///
    /// # Panics
    /// On a malformed rule or an undefined symbol. The file is built in, so only editing it can
    /// cause this.
    pub(super) fn parse(text: &str) -> Self {
        let rules = instances(text);
        let ids: BTreeMap<&str, usize> = rules.keys().map(String::as_str).zip(0..).collect();
        let symbols = rules.iter().map(|(name, choices)| Symbol {
            name: name.clone(),
            label: label(name),
            choices: choices.split('|').map(|choice| read_choice(choice, &ids)).collect(),
            least: MOST_WORDS + 1,
        });
        let mut grammar = Grammar { symbols: symbols.collect(), root: ids["root"] };
        grammar.measure();
        let endless = grammar.symbols.iter().find(|s| s.least > MOST_WORDS);
        assert!(endless.is_none(), "{:?} has no finite expansion", endless.map(|s| &s.name));
        grammar
    }

    /// Writes one sentence and the origins of its phrases and words in preorder.
    pub(super) fn write<'g>(
        &'g self,
        lexicon: &'g Lexicon,
        genre: Genre,
        random: &mut Random,
    ) -> (Tree, Vec<Origin<'g>>) {
        let room = MOST_WORDS - self.symbols[self.root].least;
        let origins = Vec::new();
        let mut writer = Writer { grammar: self, lexicon, genre, random, room, origins };
        let mut trees = writer.symbol(self.root, 0);
        assert_eq!(trees.len(), 1, "the root must expand to one phrase");
        (trees.remove(0), writer.origins)
    }

    /// Computes the minimum number of words of every symbol and choice, bottom up.
    fn measure(&mut self) {
        loop {
            let least: Vec<usize> = self.symbols.iter().map(|s| s.least).collect();
            for symbol in &mut self.symbols {
                for choice in &mut symbol.choices {
                    let words =
                        |part: &Part| if let Part::Symbol(s) = part { least[*s] } else { 1 };
                    choice.least = choice.parts.iter().map(words).sum();
                    symbol.least = symbol.least.min(choice.least);
                }
            }
            if self.symbols.iter().map(|s| s.least).eq(least) {
                return;
            }
        }
    }
}

/// A sentence being written.
struct Writer<'g, 'r> {
    grammar: &'g Grammar,
    lexicon: &'g Lexicon,
    genre: Genre,
    random: &'r mut Random,
    /// How many words the sentence may have beyond the minimum of its open symbols.
    room: usize,
    /// The origins written so far.
    origins: Vec<Origin<'g>>,
}

impl<'g> Writer<'g, '_> {
    /// Expands a symbol below `stars` starred choices.
    fn symbol(&mut self, symbol: usize, stars: usize) -> Vec<Tree> {
        let symbol = &self.grammar.symbols[symbol];
        if symbol.label.is_some() {
            self.origins.push(Origin::Phrase(&symbol.name));
        }
        let choice = self.choose(symbol, stars);
        self.room -= choice.least - symbol.least;
        let stars = stars + usize::from(choice.starred);
        let mut children = Vec::new();
        for part in &choice.parts {
            let written = self.part(part, stars, &children);
            children.extend(written);
        }
        match &symbol.label {
            Some(label) => vec![Tree::Node { label: label.clone(), children }],
            None => children,
        }
    }

    /// Expands a part, redrawing it if it repeats a neighbour: nobody says `old and old`.
    fn part(&mut self, part: &'g Part, stars: usize, beside: &[Tree]) -> Vec<Tree> {
        let room = self.room;
        let n_origins = self.origins.len();
        let mut trees = Vec::new();
        for _ in 0..TRIES {
            self.room = room;
            self.origins.truncate(n_origins);
            trees = match part {
                Part::Word { word, tag } => {
                    self.origins.push(Origin::Spelled);
                    return vec![Tree::Leaf { tag: tag.clone(), word: word.clone() }];
                }
                Part::Class { class, tag } => {
                    let class_of_words = self.lexicon.class(class);
                    let [lemma, word] = class_of_words.pick(self.genre, tag, self.random);
                    self.origins.push(Origin::Word { class, lemma });
                    vec![Tree::Leaf { tag: tag.clone(), word }]
                }
                Part::Symbol(symbol) => self.symbol(*symbol, stars),
            };
            if !trees.iter().any(|tree| beside.contains(tree)) {
                break;
            }
        }
        trees
    }

    /// Draws a choice that fits in the remaining room.
    fn choose<'s>(&mut self, symbol: &'s Symbol, stars: usize) -> &'s Choice {
        let decay: f32 = (0..stars).map(|_| DECAY).product();
        let most = symbol.least + self.room;
        let genre = self.genre as usize;
        let weight = |choice: &Choice| match choice {
            choice if choice.least > most => 0.0,
            choice => choice.weights[genre] * if choice.starred { decay } else { 1.0 },
        };
        let mut at = self.random.uniform(0.0, symbol.choices.iter().map(weight).sum());
        for choice in &symbol.choices {
            at -= weight(choice);
            if at < 0.0 {
                return choice;
            }
        }
        // No choice of this genre fits, or rounding left a remainder of the sum.
        let shortest = symbol.choices.iter().min_by_key(|choice| choice.least);
        shortest.expect("a rule has a choice")
    }
}

/// The rules by symbol, instantiated for each value of the variables in their names.
fn instances(text: &str) -> BTreeMap<String, String> {
    let mut variables = Vec::new();
    let mut rules: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if line.starts_with(' ') {
            let (_, choices) = rules.last_mut().expect("a rule begins at the margin");
            choices.push_str(line);
        } else if let Some((variable, values)) = line.split_once(" : ") {
            variables.push((variable, values.split(' ').collect::<Vec<_>>()));
        } else {
            let (name, choices) =
                line.split_once(" =").unwrap_or_else(|| panic!("no rule: {line}"));
            rules.push((name.to_owned(), choices.to_owned()));
        }
    }
    for (variable, values) in variables {
        rules = rules
            .into_iter()
            .flat_map(|(name, choices)| {
                let copies = if name.contains(variable) { &values[..] } else { &[variable] };
                let copy = |value: &&str| {
                    (name.replace(variable, value), choices.replace(variable, value))
                };
                copies.iter().map(copy).collect::<Vec<_>>()
            })
            .collect();
    }
    rules.into_iter().collect()
}

/// The label of a phrase; phrases are the symbols that begin with a capital.
fn label(name: &str) -> Option<String> {
    let label = name.split('.').next().filter(|label| label.starts_with(char::is_uppercase));
    label.map(str::to_owned)
}

/// Parses `weight part part …`.
fn read_choice(text: &str, ids: &BTreeMap<&str, usize>) -> Choice {
    let mut fields = text.split_whitespace();
    let weight = fields.next().unwrap_or_else(|| panic!("no weight: {text:?}"));
    let numbers = weight.trim_start_matches('*').split(',');
    let numbers: Vec<f32> = numbers
        .map(|number| number.parse().unwrap_or_else(|_| panic!("no weight: {text:?}")))
        .collect();
    let weights = match numbers[..] {
        [one] => [one; Genre::ALL.len()],
        _ => numbers.try_into().unwrap_or_else(|_| panic!("one weight for each genre: {text:?}")),
    };
    let parts = fields.filter(|&part| part != "-").map(|part| read_part(part, ids)).collect();
    Choice { weights, starred: weight.starts_with('*'), parts, least: 0 }
}

fn read_part(part: &str, ids: &BTreeMap<&str, usize>) -> Part {
    if let Some((word, tag)) = part.split_once('/') {
        Part::Word { word: word.to_owned(), tag: tag.to_owned() }
    } else if let Some((form, class)) = part.split_once(':') {
        Part::Class { class: class.to_owned(), tag: tag(form).to_owned() }
    } else {
        Part::Symbol(*ids.get(part).unwrap_or_else(|| panic!("no rule for {part:?}")))
    }
}

/// The tag of a verb form; other forms are already tags.
fn tag(form: &str) -> &str {
    match form {
        "sgnow" => "VBZ",
        "plnow" | "menow" => "VBP",
        "sgthen" | "plthen" | "methen" => "VBD",
        "base" => "VB",
        "part" => "VBN",
        "ing" => "VBG",
        tag => tag,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ENGLISH;
    use super::*;

    #[test]
    fn variables_agree_and_later_rules_win() {
        let rules = instances("$n : sg pl\nS.$n = 1 a.$n\n  | 2 b.$n\nS.pl = 3 c");
        let rules: Vec<_> =
            rules.iter().map(|(name, choices)| format!("{name}{choices}")).collect();
        assert_eq!(rules, ["S.pl 3 c", "S.sg 1 a.sg  | 2 b.sg"]);
    }

    #[test]
    fn recursion_stops_at_the_length_limit() {
        // Without the length limit, this grammar would recurse forever.
        let grammar = Grammar::parse("root = 1 S\nS = 1 a/A | 1000 a/A S S");
        let lexicon = Lexicon::parse("");
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let (tree, _) = grammar.write(&lexicon, Genre::News, &mut random);
            assert!(tree.leaves().len() <= MOST_WORDS);
        }
    }

    #[test]
    fn every_class_is_in_the_lexicon() {
        let choices = ENGLISH.grammar.symbols.iter().flat_map(|s| &s.choices);
        for part in choices.flat_map(|choice| &choice.parts) {
            if let Part::Class { class, .. } = part {
                ENGLISH.lexicon.class(class);
            }
        }
    }

    #[test]
    #[should_panic(expected = "no rule for \"VP\"")]
    fn an_undefined_symbol_is_reported() {
        Grammar::parse("root = 1 S\nS = 1 VP");
    }
}
