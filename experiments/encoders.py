"""Trains a role tagger on a pretrained encoder (BERT's kind) and English words, with PyTorch on a GPU.

    python experiments/encoders.py --encoder FOLDER --data DATA/ewt --out NETS/minilm

`cajole train srl --network minilm --encoder FOLDER` trains the same network on a CPU. The result is a
checkpoint folder that `cajole` opens. The architecture is cajole's own
(`crates/cajole-nn/src/models/transformer/tagger.rs`): the first piece of a word carries its tag, and the first
piece of the predicate has the encoder's second type. `B` predicates, `P` pieces, `T` words, `D` width, `V` tags.
"""

import argparse
import json
import random
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import BertModel

from corpus import Averaged, Buckets, rows, save_checkpoint
from taggers import spans, transitions, viterbi

UNKNOWN = "[UNK]"


class Propositions:
    """The verbal predicates of sentences: pieces, the first piece of each word, the predicate, tags."""

    def __init__(self, sentences, tokenizer):
        self.items = []
        for row in sentences:
            verbs = [item for item in row["srl"] if row["pos"][item["p"]].startswith(("V", "MD"))]
            if verbs:
                pieces, firsts = split(tokenizer, row["tokens"])
                self.items += [(pieces, firsts, item["p"], item["bio"].split()) for item in verbs]

    def __len__(self):
        return len(self.items)


def split(tokenizer, words):
    """The pieces of a sentence, and the first of each word; words without pieces become unknown."""
    encoding = tokenizer.encode(words, is_pretokenized=True)
    firsts = [None] * len(words)
    for at, word in reversed(list(enumerate(encoding.word_ids))):
        if word is not None:
            firsts[word] = at
    if None in firsts:
        return split(tokenizer, [UNKNOWN if f is None else w for f, w in zip(firsts, words)])
    return encoding.ids, firsts


class Tagger(nn.Module):
    """The encoder with a new layer on top."""

    def __init__(self, folder, tags, dropout):
        super().__init__()
        rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": 0.1}
        self.encoder = BertModel.from_pretrained(folder, add_pooling_layer=False, **rates)
        self.output = nn.Linear(self.encoder.config.hidden_size, tags)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, pieces, types, mask, firsts):
        read = self.encoder(input_ids=pieces, token_type_ids=types, attention_mask=mask)
        x = read.last_hidden_state  # (B, P, D)
        x = x.gather(1, firsts.unsqueeze(2).expand(-1, -1, x.shape[2]))  # (B, T, D)
        return self.output(self.dropout(x))  # (B, T, V)

    def groups(self, settings):
        """Parameters with their step size: that of each layer is below the next one's."""
        layers = self.encoder.config.num_hidden_layers
        found = []
        for name, weight in self.named_parameters():
            if name.startswith("output"):
                factor = settings.top_factor
            elif ".layer." in name:
                factor = settings.layer_factor ** (layers - 1 - int(name.split(".layer.")[1].split(".")[0]))
            else:
                factor = settings.layer_factor**layers
            decay = 0.0 if weight.dim() == 1 else settings.weight_decay
            found.append({"params": [weight], "factor": factor, "weight_decay": decay})
        return found

    def config(self, tags):
        """The architecture, as the card of a checkpoint has it."""
        of = self.encoder.config
        size = of.hidden_size // of.num_attention_heads
        return {
            "embedding": {
                "symbols": of.vocab_size, "types": of.type_vocab_size, "has-norm": True, "scale": 1.0,
                "positions": {"learned": {"rows": of.max_position_embeddings, "offset": 0}},
            },
            "stack": {
                "layers": of.num_hidden_layers, "width": of.hidden_size, "heads": of.num_attention_heads,
                "head-size": size, "scale": size**-0.5, "inner": of.intermediate_size,
                "activation": "gelu", "is-gated": False, "norm": "layer", "epsilon": of.layer_norm_eps,
                "is-norm-first": False, "has-last-norm": False, "has-biases": True,
                "dropout": of.hidden_dropout_prob,
            },
            "tags": tags,
        }

    def named_as_ours(self):
        """The weights under cajole's names; matrices are (input, output), queries to values are joined."""
        own = dict(self.named_parameters())
        at = "encoder.embeddings."
        found = {
            "embedding.symbols": own[at + "word_embeddings.weight"],
            "embedding.positions": own[at + "position_embeddings.weight"],
            "embedding.types": own[at + "token_type_embeddings.weight"],
            "embedding.norm.gain": own[at + "LayerNorm.weight"],
            "embedding.norm.bias": own[at + "LayerNorm.bias"],
            "output.w": own["output.weight"].t(),
            "output.b": own["output.bias"],
        }
        for i in range(self.encoder.config.num_hidden_layers):
            at, to = f"encoder.encoder.layer.{i}.", f"encoder.{i}."
            heads = [at + f"attention.self.{part}." for part in ("query", "key", "value")]
            found[to + "attention.qkv.w"] = torch.cat([own[h + "weight"] for h in heads]).t()
            found[to + "attention.qkv.b"] = torch.cat([own[h + "bias"] for h in heads])
            linears = {
                "attention.out": "attention.output.dense", "feed.up": "intermediate.dense",
                "feed.down": "output.dense",
            }
            for ours, theirs in linears.items():
                found[f"{to}{ours}.w"] = own[f"{at}{theirs}.weight"].t()
                found[f"{to}{ours}.b"] = own[f"{at}{theirs}.bias"]
            norms = {"attention.norm": "attention.output.LayerNorm", "feed.norm": "output.LayerNorm"}
            for ours, theirs in norms.items():
                found[f"{to}{ours}.gain"] = own[f"{at}{theirs}.weight"]
                found[f"{to}{ours}.bias"] = own[f"{at}{theirs}.bias"]
        return found


