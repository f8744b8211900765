//! The time that is left for one input.

use std::time::{Duration, Instant};

/// The time that is left for one input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// When whoever waits for it gives up.
    pub(crate) until: Option<Instant>,
    /// How much work on it is left. Waiting for other inputs uses none of it.
    pub(crate) left: Option<Duration>,
}

impl Time {
    pub(crate) fn is_up(&self) -> bool {
        let is_over = self.until.is_some_and(|until| until <= Instant::now());
        is_over || self.left.is_some_and(|left| left.is_zero())
    }

    pub(crate) fn spend(&mut self, time: Duration) {
        self.left = self.left.map(|left| left.saturating_sub(time));
    }

    /// How long one of `n` inputs of a line may take if `abreast` of them run at a time. Inputs that
    /// run together share the clock, so each may use the time of all of them, divided by the number of
    /// turns. In total the line uses no more than its inputs have.
    pub(crate) fn within(&self, n: usize, abreast: usize) -> Option<Duration> {
        let turns = n.div_ceil(abreast.max(1)).max(1);
        let all = self.left?.checked_mul(n.try_into().ok()?)?;
        Some(all / turns as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_a_line_use_its_time_however_many_run_together() {
        let second = Duration::from_secs(1);
        let time = Time { until: None, left: Some(second) };
        let within = |n, abreast| time.within(n, abreast).unwrap();
        assert_eq!((within(1, 20), within(6, 1)), (second, second));
        assert_eq!((within(6, 6), within(6, 20)), (6 * second, 6 * second));
        assert_eq!(within(6, 4), 3 * second, "in two turns");
        let endless = Time { until: None, left: Some(Duration::MAX) };
        assert_eq!(endless.within(2, 2), None, "no clock can hold it");
        assert!(!endless.is_up() && Time { left: Some(Duration::ZERO), ..endless }.is_up());
    }
}
