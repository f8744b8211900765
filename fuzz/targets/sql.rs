//! SQL statements over a schema, and schemas.
#![no_main]

use std::collections::BTreeMap;

use cajole_core::Symbol;
use cajole_fuzz::check;
use cajole_rules::{Sql, SqlConfig, Subject, Vocabulary};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let y: Vec<Symbol> = text.bytes().map(Symbol::from).collect();
    let x = Subject::default();
    for dialect in ["generic", "sqlite", "postgres", "bigquery"] {
        let dialect = Some(dialect.to_owned());
        let columns = vec!["id".to_owned(), "name".to_owned()];
        let tables = BTreeMap::from([("users".to_owned(), columns)]);
        let mut given = SqlConfig::default();
        given.dialect = dialect;
        let mut over = given.clone();
        over.tables = tables;
        let rule = Sql::new(over, None, Vocabulary::bytes()).expect("a dialect");
        check(&rule, &x, std::slice::from_ref(&y));
        match Sql::new(given, Some(text), Vocabulary::bytes()) {
            Ok(rule) => check(&rule, &x, std::slice::from_ref(&y)),
            Err(error) => assert!(error.starts_with("schema-file"), "{error}"),
        }
    }
});
