"""Trains the paper's parsing networks (Table 2) on part-of-speech tags, with PyTorch on a GPU.

    python experiments/parsers.py --data DATA --out NETS net1 net2 net3 net4 net5

Every network becomes a checkpoint folder that `cajole` opens. The architecture is cajole's own
(`crates/cajole-nn/src/models/seq2seq.rs`), which says what its parts are. `B` sentences, `T` tokens,
`S` symbols of an output, `H` hidden units, `A` width of the attention, `V` output symbols.
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
    Averaged, Buckets, Progress, by_frequency, lexicon, rows, sample, save_checkpoint, seeded, settings_of,
    tags_of,
)
from graphs import Gradients
from trees import commands, f1, parse

try:
    import fused
except ImportError:  # without Triton, layers are sequences of PyTorch's operations
    fused = None  # type: ignore[assignment]

E, P, A, CAP = 64, 32, 128, 6
LOOKS = ("networks", "out", "data", "label", "every", "device")  # what training does not depend on


@dataclass
class Network:
    """A row of Table 2."""

    architecture: str
    hidden: int
    dropout: float
    share: int
    epochs: int
    layers: int = 3


NETWORKS = {
    "net1": Network("gnmt", 128, 0.5, 100, 40),
    "net2": Network("gnmt", 128, 0.2, 100, 40),
    "net3": Network("simple", 172, 0.0, 100, 30),
    "net4": Network("simple", 128, 0.0, 75, 30),
    "net5": Network("simple", 128, 0.0, 25, 60),
    # No row of the paper: how far tags without words can go.
    "reference": Network("gnmt", 512, 0.3, 100, 40),
}


class Seq2Seq(nn.Module):
    def __init__(self, of, words, symbols):
        super().__init__()
        self.of, h = of, of.hidden
        self.gnmt = of.architecture == "gnmt"
        self.embedding = nn.Parameter(torch.empty(words + 1, E).uniform_(-0.1, 0.1))
        lstm = lambda n: nn.LSTM(n, h, batch_first=True)
        first = 2 * h if self.gnmt else h
        self.backward = lstm(E) if self.gnmt else None
        self.encoder = nn.ModuleList([lstm(E), lstm(first)])
        self.encoder.extend(lstm(h) for _ in range(2, of.layers))
        self.key, self.query = nn.Linear(h, A), nn.Linear(h, A, bias=False)
        self.v = nn.Parameter(torch.empty(A).uniform_(-1, 1) * (6 / (A + 1)) ** 0.5)
        self.symbols = nn.Parameter(torch.empty(symbols, P).uniform_(-0.1, 0.1))
        seen = h if self.gnmt else 0
        self.decoder = nn.ModuleList(lstm(n + seen) for n in [P] + [h] * (of.layers - 1))
        self.output = nn.Linear(2 * h, symbols)
        for module in [*self.encoder, *self.decoder, *([self.backward] if self.gnmt else [])]:
            for name, p in module.named_parameters():
                if name.startswith("bias"):
                    nn.init.zeros_(p)
                    if name.startswith("bias_hh"):
                        p.requires_grad_(False)  # cajole has one bias
                    else:
                        p.data[h : 2 * h] = 1.0
                else:
                    for gate in p.data.chunk(4):
                        nn.init.xavier_uniform_(gate)
        for linear in (self.key, self.query, self.output):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.key.bias)
        nn.init.zeros_(self.output.bias)

    def drop(self, x):
        """For what one layer hands to the next, as in TensorFlow's GNMT; embeddings, and what attention
        and the output read, stay whole."""
        return dropout(x, self.of.dropout, self.training)

    def encode(self, xs, lengths):
        """Keys (B, T, A), values (B, T, H), the decoder's first states. Nothing here waits for a look at
        lengths, so that CUDA graphs can hold it."""
        at = torch.arange(xs.shape[1], device=xs.device)
        n = lengths.unsqueeze(1)
        last = (lengths - 1).view(1, -1, 1).expand(1, -1, self.of.hidden)
        final = lambda y: y.transpose(0, 1).gather(0, last)  # (1, B, H)
        x = embedding(xs, self.embedding)
        y, c = run(self.encoder[0], x)
        if self.gnmt:
            # Reading backwards is reading forwards what was turned around within its length.
            turned = torch.where(at < n, n - 1 - at, at).unsqueeze(2)
            z, c = run(self.backward, x.gather(1, turned.expand_as(x)))
            states = [(final(z), final(c))]
            x = torch.cat([y, z.gather(1, turned.expand_as(z))], 2)
        else:
            states = [(final(y), final(c))]
            x = y
        for i, lstm in enumerate(self.encoder[1:], 1):
            y, c = run(lstm, self.drop(x))
            states.append((final(y), final(c)))
            x = x + y if self.gnmt and 2 <= i else y
        return self.key(x), x, states

    def attend(self, h, keys, values, mask):
        """Contexts (B, S, H) for states (B, S, H), and their scores (B, S, T)."""
        scores = torch.tanh(keys.unsqueeze(1) + self.query(h).unsqueeze(2)) @ self.v + mask
        return scores.softmax(2) @ values, scores

    def forward(self, xs, lengths, ys):
        """Scores (B, S, V) of the outputs, teacher-forced, and the scores of attention (B, S, T).
        `ys` (B, S) begins with the end symbol."""
        keys, values, states = self.encode(xs, lengths)
        mask = padding(lengths, keys)
        x = embedding(ys, self.symbols)
        start, context = 0, None
        if self.gnmt:
            x, context, looks = self.bottom(x, states[0], keys, values, lengths)
            start = 1
        for i in range(start, self.of.layers):
            below = torch.cat([x, context], 2) if self.gnmt else x
            y, _ = self.decoder[i](self.drop(below), states[i])
            x = x + y if self.gnmt and 2 <= i else y
        if context is None:
            context, looks = self.attend(x, keys, values, mask)
        return self.output(torch.cat([x, context], 2)), looks

    def bottom(self, x, state, keys, values, lengths):
        """The bottom layer, whose context is fed back to it, step by step."""
        lstm, h, c = self.decoder[0], state[0][0], state[1][0]
        w_symbol, w_context = lstm.weight_ih_l0.split([P, self.of.hidden], 1)
        zs = x @ w_symbol.t() + lstm.bias_ih_l0  # (B, S, 4H)
        joined = torch.cat([w_context, lstm.weight_hh_l0], 1).t()
        if fused and fused.reads(x):
            kept = self.drop(zs.new_ones(zs.shape[1], *h.shape))
            found = fused.Attentive.apply(
                zs.transpose(0, 1), joined, self.query.weight.t(), self.v, keys, values, lengths, h, c, kept
            )
            return tuple(y.transpose(0, 1) for y in found)
        context, mask = torch.zeros_like(h), padding(lengths, keys).squeeze(1)
        hs, contexts, looks = [], [], []
        for z in zs.unbind(1):
            h, c = cell(z, torch.cat([self.drop(context), h], 1) @ joined, c)
            scores = torch.tanh(keys + self.query(h).unsqueeze(1)) @ self.v + mask  # (B, T)
            context = torch.bmm(scores.softmax(1).unsqueeze(1), values).squeeze(1)
            hs.append(h)
            contexts.append(context)
            looks.append(scores)
        return torch.stack(hs, 1), torch.stack(contexts, 1), torch.stack(looks, 1)

    @torch.no_grad()
    def greedy(self, xs, lengths, end):
        """The outputs (B, S) of greedy decoding, followed by the end symbol."""
        keys, values, states = self.encode(xs, lengths)
        mask = padding(lengths, keys)
        states = [(h[0], c[0]) for h, c in states]
        context = torch.zeros_like(states[0][0])
        previous = torch.full((len(xs),), end, device=xs.device)
        caps = (lengths - 1) * CAP + 20
        done, found = torch.zeros_like(previous, dtype=torch.bool), []
        for t in range(int(caps.max())):
            x = embedding(previous, self.symbols)
            for i, lstm in enumerate(self.decoder):
                below = torch.cat([x, context], 1) if self.gnmt else x
                z = below @ lstm.weight_ih_l0.t() + lstm.bias_ih_l0
                h, c = cell(z, states[i][0] @ lstm.weight_hh_l0.t(), states[i][1])
                states[i] = (h, c)
                if i == 0 and self.gnmt:
                    context = self.attend(h.unsqueeze(1), keys, values, mask)[0].squeeze(1)
                x = x + h if self.gnmt and 2 <= i else h
            seen = context
            if not self.gnmt:
                seen = self.attend(x.unsqueeze(1), keys, values, mask)[0].squeeze(1)
            previous = self.output(torch.cat([x, seen], 1)).argmax(1)
            done |= t + 1 >= caps
            previous = previous.masked_fill(done, end)
            found.append(previous)
            done |= previous == end
            if t % 16 == 15 and bool(done.all()):
                break
        return torch.stack(found, 1)

    def named_as_ours(self):
        """The weights under cajole's names and in its shapes."""
        named = {
            "embedding.table": self.embedding,
            "attention.w_key": self.key.weight.t(),
            "attention.b": self.key.bias,
            "attention.w_query": self.query.weight.t(),
            "attention.v": self.v,
            "decoder.symbols": self.symbols,
            "output.b": self.output.bias,
        }
        named["output.w_h"], named["output.w_context"] = self.output.weight.t().chunk(2)

        def add(name, lstm, split):
            w_x = lstm.weight_ih_l0.t()
            named[f"{name}.w_x"] = w_x[:split]
            if split < len(w_x):
                named[f"{name}.w_y"] = w_x[split:]
            named[f"{name}.w_h"] = lstm.weight_hh_l0.t()
            named[f"{name}.b"] = lstm.bias_ih_l0

        h = self.of.hidden
        add("encoder.0", self.encoder[0], E)
        if self.gnmt:
            add("encoder.0.backward", self.backward, E)
        for i, lstm in enumerate(self.encoder[1:], 1):
            add(f"encoder.{i}", lstm, h)
        for i, lstm in enumerate(self.decoder):
            add(f"decoder.{i}", lstm, h if i else P)
        return named


