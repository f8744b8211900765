"""Models of transformers with random weights: nothing is downloaded."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
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
    assert [len(r.output.split()) for r in results] == [3, 5, 2, 1, 4]
    assert results[2].to_dict()["tokens"] == ["w7", "w8"]
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
        assert result.output == written(words, made[0, 1:].tolist())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    def no_most_common(x: Any, y: cajole.Output) -> float:
        return float(y.split().count(common))

    common = plain[0].output.split()[-1]
    results = list(adapted.infer(inputs, rules=no_most_common, max_steps=20))
    assert all(r.error is None for r in results)
    assert any(r.steps for r in results)
    assert any(r.g_before > 0 and r.g_after < r.g_before for r in results)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def written(words: Any, ids: list[int]) -> str:
    """The text of an output: its end has none."""
    kept = ids[: ids.index(2)] if 2 in ids else ids
    text: str = words.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text


def test_a_folder_and_its_module_answer_alike(tmp_path: pathlib.Path) -> None:
    rule = {"bert": 'count(out, "O") <= 1', "t5": "len(words(out)) <= len(words(in))"}
    for kind, (model, words) in {
        "bart": seq2seq_model("bart"), "t5": seq2seq_model("t5"), "bert": token_classifier("bert")
    }.items():  # fmt: skip
        if kind != "bert":
            model.generation_config.update(
                max_new_tokens=9, suppress_tokens=[5, 6], forced_bos_token_id=7, num_beams=3,
                no_repeat_ngram_size=2, eos_token_id=[2, 30],
            )  # fmt: skip
        rules = tmp_path / f"{kind}.toml"
        rules.write_text(f"arithmetic = '{rule.get(kind, rule['t5'])}'\n")
        folder = tmp_path / kind
        model.save_pretrained(folder)
        words.save_pretrained(folder)
        inputs: list[Any] = ["w1 w2 w3", {"input": ["w9", "w4"]}, "w7"]
        both = [cajole.load(folder), cajole.torch.hugging_face(model.eval(), words)]
        for engine in ("network", "masked", "beam"):
            native, adapted = (
                [r.to_dict() for r in m.infer(inputs, rules=rules, engine=engine)] for m in both
            )
            for own, other in zip(native, adapted, strict=True):
                [own.pop(key, None) or other.pop(key, None) for key in ("log_prob", "ms")]
                assert own == other, (kind, engine)


def test_settings_that_are_not_obeyed_are_warned_of() -> None:
    model, words = seq2seq_model("t5")
    model.generation_config.encoder_no_repeat_ngram_size = 3
    with pytest.warns(UserWarning, match="encoder_no_repeat_ngram_size"):
        cajole.torch.hugging_face(model, words)


@pytest.mark.skipif(not importlib.util.find_spec("sentencepiece"), reason="no sentencepiece")
def test_random_folders_equal_transformers(tmp_path: pathlib.Path) -> None:
    """A few of the folders that `bench/huggingface/differential.py` makes, of all families, both ways."""
    script = pathlib.Path(__file__).parents[2] / "bench/huggingface/differential.py"
    options = ["--folders", "36", "--seed", "100", "--both", "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=False)
    wrong = (tmp_path / "results.jsonl").read_text().splitlines()
    wrong = [line for line in wrong if '"verdict": "equal"' not in line and '"verdict": "utf-8"' not in line]
    assert done.returncode == 0 and not wrong, (done.stdout, done.stderr[-2000:], wrong[:2])


def test_other_models_are_refused() -> None:
    model, words = token_classifier("bert")
    with pytest.raises(TypeError, match="neither a token classifier nor a seq2seq model"):
        cajole.torch.hugging_face(model.bert, words)
    with pytest.raises(TypeError, match="Linear is neither"):
        cajole.torch.hugging_face(torch.nn.Linear(2, 2), words)
    sequences = transformers.BertForSequenceClassification(model.config)
    with pytest.raises(TypeError, match="BertForSequenceClassification is neither"):
        cajole.torch.hugging_face(sequences, words)
