//! A caller that waits for a line may watch its steps, set a deadline, or leave, without affecting
//! other lines.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use cajole_infer::engine::Engine;
use cajole_infer::line::Line;
use cajole_infer::{Opened, Registry, Settings, Waiter};
use cajole_rules::Rules;
use serde_json::{Map, Value};

/// Needs a repair in three steps.
const FAILING: &str = "azbzazazazazazazazazbz";

#[derive(Debug, Default)]
struct Client {
    until: Option<Instant>,
    has_left: bool,
    heard: Mutex<Vec<(usize, Map<String, Value>)>>,
}

impl Waiter for Client {
    fn until(&self) -> Option<Instant> {
        self.until
    }

    fn has_left(&self) -> bool {
        self.has_left
    }

    fn watches(&self) -> bool {
        true
    }

    fn step(&self, answer: usize, step: Map<String, Value>) {
        self.heard.lock().unwrap().push((answer, step));
    }
}

fn answer(network: &Opened, clients: &[Arc<Client>]) -> Vec<Value> {
    let rules = Rules::parse("rules", network.usual_rules().unwrap(), None, network.vocabulary());
    let rules = Arc::new(rules.unwrap());
    let settings = Settings::of(&**network).by(Engine::gbi()).traces(true);
    let line = |(i, client): (usize, &Arc<Client>)| {
        let line = Line::parse(1 + i as u64, FAILING.to_owned()).unwrap().unwrap();
        Ok(line.with_waiter(client.clone()))
    };
    let lines = clients.iter().enumerate().map(line).collect();
    let records = network.answer(lines, Some(&rules), &settings).unwrap();
    records.iter().map(|record| record.to_json(false)).collect()
}

#[test]
fn steps_are_heard_of_as_the_trace_has_them() {
    let network = Registry::standard().open("transducer").unwrap();
    let client = Arc::new(Client::default());
    let records = answer(&network, std::slice::from_ref(&client));
    let heard = client.heard.lock().unwrap();
    let heard: Vec<Value> = heard
        .iter()
        .map(|(answer, step)| {
            assert_eq!(*answer, 0);
            let mut step = step.clone();
            assert!(step.shift_remove("milliseconds").is_some());
            Value::Object(step)
        })
        .collect();
    assert!(1 < heard.len());
    assert_eq!(Value::Array(heard), records[0]["trace"]["steps"]);
    assert_eq!(records[0]["trace"]["moves"], serde_json::json!(["decoder.b", "output.b"]));
}

#[test]
fn whoever_leaves_or_has_no_time_costs_nobody_else() {
    let network = Registry::standard().open("transducer").unwrap();
    let alone = answer(&network, &[Arc::new(Client::default())]);
    let gone = Client { has_left: true, ..Client::default() };
    let late = Client { until: Some(Instant::now()), ..Client::default() };
    let clients = [Client::default(), gone, late, Client::default()].map(Arc::new);
    let records = answer(&network, &clients);
    for i in [0, 3] {
        let mut record = records[i].clone();
        record["line"] = 1.into();
        assert_eq!(record, alone[0], "line {i}");
    }
    assert_eq!(records[2]["status"], "timed-out");
    for i in [1, 2] {
        assert_eq!((&records[i]["steps"], &records[i]["passes"]), (&0.into(), &0.into()));
        assert!(clients[i].heard.lock().unwrap().is_empty(), "nothing was begun");
    }
}
