//! Draws a plot as SVG without dependencies: no script, no font, no other file.
//!
//! Text takes the colour of the surrounding page; a standalone drawing follows the reader's
//! preference for light or dark.

use super::axis::GAP;
use super::html::escape;
use super::label::{self, Label, Rect};
use super::look::{Look, Looks};
use super::number::brief;
use super::text::fit;
use super::{Plot, Series, SeriesStyle};

const WIDTH: f64 = 540.0;
const FIELD_HEIGHT: f64 = 290.0;
const LINE_HEIGHT: f64 = 20.0;
/// The mean width of a character at text size; estimated, because no font is available.
const CHARACTER: f64 = 6.9;

const STYLE: &str = include_str!("plot.css");

impl Plot {
    /// The drawing as an `<svg>` element that scales to its container.
    pub fn to_svg(&self) -> String {
        self.svg_with(&Looks::of([self]))
    }

    /// The same with the looks of a page.
    pub(super) fn svg_with(&self, looks: &Looks<'_>) -> String {
        let drawing = Drawing::new(self, looks);
        let height = drawing.height();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cajole-plot\" role=\"img\" \
             viewBox=\"0 0 {WIDTH:.0} {height:.0}\" aria-label=\"{title}\">\n\
             <title>{title}</title>\n<desc>{}</desc>\n<style>\n{STYLE}</style>\n",
            escape(&self.description()),
            title = escape(&self.title),
        );
        svg += &drawing.title();
        svg += &drawing.axes();
        svg += &drawing.curves();
        svg += &drawing.points();
        svg += &drawing.legend();
        svg + "</svg>\n"
    }

    fn description(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|series| &*series.name).collect();
        let (x, y) = (&self.x.label, &self.y.label);
        format!("{y} against {x}: {}. {}", names.join(", "), self.caption).trim_end().to_owned()
    }
}

/// A plot with its layout computed.
struct Drawing<'a> {
    plot: &'a Plot,
    title: Vec<String>,
    x_ticks: Vec<f64>,
    y_ticks: Vec<f64>,
    /// The rectangle that the axes span.
    field: Rect,
    series: Vec<Drawn<'a>>,
}

/// A series in drawing coordinates.
struct Drawn<'a> {
    series: &'a Series,
    look: Look,
    /// Where its name is, if it has single points and there is room next to one of them.
    label: Option<Label>,
    /// The data and drawing coordinates of each point.
    points: Vec<((f64, f64), (f64, f64))>,
}

