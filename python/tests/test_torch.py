"""The PyTorch adapter: per-input gradients, dtypes, modes, what stays untouched, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

import cajole

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

import torch_modules
from torch import nn

import cajole.torch
from cajole.torch._backend import Input, Nudge, TaggerBackend

INPUTS = ["a bb ccc", "dddd ee f g", "aaaaa b cc ddd eeee", "x yy", "zzz zz z", "q"]


def one_x(x: str, y: cajole.Output) -> float:
    return abs(y.symbols.count("B-X") - 1)


def bits(module: nn.Module) -> list[bytes]:
    return [bytes(p.detach().view(torch.uint8).flatten().tolist()) for p in module.parameters()]


def tagger(module: nn.Module, **options: Any) -> cajole.torch.TorchModel:
    return cajole.torch.tagger(module, torch_modules.Tagger.tags, **options)


@pytest.mark.parametrize("moves", [["@vectors"], ["*"], ["output", "*norm1*"]])
def test_gradients_of_a_batch_are_those_of_inputs_alone(moves: list[str]) -> None:
    """The oracle: `functional_call` with one input's own weights, differentiated by PyTorch."""
    module = torch_modules.Tagger().eval()
    backend = TaggerBackend(module, lambda x: (x, x.split(), 3, 3), module.log_probs)
    names = list(backend.named)
    if moves == ["@vectors"]:
        names = [name for name in names if backend.named[name].dim() == 1]
    elif moves != ["*"]:
        names = [name for name in names if name.startswith("output") or "norm1" in name]
    torch.manual_seed(1)
    nudges = [Nudge(names) for _ in INPUTS]
    n = sum(backend.named[name].numel() for name in names)
    for nudge in nudges:
        nudge.shift = 0.05 * torch.randn(n)
    lengths, _ = backend.read([Input(x, len(x.split())) for x in INPUTS], list(nudges), True)
    blame = [[t * 5 + (t + i) % 5 for t in range(length)] for i, length in enumerate(lengths)]
    costs = [[0.3 + t for t in range(length)] for length in lengths]
    norms = backend.tag_gradient(
        [(nudges[i], i, 0.0, blame[i], costs[i]) for i in range(len(INPUTS))]
    )
    for i, x in enumerate(INPUTS):
        shift = nudges[i].shift
        assert shift is not None
        leaf = shift.clone().requires_grad_()
        own, start = {}, 0
        for name in names:
            parameter = backend.named[name]
            part = leaf[start : start + parameter.numel()].view(parameter.shape)
            own[name] = parameter.detach() + part
            start += parameter.numel()

        class Scorer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = module

            def forward(self, x: str) -> torch.Tensor:
                return self.inner.log_probs([x])[0]

        owned = {f"inner.{name}": tensor for name, tensor in own.items()}
        scores = torch.func.functional_call(Scorer(), owned, (x,))
        total = scores.reshape(-1)[torch.tensor(blame[i])] @ torch.tensor(costs[i])
        [expected] = torch.autograd.grad(total, [leaf])
        assert nudges[i].grad is not None
        torch.testing.assert_close(nudges[i].grad, expected, atol=2e-5, rtol=1e-4)
        assert norms[i] == pytest.approx(expected.norm().item(), rel=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_repairs_leave_every_bit_as_it_was(dtype: torch.dtype) -> None:
    module = torch_modules.Tagger(dropout=0.5).to(dtype)
    module.train()
    module.output.bias.requires_grad_(False)
    before = bits(module)
    results = list(tagger(module).infer(INPUTS, rules=one_x, max_steps=200))
    assert bits(module) == before
    assert module.training and module.layers.layers[0].dropout.training
    assert not module.output.bias.requires_grad and module.output.weight.requires_grad
    assert all(p.grad is None for p in module.parameters())
    assert any(r.steps for r in results)
    # At most 73 steps, in all descents together; 25 in each would be too few for one or two inputs.
    assert all(r.status == "satisfied" for r in results), results


def test_dropout_does_not_reach_outputs() -> None:
    plain = [r.to_json() for r in tagger(torch_modules.Tagger()).infer(INPUTS, rules=one_x, max_steps=200)]
    dropping = torch_modules.Tagger(dropout=0.5).train()
    assert [r.to_json() for r in tagger(dropping).infer(INPUTS, rules=one_x, max_steps=200)] == plain


def test_a_compiled_module_is_repaired() -> None:
    module = torch_modules.Tagger()
    compiled = torch.compile(module)
    plain = [r.to_json() for r in tagger(module).infer(INPUTS, rules=one_x, max_steps=200)]
    assert [r.to_json() for r in tagger(compiled).infer(INPUTS, rules=one_x, max_steps=200)] == plain


def test_outputs_do_not_depend_on_the_batch() -> None:
    inputs = [" ".join("x" * (1 + (i * j) % 7) for j in range(1, 3 + i % 5)) for i in range(16)]
    alone, together = (
        list(tagger(torch_modules.Tagger(), in_step=n).infer(inputs, rules=one_x, max_steps=15)) for n in (1, 16)
    )
    assert [(r.output, r.steps) for r in alone] == [(r.output, r.steps) for r in together]
    assert any(r.steps for r in alone)


def test_engines_are_compared_on_several_threads() -> None:
    model = tagger(torch_modules.Tagger(), in_step=2)
    alone = list(model.infer(INPUTS * 12, rules=one_x, max_steps=5))
    report = model.compare(INPUTS * 12, rules=one_x, max_steps=5, engines=["gbi", "masked"])
    [gbi] = [row for row in report.rows if row["method"] == "gbi"]
    failures = [r for r in alone if r.g_before > 0]
    assert gbi["failures"] == len(failures)
    satisfied = sum(r.status == "satisfied" for r in failures)
    assert gbi["satisfied"] == pytest.approx(100 * satisfied / len(failures))


class Recurrent(nn.Module):
    """A fused LSTM reads its biases in one operation, which cannot tell rows apart."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(64, 8)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.output = nn.Linear(8, 5)

    def log_probs(self, inputs: Sequence[str]) -> list[torch.Tensor]:
        ids = [torch.tensor([len(word) % 64 for word in x.split()]) for x in inputs]
        padded = nn.utils.rnn.pad_sequence(ids, batch_first=True)
        scores = self.output(self.lstm(self.embedding(padded))[0]).log_softmax(-1)
        return [scores[i, : len(own)] for i, own in enumerate(ids)]


def test_what_cannot_be_batched_is_repaired_one_at_a_time_with_a_warning() -> None:
    model = tagger(Recurrent())
    with pytest.warns(RuntimeWarning, match="one at a time: lstm.bias_ih_l0 is read by lstm"):
        results = list(model.infer(INPUTS, rules=one_x, max_steps=200))
    assert all(r.error is None for r in results)
    assert any(r.steps for r in results)
    only_output = tagger(Recurrent(), moves=["output.bias"])
    assert all(r.error is None for r in only_output.infer(INPUTS, rules=one_x, max_steps=200))


def test_modules_without_the_methods_are_refused() -> None:
    with pytest.raises(TypeError, match="Linear has no method log_probs: write it, or pass it"):
        cajole.torch.tagger(nn.Linear(2, 2), ["a", "b"])
    with pytest.raises(TypeError, match="Linear has no method encode and no method step"):
        cajole.torch.seq2seq(nn.Linear(2, 2), ["a", "b"])
    with pytest.raises(TypeError, match="has no parameters"):
        cajole.torch.tagger(nn.Identity(), ["a"], log_probs=lambda inputs: [])
    model = tagger(torch_modules.Tagger(), moves=["nothing"])
    with pytest.raises(cajole.SettingsError, match="no parameter matches \"nothing\""):
        model.infer(INPUTS, rules=one_x, max_steps=200)


class Failing(torch_modules.Tagger):
    """Runs out of memory with more than three inputs, and always on one of them."""

    def log_probs(self, inputs: Sequence[str]) -> list[torch.Tensor]:
        if len(inputs) > 3:
            raise torch.OutOfMemoryError(f"no room for {len(inputs)} inputs")
        if "x yy" in inputs:
            raise RuntimeError("this one is too much")
        return super().log_probs(inputs)


def test_an_input_that_fails_takes_nobody_with_it() -> None:
    module = Failing()
    before = bits(module)
    results = list(tagger(module).infer(INPUTS, rules=one_x, max_steps=200))
    assert bits(module) == before
    assert [r.status for r in results].count("failed") == 1
    assert results[3].status == "failed" and "too much" in str(results[3].error)
    expected = list(tagger(torch_modules.Tagger()).infer(INPUTS, rules=one_x, max_steps=200))
    for i in (0, 1, 2, 4, 5):
        assert results[i].output == expected[i].output


def test_wrong_shapes_are_named() -> None:
    module = torch_modules.Tagger()
    model = cajole.torch.tagger(module, [*module.tags, "B-Z"])
    [result] = model.infer(["a bb"], rules=one_x)
    assert result.status == "failed" and "did not score 6 tags" in str(result.error)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_a_gpu_gives_the_same() -> None:
    here = list(tagger(torch_modules.Tagger()).infer(INPUTS, rules=one_x, max_steps=200))
    module = torch_modules.Tagger().cuda()
    before = bits(module.cpu())
    there = list(tagger(module.cuda()).infer(INPUTS, rules=one_x, max_steps=200))
    assert [r.output for r in here] == [r.output for r in there]
    assert bits(module.cpu()) == before
