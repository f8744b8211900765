//! ELMo against the embeddings that its authors computed.

use cajole_testing::outside;
use std::fs;
use std::path::{Path, PathBuf};

use cajole_nn::models::elmo::{Cache, Elmo, Hdf5, Layers, State, character_ids};
use proptest::prelude::*;

const TOLERANCE: f32 = 1e-5;

fn folder() -> Option<PathBuf> {
    outside::find("../fixtures/allennlp_elmo")
}

fn load(folder: &Path) -> Elmo {
    Elmo::load(&folder.join("options.json"), &folder.join("lm_weights.hdf5")).unwrap()
}

/// Three lists of ten sentences.
fn sentences(folder: &Path) -> Vec<Vec<Vec<String>>> {
    let text = fs::read_to_string(folder.join("sentences.json")).unwrap();
    let lists: Vec<Vec<String>> = serde_json::from_str(&text).unwrap();
    let words = |s: &String| s.split_whitespace().map(str::to_owned).collect();
    lists.iter().map(|list| list.iter().map(words).collect()).collect()
}

fn farthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn the_top_layer_is_the_published_one_sentence_after_sentence() {
    let Some(folder) = folder() else { return };
    let (elmo, lists) = (load(&folder), sentences(&folder));
    let expected: Vec<Hdf5> = (0..lists.len())
        .map(|list| Hdf5::open(&folder.join(format!("lm_embeddings_{list}.hdf5"))).unwrap())
        .collect();
    let mut state = State::default();
    for i in 0..10 {
        let batch: Vec<&[String]> = lists.iter().map(|list| list[i].as_slice()).collect();
        for (list, layers) in elmo.embed(&batch, Some(&mut state)).iter().enumerate() {
            let t = batch[list].len();
            assert_eq!((layers.count(), layers.words, layers.dim), (3, t, 32));
            let expected = expected[list].dataset_of(&i.to_string(), &[2, t, 16]).unwrap();
            let top = layers.layer(2);
            let both = [0, 16].map(|at| top.chunks(32).flat_map(move |row| &row[at..at + 16]));
            let ours: Vec<f32> = both.into_iter().flatten().copied().collect();
            let error = farthest(&ours, &expected);
            assert!(error < TOLERANCE, "sentence {i} of list {list}: {error}");
        }
    }
}

#[test]
fn words_before_any_context_are_the_published_ones() {
    let Some(folder) = folder() else { return };
    let elmo = load(&folder);
    let text = fs::read_to_string(folder.join("vocab_test.txt")).unwrap();
    let words: Vec<&str> = text.lines().collect();
    let file = Hdf5::open(&folder.join("elmo_token_embeddings.hdf5")).unwrap();
    let expected = file.dataset("embedding").unwrap().values;
    let layers = &elmo.embed(&[&words], None)[0];
    assert_eq!(layers.words, 458);
    for ((word, row), expected) in
        words.iter().zip(layers.layer(0).chunks(32)).zip(expected.chunks(16))
    {
        assert_eq!(row[..16], row[16..]);
        let error = farthest(&row[..16], expected);
        assert!(error < TOLERANCE, "{word}: {error}");
    }
}

#[test]
fn words_are_spelled_as_allennlp_does() {
    let spelled = |word: &str| {
        let ids = character_ids(word, 50);
        assert_eq!(ids.len(), 50);
        ids.into_iter().take_while(|&id| id != 261).collect::<Vec<_>>()
    };
    assert_eq!(spelled("Sentence"), [259, 84, 102, 111, 117, 102, 111, 100, 102, 260]);
    assert_eq!(spelled("ë"), [259, 0xc3 + 1, 0xab + 1, 260]);
    assert_eq!(spelled("<S>"), [259, 257, 260]);
    assert_eq!(spelled("</S>"), [259, 258, 260]);
    assert_eq!(spelled(""), [259, 260]);
    assert_eq!(spelled(&"x".repeat(49)), spelled(&"x".repeat(48)));
    assert_eq!(spelled(&"x".repeat(48)).len(), 50);
}

#[test]
fn a_sentence_is_the_same_alone_and_among_others() {
    let Some(folder) = folder() else { return };
    let (elmo, lists) = (load(&folder), sentences(&folder));
    let mut all: Vec<&[String]> = lists.iter().flatten().map(Vec::as_slice).collect();
    all.insert(5, &[]);
    let together = elmo.embed(&all, None);
    assert_eq!(together.len(), 31);
    assert_eq!((together[5].words, together[5].values.len()), (0, 0));
    for (sentence, layers) in all.iter().zip(&together) {
        assert_eq!(elmo.embed(&[sentence], None)[0], *layers);
    }
    assert!(elmo.embed::<String>(&[], None).is_empty());
}

