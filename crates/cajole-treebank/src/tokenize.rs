//! Splits raw text into treebank tokens: `"I don't," he said.` is `" I do n't , " he said .`
//!
//! This follows the convention of web treebanks: quotes stay as typed, and the sentence-final
//! period is a token even after an abbreviation (`at 5 p.m .`). Hyphens are the exception:
//! `well-known` stays one token, as in the original Penn Treebank, where web treebanks mostly have
//! three. Characters are never changed, added or dropped.
//!
//! Text is cut at blanks, and then wherever `cut` says. A piece that is not cut further is a token.
//! Except for that final period, the decision depends on the piece alone, so tokenizing is
//! idempotent: tokens joined by blanks give the same tokens.

use super::spellings::{
    APOSTROPHES, abbreviates, contraction, is_address, is_clipped, is_smiley, unit, web_address,
};

/// Tokenizes one sentence.
///
/// ```
/// use cajole_treebank::tokenize;
///
/// let tokens = tokenize("Mr. Lee can't pay $1,000.50 (or 5%)...");
/// assert_eq!(tokens.join(" "), "Mr. Lee ca n't pay $ 1,000.50 ( or 5 % ) ...");
/// ```
pub fn tokenize(text: &str) -> Vec<String> {
    let closes = |c: char| c.is_whitespace() || "\"”’')]}".contains(c);
    let sentence = text.trim_end_matches(closes).len();
    // The pieces still to cut, leftmost on top, with their offsets.
    let mut pieces: Vec<(usize, &str)> = Vec::new();
    let mut tokens = Vec::new();
    for word in text.split_whitespace() {
        pieces.push((word.as_ptr().addr() - text.as_ptr().addr(), word));
        while let Some((start, piece)) = pieces.pop() {
            let ends_sentence = sentence <= start + piece.len();
            match cut(piece, ends_sentence) {
                Some(at) => {
                    let (left, right) = piece.split_at(at);
                    pieces.push((start + at, right));
                    pieces.push((start, left));
                }
                None => tokens.push(piece.to_owned()),
            }
        }
    }
    tokens
}

/// Marks that end a sentence; a run of them is one token.
const TERMINATORS: [char; 4] = ['.', '!', '?', '…'];

/// Characters that people draw lines and arrows with; a run of them is one token.
const ORNAMENTS: [char; 12] = ['-', '=', '_', '*', '~', '+', '|', '<', '>', '#', '^', '—'];

/// Marks that are split from adjacent words, one token each.
const MARKS: [char; 23] = [
    '"', '“', '”', '„', '«', '»', '(', ')', '[', ']', '{', '}', ',', ';', ':', '%', '–', '·', '•',
    '¿', '¡', '…', '—',
];

const CURRENCIES: [char; 4] = ['$', '£', '€', '¥'];

/// Where to cut a piece in two, if anywhere. Trailing punctuation goes first, because the bare word
/// is easier to recognise.
fn cut(piece: &str, ends_sentence: bool) -> Option<usize> {
    if let Some(length) = web_address(piece) {
        return (length < piece.len()).then_some(length);
    }
    let is_run = |marks: &[char]| piece.chars().all(|c| marks.contains(&c));
    if is_smiley(piece)
        || is_clipped(piece)
        || [&ORNAMENTS[..], &TERMINATORS, &CURRENCIES].into_iter().any(is_run)
    {
        return None;
    }
    let inside = |at: &usize| 0 < *at && *at < piece.len();
    let outer = end(piece, ends_sentence).filter(inside).or_else(|| start(piece).filter(inside));
    let outer = outer.or_else(|| contraction(piece).filter(inside));
    if outer.is_some() || is_address(piece) {
        return outer;
    }
    middle(piece).or_else(|| unit(piece)).filter(inside)
}