def cell(z, s, c):
    """The state after gates (B, 4H) from the input and from the state before."""
    if z.is_cuda:
        h, c, _ = torch.ops.aten._thnn_fused_lstm_cell(z, s, c)
        return h, c
    i, f, g, o = (z + s).chunk(4, 1)
    c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), g.tanh())
    return o.sigmoid() * c.tanh(), c


def run(lstm, x):
    """All states (B, T, H) of a layer: `h` and `c`, which PyTorch's own layers keep to themselves."""
    zs, w = x @ lstm.weight_ih_l0.t() + lstm.bias_ih_l0, lstm.weight_hh_l0.t()
    if fused and fused.reads(x):
        return tuple(y.transpose(0, 1) for y in fused.Layer.apply(zs.transpose(0, 1), w))
    h = c = x.new_zeros(len(x), lstm.hidden_size)
    hs, cs = [], []
    for z in zs.unbind(1):
        h, c = cell(z, h @ w, c)
        hs.append(h)
        cs.append(c)
    return torch.stack(hs, 1), torch.stack(cs, 1)


def padding(lengths, keys):
    """What is added to the scores of attention, (B, 1, T): nothing, or minus infinity."""
    at = torch.arange(keys.shape[1], device=keys.device)
    beyond = at >= lengths.to(keys.device).unsqueeze(1)
    return torch.zeros_like(beyond, dtype=keys.dtype).masked_fill(beyond, -torch.inf).unsqueeze(1)