def batch_of(items, number):
    """Pieces, types, mask (B, P), first pieces (B, T), lengths (B), and tags (B, T), -1 in padding."""
    size, wide, long = len(items), max(len(x[0]) for x in items), max(len(x[1]) for x in items)
    pieces, types, mask = (torch.zeros(size, wide, dtype=torch.long) for _ in range(3))
    firsts, tags = torch.zeros(size, long, dtype=torch.long), torch.full((size, long), -1)
    for row, (ids, first, predicate, bio) in enumerate(items):
        pieces[row, : len(ids)], mask[row, : len(ids)] = torch.tensor(ids), 1
        types[row, first[predicate]] = 1
        firsts[row, : len(first)] = torch.tensor(first)
        tags[row, : len(first)] = torch.tensor([number.get(tag, -1) for tag in bio])
    return pieces, types, mask, firsts, torch.tensor([len(x[1]) for x in items]), tags


@torch.no_grad()
def evaluate(net, names, data, device):
    """Viterbi's F1 in per cent."""
    net.eval()
    number = {name: i for i, name in enumerate(names)}
    follows, first = (x.to(device) for x in transitions(names))
    both = ours = theirs = 0
    for _, _, at in Buckets([len(x[0]) for x in data.items], 16000).batches(random.Random(0)):
        items = [data.items[i] for i in at]
        pieces, types, mask, firsts, lengths, _ = (t.to(device) for t in batch_of(items, number))
        scores = net(pieces, types, mask, firsts).log_softmax(2).transpose(0, 1)
        found = viterbi(scores, lengths, follows, first).t().tolist()
        for ids, (_, words, _, bio) in zip(found, items):
            a, b = spans([names[i] for i in ids[: len(words)]]), spans(bio)
            both += (a & b).total()
            ours += a.total()
            theirs += b.total()
    net.train()
    return 200 * both / max(1, ours + theirs)


def predicates(sentences):
    """The lower-cased words that are predicates more often than not."""
    words = Counter(word.lower() for row in sentences for word in row["tokens"])
    used = Counter(
        row["tokens"][item["p"]].lower()
        for row in sentences
        for item in row["srl"]
        if row["pos"][item["p"]].startswith(("V", "MD"))
    )
    return sorted(word for word, n in used.items() if words[word] < 2 * n)