/// Where the punctuation after a word begins.
fn end(piece: &str, ends_sentence: bool) -> Option<usize> {
    let last = piece.chars().next_back()?;
    let before_last = piece.len() - last.len_utf8();
    if last == ')' || last == '(' {
        let face = |length: &usize| {
            piece.len().checked_sub(*length).and_then(|at| piece.get(at..)).is_some_and(is_smiley)
        };
        let length = [3, 2].into_iter().find(face).unwrap_or(1);
        return Some(piece.len() - length);
    }
    if TERMINATORS.contains(&last) {
        let word = piece.trim_end_matches(TERMINATORS);
        let (run, dotted) = (&piece[word.len()..], piece.len().min(word.len() + 1));
        return match run {
            "." if !ends_sentence && abbreviates(word) => None,
            ".." | ".?" | ".!" if abbreviates(word) => Some(dotted),
            _ => Some(word.len()),
        };
    }
    if MARKS.contains(&last) {
        return Some(before_last);
    }
    if APOSTROPHES.contains(&last) {
        let before = piece[..before_last].chars().next_back()?;
        let doubled = if APOSTROPHES.contains(&before) { before.len_utf8() } else { 0 };
        return Some(before_last - doubled);
    }
    if last == '/' {
        // `and/or` is cut; `w/` and `example.org/` are not.
        let word = &piece[..before_last];
        let is_plain = 1 < word.len() && word.chars().all(char::is_alphabetic);
        return is_plain.then_some(before_last);
    }
    let word = piece.trim_end_matches(ORNAMENTS);
    // C++, C#, a rating of A-, pre- and post-war.
    let belongs = matches!(&piece[word.len()..], "" | "-" | "+" | "++" | "#");
    (!belongs).then_some(word.len())
}

/// Where the punctuation before a word ends.
fn start(piece: &str) -> Option<usize> {
    let first = piece.chars().next()?;
    let rest = &piece[first.len_utf8()..];
    let after = |marks: &[char]| Some(piece.len() - piece.trim_start_matches(marks).len());
    let next = rest.chars().next()?;
    if APOSTROPHES.contains(&first) {
        let doubled = if APOSTROPHES.contains(&next) { next.len_utf8() } else { 0 };
        return Some(first.len_utf8() + doubled);
    }
    match first {
        // Numbers, paths and web names.
        '.' | '-' | '+' if next.is_ascii_digit() => None,
        '#' | '_' if next.is_alphabetic() => None,
        '.' if next.is_lowercase() => None,
        '.' | '~' if next == '/' => None,
        _ if TERMINATORS.contains(&first) => after(&TERMINATORS),
        _ if MARKS.contains(&first) => Some(first.len_utf8()),
        _ if CURRENCIES.contains(&first) && !next.is_alphabetic() => after(&CURRENCIES),
        _ if ORNAMENTS.contains(&first) => after(&ORNAMENTS),
        _ => None,
    }
}

