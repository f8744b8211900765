"""Answers of `cajole serve`: every endpoint, with all options."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from golden_box import Answer, Box, answers
from golden_inputs import EXPRESSIONS, GOLD_TRANSDUCER, PARSER, TRANSDUCER, TREES

FAILING = TRANSDUCER[0]
COUNT = """arithmetic = 'count(out, "a") = 3 * count(in, "a")'\n"""
HEADERS = ("Content-Type", "WWW-Authenticate", "Retry-After", "Allow", "Content-Security-Policy", "Access-Control-Allow-Origin")
ASKS: dict[str, tuple[str, Any]] = {
    "infer/one": ("/v1/infer", {"input": FAILING}),
    "infer/times": ("/v1/infer", {"input": FAILING, "times": True}),
    "infer/many": ("/v1/infer", {"inputs": TRANSDUCER, "times": False}),
    "infer/object": ("/v1/infer", {"inputs": [{"id": [1], "input": list("azbz")}, {"id": "x"}, 3, None, "azq", ""], "times": False}),
    "infer/parser": ("/v1/infer", {"model": "parser", "inputs": PARSER[3:], "times": False}),
    "infer/tagger": ("/v1/infer", {"model": "tagger", "inputs": [{"tree": tree} for tree in TREES], "times": False}),
    "infer/expressions": ("/v1/infer", {"model": "expressions", "inputs": EXPRESSIONS[:2], "rules": {"name": "expressions"}, "times": False}),
    "infer/toml": ("/v1/infer", {"inputs": TRANSDUCER[:3], "rules": {"toml": COUNT + 'divide-by = "output"'}, "times": False}),
    "infer/table": ("/v1/infer", {"inputs": TRANSDUCER[:3], "rules": {"table": {"pattern": "(aaa|zb)*"}}, "times": False}),
    "infer/named": ("/v1/infer", {"inputs": TRANSDUCER[:3], "rules": {"name": "transduction-full"}, "times": False}),
    "infer/own-rule": ("/v1/infer", {"input": {"input": "azbz", "constraint": {"arithmetic": "len(out) = 7"}}, "times": False}),
    "infer/settings": ("/v1/infer", {"inputs": TRANSDUCER[:4], "preset": "paper", "max_steps": 9, "patience": 4, "width": 2,
                                     "engine": "gbi", "deadline_ms": 3600000, "times": False}),
    "explain/one": ("/v1/explain", {"input": FAILING, "times": False}),
    "explain/times": ("/v1/explain", {"input": FAILING}),
    "explain/paper": ("/v1/explain", {"inputs": TRANSDUCER[:2], "preset": "paper", "times": False}),
    "explain/parser": ("/v1/explain", {"model": "parser", "input": PARSER[0], "times": False}),
    "explain/tagger": ("/v1/explain", {"model": "tagger", "input": {"tree": TREES[0]}, "times": False}),
    "explain/many": ("/v1/explain", {"inputs": ["az"] * 65}),
    "compare/all": ("/v1/compare", {"inputs": TRANSDUCER[:3]}),
    "compare/some": ("/v1/compare", {"input": FAILING, "engines": ["beam", "gbi"], "rules": {"toml": COUNT}}),
    "compare/tagger": ("/v1/compare", {"model": "tagger", "input": {"tree": TREES[1]}}),
    "compare/expressions": ("/v1/compare", {"model": "expressions", "input": EXPRESSIONS[0], "rules": {"name": "expressions"}}),
    "compare/twice": ("/v1/compare", {"input": FAILING, "engines": ["beam", "beam"]}),
    "lint/good": ("/v1/lint", {"rules": {"toml": COUNT}}),
    "lint/gold": ("/v1/lint", {"rules": {"toml": COUNT}, "gold": [{"input": x, "output": y} for x, y in GOLD_TRANSDUCER]}),
    "lint/column": ("/v1/lint", {"rules": {"toml": "arithmetic = 'count(out, \"q\") = 1'"}}),
    "lint/toml": ("/v1/lint", {"rules": {"toml": "pattern = 'a"}}),
    "lint/program": ("/v1/lint", {"rules": {"toml": 'checker = { command = ["true"] }'}}),
    "lint/file": ("/v1/lint", {"rules": {"toml": 'grammar-file = "e.ebnf"'}}),
    "lint/named": ("/v1/lint", {"model": "tagger", "rules": {"name": "spans"}}),
    "lint/nothing": ("/v1/lint", {}),
    "bad/no-input": ("/v1/infer", {}),
    "bad/both": ("/v1/infer", {"input": "az", "inputs": ["az"]}),
    "bad/none": ("/v1/infer", {"inputs": []}),
    "bad/too-many": ("/v1/infer", {"inputs": ["az"] * 1025}),
    "bad/field": ("/v1/infer", {"input": "az", "modle": "parser"}),
    "bad/model": ("/v1/infer", {"input": "az", "model": "no-such"}),
    "bad/engine": ("/v1/infer", {"input": "az", "engine": "odd"}),
    "bad/preset": ("/v1/infer", {"input": "az", "preset": "odd"}),
    "bad/width": ("/v1/infer", {"input": "az", "width": 0}),
    "bad/steps": ("/v1/infer", {"input": "az", "max_steps": -1}),
    "bad/deadline": ("/v1/infer", {"input": "az", "deadline_ms": 0}),
    "bad/rules": ("/v1/infer", {"input": "az", "rules": {"name": "../rules/spans"}}),
    "bad/rules-form": ("/v1/infer", {"input": "az", "rules": "spans"}),
    "bad/rules-toml": ("/v1/infer", {"input": "az", "rules": {"toml": "pattern = '(a'"}}),
    "bad/table": ("/v1/infer", {"input": "az", "rules": {"table": {"bio": True}}}),
    "bad/list": ("/v1/infer", [1]),
    "bad/path": ("/v1/infr", {"input": "az"}),
}  # fmt: skip
LINES = ("\n".join(TRANSDUCER) + '\n{"id": 1, "input": "azq"}\n{bad\n\nazbz').encode()
RAW: dict[str, tuple[str, str, bytes | None, dict[str, str]]] = {
    "get/models": ("GET", "/v1/models", None, {}),
    "get/rules": ("GET", "/v1/rules", None, {}),
    "get/openapi": ("GET", "/openapi.json", None, {}),
    "get/healthz": ("GET", "/healthz", None, {}),
    "get/readyz": ("GET", "/readyz", None, {}),
    "get/page": ("GET", "/", None, {}),
    "get/script": ("GET", "/app.js", None, {}),
    "get/style": ("GET", "/app.css", None, {}),
    "get/icon": ("GET", "/icon.svg", None, {}),
    "get/absent": ("GET", "/no/such/path", None, {}),
    "get/infer": ("GET", "/v1/infer", None, {}),
    "get/head": ("HEAD", "/v1/models", None, {}),
    "get/delete": ("DELETE", "/v1/models", None, {}),
    "get/host": ("GET", "/v1/models", None, {"Host": "evil.example"}),
    "get/origin": ("GET", "/v1/models", None, {"Origin": "https://app.example"}),
    "get/metrics": ("GET", "/metrics", None, {}),
    "lines/plain": ("POST", "/v1/infer?times=false", LINES, {"Content-Type": "application/x-ndjson"}),
    "lines/settings": ("POST", "/v1/infer?times=false&engine=auto&preset=best&max_steps=9&width=2&patience=3&rules=transduction",
                       LINES, {"Content-Type": "application/x-ndjson"}),
    "lines/model": ("POST", "/v1/infer?times=false&model=expressions&rules=expressions", "\n".join(EXPRESSIONS).encode(),
                    {"Content-Type": "application/x-ndjson"}),
    "lines/times": ("POST", "/v1/infer", b"azbz\n", {"Content-Type": "application/x-ndjson"}),
    "lines/query": ("POST", "/v1/infer?engine=odd", LINES, {"Content-Type": "application/x-ndjson"}),
    "lines/unknown": ("POST", "/v1/infer?odd=1", LINES, {"Content-Type": "application/x-ndjson"}),
    "bad/json": ("POST", "/v1/infer", b'{"input": ', {"Content-Type": "application/json"}),
    "bad/utf8": ("POST", "/v1/infer", b'{"input": "\xff"}', {"Content-Type": "application/json"}),
    "bad/type": ("POST", "/v1/infer", b"az", {"Content-Type": "text/plain"}),
    "bad/accept": ("POST", "/v1/infer", b'{"input": "az"}', {"Content-Type": "application/json", "Accept": "image/png"}),
    "bad/empty": ("POST", "/v1/infer", b"", {"Content-Type": "application/json"}),
}  # fmt: skip
STREAMS: dict[str, tuple[str, Any]] = {
    "events/explain": ("/v1/explain", {"input": FAILING, "times": False}),
    "events/infer": ("/v1/infer", {"input": FAILING, "times": False}),
    "events/paper": ("/v1/explain", {"input": TRANSDUCER[1], "preset": "paper", "max_steps": 12}),
    "events/tagger": ("/v1/explain", {"model": "tagger", "input": {"tree": TREES[0]}, "times": False}),
    "events/bad-line": ("/v1/explain", {"input": "azq"}),
    "events/bad-rules": ("/v1/explain", {"input": "az", "rules": {"toml": "odd = 1"}}),
}


@contextmanager
def server(box: Box, *flags: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    command = [str(box.setting.cajole), "serve", "--listen", "127.0.0.1:0", "--json", "--deadline-ms", "3600000", *flags]
    log = (box.at / "log").open("wb")
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, cwd=box.at, env=box.environment(), stdout=pipe, stderr=log)
    try:
        assert child.stdout is not None
        found = re.search(rb":(\d+)/", child.stdout.readline())
        if found is None:
            raise RuntimeError(f"the server did not start: {(box.at / 'log').read_text()}")
        yield int(found[1]), child
    finally:
        child.terminate()
        child.wait(60)
        log.close()


def ask(port: int, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    link.request(method, path, body, headers)
    answer = link.getresponse()
    content = answer.read()
    link.close()
    if path == "/metrics":
        # Names and labels; figures depend on what was asked before.
        content = b"\n".join(sorted({line.rsplit(b" ", 1)[0] for line in content.splitlines()}))
    said = "".join(f"{name}: {answer.headers[name]}\n" for name in HEADERS if answer.headers[name])
    shown = "" if body is None else body.decode(errors="backslashreplace")[:500]
    return Answer(f"{method} {path} {json.dumps(headers)} {shown}", said.encode() + b"\n" + content, status=str(answer.status))


def asked(port: int, path: str, body: Any, **headers: str) -> Answer:
    return ask(port, "POST", path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})


@answers("serve", seconds=20)
def serve(box: Box) -> dict[str, Answer]:
    """One request after the other, to a server with all networks and the shipped rules."""
    found = {}
    with server(box, "--rules", "rules", "--threads", "1", "--log-inputs") as (port, _):
        for name, (path, body) in ASKS.items():
            found[name] = asked(port, path, body)
        for name, (method, path, raw, headers) in RAW.items():
            found[name] = ask(port, method, path, raw, headers)
        for name, (path, body) in STREAMS.items():
            found[name] = asked(port, path, body, Accept="text/event-stream")
    return found


@answers("serve-together", seconds=10)
def together(box: Box) -> dict[str, Answer]:
    """The same requests from eight clients at once: answers do not depend on what else is asked."""
    names = [name for name, (path, body) in ASKS.items() if path == "/v1/infer" and isinstance(body, dict) and body.get("times") is False]
    with server(box, "--rules", "rules", "--threads", "3") as (port, _):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda name: asked(port, *ASKS[name]), names * 4))
    n = len(names)
    differing = {name: b"not always the same" for i, name in enumerate(names * 4) if found[i].stdout != found[i % n].stdout}
    return {name: dataclasses.replace(found[i], stderr=differing.get(name, b"")) for i, name in enumerate(names)}


@answers("serve-other", seconds=3)
def other(box: Box) -> dict[str, Answer]:
    """A server with a token, other networks, limits and origins; its logs, and how it ends."""
    (box.at / "token").write_text("sesame-sesame-sesame-sesame\n")
    flags = ["--token-file", "token", "--model", "models/transducer", "--model", "expressions", "--max-tokens", "9"]
    flags += ["--cors", "https://app.example", "--host", "cajole.example", "--together", "1", "--threads", "1"]
    found = {}
    with server(box, *flags) as (port, child):
        right = {"Authorization": "Bearer sesame-sesame-sesame-sesame"}
        found["no-token"] = asked(port, "/v1/infer", {"input": "azbz"})
        found["wrong-token"] = asked(port, "/v1/infer", {"input": "azbz"}, Authorization="Bearer x")
        found["token"] = asked(port, "/v1/infer", {"inputs": ["azbz", "azbz" * 4], "times": False}, **right)
        found["models"] = ask(port, "GET", "/v1/models", None, right)
        found["rules"] = ask(port, "GET", "/v1/rules", None, right)
        found["health"] = ask(port, "GET", "/healthz", None, {})
        found["host"] = ask(port, "GET", "/v1/models", None, {**right, "Host": "cajole.example"})
        found["origin"] = ask(port, "GET", "/v1/models", None, {**right, "Origin": "https://app.example"})
        found["other-origin"] = ask(port, "GET", "/v1/models", None, {**right, "Origin": "https://evil.example"})
        preflight = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        found["preflight"] = ask(port, "OPTIONS", "/v1/infer", None, preflight)
        child.terminate()
        code = child.wait(60)
    found["log"] = Answer("the log and the exit code", (box.at / "log").read_bytes(), status=str(code))
    return found
