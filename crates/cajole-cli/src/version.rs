//! `cajole --version --verbose`: how this binary was built, and the licences of what is in it.

use std::ffi::OsString;

use cajole_tasks::{LICENCES, Licensed};
use serde_json::json;

use crate::screen;

/// The optional parts that a default build from source leaves out, and whether this one has them.
const FEATURES: [(&str, bool); 3] = [
    ("import", cfg!(feature = "import")),
    ("json-schema", cfg!(feature = "json-schema")),
    ("sql", cfg!(feature = "sql")),
];

/// Whether these arguments ask for it. clap answers `--version` before it reads what follows.
pub(crate) fn is_asked_for(args: impl IntoIterator<Item = OsString>) -> bool {
    let args: Vec<OsString> = args.into_iter().collect();
    let has = |names: [&str; 2]| args.iter().any(|arg| names.iter().any(|name| arg == name));
    let known = ["--version", "-V", "--verbose", "-v", "--json"];
    has(["--version", "-V"])
        && has(["--verbose", "-v"])
        && args.iter().all(|arg| known.iter().any(|name| arg == name))
}

/// Prints it.
pub(crate) fn print(json: bool) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let features: Vec<&str> =
        FEATURES.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    if json {
        let licences: Vec<_> = LICENCES
            .iter()
            .map(|l| json!({"name": l.name, "licence": l.licence, "made_from": l.made_from}))
            .collect();
        let all = json!({"version": version, "features": features, "licences": licences});
        return screen::print(&serde_json::to_string_pretty(&all)?);
    }
    let without: Vec<&str> =
        FEATURES.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
    let mut text = format!("cajole {version}\n\n");
    text += &format!("with      {}\n", listed(&features));
    text += &format!("without   {}\n\nlicences\n", listed(&without));
    for Licensed { name, licence, made_from, .. } in LICENCES {
        text += &format!("  {name:<13}{licence}\n");
        if !made_from.is_empty() {
            text += &format!("  {:<13}  made from: {made_from}\n", "");
        }
    }
    text += "\nThe texts are in the files LICENSE-* beside the sources, and in the wheel.";
    screen::print(&text)
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "nothing optional".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_both_flags_ask_for_it() {
        let asked = |text: &str| is_asked_for(text.split_whitespace().map(OsString::from));
        assert!(asked("--version --verbose") && asked("-v -V") && asked("--json -V -v"));
        for other in ["", "--version", "--verbose", "-V --json", "infer --version --verbose"] {
            assert!(!asked(other), "{other}");
        }
    }
}