class Treebank:
    """Sentences as numbers."""

    def __init__(self, rows):
        self.tags = [tags_of(row["tree"]) for row in rows]
        self.outputs = []
        for row in rows:
            self.outputs.append([])
            commands(parse(row["tree"]), self.outputs[-1])

    def __len__(self):
        return len(self.tags)


class Numbers:
    """The vocabularies of a network."""

    def __init__(self, treebank):
        self.words = lexicon(treebank.tags)
        counts = Counter(c for output in treebank.outputs for c in output if c not in ("s", "r"))
        self.labels = by_frequency(counts)
        self.word = {word: i for i, word in enumerate(self.words)}
        self.symbol = {c: i for i, c in enumerate(["s", "r", *self.labels])}
        self.end = len(self.symbol)

    def inputs(self, sentences, device):
        """Tokens (B, T) with the end of input behind, and how many each sentence has."""
        rows = [[self.word.get(t, 0) for t in tags] + [len(self.words)] for tags in sentences]
        lengths = torch.tensor([len(r) for r in rows])
        return fill(rows, int(lengths.max()), len(self.words)).to(device), lengths.to(device)

    def output(self, ids):
        names = ["s", "r", *self.labels]
        ids = ids[: ids.index(self.end)] if self.end in ids else ids
        return [names[i] for i in ids]


