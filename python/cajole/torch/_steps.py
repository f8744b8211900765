"""Step rules on many inputs at once: the formulas of cajole's `StepRule`, as tensors.

`B` inputs, `n` moving weights; `eta` is `(B, 1)`, everything else `(B, n)`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

State = tuple[Tensor, ...]


def n_states(kind: str) -> int:
    """Tensors that a rule keeps between steps."""
    return {"momentum": 1, "rms-prop": 1, "adam": 2, "adadelta": 2}.get(kind, 0)


def move(rule: dict[str, Any], t: Tensor, eta: Tensor, grad: Tensor, state: State) -> tuple[Tensor, State]:
    """How far weights move at their `t`-th step `(B, 1)`, from 0, and the rule's new state."""
    match rule["kind"]:
        case "sgd" | "unit-norm":
            return -eta * grad, ()
        case "momentum":
            v = rule["decay"] * state[0] + grad
            return -eta * v, (v,)
        case "rms-prop":
            v = rule["decay"] * state[0] + (1 - rule["decay"]) * grad**2
            return -eta * grad / (v.sqrt() + rule["epsilon"]), (v,)
        case "adam":
            b1, b2 = rule["beta1"], rule["beta2"]
            m = b1 * state[0] + (1 - b1) * grad
            v = b2 * state[1] + (1 - b2) * grad**2
            first, second = 1 - b1 ** (t + 1), 1 - b2 ** (t + 1)
            return -(eta / first) * m / ((v / second).sqrt() + rule["epsilon"]), (m, v)
        case "adadelta":
            v = rule["rho"] * state[0] + (1 - rule["rho"]) * grad**2
            step = torch.sqrt((state[1] + rule["epsilon"]) / (v + rule["epsilon"])) * grad
            d = rule["rho"] * state[1] + (1 - rule["rho"]) * step**2
            return -eta * step, (v, d)
        case kind:
            raise ValueError(f"there is no step rule {kind!r}")
