//! Sample reports for tests: a realistic one, and one with a single string everywhere.

use super::{Axis, CaseStep, CaseStudy, Cell, Figure, Piece, Plot, Report, Row, Series, Table};

/// Method, conversion and accuracy after repair in per cent, and network passes per input.
const METHODS: [(&str, f64, f64, f64); 7] = [
    ("greedy", 0.0, 71.4, 1.0),
    ("gbi paper", 91.6, 82.3, 46.0),
    ("gbi best", 100.0, 88.9, 38.0),
    ("beam x2", 99.1, 86.2, 22.0),
    ("masked greedy", 100.0, 80.8, 2.0),
    ("masked beam 20", 100.0, 86.6, 21.0),
    ("sampling", 84.0, 79.5, 310.0),
];

/// A report as the transduction experiment might write it.
pub(super) fn report() -> Report {
    Report {
        title: "Transduction".to_owned(),
        intro: vec![
            "Four networks map strings of az and bz to strings of aaa and zb. Where the output \
             has the wrong number of characters, each method below tries to repair it."
                .to_owned(),
            "Conversion is the share of failures that end up satisfying the constraint; accuracy \
             is the share of output symbols that are right, measured on the failures alone."
                .to_owned(),
        ],
        rows: METHODS.map(row).to_vec(),
        tables: vec![table()],
        plots: vec![conversion_plot(), accuracy_plot()],
        cases: vec![case()],
        notes: vec![
            "Passes count the sequences the network was run over; a beam of width k costs k."
                .to_owned(),
            "Masked methods know the constraint as an automaton; the others see a black box."
                .to_owned(),
        ],
    }
}

/// A report with `text` in every text field.
pub(super) fn report_of(text: &str) -> Report {
    let own = || text.to_owned();
    let series = [Series::line, Series::steps, Series::points]
        .map(|series| series(own(), vec![(1.0, 2.0), (3.0, 4.0)]));
    let cells = [Cell::plain(own()), Cell::plain(own()).best(), Cell::plain(own()).muted()];
    let mut plot = Plot::new(own(), Axis::linear(own()), Axis::log(own()));
    (plot.caption, plot.series) = (own(), series.to_vec());
    plot.series.push(Series::points(own(), vec![]));
    let pieces = [false, true].map(|wrong| Piece { text: own(), wrong }).to_vec();
    Report {
        title: own(),
        intro: vec![own()],
        rows: vec![Row::new(own(), own(), own()).with(Figure::Passes, 1.0)],
        tables: vec![Table::new(own(), [own(), own(), own()]).row(cells)],
        plots: vec![plot],
        cases: vec![CaseStudy {
            title: own(),
            source: own(),
            target: own(),
            steps: vec![CaseStep { pieces, ..CaseStep::default() }],
            note: own(),
        }],
        notes: vec![own()],
    }
}

fn row((method, conversion, accuracy, passes): (&str, f64, f64, f64)) -> Row {
    Row::new("1x32, seed 1", method, "counts")
        .counted(1500, 312)
        .with(Figure::Conversion, conversion)
        .with(Figure::AccuracyBefore, 71.4)
        .with(Figure::AccuracyAfter, accuracy)
        .with(Figure::Passes, passes)
}

fn table() -> Table {
    let header =
        ["method", "conversion", "accuracy before", "accuracy after", "exact after", "passes"];
    let mut table = Table::new("312 failures of 1500, per cent", header);
    for (at, (method, conversion, accuracy, passes)) in METHODS.into_iter().enumerate() {
        if [1, 3].contains(&at) {
            table = table.rule();
        }
        let best = |cell: Cell, is_best: bool| if is_best { cell.best() } else { cell };
        table = table.row([
            Cell::plain(method),
            best(Cell::number(conversion, 1), conversion == 100.0),
            Cell::number(71.4, 1).muted(),
            best(Cell::number(accuracy, 1), method == "gbi best"),
            Cell::number(if at == 0 { f64::NAN } else { accuracy - 41.3 }, 1),
            Cell::number(passes, 0),
        ]);
    }
    table
}

fn conversion_plot() -> Plot {
    let rising = |to: f64, pace: f64| {
        (0..=100).map(move |step| (f64::from(step), to * (1.0 - (-f64::from(step) / pace).exp())))
    };
    let mut plot = Plot::new(
        "Conversion against steps",
        Axis::linear("gradient steps"),
        Axis::linear("failures converted, %"),
    );
    plot.caption = "Most failures need few steps; the paper's step size leaves a tail.".to_owned();
    plot.series = vec![
        Series::steps("gbi paper, net 1", rising(91.6, 22.0).collect()),
        Series::steps("gbi best, net 1", rising(100.0, 9.0).collect()),
        Series::steps("gbi paper, net 2", rising(74.0, 40.0).collect()),
        Series::steps("gbi best, net 2", rising(99.6, 14.0).collect()),
    ];
    plot
}

fn accuracy_plot() -> Plot {
    let mut plot = Plot::new(
        "Accuracy against network passes",
        Axis::log("network passes per failure"),
        Axis::linear("accuracy on failures, %"),
    );
    plot.caption = "Up and to the left is better: right more often, for less work.".to_owned();
    plot.series = METHODS
        .map(|(method, _, accuracy, passes)| Series::points(method, vec![(passes, accuracy)]))
        .to_vec();
    plot
}

fn case() -> CaseStudy {
    let piece = |text: &str, wrong| Piece { text: text.to_owned(), wrong };
    let wrong = vec![
        piece("aaaaaazbaaazb", false),
        piece("aa", true),
        piece("a", false),
        piece("zb", true),
        piece("zbzbzb", false),
        piece("aaazb", true),
    ];
    let right = vec![piece("aaaaaazbaaazbzbaaazbzbzbzbzb", false)];
    let step = |iteration, pieces: &[Piece], g, log_prob, distance, accuracy| CaseStep {
        attempt: 0,
        iteration,
        pieces: pieces.to_vec(),
        g,
        log_prob,
        distance,
        accuracy,
    };
    CaseStudy {
        title: "Enforcing the constraint improves accuracy".to_owned(),
        source: "azazbzazbzbzazbzbzbzbzbz".to_owned(),
        target: "aaaaaazbaaazbzbaaazbzbzbzbzb".to_owned(),
        steps: vec![
            step(0, &wrong, 0.2472, -6.31, 0.0, 66.7),
            step(1, &wrong, 0.2467, -7.02, 0.0003, 66.7),
            step(2, &wrong, 0.2462, -8.95, 0.0006, 66.7),
            step(3, &right, 0.0, -4.18, 0.001, 100.0),
        ],
        note: "Three nudges make the output feasible, and right.".to_owned(),
    }
}
