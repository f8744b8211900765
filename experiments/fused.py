"""LSTM layers with two kernels a position, and the attentive layer of a decoder with four, in Triton.

PyTorch's own operations need about forty a position there and back, and launching them is what takes
the time. `T` positions of the input, `S` of the output, `B` sentences, `H` hidden units, `A` width of
the attention; matrices are time-major. Gates are in PyTorch's order: i, f, g, o.
"""

import os

import torch
import triton
import triton.language as tl

BLOCK = 256
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def reads(x):
    """Whether kernels can read this tensor: on a GPU, or anywhere if Triton interprets them."""
    return x.is_cuda or INTERPRETED


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def cell_forward(z, s, c, gates, c_next, h_next, h_stride, n, H: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    row, col = at // H, at % H
    x = row * 4 * H + col
    i = tl.sigmoid(tl.load(z + x, inside) + tl.load(s + x, inside))
    f = tl.sigmoid(tl.load(z + x + H, inside) + tl.load(s + x + H, inside))
    g = tanh(tl.load(z + x + 2 * H, inside) + tl.load(s + x + 2 * H, inside))
    o = tl.sigmoid(tl.load(z + x + 3 * H, inside) + tl.load(s + x + 3 * H, inside))
    new = f * tl.load(c + at, inside) + i * g
    tl.store(gates + x, i, inside)
    tl.store(gates + x + H, f, inside)
    tl.store(gates + x + 2 * H, g, inside)
    tl.store(gates + x + 3 * H, o, inside)
    tl.store(c_next + at, new, inside)
    tl.store(h_next + row * h_stride + col, o * tanh(new), inside)


@triton.jit
def cell_backward(
    gates, c, c_next, dh_out, dh_more, dh_next, next_stride, dc_out, dc, dz, n,
    H: tl.constexpr, BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    row, col = at // H, at % H
    x = row * 4 * H + col
    i, f = tl.load(gates + x, inside), tl.load(gates + x + H, inside)
    g, o = tl.load(gates + x + 2 * H, inside), tl.load(gates + x + 3 * H, inside)
    y = tanh(tl.load(c_next + at, inside))
    dh = tl.load(dh_out + at, inside) + tl.load(dh_more + at, inside)
    dh += tl.load(dh_next + row * next_stride + col, inside)
    d = tl.load(dc + at, inside) + tl.load(dc_out + at, inside) + dh * o * (1 - y * y)
    tl.store(dz + x, d * g * i * (1 - i), inside)
    tl.store(dz + x + H, d * tl.load(c + at, inside) * f * (1 - f), inside)
    tl.store(dz + x + 2 * H, d * i * (1 - g * g), inside)
    tl.store(dz + x + 3 * H, dh * y * o * (1 - o), inside)
    tl.store(dc + at, d * f, inside)


@triton.jit
def attention_forward(
    keys, values, q, v, lengths, kept, scores, shares, context, fed, fed_stride, T,
    A: tl.constexpr, H: tl.constexpr, TP: tl.constexpr, HB: tl.constexpr,
):
    """One program a sentence: scores (B, T), their softmax (B, T), and the context (B, H), also as it
    is fed to the next position, where dropout kept it."""
    b = tl.program_id(0)
    t, a = tl.arange(0, TP), tl.arange(0, A)
    length = tl.load(lengths + b)
    read = (t < length)[:, None]
    k = tl.load(keys + b * T * A + t[:, None] * A + a[None, :], read, 0.0)
    x = tanh(k + tl.load(q + b * A + a)[None, :]) * tl.load(v + a)[None, :]
    s = tl.where(t < length, tl.sum(x, 1), -float("inf"))
    e = tl.exp(s - tl.max(s, 0))
    p = e / tl.sum(e, 0)
    tl.store(scores + b * T + t, s, t < T)
    tl.store(shares + b * T + t, p, t < T)
    for start in tl.static_range(0, H, HB):
        h = start + tl.arange(0, HB)
        y = tl.load(values + b * T * H + t[:, None] * H + h[None, :], read, 0.0)
        found = tl.sum(p[:, None] * y, 0)
        tl.store(context + b * H + h, found)
        tl.store(fed + b * fed_stride + h, found * tl.load(kept + b * H + h))


@triton.jit
def attention_backward(
    keys, values, q, v, lengths, kept, shares, dcontext, dfed, dfed_stride, dscores,
    dkeys, dvalues, dq, dv, T,
    A: tl.constexpr, H: tl.constexpr, TP: tl.constexpr, HB: tl.constexpr,
):
    """Adds to the gradients of keys, values and `v`, of which every sentence has its own."""
    b = tl.program_id(0)
    t, a = tl.arange(0, TP), tl.arange(0, A)
    length = tl.load(lengths + b)
    read = (t < length)[:, None]
    p = tl.load(shares + b * T + t, t < length, 0.0)
    dp = tl.zeros([TP], tl.float32)
    for start in tl.static_range(0, H, HB):
        h = start + tl.arange(0, HB)
        d = tl.load(dcontext + b * H + h) + tl.load(dfed + b * dfed_stride + h) * tl.load(kept + b * H + h)
        at = b * T * H + t[:, None] * H + h[None, :]
        dp += tl.sum(tl.load(values + at, read, 0.0) * d[None, :], 1)
        tl.store(dvalues + at, tl.load(dvalues + at, read, 0.0) + p[:, None] * d[None, :], read)
    ds = p * (dp - tl.sum(p * dp, 0)) + tl.load(dscores + b * T + t, t < length, 0.0)
    at = b * T * A + t[:, None] * A + a[None, :]
    x = tanh(tl.load(keys + at, read, 0.0) + tl.load(q + b * A + a)[None, :])
    dk = ds[:, None] * tl.load(v + a)[None, :] * (1 - x * x)
    tl.store(dkeys + at, tl.load(dkeys + at, read, 0.0) + dk, read)
    tl.store(dq + b * A + a, tl.sum(dk, 0))
    tl.store(dv + b * A + a, tl.load(dv + b * A + a) + tl.sum(ds[:, None] * x, 0))


def cells(n):
    return (triton.cdiv(n, BLOCK),)


class Layer(torch.autograd.Function):
    """All states `h` and `c` (T, B, H) of a layer over projected inputs `z` (T, B, 4H)."""

    @staticmethod
    def forward(ctx, z, w_h):
        steps, batch, h = z.shape[0], z.shape[1], w_h.shape[0]
        z, n = z.contiguous(), batch * h
        gates = torch.empty_like(z)
        c, hs = z.new_zeros(steps + 1, batch, h), z.new_zeros(steps + 1, batch, h)
        s = z.new_empty(batch, 4 * h)
        for t in range(steps):
            torch.mm(hs[t], w_h, out=s)
            cell_forward[cells(n)](
                z[t], s, c[t], gates[t], c[t + 1], hs[t + 1], h, n, H=h, BLOCK=BLOCK
            )
        ctx.save_for_backward(w_h, gates, c, hs)
        return hs[1:], c[1:]

    @staticmethod
    def backward(ctx, dhs, dcs):
        w_h, gates, c, hs = ctx.saved_tensors
        steps, batch, h = dhs.shape
        dhs, dcs, w_t, n = dhs.contiguous(), dcs.contiguous(), w_h.t().contiguous(), batch * h
        dz = torch.empty_like(gates)
        dc, dh, none = dhs.new_zeros(batch, h), dhs.new_zeros(batch, h), dhs.new_zeros(batch, h)
        for t in reversed(range(steps)):
            cell_backward[cells(n)](
                gates[t], c[t], c[t + 1], dhs[t], none, dh, h, dcs[t], dc, dz[t], n, H=h, BLOCK=BLOCK
            )
            torch.mm(dz[t], w_t, out=dh)
        return dz, hs[:-1].flatten(0, 1).t() @ dz.flatten(0, 1)


class Attentive(torch.autograd.Function):
    """The layer of a decoder that attends to the input and reads at every position, beside `z`
    (S, B, 4H), what it attended to before. Gives states (S, B, H), contexts (S, B, H) and the scores of
    attention (S, B, T). `joined` (2H, 4H) takes the context and the state; `kept` (S, B, H) is what
    dropout leaves of contexts."""

    @staticmethod
    def forward(ctx, z, joined, w_query, v, keys, values, lengths, h0, c0, kept):
        (steps, batch, _), h, T = z.shape, h0.shape[1], keys.shape[1]
        z, n, width = z.contiguous(), batch * h, keys.shape[2]
        keys, values = keys.contiguous(), values.contiguous()
        gates, c = torch.empty_like(z), z.new_empty(steps + 1, batch, h)
        fed = z.new_zeros(steps + 1, batch, 2 * h)  # contexts and states
        fed[0, :, h:], c[0] = h0, c0
        s, qs = z.new_empty(batch, 4 * h), z.new_empty(steps, batch, width)
        scores, shares = z.new_empty(steps, batch, T), z.new_empty(steps, batch, T)
        contexts = z.new_empty(steps, batch, h)
        sizes = {"A": width, "H": h, "TP": max(16, triton.next_power_of_2(T)), "HB": min(h, 128)}
        for t in range(steps):
            torch.mm(fed[t], joined, out=s)
            state = fed[t + 1, :, h:]
            cell_forward[cells(n)](
                z[t], s, c[t], gates[t], c[t + 1], state, 2 * h, n, H=h, BLOCK=BLOCK
            )
            torch.mm(state, w_query, out=qs[t])
            attention_forward[(batch,)](
                keys, values, qs[t], v, lengths, kept[t], scores[t], shares[t], contexts[t],
                fed[t + 1], 2 * h, T, **sizes,
            )
        ctx.sizes = sizes
        ctx.save_for_backward(joined, w_query, v, keys, values, lengths, kept, gates, c, fed, qs, shares)
        return fed[1:, :, h:], contexts, scores

    @staticmethod
    def backward(ctx, dhs, dcontexts, dscores):
        joined, w_query, v, keys, values, lengths, kept, gates, c, fed, qs, shares = ctx.saved_tensors
        steps, batch, h = dhs.shape
        dhs, dcontexts, dscores = dhs.contiguous(), dcontexts.contiguous(), dscores.contiguous()
        joined_t, query_t, n = joined.t().contiguous(), w_query.t().contiguous(), batch * h
        dz, dqs = torch.empty_like(gates), torch.empty_like(qs)
        dkeys, dvalues = torch.zeros_like(keys), torch.zeros_like(values)
        dv = qs.new_zeros(batch, len(v))
        dc, dh, none = dhs.new_zeros(batch, h), dhs.new_empty(batch, h), dhs.new_zeros(batch, h)
        dfed = dhs.new_zeros(batch, 2 * h)
        for t in reversed(range(steps)):
            attention_backward[(batch,)](
                keys, values, qs[t], v, lengths, kept[t], shares[t], dcontexts[t], dfed, 2 * h,
                dscores[t], dkeys, dvalues, dqs[t], dv, keys.shape[1], **ctx.sizes,
            )
            torch.mm(dqs[t], query_t, out=dh)
            cell_backward[cells(n)](
                gates[t], c[t], c[t + 1], dhs[t], dh, dfed[:, h:], 2 * h, none, dc, dz[t], n,
                H=h, BLOCK=BLOCK,
            )
            torch.mm(dz[t], joined_t, out=dfed)
        djoined = fed[:-1].flatten(0, 1).t() @ dz.flatten(0, 1)
        dquery = fed[1:, :, h:].flatten(0, 1).t() @ dqs.flatten(0, 1)
        return dz, djoined, dquery, dv.sum(0), dkeys, dvalues, None, dfed[:, h:], dc, None
