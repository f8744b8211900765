//! The ranges of numbers on the command line. A number outside its range is refused at the flag,
//! with the range, before anything is allocated.

use clap::builder::RangedU64ValueParser;

/// A flag's number from `least` to `most`.
pub(crate) fn within(least: usize, most: usize) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least as u64..=most as u64)
}
