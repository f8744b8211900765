//! Every product against its definition, and a single row against the same row in a batch.

use super::*;
use crate::many::{add_many_product_body, add_many_transposed_body};
use crate::transposed::add_kept_transposed_body;
use crate::{Fused, Plain, Transposed, add_kept_transposed};
use cajole_core::random::Random;

/// `(B, K, N)` around every edge of strips, tiles and vectors.
const SHAPES: [(usize, usize, usize); 24] = [
    (1, 1, 1),
    (1, 32, 4),
    (1, 32, 128),
    (1, 33, 75),
    (2, 5, 17),
    (3, 10, 8),
    (4, 16, 16),
    (4, 9, 7),
    (5, 3, 12),
    (7, 9, 31),
    (13, 40, 100),
    (6, 3, 4),
    (20, 64, 200),
    (1, 259, 517),
    (9, 259, 517),
    (11, 31, 9),
    (14, 25, 170),
    (25, 50, 332),
    (32, 24, 16),
    (67, 13, 24),
    (12, 67, 256),
    (6, 75, 83),
    (31, 67, 1024),
    (8, 21, 2048),
];

fn draw(random: &mut Random, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.uniform(-1.0, 1.0)).collect()
}

fn close(got: &[f32], want: &[f64], shape: (usize, usize, usize)) {
    assert_eq!(got.len(), want.len());
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let bound = 1e-5 * (1.0 + w.abs());
        assert!((f64::from(g) - w).abs() < bound, "{shape:?} at {i}: {g} is not {w}");
    }
}

fn at(m: &[f32], cols: usize, i: usize, j: usize) -> f64 {
    f64::from(m[i * cols + j])
}

/// `y0 (B, N) + x (B, K) · w (K, N)`, from the definition.
fn product(y0: &[f32], x: &[f32], w: &[f32], (b, k, n): (usize, usize, usize)) -> Vec<f64> {
    let dot = |i, j| (0..k).map(|q| at(x, k, i, q) * at(w, n, q, j)).sum::<f64>();
    (0..b * n).map(|e| f64::from(y0[e]) + dot(e / n, e % n)).collect()
}

fn transposed(m: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|e| m[e % rows * cols + e / rows]).collect()
}

#[test]
fn products_agree_with_their_definition() {
    let random = &mut Random::new(1);
    for shape @ (b, k, n) in SHAPES {
        let (x, w, y0) = (draw(random, b * k), draw(random, k * n), draw(random, b * n));
        let want = product(&y0, &x, &w, shape);
        let mut y = y0.clone();
        add_product(&mut y, &x, &w, k, n);
        close(&y, &want, shape);
        let of_many_rows = [add_many_product_body::<Fused>, add_many_product_body::<Plain>];
        for body in of_many_rows.iter().filter(|_| 4 <= b && WIDE <= n) {
            let mut y = y0.clone();
            body(&mut y, &x, &w, b);
            close(&y, &want, shape);
        }
        let of_one_row = [
            add_row_product_body::<Fused>,
            add_row_product_body::<Plain>,
            add_streamed_product_body::<Fused>,
            add_streamed_product_body::<Plain>,
        ];
        for body in of_one_row.iter().filter(|_| b == 1) {
            let mut y = y0.clone();
            body(&mut y, &x, &w);
            close(&y, &want, shape);
        }
    }
}

#[test]
fn transposed_products_agree_with_their_definition() {
    let random = &mut Random::new(2);
    for shape @ (b, k, n) in SHAPES {
        let (dy, w, dx0) = (draw(random, b * n), draw(random, k * n), draw(random, b * k));
        let want = product(&dx0, &dy, &transposed(&w, k, n), (b, n, k));
        let panel = &mut Panel(vec![f32::NAN; 7]);
        let mut dx = dx0.clone();
        add_product_transposed(&mut dx, &dy, &w, k, n, panel);
        close(&dx, &want, shape);
        if LANES <= n {
            let ones = [add_row_transposed_body::<Fused>, add_row_transposed_body::<Plain>];
            for body in ones.iter().filter(|_| b == 1) {
                let mut dx = dx0.clone();
                body(&mut dx, &dy, &w);
                close(&dx, &want, shape);
            }
            let twos = [add_two_transposed_body::<Fused>, add_two_transposed_body::<Plain>];
            for body in twos.iter().filter(|_| b == 2) {
                let mut dx = dx0.clone();
                body(&mut dx, &dy, &w);
                close(&dx, &want, shape);
            }
            let many = [add_many_transposed_body::<Fused>, add_many_transposed_body::<Plain>];
            for body in many.iter().filter(|_| 4 <= b) {
                let mut dx = dx0.clone();
                body(&mut dx, &dy, &w, b, panel);
                close(&dx, &want, shape);
            }
        }
    }
}