#[test]
fn each_row_of_a_batch_has_a_state_of_its_own() {
    let Some(folder) = folder() else { return };
    let (elmo, lists) = (load(&folder), sentences(&folder));
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|i| lists[0][i].as_slice());
    let calls: [&[&[String]]; 4] = [&[a], &[b, c], &[d], &[&[], e]];
    let mut state = State::default();
    let results = calls.map(|batch| elmo.embed(batch, Some(&mut state)));
    let rows: [&[&[String]]; 2] = [&[a, b, d, &[]], &[c, e]];
    let [first, second] = rows.map(|row| {
        let mut state = State::default();
        row.iter().map(|s| elmo.embed(&[s], Some(&mut state)).remove(0)).collect::<Vec<Layers>>()
    });
    let flat = |results: &[Vec<Layers>], row: usize| -> Vec<Layers> {
        results.iter().filter_map(|batch| batch.get(row).cloned()).collect()
    };
    assert_eq!(flat(&results, 0), first);
    assert_eq!(flat(&results, 1), second);
    assert_ne!(first[1], elmo.embed(&[b], None)[0]);
}

#[test]
fn options_and_weights_that_do_not_fit_are_named() {
    let Some(folder) = folder() else { return };
    let weights = folder.join("lm_weights.hdf5");
    let options = fs::read_to_string(folder.join("options.json")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let changed = scratch.path().join("options.json");
    for (from, to, problem) in [
        (
            "\"projection_dim\": 16",
            "\"projection_dim\": 17",
            "lm_weights.hdf5: \"CNN_proj/W_proj\" has shape [124, 16], not [124, 17]",
        ),
        (
            "\"n_layers\": 2",
            "\"n_layers\": 3",
            "lm_weights.hdf5 has no \"RNN_0/RNN/MultiRNNCell/Cell2/LSTMCell/W_0\"",
        ),
        ("[5, 64]", "[6, 64]", "\"CNN/W_cnn_4\" has shape [1, 5, 4, 64], not [1, 6, 4, 64]"),
        ("[5, 64]", "[51, 64]", "options.json: char_cnn.filters has [51, 64]"),
        ("\"dim\": 64", "\"dim\": 0", "options.json: lstm.dim is 0"),
        ("\"n_characters\": 262", "\"n_characters\": 26", "char_cnn.n_characters is 26"),
        ("relu", "gelu", "unknown variant `gelu`"),
        ("lstm", "gru", "missing field `lstm`"),
    ] {
        fs::write(&changed, options.replace(from, to)).unwrap();
        let error = Elmo::load(&changed, &weights).err().unwrap().to_string();
        assert!(error.contains(problem), "{error}");
    }
    fs::write(&changed, options).unwrap();
    let bytes = fs::read(&weights).unwrap();
    let cut = scratch.path().join("weights.hdf5");
    for keep in [0, 7, 100, 5_000, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&cut, &bytes[..keep]).unwrap();
        let error = Elmo::load(&changed, &cut).err().unwrap().to_string();
        assert!(error.contains("weights.hdf5"), "{error}");
    }
}

#[test]
fn the_cache_gives_what_elmo_gives_and_mends_itself() {
    let Some(folder) = folder() else { return };
    let (elmo, lists) = (load(&folder), sentences(&folder));
    let list: Vec<&[String]> = lists[0].iter().chain(&lists[0][..2]).map(Vec::as_slice).collect();
    let expected = elmo.embed(&list, None);
    let scratch = tempfile::tempdir().unwrap();
    let cache = Cache::open(scratch.path(), elmo).unwrap();
    assert_eq!(cache.embed(&list).unwrap(), expected);
    let mut entries = files(scratch.path());
    entries.sort();
    assert_eq!(entries.len(), 10);
    let kept: Vec<Vec<u8>> = entries.iter().map(|path| fs::read(path).unwrap()).collect();
    // One cut short, one emptied, one with a bit turned, one with the numbers of another.
    fs::write(&entries[0], &kept[0][..100]).unwrap();
    fs::write(&entries[1], b"").unwrap();
    let mut turned = kept[2].clone();
    turned[50] ^= 1;
    fs::write(&entries[2], turned).unwrap();
    fs::write(&entries[3], &kept[4]).unwrap();
    assert_eq!(cache.embed(&list).unwrap(), expected);
    for (path, kept) in entries.iter().zip(&kept) {
        assert_eq!(fs::read(path).unwrap(), *kept);
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn mutated_hdf5_files_are_errors_or_tensors_but_never_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        keep in any::<bool>(),
    ) {
        let Some(path) = outside::find("../fixtures/allennlp_elmo/lm_embeddings_1.hdf5") else {
            return Ok(());
        };
        let mut bytes = fs::read(path).unwrap();
        for (at, value) in changes {
            // Most of the file is numbers; what can go wrong is at its beginning.
            let at = at.index(4096);
            bytes[at] = value;
        }
        if !keep {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(file) = Hdf5::from_bytes(Path::new("mutated"), bytes) {
            for sentence in 0..10 {
                let _ = file.dataset(&sentence.to_string());
            }
        }
    }
}
