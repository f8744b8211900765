//! `lint`: what is wrong with rules, and how often right outputs violate them.

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use cajole_core::Constraint;
use cajole_files::Place;

use cajole_infer::line::{Line, LineError};
use cajole_infer::lint::{Lint, Look};
use cajole_infer::record::faults_json;
use cajole_rules::{RuleFileError, Rules, UnknownSymbol, Vocabulary};
use serde_json::{Map, Value, json};

use super::ask::check_query;
use super::{Answer, Shared, typed};
use crate::app::App;
use crate::body::{JSON, check_accepts, json as json_body};
use crate::problem::Problem;
use crate::request::{Input, LintBody, RulesAsked, of_json};
use crate::rulebook::check_size;

/// `POST /v1/lint`.
pub(crate) async fn lint(State(app): Shared, request: Request<Body>) -> Answer {
    check_accepts(request.headers(), &[JSON])?;
    check_query(&request)?;
    let body = json_body(&app, request).await?;
    let parse = |body: &[u8]| {
        let body: LintBody = of_json(body)?;
        Ok((body.model.clone(), body.checked()?))
    };
    let (model, (rules, gold)) = app.parsed(body, parse).await?;
    let result = app.away(move |app| looked_at(app, model.as_deref(), &rules, gold)).await??;
    Ok(typed(JSON, result.to_string()))
}

fn looked_at(
    app: &App,
    model: Option<&str>,
    asked: &RulesAsked,
    gold: Option<Vec<Input>>,
) -> Result<Value, Problem> {
    let network = app.models.load(app.models.find(model)?)?;
    let source = app.rulebook.text(network, asked)?;
    check_size(&source, "/rules")?;
    let vocabulary = network.vocabulary();
    let rules = source.compile(vocabulary);
    let mut result = Map::new();
    let mut say = |key: &str, value: Value| drop(result.insert(key.to_owned(), value));
    say("valid", json!(rules.is_ok()));
    let errors = rules.as_ref().err().map(|error| error_json(error, &source.text));
    say("errors", errors.into_iter().collect());
    let no_output = |rule: String| format!("no output can satisfy {rule}");
    let warnings = rules.iter().flat_map(Rules::unsatisfiable).map(no_output);
    say("warnings", warnings.collect());
    let listed = rules.iter().flat_map(Rules::iter);
    say("rules", listed.map(|(name, weight, _)| json!({"name": name, "weight": weight})).collect());
    if let Ok(table) = toml::from_str::<Map<String, Value>>(&source.text) {
        say("table", Value::Object(table));
    }
    if let (Ok(rules), Some(gold)) = (&rules, gold) {
        say("gold", tried(rules, vocabulary, gold));
    }
    say("toml", json!(source.text));
    Ok(Value::Object(result))
}

fn error_json(error: &RuleFileError, text: &str) -> Value {
    let Place { line, column } = error.position(text).unwrap_or(Place::START);
    json!({"line": line, "column": column, "message": error.problem()})
}

/// What rules say about right outputs.
fn tried(rules: &Rules, vocabulary: &Vocabulary, gold: Vec<Input>) -> Value {
    let separator = vocabulary.separator().to_owned();
    let separator = Some(separator).filter(|_| vocabulary.spelling().is_none());
    let look = Look { by: String::new(), verbs: false, separator };
    let mut lint = Lint::new(rules, vocabulary, 0);
    let mut records = Vec::new();
    for input in gold {
        let (number, read) = match input {
            Ok(line) => (line.number, verdicts(&line, &look, rules, vocabulary, &mut lint)),
            Err((number, error)) => (number, Err(error)),
        };
        match read {
            Ok(verdicts) => records.extend(verdicts),
            Err(error) => {
                let error = error.to_string();
                records.push(json!({"line": number, "status": "bad-line", "error": error}));
            }
        }
    }
    let by_rule = lint.by_rule().map(|(name, n)| json!({"name": name, "violating": n}));
    json!({
        "outputs": lint.checked(),
        "violating": lint.violating(),
        "rules": by_rule.collect::<Vec<_>>(),
        "records": records,
    })
}

/// Counts the right outputs of a line; the records of these.
fn verdicts(
    line: &Line,
    look: &Look,
    rules: &Rules,
    vocabulary: &Vocabulary,
    lint: &mut Lint<'_>,
) -> Result<Vec<Value>, LineError> {
    line.check_fields()?;
    let unknown = |error: UnknownSymbol| LineError::other(error.to_string());
    let mut verdicts = Vec::new();
    for gold in look.golds(line)? {
        if lint.add(&gold).map_err(unknown)? {
            verdicts.push(json!({"line": gold.line, "status": "satisfied"}));
            continue;
        }
        let y = gold.symbols(vocabulary).map_err(unknown)?;
        let faults = faults_json(&rules.explain(&gold.subject, &y));
        verdicts.push(json!({"line": gold.line, "status": "violated", "faults": faults}));
    }
    Ok(verdicts)
}
