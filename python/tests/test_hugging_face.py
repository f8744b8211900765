"""Models of transformers with random weights: nothing is downloaded."""

from __future__ import annotations

from typing import Any

import pytest

import cajole

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import cajole.torch  # noqa: E402

torch.set_num_threads(1)

WORDS = [f"w{i}" for i in range(40)]


def tokenizer(pieces: list[str], **special: str) -> Any:
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="<unk>")
    fast = tokenizers.Tokenizer(model)
    fast.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast, pad_token="<pad>", unk_token="<unk>", **special
    )


def token_classifier(kind: str) -> tuple[Any, Any]:
    torch.manual_seed(0)
    labels = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC", 4: "I-LOC"}
    sizes: dict[str, Any] = {"vocab_size": 42, "num_labels": 5, "id2label": labels}
    if kind == "bert":
        config = transformers.BertConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, **sizes
        )
    else:
        config = transformers.DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=32, **sizes)
    model = transformers.AutoModelForTokenClassification.from_config(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0.0, 0.4)
    return model, tokenizer(["<pad>", "<unk>", *WORDS])


def one_person(x: Any, y: cajole.Output) -> float:
    return abs(y.symbols.count("B-PER") - 1)


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_token_classification(kind: str) -> None:
    model, words = token_classifier(kind)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    inputs: list[Any] = ["w1 w2 w3", "w9 w4 w4 w20 w31", ["w7", "w8"], "w30", "w5 w6 w39 w2"]
    adapted = cajole.torch.hugging_face(model, words)
    results = list(adapted.infer(inputs, rules=one_person, max_steps=200))
    assert all(r.status == "satisfied" for r in results), results
    assert any(r.steps for r in results)
    assert isinstance(results[2].output, list) and isinstance(results[0].output, str)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    # Outputs that satisfy at once are the model's own.
    own = list(adapted.infer(inputs, rules=one_person, engine="network"))
    for before_repair, after in zip(own, results, strict=True):
        if before_repair.status == "satisfied":
            assert before_repair.output == after.output


def seq2seq_model(kind: str) -> tuple[Any, Any]:
    torch.manual_seed(1)
    special = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
    if kind == "t5":
        config = transformers.T5Config(
            vocab_size=43, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, **special
        )
    else:
        config = transformers.BartConfig(
            vocab_size=43, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, bos_token_id=1,
            forced_eos_token_id=None, max_position_embeddings=64, **special,
        )
    model = transformers.AutoModelForSeq2SeqLM.from_config(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.3)
    names = ["<pad>", "<unk>", "</s>", *(f"▁{word}" for word in WORDS)]
    words = tokenizer(names, eos_token="</s>")
    return model, words


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_seq2seq(kind: str) -> None:
    model, words = seq2seq_model(kind)
    inputs = ["▁w1 ▁w2 ▁w3", "▁w9 ▁w4 ▁w20 ▁w31", "▁w7", "▁w30 ▁w5"]
    adapted = cajole.torch.hugging_face(model, words, max_length=12)
    plain = list(adapted.infer(inputs, rules=lambda x, y: 0.0, engine="network"))
    # The model's own greedy decoding, by transformers.
    for text, result in zip(inputs, plain, strict=True):
        ids = words(text, return_tensors="pt")["input_ids"]
        made = model.eval().generate(
            input_ids=ids, max_new_tokens=12, do_sample=False, num_beams=1, min_length=0
        )
        kept = [i for i in made[0, 1:].tolist() if i != 2]
        want = "".join(words.convert_ids_to_tokens(kept)).replace("▁", " ")
        assert result.output == want
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    def no_most_common(x: Any, y: cajole.Output) -> float:
        return float(y.symbols.count(common))

    common = " " + plain[0].output.split()[-1]
    results = list(adapted.infer(inputs, rules=no_most_common, max_steps=20))
    assert all(r.error is None for r in results)
    assert any(r.steps for r in results)
    assert any(r.g_before > 0 and r.g_after < r.g_before for r in results)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_other_models_are_refused() -> None:
    model, words = token_classifier("bert")
    with pytest.raises(TypeError, match="neither a token classifier nor a seq2seq model"):
        cajole.torch.hugging_face(model.bert, words)
    with pytest.raises(AttributeError):
        cajole.torch.hugging_face(torch.nn.Linear(2, 2), words)
