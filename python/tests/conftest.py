"""What tests share: the command line to compare with, and networks that are loaded once."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

import cajole

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def command() -> Callable[..., bytes]:
    """Runs the command line on lines of standard input and returns what it prints."""
    binary = os.environ.get("CAJOLE") or shutil.which("cajole")
    if binary is None:
        pytest.skip("no command line to compare with: set CAJOLE to the binary")

    def run(*flags: str, lines: Sequence[str] = ()) -> bytes:
        given = "".join(line + "\n" for line in lines).encode()
        done = subprocess.run([binary, *flags], input=given, capture_output=True, check=False)
        return done.stdout

    return run


@pytest.fixture(scope="session")
def transducer() -> cajole.Model:
    return cajole.load("transducer")


@pytest.fixture
def python() -> Callable[..., subprocess.Popen[str]]:
    """Starts a Python of its own, for tests that interrupt it."""

    def start(code: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start