impl<'a> Drawing<'a> {
    fn new(plot: &'a Plot, looks: &Looks<'_>) -> Drawing<'a> {
        let shown: Vec<Vec<(f64, f64)>> = plot.series.iter().map(|s| plot.shown(s)).collect();
        let x_ticks = plot.x.ticks(shown.iter().flatten().map(|point| point.0));
        let y_ticks = plot.y.ticks(shown.iter().flatten().map(|point| point.1));
        let title = fit(&plot.title, (WIDTH / (1.2 * CHARACTER)) as usize);
        let y_labels = plot.y.tick_labels(&y_ticks);
        let label_width = y_labels.iter().map(|label| text_width(label)).fold(0.0, f64::max);
        let top = LINE_HEIGHT * (title.len() + 1) as f64 + 20.0;
        let last_label = plot.x.tick_labels(&x_ticks).pop().unwrap_or_default();
        let right = WIDTH - (text_width(&last_label) / 2.0).max(18.0);
        let field = Rect { left: label_width + 14.0, top, right, bottom: top + FIELD_HEIGHT };
        let mut drawing = Drawing { plot, title, x_ticks, y_ticks, field, series: Vec::new() };
        drawing.series = (plot.series.iter().zip(shown))
            .map(|(series, shown)| Drawn {
                series,
                look: looks.get(&series.name),
                label: None,
                points: shown.into_iter().map(|point| (point, drawing.at(point))).collect(),
            })
            .collect();
        drawing.place_labels();
        drawing
    }

    /// Puts the names of single points next to one of them, where there is room.
    fn place_labels(&mut self) {
        const MOST_ANCHORS: usize = 20;
        let outlines = self.series.iter().flat_map(Drawn::outline);
        let mut taken: Vec<Rect> = outlines.map(|at| Rect::around(at, 5.0)).collect();
        let field = self.field;
        for drawn in self.series.iter_mut().filter(|drawn| drawn.is_points()) {
            let stride = drawn.points.len().div_ceil(MOST_ANCHORS).max(1);
            let anchors = drawn.points.iter().step_by(stride).map(|point| point.1);
            let at: Vec<(f64, f64)> = anchors.collect();
            let size = (text_width(&drawn.series.name), 15.0);
            drawn.label = label::place(size, &at, &taken, &field);
            taken.extend(drawn.label.map(|label| label.rect));
        }
    }

    /// The drawing coordinates of a point.
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let Rect { left, top, right, bottom } = self.field;
        let (x, y) = (self.plot.x.place(x, &self.x_ticks), self.plot.y.place(y, &self.y_ticks));
        (left + x * (right - left), bottom - y * (bottom - top))
    }

    fn title(&self) -> String {
        let lines = self.title.iter().enumerate();
        lines.map(|(at, line)| text("title", 0.0, LINE_HEIGHT * (at as f64 + 1.0), line)).collect()
    }

    /// Grid, ticks and labels. The y label is horizontal, above its axis.
    fn axes(&self) -> String {
        let Rect { left, top, right, bottom } = self.field;
        let mut svg = text("axis", 0.0, top - 14.0, &self.plot.y.label);
        for (&tick, label) in self.y_ticks.iter().zip(self.plot.y.tick_labels(&self.y_ticks)) {
            let (_, y) = self.at((self.x_ticks[0], tick));
            svg += &format!("<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>\n");
            svg += &text("tick end", left - 8.0, y + 4.5, &label);
        }
        let mut free_from = f64::NEG_INFINITY;
        for (&tick, label) in self.x_ticks.iter().zip(self.plot.x.tick_labels(&self.x_ticks)) {
            let (x, _) = self.at((tick, self.y_ticks[0]));
            svg += &format!("<path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>\n");
            let half = text_width(&label) / 2.0;
            if free_from <= x - half {
                svg += &text("tick middle", x, bottom + 20.0, &label);
                free_from = x + half + 6.0;
            }
        }
        svg += &format!("<path class=\"base\" d=\"M{left:.1} {bottom:.1}H{right:.1}\"/>\n");
        if self.plot.x.has_gap(&self.x_ticks) {
            // The axis is broken between zero and the first power.
            let x = left + GAP / 2.0 * (right - left);
            let marks = format!("M{:.1} {:.1}l4 -8m4 0l-4 8", x - 4.0, bottom + 4.0);
            svg += &format!("<path class=\"base\" d=\"{marks}\"/>\n");
        }
        if self.series.iter().all(|drawn| drawn.points.is_empty()) {
            let middle = ((left + right) / 2.0, (top + bottom) / 2.0);
            svg += &text("axis middle", middle.0, middle.1, "no data");
        }
        svg + &text("axis end", right, bottom + 42.0, &self.plot.x.label)
    }

    /// Connected series, with a few markers, staggered so they do not hide each other.
    fn curves(&self) -> String {
        let mut svg = String::new();
        for drawn in self.series.iter().filter(|drawn| !drawn.is_points()) {
            let Some((&(_, (x, y)), rest)) = drawn.points.split_first() else { continue };
            let mut path = format!("M{x:.1} {y:.1}");
            for (_, (x, y)) in rest {
                path += &match drawn.series.style {
                    SeriesStyle::Steps => format!("H{x:.1}V{y:.1}"),
                    SeriesStyle::Line | SeriesStyle::Points => format!("L{x:.1} {y:.1}"),
                };
            }
            svg += &format!("<path {} d=\"{path}\"/>\n", drawn.look.stroke());
            let stride = drawn.points.len().div_ceil(6);
            for &(value, at) in drawn.points.iter().skip(drawn.look.0 % stride).step_by(stride) {
                svg += &drawn.marker(value, at);
            }
        }
        svg
    }

    /// Single points, with each series' name next to one of them.
    fn points(&self) -> String {
        let (mut markers, mut names) = (String::new(), String::new());
        for drawn in self.series.iter().filter(|drawn| drawn.is_points()) {
            for &(value, at) in &drawn.points {
                markers += &drawn.marker(value, at);
            }
            let Some(label) = drawn.label else { continue };
            let Rect { left, top, right, bottom } = label.rect;
            let (x, class) = match label.side {
                1.. => (left, "name"),
                0 => ((left + right) / 2.0, "name middle"),
                ..0 => (right, "name end"),
            };
            if label.is_far {
                let ((from_x, from_y), to_y) = (label.point, (top + bottom) / 2.0);
                names += &format!(
                    "<path class=\"leader\" d=\"M{from_x:.1} {from_y:.1}L{x:.1} {to_y:.1}\"/>\n"
                );
            }
            names += &text(class, x, bottom - 3.5, &drawn.series.name);
        }
        names + &markers
    }

    /// Connected series by name below the plot, and any series without data or without room for its
    /// name.
    fn legend(&self) -> String {
        let mut svg = String::new();
        for (drawn, x, row) in self.legend_places() {
            let y = self.field.bottom + 70.0 + LINE_HEIGHT * row as f64;
            let look = drawn.look;
            if !drawn.is_points() {
                svg += &format!("<path {} d=\"M{x:.1} {y:.1}h30\"/>\n", look.stroke());
            }
            svg += &look.marker((x + 15.0, y));
            svg += &text("name", x + 38.0, y + 4.5, &drawn.legend_name());
        }
        svg
    }

    /// The legend entries in even columns, each with its left edge and row.
    fn legend_places(&self) -> Vec<(&Drawn<'a>, f64, usize)> {
        let entries: Vec<&Drawn> =
            self.series.iter().filter(|t| !t.is_points() || t.label.is_none()).collect();
        let widths = entries.iter().map(|drawn| 56.0 + text_width(&drawn.legend_name()));
        let width = widths.fold(1.0, f64::max);
        let most_columns = ((WIDTH / width) as usize).max(1);
        let rows = entries.len().div_ceil(most_columns).max(1);
        let columns = entries.len().div_ceil(rows).max(1);
        let places = entries.into_iter().enumerate();
        places.map(|(at, drawn)| (drawn, width * (at % columns) as f64, at / columns)).collect()
    }

    fn height(&self) -> f64 {
        let rows = self.legend_places().last().map_or(0, |(_, _, row)| row + 1);
        self.field.bottom + 54.0 + LINE_HEIGHT * rows as f64 + if rows > 0 { 8.0 } else { 0.0 }
    }
}

