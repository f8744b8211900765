"""Training of the paper's parsing network: symbols per second, cajole beside PyTorch.

Both have the same weights to begin with and the same batches, dropout in the same places, Adam, and
gradients clipped to the same norm. The word vectors do not move.

PyTorch runs each batch padded, with as much as possible in calls for all steps: the encoder layers
and the upper two decoder layers are one `nn.LSTM` call each. Only the bottom decoder layer goes
step by step, since the context is fed back to it.
"""

import json
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.functional import cross_entropy, dropout, embedding, linear
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from net1 import Net1, lstm_cell
from side_by_side import fail, leave_speedup, print_table, run_json

ROUNDS = 5
LOSS_TOLERANCE = 1e-4
PAD = -100  # what `cross_entropy` leaves out


class Batch:
    """Some pairs, padded at their ends: words and vectors (B, T), outputs (B, S)."""

    def __init__(self, pairs, end):
        padded = lambda key: pad_sequence([torch.tensor(p[key]) for p in pairs], batch_first=True)
        self.words, self.vectors = padded("words"), padded("vectors")
        self.lengths = torch.tensor([len(p["words"]) for p in pairs])
        self.mask = torch.arange(self.words.shape[1]) < self.lengths.unsqueeze(1)
        outputs = [torch.tensor(p["output"] + [end]) for p in pairs]
        self.wanted = pad_sequence(outputs, batch_first=True, padding_value=PAD)
        self.before = torch.cat([torch.full((len(pairs), 1), end), self.wanted[:, :-1]], 1)
        self.before[self.before == PAD] = end
        self.symbols = sum(len(y) for y in outputs)


class Learner:
    """The network with its optimiser."""

    def __init__(self, weights, exported, rate):
        self.net, self.rate, self.clip = Net1(weights), rate, exported["clip"]
        self.words, self.vectors = nn.Parameter(self.net.tables[0]), self.net.tables[1]
        self.moving = [self.words, *self.net.moving]
        self.adam = torch.optim.Adam(self.moving, lr=exported["step_size"], fused=True)

    def drop(self, x):
        return dropout(x, self.rate) if self.rate else x

    def step(self, batch):
        """One step; returns the batch's mean loss per symbol."""
        scores = self.scores(batch)
        loss = cross_entropy(scores.flatten(0, 1), batch.wanted.flatten(), ignore_index=PAD)
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.moving, self.clip, foreach=True)
        self.adam.step()
        return loss.item()

    def encode(self, batch):
        """Values (B, T, H) and the decoder's first states, each (B, H)."""
        pack = lambda x: pack_padded_sequence(
            x, batch.lengths, batch_first=True, enforce_sorted=False
        )
        unpack = lambda x: pad_packed_sequence(x, batch_first=True)[0]
        rows = [embedding(batch.words, self.words), embedding(batch.vectors, self.vectors)]
        x, (h, c) = self.net.first(pack(torch.cat([self.drop(row) for row in rows], 2)))
        x, states = self.drop(unpack(x)), [(h[1], c[1])]
        for i, lstm in enumerate(self.net.upper):
            y, (h, c) = lstm(pack(x))
            states.append((h[0], c[0]))
            y = self.drop(unpack(y))
            x = y if i == 0 else x + y
        return x, states

    def scores(self, batch):
        """Scores (B, S, V) of every symbol, given those before."""
        net = self.net
        values, states = self.encode(batch)
        keys = net.key(values)  # (B, T, A)
        hidden = values.shape[2]
        ignored = torch.zeros(batch.mask.shape).masked_fill(~batch.mask, float("-inf"))
        bottom, size = net.decoder[0], net.symbols.shape[1]
        w_symbol, w_context = bottom.weight_ih_l0.split([size, hidden], 1)
        joined = torch.cat([w_context, bottom.weight_hh_l0], 1).t()  # (2H, 4H)
        table = linear(self.drop(net.symbols), w_symbol, bottom.bias_ih_l0)  # (V, 4H)
        zs = embedding(batch.before.t(), table)  # (S, B, 4H)
        factors = self.drop(torch.ones(len(zs), len(values), hidden))  # of the contexts
        (h, c), context = states[0], torch.zeros(len(values), hidden)
        hs, contexts = [], []
        for z, factor in zip(zs.unbind(0), factors.unbind(0)):
            h, c = lstm_cell(torch.addmm(z, torch.cat([context, h], 1), joined), c)
            sums = torch.tanh(keys + net.query(h).unsqueeze(1))  # (B, T, A)
            scores = sums.matmul(net.v) + ignored
            context = torch.bmm(scores.softmax(1).unsqueeze(1), values).squeeze(1) * factor
            hs.append(h)
            contexts.append(context)
        x, contexts = self.drop(torch.stack(hs, 1)), torch.stack(contexts, 1)  # (B, S, H)
        for i in (1, 2):
            h, c = states[i]
            above, _ = net.decoder[i](torch.cat([x, contexts], 2), (h[None], c[None]))
            above = self.drop(above)
            x = above if i == 1 else x + above
        return net.output(torch.cat([x, contexts], 2))


def check_losses(weights, exported, batch):
    """The losses of a few steps on one batch without dropout; says how close they are."""
    learner, worst = Learner(weights, exported, rate=0.0), 0.0
    for i, want in enumerate(exported["losses"]):
        loss = learner.step(batch)
        off = abs(loss - want) / want
        if not off < LOSS_TOLERANCE:
            fail(f"loss of step {i}: {loss}, cajole {want}")
        worst = max(worst, off)
    return f"the losses of {len(exported['losses'])} steps agree within {worst:.0e}"


def main():
    binary, folder = sys.argv[1], Path(sys.argv[2])
    command = lambda verb: [binary, "training", verb, "--dir", str(folder)]
    run_json(command("prepare"))
    exported = json.loads((folder / "pairs.json").read_text())
    weights = load_file(folder / "model.safetensors")
    torch.set_num_threads(1)
    size, end, pairs = exported["batch_size"], exported["end"], exported["pairs"]
    print(
        f"training: {exported['symbols']} symbols in batches of {size}, {exported['threads']}"
        f" threads, medians of {ROUNDS} interleaved rounds"
    )
    print(f"  torch: {check_losses(weights, exported, Batch(pairs[:size], end))}")

    # Examples of similar length make up a batch, as in cajole's trainer.
    ordered = sorted(pairs, key=lambda p: len(p["output"]))
    batches = [Batch(ordered[i : i + size], end) for i in range(0, len(ordered), size)]
    learner = Learner(weights, exported, exported["dropout"])
    learner.step(batches[-1])  # buffers fill
    # One thread as well: on a busy machine, two wait for each other longer than they work.
    ours, theirs = [], {threads: [] for threads in (1, exported["threads"])}
    for _ in range(ROUNDS):
        ours.append(run_json(command("time"))["symbols_per_second"])
        for threads, speeds in theirs.items():
            torch.set_num_threads(threads)
            start = perf_counter()
            for batch in batches:
                learner.step(batch)
            speeds.append(sum(batch.symbols for batch in batches) / (perf_counter() - start))
    rows = [(f"torch, threads: {threads}", speeds) for threads, speeds in theirs.items()]
    print_table("symbols/s", [("cajole", ours), *rows])
    print()
    leave_speedup(folder, median(ours) / max(median(speeds) for speeds in theirs.values()))


if __name__ == "__main__":
    main()
