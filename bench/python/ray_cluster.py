"""A corpus on a local Ray cluster: the same bytes as `cajole infer`, with nodes that die, and on two cores.

    python bench/python/ray_cluster.py --cajole target/release/cajole

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


def write_lines(path: pathlib.Path, n: int, every: int) -> None:
    """Strings of 3 to 10 `az` and `bz`, as the built-in transducer was trained on; some have 18, which it
    often gets wrong."""
    rng = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        for i in range(n):
            length = 18 if (i + 1) % every == 0 else rng.randint(3, 10)
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

    def __init__(
        self, lines: pathlib.Path, out: pathlib.Path, cluster: Nodes, is_pinned: bool = False
    ) -> None:
        self.is_pinned = is_pinned
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
            if size and not self.is_pinned:  # Looking costs time, too.
                self.memory.append(memory(os.getpid()))
            told(size)
        self.seconds = time.perf_counter() - self.started
        assert self.process.stderr
        said = self.process.stderr.read()
        if self.process.returncode:
            raise SystemExit(f"python -m cajole.ray failed:\n{said}")

    def shown_memory(self) -> str:
        if not self.memory:
            return "not looked at"
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


def seconds(folder: pathlib.Path, cores: list[int | None]) -> float:
    """What answering the lines takes, without what starting and a single line take."""
    lines, one, expected, out = (folder / name for name in ("lines", "one", "expected", "out"))
    with nodes(cores) as cluster:
        alone = Watched(one, out, cluster, is_pinned=True)
        alone.wait()
        all_lines = Watched(lines, out, cluster, is_pinned=True)
        all_lines.wait()
        compared(f"{len(cores)} pinned", all_lines, expected)
        return all_lines.seconds - alone.seconds


def scaling(cajole: str, folder: pathlib.Path, n: int, rounds: int) -> None:
    write_lines(folder / "lines", n, every=50)
    write_lines(folder / "one", 1, every=2)
    infer_here(cajole, folder / "lines", folder / "expected")
    ratios = []
    for _ in range(rounds):
        one, two = seconds(folder, [0]), seconds(folder, [0, 1])
        ratios.append(one / two)
        print(f"one node {one:.1f} s, two nodes {two:.1f} s: {one / two:.2f}x", flush=True)
    print(f"two nodes against one: {statistics.median(ratios):.2f}x in the median of {rounds}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cajole", default="cajole", help="the command line to compare with")
    parser.add_argument("--lines", type=int, default=1_000_000, help="for steps 1 to 3; 0 for none")
    parser.add_argument("--pinned-lines", type=int, default=300_000, help="for step 4; 0 for none")
    parser.add_argument("--rounds", type=int, default=3, help="of step 4")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines, expected, out = (folder / name for name in ("lines", "expected", "out"))
        if given.lines:
            write_lines(lines, given.lines, every=1000)
            infer_here(given.cajole, lines, expected)
            with nodes([None] * 3) as cluster:
                run = Watched(lines, out, cluster)
                run.wait()
            compared("three nodes", run, expected)
            with_losses(lines, out, expected)
        if given.pinned_lines:
            scaling(given.cajole, folder, given.pinned_lines, given.rounds)


if __name__ == "__main__":
    main()
