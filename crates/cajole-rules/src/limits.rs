//! How much rules over text and spans may demand. Rules may come with a line or a request, so their
//! cost is bounded. `SECURITY.md` lists these constants.

/// Bytes of compiled rules that a process keeps, by estimate.
pub const MOST_COMPILED_BYTES: usize = 256 << 20;

/// Tokens of a statement that `sql` examines: bounds how deep its tree is.
pub const MOST_SQL_TOKENS: usize = 4096;

/// Tokens of the schema of an `sql` rule, which is a file.
pub const MOST_SCHEMA_TOKENS: usize = 1 << 20;

/// Errors of a text that `json-schema` counts.
pub const MOST_JSON_ERRORS: usize = 1000;

/// Bytes of all compiled patterns of a JSON Schema together.
pub const MOST_JSON_PATTERN_BYTES: usize = 16 << 20;

/// Bytes of a compiled pattern of `copies` or `valid`.
pub const MOST_SEARCH_BYTES: usize = 1 << 18;

/// Items of an input for which `copies` has an automaton.
pub const MOST_ITEMS: usize = 32;

/// States of all regular expressions in a grammar.
pub const MOST_PATTERN_STATES: usize = 1 << 12;
