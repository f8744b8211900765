//! Treebanks: constituency trees and the formats they come in.

pub mod generated;
pub mod sentence;
pub mod tree;

pub use sentence::Sentence;
pub use tree::Tree;
