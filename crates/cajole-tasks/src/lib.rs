//! stub
pub mod transduction;
