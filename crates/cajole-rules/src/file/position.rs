//! Where in the text of a constraint file an error is.
//!
//! An error knows its rule and its key; errors in formulas and grammars also know their place
//! within the value. Editors want to show the exact place.

use std::sync::LazyLock;

use cajole_files::Place;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::RuleError;
use super::table::KINDS;
use crate::ebnf::EbnfError;
use crate::formula::FormulaError;

/// The byte at which an error is, in a rule that begins at byte `at`: inside the value that it is
/// about, at its key, or else where the rule begins.
pub(super) fn locate(text: &str, at: usize, error: &RuleError) -> usize {
    let Ok(file) = DeTable::parse(text) else { return at };
    let file = file.get_ref();
    let Some(table) = table_at(file, at).or((at == 0).then_some(file)) else { return at };
    let first = || table.iter().map(|(key, _)| key.span().start).min();
    let Some((key, value)) = keys(error).iter().find_map(|key| table.get_key_value(*key)) else {
        return if at == 0 { first().unwrap_or(at) } else { at };
    };
    inside(text, value, error).unwrap_or(key.span().start)
}

/// The table that begins at a byte, at any depth of lists.
fn table_at<'t, 'i>(table: &'t DeTable<'i>, at: usize) -> Option<&'t DeTable<'i>> {
    table.iter().find_map(|(_, value)| {
        let DeValue::Array(list) = value.get_ref() else { return None };
        list.iter().find_map(|item| match item.get_ref() {
            DeValue::Table(table) if item.span().start == at => Some(table),
            DeValue::Table(table) => table_at(table, at),
            _ => None,
        })
    })
}

/// The keys that an error may be about, the likeliest first.
fn keys(error: &RuleError) -> &[&str] {
    match error {
        RuleError::NoKind { .. } | RuleError::TooManyStates { .. } => &[],
        RuleError::SeveralKinds { other: key, .. }
        | RuleError::StrayKey { key, .. }
        | RuleError::NoRules { key }
        | RuleError::NoTags { key, .. }
        | RuleError::NoText { key, .. } => std::slice::from_ref(key),
        RuleError::Weight { .. } => &["weight"],
        RuleError::NoCommands { .. } => &["shift-reduce"],
        RuleError::UnknownRole { .. } => &["unique-roles", "free-roles", "consistent", "valid"],
        RuleError::TwoGrammars => &["grammar-file"],
        // The one key that says what kind of rule it is.
        RuleError::NoFolder { .. }
        | RuleError::File(_)
        | RuleError::NoPrograms { .. }
        | RuleError::NotBuilt { .. }
        | RuleError::Checker(_) => &KEYS_OF_KINDS,
        RuleError::Invalid { key, .. } => std::slice::from_ref(key),
        RuleError::Formula(_) => &["arithmetic"],
        RuleError::Pattern(_) => &["pattern"],
        RuleError::Ebnf { .. } => &["symbols", "grammar", "grammar-file"],
        RuleError::Lexical(_) => &["must-have", "must-not-have"],
    }
}

/// The keys of all kinds of rules.
static KEYS_OF_KINDS: LazyLock<Vec<&str>> =
    LazyLock::new(|| KINDS.iter().flat_map(|kind| kind.keys).map(|(key, _)| *key).collect());

/// The keys whose values are grammars.
const KEYS_OF_TEXT: [&str; 2] = ["symbols", "grammar"];

/// How far into its value an error is, if the value has no escapes in the file.
fn inside(text: &str, value: &Spanned<DeValue<'_>>, error: &RuleError) -> Option<usize> {
    let DeValue::String(meant) = value.get_ref() else { return None };
    let written = text.get(value.span())?;
    let start = value.span().start + written.find(&**meant)?;
    let offset = match error {
        RuleError::Formula(error) => Place { line: 1, column: column(error) }.byte_in(meant),
        // A grammar in a file of its own has places of its own.
        RuleError::Ebnf { key, source: EbnfError { place, .. } }
            if KEYS_OF_TEXT.contains(&&**key) =>
        {
            place.byte_in(meant)
        }
        _ => 0,
    };
    Some(start + offset)
}

fn column(error: &FormulaError) -> usize {
    match error {
        FormulaError::Unexpected { column, .. }
        | FormulaError::Unclosed { column, .. }
        | FormulaError::TooLarge { column, .. }
        | FormulaError::Unknown { column, .. }
        | FormulaError::NoText { column }
        | FormulaError::Empty { column }
        | FormulaError::SeveralWords { column, .. }
        | FormulaError::Nonlinear { column, .. }
        | FormulaError::TooDeep { column, .. } => *column,
    }
}

#[cfg(test)]
mod tests {
    use cajole_files::Place;
    use std::sync::Arc;

    use crate::{Rules, Vocabulary};

    #[track_caller]
    fn check(text: &str, line: usize, column: usize) {
        let vocabulary = Arc::new(Vocabulary::new(["a", "b"], ""));
        let error = Rules::parse("rules", text, None, &vocabulary).err().expect("an error");
        assert_eq!(error.position(text), Some(Place { line, column }), "{error}");
    }

    #[test]
    fn errors_are_where_the_text_is_wrong() {
        check("# why\n\narithmetic = 'count(out, \"q\") = 1'", 3, 26);
        check("name = 'x'\narithmetic = \"len(out) = = 2\"", 2, 26);
        check("grammar = '''\ne = \"a\" ;\nf = \"q\" ;\n'''", 3, 5);
        check("[[all]]\nmust-have = ['a']\n\n[[all]]\nname = 'second'\npattern = '('", 6, 12);
        check(
            "all = [\n  { must-have = ['a'] },\n  { weight = -1.0, must-have = ['b'] },\n]",
            3,
            5,
        );
        check("[[all]]\nmust-have = ['a']\nweight = 0", 3, 1);
        check("# a program\nchecker = { command = ['sh'] }", 2, 1);
        check("name = 'é'\ngrammar-file = 'x.ebnf'", 2, 17);
        check("name = 'x'\nsql = { schema-file = 'x.sql' }", 2, 1);
        check("name = 'x'\ncopies = { pattern = '(' }", 2, 1);
        check("# nothing\nname = 'x'", 2, 1);
        check("must-have = [", 1, 14);
        check("a = 1", 1, 1);
        check("pattern = 'é' must", 1, 15);
    }
}
