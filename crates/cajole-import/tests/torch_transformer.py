"""Builds networks of random weights with `nn.Transformer`, and what PyTorch computes with them:
`torch_transformer.py OUT`. `torch_transformer.rs` compares.

Each folder of OUT holds `model.pt` and `names.json`; `inputs.json`; `expected.safetensors`; and
`gradient-N.pt`: gradients in the place of weights. Inputs run in padded batches.
"""

import json
import math
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

INPUTS = 100  # per folder
BATCH = 10
GRADIENTS = 3  # inputs with a gradient
SYMBOLS = 60
CAP = 24  # symbols of an output, with the end


class Plain(torch.nn.Module):
    """`nn.Transformer` between embeddings and a linear layer, as tutorials build it."""

    def __init__(self, norm_first):
        super().__init__()
        self.is_learned = norm_first
        self.source, self.target = torch.nn.Embedding(SYMBOLS, 32), torch.nn.Embedding(SYMBOLS, 32)
        self.core = torch.nn.Transformer(
            32, 4, 2, 3, 40, 0.0, "gelu" if norm_first else "relu", batch_first=True, norm_first=norm_first
        )
        self.top = torch.nn.Linear(32, SYMBOLS)
        if self.is_learned:
            self.places, self.places_out = (torch.nn.Parameter(torch.randn(64, 32)) for _ in "ab")
        else:
            angles = torch.arange(64.0).unsqueeze(1) * torch.exp(torch.arange(0, 32, 2) * (-math.log(1e4) / 32))
            waves = torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
            self.register_buffer("places", waves)
            self.register_buffer("places_out", waves)

    def names(self):
        names = dict(transformer="core", reads="source", writes="target", output="top", heads=4, longest=64)
        names |= {"norm-first": self.is_learned, "scales": not self.is_learned}
        places = ["places", "places_out"]
        names |= dict(positions=places, activation="gelu") if self.is_learned else dict(ignored=places)
        return names, dict(start=1, end=2, cap=CAP)

    def forward(self, ids, mask, before):
        scale = 1 if self.is_learned else 32**0.5
        embed = lambda table, places, x: table(x) * scale + places[: x.shape[1]]
        causal = torch.ones(before.shape[1], before.shape[1]).triu(1).bool()
        padding = mask == 0
        x = self.core(
            embed(self.source, self.places, ids), embed(self.target, self.places_out, before),
            tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding,
        )  # fmt: skip
        return self.top(x)


def sequences(seed, low, high, end=None):
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, 20, (INPUTS,), generator=g).tolist()
    drawn = [torch.randint(low, high, (n,), generator=g).tolist() for n in lengths]
    return drawn if end is None else [x + [end] for x in drawn]


def padded(batch, pad):
    longest = max(map(len, batch))
    ids = torch.tensor([x + [pad] * (longest - len(x)) for x in batch])
    mask = torch.tensor([[1] * len(x) + [0] * (longest - len(x)) for x in batch])
    return ids, mask


def batches(xs):
    return [xs[i : i + BATCH] for i in range(0, len(xs), BATCH)]


def plain(folder, model):
    """What PyTorch computes with a network."""
    start, end, pad = 1, 2, 0
    xs = sequences(4, 3, SYMBOLS - 1, end)
    ys = [[3 + (x * 7 + t) % (SYMBOLS - 5) for t, x in enumerate(x[:-1])] for x in xs]
    logits, greedy = [], []
    with torch.no_grad():
        for some, outputs in zip(batches(xs), batches(ys)):
            ids, mask = padded(some, pad)
            before, _ = padded([[start] + y for y in outputs], pad)
            out = model(ids, mask, before)
            logits += [row[: len(y) + 1] for row, y in zip(out, outputs)]
            said = torch.full((len(some), 1), start)
            for _ in range(CAP):
                said = torch.cat([said, model(ids, mask, said)[:, -1:].argmax(-1)], 1)
            greedy += [(y[: y.index(end)], True) if end in y else (y, False) for y in said[:, 1:].tolist()]
    for i in range(GRADIENTS):
        model.zero_grad()
        out = model(*padded(xs[i : i + 1], pad), torch.tensor([[start] + ys[i]]))[0]
        y = ys[i] + [end]
        out.log_softmax(-1)[range(len(y)), y].sum().backward()
        torch.save({name: p.grad for name, p in model.named_parameters()}, folder / f"gradient-{i}.pt")
    return dict(inputs=xs, outputs=ys, greedy=greedy), logits


def plain_networks(out):
    for norm_first in (False, True):
        folder = out / ("plain-norm-first" if norm_first else "plain")
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(7)
        model = Plain(norm_first).train()  # the fused path of eval mode pads differently
        with torch.no_grad():
            for p in model.parameters():
                p.add_(torch.randn_like(p) * (0.2 if p.dim() == 1 else 0.1))
            model.top.bias[2] += 2  # some outputs end
        torch.save(model.state_dict(), folder / "model.pt")
        (folder / "names.json").write_text(json.dumps(model.names()))
        leave(folder, *plain(folder, model))


def leave(folder, inputs, logits):
    (folder / "inputs.json").write_text(json.dumps(inputs))
    log_probs = torch.cat(logits).double().log_softmax(-1)
    save_file({"log_probs": log_probs.float()}, folder / "expected.safetensors")


def main():
    torch.set_num_threads(1)
    plain_networks(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
