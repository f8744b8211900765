"""Cases of the golden run, and the folders in which they run."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGEST = 3600


@dataclasses.dataclass
class Setting:
    """Common to all cases."""

    at: pathlib.Path
    cajole: pathlib.Path
    python: str | None
    data: pathlib.Path | None
    folders: pathlib.Path | None


@dataclasses.dataclass
class Answer:
    """The streams, exit code and files that one command leaves, or the answer to one request."""

    command: str
    stdout: bytes
    stderr: bytes = b""
    status: str = "0"
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)

    def write(self, at: pathlib.Path) -> None:
        at.mkdir(parents=True, exist_ok=True)
        streams = {"stdout": self.stdout, "stderr": self.stderr, "status": f"{self.status}\n".encode()}
        for name, content in {"command": f"{self.command}\n".encode(), **streams}.items():
            (at / name).write_bytes(content)
        for name, content in self.files.items():
            path = at / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


class Box:
    """A folder in which a case runs: inputs and the repository's folders are linked into it."""

    def __init__(self, setting: Setting, at: pathlib.Path) -> None:
        self.setting, self.at = setting, at
        at.mkdir()
        links = {"in": setting.at / "in", "data": setting.data, "folders": setting.folders}
        links |= {name: ROOT / name for name in ("rules", "nets", "models")}
        for name, target in links.items():
            if target is not None:
                (at / name).symlink_to(target.resolve())

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
        path = f"{self.setting.cajole.parent}:{os.environ['PATH']}"
        own = {"PATH": path, "HOME": str(self.at), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        return {**kept, **own, "PYTHON": self.setting.python or "", "TOKENIZERS_PARALLELISM": "false"}

    def shell(self, line: str) -> Answer:
        """Runs a line of shell, with `cajole` in it."""
        ran = subprocess.run(
            ["bash", "-c", line], cwd=self.at, env=self.environment(), capture_output=True,
            stdin=subprocess.DEVNULL, timeout=LONGEST,
        )  # fmt: skip
        return Answer(line, ran.stdout, ran.stderr, str(ran.returncode), self.files())

    def files(self) -> dict[str, bytes]:
        """The files that were written, without those that are linked."""
        found = {}
        for folder, folders, names in os.walk(self.at):
            folders.sort()
            for name in sorted(names):
                path = pathlib.Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    found[str(path.relative_to(self.at))] = path.read_bytes()
        return found


@dataclasses.dataclass
class Case:
    """A name, what runs, and what it needs. It gives one answer or several, by name."""

    name: str
    of: Callable[[Box], dict[str, Answer]]
    needs: tuple[str, ...] = ()
    seconds: float = 1.0
    """About how long it takes."""
    twin: str = ""
    """The case that must have the same output and files."""


CASES: list[Case] = []


def shell(name: str, line: str, needs: tuple[str, ...] = (), seconds: float = 1.0, twin: str = "") -> None:
    """A case that is a line of shell."""
    CASES.append(Case(name, lambda box: {"": box.shell(line)}, needs, seconds, twin))


def answers(
    name: str, needs: tuple[str, ...] = (), seconds: float = 1.0
) -> Callable[[Callable[[Box], dict[str, Answer]]], Callable[[Box], dict[str, Answer]]]:
    """A case that asks several questions."""

    def add(of: Callable[[Box], dict[str, Answer]]) -> Callable[[Box], dict[str, Answer]]:
        CASES.append(Case(name, of, needs, seconds))
        return of

    return add
