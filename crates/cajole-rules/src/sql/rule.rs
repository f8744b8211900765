//! The rule itself: statements are parsed, and their names looked up.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::thread;

use cajole_core::{Constraint, Fault, Part, Symbol, Violation};
use cajole_files::Place;
use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, Statement, TableAlias, TableFactor, Visit,
    Visitor,
};
use sqlparser::dialect::{Dialect, dialect_from_str};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, TokenWithSpan, Tokenizer};

use super::SqlConfig;
use crate::limits::{MOST_SCHEMA_TOKENS, MOST_SQL_TOKENS};
use crate::subject::Subject;
use crate::vocabulary::Vocabulary;

/// `g` of a text that is not a statement: more than that of most statements.
const NO_STATEMENT: f32 = 10.0;

/// The stack of a thread that parses: the parser recurses up to 50 levels deep, with large frames,
/// and a sum of all tokens is a tree as deep as it is long.
const STACK_BYTES: usize = 64 << 20;

/// The output must be a statement over the tables of a schema.
#[derive(Debug)]
pub struct Sql {
    vocabulary: Arc<Vocabulary>,
    dialect: String,
    /// The columns of each table, in lower case; `None` if any names will do.
    tables: Option<HashMap<String, HashSet<String>>>,
}

impl Sql {
    /// The rule that `config` says; `schema` is the text of its file.
    ///
    /// # Errors
    /// If there is no such dialect, or the schema is not SQL.
    pub fn new(
        config: SqlConfig,
        schema: Option<&str>,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Self, String> {
        let dialect = config.dialect.unwrap_or_else(|| "generic".to_owned());
        if dialect_from_str(&dialect).is_none() {
            return Err(format!("there is no dialect {dialect:?}; there are {DIALECTS}"));
        }
        let has_tables = !config.tables.is_empty() || schema.is_some();
        let mut tables: HashMap<String, HashSet<String>> = HashMap::new();
        for (table, columns) in config.tables {
            let columns = columns.iter().map(|column| column.to_lowercase()).collect();
            tables.insert(table.to_lowercase(), columns);
        }
        if let Some(schema) = schema {
            let created = analysed(schema, &dialect, MOST_SCHEMA_TOKENS, |statements| {
                Ok(statements.iter().filter_map(created).collect::<Vec<_>>())
            });
            tables.extend(created.map_err(|error| format!("schema-file: {}", error.message))?);
        }
        Ok(Sql {
            vocabulary: Arc::clone(vocabulary),
            dialect,
            tables: has_tables.then_some(tables),
        })
    }

    /// What is wrong with a text, and where.
    fn errors(&self, text: &str) -> Vec<Error> {
        let found = analysed(text, &self.dialect, MOST_SQL_TOKENS, |statements| match statements {
            [] => Err(Error::of_all(text, "there is no statement".to_owned())),
            [statement] => Ok(self.unknown_names(text, statement)),
            _ => Err(Error::of_all(text, format!("there are {} statements", statements.len()))),
        });
        found.unwrap_or_else(|error| vec![error])
    }

    fn unknown_names(&self, text: &str, statement: &Statement) -> Vec<Error> {
        let Some(tables) = &self.tables else { return Vec::new() };
        let mut defined = Defined::default();
        let _ = statement.visit(&mut defined);
        let mut check = Check { text, tables, defined: &defined, errors: BTreeMap::new() };
        let _ = statement.visit(&mut check);
        check.errors.into_values().collect()
    }
}

/// The dialects, for messages.
const DIALECTS: &str = "generic, ansi, bigquery, clickhouse, databricks, duckdb, hive, mssql, mysql, \
                        postgres, redshift, snowflake, spark, sqlite";

impl Constraint<Subject> for Sql {
    fn check(&self, _: &Subject, y: &[Symbol]) -> Violation {
        let text = self.vocabulary.written(y);
        let part = |error: Error| Part { at: text.symbols(&error.at), cost: error.cost };
        Violation::Parts(self.errors(text.as_str()).into_iter().map(part).collect())
    }

