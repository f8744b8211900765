#!/usr/bin/env python3
"""What clients may do to a server, what it answers, and what that costs in memory.

    bench/robust/served.py target/release/cajole [--small]

Prints a table, and fails if an answer has another status than it should, a server dies, a healthy request is not
answered, or memory passes 512 MB.
"""

import argparse
import gzip
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

MOST_MB = 512
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FAILING = "azbzazazazazazazazazbz"


class Server:
    def __init__(self, cajole, *flags, stderr=subprocess.DEVNULL):
        command = [cajole, "serve", "--listen", "127.0.0.1:0", "--json", *flags]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        listening = json.loads(self.child.stdout.readline())["listening"]
        self.port = int(re.search(r":(\d+)/", listening)[1])
        self.host = f"127.0.0.1:{self.port}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=90)

    def raw(self, head, *pieces):
        """Sends a request piece by piece; the status of the answer."""
        with self.connect() as stream:
            head = head.replace("\n", "\r\n") + f"Host: {self.host}\r\nConnection: close\r\n\r\n"
            try:
                stream.sendall(head.encode())
                for piece in pieces:
                    stream.sendall(piece)
            except OSError:
                pass  # it has heard enough
            try:
                answer = stream.recv(65536)
            except OSError:
                return "closed"
        return answer.split(b" ")[1].decode() if answer else "closed"

    def post(self, path, body, content_type="application/json", timeout=120):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        link.request("POST", path, body, {"Content-Type": content_type})
        answer = link.getresponse()
        return answer.status, answer.read()

    def is_well(self):
        status, body = self.post("/v1/infer", {"input": "az"})
        return status == 200 and json.loads(body)["records"][0]["output"] == "aaa"

    def peak_mb(self):
        text = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024

    def end(self, how=signal.SIGTERM):
        self.child.send_signal(how)
        return self.child.wait(60)


def expect(status, *expected):
    """The status as text; fails if it is none of those expected."""
    assert str(status) in map(str, expected), f"{status}, not {' or '.join(map(str, expected))}"
    return str(status)


def slow_loris(server, n):
    """Connections that send a head one letter at a time."""
    streams = [server.connect() for _ in range(n)]
    for stream in streams:
        stream.sendall(b"POST /v1/infer HTTP/1.1\r\nX: ")
    start = time.monotonic()
    well = server.is_well()
    answered = 1e3 * (time.monotonic() - start)
    for _ in range(12):
        time.sleep(1)
        for stream in streams:
            try:
                stream.sendall(b"a")
            except OSError:
                pass
    ended = 0
    for stream in streams:
        stream.settimeout(5)
        try:
            while stream.recv(4096):
                pass
            ended += 1
        except ConnectionError:
            ended += 1
        except TimeoutError:
            pass
        stream.close()
    assert well and ended == n, (well, ended)
    return f"others answered in {answered:.0f} ms; all {n} cut off"


def oversized(server):
    head = "POST /v1/infer HTTP/1.1\nContent-Type: application/json\n"
    return expect(server.raw(head + f"Content-Length: {1 << 40}\n", b"{" * 65536), 413)


def oversized_chunks(server):
    head = "POST /v1/infer HTTP/1.1\nContent-Type: application/json\nTransfer-Encoding: chunked\n"
    # Whoever goes on sending may find the connection closed before the answer is read.
    return expect(server.raw(head, *[b"10000\r\n" + b" " * 65536 + b"\r\n"] * 100), 413, "closed")


def half_sent(server, n):
    head = f"POST /v1/infer HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\n"
    for _ in range(n):
        with server.connect() as stream:
            stream.sendall((head + "Content-Length: 1000\r\n\r\n{\"input\":").encode())
    return "connection closed by the client"


def invalid_utf8(server):
    return expect(server.post("/v1/infer", b'{"input": "\xff\xfe"}')[0], 400)


def gzip_bomb(server):
    bomb = gzip.compress(b" " * (100 << 20))
    head = "POST /v1/infer HTTP/1.1\nContent-Type: application/json\nContent-Encoding: gzip\n"
    return expect(server.raw(head + f"Content-Length: {len(bomb)}\n", bomb), 415)


def deep_json(server):
    return expect(server.post("/v1/infer", b"[" * 100_000)[0], 400)


def deep_line(server):
    lines = b'{"input": ' + b"[" * 100_000 + b"\naz\n"
    status, body = server.post("/v1/infer", lines, "application/x-ndjson")
    records = [json.loads(line)["status"] for line in body.splitlines()]
    assert records == ["bad-line", "satisfied"], records
    return f"{expect(status, 200)}, {', '.join(records)}"


def endless_line(server):
    status, body = server.post("/v1/infer", b"a" * (16 << 20), "application/x-ndjson")
    record = json.loads(body)["status"]
    assert record == "bad-line", record
    return f"{expect(status, 200)}, {record}"


def vanishing(server, n):
    """Clients that hang up in the middle of a stream of records or events."""
    body = json.dumps({"inputs": [FAILING] * 200, "preset": "paper"}).encode()
    head = f"POST /v1/explain HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\n"
    head += f"Accept: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(n):
        with server.connect() as stream:
            stream.sendall(head.encode() + body)
            stream.recv(100)
    deadline = time.monotonic() + 60
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    while True:
        link.request("GET", "/metrics")
        text = link.getresponse().read().decode()
        waiting = int(re.search(r"^cajole_requests_in_progress (\d+)", text, re.M)[1])
        if waiting <= 1:
            return "threads are freed"
        assert time.monotonic() < deadline, text
        time.sleep(0.05)


