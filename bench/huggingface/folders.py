"""Random Hugging Face folders: a seed names a network, a tokenizer, settings of generation and inputs.

Everything is made on the spot with random weights; nothing is downloaded.
"""

from __future__ import annotations

import functools
import io
import json
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers as tk
import torch
import transformers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

TAGGERS = ["bert", "roberta", "xlm-roberta", "camembert", "distilbert"]
WRITERS = ["bart", "marian", "t5", "mt5"]
FAMILIES = [*TAGGERS, *WRITERS]
MAJOR = int(hf.__version__.split(".")[0])

STEMS = "the a dog cat house runs saw Paris blue über naïve 42 hello-world it's ÉTÉ ca. été sehr 東京 3.14 x".split()
LABELS = [
    ["O", "B-PER", "I-PER"],
    ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    ["B-X", "O", "I-X"],
    ["N", "V", "ADJ", "DET"],
    ["yes", "no"],
    None,  # the names that transformers gives
]
MADE_FOR_WRITERS = {"bart": "BartTokenizer", "marian": "MarianTokenizer", "t5": "T5Tokenizer", "mt5": "T5Tokenizer"}


def text(r: random.Random, n: int | None = None) -> str:
    words = []
    for _ in range(n or r.randint(1, 8)):
        word = r.choice(STEMS)
        if r.random() < 0.3:
            word = "".join(r.choice("abcdefghijklmnop éß'-.,") for _ in range(r.randint(1, 7))).strip() or "q"
        words.append(word)
    blank = lambda: " " if r.random() < 0.95 else "  "
    joined = "".join(word + blank() for word in words).rstrip()
    return (" " if r.random() < 0.05 else "") + joined


def words(r: random.Random) -> list[str]:
    return [r.choice(STEMS) for _ in range(r.randint(1, 8))]


@functools.lru_cache
def corpus(seed: int) -> list[str]:
    r = random.Random(1000 + seed)
    return [text(r, 6) for _ in range(300)]


# Tokenizers


@functools.lru_cache
def spm(seed: int, kind: str, layout: str) -> bytes:
    """A model of SentencePiece whose first pieces are those of a family."""
    ids = {
        "t5": dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
        "fairseq": dict(unk_id=0, bos_id=1, eos_id=2, pad_id=-1),
        "marian": dict(eos_id=0, unk_id=1, bos_id=-1, pad_id=-1),
    }[layout]
    r = random.Random(seed)
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus(seed)), model_writer=out, vocab_size=r.choice([80, 100, 120]),
        hard_vocab_limit=False, model_type=kind, minloglevel=5, character_coverage=r.choice([0.98, 1.0]),
        normalization_rule_name=r.choice(["nmt_nfkc", "identity", "nmt_nfkc_cf"]), **ids,
    )  # fmt: skip
    return out.getvalue()


def pieces(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(len(processor))]


def plain_tokenizer(r: random.Random, family: str) -> Any:
    """Any combination of the parts that `tokenizers` has."""
    bert_like = family in ("bert", "distilbert")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] if bert_like else ["<s>", "<pad>", "</s>", "<unk>"]
    if family in ("t5", "mt5"):
        names = ["<pad>", "</s>", "<unk>"]
    unk, pad = names[1 if bert_like else -1], names[0 if bert_like or "t5" in family else 1]
    end = names[3] if bert_like else "</s>"
    kind = r.choice(["wordlevel", "wordpiece", "bpe", "bytes", "unigram", "fallback"])
    size = r.choice([60, 90, 140])
    lines = corpus(r.randrange(4))
    decoder: Any = None
    if kind == "wordlevel":
        t, trainer = tk.Tokenizer(models.WordLevel(unk_token=unk)), trainers.WordLevelTrainer(vocab_size=size, special_tokens=names, show_progress=False)  # fmt: skip
        t.pre_tokenizer = pre_tokenizers.Whitespace()
    elif kind == "wordpiece":
        t, trainer = tk.Tokenizer(models.WordPiece(unk_token=unk)), trainers.WordPieceTrainer(vocab_size=size, special_tokens=names, show_progress=False)  # fmt: skip
        t.pre_tokenizer = r.choice([pre_tokenizers.BertPreTokenizer, pre_tokenizers.Whitespace])()
        decoder = decoders.WordPiece(cleanup=r.random() < 0.5)
    elif kind == "bytes":
        t, trainer = tk.Tokenizer(models.BPE()), trainers.BpeTrainer(vocab_size=256 + size, special_tokens=names, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)  # fmt: skip
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=r.random() < 0.5)
        decoder = decoders.ByteLevel()
    elif kind == "unigram":
        t, trainer = tk.Tokenizer(models.Unigram()), trainers.UnigramTrainer(vocab_size=size, special_tokens=names, unk_token=unk, show_progress=False)  # fmt: skip
        t.pre_tokenizer, decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    else:
        t, trainer = tk.Tokenizer(models.BPE(unk_token=unk, fuse_unk=True, byte_fallback=kind == "fallback")), trainers.BpeTrainer(  # fmt: skip
            vocab_size=size, show_progress=False,
            special_tokens=names + ([f"<0x{i:02X}>" for i in range(256)] if kind == "fallback" else []),
        )  # fmt: skip
        t.pre_tokenizer, decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        if kind == "fallback":
            decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])  # fmt: skip
    chosen = [normalizers.NFC(), normalizers.NFKC(), normalizers.Lowercase(), normalizers.StripAccents()]
    chosen = r.sample(chosen, r.choice([0, 0, 1, 2]))
    if chosen:
        t.normalizer = normalizers.Sequence(chosen)
    t.train_from_iterator(lines, trainer)
    if kind == "fallback":
        data = json.loads(t.to_str())
        data["added_tokens"] = [a for a in data["added_tokens"] if not a["content"].startswith("<0x")]
        t = tk.Tokenizer.from_str(json.dumps(data))
    if decoder is not None:
        t.decoder = decoder
    start = "[CLS]" if bert_like else "<s>" if "<s>" in names else None
    around = r.choice([f"{start} $A {end}", f"$A {end}"]) if start else f"$A {end}"
    special = [(name, t.token_to_id(name)) for name in {start, end} if name and name in around]
    t.post_processor = processors.TemplateProcessing(single=around, special_tokens=special)
    return hf.PreTrainedTokenizerFast(tokenizer_object=t, unk_token=unk, pad_token=pad, eos_token=end)


