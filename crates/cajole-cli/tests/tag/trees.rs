//! The trees whose nodes arguments must be.

use std::collections::BTreeSet;

use cajole_treebank::roles::bio;

use super::*;

/// The spans of a bracketed tree: of phrases, or of all nodes.
fn spans(tree: &str, phrasal: bool) -> BTreeSet<(u64, u64)> {
    let (mut spans, mut open, mut at) = (BTreeSet::new(), Vec::new(), 0);
    let spaced = tree.replace('(', " ( ").replace(')', " ) ");
    let parts: Vec<&str> = spaced.split_whitespace().collect();
    for (i, part) in parts.iter().enumerate() {
        match *part {
            "(" => open.push(at),
            ")" => {
                let is_leaf = parts[i - 3] == "(";
                at += u64::from(is_leaf);
                let start = open.pop().unwrap();
                if !is_leaf || !phrasal {
                    spans.insert((start, at));
                }
            }
            _ => {}
        }
    }
    spans
}

#[test]
fn arguments_are_nodes_of_the_inputs_tree() {
    let file = corpus("nodes.jsonl");
    let sentences = sentences();
    for nodes in ["phrasal", "all"] {
        let answers = tagged_as_json(&[&file, "--nodes", nodes, "--trees=input"]);
        let asked = sentences.iter().flat_map(|s| s.propositions.iter().map(move |p| (s, p)));
        let asked: Vec<_> = asked.collect();
        assert_eq!(answers.len(), asked.len());
        let mut converted = 0;
        for (answer, (sentence, proposition)) in answers.iter().zip(asked) {
            assert_eq!(answer["id"], sentence.id);
            assert_eq!(answer["tokens"], json!(sentence.tokens));
            assert_eq!(answer["predicate"], proposition.predicate);
            assert_eq!(answer["lemma"], proposition.lemma);
            assert_eq!(answer["tree_from"], "input");
            let allowed = spans(&sentence.tree.as_ref().unwrap().to_string(), nodes == "phrasal");
            let arguments = answer["arguments"].as_array().unwrap();
            let all_are_nodes = arguments.iter().all(|argument| {
                let span = (argument["start"].as_u64().unwrap(), argument["end"].as_u64().unwrap());
                argument["role"] == "V" || argument["role"] == "C-V" || allowed.contains(&span)
            });
            let status = answer["status"].as_str().unwrap();
            assert_eq!(all_are_nodes, status == "satisfied", "{answer}");
            assert_eq!(all_are_nodes, answer["g_after"] == 0.0, "{answer}");
            let was_satisfied = answer["g_before"] == 0.0;
            assert_eq!(was_satisfied, answer["steps"] == 0, "{answer}");
            converted += usize::from(status == "satisfied" && !was_satisfied);

            // Arguments and tags say the same, in the words of the sentence.
            let tags = answer["output"].as_str().unwrap().split(' ');
            let tags: Vec<String> = tags.map(str::to_owned).collect();
            let by_tags = bio::arguments(&tags).unwrap();
            assert_eq!(by_tags.len(), arguments.len());
            for (by_tags, argument) in by_tags.into_iter().zip(arguments) {
                assert_eq!(argument["role"], by_tags.role);
                assert_eq!(argument["text"], sentence.tokens[by_tags.at].join(" "));
            }
        }
        assert!(0 < converted, "{nodes}: a network so small violates its constraint somewhere");
    }
}

#[test]
fn trees_of_a_file_of_the_parser_or_none() {
    let sentences = &sentences()[..6];
    let text: Vec<String> = sentences
        .iter()
        .map(|s| json!({ "tokens": s.tokens, "pos": s.pos }).to_string() + "\n")
        .collect();
    let trees: Vec<String> =
        sentences.iter().map(|s| format!("{}\n", s.tree.as_ref().unwrap())).collect();
    // Blank lines are not sentences and take no tree.
    let file = write("bare", &(text[..2].concat() + "\n\n" + &text[2..].concat()));
    write("right.ptb", &trees.concat());
    let input = write("with-trees", &{
        let line = |s: &Sentence| {
            let tree = s.tree.as_ref().unwrap().to_string();
            json!({ "tree": tree }).to_string() + "\n"
        };
        sentences.iter().map(line).collect::<String>()
    });
    let of_file = tagged(&[&file, "--trees=right.ptb", "--nodes=phrasal"]);
    assert_eq!(of_file, tagged(&[&input, "--nodes=phrasal"]), "the same trees, given otherwise");
    for (args, tree) in [
        (["bare", "--trees=auto"], json!("parser")),
        (["with-trees", "--trees=parser"], json!("parser")),
        (["bare", "--trees=right.ptb"], json!("file")),
        (["with-trees", "--trees=auto"], json!("input")),
        (["with-trees", "--trees=none"], Value::Null),
    ] {
        let answers = tagged_as_json(&args);
        assert!(answers.iter().all(|answer| answer["tree_from"] == tree), "{args:?}");
        let is_free = |answer: &Value| answer["status"] == "satisfied" && answer["steps"] == 0;
        assert!(!tree.is_null() || answers.iter().all(is_free), "{args:?}");
    }

    let run = ["tag", "--model=words", "bare"];
    let error = |trees: &str, parts: &[&str]| {
        check_error(&[&run[..], &[&format!("--trees={trees}")]].concat(), parts);
    };
    write("short.ptb", &trees[..5].concat());
    error("short.ptb", &["bare:8", "this is sentence 6", "short.ptb has only 5 trees", "1 line"]);
    write("long.ptb", &(trees.concat() + &trees[0]));
    error("long.ptb", &["long.ptb has 7 trees for 6 sentences"]);
    write("other.ptb", &("(S (NP (NN one)))\n".to_owned() + &trees[1..].concat()));
    let n = sentences[0].tokens.len();
    error("other.ptb", &["bare:1", &format!("tree 1 of other.ptb has 1 leaves for {n} tokens")]);
    write("broken.ptb", &("(S (NP\n".to_owned() + &trees[1..].concat()));
    error("broken.ptb", &["broken.ptb:1", "never closed"]);
    error("nowhere.ptb", &["nowhere.ptb", "No such file"]);
    error("atuo", &["atuo", "the name of a treebank ends in"]);
    error("input", &["bare:1", "there is no \"tree\" in the input", "6 lines could not"]);
}
