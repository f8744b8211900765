//! Encoder-decoder networks against PyTorch, finite differences, exhaustive search and themselves.

use cajole_core::decoders::{Beam, Greedy};
use cajole_core::{Candidate, Decoder, Force, Found, Model, Pass, Symbol, Workspace};
use cajole_nn::models::{Architecture, Seq2Seq, Seq2SeqConfig, Token};
use cajole_nn::random::Random;
use cajole_nn::tape::{Graph, Tape};
use cajole_nn::{AutoRegressive, Gradient, Trained};

type Net = Trained<Seq2Seq>;

/// Four words, four output symbols and the end.
fn tiny(architecture: Architecture) -> Seq2SeqConfig {
    let is_gnmt = architecture == Architecture::Gnmt;
    Seq2SeqConfig {
        architecture,
        words: 4,
        embedding: 3,
        vectors: if is_gnmt { 3 } else { 0 },
        vector_size: 2,
        output_symbols: 5,
        output_embedding: 3,
        layers: if is_gnmt { 3 } else { 2 },
        hidden: 5,
        attention: 4,
        dropout: 0.0,
        embedding_dropout: 0.0,
        reversed_input: !is_gnmt,
        pointer: Some(0),
        cap_factor: 2,
    }
}

/// A network with wild weights, so that it is far from uniform.
fn wild(config: Seq2SeqConfig, seed: u64) -> Net {
    let net = Seq2Seq::new(config);
    let mut random = Random::new(seed);
    let weights: Vec<f32> = (0..net.layout().len()).map(|_| random.uniform(-1.0, 1.0)).collect();
    Trained::new(net, weights)
}

/// `n` tokens that differ from seed to seed.
fn tokens(n: usize, seed: u64) -> Vec<Token> {
    let mut random = Random::new(seed);
    (0..n).map(|_| Token { word: random.below(4) as u32, vector: random.below(3) as u32 }).collect()
}

fn dense(grad: &Gradient, n: usize) -> Vec<f32> {
    let mut all = vec![0.0; n];
    for range in grad.touched() {
        all[range.clone()].copy_from_slice(grad.values(range));
    }
    all
}

/// What PyTorch says: log-probabilities of both outputs, and of each parameter's gradient `g` its
/// product with `cos i` and the element in the middle.
struct Reference {
    log_probs: [&'static [f32]; 2],
    gradients: &'static [(&'static str, f32, f32)],
}

