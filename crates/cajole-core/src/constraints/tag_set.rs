//! Labelled spans as tags: `B-X` begins a span of role `X`, `I-X` continues it, `O` is outside.
//!
//! A tagger outputs symbols, one per word; scorers, constraints and decoders work with spans. A
//! [`TagSet`] converts between them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::model::Symbol;

/// A span label, by its index in one [`TagSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(u16);

impl Role {
    /// The role's index, below [`TagSet::n_roles`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The meaning of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Outside any span.
    O,
    /// Begins a span.
    B(Role),
    /// Continues the current span.
    I(Role),
}

impl Tag {
    /// The role of the span at this position.
    pub fn role(self) -> Option<Role> {
        match self {
            Tag::O => None,
            Tag::B(role) | Tag::I(role) => Some(role),
        }
    }
}

/// A labelled range of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Its first position.
    pub start: usize,
    /// The position after its last.
    pub end: usize,
    /// Its label.
    pub role: Role,
}

impl Span {
    /// Its positions.
    pub fn at(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Why a list of names is not a tag set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagSetError {
    /// Neither `O`, nor `B-` or `I-` followed by a role.
    #[error("tag {symbol} is {name:?}, which is neither O nor B- or I- and a role")]
    Unknown {
        /// Its index.
        symbol: usize,
        /// The name.
        name: String,
    },
    /// A duplicate name.
    #[error("tag {symbol} is {name:?}, and so is tag {first}")]
    Duplicate {
        /// The index of the second.
        symbol: usize,
        /// The index of the first.
        first: Symbol,
        /// The name.
        name: String,
    },
    /// There is no tag for positions outside spans.
    #[error("none of the {n_tags} tags is O")]
    NoOutside {
        /// How many there are.
        n_tags: usize,
    },
    /// A role can continue but not begin.
    #[error("there is a tag I-{role} but no B-{role}")]
    NoBegin {
        /// The role.
        role: String,
    },
    /// Too many roles for their index type.
    #[error("{n_roles} roles are more than {}", u16::MAX)]
    TooMany {
        /// How many there are.
        n_roles: usize,
    },
}

/// The tags of a network's output, by symbol. Clones share them.
///
/// ```
/// use cajole_core::constraints::{Tag, TagSet};
///
/// let tags = TagSet::new(["O", "B-ARG0", "I-ARG0", "B-V"])?;
/// let role = tags.role("ARG0").expect("it has tags");
/// assert_eq!(tags.tag(2), Some(Tag::I(role)));
/// let [who] = tags.iter_spans(&[1, 2, 3])
///     .filter(|span| span.role == role)
///     .collect::<Vec<_>>()[..] else { panic!("one argument") };
/// assert_eq!(who.at(), 0..2);
/// # Ok::<(), cajole_core::constraints::TagSetError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSet {
    lists: Arc<Lists>,
}

/// The lists behind a [`TagSet`].
#[derive(Debug, PartialEq, Eq)]
struct Lists {
    names: Vec<String>,
    tags: Vec<Tag>,
    symbols: BTreeMap<String, Symbol>,
    roles: Vec<String>,
    outside: Symbol,
    begin: Vec<Symbol>,
    inside: Vec<Option<Symbol>>,
}

impl TagSet {
    /// The tags with these names; the first is symbol 0.
    ///
    /// Roles are numbered in the order of their `B-`. A role without `I-` has spans of one
    /// position.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<TagSet, TagSetError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let symbols = numbered(&names)?;
        let n_tags = names.len();
        let outside = *symbols.get("O").ok_or(TagSetError::NoOutside { n_tags })?;
        let begins = |name: &&String| name.starts_with("B-");
        let roles: Vec<String> = names.iter().filter(begins).map(|b| b[2..].into()).collect();
        if usize::from(u16::MAX) < roles.len() {
            return Err(TagSetError::TooMany { n_roles: roles.len() });
        }
        let begin: Vec<Symbol> = roles.iter().map(|role| symbols[&format!("B-{role}")]).collect();
        let inside: Vec<Option<Symbol>> =
            roles.iter().map(|role| symbols.get(&format!("I-{role}")).copied()).collect();
        if let Some(name) = names
            .iter()
            .find(|i| i.starts_with("I-") && !symbols.contains_key(&format!("B-{}", &i[2..])))
        {
            return Err(TagSetError::NoBegin { role: name[2..].into() });
        }
        let mut tags = vec![Tag::O; n_tags];
        for (r, (&b, &i)) in (0..).zip(begin.iter().zip(&inside)) {
            tags[b as usize] = Tag::B(Role(r));
            if let Some(i) = i {
                tags[i as usize] = Tag::I(Role(r));
            }
        }
        let lists = Lists { names, tags, symbols, roles, outside, begin, inside };
        Ok(TagSet { lists: Arc::new(lists) })
    }

