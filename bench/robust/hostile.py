#!/usr/bin/env python3
"""All commands on hostile input: exit code, message, peak memory, time.

    bench/robust/hostile.py target/debug/cajole            # the whole table, a few minutes
    bench/robust/hostile.py target/debug/cajole --small    # smaller inputs, for CI

Prints a Markdown table. Fails if a command panics or is killed by a signal, takes more than 512 MB, or
more than 10 seconds to refuse.
"""

import argparse
import gzip
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from measured import run

MOST_MB = 512
MOST_SECONDS = 10


def write(path, parts):
    """Writes repeated bytes block by block: what this process holds counts for its children, too."""
    with gzip.open(path, "wb", 1) if path.suffix == ".gz" else open(path, "wb") as out:
        for text, times in parts:
            block = max(1, 65536 // len(text))
            for _ in range(times // block):
                out.write(text * block)
            out.write(text * (times % block))


def write_inputs(at, small):
    """The hostile files, by name. Where a line is bad, a good one follows."""
    scale = 20 if small else 1
    long_line, tokens, depth = 100_000_000 // scale, 1_000_000 // scale, 100_000 // scale
    bomb = 1_100_000_000 // (5 if small else 1)
    trees = {"nested": "trees.mrg", "bomb.gz": "trees.mrg.gz", "/dev/zero": "zero.mrg"}
    good = b'\n{"input": "azaz", "output": "aaazbaaazb"}\n'
    write(at / "long-line", [(b"x", long_line), (good, 1)])
    write(at / "many-tokens", [(b"a ", tokens), (good, 1)])
    nested = [(b'{"input": ', 1), (b"[", depth), (b"]", depth), (b"}\n", 1)]
    write(at / "nested", [*nested, (b"(S ", depth), (b")", depth), (good, 1)])
    write(at / "bomb.gz", [(b"\0", bomb)])
    inputs = {name: at / name for name in ("long-line", "many-tokens", "nested", "bomb.gz")}
    inputs["/dev/zero"] = pathlib.Path("/dev/zero")
    for kind, name in trees.items():
        (at / name).symlink_to(inputs[kind])
    return inputs, {kind: at / name for kind, name in trees.items()}


def write_checkpoints(cajole, at):
    """A network with a weight that is not a number, and one that claims to be very large."""
    good = at / "good"
    train = [cajole, "train", "transduction", "--set=training.epochs=1", "--out", good]
    subprocess.run(train, check=True, capture_output=True)
    nan, large = at / "nan-weights", at / "oversized"
    shutil.copytree(good, nan)
    weights = nan / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + struct.pack("<f", float("nan")))
    shutil.copytree(good, large)
    config = json.loads((large / "config.json").read_text())
    config["network"]["hidden"] = 1 << 24
    (large / "config.json").write_text(json.dumps(config))
    shape = [1 << 24, 1 << 24]
    header = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    (large / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 4)
    return {"nan-weights": nan, "oversized": large}


def corpus(at, file):
    """A data folder in which every treebank is this file."""
    folder = at / "data" / file.name / "ewt"
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        link = folder / f"ewt.{split}.jsonl.gz"
        link.unlink(missing_ok=True)
        link.symlink_to(file)
    return folder.parent


def cases(cajole, at, inputs, trees, checkpoints):
    """Every command with what it is given: (command, input, arguments)."""
    rule, few, gold = at / "rule.toml", at / "few", at / "gold.mrg"
    rule.write_text("pattern = '.*'\n")
    few.write_text("azaz\n")
    gold.write_text("(S (NP (NNS Dogs)) (VP (VBP bark)))\n")
    readers = {
        "infer": lambda f: ["infer", f],
        "infer --model tagger": lambda f: ["infer", "--model", "tagger", f],
        "infer --constraint": lambda f: ["infer", few, "--constraint", f],
        "parse": lambda f: ["parse", f],
        "tag": lambda f: ["tag", f],
        "eval": lambda f: ["eval", f],
        "compare": lambda f: ["compare", f, "--engines", "network"],
        "lint": lambda f: ["lint", rule, f],
        "evalb": lambda f: ["evalb", gold, f],
        "srl-eval": lambda f: ["srl-eval", f, f],
        "train pairs": lambda f: ["train", "pairs", "--train", f, "--dev", f, "--out", at / "net"],
        "import allennlp": lambda f: ["import", "allennlp", f, "--out", at / "imported"],
        "explain": lambda f: ["explain", "azaz", "--constraint", f],
        "reproduce --config": lambda f: ["reproduce", "transduction", "--config", f, "--out", at / "r"],
        "reproduce --data": lambda f: ["reproduce", "parsing", "--data", corpus(at, f), "--out", at / "r"],
    }
    for name, arguments in readers.items():
        for kind, path in inputs.items():
            yield name, kind, [cajole, *arguments(path)]
    for kind, path in trees.items():
        yield "tag --trees", kind, [cajole, "tag", few, "--trees", path]
    for kind, folder in checkpoints.items():
        for name in ("infer", "eval", "compare", "parse", "tag"):
            yield name, kind, [cajole, name, few, "--model", folder]
        yield "explain", kind, [cajole, "explain", "azaz", "--model", folder]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cajole", type=pathlib.Path)
    parser.add_argument("--small", action="store_true", help="smaller inputs, for CI")
    parser.add_argument("--only", default="", help="commands that begin so")
    args = parser.parse_args()
    cajole, bad = args.cajole.resolve(), []
    print("| command | input | exit code | peak, MB | seconds | message |")
    print("|---|---|--:|--:|--:|---|")
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        inputs, trees = write_inputs(at, args.small)
        checkpoints = write_checkpoints(cajole, at)
        for name, kind, command in cases(cajole, at, inputs, trees, checkpoints):
            if not name.startswith(args.only):
                continue
            ran = run([str(part) for part in command], timeout=30)
            said = ran.said.replace(folder + "/", "").replace("|", "\\|")[:120]
            row = f"| {name} | {kind} | {ran.code} | {ran.peak_mb:.0f} | {ran.seconds:.1f} | {said} |"
            print(row, flush=True)
            if not ran.is_sound() or MOST_MB < ran.peak_mb or MOST_SECONDS < ran.seconds:
                bad.append(row)
    for row in bad:
        print(f"too much: {row}", file=sys.stderr)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
