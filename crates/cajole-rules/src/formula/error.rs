//! What can be wrong with a formula.

use crate::UnknownSymbol;

/// Why a text is no formula. Columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    /// Something else should stand here.
    #[error("column {column}: expected {expected}, found {found}")]
    Unexpected {
        /// Where it stands.
        column: usize,
        /// What could have stood there.
        expected: &'static str,
        /// What does, in quotes, or that the text ends.
        found: String,
    },
    /// A quotation that does not end.
    #[error("column {column}: {text} has no closing quote")]
    Unclosed {
        /// Where it begins.
        column: usize,
        /// All of it.
        text: String,
    },
    /// A number beyond 64 bits.
    #[error("column {column}: {text} is too large")]
    TooLarge {
        /// Where it stands.
        column: usize,
        /// The number, or what would be one.
        text: String,
    },
    /// An output symbol that is not in the vocabulary.
    #[error("column {column}: {source}")]
    Unknown {
        /// Where it is named.
        column: usize,
        /// Its name.
        source: UnknownSymbol,
    },
    /// A product of two terms that both depend on the output.
    #[error("column {column}: {text} multiplies the output by itself")]
    Nonlinear {
        /// Where the product begins.
        column: usize,
        /// The product so far.
        text: String,
    },
    /// Parentheses or signs within one another without end.
    #[error("column {column}: terms are nested more than {limit} deep")]
    TooDeep {
        /// Where it gets too deep.
        column: usize,
        /// How deep they may be.
        limit: usize,
    },
}
