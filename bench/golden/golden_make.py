"""Makes a Hugging Face folder with random weights for each family, and lines for it. Needs torch and transformers.

    python bench/golden/golden_make.py FOLDER
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "huggingface"))

SEEDS = {  # of `folders.make`
    "bert": 0, "roberta": 1, "xlm-roberta": 2, "camembert": 3, "distilbert": 4,
    "bart": 5, "marian": 6, "t5": 7, "mt5": 8, "bart-2": 14, "marian-2": 15, "t5-2": 16, "mt5-2": 17,
    "bert-2": 36,
}  # fmt: skip


ENCODER = "encoder"


def make_encoder(folder: pathlib.Path) -> list[str]:
    """A BERT that can be trained further: room for long sentences, and two types of pieces."""
    import random

    import folders
    import torch
    import transformers as hf

    torch.manual_seed(0)
    tokenizer = folders.own_tokenizer(random.Random(0), "bert", folder)
    config = hf.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=400, type_vocab_size=2,
    )  # fmt: skip
    hf.BertModel(config).save_pretrained(folder)
    return []


TORCH = "torch"
MAPPING = """[network]
transformer = "transformer"
reads = "src_emb"
writes = "trg_emb"
output = "generator"
heads = 2
longest = 64
scales = true

[symbols]
vocabulary = "vocab.json"
start = "<s>"
end = "</s>"
unknown = "<u>"
special = ["<p>"]
ends-input = true
max-length = 12
"""


def make_torch(folder: pathlib.Path) -> list[str]:
    """A state dict around `nn.Transformer`, with its mapping file."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    symbols = ["<p>", "<s>", "</s>", "<u>", *"abcde "]
    parts = {
        "src_emb": nn.Embedding(len(symbols), 16),
        "trg_emb": nn.Embedding(len(symbols), 16),
        "transformer": nn.Transformer(16, 2, 1, 1, 24, batch_first=True),
        "generator": nn.Linear(16, len(symbols)),
    }
    torch.save(nn.ModuleDict(parts).state_dict(), folder / "net.pth")
    (folder / "mapping.toml").write_text(MAPPING)
    (folder / "vocab.json").write_text(json.dumps({symbol: i for i, symbol in enumerate(symbols)}))
    return ["abcde", "aab bee", "dad cab", "xyz"]


OTHERS = {ENCODER: make_encoder, TORCH: make_torch}


def make(seed: int, folder: pathlib.Path) -> list[str | list[str]]:
    import folders

    return folders.make(seed, folder)["inputs"]


def main() -> None:
    import torch

    torch.set_num_threads(1)
    out = pathlib.Path(sys.argv[1])
    for name in [*SEEDS, *OTHERS]:
        at, unfinished = out / name, out / f"{name}.unfinished"
        if at.exists():
            continue
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        inputs = OTHERS[name](unfinished) if name in OTHERS else make(SEEDS[name], unfinished)
        lines = [{"tokens": one} if isinstance(one, list) else {"input": one} for one in inputs]
        (out / f"{name}.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        unfinished.rename(at)


if __name__ == "__main__":
    main()
