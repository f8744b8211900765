//! Every operation against finite differences, and in a network that combines them.

use std::sync::Arc;

use cajole_core::model::Mark;

use super::activation::Nonlinearity;
use super::attention::Keys;
use super::custom::Operation;
use super::lstm::Input;
use super::lstm_layer::{CellKind, Direction};
use super::multi_head::{Columns, Heads, Relative, Sources, Span};
use super::norm::{NormKind, Scaling};
use super::positions::Buckets;
use crate::gradient::Gradient;
use crate::layout::{Init, Layout, Param};
use crate::random::Random;
use crate::tape::{Graph, Tape, Var};

/// A computation under test: records itself and returns the matrix to differentiate.
type Compute<'a> = dyn Fn(&mut Graph<'_>, &[Param]) -> Var + 'a;

/// Compares the tape's gradient of `Σ cᵢ yᵢ` with central differences, for every weight.
fn check(shapes: &[(usize, usize)], compute: &Compute<'_>) {
    let mut layout = Layout::default();
    let params: Vec<Param> = shapes
        .iter()
        .enumerate()
        .map(|(i, &(r, c))| layout.matrix(&format!("p{i}.w"), r, c, Init::Uniform(0.8)))
        .collect();
    let w = layout.initial(7);
    let mut tape = Tape::default();
    let coefficient = |i: usize| 0.3 + 0.7 * (i as f32 * 1.7).sin();

    let run = |w: &[f32], tape: &mut Tape| -> (f64, Vec<(Mark, f32)>) {
        tape.clear();
        let mut g = Graph::new(w, tape);
        g.random = Some(Random::new(5));
        let y = compute(&mut g, &params);
        let value = tape.value(y).iter().enumerate();
        let value = value.map(|(i, &v)| f64::from(coefficient(i)) * f64::from(v)).sum();
        let (rows, cols) = (y.rows as usize, y.cols as usize);
        let marks = (0..rows * cols).map(|i| (tape.mark(y, i / cols, i % cols), coefficient(i)));
        (value, marks.collect())
    };

    let (_, blame) = run(&w, &mut tape);
    let mut grad = Gradient::new(w.len());
    tape.backward(&w, &layout, &blame, &mut grad);
    let mut dense = vec![0.0; w.len()];
    for range in grad.touched().to_vec() {
        dense[range.clone()].copy_from_slice(grad.values(&range));
    }
    for i in 0..w.len() {
        let step = 1e-2;
        let shifted = |by: f32| {
            let mut w = w.clone();
            w[i] += by;
            run(&w, &mut Tape::default()).0
        };
        let want = (shifted(step) - shifted(-step)) / (2.0 * f64::from(step));
        let got = f64::from(dense[i]);
        let bound = 2e-3 * (1.0 + want.abs());
        assert!((got - want).abs() < bound, "weight {i}: {got} is not {want}");
    }
}

#[test]
fn affine_with_several_terms_and_bias() {
    check(&[(3, 4), (4, 20), (3, 5), (5, 20), (1, 20)], &|g, p| {
        let (x, y) = (g.param(p[0]), g.param(p[2]));
        g.affine(&[(x, p[1]), (y, p[3])], Some(p[4]))
    });
    check(&[(6, 4), (4, 20), (1, 20)], &|g, p| {
        let x = g.param(p[0]);
        g.affine(&[(x, p[1])], Some(p[2]))
    });
}

#[test]
fn embedding_with_repeated_symbols() {
    check(&[(5, 3), (3, 4)], &|g, p| {
        let x = g.embed(p[0], [4, 1, 4, 0].into_iter());
        g.affine(&[(x, p[1])], None)
    });
}

#[test]
fn rows_gathered_twice_and_sliced() {
    check(&[(4, 3), (3, 4)], &|g, p| {
        let x = g.param(p[0]);
        let x = g.rows(x, [2, 0, 2, 3].into_iter());
        let y = g.affine(&[(x.slice(1, 2), p[1])], None);
        g.rows(y, [1].into_iter())
    });
}

#[test]
fn log_softmax() {
    check(&[(3, 9)], &|g, p| {
        let x = g.param(p[0]);
        g.log_softmax(x)
    });
}

