"""Networks in folders: those of the paper's scale, and Hugging Face's."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

from golden_box import shell
from golden_infer import ASK, ENGINES
from golden_make import OTHERS, SEEDS
from golden_rule_files import BIO, NUMBERED, OPEN, TEXT

PARSERS = ["net1", "net3", "net5-seed2"]
TAGGERS = ["srl-100", "srl-1-seed2", "srl-nw"]
RULES_OF = {"bert": BIO, "bert-2": BIO, "distilbert": BIO, "xlm-roberta": OPEN, "camembert": OPEN, "roberta": NUMBERED}
WRITERS = [name for name in SEEDS if name.startswith(("bart", "marian", "t5", "mt5"))]


def make_folders(at: pathlib.Path, python: str | None) -> None:
    """Makes the Hugging Face folders that are missing."""
    missing = [name for name in [*SEEDS, *OTHERS] if not (at / name).is_dir()]
    if not missing or not python:
        return
    at.mkdir(parents=True, exist_ok=True)
    script = pathlib.Path(__file__).resolve().parent / "golden_make.py"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    made = subprocess.run([python, str(script), str(at)], capture_output=True, text=True, env=environment)
    if made.returncode != 0:
        print(f"no folder for {', '.join(missing)}: {made.stderr.strip().splitlines()[-1]}", file=sys.stderr)


def own() -> None:
    for net in PARSERS:
        for engine in ENGINES:
            said = f"{ASK} --explain in/pos.jsonl --model nets/parsing/{net} --engine {engine} --max-steps 12"
            shell(f"nets/parsing/{net}/{engine}", said, seconds=6)
        said = f"{ASK} in/pos.jsonl --model nets/parsing/{net}"
        for preset in ("paper", "best", "small"):
            shell(f"nets/parsing/{net}/{preset}", f"{said} --engine gbi --preset {preset} --max-steps 20", seconds=10)
        shell(f"nets/parsing/{net}/p-paper", f"{said} --constraint in/rules/p-paper.toml --max-steps 12", seconds=4)
    for net in TAGGERS:
        for engine in ENGINES:
            said = f"{ASK} --explain in/roles.jsonl --model nets/srl/{net} --engine {engine}"
            shell(f"nets/srl/{net}/{engine}", said, seconds=2)
        said = f"{ASK} in/roles.jsonl --model nets/srl/{net}"
        for preset in ("paper", "best", "small"):
            shell(f"nets/srl/{net}/{preset}", f"{said} --engine gbi --preset {preset}", seconds=2)
        shell(f"nets/srl/{net}/spans", f"{said} --constraint rules/spans.toml", seconds=2)
        shell(f"nets/srl/{net}/t-all", f"{said} --constraint in/rules/t-all.toml", seconds=2)
    shell("nets/parsing/parse", "cajole parse in/pos.jsonl --model nets/parsing/net1 --max-steps 12 --threads 1", seconds=5)
    shell("nets/srl/tag", "cajole tag in/roles.jsonl --model nets/srl/srl-100 --threads 1", seconds=2)


def on_data() -> None:
    """The first sentences of corpora, with what is right."""
    # Names of networks, data, how many lines, flags.
    for net, data, n, flags in [
        ("nets/parsing/net5", "ontonotes_delex/nw-wsj.dev.jsonl.gz", 24, ""),
        ("nets/srl/srl-10", "ontonotes_delex/wb.test.jsonl.gz", 120, ""),
        ("parser", "ewt/ewt.dev.jsonl.gz", 150, ""),
        ("tagger", "ewt/ewt.dev.jsonl.gz", 150, ""),
    ]:
        name, needs = f"data/{net.rsplit('/')[-1]}", (f"data/{data}",)
        head = f"zcat data/{data} | head -{n}"
        limits = "--max-steps 15 --threads 1" if "pars" in net else "--threads 1"
        shell(f"{name}/infer", f"{head} | {ASK} --model {net} --max-steps 15{flags}", needs, seconds=10)
        shell(f"{name}/network", f"{head} | {ASK} --model {net} --engine network", needs, seconds=2)
        shell(f"{name}/eval", f"{head} | cajole eval - --model {net} {limits}", needs, seconds=10)
        shell(f"{name}/compare", f"{head} | cajole compare - --lines {n // 3} --model {net} {limits} --out report", needs, seconds=20)
    head = "zcat data/ewt/ewt.dev.jsonl.gz | head -400 > gold.jsonl"
    for name in ("t-all", "t-unique", "t-references"):
        line = f"{head}; cajole lint in/rules/{name}.toml gold.jsonl --verbs; rm gold.jsonl"
        shell(f"data/lint/{name}", line, ("data/ewt/ewt.dev.jsonl.gz",), seconds=2)


def hugging_face() -> None:
    for name in SEEDS:
        needs = (f"folders/{name}",)
        is_writer, kinds = name in WRITERS, RULES_OF.get(name, TEXT)
        said = f"{ASK} --model folders/{name}"
        lines = f"folders/{name}.jsonl"
        for rules in kinds:
            flags = f"--constraint in/rules/{rules}.toml --max-steps 5"
            for engine in ["gbi", "masked", "auto", "network"]:
                shell(f"huggingface/{name}/{rules}/{engine}", f"{said} {lines} {flags} --engine {engine}", needs, seconds=2)
        main = "w-pattern" if is_writer else next(iter(kinds))
        flags = f"--constraint in/rules/{main}.toml"
        for engine in ENGINES:
            shell(f"huggingface/{name}/engines/{engine}", f"{said} --explain {lines} {flags} --engine {engine}", needs, seconds=3)
        for preset in ("paper", "best", "small"):
            line = f"{said} --explain {lines} {flags} --engine gbi --preset {preset} --max-steps 10"
            shell(f"huggingface/{name}/presets/{preset}", line, needs, seconds=2)
        other = "in/texts.txt" if is_writer else "in/words.jsonl"
        shell(f"huggingface/{name}/lines", f"{said} {other} {flags} --max-steps 5", needs, seconds=2)
        shell(f"huggingface/{name}/width", f"{said} {other} {flags} --max-steps 3 --width 3", needs, seconds=2)
        shell(f"huggingface/{name}/no-rules", f"{said} {other}", needs)
        shell(f"huggingface/{name}/foreign-rules", f"{said} {other} --constraint rules/spans.toml", needs)
        shell(f"huggingface/{name}/bad", f"{said} in/bad-words.txt {flags} --max-steps 2", needs)
        shell(f"huggingface/{name}/explain", f"cajole explain --model folders/{name} {flags} 'the dog saw 42'", needs)
        line = f"cajole compare {lines} --model folders/{name} {flags} --threads 1 --max-steps 5"
        shell(f"huggingface/{name}/compare", line, needs, seconds=3)
    shell("huggingface/wrong-task", "cajole parse in/parser.txt --model folders/bert", ("folders/bert",))


def imported() -> None:
    """Networks that were trained elsewhere: a state dict, and AllenNLP's own test data if it lies beside the corpora."""
    line = "cajole import torch folders/torch/net.pth --mapping folders/torch/mapping.toml --out net"
    needs = ("folders/torch",)
    shell("import/state-dict/text", f"{line}; {line}", needs)
    shell("import/state-dict/json", f"{line} --json", needs)
    infer = "cajole infer folders/torch.jsonl --model net --no-times --explain --max-steps 5 --threads 1"
    for rules in ("w-pattern", "w-must-have", "w-arithmetic", "pattern"):
        shell(f"import/state-dict/{rules}", f"{line} > log; {infer} --constraint in/rules/{rules}.toml", needs)
    documented = "sed 's/^longest.*/positions = 5000/; s/^scales.*/scales-symbols = true/' folders/torch/mapping.toml > m.toml"
    line = "cajole import torch folders/torch/net.pth --mapping m.toml --out net"
    shell("import/state-dict/as-in-help", f"{documented}; cp folders/torch/vocab.json .; {line}", needs)
    fixture = "data/../fixtures/allennlp_srl/serialization/model.tar.gz"
    shell("import/archive/text", f"cajole import allennlp {fixture} --out net", (fixture,))
    shell("import/archive/json", f"cajole import allennlp {fixture} --out net --json", (fixture,))
    line = f"cajole import allennlp {fixture} --out net > log; cajole infer in/tagger.jsonl --model net --no-times --explain"
    shell("import/archive/infer", line, (fixture,))
    other = "data/../fixtures/allennlp_simple_tagger_with_elmo/serialization/model.tar.gz"
    shell("import/archive/other", f"cajole import allennlp {other} --out net", (other,))
    for score, files in {"evalb": "evalb_oracle/gold.ptb evalb_oracle/test.ptb", "srl-eval": "srl_eval_oracle/gold.props srl_eval_oracle/test.props"}.items():
        at = [f"data/../fixtures/{name}" for name in files.split()]
        for form in ("", " --json"):
            shell(f"{score}/corpus{form.replace(' --', '-')}", f"cajole {score} {' '.join(at)}{form}", tuple(at))


own()
imported()
on_data()
hugging_face()
