"""Models of transformers: token classifiers and seq2seq networks."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cajole.torch._protocol import select, symbols_of


class TokenClassifier:
    """Tags the words of an input by the tag of each word's first piece."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        names = model.config.id2label
        self.tags = [str(names[i]) for i in range(len(names))]

    def prepare(self, value: Any) -> tuple[Any, list[str], int, int]:
        words = [str(word) for word in symbols_of(value)]
        encoding = self.tokenizer(words, is_split_into_words=True, truncation=False)
        most = getattr(self.model.config, "max_position_embeddings", None)
        n = len(encoding["input_ids"])
        if most is not None and most < n:
            raise ValueError(f"the input has {n} pieces, and the model reads at most {most}")
        firsts: dict[int, int] = {}
        for at, word in enumerate(encoding.word_ids()):
            if word is not None:
                firsts.setdefault(word, at)
        if len(firsts) != len(words):
            missing = next(words[i] for i in range(len(words)) if i not in firsts)
            raise ValueError(f"the tokenizer makes nothing of the word {missing!r}")
        return (dict(encoding), [firsts[i] for i in range(len(words))]), words, n, len(words)

    def log_probs(self, inputs: Sequence[Any]) -> list[Tensor]:
        batch = self.tokenizer.pad([encoding for encoding, _ in inputs], return_tensors="pt")
        batch = batch.to(self.model.device)
        scores = torch.log_softmax(self.model(**batch).logits.float(), dim=-1)  # (B, T, V)
        return [
            scores[i, torch.tensor(firsts, device=scores.device)]
            for i, (_, firsts) in enumerate(inputs)
        ]


class Seq2Seq:
    """A seq2seq network; its end symbol is numbered last here, and the others as in the tokenizer."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int) -> None:
        self.model, self.tokenizer, self.max_length = model, tokenizer, max_length
        config = model.config
        eos = getattr(model, "generation_config", config).eos_token_id
        self.eos: int = eos[0] if isinstance(eos, list) else eos
        start = config.decoder_start_token_id
        self.start: int = config.pad_token_id if start is None else start
        n = config.vocab_size
        self.kept = [i for i in range(n) if i != self.eos]
        self.end = n - 1
        pieces = tokenizer.convert_ids_to_tokens([min(i, len(tokenizer) - 1) for i in self.kept])
        self.symbols = [self._text(i, piece) for i, piece in zip(self.kept, pieces, strict=True)]
        order = [*self.kept, self.eos]
        self.order = torch.tensor(order, device=model.device)

    def _text(self, number: int, piece: str | None) -> str:
        if piece is None or number >= len(self.tokenizer):
            return f"<unused{number}>"
        return piece.replace("▁", " ").replace("Ġ", " ")

    def prepare(self, value: Any) -> tuple[Any, list[str], int, int]:
        text = value if isinstance(value, str) else " ".join(map(str, value))
        encoding = dict(self.tokenizer(text))
        n = len(encoding["input_ids"])
        return encoding, text.split(), n, self.max_length

    def encode(self, inputs: Sequence[Any]) -> dict[str, Any]:
        batch = self.tokenizer.pad(list(inputs), return_tensors="pt").to(self.model.device)
        mask = batch["attention_mask"]
        hidden = self.model.get_encoder()(input_ids=batch["input_ids"], attention_mask=mask)
        return {"hidden": hidden.last_hidden_state, "mask": mask, "cache": None}

    def _scores(self, state: dict[str, Any], ids: Tensor, cache: Any) -> tuple[Tensor, Any]:
        out = self.model(
            encoder_outputs=(state["hidden"],),
            attention_mask=state["mask"],
            decoder_input_ids=ids,
            past_key_values=cache,
            use_cache=cache is not None or not torch.is_grad_enabled(),
        )
        logits = out.logits.float()[..., self.order]
        return torch.log_softmax(logits, dim=-1), out.get("past_key_values")

    def step(self, state: dict[str, Any], symbols: Tensor | None) -> tuple[Tensor, dict[str, Any]]:
        rows = state["hidden"].shape[0]
        ids = (
            torch.full((rows, 1), self.start, device=self.order.device)
            if symbols is None
            else self.order[symbols][:, None]
        )
        scores, cache = self._scores(state, ids, state["cache"])
        return scores[:, -1], {**state, "cache": cache}

    def force(self, state: dict[str, Any], outputs: Tensor) -> Tensor:
        start = torch.full((outputs.shape[0], 1), self.start, device=self.order.device)
        ids = torch.cat([start, self.order[outputs[:, :-1]]], dim=1)
        return self._scores(state, ids, None)[0]

    def select(self, state: dict[str, Any], rows: Tensor) -> dict[str, Any]:
        cache = state["cache"]
        if cache is not None:
            cache = copy.deepcopy(cache)
            cache.reorder_cache(rows)
        chosen: dict[str, Any] = select({k: v for k, v in state.items() if k != "cache"}, rows)
        return {**chosen, "cache": cache}