// import math, torch
// torch.set_default_dtype(torch.float64)
// E, P, O, H, A, V = 3, 2, 3, 5, 4, 5  # as in the module's documentation; O of output symbols
//
// def run(gnmt, layers, reversed_input):
//     w = {}
//     def declare(name, *shape):
//         i = torch.arange(math.prod(shape), dtype=torch.float64)
//         w[name] = (0.7 * i * i + len(w)).sin().reshape(shape).requires_grad_()
//     def declare_cell(name, *inputs):
//         for part, n in zip("xy", inputs): declare(f"{name}.w_{part}", n, 4 * H)
//         declare(f"{name}.w_h", H, 4 * H)
//         declare(f"{name}.b", 4 * H)
//     if gnmt: declare("vectors.table", 3, P)
//     declare("embedding.table", 5, E)
//     declare_cell("encoder.0", E, *([P] if gnmt else []))
//     if gnmt: declare_cell("encoder.0.backward", E, P)
//     for i in range(1, layers): declare_cell(f"encoder.{i}", H, *([H] if gnmt and i == 1 else []))
//     declare("attention.w_key", H, A); declare("attention.b", A)
//     declare("attention.w_query", H, A); declare("attention.v", A)
//     declare("decoder.symbols", V, O)
//     for i in range(layers):
//         declare_cell(f"decoder.{i}", O if i == 0 else H, *([H] if gnmt else []))
//     declare("decoder.w_next", H, 4 * H)
//     declare("output.w_h", H, V); declare("output.w_context", H, V); declare("output.b", V)
//
//     def cell(name, x, y, state, more=0):
//         z = x @ w[f"{name}.w_x"] + state[0] @ w[f"{name}.w_h"] + w[f"{name}.b"] + more
//         if y is not None: z = z + y @ w[f"{name}.w_y"]
//         i, f, g, o = z.chunk(4)
//         c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
//         return o.sigmoid() * c.tanh(), c
//     def read(name, xs, ys):  # every h, and the last state
//         state, hs = (torch.zeros(H), torch.zeros(H)), []
//         for x, y in zip(xs, ys):
//             state = cell(name, x, y, state)
//             hs.append(state[0])
//         return hs, state
//
//     def log_probs(tokens, output):
//         n = len(tokens)
//         places = list(range(n))[::-1] if reversed_input else list(range(n))
//         ordered = [tokens[t] for t in places] + [(4, 0)]   # the end has the last word
//         xs = [w["embedding.table"][word] for word, _ in ordered]
//         ys = [w["vectors.table"][row] if gnmt else None for _, row in ordered]
//         hs, state = read("encoder.0", xs, ys)
//         second = [None] * len(xs)
//         if gnmt:
//             back, state = read("encoder.0.backward", xs[::-1], ys[::-1])
//             second = back[::-1]
//         states = [state]
//         for i in range(1, layers):
//             upper, state = read(f"encoder.{i}", hs, second)
//             states.append(state)
//             hs = [a + b for a, b in zip(hs, upper)] if gnmt and 2 <= i else upper
//             second = [None] * len(xs)
//         values = torch.stack(hs)
//         keys = values @ w["attention.w_key"] + w["attention.b"]
//         def attend(h):
//             scores = (keys + h @ w["attention.w_query"]).tanh() @ w["attention.v"]
//             return scores.softmax(0) @ values
//         context, previous, taken, result = torch.zeros(H), 4, 0, []
//         for symbol in output + [4]:
//             taken += previous == 0
//             at = (places + [n])[min(taken, n)]   # where the next token was read
//             shown = values[at] @ w["decoder.w_next"]
//             x = w["decoder.symbols"][previous]
//             states[0] = cell("decoder.0", x, context if gnmt else None, states[0], shown)
//             x = states[0][0]
//             if gnmt: context = attend(x)
//             for i in range(1, layers):
//                 states[i] = cell(f"decoder.{i}", x, context if gnmt else None, states[i])
//                 x = x + states[i][0] if gnmt and 2 <= i else states[i][0]
//             if not gnmt: context = attend(x)
//             scores = x @ w["output.w_h"] + context @ w["output.w_context"] + w["output.b"]
//             result.append(scores.log_softmax(0)[symbol])
//             previous = symbol
//         return result
//
//     first = log_probs([(1, 2), (0, 1), (3, 0)], [0, 2, 0, 0, 1])
//     second = log_probs([(2, 1)], [0, 3])
//     sum(first + second).backward()
//     print([[round(p.item(), 6) for p in ps] for ps in (first, second)])
//     for name, p in w.items():
//         g = p.grad.flatten()
//         print((name, float("%.5g" % (g * torch.arange(len(g)).cos()).sum()), float("%.5g" % g[len(g) // 2])))
//
// run(gnmt=True, layers=3, reversed_input=False)
// run(gnmt=False, layers=2, reversed_input=True)
#[test]
fn gnmt_is_pytorchs() {
    let reference = Reference {
        log_probs: [
            &[-2.152743, -0.887893, -1.974209, -1.914157, -1.980699, -2.323514],
            &[-2.138939, -2.212817, -2.277801],
        ],
        gradients: &[
            ("vectors.table", 0.095611, -0.10118),
            ("embedding.table", -0.54046, -0.4291),
            ("encoder.0.w_x", -0.52759, 0.054592),
            ("encoder.0.w_y", -0.16319, -0.021704),
            ("encoder.0.w_h", 0.089193, 0.0091566),
            ("encoder.0.b", -0.3877, -0.015469),
            ("encoder.0.backward.w_x", -0.6873, 0.14458),
            ("encoder.0.backward.w_y", 0.1282, -0.082639),
            ("encoder.0.backward.w_h", -0.0057023, -0.038613),
            ("encoder.0.backward.b", -0.21967, -0.38118),
            ("encoder.1.w_x", -0.25635, -0.005058),
            ("encoder.1.w_y", 0.007733, -0.0067487),
            ("encoder.1.w_h", -0.10923, -0.050206),
            ("encoder.1.b", 0.52579, -0.36586),
            ("encoder.2.w_x", -0.44298, -0.10587),
            ("encoder.2.w_h", 0.072257, 0.011356),
            ("encoder.2.b", 0.76041, -0.41209),
            ("attention.w_key", -0.023355, -0.0030263),
            ("attention.b", -0.0073435, 0.0055193),
            ("attention.w_query", -9.5869e-05, -0.0011362),
            ("attention.v", -0.025367, 0.0064705),
            ("decoder.symbols", -0.045946, -0.039859),
            ("decoder.0.w_x", -0.2267, 0.029586),
            ("decoder.0.w_y", 0.065861, 0.022328),
            ("decoder.0.w_h", -0.15009, -0.014298),
            ("decoder.0.b", 0.10848, 0.080511),
            ("decoder.1.w_x", 0.21339, -0.005206),
            ("decoder.1.w_y", 0.01997, 0.0078896),
            ("decoder.1.w_h", -0.16957, -0.0018619),
            ("decoder.1.b", 0.2488, 0.028051),
            ("decoder.2.w_x", 0.089786, 0.051844),
            ("decoder.2.w_y", -0.026749, -0.041968),
            ("decoder.2.w_h", -0.11581, -0.021817),
            ("decoder.2.b", 0.5975, -0.22489),
            ("decoder.w_next", 0.071488, 0.029291),
            ("output.w_h", 2.7781, -0.046352),
            ("output.w_context", -1.3977, -0.78906),
            ("output.b", 3.1855, -3.3042),
        ],
    };
    check_pytorch(&tiny(Architecture::Gnmt), &reference);
}

