"""More cases of `lossless.py`: what commands might do to files of their users, and what Python writes."""

from __future__ import annotations

import os
import pathlib
import shlex

from box import COUNT, LINES, PAIRS, Box, Failure, case


@case
def imports_never_replace_what_they_read(box: Box) -> None:
    for name in ["config.json", "weights.th", "vocabulary/labels.txt"]:
        box.put(f"d/{name}", "{}")
    box.put("m/mapping.toml", "x = 1\n")
    box.remember()
    for flags in ["", "--overwrite"]:
        box.refused(f"cajole import allennlp d --out d {flags}")
        box.refused(f"cajole import torch m/mapping.toml --mapping m/mapping.toml --out m {flags}")
    box.intact()


@case
def an_experiment_never_replaces_a_report(box: Box) -> None:
    box.put("report/report.md", "my own")
    box.put("report/settings.json", "my own")
    box.remember()
    box.refused("cajole reproduce transduction --set training.epochs=1", "report.md exists, and would be replaced")
    box.refused("cajole reproduce parsing --quick", "report.md exists")
    box.intact()


@case
def an_experiment_never_replaces_its_settings(box: Box) -> None:
    config = pathlib.Path(__file__).resolve().parents[2] / "crates/cajole-experiments/configs/transduction.toml"
    if config.exists():
        box.put("report/report.json", config.read_text())
        box.remember()
        box.refused("cajole reproduce transduction --config report/report.json --overwrite", "is the same file as")
        box.intact()


@case
def measured_results_of_others_are_kept(box: Box) -> None:
    box.put("report/measured/settings.json", "my own")
    box.remember()
    box.refused("cajole reproduce parsing --quick", "settings.json")
    box.intact()


@case
def hard_links_are_the_same_file(box: Box) -> None:
    box.write(f=LINES, count__toml=COUNT)
    os.link(box.at / "f", box.at / "h")
    os.symlink("f", box.at / "s")
    os.symlink("s", box.at / "t")
    box.remember()
    for out in ["f", "h", "s", "t", "./f", "../" + box.at.name + "/f"]:
        for flags in ["", "--overwrite", "--resume"]:
            box.refused(f"cajole infer f --out {out} {flags}")
    os.link(box.at / "count.toml", box.at / "r.run.json")
    box.remember()
    box.refused("cajole infer f --constraint count.toml --out r --overwrite", "is the same file as")
    box.intact()


@case
def a_link_that_leads_nowhere_makes_its_file(box: Box) -> None:
    box.write(f=LINES)
    (box.at / "d").mkdir()
    box.hand_over()
    os.symlink("d/new", box.at / "l")
    box.fine("cajole infer f --out l")
    if not (box.at / "d/new").is_file() or not (box.at / "l").is_symlink():
        raise Failure("the link was replaced")
    os.symlink("c", box.at / "c")
    box.refused("cajole infer f --out c")


@case
def what_is_no_file_is_no_output(box: Box) -> None:
    box.write(f=LINES)
    (box.at / "d").mkdir()
    os.mkfifo(box.at / "p")
    for out in ["d", "p", "/dev/null", "/dev/full", "/dev/zero", ".", "nowhere/o", "f/o", "''"]:
        for flags in ["", "--overwrite"]:
            box.refused(f"cajole infer f --out {out} {flags}", seconds=20)
    if pathlib.Path("/dev/null.run.json").exists():
        raise Failure("there is a note beside a device")


@case
def permissions_stay(box: Box) -> None:
    box.write(f=LINES, count__toml=COUNT)
    box.fine("cajole infer f --out o; chmod 600 o o.run.json")
    box.fine("cajole compare f --constraint count.toml --engines gbi --out q; chmod 640 q/*")
    box.fine("cajole infer f --out o --overwrite")
    box.fine("cajole compare f --constraint count.toml --engines gbi --out q --overwrite")
    modes = [oct((box.at / name).stat().st_mode & 0o777) for name in ["o", "o.run.json", "q/compare.md"]]
    if modes != ["0o600", "0o600", "0o640"]:
        raise Failure(f"{modes}")