    fn explain(&self, _: &Subject, y: &[Symbol]) -> Vec<Fault> {
        let text = self.vocabulary.written(y);
        let fault = |Error { at, cost, message }| Fault { at: text.symbols(&at), cost, message };
        self.errors(text.as_str()).into_iter().map(fault).collect()
    }
}

/// A mistake in a text, and the bytes that it is at.
#[derive(Debug)]
struct Error {
    at: Range<usize>,
    cost: f32,
    message: String,
}

impl Error {
    fn of_all(text: &str, message: String) -> Error {
        Error { at: 0..text.len() + 1, cost: NO_STATEMENT, message }
    }

    fn at(text: &str, place: Location, message: String) -> Error {
        let at = offset(text, place);
        Error { at: at..at + 1, cost: NO_STATEMENT, message }
    }
}

/// Parses a text and passes on its statements. They are dropped on a thread with a large stack,
/// because their trees may be deep.
fn analysed<T: Send>(
    text: &str,
    dialect: &str,
    most_tokens: usize,
    read: impl FnOnce(&[Statement]) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let analyse = || {
        let Some(dialect) = dialect_from_str(dialect) else {
            return Err(Error::of_all(text, format!("there is no dialect {dialect:?}")));
        };
        let tokens = Tokenizer::new(&*dialect, text).tokenize_with_location();
        let tokens = tokens.map_err(|error| Error::at(text, error.location, error.message))?;
        if most_tokens < tokens.len() {
            let message = format!("a statement of more than {most_tokens} words is not examined");
            return Err(Error::of_all(text, message));
        }
        read(&parsed(text, &*dialect, tokens)?)
    };
    let stack = thread::Builder::new().stack_size(STACK_BYTES);
    thread::scope(|scope| match stack.spawn_scoped(scope, analyse) {
        Ok(thread) => {
            let failed = |_| Error::of_all(text, "the parser failed".to_owned());
            thread.join().map_err(failed)?
        }
        // Says nothing about the text.
        Err(error) => {
            let message = format!("it cannot be parsed, since no thread starts: {error}");
            Err(Error { cost: f32::NAN, ..Error::of_all(text, message) })
        }
    })
}

fn parsed(
    text: &str,
    dialect: &dyn Dialect,
    tokens: Vec<TokenWithSpan>,
) -> Result<Vec<Statement>, Error> {
    let statements = Parser::new(dialect).with_tokens_with_locations(tokens).parse_statements();
    statements.map_err(|error| {
        let message = error.to_string();
        let (message, place) = match message.rsplit_once(" at Line: ") {
            Some((message, place)) => (message.to_owned(), place.split_once(", Column: ")),
            None => (message, None),
        };
        let number = |text: &str| text.parse().ok();
        let place = place.and_then(|(line, column)| Some((number(line)?, number(column)?)));
        match place {
            Some((line, column)) => Error::at(text, Location { line, column }, message),
            None => Error { at: text.len()..text.len() + 1, cost: NO_STATEMENT, message },
        }
    })
}

/// The byte at a place; lines and columns count from 1, columns in characters.
fn offset(text: &str, Location { line, column }: Location) -> usize {
    let [line, column] = [line, column].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    Place { line, column }.byte_in(text)
}

/// The name and the columns of a table that a statement creates.
fn created(statement: &Statement) -> Option<(String, HashSet<String>)> {
    let Statement::CreateTable(table) = statement else { return None };
    let columns = table.columns.iter().map(|column| folded(&column.name)).collect();
    Some((folded(last(&table.name)?), columns))
}

fn folded(name: &Ident) -> String {
    name.value.to_lowercase()
}

/// The last part of a name, without the schema or the database.
fn last(name: &ObjectName) -> Option<&Ident> {
    name.0.last()?.as_ident()
}

/// What a statement defines.
#[derive(Default)]
struct Defined {
    /// Columns and windows.
    names: HashSet<String>,
    /// Tables and their aliases; `None` for the result of a query.
    tables: HashMap<String, Option<String>>,
    /// Where functions, schemas and databases are named.
    exempt: HashSet<Location>,
}

impl Defined {
    fn alias(&mut self, alias: Option<&TableAlias>, table: Option<&str>) {
        let Some(alias) = alias else { return };
        self.tables.insert(folded(&alias.name), table.map(str::to_owned));
        self.names.extend(alias.columns.iter().map(|column| folded(&column.name)));
    }

