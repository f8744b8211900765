"""The package and the command line give the same bytes, figures and messages."""

from __future__ import annotations

import gzip
import json
import pathlib
from collections.abc import Callable

import corpora
import pytest

import cajole

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"

NO_TWO = "must-not-have = ['B-ARG1 I-ARG1']"

CASES = {
    "transducer": (corpora.transductions(400), None),
    "transducer, full": (corpora.transductions(200, 2), RULES / "transduction-full.toml"),
    "parser": (corpora.word_salad(60), None),
    "tagger": (corpora.predicates(60), "tagger.toml"),
    "expressions": (corpora.expressions(120), RULES / "expressions.toml"),
}


def rule_file(rules: pathlib.Path | str | None, folder: pathlib.Path) -> pathlib.Path | None:
    if rules == "tagger.toml":
        path = folder / rules
        path.write_text(NO_TWO)
        return path
    return pathlib.Path(rules) if rules else None


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["usual", "gbi", "masked", "network"])
def test_the_same_bytes(
    case: str, engine: cajole.Engine, command: Callable[..., bytes], tmp_path: pathlib.Path
) -> None:
    lines, rules = CASES[case]
    name = case.split(",")[0]
    path = rule_file(rules, tmp_path)
    flags = ["--constraint", str(path)] if path else []
    want = command(
        "infer", "--model", name, "--engine", engine, "--no-times", "--explain", *flags, lines=lines
    )
    results = cajole.load(name).infer(lines, rules=path, engine=engine, trace=True)
    got = "".join(result.to_json() + "\n" for result in results).encode()
    assert got == want
    passes = [a.passes for r in cajole.load(name).infer(lines, rules=path) for a in r.answers]
    assert any(passes), "none of these inputs needs a repair: the test shows nothing"


def test_a_file_is_read_as_the_command_line_reads_it(
    transducer: cajole.Model, command: Callable[..., bytes], tmp_path: pathlib.Path
) -> None:
    lines = ["azbz", "", '{"input": "bzaz", "id": "x"}', "qq", '{"input"', "\ufeffaz"]
    want = command("infer", "--no-times", lines=lines)
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))
    got = "".join(result.to_json() + "\n" for result in transducer.infer(path)).encode()
    assert got == want and got.count(b"\n") == 5


def test_any_number_of_threads_gives_the_same(transducer: cajole.Model) -> None:
    lines = corpora.transductions(700, 3)
    one, four = ([r.to_json() for r in transducer.infer(lines, threads=n)] for n in (1, 4))
    assert one == four and len(one) == 700


def test_settings_are_those_of_the_flags(
    transducer: cajole.Model, command: Callable[..., bytes]
) -> None:
    lines = corpora.transductions(60, 4)
    flags = ["--preset", "paper", "--set", "schedule.step-size=0.3", "--max-steps", "7"]
    want = command("infer", "--no-times", *flags, lines=lines)
    settings = {"schedule": {"step-size": 0.3}}
    results = transducer.infer(lines, preset="paper", settings=settings, max_steps=7)
    assert "".join(result.to_json() + "\n" for result in results).encode() == want


def test_comparisons_agree(transducer: cajole.Model, command: Callable[..., bytes]) -> None:
    lines = corpora.transductions(60, 5)
    want = json.loads(command("compare", "--json", "--engines", "gbi,masked", lines=lines))
    report = transducer.compare(lines, engines=["gbi", "masked"])
    times = ("milliseconds", "ms")
    for ours, theirs in zip(report.rows, want["rows"], strict=True):
        assert {k: v for k, v in ours.items() if k not in times} == {
            k: v for k, v in theirs.items() if k not in times
        }
    assert "<iframe" in report._repr_html_() and "gbi" in str(report)


def test_lint_agrees(command: Callable[..., bytes], tmp_path: pathlib.Path) -> None:
    gold = [{"input": "az", "output": "aaa"}, {"input": "az", "output": "aa"}, {"input": 3}]
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in gold))
    rules = RULES / "transduction.toml"
    want = json.loads(command("lint", str(rules), str(path), "--characters", "--json"))
    report = cajole.lint(rules, gold, characters=True)
    assert report.rows == want["rows"]
    assert report.passed_over and "3" in report.passed_over[0]

    def thrice(x: str, y: cajole.Output) -> bool:
        return y.count("a") == 3 * x.count("a")

    [row] = cajole.lint(thrice, gold, characters=True).rows
    assert (row["total"], row["failures"]) == (2, 1)


def test_scorers_agree(command: Callable[..., bytes], tmp_path: pathlib.Path) -> None:
    gold, test = tmp_path / "gold", tmp_path / "test"
    gold.write_text("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))\n")
    test.write_text("(TOP (S (NP (DT the) (NN dog)) (VBZ barks) (. .)))\n")
    scores = cajole.evalb(gold, test)
    assert scores.to_dict() == json.loads(command("evalb", "--json", str(gold), str(test)))
    assert str(scores).strip() == command("evalb", str(gold), str(test)).decode().strip()
    assert (scores.precision, scores.recall) == (100.0, pytest.approx(200 / 3))
    gold.write_text("-\t(ARG0*)\nknow\t(V*)\n-\t(ARG1*\n-\t*)\n\n")
    test.write_text("-\t(ARG0*)\nknow\t(V*)\n-\t(ARG1*)\n-\t*\n\n")
    roles = cajole.srl_eval(gold, test)
    assert roles.to_dict() == json.loads(command("srl-eval", "--json", str(gold), str(test)))
    assert roles.f1 == 50.0
    with pytest.raises(cajole.CajoleError, match="nowhere"):
        cajole.evalb(tmp_path / "nowhere", test)
