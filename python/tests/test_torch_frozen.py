"""What does not depend on moving parameters is computed once, and outputs are the same as without caching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import corpora
import pytest

import cajole

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

import torch_modules

import cajole.torch
from cajole.torch._frozen import Beginning

INPUTS = ["a bb ccc", "dddd ee f g", "aaaaa b cc ddd eeee", "x yy", "zzz zz z", "q"]


def never(x: str, y: cajole.Output) -> float:
    return 1.0


def one_x(x: str, y: cajole.Output) -> float:
    return abs(y.symbols.count("B-X") - 1)


class Lazy(torch_modules.Tagger):
    """Creates something in its first pass that later ones find."""

    scale: Any = None

    def log_probs(self, inputs: Sequence[str]) -> list[torch.Tensor]:
        if self.scale is None:
            self.scale = torch.ones(())
        return [scores * self.scale for scores in super().log_probs(inputs)]


class Asking(torch_modules.Tagger):
    """Branches on a tensor, and has activations that are too large to keep for no reason."""

    def __init__(self) -> None:
        super().__init__(size=512)

    def log_probs(self, inputs: Sequence[str]) -> list[torch.Tensor]:
        if not torch.tensor([len(x) > 0 for x in inputs]).all():
            raise ValueError("an input is empty")
        return super().log_probs(inputs)


class Overwriting(torch_modules.Tagger):
    """Writes into a result of its lower half, after it was read."""

    def log_probs(self, inputs: Sequence[str]) -> list[torch.Tensor]:
        words = [[len(word) % 64 for word in x.split()] for x in inputs]
        longest = max(map(len, words))
        hidden = self.embedding(torch.tensor([[*w, *[0] * (longest - len(w))] for w in words]))
        scores = self.output(hidden.tanh()).log_softmax(-1)
        hidden.detach().add_(1.0)
        return [scores[i, : len(w)] for i, w in enumerate(words)]


def answers(module: Any, moves: list[str], in_step: int, rule: Any = one_x) -> list[str]:
    model = cajole.torch.tagger(module, torch_modules.Tagger.tags, moves=moves, in_step=in_step)
    return [r.to_json() for r in model.infer(INPUTS, rules=rule, max_steps=12)]


@pytest.mark.parametrize("in_step", [1, 8])
@pytest.mark.parametrize("kind", [torch_modules.Tagger, Lazy, Asking, Overwriting])
@pytest.mark.parametrize("moves", [["layers.layers.1", "output"], ["output.bias"], ["@vectors"], ["*"]])
def test_outputs_are_those_of_computing_all_anew(
    monkeypatch: pytest.MonkeyPatch, kind: Any, moves: list[str], in_step: int
) -> None:
    once = answers(kind(), moves, in_step)
    monkeypatch.setattr(Beginning, "is_of", lambda *_: False)
    assert answers(kind(), moves, in_step) == once


@pytest.mark.parametrize("in_step", [1, 6])
def test_frozen_layers_are_computed_once(monkeypatch: pytest.MonkeyPatch, in_step: int) -> None:
    computed = 0
    embedding = torch.embedding

    def counted(*args: Any, **kwargs: Any) -> torch.Tensor:
        nonlocal computed
        computed += 1
        return embedding(*args, **kwargs)

    monkeypatch.setattr(torch, "embedding", counted)
    # All inputs stay to the end, since nothing satisfies.
    answers(torch_modules.Tagger(), ["layers.layers.1", "output"], in_step, never)
    once, computed = computed, 0
    answers(torch_modules.Tagger(), ["*"], in_step, never)
    sets = len(INPUTS) // in_step
    # A pass for the network's own output, one for candidates, and the first of each descent.
    assert once <= 4 * sets, (once, computed)
    assert computed >= 3 * once, (once, computed)


@pytest.mark.parametrize("in_step", [1, 8])
def test_an_encoder_that_does_not_move(monkeypatch: pytest.MonkeyPatch, in_step: int) -> None:
    def outputs() -> list[str]:
        model = cajole.torch.seq2seq(
            torch_modules.Transducer(),
            torch_modules.Transducer.symbols,
            separator="",
            tokens=list,
            max_length=lambda x: 3 * len(x) + 10,
            moves=["decoder.w_x", "output"],
            in_step=in_step,
        )
        results = list(model.infer(corpora.transductions(12, 8), rules=never, max_steps=4))
        assert all(r.steps for r in results)
        return [r.to_json() for r in results]

    once = outputs()
    monkeypatch.setattr(Beginning, "is_of", lambda *_: False)
    assert outputs() == once
