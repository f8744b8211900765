//! The first pass of the tagger of `bench/transformer.py` in candle: `cajole-bench-candle FOLDER`. The
//! folder has `cases.json` and `tagger/`.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use candle_core::{D, DType, Device, Tensor};
use candle_nn::{Linear, Module, VarBuilder, linear};
use candle_transformers::models::bert::{BertModel, Config};
use serde_json::{Value, json};

/// Inputs that are timed.
const TIMED: usize = 4;
/// How often each is.
const REPEATS: usize = 5;

struct Tagger {
    encoder: BertModel,
    top: Linear,
}

impl Tagger {
    fn open(folder: &Path) -> Result<Self> {
        let text = fs::read_to_string(folder.join("config.json"))?;
        let config: Config = serde_json::from_str(&text)?;
        let n_labels = serde_json::from_str::<Value>(&text)?["id2label"].as_object().map_or(0, |l| l.len());
        let bytes = fs::read(folder.join("model.safetensors"))?;
        let weights = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu)?;
        let top = linear(config.hidden_size, n_labels, weights.pp("classifier"))?;
        Ok(Tagger { encoder: BertModel::load(weights.pp("bert"), &config)?, top })
    }

    fn first_pass(&self, x: &[u32]) -> Result<Vec<u32>> {
        let ids = Tensor::new(x, &Device::Cpu)?.unsqueeze(0)?; // (1, T)
        let hidden = self.encoder.forward(&ids, &ids.zeros_like()?, None)?; // (1, T, D)
        let scores = candle_nn::ops::log_softmax(&self.top.forward(&hidden)?, D::Minus1)?; // (1, T, V)
        Ok(scores.squeeze(0)?.argmax(D::Minus1)?.to_vec1()?)
    }
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).context("usage: cajole-bench-candle FOLDER")?;
    let folder = Path::new(&folder);
    let cases: Value = serde_json::from_str(&fs::read_to_string(folder.join("cases.json"))?)?;
    let inputs: Vec<Vec<u32>> = serde_json::from_value(cases["tagger"].clone())?;
    let tagger = Tagger::open(&folder.join("tagger"))?;
    let outputs: Vec<Vec<u32>> = inputs.iter().take(8).map(|x| tagger.first_pass(x)).collect::<Result<_>>()?;
    let start = Instant::now();
    for x in inputs.iter().take(TIMED).cycle().take(TIMED * REPEATS) {
        tagger.first_pass(x)?;
    }
    let ms = 1e3 * start.elapsed().as_secs_f64() / (TIMED * REPEATS) as f64;
    println!("{}", json!({ "outputs": outputs, "ms": ms }));
    Ok(())
}
