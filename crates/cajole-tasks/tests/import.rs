//! Role labelers of AllenNLP's: the same probabilities as PyTorch's on the same weights, and a
//! word about everything that does not fit.

mod corpora;

use std::fs;
use std::path::{Path, PathBuf};

use cajole_core::corpus::decode_all;
use cajole_core::decoder::Found;
use cajole_core::{Decoder, Model};
use cajole_nn::checkpoint::Precision;
use cajole_nn::decoders::Space;
use cajole_nn::import::allennlp::Archive;
use cajole_nn::import::{Tensor, Tensors};
use cajole_tasks::srl::import::{allennlp, from_archive};
use cajole_tasks::srl::tagger::{self, Card};
use cajole_tasks::srl::{ElmoFiles, Instance, Net, Proposition, RoleTagger, Sentence};
use cajole_tasks::words::Lookup;
use serde_json::{Value, json};

use corpora::find;

/// `p(y_t | x)` for every tag at each position of `at`.
fn probabilities(tagger: &RoleTagger, text: &str, predicate: usize, at: &[usize]) -> Vec<f32> {
    let (model, x) = (&tagger.model, instance(tagger, text, predicate));
    let (mut scratch, mut found) = (model.scratch(), Found::default());
    tagger.viterbi().decode(model, model.weights(), &x, &mut scratch, &mut found);
    let rows: Vec<&[f32]> = scratch.log_probs().chunks(tagger.vocabulary.tags.n_tags()).collect();
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
    };
    Instance::new(tagger, &sentence, &proposition)
}

#[track_caller]
fn check(ours: &[f32], theirs: &[f32]) {
    let furthest = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(ours.len() == theirs.len() && furthest < 1e-5, "{ours:?}\n{theirs:?}");
}

/// Writes a checkpoint and reads it again.
fn through_a_folder(tagger: &RoleTagger, card: &Card) -> (RoleTagger, String) {
    let folder = tempfile::tempdir().unwrap();
    tagger::save(folder.path(), tagger, card, Precision::F32).unwrap();
    let (loaded, same_card) = tagger::load(folder.path()).unwrap();
    assert_eq!(*card, same_card);
    assert_eq!(loaded.vocabulary.tags, tagger.vocabulary.tags);
    assert_eq!(loaded.viterbi().search.space, Space::Probability);
    // Once more onto itself, as after a change of precision.
    tagger::save(folder.path(), &loaded, &same_card, Precision::F32).unwrap();
    tagger::load(folder.path()).unwrap();
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
        assert_eq!(newer.model.weights, tagger.model.weights, "as later versions name them");
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
    let decoded = decode_all::<Net, _>(&tagger.model, &tagger.viterbi(), &[&x]);
    let names = ["B-A0", "I-A0"].map(str::to_owned);
    assert_eq!(decoded[0].output, tagger.vocabulary.symbols(&names).unwrap());
}

/// An archive that reads ELMo's vectors beside its words, and that ELMo.
fn with_elmo() -> Option<(Archive, ElmoFiles)> {
    let published = find("../fixtures/allennlp_simple_tagger_with_elmo/serialization")?;
    let folder = find("../fixtures/allennlp_elmo")?;
    let files =
        ElmoFiles { options: folder.join("options.json"), weights: folder.join("lm_weights.hdf5") };
    let mut archive = plain(32 + 3 + 2, 1);
    let embedders = &mut archive.config["model"]["text_field_embedder"]["token_embedders"];
    embedders["elmo"] = json!({ "type": "elmo_token_embedder" });
    let elmo = Archive::read(&published).unwrap().tensors.into_iter();
    archive.tensors.extend(elmo.filter(|(name, _)| name.contains("token_embedder_elmo")));
    Some((archive, files))
}