def exploding(server, toml, expected=422):
    start = time.monotonic()
    body = {"input": FAILING, "rules": {"toml": toml}, "deadline_ms": 5000}
    status, _ = server.post("/v1/infer", body)
    return f"{expect(status, expected)} after {time.monotonic() - start:.1f} s"


def huge_grammar(server):
    rules = "".join(f"r{i} = r{i + 1} r{i // 2} | \"a\" ;\n" for i in range(2000))
    return exploding(server, f"grammar = '''\n{rules}r2000 = \"b\" ;\n'''", expected=200)


def many_at_once(server, n):
    """More inputs than the queue has room for."""
    counts, lock = {}, threading.Lock()

    def ask():
        try:
            status = server.post("/v1/infer", {"inputs": [FAILING] * 1000})[0]
        except OSError:
            status = "closed"
        with lock:
            counts[status] = counts.get(status, 0) + 1

    threads = [threading.Thread(target=ask) for _ in range(n)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    # Some are answered, and whoever finds the queue full is told so.
    assert set(counts) <= {200, 503} and 200 in counts, counts
    return ", ".join(f"{count} × {status}" for status, count in sorted(counts.items()))


def sigterm_under_load(cajole, seconds):
    """Every request that was sent in whole has an answer in whole."""
    server, stop = Server(cajole), threading.Event()
    answered, lost, lock = [0], [], threading.Lock()

    def keep_asking():
        while not stop.is_set():
            try:
                link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                link.connect()
            except OSError:
                return  # nobody listens any more: the request was not accepted
            try:
                body = json.dumps({"inputs": [FAILING] * 20})
                link.request("POST", "/v1/infer", body, {"Content-Type": "application/json"})
                records = json.loads(link.getresponse().read())["records"]
                assert len(records) == 20
                with lock:
                    answered[0] += 1
            except Exception as error:  # any kind of loss counts
                with lock:
                    lost.append(repr(error))
            link.close()

    threads = [threading.Thread(target=keep_asking) for _ in range(16)]
    [thread.start() for thread in threads]
    time.sleep(seconds)
    code = server.end()
    stop.set()
    [thread.join() for thread in threads]
    # Connections that the system had completed but the server not taken are reset when it ends.
    assert code == 0 and len(lost) == 0, (code, lost[:3], len(lost))
    return f"exit code {code}; {answered[0]} answered, {len(lost)} lost"


def kill_and_restart(cajole):
    server = Server(cajole)
    assert server.is_well()
    server.end(signal.SIGKILL)
    again = Server(cajole)
    well = again.is_well()
    again.end()
    assert well
    return "the next server answers"


def folder_deleted(cajole, folder):
    source = ROOT / "models" / "transducer"
    model = pathlib.Path(folder) / "mine"
    shutil.copytree(source, model)
    server = Server(cajole, "--model", str(model))
    before = server.is_well()
    shutil.rmtree(model)
    after = server.is_well()
    server.end()
    assert before and after
    return "answers as before"


def disk_full(cajole):
    with open("/dev/full", "w") as full:
        server = Server(cajole, stderr=full)
        well = all(server.is_well() for _ in range(20))
        code = server.end()
    assert well and code == 0, code
    return "answers; logs are lost"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cajole")
    parser.add_argument("--small", action="store_true", help="fewer clients, for CI")
    options = parser.parse_args()
    small, cajole = options.small, options.cajole
    server = Server(cajole)
    tried = [
        (f"{20 if small else 1000} slow-loris connections", lambda: slow_loris(server, 20 if small else 1000)),
        ("a body of 1 TB", lambda: oversized(server)),
        ("6 MB in chunks", lambda: oversized_chunks(server)),
        ("100 half-sent bodies", lambda: half_sent(server, 100)),
        ("invalid UTF-8", lambda: invalid_utf8(server)),
        ("a gzip bomb", lambda: gzip_bomb(server)),
        ("JSON 100,000 deep", lambda: deep_json(server)),
        ("a line 100,000 deep", lambda: deep_line(server)),
        ("a line of 16 MB", lambda: endless_line(server)),
        ("20 clients vanish mid-stream", lambda: vanishing(server, 20)),
        ("an exponential pattern", lambda: exploding(server, "pattern = '(a|b)*a(a|b){30}'")),
        ("repeats of repeats", lambda: exploding(server, "pattern = '((a{1,100}){1,100}){1,100}'")),
        ("a grammar of 2000 rules", lambda: huge_grammar(server)),
        ("20,000 inputs at once", lambda: many_at_once(server, 4 if small else 20)),
    ]
    print("| what was tried | what answered | peak memory, MB |\n|---|---|--:|")
    failed = 0
    for name, attempt in tried:
        try:
            said = attempt()
            is_sound = server.child.poll() is None and server.is_well()
        except (AssertionError, OSError, ValueError) as error:
            said, is_sound = f"FAILED: {error!r}", False
        peak = server.peak_mb() if server.child.poll() is None else float("nan")
        is_sound = is_sound and peak < MOST_MB
        failed += not is_sound
        print(f"| {name} | {said}{'' if is_sound else ' (NOT SOUND)'} | {peak:.0f} |", flush=True)
    server.end()
    with tempfile.TemporaryDirectory() as folder:
        for name, attempt in [
            ("SIGTERM under load", lambda: sigterm_under_load(cajole, 1 if small else 3)),
            ("kill -9 and restart", lambda: kill_and_restart(cajole)),
            ("model folder deleted while serving", lambda: folder_deleted(cajole, folder)),
            ("disk full for logs", lambda: disk_full(cajole)),
        ]:
            try:
                said = attempt()
            except (AssertionError, OSError, ValueError) as error:
                said, failed = f"FAILED: {error!r}", failed + 1
            print(f"| {name} | {said} | |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
