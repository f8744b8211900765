#!/usr/bin/env python3
"""Nothing of the user's is ever destroyed: tries to make commands do it.

    bench/robust/lossless.py target/release/cajole                 # cases, 200 kills, 3,500 random calls
    bench/robust/lossless.py target/debug/cajole --small           # cases, 12 kills, 60 random calls
    bench/robust/lossless.py target/release/cajole --only cases --plain-user   # as nobody, if run by root
    bench/robust/lossless.py target/release/cajole --python PYTHON # also what Python and Ray write

Every case has a folder of its own and says which files must be as they were. A case that is not about
files checks the message. Moments of kills and random calls come from a seed.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator

import lossless_cases  # noqa: F401
import lossless_flags  # noqa: F401
import lossless_more  # noqa: F401
from box import CASES, Box, Failure
from lossless_kills import kills, random_calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cajole", type=pathlib.Path)
    parser.add_argument("--small", action="store_true", help="12 kills and 60 random calls")
    parser.add_argument("--only", default="", help="cases, kills or calls")
    parser.add_argument("--case", default="", help="only cases whose name has this in it")
    parser.add_argument("--python", help="a Python that has the package, for what it writes")
    parser.add_argument("--plain-user", action="store_true", help="run commands as nobody")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        at, user = pathlib.Path(folder), "nobody" if args.plain_user else None
        # A plain user may not reach the folder that the binary is in.
        at.chmod(0o755)
        (at / "bin").mkdir(mode=0o755)
        binary = pathlib.Path(shutil.copy(args.cajole.resolve(), at / "bin" / "cajole"))
        numbers: Iterator[int] = iter(range(1 << 30))

        def boxes() -> Box:
            inside = at / f"box-{next(numbers)}"
            inside.mkdir(mode=0o755)
            box = Box(inside, binary, args.python, user)
            box.hand_over()
            return box

        failed = 0
        if args.only in ("", "cases"):
            for of in CASES:
                if args.case not in of.__name__:
                    continue
                try:
                    of(boxes())
                except Exception as failure:  # whatever went wrong, the other cases are tried
                    failed += 1
                    print(f"FAILED {of.__name__.replace('_', ' ')}: {failure}", flush=True)
            print(f"cases: {len(CASES)}, failed {failed}" + (", as nobody" if user else ""), flush=True)
        if args.only in ("", "kills") and not args.case:
            kills(boxes, 12 if args.small else 200, args.seed)
        if args.only in ("", "calls") and not args.case:
            random_calls(boxes, 60 if args.small else 3500, args.seed)
        if failed:
            sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED {failure}")
