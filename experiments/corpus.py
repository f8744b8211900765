"""What the training scripts read and write: treebanks as JSON Lines, checkpoints as cajole has them."""

import gzip
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import torch
from safetensors.torch import save_file

LEAF = re.compile(r"\(([^\s()]+) ([^\s()]+)\)")


def rows(path, ids=""):
    """The sentences of a file whose id begins so."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["id"].startswith(ids):
                yield row


def tags_of(tree):
    """The part-of-speech tags of a tree in brackets."""
    return [tag for tag, _ in LEAF.findall(tree)]


def sample(items, share, seed):
    """A seeded random sample of so many per cent, in the order of the corpus."""
    if share == 100:
        return items
    n = len(items) * share // 100
    return [items[i] for i in sorted(random.Random(seed).sample(range(len(items)), n))]


def by_frequency(counts):
    """The entries of a vocabulary, most frequent first."""
    return [entry for entry, _ in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))]


def lexicon(sentences):
    """The input vocabulary: one class for unknown tags, then the tags by frequency."""
    counts = Counter(tag for tags in sentences for tag in tags)
    counts.pop("UNK", None)
    return ["UNK", *by_frequency(counts)]


def save_checkpoint(folder, card, vocabularies, weights, half=False):
    """Writes a folder that `cajole` opens: `weights` under cajole's names and in its shapes."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    kind = torch.float16 if half else torch.float32
    tensors = {n: w.detach().to("cpu", kind).contiguous().clone() for n, w in weights.items()}
    save_file(tensors, folder / "model.safetensors")
    for name, entries in vocabularies.items():
        (folder / f"vocab.{name}.txt").write_text("".join(f"{e}\n" for e in entries), "utf-8")
    (folder / "config.json").write_text(json.dumps(card, indent=2) + "\n", "utf-8")


class Buckets:
    """Items by length, in classes that grow by an eighth, so that batches have few shapes."""

    def __init__(self, lengths, tokens):
        edges = [8]
        while edges[-1] < max(lengths):
            edges.append(edges[-1] + max(4, edges[-1] // 8 // 4 * 4))
        self.edges, self.tokens = edges, tokens
        self.members = {edge: [] for edge in edges}
        for i, length in enumerate(lengths):
            self.members[next(edge for edge in edges if length <= edge)].append(i)

    def batches(self, rng, keep=lambda i: True):
        """All items in random order: for each batch the class, the size of a full one, the items."""
        found = []
        for edge, members in self.members.items():
            members = [i for i in members if keep(i)]
            rng.shuffle(members)
            size = max(1, self.tokens // edge)
            found += [(edge, size, members[at : at + size]) for at in range(0, len(members), size)]
        rng.shuffle(found)
        return found


class Progress:
    """What a training that was killed goes on from: written after each evaluation, gone at the end."""

    def __init__(self, folder, net, adam, average, rng, settings):
        self.path, self.settings = Path(folder) / "training.pt", settings
        self.net, self.adam, self.average, self.rng = net, adam, average, rng

    def save(self, **numbers):
        state = {
            "net": self.net.state_dict(), "adam": self.adam.state_dict(), "rng": self.rng.getstate(),
            "average": self.average.weights, "steps": self.average.steps, "numbers": numbers,
            "settings": self.settings,
        }
        beside = self.path.with_suffix(".new")
        torch.save(state, beside)
        beside.replace(self.path)

    def load(self):
        """The numbers that were saved last, or None. Ends the program if the settings were others."""
        if not self.path.exists():
            return None
        state = torch.load(self.path, weights_only=True)
        changed = [key for key, value in self.settings.items() if state["settings"].get(key) != value]
        if changed:
            sys.exit(f"{self.path} was begun with another {', '.join(changed)}; remove it to begin anew")
        self.net.load_state_dict(state["net"])
        self.adam.load_state_dict(state["adam"])
        self.rng.setstate(state["rng"])
        self.average.weights, self.average.steps = state["average"], state["steps"]
        return state["numbers"]

    def end(self):
        self.path.unlink(missing_ok=True)


def settings_of(arguments, *but):
    """What a training depends on, of the command line."""
    return {key: value for key, value in vars(arguments).items() if key not in but}


def seeded(name, seed):
    """The name of a network from this seed, as `cajole reproduce` looks for it."""
    return name if seed == 1 else f"{name}-seed{seed}"


class Averaged:
    """An exponential average of a module's weights, which is what gets evaluated and kept."""

    def __init__(self, module, decay):
        self.module, self.decay, self.steps = module, decay, 0
        self.weights = [p.detach().clone() for p in module.parameters()]

    @torch.no_grad()
    def update(self):
        self.steps += 1
        decay = min(self.decay, self.steps / (self.steps + 10))
        own = [p.detach() for p in self.module.parameters()]
        torch._foreach_lerp_(self.weights, own, 1 - decay)

    @torch.no_grad()
    def swap(self):
        """Exchanges the average and the module's own weights."""
        for average, own in zip(self.weights, self.module.parameters()):
            kept = own.detach().clone()
            own.copy_(average)
            average.copy_(kept)
