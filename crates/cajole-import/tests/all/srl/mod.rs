//! AllenNLP's role labelers: the same probabilities as PyTorch's on the same weights, and an error
//! for everything that does not fit.

mod elmo;
use std::fs;
use std::path::{Path, PathBuf};

use cajole_core::decoders::tags::Space;
use cajole_core::{Model, Pass, Recording, TagScorer};
use cajole_files::Folder;
use cajole_import::Tensors;
use cajole_import::allennlp::Archive;
use cajole_import::srl::{allennlp, from_archive};
use cajole_nn::checkpoint::Precision;
use cajole_nn::import::Tensor;
use cajole_tasks::Checkpoint;
use cajole_tasks::srl::tagger::Card;
use cajole_tasks::srl::{ElmoFiles, Instance, RoleTagger};
use cajole_tasks::words::Lookup;
use cajole_treebank::roles::{Proposition, Sentence};
use serde_json::{Value, json};

use cajole_testing::outside::find;

/// `p(y_t | x)` for every tag at each position of `at`.
fn probabilities(tagger: &RoleTagger, text: &str, predicate: usize, at: &[usize]) -> Vec<f32> {
    let (model, x) = (&tagger.model, instance(tagger, text, predicate));
    let (mut scratch, mut scores) = (model.scratch(), Vec::new());
    model.read(&mut scratch, &[Pass::base(&x)], Recording::None).unwrap();
    model.scores(&scratch, Recording::None, 0, &mut scores); // (T, V)
    let rows: Vec<&[f32]> = scores.chunks(tagger.vocabulary.tags.n_tags()).collect();
    at.iter().flat_map(|&t| rows[t]).map(|log_prob| log_prob.exp()).collect()
}

fn instance(tagger: &RoleTagger, text: &str, predicate: usize) -> Instance {
    let tokens: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let tags = vec!["O".to_owned(); tokens.len()];
    let proposition = Proposition { predicate, lemma: String::new(), roleset: String::new(), tags };
    let sentence = Sentence {
        id: String::new(),
        genre: String::new(),
        pos: vec!["XX".to_owned(); tokens.len()],
        tokens,
        tree: None,
        propositions: vec![],
        is_conll2012: false,
    };
    Instance::new(tagger, &sentence, &proposition).unwrap()
}

#[track_caller]
fn check(ours: &[f32], theirs: &[f32]) {
    let furthest = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(ours.len() == theirs.len() && furthest < 1e-5, "{ours:?}\n{theirs:?}");
}

/// Writes a checkpoint and reads it again.
fn through_a_folder(tagger: &RoleTagger, card: &Card) -> (RoleTagger, String) {
    let folder = tempfile::tempdir().unwrap();
    tagger.save(&Folder::create(folder.path()).unwrap(), card, Precision::F32).unwrap();
    let (loaded, same_card) = RoleTagger::load(folder.path()).unwrap();
    assert_eq!(*card, same_card);
    assert_eq!(loaded.vocabulary.tags, tagger.vocabulary.tags);
    assert_eq!(loaded.viterbi().search.space, Space::Probability);
    // Save it again over itself, as after a change of precision.
    loaded.save(&Folder::create(folder.path()).unwrap(), &same_card, Precision::F32).unwrap();
    RoleTagger::load(folder.path()).unwrap();
    (loaded, fs::read_to_string(folder.path().join("README.md")).unwrap())
}

