"""Rules in TOML and rules in Python."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import corpora
import pytest

import cajole

THRICE = """arithmetic = 'count(out, "a") = 3 * count(in, "a")'"""


def thrice(x: str, y: cajole.Output) -> float:
    return abs(3 * x.count("a") - y.count("a"))


def without_faults(result: cajole.Result) -> dict[str, Any]:
    record = result.to_dict()
    record.pop("faults", None)
    return record


def test_a_function_equals_the_same_rule_in_toml(transducer: cajole.Model) -> None:
    """Lowering asks a rule for its value alone, so both rules take the same path."""
    inputs = corpora.transductions(1000, 6)
    in_python = transducer.infer(inputs, rules=thrice, preset="paper", max_steps=20)
    toml = cajole.Rules.from_toml(THRICE)
    in_toml = transducer.infer(inputs, rules=toml, preset="paper", max_steps=20)
    failures = 0
    for ours, theirs in zip(in_python, in_toml, strict=True):
        assert without_faults(ours) == without_faults(theirs)
        failures += ours.g_before > 0
    assert failures > 100
    assert in_python.totals["failures"] == failures


def test_truth_values_numbers_and_dicts(transducer: cajole.Model) -> None:
    x = "azbzazazazazazazazazbz"  # the network's own output has three a too few
    rules: list[tuple[Any, float]] = [
        (lambda x, y: thrice(x, y) == 0, 1.0),
        (lambda x, y: thrice(x, y), 3.0),
        (lambda x, y: int(thrice(x, y)), 3.0),
        (lambda x, y: {"loss": thrice(x, y) / 2, "message": "too few"}, 1.5),
        (lambda x, y: {"loss": 1, "parts": [{"start": 0, "end": 2, "cost": 7}]}, 1.0),
    ]
    for rule, g in rules:
        [result] = transducer.infer([x], rules=rule, engine="network")
        assert (result.g_before, result.status) == (g, "unchanged"), result
    assert "too few" not in result.faults[0]["message"]
    assert result.faults == [
        {"start": 0, "end": 2, "cost": 1.0, "message": result.faults[0]["message"]}
    ]


def test_scalars_of_numpy(transducer: cajole.Model) -> None:
    numpy = pytest.importorskip("numpy")
    [fine] = transducer.infer(["azbz"], rules=lambda x, y: numpy.bool_(True))
    [wrong] = transducer.infer(["azbz"], rules=lambda x, y: numpy.float32(2.0), engine="network")
    assert (fine.status, wrong.g_after) == ("satisfied", 2.0)


def test_rules_are_combined(transducer: cajole.Model) -> None:
    def short(x: str, y: cajole.Output) -> bool:
        return len(y.symbols) <= 5

    both = cajole.Rules.from_toml(THRICE, name="counts") & cajole.Rules.from_callable(short)
    inputs = ["azbz", "azazazaz"]
    alternatives: list[Any] = [both, [cajole.Rules.from_toml(THRICE), short]]
    for rules in alternatives:
        first, second = transducer.infer(inputs, rules=rules, engine="network")
        assert first.status == "satisfied"
        assert [fault["message"] for fault in second.faults] == ["short: returned False"]
    assert repr(both) == "<cajole.Rules: counts, short>"


def test_rules_and_models_are_pickled(transducer: cajole.Model) -> None:
    rules = cajole.Rules.from_toml(THRICE) & cajole.Rules.from_callable(thrice)
    again = pickle.loads(pickle.dumps(rules))
    model = pickle.loads(pickle.dumps(transducer))
    inputs = corpora.transductions(20, 7)
    ours, theirs = transducer.infer(inputs, rules=rules), model.infer(inputs, rules=again)
    assert [r.to_json() for r in ours] == [r.to_json() for r in theirs]


def test_a_rule_that_nothing_satisfies_is_warned_of(transducer: cajole.Model) -> None:
    rules = cajole.Rules.from_toml('must-have = ["a"]\nmust-not-have = ["a"]')
    with pytest.warns(UserWarning, match="no output can satisfy"):
        transducer.infer(["az"], rules=rules)


def test_the_input_is_seen_as_it_was_written(transducer: cajole.Model) -> None:
    seen = []

    def look(x: Any, y: cajole.Output) -> bool:
        seen.append((x, y, y.symbols))
        return True

    list(transducer.infer(["az", ["b", "z"], {"input": "bz", "id": 1}], rules=look, threads=1))
    assert seen == [
        ("az", "aaa", ("a", "a", "a")),
        (("b", "z"), "zb", ("z", "b")),
        ("bz", "zb", ("z", "b")),
    ]


def test_a_checker_that_cannot_run_is_reported_before_any_work(
    transducer: cajole.Model, tmp_path: Path
) -> None:
    for command, why in [
        ("['./nowhere']", "could not be started"),
        ("['sh', '-c', 'echo no licence >&2; exit 3']", "its last output: no licence"),
    ]:
        rules = cajole.Rules.from_toml(f"checker = {{ command = {command} }}", folder=tmp_path)
        with pytest.raises(cajole.RuleError, match=why):
            list(transducer.infer(["az", "bz"], rules=rules))
        with pytest.raises(cajole.RuleError, match=why):
            transducer.compare(["az", "bz"], rules=rules)
        with pytest.raises(cajole.RuleError, match=why):
            cajole.lint(rules, [{"input": "a", "output": "b"}])