    /// Number of tags; every symbol is below it.
    pub fn n_tags(&self) -> usize {
        self.lists.tags.len()
    }

    /// Number of roles.
    pub fn n_roles(&self) -> usize {
        self.lists.roles.len()
    }

    /// The tag of `symbol`, if it is in the set.
    pub fn tag(&self, symbol: Symbol) -> Option<Tag> {
        self.lists.tags.get(symbol as usize).copied()
    }

    /// The symbol for `tag`, if it has one.
    pub fn symbol(&self, tag: Tag) -> Option<Symbol> {
        match tag {
            Tag::O => Some(self.lists.outside),
            Tag::B(role) => self.lists.begin.get(role.index()).copied(),
            Tag::I(role) => self.lists.inside.get(role.index()).copied().flatten(),
        }
    }

    /// The symbol for `O`.
    pub fn outside(&self) -> Symbol {
        self.lists.outside
    }

    /// The symbol for `B-`.
    ///
    /// # Panics
    ///
    /// If `role` belongs to a larger tag set.
    pub fn begin(&self, role: Role) -> Symbol {
        self.lists.begin[role.index()]
    }

    /// The symbol for `I-`, if there is one.
    ///
    /// # Panics
    ///
    /// If `role` belongs to a larger tag set.
    pub fn inside(&self, role: Role) -> Option<Symbol> {
        self.lists.inside[role.index()]
    }

    /// The name of `symbol`.
    pub fn name(&self, symbol: Symbol) -> Option<&str> {
        self.lists.names.get(symbol as usize).map(String::as_str)
    }

    /// The names of all tags, in symbol order.
    pub fn names(&self) -> &[String] {
        &self.lists.names
    }

    /// The symbol named `name`.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.lists.symbols.get(name).copied()
    }

    /// All roles, in order.
    pub fn roles(&self) -> impl Iterator<Item = Role> + use<> {
        (0..self.lists.roles.len() as u16).map(Role)
    }

    /// The role named `name`, without `B-` or `I-`.
    pub fn role(&self, name: &str) -> Option<Role> {
        self.find(&format!("B-{name}")).and_then(|b| self.tag(b)?.role())
    }

    /// The name of `role`.
    ///
    /// # Panics
    ///
    /// If `role` belongs to a larger tag set.
    pub fn role_name(&self, role: Role) -> &str {
        &self.lists.roles[role.index()]
    }

    /// Whether `after` may follow `before`, or start the sequence if `before` is `None`.
    pub fn may_follow(&self, before: Option<Symbol>, after: Symbol) -> bool {
        match self.tag(after) {
            Some(Tag::I(role)) => {
                before.and_then(|b| self.tag(b)).and_then(Tag::role) == Some(role)
            }
            Some(_) => true,
            None => false,
        }
    }

    /// Whether every `I-` in `y` continues a span of its role.
    pub fn is_valid(&self, y: &[Symbol]) -> bool {
        self.strays(y).next().is_none()
    }

    /// The spans of `y`, in order.
    ///
    /// A stray `I-` begins a span, as scorers read it. Symbols outside the set are in no span.
    pub fn iter_spans<'a>(&'a self, y: &'a [Symbol]) -> impl Iterator<Item = Span> + 'a {
        let mut next = 0;
        std::iter::from_fn(move || {
            let role_at = |t: usize| self.tag(*y.get(t)?)?.role();
            let (start, role) = (next..y.len()).find_map(|t| Some((t, role_at(t)?)))?;
            let goes_on = |&t: &usize| self.tag(y[t]) == Some(Tag::I(role));
            let end = start + 1 + (start + 1..y.len()).take_while(goes_on).count();
            next = end;
            Some(Span { start, end, role })
        })
    }

    /// Overwrites `spans` with the spans of `y`.
    pub fn spans(&self, y: &[Symbol], spans: &mut Vec<Span>) {
        spans.clear();
        spans.extend(self.iter_spans(y));
    }

    /// The positions of stray tags.
    pub(super) fn strays<'a>(&'a self, y: &'a [Symbol]) -> impl Iterator<Item = usize> + 'a {
        (0..y.len()).filter(|&t| !self.may_follow(t.checked_sub(1).map(|before| y[before]), y[t]))
    }
}