#[test]
fn dropout_with_a_fixed_mask() {
    check(&[(3, 9)], &|g, p| {
        let x = g.param(p[0]);
        g.dropout(x, 0.4)
    });
}

/// Two steps over `B` rows with a broadcast input, optionally with a row that ends early.
fn two_steps(g: &mut Graph<'_>, p: &[Param], alive: Option<&dyn Fn(usize) -> bool>) -> Var {
    let (x, context, h0, c0) = (g.param(p[0]), g.param(p[1]), g.param(p[2]), g.param(p[3]));
    let (h, c) = g.lstm(&[x.into(), context.into()], (h0, c0), p[4], None);
    let (h, c) = g.lstm(&[x.into()], (h, c), p[4], alive);
    let (h, _) = g.lstm(&[context.into()], (h, c), p[4], None);
    h
}

#[test]
fn lstm_steps() {
    for rows in [1, 3, 5] {
        let shapes = [(rows, 12), (1, 12), (rows, 3), (rows, 3), (3, 12)];
        check(&shapes, &|g, p| two_steps(g, p, None));
    }
}

#[test]
fn lstm_rows_that_ended_keep_their_state() {
    let shapes = [(3, 12), (1, 12), (3, 3), (3, 3), (3, 12)];
    check(&shapes, &|g, p| two_steps(g, p, Some(&|i| i != 1)));
}

#[test]
fn lstm_from_a_constant_state() {
    check(&[(2, 12), (3, 12)], &|g, p| {
        let (x, zero) = (g.param(p[0]), g.zeros(2, 3));
        let (h, c) = g.lstm(&[x.into()], (zero, zero), p[1], None);
        g.lstm(&[x.into()], (h, c), p[1], None).1
    });
}

/// `y = a ∘ tanh b`.
struct Gate;

impl Operation for Gate {
    fn forward(&self, inputs: &[&[f32]], y: &mut [f32]) {
        for i in 0..y.len() {
            y[i] = inputs[0][i] * inputs[1][i].tanh();
        }
    }

    fn backward(&self, inputs: &[&[f32]], _y: &[f32], dy: &[f32], which: usize, dx: &mut [f32]) {
        for i in 0..dy.len() {
            let t = inputs[1][i].tanh();
            dx[i] += dy[i] * if which == 0 { t } else { inputs[0][i] * (1.0 - t * t) };
        }
    }
}

#[test]
fn a_user_defined_operation() {
    let gate: Arc<dyn Operation> = Arc::new(Gate);
    check(&[(2, 5), (2, 5)], &|g, p| {
        let (a, b) = (g.param(p[0]), g.param(p[1]));
        g.custom(&gate, &[a, b], (2, 5))
    });
}

#[test]
fn frozen_parameters_and_dead_branches_are_left_alone() {
    let mut layout = Layout::default();
    let a = layout.matrix("a.w", 2, 3, Init::Uniform(0.5));
    let b = layout.matrix("b.w", 3, 3, Init::Uniform(0.5));
    let c = layout.matrix("c.w", 3, 3, Init::Uniform(0.5));
    let w = layout.initial(3);
    let mut tape = Tape::default();
    let mut g = Graph::new(&w, &mut tape);
    let x = g.param(a);
    let y = g.affine(&[(x, b)], None);
    g.affine(&[(y, c)], None); // unused
    let mut grad = Gradient::new(w.len());
    grad.freeze([a.range()]);
    let blame = [(tape.mark(y, 1, 2), 1.0)];
    tape.backward(&w, &layout, &blame, &mut grad);
    assert_eq!(grad.touched(), [b.range()], "only b moves and only b was used");
}

