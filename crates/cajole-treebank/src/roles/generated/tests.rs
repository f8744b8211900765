//! Tests the properties that the generated roles promise.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::sentence::Proposition;
use super::*;
use crate::Tree;

/// The arguments of a proposition including `V`, left to right.
fn arguments(proposition: &Proposition) -> Vec<(&str, Range<usize>)> {
    let mut arguments: Vec<(&str, Range<usize>)> = Vec::new();
    for (i, tag) in proposition.tags.iter().enumerate() {
        match tag.split_once('-') {
            Some(("B", role)) => arguments.push((role, i..i + 1)),
            Some(("I", role)) => {
                let (last, span) = arguments.last_mut().expect("an argument begins with B");
                assert_eq!((*last, span.end), (role, i), "{tag} in {:?}", proposition.tags);
                span.end = i + 1;
            }
            _ => assert_eq!(tag, "O"),
        }
    }
    arguments
}

/// The sentence with the arguments of one predicate in brackets.
fn bracketed(tokens: &[String], proposition: &Proposition) -> String {
    let mut words = tokens.to_vec();
    for (role, span) in arguments(proposition) {
        words[span.start].insert_str(0, &format!("[{role} "));
        words[span.end - 1].push(']');
    }
    words.join(" ")
}

/// The spans of all phrases.
fn phrases(tree: &Tree, start: usize, spans: &mut BTreeSet<(usize, usize)>) -> usize {
    let Tree::Node { children, .. } = tree else { return start + 1 };
    let end = children.iter().fold(start, |at, child| phrases(child, at, spans));
    spans.insert((start, end));
    end
}

/// The arguments that are not phrases, excluding the predicate.
fn disagreeing(sentence: &Sentence, proposition: &Proposition) -> Vec<(String, Range<usize>)> {
    let mut spans = BTreeSet::new();
    phrases(sentence.tree.as_ref().expect("a generated sentence has a tree"), 0, &mut spans);
    let others = arguments(proposition).into_iter().filter(|(role, _)| *role != "V");
    let others = others.filter(|(_, span)| !spans.contains(&(span.start, span.end)));
    others.map(|(role, span)| (role.to_owned(), span)).collect()
}

/// How often each role occurs.
fn roles(sentences: &[Sentence]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for (role, _) in sentences.iter().flat_map(|s| &s.propositions).flat_map(arguments) {
        *counts.entry(role).or_default() += 1;
    }
    counts
}

/// Rules that generate one sentence, and the expected analysis of each predicate.
fn check(rules: &str, want: &[&str]) {
    const WORDS: &str = "fix: open\nfix news:\nfix coined 0%: a + b\nmodal: will\nmove: go/went\n\
        move news:\nhappen: arrive\nhappen news:\nsay: say/said\nsay news:\nsaid: say/said\n\
        said news:\nwant: try\nwant news:\nurge: ask\nurge news:\nseem: seem\nput: hide/hid/hidden\n\
        put news:\ngive: give/gave\ngive news:\nintransitive: sleep/slept\nintransitive news:";
    let names = "NP.john = 1 John/NNP\nNP.car = 1 the/DT car/NN\nNP.mary = 1 Mary/NNP\n\
        NP.tool = 1 a/DT key/NN\nPP.town = 1 in/IN NP.town\nNP.town = 1 the/DT town/NN\n";
    let language = Language::extended(&format!("{names}{rules}"), WORDS);
    let (sentence, origins) = language.write(Genre::News, 1, 1).next().expect("one is asked for");
    let leaves = sentence.tree.leaves().into_iter();
    let tokens: Vec<String> = leaves.map(|(_, word)| word.to_owned()).collect();
    let propositions = annotate::propositions(&Phrase::new(&sentence.tree, &origins));
    let got: Vec<_> = propositions.iter().map(|p| bracketed(&tokens, p)).collect();
    assert_eq!(got, want, "{}", sentence.tree);
}

