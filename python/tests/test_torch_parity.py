"""A network of cajole's own, rewritten in PyTorch, is repaired as it is natively.

The same module in double precision says how far to trust single precision. Each step on all weights multiplies
a difference by two or three, in PyTorch's own arithmetic as in ours: log-probabilities agree within 1e-3 as
long as PyTorch in single precision agrees with itself in double within 1e-4.
"""

from __future__ import annotations

from typing import Any

import corpora
import pytest

import cajole

torch = pytest.importorskip("torch")

import torch_modules  # noqa: E402

import cajole.torch  # noqa: E402

UNIT = {"kind": "unit-norm", "growth": 1.15, "cap": 3.0}
CONTRAST = {
    "kind": "contrast",
    "proposals": "frozen",
    "positions": "differing",
    "lower": 1.0,
    "otherwise": 2,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "as printed": {
        "width": 1,
        "sources": [],
        "objective": {"kind": "lower", "candidates": 1},
        "schedule": {"rule": {"kind": "sgd"}, "step-size": 1e-4, "max-steps": 12},
        "restarts": [],
        "moves": ["*"],
    },
    "adam, pulled back, three candidates": {
        "width": 3,
        "sources": [],
        "objective": {"kind": "lower", "candidates": 3},
        "schedule": {
            "rule": {"kind": "adam", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
            "step-size": 3e-5,
            "max-steps": 12,
        },
        "restarts": [],
        "pull": 0.1,
        "moves": ["decoder", "output"],
    },
    "contrast, biases only": {
        "width": 2,
        "sources": [{"kind": "masked", "width": 3}, {"kind": "black-box", "limit": 16}],
        "objective": CONTRAST,
        "schedule": {"rule": UNIT, "step-size": 5e-3, "max-steps": 12},
        "restarts": [{"rule": UNIT, "step-size": 1e-2, "max-steps": 12}],
        "moves": ["@vectors"],
    },
}
THRICE = cajole.Rules.from_toml(
    """arithmetic = 'count(out, "a") = 3 * count(in, "a")'\ndivide-by = "lengths" """
)


def rewritten(dtype: Any, in_step: int = 8) -> cajole.Model:
    return cajole.torch.seq2seq(
        torch_modules.Transducer().to(dtype),
        torch_modules.Transducer.symbols,
        separator="",
        tokens=list,
        max_length=lambda x: 3 * len(x) + 10,
        in_step=in_step,
    )


def steps_in_agreement(native: cajole.Result, single: cajole.Result, double: cajole.Result) -> int:
    """How many decodes are compared before PyTorch disagrees with itself."""
    traces = [r.trace.steps for r in (native, single, double) if r.trace is not None]
    n = 0
    for ours, rough, exact in zip(*traces, strict=False):
        is_decided = rough["output"] == exact["output"]
        if not is_decided or abs(rough["log_prob"] - exact["log_prob"]) > 1e-4:
            break
        assert ours["output"] == exact["output"]
        assert ours["log_prob"] == pytest.approx(exact["log_prob"], abs=1e-3)
        assert ours["distance"] == pytest.approx(exact["distance"], abs=1e-3)
        n += 1
    return n


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_outputs_steps_and_log_probabilities_agree(
    transducer: cajole.Model, settings: dict[str, Any]
) -> None:
    inputs = corpora.transductions(60, 8)
    ask: dict[str, Any] = {"rules": THRICE, "settings": settings, "width": 1, "trace": True}
    models = (transducer, rewritten(torch.float32), rewritten(torch.float64))
    runs = [list(model.infer(inputs, **ask)) for model in models]
    repaired = compared = 0
    for native, single, double in zip(*runs, strict=True):
        assert single.error is None and double.error is None
        n = steps_in_agreement(native, single, double)
        assert n > 0
        # As long as PyTorch agrees with itself, it agrees with us.
        if (single.output, single.steps) == (double.output, double.steps):
            assert (native.output, native.status) == (double.output, double.status)
            assert native.steps == double.steps
        repaired += native.steps > 0
        compared += n - 1
    assert repaired >= 20 and compared >= 4 * repaired, (repaired, compared)


@pytest.mark.parametrize("engine", ["beam", "masked", "exact", "sample"])
def test_rivals_agree(transducer: cajole.Model, engine: cajole.Engine) -> None:
    own = rewritten(torch.float32, 32)
    # Short inputs: the adapter's exact search extends fewer prefixes.
    inputs = [x for x in corpora.transductions(150, 9) if len(x) <= 16 or engine != "exact"][:30]
    native = transducer.infer(inputs, rules=THRICE, engine=engine)
    adapted = own.infer(inputs, rules=THRICE, engine=engine)
    outputs = [(a.output, b.output) for a, b in zip(native, adapted, strict=True)]
    # Samples depend on the last bits of probabilities; everything else is the same.
    assert sum(a == b for a, b in outputs) >= (29 if engine == "sample" else 30)
