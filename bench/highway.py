"""The paper's role labeler in PyTorch: alternating LSTMs with highway connections, three ways.

`T` tokens of one sentence, `D` size of the inputs, `H` hidden units, `V` tags. cajole's matrices
are (in, out), which is also what PyTorch multiplies fastest with a single vector. Its gates are in
the order i, f, g, o, t, with the linear input k behind; variants may keep them in another one.
"""

import torch
from torch.nn.functional import linear

OURS = "ifgotk"


class Network:
    """All weights in one buffer, but for the large table of words, with a view of it per parameter.
    Gates are in the order of `gates`; of each layer, `layers` has (w_x, w_h, b)."""

    def __init__(self, weights, n_layers, gates):
        self.gates, self.words = gates, weights["input.words"].clone()
        names = [name for name in weights if name != "input.words"]
        self.flat = torch.cat([self.reordered(n, weights[n], OURS, gates).flatten() for n in names])
        sizes = [weights[name].numel() for name in names]
        views = [v.view(weights[n].shape) for n, v in zip(names, self.flat.split(sizes))]
        self.views = dict(zip(names, views))
        of = lambda i: [self.views[f"layer{i}.{part}"] for part in ("w_x", "w_h", "b")]
        self.layers = [of(i) for i in range(n_layers)]
        self.output, self.bias = self.views["output.w"], self.views["output.b"]
        self.hidden = self.output.shape[0]

    @staticmethod
    def reordered(name, matrix, before, after):
        """A layer's parameter with the blocks of its columns in another order."""
        if not name.startswith("layer"):
            return matrix
        n = 5 if name.endswith("w_h") else 6
        blocks = dict(zip(before[:n], matrix.chunk(n, -1)))
        return torch.cat([blocks[gate] for gate in after[:n]], -1)

    def named_as_ours(self, gradients):
        """Gradients in the order of `views`, by cajole's names and in its order of gates."""
        return {n: self.reordered(n, g, self.gates, OURS) for n, g in zip(self.views, gradients)}

    def look_up(self, words, predicate):
        """What goes in at each token: a row of the words, and which row of the other table."""
        at = torch.zeros(len(words), dtype=torch.long)
        at[predicate] = 1
        return self.words[words], at


class Plain:
    """Variant A: a cell per token, as AllenNLP has it."""

    label = "torch A (cell by cell)"
    gates = OURS

    @staticmethod
    def read(x, w_x, w_h, b):
        """States (T, H) of a layer that reads `x` (T, D) in this order."""
        n = w_h.shape[0]
        w_x, w_h = w_x.t(), w_h.t()
        h = c = x.new_zeros(1, n)
        hs = []
        for token in x.split(1):
            z, s = linear(token, w_x, b), linear(h, w_h)  # (1, 6H), (1, 5H)
            part = lambda i: z[:, i * n : (i + 1) * n] + s[:, i * n : (i + 1) * n]
            i, f = torch.sigmoid(part(0)), torch.sigmoid(part(1))
            g, o = torch.tanh(part(2)), torch.sigmoid(part(3))
            t = torch.sigmoid(part(4))
            c = i * g + f * c
            h = t * (o * torch.tanh(c)) + (1 - t) * z[:, 5 * n :]
            hs.append(h)
        return torch.cat(hs)


class Hoisted:
    """Variant B: inputs projected for all tokens at once, and per token as few operations as there
    can be: a product with a vector, one call for four sigmoids, an interpolation."""

    label = "torch B (inputs projected at once)"
    gates = "iftogk"

    def __init__(self, wrap=lambda function: function):
        self.recur = wrap(recur)

    def read(self, x, w_x, w_h, b):
        n = w_h.shape[0]
        z = torch.addmm(b, x, w_x)  # (T, 6H)
        return self.recur(z[:, : 5 * n], z[:, 5 * n :], w_h.t())


