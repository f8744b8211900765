//! Rules over right outputs: how often gold itself violates them.
//!
//! A rule that gold disagrees with is noise: insisting on it makes right outputs wrong. Before
//! using a rule, look at what it says about outputs that are known to be right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cajole_core::{Constraint, Symbol};
use cajole_report::{Align, Cell, Figure, Report, Row, Table};
use cajole_rules::{OneRule, RuleFileError, Rules, Subject, UnknownSymbol, Vocabulary};
use cajole_tasks::srl::Query;
use serde_json::Value;

use crate::line::{Line, LineError, list};

/// An input with its right output, by the names of its symbols.
#[derive(Clone, Debug)]
pub struct Gold {
    /// The line it is from.
    pub line: u64,
    /// The input.
    pub subject: Subject,
    /// The right output.
    pub output: Vec<String>,
    /// The kind of text it is from, if the line says.
    pub group: Option<String>,
}

impl Gold {
    /// The right output in symbols of a network.
    ///
    /// # Errors
    /// If it has a symbol that is not in the vocabulary.
    pub fn symbols(&self, vocabulary: &Vocabulary) -> Result<Vec<Symbol>, UnknownSymbol> {
        if vocabulary.is_text() || vocabulary.spelling().is_some() {
            return vocabulary.read(&self.output.concat());
        }
        let symbol = |name: &String| {
            let unknown = || UnknownSymbol { name: name.clone() };
            vocabulary.symbol(name).ok_or_else(unknown)
        };
        self.output.iter().map(symbol).collect()
    }
}

/// Which outputs to look at, and how to read them.
#[derive(Clone, Debug)]
pub struct Look {
    /// The field by whose values results are grouped.
    pub by: String,
    /// Whether to leave out predicates that are not verbs.
    pub verbs: bool,
    /// The separator of symbols in a text; empty if every character is a symbol. `None` if outputs
    /// are text, as for networks that write pieces.
    pub separator: Option<String>,
}

impl Look {
    /// The right outputs of a line: its `output` or `gold`, or the tags of its predicates.
    ///
    /// # Errors
    /// If there are none.
    pub fn golds(&self, line: &Line) -> Result<Vec<Gold>, LineError> {
        let group = line.fields.get(&self.by).map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        if line.fields.contains_key("srl") {
            return self.roles(line, group.as_deref());
        }
        let tokens = line.fields.get("tokens").filter(|_| !line.fields.contains_key("input"));
        let value = tokens.cloned().map_or_else(|| line.input(), Ok)?;
        let gold = line.gold().ok_or(LineError::NoGold)?;
        let output = self.symbols("output", gold)?;
        let subject = Subject::new(self.symbols("input", &value)?, value);
        Ok(vec![Gold { line: line.number, subject, output, group }])
    }

    fn roles(&self, line: &Line, group: Option<&str>) -> Result<Vec<Gold>, LineError> {
        let Some(query) = line.sentence(Query::from_fields, Query::parse)? else {
            return Ok(Vec::new());
        };
        let Query { tokens, pos, tree, predicates, .. } = query;
        let is_verb = |p: usize| {
            let tag = pos.as_ref().and_then(|tags| tags.get(p));
            tag.is_some_and(|tag| tag.starts_with('V') || tag.starts_with("MD"))
        };
        let (tokens, tree): (Arc<[String]>, _) = (tokens.into(), tree.map(Arc::new));
        let asked = predicates.into_iter().flatten().filter(|p| !p.tags.is_empty());
        let golds = asked.filter(|p| !self.verbs || is_verb(p.predicate)).map(|p| {
            let subject = Subject::of_predicate(Arc::clone(&tokens), p.predicate);
            let subject = subject.with_tree(tree.clone());
            let group = group.map(str::to_owned);
            Gold { line: line.number, subject, output: p.tags, group }
        });
        Ok(golds.collect())
    }

    fn symbols(&self, field: &'static str, value: &Value) -> Result<Vec<String>, LineError> {
        let text = || {
            let text = value.as_str().unwrap_or_default();
            match self.separator.as_deref() {
                None => vec![text.to_owned()],
                Some("") => text.chars().map(String::from).collect(),
                Some(separator) => {
                    text.split(separator).filter(|s| !s.is_empty()).map(str::to_owned).collect()
                }
            }
        };
        Ok(list(field, value)?.unwrap_or_else(text))
    }
}

