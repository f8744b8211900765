"""Datasets of lines, and datasets of their records."""

from __future__ import annotations

import os
import pathlib
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow
import ray
import ray.data

import cajole
from cajole._model import Model, RuleLike

LINES_A_BLOCK = 20_000
"""Lines of a block, which are read together, and lost together with a node."""

SCHEMA = pyarrow.schema(
    [("line", pyarrow.int64()), ("status", pyarrow.string()), ("record", pyarrow.string())]
)


def connect(address: str | None = None) -> None:
    """Connects to the Ray cluster at `address`, or starts one here; does nothing if connected."""
    if ray.is_initialized():
        return
    try:
        host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
        if colon:
            # Ray itself tries a dead address for minutes.
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise cajole.CajoleError(f"no Ray cluster at {address}: {error}") from error


def blocks(path: str | os.PathLike[str], n: int = LINES_A_BLOCK) -> Iterator[tuple[int, int, int]]:
    """First line, offset and size of every block of `n` lines of a file."""
    with open(path, "rb") as file:
        line, start, offset = 1, 0, 0
        for number, text in enumerate(file, 1):
            offset += len(text)
            if number % n == 0:
                yield line, start, offset - start
                line, start = number + 1, offset
        if start < offset:
            yield line, start, offset - start


def _read_block(path: str, first: int, start: int, size: int) -> Any:
    """The lines of a block, with their numbers; blank lines are left out, as in `cajole infer`."""
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read(size)
    numbers, texts = [], []
    for number, line in enumerate(data.split(b"\n"), first):
        if line.strip():
            numbers.append(number)
            texts.append(line)
    columns = {"line": pyarrow.array(numbers, pyarrow.int64()), "bytes": pyarrow.array(texts, pyarrow.binary())}
    return pyarrow.table(columns)


def read_lines(path: str | os.PathLike[str], *, lines_a_block: int = LINES_A_BLOCK) -> ray.data.Dataset:
    """The lines of a file that all nodes can read, with their numbers."""
    path = os.fspath(pathlib.Path(path).resolve())
    tasks = [
        {"path": path, "first": first, "start": start, "size": size}
        for first, start, size in blocks(path, lines_a_block)
    ]
    tasks = tasks or [{"path": path, "first": 1, "start": 0, "size": 0}]
    # One row per block, made here: a task that splits them would wait for a CPU forever if actors
    # have all CPUs.
    listed = ray.data.from_items(tasks, override_num_blocks=len(tasks))

    def read(row: dict[str, Any]) -> Any:
        return _read_block(
            str(row["path"][0]), int(row["first"][0]), int(row["start"][0]), int(row["size"][0])
        )

    # Separate tasks, which take no CPU from actors. Otherwise Ray would run them in the actors, with as many
    # blocks at a time as make a batch of rows here, which is all of them.
    return listed.map_batches(read, batch_size=1, batch_format="numpy", num_cpus=0)


class Answerer:
    """An actor: loads a model once, and answers batches."""

    def __init__(
        self,
        model: str | Callable[[], Model],
        rules: RuleLike | None,
        column: str | None,
        options: Mapping[str, Any],
    ) -> None:
        self.model = cajole.load(model) if isinstance(model, (str, os.PathLike)) else model()
        self.rules, self.column, self.options = rules, column, options

    def _inputs(self, batch: Any) -> list[Any]:
        if self.column is not None:
            inputs: list[Any] = batch.column(self.column).to_pylist()
            return inputs
        if "bytes" in batch.column_names:
            lines: list[Any] = batch.column("bytes").to_pylist()
            return lines
        for name in ("text", "input", "tokens"):
            if batch.column_names == [name] or batch.column_names == ["line", name]:
                alone: list[Any] = batch.column(name).to_pylist()
                return alone
        rows: list[Any] = batch.to_pylist()
        return [{key: value for key, value in row.items() if value is not None} for row in rows]

    def __call__(self, batch: Any) -> Any:
        inputs = self._inputs(batch)
        lines = batch.column("line").to_pylist() if "line" in batch.column_names else None
        numbers = lines or list(range(1, len(inputs) + 1))
        results = list(
            self.model._infer_numbered(inputs, numbers, self.rules, threads=1, **self.options)
        )
        status = [_status(result) for result in results]
        columns = [lines or [None] * len(results), status, [result.to_json() for result in results]]
        arrays = [pyarrow.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        return pyarrow.table(arrays, schema=SCHEMA)


def _status(result: cajole.Result) -> str:
    """The status of a result; of several answers, the first that is not satisfied."""
    if result.error is not None and not result.answers:
        return "bad-line"
    statuses = [answer.status for answer in result.answers]
    return next((status for status in statuses if status != "satisfied"), "satisfied")


def infer(
    dataset: ray.data.Dataset,
    *,
    model: str | Callable[[], Model],
    rules: RuleLike | None = None,
    column: str | None = None,
    concurrency: int | tuple[int, int] | None = None,
    batch_size: int = 1024,
    num_gpus: float | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """Runs every row of a dataset through a model so that outputs obey the rules.

    dataset: from `read_lines`, JSON Lines, Parquet or Hugging Face datasets: a row is an input, with the
        fields of a line (`input`, `tokens`, `id`, …), or has the input in `column`.
    model: what `cajole.load` takes, or a function that makes a model, called once in every actor.
    concurrency: how many actors, or a range; by default, up to one for each CPU.
    batch_size: rows that an actor answers at a time.
    options: those of `cajole.Model.infer`, except threads: an actor has one.

    The result has the columns "line" (if the dataset has it), "status" and "record" (a line of JSON, as
    `cajole infer` writes it).
    """
    if concurrency is None:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        concurrency = (1, max(1, cpus))
    given = {"model": model, "rules": rules, "column": column, "options": options}
    return dataset.map_batches(
        Answerer,
        fn_constructor_kwargs=given,
        batch_format="pyarrow",
        batch_size=batch_size,
        concurrency=concurrency,
        num_cpus=1,
        num_gpus=num_gpus,
    )