#[test]
fn an_lstm_layer_in_both_directions() {
    for direction in [Direction::Forward, Direction::Backward] {
        // Three sequences of up to four steps; the output uses every state and the final cell.
        let lengths = [4, 2, 3];
        check(&[(12, 20), (5, 20), (5, 5)], &|g, p| {
            let x = g.param(p[0]);
            let layer = g.lstm_layer(CellKind::Lstm, x, p[1], lengths.into_iter(), direction, 0.0);
            let again = g.lstm_layer(CellKind::Lstm, x, p[1], lengths.into_iter(), direction, 0.0);
            let last = g.sum(layer.last.0, again.last.1);
            let state = g.affine(&[(last, p[2])], None);
            let h = g.rows(
                layer.h,
                (0..12)
                    .filter(|i| i / 3 < lengths[*i as usize % 3] as u32)
                    .collect::<Vec<_>>()
                    .into_iter(),
            );
            let some = g.rows(h, [8, 0, 5].into_iter());
            g.sum(state, some)
        });
    }
}

#[test]
fn lstm_and_highway_layers_with_and_without_dropout() {
    let settings = [CellKind::Lstm, CellKind::Highway].map(|kind| {
        [Direction::Forward, Direction::Backward]
            .map(|d| [0.0, 0.4].map(|dropout| (kind, d, dropout)))
    });
    for (kind, direction, dropout) in settings.into_iter().flatten().flatten() {
        check(&[(12, 5 * kind.inputs()), (5, 5 * kind.gates()), (12, 5)], &|g, p| {
            let (x, lengths) = (g.param(p[0]), [4, 2, 3].into_iter());
            let layer = g.lstm_layer(kind, x, p[1], lengths, direction, dropout);
            // Only some states are used; the others receive no gradient.
            let (h, bias) = (g.rows(layer.h, [4, 6, 8].into_iter()), g.param(p[2]));
            g.sum(h, bias.slice(0, 3))
        });
    }
}

#[test]
fn concatenation() {
    check(&[(3, 2), (3, 4), (6, 5)], &|g, p| {
        let (a, b) = (g.param(p[0]), g.param(p[1]));
        let y = g.concat([a, b].into_iter());
        g.affine(&[(y, p[2])], None)
    });
}

#[test]
fn an_lstm_layer_equals_its_steps() {
    let mut layout = Layout::default();
    let (x, w_h) = (
        layout.matrix("x", 6, 12, Init::Uniform(1.0)),
        layout.matrix("w", 3, 12, Init::Uniform(1.0)),
    );
    let w = layout.initial(3);
    let mut tape = Tape::default();
    let mut g = Graph::new(&w, &mut tape);
    let inputs = g.param(x); // three steps of two sequences, the second one shorter
    let zero = g.zeros(2, 3);
    let forward =
        g.lstm_layer(CellKind::Lstm, inputs, w_h, [3, 2].into_iter(), Direction::Forward, 0.0);
    let backward =
        g.lstm_layer(CellKind::Lstm, inputs, w_h, [3, 2].into_iter(), Direction::Backward, 0.0);
    for (layer, order) in [(forward, [0, 1, 2]), (backward, [2, 1, 0])] {
        let mut state = (zero, zero);
        for t in order {
            let alive = |i: usize| t < [3, 2][i];
            state = g.lstm(&[inputs.slice(2 * t, 2).into()], state, w_h, Some(&alive));
            assert_eq!(g.tape.value(layer.h.slice(2 * t, 2)), g.tape.value(state.0), "step {t}");
        }
        assert_eq!(g.tape.value(layer.last.0), g.tape.value(state.0));
        assert_eq!(g.tape.value(layer.last.1), g.tape.value(state.1));
    }
}

#[test]
fn additive_attention() {
    // Two inputs of three and two positions; three queries, two of which share an input.
    for width in [4, 11] {
        check(&[(3, width), (6, width), (6, 5), (1, width)], &|g, p| {
            let (query, keys, values) = (g.param(p[0]), g.param(p[1]), g.param(p[2]));
            let lengths = g.constant(&[3.0, 2.0], 2);
            let weights = g.attention(query, Keys { keys, lengths }, p[3], &[1, 0, 1]);
            let seen = g.seen(weights, values, lengths, &[1, 0, 1]);
            g.mix(seen)
        });
    }
}

