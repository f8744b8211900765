//! Where something is in a text.

/// Something that was read from a file, with its line number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// The line it begins on, counting from 1.
    pub line: usize,
    /// The tree, the sentence or the line.
    pub item: T,
}
