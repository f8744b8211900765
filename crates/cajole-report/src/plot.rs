//! A plot: series of points on two axes. [`Plot::to_svg`] draws it; [`Plot::to_tables`] gives the
//! numbers, for readers who cannot see it.

use serde::Serialize;

use super::html::{self, escape};
use super::look::Looks;
use super::{Axis, Table, markdown};

/// Series of points on two axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plot {
    /// What is plotted against what.
    pub title: String,
    /// What to notice.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series. Points that an axis cannot show are dropped.
    pub series: Vec<Series>,
}

/// A series of points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// `(x, y)` pairs, in drawing order.
    pub points: Vec<(f64, f64)>,
    /// How they are connected.
    pub style: SeriesStyle,
}

/// How the points of a series are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesStyle {
    /// By straight lines.
    Line,
    /// By steps: each value holds until the next point.
    Steps,
    /// Not connected; the name is next to one of them.
    Points,
}

impl Series {
    /// Points connected by straight lines.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points, style: SeriesStyle::Line }
    }

    /// Points connected by steps.
    pub fn steps(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points, style: SeriesStyle::Steps }
    }

    /// Unconnected points.
    pub fn points(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), points, style: SeriesStyle::Points }
    }
}

impl Plot {
    /// A plot without series.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Plot {
        Plot { title: title.into(), caption: String::new(), x, y, series: Vec::new() }
    }

    /// The plot as tables: connected series at the x ticks, single points one by one.
    pub fn to_tables(&self) -> Vec<Table> {
        let (points, curves): (Vec<&Series>, Vec<&Series>) =
            self.series.iter().partition(|series| series.style == SeriesStyle::Points);
        let mut tables = Vec::new();
        if !curves.is_empty() {
            tables.push(self.curve_table(&curves));
        }
        if !points.is_empty() {
            tables.push(self.point_table(&points));
        }
        tables
    }

    /// The tables and the caption in Markdown, which cannot contain a drawing.
    pub fn to_markdown(&self) -> String {
        let tables = self.to_tables();
        let tables: String = tables.iter().map(|table| table.to_markdown() + "\n").collect();
        tables + &markdown::paragraph(&self.caption)
    }

    /// The drawing, its caption and the numbers behind it, as an HTML figure.
    pub fn to_html(&self) -> String {
        self.html_with(&Looks::of([self]))
    }

    /// The same with the looks of a page.
    pub(super) fn html_with(&self, looks: &Looks<'_>) -> String {
        let caption = html::element("figcaption", &escape(&self.caption));
        let tables: String = self.to_tables().iter().map(Table::to_html).collect();
        let numbers = match tables.as_str() {
            "" => String::new(),
            tables => format!("<details>\n<summary>Numbers</summary>\n{tables}</details>\n"),
        };
        format!("<figure>\n{}{caption}{numbers}</figure>\n", self.svg_with(looks))
    }

    /// The points of `series` that both axes can show.
    pub(super) fn shown(&self, series: &Series) -> Vec<(f64, f64)> {
        let points = series.points.iter().copied();
        points.filter(|&(x, y)| self.x.admits(x) && self.y.admits(y)).collect()
    }

    fn curve_table(&self, curves: &[&Series]) -> Table {
        let xs = curves.iter().flat_map(|series| self.shown(series)).map(|(x, _)| x);
        let ticks = self.x.ticks(xs);
        let header = [self.x.label.clone()].into_iter().chain(self.x.tick_labels(&ticks));
        let mut table = Table::new(format!("{} ({})", self.title, self.y.label), header);
        let values: Vec<f64> = (curves.iter().map(|series| (self.shown(series), series.style)))
            .flat_map(|(points, style)| {
                ticks.iter().map(move |&x| self.value_at(&points, style, x))
            })
            .map(|value| value.unwrap_or(f64::NAN))
            .collect();
        let mut figures = self.y.figures(&values).into_iter();
        for series in curves {
            let name = series.name.clone();
            table = table.row([name].into_iter().chain(figures.by_ref().take(ticks.len())));
        }
        table
    }

    fn point_table(&self, series: &[&Series]) -> Table {
        let points = series.iter().map(|series| self.shown(series));
        let (xs, ys): (Vec<f64>, Vec<f64>) = points.flatten().unzip();
        let mut figures = self.x.figures(&xs).into_iter().zip(self.y.figures(&ys));
        let mut table = Table::new(&*self.title, ["", &self.x.label, &self.y.label]);
        for series in series {
            for (x, y) in figures.by_ref().take(self.shown(series).len()) {
                table = table.row([series.name.clone(), x, y]);
            }
        }
        table
    }

    /// The interpolated value at `x`, if there are points on both sides; `None` for single points.
    fn value_at(&self, points: &[(f64, f64)], style: SeriesStyle, x: f64) -> Option<f64> {
        if let Some((_, value)) = points.iter().rfind(|(at, _)| *at == x) {
            return Some(*value);
        }
        let pair = points.windows(2).rfind(|pair| pair[0].0 < x && x < pair[1].0)?;
        let ((from_x, from_y), (to_x, to_y)) = (pair[0], pair[1]);
        match style {
            SeriesStyle::Line => Some(self.y.value(self.x.fraction(x, from_x, to_x), from_y, to_y)),
            SeriesStyle::Steps => Some(from_y),
            SeriesStyle::Points => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, Plot, Series};

    fn texts(plot: &Plot) -> Vec<Vec<String>> {
        let tables = plot.to_tables();
        let rows = tables.iter().flat_map(|table| &table.rows);
        rows.map(|row| row.iter().map(|cell| cell.text.clone()).collect()).collect()
    }

    #[test]
    fn curves_are_read_off_at_the_ticks() {
        let mut plot = Plot::new("t", Axis::linear("x"), Axis::linear("y"));
        plot.series = vec![
            Series::line("line", vec![(0.0, 0.0), (4.0, 8.0)]),
            Series::steps("steps", vec![(0.0, 1.0), (2.0, 5.0), (3.0, 7.0)]),
            Series::line("one", vec![(1.0, 6.0), (f64::NAN, 9.0)]),
            Series::line("none", vec![]),
        ];
        assert_eq!(plot.to_tables()[0].header, ["x", "0", "1", "2", "3", "4"]);
        assert_eq!(
            texts(&plot),
            [
                ["line", "0", "2", "4", "6", "8"],
                ["steps", "1", "1", "5", "7", "–"],
                ["one", "–", "6", "–", "–", "–"],
                ["none", "–", "–", "–", "–", "–"],
            ]
        );
    }

    #[test]
    fn lines_interpolate_on_the_axis_scale() {
        let mut plot = Plot::new("t", Axis::log("x"), Axis::log("y"));
        plot.series = vec![Series::line("square", vec![(1.0, 1.0), (10.0, 100.0)])];
        assert_eq!(texts(&plot), [["square", "1", "4", "25", "100"]]);
    }

    #[test]
    fn points_are_listed() {
        let mut plot = Plot::new("t", Axis::log("x"), Axis::linear("y"));
        plot.series = vec![Series::points("beam", vec![(10.0, 3.25), (0.0, 1.0), (1e4, 4.0)])];
        assert_eq!(texts(&plot), [["beam", "10", "3.25"], ["beam", "10\u{a0}000", "4.00"]]);
    }
}
