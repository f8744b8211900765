//! The kernels alone, over the shapes that the networks have.
//!
//! `cargo bench -p cajole-nn`, with part of a name behind `--` to choose. The throughput of a
//! product counts its multiply-adds, that of an elementwise kernel its elements: 50 Gelem/s of a
//! product are 100 GFLOP/s.
//!
//! All buffers start on cache lines. Otherwise every other vector would straddle two of them or
//! none, as the allocator pleases, and one run could not be compared with the next.

use std::hint::black_box;

use cajole_nn::kernels::{self, Panel};
use cajole_nn::random::Random;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// `W (K, N)` of one matrix that meets a vector at every step.
const MATRICES: [(&str, usize, usize); 4] = [
    ("transducer output", 32, 4),
    ("transducer", 32, 128),
    ("parser", 128, 512),
    ("tagger", 320, 1536),
];

/// `B`: one input, a small beam, the steps of one output.
const ROWS: [usize; 3] = [1, 6, 30];

/// `H` of one LSTM step.
const HIDDEN: [(&str, usize); 3] = [("transducer", 32), ("parser", 128), ("tagger", 300)];

/// `V` of one softmax.
const SYMBOLS: [(&str, usize); 3] = [("transducer", 4), ("parser", 128), ("tagger", 129)];

/// Random numbers that start on a cache line.
struct Aligned {
    buffer: Vec<f32>,
    start: usize,
}

impl Aligned {
    fn new(len: usize) -> Self {
        const LINE: usize = 64;
        let mut random = Random::new(len as u64);
        let spare = LINE / size_of::<f32>();
        let buffer: Vec<f32> = (0..len + spare).map(|_| random.uniform(-1.0, 1.0)).collect();
        let start = buffer.as_ptr().align_offset(LINE).min(spare);
        Aligned { buffer, start }
    }

    fn get(&self, len: usize) -> &[f32] {
        &self.buffer[self.start..][..len]
    }

    fn get_mut(&mut self, len: usize) -> &mut [f32] {
        &mut self.buffer[self.start..][..len]
    }
}

/// One group with every matrix and number of rows; `run` is given `(B, K, N)`.
fn products<F: FnMut()>(c: &mut Criterion, name: &str, run: impl Fn(usize, usize, usize) -> F) {
    let mut group = c.benchmark_group(name);
    for (label, k, n) in MATRICES {
        for b in ROWS {
            group.throughput(Throughput::Elements((b * k * n) as u64));
            let id = BenchmarkId::new(label, format!("{b}x{k}x{n}"));
            let mut run = run(b, k, n);
            group.bench_function(id, |bencher| bencher.iter(&mut run));
        }
    }
    group.finish();
}

/// `Y += X · W`.
fn add_product(c: &mut Criterion) {
    products(c, "add_product", |b, k, n| {
        let (x, w, mut y) = (Aligned::new(b * k), Aligned::new(k * n), Aligned::new(b * n));
        let mut panel = Panel::default();
        move || {
            let (x, w) = (black_box(x.get(b * k)), w.get(k * n));
            kernels::add_product(y.get_mut(b * n), x, w, k, n, &mut panel);
        }
    });
}

/// `dX += dY · Wᵀ`.
fn add_product_transposed(c: &mut Criterion) {
    products(c, "add_product_transposed", |b, k, n| {
        let (dy, w, mut dx) = (Aligned::new(b * n), Aligned::new(k * n), Aligned::new(b * k));
        let mut panel = Panel::default();
        move || {
            let (dy, w) = (black_box(dy.get(b * n)), w.get(k * n));
            kernels::add_product_transposed(dx.get_mut(b * k), dy, w, k, n, &mut panel);
        }
    });
}

/// `dW = Σ_t x_t ⊗ dy_t`.
fn outer_sum(c: &mut Criterion) {
    products(c, "outer_sum", |t, k, n| {
        let (xs, dys, mut dw) = (Aligned::new(t * k), Aligned::new(t * n), Aligned::new(k * n));
        let rows: Vec<_> = (0..t).map(|i| ((i * k) as u32, (i * n) as u32)).collect();
        let mut panel = Panel::default();
        move || {
            let (xs, dys) = (black_box(xs.get(t * k)), dys.get(t * n));
            kernels::outer_sum(dw.get_mut(k * n), k, n, xs, dys, &rows, &mut panel);
        }
    });
}

/// One step of one row, from the gates' sums to the state, and back.
fn lstm(c: &mut Criterion) {
    let mut group = c.benchmark_group("lstm");
    for (label, n) in HIDDEN {
        group.throughput(Throughput::Elements(5 * n as u64)); // squashing functions
        let (sums, c_prev) = (Aligned::new(4 * n), Aligned::new(n));
        let (mut gates, mut cell) = (Aligned::new(4 * n), Aligned::new(n));
        let (mut tanh_c, mut h) = (Aligned::new(n), Aligned::new(n));
        group.bench_function(BenchmarkId::new(label, n), |bencher| {
            bencher.iter(|| {
                // Gates are squashed in place, so they start afresh each time.
                gates.get_mut(4 * n).copy_from_slice(black_box(sums.get(4 * n)));
                kernels::lstm(
                    gates.get_mut(4 * n),
                    c_prev.get(n),
                    cell.get_mut(n),
                    tanh_c.get_mut(n),
                    h.get_mut(n),
                );
            });
        });
    }
    group.finish();

    let mut group = c.benchmark_group("lstm_backward");
    for (label, n) in HIDDEN {
        group.throughput(Throughput::Elements(5 * n as u64));
        let (gates, c_prev, tanh_c) = (Aligned::new(4 * n), Aligned::new(n), Aligned::new(n));
        let (dh, dc) = (Aligned::new(n), Aligned::new(n));
        let (mut dgates, mut dc_prev) = (Aligned::new(4 * n), Aligned::new(n));
        group.bench_function(BenchmarkId::new(label, n), |bencher| {
            bencher.iter(|| {
                kernels::lstm_backward(
                    black_box(gates.get(4 * n)),
                    c_prev.get(n),
                    tanh_c.get(n),
                    dh.get(n),
                    dc.get(n),
                    dgates.get_mut(4 * n),
                    dc_prev.get_mut(n),
                );
            });
        });
    }
    group.finish();
}

/// One row of log-probabilities.
fn log_softmax(c: &mut Criterion) {
    let mut group = c.benchmark_group("log_softmax");
    for (label, n) in SYMBOLS {
        group.throughput(Throughput::Elements(n as u64));
        let (x, mut out) = (Aligned::new(n), Aligned::new(n));
        group.bench_function(BenchmarkId::new(label, n), |bencher| {
            bencher.iter(|| kernels::log_softmax(black_box(x.get(n)), out.get_mut(n)));
        });
    }
    group.finish();
}

/// Short measurements: these are compared by their medians, and there are many.
fn short() -> Criterion {
    use std::time::Duration;
    let short = Criterion::default().sample_size(20).without_plots();
    short.warm_up_time(Duration::from_millis(100)).measurement_time(Duration::from_millis(300))
}

criterion_group! {
    name = benches;
    config = short();
    targets = add_product, add_product_transposed, outer_sum, lstm, log_softmax
}
criterion_main!(benches);
