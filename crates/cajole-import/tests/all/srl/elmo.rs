//! Archives that read ELMo's vectors: the same as PyTorch's, and only with their own ELMo.

use super::*;

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
    tagger.save(&Folder::create(folder.path()).unwrap(), &card, Precision::F32).unwrap();
    let cache = folder.path().join("elmo/cache");
    fs::create_dir(&cache).unwrap();
    let dense = |tagger: &RoleTagger| instance(tagger, "He told nobody .", 1).features.dense;
    for _ in ["computed", "read"] {
        let (loaded, _) = RoleTagger::load(folder.path()).unwrap();
        assert_eq!(dense(&loaded), dense(&tagger));
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);
    }

    let config = folder.path().join("config.json");
    let right = fs::read_to_string(&config).unwrap();
    for (from, to, said) in [
        ("\"dense\": 32", "\"dense\": 16", "elmo/options.json: its vectors have size 32, not 16"),
        ("\"weights\": [", "\"weights\": [ 0.5,", "elmo/options.json: it has 3 layers, not 4"),
    ] {
        assert!(right.contains(from), "{right}");
        fs::write(&config, right.replace(from, to)).unwrap();
        let error = RoleTagger::load(folder.path()).map(|_| ()).unwrap_err().to_string();
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
    assert!(error.contains("contains ELMo, as \"elmo\""), "{error}");
    let error = of(&plain(5, 1), Some(&files));
    assert!(error.contains("options.json: is not needed"), "{error}");

    let name = "text_field_embedder.token_embedder_elmo._elmo._elmo_lstm._token_embedder.\
                _projection.weight";
    let mut other = archive.clone();
    other.tensors.get_mut(name).unwrap().values[7] += 0.1;
    let error = of(&other, Some(&files));
    assert!(error.contains("lm_weights.hdf5: the weights differ from"), "{error}");
    let mut other = archive.clone();
    other.tensors.insert(name.to_owned(), Tensor { shape: vec![8, 124], values: vec![0.0; 992] });
    let error = of(&other, Some(&files));
    assert!(error.contains("has shape [124, 16], not [124, 8]"), "{error}");

    let swapped = ElmoFiles { options: files.weights.clone(), weights: files.options.clone() };
    let error = of(&archive, Some(&swapped));
    assert!(error.contains("lm_weights.hdf5 is damaged or of another format"), "{error}");
}
