"""The paper's parsing network in PyTorch: the weights in its shapes, the encoder, one step.

Batches come first where there are any: `B` inputs, `T` tokens, `R` rows of a step, `H` hidden
units, `A` width of the attention, `V` output symbols.

cajole's matrices are (in, out), PyTorch's (out, in); both order gates i, f, g, o. PyTorch has two
biases per LSTM: the second is zero and does not move. The two large tables of embeddings are no
parameters of the module: of these only the rows that an input looks up get a gradient.
"""

import torch
from torch import nn
from torch.nn.functional import embedding

TABLES = ("embedding.table", "vectors.table")


class Net1(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.tables = [weights[name].clone() for name in TABLES]
        hidden, attention = weights["attention.w_key"].shape
        symbols, size = weights["decoder.symbols"].shape
        seen = sum(table.shape[1] for table in self.tables)
        self.first = nn.LSTM(seen, hidden, bidirectional=True, batch_first=True)
        self.upper = nn.ModuleList(
            nn.LSTM(n, hidden, batch_first=True) for n in (2 * hidden, hidden)
        )
        self.key = nn.Linear(hidden, attention)
        self.query = nn.Linear(hidden, attention, bias=False)
        self.v = nn.Parameter(weights["attention.v"].clone())
        self.symbols = nn.Parameter(weights["decoder.symbols"].clone())
        self.decoder = nn.ModuleList(
            nn.LSTM(n + hidden, hidden, batch_first=True) for n in (size, hidden, hidden)
        )
        self.output = nn.Linear(2 * hidden, symbols)
        with torch.no_grad():
            for lstm, suffix, name in self.lstms():
                parts = [weights[f"{name}.w_x"]]
                parts += [weights[f"{name}.w_y"]] if f"{name}.w_y" in weights else []
                getattr(lstm, "weight_ih_l0" + suffix).copy_(torch.cat(parts).T)
                getattr(lstm, "weight_hh_l0" + suffix).copy_(weights[f"{name}.w_h"].T)
                getattr(lstm, "bias_ih_l0" + suffix).copy_(weights[f"{name}.b"])
                getattr(lstm, "bias_hh_l0" + suffix).zero_().requires_grad_(False)
            self.key.weight.copy_(weights["attention.w_key"].T)
            self.key.bias.copy_(weights["attention.b"])
            self.query.weight.copy_(weights["attention.w_query"].T)
            both = torch.cat([weights["output.w_h"], weights["output.w_context"]])
            self.output.weight.copy_(both.T)
            self.output.bias.copy_(weights["output.b"])
        self.sizes = {name: tensor.shape for name, tensor in weights.items()}
        self.moving = [p for p in self.parameters() if p.requires_grad]

    def lstms(self):
        """Every LSTM: its module, the suffix of its parameters, cajole's name for it."""
        return [
            (self.first, "", "encoder.0"),
            (self.first, "_reverse", "encoder.0.backward"),
            *((lstm, "", f"encoder.{i}") for i, lstm in enumerate(self.upper, 1)),
            *((lstm, "", f"decoder.{i}") for i, lstm in enumerate(self.decoder)),
        ]

    def named_as_ours(self, tensors):
        """Tensors in the order of `moving`, under cajole's names and in its shapes."""
        found = {id(p): tensor for p, tensor in zip(self.moving, tensors)}
        of = lambda p: found[id(p)]
        named = {
            "attention.w_key": of(self.key.weight).T,
            "attention.b": of(self.key.bias),
            "attention.w_query": of(self.query.weight).T,
            "attention.v": of(self.v),
            "decoder.symbols": of(self.symbols),
            "output.b": of(self.output.bias),
        }
        named["output.w_h"], named["output.w_context"] = of(self.output.weight).T.chunk(2)
        for lstm, suffix, name in self.lstms():
            w_x = of(getattr(lstm, "weight_ih_l0" + suffix)).T
            inputs = self.sizes[f"{name}.w_x"][0]
            named[f"{name}.w_x"] = w_x[:inputs]
            if inputs < len(w_x):
                named[f"{name}.w_y"] = w_x[inputs:]
            named[f"{name}.w_h"] = of(getattr(lstm, "weight_hh_l0" + suffix)).T
            named[f"{name}.b"] = of(getattr(lstm, "bias_ih_l0" + suffix))
        return named

    def look_up(self, words, vectors):
        """The rows of both tables that an input of (T) tokens needs, to be differentiated by."""
        return [
            embedding(x, table).requires_grad_() for x, table in zip((words, vectors), self.tables)
        ]

    def encode(self, rows):
        """Keys (T, A), values (T, H) and the decoder's first states of one input, each (1, H)."""
        x = torch.cat(rows, 1).unsqueeze(0)  # (1, T, E + P)
        x, (h, c) = self.first(x)
        states = [(h[1], c[1])]  # what was read backwards
        for i, lstm in enumerate(self.upper):
            y, (h, c) = lstm(x)
            states.append((h[0], c[0]))
            x = y if i == 0 else x + y
        values = x.squeeze(0)
        return self.key(values), values, states

    def attend(self, h, keys, values):
        """The context (1, H) for the state (1, H) of the bottom layer."""
        scores = torch.tanh(keys + self.query(h)).mv(self.v)  # (T)
        return torch.mm(scores.softmax(0).unsqueeze(0), values)

    def joined(self):
        """For every decoder layer the matrix (inputs + H, 4H) of its inputs and state, made once for
        all steps: one product is cheaper than two, in both directions."""
        return [torch.cat([d.weight_ih_l0, d.weight_hh_l0], 1).t() for d in self.decoder]

    def step(self, previous, context, states, keys, values, joined):
        """Scores (1, V), the next context (1, H) and the next states."""
        (h0, c0), (h1, c1), (h2, c2) = states
        biases = [d.bias_ih_l0 for d in self.decoder]
        seen = [embedding(previous, self.symbols), context, h0]
        h0, c0 = lstm_cell(torch.addmm(biases[0], torch.cat(seen, 1), joined[0]), c0)
        context = self.attend(h0, keys, values)
        z = torch.addmm(biases[1], torch.cat([h0, context, h1], 1), joined[1])
        h1, c1 = lstm_cell(z, c1)
        z = torch.addmm(biases[2], torch.cat([h1, context, h2], 1), joined[2])
        h2, c2 = lstm_cell(z, c2)
        scores = self.output(torch.cat([h1 + h2, context], 1))
        return scores, context, [(h0, c0), (h1, c1), (h2, c2)]

    def bottom_step(self, z, context, state, keys, values, joined):
        """The bottom layer alone, its symbol projected as `z` (1, 4H), and the rows of its matrix
        for context and state (2H, 4H): the next context and state."""
        h, c = lstm_cell(torch.addmm(z, torch.cat([context, state[0]], 1), joined), state[1])
        return self.attend(h, keys, values), (h, c)


def lstm_cell(z, c):
    """The state after sums of gates (R, 4H) and a cell (R, H)."""
    i, f, g, o = z.chunk(4, 1)
    c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), g.tanh())
    return o.sigmoid() * c.tanh(), c
