//! Kernel benchmarks over the shapes the networks use.
//!
//! Run `cargo bench -p cajole-kernels`, with part of a name after `--` to filter. Throughput counts
//! multiply-adds for a product and elements for an elementwise kernel: 50 Gelem/s of a product is
//! 100 GFLOP/s.
//!
//! All buffers are cache-line aligned. Otherwise, depending on the allocator, either every other
//! vector or none would straddle two lines, and runs would not be comparable.

use std::hint::black_box;

use cajole_core::random::Random;
use cajole_kernels::{self as kernels, Aligned, Panel, Uses};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// `W (K, N)` of one matrix applied at every step.
const MATRICES: [(&str, usize, usize); 4] = [
    ("transducer output", 32, 4),
    ("transducer", 32, 128),
    ("parser", 128, 512),
    ("tagger", 320, 1536),
];

/// `B`: a single input, a small beam, the steps of one output.
const ROWS: [usize; 5] = [1, 2, 4, 6, 30];

/// `H` of one LSTM step.
const HIDDEN: [(&str, usize); 3] = [("transducer", 32), ("parser", 128), ("tagger", 300)];

/// `V` of one softmax.
const SYMBOLS: [(&str, usize); 3] = [("transducer", 4), ("parser", 128), ("tagger", 129)];

/// Random numbers in a cache-line aligned buffer.
fn draw(len: usize) -> Aligned {
    let mut random = Random::new(len as u64);
    let mut numbers = Aligned::zeros(len);
    numbers.fill_with(|| random.uniform(-1.0, 1.0));
    numbers
}

/// One group with every matrix and number of rows; `run` receives `(B, K, N)`.
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
        let (x, w, mut y) = (draw(b * k), draw(k * n), draw(b * n));
        move || kernels::add_product(&mut y, black_box(&x), &w, k, n)
    });
}

/// `dX += dY · Wᵀ`.
fn add_product_transposed(c: &mut Criterion) {
    products(c, "add_product_transposed", |b, k, n| {
        let (dy, w, mut dx) = (draw(b * n), draw(k * n), draw(b * k));
        let mut panel = Panel::default();
        move || kernels::add_product_transposed(&mut dx, black_box(&dy), &w, k, n, &mut panel)
    });
}

/// `dW = Σ_t x_t ⊗ dy_t`.
fn outer_sum(c: &mut Criterion) {
    products(c, "outer_sum", |t, k, n| {
        let (xs, dys, mut dw) = (draw(t * k), draw(t * n), draw(k * n));
        let rows: Vec<_> = (0..t).map(|i| ((i * k) as u32, (i * n) as u32)).collect();
        let mut panel = Panel::default();
        move || {
            let uses = Uses { shape: (k, n), xs: black_box(&xs), dys: &dys, rows: &rows };
            kernels::outer_sum(&mut dw, &uses, &mut panel);
        }
    });
}

/// One step of one row, from gate pre-activations to the state, and back.
fn lstm(c: &mut Criterion) {
    let mut group = c.benchmark_group("lstm");
    for (label, n) in HIDDEN {
        group.throughput(Throughput::Elements(5 * n as u64)); // activations
        let (sums, c_prev) = (draw(4 * n), draw(n));
        let (mut gates, mut cell) = (draw(4 * n), draw(n));
        let (mut tanh_c, mut h) = (draw(n), draw(n));
        group.bench_function(BenchmarkId::new(label, n), |bencher| {
            bencher.iter(|| {
                // The kernel overwrites the gates, so each iteration restores them.
                gates.copy_from_slice(black_box(&sums));
                kernels::lstm(&mut gates, &c_prev, &mut cell, &mut tanh_c, &mut h);
            });
        });
    }
    group.finish();

    let mut group = c.benchmark_group("lstm_backward");
    for (label, n) in HIDDEN {
        group.throughput(Throughput::Elements(5 * n as u64));
        let (gates, c_prev, tanh_c) = (draw(4 * n), draw(n), draw(n));
        let (dh, dc) = (draw(n), draw(n));
        let (mut dgates, mut dc_prev) = (draw(4 * n), draw(n));
        group.bench_function(BenchmarkId::new(label, n), |bencher| {
            bencher.iter(|| {
                kernels::lstm_backward(
                    black_box(&gates),
                    &c_prev,
                    &tanh_c,
                    &dh,
                    &dc,
                    &mut dgates,
                    &mut dc_prev,
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
        let (x, mut out) = (draw(n), draw(n));
        group.bench_function(BenchmarkId::new(label, n), |bencher| {
            bencher.iter(|| kernels::log_softmax(black_box(&x), &mut out));
        });
    }
    group.finish();
}

/// Short measurements: there are many, and they are compared by median.
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