    /// Only the last `n` parts of a name are examined.
    fn exempt(&mut self, name: &ObjectName, n: usize) {
        let parts = &name.0[..name.0.len().saturating_sub(n)];
        let names = parts.iter().filter_map(|part| part.as_ident());
        self.exempt.extend(names.map(|name| name.span.start));
    }
}

impl Visitor for Defined {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.alias(Some(&cte.alias), None);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.names.insert(folded(alias));
            }
        }
        self.names.extend(select.named_window.iter().map(|window| folded(&window.0)));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.exempt(relation, 1);
        if let Some(table) = last(relation).map(folded) {
            self.tables.entry(table.clone()).or_insert(Some(table));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let table = last(name).map(folded);
                let is_query = table.as_ref().is_some_and(|t| self.tables.get(t) == Some(&None));
                self.alias(alias.as_ref(), table.as_deref().filter(|_| !is_query));
            }
            TableFactor::Table { name, alias, args: Some(_), .. } => {
                self.exempt(name, 0);
                self.alias(alias.as_ref(), None);
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::UNNEST { alias, .. } => self.alias(alias.as_ref(), None),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            self.exempt(&function.name, 0);
        }
        ControlFlow::Continue(())
    }
}

/// Looks for names that do not exist.
struct Check<'a> {
    text: &'a str,
    tables: &'a HashMap<String, HashSet<String>>,
    defined: &'a Defined,
    /// By the byte where each begins.
    errors: BTreeMap<usize, Error>,
}

impl Check<'_> {
    fn blame(&mut self, name: &Ident, message: String) {
        let at = offset(self.text, name.span.start);
        let end = offset(self.text, name.span.end).max(at + 1);
        self.errors.entry(at).or_insert(Error { at: at..end, cost: 1.0, message });
    }

    /// Whether one of the statement's tables has this column.
    fn has_column(&self, column: &str) -> bool {
        let tables = self.defined.tables.values().flatten();
        self.defined.names.contains(column)
            || tables.filter_map(|t| self.tables.get(t)).any(|columns| columns.contains(column))
    }
}

