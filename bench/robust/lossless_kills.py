"""Kills and random calls of `lossless.py`."""

from __future__ import annotations

import hashlib
import os
import random
import re
import shlex
import shutil
import time
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


def seconds_of(box: Box, command: str) -> float:
    """How long a command takes that nobody kills."""
    start = time.monotonic()
    box.fine(f"cajole {command}")
    return time.monotonic() - start


def knife(box: Box, command: str, seconds: float) -> bool:
    """Whether the command was killed after so long."""
    # A shell tells of a signal as 128 and its number; without a shell it is minus the number.
    return box.shell(f"timeout -s KILL {max(seconds, 0.002):.3f} cajole {command}").returncode in (137, -9)


def infer_scene(out: str, link: bool, flags: str) -> Callable[[Box, random.Random], str]:
    def scene(box: Box, moments: random.Random) -> str:
        box.write(f=LINES * 150, r7__toml=COUNT, r9__toml=LENGTH)
        name = "l.gz" if link and out.endswith(".gz") else "l" if link else out
        if link:
            os.symlink(out, box.at / name)
        new = f"infer f --constraint r9.toml --no-times --out {name}"
        whole_name = "whole.gz" if "gz" in out else "whole"
        longest = seconds_of(box, f"infer f --constraint r9.toml --no-times --out {whole_name}")
        whole = (box.at / whole_name).read_bytes()
        before = None
        if flags:
            box.fine(f"cajole infer f --constraint r7.toml --no-times --out {name}")
            before = (box.at / out).read_bytes()
        if not knife(box, f"{new} {flags}", moments.uniform(0, longest)):
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
    longest = seconds_of(box, f"{compare} --constraint r9.toml")
    names = ["compare.json", "compare.md", "compare.html"]
    before = [(box.at / "q" / name).read_bytes() for name in names]
    killed = knife(box, f"{compare} --constraint count.toml --overwrite", moments.uniform(0, longest))
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
        longest = seconds_of(box, f"{train} --out whole")
        before = {p.name: p.read_bytes() for p in (box.at / "net").glob("*")} if flags else {}
        if not knife(box, f"{train} --out net {flags}", moments.uniform(0, longest)):
            return "came to their end"
        now = {p.name: p.read_bytes() for p in (box.at / "net").glob("*") if not p.name.endswith(".partial")}
        if any(name not in now for name in before):
            raise Failure("a file of the old checkpoint is gone")
        if now == before:
            return "left what was there"
        is_unfinished = "training.json" in now
        if is_unfinished:
            box.fine(f"cajole {train} --out net")
        for path in (box.at / "whole").iterdir():
            if (box.at / "net" / path.name).read_bytes() != path.read_bytes():
                raise Failure(f"other bytes in {path.name} after going on")
        return "were gone on with" if is_unfinished else "had finished"

    scene.__name__ = f"train {flags}"
    return scene


# Random calls.

SUBCOMMANDS = {"import": ["allennlp", "torch"], "generate": ["expressions"]}
TASKS = {"train": ["transduction", "parsing", "srl", "pairs"], "reproduce": ["transduction", "parsing", "srl"]}

NUMBERS = ["0", "1", "2", "3", "7", "64", "-1", "1e9", "99999999999999999999", "x"]
FILES = ["lines", "words", "pairs", "count.toml", "bad.toml", "empty", "trees", "done", "link", "README.md", "absent",
         "d/training.json", "d", "-", "/dev/null"]  # fmt: skip
FOLDERS = ["d", "absent", "lines", "."]
MODELS = ["transducer", "parser", "tagger", "expressions", "d", "absent"]
SETTINGS = [
    "schedule.step-size=0.1",
    "schedule.max-steps=2",
    "training.epochs=1",
    "nonsense=1",
    "x",
    "network.hidden=3",
]
ENGINES = ["usual", "gbi", "beam", "masked", "auto", "network", "gbi,beam", "nonsense"]
OUTS = ["lines", "words", "count.toml", "README.md", "done", "link", "d", "new", "newd/x", ".", "d/config.json", "x.gz",
        "pairs", "empty", "d/training.json", "report", "-"]  # fmt: skip
INPUTS: dict[str, list[list[str]]] = {"lint": [["count.toml", "gold"], ["bad.toml", "gold"]], "explain": [["azbz"], ["Dogs bark ."], []],
          "evalb": [["trees", "trees"], ["trees", "empty"]], "srl-eval": [["words", "words"]], "eval": [["gold"], []],
          "parse": [["words"], ["words", "words"], ["empty"]], "tag": [["words"], ["words", "words"], ["gold"]],
          "import": [["d"], ["lines"]], "train": [[]], "reproduce": [[]], "generate": [[]]}  # fmt: skip


