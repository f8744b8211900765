//! SQL that parses and names only tables and columns that exist.
//!
//! ```text
//! g = the number of names that the schema does not have, or 10 if the text is no statement
//! ```
//!
//! A name is fine if it is a table of the schema, a column of one of the statement's tables, or if
//! the statement defines it: an alias, or a common table expression. `t.c` needs a column of `t`.
//! Function names are not examined, nor is the scope of names. Case is ignored.
//!
//! The parser knows many dialects, and is as much machine code as all rules together. So it is
//! behind the feature `sql`; what a rule says is read without it.

#[cfg(feature = "sql")]
mod rule;

use std::collections::BTreeMap;

use serde::Deserialize;

#[cfg(feature = "sql")]
pub use rule::Sql;

/// The dialect and the tables.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct SqlConfig {
    /// The dialect, such as `sqlite` or `postgres`; generic if there is none.
    pub dialect: Option<String>,
    /// The columns of each table.
    pub tables: BTreeMap<String, Vec<String>>,
    /// A file of `CREATE TABLE` statements.
    pub schema_file: Option<String>,
}
