//! Figures about the service, as Prometheus reads them.

use cajole_infer::figures::Measured;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of latencies, in seconds.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

/// Upper bounds of the numbers of inputs that are answered together.
const INPUTS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0];

/// All counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Requests by path and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    /// How long requests took, by path.
    latencies: Mutex<BTreeMap<&'static str, Histogram<14>>>,
    lots: Mutex<Histogram<8>>,
    /// Requests in progress.
    pub(crate) in_progress: AtomicU64,
    /// Open connections.
    pub(crate) connections: AtomicU64,
    inputs: AtomicU64,
    failures: AtomicU64,
    conversions: AtomicU64,
    steps: AtomicU64,
    lost: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Histogram<const N: usize> {
    counts: [u64; N],
    count: u64,
    sum: f64,
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Histogram { counts: [0; N], count: 0, sum: 0.0 }
    }
}

impl<const N: usize> Histogram<N> {
    fn add(&mut self, bounds: &[f64; N], value: f64) {
        for (count, bound) in self.counts.iter_mut().zip(bounds) {
            *count += u64::from(value <= *bound);
        }
        self.count += 1;
        self.sum += value;
    }

    fn write(&self, to: &mut String, name: &str, label: &str, bounds: &[f64; N]) {
        let comma = if label.is_empty() { "" } else { "," };
        for (count, bound) in self.counts.iter().zip(bounds) {
            let _ = writeln!(to, "{name}_bucket{{{label}{comma}le=\"{bound}\"}} {count}");
        }
        let Histogram { count, sum, .. } = self;
        let _ = writeln!(to, "{name}_bucket{{{label}{comma}le=\"+Inf\"}} {count}");
        let braces = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
        let _ = writeln!(to, "{name}_sum{braces} {sum}\n{name}_count{braces} {count}");
    }
}

impl Metrics {
    /// Counts a request.
    pub(crate) fn request(&self, path: &'static str, status: u16, took: Duration) {
        *lock(&self.requests).entry((path, status)).or_default() += 1;
        lock(&self.latencies).entry(path).or_default().add(&SECONDS, took.as_secs_f64());
    }

    /// Counts inputs that are answered together.
    pub(crate) fn lot(&self, inputs: usize) {
        lock(&self.lots).add(&INPUTS, inputs as f64);
    }

    /// Counts the answers to an input.
    pub(crate) fn answered(&self, answers: &[Measured]) {
        let add = |count: &AtomicU64, n: u64| count.fetch_add(n, Ordering::Relaxed);
        for answer in answers {
            add(&self.inputs, 1);
            add(&self.failures, u64::from(answer.is_failure));
            add(&self.conversions, u64::from(answer.is_failure && answer.is_satisfied));
            add(&self.steps, answer.steps as u64);
        }
    }

    /// Counts a lot whose results were lost.
    pub(crate) fn lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// All figures, with how many inputs wait.
    pub(crate) fn text(&self, waiting: usize) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let name = "cajole_requests_total";
        head(&mut text, name, "counter", "Requests by path and status.");
        for ((path, status), count) in lock(&self.requests).iter() {
            let _ = writeln!(text, "{name}{{path=\"{path}\",status=\"{status}\"}} {count}");
        }
        let name = "cajole_request_seconds";
        head(&mut text, name, "histogram", "Time until the head of the response, by path.");
        for (path, histogram) in lock(&self.latencies).iter() {
            histogram.write(&mut text, name, &format!("path=\"{path}\""), &SECONDS);
        }
        let name = "cajole_batch_inputs";
        head(&mut text, name, "histogram", "Inputs that were answered together.");
        lock(&self.lots).write(&mut text, name, "", &INPUTS);
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let rows = [
            ("cajole_inputs_total", "counter", "Inputs answered.", get(&self.inputs)),
            (
                "cajole_failures_total",
                "counter",
                "Inputs whose own output violated the rules.",
                get(&self.failures),
            ),
            (
                "cajole_conversions_total",
                "counter",
                "Failures whose output satisfies the rules now.",
                get(&self.conversions),
            ),
            ("cajole_steps_total", "counter", "Nudges taken.", get(&self.steps)),
            ("cajole_lost_lots_total", "counter", "Lots of inputs lost to bugs.", get(&self.lost)),
            ("cajole_queue_inputs", "gauge", "Inputs that wait.", waiting as u64),
            (
                "cajole_requests_in_progress",
                "gauge",
                "Requests in progress.",
                get(&self.in_progress),
            ),
            ("cajole_connections", "gauge", "Open connections.", get(&self.connections)),
        ];
        for (name, kind, help, value) in rows {
            head(&mut text, name, kind, help);
            let _ = writeln!(text, "{name} {value}");
        }
        if let Some(bytes) = resident_bytes() {
            let name = "process_resident_memory_bytes";
            head(&mut text, name, "gauge", "Memory of the process.");
            let _ = writeln!(text, "{name} {bytes}");
        }
        text
    }
}

/// The memory of this process, if the system reports it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let metrics = Metrics::default();
        metrics.request("/v1/infer", 200, Duration::from_millis(4));
        metrics.request("/v1/infer", 200, Duration::from_secs(120));
        metrics.lot(3);
        let text = metrics.text(7);
        for line in [
            "cajole_requests_total{path=\"/v1/infer\",status=\"200\"} 2",
            "cajole_request_seconds_bucket{path=\"/v1/infer\",le=\"0.0025\"} 0",
            "cajole_request_seconds_bucket{path=\"/v1/infer\",le=\"0.005\"} 1",
            "cajole_request_seconds_bucket{path=\"/v1/infer\",le=\"60\"} 1",
            "cajole_request_seconds_bucket{path=\"/v1/infer\",le=\"+Inf\"} 2",
            "cajole_batch_inputs_bucket{le=\"4\"} 1",
            "cajole_batch_inputs_sum 3",
            "cajole_queue_inputs 7",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
