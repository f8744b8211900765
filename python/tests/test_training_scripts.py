"""The fused layers of the training scripts against PyTorch's own operations."""

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported: its kernels then run on a CPU
pytest.importorskip("triton")

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    import parsers

    return parsers


def test_a_fused_highway_layer_has_the_gradients_of_a_plain_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    import taggers

    torch.manual_seed(1)
    found = []
    given = [torch.randn(5, 3, 96), torch.randn(16, 80)]
    mask, weights = torch.rand(3, 16), torch.randn(5, 3, 16)
    for layer in (taggers.highway.Layer.apply, taggers.plain):
        z, w_h = (x.clone().requires_grad_() for x in given)
        hs = layer(z, w_h, mask)
        (hs * weights).sum().backward()
        found.append((hs.detach(), z.grad, w_h.grad))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("architecture", ["gnmt", "simple"])
def test_fused_layers_have_the_gradients_of_plain_ones(
    parsers: Any, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    assert parsers.fused and parsers.fused.INTERPRETED
    torch.manual_seed(1)
    net = parsers.Seq2Seq(parsers.Network(architecture, 32, 0.0, 100, 1), 10, 9)
    xs, lengths = torch.randint(0, 10, (3, 7)), torch.tensor([7, 4, 1])
    ys, weights = torch.randint(0, 9, (3, 6)), torch.randn(3, 6, 7)

    def gradients() -> list[Any]:
        net.zero_grad()
        scores, looks = net(xs, lengths, ys)
        looks = looks.masked_fill(looks == -torch.inf, 0)
        (scores.square().sum() + (looks * weights).sum()).backward()
        return [p.grad.clone() for p in net.parameters() if p.grad is not None]

    fused = gradients()
    monkeypatch.setattr(parsers, "fused", None)
    for ours, theirs in zip(fused, gradients(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_a_killed_training_goes_on_where_it_was(parsers: Any, tmp_path: Path) -> None:
    import random

    corpus = sys.modules["corpus"]

    def begin() -> tuple[Any, Any, Any, Any]:
        torch.manual_seed(2)
        net = torch.nn.Linear(3, 2)
        adam = torch.optim.AdamW(net.parameters(), lr=0.1)
        return net, adam, corpus.Averaged(net, 0.9), random.Random(1)

    def step(net: Any, adam: Any, average: Any, rng: random.Random) -> None:
        adam.zero_grad()
        net(torch.full((1, 3), rng.random())).square().sum().backward()
        adam.step()
        average.update()

    whole, parts = begin(), begin()
    for _ in range(4):
        step(*whole)
    for _ in range(2):
        step(*parts)
    corpus.Progress(tmp_path, *parts, {"epochs": 4}).save(step=2)
    resumed = begin()
    with pytest.raises(SystemExit, match="another epochs"):
        corpus.Progress(tmp_path, *resumed, {"epochs": 5}).load()
    assert corpus.Progress(tmp_path, *resumed, {"epochs": 4}).load() == {"step": 2}
    for _ in range(2):
        step(*resumed)
    for ours, theirs in zip([*resumed[0].parameters(), *resumed[2].weights],
                            [*whole[0].parameters(), *whole[2].weights], strict=True):
        assert torch.equal(ours, theirs)
    progress = corpus.Progress(tmp_path, *resumed, {"epochs": 4})
    progress.end()
    assert progress.load() is None
