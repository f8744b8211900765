"""Repairs per second with many inputs in one batch against one at a time, on the same device.

    python bench/python/in_step.py [--device cuda] [--in-step 32] [--inputs 64] [--alone 6] [--threads N]

Two networks with random weights: a tagger (encoder of 6 x 384) and an encoder-decoder of 3+3 x 256. The
rule is never satisfied, so every repair takes the same number of steps and all the work is counted. Biases
and norms move. For the tagger, `functional_call` under `vmap` computes the same gradients beside it.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

import cajole
import cajole.torch
from cajole.torch._backend import Input, Nudge, TaggerBackend

STEPS = 10
SETTINGS = {
    "width": 1,
    "sources": [],
    "objective": {"kind": "lower", "candidates": 1},
    "schedule": {
        "rule": {"kind": "unit-norm", "growth": 1.0, "cap": 1.0},
        "step-size": 1e-4,
        "max-steps": STEPS,
    },
    "restarts": [],
}


def padded(inputs: Sequence[list[str]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids and padding `(B, T)` of words that are numbers."""
    longest = max(map(len, inputs))
    rows = [[int(w) for w in x] + [0] * (longest - len(x)) for x in inputs]
    pad = [[t >= len(x) for t in range(longest)] for x in inputs]
    return torch.tensor(rows, device=device), torch.tensor(pad, device=device)


