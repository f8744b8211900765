#!/usr/bin/env python3
"""Load on a server of this machine: requests per second, latencies, and the engine's own throughput.

    bench/serve/load.py target/release/cajole [--seconds 10] [--only transducer]
    bench/serve/load.py target/release/cajole --failing --connections 16 64 256   # only inputs that need a repair
    bench/serve/load.py target/release/cajole --cores 0,1 --wrk-cores 2,3         # wrk on cores of its own

Needs wrk (Debian: apt install wrk). For each model it sends requests over 1, 16 and 256 connections, once answered
together and once one by one, and runs the same inputs through `cajole infer`. Where wrk shares the cores of the
server, it takes part of them, so a second table has what an input costs the server itself: CPU time, which other work
on the machine changes little. Then small requests are timed while large ones run, and memory is watched under load.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["transducer", "parser", "tagger"]


def inputs(model):
    """Inputs like those that the built-in networks were trained on. A fifth of the transducer's need a repair, and
    none of the others."""
    random.seed(7)
    if model == "transducer":
        return ["".join(random.choice(["az", "bz"]) for _ in range(12)) for _ in range(2000)]
    people = ["the nurse", "my brother", "the mayor", "an old friend", "her lawyer", "the pilot"]
    things = ["the letter", "a boat", "three tickets", "the last train", "a box of books"]
    verbs = ["found", "sold", "wanted", "lost", "brought", "left"]

    def clause():
        who, did, what = random.choice(people), random.choice(verbs), random.choice(things)
        return f"{who} that {random.choice(people)} {random.choice(verbs)} {did} {what}"

    def sentence():
        text = f"{clause()} when {clause()} ." if random.random() < 0.5 else f"{clause()} ."
        return text[0].upper() + text[1:]

    return [sentence() for _ in range(1000)]


def on(cores, command):
    """A command that runs on these cores only, if any are named."""
    return ["taskset", "-c", cores, *command] if cores else command


def infer_all(cajole, model, lines):
    """The records of the network's own outputs."""
    command = [cajole, "infer", "--model", model, "--engine", "network"]
    ran = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    return [json.loads(record) for record in ran.stdout.splitlines()]


def failing(cajole, model):
    """Inputs that need a repair: for the parser among sentences whose words are shuffled, for the tagger among
    sentences with the trees that the parser gives them, which arguments have to agree with."""
    lines = inputs(model)
    if model == "parser":
        lines = [" ".join(random.sample(words, len(words))) for words in map(str.split, 3 * lines)]
    if model == "tagger":
        lines = [json.dumps({"tree": record["tree"]}) for record in infer_all(cajole, "parser", lines[:300])]

    def fails(record):
        return any(0 < (answer["g_before"] or 0) for answer in record.get("answers", [record]))

    records = infer_all(cajole, model, lines)
    return [line for line, record in zip(lines, records, strict=True) if fails(record)]


@contextlib.contextmanager
def server(options, *flags):
    command = [options.cajole, "serve", "--listen", "127.0.0.1:0", "--no-log", "--json", *flags]
    child = subprocess.Popen(on(options.cores, command), stdout=subprocess.PIPE, text=True)
    try:
        yield child, json.loads(child.stdout.readline())["listening"]
    finally:
        child.terminate()
        child.wait(60)


def children_s():
    """CPU time of all programs that were run to their end, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def process_s(child):
    """CPU time of a program that runs, in seconds."""
    fields = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def body(options, model, lines):
    """A request."""
    asked = {"model": model, "inputs": lines} if 1 < len(lines) else {"model": model, "input": lines[0]}
    return json.dumps(asked | ({"preset": options.preset} if options.preset else {}))


def wrk(options, url, model, lines, connections, seconds):
    """Requests per second, their number, and the median and 99th percentile of latencies in milliseconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as bodies:
        n = options.inputs
        for i in range(len(lines)):
            bodies.write(body(options, model, (lines[i:] + lines)[:n]) + "\n")
        bodies.flush()
        threads = min(2, connections)
        command = ["wrk", "--latency", f"-t{threads}", f"-c{connections}", f"-d{seconds}s"]
        command += ["--timeout", "60s", "-s", str(HERE / "ask.lua"), f"{url}v1/infer", "--"]
        command = on(options.wrk_cores, command + [bodies.name])
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
    said = ran.stdout
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    unit = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}

    def at(share):
        number, name = re.search(rf"{share}%\s+([\d.]+)(us|ms|s|m)", said).groups()
        return float(number) * unit[name]

    n = int(re.search(r"(\d+) requests in", said)[1])
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]), n, at(50), at(99)


def lots(url):
    """How many lots the server has taken, and how many inputs were in them."""
    with urllib.request.urlopen(f"{url}metrics", timeout=60) as answer:
        text = answer.read().decode()
    return [float(re.search(rf"cajole_batch_inputs_{name} ([\d.]+)", text)[1]) for name in ["count", "sum"]]


@dataclasses.dataclass
class Load:
    """What wrk says of a server, and what the server says of itself."""

    rate: float  # inputs per second
    p50: float  # milliseconds
    p99: float
    ms: float  # CPU milliseconds of the server, an input
    wrk_ms: float
    lot: float  # inputs that were answered together, on average