// import math, sys, torch
// from torch.nn.functional import conv1d
// # fill as above
// pre = "text_field_embedder.token_embedder_elmo._elmo."
// w = {k[len(pre):]: v for k, v in torch.load(sys.argv[1], map_location="cpu").items()
//      if k.startswith(pre)}
// def characters(word):
//     inner = [256] if word == "<S>" else [257] if word == "</S>" else list(word.encode())[:48]
//     return [i + 1 for i in ([258] + inner + [259] + [260] * 50)[:50]]
// def elmo(words):
//     e = "_elmo_lstm._token_embedder."
//     ids = torch.tensor([characters(x) for x in ["<S>"] + words + ["</S>"]])
//     c = w[e + "_char_embedding_weights"][ids].transpose(1, 2)              # (T, 4, 50)
//     x = torch.cat([conv1d(c, w[f"{e}char_conv_{k}.weight"], w[f"{e}char_conv_{k}.bias"])
//                    .max(2).values.relu() for k in range(5)], 1)            # (T, 124)
//     for k in range(2):
//         z = x @ w[f"{e}_highways._layers.{k}.weight"].T + w[f"{e}_highways._layers.{k}.bias"]
//         new, gate = z.chunk(2, 1)
//         x = gate.sigmoid() * x + (1 - gate.sigmoid()) * new.relu()
//     x = x @ w[e + "_projection.weight"].T + w[e + "_projection.bias"]      # (T, 16)
//     layers, sides = [torch.cat([x, x], 1)], [x, x]
//     for k in range(2):
//         for side, name in enumerate(["forward", "backward"]):
//             p = f"_elmo_lstm._elmo_lstm.{name}_layer_{k}."
//             h, c, out = torch.zeros(16), torch.zeros(64), {}
//             for t in range(len(x)) if side == 0 else reversed(range(len(x))):
//                 z = w[p + "input_linearity.weight"] @ sides[side][t] \
//                     + w[p + "state_linearity.weight"] @ h + w[p + "state_linearity.bias"]
//                 i, f, g, o = z.chunk(4)
//                 c = (i.sigmoid() * g.tanh() + f.sigmoid() * c).clamp(-3, 3)
//                 h = (w[p + "state_projection.weight"] @ (o.sigmoid() * c.tanh())).clamp(-3, 3)
//                 out[t] = h
//             out = torch.stack([out[t] for t in range(len(x))])
//             sides[side] = out + sides[side] if k else out
//         layers.append(torch.cat(sides, 1))
//     m = "scalar_mix_0."
//     share = torch.softmax(torch.cat([w[f"{m}scalar_parameters.{k}"] for k in range(3)]), 0)
//     return (w[m + "gamma"] * sum(s * l for s, l in zip(share, layers)))[1:-1]
// words = "He told nobody .".split()
// x = elmo(words)
// print([round(v, 6) for v in x[0, :4].tolist() + x[3, -4:].tolist()])
// E, I, H, V = 3, 2, 4, 5
// v = {"binary_feature_embedding.weight": (2, I),
//      "encoder._module.weight_ih_l0": (4 * H, 32 + E + I),
//      "encoder._module.weight_hh_l0": (4 * H, H),
//      "encoder._module.bias_ih_l0": (4 * H,), "encoder._module.bias_hh_l0": (4 * H,),
//      "tag_projection_layer._module.weight": (V, H), "tag_projection_layer._module.bias": (V,),
//      "text_field_embedder.token_embedder_tokens.weight": (5, E)}
// v = {name: fill(phase, *v[name]) for phase, name in enumerate(sorted(v))}
// x = torch.cat([x, v["text_field_embedder.token_embedder_tokens.weight"][[2, 3, 1, 4]],
//                v["binary_feature_embedding.weight"][[0, 1, 0, 0]]], 1)
// h, c, out = torch.zeros(H), torch.zeros(H), []
// for x_t in x:
//     z = v["encoder._module.weight_ih_l0"] @ x_t + v["encoder._module.bias_ih_l0"] \
//         + v["encoder._module.weight_hh_l0"] @ h + v["encoder._module.bias_hh_l0"]
//     i, f, g, o = z.chunk(4)
//     c = f.sigmoid() * c + i.sigmoid() * g.tanh()
//     h = o.sigmoid() * c.tanh()
//     out.append(h)
// y = torch.stack(out) @ v["tag_projection_layer._module.weight"].T
// y = y + v["tag_projection_layer._module.bias"]
// print([[round(p, 7) for p in row] for row in torch.softmax(y, 1)[[0, 3]].tolist()])
#[test]
fn elmo_gives_the_vectors_and_probabilities_that_pytorch_does() {
    let Some((archive, files)) = with_elmo() else { return };
    let path = Path::new("model.tar.gz");
    let (tagger, card) = from_archive(path, &archive, Some(&files)).unwrap();
    let (loaded, readme) = through_a_folder(&tagger, &card);
    assert!(readme.contains("elmo/cache"), "{readme}");
    let text = "He told nobody .";
    for tagger in [&tagger, &loaded] {
        let x = instance(tagger, text, 1).features;
        assert_eq!(x.dense.len(), 4 * 32);
        let first = [-0.101305, -0.291529, -0.977664, 0.226719];
        let last = [1.410331, 0.204519, -1.697773, -0.092115];
        check(&[&x.dense[..4], &x.dense[4 * 32 - 4..]].concat(), &[first, last].concat());
        let theirs = [
            [0.109234, 0.1493489, 0.1766486, 0.2941315, 0.270637],
            [0.1233884, 0.1245396, 0.2048787, 0.2481611, 0.2990323],
        ];
        check(&probabilities(tagger, text, 1, &[0, 3]), &theirs.concat());
    }
    let shared = [1, 2].map(|predicate| instance(&tagger, text, predicate).features.dense);
    assert!(std::sync::Arc::ptr_eq(&shared[0], &shared[1]), "one sentence is embedded once");
}

