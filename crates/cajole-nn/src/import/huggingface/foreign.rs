//! Folders that hold something other than a network: what they are, and what to do.

use std::fs;
use std::path::Path;

use super::json_of;
use serde_json::Value;

const ADAPTER: &str = "adapter_config.json";

/// The files of a folder that are not read, and what to do about them; `None` if there is nothing of the
/// kind.
pub fn foreign(folder: &Path) -> Option<String> {
    let has_config = folder.join("config.json").exists();
    if folder.join(ADAPTER).exists() {
        return Some(adapter(folder, has_config));
    }
    if has_config {
        return None;
    }
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let with = |end: &str| names.iter().find(|name| name.ends_with(end));
    if let Some(name) = with(".onnx") {
        return Some(format!(
            "{name} is a network in ONNX, which is not read: save the network that it was made from \
             with save_pretrained"
        ));
    }
    if let Some(name) = with(".gguf") {
        return Some(format!(
            "{name} is a network in GGUF, which is not read: load it with \
             transformers' from_pretrained(..., gguf_file={name:?}) and save it with save_pretrained"
        ));
    }
    let name = with(".safetensors")?;
    Some(format!(
        "there is {name}, but no config.json, so it is not known what the tensors are of: save the \
         network with save_pretrained, or copy config.json beside it"
    ))
}

/// An adapter, alone or beside the network that it belongs to.
fn adapter(folder: &Path, has_config: bool) -> String {
    let config: Option<Value> = json_of(&folder.join(ADAPTER)).ok();
    let named = |key: &str| config.as_ref()?.get(key)?.as_str().map(str::to_owned);
    let kind = named("peft_type").unwrap_or_else(|| "unknown".to_owned());
    let base = named("base_model_name_or_path").unwrap_or_else(|| "its base".to_owned());
    let beside = match has_config {
        true => "beside a network, and it is not applied",
        false => "without the network that it belongs to",
    };
    format!(
        "{ADAPTER} is of an adapter ({kind}) {beside}: merge it with peft, \
         PeftModel.from_pretrained(BASE, FOLDER).merge_and_unload(), where BASE is {base:?}, and save the \
         result with save_pretrained in a folder of its own"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_network_says_what_it_is() {
        let cases = [
            (vec!["config.json", "model.safetensors"], None),
            (vec!["model.onnx"], Some("ONNX")),
            (vec!["b.gguf"], Some("GGUF")),
            (vec!["model.safetensors"], Some("no config.json")),
            (vec![ADAPTER], Some("(LORA) without the network")),
            (vec![ADAPTER, "config.json"], Some("(LORA) beside a network")),
            (vec!["notes.txt"], None),
        ];
        for (files, expected) in cases {
            let dir = tempfile::tempdir().unwrap();
            let json = r#"{"peft_type": "LORA", "base_model_name_or_path": "t5-small"}"#;
            files.iter().for_each(|name| fs::write(dir.path().join(name), json).unwrap());
            let said = foreign(dir.path());
            let is_said = |text: &str| said.as_ref().is_some_and(|said| said.contains(text));
            assert!(expected.map_or(said.is_none(), is_said), "{files:?}: {said:?}");
        }
    }
}
