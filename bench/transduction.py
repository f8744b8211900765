"""The transducer in PyTorch, twice, as users of PyTorch would write it.

Both variants have the weights, inputs and step size of cajole's half, and one thread. An iteration
is the same for all: decode greedily, count, differentiate `g * log p(y)` with respect to every
weight, take an SGD step in place.

- A records the decode: one graph from the first input symbol to the last output symbol, and the
  backward pass goes through it.
- B decodes without recording and then runs `nn.LSTM` over the decoded output, since one call for
  all steps is cheaper than a step at a time, even with a second forward pass.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import torch
from safetensors.torch import load_file
from torch import nn

from side_by_side import Variant, compare, run_json


class Transducer(nn.Module):
    """The weights in PyTorch's shapes: an encoder `nn.LSTM`, a decoder `nn.LSTM` that is fed the
    symbol before and the encoder's final state, a linear layer.

    cajole's matrices are (in, out), PyTorch's (out, in); both order gates i, f, g, o. PyTorch has
    two biases per LSTM: the second is zero and does not move.
    """

    def __init__(self, weights):
        super().__init__()
        inputs, embedding = weights["encoder.embedding"].shape
        hidden, symbols = weights["output.w"].shape
        self.encoder_embedding = nn.Embedding(inputs, embedding)
        self.encoder = nn.LSTM(embedding, hidden)
        self.decoder_embedding = nn.Embedding(symbols, embedding)
        self.decoder = nn.LSTM(embedding + hidden, hidden)
        self.output = nn.Linear(hidden, symbols)
        for lstm in (self.encoder, self.decoder):
            nn.init.zeros_(lstm.bias_hh_l0).requires_grad_(False)
        self.moving = [p for p in self.parameters() if p.requires_grad]
        self.symbols = torch.arange(symbols).unsqueeze(1)  # each as a tensor, made once
        with torch.no_grad():
            self.encoder_embedding.weight.copy_(weights["encoder.embedding"])
            self.encoder.weight_ih_l0.copy_(weights["encoder.w_x"].T)
            self.encoder.weight_hh_l0.copy_(weights["encoder.w_h"].T)
            self.encoder.bias_ih_l0.copy_(weights["encoder.b"])
            self.decoder_embedding.weight.copy_(weights["decoder.embedding"])
            fed = torch.cat([weights["decoder.w_x"], weights["decoder.w_s"]])
            self.decoder.weight_ih_l0.copy_(fed.T)
            self.decoder.weight_hh_l0.copy_(weights["decoder.w_h"].T)
            self.decoder.bias_ih_l0.copy_(weights["decoder.b"])
            self.output.weight.copy_(weights["output.w"].T)
            self.output.bias.copy_(weights["output.b"])

    def named_as_ours(self, tensors):
        """Tensors in the order of `moving`, under cajole's names and in its shapes."""
        names = [name for name, p in self.named_parameters() if p.requires_grad]
        found = dict(zip(names, tensors))
        embedding = self.decoder_embedding.weight.shape[1]
        fed = found["decoder.weight_ih_l0"].T
        return {
            "encoder.embedding": found["encoder_embedding.weight"],
            "encoder.w_x": found["encoder.weight_ih_l0"].T,
            "encoder.w_h": found["encoder.weight_hh_l0"].T,
            "encoder.b": found["encoder.bias_ih_l0"],
            "decoder.embedding": found["decoder_embedding.weight"],
            "decoder.w_x": fed[:embedding],
            "decoder.w_s": fed[embedding:],
            "decoder.w_h": found["decoder.weight_hh_l0"].T,
            "decoder.b": found["decoder.bias_ih_l0"],
            "output.w": found["output.weight"].T,
            "output.b": found["output.bias"],
        }

    def encode(self, x):
        """The final state, `h` and `c` of (1, H)."""
        _, (h, c) = self.encoder(self.encoder_embedding(x).unsqueeze(1))  # (T, 1, E)
        return h[0], c[0]

    def decode(self, h, c, cap, end):
        """The greedy output with its end symbol, and the scores (1, V) of every step."""
        d = self.decoder
        fed, previous, output, scores = h, self.symbols[end], [], []
        for _ in range(cap):
            seen = torch.cat([self.decoder_embedding(previous), fed], 1)  # (1, E + H)
            h, c = torch.lstm_cell(
                seen, (h, c), d.weight_ih_l0, d.weight_hh_l0, d.bias_ih_l0, d.bias_hh_l0
            )
            scores.append(self.output(h))
            best = scores[-1].argmax().item()
            output.append(best)
            previous = self.symbols[best]
            if best == end:
                break
        return output, scores


