"""What a network computes before it reads a moving parameter: once for each set of inputs.

Up to that point, the same inputs give the same results at every iteration, whatever their shifts are. So the
first pass records the results of its operations, in order, and later passes return them again. If the
embedding and lower layers do not move, they are computed once. An operation is any call to PyTorch.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class Diverged(Exception):
    """A pass took other steps than the one before it on the same inputs."""


class Beginning:
    """The operations of a module on one set of inputs, up to the first that reads a moving parameter."""

    def __init__(self, inputs: Sequence[Any], names: Sequence[str]) -> None:
        self._inputs, self._names = [weakref.ref(x) for x in inputs], list(names)
        self._calls: list[tuple[Callable[..., Any], Any]] = []
        self._versions: list[tuple[Tensor, int]] = []
        self._at: int | None = None  # the next operation of a later pass; None in the first

    def is_of(self, inputs: Sequence[Any], names: Sequence[str]) -> bool:
        """Whether it is for these inputs, with these parameters moving."""
        own = [weak() for weak in self._inputs]
        same = len(inputs) == len(own) and all(map(operator.is_, inputs, own))
        # Later operations may have written into a tensor that would be returned again.
        return same and list(names) == self._names and all(t._version == v for t, v in self._versions)

    def call(self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of the next operation."""
        if self._at is None:
            result = func(*args, **kwargs)
            if _tensors([result, *args, *kwargs.values()]):
                self._calls.append((func, _noted(result)))
            return result
        # Not `is`: the function that reads an attribute is a new object at every access.
        if self._at < len(self._calls) and self._calls[self._at][0] == func:
            self._at += 1
            return _recalled(self._calls[self._at - 1][1])
        if _tensors([*args, *kwargs.values()]):
            raise Diverged
        # For example, turning gradients on: it works on no tensor, and must be repeated.
        return func(*args, **kwargs)

    def end(self) -> None:
        """Called when a moving parameter is read, or the pass is over. Keeps the results that the module
        still holds; the others were only intermediate."""
        if self._at is None:
            self._calls = [(func, _kept(noted)) for func, noted in self._calls]
            self._versions = [(t, t._version) for _, noted in self._calls for t in _tensors(noted)]
        elif self._at < len(self._calls):
            raise Diverged
        self._at = 0


SMALL = 1024
"""Tensors of up to this many numbers are always kept."""


class _Tensor:
    """A tensor that is kept only if it is needed later; its shape is always known."""

    def __init__(self, tensor: Tensor) -> None:
        self.weak = weakref.ref(tensor)
        self.shape, self.dtype, self.device = tensor.shape, tensor.dtype, tensor.device

    def recalled(self) -> Tensor:
        alive = self.weak()
        if alive is not None:
            return alive
        # Nothing reads its numbers: the operations that did are not repeated.
        return torch.empty((), dtype=self.dtype, device=self.device).expand(self.shape)


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_mapped(change, item) for item in value)
    return change(value)


def _noted(value: Any) -> Any:
    def note(item: Any) -> Any:
        # Small tensors and masks cost nothing, and a module may branch on their contents.
        is_large = isinstance(item, Tensor) and item.is_floating_point() and SMALL < item.numel()
        return _Tensor(item) if is_large else item

    return _mapped(note, value)


def _recalled(noted: Any) -> Any:
    return _mapped(lambda item: item.recalled() if isinstance(item, _Tensor) else item, noted)


def _kept(noted: Any) -> Any:
    def keep(item: Any) -> Any:
        alive = item.weak() if isinstance(item, _Tensor) else None
        return item if alive is None else alive

    return _mapped(keep, noted)


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _mapped(lambda item: found.append(item) if isinstance(item, Tensor) else None, value)
    return found
