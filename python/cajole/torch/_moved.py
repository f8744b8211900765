"""Parameters that differ from input to input, inside one batch.

`B` inputs, `R` rows of the batch (one for each input, or one for each hypothesis). Every moving
parameter has a shift `W_λ − W` of its own for each input: a tensor `(B, *shape)`. While a `Moved` is
active, operations that read such a parameter add each row's own shift, so one product serves all rows
and no parameter is written to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from cajole.torch._frozen import Beginning


class CannotMove(RuntimeError):
    """A moving parameter is read by an operation that cannot tell rows apart."""


class Moved(TorchFunctionMode):
    """Runs a module with a shift of its own for each input."""

    def __init__(
        self,
        shifts: Mapping[int, tuple[str, Tensor]],
        rows: Tensor | None = None,
        beginning: Beginning | None = None,
    ) -> None:
        """`shifts` are by `id` of the parameter, with its name; `rows` is the input of each row;
        `beginning` is what does not depend on shifts."""
        super().__init__()
        self.shifts = shifts
        self.rows = rows
        n_inputs = next((len(shift) for _, shift in shifts.values()), 1)
        self.alone = n_inputs == 1
        self.n_rows = n_inputs if rows is None else len(rows)
        self._beginning = beginning

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        if raised[0] is None:
            self._end_beginning()

    def _end_beginning(self) -> None:
        beginning, self._beginning = self._beginning, None
        if beginning is not None:
            beginning.end()

    def shift(self, parameter: Any) -> Tensor | None:
        """The shift `(R, *shape)` of a parameter, if it moves."""
        found = self.shifts.get(id(parameter))
        if found is None:
            return None
        return found[1] if self.rows is None else found[1][self.rows]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if not self._reads_moving(args, kwargs):
            if self._beginning is not None:
                return self._beginning.call(func, args, kwargs)
            return func(*args, **kwargs)
        if getattr(func, "__name__", "") in INQUIRIES:
            return func(*args, **kwargs)
        self._end_beginning()
        if self.alone:
            # One input: its rows share all weights, so any operation will do.
            return func(*self._effective(args), **self._effective(kwargs))
        handler = HANDLERS.get(func)
        if handler is not None:
            return handler(self, *args, **kwargs)
        name = next(self.shifts[id(a)][0] for a in _flat(args, kwargs) if id(a) in self.shifts)
        raise CannotMove(
            f"{name} is read by {getattr(func, '__name__', func)}, which cannot give every input of a "
            f"batch a {name} of its own: move other parameters, or repair one input at a time"
        )

    def _reads_moving(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        return any(id(value) in self.shifts for value in _flat(args, kwargs))

    def _effective(self, value: Any) -> Any:
        """The same arguments with the weights of the only input."""
        if id(value) in self.shifts:
            return _add(value, self.shifts[id(value)][1][0])
        if isinstance(value, (list, tuple)):
            return type(value)(self._effective(item) for item in value)
        if isinstance(value, dict):
            return {key: self._effective(item) for key, item in value.items()}
        return value

    def by_row(self, x: Tensor) -> Tensor:
        """A batch as `(R, …, C)`, even if its rows were flattened: `(R·T, C)`."""
        if x.dim() >= 2 and x.shape[0] == self.n_rows:
            return x
        if x.dim() == 2 and x.shape[0] % self.n_rows == 0:
            return x.view(self.n_rows, -1, x.shape[-1])
        raise CannotMove(
            f"a tensor {tuple(x.shape)} does not begin with the {self.n_rows} rows of the batch: "
            "use a batch-first module, or repair one input at a time"
        )


def _flat(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def wide(dtype: torch.dtype) -> torch.dtype:
    """The precision of shifts of such weights: in half precision, short steps would be rounded away."""
    return torch.promote_types(dtype, torch.float32)


def _add(base: Tensor, shift: Tensor) -> Tensor:
    """`base + shift`, added in the precision of the shift."""
    return base + shift if base.dtype == shift.dtype else (base.to(shift.dtype) + shift).to(base.dtype)


def _spread(shift: Tensor, like: Tensor) -> Tensor:
    """`(R, C)` as `(R, 1, …, C)`, to go with `(R, …, C)`."""
    missing = like.dim() - shift.dim()
    return shift.view(shift.shape[0], *(1,) * missing, *shift.shape[1:])


def _affine(
    moved: Moved, x: Tensor, base: Tensor, d_weight: Tensor | None, d_bias: Tensor | None
) -> Tensor:
    """`base = x Wᵀ + b`, plus what each row's own shifts add."""
    rows, shape = moved.by_row(base), base.shape
    if d_bias is not None:
        rows = _add(rows, _spread(d_bias, rows))
    if d_weight is not None:
        flat = moved.by_row(x).reshape(moved.n_rows, -1, x.shape[-1]).to(d_weight.dtype)
        own = torch.bmm(flat, d_weight.transpose(1, 2))  # (R, T, out)
        rows = _add(rows, own.view(rows.shape))
    return rows.reshape(shape)


