//! Errors in formulas.

use crate::UnknownSymbol;

/// Why a text is not a formula. Columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// An unexpected token.
    #[error("column {column}: expected {expected}, found {found}")]
    Unexpected {
        /// The column.
        column: usize,
        /// What was expected.
        expected: &'static str,
        /// What was found, quoted, or the end of the text.
        found: String,
    },
    /// An unclosed quotation.
    #[error("column {column}: {text} has no closing quote")]
    Unclosed {
        /// The column where it begins.
        column: usize,
        /// The quotation.
        text: String,
    },
    /// A number beyond 64 bits.
    #[error("column {column}: {text} is too large")]
    TooLarge {
        /// The column.
        column: usize,
        /// The number, or the constant expression.
        text: String,
    },
    /// An output symbol that is not in the vocabulary.
    #[error("column {column}: {source}")]
    Unknown {
        /// The column.
        column: usize,
        /// The symbol's name.
        source: UnknownSymbol,
    },
    /// Words of a network that does not write text.
    #[error("column {column}: `words` needs a network that writes text in pieces")]
    NoText {
        /// The column.
        column: usize,
    },
    /// A count of nothing.
    #[error("column {column}: there is nothing in the quotes")]
    Empty {
        /// The column.
        column: usize,
    },
    /// A count of words that are several.
    #[error("column {column}: {text:?} is more than one word; count it in `out` instead")]
    SeveralWords {
        /// The column.
        column: usize,
        /// The text.
        text: String,
    },
    /// A product of two terms that both depend on the output.
    #[error("column {column}: {text} multiplies the output by itself")]
    Nonlinear {
        /// The column where the product begins.
        column: usize,
        /// The product so far.
        text: String,
    },
    /// Parentheses or signs are nested too deeply.
    #[error("column {column}: terms are nested more than {limit} deep")]
    TooDeep {
        /// The column.
        column: usize,
        /// The limit.
        limit: usize,
    },
}
