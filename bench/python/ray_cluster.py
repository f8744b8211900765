"""A corpus on a local Ray cluster: the same bytes as `cajole infer`, with nodes that die, and on two cores.

    python bench/python/ray_cluster.py --cajole target/release/cajole [--lines 1000000] [--rounds 3]

Every node is a raylet of its own. The head has no CPUs; all work is done by the others.

1. `cajole infer` writes what is expected.
2. Three nodes answer the same lines, with `python -m cajole.ray`.
3. The same, and a node is killed (SIGKILL) after a third and after two thirds of the output, and replaced.
4. One node pinned to a core, and two nodes pinned to a core each, in turns.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import filecmp
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from ray.cluster_utils import Cluster

STORE_BYTES = 256 << 20  # objects of a node
FLAGS = ["--model", "transducer", "--no-times"]
# By default workers give way to everything else on the machine, which is then measured too.
os.environ["RAY_worker_niceness"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


def write_lines(path: pathlib.Path, n: int) -> None:
    """Strings of 3 to 10 `az` and `bz`, as the built-in transducer was trained on; one in a thousand has
    18, which it often gets wrong."""
    rng = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        for i in range(n):
            length = 18 if i % 1000 == 999 else rng.randint(3, 10)
            file.write("".join(rng.choices(("az", "bz"), k=length)) + "\n")


@contextlib.contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Processes that are started here, and all that these start, run on one core."""
    before = os.sched_getaffinity(0)
    try:
        if core is not None:
            os.sched_setaffinity(0, {core})
        yield
    finally:
        os.sched_setaffinity(0, before)


class Nodes:
    """A head without CPUs, and nodes with one each."""

    def __init__(self, cores: list[int | None]) -> None:
        self.cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES}
        )
        self.alive: list[Any] = [self.start(core) for core in cores]
        self.cluster.wait_for_nodes()

    def start(self, core: int | None = None) -> Any:
        with on_core(core):
            return self.cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)

    def lose_one(self) -> None:
        """Kills the oldest node and starts another."""
        self.cluster.remove_node(self.alive.pop(0), allow_graceful=False)
        self.alive.append(self.start())


@contextlib.contextmanager
def nodes(cores: list[int | None]) -> Iterator[Nodes]:
    started = Nodes(cores)
    try:
        yield started
    finally:
        started.cluster.shutdown()


def memory(root: int) -> int:
    """Bytes of a process and all that it started; shared pages count once."""
    children = collections.defaultdict(list)
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            children[int(parent)].append(int(entry.name))
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        waiting += children[process]
        with contextlib.suppress(OSError, IndexError):
            rollup = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
            total += 1024 * int(rollup.partition("Pss:")[2].split()[0])
    return total


class Watched:
    """One run of `python -m cajole.ray`."""

    def __init__(self, lines: pathlib.Path, out: pathlib.Path, cluster: Nodes) -> None:
        out.unlink(missing_ok=True)
        self.out, self.partial = out, out.with_name(out.name + ".partial")
        self.partial.unlink(missing_ok=True)
        flags = ["--out", str(out), "--address", cluster.cluster.address, *FLAGS]
        flags += ["--concurrency", str(len(cluster.alive))]
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cajole.ray", str(lines), *flags],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.memory: list[int] = []
        self.first_output: tuple[float, int] | None = None
        self.seconds = 0.0

    def size(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            return self.partial.stat().st_size
        return 0

    def wait(self, told: Callable[[int], None] = lambda size: None) -> None:
        """Waits for the end; tells how many bytes there are, twice a second."""
        while self.process.poll() is None:
            time.sleep(0.5)
            size = self.size()
            if size:
                self.memory.append(memory(os.getpid()))
                self.first_output = self.first_output or (time.perf_counter(), size)
            told(size)
        self.seconds = time.perf_counter() - self.started
        assert self.process.stderr
        said = self.process.stderr.read()
        if self.process.returncode:
            raise SystemExit(f"python -m cajole.ray failed:\n{said}")

    def bytes_per_second(self) -> float:
        """From the first output on, so that starting processes does not count."""
        assert self.first_output, "the run was too short to be measured"
        began, had = self.first_output
        return (self.out.stat().st_size - had) / (self.started + self.seconds - began)

    def shown_memory(self) -> str:
        quarters = [self.memory[i * (len(self.memory) - 1) // 4] for i in range(5)]
        return ", ".join(f"{size / 2**20:.0f}" for size in quarters) + " MiB from first output to last"


def infer_here(cajole: str, lines: pathlib.Path, out: pathlib.Path) -> None:
    started = time.perf_counter()
    command = [cajole, "infer", str(lines), "--out", str(out), "--overwrite", *FLAGS]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"cajole infer: {time.perf_counter() - started:.1f} s", flush=True)


def compared(what: str, run: Watched, expected: pathlib.Path) -> None:
    equal = filecmp.cmp(run.out, expected, shallow=False)
    said = "the same bytes as cajole infer" if equal else "NOT the bytes of cajole infer"
    print(f"{what}: {run.seconds:.1f} s, {said}; memory {run.shown_memory()}", flush=True)


def with_losses(lines: pathlib.Path, out: pathlib.Path, expected: pathlib.Path) -> None:
    with nodes([None] * 3) as cluster:
        run = Watched(lines, out, cluster)
        whole = expected.stat().st_size
        left = [whole // 3, 2 * whole // 3]

        def lose(size: int) -> None:
            if left and size >= left[0]:
                print(f"a node is killed after {100 * size // whole} % of the output", flush=True)
                left.pop(0)
                cluster.lose_one()

        run.wait(lose)
        assert not left, "the run was over before both nodes were killed: take more lines"
        compared("three nodes, two of them killed", run, expected)


def on_cores(lines: pathlib.Path, out: pathlib.Path, cores: list[int | None]) -> Watched:
    with nodes(cores) as cluster:
        run = Watched(lines, out, cluster)
        run.wait()
        return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cajole", default="cajole", help="the command line to compare with")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3, help="of one node against two; 0 for none")
    parser.add_argument("--only-speed", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines, expected, out = (pathlib.Path(folder) / name for name in ("lines", "expected", "out"))
        write_lines(lines, given.lines)
        infer_here(given.cajole, lines, expected)
        if not given.only_speed:
            with nodes([None] * 3) as cluster:
                run = Watched(lines, out, cluster)
                run.wait()
            compared("three nodes", run, expected)
            with_losses(lines, out, expected)
        ratios = []
        for _ in range(given.rounds):
            speeds = []
            for cores in ([0], [0, 1]):
                run = on_cores(lines, out, cores)
                compared(f"{len(cores)} pinned", run, expected)
                speeds.append(run.bytes_per_second())
            one, two = speeds
            ratios.append(two / one)
            print(f"one node {one / 2**20:.2f} MiB/s, two nodes {two / 2**20:.2f}: {two / one:.2f}x", flush=True)
        if ratios:
            print(f"two nodes against one: {statistics.median(ratios):.2f}x in the median of {len(ratios)}")


if __name__ == "__main__":
    main()