/// Where the first punctuation that splits a word begins.
fn middle(piece: &str) -> Option<usize> {
    let bytes = piece.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let letters = |at: usize| {
        bytes.get(at..at + 2).is_some_and(|two| two.iter().all(u8::is_ascii_alphabetic))
    };
    for (at, c) in piece.char_indices().skip(1) {
        let after = at + c.len_utf8();
        let parts = match c {
            ',' | ';' | ':' | '–' => !(digit(at - 1) && digit(after)),
            '.' | '-' => bytes.get(after) == Some(&bytes[at]),
            '/' if 2 <= at && letters(at - 2) && letters(after) => return Some(after),
            '%' => false,
            '!' | '?' | '<' | '>' | '|' => true,
            _ if CURRENCIES.contains(&c) && digit(after) => return Some(after),
            _ => MARKS.contains(&c),
        };
        if parts {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let tokens = tokenize(text).join(" ");
        assert_eq!(tokens, expected, "{text}");
        assert_eq!(tokenize(&tokens).join(" "), expected, "tokenizing is idempotent");
    }

    #[test]
    fn punctuation_is_split_from_words() {
        check("Well, yes; no: (maybe) [so]!", "Well , yes ; no : ( maybe ) [ so ] !");
        check("He said, \"I know.\"", "He said , \" I know . \"");
        check("“Yes,” she said—twice.", "“ Yes , ” she said — twice .");
        check("Wait... what?! No -- really!!!", "Wait ... what ?! No -- really !!!");
        check("so...yes--no", "so ... yes -- no");
        check("*bold* and ====>", "* bold * and ====>");
        check("the 'new' dogs' toys", "the ' new ' dogs ' toys");
        check("''quoted'' and ``quoted''", "'' quoted '' and `` quoted ''");
        check("and/or, w/o, he/she/it", "and / or , w/o , he / she / it");
        check("", "");
        check(" \n\t", "");
    }

    #[test]
    fn contractions_are_split() {
        check("I don't; you can't, DON'T!", "I do n't ; you ca n't , DO N'T !");
        check("She'll say it's Ann's.", "She 'll say it 's Ann 's .");
        check("I'd've, they’re, we’ve", "I 'd 've , they ’re , we ’ve");
        check("Gonna, wanna, cannot, dont", "Gon na , wan na , can not , do nt");
        check(
            "O'Rourke of the '90s and 60's, tell 'em!",
            "O'Rourke of the '90s and 60's , tell 'em !",
        );
    }

    #[test]
    fn numbers_and_abbreviations_stay_whole() {
        check("It costs $1,000.50, or 5%.", "It costs $ 1,000.50 , or 5 % .");
        check("US$5 at 5:30pm, -3.5 or +44 or .04", "US$ 5 at 5:30 pm , -3.5 or +44 or .04");
        check("On 12/27/2000 call 713-853-3989", "On 12/27/2000 call 713-853-3989");
        check("Mr. J. Lee of the U.S. won.", "Mr. J. Lee of the U.S. won .");
        check("e.g. apples, etc., vs. (p.m.)", "e.g. apples , etc. , vs. ( p.m . )");
        check("He said no. No. 5 sat. ETC. is it", "He said no . No. 5 sat . ETC. is it");
        check("Is it in the U.S.?", "Is it in the U.S. ?");
        check("a well-known pre- and post-war e-mail", "a well-known pre- and post-war e-mail");
        check("AT&T likes C++ and C#.", "AT&T likes C++ and C# .");
    }

    #[test]
    fn the_last_period_ends_the_sentence() {
        check("We met at 5 p.m.", "We met at 5 p.m .");
        check("\"We met at 5 p.m.\"", "\" We met at 5 p.m . \"");
        check("We met at 5 p.m. .", "We met at 5 p.m. .");
    }

    #[test]
    fn web_addresses_stay_whole() {
        check("See http://a.org/b?c=d,e.", "See http://a.org/b?c=d,e .");
        check(
            "www.a.org/x_(y) (WWW.a.org) <https://a.org>",
            "www.a.org/x_(y) ( WWW.a.org ) < https://a.org >",
        );
        check("ann@b.org's mail", "ann@b.org 's mail");
        check("Mail ann.b@c-d.org, or a.org/b/c.", "Mail ann.b@c-d.org , or a.org/b/c .");
        check("Nice :) ;-) :D :( :'( <3 ^_^", "Nice :) ;-) :D :( :'( <3 ^_^");
        check("Thanks:) Great!:-)", "Thanks :) Great ! :-)");
        check("#tag @ann 👍🏽 naïve 東京", "#tag @ann 👍🏽 naïve 東京");
    }

    #[test]
    fn long_runs_take_linear_time() {
        for text in ["(", "a,", "'", "a--", ".a", "n't", "a/b", ":)", "“", "http://"] {
            let text = text.repeat(20_000);
            assert_eq!(tokenize(&text).concat(), text);
        }
    }

    proptest! {
        #[test]
        fn tokenizing_only_inserts_blanks(
            web in "[a-dsntA-C0-9.,;:!?'’`\"()<>/@$%#*_ =…—“é東-]{0,24}",
            any in ".{0,24}",
        ) {
            for text in [web, any] {
                let tokens = tokenize(&text);
                let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
                prop_assert_eq!(tokens.concat(), bare);
                prop_assert_eq!(tokenize(&tokens.join(" ")), tokens);
            }
        }
    }
}
