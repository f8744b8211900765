"""A rule of your own on a built-in network, in Python and in TOML.

python python/examples/own_rule.py
"""

from __future__ import annotations

import cajole

# %% A network that triples every `az`, and sometimes miscounts.
model = cajole.load("transducer")
inputs = ["azbzazazazazazazazazbz", "azbz", "bzbzazazazazazazazazazazazaz"]


# %% A rule returns how far an output is from what is wanted: 0 exactly if it is fine.
def thrice(x: str, y: cajole.Output) -> float:
    return abs(3 * x.count("a") - y.count("a"))


for result in model.infer(inputs, rules=thrice):
    print(result.line, result.status, result.g_before, "->", result.g_after, result.output)
    assert result.status == "satisfied"

# %% The same in TOML can be followed symbol by symbol, so more engines can use it.
rules = cajole.Rules.from_toml("""arithmetic = 'count(out, "a") = 3 * count(in, "a")'""")
report = model.compare(inputs, rules=rules, engines=["gbi", "masked", "exact"])
print(report)
assert all(row["satisfied"] == 100.0 for row in report.rows if row["method"] != "network")

# %% How one output was repaired, step by step. A notebook shows the trace as a table.
[result] = model.infer(inputs[:1], rules=rules, trace=True)
print(result.trace)