/// The symbols of right outputs: the vocabulary of a network that could write them.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// Adds those of one output.
    pub fn add(&mut self, gold: &Gold) {
        for name in &gold.output {
            if !self.0.contains(name) {
                self.0.insert(name.clone());
            }
        }
    }

    /// The vocabulary, together with the symbols that rules name: gold need not contain what is
    /// forbidden. `compile` tries the rules on a vocabulary.
    pub fn with_rules(
        mut self,
        separator: &str,
        compile: impl Fn(&Arc<Vocabulary>) -> Result<(), RuleFileError>,
    ) -> Arc<Vocabulary> {
        loop {
            let vocabulary = Arc::new(self.clone().vocabulary(separator));
            let unknown = compile(&vocabulary).err().and_then(|e| e.unknown_symbol());
            let symbol = unknown.map(|name| match (separator, name.chars().next()) {
                ("", Some(first)) => first.to_string(),
                _ => name,
            });
            if !symbol.is_some_and(|symbol| self.0.insert(symbol)) {
                return vocabulary;
            }
        }
    }

    /// Commands are numbered as parsers have them, everything else by name.
    fn vocabulary(mut self, separator: &str) -> Vocabulary {
        let is_span = |name: &String| name.starts_with("B-") || name.starts_with("I-");
        if !self.0.is_empty() && self.0.iter().all(is_span) {
            self.0.insert("O".to_owned());
        }
        let is_command = |name: &String| name == "s" || name == "r" || name.starts_with('!');
        let mut names: Vec<String> = self.0.into_iter().collect();
        if names.iter().all(is_command) {
            let place = |name: &str| ["s", "r"].iter().position(|n| *n == name).unwrap_or(2);
            names.sort_by_key(|name| place(name));
        }
        Vocabulary::new(names, separator)
    }
}

/// The verdicts of rules on right outputs.
pub struct Lint<'v> {
    rules: &'v Rules,
    vocabulary: &'v Vocabulary,
    shown: usize,
    all: Counts,
    by_group: BTreeMap<String, Counts>,
    /// For each rule, some outputs that violate it.
    examples: Vec<Vec<Example>>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    checked: usize,
    /// Outputs that violate any rule.
    violating: usize,
    /// Outputs that a rule could not measure, for example because a checker crashed.
    unmeasured: usize,
    /// For each rule: how many outputs violate it, and by how much in total.
    by_rule: Vec<(usize, f64)>,
}

#[derive(Clone, Debug)]
struct Example {
    line: u64,
    output: String,
    messages: String,
}

impl<'v> Lint<'v> {
    /// Starts counting; keeps at most `shown` examples of each rule.
    pub fn new(rules: &'v Rules, vocabulary: &'v Vocabulary, shown: usize) -> Self {
        let examples = rules.iter().map(|_| Vec::new()).collect();
        let (all, by_group) = (Counts::default(), BTreeMap::new());
        Lint { rules, vocabulary, shown, all, by_group, examples }
    }

    /// Counts one right output, and returns whether it obeys the rules.
    ///
    /// # Errors
    /// If it has a symbol that is not in the vocabulary.
    pub fn add(&mut self, gold: &Gold) -> Result<bool, UnknownSymbol> {
        let y = gold.symbols(self.vocabulary)?;
        // As much as each rule adds to the g of records.
        let cost = |weight, rule: OneRule<'_>| rule.check(&gold.subject, &y).scaled(weight).total();
        let costs: Vec<f32> =
            self.rules.iter().map(|(_, weight, rule)| cost(weight, rule)).collect();
        self.all.count(&costs);
        if let Some(group) = &gold.group {
            self.by_group.entry(group.clone()).or_default().count(&costs);
        }
        for (i, (_, _, rule)) in self.rules.iter().enumerate() {
            if costs[i] == 0.0 || self.shown <= self.examples[i].len() {
                continue;
            }
            let faults = rule.explain(&gold.subject, &y);
            let messages: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
            let (line, output) = (gold.line, self.vocabulary.text(&y));
            self.examples[i].push(Example { line, output, messages: messages.join("; ") });
        }
        Ok(costs.iter().all(|&cost| cost == 0.0))
    }

    /// How many right outputs were counted.
    pub fn checked(&self) -> usize {
        self.all.checked
    }

