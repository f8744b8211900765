"""Options are those of the table that the command line has: names, bytes, and messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import corpora
import pytest

import cajole
from cajole._options import FLAGS, Served

SAMPLES: dict[str, tuple[Any, list[str]]] = {
    "engine": ("masked:width=3", ["masked:width=3"]),
    "preset": ("paper", ["paper"]),
    "settings": ({"schedule": {"step-size": 0.01}}, ["schedule.step-size=0.01"]),
    "deadline_ms": (0, ["0"]),
    "max_steps": (1, ["1"]),
    "patience": (1, ["1"]),
    "width": (8, ["8"]),
    "max_tokens": (5, ["5"]),
    "max_line_bytes": (5, ["5"]),
    "threads": (1, ["1"]),
    "trace": (True, []),
    "times": (False, []),
    "log_probs": (True, []),
    "strict": (True, []),
}


def test_every_option_is_an_argument() -> None:
    own = {"self", "inputs", "rules"}
    assert SAMPLES.keys() == FLAGS.keys() == inspect.signature(cajole.Model.infer).parameters.keys() - own
    compared = inspect.signature(cajole.Model.compare).parameters.keys() - own - {"engines", "shown"}
    assert Served.__annotations__.keys() < compared < FLAGS.keys()


@pytest.mark.parametrize("name", SAMPLES)
def test_an_option_is_what_its_flag_is(
    name: str, transducer: cajole.Model, command: Callable[..., bytes], tmp_path: Any
) -> None:
    value, words = SAMPLES[name]
    lines = corpora.transductions(20, 6)
    flags = [] if name == "times" else ["--no-times"]
    want = command("infer", *flags, FLAGS[name][0], *words, lines=lines)
    path = tmp_path / "lines"
    path.write_text("".join(line + "\n" for line in lines))
    results = transducer.infer(path, **{name: value})
    assert "".join(result.to_json() + "\n" for result in results).encode() == want
    assert want


def test_comparisons_have_patience(transducer: cajole.Model) -> None:
    lines = corpora.transductions(40, 7)
    insisting, patient = (transducer.compare(lines, engines=["gbi"], patience=n).rows for n in (None, 0))
    assert insisting[-1]["satisfied"] > patient[-1]["satisfied"]


def test_wrong_options_are_named(transducer: cajole.Model) -> None:
    with pytest.raises(TypeError, match="widht"):
        transducer.infer(["az"], widht=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no option \"widht\""):
        transducer._infer_numbered(["az"], [1], None, widht=3)
    with pytest.raises(ValueError, match="width is 0; it goes from 1 to 1024"):
        transducer.compare(["az"], width=0)
    with pytest.raises(ValueError, match="shown is -1; it goes from 0 to 100000"):
        transducer.compare(["az"], shown=-1)
