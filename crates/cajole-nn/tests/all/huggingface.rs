//! Networks from Hugging Face folders against what PyTorch computes with them: log-probabilities of
//! padded batches, gradients, greedy and beam search.
//!
//! `huggingface.py` makes the folders; it needs PyTorch and transformers. `CAJOLE_PYTHON` names a
//! Python that has them; without it these tests are skipped.

// A test has to say that it was skipped.
#![allow(clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cajole_core::constraints::TagSet;
use cajole_core::decoders::{Beam, Greedy};
use cajole_core::model::{Candidate, Mark, Symbol};
use cajole_core::{
    Decoder, Force, Model, Move, Moving, Pass, Recording, Schedule, StepRule, Stepper, TagScorer,
    Workspace,
};
use cajole_nn::import::huggingface::{Family, Folder};
use cajole_nn::layout::Layout;
use cajole_nn::models::Token;
use cajole_nn::models::transformer::{EncoderDecoder, EncoderTagger, Pieces};
use cajole_nn::{Network, Nudge, Stepwise, Tagging, Trainable, Trained};
use cajole_testing::outside::note_skipped;
use safetensors::SafeTensors;
use serde::Deserialize;
use tempfile::TempDir;

/// How far log-probabilities may be off.
const LOG_PROB: f32 = 1e-4;

/// How far the gradient of a parameter may be off, as a share of its norm.
const GRADIENT: f64 = 1e-3;

/// How many of 100 beams must be the same: a last bit can decide between two hypotheses.
const LEAST_BEAMS: usize = 98;

#[derive(Deserialize)]
struct Cases {
    inputs: Vec<Vec<Symbol>>,
    outputs: Vec<Vec<Symbol>>,
    /// What greedy search finds, and whether it ended.
    #[serde(default)]
    greedy: Vec<(Vec<Symbol>, bool)>,
    #[serde(default)]
    beams: Vec<(Vec<Symbol>, bool)>,
    #[serde(default)]
    cap: usize,
    #[serde(default)]
    width: usize,
}