def recur(zs, ks, w):
    """States (T, H) from projected inputs (T, 5H) and (T, H); `w` is (5H, H)."""
    n = w.shape[1]
    h = c = torch.zeros(n)
    hs = []
    for z, k in zip(zs.unbind(0), ks.unbind(0)):
        s = torch.addmv(z, w, h)
        i, f, t, o = s[: 4 * n].sigmoid().view(4, n).unbind(0)
        c = torch.addcmul(f * c, i, s[4 * n :].tanh())
        h = torch.lerp(k, o * c.tanh(), t)
        hs.append(h)
    return torch.stack(hs)


class ByHand:
    """Variant C: both directions written out, without autograd, into buffers that are reused.

    What the backward pass multiplies by is computed for all tokens at once, so that few operations
    per token remain; and a matrix's gradient is one product, where autograd adds up one per token.
    Gates g, i, f and o, t lie together: the first are blamed through the cell, the others directly.
    """

    label = "torch C (backward by hand)"
    gates = "gifotk"

    def __init__(self, tokens, hidden, reads_backward):
        self.z, self.dz = (torch.zeros(tokens, 6 * hidden) for _ in range(2))
        self.h, self.c = (torch.zeros(tokens + 1, hidden) for _ in range(2))  # zero comes first
        self.tanh_c, self.dh = (torch.zeros(tokens, hidden) for _ in range(2))
        self.flow, self.dc = (torch.zeros(hidden) for _ in range(2))
        order = range(tokens)[::-1] if reads_backward else range(tokens)
        self.order = torch.tensor(list(order))
        five, sigmoids = self.z[:, : 5 * hidden], self.z[:, hidden : 5 * hidden]
        gates = self.z.view(tokens, 6, hidden).unbind(1)
        states = self.c[:-1], self.c[1:], self.tanh_c, self.h[:-1], self.h[1:]
        self.steps = list(zip(five, sigmoids, *gates, *states))

    def read(self, x, w_x, w_h, b):
        """States (T, H), kept with all that the backward pass needs."""
        self.x = x = x[self.order]
        torch.addmm(b, x, w_x, out=self.z)
        w = w_h.t()
        for five, sigmoids, g, i, f, o, t, k, c, c_next, tanh_c, h, h_next in self.steps:
            five.addmv_(w, h)
            g.tanh_()
            sigmoids.sigmoid_()
            torch.mul(f, c, out=c_next)
            c_next.addcmul_(i, g)
            torch.tanh(c_next, out=tanh_c)
            torch.mul(o, tanh_c, out=self.flow)
            torch.lerp(k, self.flow, t, out=h_next)
        return self.h[1:][self.order]

    def backward(self, dh, w_x, w_h, dw_x, dw_h, db):
        """Gradients of the weights into their places; returns that of the inputs (T, D)."""
        steps, n = len(dh), self.h.shape[1]
        g, i, f, o, t, k = self.z.view(steps, 6, n).unbind(1)
        flow = o * self.tanh_c
        by_dh = torch.stack([t * self.tanh_c * (o * (1 - o)), (flow - k) * (t * (1 - t))], 1)
        by_dc = torch.stack([i * (1 - g * g), g * (i * (1 - i)), self.c[:-1] * (f * (1 - f))], 1)
        to_c = t * (o - flow * self.tanh_c)
        torch.index_select(dh, 0, self.order, out=self.dh)
        dz = self.dz.view(steps, 6, n)
        dc = self.dc.zero_()
        before, five = [None, *self.dh[:-1]], self.dz[:, : 5 * n]
        each = zip(before, self.dh, to_c, by_dc, by_dh, f, dz[:, :3], dz[:, 3:5], five)
        for dh_before, dh_t, to_c_t, by_dc_t, by_dh_t, f_t, dgif, dot, dz_t in reversed(list(each)):
            dc.addcmul_(dh_t, to_c_t)
            torch.mul(by_dc_t, dc, out=dgif)
            torch.mul(by_dh_t, dh_t, out=dot)
            dc.mul_(f_t)
            if dh_before is not None:
                dh_before.addmv_(w_h, dz_t)
        torch.mul(self.dh, 1 - t, out=dz[:, 5])
        torch.mm(self.x.t(), self.dz, out=dw_x)
        torch.mm(self.h[1:-1].t(), five[1:], out=dw_h)
        torch.sum(self.dz, 0, out=db)
        return (self.dz @ w_x.t())[self.order]
