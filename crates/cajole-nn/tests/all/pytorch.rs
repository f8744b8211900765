//! The LSTM and the log-softmax against PyTorch: values, and every gradient by name.

use cajole_nn::Gradient;
use cajole_nn::layout::{Init, Layout};
use cajole_nn::tape::{Graph, Tape};

const H: usize = 3;
const V: usize = 4;
const T: usize = 3;
const PICKS: [usize; T] = [2, 0, 3];

// import torch
// H, V, T = 3, 4, 3
// def fill(*shape):
//     n = 1
//     for s in shape: n *= s
//     return (torch.arange(n, dtype=torch.float64) * 0.7).sin().reshape(shape) * 0.5
// x, wh, wo, bo = [t.float().requires_grad_()
//                  for t in (fill(T, 4*H), fill(H, 4*H), fill(H, V), fill(V))]
// h, c, total, rows = torch.zeros(1, H), torch.zeros(1, H), 0, []
// for t, pick in enumerate([2, 0, 3]):
//     i, f, g, o = (x[t:t+1] + h @ wh).chunk(4, dim=1)
//     c = f.sigmoid() * c + i.sigmoid() * g.tanh()
//     h = o.sigmoid() * c.tanh()
//     lp = torch.log_softmax(h @ wo + bo, dim=1)
//     rows.append(lp[0].tolist())
//     total = total + (t + 1) * lp[0, pick]
// lstm = torch.nn.LSTM(4*H, H, bias=False)   # the same through nn.LSTM
// with torch.no_grad():
//     lstm.weight_ih_l0.copy_(torch.eye(4*H)); lstm.weight_hh_l0.copy_(wh.T)
//     assert torch.allclose(lstm(x.unsqueeze(1))[0][-1], h, atol=1e-6)
// total.backward()
// print(rows, x.grad, wh.grad, wo.grad, bo.grad)
#[test]
fn an_lstm_with_a_softmax_on_top() {
    let log_probs = [
        -1.6893, -1.38619, -1.23111, -1.29698, -1.71132, -1.39774, -1.22616, -1.27727, -1.71552,
        -1.39023, -1.22081, -1.28692,
    ];
    let dx = [
        0.00696348,
        -0.00851236,
        0.00266619,
        0.0,
        0.0,
        0.0,
        -0.0282439,
        0.0352863,
        -0.0208598,
        -0.00898717,
        0.00754428,
        -0.0036843,
        -0.000913568,
        0.0282433,
        -0.0225528,
        0.019003,
        -0.0230847,
        0.00950274,
        -0.233229,
        0.180748,
        -0.0753686,
        0.0131721,
        0.0151948,
        -0.0303419,
        0.0101783,
        -0.010092,
        -0.0168321,
        -0.00187023,
        -0.00370569,
        0.0112293,
        0.0313895,
        -0.0847571,
        0.1577,
        0.00800408,
        -0.0157825,
        0.000828655,
    ];
    let dw_h = [
        -0.000367501,
        -0.00241169,
        0.00305136,
        -0.00184515,
        0.00251178,
        -0.00147278,
        0.0222645,
        -0.0145219,
        0.000522205,
        -0.00169955,
        -0.000829301,
        0.0030437,
        0.000490497,
        -0.00458652,
        0.00279801,
        -0.00291509,
        0.00333364,
        -0.00103528,
        0.0360707,
        -0.0300528,
        0.0167807,
        -0.00169763,
        -0.00282707,
        0.00457958,
        0.000669977,
        -0.00384655,
        0.0016932,
        -0.00231564,
        0.002482,
        -0.000484351,
        0.0288875,
        -0.0257337,
        0.0175061,
        -0.00109008,
        -0.00264274,
        0.00357788,
    ];
    let dw_o = [
        -0.0824104,
        0.0102863,
        -0.0897339,
        0.161858,
        0.0634212,
        -0.00899446,
        -0.161315,
        0.106889,
        0.111433,
        0.000612434,
        -0.116242,
        0.00419685,
    ];
    let db_o = [0.914483, -1.49139, -0.763783, 1.34069];
    let mut layout = Layout::default();
    let x = layout.matrix("x", T, 4 * H, Init::Zero);
    let w_h = layout.matrix("w_h", H, 4 * H, Init::Zero);
    let w_o = layout.matrix("w_o", H, V, Init::Zero);
    let b_o = layout.vector("b_o", V, Init::Zero);
    let mut w = vec![0.0; layout.len()];
    for entry in layout.entries() {
        for (i, w) in w[entry.param.range()].iter_mut().enumerate() {
            *w = ((i as f64 * 0.7).sin() * 0.5) as f32;
        }
    }

    let mut tape = Tape::default();
    let mut g = Graph::new(&w, &mut tape);
    let inputs = g.param(x); // (T, 4H)
    let zero = g.zeros(1, H);
    let (mut h, mut c) = (zero, zero);
    let mut blame = Vec::new();
    for t in 0..T {
        (h, c) = g.lstm(&[inputs.row(t).into()], (h, c), w_h, None);
        let scores = g.affine(&[(h, w_o)], Some(b_o)); // (1, V)
        let row = g.log_softmax(scores);
        close("log_probs", g.tape.value(row), &log_probs[t * V..(t + 1) * V]);
        blame.push((g.tape.mark(row, 0, PICKS[t]), (t + 1) as f32));
    }

    let mut grad = Gradient::new(w.len());
    tape.backward(&w, &layout, &blame, &mut grad);
    let mut dense = vec![0.0; w.len()];
    for range in grad.touched() {
        dense[range.clone()].copy_from_slice(grad.values(range));
    }
    close("dx", x.of(&dense), &dx);
    close("dw_h", w_h.of(&dense), &dw_h);
    close("dw_o", w_o.of(&dense), &dw_o);
    close("db_o", b_o.of(&dense), &db_o);
}

fn close(name: &str, got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len(), "{name}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() < 1e-5, "{name}[{i}]: {got} is not PyTorch's {want}");
    }
}
