//! Finds the predicates of a generated sentence and their arguments.
//!
//! Arguments need not be next to their verb: the subject of `wants to leave` is that of `wants`,
//! the object of `the car they sold` is the noun before, and a date or a modal sits above the
//! phrase it belongs to. So one top-down walk carries what it has met along the way.

use std::ops::Range;
use std::sync::LazyLock;

use super::frames::Frames;
use super::phrase::Phrase;
use crate::roles::sentence::Proposition;

static FRAMES: LazyLock<Frames> = LazyLock::new(|| Frames::parse(include_str!("frames.txt")));

/// The propositions of a sentence, left to right.
pub(super) fn propositions(sentence: &Phrase) -> Vec<Proposition> {
    let mut walk = Walk { n_words: sentence.span.end, found: Vec::new() };
    walk.visit(sentence);
    walk.found.sort_by_key(|proposition| proposition.predicate);
    walk.found
}

/// A noun phrase that fills a role of a distant verb, and the relative pronoun that refers to it.
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

/// What a verb finds outside its own phrase.
#[derive(Clone, Debug, Default)]
struct Around<'p> {
    subject: Option<Filler>,
    /// The object, if it precedes the clause.
    object: Option<Filler>,
    /// Phrases and words whose role depends on the verb's frame.
    others: Vec<&'p Phrase<'p>>,
    /// Spans whose role is the same for every verb.
    known: Vec<(&'static str, Range<usize>)>,
}

impl<'p> Around<'p> {
    /// Fills the clause's gap: its subject or, if it has one, its object.
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

    /// The arguments of a verb in this context.
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

/// A verb, as needed to look up its frame.
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
    /// Visits a phrase that is unrelated to the verbs above it.
    fn visit(&mut self, phrase: &Phrase) {
        match phrase.label() {
            "S" | "SQ" | "SINV" | "SBAR" | "SBARQ" => self.clause(phrase, Around::default()),
            "NP" => self.noun_phrase(phrase),
            _ => phrase.parts.iter().for_each(|part| self.visit(part)),
        }
    }

    /// Visits a clause, with or without a conjunction or a question word before it.
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
                        // Inside a clause a conjunction coordinates; before it, it links to the
                        // previous sentence.
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

    /// Visits an aside between subject and verb; returns the part that belongs to the verb.
    fn parenthesis<'p>(
        &mut self,
        aside: &'p Phrase<'p>,
        clause: &'p Phrase<'p>,
    ) -> Option<&'p Phrase<'p>> {
        match (aside.part("S"), clause.part("NP"), clause.part("VP")) {
            // In `the man , I think , left`, the object of `think` is in two pieces.
            (Some(thought), Some(subject), Some(verb_phrase)) => {
                let pieces = [("ARG1", subject.span.clone()), ("C-ARG1", verb_phrase.span.clone())];
                self.clause(thought, Around { known: pieces.to_vec(), ..Around::default() });
            }
            _ => self.visit(aside),
        }
        aside.part("ADVP")
    }

    /// Visits a noun phrase, whose clauses and participles modify its head.
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

    /// Visits a relative clause, with or without a pronoun.
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

    /// Visits a verb phrase; auxiliaries and coordination lead to the verbs further down.
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

    /// Visits a phrase whose own verb is a predicate.
    fn predicate<'p>(&mut self, phrase: &'p Phrase<'p>, mut around: Around<'p>) {
        let Some(verb) = phrase.parts.iter().find(|part| part.is_verb()) else { return };
        let (class, lemma) = verb.lexeme.unwrap_or_else(|| spelled(phrase, verb));
        for part in phrase.parts.iter().filter(|part| part.span != verb.span) {
            around.others.push(part);
            // A fronted object may belong to a verb further down.
            let deeper = if part.is("SBAR.gap") { around.object.take() } else { None };
            match part.label() {
                "S" if part.is("S.to") => {
                    // Object control (`urge`) or subject control (`want`).
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

/// The class and lemma of a verb that the grammar spells out.
fn spelled(phrase: &Phrase, verb: &Phrase) -> (&'static str, &'static str) {
    let others = ["think", "believe", "hope"].into_iter().find(|lemma| verb.has(lemma));
    match others {
        Some(lemma) => (lemma, lemma),
        None if verb.has("asked") => ("ask", "ask"),
        None if phrase.is("VP.there") => ("there", "be"),
        None => ("be", "be"),
    }
}

/// Tags a span with a role.
fn tag(tags: &mut [String], role: &str, span: &Range<usize>) {
    for (i, tag) in tags[span.clone()].iter_mut().enumerate() {
        debug_assert_eq!(tag, "O", "two roles at word {i} of {span:?}, the second {role}");
        *tag = if i == 0 { format!("B-{role}") } else { format!("I-{role}") };
    }
}
