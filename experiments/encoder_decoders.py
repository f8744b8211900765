"""Trains transformer parsers from scratch, with PyTorch on a GPU.

    python experiments/encoder_decoders.py --data DATA --out NETS wsj-transformer ewt-transformer

`cajole train parsing --network wsj-transformer` trains the same networks on a CPU. Every network becomes a
checkpoint folder that `cajole` opens. The architecture is cajole's own
(`crates/cajole-nn/src/models/transformer/`): norms before each part, sinusoidal positions. `B` sentences,
`T` tokens, `S` symbols of an output, `D` width, `V` output symbols.
"""

import argparse
import gzip
import json
import math
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, embedding, scaled_dot_product_attention

from corpus import Averaged, Buckets, by_frequency, rows, save_checkpoint
from trees import commands, f1, parse

POSITIONS, CAP = 2048, 6
ENDINGS = "ness ment able ing ion ity est ous ive ed ly er al s y e".split()


@dataclass
class Network:
    """A parser to train."""

    treebank: str
    reads: str
    often: int
    train: str
    dev: str
    ids: str = ""
    vectors: str = ""


NETWORKS = {
    "wsj-transformer": Network(
        "wsj", "tags", 1, "ontonotes_delex/nw-wsj.train.jsonl.gz", "ontonotes_delex/nw-wsj.dev.jsonl.gz",
        ids="nw/wsj/22/",
    ),
    "ewt-transformer": Network(
        "ewt", "words", 2, "ewt/ewt.train.jsonl.gz", "ewt/ewt.dev.jsonl.gz",
        vectors="glove_subset/glove.6B.50d.subset.txt.gz",
    ),
}


def shape_of(word):
    """The class of an unknown word (`crates/cajole-tasks/src/words/lexicon.rs`)."""
    lower, name = word.lower(), "UNK"
    if any(c in "0123456789" for c in word):
        name += "-num"
    if "-" in word:
        name += "-dash"
    if word[0].isupper():
        name += "-caps" if word == word.upper() else "-init"
    elif word == lower and any(c.isalpha() for c in word):
        name += "-low"
    ending = next((e for e in ENDINGS if len(lower) > len(e) + 1 and lower.endswith(e)), None)
    return name + (f"-{ending}" if ending else "")


class Treebank:
    """Sentences with tags, what the network reads, and commands."""

    def __init__(self, path, of, ids=""):
        self.tags, self.inputs, self.outputs = [], [], []
        for row in rows(path, ids):
            tree, output = parse(row["tree"]), []
            commands(tree, output)
            tags = row.get("pos") or leaves(tree)
            self.tags.append(tags)
            self.inputs.append(row["tokens"] if of.reads == "words" else tags)
            self.outputs.append(output)

    def __len__(self):
        return len(self.tags)


def leaves(node):
    """The tags of a tree."""
    return [node] if isinstance(node, str) else [tag for child in node[1] for tag in leaves(child)]


class Numbers:
    """The vocabularies of a network."""

    def __init__(self, data, of, vectors):
        counts = Counter(word for sentence in data.inputs for word in sentence)
        classes = sorted({shape_of(w) for w, n in counts.items() if n < of.often} | {"UNK"})
        known = {w: n for w, n in counts.items() if of.often <= n and w not in classes}
        self.words = classes + by_frequency(known)
        self.word = {word: i for i, word in enumerate(self.words)}
        self.vector = {word: i for i, word in enumerate(vectors, 1)}
        found = Counter(c for output in data.outputs for c in output if c not in ("s", "r"))
        self.labels = by_frequency(found)
        self.names = ["s", "r", *self.labels]
        self.symbol = {c: i for i, c in enumerate(self.names)}
        self.end = len(self.names)

    def input(self, sentence):
        """A pair of numbers for each token, and for the end of the input: its word and its vector."""
        found = []
        for word in sentence:
            lower = word.lower()
            names = (word, lower, shape_of(word), "UNK")
            found.append((next(self.word[n] for n in names if n in self.word), self.vector.get(lower, 0)))
        return [*found, (len(self.words), 0)]


