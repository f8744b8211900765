"""Kills and random calls of `lossless.py`."""

from __future__ import annotations

import hashlib
import os
import pathlib
import random
import shlex
import shutil
from collections.abc import Callable

from box import COUNT, LENGTH, LINES, PAIRS, Box, Failure


def kills(boxes: Callable[[], Box], n: int, seed: int) -> None:
    """Kills runs at random moments: the file that was there is whole, or its successor is gone on with."""
    moments = random.Random(seed)
    scenes = [infer_scene(out, link, flags) for out in ["o", "o.gz"] for link in [False, True]
              for flags in ["", "--overwrite"]]  # fmt: skip
    scenes += [compare_scene, train_scene(""), train_scene("--overwrite")]
    counts: dict[str, int] = {}
    for i in range(n):
        scene = scenes[i % len(scenes)]
        box = boxes()
        try:
            kind = scene(box, moments)
        except Failure as failure:
            raise Failure(f"kill {i} (seed {seed}), {scene.__name__}: {failure}") from failure
        counts[kind] = counts.get(kind, 0) + 1
    print("kills: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())), flush=True)


def knife(box: Box, command: str, seconds: float) -> bool:
    """Whether the command was killed after so long."""
    return box.shell(f"timeout -s KILL {seconds:.3f} cajole {command}").returncode == 137


def infer_scene(out: str, link: bool, flags: str) -> Callable[[Box, random.Random], str]:
    def scene(box: Box, moments: random.Random) -> str:
        box.write(f=LINES * 150, r7__toml=COUNT, r9__toml=LENGTH)
        name = "l.gz" if link and out.endswith(".gz") else "l" if link else out
        if link:
            os.symlink(out, box.at / name)
        new = f"infer f --constraint r9.toml --no-times --out {name}"
        box.fine("cajole infer f --constraint r9.toml --no-times --out whole" + (".gz" if "gz" in out else ""))
        whole = (box.at / ("whole.gz" if "gz" in out else "whole")).read_bytes()
        before = None
        if flags:
            box.fine(f"cajole infer f --constraint r7.toml --no-times --out {name}")
            before = (box.at / out).read_bytes()
        if not knife(box, f"{new} {flags}", moments.uniform(0.005, 0.5)):
            return "came to their end"
        now = (box.at / out).read_bytes() if (box.at / out).exists() else None
        if now is None or now == before:
            if now != before:
                raise Failure("the old output is gone")
            return "left what was there"
        if not (box.at / f"{out}.run.json").exists() and now:
            raise Failure(f"{len(now)} bytes without a note")
        box.fine(f"cajole {new} --resume")
        if (box.at / out).read_bytes() != whole:
            raise Failure("other bytes after resuming")
        return "were gone on with"

    scene.__name__ = f"infer {out} link={link} {flags}"
    return scene


def compare_scene(box: Box, moments: random.Random) -> str:
    box.write(f="azbz\nbzazaz\n", count__toml=COUNT, r9__toml=LENGTH)
    compare = "compare f --engines gbi,beam --out q"
    box.fine(f"cajole {compare} --constraint r9.toml")
    names = ["compare.json", "compare.md", "compare.html"]
    before = [(box.at / "q" / name).read_bytes() for name in names]
    killed = knife(box, f"{compare} --constraint count.toml --overwrite", moments.uniform(0.005, 0.3))
    for name, old in zip(names, before):
        now = (box.at / "q" / name).read_bytes()
        is_whole = now.rstrip().endswith({"json": b"}", "html": b"</html>"}.get(name.split(".")[1], b""))
        if now != old and (not now or not is_whole):
            raise Failure(f"q/{name} is a part")
    box.fine(f"cajole {compare} --constraint count.toml --overwrite")
    left = set(os.listdir(box.at / "q")) - set(names)
    if any(not name.endswith(".partial") for name in left):
        raise Failure(f"left {left}")
    return "left a whole report" if killed else "came to their end"


def train_scene(flags: str) -> Callable[[Box, random.Random], str]:
    def scene(box: Box, moments: random.Random) -> str:
        box.write(pairs=PAIRS, f=PAIRS)
        train = "train pairs --train pairs --dev pairs --set training.epochs=4"
        if flags:
            box.fine(f"cajole {train} --seed 7 --out net")
        box.fine(f"cajole {train} --out whole")
        before = {p.name: p.read_bytes() for p in (box.at / "net").glob("*")} if flags else {}
        if not knife(box, f"{train} --out net {flags}", moments.uniform(0.005, 1.0)):
            return "came to their end"
        now = {p.name: p.read_bytes() for p in (box.at / "net").glob("*") if not p.name.endswith(".partial")}
        if any(name not in now for name in before):
            raise Failure("a file of the old checkpoint is gone")
        if now == before:
            return "left what was there"
        box.fine(f"cajole {train} --out net")
        for path in (box.at / "whole").iterdir():
            if (box.at / "net" / path.name).read_bytes() != path.read_bytes():
                raise Failure(f"other bytes in {path.name} after going on")
        return "were gone on with"

    scene.__name__ = f"train {flags}"
    return scene


# Random calls.

SUBCOMMANDS = {"import": ["allennlp", "torch"], "generate": ["expressions"]}
TASKS = {"train": ["transduction", "parsing", "srl", "pairs"], "reproduce": ["transduction", "parsing", "srl"]}


def flags_of(box: Box, command: list[str]) -> list[tuple[str, str]]:
    """The flags of a command and the names of their values, as its help lists them."""
    said = box.fine("cajole " + " ".join([*command, "--help"]))
    found = []
    for line in said.splitlines():
        words = line.split()
        for i, word in enumerate(words[:2]):
            if word.startswith("--") and line.startswith("  "):
                value = words[i + 1] if i + 1 < len(words) and words[i + 1].startswith(("<", "[")) else ""
                found.append((word, value))
    return found


def random_calls(boxes: Callable[[], Box], n: int, seed: int) -> None:
    """Calls commands with random flags: no panic, and nothing changes but what --out names."""
    pick, box = random.Random(seed), boxes()
    fill(box)
    commands = [[c] for c in ["infer", "parse", "tag", "compare", "lint", "explain", "eval", "evalb", "srl-eval"]]
    commands += [[c, s] for c, subs in SUBCOMMANDS.items() for s in subs]
    commands += [[c, t] for c, tasks in TASKS.items() for t in tasks]
    known = {tuple(c): flags_of(box, c[:1] if c[0] in TASKS else c) for c in commands}
    codes: dict[int, int] = {}
    for i in range(n):
        command = pick.choice(commands)
        call, out = random_call(pick, command, known[tuple(command)])
        before = stamp(box)
        text = shlex.join(["timeout", "-s", "KILL", "8", "cajole", *call])
        ran = box.shell(f"{text} < /dev/null", seconds=30)
        codes[ran.returncode] = codes.get(ran.returncode, 0) + 1
        changed = {name for name, was in before.items() if stamp_of(box.at / name) != was}
        lost = {name for name in changed if not may_change(name, out, command, call)}
        if lost:
            raise Failure(f"call {i} (seed {seed}): {text}: changed {sorted(lost)}: {ran.stderr.decode()[-300:]}")
        if changed or i % 50 == 0:
            shutil.rmtree(box.at)
            box.at.mkdir()
            fill(box)
    print(f"random calls: {n}, by exit code: {dict(sorted(codes.items()))}", flush=True)


def fill(box: Box) -> None:
    """Files of all kinds, some of them where outputs might go."""
    box.write(lines=LINES, words="Dogs bark .\n", pairs=PAIRS, count__toml=COUNT, README__md="mine", empty="",
              trees="(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))\n", bad__toml="x = ", d___config__json="{}",
              d___training__json=PAIRS, d___report__md="mine", d___compare__json=LINES)  # fmt: skip
    box.put("done.run.json", "{}")
    box.put("done", '{"line":1,"status":"satisfied"}\n')
    os.symlink("done", box.at / "link")


VALUES = ["0", "1", "3", "-1", "1e9", "x", "", "lines", "words", "pairs", "count.toml", "bad.toml", "empty", "d", "absent",
          "gbi", "beam", "masked", "best", "paper", "small", "parser", "tagger", "transducer", "expressions", "nan",
          "schedule.step-size=0.1", "training.epochs=1", "none", "all", "json", "/dev/null", "2..=4"]  # fmt: skip
OUTS = ["lines", "words", "count.toml", "README.md", "done", "link", "d", "new", "newd/x", ".", "d/config.json", "x.gz",
        "pairs", "empty", "d/training.json"]  # fmt: skip


def random_call(pick: random.Random, command: list[str], flags: list[tuple[str, str]]) -> tuple[list[str], str | None]:
    call, out = list(command), None
    for _ in range(pick.choice([0, 1, 1, 2])):
        call.append(pick.choice(VALUES[7:15]))
    for flag, value in pick.sample(flags, min(len(flags), pick.choice([0, 1, 2, 3, 4, 6]))):
        if flag in ("--help", "--version"):
            continue
        call.append(flag)
        if flag == "--out":
            out = pick.choice(OUTS)
            call.append(out)
        elif value:
            call.append(pick.choice(VALUES))
    if "--out" in (flag for flag, _ in flags) and out is None and pick.random() < 0.5:
        out = pick.choice(OUTS)
        call += ["--out", out]
    return call, out


def stamp_of(path: pathlib.Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def stamp(box: Box) -> dict[str, str | None]:
    return {str(p.relative_to(box.at)): stamp_of(p) for p in box.at.rglob("*") if p.is_file()}


def may_change(name: str, out: str | None, command: list[str], call: list[str]) -> bool:
    """Whether a file that was there may have changed: only with --overwrite, where --out names it, and
    never if the call names it elsewhere, too."""
    if out is None or "--overwrite" not in call:
        return False
    named = [*call[: call.index("--out")], *call[call.index("--out") + 2 :]]
    if name in named or (name == "done" and "link" in named) or (name == "link" and "done" in named):
        return False
    target = "done" if out == "link" else out
    names = {target, target + ".run.json", *(["link"] if target == "done" else [])}
    is_folder = command[0] in ("train", "compare", "reproduce", "import")
    return name in names or (is_folder and (target == "." or name.startswith(target + "/")))