#[test]
fn narrow_products_agree_with_their_definition() {
    let random = &mut Random::new(3);
    for n in 1..LANES {
        let k = 19;
        let (dy, w, dx0) = (draw(random, n), draw(random, k * n), draw(random, k));
        let want = product(&dx0, &dy, &transposed(&w, k, n), (1, n, k));
        for body in [add_narrow_transposed_body::<Fused>, add_narrow_transposed_body::<Plain>] {
            let mut dx = dx0.clone();
            body(&mut dx, &dy, &w);
            close(&dx, &want, (1, k, n));
        }
    }
}

multiversion! {
    fn narrower_product(y: &mut [f32], x: &[f32], w: &[f32], b: usize) = add_many_product_body
}

multiversion! {
    fn narrower_transposed(dx: &mut [f32], dy: &[f32], w: &[f32], b: usize, panel: &mut Panel)
        = add_many_transposed_body
}

type Product = fn(&mut [f32], &[f32], &[f32], usize);
type Backwards = fn(&mut [f32], &[f32], &[f32], usize, &mut Panel);

#[test]
fn every_register_width_is_bit_identical() {
    let random = &mut Random::new(6);
    // The host's arithmetic, one float at a time.
    let (product, transposed): (Product, Backwards) = match is_fused() {
        true => (add_many_product_body::<Fused>, add_many_transposed_body::<Fused>),
        false => (add_many_product_body::<Plain>, add_many_transposed_body::<Plain>),
    };
    for shape @ (b, k, n) in SHAPES.into_iter().filter(|&(b, _, n)| MANY <= b && WIDE <= n) {
        let (x, dy, w) = (draw(random, b * k), draw(random, b * n), draw(random, k * n));
        let (y0, dx0) = (draw(random, b * n), draw(random, b * k));
        let [widest, narrower, single] = [add_many_product, narrower_product, product].map(|add| {
            let mut y = y0.clone();
            add(&mut y, &x, &w, b);
            y
        });
        assert!(widest == single && narrower == single, "{shape:?}");
        let products = [add_many_transposed, narrower_transposed, transposed];
        let [widest, narrower, single] = products.map(|add| {
            let mut dx = dx0.clone();
            add(&mut dx, &dy, &w, b, &mut Panel::of_anything(7));
            dx
        });
        assert!(widest == single && narrower == single, "{shape:?} transposed");
    }
}

multiversion! {
    fn narrower_kept(dx: &mut [f32], dy: &[f32], w: &Transposed, panel: &mut Panel)
        = add_kept_transposed_body
}

#[test]
fn a_transposed_copy_gives_the_same_bits() {
    let random = &mut Random::new(7);
    // Besides the usual shapes: more rows than a group, and more columns than a chunk, with the strips'
    // second half empty or not.
    let long = [(61, 32, 800), (20, 33, 1500), (4, 49, 775), (60, 300, 8)];
    for (b, k, n) in SHAPES.into_iter().chain(long).filter(|&(_, _, n)| LANES <= n) {
        let (dy, w, dx0) = (draw(random, b * n), draw(random, k * n), draw(random, b * k));
        let mut want = dx0.clone();
        add_product_transposed(&mut want, &dy, &w, k, n, &mut Panel::default());
        let copy = Transposed::new(&w, k, n);
        for add in [add_kept_transposed, narrower_kept] {
            let mut dx = dx0.clone();
            add(&mut dx, &dy, &copy, &mut Panel::of_anything(7));
            assert!(dx == want, "{b} x {k} x {n}");
        }
    }
}

/// Whether multiply-add rounds once on this machine.
fn is_fused() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

#[test]
fn a_row_has_the_same_bits_alone_and_in_a_batch() {
    let random = &mut Random::new(5);
    for (b, k, n) in SHAPES {
        let (x, dy, w) = (draw(random, b * k), draw(random, b * n), draw(random, k * n));
        let panel = &mut Panel::default();
        let (mut y, mut dx) = (vec![0.0; b * n], vec![0.0; b * k]);
        add_product(&mut y, &x, &w, k, n);
        add_product_transposed(&mut dx, &dy, &w, k, n, panel);
        for i in 0..b {
            let (mut y_alone, mut dx_alone) = (vec![0.0; n], vec![0.0; k]);
            add_product(&mut y_alone, &x[i * k..(i + 1) * k], &w, k, n);
            add_product_transposed(&mut dx_alone, &dy[i * n..(i + 1) * n], &w, k, n, panel);
            assert_eq!(y[i * n..(i + 1) * n], y_alone, "shape {b} x {k} x {n}");
            assert_eq!(dx[i * k..(i + 1) * k], dx_alone, "shape {b} x {k} x {n}");
        }
    }
}
