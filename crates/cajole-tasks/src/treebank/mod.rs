//! Treebanks: constituency trees and the formats they come in.

pub mod tree;

pub use tree::Tree;