class Attention(nn.Module):
    """Attention with its norm, to the sequence itself or to a memory."""

    def __init__(self, of, crosses):
        super().__init__()
        d = of.width
        self.norm, self.heads, self.crosses = nn.LayerNorm(d), of.heads, crosses
        self.q, self.kv, self.out = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)

    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)  # (B, H, n, d)

    def memory(self, x):
        return [self.split(part) for part in self.kv(x).chunk(2, 2)]

    def forward(self, x, memory=None, mask=None, is_causal=False, cache=None):
        y = self.norm(x)
        k, v = memory or self.memory(y)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        seen = scaled_dot_product_attention(self.split(self.q(y)), k, v, mask, is_causal=is_causal)
        return self.out(seen.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, of, is_decoder):
        super().__init__()
        self.own = Attention(of, False)
        self.cross = Attention(of, True) if is_decoder else None
        self.norm = nn.LayerNorm(of.width)
        self.up, self.down = nn.Linear(of.width, of.inner), nn.Linear(of.inner, of.width)
        self.rate = of.dropout

    def forward(self, x, own, memory=None, mask=None):
        drop = lambda y: dropout(y, self.rate, self.training)
        x = x + drop(self.own(x, **own))
        if self.cross:
            x = x + drop(self.cross(x, memory, mask))
        return x + drop(self.down(drop(self.up(self.norm(x)).relu())))


class Transformer(nn.Module):
    def __init__(self, of, words, symbols, vectors):
        super().__init__()
        self.of, d = of, of.width
        table = lambda n: nn.Parameter(torch.randn(n, d) * d**-0.5)
        self.words, self.symbols, self.scores = table(words + 1), table(symbols), table(symbols)
        self.bias = nn.Parameter(torch.zeros(symbols))
        self.register_buffer("vectors", vectors)  # (N, P), or None
        self.of_vectors = None if vectors is None else nn.Linear(vectors.shape[1], d, bias=False)
        self.encoder = nn.ModuleList(Layer(of, False) for _ in range(of.layers))
        self.decoder = nn.ModuleList(Layer(of, True) for _ in range(of.layers))
        self.norms = nn.ModuleList([nn.LayerNorm(d), nn.LayerNorm(d)])
        for module in self.modules():
            if isinstance(module, nn.Linear):
                for part in module.weight.data.chunk(2 if module.out_features == 2 * d else 1):
                    nn.init.xavier_uniform_(part)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        angles = torch.arange(POSITIONS).unsqueeze(1) / 10000 ** (torch.arange(0, d, 2) / d)
        self.register_buffer("places", torch.stack([angles.sin(), angles.cos()], 2).flatten(1))

    def embed(self, ids, table, start=0):
        return math.sqrt(self.of.width) * embedding(ids, table) + self.places[start : start + ids.shape[1]]

    def drop(self, x):
        return dropout(x, self.of.dropout, self.training)

    def encode(self, xs, vectors, lengths):
        """Memories of all decoder layers, and the mask of padding (B, 1, 1, T)."""
        mask = (torch.arange(xs.shape[1], device=xs.device) < lengths.unsqueeze(1))[:, None, None]
        x = self.embed(xs, self.words)
        if self.of_vectors:
            x = x + self.of_vectors(embedding(vectors, self.vectors))
        x = self.drop(x)
        for layer in self.encoder:
            x = layer(x, {"mask": mask})
        x = self.norms[0](x)
        return [layer.cross.memory(x) for layer in self.decoder], mask

    def write(self, ys, memories, mask, start=0, caches=None):
        """Scores (B, S, V) of what follows `ys`."""
        x = self.drop(self.embed(ys, self.symbols, start))
        for i, layer in enumerate(self.decoder):
            own = {"is_causal": True} if caches is None else {"cache": caches[i]}
            x = layer(x, own, memories[i], mask)
        return self.norms[1](x) @ self.scores.t() + self.bias

    def forward(self, xs, vectors, lengths, ys):
        return self.write(ys, *self.encode(xs, vectors, lengths))

    @torch.no_grad()
    def greedy(self, xs, vectors, lengths, end):
        """The outputs (B, S) of greedy decoding, followed by the end symbol."""
        memories, mask = self.encode(xs, vectors, lengths)
        caches = [[] for _ in self.decoder]
        previous = torch.full((len(xs),), end, device=xs.device)
        caps = (lengths - 1) * CAP + 20
        done, found = torch.zeros_like(previous, dtype=torch.bool), []
        for t in range(int(caps.max())):
            scores = self.write(previous.unsqueeze(1), memories, mask, t, caches)
            done |= t + 1 >= caps
            previous = scores[:, 0].argmax(1).masked_fill(done, end)
            found.append(previous)
            done |= previous == end
            if t % 16 == 15 and bool(done.all()):
                break
        return torch.stack(found, 1)

    def named_as_ours(self):
        """The weights under cajole's names; matrices are (input, output), queries to values are joined."""
        named = {
            "reads.symbols": self.words, "writes.symbols": self.symbols, "output.symbols": self.scores,
            "output.b": self.bias,
        }
        if self.of_vectors:
            named |= {"vectors.table": self.vectors, "reads.vectors.w": self.of_vectors.weight.t()}

        def linear(name, *parts):
            named[f"{name}.w"] = torch.cat([part.weight for part in parts]).t()
            named[f"{name}.b"] = torch.cat([part.bias for part in parts])

        def norm(name, of):
            named[f"{name}.norm.gain"], named[f"{name}.norm.bias"] = of.weight, of.bias

        for part, layers in [("encoder", self.encoder), ("decoder", self.decoder)]:
            norm(part, self.norms[part == "decoder"])
            for i, layer in enumerate(layers):
                at = f"{part}.{i}"
                linear(f"{at}.attention.qkv", layer.own.q, layer.own.kv)
                linear(f"{at}.attention.out", layer.own.out)
                norm(f"{at}.attention", layer.own.norm)
                if layer.cross:
                    linear(f"{at}.cross.q", layer.cross.q)
                    linear(f"{at}.cross.kv", layer.cross.kv)
                    linear(f"{at}.cross.out", layer.cross.out)
                    norm(f"{at}.cross", layer.cross.norm)
                linear(f"{at}.feed.up", layer.up)
                linear(f"{at}.feed.down", layer.down)
                norm(f"{at}.feed", layer.norm)
        return named

    def config(self):
        """The architecture, as the card of a checkpoint has it."""
        of = self.of
        size, end = of.width // of.heads, len(self.symbols) - 1
        reads = lambda symbols: {
            "symbols": symbols, "positions": {"sinusoidal": {"rows": POSITIONS, "waves": "in-turn"}},
            "types": 0, "has-norm": False, "scale": math.sqrt(of.width),
        }
        stack = {
            "layers": of.layers, "width": of.width, "heads": of.heads, "head-size": size,
            "scale": size**-0.5, "inner": of.inner, "activation": "relu", "is-gated": False,
            "norm": "layer", "epsilon": 1e-5, "is-norm-first": True, "has-last-norm": True,
            "has-biases": True, "dropout": of.dropout,
        }
        network = {
            "reads": reads(len(self.words)), "encoder": stack, "writes": reads(end + 1), "decoder": stack,
            "shares-symbols": False, "ties-output": False, "has-output-bias": True, "output-scale": 1.0,
            "start": end, "end": end, "cap": 20, "cap-factor": CAP, "reads-end": True,
        }
        if self.of_vectors:
            network["vectors"] = {"rows": len(self.vectors), "size": self.vectors.shape[1]}
        return network


