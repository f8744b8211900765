//! Checkers that are good, slow, broken or hostile, all written as shell scripts.
//!
//! Each script gets its own folder as `$1`, and logs there that it was started. Outputs are strings
//! over `a`, `b` and `c`; the input is the text `x`.
#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cajole_core::{Constraint, Fault, Symbol, Violation};
use cajole_rules::{Cause, Checker, CheckerConfig, Judgement, Mode, Pass, Subject, Vocabulary};
use serde_json::json;

/// Accepts everything, but runs `$then` if the output contains a `c`.
const UNLESS_C: &str = r#"
while read -r line; do
    case $line in
        *'"output":"'*c*'","symbols"'*) echo asked >> "$1/asked"; $then ;;
        *) echo '{"loss": 0}' ;;
    esac
done"#;

struct Folder {
    dir: tempfile::TempDir,
    vocabulary: Arc<Vocabulary>,
}

impl Folder {
    fn new() -> Self {
        Folder {
            dir: tempfile::tempdir().unwrap(),
            vocabulary: Arc::new(Vocabulary::new(["a", "b", "c"], "")),
        }
    }

    /// Long timeouts, so that only a hanging script is late.
    fn config(&self, script: &str) -> CheckerConfig {
        let script = format!("echo started >> \"$1/log\"\n{script}");
        let dir = self.dir.path().to_str().unwrap();
        let command = ["sh", "-c", &script, "sh", dir];
        CheckerConfig::new(command).with(|config| config.timeout_ms = 30_000)
    }

    fn checker(&self, script: &str) -> Checker {
        self.with(self.config(script))
    }

    fn with(&self, config: CheckerConfig) -> Checker {
        Checker::new(config, &self.vocabulary).unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn n_lines(&self, name: &str) -> usize {
        std::fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }

    fn y(&self, text: &str) -> Vec<Symbol> {
        self.vocabulary.read(text).unwrap()
    }

    fn judge(&self, checker: &Checker, text: &str) -> Arc<Judgement> {
        checker.judge(&x(), &self.y(text))
    }

    fn cause(&self, checker: &Checker, text: &str) -> Cause {
        self.judge(checker, text).as_ref().clone().unwrap_err().cause
    }
}

fn x() -> Subject {
    Subject::new(vec!["x".to_owned()], json!("x"))
}

/// All strings over the vocabulary up to a length.
fn strings(longest: usize) -> Vec<Vec<Symbol>> {
    let mut all = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..longest {
        let longer = |y: &Vec<Symbol>| (0..3).map(|s| [&y[..], &[s]].concat()).collect::<Vec<_>>();
        last = last.iter().flat_map(longer).collect();
        all.extend(last.clone());
    }
    all
}

#[test]
fn eight_threads_use_eight_processes_and_ask_nothing_twice() {
    let folder = Folder::new();
    let checker = folder.checker(
        r#"while read -r line; do
            echo asked >> "$1/asked"
            case $line in
                *'"output":"'*b*'","symbols"'*) echo '{"loss": 2, "message": "a b"}' ;;
                *) echo '{"loss": 0}' ;;
            esac
        done"#,
    );
    let all = strings(5);
    let right = |y: &Vec<Symbol>| {
        let violation = checker.check(&x(), y);
        assert_eq!(violation.total(), if y.contains(&1) { 2.0 } else { 0.0 }, "{y:?}");
        let faults = checker.explain(&x(), y);
        assert_eq!(faults.iter().map(|fault| fault.cost).sum::<f32>(), violation.total());
        assert!(faults.iter().all(|f| f.message == "a b" && f.at == (0..y.len() + 1)));
    };
    thread::scope(|scope| {
        for k in 0..8 {
            let mine = all.iter().skip(k).step_by(8);
            scope.spawn(move || mine.for_each(right));
        }
    });
    all.iter().for_each(right);
    assert_eq!(folder.n_lines("asked"), all.len());
    let n_started = folder.n_lines("log");
    assert!((1..=8).contains(&n_started), "{n_started}");
}