#[test]
fn attention_where_only_the_query_moves() {
    check(&[(2, 4), (1, 4)], &|g, p| {
        let query = g.param(p[0]);
        let keys = g.constant(&[0.1, -0.2, 0.3, 0.7, -0.9, 0.4, 0.2, 0.1], 4);
        let values = g.constant(&[1.0, -1.0, 0.5, 2.0, 0.3, 0.2], 3);
        let lengths = g.constant(&[2.0], 1);
        let weights = g.attention(query, Keys { keys, lengths }, p[1], &[0, 0]);
        let seen = g.seen(weights, values, lengths, &[0, 0]);
        g.mix(seen)
    });
}

#[test]
fn a_residual_sum() {
    check(&[(3, 5), (5, 5)], &|g, p| {
        let x = g.param(p[0]);
        let y = g.affine(&[(x, p[1])], None);
        g.sum(x, y)
    });
}

/// Three steps of two layers; the upper one attends to values besides reading the lower one. With
/// feedback, the lower layer reads the upper one of the previous step. Returns `h` of the upper
/// layer.
fn two_layers(g: &mut Graph<'_>, p: &[Param], rows: usize, is_fed_back: bool) -> Var {
    let (values, keys) = (g.param(p[0]), g.param(p[1]));
    let lengths = g.constant(&[3.0], 1);
    let inputs = vec![0; rows];
    let mut lower = (g.zeros(rows, 2), g.zeros(rows, 2));
    let mut upper = lower;
    let mut seen = g.zeros(rows, 2);
    for _ in 0..3 {
        g.level(1);
        let z = g.affine(&[(seen, p[2])], Some(p[3])); // (R, 4H)
        lower = g.lstm(&[z.into()], lower, p[4], None);
        let weights = g.attention(lower.0, Keys { keys, lengths }, p[5], &inputs);
        g.level(2);
        let looked = Input::Seen(g.seen(weights, values, lengths, &inputs));
        let below = [Input::Bias(p[3]), Input::Times(lower.0, p[6]), looked];
        upper = g.lstm(&below, upper, p[7], None);
        g.level(0);
        // Reorder rows, as a beam does between steps.
        upper.0 = g.rows(upper.0, (0..rows as u32).rev());
        seen = if is_fed_back { upper.0 } else { lower.0 };
    }
    upper.0
}

/// The parameters of [`two_layers`].
const TWO_LAYERS: [(usize, usize); 8] =
    [(3, 8), (3, 2), (2, 8), (1, 8), (2, 8), (1, 2), (2, 8), (2, 8)];

#[test]
fn gradients_are_right_whatever_levels_are_declared() {
    for rows in [1, 3] {
        check(&TWO_LAYERS, &|g, p| two_layers(g, p, rows, false));
        check(&TWO_LAYERS, &|g, p| two_layers(g, p, rows, true));
    }
}

#[test]
fn rows_without_blame_are_left_out() {
    for (rows, blamed) in [(3, 1), (6, 5)] {
        check(&TWO_LAYERS, &|g, p| two_layers(g, p, rows, false).row(blamed));
        check(&TWO_LAYERS, &|g, p| two_layers(g, p, rows, true).row(blamed));
    }
}

#[test]
fn norms_of_both_kinds() {
    for kind in [NormKind::Layer, NormKind::Rms] {
        check(&[(4, 11), (1, 11), (1, 11)], &|g, p| {
            let x = g.param(p[0]);
            let bias = (kind == NormKind::Layer).then_some(p[2]);
            g.norm(x, Scaling { kind, epsilon: 1e-3, gain: p[1], bias })
        });
    }
}

#[test]
fn activations_plain_and_gated() {
    use Nonlinearity::{Gelu, GeluTanh, Relu, Silu};
    for f in [Gelu, GeluTanh, Silu, Relu] {
        // Away from the kink of ReLU, so that differences do not straddle it.
        check(&[(3, 8), (1, 8)], &|g, p| {
            let (x, far) = (g.param(p[0]), g.constant(&[2.0; 24], 8));
            let x = g.sum(x, far);
            g.activate(x, f)
        });
        check(&[(3, 8)], &|g, p| {
            let (x, far) = (g.param(p[0]), g.constant(&[-2.0; 24], 8));
            let x = g.sum(x, far);
            g.gate(x, f)
        });
    }
}

