#!/usr/bin/env python3
"""Load on a server of this machine: requests per second, latencies, and the engine's own throughput.

    bench/serve/load.py target/release/cajole [--seconds 10] [--only transducer]

Needs wrk (Debian: apt install wrk). For each model it sends single inputs over 1, 16 and 256 connections,
once with requests answered together and once one by one, and runs the same inputs through `cajole infer`.
wrk needs the same cores as the server, so a second table has what a request costs the server itself: CPU time,
which other work on the machine changes little. Then small requests are timed while large ones run, and memory is
watched under load.
"""

import argparse
import contextlib
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
CONNECTIONS = [1, 16, 256]


def inputs(model):
    """Inputs like those that the built-in networks were trained on; some need a repair."""
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


@contextlib.contextmanager
def server(cajole, *flags):
    command = [cajole, "serve", "--listen", "127.0.0.1:0", "--no-log", "--json", *flags]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
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


def wrk(url, model, lines, connections, seconds):
    """Requests per second, their number, and the median and 99th percentile of latencies in milliseconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as bodies:
        for line in lines:
            bodies.write(json.dumps({"model": model, "input": line}) + "\n")
        bodies.flush()
        threads = min(2, connections)
        command = ["wrk", "--latency", f"-t{threads}", f"-c{connections}", f"-d{seconds}s"]
        command += ["--timeout", "60s", "-s", str(HERE / "ask.lua"), f"{url}v1/infer", "--"]
        ran = subprocess.run(command + [bodies.name], capture_output=True, text=True, check=True)
    said = ran.stdout
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    unit = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}

    def at(share):
        number, name = re.search(rf"{share}%\s+([\d.]+)(us|ms|s|m)", said).groups()
        return float(number) * unit[name]

    n = int(re.search(r"(\d+) requests in", said)[1])
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]), n, at(50), at(99)


def load(cajole, flags, model, lines, connections, seconds):
    """What `wrk` says of a server of its own; CPU milliseconds of the server, and of wrk, a request."""
    with server(cajole, *flags) as (child, url):
        ask(url, model, lines[:1])
        own, other = process_s(child), children_s()
        rate, n, p50, p99 = wrk(url, model, lines, connections, seconds)
        return rate, p50, p99, 1e3 * (process_s(child) - own) / n, 1e3 * (children_s() - other) / n


def infer(cajole, model, lines):
    """Inputs per second of `cajole infer`, and CPU milliseconds of each; loading is not counted."""

    def taken(some):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(some))
            file.flush()
            start, used = time.monotonic(), children_s()
            command = [cajole, "infer", "--model", model, file.name]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            return time.monotonic() - start, children_s() - used

    many = lines * (10 if model == "transducer" else 1)
    (all_s, all_cpu), (one_s, one_cpu) = taken(many), taken(many[:1])
    n = len(many) - 1
    return n / (all_s - one_s), 1e3 * (all_cpu - one_cpu) / n


def ask(url, model, lines):
    """Milliseconds of one request."""
    body = json.dumps({"model": model, "inputs": lines}).encode()
    request = urllib.request.Request(f"{url}v1/infer", body, {"Content-Type": "application/json"})
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cajole")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", choices=["transducer", "parser", "tagger"])
    parser.add_argument("--memory", type=int, default=0, metavar="SECONDS")
    options = parser.parse_args()
    models = [options.only] if options.only else ["transducer", "parser", "tagger"]
    print("| model | connections | together: per second | p50 ms | p99 ms | alone: per second | infer |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    costs = []
    for model in models:
        lines = inputs(model)
        own, own_ms = infer(options.cajole, model, lines)
        for connections in CONNECTIONS:
            args = model, lines, connections, options.seconds
            rate, p50, p99, ms, wrk_ms = load(options.cajole, [], *args)
            single, _, _, single_ms, _ = load(options.cajole, ["--together", "1"], *args)
            print(
                f"| {model} | {connections} | {rate:.0f} | {p50:.2f} | {p99:.2f} | {single:.0f} "
                f"| {own:.0f} |",
                flush=True,
            )
            costs.append(f"| {model} | {connections} | {ms:.3f} | {single_ms:.3f} | {own_ms:.3f} | {wrk_ms:.3f} |")
    print("\n| model | connections | together: CPU ms | alone: CPU ms | infer: CPU ms | wrk: CPU ms |")
    print("|---|--:|--:|--:|--:|--:|", *costs, sep="\n")
    print("\n| small requests | p99 alone, ms | p99 among large ones, ms | ratio |\n|---|--:|--:|--:|")
    for model in models:
        lines = inputs(model)
        with server(options.cajole) as (_, url):
            alone, among = fairness(url, model, lines[0], lines[:500])
        print(f"| {model} | {alone:.2f} | {among:.2f} | {among / alone:.2f} |", flush=True)
    if options.memory:
        with server(options.cajole) as (child, url):
            start, seen = time.monotonic(), []
            while time.monotonic() - start < options.memory:
                for model in models:
                    wrk(url, model, inputs(model), 16, 10)
                    seen.append(resident_mb(child))
        print("\nmemory, MB:", " ".join(f"{mb:.0f}" for mb in seen))


if __name__ == "__main__":
    main()