class Tagger(nn.Module):
    """6 x 384, as the small encoders of sentence-transformers are."""

    def __init__(self, size: int = 384, layers: int = 6, n_tags: int = 9) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, size)
        layer = nn.TransformerEncoderLayer(size, 12, 4 * size, 0.0, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.output = nn.Linear(size, n_tags)

    def scores(self, ids: Tensor, pad: Tensor) -> Tensor:
        hidden = self.encoder(self.embedding(ids), src_key_padding_mask=pad)
        return self.output(hidden).log_softmax(-1)  # (B, T, V)

    def log_probs(self, inputs: Sequence[list[str]]) -> list[Tensor]:
        scores = self.scores(*padded(inputs, self.output.weight.device))
        return [scores[i, : len(x)] for i, x in enumerate(inputs)]


class EncoderDecoder(nn.Module):
    """3+3 x 256. A step runs the decoder over the whole prefix."""

    def __init__(self, size: int = 256, layers: int = 3, n_symbols: int = 60) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, size)
        self.target = nn.Embedding(n_symbols + 1, size)
        self.transformer = nn.Transformer(
            size, 8, layers, layers, 4 * size, 0.0, batch_first=True
        )
        self.output = nn.Linear(size, n_symbols + 1)
        self.end = n_symbols
        with torch.no_grad():
            self.output.bias[n_symbols] = -20.0  # outputs run to their limit: equal work for all

    def encode(self, inputs: Sequence[list[str]]) -> dict[str, Tensor]:
        ids, pad = padded(inputs, self.output.weight.device)
        memory = self.transformer.encoder(self.embedding(ids), src_key_padding_mask=pad)
        return {"memory": memory, "pad": pad, "prefix": ids[:, :0]}

    def _scores(self, state: dict[str, Tensor], prefix: Tensor) -> Tensor:
        n = prefix.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool, device=prefix.device).triu(1)
        hidden = self.transformer.decoder(
            self.target(prefix),
            state["memory"],
            tgt_mask=causal,
            memory_key_padding_mask=state["pad"],
        )
        return self.output(hidden).log_softmax(-1)

    def step(self, state: dict[str, Tensor], symbols: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        prefix = torch.cat([state["prefix"], symbols[:, None]], dim=1)
        return self._scores(state, prefix)[:, -1], {**state, "prefix": prefix}

    def force(self, state: dict[str, Tensor], outputs: Tensor) -> Tensor:
        start = torch.full_like(outputs[:, :1], self.end)
        return self._scores(state, torch.cat([start, outputs[:, :-1]], dim=1))


def repairs_per_second(model: cajole.Model, inputs: list[Any]) -> float:
    def never(x: Any, y: cajole.Output) -> float:
        return 1.0

    started = time.perf_counter()
    for result in model.infer(inputs, rules=never, settings=SETTINGS):
        assert result.steps == STEPS and result.error is None, result
    return len(inputs) / (time.perf_counter() - started)


def report(name: str, make: Any, inputs: list[Any], arguments: argparse.Namespace) -> None:
    repairs_per_second(make(1), inputs[:1])  # warm
    alone = repairs_per_second(make(1), inputs[: arguments.alone])
    together = repairs_per_second(make(arguments.in_step), inputs)
    print(
        f"{name}: one at a time {alone:.2f} repairs/s, {arguments.in_step} in step "
        f"{together:.2f} repairs/s, {together / alone:.1f}x"
    )


def beside_vmap(module: Tagger, inputs: list[list[str]], device: torch.device) -> None:
    """Seconds for one decode and gradient of the batch, by shifts of rows and by `vmap`."""
    backend = TaggerBackend(module, lambda x: (x, x, len(x), len(x)), module.log_probs)
    names = [n for n, p in backend.named.items() if p.dim() == 1]
    fixed = {n: p.detach() for n, p in module.named_parameters() if n not in names}
    nudges: list[Nudge] = [Nudge(names) for _ in inputs]
    n_weights = sum(backend.named[n].numel() for n in names)
    torch.manual_seed(0)
    for nudge in nudges:
        nudge.shift = 1e-3 * torch.randn(n_weights, device=device)
    ids, pad = padded(inputs, device)

    read = [Input(x, len(x)) for x in inputs]

    def by_rows() -> list[Tensor]:
        backend.read(read, list(nudges), True)
        blame = [[t * 9 for t in range(len(x))] for x in inputs]
        costs = [[1.0] * len(x) for x in inputs]
        backend.tag_gradient([(u, i, 0.0, blame[i], costs[i]) for i, u in enumerate(nudges)])
        return [u.grad for u in nudges if u.grad is not None]

    class Scores(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, ids: Tensor, pad: Tensor) -> Tensor:
            return self.inner.scores(ids, pad)

    scorer = Scores().eval()

    def loss(own: Tensor, ids: Tensor, pad: Tensor) -> Tensor:
        weights, start = dict(fixed), 0
        for n in names:
            p = backend.named[n]
            weights[n] = p.detach() + own[start : start + p.numel()].view(p.shape)
            start += p.numel()
        weights = {f"inner.{n}": w for n, w in weights.items()}
        scores = torch.func.functional_call(scorer, weights, (ids[None], pad[None]))[0]
        return torch.where(pad, 0.0, scores[:, 0]).sum()

    shifts = torch.stack([u.shift for u in nudges if u.shift is not None])
    by_vmap = torch.func.vmap(torch.func.grad(loss))

    def seconds(call: Any) -> float:
        call()
        times = []
        for _ in range(5):
            if device.type == "cuda":
                torch.cuda.synchronize()
            started = time.perf_counter()
            call()
            if device.type == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - started)
        return sorted(times)[2]

    rows = seconds(by_rows)
    try:
        mapped = seconds(lambda: by_vmap(shifts, ids, pad))
        worst = (torch.stack(by_rows()) - by_vmap(shifts, ids, pad)).abs().max().item()
        print(
            f"tagger, decode and gradient of {len(inputs)}: shifts of rows {rows * 1e3:.1f} ms, "
            f"functional_call and vmap {mapped * 1e3:.1f} ms; they differ by {worst:.1e}"
        )
    except RuntimeError as error:
        print(f"shifts of rows {rows * 1e3:.1f} ms; vmap cannot: {str(error).splitlines()[0]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--in-step", type=int, default=32)
    parser.add_argument("--inputs", type=int, default=64)
    parser.add_argument(
        "--threads", type=int, default=torch.get_num_threads(), help="PyTorch's, by default one a core"
    )
    parser.add_argument("--alone", type=int, default=6, help="inputs that are repaired one at a time")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    device = torch.device(arguments.device)
    rng = random.Random(0)
    inputs = [[str(rng.randrange(1000)) for _ in range(rng.randint(10, 24))] for _ in range(arguments.inputs)]
    print(
        f"{device}, PyTorch with {arguments.threads} threads, {len(inputs)} inputs of 10 to 24 tokens, "
        f"{STEPS} steps each"
    )
    tagger, writer = Tagger().to(device), EncoderDecoder().to(device)
    tags = [f"T{i}" for i in range(9)]
    report(
        "tagger 6 x 384",
        lambda n: cajole.torch.tagger(tagger, tags, in_step=n),
        inputs,
        arguments,
    )
    symbols = [f"s{i}" for i in range(60)]
    report(
        "encoder-decoder 3+3 x 256",
        lambda n: cajole.torch.seq2seq(writer, symbols, max_length=20, in_step=n),
        inputs,
        arguments,
    )
    beside_vmap(tagger.eval(), inputs[: arguments.in_step], device)


if __name__ == "__main__":
    main()
