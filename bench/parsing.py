"""One iteration of gradient-based inference on the paper's parsing network, in PyTorch.

All variants have the weights and inputs of cajole's half, and one thread. An iteration is the same
for all: decode greedily, differentiate `log p(y)` with respect to every weight, take an SGD step in
place. Of the large tables of embeddings, only the rows of the input get a gradient and move.

- A records the decode: one graph from the first token to the last symbol.
- B decodes without recording, then runs over the decoded output again. The bottom layer still goes
  step by step, since the context is fed back to it, but the layers above are one `nn.LSTM` call
  each, and products with embeddings and the output layer one product each, for all steps.
- A and B compiled: their steps go through `torch.compile`.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import torch
from safetensors.torch import load_file
from torch.nn.functional import embedding, linear

from net1 import TABLES, Net1
from side_by_side import Variant, compare, run_json

# The network is untrained: no gradient is so small that rounding would show.
GRADIENT_TOLERANCE = 1e-4


class Steps:
    """The functions that run at every step, as they are or compiled."""

    def __init__(self, net, wrap):
        self.step, self.bottom_step = wrap(net.step), wrap(net.bottom_step)


class Recorded:
    """Variant A."""

    label = "torch A (decode recorded)"

    @staticmethod
    def score(net, steps, rows, cap, end):
        """The output, and its recorded log-probability."""
        keys, values, states = net.encode(rows)
        output, scores = decode(steps, net, states, keys, values, cap, end)
        return output, log_prob(torch.cat(scores), torch.tensor(output))


class Rerun:
    """Variant B."""

    label = "torch B (layers re-run)"

    @staticmethod
    def score(net, steps, rows, cap, end):
        """As variant A's; the encoder runs once, and only the decoder twice."""
        keys, values, states = net.encode(rows)
        with torch.no_grad():
            output, _ = decode(steps, net, states, keys, values, cap, end)
        y = torch.tensor(output)
        before = torch.cat([net.start[0], y[:-1]])
        bottom, size = net.decoder[0], net.symbols.shape[1]
        w_symbol, w_context = bottom.weight_ih_l0.split([size, len(bottom.weight_ih_l0) // 4], 1)
        joined = torch.cat([w_context, bottom.weight_hh_l0], 1).t()  # (2H, 4H)
        zs = linear(embedding(before, net.symbols), w_symbol, bottom.bias_ih_l0)  # (S, 4H)
        context, state, hs, contexts = net.start[1], states[0], [], []
        for z in zs.split(1):
            context, state = steps.bottom_step(z, context, state, keys, values, joined)
            hs.append(state[0])
            contexts.append(context)
        x, contexts = torch.cat(hs), torch.cat(contexts)  # (S, H)
        for i in (1, 2):
            h, c = states[i]
            above, _ = net.decoder[i](torch.cat([x, contexts], 1), (h, c))
            x = above if i == 1 else x + above
        return output, log_prob(net.output(torch.cat([x, contexts], 1)), y)


def decode(steps, net, states, keys, values, cap, end):
    """The greedy output and the scores (1, V) of every step."""
    (previous, context), joined = net.start, net.joined()
    output, scores = [], []
    for _ in range(cap):
        row, context, states = steps.step(previous, context, states, keys, values, joined)
        scores.append(row)
        previous = row.argmax(1)
        output.append(previous.item())
        if output[-1] == end:
            break
    return output, scores


def log_prob(scores, output):
    """`log p(y)` from scores (S, V)."""
    return scores.log_softmax(1).gather(1, output.unsqueeze(1)).sum()


class Torch(Variant):
    """Any variant, with the iteration around it."""

    def __init__(self, style, weights, exported, wrap=None):
        self.label, self.style, self.is_compiled = style.label, style, wrap is not None
        if self.is_compiled:
            self.label = style.label.split(" (")[0] + " compiled"
        self.net = net = Net1(weights)
        # What stands before the first symbol, and the context then.
        net.start = (torch.tensor([exported["end"]]), torch.zeros(1, net.query.weight.shape[1]))
        self.steps = Steps(net, wrap or (lambda function: function))
        self.original = [p.detach().clone() for p in net.moving]
        self.tables = [table.clone() for table in net.tables]
        self.exported = exported
        self.cases = [
            [torch.tensor(case[key]) for key in ("words", "vectors")] for case in exported["cases"]
        ]

    def restore(self, case):
        with torch.no_grad():
            torch._foreach_copy_(self.net.moving, self.original)
            for x, table, original in zip(self.cases[case], self.net.tables, self.tables):
                table[x] = original[x]

    def differentiate(self, case):
        """The output, log p of it, the gradients of looked-up rows and those of all else."""
        rows = self.net.look_up(*self.cases[case])
        cap, end = self.exported["cap"], self.exported["end"]
        output, value = self.style.score(self.net, self.steps, rows, cap, end)
        grads = torch.autograd.grad(value, [*rows, *self.net.moving])
        return output, value, grads[:2], grads[2:]

    def iterate(self, case):
        _, _, rows, others = self.differentiate(case)
        with torch.no_grad():
            eta = self.exported["step_size"]
            torch._foreach_add_(self.net.moving, others, alpha=-eta)
            for x, table, row in zip(self.cases[case], self.net.tables, rows):
                table.index_add_(0, x, row, alpha=-eta)

    def iteration_seconds(self, case):
        start = perf_counter()
        self.iterate(case)
        took = perf_counter() - start
        self.restore(case)
        return took

    def after_a_step(self, case):
        self.iterate(case)
        output, value, _, _ = self.differentiate(case)
        self.restore(case)
        return output, value.item()

    def gradient(self, case):
        output, value, rows, others = self.differentiate(case)
        named = self.net.named_as_ours(others)
        for name, x, table, row in zip(TABLES, self.cases[case], self.net.tables, rows):
            named[name] = torch.zeros_like(table).index_add_(0, x, row)
        return output, value.item(), {name: t.numpy() for name, t in named.items()}


def compiled(style, weights, exported):
    """The variant with its steps compiled, or none if that does not work here."""
    variant = Torch(style, weights, exported, wrap=torch.compile)
    start = perf_counter()
    try:
        variant.gradient(0)
    except Exception as problem:  # whatever is missing: a C++ compiler, Python's headers
        print(f"  {variant.label}: does not work here: {str(problem).splitlines()[0]}")
        return []
    print(f"  {variant.label}: compiled in {perf_counter() - start:.0f} s")
    return [variant]


def main():
    torch.set_num_threads(1)
    binary, folder = sys.argv[1], Path(sys.argv[2])
    command = lambda verb: [binary, "parsing", verb, "--dir", str(folder)]
    run_json(command("prepare"))
    exported = json.loads((folder / "cases.json").read_text())
    weights = load_file(folder / "model.safetensors")
    variants = [Torch(style, weights, exported) for style in (Recorded, Rerun)]
    for style in (Recorded, Rerun):
        variants += compiled(style, weights, exported)
    compare("parsing", variants, command("time"), exported, folder, GRADIENT_TOLERANCE)


if __name__ == "__main__":
    main()
