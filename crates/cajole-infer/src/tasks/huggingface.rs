//! Hugging Face folders: which task they are for.

use std::path::Path;

use cajole_files::limits::MOST_VOCABULARY_BYTES;
use cajole_files::text_of;
use cajole_nn::import::ImportError;
use cajole_nn::import::huggingface::{Family, family_of, foreign};
use cajole_tasks::checkpoint::LoadError;
use serde_json::Value;

use super::{labels, writer};

/// The task of a folder that `save_pretrained` wrote; `None` if it is another kind of folder.
///
/// # Errors
/// If its architecture is not supported, or it holds something else that libraries around
/// transformers write.
pub(crate) fn task_of(folder: &Path) -> Option<Result<String, LoadError>> {
    if let Some(problem) = foreign(folder) {
        let path = folder.to_owned();
        return Some(Err(ImportError::Options { path, problem }.into()));
    }
    let config = text_of(&folder.join("config.json"), MOST_VOCABULARY_BYTES).ok()?;
    let config: Value = serde_json::from_str(&config).ok()?;
    let has = |key: &str| config.get(key).is_some();
    if has("task") || !(has("model_type") || has("architectures")) {
        return None;
    }
    let task = family_of(folder).map(|family| match family {
        Family::Encoder => labels::NAME.to_owned(),
        Family::EncoderDecoder => writer::NAME.to_owned(),
    });
    Some(task.map_err(LoadError::from))
}
