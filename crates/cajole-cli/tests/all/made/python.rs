//! The options as arguments in Python.

use cajole_infer::engine::Engine;
use cajole_infer::options::{Field, Kind, Place};
use cajole_tasks::Preset;
use serde_json::json;

use super::wrapped;

const BEGIN: &str = r#""""The options of a run.

Made from the table in crates/cajole-infer/src/options.rs: change that, then run
`cargo test -p cajole-cli --test all -- --ignored made_from_the_table`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from cajole._model import Input, RuleLike
    from cajole._native import Report, Results

"#;

const INFER: &str = "
        Results come lazily and in order, one for each input. Threads work ahead by a few hundred
        inputs. Results do not depend on the number of threads.

        inputs: any iterable, or the path of a file whose lines `cajole infer` would read.
        rules: what outputs must satisfy; by default, the task's own rules.
";

const COMPARE: &str = "
        A notebook shows the report as a page.

        inputs, rules: as in `infer`.
        engines: by default, all that make a difference.
        shown: how many failures are shown one by one.
";

/// The module.
pub(super) fn module() -> String {
    let mut module = BEGIN.to_owned();
    let engines: Vec<String> =
        Engine::all().iter().map(|engine| json!(engine.name()).to_string()).collect();
    module += "Engine = Union[\n    Literal[\n";
    for engine in engines {
        module += &format!("        {engine},\n");
    }
    module += "    ],\n    str,\n]\n";
    module += "\"\"\"How outputs are made to obey. Numbers may follow a name: \"masked:width=9\".\"\"\"\n\n";
    let presets = Preset::ALL.map(|preset| json!(preset.name()).to_string()).join(", ");
    module += &format!("Preset = Literal[{presets}]\n\n");
    module += &flags();
    module += &served();
    module += "\n\nclass Runs:\n    \"\"\"Runs a network, with options as arguments.\"\"\"\n";
    module += &infer();
    module += &compare();
    module += "
    def _infer(self, inputs: Any, rules: Any, options: dict[str, Any]) -> Results:
        raise NotImplementedError

    def _compare(self, inputs: Any, rules: Any, shown: tuple[Any, int], options: dict[str, Any]) -> Report:
        raise NotImplementedError
";
    module
}

/// The flags of `cajole infer`, for commands in Python.
fn flags() -> String {
    let mut flags = "FLAGS = {\n".to_owned();
    for field in Field::all_of(Place::Python) {
        let kind = match field.kind {
            Kind::Number { .. } => "number",
            Kind::Engine | Kind::Preset => "text",
            Kind::Assignments => "assignments",
            Kind::Switch => "on",
            Kind::SwitchedOff(_) => "off",
        };
        let about = match field.kind {
            Kind::SwitchedOff(sentence) => sentence.to_owned(),
            Kind::Switch | Kind::Assignments => field.about(),
            _ => format!("{} [default: {}]", field.about(), field.default_text()),
        };
        let (name, flag) = (json!(field.name), json!(format!("--{}", field.flag)));
        flags += &format!("    {name}: ({flag}, {}, {}),\n", json!(kind), json!(about));
    }
    flags + "}\n\"\"\"The flag of every option, the kind of its value, and what it does.\"\"\"\n"
}

fn served() -> String {
    let mut served = "\n\nclass Served(TypedDict, total=False):\n".to_owned();
    served += "    \"\"\"Options of a request, besides `engine` and `times`. The server decides what is None or left \
               out.\"\"\"\n\n";
    for field in Field::all_of(Place::Http).filter(|field| field.is_of(Place::Commands)) {
        served += &format!("    {}: Optional[{}]\n", field.name, kind(field));
        served += &format!("    \"\"\"{}.\"\"\"\n", field.about());
    }
    served
}

fn infer() -> String {
    let fields: Vec<&Field> = Field::all_of(Place::Python).collect();
    let mut method = begin("infer", &[], &fields, "Results");
    method += "        \"\"\"Runs inputs through the network so that outputs obey the rules.\n";
    method += INFER;
    method += &about(&fields);
    method += "        \"\"\"\n        return self._infer(inputs, rules, ";
    method + &arguments(&fields)
}

fn compare() -> String {
    let fields: Vec<&Field> =
        Field::all_of(Place::Python).filter(|field| field.is_of(Place::Commands)).collect();
    let own = ["engines: Sequence[Engine] | None = None", "shown: int = 20"];
    let mut method = begin("compare", &own, &fields, "Report");
    method += "        \"\"\"Runs every engine, or those named, on the inputs whose own output violates the rules.\n";
    method += COMPARE;
    method += &about(&fields);
    method += "        \"\"\"\n        return self._compare(inputs, rules, (engines, shown), ";
    method + &arguments(&fields)
}

/// The head of a method.
fn begin(name: &str, own: &[&str], fields: &[&Field], result: &str) -> String {
    let mut head = format!("\n    def {name}(\n        self,\n");
    head += "        inputs: Iterable[Input] | os.PathLike[str],\n        *,\n";
    head += "        rules: RuleLike | None = None,\n";
    for argument in own {
        head += &format!("        {argument},\n");
    }
    for field in fields {
        head += &match field.kind {
            Kind::Engine => {
                format!("        {}: Engine = {},\n", field.name, json!(Engine::usual()))
            }
            Kind::Switch | Kind::SwitchedOff(_) => {
                format!("        {}: bool = False,\n", field.name)
            }
            _ => format!("        {}: {} | None = None,\n", field.name, kind(field)),
        };
    }
    head + &format!("    ) -> {result}:\n")
}

fn about(fields: &[&Field]) -> String {
    let mut about = String::new();
    for field in fields {
        let default = match field.kind {
            Kind::Switch | Kind::SwitchedOff(_) => "False".to_owned(),
            _ => field.default_text(),
        };
        let text = match field.kind {
            Kind::Assignments => {
                "single settings of gradient-based inference, such as `{\"schedule.step-size\": 0.01}`"
                    .to_owned()
            }
            Kind::Number { least, most } => format!("{}; {least} to {most}", field.about()),
            _ => field.about(),
        };
        let text = format!("{}: {text} [default: {default}]", field.name);
        let lines = wrapped(&text, 98);
        about += &format!("        {}\n", lines.join("\n            "));
    }
    about
}

fn arguments(fields: &[&Field]) -> String {
    let mut arguments = "{\n".to_owned();
    for field in fields {
        arguments += &format!("            {}: {},\n", json!(field.name), field.name);
    }
    arguments + "        })\n"
}

fn kind(field: &Field) -> &'static str {
    match field.kind {
        Kind::Number { .. } => "int",
        Kind::Switch | Kind::SwitchedOff(_) => "bool",
        Kind::Engine => "Engine",
        Kind::Preset => "Preset",
        Kind::Assignments => "Mapping[str, Any]",
    }
}
