"""A rule of your own on a Hugging Face tagger.

python python/examples/hugging_face_tagger.py

The model has random weights, so that nothing is downloaded. With a model of your own, use
`AutoModelForTokenClassification.from_pretrained(folder)` and `AutoTokenizer.from_pretrained(folder)`.
"""

# Needs: torch, transformers
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tokenizers
import torch
import transformers

import cajole
import cajole.torch

torch.set_num_threads(1)
torch.manual_seed(5)

# %% A small BERT with five tags, and a tokenizer that knows forty words.
words = [f"w{i}" for i in range(40)]
config = transformers.BertConfig(
    vocab_size=42,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"},
    initializer_range=0.5,
)
model: Any = transformers.BertForTokenClassification(config)
fast = tokenizers.Tokenizer(
    tokenizers.models.WordLevel(
        {w: i for i, w in enumerate(["<pad>", "<unk>", *words])}, unk_token="<unk>"
    )
)
fast.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
tokenizer: Any = transformers.PreTrainedTokenizerFast(
    tokenizer_object=fast, pad_token="<pad>", unk_token="<unk>"
)


# %% The same word must have the same tag everywhere: no mask can enforce that.
def consistent(x: Sequence[str], y: cajole.Output) -> float:
    seen: dict[str, str] = {}
    pairs = zip(x, y.symbols, strict=True)
    return float(sum(seen.setdefault(word, tag[2:]) != tag[2:] for word, tag in pairs))


# %% All inputs are repaired in one batch; each moves biases and norms of its own.
tagger = cajole.torch.hugging_face(model, tokenizer)
inputs = ["w1 w2 w1 w3", "w5 w6 w7 w5 w8 w5", "w9 w9 w10", "w30 w31 w30 w31"]
before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
for result in tagger.infer(inputs, rules=consistent, max_steps=40):
    print(result.status, result.g_before, "->", result.g_after, result.output)
    assert result.error is None

# %% The model is what it was.
assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
