"""One iteration of gradient-based inference on the paper's role labeler, in PyTorch.

All variants have the weights and inputs of cajole's half, and one thread. An iteration is the same
for all: the best tags by Viterbi, the spans among them that are no nodes of the tree, the gradient
of what these cost with respect to every weight, and a step of set length in place. Of the table of
words, only the rows of the input get a gradient and move.

- A is written as one would first write it: cell by cell.
- B does per token only what it must.
- C does without autograd: the backward pass is written out, too.
- B compiled: its loop goes through `torch.compile`.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from safetensors.torch import load_file

from highway import ByHand, Hoisted, Network, Plain
from side_by_side import Variant, compare, run_json

# The network is untrained: no gradient is so small that rounding would show.
GRADIENT_TOLERANCE = 1e-4


class Case:
    """One input, its tree, and what its output costs."""

    def __init__(self, case):
        self.words, self.predicate = torch.tensor(case["words"]), case["predicate"]
        self.nodes = {tuple(pair) for pair in case["brackets"]}

    def costs(self, output):
        """The cost of every position: each span that is no node shares one among its own."""
        costs, start = [0.0] * len(output), None
        for t, tag in enumerate(output + [0]):
            if start is not None and (tag == 0 or tag % 2 == 1):
                if (start, t) not in self.nodes:
                    costs[start:t] = [1 / (t - start)] * (t - start)
                start = None
            if tag % 2 == 1:
                start = t
        return costs


def viterbi(log_probs):
    """The best valid tags: O is 0, and role r begins with 1 + 2r and goes on with 2 + 2r."""
    scores = log_probs.numpy().astype(np.float64)  # (T, V)
    opening, insides = scores[:, [0, *range(1, scores.shape[1], 2)]], scores[:, 2::2]
    free, inside = 0.0, np.full(insides.shape[1], -np.inf)
    table = []
    for opens, goes_on in zip(opening[::-1], insides[::-1]):
        after = np.maximum(inside, free)
        begins = opens[1:] + after
        outside, role = opens[0] + free, int(begins.argmax())
        inside = goes_on + after
        first, free = (2 * role + 1, begins[role]) if outside < begins[role] else (0, outside)
        table.append((free, first, inside))
    output, before = [], 0
    for free, first, inside in reversed(table):
        if before and free < inside[(before - 1) // 2]:
            before += before % 2
        else:
            before = first
        output.append(before)
    return output


class Torch(Variant):
    """What all variants have in common: weights to move, and the iteration."""

    def __init__(self, style, weights, exported, is_compiled=False):
        self.label, self.is_compiled = style.label, is_compiled
        if is_compiled:
            self.label = style.label.split(" (")[0] + " compiled"
        self.net = Network(weights, exported["layers"], style.gates)
        self.original, self.words = self.net.flat.clone(), self.net.words.clone()
        self.step_size = exported["step_size"]
        self.cases = [Case(case) for case in exported["cases"]]

    def differentiate(self, case):
        """Tags, log p of them, the gradients of the words' rows and of the network's views."""
        raise NotImplementedError

    def step(self, case, rows, others):
        """Moves the weights against these gradients, by the step size in all."""
        raise NotImplementedError

    def chosen(self, case, log_probs):
        """The best tags, where they are, and what they cost."""
        output = viterbi(log_probs.detach())
        return output, torch.tensor(output), torch.tensor(case.costs(output))

    def iterate(self, case):
        _, _, rows, others = self.differentiate(case)
        self.step(case, rows, others)

    def restore(self, case):
        with torch.no_grad():
            self.net.flat.copy_(self.original)
            self.net.words[case.words] = self.words[case.words]

    def iteration_seconds(self, number):
        case = self.cases[number]
        start = perf_counter()
        self.iterate(case)
        took = perf_counter() - start
        self.restore(case)
        return took

    def after_a_step(self, number):
        case = self.cases[number]
        self.iterate(case)
        output, log_prob, _, _ = self.differentiate(case)
        self.restore(case)
        return output, float(log_prob)

    def gradient(self, number):
        case = self.cases[number]
        output, log_prob, rows, others = self.differentiate(case)
        named = self.net.named_as_ours(others)
        named["input.words"] = torch.zeros_like(self.words).index_add_(0, case.words, rows)
        return output, float(log_prob), {name: g.numpy() for name, g in named.items()}


class Recorded(Torch):
    """Variants A and B, which autograd differentiates; `style.read` is their layer."""

    def __init__(self, style, weights, exported, is_compiled=False):
        super().__init__(style, weights, exported, is_compiled)
        self.read = style.read
        self.moving = list(self.net.views.values())
        for view in self.moving:
            view.requires_grad_()

    def differentiate(self, case):
        rows, at = self.net.look_up(case.words, case.predicate)
        rows.requires_grad_()
        x = torch.cat([rows, self.net.views["input.indicator"][at]], 1)
        for i, layer in enumerate(self.net.layers):
            x = self.read(x.flip(0), *layer).flip(0) if i % 2 else self.read(x, *layer)
        log_probs = torch.addmm(self.net.bias, x, self.net.output).log_softmax(1)
        output, y, costs = self.chosen(case, log_probs)
        picked = log_probs.gather(1, y.unsqueeze(1)).squeeze(1)
        rows, *others = torch.autograd.grad(picked @ costs, [rows, *self.moving])
        return output, picked.detach().sum(), rows, others

    def step(self, case, rows, others):
        with torch.no_grad():
            norm = torch.stack(torch._foreach_norm([rows, *others])).norm()
            alpha = -self.step_size / norm.item()
            torch._foreach_add_(self.moving, others, alpha=alpha)
            self.net.words.index_add_(0, case.words, rows, alpha=alpha)


class Written(Torch):
    """Variant C."""

    is_by_hand = True

    def __init__(self, weights, exported):
        super().__init__(ByHand, weights, exported)
        net, tokens = self.net, len(self.cases[0].words)
        self.grad = torch.zeros_like(net.flat)
        sizes = [view.numel() for view in net.views.values()]
        pieces = zip(net.views.items(), self.grad.split(sizes))
        self.into = {name: piece.view(view.shape) for (name, view), piece in pieces}
        self.layers = [ByHand(tokens, net.hidden, i % 2 == 1) for i in range(len(net.layers))]

    @torch.no_grad()
    def differentiate(self, case):
        net, into = self.net, self.into
        rows, at = net.look_up(case.words, case.predicate)
        x = torch.cat([rows, net.views["input.indicator"][at]], 1)
        for layer, weights in zip(self.layers, net.layers):
            x = layer.read(x, *weights)
        log_probs = torch.addmm(net.bias, x, net.output).log_softmax(1)
        output, y, costs = self.chosen(case, log_probs)
        y, costs = y.unsqueeze(1), costs.unsqueeze(1)
        d = (log_probs.exp() * -costs).scatter_add_(1, y, costs)  # (T, V)
        torch.mm(x.t(), d, out=into["output.w"])
        torch.sum(d, 0, out=into["output.b"])
        d = d @ net.output.t()
        for i in reversed(range(len(self.layers))):
            w_x, w_h, _ = net.layers[i]
            places = [into[f"layer{i}.{part}"] for part in ("w_x", "w_h", "b")]
            d = self.layers[i].backward(d, w_x, w_h, *places)
        d_rows, d_indicator = d.split([rows.shape[1], d.shape[1] - rows.shape[1]], 1)
        into["input.indicator"].zero_().index_add_(0, at, d_indicator)
        return output, log_probs.gather(1, y).sum(), d_rows, into.values()

    @torch.no_grad()
    def step(self, case, rows, others):
        square = self.grad.dot(self.grad) + rows.square().sum()
        alpha = -self.step_size / square.sqrt().item()
        self.net.flat.add_(self.grad, alpha=alpha)
        self.net.words.index_add_(0, case.words, rows, alpha=alpha)


def compiled(weights, exported):
    """Variant B with its loop compiled, or none if that does not work here."""
    variant = Recorded(Hoisted(torch.compile), weights, exported, is_compiled=True)
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
    command = lambda verb: [binary, "tagger", verb, "--dir", str(folder)]
    run_json(command("prepare"))
    exported = json.loads((folder / "cases.json").read_text())
    weights = load_file(folder / "model.safetensors")
    variants: list[Recorded | Written] = [Recorded(style, weights, exported) for style in (Plain(), Hoisted())]
    variants.append(Written(weights, exported))
    variants += compiled(weights, exported)
    compare("tagger", variants, command("time"), exported, folder, GRADIENT_TOLERANCE)


if __name__ == "__main__":
    main()