#[test]
fn requests_match_the_documentation_and_parts_are_named() {
    let folder = Folder::new();
    let checker = folder.checker(
        r#"read -r line; printf '%s\n' "$line" > "$1/request"
        echo '{"loss": 3, "id": 0, "parts": [{"start": 1, "end": 3, "cost": 2, "message": "no"},
            {"start": 3, "end": 4, "cost": 4}]}' | tr -d '\n'; echo; read -r line"#,
    );
    let subject = Subject::new(vec![], json!({"words": ["ein\nbein", "\u{1f600}"]}));
    let y = folder.y("abc");
    let faults = checker.explain(&subject, &y);
    let fault = |at, cost, message: &str| Fault { at, cost, message: message.to_owned() };
    let named = fault(1..3, 1.0, "\"bc\" at positions 1..3: no");
    let end = fault(3..4, 2.0, "the end at position 3: the checker \"sh\" objects");
    assert_eq!(faults, [named, end]);
    assert_eq!(checker.check(&subject, &y).total(), 3.0);
    let request = std::fs::read_to_string(folder.path("request")).unwrap();
    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
    let symbols = ["a", "b", "c"];
    let expected = json!({"id": 0, "input": *subject.value(), "output": "abc", "symbols": symbols});
    assert_eq!(request, expected);
}

/// Trouble with a `c` affects that output alone, and is cached.
fn check_trouble(then: &str, timeout_ms: u64, is_expected: impl Fn(&Cause) -> bool) {
    let folder = Folder::new();
    let script = UNLESS_C.replace("$then", then);
    let limits = |c: &mut CheckerConfig| (c.timeout_ms, c.max_reply_bytes) = (timeout_ms, 10_000);
    let checker = folder.with(folder.config(&script).with(limits));
    assert_eq!(checker.check(&x(), &folder.y("a")), Violation::NONE, "{then}");
    let cause = folder.cause(&checker, "bc");
    assert!(checker.check(&x(), &folder.y("bc")).total().is_nan(), "{then}");
    assert!(is_expected(&cause), "{then}: {cause:?}");
    for text in ["b", "aa"] {
        assert_eq!(checker.check(&x(), &folder.y(text)), Violation::NONE, "{then}");
    }
    let n_asked = folder.n_lines("asked");
    let faults = checker.explain(&x(), &folder.y("bc"));
    let [fault] = &faults[..] else { panic!("{then}: {faults:?}") };
    assert!(fault.cost.is_nan() && fault.at == (0..3), "{fault:?}");
    assert!(fault.message.contains(&cause.to_string()), "{fault:?}");
    assert_eq!(folder.n_lines("asked"), n_asked, "{then}");
    // After an idle process is gone, one new process is tried.
    let most = if matches!(cause, Cause::Exited { .. } | Cause::Closed) { 2 } else { 1 };
    assert_eq!(n_asked, most, "{then}");
}

#[test]
fn a_hanging_checker_times_out() {
    let is_late = |cause: &Cause| *cause == Cause::Timeout { ms: 1500 };
    check_trouble("sleep 1000", 1500, is_late);
    check_trouble("sleep 1000 & wait", 1500, is_late);
    check_trouble("printf '{\"loss\": '; sleep 1000", 1500, is_late);
}

#[test]
fn crashed_or_closed_checkers_are_reported() {
    let exited = |how: &'static str| move |c: &Cause| matches!(c, Cause::Exited { status } if status.contains(how));
    check_trouble("exit 3", 30_000, exited("3"));
    check_trouble("kill -9 $$", 30_000, exited("9"));
    check_trouble("printf '{\"loss\": 0}'; exit 0", 30_000, exited("0"));
    check_trouble("exec >&-; sleep 1000", 30_000, |c| *c == Cause::Closed);
}

#[test]
fn a_flooding_checker_is_stopped() {
    let is_flood = |cause: &Cause| *cause == Cause::Flood { limit: 10_000 };
    check_trouble("while :; do printf 0123456789abcdef; done", 30_000, is_flood);
    check_trouble("while :; do echo 0123456789abcdef >&2; done", 30_000, is_flood);
    check_trouble("printf '{\"loss\": 0, \"message\": \"%20000s\"}\\n' x", 30_000, is_flood);
}

