//! Checkpoints: what is written is read, and what is damaged is named.

use std::fs;
use std::path::PathBuf;

use cajole_nn::TrainState;
use cajole_nn::checkpoint::{self, Precision};
use cajole_nn::layout::{Init, Layout};

fn layout(cols: usize) -> Layout {
    let mut layout = Layout::default();
    layout.matrix("a.w", 3, cols, Init::Uniform(2.0));
    layout.vector("a.b", cols, Init::Uniform(2.0));
    layout
}

/// A file name of its own for each test.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("cajole-{name}-{}.safetensors", std::process::id()))
}

#[test]
fn weights_survive_in_full_and_nearly_in_half_precision() {
    let (layout, file) = (layout(5), file("survive"));
    let w = layout.initial(4);
    checkpoint::save(&file, &layout, &w, Precision::F32).unwrap();
    assert_eq!(checkpoint::load(&file, &layout).unwrap(), w);
    checkpoint::save(&file, &layout, &w, Precision::F16).unwrap();
    let half = checkpoint::load(&file, &layout).unwrap();
    for (half, w) in half.iter().zip(&w) {
        assert!((half - w).abs() <= w.abs() / 1024.0, "{half} is not near {w}");
    }
    fs::remove_file(file).unwrap();
}

/// Saves a good file, spoils it, and compares the error.
fn check(name: &str, spoil: impl Fn(Vec<u8>) -> Vec<u8>, read_as: &Layout, expected: &[&str]) {
    let file = file(name);
    checkpoint::save(&file, &layout(5), &layout(5).initial(4), Precision::F32).unwrap();
    fs::write(&file, spoil(fs::read(&file).unwrap())).unwrap();
    let error = checkpoint::load(&file, read_as).unwrap_err().to_string();
    assert!(error.contains(&*file.display().to_string()), "{error} names the file");
    for part in expected {
        assert!(error.contains(part), "{error:?} should say {part:?}");
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn what_is_damaged_is_named() {
    let good = layout(5);
    check("short", |b| b[..b.len() - 7].to_vec(), &good, &["damaged"]);
    check("empty", |_| Vec::new(), &good, &["damaged"]);
    check("text", |_| b"not weights at all".to_vec(), &good, &["damaged"]);
    check(
        "huge",
        |mut b| {
            b[..8].fill(0xff);
            b
        },
        &good,
        &["damaged"],
    );
    let wide = ["does not fit", "a.w", "[3, 5]", "[3, 6]"];
    check("wide", |b| b, &layout(6), &wide);
    let mut more = layout(5);
    more.vector("c.b", 2, Init::Zero);
    check("missing", |b| b, &more, &["does not fit", "\"c.b\" is missing"]);
    let mut less = Layout::default();
    less.matrix("a.w", 3, 5, Init::Zero);
    check("unknown", |b| b, &less, &["does not fit", "\"a.b\""]);
}

#[test]
fn a_network_of_too_many_weights_is_refused() {
    let mut too_many = layout(5);
    too_many.matrix("c.w", 1 << 20, 1 << 20, Init::Zero);
    check("too-many", |b| b, &too_many, &["does not fit", "weights"]);
    let mut most = layout(5);
    for i in 0..64 {
        let _ = most.matrix(&format!("c{i}"), 1 << 40, 1 << 40, Init::Zero);
    }
    assert_eq!(most.len(), usize::MAX);
    check("most", |b| b, &most, &["does not fit", "weights"]);
}

#[test]
fn a_missing_file_is_named() {
    let error = checkpoint::load(&file("nowhere"), &layout(5)).unwrap_err().to_string();
    assert!(error.contains("cajole-nowhere") && error.contains("No such file"), "{error}");
}

#[test]
fn weights_that_are_not_finite_are_refused_by_name() {
    let layout = layout(5);
    for (name, value) in [("nan", f32::NAN), ("inf", f32::INFINITY)] {
        // The last number of the file: tensors are stored by name, and "a.w" is the last.
        let spoil = move |mut bytes: Vec<u8>| {
            let end = bytes.len() - 4;
            bytes[end..].copy_from_slice(&value.to_le_bytes());
            bytes
        };
        check(name, spoil, &layout, &[&format!("\"a.w\" has {value} at 14"), "must be finite"]);

        let file = file(&format!("save-{name}"));
        let mut w = layout.initial(4);
        w[1] = value;
        let error = checkpoint::save(&file, &layout, &w, Precision::F32).unwrap_err().to_string();
        assert!(error.contains(&format!("\"a.w\" has {value} at 1")), "{error}");
        let state = TrainState::new(w);
        assert!(checkpoint::save_training(&file, &layout, &state).is_err());
        assert!(!file.exists(), "nothing is written");
    }
}

#[test]
fn a_weight_too_large_for_half_precision_is_refused() {
    let (layout, file) = (layout(5), file("large"));
    let mut w = layout.initial(4);
    w[2] = 70_000.0; // the largest finite f16 is 65504
    let error = checkpoint::save(&file, &layout, &w, Precision::F16).unwrap_err().to_string();
    assert!(error.contains("\"a.w\" has 70000 at 2"), "{error}");
    checkpoint::save(&file, &layout, &w, Precision::F32).unwrap();
    fs::remove_file(file).unwrap();
}
