"""Trains role taggers (the paper's SRL-X) on part-of-speech tags and lemmas, with PyTorch on a GPU.

    python experiments/taggers.py --data DATA --out NETS srl-100 srl-70 srl-40 srl-10 srl-1

Every network becomes a checkpoint folder that `cajole` opens. The architecture is cajole's own
(`crates/cajole-nn/src/models/tagger.rs`). `T` positions, `B` predicates, `D` size of the inputs, `H`
hidden units, `V` tags; matrices are time-major.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout, embedding

from corpus import (
    Averaged, Buckets, Progress, lexicon, rows, sample, save_checkpoint, seeded, settings_of, tags_of
)
from graphs import Gradients
from trees import parse

try:
    import highway
except ImportError:  # without Triton, layers are sequences of PyTorch's operations
    highway = None  # type: ignore[assignment]

E, LEMMA, INDICATOR = 50, 50, 50
INPUT_DROPOUT, RECURRENT_DROPOUT, DROPOUT = 0.2, 0.1, 0.1
OFTEN = 3
LOOKS = ("networks", "out", "data", "label", "dev", "device")  # what training does not depend on
CONSTRAINT_LOSS, CONSTRAINT_LOSS_FROM = 0.5, 0.3  # its weight, and from which share of the training on
GENRES = ["bc", "bn", "mz", "nw-wsj", "nw", "pt", "tc", "wb"]


@dataclass
class Network:
    """A tagger to train."""

    share: int
    layers: int = 4
    hidden: int = 200
    genres: tuple = tuple(GENRES)
    batch: int = 8000
    epochs: int = 20
    unlabelled: int = 0  # per cent of the other sentences that teach the constraint (Mehta et al. 2018)


NETWORKS = {
    "srl-100": Network(100),
    "srl-70": Network(70),
    "srl-40": Network(40, batch=6000, epochs=25),
    "srl-10": Network(10, batch=3000, epochs=40),
    "srl-1": Network(1, batch=1000, epochs=80),
    "srl-10-loss": Network(10, batch=3000, epochs=40, unlabelled=30),
    "srl-100-deep": Network(100, layers=8, hidden=300),
    "srl-nw": Network(100, genres=("nw-wsj", "nw")),
}

def plain(z, w_h, mask):
    """`highway.Layer` in PyTorch's operations."""
    n = w_h.shape[0]
    h = c = z.new_zeros(z.shape[1], n)
    hs = []
    for x in z.unbind(0):
        s = x[:, : 5 * n] + (h * mask) @ w_h
        i, f, g, o, t = s.chunk(5, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        t = t.sigmoid()
        h = t * o.sigmoid() * c.tanh() + (1 - t) * x[:, 5 * n :]
        hs.append(h)
    return torch.stack(hs)


class Tagger(nn.Module):
    def __init__(self, of, words, lemmas, tags):
        super().__init__()
        small = lambda *shape: nn.Parameter(torch.empty(*shape).uniform_(-0.1, 0.1))
        self.of, h = of, of.hidden
        self.words, self.lemmas = small(words, E), small(lemmas, LEMMA)
        self.indicator = small(2, INDICATOR)
        self.layers = nn.ModuleList()
        for i in range(of.layers):
            layer = nn.Module()
            inputs = h if i else E + LEMMA + INDICATOR
            layer.w_x = nn.Parameter(torch.cat([orthogonal(inputs, h) for _ in range(6)], 1))
            layer.w_h = nn.Parameter(torch.cat([orthogonal(h, h) for _ in range(5)], 1))
            layer.b = nn.Parameter(torch.zeros(6 * h))
            layer.b.data[h : 2 * h] = 1.0
            self.layers.append(layer)
        self.output = nn.Linear(h, tags)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, tokens, predicates, lemmas, lengths):
        """Scores (T, B, V) of tokens (T, B)."""
        steps, batch = tokens.shape
        at = torch.arange(steps, device=tokens.device).unsqueeze(1)
        marks = (at == predicates).long()
        lemma = embedding(lemmas, self.lemmas).expand(steps, -1, -1)
        x = [embedding(tokens, self.words), lemma, embedding(marks, self.indicator)]
        x = dropout(torch.cat(x, 2), INPUT_DROPOUT, self.training)
        # Reading backwards is reading forwards what was turned around within its length.
        turned = torch.where(at < lengths, lengths - 1 - at, at).unsqueeze(2)
        read = highway.Layer.apply if highway and highway.reads(x) else plain
        for i, layer in enumerate(self.layers):
            h = self.of.hidden
            z = (x.flatten(0, 1) @ layer.w_x + layer.b).view(steps, batch, -1)
            if i % 2:
                z = z.gather(0, turned.expand(-1, -1, 6 * h))
            mask = dropout(z.new_ones(batch, h), RECURRENT_DROPOUT, self.training)
            y = read(z, layer.w_h, mask)
            if i % 2:
                y = y.gather(0, turned.expand(-1, -1, h))
            x = dropout(y, DROPOUT, self.training)
        return self.output(x)

    def named_as_ours(self):
        """The weights under cajole's names."""
        named = {
            "input.words": self.words,
            "input.lemmas": self.lemmas,
            "input.indicator": self.indicator,
            "output.w": self.output.weight.t(),
            "output.b": self.output.bias,
        }
        for i, layer in enumerate(self.layers):
            named |= {f"layer{i}.{part}": getattr(layer, part) for part in ("w_x", "w_h", "b")}
        return named


