"""Runs a command and measures it: exit code, what it said, peak memory, time."""

import os
import resource
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass


# Address space that a command may take before it is refused more.
MOST_BYTES = 8 << 30


@dataclass
class Ran:
    code: int
    said: str
    peak_mb: float
    seconds: float

    def is_sound(self):
        """Whether it ended by itself, without a panic."""
        return self.code in (0, 1, 2)


def run(command, timeout):
    """Runs a command to its end; after `timeout` seconds it is killed."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err
        )
        # A command that takes without end must not take the machine along.
        resource.prlimit(child.pid, resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        knife = threading.Timer(timeout, child.kill)
        knife.start()
        _, status, usage = os.wait4(child.pid, 0)
        knife.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(max(0, err.seek(0, os.SEEK_END) - 10_000))
        said = err.read().decode(errors="replace").strip().splitlines()
    return Ran(
        child.returncode,
        said[-1] if said else "",
        usage.ru_maxrss / 1024,
        time.monotonic() - start,
    )
