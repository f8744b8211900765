"""Takes out of answers what varies from run to run: times, paths, ports, process ids, versions."""

from __future__ import annotations

import gzip
import hashlib
import json
import pathlib
import re
from typing import Any

from golden_box import ROOT, Answer, Setting

TIMES = ("ms", "seconds", "minutes", "cost")
"""Headers of columns with times, or with ratios of times."""
RATIOS = ("A*", "exact MAP", "paper 10", "paper 30", "best 10", "small")
"""Headers of columns with ratios of times, in tables that also have times."""
COST = "cost of a repair"
"""The axis of plots, and of tables made of these, in which everything depends on times."""

PATTERNS = [
    (re.compile(r"""(["'])(milliseconds|seconds|minutes|elapsed|viterbi_ms|repair_cost)\1:(\s*)-?[\d.]+(?:e[-+]?\d+)?"""), r"\1\2\1:\3\1T\1"),
    (re.compile(r"^\d+ s\.$", re.M), "T s."),
    (re.compile(r"\b\d+\.\d+ (s|ms|seconds|minutes|min)\b"), r"T \1"),
    (re.compile(r"\b(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}\b"), r"\1:PORT"),
    (re.compile(r'("version of cajole": )"[^"]*"'), r'\1"VERSION"'),
    (re.compile(r"\b(cajole[ /])\d+\.\d+\.\d+\S*"), r"\1VERSION"),
    (re.compile(r'("(?:version|commit|cajole)": ?)"\d[^"]*"'), r'\1"VERSION"'),
    (re.compile(r'("timestamp":)"[^"]*"'), r'\1"T"'),
    (re.compile(r"\b(pid|process) \d+"), r"\1 PID"),
    (re.compile(r"(golden_\w+\.py):\d+"), r"\1:LINE"),
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


def timed(names: list[str]) -> list[int]:
    """The numbers of the columns to leave out."""
    names = [name.replace("\\", "") for name in names]
    if not any(name in TIMES for name in names):
        return []
    return [i for i, name in enumerate(names) if name in TIMES or name in RATIOS]


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
        text = re.sub(r"<figure>.*?</figure>", lambda found: "" if COST in found[0] else found[0], text, flags=re.S)
        text = re.sub(r"<table.*?</table>", lambda found: html_table(found[0]), text, flags=re.S)
    return plain_tables(text)


def of_report(value: Any) -> Any:
    """A report without the columns of its tables that are times."""
    if isinstance(value, list):
        return [of_report(part) for part in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("plots"), list):
        plots = [plot for plot in value["plots"] if not plot["x"]["label"].startswith(COST)]
        value = {**value, "plots": plots}
    header = value.get("header")
    if isinstance(header, list) and isinstance(value.get("rows"), list):
        gone = timed(header)
        kept = [i for i in range(len(header)) if i not in gone]
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
            gone.update(timed([one[2] for one in cells]))
        text = found[0]
        for i in sorted(gone, reverse=True):
            if i < len(cells):
                text = text[: cells[i].start()] + text[cells[i].end() :]
        return text

    return re.sub(r"<tr>.*?</tr>", row, table, flags=re.S)


def squeezed(block: str) -> str:
    """A table whose header takes several lines has only its caption left."""
    lines = block.split("\n")
    rules = [i for i, line in enumerate(lines) if len(line) > 60 and set(line) == {"─"}]
    if len(rules) < 2 or (rules[1] - rules[0] == 2 and "…" not in lines[rules[0] + 1]):
        return block
    return "\n".join([*lines[: rules[0]], "(a squeezed table)"])


def plain_tables(text: str) -> str:
    """Tables of Markdown lose cells, other tables a stretch of every line for each column, or all of it if they are
    squeezed into the width of a screen: widths then depend on times."""
    text = "\n\n".join(squeezed(block) for block in text.split("\n\n"))
    lines: list[str] = []
    cells: list[int] = []
    stretches: list[tuple[int, int]] = []
    cut = False
    for line in text.split("\n"):
        if line.startswith("|") and (cut or COST in line):
            cut = True
            continue
        cut = False
        if line.startswith("| "):
            row = line.split(" | ")
            cells = timed([name.strip("| ") for name in row]) or cells
            kept = [one for i, one in enumerate(row) if i not in cells]
            ended = bool(cells) and line.endswith("|") and not kept[-1].endswith("|")
            line = " | ".join(kept) + (" |" if ended else "")
        else:
            cells = []
            # The text of a column, and the blanks before it.
            columns = [found.span() for found in re.finditer(r"(?<=\S) {2,}\S+(?: \S+)*", line)]
            header = timed([line[start:end].strip() for start, end in columns])
            if header:
                stretches = [columns[i] for i in header]
                if lines and set(lines[-1]) == {"─"}:
                    lines[-1] = "─"
            elif not line.strip():
                stretches = []
            if stretches and set(line) == {"─"}:
                line = "─"
            else:
                for start, end in reversed(stretches):
                    line = line[:start] + line[end:]
                line = line.rstrip() if stretches else line
        lines.append(line)
    return "\n".join(lines)