@case
def a_refused_run_leaves_nothing(box: Box) -> None:
    box.write(f=LINES, bad__toml="pattern = '('\n", count__toml=COUNT)
    box.remember()
    for command in [
        "infer f --constraint bad.toml --out o",
        "infer f --set nonsense=1 --out o",
        "infer absent --out o",
        "infer f --model absent --out o",
        "infer f --out o/o",
        "parse f f --out o",
        "compare f --constraint bad.toml --out q",
        "compare absent --constraint count.toml --out q",
        "train pairs --train absent --dev absent --out q",
        "import torch absent --mapping absent --out q",
    ]:
        box.refused(f"cajole {command}")
        if set(box.files()) != set(box.was):
            raise Failure(f"{command} left {set(box.files()) - set(box.was)}")


@case
def two_runs_do_not_share_an_output(box: Box) -> None:
    box.write(f=LINES)
    os.symlink("o", box.at / "l")
    box.fine(
        "mkfifo p; cajole infer --out o < p & exec 9> p; echo az >&9; while ! [ -e o.run.json ]; do sleep 0.05; done;"
        " for out in o l ./o; do cajole infer f --out $out --overwrite 2> said && exit 9;"
        " grep -q 'is being written by another run' said || exit 8; done; exec 9>&-; wait"
    )


@case
def a_full_disk_loses_nothing(box: Box) -> None:
    if box.user is not None or os.geteuid() != 0:
        return
    box.write(f=LINES * 400)
    (box.at / "small").mkdir()
    if box.shell("mount -t tmpfs -o size=96k tmpfs small").returncode:
        return  # mounting is not allowed here
    try:
        box.refused("cajole infer f --no-times --out small/o", "No space left")
        box.fine("mount -o remount,size=8m small")
        box.fine("cajole infer f --no-times --out small/o --resume")
        box.fine("cajole infer f --no-times --out whole; cmp small/o whole")
        box.write(pairs=PAIRS)
        box.fine("mount -o remount,size=4m small; head -c 4m /dev/zero > small/fill; true")
        ran = box.shell("cajole train pairs --train pairs --dev pairs --set training.epochs=2 --out small/t")
        if ran.returncode == 0 or b"remove" in ran.stderr:
            raise Failure(f"what to do is wrong: {ran.stderr.decode()}")
    finally:
        box.shell("umount small")


# Through Python.


@case
def python_writes_by_the_same_rules(box: Box) -> None:
    if not box.python:
        return
    box.write(f=LINES, out="precious", read="read")
    box.put("whole.py", """
import sys
from cajole._native import WholeFile
out, overwrite = sys.argv[1], sys.argv[2] == "True"
file = WholeFile(out, reads=["read", "f"], overwrite=overwrite)
file.write(b"new")
if sys.argv[3:] == ["crash"]: sys.exit(3)
file.finish()
""")  # fmt: skip
    box.remember()
    whole = f"{shlex.quote(box.python)} whole.py"
    box.refused(f"{whole} out False", "exists, and would be replaced")
    for overwrite in [True, False]:
        box.refused(f"{whole} read {overwrite}", "read")
        box.refused(f"{whole} new {overwrite} crash")
    box.refused(f"{whole} out True crash")
    box.intact()
    if set(box.files()) != set(box.was):
        raise Failure(f"left {set(box.files()) - set(box.was)}")
    box.fine(f"{whole} out True && {whole} new False")
    if box.read("out") != "new" or box.read("new") != "new":
        raise Failure("it is not written")


@case
def ray_writes_by_the_same_rules(box: Box) -> None:
    if not box.python or box.shell(f"{shlex.quote(box.python)} -c 'import ray.data'").returncode:
        return
    box.write(f=LINES, count__toml=COUNT, out="precious", out__partial="mine")
    box.remember()
    ray = f"{shlex.quote(box.python)} -m cajole.ray f --constraint count.toml"
    box.refused(f"{ray} --out out", "exists")
    for out in ["f", "count.toml"]:
        box.refused(f"{ray} --out {out} --overwrite", "is the same file as")
    box.intact()
    box.put("e.ebnf", 'e = { "a" | "z" | "b" } ;')
    box.put("g.toml", 'grammar-file = "e.ebnf"\n')
    box.remember()
    grammar = ray.replace("count.toml", "g.toml")
    box.refused(f"{grammar} --out e.ebnf --overwrite", "is the same file as")
    box.intact()
    box.fine(f"{ray} --out out --overwrite", seconds=120)
    box.intact("f", "count.toml", "out.partial")