/// By the same script.
#[test]
fn simple_with_reversed_input_is_pytorchs() {
    let reference = Reference {
        log_probs: [
            &[-1.625471, -4.020882, -1.579356, -1.797311, -1.723137, -1.271072],
            &[-1.498679, -0.975381, -1.319085],
        ],
        gradients: &[
            ("embedding.table", 0.14208, -0.022727),
            ("encoder.0.w_x", -1.3987, -0.75338),
            ("encoder.0.w_h", 0.25865, -0.03177),
            ("encoder.0.b", -1.3614, 0.98776),
            ("encoder.1.w_x", -0.85553, -0.01512),
            ("encoder.1.w_h", 0.63665, -0.0035),
            ("encoder.1.b", 2.3229, -0.58102),
            ("attention.w_key", 0.0081494, 0.001949),
            ("attention.b", 0.0094296, 0.0015458),
            ("attention.w_query", 0.0012965, -0.00042273),
            ("attention.v", 0.0083555, 0.0050368),
            ("decoder.symbols", 1.5702, 0.19045),
            ("decoder.0.w_x", 1.3091, -0.6982),
            ("decoder.0.w_h", 0.15928, -0.030683),
            ("decoder.0.b", -1.2502, 1.7254),
            ("decoder.1.w_x", 0.50844, -0.0018959),
            ("decoder.1.w_h", 0.013756, 0.008728),
            ("decoder.1.b", 0.21325, -0.035004),
            ("decoder.w_next", -0.37081, -0.044373),
            ("output.w_h", 0.55083, -0.29049),
            ("output.w_context", 1.4546, -0.045485),
            ("output.b", 3.8332, 0.8225),
        ],
    };
    check_pytorch(&tiny(Architecture::Simple), &reference);
}

