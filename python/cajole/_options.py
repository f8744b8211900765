"""The options of a run.

Made from the table in crates/cajole-infer/src/options.rs: change that, then run
`cargo test -p cajole-cli --test all -- --ignored made_from_the_table`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from cajole._model import Input, RuleLike
    from cajole._native import Report, Results

Engine = Union[
    Literal[
        "usual",
        "gbi",
        "beam",
        "masked",
        "astar",
        "exact",
        "black-box",
        "spans",
        "sample",
        "relaxation",
        "auto",
        "network",
    ],
    str,
]
"""How outputs are made to obey. Numbers may follow a name: "masked:width=9"."""

Preset = Literal["paper", "best", "small"]

FLAGS = {
    "engine": ("--engine", "text", "How outputs are made to obey [default: usual]"),
    "preset": ("--preset", "text", "Settings of gradient-based inference [default: what works best for the task]"),
    "settings": ("--set", "assignments", "Override one of them, such as `--set schedule.step-size=0.01`; may be repeated"),
    "deadline_ms": ("--deadline-ms", "number", "Give up on an input after this long and keep the best output so far, in milliseconds [default: none]"),
    "max_steps": ("--max-steps", "number", "The most nudges for one input in each descent [default: the preset's]"),
    "patience": ("--patience", "number", "Accept an output after this many nudges although it violates the rules, without restarts [default: insist]"),
    "width": ("--width", "number", "Width of the beam that the network decodes with; 1 is greedy [default: the task's]"),
    "max_tokens": ("--max-tokens", "number", "The most tokens of a line; a longer line is bad [default: 256]"),
    "max_line_bytes": ("--max-line-bytes", "number", "The most bytes of a line; a longer line is bad [default: 1048576]"),
    "threads": ("--threads", "number", "Threads to use; results do not depend on it [default: all cores]"),
    "trace": ("--explain", "on", "Add the trace of every repair to its record (gbi)"),
    "times": ("--no-times", "off", "Leave milliseconds out of records: the same lines then give the same bytes"),
    "log_probs": ("--log-probs", "on", "Say in records how probable the network finds every output"),
    "strict": ("--strict", "on", "Stop at the first bad line, instead of reporting it and continuing"),
}
"""The flag of every option, the kind of its value, and what it does."""


class Served(TypedDict, total=False):
    """Options of a request, besides `engine` and `times`. The server decides what is None or left out."""

    preset: Optional[Preset]
    """Settings of gradient-based inference."""
    deadline_ms: Optional[int]
    """Give up on an input after this long and keep the best output so far, in milliseconds."""
    max_steps: Optional[int]
    """The most nudges for one input in each descent."""
    patience: Optional[int]
    """Accept an output after this many nudges although it violates the rules, without restarts."""
    width: Optional[int]
    """Width of the beam that the network decodes with; 1 is greedy."""


class Runs:
    """Runs a network, with options as arguments."""

    def infer(
        self,
        inputs: Iterable[Input] | os.PathLike[str],
        *,
        rules: RuleLike | None = None,
        engine: Engine = "usual",
        preset: Preset | None = None,
        settings: Mapping[str, Any] | None = None,
        deadline_ms: int | None = None,
        max_steps: int | None = None,
        patience: int | None = None,
        width: int | None = None,
        max_tokens: int | None = None,
        max_line_bytes: int | None = None,
        threads: int | None = None,
        trace: bool = False,
        times: bool = False,
        log_probs: bool = False,
        strict: bool = False,
    ) -> Results:
        """Runs inputs through the network so that outputs obey the rules.

        Results come lazily and in order, one for each input. Threads work ahead by a few hundred
        inputs. Results do not depend on the number of threads.

        inputs: any iterable, or the path of a file whose lines `cajole infer` would read.
        rules: what outputs must satisfy; by default, the task's own rules.
        engine: How outputs are made to obey [default: usual]
        preset: Settings of gradient-based inference [default: what works best for the task]
        settings: single settings of gradient-based inference, such as `{"schedule.step-size": 0.01}`
            [default: none]
        deadline_ms: Give up on an input after this long and keep the best output so far, in milliseconds;
            0 to 86400000 [default: none]
        max_steps: The most nudges for one input in each descent; 0 to 1000000 [default: the preset's]
        patience: Accept an output after this many nudges although it violates the rules, without
            restarts; 0 to 1000000 [default: insist]
        width: Width of the beam that the network decodes with; 1 is greedy; 1 to 1024 [default: the
            task's]
        max_tokens: The most tokens of a line; a longer line is bad; 1 to 16384 [default: 256]
        max_line_bytes: The most bytes of a line; a longer line is bad; 1 to 1073741824 [default: 1048576]
        threads: Threads to use; results do not depend on it; 1 to 512 [default: all cores]
        trace: Add the trace of every repair to its record (gbi) [default: False]
        times: Say in records how long each input took; without times, the same lines give the same bytes
            [default: False]
        log_probs: Say in records how probable the network finds every output [default: False]
        strict: Stop at the first bad line, instead of reporting it and continuing [default: False]
        """
        return self._infer(inputs, rules, {
            "engine": engine,
            "preset": preset,
            "settings": settings,
            "deadline_ms": deadline_ms,
            "max_steps": max_steps,
            "patience": patience,
            "width": width,
            "max_tokens": max_tokens,
            "max_line_bytes": max_line_bytes,
            "threads": threads,
            "trace": trace,
            "times": times,
            "log_probs": log_probs,
            "strict": strict,
        })

    def compare(
        self,
        inputs: Iterable[Input] | os.PathLike[str],
        *,
        rules: RuleLike | None = None,
        engines: Sequence[Engine] | None = None,
        shown: int = 20,
        preset: Preset | None = None,
        settings: Mapping[str, Any] | None = None,
        deadline_ms: int | None = None,
        max_steps: int | None = None,
        patience: int | None = None,
        width: int | None = None,
        max_tokens: int | None = None,
        max_line_bytes: int | None = None,
    ) -> Report:
        """Runs every engine, or those named, on the inputs whose own output violates the rules.

        A notebook shows the report as a page.

        inputs, rules: as in `infer`.
        engines: by default, all that make a difference.
        shown: how many failures are shown one by one.
        preset: Settings of gradient-based inference [default: what works best for the task]
        settings: single settings of gradient-based inference, such as `{"schedule.step-size": 0.01}`
            [default: none]
        deadline_ms: Give up on an input after this long and keep the best output so far, in milliseconds;
            0 to 86400000 [default: none]
        max_steps: The most nudges for one input in each descent; 0 to 1000000 [default: the preset's]
        patience: Accept an output after this many nudges although it violates the rules, without
            restarts; 0 to 1000000 [default: insist]
        width: Width of the beam that the network decodes with; 1 is greedy; 1 to 1024 [default: the
            task's]
        max_tokens: The most tokens of a line; a longer line is bad; 1 to 16384 [default: 256]
        max_line_bytes: The most bytes of a line; a longer line is bad; 1 to 1073741824 [default: 1048576]
        """
        return self._compare(inputs, rules, (engines, shown), {
            "preset": preset,
            "settings": settings,
            "deadline_ms": deadline_ms,
            "max_steps": max_steps,
            "patience": patience,
            "width": width,
            "max_tokens": max_tokens,
            "max_line_bytes": max_line_bytes,
        })

    def _infer(self, inputs: Any, rules: Any, options: dict[str, Any]) -> Results:
        raise NotImplementedError

    def _compare(self, inputs: Any, rules: Any, shown: tuple[Any, int], options: dict[str, Any]) -> Report:
        raise NotImplementedError