// import io, sys, tarfile, torch
// tar = tarfile.open(sys.argv[1])
// w = torch.load(io.BytesIO(tar.extractfile("weights.th").read()), map_location="cpu")
// read = lambda name: tar.extractfile(f"vocabulary/{name}.txt").read().decode().split("\n")[:-1]
// tokens, labels = ["@@PADDING@@"] + read("tokens"), read("labels")
// words = "He told them about the frobnications .".split()
// ids = [tokens.index(x if x in tokens else "@@UNKNOWN@@") for x in words]
// verb = [0, 1, 0, 0, 0, 0, 0]
// x = torch.cat([w["text_field_embedder.token_embedder_tokens.weight"][ids],
//                w["binary_feature_embedding.weight"][verb]], 1)
// e = "encoder._module."
// h = c = torch.zeros(10)
// out = []
// for x_t in x:
//     z = w[e + "weight_ih_l0"] @ x_t + w[e + "bias_ih_l0"]
//     z = z + w[e + "weight_hh_l0"] @ h + w[e + "bias_hh_l0"]
//     i, f, g, o = z.chunk(4)
//     c = f.sigmoid() * c + i.sigmoid() * g.tanh()
//     h = o.sigmoid() * c.tanh()
//     out.append(h)
// p = "tag_projection_layer._module."
// probs = torch.softmax(torch.stack(out) @ w[p+"weight"].T + w[p+"bias"], 1)
// for t in (0, 1, 6): print([round(v, 7) for v in probs[t, :6].tolist()])
// lstm = torch.nn.LSTM(150, 10)
// lstm.load_state_dict({k[len(e):]: v for k, v in w.items() if k.startswith(e)})
// assert torch.allclose(lstm(x.unsqueeze(1))[0][:, 0], torch.stack(out), atol=1e-6)
#[test]
fn a_published_archive_gives_the_probabilities_that_pytorch_does() {
    let Some(path) = find("../fixtures/allennlp_srl/serialization/model.tar.gz") else { return };
    let (tagger, card) = allennlp(&path, None).unwrap();
    let text = "He told them about the frobnications .";
    let tokens = instance(&tagger, text, 1).features.tokens;
    let ids: Vec<u32> = tokens.iter().map(|token| token.word).collect();
    assert_eq!(ids, [31, 39, 19, 14, 3, 1, 2]);
    let theirs = [
        [0.054853, 0.0336926, 0.0340177, 0.03777, 0.0264099, 0.0389845],
        [0.0513471, 0.0309593, 0.0338694, 0.0393624, 0.0266772, 0.037496],
        [0.0651692, 0.0306391, 0.0318498, 0.0331976, 0.030445, 0.0483652],
    ];
    let (loaded, readme) = through_a_folder(&tagger, &card);
    for tagger in [&tagger, &loaded] {
        for (t, theirs) in [0, 1, 6].into_iter().zip(&theirs) {
            check(&probabilities(tagger, text, 1, &[t])[..6], theirs);
        }
    }
    assert_eq!(loaded.vocabulary.lexicon.lookup, Lookup::AsSpelled);
    assert_eq!(loaded.vocabulary.tags.names()[..3], ["O", "I-ARG1", "B-V"]);
    for part in ["AllenNLP archive `model.tar.gz`", "`tests/fixtures/data/srl`", "over probab"] {
        assert!(readme.contains(part), "{readme}");
    }
}

/// `0.5 sin(0.7 i + phase)`, the phases of tensors being their places in the order of names.
fn filled<'a>(shapes: impl IntoIterator<Item = (&'a str, Vec<usize>)>) -> Tensors {
    let mut shapes: Vec<_> = shapes.into_iter().collect();
    shapes.sort();
    let tensors = shapes.into_iter().enumerate().map(|(phase, (name, shape))| {
        let value = |i: usize| ((0.7 * i as f64 + phase as f64).sin() as f32) * 0.5;
        let values = (0..shape.iter().product()).map(value).collect();
        (name.to_owned(), Tensor { shape, values })
    });
    tensors.collect()
}

const WORDS: [&str; 4] = ["@@UNKNOWN@@", "he", "told", "."];

/// An archive with 3 numbers a word, 2 for the mark of the predicate, and 5 tags.
fn archive(encoder: Value, layers: &[(&str, Vec<usize>)]) -> Archive {
    let shared = [
        ("binary_feature_embedding.weight", vec![2, 2]),
        ("tag_projection_layer._module.bias", vec![5]),
        ("tag_projection_layer._module.weight", vec![5, 4]),
        ("text_field_embedder.token_embedder_tokens.weight", vec![5, 3]),
    ];
    let words = json!({ "type": "embedding", "embedding_dim": 3 });
    let list = |entries: &[&str]| entries.iter().map(|&entry| entry.to_owned()).collect();
    let labels = ["O", "B-V", "B-A0", "I-A0", "B-A1"];
    Archive {
        config: json!({
            "dataset_reader": { "type": "srl", "token_indexers": {
                "tokens": { "type": "single_id", "lowercase_tokens": true }
            } },
            "model": {
                "type": "srl",
                "text_field_embedder": { "token_embedders": { "tokens": words } },
                "encoder": encoder,
                "binary_feature_dim": 2,
            },
        }),
        tensors: filled(shared.into_iter().chain(layers.iter().cloned())),
        vocabulary: [("tokens".to_owned(), list(&WORDS)), ("labels".to_owned(), list(&labels))]
            .into(),
    }
}

