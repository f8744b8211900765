//! What the generated treebank promises.

use super::*;

#[test]
fn print_samples() {
    for genre in Genre::ALL {
        for s in generate(genre, 40, 1) {
            let words: Vec<_> = s.tree.leaves().into_iter().map(|l| l.1).collect();
            println!("{}: {}", s.genre, words.join(" "));
        }
        for s in generate(genre, 6, 2) {
            println!("{}", s.tree);
        }
        let n: Vec<_> = generate(genre, 3000, 3).iter().map(|s| s.tree.leaves().len()).collect();
        println!("mean {} max {}", n.iter().sum::<usize>() as f32 / 3000.0, n.iter().max().unwrap());
    }
}