def orthogonal(rows, cols):
    return nn.init.orthogonal_(torch.empty(rows, cols))


class Propositions:
    """Predicates with their sentences, and the phrases of these."""

    def __init__(self, sentences):
        self.tags, self.predicates, self.lemmas, self.bio, self.phrases = [], [], [], [], []
        for row in sentences:
            tags, phrases = tags_of(row["tree"]), phrases_of(row["tree"])
            for item in row["srl"]:
                if tags[item["p"]].startswith(("V", "MD")):
                    self.tags.append(tags)
                    self.predicates.append(item["p"])
                    self.lemmas.append(item["lemma"])
                    self.bio.append(item["bio"].split())
                    self.phrases.append(phrases)

    def __len__(self):
        return len(self.tags)


class Numbers:
    """The vocabularies of a network."""

    def __init__(self, sentences, data):
        self.words = lexicon([tags_of(row["tree"]) for row in sentences])
        counts = Counter(data.lemmas)
        self.lemmas = ["UNK", *sorted(x for x, n in counts.items() if OFTEN <= n and x != "UNK")]
        roles = sorted({tag[2:] for bio in data.bio for tag in bio if tag != "O"})
        self.tags = ["O", *(f"{mark}-{role}" for role in roles for mark in "BI")]
        self.word = {x: i for i, x in enumerate(self.words)}
        self.lemma = {x: i for i, x in enumerate(self.lemmas)}
        self.tag = {x: i for i, x in enumerate(self.tags)}
        self.follows, self.first = transitions(self.tags)

    def tensors(self, data):
        """All predicates as tensors, on the CPU."""
        column = lambda known, items: torch.tensor([known.get(x, 0) for x in items])
        tokens = {}
        for tags in data.tags:
            if id(tags) not in tokens:
                tokens[id(tags)] = column(self.word, tags).int()
        gold = [torch.tensor([self.tag.get(x, -1) for x in bio]).short() for bio in data.bio]
        xs = [tokens[id(tags)] for tags in data.tags]
        return xs, torch.tensor(data.predicates), column(self.lemma, data.lemmas), gold


def batch_of(tensors, edge, size, items):
    """Tokens (T, B), predicates, lemmas and lengths (B), tags (T, B) with -1 in padding."""
    xs, predicates, lemmas, golds = tensors
    x, y = torch.zeros(size, edge, dtype=torch.long), torch.full((size, edge), -1)
    for row, i in enumerate(items):
        x[row, : len(xs[i])], y[row, : len(xs[i])] = xs[i], golds[i]
    # What is missing from a full batch is padding.
    at = torch.tensor(items + items[:1] * (size - len(items)))
    n = torch.tensor([len(xs[i]) for i in items] + [1] * (size - len(items)))
    return x.t().contiguous(), predicates[at], lemmas[at], n, y.t().contiguous()


def transitions(tags):
    """0 where a tag may follow another (V, V), or come first (V), else minus infinity."""
    follows = torch.zeros(len(tags), len(tags))
    for i, tag in enumerate(tags):
        if tag.startswith("I-"):
            follows[:, i] = -torch.inf
            follows[[tags.index(f"B-{tag[2:]}"), i], i] = 0
    return follows, follows[0]


@torch.no_grad()
def viterbi(scores, lengths, follows, first):
    """The best tags (T, B) of log-probabilities (T, B, V) that are valid BIO."""
    steps = len(scores)
    best, back = scores[0] + first, []
    for t in range(1, steps):
        score, where = (best.unsqueeze(2) + follows).max(1)  # (B, V)
        is_on = (t < lengths).unsqueeze(1)
        best = torch.where(is_on, score + scores[t], best)
        back.append(torch.where(is_on, where, torch.arange(where.shape[1], device=where.device)))
    tag = best.argmax(1)
    found = [tag]
    for where in reversed(back):
        tag = where.gather(1, tag.unsqueeze(1)).squeeze(1)
        found.append(tag)
    return torch.stack(found[::-1])


