"""What cajole needs from a network in PyTorch: nudges, passes, gradients and steps, for whole batches.

`B` inputs, `R` rows, `T` positions, `V` symbols, `n` moving weights.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cajole.torch import _steps
from cajole.torch._frozen import Beginning, Diverged
from cajole.torch._moved import CannotMove, Moved, warn_of, wide

Prepared = tuple[Any, list[str], int, int]
"""What a network reads, the names of its symbols, its size, and its longest output."""


ENOUGH_TOKENS = 256
"""Rows that make a product worth a batch of its own on a CPU."""


class Input:
    """An input of one run; another run over the same value has an `Input` of its own."""

    def __init__(self, value: Any, size: int) -> None:
        self.value, self.size = value, size
        # Belongs to the last set that began with this input; freed with it.
        self.beginning: Beginning | None = None


class Nudge:
    """`W_λ − W` and `∇` of one input, as rows of tensors on the network's device."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.shift: Tensor | None = None  # (n); None is zero
        self.grad: Tensor | None = None  # (n)
        self.state: tuple[Tensor, ...] = ()


class Backend:
    """The part that taggers and seq2seq networks share."""

    def __init__(
        self,
        module: nn.Module,
        prepare: Callable[[Any], Prepared],
        in_step: int | None,
    ) -> None:
        # A compiled module computes the same; its graphs could not tell inputs apart.
        self.module: nn.Module = getattr(module, "_orig_mod", module)
        self._prepare = prepare
        self.named = dict(self.module.named_parameters())
        if not self.named:
            raise TypeError(f"{type(self.module).__name__} has no parameters that could move")
        device = next(iter(self.named.values())).device
        self.in_step = in_step or (512 if device.type == "cuda" else 32)
        self.device = device
        self._lock = threading.RLock()
        # A comparison decodes on several threads, each of which differentiates its own pass. Not a
        # threading.local: its contents would be freed after the thread has left the interpreter.
        self._kept: dict[int, Any] = {}

    def prepare(self, value: Any) -> Prepared:
        own, words, size, longest = self._prepare(value)
        return Input(own, size), words, size, longest

    def parameters(self) -> list[tuple[str, int, bool]]:
        """Name, size, and whether it is a vector, which each row can have of its own at little cost."""
        return [(name, p.numel(), p.dim() == 1) for name, p in self.named.items()]

    def fingerprint(self) -> int:
        """A hash of all weights."""
        digest = 0
        for parameter in self.named.values():
            digest = zlib.crc32(to_bytes(parameter), digest)
        return digest

    def nudge(self, moves: Sequence[bool]) -> Nudge:
        return Nudge([name for name, moving in zip(self.named, moves, strict=True) if moving])

    def restore(self, nudge: Nudge) -> None:
        nudge.shift, nudge.grad, nudge.state = None, None, ()

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Switches to evaluation mode, without gradients of weights, and restores both afterwards."""
        with self._lock:
            training = [module for module in self.module.modules() if module.training]
            wanted = [p for p in self.module.parameters() if p.requires_grad]
            try:
                for module in training:
                    module.training = False
                for parameter in wanted:
                    parameter.requires_grad_(False)
                yield
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                raise
            except CannotMove as error:
                if self.in_step > 1:
                    self.in_step = 1
                    warn_of(error)
                raise
            finally:
                for module in training:
                    module.training = True
                for parameter in wanted:
                    parameter.requires_grad_(True)

    def stacked(self, nudges: Sequence[Nudge | None]) -> Tensor | None:
        """The shifts `(B, n)` of inputs; None if none has moved."""
        moved = [n.shift for n in nudges if n is not None and n.shift is not None]
        if not moved:
            return None
        zero = torch.zeros_like(moved[0])
        shifts = [zero if n is None or n.shift is None else n.shift for n in nudges]
        return torch.stack(shifts)

    def moved(
        self,
        shifts: Tensor | None,
        names: list[str],
        rows: Tensor | None = None,
        beginning: Beginning | None = None,
    ) -> contextlib.AbstractContextManager[Any]:
        """Runs the module under these shifts `(B, n)`."""
        if shifts is None:
            return contextlib.nullcontext()
        by_id, start = {}, 0
        for name in names:
            parameter = self.named[name]
            part = shifts[:, start : start + parameter.numel()]
            by_id[id(parameter)] = (name, part.view(-1, *parameter.shape))
            start += parameter.numel()
        return Moved(by_id, rows, beginning)

    def run(
        self,
        shifts: Tensor | None,
        names: list[str],
        compute: Callable[[Sequence[Any]], Any],
        inputs: list[Input],
    ) -> Any:
        """Computes something from inputs under these shifts. What does not depend on shifts is computed
        once, as long as the same inputs are in step."""
        values = [own.value for own in inputs]
        if shifts is None:
            return compute(values)
        beginning, inputs[0].beginning = inputs[0].beginning, None
        if beginning is None or not beginning.is_of(inputs, names):
            beginning = Beginning(inputs, names)
        try:
            with self.moved(shifts, names, None, beginning):
                result = compute(values)
            inputs[0].beginning = beginning
        except Diverged:
            with self.moved(shifts, names):
                result = compute(values)
        return result

    def leaf(self, nudges: Sequence[Nudge]) -> Tensor:
        """The shifts `(B, n)`, to take a gradient with respect to."""
        shifts = self.stacked(nudges)
        if shifts is None:
            parameters = [self.named[name] for name in nudges[0].names]
            n = sum(parameter.numel() for parameter in parameters)
            dtype = wide(parameters[0].dtype) if parameters else torch.float32
            shifts = torch.zeros(len(nudges), n, dtype=dtype, device=self.device)
        return shifts.requires_grad_()

    @staticmethod
    def keep_gradient(nudges: Sequence[Nudge], pulls: Sequence[float], grad: Tensor) -> list[float]:
        """Adds the pull towards `W` to gradients `(B, n)`, keeps them, and returns their norms."""
        for i, (nudge, pull) in enumerate(zip(nudges, pulls, strict=True)):
            if pull != 0 and nudge.shift is not None:
                grad[i] += pull * nudge.shift / nudge.shift.norm()
            nudge.grad = grad[i]
        norms: list[float] = torch.linalg.vector_norm(grad, dim=1).tolist()
        return norms

    def take_step(self, rule: str, steps: Sequence[tuple[Nudge, int, float]]) -> list[float]:
        """`W_λ ← W_λ − η∇`; returns how far each input's weights are from `W`."""
        what = json.loads(rule)
        nudges = [nudge for nudge, _, _ in steps]
        grads = [nudge.grad for nudge in nudges if nudge.grad is not None]
        with torch.no_grad():
            grad = torch.stack(grads)  # (B, n)
            t = torch.tensor([[t] for _, t, _ in steps], device=self.device)
            eta = torch.tensor([[eta] for _, _, eta in steps], device=self.device)
            zero = torch.zeros_like(grad[0])
            old = torch.stack([zero if n.shift is None else n.shift for n in nudges])
            n_states = _steps.n_states(what["kind"])
            state = tuple(
                torch.stack([n.state[k] if n.state else zero for n in nudges]) for k in range(n_states)
            )
            moved, state = _steps.move(what, t, eta, grad, state)
            new = old + moved
            for i, nudge in enumerate(nudges):
                nudge.shift, nudge.grad = new[i], None
                nudge.state = tuple(tensor[i] for tensor in state)
            distances: list[float] = torch.linalg.vector_norm(new, dim=1).tolist()
        return distances