#[test]
fn elmo_alone_is_as_elmo_beside_words_that_say_nothing() {
    let Some((mut archive, files)) = with_elmo() else { return };
    let path = Path::new("model.tar.gz");
    let words = "text_field_embedder.token_embedder_tokens.weight";
    archive.tensors.get_mut(words).unwrap().values.fill(0.0);
    let (beside, _) = from_archive(path, &archive, Some(&files)).unwrap();

    archive.tensors.remove(words);
    archive.vocabulary.remove("tokens");
    let model = &mut archive.config["model"];
    let embedders = model["text_field_embedder"]["token_embedders"].as_object_mut().unwrap();
    embedders.remove("tokens");
    model["encoder"]["input_size"] = json!(34);
    let w_x = archive.tensors.get_mut("encoder._module.weight_ih_l0").unwrap();
    let rows = w_x.values.chunks(37).flat_map(|row| row[..32].iter().chain(&row[35..]));
    *w_x = Tensor { shape: vec![16, 34], values: rows.copied().collect() };
    let (alone, card) = from_archive(path, &archive, Some(&files)).unwrap();
    let (alone, readme) = through_a_folder(&alone, &card);
    assert!(readme.contains("ELMo vectors of 32"), "{readme}");
    let of = |tagger: &RoleTagger| probabilities(tagger, "He told nobody .", 1, &[0, 1, 2, 3]);
    check(&of(&alone), &of(&beside));
}

#[test]
fn sentences_are_kept_where_there_is_a_folder_for_them() {
    let Some((archive, files)) = with_elmo() else { return };
    let (tagger, card) = from_archive(Path::new("model.tar.gz"), &archive, Some(&files)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tagger::save(folder.path(), &tagger, &card, Precision::F32).unwrap();
    let cache = folder.path().join("elmo/cache");
    fs::create_dir(&cache).unwrap();
    let dense = |tagger: &RoleTagger| instance(tagger, "He told nobody .", 1).features.dense;
    for _ in ["computed", "read"] {
        let (loaded, _) = tagger::load(folder.path()).unwrap();
        assert_eq!(dense(&loaded), dense(&tagger));
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    }

    let config = folder.path().join("config.json");
    let right = fs::read_to_string(&config).unwrap();
    for (from, to, said) in [
        (
            "\"dense\": 32",
            "\"dense\": 16",
            "elmo/options.json: its vectors have 32 numbers, not 16",
        ),
        ("\"weights\": [", "\"weights\": [ 0.5,", "elmo/options.json: it has 3 layers, not 4"),
    ] {
        assert!(right.contains(from), "{right}");
        fs::write(&config, right.replace(from, to)).unwrap();
        let error = tagger::load(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn an_elmo_that_is_not_the_archives_is_refused() {
    let Some((archive, files)) = with_elmo() else { return };
    let of = |archive: &Archive, files: Option<&ElmoFiles>| {
        from_archive(Path::new("a.tar.gz"), archive, files).unwrap_err().to_string()
    };
    let error = of(&archive, None);
    assert!(error.contains("has ELMo in it, as \"elmo\""), "{error}");
    let error = of(&plain(5, 1), Some(&files));
    assert!(error.contains("options.json: is of no use"), "{error}");

    let name = "text_field_embedder.token_embedder_elmo._elmo._elmo_lstm._token_embedder.\
                _projection.weight";
    let mut other = archive.clone();
    other.tensors.get_mut(name).unwrap().values[7] += 0.1;
    let error = of(&other, Some(&files));
    assert!(error.contains("lm_weights.hdf5: these are not the numbers of"), "{error}");
    let mut other = archive.clone();
    other.tensors.insert(name.to_owned(), Tensor { shape: vec![8, 124], values: vec![0.0; 992] });
    let error = of(&other, Some(&files));
    assert!(error.contains("has shape [124, 16], not [124, 8]"), "{error}");

    let swapped = ElmoFiles { options: files.weights.clone(), weights: files.options.clone() };
    let error = of(&archive, Some(&swapped));
    assert!(error.contains("lm_weights.hdf5 is damaged or of another format"), "{error}");
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
    check(&set("/model/encoder/input_size", json!(6)), &["input_size is 6", "words have 3"]);
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
