//! Any checkpoint, any rule, any number of lines.

pub mod ordered;
pub mod sink;
pub mod source;
