//! How outputs are generated: `generation_config.json`, or `config.json` in folders without one.
//!
//! What `generate` would do with these settings is done, or it is a [remark](Reading::remarks): no
//! setting is left out without a word.

use cajole_core::decoders::{Ranking, Sampled, Stopping};
use cajole_core::model::Symbol;
use serde_json::Value;

use super::super::ImportError;
use super::Config;
use crate::models::transformer::{Generation, Repetition};

/// The most beams of a folder.
const MOST_BEAMS: usize = 1024;

/// The most symbols of an output of `generate` unless a folder says otherwise.
const USUAL_LENGTH: usize = 20;

/// Settings that `generate` obeys and cajole does not, each with the value at which it does nothing, and
/// what happens instead.
const IGNORED: [(&str, Neutral, &str); 18] = [
    ("encoder_no_repeat_ngram_size", Neutral::Number(0.0), "outputs may repeat runs of the input"),
    (
        "encoder_repetition_penalty",
        Neutral::Number(1.0),
        "symbols of the input cost what others do",
    ),
    ("exponential_decay_length_penalty", Neutral::None, "the end costs the same at every length"),
    ("sequence_bias", Neutral::None, "symbols are scored without it"),
    ("guidance_scale", Neutral::Number(1.0), "symbols are scored without guidance"),
    ("diversity_penalty", Neutral::Number(0.0), "beams are ranked without it"),
    ("num_beam_groups", Neutral::Number(1.0), "all beams are one group"),
    ("penalty_alpha", Neutral::Number(0.0), "the search is not contrastive"),
    ("force_words_ids", Neutral::None, "words are not forced: put them in a rule"),
    ("constraints", Neutral::None, "put them in a rule"),
    ("stop_strings", Neutral::None, "outputs go on after such a text"),
    ("max_time", Neutral::None, "the time limit is --deadline-ms"),
    ("num_return_sequences", Neutral::Number(1.0), "there is one output for each input"),
    ("renormalize_logits", Neutral::No, "log-probabilities of allowed symbols do not sum to one"),
    ("watermarking_config", Neutral::None, "outputs have no watermark"),
    ("dola_layers", Neutral::None, "only the last layer scores symbols"),
    ("token_healing", Neutral::No, "inputs are read as they are"),
    ("min_p", Neutral::None, "samples are drawn without it"),
];

/// Likewise, if outputs would be sampled.
const IGNORED_IN_SAMPLES: [(&str, Neutral, &str); 3] = [
    ("typical_p", Neutral::Number(1.0), "samples are drawn without it"),
    ("epsilon_cutoff", Neutral::Number(0.0), "samples are drawn without it"),
    ("eta_cutoff", Neutral::Number(0.0), "samples are drawn without it"),
];

/// The value at which a setting does nothing.
#[derive(Clone, Copy)]
enum Neutral {
    /// This one, or none.
    Number(f64),
    /// False, or none.
    No,
    /// None.
    None,
}

impl Neutral {
    fn is(self, value: &Value) -> bool {
        match self {
            Neutral::Number(number) => value.as_f64() == Some(number),
            Neutral::No => value == &Value::Bool(false),
            Neutral::None => false,
        }
    }
}

/// The beam search that `generate` runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beams {
    /// The number of beams; 1 is greedy.
    pub width: usize,
    /// How hypotheses are ranked, and when the search stops.
    pub ranking: Ranking,
    /// How outputs are sampled, if they are.
    pub sampled: Sampled,
}

