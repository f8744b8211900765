"""More cases of `lossless.py`: every flag that names a file, and every command that writes one."""

from __future__ import annotations

import os

from box import COUNT, LINES, PAIRS, Box, Failure, case

WORDS = "Dogs bark .\nMen saw her .\n"
TREES = "(S (NP (NNS Dogs)) (VP (VBP bark)) (. .))\n(S (NP (NNS Men)) (VP (VBD saw) (NP (PRP her))) (. .))\n"


def kept(box: Box, command: str) -> None:
    """The command is refused with every flag for what is there, and nothing changes."""
    box.remember()
    for flags in ["", "--overwrite", "--resume"]:
        box.refused(f"cajole {command} {flags}")
        box.intact()


@case
def rules_are_not_an_output(box: Box) -> None:
    box.write(f=LINES, words=WORDS, count__toml=COUNT, sd__toml='shift-reduce = "full"\n')
    kept(box, "infer f --constraint count.toml --out count.toml")
    kept(box, "parse words --constraint sd.toml --out sd.toml")


@case
def a_grammar_is_not_an_output(box: Box) -> None:
    box.write(f=LINES, e__ebnf='e = { "a" | "z" | "b" } ;', g__toml='grammar-file = "e.ebnf"\n')
    kept(box, "infer f --constraint g.toml --out e.ebnf")


@case
def a_checker_is_not_an_output(box: Box) -> None:
    box.write(f=LINES, check__sh="while read line; do echo 0; done\n")
    box.write(c__toml='checker = { command = ["sh", "check.sh"] }\n')
    kept(box, "infer f --constraint c.toml --out check.sh")


@case
def trees_are_not_an_output(box: Box) -> None:
    box.write(words=WORDS, trees__ptb=TREES)
    kept(box, "tag words --trees trees.ptb --out trees.ptb")


@case
def settings_are_not_a_checkpoint(box: Box) -> None:
    box.write(pairs=PAIRS)
    box.put("d/config.json", "[training]\nepochs = 1\n")
    box.remember()
    for flags in ["", "--overwrite"]:
        box.refused(f"cajole train pairs --train pairs --dev pairs --config d/config.json --out d {flags}")
        box.intact()


@case
def packed_lines_are_not_an_output(box: Box) -> None:
    box.write(f=LINES)
    box.fine("gzip -k f; mv f.gz in.gz; cp in.gz x.run.json")
    kept(box, "infer in.gz --out in.gz")
    kept(box, "infer x.run.json --out x")


@case
def lines_of_another_name_are_not_an_output(box: Box) -> None:
    box.write(f=LINES)
    os.symlink(box.at / "f", box.at / "absolute")
    os.symlink(".", box.at / "here")
    for name in ["absolute", "here/f", "here/here/f", "$PWD/f", "./././f"]:
        kept(box, f"infer {name} --out f")


@case
def a_folder_of_another_name_is_the_same(box: Box) -> None:
    box.write(pairs=PAIRS)
    box.put("d/training.json", PAIRS)
    os.symlink("d", box.at / "l")
    train = "train pairs --train d/training.json --dev pairs --set training.epochs=1 --out l"
    box.remember()
    for flags in ["", "--overwrite"]:
        box.refused(f"cajole {train} {flags}")
        box.intact()


@case
def a_checkpoint_is_not_trained_over(box: Box) -> None:
    box.write(pairs=PAIRS)
    train = "cajole train pairs --train pairs --dev pairs --set training.epochs=1 --out net"
    box.fine(train)
    box.remember()
    box.refused(f"{train} --seed 2", "--overwrite begins anew")
    box.intact()


@case
def an_edited_card_is_kept(box: Box) -> None:
    box.write(pairs=PAIRS)
    box.put("net/README.md", "my own card\n")
    box.remember()
    box.refused("cajole train pairs --train pairs --dev pairs --set training.epochs=1 --out net", "README.md exists")
    box.intact()


@case
def a_finished_output_is_kept(box: Box) -> None:
    box.write(f=LINES, words=WORDS)
    for command in ["infer f", "parse words", "tag words"]:
        box.fine(f"cajole {command} --out o --overwrite")
        box.remember()
        box.refused(f"cajole {command} --out o", "o exists: --resume goes on with it, --overwrite begins anew")
        box.intact()


@case
def records_of_other_programs_are_kept(box: Box) -> None:
    box.write(f=LINES, o='{"line": 1, "status": "satisfied"}\n')
    box.remember()
    box.refused("cajole infer f --out o --resume", "o.run.json is missing")
    box.intact()


@case
def what_was_appended_is_kept(box: Box) -> None:
    box.write(f=LINES)
    box.fine("cajole infer f --out o; echo 'my remark' >> o")
    box.remember()
    box.refused("cajole infer f --out o --resume", "does not end in a record")
    box.intact()


@case
def an_empty_input_empties_nothing(box: Box) -> None:
    box.write(f=LINES, empty="")
    box.fine("cajole infer f --out o")
    kept_records = box.read("o")
    box.refused("cajole infer empty --out o --resume", "has changed since")
    box.refused("cajole infer empty --out o", "o exists")
    if box.read("o") != kept_records:
        raise Failure("the records are gone")


@case
def a_bad_call_empties_nothing(box: Box) -> None:
    box.write(f=LINES, bad__toml="pattern = '('\n")
    box.fine("cajole infer f --out o")
    box.remember()
    for flags in ["--constraint bad.toml", "--constraint absent", "--model absent", "--set x=1", "--engine none",
                  "--max-steps -1", "--preset none", "--width 0"]:  # fmt: skip
        box.refused(f"cajole infer f --out o --overwrite {flags}")
        box.intact()


@case
def a_note_of_another_output_is_none_of_ours(box: Box) -> None:
    box.write(f=LINES, g=LINES + "azaz\n")
    box.fine("cajole infer f --out o; cajole infer g --out p; cp p.run.json o.run.json")
    box.remember()
    box.refused("cajole infer f --out o --resume", "has changed since")
    box.intact()