def load(options, flags, model, lines, connections):
    """Load on a server of its own."""
    with server(options, *flags) as (child, url):
        ask(url, model, lines[:1])
        own, other, before = process_s(child), children_s(), lots(url)
        rate, n, p50, p99 = wrk(options, url, model, lines, connections, options.seconds)
        own, other, after = process_s(child) - own, children_s() - other, lots(url)
        # What wrk no longer waited for has been worked on, too.
        taken = after[1] - before[1]
        wrk_ms = 1e3 * other / (n * options.inputs)
        return Load(rate * options.inputs, p50, p99, 1e3 * own / taken, wrk_ms, taken / (after[0] - before[0]))


def infer(options, model, lines):
    """Inputs per second of `cajole infer`, and CPU milliseconds of each; loading is not counted."""

    def taken(some):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(some))
            file.flush()
            start, used = time.monotonic(), children_s()
            command = [options.cajole, "infer", "--model", model, file.name]
            command += ["--preset", options.preset] if options.preset else []
            command = on(options.cores, command)
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            return time.monotonic() - start, children_s() - used

    enough = (20_000 if model == "transducer" else 1000) // (10 if options.failing else 1)
    many = lines * -(-enough // len(lines))
    (all_s, all_cpu), (one_s, one_cpu) = taken(many), taken(many[:1])
    n = len(many) - 1
    return n / (all_s - one_s), 1e3 * (all_cpu - one_cpu) / n


def ask(url, model, lines):
    """Milliseconds of one request."""
    asked = json.dumps({"model": model, "inputs": lines}).encode()
    request = urllib.request.Request(f"{url}v1/infer", asked, {"Content-Type": "application/json"})
    start = time.monotonic()
    with urllib.request.urlopen(request, timeout=300) as answer:
        answer.read()
    return 1e3 * (time.monotonic() - start)


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def fairness(url, model, small, large, n=200):
    """The 99th percentile of a small request alone, and while large ones run."""
    alone = percentile([ask(url, model, [small]) for _ in range(n)], 0.99)
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            ask(url, model, large)

    busy = [threading.Thread(target=keep_busy) for _ in range(4)]
    [thread.start() for thread in busy]
    time.sleep(1)
    among = percentile([ask(url, model, [small]) for _ in range(n)], 0.99)
    stop.set()
    [thread.join() for thread in busy]
    return alone, among


def resident_mb(child):
    text = pathlib.Path(f"/proc/{child.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


def throughput(options, model, lines):
    """The rows of both tables for a model."""
    own, own_ms = infer(options, model, lines)
    rates, costs = [], []
    for connections in options.connections:
        together = load(options, [], model, lines, connections)
        alone = load(options, ["--together", "1"], model, lines, connections)
        head = f"| {model} | {connections} |"
        rates.append(
            f"{head} {together.rate:.0f} | {together.p50:.2f} | {together.p99:.2f} | {alone.rate:.0f} "
            f"| {together.rate / alone.rate:.2f} | {own:.0f} | {100 * together.rate / own:.0f} % |"
        )
        costs.append(
            f"{head} {together.lot:.1f} | {together.ms:.3f} | {alone.ms:.3f} | {own_ms:.3f} "
            f"| {100 * own_ms / together.ms:.0f} % | {together.wrk_ms:.3f} |"
        )
        print(rates[-1], flush=True)
    return costs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cajole")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", choices=MODELS)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 256])
    parser.add_argument("--inputs", type=int, default=1, help="inputs of each request")
    parser.add_argument("--failing", action="store_true", help="only inputs that need a repair")
    parser.add_argument("--preset", help="instead of the one that users get")
    parser.add_argument("--cores", help="cores of the server and of infer, such as 0,1")
    parser.add_argument("--wrk-cores", help="cores of wrk")
    parser.add_argument("--memory", type=int, default=0, metavar="SECONDS")
    options = parser.parse_args()
    models = [options.only] if options.only else MODELS
    lines = {model: inputs(model) for model in models}
    if options.failing:
        lines = {model: failing(options.cajole, model) for model in models}
    print("Inputs:", ", ".join(f"{len(some)} ({model})" for model, some in lines.items()), end="\n\n")
    print("| model | connections | together: per second | p50 ms | p99 ms | alone: per second | together / alone ", end="")
    print("| infer | of infer |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    costs = [row for model in models for row in throughput(options, model, lines[model])]
    print("\n| model | connections | inputs together | together: CPU ms | alone: CPU ms | infer: CPU ms ", end="")
    print("| infer / together | wrk: CPU ms |\n|---|--:|--:|--:|--:|--:|--:|--:|", *costs, sep="\n")
    if options.failing or 1 < options.inputs:
        return
    print("\n| small requests | p99 alone, ms | p99 among large ones, ms | ratio |\n|---|--:|--:|--:|")
    for model in models:
        with server(options) as (_, url):
            alone, among = fairness(url, model, lines[model][0], lines[model][:500])
        print(f"| {model} | {alone:.2f} | {among:.2f} | {among / alone:.2f} |", flush=True)
    if options.memory:
        with server(options) as (child, url):
            start, seen = time.monotonic(), []
            while time.monotonic() - start < options.memory:
                for model in models:
                    wrk(options, url, model, lines[model], 16, 10)
                    seen.append(resident_mb(child))
        print("\nmemory, MB:", " ".join(f"{mb:.0f}" for mb in seen))


if __name__ == "__main__":
    main()
