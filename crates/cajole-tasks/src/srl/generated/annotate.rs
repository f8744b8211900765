//! Finds the predicates of a generated sentence, and what fills their roles.
//!
//! What goes with a verb need not be beside it: the subject of `wants to leave` is that of `wants`,
//! the object of `the car they sold` is the noun before, and a date or a modal stands above the
//! phrase it belongs to. So one walk from the root downwards carries what has been met.

use std::ops::Range;
use std::sync::LazyLock;

use super::frames::Frames;
use super::phrase::Phrase;
use crate::srl::sentence::Proposition;

static FRAMES: LazyLock<Frames> = LazyLock::new(|| Frames::parse(include_str!("frames.txt")));

/// The propositions of a sentence, from left to right.
pub(super) fn propositions(sentence: &Phrase) -> Vec<Proposition> {
    let mut walk = Walk { n_words: sentence.span.end, found: Vec::new() };
    walk.visit(sentence);
    walk.found.sort_by_key(|proposition| proposition.predicate);
    walk.found
}

/// A noun phrase that a verb finds elsewhere, and the relative pronoun that stands for it.
#[derive(Clone, Debug)]
struct Filler {
    span: Range<usize>,
    pronoun: Option<Range<usize>>,
}

impl Filler {
    fn new(phrase: &Phrase) -> Self {
        Filler { span: phrase.span.clone(), pronoun: None }
    }
}

/// What a verb has around its own phrase.
#[derive(Clone, Debug, Default)]
struct Around<'p> {
    subject: Option<Filler>,
    /// The object, if it stands before the clause.
    object: Option<Filler>,
    /// Phrases and words whose role the verb's frame decides.
    others: Vec<&'p Phrase<'p>>,
    /// What has the same role with every verb.
    known: Vec<(&'static str, Range<usize>)>,
}

impl<'p> Around<'p> {
    /// The clause lacks its subject or, if it has one, its object: here it is.
    fn fill(&mut self, clause: &Phrase, filler: Filler) {
        match clause.part("NP") {
            None => self.subject = Some(filler),
            Some(_) => self.object = Some(filler),
        }
    }

    fn with(&self, others: Vec<&'p Phrase<'p>>) -> Self {
        let mut around = self.clone();
        around.others.extend(others);
        around
    }

    /// The arguments of a verb that finds this around it.
    fn arguments(self, verb: &Verb) -> impl Iterator<Item = (String, Range<usize>)> {
        let Verb { class, lemma, passive } = *verb;
        let object = FRAMES.object(class, lemma);
        let subject = if passive { object } else { FRAMES.subject(class, lemma) };
        let fillers = subject.zip(self.subject).into_iter().chain(object.zip(self.object));
        let fillers = fillers.flat_map(|(role, Filler { span, pronoun })| {
            let pronoun = pronoun.map(|pronoun| (format!("R-{role}"), pronoun));
            std::iter::once((role.to_owned(), span)).chain(pronoun)
        });
        let role = |phrase: &Phrase| FRAMES.role(class, lemma, phrase);
        let others = self.others.into_iter().filter_map(|p| Some((role(p)?, p.span.clone())));
        let rest: Vec<_> = others.chain(self.known).collect();
        fillers.chain(rest.into_iter().map(|(role, span)| (role.to_owned(), span)))
    }
}

/// A verb, as the frames know it.
struct Verb<'p> {
    class: &'p str,
    lemma: &'p str,
    passive: bool,
}

struct Walk {
    n_words: usize,
    found: Vec<Proposition>,
}

impl Walk {
    /// A phrase that has nothing to do with the verbs above it.
    fn visit(&mut self, phrase: &Phrase) {
        match phrase.label() {
            "S" | "SQ" | "SINV" | "SBAR" | "SBARQ" => self.clause(phrase, Around::default()),
            "NP" => self.noun_phrase(phrase),
            _ => phrase.parts.iter().for_each(|part| self.visit(part)),
        }
    }

