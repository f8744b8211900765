//! The options of the page's form, and its engines.

use cajole_infer::engine::Engine;
use cajole_infer::options::{Field, Kind, Place};
use serde_json::json;

use super::numbers;

const BEGIN: &str = "\
/**
 * Options of a run, over HTTP. Made from the table in crates/cajole-infer/src/options.rs: change that, then run
 * `cargo test -p cajole-cli --test all -- --ignored made_from_the_table`.
 */

";

/// The longest line that prettier leaves as it is.
const WIDTH: usize = 110;

/// The module.
pub(super) fn module() -> String {
    let mut module = BEGIN.to_owned();
    module += "export interface RunOptions {\n";
    for field in Field::all_of(Place::Http) {
        let kind = match field.kind {
            Kind::Number { .. } => "number",
            Kind::Switch | Kind::SwitchedOff(_) => "boolean",
            Kind::Engine | Kind::Preset | Kind::Assignments => "string",
        };
        module += &format!("  {}?: {kind};\n", field.name);
    }
    module += "}\n\n/** Options that are numbers, with their ranges and a sentence each. */\n";
    module += "export const NUMBERS = [\n";
    for field in Field::all_of(Place::Http) {
        let Some((least, most)) = numbers(field) else { continue };
        module += &format!("  {{\n    name: {},\n", json!(field.name));
        module += &format!("    least: {least},\n    most: {most},\n");
        module += &property("    ", "default", &field.default_text());
        module += &property("    ", "about", &field.about());
        module += "  },\n";
    }
    module += "] as const;\n\nexport type NumberName = (typeof NUMBERS)[number][\"name\"];\n\n";
    module += "/** What engines do. */\nexport const ENGINES: { [name: string]: string } = {\n";
    for engine in Engine::all() {
        let name = engine.name();
        let key = if name.contains('-') { json!(name).to_string() } else { name.to_owned() };
        module += &property("  ", &key, engine.about());
    }
    module + "};\n"
}

fn property(indent: &str, key: &str, value: &str) -> String {
    let line = format!("{indent}{key}: {},\n", json!(value));
    if line.trim_end().chars().count() <= WIDTH {
        return line;
    }
    format!("{indent}{key}:\n{indent}  {},\n", json!(value))
}
