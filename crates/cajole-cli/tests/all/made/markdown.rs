//! `docs/settings.md`.

use cajole_infer::engine::Engine;
use cajole_infer::options::{FIELDS, Field, Kind, Place};
use cajole_tasks::Preset;

use super::wrapped;

const BEGIN: &str = "\
# Settings

Options of a run, wherever it is asked for: flags of commands, fields of a request to `cajole serve` (or parameters
of its query), arguments in Python. Numbers out of range are refused with the range. This page is made from the
table in `crates/cajole-infer/src/options.rs`.

";

const MIDDLE: &str = "
`set` and `settings` change single [settings of gradient-based inference](library.md): on the command line, each as
`KEY=VALUE`; in Python, as a dict. In Python, `times` is false unless given.
";

/// The page.
pub(super) fn page() -> String {
    let mut page = BEGIN.to_owned();
    page += "| option | flag | also | values | default | |\n|---|---|---|---|---|---|\n";
    for field in FIELDS {
        let (name, flag) = (field.name, flag(field));
        let (also, values, default) = (also(field), values(field), field.default_text());
        let about = field.about();
        page += &format!("| `{name}` | {flag} | {also} | {values} | {default} | {about} |\n");
    }
    page += MIDDLE;
    for field in FIELDS.iter().filter(|field| !field.details().is_empty()) {
        let text = format!("**`{}`.** {}", field.name, field.details());
        page += &format!("\n{}\n", wrapped(&text, 118).join("\n"));
    }
    page += "\n## Engines\n\nNumbers of an engine follow its name: `masked:width=9`, `beam:from=4,to=128`.\n\n";
    page += "| engine | |\n|---|---|\n";
    for engine in Engine::all() {
        page += &format!("| `{engine}` | {} |\n", engine.about());
    }
    page += "\n## Presets\n\n| preset | |\n|---|---|\n";
    for preset in Preset::ALL {
        page += &format!("| `{}` | {} |\n", preset.name(), preset.about());
    }
    page
}

fn flag(field: &Field) -> String {
    let flag = field.flag;
    if field.is_of(Place::Infer) {
        return format!("`--{flag}` of `infer`");
    }
    format!("`--{flag}`")
}

fn also(field: &Field) -> &'static str {
    match (field.is_of(Place::Http), field.is_of(Place::Python)) {
        (true, true) => "HTTP, Python",
        (true, false) => "HTTP",
        (false, true) => "Python",
        (false, false) => "",
    }
}

fn values(field: &Field) -> String {
    match field.kind {
        Kind::Number { least, most } => format!("{least} to {most}"),
        Kind::Switch | Kind::SwitchedOff(_) => "true, false".to_owned(),
        Kind::Engine => "an [engine](#engines)".to_owned(),
        Kind::Preset => "a [preset](#presets)".to_owned(),
        Kind::Assignments => "settings".to_owned(),
    }
}
