"""Takes out of answers what varies from run to run: times, paths, ports, process ids, versions."""

from __future__ import annotations

import gzip
import hashlib
import json
import pathlib
import re
from typing import Any

from golden_box import ROOT, Answer, Setting

TIMES = ("ms", "seconds", "minutes")
"""Headers of columns with times."""

PATTERNS = [
    (re.compile(r"""(["'])((?:mean_)?milliseconds|seconds|minutes|elapsed)\1:(\s*)-?[\d.]+(?:e[-+]?\d+)?"""), r"\1\2\1:\3\1T\1"),
    (re.compile(r"\b\d+\.\d+ (s|ms|seconds|minutes|min)\b"), r"T \1"),
    (re.compile(r"\b(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}\b"), r"\1:PORT"),
    (re.compile(r'("version of cajole": )"[^"]*"'), r'\1"VERSION"'),
    (re.compile(r"\b(cajole[ /])\d+\.\d+\.\d+\S*"), r"\1VERSION"),
    (re.compile(r'("(?:version|commit|cajole)": ?)"\d[^"]*"'), r'\1"VERSION"'),
    (re.compile(r'("timestamp":)"[^"]*"'), r'\1"T"'),
    (re.compile(r"\b(pid|process) \d+"), r"\1 PID"),
    (re.compile(r"/tmp/[\w./-]*"), "TEMP"),
]


class Normal:
    """Paths of this run have names instead."""

    def __init__(self, setting: Setting) -> None:
        places = [("DATA", setting.data), ("FOLDERS", setting.folders), ("ROOT", ROOT), ("TEMP", setting.at)]
        self.places = [(name, path) for name, path in places if path]

    def text(self, text: str, box: pathlib.Path) -> str:
        for name, path in [("BOX", box), *self.places]:
            for form in sorted({str(path), str(path.resolve())}, key=len, reverse=True):
                text = text.replace(form, name) if len(form) > 1 and form.startswith("/") else text
        for pattern, by in PATTERNS:
            text = pattern.sub(by, text)
        return without_times(text)

    def content(self, content: bytes, box: pathlib.Path) -> bytes:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            if content[:2] == b"\x1f\x8b":
                return b"gzipped\n" + self.content(gzip.decompress(content), box)
            return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}\n".encode()
        if "\0" in text:
            return f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}\n".encode()
        return self.text(text, box).encode()

    def answer(self, answer: Answer, box: pathlib.Path) -> Answer:
        files = {name: self.content(content, box) for name, content in answer.files.items()}
        out, err = self.content(answer.stdout, box), self.content(answer.stderr, box)
        return Answer(self.text(answer.command, box), out, err, answer.status, files)


def without_times(text: str) -> str:
    """The text without columns of times, in JSON, HTML, Markdown and plain tables."""
    if not any(re.search(rf"\b{name}\b", text) for name in TIMES):
        return text
    if text.startswith("{") and '"header"' in text:
        try:
            # Numbers stay as they are written.
            report = json.loads(text, parse_float="number {}".format, parse_int="number {}".format)
        except ValueError:
            pass
        else:
            return json.dumps(of_report(report), indent=2, ensure_ascii=False) + "\n"
    if "<table" in text:
        return re.sub(r"<table.*?</table>", lambda found: html_table(found[0]), text, flags=re.S)
    return plain_tables(text)


def of_report(value: Any) -> Any:
    """A report without the columns of its tables that are times."""
    if isinstance(value, list):
        return [of_report(part) for part in value]
    if not isinstance(value, dict):
        return value
    header = value.get("header")
    if isinstance(header, list) and isinstance(value.get("rows"), list):
        kept = [i for i, name in enumerate(header) if name not in TIMES]
        pick = lambda row: [row[i] for i in kept if i < len(row)] if isinstance(row, list) else row
        value = {**value, "header": pick(header), "rows": [pick(row) for row in value["rows"]]}
    return {key: of_report(part) for key, part in value.items()}


def html_table(table: str) -> str:
    cell = re.compile(r"<t([hd])\b[^>]*>(.*?)</t\1>", re.S)
    gone: set[int] = set()

    def row(found: re.Match[str]) -> str:
        cells = list(cell.finditer(found[0]))
        if "<td" not in found[0]:
            gone.clear()
            gone.update(i for i, one in enumerate(cells) if one[2] in TIMES)
        text = found[0]
        for i in sorted(gone, reverse=True):
            if i < len(cells):
                text = text[: cells[i].start()] + text[cells[i].end() :]
        return text

    return re.sub(r"<tr>.*?</tr>", row, table, flags=re.S)


def plain_tables(text: str) -> str:
    """Tables of Markdown lose a cell, other tables a stretch of every line."""
    lines: list[str] = []
    cells: list[int] = []
    stretch: tuple[int, int] | None = None
    for line in text.split("\n"):
        if line.startswith("| "):
            row = line.split(" | ")
            names = [name.strip("| ") for name in row]
            if any(name in TIMES for name in names):
                cells = [i for i, name in enumerate(names) if name in TIMES]
            kept = [one for i, one in enumerate(row) if i not in cells]
            ended = bool(cells) and line.endswith("|") and not kept[-1].endswith("|")
            line = " | ".join(kept) + (" |" if ended else "")
        else:
            cells = []
            found = re.search(rf"(?<=\S)( {{2,}})({'|'.join(TIMES)})(?=  |$)", line)
            if found and "  " in line.strip():
                stretch = found.span()
                if lines and set(lines[-1]) == {"─"}:
                    lines[-1] = "─"
            elif not line.strip():
                stretch = None
            if stretch and set(line) == {"─"}:
                line = "─"
            elif stretch:
                line = (line[: stretch[0]] + line[stretch[1] :]).rstrip()
        lines.append(line)
    return "\n".join(lines)
