//! The colour, marker and dash that together distinguish the series of a plot, so that none depends
//! on colour alone.

use super::Plot;

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

/// The looks of series by name, the same in all plots of a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Looks<'a>(Vec<&'a str>);

impl<'a> Looks<'a> {
    /// Looks for every series of these plots, in order of first occurrence.
    pub(super) fn of(plots: impl IntoIterator<Item = &'a Plot>) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for series in plots.into_iter().flat_map(|plot| &plot.series) {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        Looks(names)
    }

    /// The look of a series.
    pub(super) fn get(&self, name: &str) -> Look {
        Look(self.0.iter().position(|known| *known == name).unwrap_or(self.0.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Plot, Series};
    use super::{Look, Looks};

    #[test]
    fn a_name_looks_the_same_in_all_plots() {
        let plot = |names: &[&str]| {
            let mut plot = Plot::new("t", Axis::linear("x"), Axis::linear("y"));
            plot.series = names.iter().map(|name| Series::points(*name, vec![])).collect();
            plot
        };
        let plots = [plot(&["beam", "gbi"]), plot(&["gbi", "A*", "beam"])];
        let looks = Looks::of(&plots);
        let places = ["beam", "gbi", "A*", "other"].map(|name| looks.get(name).0);
        assert_eq!(places, [0, 1, 2, 3]);
    }

    #[test]
    fn the_first_looks_all_differ() {
        let looks: Vec<(String, String)> =
            (0..24).map(|at| (Look(at).stroke(), Look(at).marker((0.0, 0.0)))).collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "look {at} repeats an earlier one");
        }
    }
}