def phrases_of(tree):
    """The phrases of a tree in brackets, as (start, end); words are none."""
    found = set()

    def visit(node, start):
        if isinstance(node, str):
            return start + 1
        end = start
        for child in node[1]:
            end = visit(child, end)
        found.add((start, end))
        return end

    visit(parse(tree), 0)
    return found


def segments(tags):
    """The labelled spans of BIO tags, as (role, start, end)."""
    found, start = [], None
    for i, tag in enumerate([*tags, "O"]):
        if start is not None and not tag.startswith("I-"):
            found.append((tags[start][2:], start, i))
            start = None
        if tag.startswith("B-"):
            start = i
    return found


def spans(tags):
    """The arguments of BIO tags, with continuations joined to their role."""
    joined = {}
    for role, a, b in segments(tags):
        if role.startswith("C-") and any(key[0] == role[2:] for key in joined):
            key = [key for key in joined if key[0] == role[2:]][-1]
            joined[key].append((a, b))
        else:
            joined[role, a, b] = [(a, b)]
    return Counter((role, tuple(parts)) for (role, _, _), parts in joined.items() if role != "V")


class Unlabelled:
    """Sentences with trees, whose roles are not looked at. The decoded output of the current network is
    to be less probable where an argument is no phrase: by the inverse of its length at each position."""

    def __init__(self, data, numbers, tokens, device):
        self.phrases, self.numbers, self.device = data.phrases, numbers, device
        self.tensors = numbers.tensors(data)
        self.buckets = Buckets([len(x) for x in self.tensors[0]], tokens)
        self.follows, self.first = numbers.follows.to(device), numbers.first.to(device)

    def batches(self, rng):
        while True:
            yield from self.buckets.batches(rng)

    def lesson(self, net, batch):
        """A batch as `compute` takes it, with the decoded tags (T, B), and their costs (T, B)."""
        x, predicates, lemmas, n, _ = (t.to(self.device) for t in batch_of(self.tensors, *batch))
        net.eval()
        with torch.no_grad():
            scores = net(x, predicates, lemmas, n).log_softmax(2)
        net.train()
        found = viterbi(scores, n, self.follows, self.first)
        costs = torch.zeros(x.shape)
        for column, (i, ids) in enumerate(zip(batch[2], found.t().tolist())):
            tags = [self.numbers.tags[tag] for tag in ids[: len(self.tensors[0][i])]]
            for role, start, end in segments(tags):
                if role != "V" and (start, end) not in self.phrases[i]:
                    costs[start:end, column] = 1 / (end - start)
        return x, predicates, lemmas, n, found, costs.to(self.device)


@torch.no_grad()
def evaluate(net, numbers, tensors, device):
    """Viterbi's F1 in per cent."""
    net.eval()
    follows, first = numbers.follows.to(device), numbers.first.to(device)
    both = ours = theirs = 0
    lengths = [len(x) for x in tensors[0]]
    for batch in Buckets(lengths, 20000).batches(random.Random(0)):
        x, predicates, lemmas, n, y = (t.to(device) for t in batch_of(tensors, *batch))
        scores = net(x, predicates, lemmas, n).log_softmax(2)
        found = viterbi(scores, n, follows, first).t().tolist()
        for ids, gold, length, _ in zip(found, y.t().tolist(), n.tolist(), batch[2]):
            name = lambda row: [numbers.tags[i] if i >= 0 else "O" for i in row[:length]]
            a, b = spans(name(ids)), spans(name(gold))
            both += (a & b).total()
            ours += a.total()
            theirs += b.total()
    net.train()
    return 200 * both / max(1, ours + theirs)


