//! PyTorch's files: the same numbers as PyTorch reads, and no panic whatever the bytes.

use std::io::Write;
use std::path::Path;

use cajole_import::allennlp::Archive;
use cajole_import::{Tensors, torch};
use cajole_nn::import::ImportError;
use cajole_testing::outside;
use proptest::prelude::*;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const ZIP: &[u8] = include_bytes!("../data/zip.pt");
const LEGACY: &[u8] = include_bytes!("../data/legacy.pt");

// import collections, io, sys, tarfile, torch, zlib
// def crc(tensors):
//     c = 0
//     for name in sorted(tensors):
//         t = tensors[name].float().contiguous()
//         c = zlib.crc32(f"{name} {list(t.shape)}".encode(), c)
//         c = zlib.crc32(bytes(t.clone().untyped_storage()), c)
//     return len(tensors), hex(c)
//
// # tests/data/*.pt: every type of number, and tensors that do not lie row after row.
// a = torch.arange(12, dtype=torch.float32).sin().reshape(3, 4)
// sample = collections.OrderedDict([
//     ("float", a), ("transposed", a.t()), ("column", a[:, 1]), ("expanded", a[1:2].expand(2, 4)),
//     ("half", a.half()), ("bfloat16", a.bfloat16()), ("double", a.double() / 3),
//     ("long", torch.tensor([-5, 0, 1 << 20])), ("int", torch.tensor([7], dtype=torch.int32)),
//     ("bool", torch.tensor([True, False])), ("number", torch.tensor(2.5)),
//     ("empty", torch.zeros(0, 3)), ("parameter", torch.nn.Parameter(a[0])),
//     ("epoch", 3), ("inner", {"weights": [a[2], None], "note": "text"})])
// torch.save(sample, "zip.pt")
// torch.save(sample, "legacy.pt", _use_new_zipfile_serialization=False)
// inner = sample.pop("inner"); sample.pop("epoch")
// print(crc({**sample, "inner.weights.0": inner["weights"][0]}))      # (14, '0x87509f7f')
//
// for f in sys.argv[1:]:                                              # the fixtures
//     b = io.BytesIO(tarfile.open(f).extractfile("weights.th").read()) if f[-2:] == "gz" else f
//     print(f, crc(torch.load(b, map_location="cpu")))
fn check(name: &str, tensors: &Tensors, expected: (usize, u32)) {
    let mut crc = flate2::Crc::new();
    for (name, tensor) in tensors {
        crc.update(format!("{name} {:?}", tensor.shape).as_bytes());
        let bytes: Vec<u8> = tensor.values.iter().flat_map(|v| v.to_le_bytes()).collect();
        crc.update(&bytes);
    }
    assert_eq!((tensors.len(), crc.sum()), expected, "{name}");
}

#[test]
fn both_forms_of_a_checkpoint_hold_what_pytorch_wrote() {
    for (name, bytes) in [("zip.pt", ZIP), ("legacy.pt", LEGACY)] {
        check(name, &torch::from_bytes(Path::new(name), bytes).unwrap(), (14, 0x8750_9f7f));
    }
}

#[test]
fn published_checkpoints_hold_what_pytorch_reads() {
    for (folder, expected) in [
        ("allennlp_srl/serialization/best.th", (8, 0x519b_8d9b)),
        ("allennlp_constituency/constituency_parser/serialization/best.th", (9, 0x5291_e516)),
        ("allennlp_simple_tagger_with_elmo/serialization/best.th", (55, 0x323a_bb30)),
    ] {
        let Some(path) = outside::find(&format!("../fixtures/{folder}")) else { return };
        check(folder, &torch::read(&path).unwrap(), expected);
    }
}

#[test]
fn archives_hold_settings_weights_and_vocabulary() {
    for (file, expected) in [
        ("allennlp_srl/serialization/model.tar.gz", (8, 0xb0b7_d90d)),
        ("allennlp_constituency/constituency_parser/serialization/model.tar.gz", (9, 0x5291_e516)),
        ("allennlp_simple_tagger_with_elmo/serialization/model.tar.gz", (55, 0x323a_bb30)),
    ] {
        let Some(path) = outside::find(&format!("../fixtures/{file}")) else { return };
        let archive = Archive::read(&path).unwrap();
        check(file, &archive.tensors, expected);
        assert!(archive.config["model"]["type"].is_string(), "{file}");
    }
    // AllenNLP would have this one evaluated as Jsonnet, a programming language.
    let Some(path) = outside::find("../fixtures/allennlp_bidirectional_lm/model.tar.gz") else {
        return;
    };
    let error = Archive::read(&path).unwrap_err().to_string();
    assert!(error.contains("config.json") && error.contains("trailing comma"), "{error}");
    let Some(path) = outside::find("../fixtures/allennlp_srl/serialization") else { return };
    let [packed, folder] = [path.join("model.tar.gz"), path].map(|p| Archive::read(&p).unwrap());
    assert_eq!(packed.config["model"]["type"], "srl");
    for namespace in ["labels", "tokens"] {
        assert_eq!(packed.vocabulary[namespace], folder.vocabulary[namespace]);
    }
    let sizes: Vec<_> = folder.vocabulary.iter().map(|(k, v)| (k.as_str(), v.len())).collect();
    assert_eq!(sizes, [("labels", 27), ("non_padded_namespaces", 2), ("tokens", 163)]);
    assert_eq!(folder.vocabulary["tokens"][..2], ["@@UNKNOWN@@", "."]);
    assert_eq!(folder.tensors["tag_projection_layer._module.weight"].shape, [27, 10]);
}

