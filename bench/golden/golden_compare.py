"""Compares two recordings."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

from golden_box import Case

STREAMS = ("status", "stdout", "stderr")
SHOWN = 300


def cases_of(at: pathlib.Path) -> dict[str, pathlib.Path]:
    found = [path for path in sorted(at.rglob("status")) if path.is_file() and (path.parent / "stdout").is_file()]
    return {str(path.parent.relative_to(at)): path.parent for path in found}


def contents(at: pathlib.Path) -> dict[str, bytes]:
    """Streams and files of a case."""
    found = {name: (at / name).read_bytes() for name in STREAMS if (at / name).is_file()}
    for path in sorted((at / "files").rglob("*")):
        if path.is_file():
            found[str(path.relative_to(at))] = path.read_bytes()
    return found


def around(line: str, other: str) -> str:
    """The part of a line where it begins to differ from another."""
    same = next((i for i, (a, b) in enumerate(zip(line, other)) if a != b), min(len(line), len(other)))
    start = max(0, same - SHOWN // 3)
    part = line[start : start + SHOWN]
    return ("…" if start else "") + part + ("…" if start + SHOWN < len(line) else "")


def first_difference(old: bytes, new: bytes) -> list[str]:
    """The first line that differs, from both sides."""
    a, b = old.decode(errors="backslashreplace").split("\n"), new.decode(errors="backslashreplace").split("\n")
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    sides = [side[at] if at < len(side) else None for side in (a, b)]
    said = []
    for mark, line, other in (("-", sides[0], sides[1]), ("+", sides[1], sides[0])):
        said.append(f"    {mark} {'(the end)' if line is None else around(line, other or '')}")
    return [f"line {at + 1}", *said]


def differences(old: dict[str, bytes], new: dict[str, bytes]) -> list[str]:
    said = []
    for name in sorted({*old, *new}, key=lambda name: (name not in STREAMS, name)):
        if name not in new:
            said.append(f"  {name}: gone")
        elif name not in old:
            said.append(f"  {name}: new")
        elif old[name] != new[name]:
            at, *sides = first_difference(old[name], new[name])
            said += [f"  {name}, {at}", *sides]
    return said


def compare(old: pathlib.Path, new: pathlib.Path) -> int:
    """Says which cases differ, and where first; 1 if any does."""
    before, after = cases_of(old), cases_of(new)
    differing = 0
    for name in sorted({*before, *after}):
        if name not in after or name not in before:
            said = ["  only in " + str(old if name in before else new)]
        else:
            said = differences(contents(before[name]), contents(after[name]))
        if said:
            differing += 1
            asked = [(at[name] / "command").read_text().strip() for at in (before, after) if name in at]
            asked = asked[:1] if len(set(asked)) == 1 else [f"{asked[0]}, then {asked[1]}"]
            print(f"{name}: {asked[0]}", *said, sep="\n")
    print(f"{len({*before, *after})} cases, {differing} differ")
    return 1 if differing or not before else 0


def twins(out: pathlib.Path, cases: Iterable[Case]) -> int:
    """Compares cases of one recording that must not differ; 1 if some do."""
    recorded, differing = cases_of(out), 0
    for case in cases:
        if not case.twin or case.name not in recorded or case.twin not in recorded:
            continue
        said = differences(contents(recorded[case.twin]), contents(recorded[case.name]))
        if said:
            differing += 1
            print(f"{case.name} differs from {case.twin}:", *said, sep="\n")
    return 1 if differing else 0
