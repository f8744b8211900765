"""A folder in which commands run, for what tries to make them lose something."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

PANIC = 101

LINES = "azbz\nbzazaz\nazazbzaz\n" * 3
COUNT = """arithmetic = 'count(out,"a") = 3*count(in,"a")'\n"""
LENGTH = "arithmetic = 'len(out) <= 40'\n"
PAIRS = "".join(json.dumps({"input": f"a + {c} * c", "output": f"( a + ( {c} * c ) )"}) + "\n" for c in "abcdefgh")


class Failure(Exception):
    """What a case expected and did not see."""


class Box:
    """A folder in which commands run."""

    def __init__(self, at: pathlib.Path, cajole: pathlib.Path, python: str | None, user: str | None) -> None:
        self.at, self.cajole, self.python, self.user = at, cajole, python, user
        self.was: dict[str, bytes] = {}

    def write(self, **files: str | bytes) -> None:
        """Files whose names may have dots (as __) and folders (as ___) in them."""
        for name, content in files.items():
            self.put(name.replace("___", "/").replace("__", "."), content)

    def put(self, name: str, content: str | bytes) -> None:
        path = self.at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.hand_over()

    def hand_over(self) -> None:
        if self.user:
            for path in [self.at, *self.at.rglob("*")]:
                shutil.chown(path, self.user) if not path.is_symlink() else None

    def shell(self, command: str, seconds: float = 60) -> subprocess.CompletedProcess[bytes]:
        """A line of shell, with `cajole` in it, which ends in time and does not panic."""
        environment = {**os.environ, "PATH": f"{self.cajole.parent}:{os.environ['PATH']}", "HOME": str(self.at)}
        ran = subprocess.run(
            ["bash", "-c", command], cwd=self.at, env=environment, capture_output=True,
            timeout=seconds, user=self.user, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if ran.returncode == PANIC or b"panicked" in ran.stderr:
            raise Failure(f"{command}: panicked: {ran.stderr.decode(errors='replace')[-500:]}")
        return ran

    def fine(self, command: str, **options: float) -> str:
        ran = self.shell(command, **options)
        if ran.returncode != 0:
            raise Failure(f"{command}: exit code {ran.returncode}: {ran.stderr.decode()[-500:]}")
        return ran.stdout.decode()

    def refused(self, command: str, *parts: str, **options: float) -> None:
        """The command fails, with these parts in its message."""
        ran = self.shell(command, **options)
        said = ran.stderr.decode(errors="replace")
        if ran.returncode == 0:
            raise Failure(f"{command}: exit code 0")
        for part in parts:
            if part not in said:
                raise Failure(f"{command}: {part!r} is not in {said[-500:]!r}")

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.at)): path.read_bytes() for path in sorted(self.at.rglob("*")) if path.is_file()
        }

    def remember(self) -> None:
        self.was = self.files()

    def intact(self, *names: str) -> None:
        """These files, or all that were there, are as they were."""
        now = self.files()
        for name in names or self.was:
            if now.get(name) != self.was[name]:
                raise Failure(f"{name} was {self.was[name][:60]!r}, is {now.get(name, b'gone')[:60]!r}")

    def read(self, name: str) -> str:
        return (self.at / name).read_text()

    def records(self, name: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.read(name).splitlines()]


CASES: list[Callable[[Box], None]] = []


def case(of: Callable[[Box], None]) -> Callable[[Box], None]:
    CASES.append(of)
    return of
