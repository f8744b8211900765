//! Places labels next to their points, avoiding other points and labels where possible.

/// A rectangle, in the units of the drawing. `y` grows downwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Rect {
    /// The square around a point.
    pub(super) fn around((x, y): (f64, f64), radius: f64) -> Rect {
        Rect { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius }
    }

    fn area(&self) -> f64 {
        (self.right - self.left).max(0.0) * (self.bottom - self.top).max(0.0)
    }

    /// The area that two rectangles share.
    fn overlap(&self, other: &Rect) -> f64 {
        Rect {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
        .area()
    }
}

/// The position of a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    /// The space it takes.
    pub(super) rect: Rect,
    /// The point it names.
    pub(super) point: (f64, f64),
    /// The side of the point it is on: -1 for left, 0 for above or below, 1 for right.
    pub(super) side: i8,
    /// Whether it is far enough away to need a leader line.
    pub(super) is_far: bool,
}

/// A label may lose this share of its area to others, or to the edge.
const HIDDEN: f64 = 0.1;

/// The gap between a point and an adjacent label.
const NEAR: f64 = 8.0;

/// Places a label next to one of `points`, inside `frame` and clear of `taken`; `None` if there is no
/// room.
pub(super) fn place(
    (width, height): (f64, f64),
    points: &[(f64, f64)],
    taken: &[Rect],
    frame: &Rect,
) -> Option<Label> {
    const SIDES: [(i8, f64); 8] =
        [(1, 0.0), (-1, 0.0), (0, -1.0), (0, 1.0), (1, -1.0), (1, 1.0), (-1, -1.0), (-1, 1.0)];
    let mut best: Option<(f64, Label)> = None;
    for (ring, ring_distance) in [1.0, 2.5, 4.5, 6.5, 8.5].into_iter().enumerate() {
        let distance = NEAR * ring_distance;
        for &(x, y) in points {
            for (preference, &(side, slope)) in SIDES.iter().enumerate() {
                let centre_x = x + f64::from(side) * (distance + width / 2.0);
                let centre_y = y + slope * (distance + height / 2.0);
                let rect = Rect {
                    left: centre_x - width / 2.0,
                    top: centre_y - height / 2.0,
                    right: centre_x + width / 2.0,
                    bottom: centre_y + height / 2.0,
                };
                let covered: f64 = taken.iter().map(|other| rect.overlap(other)).sum();
                let outside = rect.area() - rect.overlap(frame);
                let cost = 2.0 * covered + 4.0 * outside + 20.0 * ring as f64 + preference as f64;
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, Label { rect, point: (x, y), side, is_far: ring > 0 }));
                }
            }
        }
    }
    let is_clear = |label: &Label| {
        let outside = label.rect.area() - label.rect.overlap(frame);
        let covered: f64 = taken.iter().map(|other| label.rect.overlap(other)).sum();
        covered + outside < HIDDEN * label.rect.area()
    };
    best.map(|(_, label)| label).filter(is_clear)
}

#[cfg(test)]
mod tests {
    use super::{Rect, place};

    const FRAME: Rect = Rect { left: 0.0, top: 0.0, right: 500.0, bottom: 300.0 };

    #[test]
    fn an_isolated_point_is_labelled_on_its_right() {
        let label = place((60.0, 14.0), &[(100.0, 100.0)], &[], &FRAME).unwrap();
        assert!(label.side == 1 && !label.is_far && label.rect.left > 100.0);
    }

    #[test]
    fn labels_stay_inside_the_frame() {
        for corner in [(0.0, 0.0), (500.0, 0.0), (0.0, 300.0), (500.0, 300.0)] {
            let rect = place((60.0, 14.0), &[corner], &[], &FRAME).unwrap().rect;
            assert!(rect.overlap(&FRAME) > 0.9 * rect.area(), "{rect:?}");
        }
    }

    #[test]
    fn labels_of_crowded_points_do_not_overlap() {
        let points = [(250.0, 150.0), (252.0, 151.0), (250.0, 156.0), (247.0, 149.0)];
        let mut taken: Vec<Rect> = points.iter().map(|&point| Rect::around(point, 5.0)).collect();
        for point in points {
            let label = place((90.0, 14.0), &[point], &taken, &FRAME).unwrap();
            assert!(taken.iter().all(|other| label.rect.overlap(other) == 0.0), "{label:?}");
            taken.push(label.rect);
        }
    }

    #[test]
    fn where_there_is_no_room_there_is_no_label() {
        let taken = [Rect { left: 0.0, top: 0.0, right: 500.0, bottom: 300.0 }];
        assert!(place((60.0, 14.0), &[(250.0, 150.0)], &taken, &FRAME).is_none());
        assert!(place((600.0, 14.0), &[(250.0, 150.0)], &[], &FRAME).is_none(), "too long");
    }

    #[test]
    fn without_points_there_is_no_label() {
        assert!(place((60.0, 14.0), &[], &[], &FRAME).is_none());
    }
}