/// Both inputs in one batch, which the shorter output leaves; as inference runs it, and as training
/// does, where contexts are not projected beforehand.
fn check_pytorch(config: &Seq2SeqConfig, reference: &Reference) {
    let token = |(word, vector)| Token { word, vector };
    let xs = [vec![(1, 2), (0, 1), (3, 0)], vec![(2, 1)]];
    let xs = xs.map(|x| x.into_iter().map(token).collect::<Vec<_>>());
    let ys: [&[Symbol]; 2] = [&[0, 2, 0, 0, 1, 4], &[0, 3, 4]];
    // A rate that is not zero but silences nothing.
    for dropout in [0.0, f32::MIN_POSITIVE] {
        let net = Seq2Seq::new(Seq2SeqConfig { dropout, ..config.clone() });
        let layout = net.layout();
        let mut w = vec![0.0; layout.len()];
        for (id, entry) in layout.entries().iter().enumerate() {
            for (i, w) in w[entry.param.range()].iter_mut().enumerate() {
                *w = (0.7 * (i * i) as f64 + id as f64).sin() as f32;
            }
        }

        let mut tape = Tape::default();
        let mut g = Graph::new(&w, &mut tape);
        g.random = (0.0 < dropout).then(|| Random::new(1));
        let encoded = net.encode(&mut g, &[&xs[0], &xs[1]]);
        let (mut state, mut inputs, mut previous) = (encoded.state, vec![0, 1], vec![4, 4]);
        let mut blame = Vec::new();
        for t in 0..ys[0].len() {
            if t == ys[1].len() {
                (inputs, previous) = (vec![0], vec![previous[0]]);
                state = state.rows(&mut g, &[0]);
            }
            let log_probs = net.step(&mut g, &encoded, &mut state, &inputs, &previous);
            for i in 0..inputs.len() {
                let symbol = ys[i][t] as usize;
                let got = g.tape.value(log_probs.row(i))[symbol];
                close(&format!("position {t} of output {i}"), got, reference.log_probs[i][t]);
                blame.push((g.tape.mark(log_probs, i, symbol), 1.0));
                previous[i] = ys[i][t];
            }
        }

        let mut grad = Gradient::new(w.len());
        tape.backward(&w, layout, &blame, &mut grad);
        let grad = dense(&grad, w.len());
        assert_eq!(layout.entries().len(), reference.gradients.len());
        for (entry, &(name, product, middle)) in layout.entries().iter().zip(reference.gradients) {
            assert_eq!(entry.name, name);
            let got = entry.param.of(&grad);
            let cos = got.iter().enumerate().map(|(i, &g)| f64::from(g) * (i as f64).cos());
            close(&format!("gradient of {name}"), cos.sum::<f64>() as f32, product);
            close(&format!("middle of the gradient of {name}"), got[got.len() / 2], middle);
        }
    }
}

fn close(name: &str, got: f32, want: f32) {
    let most = 5e-6 + 1e-4 * want.abs();
    assert!((got - want).abs() < most, "{name}: {got} is not PyTorch's {want}");
}

/// `Σ_t cost_t log p(y_t)`, in double precision so that differences keep their digits.
fn weighted(model: &Net, w: &[f32], x: &[Token], y: &[Symbol]) -> f64 {
    let mut tape = Tape::default();
    let mut g = Graph::new(w, &mut tape);
    let encoded = model.net.encode(&mut g, &[x]);
    let (mut state, mut previous, mut total) = (encoded.state, model.net.end(), 0.0);
    for (t, symbol) in y.iter().copied().chain([model.net.end()]).enumerate() {
        let log_probs = model.net.step(&mut g, &encoded, &mut state, &[0], &[previous]);
        total += f64::from(cost(t) * g.tape.value(log_probs)[symbol as usize]);
        previous = symbol;
    }
    total
}

/// Runs `y` through the network beside what was recorded of `x`.
fn force(model: &Net, workspace: &mut Workspace<Net>, x: &[Token], y: &[Symbol]) -> Candidate {
    let mut forced = Candidate::default();
    let pass = Pass { place: Some(0), ..Pass::base(x) };
    let mut set = [Force { pass, output: y, forced: &mut forced, passes: 0 }];
    model.force(workspace.session(model).scratch, &mut set).unwrap();
    forced
}

/// Every position counts differently, some of them the other way.
fn cost(t: usize) -> f32 {
    t as f32 % 3.0 - 0.5
}

#[test]
fn gradients_are_finite_differences() {
    /// Weights that are tried of every parameter.
    const TRIED: usize = 6;
    let pointers = [Some(0), None];
    let architectures = [Architecture::Gnmt, Architecture::Simple];
    for (architecture, pointer) in architectures.into_iter().flat_map(|a| pointers.map(|p| (a, p)))
    {
        let model = wild(Seq2SeqConfig { pointer, ..tiny(architecture) }, 3);
        let (x, n) = (tokens(6, 1), model.weights().len());
        let mut workspace = Workspace::new(&model);
        let found = workspace.decode(&model, &Greedy, &x).unwrap();
        let y = [&found.candidates()[0].output[..2], &[0, 1, 0, 3, 2, 0, 0]].concat();
        let forced = force(&model, &mut workspace, &x, &y);
        let blame: Vec<_> = (0..).zip(&forced.marks).map(|(t, &mark)| (mark, cost(t))).collect();
        let mut grad = Gradient::new(n);
        let tape = model.tape(workspace.session(&model).scratch, 0).unwrap();
        tape.backward(model.weights(), model.net.layout(), &blame, &mut grad);
        let grad = dense(&grad, n);

        let mut random = Random::new(9);
        for entry in model.net.layout().entries() {
            let largest = entry.param.of(&grad).iter().fold(0.0, |m: f32, g| m.max(g.abs()));
            assert!(0.0 < largest, "{} has a gradient", entry.name);
            for _ in 0..TRIED {
                let i = entry.param.range().start + random.below(entry.param.range().len());
                let slope = |step: f32| {
                    let at = |w_i: f32| {
                        let mut w = model.weights().to_vec();
                        w[i] = w_i;
                        weighted(&model, &w, &x, &y)
                    };
                    let (high, low) = (model.weights()[i] + step, model.weights()[i] - step);
                    (at(high) - at(low)) / f64::from(high - low)
                };
                // Richardson's extrapolation: the error falls with the fourth power of the step.
                let want = (4.0 * slope(0.01) - slope(0.02)) / 3.0;
                let (got, name) = (f64::from(grad[i]), &entry.name);
                let most = 3e-4 + 1e-3 * want.abs();
                assert!((got - want).abs() < most, "{architecture:?} {name}: {got}, not {want}");
            }
        }
    }
}

