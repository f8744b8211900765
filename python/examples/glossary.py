"""A glossary on a translator: outputs must use the words of a glossary.

python python/examples/glossary.py

The model has random weights, so that nothing is downloaded. With a model of your own, use
`AutoModelForSeq2SeqLM.from_pretrained(folder)` and `AutoTokenizer.from_pretrained(folder)`.
"""

# Needs: torch, transformers
from __future__ import annotations

from typing import Any

import tokenizers
import torch
import transformers

import cajole
import cajole.torch

torch.set_num_threads(1)
torch.manual_seed(1)

# %% A small T5 over twenty words.
words = [f"▁w{i}" for i in range(20)]
config = transformers.T5Config(
    vocab_size=23,
    d_model=32,
    d_kv=16,
    d_ff=64,
    num_layers=2,
    num_heads=2,
    pad_token_id=0,
    eos_token_id=2,
    decoder_start_token_id=0,
)
model: Any = transformers.T5ForConditionalGeneration(config)
fast = tokenizers.Tokenizer(
    tokenizers.models.WordLevel(
        {w: i for i, w in enumerate(["<pad>", "<unk>", "</s>", *words])}, unk_token="<unk>"
    )
)
fast.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
tokenizer: Any = transformers.PreTrainedTokenizerFast(
    tokenizer_object=fast, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
)

# %% If the input has a term of the glossary, the output must have its translation.
GLOSSARY = {"▁w1": "w7", "▁w4": "w9"}


def glossary(x: str, y: cajole.Output) -> float:
    wanted = [GLOSSARY[word] for word in x.split() if word in GLOSSARY]
    return float(sum(term not in y.split() for term in wanted))


translator = cajole.torch.hugging_face(model, tokenizer, max_length=8)
inputs = ["▁w1 ▁w2 ▁w3", "▁w4 ▁w5", "▁w6"]
for result in translator.infer(inputs, rules=glossary, max_steps=40):
    print(result.status, result.g_before, "->", result.g_after, repr(result.output))
    assert result.error is None
    assert result.g_after <= result.g_before
