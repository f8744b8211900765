"""An error costs only its own input, and says why."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import corpora
import pytest

import cajole


def raises(x: str, y: cajole.Output) -> bool:
    if x == "bzaz":
        raise ValueError("I do not like " + x)
    return True


def changes_its_input(x: Any, y: cajole.Output) -> bool:
    x["tokens"] = []
    return True


def changes_its_output(x: Any, y: cajole.Output) -> bool:
    y.symbols = ()
    return True


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (raises, r"raises: raised ValueError: I do not like bzaz \(.*test_bad_input.py:\d+\)"),
        (lambda x, y: float("nan") if x == "bzaz" else 0.0, "returned nan"),
        (lambda x, y: float("inf") if x == "bzaz" else 0.0, "returned inf"),
        (lambda x, y: -1 if x == "bzaz" else 0, "loss -1 is not a finite number >= 0"),
        (lambda x, y: None if x == "bzaz" else True, "returned None: .* a number, a bool"),
        (lambda x, y: {} if x == "bzaz" else True, "missing field `loss`"),
        (lambda x, y: y.symbols.append("a") if x == "bzaz" else True, "no attribute 'append'"),
        (lambda x, y: changes_its_output(x, y) if x == "bzaz" else True, "'symbols' is read-only"),
    ],
)
def test_a_rule_that_fails_costs_its_own_input(
    transducer: cajole.Model, rule: Any, why: str
) -> None:
    inputs = ["azbz", "bzaz", "az"]
    first, second, third = transducer.infer(inputs, rules=rule)
    assert (first.status, second.status, third.status) == ("satisfied", "unmeasured", "satisfied")
    assert first.error is None
    with pytest.raises(cajole.RuleError, match=f"inputs:2: .*{why}"):
        second.raise_for_error()
    with pytest.raises(cajole.RuleError, match=why):
        list(transducer.infer(inputs, rules=rule, strict=True))


def test_a_mapping_cannot_be_changed() -> None:
    tagger = cajole.load("tagger")
    [result] = tagger.infer(corpora.predicates(1), rules=changes_its_input)
    assert result.answers[0].status == "unmeasured"
    assert "does not support item assignment" in str(result.error)


def test_bad_inputs_cost_only_themselves(transducer: cajole.Model) -> None:
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]
    bad: list[Any] = ["", 3, None, {"id": 1}, "qq", {"input": float("nan")}, {1: 2}, object(), deep, ["a", 1]]
    bad += ["az" * 1000, {"input": "az", "constraint": "nonsense"}, {"input": "az" * 600000}]
    inputs = [item for one in bad for item in (one, "azbz")]
    results = list(transducer.infer(inputs))
    assert [r.status for r in results] == ["bad-line", "satisfied"] * len(bad)
    assert all(r.error and not r.answers for r in results[::2])
    assert [r.line for r in results] == list(range(1, len(inputs) + 1))
    with pytest.raises(AttributeError, match="could not be worked on"):
        results[0].output
    with pytest.raises(cajole.InputError, match="inputs:3: the network reads no symbol"):
        list(transducer.infer(["az", "bz", "qq", "az"], strict=True))


def test_an_iterable_that_fails_raises_its_own_exception(transducer: cajole.Model) -> None:
    def broken() -> Iterator[str]:
        yield from ["az", "bz"]
        raise ZeroDivisionError("in the corpus")

    with pytest.raises(ZeroDivisionError, match="in the corpus"):
        list(transducer.infer(broken()))


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        ({"engine": "magic"}, ValueError, "no engine \"magic\"; there are usual, gbi, beam"),
        ({"preset": "worst"}, ValueError, "no preset \"worst\"; there are paper, best, small"),
        ({"max_steps": 10**9}, ValueError, "max_steps is 1000000000; it goes from 0 to 1000000"),
        ({"width": 0}, ValueError, "width is 0"),
        ({"threads": 0}, ValueError, "threads is 0"),
        ({"max_steps": -1}, ValueError, "max_steps is -1"),
        ({"patience": -1}, ValueError, "patience is -1"),
        ({"settings": {"pull": -1}}, cajole.SettingsError, "with pull=-1: -1 is not a finite number from 0"),
        ({"settings": {"pull.x": 1}}, cajole.SettingsError, "override pull.x=1: \"pull\" is a value"),
        ({"settings": {"moves": ["no"]}}, cajole.SettingsError, "no parameter matches \"no\""),
        ({"rules": "pattern = 'a'"}, TypeError, "from_toml"),
        ({"rules": 3}, TypeError, "expected a function as rule, not int"),
        ({"rules": []}, ValueError, "empty"),
        ({"rules": pathlib.Path("nowhere.toml")}, OSError, "nowhere.toml"),
    ],
)
def test_wrong_arguments_are_named(
    transducer: cajole.Model, arguments: dict[str, Any], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        transducer.infer(["az"], **arguments)


def test_wrong_rules_are_named_with_their_line(transducer: cajole.Model) -> None:
    with pytest.raises(cajole.RuleError, match="mine:4: .*two rules"):
        text = "[[all]]\npattern = 'a'\n\n[[all]]\npattern = 'a'\nmust-have = ['a']"
        cajole.Rules.from_toml(text, name="mine")
    with pytest.raises(cajole.RuleError, match="the rules:1: arithmetic: column 10"):
        transducer.infer(["az"], rules=cajole.Rules.from_toml("arithmetic = 'count(out'"))
    with pytest.raises(cajole.RuleError, match="the rules:1: .*no output symbol \"q\""):
        rules = cajole.Rules.from_toml('must-have = ["q"]')
        transducer.infer(["az"], rules=rules)
    with pytest.raises(cajole.RuleError, match="cannot run \"true\""):
        cajole.Rules.from_toml('checker = { command = ["true"] }')


def test_wrong_models_and_inputs(transducer: cajole.Model, tmp_path: pathlib.Path) -> None:
    with pytest.raises(cajole.LoadError, match="cannot load nothing: .* transducer, parser"):
        cajole.load("nothing")
    with pytest.raises(cajole.LoadError, match="config.json"):
        cajole.load(tmp_path)
    with pytest.raises(OSError, match="cannot read nowhere"):
        transducer.infer(pathlib.Path("nowhere"))
    with pytest.raises(TypeError, match=r"one input is \[text\]"):
        transducer.infer("azbz")
    with pytest.raises(TypeError):
        transducer.infer(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="say what outputs have to satisfy"):
        cajole.load("expressions").compare(["a + b"])