def to_bytes(numbers: Tensor) -> bytes:
    """Numbers as single-precision bytes."""
    flat = numbers.detach().to("cpu", torch.float32).contiguous().view(-1)
    buffer = bytearray(4 * flat.numel())
    if buffer:
        torch.frombuffer(buffer, dtype=torch.float32).copy_(flat)
    return bytes(buffer)


class TaggerBackend(Backend):
    """Taggers: one pass gives the log-probabilities of all tags."""

    def __init__(
        self,
        module: nn.Module,
        prepare: Callable[[Any], Prepared],
        log_probs: Callable[[Sequence[Any]], Sequence[Tensor] | Tensor],
        in_step: int | None = None,
    ) -> None:
        super().__init__(module, prepare, in_step)
        self.log_probs = log_probs

    def read(
        self, inputs: list[Input], nudges: list[Nudge | None], is_kept: bool
    ) -> tuple[list[int], bytes]:
        """Lengths, and log-probabilities `(ΣT, V)`; a kept pass can be differentiated."""
        scores: list[Tensor] = [torch.empty(0)] * len(inputs)  # B × (T, V)
        leaves: list[tuple[list[int], Tensor]] = []
        with self.still(), torch.set_grad_enabled(is_kept):
            names = next((n.names for n in nudges if n is not None), [])
            for places in self._alike(inputs):
                own = [nudges[i] for i in places]
                shifts = self.leaf([n or Nudge(names) for n in own]) if is_kept else self.stacked(own)
                part = list(self.run(shifts, names, self.log_probs, [inputs[i] for i in places]))
                if len(part) != len(places):
                    raise ValueError(f"log_probs gave {len(part)} tensors for {len(places)} inputs")
                for i, one in zip(places, part, strict=True):
                    scores[i] = one
                if is_kept and shifts is not None:
                    leaves.append((places, shifts))
            flat = torch.cat([one.float().reshape(-1) for one in scores])  # (ΣT·V)
            if is_kept:
                starts = [0, *itertools.accumulate(one.numel() for one in scores)]
                self._kept[threading.get_ident()] = (flat, starts, leaves)
            return [len(one) for one in scores], to_bytes(flat)

    def _alike(self, inputs: Sequence[Input]) -> list[list[int]]:
        """Indices of inputs of similar size, which need little padding. A GPU takes all in one batch."""
        by_size = sorted(range(len(inputs)), key=lambda i: -inputs[i].size)
        parts = [by_size[:1]]
        for i in by_size[1:]:
            longest = inputs[parts[-1][0]].size
            is_shorter = inputs[i].size < 0.9 * longest and self.device.type == "cpu"
            if is_shorter and ENOUGH_TOKENS <= len(parts[-1]) * longest:
                parts.append([])
            parts[-1].append(i)
        return parts

    def tag_gradient(
        self, moves: list[tuple[Nudge, int, float, list[int], list[float]]]
    ) -> list[float]:
        """`∇` of Σ cost · log p over the blamed positions of each input."""
        if threading.get_ident() not in self._kept:
            raise RuntimeError("a gradient needs a pass that was kept")
        flat, starts, leaves = self._kept.pop(threading.get_ident())
        with self.still(), torch.enable_grad():
            at = [starts[place] + i for _, place, _, ats, _ in moves for i in ats]
            costs = [cost for *_, costs in moves for cost in costs]
            picked = flat[torch.tensor(at, dtype=torch.long, device=self.device)]
            total = picked @ torch.tensor(costs, device=self.device)
            grads = torch.autograd.grad(total, [shifts for _, shifts in leaves])
        places = [place for places, _ in leaves for place in places]
        order = {place: i for i, place in enumerate(places)}
        chosen = torch.tensor([order[place] for _, place, *_ in moves], device=self.device)
        grad = torch.cat(grads)[chosen]
        return self.keep_gradient([m[0] for m in moves], [m[2] for m in moves], grad)


