"""Asks `cajole.torch` questions about small random modules and Hugging Face folders, and prints what it answers."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import torch
from golden_asked import ENGINES, INPUTS, THRICE, ask
from golden_nets import RULES_OF
from torch import nn

import cajole
import cajole.torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"))
SENTENCES = ["a bb ccc a bb", "dddd a", "bb bb bb bb", "ccc dddd a bb ccc a"]


def modules() -> None:
    from torch_modules import Tagger, Transducer

    tagger = Tagger(dropout=0.1).train()
    for moves in (["@vectors"], ["output"], ["layers.layers.1"]):
        model = cajole.torch.tagger(tagger, Tagger.tags, moves=moves)
        for rule in ("consistent = true", "must-have = ['B-X']", "bio = true"):
            rules = cajole.Rules.from_toml(rule)
            ask(f"tagger {moves} {rule}", lambda: model.infer(SENTENCES, rules=rules, trace=True, max_steps=6))
    model = cajole.torch.tagger(tagger, Tagger.tags, in_step=1)
    rules = cajole.Rules.from_toml("must-have = ['B-Y']\nmust-not-have = ['B-X']")
    for engine in ENGINES:
        ask(f"tagger {engine}", lambda: model.infer(SENTENCES, rules=rules, engine=engine, max_steps=6))
    ask("tagger compare", lambda: model.compare(SENTENCES, rules=rules, max_steps=6))
    ask("tagger is as it was", lambda: tagger.training)
    ask("moves nothing", lambda: cajole.torch.tagger(tagger, Tagger.tags, moves=["odd"]).infer(SENTENCES, rules=rules))
    ask("tags are too few", lambda: cajole.torch.tagger(tagger, ["O"]).infer(SENTENCES, rules=rules))
    ask("no tagger", lambda: cajole.torch.tagger(nn.Linear(2, 2), ["O"]))

    writer = Transducer()
    model = cajole.torch.seq2seq(writer, Transducer.symbols, separator="", tokens=list, max_length=60, moves=["decoder.b", "output.b"])
    rules = cajole.Rules.from_toml(f"{THRICE}\nsquared = true\ndivide-by = 'lengths'")
    ask("writer itself", lambda: (repr(model), model.task, model.engines, model.symbols))
    for engine in ENGINES:
        ask(f"writer {engine}", lambda: model.infer(INPUTS[:4], rules=rules, engine=engine, trace=True, max_steps=8))
    for preset in ("paper", "best", "small"):
        ask(f"writer {preset}", lambda: model.infer(INPUTS[:4], rules=rules, preset=preset, engine="gbi", max_steps=8))
    ask("writer with a function", lambda: model.infer(INPUTS[:3], rules=lambda x, y: y.count("z"), max_steps=5))
    ask("writer compare", lambda: model.compare(INPUTS[:3], rules=rules, max_steps=5))


def hugging_face() -> None:
    import transformers as hf

    hf.logging.set_verbosity_error()
    hf.logging.disable_progress_bar()
    for at in sorted(pathlib.Path("folders").glob("*/config.json")):
        folder = at.parent
        config = hf.AutoConfig.from_pretrained(folder)
        if folder.name.endswith(("-2", "encoder", "torch")):
            continue
        is_writer = config.is_encoder_decoder
        kind: Any = hf.AutoModelForSeq2SeqLM if is_writer else hf.AutoModelForTokenClassification

        def asked() -> Any:
            module, tokenizer = kind.from_pretrained(folder), hf.AutoTokenizer.from_pretrained(folder)
            model = cajole.torch.hugging_face(module, tokenizer)
            rules = pathlib.Path(f"in/rules/{next(iter(RULES_OF.get(folder.name, ['w-pattern'])))}.toml")
            return model.infer(pathlib.Path(f"folders/{folder.name}.jsonl"), rules=rules, max_steps=3, trace=True)

        ask(folder.name, asked)
    ask("no model of transformers", lambda: cajole.torch.hugging_face(nn.Linear(2, 2), None))


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    {"modules": modules, "hugging-face": hugging_face}[sys.argv[1]]()
