"""Networks: loaded by name or folder, run under rules."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Union

from cajole import _native
from cajole._native import Report, Results, Rules
from cajole._output import Output

Input = Union[str, Sequence[str], Mapping[str, Any]]
"""A text (a line as the command line reads it), a list of symbols, or a dict with "input"."""

Verdict = Union[float, bool, Mapping[str, Any]]
RuleLike = Union[
    Rules,
    Callable[[Any, Output], Verdict],
    "os.PathLike[str]",
    Sequence[Union[Rules, Callable[[Any, Output], Verdict], "os.PathLike[str]"]],
]
"""Rules, a function `(input, output) -> float | bool | dict`, a constraint file, or a list of these."""

Engine = Literal["usual", "gbi", "beam", "masked", "astar", "exact", "sample", "auto", "network"]
Preset = Literal["paper", "best", "small"]


class Model:
    """A network with its task."""

    _threads: int | None = None
    """The default number of threads; None is one for each core."""

    def __init__(self, name: str, network: _native.Network) -> None:
        self._name = name
        self._network = network

    @property
    def name(self) -> str:
        """The name or folder that it was loaded from."""
        return self._name

    @property
    def task(self) -> str:
        """What it is for: "transduction", "parsing", "srl" or "pairs"."""
        return self._network.task

    @property
    def engines(self) -> list[str]:
        """The engines that make a difference for it."""
        return self._network.engines

    @property
    def symbols(self) -> list[str]:
        """The names of its output symbols."""
        return self._network.symbols

    @property
    def usual_rules(self) -> str | None:
        """The default rules for its outputs, in TOML."""
        return self._network.usual_rules

    def infer(
        self,
        inputs: Iterable[Input] | os.PathLike[str],
        *,
        rules: RuleLike | None = None,
        engine: Engine = "usual",
        preset: Preset | None = None,
        settings: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        patience: int | None = None,
        width: int | None = None,
        deadline_ms: int | None = None,
        max_tokens: int | None = None,
        max_line_bytes: int | None = None,
        threads: int | None = None,
        trace: bool = False,
        times: bool = False,
        strict: bool = False,
    ) -> Results:
        """Runs inputs through the network so that outputs obey the rules.

        Results come lazily and in order, one for each input. Threads work ahead by a few hundred
        inputs. Results do not depend on the number of threads.

        inputs: any iterable, or the path of a file whose lines `cajole infer` would read.
        rules: what outputs must satisfy; by default, the task's own rules.
        engine: how outputs are made to obey; "usual" is "auto" for pairs whose rules can be followed
            symbol by symbol, and "gbi" otherwise.
        preset, settings: settings of gradient-based inference, and single values of these, such as
            `{"schedule.step-size": 0.01}`.
        max_steps: the most nudges for one input in each descent.
        patience: nudges after which an output is kept although it violates: for rules that may be
            wrong.
        width: the beam that the network decodes with; 1 is greedy.
        deadline_ms: when to give up on an input. Outputs then depend on the machine.
        max_tokens, max_line_bytes: longer inputs are bad.
        threads: how many threads to use; by default, one for each core.
        trace: whether results have traces. times: whether records have milliseconds.
        strict: raise at the first input that is bad, or whose rules fail, instead of continuing.
        """
        options = self._options(
            engine, preset, settings, max_steps, width, deadline_ms, max_tokens, max_line_bytes
        )
        options["patience"] = patience
        threads = self._threads if threads is None else threads
        options.update(threads=threads, trace=trace, times=times, strict=strict)
        return self._network.infer(inputs, rules, options)

    def _infer_numbered(
        self, inputs: Sequence[Input], numbers: Sequence[int], rules: RuleLike | None, **given: Any
    ) -> Results:
        """Runs inputs from a longer file, with the numbers of their lines in it."""
        names = ("engine", "preset", "settings", "max_steps", "patience", "width", "deadline_ms")
        limits = ("max_tokens", "max_line_bytes")
        options: dict[str, Any] = dict.fromkeys((*names, *limits, "threads"))
        options.update(engine="usual", trace=False, times=False, strict=False, numbers=list(numbers))
        unknown = given.keys() - options.keys()
        if unknown:
            raise TypeError(f"there is no option {sorted(unknown)[0]!r}")
        options.update(given)
        return self._network.infer(inputs, rules, options)

    def compare(
        self,
        inputs: Iterable[Input] | os.PathLike[str],
        *,
        rules: RuleLike | None = None,
        engines: Sequence[Engine] | None = None,
        shown: int = 20,
        preset: Preset | None = None,
        settings: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        width: int | None = None,
        deadline_ms: int | None = None,
        max_tokens: int | None = None,
        max_line_bytes: int | None = None,
    ) -> Report:
        """Runs every engine, or those named, on the inputs whose own output violates the rules.

        Arguments are those of `infer`; `shown` failures are shown one by one. A notebook shows the
        report as a page.
        """
        options = self._options(
            "gbi", preset, settings, max_steps, width, deadline_ms, max_tokens, max_line_bytes
        )
        options.update(threads=None, trace=False, times=False, strict=False)
        chosen: list[str] | None = None if engines is None else list(engines)
        return self._network.compare(inputs, rules, (chosen, shown), options)

    @staticmethod
    def _options(
        engine: str,
        preset: str | None,
        settings: Mapping[str, Any] | None,
        max_steps: int | None,
        width: int | None,
        deadline_ms: int | None,
        max_tokens: int | None,
        max_line_bytes: int | None,
    ) -> dict[str, Any]:
        return {
            "engine": engine,
            "preset": preset,
            "settings": None if settings is None else dict(settings),
            "max_steps": max_steps,
            "patience": None,
            "width": width,
            "deadline_ms": deadline_ms,
            "max_tokens": max_tokens,
            "max_line_bytes": max_line_bytes,
            "numbers": None,
        }

    def __repr__(self) -> str:
        return f"<cajole.Model {self._name!r} for {self.task}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self._name,)


def load(name: str | os.PathLike[str]) -> Model:
    """Loads a built-in network, or a checkpoint folder of any task.

    The built-in networks are "transducer", "parser", "tagger" and "expressions".
    """
    name = os.fspath(name)
    network = _native.open(name)
    warn_of_remarks(network)
    return Model(name, network)


def warn_of_remarks(network: _native.Network) -> None:
    """Warns of what users should know of a network, such as settings that are not obeyed."""
    for remark in network.remarks:
        warnings.warn(remark, stacklevel=3)