#[test]
fn modals_and_negations_are_arguments_of_the_verb_below() {
    check(
        "root = 1 S.x\nS.x = 1 but/CC PP.day ,/, NP.john VP.x\nVP.x = 1 MD:modal not/RB VP.y
VP.y = 1 base:fix NP.car PP.tool\nNP.day = 1 Monday/NNP",
        &["[ARGM-DIS But] [ARGM-TMP on Monday] , [ARG0 John] [ARGM-MOD will] [ARGM-NEG not] \
           [V open] [ARG1 the car] [ARG2 with a key]"],
    );
}

#[test]
fn some_subjects_are_arg1() {
    check(
        "root = 1 S.x\nS.x = 1 NP.john VP.x\nVP.x = 1 VP.y and/CC VP.z
VP.y = 1 sgthen:move PP.to.x\nPP.to.x = 1 to/TO NP.town\nVP.z = 1 sgthen:intransitive",
        &[
            "[ARG1 John] [V went] [ARG4 to the town] and slept",
            "[ARG0 John] went to the town and [V slept]",
        ],
    );
    check(
        "root = 1 S.x\nS.x = 1 NP.x VP.x\nNP.x = 1 NP.car VP.passive\nVP.x = 1 sgthen:happen
VP.passive = 1 part:fix PP.by\nPP.by = 1 by/IN NP.mary",
        &[
            "[ARG1 The car] [V opened] [ARG0 by Mary] arrived",
            "[ARG1 The car opened by Mary] [V arrived]",
        ],
    );
}

#[test]
fn a_noun_is_an_argument_of_its_relative_clause() {
    check(
        "root = 1 S.x\nS.x = 1 NP.x VP.x\nNP.x = 1 NP.car SBAR.object\nVP.x = 1 sgthen:happen
SBAR.object = 1 WHNP.which S.object\nWHNP.which = 1 which/WDT\nS.object = 1 NP.john VP.gap
VP.gap = 1 sgthen:say SBAR.gap\nSBAR.gap = 1 S.y\nS.y = 1 NP.mary VP.y\nVP.y = 1 sgthen:fix",
        &[
            "The car which [ARG0 John] [V said] [ARG1 Mary opened] arrived",
            "[ARG1 The car] [R-ARG1 which] John said [ARG0 Mary] [V opened] arrived",
            "[ARG1 The car which John said Mary opened] [V arrived]",
        ],
    );
    check(
        "root = 1 S.x\nS.x = 1 NP.x VP.x\nNP.x = 1 NP.town SBAR.where\nVP.x = 1 is/VBZ ADJP.x
ADJP.x = 1 old/JJ\nS.then = 1 NP.john VP.y\nVP.y = 1 sgthen:intransitive",
        &[
            "[ARGM-LOC The town] [R-ARGM-LOC in which] [ARG0 John] [V slept] is old",
            "[ARG1 The town in which John slept] [V is] [ARG2 old]",
        ],
    );
}

#[test]
fn infinitives_have_the_subject_of_the_verb_or_its_object() {
    check(
        "root = 1 S.x\nS.x = 1 NP.john VP.x\nVP.x = 1 sgthen:want S.to\nS.to = 1 VP.to
VP.to = 1 to/TO VP.y\nVP.y = 1 base:urge NP.mary S.to.other\nS.to.other = 1 VP.z
VP.z = 1 to/TO VP.w\nVP.w = 1 base:put NP.car PP.onto\nPP.onto = 1 in/IN NP.town",
        &[
            "[ARG0 John] [V tried] [ARG1 to ask Mary to hide the car in the town]",
            "[ARG0 John] tried to [V ask] [ARG1 Mary] [ARG2 to hide the car in the town]",
            "John tried to ask [ARG0 Mary] to [V hide] [ARG1 the car] [ARG2 in the town]",
        ],
    );
}