#[test]
fn a_scaled_matrix() {
    check(&[(3, 5)], &|g, p| {
        let x = g.param(p[0]);
        g.scale(x, -1.7)
    });
}

#[test]
fn scores_against_the_table_that_was_read_with() {
    for rows in [1, 3, 7] {
        check(&[(9, 10), (10, 10), (1, 9)], &|g, p| {
            let x = g.embed(p[0], (0..rows).map(|i| i * 2 % 9));
            let x = g.affine(&[(x, p[1])], None);
            g.scores(x, p[0], Some(p[2]))
        });
    }
}

/// Self-attention of two sequences of two and five rows over columns of one matrix, `(7, 3 H d)`.
fn self_attention(g: &mut Graph<'_>, p: &[Param], heads: Heads, has_bias: bool) -> Var {
    let x = g.param(p[0]);
    let spans =
        g.spans([(0, 2), (2, 7)].into_iter().map(|(a, b)| Span { queries: a..b, keys: a..b }));
    let columns = |from| Columns { of: x, from };
    let (k, v) = (columns(heads.width()), columns(2 * heads.width()));
    let buckets = Buckets::new(8, 6, !heads.is_causal);
    let relative = has_bias.then(|| Relative { table: g.param(p[1]), buckets });
    g.multi_head(Sources { q: columns(0), k, v }, heads, spans, relative)
}

#[test]
fn self_attention_of_several_sequences() {
    for (n, size) in [(2, 3), (3, 16)] {
        for (is_causal, has_bias) in [(false, false), (true, false), (false, true), (true, true)] {
            let heads = Heads { n, size, scale: 0.7, is_causal };
            check(&[(7, 3 * n * size), (8, n)], &|g, p| self_attention(g, p, heads, has_bias));
        }
    }
}

#[test]
fn cross_attention_of_sequences_that_share_keys() {
    let heads = Heads { n: 2, size: 4, scale: 0.5, is_causal: false };
    check(&[(6, 8), (5, 16)], &|g, p| {
        let (q, kv) = (g.param(p[0]), g.param(p[1]));
        let spans = [(0..1, 0..3), (1..3, 3..5), (3..6, 0..3)];
        let spans = g.spans(spans.into_iter().map(|(queries, keys)| Span { queries, keys }));
        let [q, k, v] = [(q, 0), (kv, 0), (kv, 8)].map(|(of, from)| Columns { of, from });
        g.multi_head(Sources { q, k, v }, heads, spans, None)
    });
}

/// The rows of `self_attention`, one sequence after another, by the definition in f64.
#[test]
fn attention_is_its_definition() {
    let (n, size) = (2, 5);
    for is_causal in [false, true] {
        let heads = Heads { n, size, scale: 0.4, is_causal };
        let mut layout = Layout::default();
        let p = [layout.matrix("x", 7, 3 * n * size, Init::Uniform(1.0))];
        let w = layout.initial(3);
        let mut tape = Tape::default();
        let y = self_attention(&mut Graph::new(&w, &mut tape), &p, heads, false);
        let at = |row: usize, block: usize, h: usize, j: usize| {
            f64::from(w[(row * 3 + block) * n * size + h * size + j])
        };
        for (row, range) in
            [0..2, 2..7].into_iter().flat_map(|r| r.clone().map(move |i| (i, r.clone())))
        {
            for h in 0..n {
                let seen = range.start..if is_causal { row + 1 } else { range.end };
                let score =
                    |s: usize| (0..size).map(|j| at(row, 0, h, j) * at(s, 1, h, j)).sum::<f64>();
                let weights: Vec<f64> = seen.clone().map(|s| (0.4 * score(s)).exp()).collect();
                let total: f64 = weights.iter().sum();
                for j in 0..size {
                    let want: f64 =
                        seen.clone().zip(&weights).map(|(s, w)| w / total * at(s, 2, h, j)).sum();
                    let got = f64::from(tape.value(y.row(row))[h * size + j]);
                    assert!((got - want).abs() < 1e-6, "row {row}, head {h}: {got}, not {want}");
                }
            }
        }
    }
}