class _Pass:
    """A decode: the state of all its rows."""

    def __init__(self, state: Any, shifts: Tensor | None, names: list[str], n: int, device: Any) -> None:
        self.state = self.first = state
        self.shifts, self.names = shifts, names
        self.rows = torch.arange(n, device=device)  # the input of each row


class Seq2SeqBackend(Backend):
    """Networks that write one symbol after another; symbol `V − 1` is the end."""

    def __init__(
        self,
        module: nn.Module,
        prepare: Callable[[Any], Prepared],
        network: Any,
        in_step: int | None = None,
    ) -> None:
        super().__init__(module, prepare, in_step)
        self.network = network

    def begin(self, inputs: list[Input], nudges: list[Nudge | None], is_kept: bool) -> _Pass:
        with self.still(), torch.no_grad():
            names = next((n.names for n in nudges if n is not None), [])
            shifts = self.stacked(nudges)
            state = self.run(shifts, names, self.network.encode, inputs)
            if is_kept:
                self._kept[threading.get_ident()] = inputs
            return _Pass(state, shifts, names, len(inputs), self.device)

    def _tensor(self, symbols: Sequence[int] | Sequence[Sequence[int]]) -> Tensor:
        return torch.tensor(symbols, dtype=torch.long, device=self.device)

    def step(self, run: _Pass, symbols: list[int] | None) -> bytes:
        """Log-probabilities `(R, V)` after one more symbol in each row; after none in the first step."""
        with self.still(), torch.no_grad(), self.moved(run.shifts, run.names, run.rows):
            fed = None if symbols is None else self._tensor(symbols)
            log_probs, run.state = self.network.step(run.state, fed)
        return to_bytes(log_probs)

    def select(self, run: _Pass, rows: list[int]) -> None:
        with self.still(), torch.no_grad():
            chosen = self._tensor(rows)
            run.state = self.network.select(run.state, chosen)
            run.rows = run.rows[chosen]

    def resume(self, run: _Pass, rows: list[tuple[int, list[int]]]) -> bytes:
        """Log-probabilities `(R, V)` after prefixes of different lengths, which run from the start."""
        with self.still(), torch.no_grad():
            places = self._tensor([place for place, _ in rows])
            # The padding after a prefix does not matter; use the end symbol.
            end = self.network.end
            longest = max(len(prefix) for _, prefix in rows) + 1
            padded = [[*prefix, *[end] * (longest - len(prefix))] for _, prefix in rows]
            state = self.network.select(run.first, places)
            with self.moved(run.shifts, run.names, places):
                log_probs = self.network.force(state, self._tensor(padded))  # (R, T, V)
            last = self._tensor([len(prefix) for _, prefix in rows])
            return to_bytes(log_probs[torch.arange(len(rows), device=self.device), last])

    def _forced(
        self, inputs: list[Input], shifts: Tensor | None, names: list[str],
        outputs: list[list[int]], places: list[int],
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities of outputs by position `(S, T)`, and which positions exist."""
        longest = max(map(len, outputs))
        end = self.network.end
        padded = self._tensor([[*y, *[end] * (longest - len(y))] for y in outputs])  # (S, T)
        lengths = self._tensor([len(y) for y in outputs])
        rows = self._tensor(places)
        state = self.run(shifts, names, self.network.encode, inputs)
        with self.moved(shifts, names, rows):
            log_probs = self.network.force(self.network.select(state, rows), padded)  # (S, T, V)
        real = torch.arange(longest, device=self.device) < lengths[:, None]
        if hasattr(self.network, "picked"):
            return self.network.picked(log_probs.float(), padded), real & self.network.uncertain(lengths, longest)
        return log_probs.float().gather(2, padded[:, :, None])[:, :, 0], real

    def force(
        self, inputs: list[Input], nudges: list[Nudge | None], outputs: list[list[int]]
    ) -> list[float]:
        """`log p(y | x)` of each output under its input's weights."""
        with self.still(), torch.no_grad():
            names = next((n.names for n in nudges if n is not None), [])
            places = list(range(len(inputs)))
            picked, real = self._forced(inputs, self.stacked(nudges), names, outputs, places)
            log_probs: list[float] = torch.where(real, picked, 0.0).sum(dim=1).tolist()
        return log_probs

    def output_gradient(
        self, moves: list[tuple[Nudge, int, float, list[tuple[list[int], list[float]]]]]
    ) -> list[float]:
        """`∇` of Σ cost · log p over the outputs of each input."""
        nudges = [nudge for nudge, *_ in moves]
        inputs = [self._kept[threading.get_ident()][place] for _, place, *_ in moves]
        outputs = [(i, y, costs) for i, move in enumerate(moves) for y, costs in move[3]]
        with self.still(), torch.enable_grad():
            shifts = self.leaf(nudges)
            picked, real = self._forced(
                inputs, shifts, nudges[0].names, [y for _, y, _ in outputs], [i for i, *_ in outputs]
            )
            longest = picked.shape[1]
            costs = torch.tensor(
                [[*c, *[0.0] * (longest - len(c))] for _, _, c in outputs], device=self.device
            )
            total = (torch.where(real, picked, 0.0) * costs).sum()
            [grad] = torch.autograd.grad(total, [shifts])
        return self.keep_gradient(nudges, [pull for _, _, pull, _ in moves], grad)
