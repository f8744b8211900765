"""The small protocol for any module: methods by name, and defaults that follow from other methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def symbols_of(value: Any) -> Sequence[str]:
    """The words of a text, or the items of a list."""
    return value.split() if isinstance(value, str) else list(value)


class Methods:
    """The given functions, or else the module's methods of the same names."""

    def __init__(self, module: nn.Module, **given: Callable[..., Any] | None) -> None:
        module = getattr(module, "_orig_mod", module)
        self._found = {name: f or getattr(module, name, None) for name, f in given.items()}
        missing = [name for name, found in self._found.items() if not callable(found)]
        if missing:
            kind = type(module).__name__
            raise TypeError(
                f"{kind} has no method {' and no method '.join(missing)}: write it, or pass it as "
                f"{missing[0]}=…"
            )

    def __getitem__(self, name: str) -> Callable[..., Any]:
        found = self._found[name]
        assert found is not None
        return found


def select(state: Any, rows: Tensor) -> Any:
    """Rows of every tensor in a state of tuples, lists and dicts."""
    if isinstance(state, Tensor):
        return state.index_select(0, rows)
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(select(item, rows) for item in state))
    if isinstance(state, (list, tuple)):
        return type(state)(select(item, rows) for item in state)
    if isinstance(state, dict):
        return {key: select(item, rows) for key, item in state.items()}
    return state


class Steps:
    """A module's functions as the backend calls them."""

    def __init__(
        self,
        module: nn.Module,
        end: int,
        encode: Callable[[Sequence[Any]], Any],
        step: Callable[[Any, Tensor], tuple[Tensor, Any]],
        force: Callable[[Any, Tensor], Tensor] | None,
        chosen: Callable[[Any, Tensor], Any] | None,
    ) -> None:
        module = getattr(module, "_orig_mod", module)
        self.end = end
        self.encode = encode
        self._step = step
        self._force = force or getattr(module, "force", None)
        self.select = chosen or getattr(module, "select", None) or select
        self._device = next(module.parameters()).device
        self._n_rows = 0

    def _start(self, state: Any) -> Tensor:
        return torch.full((n_rows(state),), self.end, dtype=torch.long, device=self._device)

    def step(self, state: Any, symbols: Tensor | None) -> tuple[Tensor, Any]:
        return self._step(state, self._start(state) if symbols is None else symbols)

    def force(self, state: Any, outputs: Tensor) -> Tensor:
        if self._force is not None:
            forced: Tensor = self._force(state, outputs)
            return forced
        previous, all_log_probs = self._start(state), []
        for t in range(outputs.shape[1]):
            log_probs, state = self._step(state, previous)
            all_log_probs.append(log_probs)
            previous = outputs[:, t]
        return torch.stack(all_log_probs, dim=1)  # (R, T, V)


def n_rows(state: Any) -> int:
    """The first dimension of the first tensor in a state."""
    if isinstance(state, Tensor):
        return state.shape[0]
    items = state.values() if isinstance(state, dict) else state
    if isinstance(state, (dict, list, tuple)):
        for item in items:
            if isinstance(item, (Tensor, list, tuple, dict)):
                return n_rows(item)
    raise TypeError("the state that encode returned has no tensor with a row for each input")