def evaluate(net, numbers, dev, device):
    """Greedy F1 in per cent and the share of outputs that are no tree, in per cent."""
    net.eval()
    order = sorted(range(len(dev)), key=lambda i: len(dev.tags[i]))
    outputs = [None] * len(dev)
    for at in range(0, len(order), 256):
        part = order[at : at + 256]
        xs, lengths = numbers.inputs([dev.tags[i] for i in part], device)
        for i, ids in zip(part, net.greedy(xs, lengths, numbers.end).tolist()):
            outputs[i] = numbers.output(ids)
    net.train()
    score, failures = f1(outputs, dev.outputs, dev.tags)
    return score, 100 * failures / len(dev)


class Lessons:
    """Training batches of few shapes, which the device holds from the start."""

    def __init__(self, data, numbers, tokens, device):
        end = numbers.end
        xs = [[numbers.word[t] for t in tags] + [len(numbers.words)] for tags in data.tags]
        ys = [[numbers.symbol[c] for c in output] + [end] for output in data.outputs]
        self.buckets = Buckets([len(y) for y in ys], tokens)
        self.row, self.columns = {}, {}
        for edge, members in self.buckets.members.items():
            self.row |= {i: row for row, i in enumerate(members)}
            x = [xs[i] for i in members] + [[0]]  # the last row is padding
            y = [ys[i] for i in members] + [[]]
            longest = max(map(len, x))
            filled = [
                fill(x, longest, 0), torch.tensor([len(row) for row in x]),
                fill([[end, *row[:-1]] for row in y], edge, end)[:, :edge], fill(y, edge, -1),
                fill([looks(row) for row in y], edge, -1),
            ]
            self.columns[edge] = [t.to(device) for t in filled]

    def tensors(self, edge, size, items):
        """Tokens (B, T), lengths (B), symbols before (B, S), symbols (B, S), and where attention
        should look (B, S): at the token that the next shift takes. Symbols are -1 in padding."""
        rows = [self.row[i] for i in items] + [-1] * (size - len(items))
        columns = self.columns[edge]
        at = torch.tensor(rows).to(columns[0].device, non_blocking=True)
        return [column[at] for column in columns]


def looks(symbols):
    """How many tokens were taken before each symbol."""
    taken, at = 0, []
    for symbol in symbols:
        at.append(taken)
        taken += symbol == 0
    return at


def fill(rows, width, value):
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


def train(name, of, data, dev, arguments):
    torch.manual_seed(arguments.seed)
    rng = random.Random(arguments.seed)
    device = arguments.device
    numbers = Numbers(data)
    net = Seq2Seq(of, len(numbers.words), numbers.end + 1).to(device)
    moving = [p for p in net.parameters() if p.requires_grad]
    adam = torch.optim.AdamW(moving, weight_decay=arguments.weight_decay, fused=device == "cuda")
    average = Averaged(net, 0.998)
    lessons = Lessons(data, numbers, arguments.tokens, device)

    def compute(x, n, given, y, look, weights):
        guide, share = weights.unbind()
        scores, looks = net(x, n, given)
        likelihood = cross_entropy(
            scores.flatten(0, 1), y.flatten(), ignore_index=-1, reduction="sum",
            label_smoothing=arguments.smoothing,
        )
        guided = cross_entropy(looks.flatten(0, 1), look.flatten(), ignore_index=-1, reduction="sum")
        return (likelihood + guide * guided) * share

    gradients = Gradients(compute, moving, captures=device == "cuda")
    steps = (arguments.epochs or of.epochs) * len(lessons.buckets.batches(rng))
    step, best, curve, began, fraction, epoch = 0, -1.0, [], time.time(), 0.0, 0
    progress = Progress(Path(arguments.out) / name, net, adam, average, rng, settings_of(arguments, *LOOKS))
    if known := progress.load():
        step, best, curve, epoch = (known[key] for key in ("step", "best", "curve", "epoch"))
        began -= known["seconds"]
    evaluated, loss = time.time(), torch.tensor(torch.nan)
    while fraction < 1.0:
        longest = 10 * (epoch + 1) if epoch < arguments.short_epochs else 10**9
        for edge, size, items in lessons.buckets.batches(rng, lambda i: len(data.tags[i]) <= longest):
            # Epochs or time, whichever ends first, drives the decay.
            fraction = max(step / steps, (time.time() - began) / arguments.seconds)
            if fraction >= 1.0:
                break
            warm = min(1.0, (step + 1) / arguments.warmup)
            for group in adam.param_groups:
                group["lr"] = arguments.step_size * warm * max(arguments.floor, 1 - fraction)
            guide = arguments.guide * max(0.0, 1 - fraction / arguments.guide_share)
            weights = torch.tensor([guide, 1 / len(items)]).to(device, non_blocking=True)
            loss = gradients(*lessons.tensors(edge, size, items), weights)
            nn.utils.clip_grad_norm_(moving, arguments.clip)
            adam.step()
            average.update()
            step += 1
        epoch += 1
        if fraction < 1.0 and time.time() - evaluated < arguments.every:
            continue
        if arguments.average:
            average.swap()
        score, failed = evaluate(net, numbers, dev, device)
        curve.append({"epoch": epoch, "f1": round(score, 2), "failed": round(failed, 2)})
        print(f"{arguments.label}{name} epoch {epoch} step {step} {time.time() - began:.0f} s "
              f"loss {loss.item():.2f} dev F1 {score:.2f} no tree {failed:.1f} %", flush=True)
        if score > best:
            best = score
            card = card_of(name, of, numbers, len(data), arguments.seed, epoch, score)
            words = {"labels": numbers.labels, "words": numbers.words, "vectors": []}
            save_checkpoint(
                Path(arguments.out) / name, card, words, net.named_as_ours(), half=True
            )
        if arguments.average:
            average.swap()
        (Path(arguments.out) / name / "curve.json").write_text(json.dumps(curve) + "\n")
        evaluated = time.time()
        if fraction < 1.0:
            progress.save(step=step, best=best, curve=curve, epoch=epoch, seconds=evaluated - began)
    progress.end()
    return best


