"""Cases of `lossless.py`: what commands did to files of their users."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time

from box import COUNT, LENGTH, LINES, PAIRS, Box, Failure, case

# 1: the note of a run.


@case
def a_note_never_replaces_what_is_read(box: Box) -> None:
    box.write(x__run__json=LINES, f=LINES, count__toml=COUNT)
    box.put("rules.run.json", COUNT)
    box.put("e.run.json", 'e = "x" | "(" e ")" ;')
    box.write(g__toml='grammar-file = "e.run.json"\n')
    box.remember()
    for flags in ["", "--overwrite", "--resume"]:
        box.refused(f"cajole infer x.run.json --out x {flags}", "x.run.json is the same file as")
        box.refused(f"cajole infer f --constraint rules.run.json --out rules {flags}", "rules.run.json")
        box.refused(f"cajole infer f --model expressions --constraint g.toml --out e {flags}", "e.run.json")
        box.intact()


@case
def a_foreign_note_is_left_alone(box: Box) -> None:
    box.write(f=LINES, x__run__json='{"my": "own"}', x__run__partial="mine", x__partial="mine")
    box.remember()
    box.refused("cajole infer f --out x", "x.run.json is in the place of the note")
    box.refused("cajole infer f --out x --resume", "x.run.json")
    box.intact()
    box.fine("cajole infer f --out x --overwrite")
    box.intact("f", "x.run.partial", "x.partial")


@case
def a_cut_note_is_damaged_not_missing(box: Box) -> None:
    box.write(f=LINES)
    box.fine("cajole infer f --out x")
    note = box.read("x.run.json")
    box.put("x.run.json", note[: len(note) // 2])
    box.remember()
    box.refused("cajole infer f --out x --resume", "damaged")
    box.intact()
    box.fine("cajole infer f --out x --overwrite")


# 2: train.


@case
def training_never_replaces_what_it_learns_from(box: Box) -> None:
    for name in ["training.json", "vocab.source.txt", "curve.json", "config.json"]:
        box.put(f"d/{name}", PAIRS)
        box.put("d/dev.json", PAIRS)
        box.remember()
        train = f"cajole train pairs --train d/{name} --dev d/dev.json --set training.epochs=1 --out d"
        box.refused(train, f"d/{name}")
        box.refused(f"{train} --overwrite", f"d/{name} is the same file as")
        box.intact()
        shutil.rmtree(box.at / "d")


@case
def training_never_replaces_a_project(box: Box) -> None:
    box.write(README__md="# Mine\n", config__json="{}", pairs=PAIRS)
    box.remember()
    train = "cajole train pairs --train pairs --dev pairs --set training.epochs=1"
    box.refused(f"{train} --out .", "exists, and would be replaced: --overwrite")
    box.refused("cajole train transduction --set training.epochs=1 --out .", "exists, and would be replaced")
    box.intact()
    if len(box.files()) != len(box.was):
        raise Failure("something was written")
    box.fine(f"{train} --out . --overwrite", seconds=120)
    box.intact("pairs")


@case
def training_never_replaces_its_encoder(box: Box) -> None:
    for name in ["config.json", "model.safetensors", "tokenizer.json"]:
        box.put(f"enc/{name}", "{}")
    box.remember()
    for flags in ["", "--overwrite"]:
        box.refused(f"cajole train srl --quick --encoder enc --out enc {flags}")
        box.intact()


@case
def foreign_state_is_not_resumed(box: Box) -> None:
    box.put("net/training.json", "{}")
    box.put("net/training.safetensors", "mine")
    box.remember()
    box.refused("cajole train transduction --set training.epochs=1 --out net", "exists, and would be replaced")
    box.intact()


@case
def other_settings_do_not_touch_a_run(box: Box) -> None:
    box.write(pairs=PAIRS)
    train = "cajole train pairs --train pairs --dev pairs --out net"
    box.shell(f"timeout -s KILL 2 {train} --set training.epochs=4000")
    box.remember()
    if (box.at / "net/training.safetensors").exists():
        box.refused(f"{train} --set training.epochs=3", "training.epochs", "--overwrite")
        box.intact()


# 3: compare.


@case
def a_report_never_replaces_what_is_read(box: Box) -> None:
    for name in ["compare.json", "compare.md", "compare.html"]:
        box.put(f"q/{name}", LINES)
        box.write(f=LINES, count__toml=COUNT)
        box.remember()
        for flags in ["", "--overwrite"]:
            box.refused(f"cajole compare q/{name} --constraint count.toml --out q {flags}", f"q/{name}")
            box.intact()
        box.put(f"q/{name}", COUNT)
        box.remember()
        for flags in ["", "--overwrite"]:
            box.refused(f"cajole compare f --constraint q/{name} --out q {flags}", f"q/{name}")
            box.intact()
        shutil.rmtree(box.at / "q")


@case
def an_edited_report_is_kept(box: Box) -> None:
    box.write(f="azbz\n", count__toml=COUNT)
    compare = "cajole compare f --constraint count.toml --engines gbi --out q"
    box.fine(compare)
    box.put("q/compare.md", box.read("q/compare.md") + "\nmy remarks\n")
    box.remember()
    box.refused(compare, "exists, and would be replaced: --overwrite")
    box.intact()
    box.fine(f"{compare} --overwrite")


# 4: links.


@case
def a_link_is_the_file_that_it_leads_to(box: Box) -> None:
    box.write(f=LINES * 200, r7__toml=COUNT, r9__toml=LENGTH)
    os.symlink("o", box.at / "l")
    box.shell("timeout -s KILL 0.4 cajole infer f --constraint r7.toml --out l")
    box.shell("timeout -s KILL 0.4 cajole infer f --constraint r9.toml --out o --overwrite")
    box.remember()
    if (box.at / "o").stat().st_size:
        box.refused("cajole infer f --constraint r7.toml --out l --resume", "rules")
        box.intact("o")
    box.fine("cajole infer f --constraint r9.toml --out l --resume")
    if (box.at / "l.run.json").exists() or not (box.at / "o.run.json").exists():
        raise Failure("the note is not beside the file that the link leads to")


# 5: everything that can fail is tried first.


@case
def an_output_is_whole_if_its_note_cannot_be_written(box: Box) -> None:
    box.write(f=LINES, o='{"line":1}\n', p='{"line":1}\n')
    (box.at / "o.run.json").mkdir()
    box.remember()
    box.refused("cajole infer f --out o --overwrite", "o.run.json")
    box.intact()
    if box.user:
        (box.at / "ro").mkdir()
        (box.at / "ro/o").write_text("precious\n")
        shutil.chown(box.at / "ro/o", box.user)
        (box.at / "ro").chmod(0o555)
        box.remember()
        box.refused("cajole infer f --out ro/o --overwrite", "ro/o")
        box.intact()


# 6 and 9: standard streams.


@case
def an_output_is_not_standard_output_too(box: Box) -> None:
    box.write(f=LINES)
    box.remember()
    for out in ["/dev/stdout", "g", "/dev/fd/1"]:
        box.refused(f"cajole infer f --out {out} --overwrite > g", "standard output")
    box.refused("cajole infer f --out g --overwrite 2>> g >&2")
    box.intact()


@case
def nothing_reads_what_it_writes(box: Box) -> None:
    box.write(i=LINES, words="Dogs bark .\nMen saw her .\n", count__toml=COUNT)
    box.remember()
    commands = [
        ("infer i >> i", "i"),
        ("infer - < i >> i", "i"),
        ("infer i 2>> i", "i"),
        ("parse words >> words", "words"),
        ("tag words >> words", "words"),
        ("parse - < words >> words", "words"),
        ("compare i --constraint count.toml >> i", "i"),
        ("lint count.toml i --characters >> i", "i"),
    ]
    for command, name in commands:
        ran = box.shell(f"cajole {command}", seconds=20)
        if ran.returncode == 0:
            raise Failure(f"{command}: exit code 0")
        now = (box.at / name).read_bytes()
        # The message itself goes to the file if standard error does.
        if not now.startswith(box.was[name]) or (name == "i" and "2>>" not in command and now != box.was[name]):
            raise Failure(f"{command}: {name} has changed")
        (box.at / name).write_bytes(box.was[name])


@case
def standard_input_is_read_too(box: Box) -> None:
    box.write(f=LINES)
    box.remember()
    for flags in ["", "--overwrite", "--resume"]:
        box.refused(f"cajole infer --out f {flags} < f")
        box.refused(f"cajole tag --out f {flags} < f")
        box.intact()


@case
def closed_standard_output_is_an_error(box: Box) -> None:
    box.write(f=LINES, words="Dogs bark .\n")
    for command in ["infer f", "parse words", "tag words", "generate expressions --n 3"]:
        box.refused(f"cajole {command} >&-")
    ran = box.shell("cajole infer f | head -1")
    if ran.returncode:
        raise Failure("a reader may go away")


# 7: resuming what is no output.


@case
def what_is_no_output_is_not_resumed(box: Box) -> None:
    contents: dict[str, str | bytes] = {"o": "precious", "p": "\n", "q.gz": "no gzip", "r": LINES, "s": " \n \n"}
    box.write(f=LINES, empty="")
    for name, content in contents.items():
        box.put(name, content)
    box.remember()
    for name in contents:
        for input in ["f", "empty"]:
            box.refused(f"cajole infer {input} --out {name} --resume", name)
    # A note of ours does not make somebody's file an output.
    for name, content in contents.items():
        box.fine(f"cajole infer f --out {name} --overwrite")
        box.put(name, content)
        box.remember()
        box.refused(f"cajole infer f --out {name} --resume", name)
        box.intact()


# 8: ids.


@case
def ids_come_back_as_they_were_written(box: Box) -> None:
    ids = ["123456789012345678901234567890", "123456789012345678901234567891", "1.0", "1.00", "1e400", "-0",
           '"x"', '"\\u00e9"', "null", "true", "[1, 2.50]", '{"a":18446744073709551616}']  # fmt: skip
    box.put("i", "".join(f'{{"id":{id},"input":"azbz"}}\n' for id in ids))
    box.put("w", "".join(f'{{"id":{id},"text":"Dogs bark ."}}\n' for id in ids))
    for command in ["infer i", "parse w --json", "parse w w --json", "tag w --json", "infer w --model parser"]:
        for line, id in zip(box.fine(f"cajole {command}").splitlines(), ids):
            compact = id.replace(", ", ",")
            if f'"id":{id},' not in line and f'"id":{compact},' not in line:
                raise Failure(f"{command}: {id} is not in {line}")


# 10, 11: finished outputs.


@case
def a_finished_output_is_not_another_run_s(box: Box) -> None:
    box.write(f=LINES, g=LINES + "azaz\n", r7__toml=COUNT, r9__toml=LENGTH)
    box.fine("cajole infer f --constraint r7.toml --out o")
    box.remember()
    changes = {
        "f --constraint r9.toml": "rules",
        "g --constraint r7.toml": "input",
        "f --constraint r7.toml --max-steps 3": "max",
        "f --constraint r7.toml --model expressions": "model",
        "f --constraint r7.toml --max-tokens 9": "max-tokens",
        "f --constraint r7.toml --max-line-bytes 9": "max-line-bytes",
        "f --constraint r7.toml --engine beam": "engine",
        "f --constraint r7.toml --no-times": "times",
    }
    for flags, what in changes.items():
        box.refused(f"cajole infer {flags} --out o --resume", what)
        box.intact()
    box.put("f", LINES.replace("az", "bz"))
    box.remember()
    box.refused("cajole infer f --constraint r7.toml --out o --resume", "content of f")
    box.intact()
    box.put("f", LINES)
    was = box.read("o")
    said = box.fine("cajole --json infer f --constraint r7.toml --out o --resume")
    if box.read("o") != was or json.loads(said)["inputs"] != LINES.count("\n"):
        raise Failure("a finished run is not resumed as one")


@case
def only_what_was_read_counts(box: Box) -> None:
    box.write(f=LINES)
    box.fine("cajole train transduction --set training.epochs=1 --out m", seconds=120)
    box.fine("cajole infer f --model m --out m/o")
    box.put("m/new", "a new file")
    box.fine("cajole infer f --model m --out m/o --resume")
    box.fine("cajole infer f --model m --out m/o --overwrite")
    box.put("m/README.md", "another card")
    box.fine("cajole infer f --model m --out m/o --resume")
    box.remember()
    for name in ["config.json", "model.safetensors", "vocab.source.txt"]:
        box.refused(f"cajole infer f --model m --out m/{name} --overwrite", "is the same file as")
    box.intact()


# 12: few threads.


@case
def few_threads_are_enough(box: Box) -> None:
    box.write(f=LINES * 20, count__toml=COUNT, words="Dogs bark .\n" * 40)
    if box.user is None:
        return  # limits of processes do not hold for root
    for command in ["infer f --constraint count.toml --no-times", "parse words", "compare f --constraint count.toml"]:
        free = box.fine(f"cajole {command}")
        for limit in [1, 2, 3, 5, 9]:
            ran = box.shell(f"ulimit -u {limit}; exec cajole {command}")
            if ran.returncode == 0 and command != "compare f --constraint count.toml" and ran.stdout.decode() != free:
                raise Failure(f"{command}: other answers with {limit} threads")


# 13: a report that cannot be written.


@case
def a_table_is_printed_before_anything_is_lost(box: Box) -> None:
    box.write(f=LINES, count__toml=COUNT, x="a file")
    box.remember()
    start = time.monotonic()
    box.refused("cajole compare f --constraint count.toml --out x", "x")
    box.refused("cajole compare f --constraint count.toml --out x/y", "x/y")
    box.intact()
    if 20 < time.monotonic() - start:
        raise Failure("it computes first and looks at --out last")


# 14: an output that is removed while it is written.


@case
def a_removed_output_takes_no_note_with_it(box: Box) -> None:
    box.write(f=LINES)
    box.fine(
        "mkfifo p; cajole infer --out o < p & exec 9> p; echo az >&9; while ! [ -e o.run.json ]; do sleep 0.05; done;"
        " rm o; cajole infer f --out o; cp o.run.json kept; exec 9>&-; wait; cmp kept o.run.json"
    )


# 15, 17: checkers.


@case
def stray_lines_of_a_checker_are_no_fault(box: Box) -> None:
    box.put("check.py", "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n"
            "    print('loading', flush=True)\n"
            "    print(json.dumps({'id': asked.get('id'), 'loss': 0}), flush=True)\n")  # fmt: skip
    box.write(f="azbz\nbz\n", c__toml='checker = { command = ["python3", "check.py"] }\n')
    said = {box.shell("cajole infer f --constraint c.toml --no-times").stdout for _ in range(3)}
    if len(said) != 1 or b"unmeasured" in said.pop():
        raise Failure(f"unmeasured: {said}")


@case
def a_checker_that_fails_at_once_is_reported_at_once(box: Box) -> None:
    box.write(f="azbz\nbz\n" * 200, c__toml='checker = { command = ["python3", "missing.py"] }\n')
    box.write(d__toml='checker = { command = ["./nowhere"] }\n')
    for rules in ["c.toml", "d.toml"]:
        box.refused(f"cajole compare f --constraint {rules}", seconds=30)
        box.refused(f"cajole infer f --constraint {rules}", seconds=30)
    box.refused("cajole infer f --constraint d.toml --out o", "nowhere")
    if (box.at / "o").exists():
        raise Failure("work began although the program is missing")


# 16 and the low ones.


@case
def lint_and_infer_agree_on_weights(box: Box) -> None:
    box.write(f='{"input":"az","output":"bb"}\n', w__toml="must-have = ['a']\nweight = 5.0\n")
    g = json.loads(box.fine("cajole --json lint w.toml f --characters"))
    if "5" not in json.dumps(g):
        raise Failure(f"the weight is missing: {g}")


@case
def names_of_outputs_mean_what_they_say(box: Box) -> None:
    box.write(f=LINES)
    box.fine("cajole infer f --out .gz --no-times")
    if not (box.at / ".gz").read_bytes().startswith(b"\x1f\x8b"):
        raise Failure(".gz is not gzipped")
    said = box.fine("cajole infer f --out - --no-times")
    if (box.at / "-").exists() or said != gzip.decompress((box.at / ".gz").read_bytes()).decode():
        raise Failure("- is a file")
    box.refused("cajole infer f --out - --overwrite", "standard output")


@case
def a_resumed_run_tells_of_all(box: Box) -> None:
    box.write(f=LINES)
    whole = json.loads(box.fine("cajole --json infer f --out whole"))
    box.fine("cajole infer f --out o")
    records = box.read("o").splitlines(keepends=True)
    box.put("o", "".join(records[:4]) + records[4][:20])
    resumed = json.loads(box.fine("cajole --json infer f --out o --resume"))
    for key in ["lines", "inputs", "failures", "converted", "bad_lines"]:
        if resumed[key] != whole[key]:
            raise Failure(f"{key}: {resumed[key]}, not {whole[key]}")


@case
def a_byte_order_mark_is_no_sentence(box: Box) -> None:
    tree = "(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))\n"
    box.write(g=tree * 2, m="\ufeff" + tree * 2)
    if box.fine("cajole evalb g g") != box.fine("cajole evalb m m").replace("m", "g"):
        if "2" not in box.fine("cajole evalb m m --json"):
            raise Failure("a sentence is missing")
