//! A network and a rule of one's own: `cargo run --release -p cajole-infer --example own_rule`
#![allow(clippy::print_stdout)] // an example shows its results

use cajole_core::{Config, Gbi, Symbol, Workspace};
use cajole_nn::decoders::Beam;
use cajole_nn::models::Token;
use cajole_tasks::pairs::model;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A checkpoint that `cajole train pairs` wrote, or the one that is built in.
    let net = match std::env::args().nth(1) {
        Some(folder) => model::load(folder.as_ref())?.0,
        None => model::built_in(),
    };
    // As many brackets must be closed as are opened.
    let unbalanced = |_: &[Token], y: &[Symbol]| {
        let count = |name| y.iter().filter(|s| net.target.name(**s) == name).count();
        count("(").abs_diff(count(")")) as f32
    };
    let (model, decoder, config) = (&net.model, &Beam { width: 5 }, Config::best());
    let gbi = Gbi { model, decoder, constraint: &unbalanced, sources: vec![], config };
    let mut workspace = Workspace::new(model, &gbi.config)?;
    let input = "f - h + c * e - a * h * f + c + d * a";
    let symbols: Vec<String> = input.split(' ').map(str::to_owned).collect();
    let outcome = gbi.run(&net.tokens(&symbols), &mut workspace);
    println!("{input}\n{} ({} steps)", net.text(&outcome.output), outcome.steps);
    Ok(())
}