def log_prob(scores, output):
    """`log p(y)` from scores (T, V)."""
    return scores.log_softmax(1).gather(1, output.unsqueeze(1)).sum()


class Task:
    """The paper's count constraint, `g = (3 x_a - y_a)^2 / (m + n)`; an unended output violates."""

    def __init__(self, exported):
        self.end, self.cap_factor = exported["end"], exported["cap_factor"]
        self.step_size, self.max_steps = exported["step_size"], exported["max_steps"]

    def cap(self, x):
        return self.cap_factor * len(x) + 10

    def violation(self, x, output):
        y = output[:-1] if output[-1] == self.end else output
        g = (3 * x.count(0) - y.count(0)) ** 2 / max(len(x) + len(y), 1)
        return 1 / len(y) if g == 0 and y is output else g


class Recorded:
    """Variant A."""

    label = "torch A (decode recorded)"

    @staticmethod
    def score(net, task, x, x_tensor):
        """The output with its end symbol, its violation, and its recorded log-probability."""
        h, c = net.encode(x_tensor)
        output, scores = net.decode(h, c, task.cap(x), task.end)
        g = task.violation(x, output)
        return output, g, lambda: log_prob(torch.cat(scores), torch.tensor(output))


class Rerun:
    """Variant B."""

    label = "torch B (nn.LSTM re-run)"

    @staticmethod
    def score(net, task, x, x_tensor):
        """As variant A's; the encoder runs once, and only the decoder twice."""
        h, c = net.encode(x_tensor)
        with torch.inference_mode():
            output, _ = net.decode(h, c, task.cap(x), task.end)
        g = task.violation(x, output)

        def recorded():
            y = torch.tensor(output)
            before = torch.cat([net.symbols[task.end], y[:-1]])
            fed = h.expand(len(output), -1)
            seen = torch.cat([net.decoder_embedding(before), fed], 1).unsqueeze(1)  # (T, 1, E + H)
            states, _ = net.decoder(seen, (h.unsqueeze(0), c.unsqueeze(0)))
            return log_prob(net.output(states.squeeze(1)), y)

        return output, g, recorded


class Torch(Variant):
    """Either variant, with the loop around it."""

    def __init__(self, style, weights, exported):
        self.label, self.style = style.label, style
        self.net, self.task = Transducer(weights), Task(exported)
        self.original = [p.detach().clone() for p in self.net.moving]
        self.cases = [(case["input"], torch.tensor(case["input"])) for case in exported["cases"]]

    def restore(self):
        with torch.no_grad():
            torch._foreach_copy_(self.net.moving, self.original)

    def step(self, g, recorded):
        grads = torch.autograd.grad(g * recorded(), self.net.moving)
        with torch.no_grad():
            torch._foreach_add_(self.net.moving, grads, alpha=-self.task.step_size)

    def iteration_seconds(self, case):
        self.restore()
        start = perf_counter()
        _, g, recorded = self.style.score(self.net, self.task, *self.cases[case])
        self.step(g, recorded)
        return perf_counter() - start

    def repair(self, case):
        """Algorithm 1: the steps taken, and the satisfying or least violating output."""
        self.restore()
        output, g, recorded = self.style.score(self.net, self.task, *self.cases[case])
        best = (g, output)
        steps = 0
        while g != 0 and steps < self.task.max_steps:
            self.step(g, recorded)
            output, g, recorded = self.style.score(self.net, self.task, *self.cases[case])
            steps += 1
            if g < best[0]:
                best = (g, output)
        return steps, [s for s in best[1] if s != self.task.end]

    def gradient(self, case):
        self.restore()
        output, g, recorded = self.style.score(self.net, self.task, *self.cases[case])
        value = recorded()
        grads = torch.autograd.grad(g * value, self.net.moving)
        named = {name: t.numpy() for name, t in self.net.named_as_ours(grads).items()}
        return [s for s in output if s != self.task.end], value.item(), named


def main():
    torch.set_num_threads(1)
    binary, folder = sys.argv[1], Path(sys.argv[2])
    command = lambda verb: [binary, "transduction", verb, "--dir", str(folder)]
    run_json(command("prepare"))
    exported = json.loads((folder / "cases.json").read_text())
    weights = load_file(folder / "model.safetensors")
    variants = [Torch(style, weights, exported) for style in (Recorded, Rerun)]
    compare("transduction", variants, command("time"), exported, folder)


if __name__ == "__main__":
    main()
