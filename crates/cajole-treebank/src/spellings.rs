//! The tokeniser's word lists: abbreviations, contractions, smileys, addresses.

/// Apostrophes as people type them.
pub(super) const APOSTROPHES: [char; 4] = ['\'', '’', '‘', '`'];

/// Clitics, which are tokens of their own after an apostrophe.
const CLITICS: [&str; 6] = ["s", "m", "d", "ll", "re", "ve"];

/// Words that begin with an apostrophe, listed without it.
const CLIPPED: [&str; 5] = ["em", "n", "til", "cause", "bout"];

/// Contractions without an apostrophe, with the length of the first token.
const FUSED: [(&str, usize); 23] = [
    ("cannot", 3),
    ("gonna", 3),
    ("wanna", 3),
    ("gotta", 3),
    ("outta", 3),
    ("gimme", 3),
    ("lemme", 3),
    ("aint", 2),
    ("arent", 3),
    ("cant", 2),
    ("couldnt", 5),
    ("didnt", 3),
    ("doesnt", 4),
    ("dont", 2),
    ("hadnt", 3),
    ("hasnt", 3),
    ("havent", 4),
    ("isnt", 2),
    ("shouldnt", 6),
    ("wasnt", 3),
    ("werent", 4),
    ("wont", 2),
    ("wouldnt", 5),
];

/// Units, which are tokens of their own even directly after a number.
const UNITS: [&str; 16] = [
    "am", "pm", "a.m.", "p.m.", "k", "mm", "cm", "km", "kg", "mg", "lb", "lbs", "ft", "oz", "hrs",
    "mph",
];

/// Abbreviations that keep their period, besides single letters: `U.S.`, `J.`, `e.g.`.
const ABBREVIATIONS: &str = " mr mrs ms dr drs prof st sts jr sr messrs mme mlle \
    lt sgt cpl capt cmdr supt inc corp ltd bros dept univ assn assoc mfg intl natl \
    jan feb apr aug sept oct nov dec tues thur thurs \
    etc vs cf approx appt attn arrv figs eq vol nos pp eds misc incl eg ie esp \
    conf para yrs mins lb lbs oz ps ave blvd rd ft mt hwy bldg apt ph.d ";

/// Abbreviations only when capitalized, otherwise words or nearly so: `No. 5`, `Sat.`.
const NAMES: &str = " Rev Hon Gen Col Adm Maj Gov Sen Rep Reps Pres Amb Sec Co Est Mar Jun Jul Sep \
    Mon Tue Wed Thu Fri Sat Sun Fig No Ed Ext Tel Ph Spec Ala Ariz Ark Calif Colo Conn Del Fla Ga \
    Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev Okla Ore Pa Penn Tenn Tex Va Vt Wash \
    Wis Wyo ";

/// Whether a period belongs to the word before it.
pub(super) fn abbreviates(stem: &str) -> bool {
    let letter = |part: &str| part.chars().count() == 1 && part.chars().all(char::is_alphabetic);
    let lists = |table: &str, word: &str| table.split(' ').any(|entry| entry == word);
    let listed = || lists(ABBREVIATIONS, &stem.to_lowercase()) || lists(NAMES, stem);
    !stem.is_empty() && (stem.split('.').all(letter) || listed())
}

/// Where the last part of a contraction begins: `do|n't`, `she|'ll`, `can|not`.
pub(super) fn contraction(word: &str) -> Option<usize> {
    if let Some(&(_, first)) = FUSED.iter().find(|(fused, _)| word.eq_ignore_ascii_case(fused)) {
        return Some(first);
    }
    let mut tail = word.char_indices().rev().take(3);
    let (apostrophe, mark) = tail.find(|(_, c)| APOSTROPHES.contains(c))?;
    let (host, tail) = (&word[..apostrophe], &word[apostrophe + mark.len_utf8()..]);
    if tail.eq_ignore_ascii_case("t") && host.ends_with(['n', 'N']) {
        return Some(host.len() - 1);
    }
    // 60's is a plural, not a clitic.
    let counts = tail == "s" && !host.ends_with(|c: char| c.is_alphabetic() || ".)\"".contains(c));
    (is_clitic(tail) && !counts).then_some(apostrophe)
}

/// Where the unit of a number begins: `5|pm`, `7:30|am`.
pub(super) fn unit(word: &str) -> Option<usize> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let at = word.find(|c: char| !c.is_ascii_digit() && !".,:".contains(c))?;
    UNITS.iter().any(|unit| word[at..].eq_ignore_ascii_case(unit)).then_some(at)
}

/// Whether an apostrophe begins a word, rather than a quotation: `'s`, `'em`, `'90s`.
pub(super) fn is_clipped(word: &str) -> bool {
    let Some(tail) = word.strip_prefix(APOSTROPHES) else { return false };
    let years = tail.strip_suffix('s').unwrap_or(tail);
    is_clitic(tail)
        || CLIPPED.iter().any(|clipped| tail.eq_ignore_ascii_case(clipped))
        || years.len() == 2 && years.chars().all(|c| c.is_ascii_digit())
}

fn is_clitic(tail: &str) -> bool {
    CLITICS.iter().any(|clitic| tail.eq_ignore_ascii_case(clitic))
}

/// Whether this is a smiley: eyes, optional nose, mouth; or the reverse.
pub(super) fn is_smiley(word: &str) -> bool {
    let face = word.trim_start_matches('>');
    let upright = face.strip_prefix([':', ';', '=']).is_some_and(|face| {
        let mouth = face.strip_prefix(['-', '\'', '^', 'o']).unwrap_or(face);
        matches!(mouth, "D" | "P" | "p" | "O" | "o" | "/" | "\\" | "|" | "*" | "3")
            || is_run(mouth, ')')
            || is_run(mouth, '(')
    });
    upright || matches!(word, "(:" | "(-:" | "(;" | "):" | ")-:" | "D:" | "<3" | "xD" | "XD")
}

fn is_run(mouth: &str, of: char) -> bool {
    !mouth.is_empty() && mouth.chars().all(|c| c == of)
}

/// The length of the URL at the start of a word, without trailing punctuation.
pub(super) fn web_address(word: &str) -> Option<usize> {
    const SCHEMES: [&str; 5] = ["http://", "https://", "ftp://", "www.", "mailto:"];
    let begins = |scheme: &&str| {
        word.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let scheme = SCHEMES.into_iter().find(begins)?;
    let address = word.split(['<', '>', '"', '“', '”', '|']).next()?;
    let closed = address.contains('(');
    let after = |c: char| ".,;:!?…'’]".contains(c) || c == ')' && !closed;
    let address = address.trim_end_matches(after);
    (scheme.len() < address.len()).then_some(address.len())
}

/// Whether a word without trailing punctuation is an address without a scheme: `ann@example.org`,
/// `example.org/a/b`, `/usr/bin`.
pub(super) fn is_address(word: &str) -> bool {
    // Longer words are not addresses; searching them after every cut would be quadratic.
    const LONGEST: usize = 2000;
    if LONGEST < word.len() || word.contains(['"', '(', ')', '<', '>', ',', ';', '[', ']']) {
        return false;
    }
    let mail = word.split_once('@').is_some_and(|(who, host)| !who.is_empty() && !host.is_empty());
    let site = word.split_once('/').is_some_and(|(host, _)| {
        matches!(host, "" | "~" | "." | "..")
            || host.contains('.') && host.contains(char::is_alphabetic) && !host.ends_with('.')
    });
    mail || site
}
