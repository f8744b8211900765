//! BART, Marian and T5.

use serde_json::{Value, json};

use super::super::ImportError;
use super::super::placing::{Placing, Source};
use super::encoders::like_bert;
use super::{Config, Family, Folder};
use crate::layers::activation::Nonlinearity;
use crate::layers::norm::NormKind;
use crate::layers::positions::{MOST_WAVES, Waves};
use crate::models::transformer::{
    EmbeddingConfig, EncoderDecoder, EncoderDecoderConfig, Positions, StackConfig,
};
use crate::network::Trainable;

/// The longest output where positions set no limit.
const MOST_WRITTEN: usize = 1 << 16;

/// A network, and the tensors of its tables of symbols.
struct Tables {
    config: EncoderDecoderConfig,
    reads: String,
    writes: String,
    /// What symbols are scored with, if not with what they are read with when written.
    scores: String,
}

impl Folder {
    /// An encoder-decoder and its weights.
    ///
    /// # Errors
    /// If the folder holds another network, or a tensor is missing, of another shape, or not finite.
    pub fn encoder_decoder(&self) -> Result<(EncoderDecoder, Vec<f32>), ImportError> {
        let c = &self.config;
        if self.family()? != Family::EncoderDecoder {
            return Err(c.problem("this is no encoder-decoder"));
        }
        match c.model_type()? {
            "bart" | "marian" => self.bart(c.model_type()? == "marian"),
            _ => self.t5(),
        }
    }

    /// BART, or Marian: sinusoids, and no norm of what is read.
    fn bart(&self, is_marian: bool) -> Result<(EncoderDecoder, Vec<f32>), ImportError> {
        let prefixes = ["model.", ""];
        let Tables { config, reads, writes, scores } =
            self.tables(bart(self, is_marian)?, &prefixes)?;
        let generation = self.reading().generation(config.writes.symbols)?;
        let mut net = EncoderDecoder::new(config);
        net.generation = generation;
        let mut to = Placing::new(&self.weights, net.layout(), &prefixes);
        to.table("reads.symbols", &[&reads])?;
        to.table("writes.symbols", &[&writes])?;
        to.table("output.symbols", &[&scores])?;
        if to.find(&["final_logits_bias"])?.is_some() {
            to.vector("output.b", "final_logits_bias", &[1, net.config.writes.symbols])?;
        }
        let stacks = [
            ("encoder", "reads", net.config.encoder.layers),
            ("decoder", "writes", net.config.decoder.layers),
        ];
        for (stack, embedding, layers) in stacks {
            to.table(
                &format!("{embedding}.positions"),
                &[&format!("{stack}.embed_positions.weight")],
            )?;
            to.norm(&format!("{embedding}.norm"), &format!("{stack}.layernorm_embedding"))?;
            for i in 0..layers {
                let from = |part: &str| format!("{stack}.layers.{i}.{part}");
                let own = |part: &str| format!("{stack}.{i}.{part}");
                let attention = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"];
                to.linear(&own("attention.qkv"), &attention.map(from))?;
                to.linear(&own("attention.out"), &[from("self_attn.out_proj")])?;
                to.norm(&own("attention.norm"), &from("self_attn_layer_norm"))?;
                to.linear(&own("cross.q"), &[from("encoder_attn.q_proj")])?;
                let memory = ["encoder_attn.k_proj", "encoder_attn.v_proj"];
                to.linear(&own("cross.kv"), &memory.map(from))?;
                to.linear(&own("cross.out"), &[from("encoder_attn.out_proj")])?;
                to.norm(&own("cross.norm"), &from("encoder_attn_layer_norm"))?;
                to.linear(&own("feed.up"), &[from("fc1")])?;
                to.linear(&own("feed.down"), &[from("fc2")])?;
                to.norm(&own("feed.norm"), &from("final_layer_norm"))?;
            }
        }
        let weights = to.read(&["output.b"], |layout| vec![0.0; layout.len()])?;
        Ok((net, weights))
    }

