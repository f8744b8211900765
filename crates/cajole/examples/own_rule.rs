//! A network and a rule of one's own: `cargo run --release -p cajole --example own_rule`
#![allow(clippy::print_stdout)] // an example shows its results

use cajole::nn::models::Token;
use cajole::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A checkpoint that `cajole train pairs` wrote, or the one that is built in.
    let net = match std::env::args().nth(1) {
        Some(folder) => pairs::PairsModel::load(folder.as_ref())?.0,
        None => pairs::PairsModel::built_in(),
    };
    // As many brackets must be closed as are opened.
    let unbalanced = |_: &[Token], y: &[Symbol]| {
        let count = |name| y.iter().filter(|s| net.target.name(**s) == name).count();
        count("(").abs_diff(count(")")) as f32
    };
    let input = "f - h + c * e - a * h * f + c + d * a";
    let outcome = Gbi::new(&net.model).run(&net.read(input)?, &unbalanced);
    println!("{input}\n{} ({} steps)", net.text(&outcome.output), outcome.steps);
    Ok(())
}