def _linear(moved: Moved, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return _affine(moved, x, F.linear(x, weight, bias), moved.shift(weight), moved.shift(bias))


def _attention(
    moved: Moved,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    n_heads: int,
    in_weight: Tensor | None,
    in_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_weight: Tensor,
    out_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """`F.multi_head_attention_forward`: time-major `(T, R, E)`, with one matrix for q, k and v."""
    if in_weight is None or bias_k is not None or bias_v is not None or add_zero_attn or need_weights:
        raise CannotMove("nn.MultiheadAttention with need_weights, or with options of its own, is read")
    d_weight, d_bias = moved.shift(in_weight), moved.shift(in_bias)
    parts = []
    for i, x in enumerate((query, key, value)):
        at = slice(i * embed_dim, (i + 1) * embed_dim)
        x = x.transpose(0, 1)  # (R, T, E)
        base = F.linear(x, in_weight[at], None if in_bias is None else in_bias[at])
        own = (None if d is None else d[:, at] for d in (d_weight, d_bias))
        projected = _affine(moved, x, base, *own)
        heads = projected.view(*projected.shape[:-1], n_heads, -1)
        parts.append(heads.transpose(1, 2))  # (R, h, T, E/h)
    mask = None if attn_mask is None else _as_bias(attn_mask, query.dtype)
    if mask is not None and mask.dim() == 3:
        mask = mask.view(moved.n_rows, n_heads, *mask.shape[1:])
    if key_padding_mask is not None:
        padding = _as_bias(key_padding_mask, query.dtype)[:, None, None, :]  # (R, 1, 1, S)
        mask = padding if mask is None else mask + padding
    q, k, v = parts
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # (R, h, T, E/h)
    mixed = mixed.transpose(1, 2).flatten(2)  # (R, T, E)
    return _linear(moved, mixed, out_weight, out_bias).transpose(0, 1), None


def _as_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to scores; a boolean mask forbids."""
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, float("-inf"))


def _norm(
    moved: Moved, normed: Tensor, weight: Tensor | None, bias: Tensor | None, dtype: torch.dtype
) -> Tensor:
    """`normed · (weight + shift) + bias + shift`; `normed` is as wide as shifts are."""
    rows, shape = moved.by_row(normed), normed.shape
    for parameter, combine in ((weight, torch.mul), (bias, torch.add)):
        if parameter is not None:
            shift = moved.shift(parameter)
            own = parameter if shift is None else parameter.to(shift.dtype) + _spread(shift, rows)
            rows = combine(rows, own)
    return rows.reshape(shape).to(dtype)


def _layer_norm(
    moved: Moved,
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    return _norm(moved, F.layer_norm(x.to(wide(x.dtype)), normalized_shape, eps=eps), weight, bias, x.dtype)


def _rms_norm(
    moved: Moved,
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    return _norm(moved, F.rms_norm(x.to(wide(x.dtype)), normalized_shape, eps=eps), weight, None, x.dtype)


def _embedding(moved: Moved, ids: Tensor, weight: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    out = F.embedding(ids, weight, *args, **kwargs)  # (R, …, E)
    shift = moved.shift(weight)
    if shift is None:
        return out
    if ids.shape[0] != moved.n_rows:
        raise CannotMove(f"ids {tuple(ids.shape)} do not begin with the {moved.n_rows} rows")
    row = torch.arange(moved.n_rows, device=ids.device).view(-1, *(1,) * (ids.dim() - 1))
    return _add(out, shift[row, ids])


def _elementwise(func: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def handle(moved: Moved, a: Any, b: Any, **kwargs: Any) -> Tensor:
        first, second = moved.shift(a), moved.shift(b)
        other = b if first is not None else a
        if not isinstance(other, Tensor) or (first is not None and second is not None):
            raise CannotMove("two moving parameters, or one and a number, are combined")
        rows = moved.by_row(other)
        if first is not None:
            own = _add(a, _spread(first, rows))
            return func(own, rows, **kwargs).reshape(other.shape)
        assert second is not None
        own = _add(b, _spread(second, rows))
        return func(rows, own, **kwargs).reshape(other.shape)

    return handle


def _matmul(moved: Moved, x: Tensor, weight: Tensor) -> Tensor:
    shift = moved.shift(weight)
    if shift is None or weight.dim() != 2:
        raise CannotMove("only the second factor of a product may move")
    flat = moved.by_row(x).reshape(moved.n_rows, -1, x.shape[-1]).to(shift.dtype)
    out = torch.matmul(x, weight)
    return _add(out, torch.bmm(flat, shift).view(out.shape))


HANDLERS: dict[Any, Callable[..., Any]] = {
    F.multi_head_attention_forward: _attention,
    F.linear: _linear,
    F.layer_norm: _layer_norm,
    torch.layer_norm: _layer_norm,
    F.rms_norm: _rms_norm,
    torch.rms_norm: _rms_norm,
    F.embedding: _embedding,
    torch.embedding: _embedding,
    torch.matmul: _matmul,
    Tensor.matmul: _matmul,
    Tensor.__matmul__: _matmul,
}
for _name in ("add", "mul", "sub", "div"):
    for _func in (getattr(torch, _name), getattr(Tensor, _name), getattr(Tensor, f"__{_name}__", None)):
        if _func is not None:
            HANDLERS[_func] = _elementwise(getattr(torch, _name))

INQUIRIES = {"__get__", "size", "dim", "numel", "is_floating_point", "data_ptr", "stride", "__len__"}
"""Functions that ask a parameter for something other than its values, such as its size."""


def warn_of(error: CannotMove) -> None:
    """Says that inputs are repaired one at a time from now on."""
    warnings.warn(f"inputs are repaired one at a time: {error}", RuntimeWarning, stacklevel=2)
