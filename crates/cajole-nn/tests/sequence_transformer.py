"""A transformer that reads tokens with word vectors, as a checkpoint of PyTorch's own making.

    python sequence_transformer.py OUT

OUT/network.json is its architecture, OUT/model.safetensors its weights under cajole's names,
OUT/gradient.safetensors their gradient of the log-probability of the first output, OUT/cases.json what
it reads and writes, with the log-probabilities of every row.
"""

import json
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch import nn

WIDTH, HEADS, INNER, LAYERS = 32, 4, 40, (2, 3)
WORDS, VECTORS, VECTOR_SIZE, SYMBOLS = 11, 7, 5, 9
END = SYMBOLS - 1


def sinusoids(n):
    """(n, WIDTH): a sine and a cosine of each frequency in turn."""
    frequency = torch.exp(-math.log(10_000) * torch.arange(0, WIDTH, 2) / WIDTH)
    angle = torch.arange(n)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


class Parser(nn.Module):
    def __init__(self):
        super().__init__()
        self.reads = nn.Embedding(WORDS + 1, WIDTH)
        self.vectors = nn.Embedding(VECTORS, VECTOR_SIZE)
        self.vectors_to_width = nn.Linear(VECTOR_SIZE, WIDTH, bias=False)
        self.transformer = nn.Transformer(
            WIDTH, HEADS, *LAYERS, INNER, 0.0, "relu", batch_first=True, norm_first=True
        )
        self.writes = nn.Embedding(SYMBOLS, WIDTH)
        self.output = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, words, vectors, output):
        """Log-probabilities (T, SYMBOLS) of what follows every prefix of an output."""
        words, vectors = torch.tensor(words + [WORDS]), torch.tensor(vectors + [0])
        x = math.sqrt(WIDTH) * self.reads(words) + self.vectors_to_width(self.vectors(vectors))
        x = x + sinusoids(len(words))
        before = torch.tensor([END] + output)
        y = math.sqrt(WIDTH) * self.writes(before) + sinusoids(len(before))
        causal = nn.Transformer.generate_square_subsequent_mask(len(before))
        y = self.transformer(x[None], y[None], tgt_mask=causal)[0]
        return self.output(y).log_softmax(-1)

    def tensors(self, of):
        """cajole's tensors, from `of` each parameter: itself, or its gradient."""
        found = {
            "reads.symbols": of(self.reads.weight),
            "vectors.table": of(self.vectors.weight),
            "reads.vectors.w": of(self.vectors_to_width.weight).T,
            "writes.symbols": of(self.writes.weight),
            "output.symbols": of(self.output.weight),
            "output.b": of(self.output.bias),
        }

        def linear(name, weight, bias):
            found[f"{name}.w"], found[f"{name}.b"] = weight.T, bias

        def norm(name, part):
            found[f"{name}.gain"], found[f"{name}.bias"] = of(part.weight), of(part.bias)

        for stack in ("encoder", "decoder"):
            part = getattr(self.transformer, stack)
            norm(f"{stack}.norm", part.norm)
            for i, layer in enumerate(part.layers):
                name = f"{stack}.{i}"
                own = layer.self_attn
                linear(f"{name}.attention.qkv", of(own.in_proj_weight), of(own.in_proj_bias))
                linear(f"{name}.attention.out", of(own.out_proj.weight), of(own.out_proj.bias))
                norm(f"{name}.attention.norm", layer.norm1)
                linear(f"{name}.feed.up", of(layer.linear1.weight), of(layer.linear1.bias))
                linear(f"{name}.feed.down", of(layer.linear2.weight), of(layer.linear2.bias))
                if stack == "encoder":
                    norm(f"{name}.feed.norm", layer.norm2)
                    continue
                cross = layer.multihead_attn
                weight, bias = of(cross.in_proj_weight), of(cross.in_proj_bias)
                linear(f"{name}.cross.q", weight[:WIDTH], bias[:WIDTH])
                linear(f"{name}.cross.kv", weight[WIDTH:], bias[WIDTH:])
                linear(f"{name}.cross.out", of(cross.out_proj.weight), of(cross.out_proj.bias))
                norm(f"{name}.cross.norm", layer.norm2)
                norm(f"{name}.feed.norm", layer.norm3)
        return {name: tensor.detach().contiguous().clone() for name, tensor in found.items()}


def network():
    """The architecture, as `config.json` has it."""

    def embedding(symbols):
        positions = {"sinusoidal": {"rows": 64, "waves": "in-turn"}}
        scale = math.sqrt(WIDTH)
        return dict(symbols=symbols, positions=positions, types=0, **{"has-norm": False}, scale=scale)

    def stack(layers):
        return {
            "layers": layers,
            "width": WIDTH,
            "heads": HEADS,
            "head-size": WIDTH // HEADS,
            "scale": 1 / math.sqrt(WIDTH // HEADS),
            "inner": INNER,
            "activation": "relu",
            "is-gated": False,
            "norm": "layer",
            "epsilon": 1e-5,
            "is-norm-first": True,
            "has-last-norm": True,
            "has-biases": True,
            "dropout": 0.1,
        }

    return {
        "reads": embedding(WORDS + 1),
        "encoder": stack(LAYERS[0]),
        "writes": embedding(SYMBOLS),
        "decoder": stack(LAYERS[1]),
        "shares-symbols": False,
        "ties-output": False,
        "has-output-bias": True,
        "output-scale": 1.0,
        "start": END,
        "end": END,
        "cap": 20,
        "cap-factor": 2,
        "reads-end": True,
        "vectors": {"rows": VECTORS, "size": VECTOR_SIZE},
    }


def main():
    out = pathlib.Path(sys.argv[1])
    torch.manual_seed(1)
    model = Parser()
    # Norms and biases that are not where they begin, and scores that are far from uniform.
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, parameter.mean().item(), 0.3)
    nn.init.normal_(model.output.weight, 0.0, 0.5)
    random = torch.Generator().manual_seed(2)

    def draw(below, n):
        return torch.randint(below, (n,), generator=random).tolist()

    cases = []
    for n in (6, 1, 9, 4, 13):
        words, vectors, output = draw(WORDS, n), draw(VECTORS, n), draw(END, n + 3)
        log_probs = model(words, vectors, output)
        if not cases:
            targets = torch.tensor(output + [END])
            log_probs.gather(1, targets[:, None]).sum().backward()
            save_file(model.tensors(lambda parameter: parameter.grad), out / "gradient.safetensors")
        cases.append({
            "words": words,
            "vectors": vectors,
            "output": output,
            "log_probs": log_probs.flatten().tolist(),
        })
    save_file(model.tensors(lambda parameter: parameter), out / "model.safetensors")
    (out / "network.json").write_text(json.dumps(network()))
    (out / "cases.json").write_text(json.dumps(cases))


main()