#[test]
fn together_and_alone_give_the_same_bits() {
    for architecture in [Architecture::Gnmt, Architecture::Simple] {
        for (seed, reversed_input) in [(1, false), (2, true)] {
            let sizes = Seq2SeqConfig { hidden: 12, attention: 9, ..tiny(architecture) };
            let model = wild(Seq2SeqConfig { reversed_input, ..sizes }, seed);
            let lengths = [0, 7, 1, 40, 2, 7, 0, 1, 40, 2, 7];
            let inputs: Vec<_> = lengths.iter().zip(0..).map(|(&n, i)| tokens(n, i)).collect();
            let xs: Vec<&[Token]> = inputs.iter().map(Vec::as_slice).collect();
            let set: Vec<Pass<'_, Net>> = xs.iter().map(|x| Pass::base(*x)).collect();
            let mut workspace = Workspace::new(&model);
            let decoders: [&dyn Decoder<Net>; 2] = [&Greedy, &Beam::of(4)];
            for decoder in decoders {
                let mut together = vec![Found::default(); xs.len()];
                let mut skimmed = together.clone();
                decoder.decode(&mut workspace.session(&model), &set, &mut together).unwrap();
                decoder.skim(&mut workspace.session(&model), &set, &mut skimmed).unwrap();
                for (x, found) in xs.iter().zip(&together).chain(xs.iter().zip(&skimmed)) {
                    let alone = workspace.decode(&model, decoder, x).unwrap();
                    assert_eq!(found.candidates().len(), alone.candidates().len());
                    for (got, want) in found.candidates().iter().zip(alone.candidates()) {
                        assert_eq!((&got.output, got.capped), (&want.output, want.capped));
                        let (got, want) = (got.log_prob.to_bits(), want.log_prob.to_bits());
                        assert_eq!(got, want, "{} tokens", x.len());
                    }
                }
            }
        }
    }
}

#[test]
fn a_wide_beam_is_exhaustive_search() {
    /// Longer outputs are too improbable to be among the best.
    const LONGEST: usize = 8;
    const BEST: usize = 20;
    let config = Seq2SeqConfig { output_symbols: 3, cap_factor: 0, ..tiny(Architecture::Gnmt) };
    for seed in 0..4 {
        let model = wild(config.clone(), seed);
        let mut weights = model.weights().to_vec();
        *weights.last_mut().unwrap() = 2.0; // the bias of the end
        let model = Trained::new(model.net, weights);
        let x = tokens(3, seed);
        let mut workspace = Workspace::new(&model);
        let mut all = Vec::new();
        for length in 0..=LONGEST {
            workspace.decode(&model, &Greedy, &x).unwrap();
            for bits in 0..1u32 << length {
                let y: Vec<Symbol> = (0..length).map(|i| bits >> i & 1).collect();
                all.push(force(&model, &mut workspace, &x, &y));
            }
        }
        all.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
        let probability = |y: &Candidate| f64::from(y.log_prob).exp();
        let longer = 1.0 - all.iter().map(probability).sum::<f64>();
        assert!(longer < probability(&all[BEST]), "{longer} is left for longer outputs");

        let found = workspace.decode(&model, &Beam::of(2 << LONGEST), &x).unwrap();
        for (got, want) in found.candidates().iter().zip(&all[..BEST]) {
            assert_eq!(got.output, want.output);
            assert!((got.log_prob - want.log_prob).abs() < 1e-4 && !got.capped);
        }
    }
}