impl Drawn<'_> {
    fn is_points(&self) -> bool {
        self.series.style == SeriesStyle::Points
    }

    /// A marker with its values as a tooltip.
    fn marker(&self, (x, y): (f64, f64), at: (f64, f64)) -> String {
        let told = format!("{}: {}, {}", self.series.name, brief(x), brief(y));
        format!("<g><title>{}</title>{}</g>\n", escape(&told), self.look.marker(at).trim_end())
    }

    /// Points along the curves, dense enough to keep labels off them.
    fn outline(&self) -> Vec<(f64, f64)> {
        let mut outline: Vec<(f64, f64)> = self.points.iter().map(|point| point.1).collect();
        for pair in self.points.windows(2) {
            let ((_, from), (_, to)) = (pair[0], pair[1]);
            let corner = (to.0, from.1);
            match self.series.style {
                SeriesStyle::Line => outline.extend(between(from, to)),
                SeriesStyle::Steps => {
                    outline.extend(between(from, corner).chain(between(corner, to)));
                }
                SeriesStyle::Points => {}
            }
        }
        outline
    }

    fn legend_name(&self) -> String {
        let name = &self.series.name;
        if self.points.is_empty() { format!("{name} (no data)") } else { name.clone() }
    }
}

fn text(class: &str, x: f64, y: f64, content: &str) -> String {
    format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escape(content))
}