impl Visitor for Check<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let Some(name) = last(relation) else { return ControlFlow::Continue(()) };
        let table = folded(name);
        let is_query = self.defined.tables.get(&table) == Some(&None);
        let is_exempt = self.defined.exempt.contains(&name.span.start);
        if !self.tables.contains_key(&table) && !is_query && !is_exempt {
            self.blame(name, format!("there is no table {:?}", name.value));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::CompoundIdentifier(parts) = expr else { return ControlFlow::Continue(()) };
        let [.., table, column] = parts.as_slice() else { return ControlFlow::Continue(()) };
        let known = self.defined.tables.get(&folded(table));
        match known.map(|table| table.as_ref().and_then(|table| self.tables.get(table))) {
            Some(Some(columns)) if !columns.contains(&folded(column)) => {
                let message = format!("{:?} has no column {:?}", table.value, column.value);
                self.blame(column, message);
            }
            None => self.blame(table, format!("there is no table {:?}", table.value)),
            Some(_) => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, name: &Ident) -> ControlFlow<()> {
        let word = folded(name);
        let is_table = self.tables.contains_key(&word) || self.defined.tables.contains_key(&word);
        let is_exempt = self.defined.exempt.contains(&name.span.start);
        if !is_table && !is_exempt && !self.has_column(&word) {
            self.blame(name, format!("there is no column {:?}", name.value));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::letters;

    const SCHEMA: &str =
        "CREATE TABLE users (id INT, name TEXT); CREATE TABLE orders (id INT, \"user\" INT);";

    fn told(text: &str) -> Vec<(String, String)> {
        let config = SqlConfig { dialect: Some("sqlite".to_owned()), ..SqlConfig::default() };
        let rule = Sql::new(config, Some(SCHEMA), Vocabulary::bytes()).unwrap();
        let y: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
        let faults = rule.explain(&letters(""), &y);
        let told: f32 = faults.iter().map(|fault| fault.cost).sum();
        assert_eq!(told, rule.check(&letters(""), &y).total(), "{text}");
        let blamed = |at: Range<usize>| text.get(at).unwrap_or("the end").to_owned();
        faults.into_iter().map(|fault| (blamed(fault.at), fault.message)).collect()
    }

    #[test]
    fn statements_over_the_schema_are_fine() {
        for text in [
            "SELECT id, NAME FROM Users WHERE id = 3 ORDER BY name",
            "SELECT u.name, count(*) AS n FROM users AS u JOIN orders o ON o.user = u.id GROUP BY u.name HAVING n > 2;",
            "WITH big(k) AS (SELECT id FROM orders) SELECT k, b.k FROM big AS b WHERE k IN (SELECT id FROM users)",
            "SELECT t.n FROM (SELECT upper(name) AS n FROM users) t",
            "SELECT * FROM main.users JOIN orders USING (id)",
            "INSERT INTO users (id, name) VALUES (1, 'é')",
            "UPDATE users SET name = 'x' WHERE users.id = 2",
            "DELETE FROM orders WHERE user = 1",
            "SELECT 1",
        ] {
            assert_eq!(told(text), [], "{text}");
        }
    }

    #[test]
    fn names_that_there_are_not_are_blamed() {
        let blamed = |text: &str| told(text).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(blamed("SELECT nam, id\nFROM  user_s, users"), ["nam", "user_s"]);
        assert_eq!(blamed("SELECT 'é', o.name, x.id FROM orders o"), ["name", "x"]);
        assert_eq!(blamed("SELECT name FROM orders"), ["name"], "a column of another table");
        assert_eq!(blamed("INSERT INTO users (id, age) VALUES (1, 2)"), ["age"]);
        assert_eq!(blamed("UPDATE users SET age = 2"), ["age"]);
        assert_eq!(blamed("SELECT * FROM users JOIN orders USING (name, k)"), ["k"]);
        assert_eq!(blamed("DROP TABLE people"), ["people"]);
        let [(_, message)] = &told("SELECT users.age FROM users")[..] else { panic!("one") };
        assert_eq!(message, "\"users\" has no column \"age\"");
    }

    #[test]
    fn what_is_no_statement_is_blamed_where_it_errs() {
        let blamed = |text: &str| told(text).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(blamed("SELECT id FORM users"), ["u"]);
        assert_eq!(blamed("SELECT id FROM users WHERE 'x"), ["'"]);
        for text in ["", " ", ";", "SELECT 1; SELECT 2", "SELECT"] {
            assert_eq!(blamed(text), ["the end"], "{text}");
        }
        assert_eq!(told("SELECT 1; SELECT 2")[0].1, "there are 2 statements");
    }

    #[test]
    fn deep_statements_do_not_exhaust_the_stack() {
        for n in [50, 1300, 100_000] {
            for (before, after) in [
                ("NOT ", ""),
                ("1+", ""),
                ("(", ")"),
                ("(SELECT ", ")"),
                ("CASE WHEN 1 THEN ", " END"),
            ] {
                let text = format!("SELECT {}1{}", before.repeat(n), after.repeat(n));
                assert!(told(&text).len() <= 1);
            }
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        let refused = |dialect: &str, schema: &str| {
            let config = SqlConfig { dialect: Some(dialect.to_owned()), ..SqlConfig::default() };
            Sql::new(config, Some(schema), Vocabulary::bytes()).unwrap_err()
        };
        assert!(refused("klingon", "").contains("no dialect \"klingon\"; there are generic"));
        assert!(refused("sqlite", "CREATE TABLE").starts_with("schema-file: "));
        for dialect in DIALECTS.split(", ") {
            assert!(dialect_from_str(dialect).is_some(), "{dialect}");
        }
    }

    proptest! {
        /// Statements made of names, some of which do not exist.
        #[test]
        fn each_unknown_name_counts_once(
            columns in prop::collection::vec(0..4usize, 1..4), table in 0..3usize, filter in 0..4usize,
        ) {
            let (names, tables) = (["id", "name", "user", "age"], ["users", "orders", "people"]);
            let of = |table: usize| match table { 0 => &names[..2], 1 => &["id", "user"], _ => &[] };
            let chosen: Vec<&str> = columns.iter().map(|&c| names[c]).collect();
            let text = format!("SELECT {} FROM {} WHERE {} > 3", chosen.join(", "), tables[table], names[filter]);
            let is_unknown = |name: &&str| !of(table).contains(name);
            let unknown = chosen.iter().chain([&names[filter]]).filter(|name| is_unknown(name)).count();
            prop_assert_eq!(told(&text).len(), unknown + usize::from(table == 2), "{}", text);
        }
    }
}