def own_tokenizer(r: random.Random, family: str, folder: Path) -> Any:
    """The tokenizer class of a family, from files as its checkpoints have them."""
    with tempfile.TemporaryDirectory() as made:
        at, seed = Path(made), r.randrange(4)
        if family in ("bert", "distilbert"):
            t = tk.BertWordPieceTokenizer()
            t.train_from_iterator(corpus(seed), vocab_size=140, show_progress=False)
            t.save_model(made)
            vocab = dict(vocab=t.get_vocab()) if MAJOR > 4 else dict(vocab_file=str(at / "vocab.txt"))
            kind = hf.BertTokenizer if MAJOR > 4 else r.choice([hf.BertTokenizer, hf.BertTokenizerFast])
            tokenizer = kind(**vocab, do_lower_case=r.random() < 0.5)
        elif family in ("roberta", "bart"):
            t = tk.ByteLevelBPETokenizer()
            special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
            t.train_from_iterator(corpus(seed), vocab_size=340, special_tokens=special, show_progress=False)
            t.save_model(made)
            files = dict(vocab=str(at / "vocab.json"), merges=str(at / "merges.txt"))
            if MAJOR < 5:
                files = dict(vocab_file=files["vocab"], merges_file=files["merges"])
            kinds = [hf.RobertaTokenizerFast, hf.RobertaTokenizer] if family == "roberta" else [hf.BartTokenizerFast, hf.BartTokenizer]  # fmt: skip
            kind = r.choice(kinds)
            # Words of a list need a blank before them.
            tokenizer = kind(**files, add_prefix_space=family == "roberta")
        elif family == "marian":
            source, target = (spm(seed + 4 * i, "unigram", "marian") for i in range(2))
            (at / "source.spm").write_bytes(source)
            (at / "target.spm").write_bytes(target)
            both = sorted({*pieces(source), *pieces(target)} - {"</s>", "<unk>"}, key=lambda p: (hash_of(p), p))
            names = ["</s>", "<unk>", *both, ">>fra<<", "<pad>"]
            (at / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
            tokenizer = hf.MarianTokenizer(
                source_spm=str(at / "source.spm"), target_spm=str(at / "target.spm"), vocab=str(at / "vocab.json")
            )
            tokenizer.save_pretrained(folder)
            return hf.MarianTokenizer.from_pretrained(folder)
        else:
            is_t5 = family in ("t5", "mt5")
            name = "spiece.model" if is_t5 else "sentencepiece.bpe.model"
            (at / name).write_bytes(spm(seed, "unigram", "t5" if is_t5 else "fairseq"))
            kind = {"t5": "T5", "mt5": "T5", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}[family]
            extra = dict(extra_ids=r.choice([0, 3])) if is_t5 else {}
            if MAJOR < 5:
                slow = getattr(hf, f"{kind}Tokenizer")(str(at / name), **extra)
                slow.save_pretrained(folder)
                if r.random() < 0.5:
                    return hf.AutoTokenizer.from_pretrained(folder)  # made fast, but only slow files are kept
                tokenizer = hf.AutoTokenizer.from_pretrained(folder)
            else:
                settings = dict(tokenizer_class=f"{kind}Tokenizer", **extra)
                (at / "tokenizer_config.json").write_text(json.dumps(settings))
                tokenizer = getattr(hf, f"{kind}Tokenizer").from_pretrained(at)
                if r.random() < 0.5:
                    for file in at.iterdir():
                        shutil.copy(file, folder)
                    return tokenizer
    tokenizer.save_pretrained(folder)
    return tokenizer


def hash_of(piece: str) -> int:
    return sum(ord(c) * 31**i for i, c in enumerate(piece)) % 1009


# Networks


def sizes(r: random.Random, family: str, n: int, pad: int, end: int, is_exact: bool) -> Any:
    heads, each = r.choice([(1, 8), (2, 8), (4, 4)]), None
    width, each = heads[0] * heads[1], heads
    act = r.choice(["gelu", "relu", "gelu_new", "silu"])
    # Sizes are often rounded up; Marian's tokenizer fails at symbols that it has no piece for.
    n += r.choice([0, 0, 3, 8]) * (not is_exact)
    if family in TAGGERS:
        sized: dict[str, Any] = dict(vocab_size=n, pad_token_id=pad, max_position_embeddings=r.choice([64, 90]))
        labels = r.choice(LABELS)
        if labels:
            sized |= dict(id2label=dict(enumerate(labels)), label2id={k: i for i, k in enumerate(labels)})
        if family == "distilbert":
            sized |= dict(dim=width, n_layers=r.randint(1, 3), n_heads=each[0], hidden_dim=r.choice([16, 40]), activation=act)
            return hf.DistilBertConfig(**sized)
        kind = {"bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}[family]
        return getattr(hf, f"{kind}Config")(
            **sized, hidden_size=width, num_hidden_layers=r.randint(1, 3), num_attention_heads=each[0],
            intermediate_size=r.choice([16, 40]), hidden_act=act, type_vocab_size=r.choice([1, 2]),
            layer_norm_eps=r.choice([1e-5, 1e-12]),
        )  # fmt: skip
    start = r.choice([pad, end])
    if family in ("t5", "mt5"):
        kind = hf.T5Config if family == "t5" else hf.MT5Config
        tied = {} if r.random() < 0.3 else dict(tie_word_embeddings=r.random() < 0.6)
        return kind(
            vocab_size=n, d_model=width, d_kv=r.choice([4, 6]), d_ff=r.choice([16, 40]), num_layers=r.randint(1, 3),
            num_decoder_layers=r.randint(1, 3), num_heads=r.choice([1, 2, 3]),
            relative_attention_num_buckets=r.choice([4, 8, 32]), relative_attention_max_distance=r.choice([20, 128]),
            feed_forward_proj=r.choice(["relu", "gated-gelu", "gated-silu", "gelu"]), pad_token_id=pad,
            eos_token_id=end, decoder_start_token_id=start, **tied,
        )  # fmt: skip
    kind = hf.BartConfig if family == "bart" else hf.MarianConfig
    # transformers 4 reads some tables of BART that it saved untied at random.
    extra = dict(tie_word_embeddings=r.random() < 0.7 or (MAJOR < 5 and family == "bart"))
    return kind(
        vocab_size=n, d_model=width, encoder_layers=r.randint(1, 3), decoder_layers=r.randint(1, 3),
        encoder_attention_heads=each[0], decoder_attention_heads=each[0], encoder_ffn_dim=r.choice([16, 40]),
        decoder_ffn_dim=r.choice([16, 40]), max_position_embeddings=r.choice([64, 90]), activation_function=act,
        scale_embedding=r.random() < 0.5, pad_token_id=pad, eos_token_id=end, bos_token_id=0,
        decoder_start_token_id=start, forced_eos_token_id=None, **extra,
    )  # fmt: skip


def generation(r: random.Random, model: Any, n: int) -> dict[str, Any]:
    """Settings of `generate`, each in about a fifth of all folders."""
    end = model.config.eos_token_id
    said: dict[str, Any] = {}
    some = lambda: r.random() < 0.2
    symbol = lambda: r.randrange(3, n)
    length = r.choice([None, dict(max_length=r.randint(4, 24)), dict(max_new_tokens=r.randint(3, 22))])
    said |= length or {}
    if r.random() < 0.5:
        said |= dict(num_beams=r.choice([2, 4, 5]))
        if r.random() < 0.7:
            said |= dict(length_penalty=r.choice([0.0, 0.6, 1.0, 2.0, -0.5]), early_stopping=r.choice([True, False, "never"]))
    if some():
        said |= r.choice([dict(min_length=r.randint(2, 8)), dict(min_new_tokens=r.randint(1, 6))])
    if some():
        said |= dict(no_repeat_ngram_size=r.randint(1, 3))
    if some():
        said |= dict(repetition_penalty=r.choice([0.8, 1.2, 2.0]))
    if some():
        said |= dict(forced_eos_token_id=end)
    if some():
        said |= dict(forced_bos_token_id=symbol())
    if some():
        said |= dict(suppress_tokens=[symbol(), symbol()])
    if some():
        said |= dict(begin_suppress_tokens=[symbol(), end])
    if some():
        said |= dict(bad_words_ids=[[symbol()]])
    said |= dict(eos_token_id=[end, symbol()] if some() else end)
    return said


def excite(model: Any) -> None:
    """Random weights far from their start, so that outputs differ from input to input."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            is_gain = "norm" in name.lower() and not name.endswith("bias")
            is_table = "emb" in name or "shared" in name or "lm_head" in name
            p.copy_(torch.randn_like(p) * (0.2 if p.dim() == 1 else 0.3 if is_table else 1.1 / p.shape[1] ** 0.5) + is_gain)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(std=0.5)
        if model.config.is_encoder_decoder:
            # Scores far enough apart that some outputs end.
            model.get_output_embeddings().weight.mul_(3.0)


def make(seed: int, folder: Path) -> dict[str, Any]:
    """Writes the folder of a seed, and returns what is in it."""
    r = random.Random(seed)
    torch.manual_seed(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    is_own = r.random() < 0.6
    if is_own:
        tokenizer = own_tokenizer(r, family, folder)
    else:
        tokenizer = plain_tokenizer(r, family)
        tokenizer.save_pretrained(folder)
    n = max(len(tokenizer), 1 + max(tokenizer.get_vocab().values()))
    config = sizes(r, family, n, tokenizer.pad_token_id, tokenizer.eos_token_id or 0, is_own and family == "marian")
    kind = hf.AutoModelForTokenClassification if family in TAGGERS else hf.AutoModelForSeq2SeqLM
    model = kind.from_config(config).eval()
    excite(model)
    said: dict[str, Any] = {}
    if family in WRITERS:
        said = generation(r, model, n)
        model.generation_config = hf.GenerationConfig(
            decoder_start_token_id=config.decoder_start_token_id, pad_token_id=config.pad_token_id,
            bos_token_id=getattr(config, "bos_token_id", None), **said,
        )  # fmt: skip
    dtype = r.choice(["float32"] * 4 + ["bfloat16", "float16", "float64"])
    model.to(getattr(torch, dtype)).save_pretrained(folder, max_shard_size=r.choice(["10KB", "5GB"]))
    if family in ("bart", "marian", "t5", "mt5") and r.random() < 0.15:
        edit_tables(r, family, folder, config)
    if r.random() < 0.15:
        edit_settings(r, family, folder)
    make_inputs = words if family in TAGGERS else text
    inputs: list[Any] = [make_inputs(r) for _ in range(6)]
    if family == "roberta" and r.random() < 0.3:
        inputs.append(["the", "<pad>", "dog"])
    if family == "marian" and is_own:
        inputs.append(">>fra<< " + text(r))
    return dict(
        family=family, own=is_own, dtype=dtype, said=said, inputs=inputs,
        tokenizer=type(tokenizer).__name__,
    )  # fmt: skip


def edit_settings(r: random.Random, family: str, folder: Path) -> None:
    """Settings under their other names, which win, and settings of generation where older folders have them."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    kind = r.choice(["layers", "activation", "no file"])
    if kind == "layers" and (family in ("distilbert", "t5", "mt5") or (MAJOR > 4 and family in WRITERS)):
        config["num_hidden_layers"] = 1
    elif kind == "activation" and family in ("t5", "mt5"):
        config["dense_act_fn"] = r.choice(["relu", "silu", "gelu"])
    elif kind == "no file" and family in WRITERS:
        (folder / "generation_config.json").unlink()
    path.write_text(json.dumps(config))


def edit_tables(r: random.Random, family: str, folder: Path, config: Any) -> None:
    """Tables of symbols that are unequal although they could be one."""
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    if not file.exists():
        return
    tensors = load_file(file)
    prefix = "" if "t5" in family else "model."
    shared = tensors[f"{prefix}shared.weight"]
    for part in ("encoder", "decoder"):
        name = f"{prefix}{part}.embed_tokens.weight"
        tensors[name] = (shared.float() + 0.3 * torch.randn(shared.shape)).to(shared.dtype)
    save_file(tensors, file, metadata={"format": "pt"})