def train(name, of, sentences, others, dev, arguments):
    torch.manual_seed(arguments.seed)
    rng = random.Random(arguments.seed)
    device = arguments.device
    data = Propositions(sentences)
    numbers = Numbers(sentences, data)
    net = Tagger(of, len(numbers.words), len(numbers.lemmas), len(numbers.tags)).to(device)
    adam = torch.optim.Adam(net.parameters(), fused=device == "cuda")
    average = Averaged(net, 0.998)
    tensors, dev = numbers.tensors(data), numbers.tensors(dev)
    buckets = Buckets([len(x) for x in tensors[0]], of.batch)
    epochs = arguments.epochs or of.epochs

    def compute(x, predicates, lemmas, n, y):
        scores = net(x, predicates, lemmas, n)
        return cross_entropy(scores.flatten(0, 1), y.flatten(), ignore_index=-1)

    def compute_both(x, predicates, lemmas, n, y, *lesson):
        *inputs, found, costs = lesson
        log_p = net(*inputs).log_softmax(2).gather(2, found.unsqueeze(2)).squeeze(2)
        violated = (costs * log_p).sum() / inputs[-1].sum()
        return compute(x, predicates, lemmas, n, y) + CONSTRAINT_LOSS * violated

    # Buckets of labelled and unlabelled sentences pair up in too many shapes for graphs.
    captures = device == "cuda"
    gradients = Gradients(compute, list(net.parameters()), captures)
    both = Gradients(compute_both, list(net.parameters()), captures=False)
    others = Unlabelled(Propositions(others), numbers, of.batch, device) if others else None
    more = others.batches(rng) if others else None
    steps = epochs * len(buckets.batches(rng))
    step, best, curve, began, fraction = 0, -1.0, [], time.time(), 0.0
    (Path(arguments.out) / name).mkdir(parents=True, exist_ok=True)
    progress = Progress(Path(arguments.out) / name, net, adam, average, rng, settings_of(arguments, *LOOKS))
    if known := progress.load():
        step, best, curve = (known[key] for key in ("step", "best", "curve"))
        began -= known["seconds"]
    loss = torch.tensor(torch.nan)
    while fraction < 1.0:
        for batch in buckets.batches(rng):
            fraction = max(step / steps, (time.time() - began) / arguments.seconds)
            if fraction >= 1.0:
                break
            for group in adam.param_groups:
                group["lr"] = arguments.step_size * min(1, (step + 1) / 200) * (1 - fraction)
            tensors_now = batch_of(tensors, *batch)
            tensors_now = [t.to(device, non_blocking=True) for t in tensors_now]
            if more and CONSTRAINT_LOSS_FROM < fraction:
                loss = both(*tensors_now, *others.lesson(net, next(more)))
            else:
                loss = gradients(*tensors_now)
            nn.utils.clip_grad_norm_(net.parameters(), arguments.clip)
            adam.step()
            average.update()
            step += 1
        average.swap()
        score = evaluate(net, numbers, dev, device)
        curve.append({"f1": round(score, 2), "loss": round(loss.item(), 4)})
        print(f"{arguments.label}{name} epoch {len(curve)} step {step} {time.time() - began:.0f} s "
              f"loss {loss.item():.3f} dev F1 {score:.2f}", flush=True)
        if score > best:
            best = score
            card = {
                "task": "srl", "name": name, "corpus": "nw" if name == "srl-nw" else "ontonotes",
                "propositions": len(data), "reads": "tags",
                "network": {
                    "words": len(numbers.words), "embedding": E, "vectors": 0, "vector-size": 0,
                    "dense": 0, "lemmas": len(numbers.lemmas), "lemma-embedding": LEMMA,
                    "indicator": INDICATOR, "tags": len(numbers.tags), "cell": "highway",
                    "reading": "alternating", "layers": of.layers, "hidden": of.hidden,
                    "input-dropout": INPUT_DROPOUT, "recurrent-dropout": RECURRENT_DROPOUT,
                    "dropout": DROPOUT,
                },
                "seed": arguments.seed, "epochs": len(curve), "best-epoch": len(curve),
                "dev-f1": score,
            }
            words = {
                "words": numbers.words, "vectors": [], "lemmas": numbers.lemmas,
                "predicates": [], "tags": numbers.tags,
            }
            save_checkpoint(Path(arguments.out) / name, card, words, net.named_as_ours(), half=True)
        average.swap()
        (Path(arguments.out) / name / "curve.json").write_text(json.dumps(curve) + "\n")
        if fraction < 1.0:
            progress.save(step=step, best=best, curve=curve, seconds=time.time() - began)
    progress.end()
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="+", choices=NETWORKS)
    parser.add_argument("--data", required=True, help="the folder of OntoNotes with tags for words")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="instead of the network's own")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="per network")
    parser.add_argument("--step-size", type=float, default=2e-3)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--dev", type=int, default=4000, help="predicates of the dev set to score")
    parser.add_argument("--limit", type=int, help="read so many sentences of each genre only")
    parser.add_argument("--label", default="", help="what begins each line of output")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    folder = Path(arguments.data)
    read = lambda genres, split: [
        row for g in genres for row in list(rows(folder / f"{g}.{split}.jsonl.gz"))[: arguments.limit]
    ]
    for name in arguments.networks:
        of = NETWORKS[name]
        dev = random.Random(0).sample(held := read(of.genres, "dev"), min(len(held), arguments.dev // 2))
        sentences = sample(everything := read(of.genres, "train"), of.share, arguments.seed)
        known = {row["id"] for row in sentences} if of.unlabelled else ()
        others = [row for row in everything if row["id"] not in known] if of.unlabelled else []
        others = sample(others, of.unlabelled, arguments.seed) if others else others
        name = seeded(name, arguments.seed)
        score = train(name, of, sentences, others, Propositions(dev), arguments)
        print(f"{arguments.label}{name}: dev F1 {score:.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
