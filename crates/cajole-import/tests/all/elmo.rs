//! A tagger with ELMo inside: the weights of its mix, and what they make of ELMo's layers.

use cajole_import::allennlp::{self, Archive};
use cajole_nn::models::elmo::Elmo;
use cajole_testing::outside;

// The same weights as AllenNLP saved them in a tagger that had loaded them, with a learnt mix:
//
// import sys, torch
// d = torch.load(sys.argv[1], map_location="cpu")
// e = "text_field_embedder.token_embedder_elmo._elmo."
// w = lambda name: d[e + "_elmo_lstm." + name]
// def ids(word):
//     b = {"<S>": [256], "</S>": [257]}.get(word) or list(word.encode())[:48]
//     return ([258] + b + [259] + [260] * 50)[:50]
// x = torch.tensor([[i + 1 for i in ids(t)] for t in ["<S>", "Zoë", "ran", "x" * 60, "</S>"]])
// x = w("_token_embedder._char_embedding_weights")[x].transpose(1, 2)
// x = torch.cat([torch.nn.functional.conv1d(x, w(f"_token_embedder.char_conv_{i}.weight"),
//      w(f"_token_embedder.char_conv_{i}.bias")).max(2)[0].relu() for i in range(5)], 1)
// linear = lambda x, name: x @ w(name + ".weight").t() + w(name + ".bias")
// for i in range(2):
//     new, gate = linear(x, f"_token_embedder._highways._layers.{i}").chunk(2, 1)
//     x = gate.sigmoid() * x + (1 - gate.sigmoid()) * new.relu()
// x = linear(x, "_token_embedder._projection")
// layers = [[x, x]]
// for layer in range(2):
//     outs = []
//     for k, direction in enumerate(["forward", "backward"]):
//         n = f"_elmo_lstm.{direction}_layer_{layer}."
//         h, c, hs = torch.zeros(16), torch.zeros(64), {}
//         inp = layers[-1][k]
//         for t in (range(5) if k == 0 else reversed(range(5))):
//             i, f, g, o = (w(n + "input_linearity.weight") @ inp[t] + w(n + "state_linearity.bias")
//                           + w(n + "state_linearity.weight") @ h).chunk(4)
//             c = (i.sigmoid() * g.tanh() + f.sigmoid() * c).clamp(-3, 3)
//             h = (w(n + "state_projection.weight") @ (o.sigmoid() * c.tanh())).clamp(-3, 3)
//             hs[t] = h
//         out = torch.stack([hs[t] for t in range(5)])
//         outs.append(out + inp if layer else out)
//     layers.append(outs)
// layers = [torch.cat(l, 1)[1:-1] for l in layers]          # 3 of (3, 32)
// s = torch.cat([d[e + f"scalar_mix_0.scalar_parameters.{l}"] for l in range(3)]).softmax(0)
// layers.append(d[e + "scalar_mix_0.gamma"] * sum(a * b for a, b in zip(s, layers)))
// for l in layers: print(l[:, [0, 7, 15, 16, 25, 31]].tolist())
#[test]
fn every_layer_and_their_mix_are_what_pytorch_computes_from_a_tagger_with_elmo_inside() {
    let expected: [[[f32; 6]; 3]; 4] = [
        [
            [-0.6935508, 0.0019712448, 0.46860346, -0.6935508, -0.4257244, 0.46860346],
            [-0.52750057, -0.9292751, 1.063518, -0.52750057, -0.2733289, 1.063518],
            [-1.1210452, -0.12693839, 0.64356846, -1.1210452, -0.43174976, 0.64356846],
        ],
        [
            [-0.19987816, -0.030974418, 0.51601446, -0.044431955, -0.38544956, -0.21500097],
            [-0.40093547, -0.15956749, 0.3817311, -0.8568864, 0.29273626, -0.747065],
            [-0.82351667, 0.26371256, 0.6011498, 0.041638605, 0.42728138, -0.27041468],
        ],
        [
            [-0.054225296, -0.28956476, 0.6957512, 0.16487958, -0.5861465, -0.5074121],
            [-0.1638715, -0.4500451, 0.52019453, -0.64096224, 0.04772657, -1.0997016],
            [-0.56472254, -0.01383099, 0.73699576, 0.22914109, 0.30031735, -0.57670665],
        ],
        [
            [-0.31673354, -0.10701543, 0.5629472, -0.19110091, -0.46811518, -0.08592959],
            [-0.36537743, -0.5150024, 0.657732, -0.6782336, 0.022671642, -0.26425797],
            [-0.83969504, 0.041170273, 0.663726, -0.28349724, 0.099652916, -0.06931502],
        ],
    ];
    let tagger = outside::find("../fixtures/allennlp_simple_tagger_with_elmo/serialization");
    let folder = outside::find("../fixtures/allennlp_elmo");
    let (Some(folder), Some(tagger)) = (folder, tagger) else { return };
    let long = "x".repeat(60);
    let elmo = Elmo::load(&folder.join("options.json"), &folder.join("lm_weights.hdf5")).unwrap();
    let layers = &elmo.embed(&[&["Zoë", "ran", &long]], None)[0];
    let archive = Archive::read(&tagger).unwrap();
    let prefix = "text_field_embedder.token_embedder_elmo._elmo.scalar_mix_0";
    let mix = allennlp::mix(&tagger, &archive.tensors, prefix, 3).unwrap();
    let mixed = mix.apply(layers);
    let all = [layers.layer(0), layers.layer(1), layers.layer(2), &mixed];
    for (l, (layer, expected)) in all.iter().zip(&expected).enumerate() {
        for (word, (row, expected)) in layer.chunks(32).zip(expected).enumerate() {
            let ours = [0, 7, 15, 16, 25, 31].map(|j| row[j]);
            let error = farthest(&ours, expected);
            assert!(error < 1e-5, "layer {l}, word {word}: {error}");
        }
    }
    let error = allennlp::mix(&tagger, &archive.tensors, prefix, 2).unwrap_err();
    assert!(error.to_string().contains("scalar_parameters.2"), "{error}");
}

fn farthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}