    /// T5: RMS norms first, no biases, distances instead of positions.
    fn t5(&self) -> Result<(EncoderDecoder, Vec<f32>), ImportError> {
        let Tables { config, reads, writes, scores } = self.tables(t5(self)?, &[""])?;
        let generation = self.reading().generation(config.writes.symbols)?;
        let mut net = EncoderDecoder::new(config);
        net.generation = generation;
        let mut to = Placing::new(&self.weights, net.layout(), &[""]);
        to.table("reads.symbols", &[&reads])?;
        to.table("writes.symbols", &[&writes])?;
        to.table("output.symbols", &[&scores])?;
        let stacks =
            [("encoder", net.config.encoder.layers), ("decoder", net.config.decoder.layers)];
        for (stack, layers) in stacks {
            let distances =
                format!("{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
            to.table(&format!("{stack}.distances"), &[&distances])?;
            to.norm(&format!("{stack}.norm"), &format!("{stack}.final_layer_norm"))?;
            let last = if stack == "encoder" { 1 } else { 2 };
            let up: &[&str] = if net.config.encoder.is_gated { &["wi_0", "wi_1"] } else { &["wi"] };
            for i in 0..layers {
                let from = |part: &str| format!("{stack}.block.{i}.layer.{part}");
                let own = |part: &str| format!("{stack}.{i}.{part}");
                let attention =
                    ["q", "k", "v"].map(|part| from(&format!("0.SelfAttention.{part}")));
                to.linear(&own("attention.qkv"), &attention)?;
                to.linear(&own("attention.out"), &[from("0.SelfAttention.o")])?;
                to.norm(&own("attention.norm"), &from("0.layer_norm"))?;
                to.linear(&own("cross.q"), &[from("1.EncDecAttention.q")])?;
                let memory = ["k", "v"].map(|part| from(&format!("1.EncDecAttention.{part}")));
                to.linear(&own("cross.kv"), &memory)?;
                to.linear(&own("cross.out"), &[from("1.EncDecAttention.o")])?;
                to.norm(&own("cross.norm"), &from("1.layer_norm"))?;
                let feed = |part: &str| from(&format!("{last}.DenseReluDense.{part}"));
                to.linear(&own("feed.up"), &up.iter().map(|part| feed(part)).collect::<Vec<_>>())?;
                to.linear(&own("feed.down"), &[feed("wo")])?;
                to.norm(&own("feed.norm"), &from(&format!("{last}.layer_norm")))?;
            }
        }
        let weights = to.read(&[], |layout| vec![0.0; layout.len()])?;
        Ok((net, weights))
    }
}

impl Folder {
    /// Which tensors are the tables of symbols. In transformers 5, whatever settings say, a table of
    /// its own that differs is used. In transformers 4 tables that are tied are those of `shared`.
    fn tables(
        &self,
        mut config: EncoderDecoderConfig,
        prefixes: &[&str],
    ) -> Result<Tables, ImportError> {
        let c = &self.config;
        let find = |names: &[&str]| -> Result<Option<String>, ImportError> {
            let all =
                names.iter().flat_map(|name| prefixes.iter().map(move |p| format!("{p}{name}")));
            Ok(self.weights.find(&all.collect::<Vec<_>>())?.map(str::to_owned))
        };
        let is_tied = c.flag_or("tie_word_embeddings", true)?;
        let is_old = c.major_version().is_some_and(|version| version < 5);
        let is_one = is_old && config.shares_symbols && (is_tied || c.model_type()? != "bart");
        let [shared, read, written] =
            ["shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"];
        let (first, second) = if is_one { (shared, shared) } else { (read, written) };
        let none = || format!("{}{shared}", prefixes[0]);
        let reads = find(&[first, shared, read, written])?.unwrap_or_else(none);
        let writes = find(&[second, shared, written, read])?.unwrap_or_else(none);
        let head = find(&["lm_head.weight"])?.filter(|_| !(is_one && is_tied));
        let has_head = head.is_some();
        let scores = match (head, config.shares_symbols) {
            (Some(head), _) => head,
            (None, true) => find(&[shared])?.unwrap_or_else(|| writes.clone()),
            (None, false) => writes.clone(),
        };
        let are_equal = |a: &String, b: &String| match a == b {
            true => Ok(true),
            false => self.weights.are_equal(a, b),
        };
        config.shares_symbols &= are_equal(&reads, &writes)?;
        // A head of its own that is not tied is a parameter of its own, even while it is equal.
        let may_tie = !has_head || (is_tied && !matches!(c.model_type()?, "t5" | "mt5"));
        config.ties_output = may_tie && are_equal(&scores, &writes)?;
        // Placing puts prefixes before names.
        let bare = |name: String| match prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))
        {
            Some(bare) => bare.to_owned(),
            None => name,
        };
        let [reads, writes, scores] = [reads, writes, scores].map(bare);
        Ok(Tables { config, reads, writes, scores })
    }
}