/// The settings of generation of a folder, for a network with `n` symbols.
pub(super) struct Reading<'a> {
    /// Remarks about the network.
    config: &'a Config,
    /// Settings of generation, if they are in a file of their own.
    own: Option<&'a Config>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(config: &'a Config, own: Option<&'a Config>) -> Self {
        Reading { config, own }
    }

    /// The file of settings. Where generation has one of its own, `generate` looks nowhere else.
    fn file(&self) -> &'a Config {
        self.own.unwrap_or(self.config)
    }

    /// The file that names a special symbol. A network without them cannot write, so these are looked
    /// for in both.
    fn naming(&self, key: &str) -> &'a Config {
        self.own.filter(|own| own.get(key).is_some()).unwrap_or(self.config)
    }

    /// The symbol that the decoder reads first.
    pub(super) fn start(&self, n: usize) -> Result<Symbol, ImportError> {
        let key = "decoder_start_token_id";
        let file = self.naming(key);
        if file.get(key).is_none() && self.naming("bos_token_id").get("bos_token_id").is_some() {
            return self.naming("bos_token_id").symbol("bos_token_id", n);
        }
        file.symbol(key, n)
    }

    /// The symbols that end an output, of which there is at least one.
    pub(super) fn ends(&self, n: usize) -> Result<Vec<Symbol>, ImportError> {
        let key = "eos_token_id";
        let file = self.naming(key);
        let ends = file.symbol_or_list(key, n)?;
        match ends.is_empty() {
            true => Err(file.problem(format!("there is no {key:?}, so no output could end"))),
            false => Ok(ends),
        }
    }

    /// The most symbols of an output with its end, if `most` is all that there is room for.
    pub(super) fn cap(&self, most: usize) -> Result<usize, ImportError> {
        let file = self.file();
        let said = match (file.count_if("max_new_tokens")?, file.count_if("max_length")?) {
            (Some(new), _) => new,
            // The symbol that is read first counts.
            (None, Some(all)) => all.saturating_sub(1),
            (None, None) => USUAL_LENGTH.min(most.saturating_sub(1)),
        };
        Ok(said.clamp(1, most.max(1)))
    }

    /// The beam search that `generate` runs.
    pub(super) fn beams(&self) -> Result<Beams, ImportError> {
        let file = self.file();
        let width = file.whole("num_beams", 1, MOST_BEAMS)?.unwrap_or(1);
        let penalty = file.number_or("length_penalty", 1.0)?;
        let stopping = match file.get("early_stopping") {
            None | Some(Value::Bool(false)) => Stopping::Likely,
            Some(Value::Bool(true)) => Stopping::Early,
            Some(Value::String(never)) if never == "never" => Stopping::Never,
            Some(other) => {
                return Err(file.problem(format!(
                    "\"early_stopping\" is {other}; it must be true, false or \"never\""
                )));
            }
        };
        let ranking = match width {
            1 => Ranking::Total,
            _ => Ranking::Generate { penalty, stopping },
        };
        Ok(Beams { width, ranking, sampled: self.sampled()? })
    }

    /// How outputs are sampled. `generate` looks at these settings only if told to sample.
    fn sampled(&self) -> Result<Sampled, ImportError> {
        let file = self.file();
        let mut sampled = Sampled::default();
        if file.flag_or("do_sample", false)? {
            sampled.temperature = file.number_or("temperature", 1.0)?;
            sampled.top_k = file.size_or("top_k", 50)?;
            sampled.top_p = file.number_or("top_p", 1.0)?;
            let Sampled { temperature, top_p, .. } = sampled;
            if temperature <= 0.0 || top_p <= 0.0 || 1.0 < top_p {
                return Err(file.problem(format!(
                    "\"temperature\" is {temperature} and \"top_p\" is {top_p}; the former must be \
                     positive, the latter too and at most 1"
                )));
            }
        }
        Ok(sampled)
    }

    /// The symbols that may be written, and that have to be, by a network with `n` symbols.
    pub(super) fn generation(&self, n: usize) -> Result<Generation, ImportError> {
        let file = self.file();
        let mut ends = self.ends(n)?;
        let mut never = file.symbols("bad_words_ids", n)?;
        // `generate` leaves them out.
        never.retain(|symbol| !ends.contains(symbol));
        never.extend(file.symbols("suppress_tokens", n)?);
        let least = match file.get("min_new_tokens") {
            Some(_) => file.size_or("min_new_tokens", 0)?,
            None => file.size_or("min_length", 0)?.saturating_sub(1),
        };
        let penalty = file.number_or("repetition_penalty", 1.0)?;
        if penalty <= 0.0 {
            return Err(
                file.problem(format!("\"repetition_penalty\" is {penalty}; it must be positive"))
            );
        }
        let on_scores = self.beams()?.width == 1;
        Ok(Generation {
            first: file.symbol_if("forced_bos_token_id", n)?,
            last: file.symbol_or_list("forced_eos_token_id", n)?.first().copied(),
            never,
            not_first: file.symbols("begin_suppress_tokens", n)?,
            ends: ends.split_off(1),
            least,
            no_repeat: file.size_or("no_repeat_ngram_size", 0)?,
            repetition: (penalty != 1.0).then_some(Repetition { penalty, on_scores }),
        })
    }

    /// Differences from `generate`, one sentence each.
    pub(super) fn remarks(&self) -> Vec<String> {
        let file = self.file();
        let mut remarks = Vec::new();
        let is_sampled = file.get("do_sample") == Some(&Value::Bool(true));
        let in_samples = IGNORED_IN_SAMPLES.iter().filter(|_| is_sampled);
        for (key, neutral, effect) in IGNORED.iter().chain(in_samples) {
            if let Some(value) = file.get(key).filter(|value| !neutral.is(value)) {
                remarks.push(
                    file.remark(&format!("{key:?} is {value}, which is not obeyed: {effect}")),
                );
            }
        }
        if is_sampled {
            remarks.push(file.remark(
                "\"do_sample\" is true, and outputs are not sampled: the most probable is searched for; \
                 the engine \"sample\" draws with these settings",
            ));
        }
        if ["max_new_tokens", "max_length"].iter().all(|key| file.get(key).is_none()) {
            remarks.push(file.remark(&format!(
                "there is no \"max_length\", so outputs have at most {} symbols, as those of generate: \
                 set \"max_new_tokens\" for longer ones",
                USUAL_LENGTH
            )));
        }
        if let Some(own) = self.own.filter(|own| own.get("eos_token_id").is_none()) {
            remarks.push(own.remark(
                "there is no \"eos_token_id\", so that of config.json is used; generate would write on \
                 to the longest length",
            ));
        }
        remarks
    }
}
