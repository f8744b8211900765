//! Single failures, and what every method makes of them: the paper's appendix A.

use cajole_core::Symbol;
use cajole_report::{Align, Cell, Table};
use serde::{Deserialize, Serialize};

use crate::Repair;

/// How many failures are shown for each network: its first ones among short sentences.
pub(crate) const SHOWN: usize = 6;

/// One failure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SideBySide {
    /// The input.
    pub(crate) input: String,
    /// Each method with its output; the network's own first, the gold output last.
    outputs: Vec<Output>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Output {
    method: String,
    text: String,
    satisfies: bool,
    right: bool,
}

impl SideBySide {
    /// The outputs of every method for `inputs`, as `show` writes them. The `gold` texts and the outputs
    /// of each method are in the order of the inputs.
    pub(crate) fn of(
        inputs: Vec<String>,
        gold: &[String],
        methods: &[(String, Vec<Repair>)],
        show: impl Fn(usize, &[Symbol]) -> String,
    ) -> Vec<SideBySide> {
        let of_one = |(i, input)| {
            let output = |method: &str, text: String, satisfies| {
                let right = text == gold[i];
                Output { method: method.to_owned(), text, satisfies, right }
            };
            let of_methods = methods.iter().map(|(method, repairs)| {
                output(method, show(i, &repairs[i].output), repairs[i].converted)
            });
            let outputs = of_methods.chain([output("gold", gold[i].clone(), true)]).collect();
            SideBySide { input, outputs }
        };
        inputs.into_iter().enumerate().map(of_one).collect()
    }
}

/// The failures of one network, one block of rows each.
pub(crate) fn side_by_side_table(net: &str, cases: &[SideBySide]) -> Option<Table> {
    let caption = format!(
        "{net}: its first failures on short sentences, and what every method makes of them (✓ \
         satisfies the constraint, ✗ does not, = right; the paper's appendix A)"
    );
    let mut table = Table::new(caption, ["method", "", "output"]).aligned([Align::Left; 3]);
    for case in cases {
        table = table.row(["input", "", case.input.as_str()].map(Cell::plain));
        for Output { method, text, satisfies, right } in &case.outputs {
            let mark = match (right, satisfies) {
                (true, _) => "=",
                (false, true) => "✓",
                (false, false) => "✗",
            };
            let text = Cell::plain(text.as_str());
            let text = if *right && method != "gold" { text.best() } else { text };
            table = table.row([Cell::plain(method.as_str()), Cell::plain(mark), text]);
        }
        table = table.rule();
    }
    (!cases.is_empty()).then_some(table)
}
