"""Random Hugging Face folders: what cajole computes with them beside what transformers does.

    python bench/huggingface/differential.py --folders 1000 --seed 0 --out DIR

Results go to DIR/results.jsonl, one line for each folder; a run that was killed goes on where it was.
`--both` also opens each folder by `cajole.torch.hugging_face` and compares outputs, g and text.
The folder of a seed is made again by `--only SEED --keep`. Needs cajole, torch, transformers and sentencepiece.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers as hf

import cajole

sys.path.insert(0, str(Path(__file__).parent))
import folders

LOG_PROB = 5e-4
"""How far log-probabilities of outputs may be off."""

RULE = 'arithmetic = "len(out) <= 6"'


def viterbi(scores: torch.Tensor, labels: list[str]) -> list[int]:
    """The best labels; if they are BIO tags, the best of those in which I-x follows B-x or I-x."""
    is_bio = "O" in labels and all(x == "O" or x[:2] in ("B-", "I-") for x in labels)
    if not is_bio:
        return scores.argmax(-1).tolist()
    fits = lambda a, b: not b.startswith("I-") or (a is not None and a[2:] == b[2:] and a != "O")
    best = [s if fits(None, x) else -math.inf for s, x in zip(scores[0].tolist(), labels)]
    back = []
    for row in scores[1:].tolist():
        from_ = [max((best[i] if fits(a, b) else -math.inf, -i) for i, a in enumerate(labels)) for b in labels]
        back.append([-i for _, i in from_])
        best = [value + s for (value, _), s in zip(from_, row)]
    at = max(range(len(labels)), key=lambda i: best[i])
    y = [at]
    for step in reversed(back):
        at = step[at]
        y.append(at)
    return y[::-1]


def by_tagger(model: Any, tokenizer: Any, x: list[str]) -> tuple[str, float] | None:
    if tokenizer.is_fast and "ByteLevel" in str(tokenizer.backend_tokenizer.pre_tokenizer):
        x = [word if word in tokenizer.all_special_tokens else f" {word}" for word in x]  # as in a text
    names = model.config.id2label
    labels = [names[i] for i in range(len(names))]
    if tokenizer.is_fast:
        encoded = tokenizer(x, is_split_into_words=True, return_tensors="pt")
        ids, of = encoded["input_ids"], encoded.word_ids()
    else:
        own = [tokenizer.encode(word, add_special_tokens=False) for word in x]
        body, of = [i for part in own for i in part], [k for k, part in enumerate(own) for _ in part]
        built = tokenizer.build_inputs_with_special_tokens(body)
        lead = (len(built) - len(body)) // 2
        ids, of = torch.tensor([built]), [None] * lead + of + [None] * lead
    firsts = [of.index(i) if i in of else None for i in range(len(x))]
    if None in firsts:
        return None
    with torch.no_grad():
        scores = model(input_ids=ids).logits[0].float().log_softmax(-1)[firsts]
    y = viterbi(scores, labels)
    return " ".join(labels[i] for i in y), scores[range(len(y)), y].sum().item()


def by_writer(model: Any, tokenizer: Any, x: str) -> tuple[str, float | None, bool]:
    """The text, its log-probability, and whether it ended."""
    encoded = tokenizer(x, return_tensors="pt")
    inputs = dict(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"])
    said = model.generation_config
    with torch.no_grad():
        # transformers 5.23 makes a cache for too few layers where the decoder of a T5 has more.
        cached = {} if model.config.model_type not in ("t5", "mt5") else dict(use_cache=False)
        ids = model.generate(**inputs, **cached)[0].tolist()
        ends = said.eos_token_id if isinstance(said.eos_token_id, list) else [said.eos_token_id]
        y = ids[1:]
        stops = next((i for i, symbol in enumerate(y) if symbol in ends), None)
        y = y if stops is None else y[: stops + 1]
        before = torch.tensor([ids[:1] + y[:-1]])
        scores = model(**inputs, decoder_input_ids=before).logits[0].float().log_softmax(-1)
    each = scores[range(len(y)), y].tolist()
    if stops is not None and said.repetition_penalty not in (None, 1.0):
        each[-1] = scores[-1, ends].max().item()  # cajole's is that of the most probable end
    if said.forced_bos_token_id is not None:
        each[0] = 0.0
    usual = said.max_length is None or (folders.MAJOR < 5 and said.max_length == 20)
    limit = said.max_new_tokens or (20 if usual else said.max_length - 1)
    if said.forced_eos_token_id is not None and len(y) == limit:
        each[-1] = 0.0
    # What ends an output is no part of it, even if it is no special piece.
    text = tokenizer.decode(y if stops is None else y[:-1], skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text, sum(each), stops is not None


def is_close(a: float | None, b: float | None) -> bool:
    return a is None or b is None or abs(a - b) <= LOG_PROB * max(1.0, abs(b) / 100)


def alike(family: str, got: str, want: str) -> bool:
    # Marian's tokenizer drops blanks around the whole text.
    return got.strip() == want.strip() if family == "marian" else got == want


def compare(seed: int, folder: Path, both: bool) -> dict[str, Any]:
    made = folders.make(seed, folder)
    result: dict[str, Any] = dict(seed=seed, version=hf.__version__, **{k: made[k] for k in ("family", "own", "tokenizer", "said")})
    family = made["family"]
    kind = hf.AutoModelForTokenClassification if family in folders.TAGGERS else hf.AutoModelForSeq2SeqLM
    model = kind.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = hf.AutoTokenizer.from_pretrained(folder, **({"add_prefix_space": True} if family == "roberta" else {}))
    try:
        network = cajole.load(str(folder))
    except Exception as error:
        return dict(result, verdict="refused", why=str(error))
    rules = folder / "rules.toml"
    rules.write_text(RULE)
    options: dict[str, Any] = dict(rules=rules, engine="network", max_tokens=4096)
    inputs: list[Any] = [dict(tokens=x) if isinstance(x, list) else x for x in made["inputs"]]
    inputs[0] = dict(input=inputs[0]) if isinstance(inputs[0], str) else inputs[0]
    records = list(network.infer(inputs, **options))
    result["outputs"] = 0
    wrong: list[dict[str, Any]] = []
    for x, record in zip(made["inputs"], records):
        if record.error is not None:
            wants = by_tagger(model, tokenizer, x) if family in folders.TAGGERS else True
            if wants is not None:
                wrong.append(dict(kind="error", input=x, why=str(record.error)))
            continue
        result["outputs"] += 1
        got = record.to_dict()["output"]
        log_prob: float | None
        if family in folders.TAGGERS:
            wanted = by_tagger(model, tokenizer, x)
            if wanted is None:
                wrong.append(dict(kind="no piece", input=x))
                continue
            want, log_prob = wanted
            ended = True
        else:
            want, log_prob, ended = by_writer(model, tokenizer, x)
        if family in folders.WRITERS and not ended and made["said"].get("repetition_penalty"):
            log_prob = None  # cajole's is that of the output with an end
        if not alike(family, got, want):
            same = "\ufffd" in want and is_close(record.log_prob, log_prob)
            wrong.append(dict(kind="utf-8" if same else "text", input=x, got=got, want=want, log_probs=[record.log_prob, log_prob]))
        elif not is_close(record.log_prob, log_prob):
            wrong.append(dict(kind="log p", input=x, got=record.log_prob, want=log_prob))
    if both:
        wrong += both_ways(model, tokenizer, inputs, records, options)
    kinds = {case["kind"] for case in wrong}
    if not kinds:
        verdict = "equal"
    elif kinds == {"utf-8"}:
        verdict = "utf-8"
    elif kinds == {"text"} and made["said"].get("num_beams", 1) > 1:
        verdict = "beams"
    else:
        verdict = "DIFFERENT"
    return dict(result, verdict=verdict, wrong=wrong[:4])


def both_ways(model: Any, tokenizer: Any, inputs: list[Any], records: list[Any], options: Any) -> list[dict[str, Any]]:
    """The same network in PyTorch: outputs, g and text are those of the folder."""
    import cajole.torch

    adapted = cajole.torch.hugging_face(model, tokenizer)
    wrong = []
    for x, a, b in zip(inputs, records, adapted.infer(inputs, **options)):
        if a.error is not None or b.error is not None:
            same = (a.error is None) == (b.error is None)
        else:
            keep = lambda record: {k: v for k, v in record.to_dict().items() if k not in ("ms", "log_prob")}
            same = keep(a) == keep(b) and is_close(a.log_prob, b.log_prob)
        if not same:
            wrong.append(dict(kind="both ways", input=x, got=b.to_json(), want=a.to_json()))
    return wrong


def table(results: list[dict[str, Any]]) -> str:
    verdicts = ["equal", "utf-8", "beams", "DIFFERENT", "refused", "harness"]
    lines = ["| family | folders | outputs | equal | only invalid UTF-8 differs | only beams differ | DIFFERENT | refused | harness |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for family in [*folders.FAMILIES, "all"]:
        own = [r for r in results if family in (r.get("family"), "all")]
        counts = collections.Counter(r["verdict"] for r in own)
        outputs = sum(r.get("outputs", 0) for r in own)
        lines.append(f"| {family} | {len(own)} | {outputs} | " + " | ".join(str(counts[v] or "") for v in verdicts) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folders", type=int, default=90)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--both", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "results.jsonl"
    results = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {r["seed"] for r in results} if args.only is None else set()
    seeds = range(args.seed, args.seed + args.folders) if args.only is None else [args.only]
    with file.open("a") as out:
        for seed in seeds:
            if seed in done:
                continue
            folder = args.out / f"seed-{seed}" if args.keep else Path(tempfile.mkdtemp())
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                result = compare(seed, folder, args.both)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                result = dict(seed=seed, family=folders.FAMILIES[seed % len(folders.FAMILIES)], verdict="harness", why=f"{error!r} at {where.filename}:{where.lineno}")
            if not args.keep:
                shutil.rmtree(folder)
            results.append(result)
            if args.only is not None:
                print(json.dumps(result, indent=1, ensure_ascii=False))
                return
            out.write(json.dumps(result, ensure_ascii=False) + "\n")
            out.flush()
    chosen = [r for r in results if r["seed"] in seeds]
    print(table(chosen))
    sys.exit(any(r["verdict"] in ("DIFFERENT", "beams", "harness") for r in chosen))


if __name__ == "__main__":
    main()
