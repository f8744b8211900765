"""Results are lazy and in order; the interpreter is free meanwhile; Ctrl-C stops a run."""

from __future__ import annotations

import collections
import itertools
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import corpora
import pytest

import cajole


def test_results_are_lazy(transducer: cajole.Model) -> None:
    pulled = 0

    def endless() -> Iterator[str]:
        nonlocal pulled
        for line in itertools.repeat("azbz"):
            pulled += 1
            yield line

    results = transducer.infer(endless(), threads=2)
    assert pulled == 0
    lines = [result.line for result in itertools.islice(results, 1000)]
    assert lines == list(range(1, 1001))
    assert pulled < 5000
    results.close()
    assert list(results) == []


def test_a_slow_iterable_does_not_hold_results_back(transducer: cajole.Model) -> None:
    def slow() -> Iterator[str]:
        yield "azbz"
        time.sleep(0.5)
        yield "bzaz"
        time.sleep(0.5)
        yield "bzaz"
        time.sleep(60.0)
        yield "never"

    started = time.monotonic()
    with transducer.infer(slow()) as results:
        assert next(results).output == "aaazb"
    assert time.monotonic() - started < 40


def test_the_interpreter_is_free_while_a_network_works() -> None:
    parser = cajole.load("parser")
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    started = time.monotonic()
    # A single list, so that all time between two results is spent in the network.
    list(parser.infer(corpora.sentences(60, 9), threads=1))
    elapsed = time.monotonic() - started
    done.set()
    counter.join()
    # Another thread that needs the interpreter every millisecond gets it most of the time.
    assert counted > 20 * elapsed, (counted, elapsed)


# Children of a background job inherit that SIGINT is ignored; Python then installs no handler.
INTERRUPTED = """
import cajole, itertools, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
parser = cajole.load({network!r})
never = lambda x, y: 1.0
print("begun", flush=True)
try:
    for result in parser.infer(itertools.repeat({line!r}), rules=never, max_steps=100000, **{options}):
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
    [again] = cajole.load("transducer").infer(["azbz"])
    print(again.output)
"""


@pytest.mark.parametrize(
    ("network", "line", "options"),
    [("parser", "the dog sees the cat .", {}), ("transducer", "azbzaz", {"threads": 1})],
)
def test_control_c_stops_within_a_step(
    python: Callable[..., subprocess.Popen[str]], network: str, line: str, options: dict[str, int]
) -> None:
    process = python(INTERRUPTED.format(network=network, line=line, options=options))
    assert process.stdout and process.stdout.readline() == "begun\n"
    time.sleep(1.5)
    interrupted = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted\naaazb\n", err
    # A step takes milliseconds; the rest is for a busy machine.
    assert time.monotonic() - interrupted < 20


def test_another_thread_can_close_a_run(transducer: cajole.Model) -> None:
    results = transducer.infer(itertools.repeat("azbz"), rules=lambda x, y: 1.0, max_steps=100_000)
    closer = threading.Timer(0.5, results.close)
    closer.start()
    # No result is ready for a long time, so the iteration waits inside `next` when it is closed.
    assert list(results) == []
    closer.join()
    assert list(results) == []


def test_two_threads_do_not_iterate_at_once(transducer: cajole.Model) -> None:
    def inputs() -> Iterator[str]:
        yield "azbz"
        next(results)

    results = transducer.infer(inputs())
    with pytest.raises(ValueError, match="already being iterated"):
        list(results)


def test_results_that_nobody_wants_cost_nothing(transducer: cajole.Model) -> None:
    before = threading.active_count()
    for _ in range(20):
        next(transducer.infer(itertools.repeat("azbz")))
    assert threading.active_count() == before


def test_ids_come_back_as_they_were_given(transducer: cajole.Model) -> None:
    ids = [10**30, 10**30 + 1, 2**64, -(2**63) - 1, 2**63, 7, 1.5, "\u00e9", None, [2**53 + 1], True]
    results = list(transducer.infer({"input": "az", "id": one} for one in ids))
    assert [result.id for result in results] == ids
    assert [type(result.id) for result in results] == [type(one) for one in ids]
    assert [result.to_dict()["id"] for result in results] == ids
    assert [json.loads(result.to_json())["id"] for result in results] == ids
    assert list(results[0].to_dict())[:2] == ["line", "id"]
    written = list(transducer.infer(['{"input": "az", "id": 1e400}', '{"input": "az", "id": 1.00}']))
    assert [result.to_json().split(",")[1] for result in written] == ['"id":1e400', '"id":1.00']
    assert [result.id for result in written] == [float("inf"), 1.0]
    counted: collections.defaultdict[str, str] = collections.defaultdict(str, input="az")
    assert next(transducer.infer([counted])).id is None and list(counted) == ["input"]


def test_ids_that_arrow_cannot_hold_become_text(transducer: cajole.Model) -> None:
    pytest.importorskip("pyarrow")
    ids = [10**30, 10**30 + 1]
    table = transducer.infer({"input": "az", "id": one} for one in ids).to_arrow()
    assert table.column("id").to_pylist() == [str(one) for one in ids]


def test_results_as_tables(transducer: cajole.Model) -> None:
    inputs: list[cajole.Input] = [{"input": "az", "id": 1}, {"input": "bz", "id": "b"}, "qq"]
    assert transducer.infer(inputs).to_dicts()[0]["output"] == "aaa"
    pandas = pytest.importorskip("pandas")
    frame = transducer.infer(inputs).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["status"]) == ["satisfied", "satisfied", "bad-line"]
    pytest.importorskip("pyarrow")
    table = transducer.infer(inputs).to_arrow()
    assert table.column("id").to_pylist() == ["1", "b", None]
    tagged = cajole.load("tagger").infer(corpora.predicates(3)).to_pandas()
    assert len(tagged) == 3 and set(tagged.columns) > {"line", "predicate", "output"}


def test_traces_and_trees_are_shown(transducer: cajole.Model) -> None:
    [result] = transducer.infer(["azbzazazazazazazazazbz"], trace=True)
    assert result.trace is not None and result.steps > 0
    assert len(result.trace) == len(result.trace.steps) > 1
    assert result.trace.moving > 0 and result.trace.steps[0]["iteration"] == 0
    assert "<iframe" in result.trace._repr_html_() and "iteration" in str(result.trace)
    [parsed] = cajole.load("parser").infer(["the dog sees the cat ."])
    assert parsed.tree is not None and str(parsed.tree).startswith("(")
    assert "dog" in parsed.tree.pretty() and "<pre>" in parsed._repr_html_()
    [plain] = transducer.infer(["azbz"])
    assert plain.trace is None and plain.tree is None