/// Three alternating layers of 4 units with this many blocks of inputs and of states.
fn alternating(blocks: [usize; 2], input_bias: bool) -> Archive {
    let [n_x, n_h] = blocks;
    let mut layers = Vec::new();
    for i in 0..3 {
        let name = |part: &str| format!("encoder._module.layer_{i}.{part}");
        let input = if i == 0 { 5 } else { 4 };
        layers.push((name("input_linearity.weight"), vec![n_x * 4, input]));
        if input_bias {
            layers.push((name("input_linearity.bias"), vec![n_x * 4]));
        }
        layers.push((name("state_linearity.weight"), vec![n_h * 4, 4]));
        layers.push((name("state_linearity.bias"), vec![n_h * 4]));
    }
    let layers: Vec<_> = layers.iter().map(|(name, s)| (name.as_str(), s.clone())).collect();
    let mut encoder = json!({
        "type": "alternating_lstm",
        "input_size": 5,
        "hidden_size": 4,
        "num_layers": 3,
        "recurrent_dropout_probability": 0.1,
        "use_input_projection_bias": input_bias,
    });
    if n_x == 4 {
        encoder["use_highway"] = json!(false);
    }
    archive(encoder, &layers)
}

// import math, torch
// def fill(phase, *shape):
//     n = math.prod(shape)
//     values = (torch.arange(n, dtype=torch.float64) * 0.7 + phase).sin() * 0.5
//     return values.reshape(shape).float()
// E, I, H, V, L = 3, 2, 4, 5, 3
// ids, verb = [2, 1, 4, 3], [0, 0, 1, 0]
// def tag(n_x, n_h, bias):
//     w = {"binary_feature_embedding.weight": (2, I),
//          "tag_projection_layer._module.weight": (V, H),
//          "tag_projection_layer._module.bias": (V,),
//          "text_field_embedder.token_embedder_tokens.weight": (5, E)}
//     for l in range(L):
//         layer = f"encoder._module.layer_{l}."
//         w[layer + "input_linearity.weight"] = (n_x * H, E + I if l == 0 else H)
//         if bias: w[layer + "input_linearity.bias"] = (n_x * H,)
//         w[layer + "state_linearity.weight"] = (n_h * H, H)
//         w[layer + "state_linearity.bias"] = (n_h * H,)
//     w = {name: fill(phase, *w[name]) for phase, name in enumerate(sorted(w))}
//     x = torch.cat([w["text_field_embedder.token_embedder_tokens.weight"][ids],
//                    w["binary_feature_embedding.weight"][verb]], 1)
//     for l in range(L):
//         layer, out, h, c = f"encoder._module.layer_{l}.", {}, torch.zeros(H), torch.zeros(H)
//         for t in range(4) if l % 2 == 0 else reversed(range(4)):
//             z = w[layer + "input_linearity.weight"] @ x[t]
//             if bias: z = z + w[layer + "input_linearity.bias"]
//             s = w[layer + "state_linearity.weight"] @ h + w[layer + "state_linearity.bias"]
//             i, f, m, o = (z[:4*H] + s[:4*H]).chunk(4)
//             c = i.sigmoid() * m.tanh() + f.sigmoid() * c
//             h = o.sigmoid() * c.tanh()
//             if n_x == 6:
//                 r = (z[4*H:5*H] + s[4*H:]).sigmoid()
//                 h = r * h + (1 - r) * z[5*H:]
//             out[t] = h
//         x = torch.stack([out[t] for t in range(4)])
//     y = x @ w["tag_projection_layer._module.weight"].T + w["tag_projection_layer._module.bias"]
//     return torch.softmax(y, 1)
// for n_x, n_h, bias in [(6, 5, False), (6, 5, True), (4, 4, True)]:
//     print([[round(v, 7) for v in row] for row in tag(n_x, n_h, bias)[[0, 3]].tolist()])
#[test]
fn alternating_lstms_give_the_probabilities_that_pytorch_does() {
    for (blocks, input_bias, theirs) in [
        (
            [6, 5],
            false,
            [
                [0.1862328, 0.1685634, 0.1527151, 0.2165909, 0.2758979],
                [0.1811891, 0.1764786, 0.1471558, 0.2267701, 0.2684064],
            ],
        ),
        (
            [6, 5],
            true,
            [
                [0.1392791, 0.3156085, 0.1706239, 0.2656996, 0.1087888],
                [0.1304711, 0.3320788, 0.154353, 0.2844814, 0.0986156],
            ],
        ),
        (
            [4, 4],
            true,
            [
                [0.1819683, 0.2482609, 0.2210026, 0.2233222, 0.125446],
                [0.1815511, 0.2588807, 0.1994774, 0.2531542, 0.1069366],
            ],
        ),
    ] {
        let archive = alternating(blocks, input_bias);
        let (tagger, card) = from_archive(Path::new("a.tar.gz"), &archive, None).unwrap();
        let (loaded, _) = through_a_folder(&tagger, &card);
        // Words are looked up in lower case, and the second of them is unknown.
        check(&probabilities(&loaded, "He frobnicated . told", 2, &[0, 3]), &theirs.concat());

        let newer = archive.tensors.iter().map(|(name, tensor)| {
            let name = name.replace(".input_", ".cell.input_").replace(".state_", ".cell.state_");
            (name, tensor.clone())
        });
        let newer = Archive { tensors: newer.collect(), ..archive };
        let (newer, _) = from_archive(Path::new("a.tar.gz"), &newer, None).unwrap();
        assert_eq!(newer.model.weights(), tagger.model.weights(), "as later versions name them");
    }
}