#[test]
fn clausal_objects_may_be_split_or_fronted() {
    check(
        "root = 1 S.x\nS.x = 1 NP.john PRN.i VP.x\nVP.i = 1 think/VBP\nVP.x = 1 sgthen:seem ADJP.x
ADJP.x = 1 ready/JJ",
        &[
            "[ARG1 John] , [ARG0 I] [V think] , [C-ARG1 seemed ready]",
            "[ARG1 John] , I think , [V seemed] [C-ARG1 ready]",
        ],
    );
    check(
        "root = 1 SINV\nquoted = 1 S.x\nS.x = 1 NP.mary VP.x\nVP.x = 1 sgthen:give NP.object NP.car
NP.object = 1 him/PRP\nNP.sg.speaker.full = 1 John/NNP",
        &[
            "`` [ARG0 Mary] [V gave] [ARG2 him] [ARG1 the car] , '' said John .",
            "`` [ARG1 Mary gave him the car] , '' [V said] [ARG0 John] .",
        ],
    );
}

#[test]
fn questions_front_their_arguments() {
    check(
        "root = 1 SBARQ\nSBARQ = 1 WHNP.x SQ.x ?/.\nWHNP.x = 1 what/WP\nSQ.x = 1 did/VBD NP.john VP.x
VP.x = 1 base:fix PP.at.x\nPP.at.x = 1 in/IN NP.town",
        &["[ARG1 What] did [ARG0 John] [V open] [ARGM-LOC in the town] ?"],
    );
    check(
        "root = 1 SBARQ\nSBARQ = 1 WHADVP.x SQ.x ?/.\nWHADVP.x = 1 why/WRB
SQ.x = 1 is/VBZ NP.john ADJP.x\nADJP.x = 1 ready/JJ",
        &["[ARGM-CAU Why] [V is] [ARG1 John] [ARG2 ready] ?"],
    );
}

#[test]
fn every_verb_but_auxiliaries_is_a_predicate() {
    let auxiliary = |word: &str| {
        let be = ["be", "is", "are", "am", "was", "were", "been", "being"];
        let others = ["do", "does", "did", "has", "have", "had"];
        be.iter().chain(&others).any(|a| a.eq_ignore_ascii_case(word))
    };
    for sentence in Genre::ALL.iter().flat_map(|&genre| sentences(genre, 1000, 1)) {
        let predicates: Vec<_> = sentence.propositions.iter().map(|p| p.predicate).collect();
        assert!(predicates.is_sorted_by(|a, b| a < b), "{predicates:?}");
        assert!(predicates.iter().all(|&p| sentence.pos[p].starts_with('V')));
        let is_verb = |i: &usize| sentence.pos[*i].starts_with('V');
        for i in (0..sentence.tokens.len()).filter(is_verb) {
            let found = predicates.contains(&i);
            assert!(found || auxiliary(&sentence.tokens[i]), "word {i} of {:?}", sentence.tokens);
        }
    }
}