#[test]
fn a_checkpoint_that_would_run_something_is_refused_by_name() {
    // `__reduce__` of a class that returns `(os.system, ("true",))`, pickled by Python.
    let program = b"\x80\x02cposix\nsystem\nq\x00X\x04\x00\x00\x00trueq\x01\x85q\x02Rq\x03.";
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("archive/data.pkl", SimpleFileOptions::default()).unwrap();
    zip.write_all(program).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    let legacy = [&LEGACY[..legacy_object_start()], program].concat();
    for bytes in [zip, legacy] {
        let refused = torch::from_bytes(Path::new("evil.th"), &bytes).unwrap_err();
        let expected = "evil.th asks for posix.system, which reading tensors does not need";
        assert_eq!(refused.to_string(), expected);
    }
}

/// Where the object begins, after three pickles: each ends in a full stop before the next `\x80`.
fn legacy_object_start() -> usize {
    let starts = LEGACY.windows(3).enumerate().filter(|(_, w)| w == b".\x80\x02");
    starts.map(|(at, _)| at + 1).nth(2).unwrap()
}

#[test]
fn a_small_file_cannot_ask_for_much_memory() {
    let nested = [vec![b']'; 1_000_000], vec![b'a'; 999_999], b".".to_vec()].concat();
    // A hundred dictionaries, each of which holds the one before twice.
    let mut doubled = b"}q\x00".to_vec();
    for i in 0..100 {
        doubled.extend(b"}(X\x01\x00\x00\x00ah");
        doubled.extend([i, b'X', 1, 0, 0, 0, b'b', b'h', i, b'u', b'q', i + 1]);
    }
    doubled.push(b'.');
    // A tensor of 2⁴⁰ numbers, all of them the same one.
    let stretched = [
        &b"}X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage"[..],
        b"ctorch\nFloatStorage\nX\x01\x00\x00\x00kX\x03\x00\x00\x00cpuK\x01NtQ",
        b"K\x00\x8a\x06\x00\x00\x00\x00\x00\x01\x85K\x00\x85\x89NtRs.",
    ]
    .concat();
    for (program, problem) in [
        (nested, "where a dictionary of tensors should be"),
        (doubled, "nested too deeply"),
        (stretched, "\"a\" is larger than a file of this length can hold"),
    ] {
        let start = &LEGACY[..legacy_object_start()];
        let storages = b"]X\x01\x00\x00\x00ka.\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x3f";
        let storages = if problem.starts_with('"') { &storages[..] } else { b"]." };
        let bytes = [start, &program, storages].concat();
        let error = torch::from_bytes(Path::new("bomb.th"), &bytes).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn errors_name_the_file_and_what_is_wrong_with_it() {
    let read = |bytes: &[u8]| torch::from_bytes(Path::new("a.th"), bytes).unwrap_err().to_string();
    assert!(read(b"").contains("a.th is damaged"));
    assert!(read(b"{\"json\": 1}").contains("does not begin as a PyTorch checkpoint"));
    assert!(read(&ZIP[..ZIP.len() / 2]).contains("a.th is damaged"));
    assert!(read(&LEGACY[..LEGACY.len() - 1]).contains("before it is complete"));
    let absent = torch::read(Path::new("no/such.th")).unwrap_err();
    assert!(matches!(absent, ImportError::Io(_)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn mutated_checkpoints_are_errors_or_tensors_but_never_panics(
        zip in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        keep in any::<bool>(),
    ) {
        let mut bytes = if zip { ZIP } else { LEGACY }.to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !keep {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = torch::from_bytes(Path::new("mutated"), &bytes);
    }

    #[test]
    fn arbitrary_programs_are_errors_or_tensors_but_never_panics(
        program in prop::collection::vec(prop::sample::select(
            b"\x80\x95(tqrhj}]).KMJGNXUTcabseuQR\x81\x85\x86\x87\x88\x89\x8a\x8c\x8d\x93\x94\x00\x01a\n"
                .to_vec()), 0..200),
    ) {
        let bytes = [&LEGACY[..legacy_object_start()], &program].concat();
        let _ = torch::from_bytes(Path::new("program"), &bytes);
    }
}
