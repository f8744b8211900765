//! The options in the description of the API. The rest of it is written by hand and stays as it is.

use cajole_infer::engine::Engine;
use cajole_infer::options::{Field, Kind, Place};
use cajole_tasks::Preset;
use serde_json::{Value, json};

/// The document with the options of the table.
pub(super) fn document(before: &str) -> String {
    let mut document: Value = serde_json::from_str(before).unwrap();
    let parameters = &mut document["paths"]["/v1/infer"]["post"]["parameters"];
    let own = ["model", "rules"];
    let parameters = parameters.as_array_mut().unwrap();
    parameters.retain(|parameter| own.contains(&parameter["name"].as_str().unwrap()));
    parameters.extend(Field::all_of(Place::Http).map(parameter));
    let schemas = &mut document["components"]["schemas"];
    schemas["EngineName"] = engine_name();
    schemas["PresetName"] = preset_name();
    for (name, compares) in [("AskRequest", false), ("CompareRequest", true)] {
        let properties = schemas[name]["properties"].as_object_mut().unwrap();
        let own = ["input", "inputs", "model", "rules", "engines"];
        properties.retain(|name, _| own.contains(&name.as_str()));
        for field in Field::all_of(Place::Http) {
            if !compares || field.is_of(Place::Commands) {
                properties.insert(field.name.to_owned(), property(field));
            }
        }
    }
    let engines = &mut schemas["CompareRequest"]["properties"]["engines"];
    engines.as_object_mut().unwrap().shift_remove("maxItems");
    shown(&document, 0, 0) + "\n"
}

fn parameter(field: &Field) -> Value {
    let mut schema = property(field);
    schema.as_object_mut().unwrap().shift_remove("description");
    let description = format!("{} For `application/x-ndjson` bodies only.", about(field));
    json!({
        "name": field.name,
        "in": "query",
        "required": false,
        "schema": schema,
        "description": description,
    })
}

fn property(field: &Field) -> Value {
    match field.kind {
        Kind::Number { least, most } => {
            let description = format!("{} Default: {}.", about(field), field.default_text());
            json!({"type": "integer", "minimum": least, "maximum": most, "description": description})
        }
        Kind::Engine => json!({"$ref": "#/components/schemas/EngineName"}),
        Kind::Preset => json!({"$ref": "#/components/schemas/PresetName"}),
        Kind::Switch | Kind::SwitchedOff(_) => {
            let default = field.default_value();
            json!({"type": "boolean", "default": default, "description": about(field)})
        }
        Kind::Assignments => panic!("{} is not sent over HTTP", field.name),
    }
}

fn about(field: &Field) -> String {
    let text = format!("{}. {}", field.about(), field.details());
    text.trim().to_owned()
}

fn engine_name() -> Value {
    let names: Vec<&str> = Engine::all().iter().map(Engine::name).collect();
    let each: Vec<String> = Engine::all()
        .iter()
        .map(|engine| format!("`{}`: {}.", engine.name(), engine.about()))
        .collect();
    let description = format!(
        "How outputs are made to obey; records say which engine gave the output. Numbers may follow a name: \
         `masked:width=9`. In `explain`, `usual` is `gbi`. {}",
        each.join(" ")
    );
    json!({
        "description": description,
        "type": "string",
        "anyOf": [{"enum": names}, {"pattern": format!("^({}):", names.join("|"))}],
        "default": Engine::usual(),
    })
}

fn preset_name() -> Value {
    let field = Field::named("preset").unwrap();
    let each = Preset::ALL.map(|preset| format!("`{}`: {}.", preset.name(), preset.about()));
    json!({
        "description": format!(
            "{}. Default: {}. {}", field.about(), field.default_text(), each.join(" ")
        ),
        "type": "string",
        "enum": Preset::ALL.map(Preset::name),
    })
}

/// A value as JSON. What fits on a line is on one; `used` is what precedes it there.
fn shown(value: &Value, indent: usize, used: usize) -> String {
    const WIDTH: usize = 115;
    let line = on_a_line(value);
    if used + line.chars().count() <= WIDTH {
        return line;
    }
    let inner = indent + 2;
    let mut items = Vec::new();
    let (open, close) = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = format!("{}: ", json!(name));
                let value = shown(value, inner, inner + name.chars().count());
                items.push(name + &value);
            }
            ('{', '}')
        }
        Value::Array(values) => {
            items.extend(values.iter().map(|value| shown(value, inner, inner)));
            ('[', ']')
        }
        _ => return line,
    };
    let space = " ".repeat(inner);
    let items = items.join(&format!(",\n{space}"));
    format!("{open}\n{space}{items}\n{}{close}", " ".repeat(indent))
}

fn on_a_line(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| format!("{}: {}", json!(name), on_a_line(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(on_a_line).collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}