def flags_of(box: Box, command: list[str]) -> list[tuple[str, list[str]]]:
    """The flags of a command, each with values to try, as its help lists them."""
    found: list[tuple[str, list[str]]] = []
    for line in box.fine("cajole " + " ".join([*command, "-h"])).splitlines():
        flag = re.match(r"\s+(?:-\w, )?(--[a-z-]+)(?:[ =]<([^>]+)>)?(.*)", line)
        if not flag or flag[1] in ("--help", "--version"):
            continue
        known = re.search(r"\[possible values: ([^\]]+)\]", flag[3])
        found.append((flag[1], known[1].split(", ") if known else values_of(flag[1], flag[2])))
    return found


def values_of(flag: str, name: str | None) -> list[str]:
    if flag == "--out":
        return OUTS
    if name is None:
        return []
    kinds = {"N": NUMBERS, "FILE": FILES, "FOLDER": FOLDERS, "NAME|FOLDER": MODELS, "KEY=VALUE": SETTINGS}
    return kinds.get(name, ENGINES if "engine" in flag else [*FILES, *ENGINES, *NUMBERS, "best", "2..=4"])


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
        text = shlex.join(["timeout", "-s", "KILL", "1", "cajole", *call])
        ran = box.shell(f"{text} < {'lines' if '-' in call else '/dev/null'}", seconds=30)
        codes[ran.returncode] = codes.get(ran.returncode, 0) + 1
        now = stamp(box)
        changed = {name for name, was in before.items() if now.get(name) != was}
        lost = {name for name in changed if not may_change(name, out, command, call)}
        if lost:
            raise Failure(f"call {i} (seed {seed}): {text}: changed {sorted(lost)}: {ran.stderr.decode()[-300:]}")
        if len(now) != len(before) or changed:
            shutil.rmtree(box.at)
            box.at.mkdir()
            fill(box)
    print(f"random calls: {n}, by exit code: {dict(sorted(codes.items()))}", flush=True)


def fill(box: Box) -> None:
    """Files of all kinds, some of them where outputs might go."""
    box.write(lines=LINES, words="Dogs bark .\n", pairs=PAIRS, count__toml=COUNT, README__md="mine", empty="",
              gold='{"input": "azbz", "output": "aaazb"}\n',
              trees="(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))\n", bad__toml="x = ", d___config__json="{}",
              d___training__json=PAIRS, d___report__md="mine", d___compare__json=LINES)  # fmt: skip
    box.put("done.run.json", "{}")
    box.put("done", '{"line":1,"status":"satisfied"}\n')
    os.symlink("done", box.at / "link")


def random_call(
    pick: random.Random, command: list[str], flags: list[tuple[str, list[str]]]
) -> tuple[list[str], str | None]:
    """A call that is likely to be understood, and where it writes to."""
    call, out = list(command), None
    call += pick.choice(INPUTS.get(command[0], [["lines"], ["lines"], ["-"], ["done"], ["empty"], ["absent"]]))
    if command == ["train", "pairs"]:
        call += ["--train", pick.choice(["pairs", "d/training.json"]), "--dev", "pairs", "--set", "training.epochs=1"]
    by_name = dict(flags)
    chosen = pick.sample(flags, min(len(flags), pick.choice([0, 1, 1, 2, 2, 3])))
    if "--out" in by_name and pick.random() < 0.7:
        chosen = [(flag, values) for flag, values in chosen if flag != "--out"] + [("--out", by_name["--out"])]
        more = [flag for flag in ["--overwrite", "--resume"] if flag in by_name]
        if more and pick.random() < 0.6:
            chosen.append((pick.choice(more), []))
    for flag, values in chosen:
        if flag in call:
            continue
        call.append(flag)
        if values:
            # Half of the time, one of the first: these are meant well.
            call.append(pick.choice(values[:5] if pick.random() < 0.5 else values))
        if flag == "--out":
            out = call[-1]
    return call, out


def stamp(box: Box) -> dict[str, str]:
    files = (path for path in box.at.rglob("*") if path.is_file())
    return {str(p.relative_to(box.at)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def may_change(name: str, out: str | None, command: list[str], call: list[str]) -> bool:
    """Whether a file that was there may have changed: only with --overwrite, where --out names it, and
    never if the call names it elsewhere, too."""
    if out is not None and "--resume" in call and name == out == "empty":
        return True  # it has nothing to lose
    if out is None or "--overwrite" not in call:
        return False
    named = [*call[: call.index("--out")], *call[call.index("--out") + 2 :]]
    if name in named or (name == "done" and "link" in named) or (name == "link" and "done" in named):
        return False
    target = "done" if out == "link" else out
    if name == "lines" and "-" in named:
        return False  # it is standard input
    names = {target, target + ".run.json", *(["link"] if target == "done" else [])}
    is_folder = command[0] in ("train", "compare", "reproduce", "import")
    return name in names or (is_folder and (target == "." or name.startswith(target + "/")))