    /// How many of them violate any rule.
    pub fn violating(&self) -> usize {
        self.all.violating
    }

    /// How many of them violate each rule, with its name.
    pub fn by_rule(&self) -> impl Iterator<Item = (&str, usize)> {
        let names = self.rules.iter().map(|(name, ..)| name);
        names.zip(self.all.rules(self.examples.len()).map(|(n, _)| n))
    }

    /// The findings: by rule, by group, with examples.
    pub fn report(&self, title: &str) -> Report {
        let mut report = Report::new(title);
        let names: Vec<&str> = self.rules.iter().map(|(name, _, _)| name).collect();
        let mut by_rule = Table::new(
            format!("{} right outputs: how many violate each rule", self.all.checked),
            ["rule", "violate", "per cent", "g, if it does"],
        );
        for (name, (n, g)) in names.iter().zip(self.all.rules(names.len())) {
            by_rule = by_rule.row([
                Cell::plain(*name),
                Cell::plain(n.to_string()),
                Cell::number(per_cent(n, self.all.checked), 2),
                Cell::number(g / n as f64, 3),
            ]);
            report.rows.push(row("all", name, n, g, self.all.checked));
        }
        let Counts { violating, unmeasured, .. } = self.all;
        let rest = [("any of them", violating), ("could not be measured", unmeasured)];
        by_rule = by_rule.rule();
        for (name, n) in rest.into_iter().filter(|&(name, n)| 0 < n || name == "any of them") {
            let share = Cell::number(per_cent(n, self.all.checked), 2);
            let cells = [Cell::plain(name), Cell::plain(n.to_string()), share, Cell::plain("")];
            by_rule = by_rule.row(cells);
        }
        report.tables.push(by_rule);
        if 1 < self.by_group.len() {
            report.tables.push(self.group_table(&names, &mut report.rows));
        }
        let examples = names.iter().zip(&self.examples).filter(|(_, some)| !some.is_empty());
        report.tables.extend(examples.map(|(name, some)| example_table(name, some)));
        report
    }

    fn group_table(&self, names: &[&str], rows: &mut Vec<Row>) -> Table {
        let header = ["", "outputs"].into_iter().chain(names.iter().copied());
        let mut table = Table::new("Per cent that violate each rule, by kind", header);
        for (group, counts) in &self.by_group {
            let mut cells =
                vec![Cell::plain(group.as_str()), Cell::plain(counts.checked.to_string())];
            for (name, (n, g)) in names.iter().zip(counts.rules(names.len())) {
                cells.push(Cell::number(per_cent(n, counts.checked), 2));
                rows.push(row(group, name, n, g, counts.checked));
            }
            table = table.row(cells);
        }
        table
    }
}

impl Counts {
    fn count(&mut self, costs: &[f32]) {
        self.checked += 1;
        self.violating += usize::from(costs.iter().any(|&g| 0.0 < g));
        self.unmeasured += usize::from(costs.iter().any(|g| g.is_nan()));
        self.by_rule.resize(costs.len(), (0, 0.0));
        for ((n, sum), &g) in self.by_rule.iter_mut().zip(costs).filter(|(_, g)| 0.0 < **g) {
            (*n, *sum) = (*n + 1, *sum + f64::from(g));
        }
    }

    /// The counts of each of `n` rules.
    fn rules(&self, n: usize) -> impl Iterator<Item = (usize, f64)> {
        self.by_rule.iter().copied().chain(std::iter::repeat((0, 0.0))).take(n)
    }
}

fn row(group: &str, rule: &str, n: usize, g: f64, checked: usize) -> Row {
    Row::new(group, "gold", rule)
        .counted(checked, n)
        .with(Figure::Violate, per_cent(n, checked))
        .with(Figure::MeanG, g / n as f64)
}

fn example_table(name: &str, some: &[Example]) -> Table {
    let mut table = Table::new(format!("{name}: some that violate it"), ["#", "output", "why"])
        .aligned([Align::Right, Align::Left, Align::Left]);
    for Example { line, output, messages } in some {
        let cells = [line.to_string(), output.clone(), messages.clone()];
        table = table.row(cells.map(Cell::plain));
    }
    table
}

fn per_cent(n: usize, of: usize) -> f64 {
    100.0 * n as f64 / of as f64
}
