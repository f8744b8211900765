//! Networks around `nn.Transformer`: every tensor in its place, and the same log-probabilities,
//! gradients and outputs as PyTorch's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use cajole_core::decoders::Greedy;
use cajole_core::model::{Candidate, Mark, Symbol};
use cajole_core::{
    Force, Model, Move, Moving, Pass, Recording, Schedule, StepRule, Stepper, Workspace,
};
use cajole_import::torch_transformer::{self, Ends, Names};
use cajole_import::{Tensors, torch};
use cajole_nn::import::Tensor;
use cajole_nn::layout::Layout;
use cajole_nn::models::Token;
use cajole_nn::models::transformer::EncoderDecoder;
use cajole_nn::{Nudge, Trainable, Trained};
use cajole_testing::outside::note_skipped;
use safetensors::SafeTensors;
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

/// How far log-probabilities may be off.
const LOG_PROB: f32 = 1e-4;

/// How far the gradient of a parameter may be off, as a share of its norm.
const GRADIENT: f64 = 1e-3;

/// The tensors of a network of one layer on each side: width 4, 6 inner units, 5 symbols read and 7
/// written. All numbers are different.
fn tensors() -> Tensors {
    let mut shapes = BTreeMap::from([
        ("reads.weight".to_owned(), vec![5, 4]),
        ("writes.weight".to_owned(), vec![7, 4]),
        ("top.weight".to_owned(), vec![7, 4]),
        ("top.bias".to_owned(), vec![7]),
    ]);
    let attention = |name: &str| {
        let parts: [(&str, Vec<usize>); 4] = [
            ("in_proj_weight", vec![12, 4]),
            ("in_proj_bias", vec![12]),
            ("out_proj.weight", vec![4, 4]),
            ("out_proj.bias", vec![4]),
        ];
        parts.map(|(part, shape)| (format!("{name}.{part}"), shape))
    };
    for (stack, norms) in [("encoder", 2), ("decoder", 3)] {
        let layer = format!("net.{stack}.layers.0");
        shapes.extend(attention(&format!("{layer}.self_attn")));
        if stack == "decoder" {
            shapes.extend(attention(&format!("{layer}.multihead_attn")));
        }
        for i in 1..=norms {
            shapes.insert(format!("{layer}.norm{i}.weight"), vec![4]);
            shapes.insert(format!("{layer}.norm{i}.bias"), vec![4]);
        }
        for (part, out, inner) in [("linear1", 6, 4), ("linear2", 4, 6)] {
            shapes.insert(format!("{layer}.{part}.weight"), vec![out, inner]);
            shapes.insert(format!("{layer}.{part}.bias"), vec![out]);
        }
    }
    let mut next = 0.0;
    let mut fill = |n: usize| {
        let numbers = (0..n).map(|i| next + i as f32).collect();
        next += n as f32;
        numbers
    };
    let tensors = shapes.into_iter().map(|(name, shape)| {
        let values = fill(shape.iter().product());
        (name, Tensor { shape, values })
    });
    tensors.collect()
}

fn read(tensors: &Tensors, more: serde_json::Value) -> Result<(EncoderDecoder, Vec<f32>), String> {
    let mut names = json!({
        "transformer": "net", "reads": "reads", "writes": "writes", "output": "top", "heads": 2
    });
    names.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let names: Names = serde_json::from_value(names).unwrap();
    let ends = Ends { start: 1, end: 2, cap: 10 };
    torch_transformer::read(Path::new("net.pt"), tensors, &names, ends).map_err(|e| e.to_string())
}