/// A plain LSTM of 4 units in each layer.
fn plain(input: usize, n_layers: usize) -> Archive {
    let mut encoder = json!({ "type": "lstm", "input_size": input, "hidden_size": 4 });
    let mut layers = vec![
        ("encoder._module.bias_hh_l0", vec![16]),
        ("encoder._module.bias_ih_l0", vec![16]),
        ("encoder._module.weight_hh_l0", vec![16, 4]),
        ("encoder._module.weight_ih_l0", vec![16, input]),
    ];
    if n_layers == 2 {
        encoder["num_layers"] = json!(2);
        layers.extend([
            ("encoder._module.bias_hh_l1", vec![16]),
            ("encoder._module.bias_ih_l1", vec![16]),
            ("encoder._module.weight_hh_l1", vec![16, 4]),
            ("encoder._module.weight_ih_l1", vec![16, 4]),
        ]);
    }
    archive(encoder, &layers)
}

// # fill, E, I, H, V, ids and verb as above
// w = {"binary_feature_embedding.weight": (2, I),
//      "tag_projection_layer._module.weight": (V, H), "tag_projection_layer._module.bias": (V,),
//      "text_field_embedder.token_embedder_tokens.weight": (5, E)}
// lstm = torch.nn.LSTM(E + I, H, num_layers=2)
// w.update({"encoder._module." + name: tuple(p.shape) for name, p in lstm.named_parameters()})
// w = {name: fill(phase, *w[name]) for phase, name in enumerate(sorted(w))}
// lstm.load_state_dict({name: w["encoder._module." + name] for name in lstm.state_dict()})
// x = torch.cat([w["text_field_embedder.token_embedder_tokens.weight"][ids],
//                w["binary_feature_embedding.weight"][verb]], 1)
// y = lstm(x.unsqueeze(1))[0][:, 0] @ w["tag_projection_layer._module.weight"].T
// y = torch.softmax(y + w["tag_projection_layer._module.bias"], 1)
// print([[round(v, 7) for v in row] for row in y[[0, 3]].tolist()])
#[test]
fn layers_of_pytorchs_own_lstm_read_the_same_way() {
    let (tagger, _) = from_archive(Path::new("a.tar.gz"), &plain(5, 2), None).unwrap();
    let theirs = [
        [0.3050567, 0.201011, 0.1718571, 0.1356186, 0.1864566],
        [0.3104302, 0.1827364, 0.1848493, 0.1189319, 0.2030523],
    ];
    check(&probabilities(&tagger, "He frobnicated . told", 2, &[0, 3]), &theirs.concat());
}

