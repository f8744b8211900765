//! Formats numbers for people: a true minus sign, a dash for missing values, no trailing zeros.

/// Stands for a missing or non-finite number.
pub(super) const MISSING: &str = "–";

/// `value` with `decimals` decimals.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let digits = format!("{:.decimals$}", value.abs());
    let is_negative = value < 0.0 && digits.contains(|digit| ('1'..='9').contains(&digit));
    if is_negative { format!("−{digits}") } else { digits }
}

/// How many decimals `value` needs, up to `most`.
pub(super) fn decimals(value: f64, most: usize) -> usize {
    let digits = trim_zeros(&fixed(value, most));
    digits.find('.').map_or(0, |point| digits.len() - point - 1)
}

/// `value` with four significant digits, as short as possible.
pub(super) fn brief(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return fixed(value, 0);
    }
    let written = format!("{value:.3e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        exponent @ -4..7 => {
            group_thousands(&trim_zeros(&fixed(value, (3 - exponent).max(0) as usize)))
        }
        _ => scientific(mantissa, exponent),
    }
}

fn scientific(mantissa: &str, exponent: &str) -> String {
    let power: String = exponent.chars().map(superscript).collect();
    match trim_zeros(mantissa).replace('-', "−").as_str() {
        "1" => format!("10{power}"),
        mantissa => format!("{mantissa}×10{power}"),
    }
}

fn superscript(digit: char) -> char {
    match digit.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    }
}

fn trim_zeros(number: &str) -> String {
    if !number.contains('.') {
        return number.to_owned();
    }
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Groups the digits of numbers with five or more digits in threes, with no-break spaces.
fn group_thousands(number: &str) -> String {
    let whole = number.find('.').unwrap_or(number.len());
    let digits = number[..whole].chars().filter(char::is_ascii_digit).count();
    if digits < 5 {
        return number.to_owned();
    }
    let sign = number[..whole].chars().count() - digits;
    let mut grouped = String::new();
    for (at, character) in number.chars().enumerate() {
        let before_point = (digits + sign).saturating_sub(at);
        if at > sign && before_point > 0 && before_point % 3 == 0 {
            grouped.push('\u{a0}');
        }
        grouped.push(character);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::{brief, fixed};

    #[test]
    fn fixed_decimals() {
        assert_eq!(fixed(98.25, 1), "98.2");
        assert_eq!(fixed(-12.0, 2), "−12.00");
        assert_eq!(fixed(-0.001, 1), "0.0");
        assert_eq!(fixed(f64::NAN, 1), "–");
    }

    #[test]
    fn brief_numbers() {
        for (value, shown) in [
            (0.0, "0"),
            (98.2, "98.2"),
            (1500.0, "1500"),
            (-25_000.0, "−25\u{a0}000"),
            (1_234_567.0, "1\u{a0}234\u{a0}567"),
            (0.0003, "0.0003"),
            (1e-5, "10⁻⁵"),
            (-2.5e12, "−2.5×10¹²"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(brief(value), shown);
        }
    }
}
