#!/usr/bin/env python3
"""Kills commands at random moments and resumes them: they end with the same bytes.

    bench/robust/killed.py target/debug/cajole                     # 20 moments for every command
    bench/robust/killed.py target/debug/cajole --small             # 3 moments, without reproduce
    bench/robust/killed.py target/debug/cajole --only "train srl"

Moments come from a seed. A run that ends before the knife falls is compared as well, and then begun
anew with an earlier knife. Times in reports are left out of the comparison.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

# What a report says of time and place, which no two runs share.
TIMES = ("seconds", "milliseconds", "elapsed", "time", "viterbi_ms", "repair_cost")


def without_times(value):
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not any(t in k for t in TIMES)}
        return {k: without_times(v) for k, v in kept.items()}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def contents(path):
    """What a run leaves behind: the bytes of a file, or those of a folder by name."""
    if path.is_file():
        return path.read_bytes()
    if (path / "report.json").exists():
        return {"rows": without_times(json.loads((path / "report.json").read_text()))["rows"]}
    files = sorted(p for p in path.rglob("*") if p.is_file())
    return {str(p.relative_to(path)): p.read_bytes() for p in files}


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def jobs(at):
    """Every command that resumes: (name, what it writes, arguments, those that resume it)."""
    (at / "letters").write_text("".join("az" * (2 + i % 11) + "bz\n" for i in range(3000)))
    words = "The dog chased a cat .\nMen who saw her said nothing .\nDogs bark .\n"
    (at / "words").write_text(words * 60)
    pair = '{"input": "a + %s * c", "output": "( a + ( %s * c ) )"}\n'
    (at / "pairs").write_text("".join(pair % (c, c) for c in "abcdefgh" * 40))
    lines = [
        ("infer", "out.jsonl", ["infer", "letters", "--no-times", "--engine=beam"]),
        ("infer gz", "out.jsonl.gz", ["infer", "letters", "--no-times", "--engine=beam"]),
        ("parse", "trees.jsonl", ["parse", "words"]),
        ("tag", "roles.jsonl.gz", ["tag", "words"]),
    ]
    for name, out, arguments in lines:
        yield name, out, arguments, ["--resume"]
    yield "train transduction", "net", ["train", "transduction", "--set=training.epochs=20"], []
    pairs = ["train", "pairs", "--train=pairs", "--dev=pairs", "--set=training.epochs=6"]
    yield "train pairs", "pairs-net", pairs, []
    yield "train parsing", "parsing-net", ["train", "parsing", "--quick"], []
    yield "train srl", "srl-net", ["train", "srl", "--quick"], []
    small = ["--set=training.epochs=20", "--seed=1"]
    yield "reproduce transduction", "report-t", ["reproduce", "transduction", *small], []
    yield "reproduce parsing", "report-p", ["reproduce", "parsing", "--quick"], []
    yield "reproduce srl", "report-s", ["reproduce", "srl", "--quick"], []


def run(cajole, at, arguments, out, seconds=None):
    """Runs to the end, or until the knife falls. Returns whether it came to its end."""
    command = [cajole, *arguments, "--out", out]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": at}
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, **quiet)
    try:
        _, said = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return False
    if child.returncode != 0:
        sys.exit(f"{arguments} failed: {said.decode()}")
    return True


def check(cajole, at, job, kills, seed):
    """Kills a job so many times, resumes it, and compares with one that nobody killed."""
    name, out, arguments, resume = job
    start = time.monotonic()
    run(cajole, at, arguments, "whole-" + out)
    longest = (time.monotonic() - start) / 4
    whole, moments, killed = contents(at / ("whole-" + out)), random.Random(f"{seed} {name}"), 0
    while True:
        moment = moments.random() * longest if killed < kills else None
        if not run(cajole, at, arguments + resume, out, moment):
            killed += 1
            continue
        if contents(at / out) != whole:
            sys.exit(f"{name}: other bytes after {killed} kills (seed {seed})")
        if kills <= killed:
            print(f"{name}: the same bytes after {killed} kills", flush=True)
            return
        remove(at / out)
        longest /= 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cajole", type=pathlib.Path)
    parser.add_argument("--small", action="store_true", help="3 moments, without reproduce")
    parser.add_argument("--only", default="", help="commands that begin so")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        for job in jobs(at):
            is_quick = job[0] == "train transduction" or "--resume" in job[3]
            if job[0].startswith(args.only) and (is_quick or not args.small):
                check(args.cajole.resolve(), at, job, 3 if args.small else 20, args.seed)


if __name__ == "__main__":
    main()