#[test]
fn roles_are_well_formed() {
    for sentence in Genre::ALL.iter().flat_map(|&genre| sentences(genre, 1000, 2)) {
        for proposition in &sentence.propositions {
            assert_eq!(proposition.tags.len(), sentence.tokens.len());
            assert!(!proposition.lemma.is_empty() && proposition.lemma.is_ascii());
            let all = arguments(proposition);
            let before = |i: usize, role: &str| all[..i].iter().any(|(other, _)| *other == role);
            for (i, (role, span)) in all.iter().enumerate() {
                let core = role.starts_with("ARG") && !role.starts_with("ARGM");
                let twice = (core || *role == "V") && before(i, role);
                let continued = role.strip_prefix("C-").is_none_or(|role| before(i, role));
                let referred = role.strip_prefix("R-").is_none_or(|role| before(i, role));
                let ok = !twice && continued && referred;
                assert!(ok, "{role} in {}", bracketed(&sentence.tokens, proposition));
                assert_eq!(
                    *role == "V",
                    *span == (proposition.predicate..proposition.predicate + 1)
                );
            }
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the share is worth knowing")]
fn all_arguments_but_modals_negations_and_conjunctions_are_phrases() {
    for genre in Genre::ALL {
        let sentences = sentences(genre, 2000, 3);
        let (mut n, mut n_agreeing) = (0, 0);
        for (sentence, proposition) in
            sentences.iter().flat_map(|s| s.propositions.iter().map(move |p| (s, p)))
        {
            let disagreeing = disagreeing(sentence, proposition);
            let bare = ["ARGM-MOD", "ARGM-NEG", "ARGM-DIS"];
            assert!(
                disagreeing
                    .iter()
                    .all(|(role, span)| bare.contains(&role.as_str()) && span.len() == 1),
                "{disagreeing:?} in {}",
                bracketed(&sentence.tokens, proposition)
            );
            n += 1;
            n_agreeing += usize::from(disagreeing.is_empty());
        }
        let share = n_agreeing as f32 / n as f32;
        eprintln!("{genre:?}: {share:.3} of {n} propositions agree with the tree");
        assert!((0.8..0.9).contains(&share), "{share} in {genre:?}");
    }
}

#[test]
fn every_role_is_frequent_and_genres_differ() {
    let all = Genre::ALL.map(|genre| sentences(genre, 1000, 4));
    let [news, letters, fiction, manual] = all.each_ref().map(|sentences| roles(sentences));
    for (role, least) in [
        ("ARG0", 1000),
        ("ARG1", 1000),
        ("ARG2", 400),
        ("ARGM-TMP", 200),
        ("ARGM-LOC", 200),
        ("ARGM-MNR", 100),
        ("ARGM-MOD", 100),
        ("ARGM-NEG", 100),
        ("R-ARG0", 80),
        ("R-ARG1", 40),
        ("C-ARG1", 5),
    ] {
        assert!(news[role] >= least, "{} {role}", news[role]);
    }
    let rate = |counts: &BTreeMap<&str, usize>, role| counts[role] as f32 / counts["V"] as f32;
    // Imperatives have no overt subject.
    assert!(rate(&manual, "ARG0") < 0.5 * rate(&news, "ARG0"));
    assert!(rate(&letters, "ARGM-DIS") > 3.0 * rate(&news, "ARGM-DIS"));
    assert!(rate(&fiction, "ARGM-DIR") > 1.3 * rate(&news, "ARGM-DIR"));
    assert!(rate(&news, "R-ARG0") > 2.0 * rate(&fiction, "R-ARG0"));
}

#[test]
fn every_class_of_verbs_has_a_frame() {
    let mut framed = BTreeMap::<String, bool>::new();
    for sentence in Genre::ALL.iter().flat_map(|&genre| sentences(genre, 2000, 5)) {
        for proposition in &sentence.propositions {
            let class = proposition.roleset.rsplit('.').next().unwrap_or_default().to_owned();
            let core = |(role, _): &(&str, _)| ["ARG0", "ARG1"].contains(role);
            *framed.entry(class).or_default() |= arguments(proposition).iter().any(core);
        }
    }
    assert!(framed.len() > 25 && framed.values().all(|&framed| framed), "{framed:?}");
}

#[test]
fn a_sentence_depends_on_seed_genre_and_number() {
    let long = sentences(Genre::Fiction, 50, 3);
    assert_eq!(long[..20], sentences(Genre::Fiction, 20, 3));
    assert_ne!(long, sentences(Genre::Fiction, 50, 4));
    assert_eq!(long[7].id, "fiction-3-7");
}

#[test]
fn a_location_after_an_object_attaches_to_verb_or_noun() {
    let sentences = sentences(Genre::News, 2000, 6);
    let (mut of_verb, mut of_noun) = (0, 0);
    for (s, proposition) in
        sentences.iter().flat_map(|s| s.propositions.iter().map(move |p| (s, p)))
    {
        let all = arguments(proposition);
        let objects = all.iter().filter(|(role, span)| {
            *role == "ARG1"
                && span.start > proposition.predicate
                && !s.pos[span.start].starts_with("IN")
        });
        for (_, object) in objects {
            let place = |(role, span): &(&str, Range<usize>)| {
                *role == "ARGM-LOC" && span.start == object.end
            };
            of_verb += usize::from(all.iter().any(place));
            let words = &s.tokens[object.clone()];
            let clause = s.pos[object.clone()].iter().any(|tag| tag.starts_with('V'));
            of_noun += usize::from(!clause && words.iter().any(|w| w == "in" || w == "near"));
        }
    }
    assert!(of_verb > 100 && of_noun > 100, "{of_verb} and {of_noun}");
}