#[test]
fn every_tensor_has_its_place() {
    let tensors = tensors();
    let (net, weights) = read(&tensors, json!({})).unwrap();
    let entries = net.layout().entries();
    let n_numbers: usize = entries.iter().map(|entry| entry.param.range().len()).sum();
    assert_eq!(n_numbers, tensors.values().map(|tensor| tensor.values.len()).sum::<usize>());
    let parameter = |name: &str| {
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        (entry.param.cols as usize, entry.param.of(&weights))
    };
    // Tables and vectors as they are.
    for (name, tensor) in [
        ("reads.symbols", "reads.weight"),
        ("writes.symbols", "writes.weight"),
        ("output.symbols", "top.weight"),
        ("output.b", "top.bias"),
        ("encoder.0.attention.qkv.b", "net.encoder.layers.0.self_attn.in_proj_bias"),
        ("encoder.0.feed.norm.gain", "net.encoder.layers.0.norm2.weight"),
        ("decoder.0.cross.norm.bias", "net.decoder.layers.0.norm2.bias"),
        ("decoder.0.feed.norm.gain", "net.decoder.layers.0.norm3.weight"),
    ] {
        assert_eq!(parameter(name).1, tensors[tensor].values, "{name}");
    }
    // Linear layers, from `(output, input)` to `(input, output)`; some take rows of a joined one.
    for (name, tensor, first) in [
        ("encoder.0.attention.qkv.w", "net.encoder.layers.0.self_attn.in_proj_weight", 0),
        ("decoder.0.attention.out.w", "net.decoder.layers.0.self_attn.out_proj.weight", 0),
        ("decoder.0.cross.q.w", "net.decoder.layers.0.multihead_attn.in_proj_weight", 0),
        ("decoder.0.cross.kv.w", "net.decoder.layers.0.multihead_attn.in_proj_weight", 4),
        ("decoder.0.feed.up.w", "net.decoder.layers.0.linear1.weight", 0),
        ("encoder.0.feed.down.w", "net.encoder.layers.0.linear2.weight", 0),
    ] {
        let ((outputs, w), tensor) = (parameter(name), &tensors[tensor]);
        let inputs = tensor.shape[1];
        for (k, row) in w.chunks(outputs).enumerate() {
            let theirs = (first..first + outputs).map(|j| tensor.values[j * inputs + k]);
            assert_eq!(row, theirs.collect::<Vec<_>>(), "{name}, row {k}");
        }
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let changed = |change: &dyn Fn(&mut Tensors)| {
        let mut tensors = tensors();
        change(&mut tensors);
        read(&tensors, json!({})).err().unwrap()
    };
    let bias = "net.decoder.layers.0.self_attn.out_proj.bias";
    let error = changed(&|tensors| drop(tensors.remove(bias)));
    assert!(error.starts_with("net.pt has no") && error.contains(bias), "{error}");
    let error = changed(&|tensors| tensors.get_mut("reads.weight").unwrap().values[7] = f32::NAN);
    assert_eq!(error, "net.pt: \"reads.weight\" has NaN at 7; weights must be finite");
    let error = changed(&|tensors| tensors.get_mut("top.weight").unwrap().shape = vec![4, 7]);
    assert_eq!(error, "net.pt: \"top.weight\" has shape [4, 7], not [7, 4]");
    let surplus = |tensors: &mut Tensors| {
        tensors.insert("places".to_owned(), Tensor { shape: vec![3], values: vec![0.0; 3] });
    };
    let error = changed(&surplus);
    assert_eq!(error, "net.pt: \"places\", of shape [3], has no place in the network");
    let mut tensors = tensors();
    surplus(&mut tensors);
    assert!(read(&tensors, json!({"ignored": ["places"]})).is_ok());
    for (more, expected) in [
        (json!({"heads": 3}), "3 heads do not divide embeddings of 4"),
        (json!({"longest": 1 << 20}), "longest is 1048576; it may be 65536"),
        (
            json!({"positions": ["places", "places"]}),
            "\"places\" has shape [3], which is no matrix",
        ),
    ] {
        assert_eq!(read(&tensors, more).err().unwrap(), format!("net.pt: {expected}"));
    }
}

#[derive(Deserialize)]
struct Cases {
    inputs: Vec<Vec<Symbol>>,
    outputs: Vec<Vec<Symbol>>,
    /// What greedy search finds, and whether it ended.
    greedy: Vec<(Vec<Symbol>, bool)>,
}

/// The folder that the script fills; none if it cannot run.
fn made_by_pytorch() -> Option<TempDir> {
    let Some(python) = std::env::var_os("CAJOLE_PYTHON") else {
        // Unlike data, PyTorch may be missing where no test may be skipped.
        note_skipped("CAJOLE_PYTHON names no Python with torch");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torch_transformer.py");
    let dir = tempfile::tempdir().unwrap();
    let done = Command::new(python).arg(script).arg(dir.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(dir)
}

#[test]
fn plain_transformers_agree_with_pytorch() {
    let Some(made) = made_by_pytorch() else { return };
    for name in ["plain", "plain-norm-first"] {
        check(name, &made.path().join(name));
    }
}

/// Compares log-probabilities, gradients and greedy outputs.
fn check(name: &str, folder: &Path) {
    let names = fs::read(folder.join("names.json")).unwrap();
    let (names, ends): (Names, Ends) = serde_json::from_slice(&names).unwrap();
    let read = |file: &str| {
        let file = folder.join(file);
        let tensors = torch::read(&file).unwrap();
        torch_transformer::read(&file, &tensors, &names, ends).unwrap()
    };
    let (net, weights) = read("model.pt");
    let model = &Trained::new(net, weights);
    let cases = fs::read(folder.join("inputs.json")).unwrap();
    let Cases { inputs, outputs, greedy } = serde_json::from_slice(&cases).unwrap();
    let inputs: Vec<Vec<Token>> =
        inputs.iter().map(|x| x.iter().copied().map(Token::from).collect()).collect();

    let mut workspace = Workspace::new(model);
    let mut log_probs = Vec::new();
    for (i, (x, y)) in inputs.iter().zip(&outputs).enumerate() {
        workspace.decode(model, &Greedy, x).unwrap();
        let at_once = forced(model, &mut workspace, x, y);
        let steps = stepped(model, &mut workspace, x, y);
        let rows = steps.chunks_exact(model.n_symbols());
        let written = y.iter().copied().chain([model.end()]);
        let log_prob: f32 = rows.zip(written).map(|(row, symbol)| row[symbol as usize]).sum();
        assert_eq!(at_once.log_prob, log_prob, "{name}: in steps and all at once");
        log_probs.extend(steps);
        if !folder.join(format!("gradient-{i}.pt")).exists() {
            continue;
        }
        let (_, theirs) = read(&format!("gradient-{i}.pt"));
        let parameters = model.parameters();
        let vectors = [Moving::VECTORS.to_owned()];
        for moving in [Moving::all(&parameters), Moving::choose(&parameters, &vectors).unwrap()] {
            let ours = gradient(model, &mut workspace, &moving, &at_once.marks);
            assert_gradient(name, model.net.layout(), &moving, &ours, &theirs);
        }
    }
    let bytes = fs::read(folder.join("expected.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let expected = file.tensor("log_probs").unwrap().data().as_chunks().0;
    assert_eq!(log_probs.len(), expected.len(), "{name}");
    for (ours, theirs) in log_probs.iter().zip(expected) {
        let off = (ours - f32::from_le_bytes(*theirs)).abs();
        assert!(off < LOG_PROB, "{name}: a log-probability is off by {off}");
    }
    let inputs: Vec<&[Token]> = inputs.iter().map(Vec::as_slice).collect();
    let found = model.decode_all(&Greedy, &inputs).into_iter();
    assert_eq!(found.map(|y| (y.output, !y.capped)).collect::<Vec<_>>(), greedy, "{name}");
}

type Net = Trained<EncoderDecoder>;

/// Log-probabilities `(T, V)` of what follows every prefix of `y`, step by step.
fn stepped(model: &Net, workspace: &mut Workspace<Net>, x: &[Token], y: &[Symbol]) -> Vec<f32> {
    let scratch = workspace.session(model).scratch;
    let set = [Pass::base(x)];
    let (mut all, mut log_probs) = (Vec::new(), Vec::new());
    model.begin(scratch, &set, Recording::None).unwrap();
    for &symbol in [model.end()].iter().chain(y) {
        model.step(scratch, &set, &[symbol], &mut log_probs).unwrap();
        all.extend_from_slice(&log_probs);
    }
    all
}

/// A recording of `y`.
fn forced(model: &Net, workspace: &mut Workspace<Net>, x: &[Token], y: &[Symbol]) -> Candidate {
    let pass = Pass { place: Some(0), ..Pass::base(x) };
    let mut forced = Candidate::default();
    let mut set = [Force { pass, output: y, forced: &mut forced, passes: 0 }];
    model.force(workspace.session(model).scratch, &mut set).unwrap();
    forced
}

/// `∂/∂W Σ log p` of what is marked, of the recording's only input.
fn gradient(
    model: &Net,
    workspace: &mut Workspace<Net>,
    moving: &Moving,
    marks: &[Mark],
) -> Vec<f32> {
    let own = Move {
        nudge: model.nudge(moving).unwrap(),
        place: 0,
        t: 0,
        schedule: Schedule { rule: StepRule::Sgd, step_size: 1.0, max_steps: 1 },
        pull: 0.0,
        blame: marks.iter().map(|&mark| (mark, 1.0)).collect(),
        norm: 0.0,
        distance: 0.0,
        is_over: false,
    };
    let mut set: [Move<Nudge>; 1] = [own];
    model.gradient(workspace.session(model).scratch, &mut set).unwrap();
    set[0].nudge.gradient(model.net.layout())
}

/// Compares the gradient of every parameter that moves.
fn assert_gradient(name: &str, layout: &Layout, moving: &Moving, ours: &[f32], theirs: &[f32]) {
    let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>().sqrt();
    for (i, entry) in layout.entries().iter().enumerate() {
        if !moving.moves(i) {
            continue;
        }
        let (ours, theirs) = (entry.param.of(ours), entry.param.of(theirs));
        let off: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| f64::from(a - b)).collect();
        let theirs: Vec<f64> = theirs.iter().copied().map(f64::from).collect();
        let (off, size) = (norm(&off), norm(&theirs));
        assert!(off < GRADIENT * size + 1e-5, "{name}, {}: {off} of {size}", entry.name);
    }
}
