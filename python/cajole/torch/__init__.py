"""Repair the outputs of any PyTorch module: `cajole.torch`.

Algorithm 1, objectives, searches and rules are cajole's own; PyTorch computes scores and gradients where
the module lives. Every input has a private copy of the few parameters that move (biases and norms by
default), and many inputs are repaired in one batch. The module itself is never changed.

- `hugging_face(model, tokenizer)`: token classification and seq2seq models of transformers.
- `tagger(module, tags)`: any module that gives every token the log-probabilities of its tags.
- `seq2seq(module, symbols)`: any module that writes one symbol after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from cajole import _native
from cajole._model import Model, warn_of_remarks
from cajole.torch._backend import Seq2SeqBackend, TaggerBackend
from cajole.torch._protocol import Methods, symbols_of

__all__ = ["TorchModel", "hugging_face", "seq2seq", "tagger"]

Moves = Sequence[str]
VECTORS: Moves = ("@vectors",)


class TorchModel(Model):
    """A PyTorch module with its symbols; `infer` and `compare` work as for every model."""

    _threads = 1  # PyTorch has threads of its own; one of ours feeds it

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a model around a PyTorch module cannot be pickled: make it where it is used")


def tagger(
    module: nn.Module,
    tags: Sequence[str],
    *,
    log_probs: Callable[[Sequence[Any]], Sequence[Tensor] | Tensor] | None = None,
    tokens: Callable[[Any], Sequence[str]] = symbols_of,
    moves: Moves = VECTORS,
    in_step: int | None = None,
) -> TorchModel:
    """A module that tags every token of an input.

    tags: the names of its tags, by number. If they are BIO tags, only valid sequences are decoded.
    log_probs: takes a list of inputs and gives a tensor `(T, V)` of log-probabilities for each, computed in
        one batch; by default, the module's method of that name.
    tokens: the tokens of an input; by default, the words of a text or the items of a list.
    moves: patterns of parameters that move; "@vectors" are biases and norms.
    in_step: how many inputs go together; by default 32, and 512 on a GPU.
    """
    methods = Methods(module, log_probs=log_probs)

    def prepare(value: Any) -> tuple[Any, list[str], int, int]:
        words = [str(token) for token in tokens(value)]
        return value, words, len(words), len(words)

    backend = TaggerBackend(module, prepare, methods["log_probs"], in_step)
    network = _native.torch_tagger(backend, list(tags), list(moves))
    return TorchModel(type(module).__name__, network)


def seq2seq(
    module: nn.Module,
    symbols: Sequence[str],
    *,
    separator: str = " ",
    encode: Callable[[Sequence[Any]], Any] | None = None,
    step: Callable[[Any, Tensor], tuple[Tensor, Any]] | None = None,
    force: Callable[[Any, Tensor], Tensor] | None = None,
    select: Callable[[Any, Tensor], Any] | None = None,
    tokens: Callable[[Any], Sequence[str]] = symbols_of,
    max_length: Callable[[Any], int] | int = 128,
    moves: Moves = VECTORS,
    in_step: int | None = None,
) -> TorchModel:
    """A module that writes one symbol after another. Functions default to the module's methods.

    symbols: the names of its symbols, by number, without the end symbol, which is the next number. It
        also stands before the first symbol.
    encode(inputs): the state of a batch with a row for each input: tensors whose first dimension is the
        row, in tuples, lists and dicts.
    step(state, symbols): log-probabilities `(R, V)` after one more symbol in each row, and the new state.
    force(state, outputs): log-probabilities `(R, T, V)` of every position of outputs `(R, T)` from the
        state that `encode` gave; by default, step by step.
    select(state, rows): the state of these rows; by default, every tensor is indexed.
    """
    from cajole.torch._protocol import Steps

    methods = Methods(module, encode=encode, step=step)
    network = Steps(module, len(symbols), methods["encode"], methods["step"], force, select)

    def prepare(value: Any) -> tuple[Any, list[str], int, int]:
        words = [str(token) for token in tokens(value)]
        cap = max_length(value) if callable(max_length) else max_length
        return value, words, len(words), cap

    backend = Seq2SeqBackend(module, prepare, network, in_step)
    native = _native.torch_stepper(backend, list(symbols), separator, list(moves))
    return TorchModel(type(module).__name__, native)


def hugging_face(
    model: Any,
    tokenizer: Any,
    *,
    moves: Moves = VECTORS,
    in_step: int | None = None,
    max_length: int | None = None,
) -> TorchModel:
    """A model for token classification or a seq2seq model of transformers, with its tokenizer.

    Lines, rules and outputs are those of `cajole infer --model FOLDER` with the folder that
    `save_pretrained` writes of both.
    max_length: the most symbols of an output; by default, what the model's generation settings say.
    """
    from cajole.torch import _hugging_face

    kind = type(model).__name__
    config = getattr(model, "config", None)
    is_writer = getattr(config, "is_encoder_decoder", False) and kind.endswith(
        ("ForConditionalGeneration", "MTModel", "LMHeadModel")
    )
    if not is_writer and not kind.endswith("ForTokenClassification"):
        raise TypeError(
            f"{kind} is neither a token classifier nor a seq2seq model of transformers; "
            "see cajole.torch.tagger and cajole.torch.seq2seq for other modules"
        )
    with _hugging_face.described(model, tokenizer) as folder:
        if is_writer:
            writer = _hugging_face.Seq2Seq(model, folder, max_length)
            backend = Seq2SeqBackend(model, writer.prepare, writer, in_step)
            native = _native.torch_writer(backend, folder, max_length, list(moves))
        else:
            reader = _hugging_face.TokenClassifier(model)
            tags = TaggerBackend(model, reader.prepare, reader.log_probs, in_step)
            native = _native.torch_labels(tags, folder, list(moves))
    warn_of_remarks(native)
    return TorchModel(kind, native)
