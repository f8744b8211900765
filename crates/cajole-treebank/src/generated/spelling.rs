//! English spelling: regular inflection, the article, and capitals.

/// `car` → `cars`; also the third person singular of verbs.
pub(super) fn with_s(word: &str) -> String {
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end));
    if hisses || word.ends_with("go") {
        format!("{word}es")
    } else if let Some(stem) = consonant_y(word) {
        format!("{stem}ies")
    } else {
        format!("{word}s")
    }
}

/// `open` → `opened`.
pub(super) fn with_ed(word: &str) -> String {
    if word.ends_with('e') {
        format!("{word}d")
    } else if let Some(stem) = consonant_y(word) {
        format!("{stem}ied")
    } else {
        format!("{}ed", doubled(word))
    }
}

/// `move` → `moving`.
pub(super) fn with_ing(word: &str) -> String {
    match word.strip_suffix('e') {
        // A final `e` that is the stem's only vowel stays, as in be, see and flee.
        Some(stem) if stem.len() > 1 && !stem.ends_with('e') => format!("{stem}ing"),
        _ => format!("{}ing", doubled(word)),
    }
}

/// Whether `a` becomes `an` before this word.
pub(super) fn takes_an(word: &str) -> bool {
    let word = word.to_lowercase();
    let starts = |with: &[&str]| with.iter().any(|w| word.starts_with(w));
    let sounds_like_you = starts(&["uni", "use", "euro", "one"]);
    starts(&["hour", "honest"]) || starts(&["a", "e", "i", "o", "u"]) && !sounds_like_you
}

/// Capitalizes the first letter.
pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

fn is_vowel(letter: char) -> bool {
    "aeiou".contains(letter)
}

/// The stem before a `y` that follows a consonant.
fn consonant_y(word: &str) -> Option<&str> {
    word.strip_suffix('y').filter(|stem| !stem.ends_with(is_vowel))
}

/// Doubles the last letter of a word with one short syllable: `stop` → `stopp`.
fn doubled(word: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    let short = match letters[..] {
        [.., before, vowel, last] => {
            !is_vowel(before) && is_vowel(vowel) && !is_vowel(last) && !"wxy".contains(last)
        }
        _ => false,
    };
    let one_syllable = letters.iter().filter(|&&l| is_vowel(l)).count() == 1;
    match letters.last() {
        Some(last) if short && one_syllable => format!("{word}{last}"),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_forms() {
        for (word, s, ed, ing) in [
            ("open", "opens", "opened", "opening"),
            ("stop", "stops", "stopped", "stopping"),
            ("carry", "carries", "carried", "carrying"),
            ("play", "plays", "played", "playing"),
            ("watch", "watches", "watched", "watching"),
            ("move", "moves", "moved", "moving"),
            ("agree", "agrees", "agreed", "agreeing"),
            ("fix", "fixes", "fixed", "fixing"),
            ("repair", "repairs", "repaired", "repairing"),
        ] {
            assert_eq!([with_s(word), with_ed(word), with_ing(word)], [s, ed, ing]);
        }
    }

    #[test]
    fn articles_and_capitals() {
        let an = ["engine", "hour", "old", "user", "union", "house", "one"].map(takes_an);
        assert_eq!(an, [true, true, true, false, false, false, false]);
        assert_eq!([capitalized("the"), capitalized("`")], ["The", "`"]);
    }
}