#[test]
fn invalid_replies_are_quoted() {
    let quotes = |what: &'static str, why: &'static str| {
        move |cause: &Cause| match cause {
            Cause::Reply { line, error } => line == what && error.to_string().contains(why),
            _ => false,
        }
    };
    check_trouble("echo rubbish", 30_000, quotes("rubbish", "expected value"));
    check_trouble("echo", 30_000, quotes("", "EOF"));
    check_trouble("printf '\\377\\n'", 30_000, quotes("\u{fffd}", "expected value"));
    let text = r#"{"loss": "0"}"#;
    check_trouble(&format!("echo '{text}'"), 30_000, quotes(text, "string"));
    let negative = r#"{"loss": -0.5}"#;
    check_trouble(&format!("echo '{negative}'"), 30_000, quotes(negative, "loss -0.5"));
}

#[test]
fn unsolicited_lines_are_rejected() {
    let is_unasked = |cause: &Cause| matches!(cause, Cause::Unasked { .. });
    let twice = r#"printf '{"loss": 0}\n{"loss": 0}\n'"#;
    check_trouble(twice, 30_000, is_unasked);
    check_trouble(r#"echo '{"loss": 0, "id": 99}'"#, 30_000, is_unasked);
    check_trouble(r#"echo '{"loss": 0, "id": "0"}'"#, 30_000, is_unasked);
}

#[test]
fn beside_ids_stray_lines_are_skipped() {
    let folder = Folder::new();
    let reply = r#"id=${line#*:}; id=${id%%,*}; echo "{\"loss\": 1, \"id\": $id}""#;
    // Each reply is followed by a line that would accept anything, if its id were right.
    let late = r#"echo "{\"loss\": 0, \"id\": $id}""#;
    for (before, during, after) in [
        ("", "", late),
        ("echo ready", "", ""),
        ("echo ready; echo again", "echo looking; sleep 0.01", "echo done"),
        (
            "",
            "echo '{\"loss\": 0, \"id\": 4000}'; echo '[1]'; echo",
            "printf 'half of a line'; echo",
        ),
        ("", "echo '{\"level\": \"info\"}'", "echo '{\"loss\": 0}'"),
    ] {
        // The first reply says that there are ids; before it, an object may be a faulty reply.
        let script = format!(
            "{before}
            read -r line; {reply}; {after}
            while read -r line; do {during}
                {reply}
                {after}
            done"
        );
        let checker = folder.checker(&script);
        for y in strings(3) {
            let judgement = checker.judge(&x(), &y);
            let verdict = judgement.as_ref().as_ref().unwrap_or_else(|e| panic!("{script}: {e}"));
            assert_eq!(verdict.loss, 1.0, "{script}");
        }
    }
}

#[test]
fn what_answers_the_request_and_is_no_reply_is_reported_at_once() {
    let folder = Folder::new();
    let checker = folder.checker(
        r#"while read -r line; do
            id=${line#*:}; id=${id%%,*}
            echo thinking; echo "{\"loss\": -1, \"id\": $id}"
        done"#,
    );
    let cause = folder.cause(&checker, "a");
    assert!(matches!(&cause, Cause::Reply { line, .. } if line.contains("-1")), "{cause:?}");
    // Without a reply until the end, the first stray line is quoted, in every run.
    let config = folder.config("while read -r line; do echo rubbish; echo more; done");
    let checker = folder.with(config.with(|config| config.timeout_ms = 400));
    let cause = folder.cause(&checker, "a");
    assert!(matches!(&cause, Cause::Reply { line, .. } if line == "rubbish"), "{cause:?}");
}

#[test]
fn one_that_ends_before_it_is_asked_is_not_started_again_and_again() {
    let folder = Folder::new();
    let broken = folder.checker("sleep 0.2; echo 'no module' >&2; exit 2");
    for y in strings(3) {
        let judgement = broken.judge(&x(), &y);
        let trouble = judgement.as_ref().as_ref().unwrap_err();
        let text = trouble.to_string();
        assert!(
            matches!(&trouble.cause, Cause::Exited { status } if status.contains('2')),
            "{text}"
        );
        assert!(text.ends_with("no module"), "{text}");
    }
    assert_eq!(folder.n_lines("log"), 2, "once for a request, once without");
    // One that ends at its requests may still reply to the next.
    let folder = Folder::new();
    let fussy = folder.checker(&UNLESS_C.replace("$then", "exit 3"));
    assert!(matches!(folder.cause(&fussy, "c"), Cause::Exited { .. }));
    assert!(matches!(folder.cause(&fussy, "bc"), Cause::Exited { .. }));
    assert_eq!(fussy.check(&x(), &folder.y("a")), Violation::NONE);
}

#[test]
fn greeting_first_or_never_reading_is_an_error() {
    let folder = Folder::new();
    let greeter = folder.checker("echo ready; while read -r line; do echo '{\"loss\": 0}'; done");
    // Without ids, the greeting is in the place of a reply.
    for text in ["a", "b", "c"] {
        let cause = folder.cause(&greeter, text);
        assert!(matches!(&cause, Cause::Reply { line, .. } if line == "ready"), "{cause:?}");
    }
    let config = folder.config("sleep 1000").with(|config| config.timeout_ms = 500);
    let deaf = folder.with(config);
    let large = Subject::new(vec![], json!("x".repeat(1 << 20)));
    let start = Instant::now();
    let judgement = deaf.judge(&large, &[0]);
    let cause = &judgement.as_ref().as_ref().unwrap_err().cause;
    assert_eq!(*cause, Cause::Timeout { ms: 500 });
    drop(deaf);
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn exiting_at_once_or_not_existing_is_an_error() {
    let folder = Folder::new();
    let ender = folder.checker("echo 'no licence' >&2; exit 7");
    let judgement = folder.judge(&ender, "a");
    let trouble = judgement.as_ref().as_ref().unwrap_err();
    assert!(matches!(&trouble.cause, Cause::Exited { status } if status.contains('7')));
    assert_eq!(trouble.last_words, "no licence");
    assert!(trouble.to_string().ends_with("; its last output: no licence"), "{trouble}");
    for mode in [Mode::Lines, Mode::ExitCode] {
        let config = CheckerConfig::new(["/no/such/program"]).with(|config| config.mode = mode);
        let missing = folder.with(config);
        assert!(matches!(folder.cause(&missing, "a"), Cause::Start { .. }));
        let message = &missing.explain(&x(), &[0])[0].message;
        assert!(message.contains("\"/no/such/program\" could not be started"), "{message}");
    }
}

#[test]
fn slow_start_and_limited_replies_are_fine() {
    let folder = Folder::new();
    let script = "sleep 1; read -r l; echo '{\"loss\": 0}'; read -r l; echo '{\"loss\": 0}'";
    let checker = folder.checker(script);
    for text in ["a", "b", "ab", "ba"] {
        assert_eq!(checker.check(&x(), &folder.y(text)), Violation::NONE);
    }
    assert_eq!(folder.n_lines("log"), 2);
}

#[test]
fn a_small_cache_evicts_the_oldest() {
    let folder = Folder::new();
    let script = "while read -r l; do echo asked >> \"$1/asked\"; echo '{\"loss\": 0}'; done";
    let checker = folder.with(folder.config(script).with(|config| config.cache = 2));
    for (text, n_asked) in [("a", 1), ("b", 2), ("a", 2), ("c", 3), ("b", 3), ("a", 4)] {
        folder.judge(&checker, text);
        assert_eq!(folder.n_lines("asked"), n_asked, "{text}");
    }
    // Another input is another request.
    checker.judge(&Subject::new(vec![], json!("z")), &folder.y("a"));
    assert_eq!(folder.n_lines("asked"), 5);
}

/// The judgement of `ab` by a script in [`Mode::ExitCode`].
fn exit_code(script: &str, pass: Pass) -> Judgement {
    let folder = Folder::new();
    let config = folder.config(script).with(|config| {
        (config.mode, config.pass, config.max_reply_bytes) = (Mode::ExitCode, pass, 10_000);
    });
    let checker = folder.with(config);
    let judgement = folder.judge(&checker, "ab").as_ref().clone();
    assert_eq!(
        checker.check(&x(), &folder.y("ab")).is_satisfied(),
        checker.explain(&x(), &folder.y("ab")).is_empty()
    );
    assert_eq!(folder.n_lines("log"), 1);
    judgement
}

#[test]
fn exit_codes_are_verdicts() {
    let loss = |script: &str, pass| exit_code(script, pass).unwrap().loss;
    assert_eq!(loss(r#"test "$(cat; echo .)" = ab."#, Pass::Text), 0.0);
    assert_eq!(loss(r#"test "$(cat)" = ba"#, Pass::Text), 1.0);
    assert_eq!(loss(r#"test "$CAJOLE_INPUT" = x"#, Pass::Text), 0.0);
    let request = r#"{"input":"x","output":"ab","symbols":["a","b"]}"#;
    assert_eq!(loss(&format!("test \"$(cat)\" = '{request}'"), Pass::Json), 0.0);
    let message = |script: &str| exit_code(script, Pass::Text).unwrap().message;
    assert_eq!(message("exit 4"), "exit code 4");
    assert_eq!(message("for i in 1 2 3 4 5 6; do echo $i; done; exit 1"), "2\n3\n4\n5\n6");
    assert_eq!(message("echo 'line 1: no' >&2; exit 1"), "line 1: no");
    // Background processes it leaves behind are not waited for.
    assert_eq!(loss("sleep 1000 & exit 0", Pass::Text), 0.0);
}

#[test]
fn exit_code_checkers_can_fail_too() {
    let cause = |script: &str| exit_code(script, Pass::Text).unwrap_err().cause;
    assert!(matches!(cause("kill -9 $$"), Cause::Killed { status } if status.contains('9')));
    assert_eq!(cause("while :; do echo 0123456789; done"), Cause::Flood { limit: 10_000 });
    assert_eq!(cause("printf %20000s x >&2"), Cause::Flood { limit: 10_000 });
    let folder = Folder::new();
    let config = |script| folder.config(script).with(|config| config.mode = Mode::ExitCode);
    let hanging = folder.with(config("sleep 1000").with(|config| config.timeout_ms = 500));
    assert_eq!(folder.cause(&hanging, "a"), Cause::Timeout { ms: 500 });
    // An environment variable cannot contain NUL; that must be an error, not a panic.
    let nul = Subject::new(vec![], json!("a\0b"));
    let checker = folder.with(config("exit 0"));
    let judgement = checker.judge(&nul, &[0]);
    assert!(matches!(judgement.as_ref().as_ref().unwrap_err().cause, Cause::Start { .. }));
    // A large input that nobody reads.
    let deaf = folder.with(config("exit 0").with(|config| config.pass = Pass::Json));
    let large = Subject::new(vec![], json!("x".repeat(1 << 20)));
    assert_eq!(deaf.check(&large, &[0]), Violation::NONE);
}

#[test]
fn dropping_a_checker_kills_all_its_processes() {
    let folder = Folder::new();
    let checker = folder.checker(
        r#"echo $$ > "$1/pid"
        (while :; do echo alive >> "$1/alive"; sleep 0.05 2>/dev/null || sleep 1; done) &
        while read -r line; do echo '{"loss": 0}'; done"#,
    );
    assert_eq!(checker.check(&x(), &[0]), Violation::NONE);
    let pid = std::fs::read_to_string(folder.path("pid")).unwrap();
    let is_there = || {
        let mut kill = Command::new("sh");
        kill.args(["-c", &format!("kill -0 {}", pid.trim())]).stderr(Stdio::null());
        kill.status().unwrap().success()
    };
    wait_for(&folder.path("alive"));
    assert!(is_there());
    drop(checker);
    // Not even a zombie.
    assert!(!is_there());
    let n_alive = folder.n_lines("alive");
    thread::sleep(Duration::from_millis(1300));
    assert_eq!(folder.n_lines("alive"), n_alive);
}

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
}
