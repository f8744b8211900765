#!/usr/bin/env python3
"""Runs parse and tag over a file with 1 and 2 threads, idle and beside eight busy loops: the same bytes.

    bench/robust/steady.py target/release/cajole sentences.txt [--only tag]

The file has one sentence a line. Outputs must not depend on threads or on what else the machine does.
"""

import argparse
import hashlib
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import time

BUSY = 8


def spin():
    while True:
        pass


def digest(cajole, command, sentences, threads, out):
    """Runs a command; returns what it leaves and says, hashed, and how long it took. Lines may be bad."""
    out.unlink(missing_ok=True)
    start = time.monotonic()
    arguments = [command, sentences, "--threads", str(threads), "--out", out]
    ran = subprocess.run([cajole, *arguments], capture_output=True)
    if ran.returncode not in (0, 1):
        sys.exit(f"{command} failed: {ran.stderr.decode()}")
    found = hashlib.sha256(out.read_bytes() + bytes([ran.returncode]))
    return found.hexdigest(), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cajole", type=pathlib.Path)
    parser.add_argument("sentences", type=pathlib.Path)
    parser.add_argument("--only", default="", help="one of the commands")
    args = parser.parse_args()
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.jsonl"
        for command in ("parse", "tag"):
            if not command.startswith(args.only):
                continue
            seen = set()
            for n_busy in (0, BUSY):
                loops = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n_busy)]
                [loop.start() for loop in loops]
                for threads in (1, 2):
                    found, seconds = digest(args.cajole.resolve(), command, args.sentences, threads, out)
                    seen.add(found)
                    where = f"{threads} threads, {n_busy} busy loops"
                    print(f"{command}: {where}: {found[:16]}, {seconds:.0f} s", flush=True)
                [loop.terminate() for loop in loops]
            differ |= len(seen) != 1
    sys.exit("outputs differ" if differ else 0)


if __name__ == "__main__":
    main()
