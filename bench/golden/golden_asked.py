"""Asks the Python package questions, and prints what it answers. `golden_python.py` runs this in a folder of inputs.

    python golden_asked.py GROUP
"""

from __future__ import annotations

import asyncio
import json
import math
import pathlib
import pickle
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from golden_nets import RULES_OF
from golden_normal import of_report

import cajole

THRICE = """arithmetic = 'count(out, "a") = 3 * count(in, "a")'"""
LINES = pathlib.Path("in/transducer.txt")
INPUTS = LINES.read_text().split()
PARSER = pathlib.Path("in/parser.txt").read_text().splitlines()
TAGGER = [json.loads(line) for line in pathlib.Path("in/tagger.jsonl").read_text().splitlines()]
EXPRESSIONS = pathlib.Path("in/expressions.txt").read_text().splitlines()
ENGINES: list[cajole.Engine] = ["usual", "gbi", "beam", "masked", "astar", "exact", "sample", "auto", "network"]


def thrice(x: Any, y: Any) -> float:
    return abs(3 * str(x).count("a") - y.count("a"))


def shown(value: Any) -> str:
    """Any answer as text."""
    if isinstance(value, cajole.Results):
        results = list(value)
        return "\n".join([*(result.to_json() for result in results), json.dumps(value.totals, sort_keys=True)])
    if isinstance(value, cajole.Report):
        said = [value.title, value.rows, value.passed_over, of_report(value.to_dict()), of_report(json.loads(value.to_json()))]
        return "\n".join([value.to_markdown(), *(json.dumps(part, indent=1) for part in said), value.to_html()])
    if isinstance(value, cajole.Scores):
        return json.dumps([value.precision, value.recall, value.f1, value.messages, value.to_dict()])
    return value if isinstance(value, str) else repr(value)


def ask(name: str, question: Callable[[], Any]) -> None:
    """Prints the answer, or what was raised, and what was warned of."""
    print(f"== {name}")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            print(shown(question()))
        except Exception as error:  # whatever is raised is the answer
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")
    for warning in warned:
        print(f"warned: {warning.category.__name__}: {warning.message}")


def models() -> None:
    """Networks: every engine, preset and argument."""
    asked: dict[str, tuple[Iterable[Any], dict[str, Any]]] = {
        "transducer": (INPUTS, {}),
        "expressions": (EXPRESSIONS, {"rules": pathlib.Path("rules/expressions.toml")}),
        "parser": (PARSER[3:], {"max_steps": 6}),
        "tagger": (TAGGER, {}),
    }
    for name, (inputs, flags) in asked.items():
        model = cajole.load(name)
        about = (repr(model), model.name, model.task, model.engines, model.symbols[:40], model.usual_rules)
        ask(f"{name} itself", lambda: "\n".join(map(str, about)))
        for engine in ENGINES:
            ask(f"{name} {engine}", lambda: model.infer(inputs, engine=engine, trace=True, threads=1, **flags))
        for preset in ("paper", "best", "small"):
            more = {"max_steps": 4, **flags, "preset": preset, "engine": "gbi"}
            ask(f"{name} {preset}", lambda: model.infer(inputs, **more))
        ask(f"{name} compare", lambda: model.compare(inputs, **flags))
        ask(f"{name} compare some", lambda: model.compare(inputs, engines=["gbi", "auto"], shown=1, **flags))
        ask(f"{name} dicts", lambda: model.infer(inputs, trace=True, **flags).to_dicts())
        ask(f"{name} page", lambda: "\n".join(r._repr_html_() for r in model.infer(inputs, trace=True, **flags)))
    model = cajole.load("transducer")
    options: dict[str, dict[str, Any]] = {
        "file": {}, "threads": {"threads": 3}, "settings": {"settings": {"schedule.step-size": 0.05, "pull": 0.1}},
        "patience": {"patience": 1}, "width": {"width": 3}, "max_tokens": {"max_tokens": 5}, "deadline": {"deadline_ms": 3600000},
        "max_line_bytes": {"max_line_bytes": 9}, "no steps": {"max_steps": 0}, "strict": {"strict": True},
        "bad setting": {"settings": {"schedule.step": 1}}, "bad engine": {"engine": "odd"}, "bad preset": {"preset": "odd"},
        "bad width": {"width": 0}, "bad threads": {"threads": 0}, "bad steps": {"max_steps": -1}, "unknown": {"odd": 1},
    }  # fmt: skip
    for name, given in options.items():
        ask(name, lambda: model.infer(LINES, **given))
    inputs = ["azbz", list("azbz"), {"input": "azbz", "id": 1}, ("a", "z"), 3, None, "azq", "", {"id": 2}, [1], b"azbz",
              {"input": "azbz", "constraint": {"pattern": "(a"}}, {"input": "azbz", "constraint": "pattern = 'b*'"}]  # fmt: skip
    ask("kinds of inputs", lambda: model.infer(inputs))
    ask("kinds of inputs, strict", lambda: model.infer(inputs, strict=True))
    ask("a file of bad lines", lambda: model.infer(pathlib.Path("in/bad-transducer.txt")))
    ask("an absent file", lambda: model.infer(pathlib.Path("absent.txt")))
    ask("a generator", lambda: model.infer(x for x in INPUTS))
    ask("a number", lambda: model.infer(3))  # type: ignore[arg-type]
    ask("no model", lambda: cajole.load("no-such"))
    ask("a folder", lambda: cajole.load("models/transducer").infer(INPUTS[:3]))
    ask("pickled", lambda: pickle.loads(pickle.dumps(model)))
    [first] = model.infer(INPUTS[:1], trace=True, preset="paper")
    parts = ("line", "id", "status", "output", "g_before", "g_after", "steps", "passes", "engine", "log_prob", "faults", "error")
    ask("a result", lambda: "\n".join(f"{part}: {getattr(first, part)!r}" for part in parts))
    ask("a trace", lambda: first.trace and (first.trace.moving, len(first.trace), first.trace.steps))
    [tree] = cajole.load("parser").infer(PARSER[4:])
    ask("a tree", lambda: tree.tree.pretty() + tree.tree._repr_html_())
    [tagged] = cajole.load("tagger").infer(TAGGER[:1])
    ask("answers", lambda: "\n".join(repr(one.to_dict()) for one in tagged.answers))
    ask("no answer", lambda: tagged.output)
    [bad] = model.infer(["azq"])
    ask("an error", lambda: (bad.error, bad.status))
    ask("raised", lambda: bad.raise_for_error())


