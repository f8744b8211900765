"""Models of transformers: token classifiers and seq2seq networks.

Settings and tokenizer are read by the code that reads Hugging Face folders: they are written to a folder
of their own first. So lines, pieces, rules and outputs mean what they mean under `cajole infer`. Only
scores are computed here.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cajole import _native
from cajole.torch._protocol import select

Prepared = tuple[Any, list[str], int, int]


@contextlib.contextmanager
def described(model: Any, tokenizer: Any) -> Iterator[str]:
    """A folder with the settings of a model and its tokenizer, without weights."""
    with tempfile.TemporaryDirectory(prefix="cajole-") as folder:
        tokenizer.save_pretrained(folder)
        Path(folder, "config.json").write_text(model.config.to_json_string(use_diff=False))
        generation = getattr(model, "generation_config", None)
        if generation is not None:
            said = json.dumps(generation.to_diff_dict(), default=str)
            Path(folder, "generation_config.json").write_text(said)
        yield os.fspath(folder)


def padded(model: Any, inputs: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
    """Pieces `(B, T)`, and which of them there are."""
    pad = getattr(model.config, "pad_token_id", None) or 0
    longest = max(map(len, inputs))
    ids = [[*pieces, *[pad] * (longest - len(pieces))] for pieces in inputs]
    mask = [[1] * len(pieces) + [0] * (longest - len(pieces)) for pieces in inputs]
    return torch.tensor(ids, device=model.device), torch.tensor(mask, device=model.device)


def most_pieces(model: Any) -> int | None:
    """The longest input that a model reads."""
    most: int | None = getattr(model.config, "max_position_embeddings", None)
    # Positions of RoBERTa begin after the number of padding.
    is_roberta = model.config.model_type in ("roberta", "xlm-roberta", "camembert")
    return most - model.config.pad_token_id - 1 if most is not None and is_roberta else most


def checked(model: Any, pieces: list[int]) -> list[int]:
    most = most_pieces(model)
    if most is not None and most < len(pieces):
        raise ValueError(f"{len(pieces)} pieces, and the network reads at most {most}: shorten the input")
    return pieces


class TokenClassifier:
    """Tags the words of an input by the tag of each word's first piece."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def prepare(self, value: Any) -> Prepared:
        pieces, firsts = value
        return (checked(self.model, pieces), firsts), [], len(pieces), len(firsts)

    def log_probs(self, inputs: Sequence[Any]) -> list[Tensor]:
        ids, mask = padded(self.model, [pieces for pieces, _ in inputs])
        scores = self.model(input_ids=ids, attention_mask=mask).logits.float()
        scores = torch.log_softmax(scores, dim=-1)  # (B, T, V)
        return [
            scores[i, torch.tensor(firsts, device=scores.device)]
            for i, (_, firsts) in enumerate(inputs)
        ]


class Seq2Seq:
    """A seq2seq network; symbols have the numbers of its tokenizer. Steps give scores, which are
    normalised by the caller, because some settings of generation act before that."""

    def __init__(self, model: Any, folder: str, max_length: int | None) -> None:
        self.model = model
        settings = _native.torch_settings(folder)
        self.start: int = settings["start"]
        self.ends: list[int] = settings["ends"]
        self.end = self.ends[0]
        self.cap: int = max_length or settings["cap"]
        self.is_first_forced: bool = settings["is_first_forced"]
        self.is_last_forced: bool = settings["is_last_forced"]

    def prepare(self, value: Any) -> Prepared:
        pieces, _ = value
        return checked(self.model, pieces), [], len(pieces), self.cap

    def encode(self, inputs: Sequence[Any]) -> dict[str, Any]:
        ids, mask = padded(self.model, inputs)
        hidden = self.model.get_encoder()(input_ids=ids, attention_mask=mask)
        return {"hidden": hidden.last_hidden_state, "mask": mask, "cache": None}

    def _scores(self, state: dict[str, Any], ids: Tensor, cache: Any) -> tuple[Tensor, Any]:
        out = self.model(
            encoder_outputs=(state["hidden"],),
            attention_mask=state["mask"],
            decoder_input_ids=ids,
            past_key_values=cache,
            use_cache=cache is not None,
        )
        return out.logits.float(), out.get("past_key_values")

    def step(self, state: dict[str, Any], symbols: Tensor | None) -> tuple[Tensor, dict[str, Any]]:
        rows = state["hidden"].shape[0]
        device = state["hidden"].device
        if symbols is None:
            symbols = torch.full((rows,), self.start, device=device)
        cache = state["cache"] if state["cache"] is not None else empty_cache()
        scores, cache = self._scores(state, symbols[:, None], cache)
        return scores[:, -1], {**state, "cache": cache}

    def force(self, state: dict[str, Any], outputs: Tensor) -> Tensor:
        start = torch.full((outputs.shape[0], 1), self.start, device=outputs.device)
        ids = torch.cat([start, outputs[:, :-1]], dim=1)
        return torch.log_softmax(self._scores(state, ids, None)[0], dim=-1)

    def picked(self, log_probs: Tensor, outputs: Tensor) -> Tensor:
        """The log-probabilities `(S, T)` of outputs: the end symbol stands for the best of several."""
        own = log_probs.gather(2, outputs[:, :, None])[:, :, 0]
        if len(self.ends) == 1:
            return own
        best = log_probs[:, :, self.ends].amax(dim=-1)
        return torch.where(outputs == self.end, best, own)

    def uncertain(self, lengths: Tensor, longest: int) -> Tensor:
        """Which positions `(S, T)` are not forced."""
        at = torch.arange(longest, device=lengths.device).expand(len(lengths), -1)
        free = torch.ones_like(at, dtype=torch.bool)
        if self.is_first_forced:
            free &= at != 0
        if self.is_last_forced:
            free &= at != self.cap - 1
        return free

    def select(self, state: dict[str, Any], rows: Tensor) -> dict[str, Any]:
        cache = state["cache"]
        if cache is not None:
            cache = copy.deepcopy(cache)
            cache.reorder_cache(rows)
        chosen: dict[str, Any] = select({k: v for k, v in state.items() if k != "cache"}, rows)
        return {**chosen, "cache": cache}


def empty_cache() -> Any:
    """A cache that grows: one made of settings may have too few layers for a decoder."""
    from transformers import DynamicCache, EncoderDecoderCache

    return EncoderDecoderCache(DynamicCache(), DynamicCache())
