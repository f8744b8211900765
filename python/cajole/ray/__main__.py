"""`python -m cajole.ray`: lines of a file on a Ray cluster, with the flags of `cajole infer`."""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import sys
from collections.abc import Iterable
from typing import Any

import ray.data

import cajole
from cajole._native import WholeFile
from cajole._options import FLAGS
from cajole.ray._dataset import connect, infer, read_lines


OPTIONS = {name: flag for name, flag in FLAGS.items() if name != "threads"}
"""The options of `cajole infer`, without threads: an actor has one."""


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cajole.ray", description=__doc__)
    parser.add_argument("input", metavar="FILE", type=pathlib.Path, help="lines to answer")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="where records go, in order")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument("--address", help="of the Ray cluster [default: start one here]")
    parser.add_argument("--concurrency", type=int, help="actors [default: one for each CPU]")
    parser.add_argument("--model", default="transducer", help="a built-in network or a folder")
    parser.add_argument("--constraint", type=pathlib.Path, help="a constraint file")
    for name, (flag, kind, about) in OPTIONS.items():
        if kind in ("on", "off"):
            # What is not given is left to the defaults of the command line.
            parser.add_argument(flag, dest=name, action="store_const", const=kind == "on", help=about)
        elif kind == "assignments":
            parser.add_argument(flag, dest=name, action="append", metavar="KEY=VALUE", help=about)
        else:
            parser.add_argument(flag, dest=name, type=int if kind == "number" else str, help=about)
    return parser


def settings(assignments: list[str]) -> dict[str, Any]:
    """`key=value` as a dict; a value that is not JSON is a text."""
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise cajole.SettingsError(f"in --set {assignment}: expected KEY=VALUE")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    return values


def read_files(given: argparse.Namespace) -> list[pathlib.Path]:
    """What the job reads, which it never writes to."""
    reads = [given.input]
    if given.constraint:
        # Grammars, schemas and scripts of checkers: whatever quoted text names a file beside the rules.
        quoted = re.findall(r"[\"']([^\"'\n]+)[\"']", given.constraint.read_text(encoding="utf-8"))
        reads += [given.constraint, *(given.constraint.parent / name for name in quoted)]
    model = pathlib.Path(given.model)
    return reads + [path for path in model.iterdir() if path.is_file()] if model.is_dir() else reads


def main() -> int:
    given = arguments().parse_args()
    options = {name: value for name in OPTIONS if (value := getattr(given, name)) is not None}
    options = {"times": True, **options, "settings": settings(given.settings or [])}
    rules = cajole.Rules.from_file(given.constraint.resolve()) if given.constraint else None
    model = os.path.abspath(given.model) if os.path.isdir(given.model) else given.model
    # Find errors in the model, rules and options before connecting to the cluster.
    cajole.load(model)._infer_numbered([], [], rules, **options).close()
    out = WholeFile(given.out, reads=read_files(given), overwrite=given.overwrite)
    connect(given.address)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    records = infer(
        read_lines(given.input), model=model, rules=rules, concurrency=given.concurrency, **options
    )
    counts: collections.Counter[str] = collections.Counter()
    batches: Iterable[Any] = records.iter_batches(batch_format="pyarrow", batch_size=None)
    for batch in batches:
        counts.update(batch.column("status").to_pylist())
        out.write("".join(record + "\n" for record in batch.column("record").to_pylist()).encode())
    out.finish()
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "no lines", file=sys.stderr)
    bad = counts["bad-line"] + counts["unmeasured"] + counts["failed"]
    if bad:
        print(f"error: {bad} lines could not be worked on; their records say why", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (cajole.CajoleError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