    /// A clause, with or without a conjunction or a question word before it.
    fn clause<'p>(&mut self, clause: &'p Phrase<'p>, mut around: Around<'p>) {
        let inner = clause.part("S").or(clause.part("SQ"));
        if let ("SBAR" | "SBARQ", Some(inner)) = (clause.label(), inner) {
            match (clause.part("WHNP"), clause.part("WHADVP")) {
                (Some(asked), _) => around.fill(inner, Filler::new(asked)),
                (_, Some(asked)) => around.others.push(asked),
                (None, None) => {}
            }
            return self.clause(inner, around);
        }
        if let Some(subject) = clause.part("NP") {
            around.subject = Some(Filler::new(subject));
        }
        match clause.part("VP") {
            None if clause.parts.iter().any(Phrase::is_verb) => self.predicate(clause, around),
            None => clause.parts.iter().for_each(|part| self.visit(part)),
            Some(verb_phrase) => {
                for (i, part) in clause.parts.iter().enumerate() {
                    match part.label() {
                        "VP" => {}
                        "PRN" => around.others.extend(self.parenthesis(part, clause)),
                        // Within a clause a conjunction joins; before it, it links to the last one.
                        "CC" if i > 0 => {}
                        "NP" => self.visit(part),
                        _ => {
                            self.visit(part);
                            around.others.push(part);
                        }
                    }
                }
                self.verb_phrase(verb_phrase, around);
            }
        }
    }

    /// An aside between subject and verb; returns what of it belongs to the verb.
    fn parenthesis<'p>(
        &mut self,
        aside: &'p Phrase<'p>,
        clause: &'p Phrase<'p>,
    ) -> Option<&'p Phrase<'p>> {
        match (aside.part("S"), clause.part("NP"), clause.part("VP")) {
            // In `the man , I think , left`, what I think is in two pieces.
            (Some(thought), Some(subject), Some(verb_phrase)) => {
                let pieces = [("ARG1", subject.span.clone()), ("C-ARG1", verb_phrase.span.clone())];
                self.clause(thought, Around { known: pieces.to_vec(), ..Around::default() });
            }
            _ => self.visit(aside),
        }
        aside.part("ADVP")
    }

    /// A noun phrase, whose clauses and participles are about its head.
    fn noun_phrase<'p>(&mut self, noun_phrase: &'p Phrase<'p>) {
        let head = noun_phrase.part("NP");
        for part in &noun_phrase.parts {
            match (part.label(), head) {
                ("SBAR", Some(head)) if !part.is("SBAR.fact") => self.relative(head, part),
                ("VP", Some(head)) => {
                    let subject = Some(Filler::new(head));
                    self.verb_phrase(part, Around { subject, ..Around::default() });
                }
                _ => self.visit(part),
            }
        }
    }

    /// A relative clause, with or without a pronoun.
    fn relative<'p>(&mut self, head: &'p Phrase<'p>, relative: &'p Phrase<'p>) {
        let Some(clause) = relative.part("S") else { return };
        let mut around = Around::default();
        if let Some(place) = relative.part("WHPP") {
            around.known =
                vec![("ARGM-LOC", head.span.clone()), ("R-ARGM-LOC", place.span.clone())];
        } else {
            let pronoun = relative.part("WHNP").map(|pronoun| pronoun.span.clone());
            around.fill(clause, Filler { span: head.span.clone(), pronoun });
        }
        self.clause(clause, around);
    }

    /// A verb phrase: auxiliaries and joined phrases lead to the verbs further down.
    fn verb_phrase<'p>(&mut self, verb_phrase: &'p Phrase<'p>, around: Around<'p>) {
        if verb_phrase.part("VP").is_none() {
            return self.predicate(verb_phrase, around);
        }
        let mut before = Vec::new();
        for part in &verb_phrase.parts {
            match part.label() {
                "VP" => self.verb_phrase(part, around.with(std::mem::take(&mut before))),
                "MD" | "RB" | "ADVP" => before.push(part),
                _ => {}
            }
        }
    }

    /// A phrase whose own verb is a predicate.
    fn predicate<'p>(&mut self, phrase: &'p Phrase<'p>, mut around: Around<'p>) {
        let Some(verb) = phrase.parts.iter().find(|part| part.is_verb()) else { return };
        let (class, lemma) = verb.lexeme.unwrap_or_else(|| spelled(phrase, verb));
        for part in phrase.parts.iter().filter(|part| part.span != verb.span) {
            around.others.push(part);
            // An object that stands before may belong to a verb further down.
            let deeper = if part.is("SBAR.gap") { around.object.take() } else { None };
            match part.label() {
                "S" if part.is("S.to") => {
                    // Who is urged to do something does it, who wants to does it himself.
                    let urged = phrase.part("NP").filter(|_| part.is("S.to.other"));
                    let subject = urged.map(Filler::new).or(around.subject.clone());
                    self.clause(part, Around { subject, ..Around::default() });
                }
                "SBAR" => self.clause(part, Around { object: deeper, ..Around::default() }),
                _ => self.visit(part),
            }
        }
        let passive = phrase.is("VP.passive") || phrase.is("VP.debated");
        let mut tags = vec!["O".to_owned(); self.n_words];
        tag(&mut tags, "V", &verb.span);
        for (role, span) in around.arguments(&Verb { class, lemma, passive }) {
            tag(&mut tags, &role, &span);
        }
        self.found.push(Proposition {
            predicate: verb.span.start,
            lemma: lemma.to_owned(),
            roleset: format!("{lemma}.{class}"),
            tags,
        });
    }
}

/// Class and lemma of a verb that the grammar spells out.
fn spelled(phrase: &Phrase, verb: &Phrase) -> (&'static str, &'static str) {
    let others = ["think", "believe", "hope"].into_iter().find(|lemma| verb.has(lemma));
    match others {
        Some(lemma) => (lemma, lemma),
        None if verb.has("asked") => ("ask", "ask"),
        None if phrase.is("VP.there") => ("there", "be"),
        None => ("be", "be"),
    }
}

/// Gives a role to the words of a span.
fn tag(tags: &mut [String], role: &str, span: &Range<usize>) {
    for (i, tag) in tags[span.clone()].iter_mut().enumerate() {
        debug_assert_eq!(tag, "O", "two roles at word {i} of {span:?}, the second {role}");
        *tag = if i == 0 { format!("B-{role}") } else { format!("I-{role}") };
    }
}