#[test]
fn decoding_adds_up_probabilities() {
    // The same at both positions: O 0.3, B-A0 0.1, I-A0 0.6. As logarithms, O O has the larger sum,
    // −2.4 to −2.8; as probabilities, B-A0 I-A0 has, 0.7 to 0.6.
    let mut archive = plain(5, 1);
    let name = "tag_projection_layer._module";
    archive.tensors.get_mut(&format!("{name}.weight")).unwrap().values.fill(0.0);
    let bias = &mut archive.tensors.get_mut(&format!("{name}.bias")).unwrap().values;
    bias.copy_from_slice(&[0.3_f32.ln(), -99.0, 0.1_f32.ln(), 0.6_f32.ln(), -99.0]);
    let (tagger, _) = from_archive(Path::new("a.tar.gz"), &archive, None).unwrap();
    let x = instance(&tagger, "he told", 1);
    let decoded = tagger.model.decode_all(&tagger.viterbi(), &[&x]);
    let names = ["B-A0", "I-A0"].map(str::to_owned);
    assert_eq!(decoded[0].output, tagger.vocabulary.symbols(&names).unwrap());
}

#[test]
fn what_does_not_fit_is_named() {
    let path = PathBuf::from("a.tar.gz");
    let check = |change: &dyn Fn(&mut Archive), parts: &[&str]| {
        let mut archive = alternating([6, 5], false);
        change(&mut archive);
        let error = from_archive(&path, &archive, None).map(|_| ()).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "should say {part:?}: {error}");
        }
    };
    let set = |pointer: &'static str, value: Value| {
        move |archive: &mut Archive| *archive.config.pointer_mut(pointer).unwrap() = value.clone()
    };
    let output = "tag_projection_layer._module.bias";
    check(
        &|a| a.tensors.get_mut(output).unwrap().values[1] = f32::NAN,
        &["a.tar.gz", &format!("{output:?} has NaN at 1; weights must be finite")],
    );
    let config = "a.tar.gz/config.json";
    check(&|a| a.config = Value::Null, &["a.tar.gz has no \"config.json\""]);
    check(&|a| a.config = json!([]), &[config, "has no \"model\""]);
    check(
        &set("/model/type", json!("bert_srl")),
        &[config, "model has type \"bert_srl\"; known here: srl"],
    );
    check(&set("/model/encoder/type", json!("gru")), &["model.encoder has type \"gru\""]);
    check(&set("/model/encoder/hidden_size", json!(0)), &["hidden_size is 0"]);
    check(&set("/model/encoder/hidden_size", json!(1u64 << 40)), &["hidden_size is 1099511627776"]);
    check(
        &set("/model/encoder/hidden_size", json!(8)),
        &["layer_0.input_linearity.weight\" has shape [24, 5], not [48, 5]"],
    );
    check(&set("/model/encoder/input_size", json!(6)), &["input_size is 6", "have size 3"]);
    check(
        &set("/model/encoder/use_input_projection_bias", json!(true)),
        &["a.tar.gz has no \"encoder._module.layer_0.input_linearity.bias\""],
    );
    check(
        &set("/model/encoder/num_layers", json!(2)),
        &["\"encoder._module.layer_2.input_linearity.weight\", of shape [24, 4], has no place"],
    );
    check(&set("/model/binary_feature_dim", Value::Null), &["no \"model.binary_feature_dim\""]);
    let embedders = "/model/text_field_embedder/token_embedders";
    check(&set(embedders, json!({})), &["token_embedders has no embedder in it"]);
    check(
        &set(embedders, json!({ "bert": { "type": "pretrained_transformer" } })),
        &["token_embedders.bert has type \"pretrained_transformer\""],
    );
    let two = json!({ "a": { "embedding_dim": 3 }, "b": { "embedding_dim": 3 } });
    check(&set(embedders, two), &["token_embedders.b is the second of its kind"]);
    check(
        &set("/dataset_reader/token_indexers/tokens", json!({ "feature_name": "pos_" })),
        &["dataset_reader.token_indexers.tokens has \"feature_name\""],
    );
    check(
        &|a| a.vocabulary.get_mut("tokens").unwrap().push("more".to_owned()),
        &["token_embedder_tokens.weight\" has shape [5, 3], not [6, 3]"],
    );
    check(&|a| a.vocabulary.get_mut("tokens").unwrap()[0].clear(), &["no \"@@UNKNOWN@@ in voc"]);
    check(&|a| drop(a.vocabulary.remove("labels")), &["no \"vocabulary/labels.txt\""]);
    check(
        &|a| a.vocabulary.get_mut("labels").unwrap()[2] = "B-A2".to_owned(),
        &["a.tar.gz/vocabulary/labels.txt: there is a tag I-A0 but no B-A0"],
    );
}
