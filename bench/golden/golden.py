#!/usr/bin/env python3
"""Records what every command answers, and compares two recordings byte for byte.

    python bench/golden/golden.py record target/release/cajole OUT      # a folder for each case
    python bench/golden/golden.py record BINARY OUT --python PYTHON --data DATA --folders FOLDERS
    python bench/golden/golden.py compare OLD NEW                       # exit code 1 if anything differs

A recording has standard output, standard error, the exit code and all files that were written. Times,
paths, ports and versions are replaced by words. Cases that need corpora, the Python package or Hugging Face
folders are skipped without them, with a word. `--slow` adds the experiments.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import golden_commands  # noqa: F401
import golden_errors  # noqa: F401
import golden_infer  # noqa: F401
import golden_nets
import golden_python  # noqa: F401
import golden_rules  # noqa: F401
import golden_serve  # noqa: F401
import golden_train  # noqa: F401
from golden_box import CASES, Answer, Box, Case, Setting
from golden_compare import compare, twins
from golden_inputs import write_inputs
from golden_normal import Normal


def chosen(args: argparse.Namespace) -> list[Case]:
    """The cases of this run, long ones first, so that no thread is left with one at the end."""

    def lacks(need: str) -> bool:
        flag, _, path = need.partition("/")
        given = getattr(args, flag)
        return not given or (path != "" and not (pathlib.Path(given) / path).exists())

    missing: dict[str, int] = {}
    cases = []
    for case in CASES:
        if args.only and not fnmatch.fnmatch(case.name, args.only):
            continue
        need = next(filter(lacks, case.needs), None)
        if need is None:
            cases.append(case)
        else:
            missing[need] = missing.get(need, 0) + 1
    for need, n in sorted(missing.items()):
        print(f"skipped: {n} cases need --{need.replace('/', ' with ', 1)}", flush=True)
    return sorted(cases, key=lambda case: -case.seconds)


def record(args: argparse.Namespace) -> int:
    started = time.monotonic()
    out: pathlib.Path = args.out
    if out.exists() and any(out.iterdir()):
        sys.exit(f"{out} exists and is not empty")
    out.mkdir(parents=True, exist_ok=True)
    if args.python and subprocess.run([args.python, "-c", "import cajole"], stderr=subprocess.DEVNULL).returncode:
        sys.exit(f"{args.python} has no package cajole")
    if args.folders:
        golden_nets.make_folders(args.folders, args.python)
    cases = chosen(args)
    written: dict[str, Case] = {}
    took: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder).resolve()
        (at / "bin").mkdir()
        binary = pathlib.Path(shutil.copy(args.binary.resolve(), at / "bin" / "cajole"))
        write_inputs(at / "in")
        setting = Setting(at, binary, args.python, args.data, args.folders)
        normal = Normal(setting)

        def run(number: int) -> dict[str, Answer]:
            before = time.monotonic()
            box = Box(setting, at / f"box-{number}")
            try:
                answers = cases[number].of(box)
                return {name: normal.answer(answer, box.at) for name, answer in answers.items()}
            finally:
                took.append((time.monotonic() - before, cases[number].name))
                shutil.rmtree(box.at, ignore_errors=True)

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            running = {pool.submit(run, number): case for number, case in enumerate(cases)}
            for done in concurrent.futures.as_completed(running):
                case = running[done]
                for name, answer in done.result().items():
                    full = f"{case.name}/{name}" if name else case.name
                    if full in written:
                        sys.exit(f"two cases are named {full}")
                    written[full] = case
                    answer.write(out / full)
    seconds = time.monotonic() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(written)} cases in {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU time: {out}")
    longest = ", ".join(f"{name} {seconds:.0f} s" for seconds, name in sorted(took, reverse=True)[:8])
    print(f"longest: {longest}")
    return twins(out, CASES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    to_record = commands.add_parser("record", help="record what a binary answers")
    to_record.add_argument("binary", type=pathlib.Path)
    to_record.add_argument("out", type=pathlib.Path)
    to_record.add_argument("--python", help="a Python that has the package; PYTHONPATH counts")
    data = os.environ.get("CAJOLE_DATA")
    to_record.add_argument("--data", type=pathlib.Path, default=data, help="the folder that holds the corpora")
    to_record.add_argument(
        "--folders", type=pathlib.Path, help="where Hugging Face folders are, or are made with --python if missing"
    )
    to_record.add_argument("--jobs", type=int, default=2)
    to_record.add_argument("--only", default="", metavar="PATTERN", help="cases whose names match, such as 'infer/*'")
    to_record.add_argument("--slow", action="store_true", help="experiments and longer training, too")
    to_compare = commands.add_parser("compare", help="say what differs")
    to_compare.add_argument("old", type=pathlib.Path)
    to_compare.add_argument("new", type=pathlib.Path)
    args = parser.parse_args()
    return record(args) if args.command == "record" else compare(args.old, args.new)


if __name__ == "__main__":
    sys.exit(main())
