"""Ray: a cluster of three raylets on this machine, a node that is lost, bad rows and addresses."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import corpora
import pytest

import cajole

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

import cajole.ray  # noqa: E402

LINES = [*corpora.transductions(900, 11), "", "qq", '{"input": "azbz", "id": 7}', "\xe9"]
OPTIONS: dict[str, Any] = {"max_steps": 4}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    os.environ["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent)])
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    cajole.ray.connect(nodes.address)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path: pathlib.Path = tmp_path_factory.mktemp("ray") / "lines.txt"
    path.write_bytes("".join(line + "\n" for line in LINES).encode() + b"\xff\xff\n")
    return path


def expected(path: pathlib.Path) -> list[str]:
    return [r.to_json() for r in cajole.load("transducer").infer(path, **OPTIONS)]


def records(path: pathlib.Path, meanwhile: Callable[[], None] | None = None) -> list[str]:
    lines = cajole.ray.read_lines(path, lines_a_block=50)
    inferred = cajole.ray.infer(
        lines, model="transducer", concurrency=(1, 3), batch_size=50, **OPTIONS
    )
    started = threading.Thread(target=meanwhile) if meanwhile else None
    if started:
        started.start()
    rows = inferred.take_all()
    if started:
        started.join()
    return [row["record"] for row in sorted(rows, key=lambda row: row["line"])]


def test_records_are_those_of_one_machine(cluster: Any, file: pathlib.Path) -> None:
    assert records(file) == expected(file)


def test_rows_of_any_dataset_are_inputs(cluster: Any) -> None:
    rows = [{"input": "azbz", "id": i} for i in range(5)] + [{"input": None, "id": 5}]
    dataset = ray.data.from_items(rows)
    inferred = cajole.ray.infer(dataset, model="transducer", concurrency=1).take_all()
    assert sorted(row["status"] for row in inferred) == ["bad-line"] + ["satisfied"] * 5
    texts = ray.data.from_items([{"text": "azbz", "other": 1}])
    [row] = cajole.ray.infer(texts, model="transducer", column="text", concurrency=1).take_all()
    assert '"aaazb"' in row["record"]

    def never(x: Any, y: Any) -> bool:
        raise ValueError("no")

    [row] = cajole.ray.infer(
        texts, model="transducer", column="text", rules=never, concurrency=1
    ).take_all()
    assert row["status"] == "unmeasured" and "raised ValueError: no" in row["record"]


def test_a_lost_node_costs_nothing(cluster: Any, file: pathlib.Path) -> None:
    node = cluster.add_node(num_cpus=1)

    def lose() -> None:
        time.sleep(4)
        cluster.remove_node(node, allow_graceful=False)

    assert records(file, lose) == expected(file)


def test_a_dead_address_is_named(tmp_path: pathlib.Path, file: pathlib.Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "cajole.ray", str(file), "--out", str(tmp_path / "out"),
         "--address", "127.0.0.1:1"],
        capture_output=True, text=True, timeout=300, check=False,
    )
    assert run.returncode != 0 and "no Ray cluster at 127.0.0.1:1" in run.stderr, run.stderr
    wrong = subprocess.run(
        [sys.executable, "-m", "cajole.ray", str(file), "--out", str(tmp_path / "out"),
         "--engine", "magic"],
        capture_output=True, text=True, timeout=300, check=False,
    )
    assert wrong.returncode == 1 and 'no engine "magic"' in wrong.stderr


def test_what_the_job_reads_is_never_its_output(file: pathlib.Path) -> None:
    before = file.read_bytes()
    run = subprocess.run(
        [sys.executable, "-m", "cajole.ray", str(file), "--out", str(file), "--overwrite"],
        capture_output=True, text=True, timeout=300, check=False,
    )
    assert run.returncode == 1 and "is the same file as" in run.stderr, run.stderr
    assert file.read_bytes() == before