fn bart(folder: &Folder, is_marian: bool) -> Result<EncoderDecoderConfig, ImportError> {
    let c = &folder.config;
    let symbols = c.size("vocab_size")?;
    let shares_symbols = c.flag_or("share_encoder_decoder_embeddings", true)?;
    let written = if shares_symbols { symbols } else { c.size("decoder_vocab_size")? };
    let positions = c.positions("max_position_embeddings")?;
    let width = c.size("d_model")?;
    if MOST_WAVES < positions * width {
        return Err(c.problem(format!(
            "\"max_position_embeddings\" is {positions} and \"d_model\" is {width}; together they may \
             be {MOST_WAVES}"
        )));
    }
    let scale = match c.flag_or("scale_embedding", false)? {
        true => (width as f32).sqrt(),
        false => 1.0,
    };
    let embedding = |symbols| EmbeddingConfig {
        symbols,
        positions: match is_marian {
            true => Positions::Sinusoidal { rows: positions, waves: Waves::Halves },
            false => Positions::Learned { rows: positions + 2, offset: 2, padding: None },
        },
        types: 0,
        has_norm: !is_marian,
        scale,
    };
    let stack = |name: &str| -> Result<StackConfig, ImportError> {
        let (width, heads) = c.heads("d_model", &format!("{name}_attention_heads"))?;
        Ok(StackConfig {
            layers: c.layers(&format!("{name}_layers"))?,
            inner: c.size(&format!("{name}_ffn_dim"))?,
            activation: c.activation("activation_function", "gelu")?,
            dropout: 0.1,
            ..like_bert(width, heads)
        })
    };
    let reading = folder.reading();
    Ok(EncoderDecoderConfig {
        reads: embedding(symbols),
        encoder: stack("encoder")?,
        writes: embedding(written),
        decoder: stack("decoder")?,
        shares_symbols,
        ties_output: true,
        has_output_bias: true,
        output_scale: 1.0,
        start: reading.start(written)?,
        end: reading.ends(written)?[0],
        cap: reading.cap(positions)?,
        cap_factor: 0,
        reads_end: false,
        vectors: None,
    })
}

fn t5(folder: &Folder) -> Result<EncoderDecoderConfig, ImportError> {
    let c = &folder.config;
    let (symbols, width, heads) = (c.size("vocab_size")?, c.size("d_model")?, c.size("num_heads")?);
    let buckets = c.size_or("relative_attention_num_buckets", 32)?;
    let furthest = c.size_or("relative_attention_max_distance", 128)?;
    if buckets < 4 || furthest <= buckets / 2 || 1 << 16 < furthest {
        return Err(c.problem(format!(
            "\"relative_attention_num_buckets\" is {buckets} and \
             \"relative_attention_max_distance\" is {furthest}; supported are 4 buckets or more, and \
             distances of more than half as many up to 65536"
        )));
    }
    let (is_gated, activation) = feed_forward(c)?;
    let stack = StackConfig {
        layers: c.layers("num_layers")?,
        head_size: c.size("d_kv")?,
        scale: 1.0,
        inner: c.size("d_ff")?,
        activation,
        is_gated,
        norm: NormKind::Rms,
        epsilon: c.number_or("layer_norm_epsilon", 1e-6)?,
        is_norm_first: true,
        has_last_norm: true,
        has_biases: false,
        dropout: 0.1,
        ..like_bert(width, heads)
    };
    let decoder_layers = match c.get("num_decoder_layers") {
        Some(_) => c.layers("num_decoder_layers")?,
        None => stack.layers,
    };
    let embedding = EmbeddingConfig {
        symbols,
        positions: Positions::Relative { buckets, furthest },
        types: 0,
        has_norm: false,
        scale: 1.0,
    };
    let reading = folder.reading();
    Ok(EncoderDecoderConfig {
        reads: embedding,
        decoder: StackConfig { layers: decoder_layers, ..stack.clone() },
        encoder: stack,
        writes: embedding,
        shares_symbols: true,
        ties_output: true,
        has_output_bias: false,
        output_scale: if is_scaled(c)? { 1.0 / (width as f32).sqrt() } else { 1.0 },
        start: reading.start(symbols)?,
        end: reading.ends(symbols)?[0],
        cap: reading.cap(MOST_WRITTEN)?,
        cap_factor: 0,
        reads_end: false,
        vectors: None,
    })
}

/// Whether feed-forward layers of T5 have a gate, and their activation. The names that
/// `feed_forward_proj` stands for are saved beside it, and win.
fn feed_forward(c: &Config) -> Result<(bool, Nonlinearity), ImportError> {
    let usual = if c.model_type()? == "mt5" { "gated-gelu" } else { "relu" };
    let feed = c.name_or("feed_forward_proj", usual)?;
    let (is_gated, name) = match feed.strip_prefix("gated-") {
        // It has always meant the approximation.
        Some("gelu") => (true, "gelu_new"),
        Some(name) => (true, name),
        None => (false, feed),
    };
    let activation = match c.get("dense_act_fn") {
        Some(_) => c.activation("dense_act_fn", name)?,
        None => c.nonlinearity("feed_forward_proj", name)?,
    };
    Ok((c.flag_or("is_gated_act", is_gated)?, activation))
}

/// Whether what comes out of a T5 decoder is scaled before symbols are scored.
fn is_scaled(c: &Config) -> Result<bool, ImportError> {
    let is_tied = c.get("tie_word_embeddings").and_then(Value::as_bool);
    if c.model_type()? == "mt5" {
        // transformers 5 says of every mT5 that it is tied, and never scales; 4 scales what is tied.
        return Ok(is_tied == Some(true) && c.major_version().is_some_and(|version| version < 5));
    }
    // Older settings say it by whether words are tied.
    Ok(match c.get("scale_decoder_outputs") {
        Some(value) => value == &json!(true),
        None => is_tied != Some(false),
    })
}