/// The symbol of each name.
fn numbered(names: &[String]) -> Result<BTreeMap<String, Symbol>, TagSetError> {
    let mut symbols = BTreeMap::new();
    for (symbol, name) in names.iter().enumerate() {
        let role = name.strip_prefix("B-").or_else(|| name.strip_prefix("I-"));
        if name != "O" && role.is_none_or(str::is_empty) {
            return Err(TagSetError::Unknown { symbol, name: name.clone() });
        }
        if let Some(first) = symbols.insert(name.clone(), symbol as Symbol) {
            return Err(TagSetError::Duplicate { symbol, first, name: name.clone() });
        }
    }
    Ok(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraints::oracle::{self, strings};

    fn tags() -> TagSet {
        TagSet::new(["I-A", "O", "B-V", "B-A"]).expect("well formed")
    }

    #[test]
    fn names_symbols_and_tags_agree() {
        let tags = tags();
        assert_eq!((tags.n_tags(), tags.n_roles()), (4, 2));
        for symbol in 0..4 {
            let tag = tags.tag(symbol).unwrap();
            assert_eq!(tags.symbol(tag), Some(symbol));
            assert_eq!(tags.find(tags.name(symbol).unwrap()), Some(symbol));
        }
        assert_eq!(tags.tag(4), None);
        let [v, a] = ["V", "A"].map(|name| tags.role(name).unwrap());
        assert!(tags.roles().eq([v, a]));
        assert_eq!([tags.role_name(v), tags.role_name(a)], ["V", "A"]);
        assert_eq!((tags.inside(v), tags.inside(a)), (None, Some(0)));
        assert_eq!((tags.outside(), tags.begin(a)), (1, 3));
        assert_eq!((tags.role("B"), tags.find("I-V")), (None, None));
    }

    #[test]
    fn invalid_tag_sets_are_rejected() {
        let refused = |names: &[&str]| TagSet::new(names.to_vec()).unwrap_err().to_string();
        assert_eq!(
            refused(&["O", "A-B"]),
            "tag 1 is \"A-B\", which is neither O nor B- or I- and a role"
        );
        assert!(refused(&["O", "B-"]).contains("\"B-\""));
        assert_eq!(refused(&["O", "B-A", "O"]), "tag 2 is \"O\", and so is tag 0");
        assert_eq!(refused(&["B-A"]), "none of the 1 tags is O");
        assert_eq!(refused(&["O", "I-A"]), "there is a tag I-A but no B-A");
        assert_eq!(refused(&[]), "none of the 0 tags is O");
    }

    #[test]
    fn spans_follow_their_definition_on_all_short_sequences() {
        let tags = TagSet::new(["O", "B-A", "I-A", "B-B", "I-B"]).unwrap();
        let mut spans = Vec::new();
        // Symbol 5 is outside the set.
        for y in strings(6, 5) {
            tags.spans(&y, &mut spans);
            assert_eq!(spans, oracle::spans(&tags, &y), "{y:?}");
        }
    }
}
