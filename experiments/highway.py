"""An LSTM layer with highway connections: one product and one Triton kernel a position.

`T` positions, `B` predicates, `H` hidden units; matrices are time-major.
"""

import torch
import triton
import triton.language as tl

from fused import reads

__all__ = ["Layer", "reads"]


@triton.jit
def forward_cell(z, zh, c, gates, c_next, h_next, dropped, mask, n, H: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    row, col = at // H, at % H
    x, s = z + row * 6 * H + col, zh + row * 5 * H + col
    i = tl.sigmoid(tl.load(x, inside) + tl.load(s, inside))
    f = tl.sigmoid(tl.load(x + H, inside) + tl.load(s + H, inside))
    g = 2 * tl.sigmoid(2 * (tl.load(x + 2 * H, inside) + tl.load(s + 2 * H, inside))) - 1
    o = tl.sigmoid(tl.load(x + 3 * H, inside) + tl.load(s + 3 * H, inside))
    t = tl.sigmoid(tl.load(x + 4 * H, inside) + tl.load(s + 4 * H, inside))
    k = tl.load(x + 5 * H, inside)
    new = f * tl.load(c + at, inside) + i * g
    h = t * o * (2 * tl.sigmoid(2 * new) - 1) + (1 - t) * k
    kept = gates + row * 5 * H + col
    tl.store(kept, i, inside)
    tl.store(kept + H, f, inside)
    tl.store(kept + 2 * H, g, inside)
    tl.store(kept + 3 * H, o, inside)
    tl.store(kept + 4 * H, t, inside)
    tl.store(c_next + at, new, inside)
    tl.store(h_next + at, h, inside)
    tl.store(dropped + at, h * tl.load(mask + at, inside), inside)

@triton.jit
def backward_cell(z, gates, c, c_next, dh_out, dh_in, mask, dc, dz, n, H: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    row, col = at // H, at % H
    kept = gates + row * 5 * H + col
    i, f, g = tl.load(kept, inside), tl.load(kept + H, inside), tl.load(kept + 2 * H, inside)
    o, t = tl.load(kept + 3 * H, inside), tl.load(kept + 4 * H, inside)
    k = tl.load(z + row * 6 * H + col + 5 * H, inside)
    tanh = 2 * tl.sigmoid(2 * tl.load(c_next + at, inside)) - 1
    dh = tl.load(dh_out + at, inside) + tl.load(dh_in + at, inside) * tl.load(mask + at, inside)
    d = tl.load(dc + at, inside) + dh * t * o * (1 - tanh * tanh)
    to = dz + row * 6 * H + col
    tl.store(to, d * g * i * (1 - i), inside)
    tl.store(to + H, d * tl.load(c + at, inside) * f * (1 - f), inside)
    tl.store(to + 2 * H, d * i * (1 - g * g), inside)
    tl.store(to + 3 * H, dh * t * tanh * o * (1 - o), inside)
    tl.store(to + 4 * H, dh * (o * tanh - k) * t * (1 - t), inside)
    tl.store(to + 5 * H, dh * (1 - t), inside)
    tl.store(dc + at, d * f, inside)


class Layer(torch.autograd.Function):
    """All states (T, B, H) over projected inputs `z` (T, B, 6H). `mask` (B, H) is what dropout leaves of the
    state before."""

    @staticmethod
    def forward(ctx, z, w_h, mask):
        steps, batch, h = z.shape[0], z.shape[1], w_h.shape[0]
        z = z.contiguous()
        gates = z.new_empty(steps, batch, 5 * h)
        c, hs = z.new_zeros(steps + 1, batch, h), z.new_empty(steps, batch, h)
        dropped = z.new_zeros(steps + 1, batch, h)
        zh = z.new_empty(batch, 5 * h)
        n = batch * h
        grid = (triton.cdiv(n, 512),)
        for t in range(steps):
            torch.mm(dropped[t], w_h, out=zh)
            forward_cell[grid](
                z[t], zh, c[t], gates[t], c[t + 1], hs[t], dropped[t + 1], mask, n, H=h, BLOCK=512
            )
        ctx.save_for_backward(z, w_h, mask, gates, c, dropped)
        return hs

    @staticmethod
    def backward(ctx, dhs):
        z, w_h, mask, gates, c, dropped = ctx.saved_tensors
        steps, batch, h = dhs.shape
        dhs, w_t = dhs.contiguous(), w_h.t().contiguous()
        dz = torch.empty_like(z)
        dc, dh = z.new_zeros(batch, h), z.new_zeros(batch, h)
        n = batch * h
        grid = (triton.cdiv(n, 512),)
        for t in reversed(range(steps)):
            backward_cell[grid](
                z[t], gates[t], c[t], c[t + 1], dhs[t], dh, mask, dc, dz[t], n, H=h, BLOCK=512
            )
            torch.mm(dz[t, :, : 5 * h], w_t, out=dh)
        five = dz[:, :, : 5 * h].reshape(-1, 5 * h)
        return dz, dropped[:-1].reshape(-1, h).t() @ five, None
