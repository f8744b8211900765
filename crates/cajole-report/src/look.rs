//! The colour, marker and dash that together distinguish the series of a plot, so that none depends
//! on colour alone.

/// The look of the series with this index.
///
/// The colours are Okabe and Ito's, which colour-blind readers can distinguish. After the last
/// colour they repeat with other markers and dashes.
#[derive(Clone, Copy)]
pub(super) struct Look(pub(super) usize);

impl Look {
    const COLOURS: usize = 7;

    /// The attributes of a connecting line.
    pub(super) fn stroke(self) -> String {
        let dashes = ["", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 2 2 2 2"];
        let dash = dashes[self.shift() % dashes.len()];
        format!("class=\"curve {}\" stroke-dasharray=\"{dash}\"", self.colour())
    }

    /// A small shape centred at a point.
    pub(super) fn marker(self, (x, y): (f64, f64)) -> String {
        let outlines = [
            "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            "m-3.6-3.6h7.2v7.2h-7.2z",
            "m0-4.8l4.6 8h-9.2z",
            "m0-5.2l4.6 5.2l-4.6 5.2l-4.6-5.2z",
            "m0 4.8l4.6-8h-9.2z",
            "m-1.5-4.8h3v3.3h3.3v3h-3.3v3.3h-3v-3.3h-3.3v-3h3.3z",
            "m0-5.2l4.9 3.6l-1.9 5.8h-6l-1.9-5.8z",
        ];
        let outline = outlines[self.shift() % outlines.len()];
        format!("<path class=\"marker {}\" d=\"M{x:.1} {y:.1}{outline}\"/>\n", self.colour())
    }

    fn colour(self) -> String {
        format!("series-{}", self.0 % Look::COLOURS)
    }

    fn shift(self) -> usize {
        self.0 + self.0 / Look::COLOURS
    }
}

#[cfg(test)]
mod tests {
    use super::Look;

    #[test]
    fn the_first_looks_all_differ() {
        let looks: Vec<(String, String)> =
            (0..24).map(|at| (Look(at).stroke(), Look(at).marker((0.0, 0.0)))).collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "look {at} repeats an earlier one");
        }
    }
}
