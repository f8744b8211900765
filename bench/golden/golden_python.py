"""The Python package, its command, its client of a server, and its examples."""

from __future__ import annotations

import subprocess

from golden_box import CASES, ROOT, Answer, Box, Case, shell
from golden_serve import server

HERE = ROOT / "bench/golden"
CLIENT = """
import json, sys
from cajole.client import Client, ServiceError
client = Client(f"http://127.0.0.1:{sys.argv[1]}")
x = "azbzazazazazazazazazbz"
count = "arithmetic = 'count(out, \\"a\\") = 3 * count(in, \\"a\\")'"
show = lambda name, value: print("==", name, json.dumps(value, ensure_ascii=False), sep="\\n")
show("infer", list(client.infer([x, "azbz", "azq"], model="transducer")))
show("engine", list(client.infer([x], rules=count, engine="beam")))
show("named", list(client.infer([x], named_rules="transduction-full", preset="paper", max_steps=4)))
show("explain", list(client.explain([x], model="transducer")))
show("compare", client.compare([x], engines=["gbi", "beam"]))
show("lint", client.lint(count, gold=[{"input": "az", "output": "aaa"}, {"input": "az", "output": "aa"}]))
show("broken", client.lint("pattern = '(a'"))
show("stream", list(client.stream([x, "azbz", {"id": 7, "input": "az"}, "azq"] * 80, engine="auto")))
show("about", [client.models(), client.rules(), client.is_ready()])
for name, asked in {"model": {"model": "odd"}, "rules": {"rules": "odd = 1"}, "width": {"width": 0}}.items():
    try:
        list(client.infer([x], **asked))
    except ServiceError as error:
        show(name, [str(error), error.status, error.problem])
"""


def scripts() -> None:
    ask = f'"$PYTHON" {HERE}'
    for group, seconds in {"models": 40, "rules": 15, "tables": 5}.items():
        shell(f"python/{group}", f"{ask}/golden_asked.py {group}", ("python",), seconds=seconds)
    shell("python/folders", f"{ask}/golden_asked.py folders", ("python", "folders"), seconds=20)
    has_torch = '"$PYTHON" -c "import torch" 2>/dev/null || { echo skipped: no torch; exit; }; '
    shell("python/torch/modules", f"{has_torch}{ask}/golden_torch.py modules", ("python",), seconds=60)
    shell("python/torch/hugging-face", f"{has_torch}{ask}/golden_torch.py hugging-face", ("python", "folders"), seconds=60)
    for name in ("own_rule", "paper_tasks"):
        shell(f"python/examples/{name}", f'"$PYTHON" {ROOT}/python/examples/{name}.py', ("python",), seconds=10)


def with_client(box: Box) -> dict[str, Answer]:
    with server(box, "--rules", "rules", "--threads", "1") as (port, _):
        command = [box.setting.python or "python3", "-c", CLIENT, str(port)]
        ran = subprocess.run(command, cwd=box.at, env=box.environment(), capture_output=True)
    return {"": Answer("a client in Python", ran.stdout, ran.stderr, str(ran.returncode))}


scripts()
CASES.append(Case("python/client", with_client, ("python",), 5))