/// The folder that a script fills; none if it cannot run.
pub(crate) fn made_by(script: &str) -> Option<TempDir> {
    let Some(python) = std::env::var_os("CAJOLE_PYTHON") else {
        // Unlike data, PyTorch may be missing where no test may be skipped.
        note_skipped("CAJOLE_PYTHON names no Python with torch and transformers");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let dir = tempfile::tempdir().unwrap();
    let done = Command::new(python).arg(script).arg(dir.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(dir)
}

/// The folders of a family that the script makes, once; none if it cannot run.
fn folders(family: Family) -> Vec<PathBuf> {
    static MADE: OnceLock<Option<TempDir>> = OnceLock::new();
    let made = MADE.get_or_init(|| made_by("huggingface.py"));
    let Some(made) = made else { return Vec::new() };
    let all = fs::read_dir(made.path()).unwrap().map(|entry| entry.unwrap().path());
    let found = |path: &PathBuf| Folder::open(path).unwrap().family().unwrap();
    let mut all: Vec<_> = all.filter(|path| found(path) == family).collect();
    all.sort();
    assert!(2 <= all.len(), "{all:?}");
    all
}

fn cases(path: &Path) -> (Cases, Vec<f32>) {
    let cases = serde_json::from_slice(&fs::read(path.join("inputs.json")).unwrap()).unwrap();
    let bytes = fs::read(path.join("expected.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let values = file.tensor("log_probs").unwrap().data().as_chunks().0;
    (cases, values.iter().map(|v| f32::from_le_bytes(*v)).collect())
}

pub(crate) fn assert_close(name: &str, got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len(), "{name}");
    let off = got.iter().zip(want).map(|(got, want)| (got - want).abs()).fold(0.0, f32::max);
    assert!(off < LOG_PROB, "{name}: log-probabilities are off by {off}");
}

/// `∂/∂W Σ log p` of what is marked, of the recording's only input.
pub(crate) fn gradient<N: Network>(
    model: &Trained<N>,
    workspace: &mut Workspace<Trained<N>>,
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

/// Compares the gradient of every parameter that moves. In PyTorch the bias of BART's scores is a
/// constant, and a symbol that stands for padding, which Marian starts with, has no gradient from
/// being read: those are left out.
pub(crate) fn assert_gradient(
    name: &str,
    layout: &Layout,
    moving: &Moving,
    got: &[f32],
    want: &[f32],
) {
    for (i, entry) in layout.entries().iter().enumerate() {
        if !moving.moves(i) || (entry.name == "output.b" && name.contains("writer")) {
            continue;
        }
        let (mut got, mut want) = (entry.param.of(got), entry.param.of(want));
        if name.contains("marian") && entry.name == "reads.symbols" {
            let kept = got.len() - entry.param.cols as usize; // padding is the last symbol
            (got, want) = (&got[..kept], &want[..kept]);
        }
        let norm =
            |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let size = norm(&mut want.iter().map(|v| f64::from(*v)));
        let off = norm(&mut got.iter().zip(want).map(|(a, b)| f64::from(a - b)));
        assert!(off < GRADIENT * size + 1e-5, "{name}, {}: {off} of {size}", entry.name);
    }
}

pub(crate) fn movings<M: Model>(model: &M) -> [Moving; 2] {
    let vectors = [Moving::VECTORS.to_owned()];
    let parameters = model.parameters();
    [Moving::all(&parameters), Moving::choose(&parameters, &vectors).unwrap()]
}

fn tagger(path: &Path) -> Trained<Tagging<EncoderTagger>> {
    let imported = Folder::open(path).unwrap().tagger().unwrap();
    // The labels of random networks are not BIO, which decoders need and scores do not.
    let tags = (0..imported.labels.len()).map(|i| format!("B-{i}"));
    let tags = TagSet::new(std::iter::once("O".to_owned()).chain(tags.skip(1))).unwrap();
    Trained::new(Tagging { net: imported.net, tags }, imported.weights)
}

#[test]
fn taggers_agree_with_pytorch() {
    for path in folders(Family::Encoder) {
        let (cases, want) = cases(&path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let model = tagger(&path);
        let pieces = |x: &Vec<Symbol>| Pieces {
            pieces: x.clone(),
            firsts: (0..x.len() as u32).collect(),
            marked: None,
        };
        let xs: Vec<Pieces> = cases.inputs.iter().map(pieces).collect();
        let mut workspace = Workspace::new(&model);
        let (mut got, mut scores) = (Vec::new(), Vec::new());
        for batch in xs.chunks(7) {
            let set: Vec<_> = batch.iter().map(Pass::base).collect();
            let scratch = workspace.session(&model).scratch;
            model.read(scratch, &set, Recording::None).unwrap();
            for place in 0..batch.len() {
                model.scores(scratch, Recording::None, place, &mut scores);
                got.extend_from_slice(&scores);
            }
        }
        assert_close(&name, &got, &want);
        for (i, y) in cases.outputs.iter().enumerate() {
            let scratch = workspace.session(&model).scratch;
            model.read(scratch, &[Pass::base(&xs[i])], Recording::Kept).unwrap();
            let marks = y.iter().enumerate().map(|(t, &tag)| model.mark(scratch, 0, t, tag));
            let marks: Vec<_> = marks.collect();
            let folder = Folder::open(&path.join(format!("gradient-{i}"))).unwrap();
            let want = folder.tagger::<Pieces>().unwrap().weights;
            for moving in movings(&model) {
                let got = gradient(&model, &mut workspace, &moving, &marks);
                assert_gradient(&name, model.net.layout(), &moving, &got, &want);
            }
        }
    }
}

/// Log-probabilities `(T, V)` of what follows every prefix of `y`, step by step.
pub(crate) fn stepped<N: Stepwise<Input = [Token]>>(
    model: &Trained<N>,
    workspace: &mut Workspace<Trained<N>>,
    x: &[Token],
    y: &[Symbol],
) -> Vec<f32> {
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

fn tokens(x: &[Symbol]) -> Vec<Token> {
    x.iter().copied().map(Token::from).collect()
}

/// What a decoder finds for every input, in batches.
fn decode(
    model: &Trained<EncoderDecoder>,
    decoder: &dyn Decoder<Trained<EncoderDecoder>>,
    xs: &[Vec<Symbol>],
) -> Vec<(Vec<Symbol>, bool)> {
    let xs: Vec<Vec<Token>> = xs.iter().map(|x| tokens(x)).collect();
    let xs: Vec<&[Token]> = xs.iter().map(Vec::as_slice).collect();
    let found = model.decode_all(decoder, &xs);
    found.into_iter().map(|found| (found.output, !found.capped)).collect()
}

#[test]
fn writers_agree_with_pytorch() {
    for path in folders(Family::EncoderDecoder) {
        let (cases, _) = cases(&path);
        let name = format!("writer {}", path.file_name().unwrap().to_string_lossy());
        let (mut net, weights) = Folder::open(&path).unwrap().encoder_decoder().unwrap();
        net.config.cap = cases.cap;
        let model = Trained::new(net, weights);
        check_writer(&name, &path, &model, |i| {
            let folder = path.join(format!("gradient-{i}"));
            folder.exists().then(|| Folder::open(&folder).unwrap().encoder_decoder().unwrap().1)
        });
        let beams = decode(&model, &Beam::of(cases.width), &cases.inputs);
        let n = beams.iter().zip(&cases.beams).filter(|(got, want)| got == want).count();
        assert!(LEAST_BEAMS <= n, "{name}: only {n} of {} beams are the same", beams.len());
    }
}

/// Log-probabilities, gradients and greedy outputs.
fn check_writer(
    name: &str,
    path: &Path,
    model: &Trained<EncoderDecoder>,
    gradients: impl Fn(usize) -> Option<Vec<f32>>,
) {
    let (cases, want) = cases(path);
    let mut workspace = Workspace::new(model);
    let mut got = Vec::new();
    for (i, (x, y)) in cases.inputs.iter().zip(&cases.outputs).enumerate() {
        let x = &tokens(x);
        workspace.decode(model, &Greedy, x).unwrap();
        let scratch = workspace.session(model).scratch;
        let pass = Pass { place: Some(0), ..Pass::base(x.as_slice()) };
        let mut forced = Candidate::default();
        let mut set = [Force { pass, output: y, forced: &mut forced, passes: 0 }];
        model.force(scratch, &mut set).unwrap();
        let log_probs = stepped(model, &mut workspace, x, y);
        let rows = log_probs.chunks_exact(model.n_symbols());
        let said = y.iter().copied().chain([model.end()]);
        let log_prob: f32 = rows.zip(said).map(|(row, symbol)| row[symbol as usize]).sum();
        assert_eq!(forced.log_prob, log_prob, "{name}: in steps and all at once");
        got.extend(log_probs);
        let Some(want) = gradients(i) else { continue };
        for moving in movings(model) {
            let got = gradient(model, &mut workspace, &moving, &forced.marks);
            assert_gradient(name, model.net.layout(), &moving, &got, &want);
        }
    }
    assert_close(name, &got, &want);
    let greedy = decode(model, &Greedy, &cases.inputs);
    assert_eq!(greedy, cases.greedy, "{name}");
}