def rules() -> None:
    """Rules in TOML and in Python, lint and scores."""
    model = cajole.load("transducer")
    toml = cajole.Rules.from_toml(THRICE, name="counts")
    asked: dict[str, Any] = {
        "function": thrice, "toml": toml, "path": pathlib.Path("rules/transduction-full.toml"),
        "file": cajole.Rules.from_file("in/rules/all-nested.toml"), "list": [toml, thrice], "both": toml & cajole.Rules.from_callable(thrice),
        "bool": lambda x, y: thrice(x, y) == 0, "dict": lambda x, y: {"loss": thrice(x, y) / 2, "message": "too few"},
        "parts": lambda x, y: {"loss": 1, "parts": [{"start": 0, "end": 2, "cost": 7}]}, "nan": lambda x, y: math.nan,
        "raises": lambda x, y: 1 / 0, "text": lambda x, y: "no", "negative": lambda x, y: -1.0, "symbols": lambda x, y: len(y.symbols) - 5,
        "none": lambda x, y: None, "never": lambda x, y: 1.0, "number": 3, "string": THRICE,
        "checker": pathlib.Path("in/rules/checker-lines.toml"),
    }  # fmt: skip
    for name, rule in asked.items():
        ask(f"{name}: itself", lambda: repr(rule) if isinstance(rule, cajole.Rules) else name)
        ask(f"{name}: gbi", lambda: model.infer(INPUTS[:4], rules=rule, max_steps=6, trace=True, engine="gbi"))
        ask(f"{name}: auto", lambda: model.infer(INPUTS[:4], rules=rule, max_steps=6, engine="auto"))
        ask(f"{name}: strict", lambda: model.infer(INPUTS[:2], rules=rule, max_steps=6, strict=True))
    for path in sorted(pathlib.Path("in/rules").glob("broken-*.toml")):
        text = path.read_text()
        ask(path.stem, lambda: model.infer(["azbz"], rules=cajole.Rules.from_toml(text)))
        ask(f"{path.stem} with a folder", lambda: model.infer(["azbz"], rules=cajole.Rules.from_toml(text, folder="in/rules")))
        ask(f"{path.stem} as a file", lambda: cajole.Rules.from_file(path))
    gold = [json.loads(line) for line in pathlib.Path("in/transducer-gold.jsonl").read_text().splitlines()]
    ask("lint", lambda: cajole.lint(toml, gold, characters=True))
    ask("lint a file", lambda: cajole.lint(pathlib.Path("rules/transduction-full.toml"), pathlib.Path("in/transducer-gold.jsonl"), characters=True, examples=1))
    ask("lint roles", lambda: cajole.lint(pathlib.Path("rules/spans.toml"), pathlib.Path("in/srl-gold.jsonl"), by="id", verbs=True))
    ask("lint a function", lambda: cajole.lint(thrice, gold, characters=True))
    ask("evalb", lambda: cajole.evalb("in/gold.ptb", "in/test.ptb"))
    ask("evalb with settings", lambda: cajole.evalb("in/gold.ptb", "in/test.ptb", param="in/own.prm"))
    ask("evalb of an absent file", lambda: cajole.evalb("in/gold.ptb", "absent"))
    ask("srl_eval", lambda: cajole.srl_eval("in/gold.props", "in/test.props"))


def tables() -> None:
    """Answers for other packages, where these are installed."""
    model = cajole.load("transducer")
    ask("pandas", lambda: model.infer(INPUTS).to_pandas().to_csv())
    ask("arrow", lambda: str(model.infer(INPUTS).to_arrow()))
    ask("awaited", lambda: asyncio.run(asyncio.to_thread(lambda: shown(model.infer(INPUTS[:2])))))


def folders() -> None:
    """Hugging Face folders."""
    for at in sorted(pathlib.Path("folders").glob("*/config.json")):
        name = at.parent.name
        lines = pathlib.Path(f"folders/{name}.jsonl")
        rule = pathlib.Path(f"in/rules/{next(iter(RULES_OF.get(name, ['w-must-have'])))}.toml")
        ask(name, lambda: cajole.load(at.parent).infer(lines, rules=rule, max_steps=4, trace=True))
        ask(f"{name} in Python", lambda: cajole.load(at.parent).infer(lines, rules=lambda x, y: y.count("e"), max_steps=4))


if __name__ == "__main__":
    {"models": models, "rules": rules, "tables": tables, "folders": folders}[sys.argv[1]]()
