"""Modules for tests: cajole's transducer rewritten in PyTorch, and small random transformers."""

from __future__ import annotations

import json
import pathlib
import struct
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

# Modules this small are slower on several threads, and much slower on a busy machine.
torch.set_num_threads(1)

ROOT = pathlib.Path(__file__).resolve().parents[2]


def safetensors(path: pathlib.Path) -> dict[str, Tensor]:
    """The tensors of a file in single precision, read without the package."""
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n])
    tensors = {}
    for name, about in header.items():
        if name != "__metadata__":
            start, end = (8 + n + at for at in about["data_offsets"])
            flat = torch.frombuffer(bytearray(data[start:end]), dtype=torch.float32)
            tensors[name] = flat.view(about["shape"])
    return tensors


class Part(nn.Module):
    """Parameters under the names that the checkpoint has."""

    def __init__(self, weights: dict[str, Tensor], prefix: str) -> None:
        super().__init__()
        for name, tensor in weights.items():
            if name.startswith(prefix):
                self.register_parameter(name.removeprefix(prefix), nn.Parameter(tensor.clone()))

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(name)


def lstm(x: Tensor, h: Tensor, c: Tensor, w_h: Tensor) -> tuple[Tensor, Tensor]:
    """One step from gates `x` `(R, 4H)`, in the order i, f, g, o."""
    i, f, g, o = (x + h @ w_h).chunk(4, dim=-1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


class Transducer(nn.Module):
    """The built-in transducer, `models/transducer`."""

    symbols = ["a", "b", "z"]

    def __init__(self) -> None:
        super().__init__()
        weights = safetensors(ROOT / "models/transducer/model.safetensors")
        self.encoder = Part(weights, "encoder.")
        self.decoder = Part(weights, "decoder.")
        self.output = Part(weights, "output.")

    def encode(self, inputs: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        e = self.encoder
        h = c = torch.zeros(len(inputs), e.w_h.shape[0], dtype=e.w_h.dtype)
        for t in range(max(map(len, inputs))):
            ids = torch.tensor([self.symbols.index(x[t]) if t < len(x) else 0 for x in inputs])
            alive = torch.tensor([[t < len(x)] for x in inputs])
            x = nn.functional.embedding(ids, e.embedding) @ e.w_x + e.b
            h_new, c_new = lstm(x, h, c, e.w_h)
            h, c = torch.where(alive, h_new, h), torch.where(alive, c_new, c)
        zero = torch.zeros_like(h)
        return h @ self.decoder.w_s, zero, zero

    def step(
        self, state: tuple[Tensor, Tensor, Tensor], symbols: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        encoded, h, c = state
        d = self.decoder
        x = nn.functional.embedding(symbols, d.embedding) @ d.w_x + d.b + encoded
        h, c = lstm(x, h, c, d.w_h)
        return (h @ self.output.w + self.output.b).log_softmax(-1), (encoded, h, c)


class Tagger(nn.Module):
    """A transformer with random weights that tags words by their length."""

    tags = ["O", "B-X", "I-X", "B-Y", "I-Y"]

    def __init__(self, size: int = 16, layers: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(64, size)
        layer = nn.TransformerEncoderLayer(size, 2, 2 * size, dropout, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.output = nn.Linear(size, len(self.tags))
        for parameter in self.parameters():
            if parameter.dim() == 1:
                nn.init.normal_(parameter, 0.5, 0.3)

    def log_probs(self, inputs: Sequence[str]) -> list[Tensor]:
        device = self.output.weight.device
        words = [[len(word) % 64 for word in x.split()] for x in inputs]
        longest = max(map(len, words))
        ids = torch.tensor([[*w, *[0] * (longest - len(w))] for w in words], device=device)
        pad = torch.tensor([[t >= len(w) for t in range(longest)] for w in words], device=device)
        hidden = self.layers(self.embedding(ids), src_key_padding_mask=pad)
        scores = self.output(hidden).log_softmax(-1)
        return [scores[i, : len(w)] for i, w in enumerate(words)]
