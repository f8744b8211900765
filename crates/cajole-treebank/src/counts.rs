//! Sums of scores, and their ratios.

/// A ratio in per cent; 0 if there is nothing to count.
pub fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Implements `+=` for a struct field by field, and [`Sum`](std::iter::Sum); without fields only
/// the latter, by the struct's own `+=`.
#[macro_export]
macro_rules! summable {
    ($score:ident { $($field:ident),+ $(,)? }) => {
        impl ::std::ops::AddAssign for $score {
            fn add_assign(&mut self, other: $score) {
                let $score { $($field),+ } = other;
                $(self.$field += $field;)+
            }
        }
        $crate::summable!($score);
    };
    ($score:ident) => {
        impl ::std::iter::Sum for $score {
            fn sum<I: Iterator<Item = $score>>(scores: I) -> $score {
                let mut sum = $score::default();
                for score in scores {
                    sum += score;
                }
                sum
            }
        }
    };
}