/// Points on the segment between two points.
fn between(from: (f64, f64), to: (f64, f64)) -> impl Iterator<Item = (f64, f64)> {
    const STRIDE: f64 = 8.0;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let count = (dx.hypot(dy) / STRIDE).ceil();
    let fractions = (1..count as usize).map(move |at| at as f64 / count);
    fractions.map(move |t| (from.0 + t * dx, from.1 + t * dy))
}

/// The approximate width of a text; capitals are wider.
fn text_width(text: &str) -> f64 {
    let wide = text.chars().filter(|c| c.is_uppercase()).count();
    CHARACTER * (text.chars().count() as f64 + 0.3 * wide as f64)
}

#[cfg(test)]
mod tests {
    use super::super::markup::assert_balanced;
    use super::super::{Axis, Plot, Series, sample};

    fn plot(x: Axis, series: Vec<Series>) -> Plot {
        Plot { series, ..Plot::new("t", x, Axis::linear("y")) }
    }

    #[test]
    fn the_sample_is_well_formed() {
        for plot in sample::report().plots {
            let svg = plot.to_svg();
            assert_balanced(&svg);
            for series in &plot.series {
                assert!(svg.contains(&format!(">{}</text>", series.name)), "{}", series.name);
            }
        }
    }

    #[test]
    fn non_finite_and_extreme_data_is_handled() {
        let awkward = vec![
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
            (0.0, -3.0),
            (-2.0, 5.0),
            (1e308, -1e308),
            (1e-320, 1e-320),
        ];
        let data = [vec![], vec![(2.0, 7.0)], vec![(3.0, 3.0); 4], awkward];
        for points in data {
            for axis in [Axis::linear("x"), Axis::log("x")] {
                let series = vec![
                    Series::line("line", points.clone()),
                    Series::steps("steps", points.clone()),
                    Series::points("points", points.clone()),
                ];
                assert_balanced(&plot(axis, series).to_svg());
            }
        }
    }

    #[test]
    fn missing_data_is_labelled_as_missing() {
        let empty = plot(Axis::log("x"), vec![Series::points("beam", vec![(0.0, 1.0)])]).to_svg();
        assert!(empty.contains(">no data</text>") && empty.contains(">beam (no data)</text>"));
        assert!(plot(Axis::log("x"), vec![]).to_svg().contains(">no data</text>"));
    }

    #[test]
    fn steps_hold_each_value_until_the_next() {
        let points = vec![(0.0, 0.0), (1.0, 1.0)];
        let steps = plot(Axis::linear("x"), vec![Series::steps("s", points.clone())]).to_svg();
        let line = plot(Axis::linear("x"), vec![Series::line("s", points)]).to_svg();
        assert!(steps.contains("H522.0V60.0") && line.contains("L522.0 60.0"), "{steps}");
    }

    #[test]
    fn a_long_legend_and_title_stay_inside() {
        let name = "a method with quite a long name";
        let series = (0..9).map(|at| Series::line(format!("{name} {at}"), vec![(1.0, 2.0)]));
        let mut plot = plot(Axis::linear("x"), series.collect());
        plot.title = "conversion ".repeat(20);
        let svg = plot.to_svg();
        assert!(svg.matches(r#"class="title""#).count() > 2);
        assert!(svg.matches("h30").count() == 9 && svg.contains("viewBox=\"0 0 540 "));
    }
}