def padded(lists, value):
    longest = max(map(len, lists))
    return torch.tensor([x + [value] * (longest - len(x)) for x in lists])


def batch_of(rows, device):
    """Words and vectors (B, T), and lengths (B)."""
    words, vectors = (padded([[pair[j] for pair in row] for row in rows], 0) for j in (0, 1))
    return [t.to(device) for t in (words, vectors, torch.tensor([len(row) for row in rows]))]


def evaluate(net, numbers, dev, device):
    """Greedy F1 and the share of outputs that are no tree, both in per cent."""
    net.eval()
    order: list[int] = sorted(range(len(dev)), key=lambda i: len(dev.tags[i]))
    outputs: list[list[str]] = [[] for _ in order]
    for at in range(0, len(order), 256):
        part = order[at : at + 256]
        found = net.greedy(*batch_of([numbers.input(dev.inputs[i]) for i in part], device), numbers.end)
        for i, ids in zip(part, found.tolist()):
            ids = ids[: ids.index(numbers.end)] if numbers.end in ids else ids
            outputs[i] = [numbers.names[s] for s in ids]
    net.train()
    score, failures = f1(outputs, dev.outputs, dev.tags)
    return score, 100 * failures / len(dev)


def read_vectors(path):
    """Words, and their vectors behind one of zeros."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        split = [line.rstrip("\n").split(" ") for line in lines]
    values = torch.tensor([[float(x) for x in row[1:]] for row in split])
    return [row[0] for row in split], torch.cat([torch.zeros(1, values.shape[1]), values])


def train(name, arguments):
    of, folder, out = NETWORKS[name], Path(arguments.data), Path(arguments.out) / name
    torch.manual_seed(arguments.seed)
    rng, device = random.Random(arguments.seed), arguments.device
    out.mkdir(parents=True, exist_ok=True)
    data, dev = Treebank(folder / of.train, of), Treebank(folder / of.dev, of, of.ids)
    words, vectors = read_vectors(folder / of.vectors) if of.vectors else ([], None)
    numbers = Numbers(data, of, words)
    net = Transformer(arguments, len(numbers.words), numbers.end + 1, vectors).to(device)
    adam = torch.optim.AdamW(
        net.parameters(), betas=(0.9, 0.98), weight_decay=arguments.weight_decay, fused=device == "cuda"
    )
    average = Averaged(net, 0.998)
    inputs = [numbers.input(sentence) for sentence in data.inputs]
    golds = [[numbers.symbol[c] for c in output] + [numbers.end] for output in data.outputs]
    buckets = Buckets([len(y) for y in golds], arguments.tokens)
    steps = arguments.epochs * len(buckets.batches(rng))
    step, epoch, best, curve, began, fraction = 0, 0, -1.0, [], time.time(), 0.0
    evaluated = began
    while fraction < 1.0:
        for _, _, items in buckets.batches(rng):
            fraction = max(step / steps, (time.time() - began) / arguments.seconds)
            if fraction >= 1.0:
                break
            warm = min(1.0, (step + 1) / arguments.warmup)
            for group in adam.param_groups:
                group["lr"] = arguments.step_size * warm * (1 - fraction)
            xs = batch_of([inputs[i] for i in items], device)
            y = padded([golds[i] for i in items], -1)
            given = torch.cat([torch.full((len(items), 1), numbers.end), y[:, :-1].clamp(min=0)], 1)
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                scores = net(*xs, given.to(device))
            loss = cross_entropy(
                scores.float().flatten(0, 1), y.to(device).flatten(), ignore_index=-1,
                label_smoothing=arguments.smoothing,
            )
            adam.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), arguments.clip)
            adam.step()
            average.update()
            step += 1
        epoch, fraction = epoch + 1, max(fraction, step / steps)
        if fraction < 1.0 and time.time() - evaluated < arguments.every:
            continue
        average.swap()
        score, failed = evaluate(net, numbers, dev, device)
        curve.append({"epoch": epoch, "f1": round(score, 2), "failed": round(failed, 2)})
        print(f"{arguments.label}{name} epoch {epoch} step {step} {time.time() - began:.0f} s "
              f"loss {loss.item():.3f} dev F1 {score:.2f} no tree {failed:.1f} %", flush=True)
        if score > best:
            best = score
            card = {
                "task": "parsing", "name": name, "treebank": of.treebank, "sentences": len(data),
                "reads": of.reads, "network": net.config(), "seed": arguments.seed, "epochs": epoch,
                "best-epoch": epoch, "dev-f1": score,
            }
            vocabularies = {"labels": numbers.labels, "words": numbers.words, "vectors": words}
            save_checkpoint(out, card, vocabularies, net.named_as_ours(), half=True)
        average.swap()
        (out / "curve.json").write_text(json.dumps(curve) + "\n")
        evaluated = time.time()
    print(f"{arguments.label}{name}: dev F1 {best:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="+", choices=NETWORKS)
    parser.add_argument("--data", required=True, help="the folder of all corpora")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=3, help="of the encoder, and of the decoder")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--inner", type=int, default=1024)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="per network")
    parser.add_argument("--tokens", type=int, default=8000, help="output symbols of a batch")
    parser.add_argument("--step-size", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=500, help="steps")
    parser.add_argument("--smoothing", type=float, default=0.0)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--every", type=float, default=30.0, help="seconds between evaluations")
    parser.add_argument("--label", default="", help="what begins each line of output")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    for name in arguments.networks:
        train(name, arguments)


if __name__ == "__main__":
    sys.exit(main())
