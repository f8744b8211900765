"""Networks: loaded by name or folder, run under rules."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from cajole import _native
from cajole._native import Report, Results, Rules
from cajole._options import Engine, Preset, Runs
from cajole._output import Output

__all__ = ["Engine", "Input", "Model", "Preset", "RuleLike", "load"]

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


class Model(Runs):
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

    def _infer(self, inputs: Any, rules: Any, options: dict[str, Any]) -> Results:
        if options.get("threads") is None:
            options["threads"] = self._threads
        return self._network.infer(inputs, rules, options)

    def _compare(self, inputs: Any, rules: Any, shown: tuple[Any, int], options: dict[str, Any]) -> Report:
        engines, n = shown
        chosen: list[str] | None = None if engines is None else list(engines)
        return self._network.compare(inputs, rules, (chosen, n), options)

    def _infer_numbered(
        self, inputs: Sequence[Input], numbers: Sequence[int], rules: RuleLike | None, **given: Any
    ) -> Results:
        """Runs inputs from a longer file, with the numbers of their lines in it."""
        options = {"trace": False, "times": False, "strict": False, **given, "numbers": list(numbers)}
        return self._network.infer(inputs, rules, options)

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