def train(settings):
    torch.manual_seed(settings.seed)
    rng, device, out = random.Random(settings.seed), settings.device, Path(settings.out)
    tokenizer = Tokenizer.from_file(str(Path(settings.encoder) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    read = lambda split: list(rows(Path(settings.data) / f"ewt.{split}.jsonl.gz"))
    sentences = read("train")
    data, dev = Propositions(sentences, tokenizer), Propositions(read("dev"), tokenizer)
    roles = sorted({tag[2:] for item in data.items for tag in item[3] if tag != "O"})
    names = ["O", *(f"{mark}-{role}" for role in roles for mark in "BI")]
    number = {name: i for i, name in enumerate(names)}
    start, end, mask_piece = (tokenizer.token_to_id(x) for x in ("[CLS]", "[SEP]", "[MASK]"))
    net = Tagger(settings.encoder, len(names), settings.dropout).to(device)
    adam = torch.optim.AdamW(net.groups(settings), fused=device == "cuda")
    average = Averaged(net, settings.average)
    buckets = Buckets([len(x[0]) for x in data.items], settings.batch)
    steps = settings.epochs * len(buckets.batches(rng))
    step, best, curve, began, fraction = 0, -1.0, [], time.time(), 0.0
    while fraction < 1.0:
        for _, _, at in buckets.batches(rng):
            fraction = max(step / steps, (time.time() - began) / settings.seconds)
            if fraction >= 1.0:
                break
            now = settings.step_size * min(fraction / 0.1, (1 - fraction) / 0.9)
            for group in adam.param_groups:
                group["lr"] = now * group["factor"]
            items = [data.items[i] for i in at]
            pieces, types, mask, firsts, _, tags = (t.to(device) for t in batch_of(items, number))
            hidden = (torch.rand(pieces.shape, device=device) < settings.masked) & (types == 0)
            pieces = pieces.masked_fill(hidden & (pieces != end) & (pieces != start), mask_piece)
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                scores = net(pieces, types, mask, firsts)
            loss = cross_entropy(
                scores.float().flatten(0, 1), tags.flatten(), ignore_index=-1,
                label_smoothing=settings.smoothing,
            )
            adam.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), settings.clip)
            adam.step()
            average.update()
            step += 1
        fraction = max(fraction, step / steps)
        average.swap()
        score = evaluate(net, names, dev, device)
        curve.append({"epoch": len(curve) + 1, "f1": round(score, 2), "loss": round(loss.item(), 4)})
        print(f"{settings.label}epoch {len(curve)} step {step} {time.time() - began:.0f} s "
              f"loss {loss.item():.3f} dev F1 {score:.2f}", flush=True)
        if score > best:
            best = score
            card = {
                "task": "srl", "name": "minilm", "corpus": "ewt", "propositions": len(data), "reads": "words",
                "network": net.config(len(names)), "seed": settings.seed, "epochs": len(curve),
                "best-epoch": len(curve), "dev-f1": score,
            }
            words = {"predicates": predicates(sentences), "tags": names}
            save_checkpoint(out, card, words, net.named_as_ours(), half=True)
            shutil.copy(Path(settings.encoder) / "tokenizer.json", out)
        average.swap()
        (out / "curve.json").write_text(json.dumps(curve) + "\n")
    print(f"{settings.label}dev F1 {best:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", required=True, help="a Hugging Face folder of BERT's kind")
    parser.add_argument("--data", required=True, help="the folder of EWT")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--batch", type=int, default=2048, help="pieces in a batch")
    parser.add_argument("--step-size", type=float, default=6e-4)
    parser.add_argument("--layer-factor", type=float, default=0.7)
    parser.add_argument("--top-factor", type=float, default=5.0)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--average", type=float, default=0.999, help="of the weights that are kept")
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--masked", type=float, default=0.0, help="share of pieces hidden in training")
    parser.add_argument("--smoothing", type=float, default=0.0)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--label", default="", help="what begins each line of output")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
