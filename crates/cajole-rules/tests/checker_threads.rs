//! Checkers leave no threads behind. The only test in its process, so that it can count threads.
#![cfg(target_os = "linux")]

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cajole_rules::{Checker, CheckerConfig, Mode, Pass, Subject, Vocabulary};

/// The number of checker threads once it is `expected`, or after ten seconds. A thread that was
/// joined may be listed a moment longer: the kernel wakes the joining thread first.
fn n_threads(expected: usize) -> usize {
    let start = Instant::now();
    loop {
        let n = n_listed();
        if n == expected || start.elapsed() > Duration::from_secs(10) {
            return n;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn n_listed() -> usize {
    let name =
        |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(Result::unwrap);
    tasks.map(name).filter(|name| name.trim() == "checker").count()
}

#[test]
fn no_thread_outlives_a_checker_even_if_its_pipe_is_held_open() {
    let vocabulary = Arc::new(Vocabulary::new(["a"], ""));
    // Larger than a pipe buffer, so the writer blocks if nobody reads.
    let subject = Subject::new(vec![], "x".repeat(200_000).into());
    // In its own session it is not killed with the rest, and holds all pipes open.
    let escape = "setsid sleep 20 0<&0 &";
    let reply = "while read -r line; do echo '{\"loss\": 0}'; done";
    for (mode, script) in [
        (Mode::Lines, format!("{escape} {reply}")),
        (Mode::Lines, format!("{escape} sleep 20")),
        (Mode::ExitCode, format!("{escape} exit 0")),
        (Mode::ExitCode, format!("{escape} sleep 20")),
    ] {
        let start = Instant::now();
        let config = CheckerConfig::new(["sh", "-c", &script])
            .with(|c| (c.mode, c.pass, c.timeout_ms) = (mode, Pass::Json, 3000));
        let checker = Checker::new(config, &vocabulary).unwrap();
        let judgement = checker.judge(&subject, &[0]);
        assert_eq!(judgement.is_err(), script.ends_with("sleep 20"), "{judgement:?}");
        let n_kept = if script.ends_with("done") { 3 } else { 0 };
        assert_eq!(n_threads(n_kept), n_kept, "{script}");
        drop(checker);
        // Less than the sleep: nothing waited for the process that holds the pipes open.
        assert!(start.elapsed() < Duration::from_secs(15), "{script}");
        assert_eq!(n_threads(0), 0, "{script}");
    }
}