def card_of(name, of, numbers, sentences, seed, epoch, score):
    """The `config.json` of a checkpoint."""
    network = {
        "architecture": of.architecture, "words": len(numbers.words), "embedding": E, "vectors": 0,
        "vector-size": 0, "output-symbols": numbers.end + 1, "output-embedding": P,
        "layers": of.layers, "hidden": of.hidden, "attention": A, "dropout": of.dropout,
        "embedding-dropout": 0.0, "reversed-input": False, "pointer": None,
        "cap-factor": CAP,
    }
    return {
        "task": "parsing", "name": name, "treebank": "wsj", "sentences": sentences,
        "reads": "tags", "network": network, "seed": seed, "epochs": epoch, "best-epoch": epoch,
        "dev-f1": score,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="+", choices=NETWORKS)
    parser.add_argument("--data", required=True, help="the folder of OntoNotes with tags for words")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="instead of the network's own")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="per network")
    parser.add_argument("--tokens", type=int, default=8000, help="output symbols of a batch")
    parser.add_argument("--step-size", type=float, default=6e-3)
    parser.add_argument("--floor", type=float, default=0.0, help="of the step size's decay, as a share")
    parser.add_argument("--warmup", type=int, default=300, help="steps")
    parser.add_argument("--short-epochs", type=int, default=3, help="with short sentences only")
    parser.add_argument("--smoothing", type=float, default=0.0)
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--no-average", dest="average", action="store_false", help="keep plain weights")
    parser.add_argument("--clip", type=float, default=10.0)
    parser.add_argument("--guide", type=float, default=1.0, help="weight of the attention's loss")
    parser.add_argument("--guide-share", type=float, default=0.05, help="of the time, for that loss")
    parser.add_argument("--every", type=float, default=40.0, help="seconds between evaluations")
    parser.add_argument("--limit", type=int, help="read so many sentences only")
    parser.add_argument("--label", default="", help="what begins each line of output")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    folder, n = Path(arguments.data), arguments.limit
    dev = Treebank(list(rows(folder / "nw-wsj.dev.jsonl.gz", "nw/wsj/22/"))[:n])
    all_rows = list(rows(folder / "nw-wsj.train.jsonl.gz"))[:n]
    for name in arguments.networks:
        of = NETWORKS[name]
        data = Treebank(sample(all_rows, of.share, arguments.seed))
        name = seeded(name, arguments.seed)
        (Path(arguments.out) / name).mkdir(parents=True, exist_ok=True)
        score = train(name, of, data, dev, arguments)
        print(f"{arguments.label}{name}: dev F1 {score:.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
