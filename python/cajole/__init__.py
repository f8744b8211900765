"""Make a trained network's output obey hard constraints, at inference time, without retraining.

>>> import cajole
>>> model = cajole.load("transducer")
>>> thrice = lambda x, y: abs(3 * x.count("a") - y.count("a"))
>>> [result] = model.infer(["azbzazazazazazazazazbz"], rules=thrice)
>>> result.status, result.output
('satisfied', 'aaazbaaaaaaaaaaaaaaaaaaaaaaaazb')

Guide: docs/python.md in the repository. PyTorch modules: `cajole.torch`. Corpora on Ray: `cajole.ray`.
"""

from cajole._model import Engine, Input, Model, Preset, RuleLike, load
from cajole._native import (
    Answer,
    CajoleError,
    InputError,
    LoadError,
    Report,
    Result,
    Results,
    RuleError,
    Rules,
    Scores,
    SettingsError,
    Trace,
    Tree,
    evalb,
    lint,
    srl_eval,
)
from cajole._output import Output

__all__ = [
    "Answer",
    "CajoleError",
    "Engine",
    "Input",
    "InputError",
    "LoadError",
    "Model",
    "Output",
    "Preset",
    "Report",
    "Result",
    "Results",
    "RuleError",
    "RuleLike",
    "Rules",
    "Scores",
    "SettingsError",
    "Trace",
    "Tree",
    "evalb",
    "lint",
    "load",
    "srl_eval",
]
