"""Inputs for the built-in networks, made here: nothing needs to be downloaded."""

from __future__ import annotations

import json
import random


def transductions(n: int, seed: int = 1) -> list[str]:
    """Strings of `az` and `bz`, which the built-in transducer was trained on."""
    rng = random.Random(seed)
    return ["".join(rng.choice(("az", "bz")) for _ in range(rng.randint(3, 20))) for _ in range(n)]


def expressions(n: int, seed: int = 1) -> list[str]:
    """Expressions in prefix form, for the built-in network for pairs."""
    rng = random.Random(seed)

    def expression(depth: int) -> list[str]:
        if depth == 0 or rng.random() < 0.3:
            return [rng.choice("abc")]
        return [rng.choice("+-*"), *expression(depth - 1), *expression(depth - 1)]

    return [" ".join(expression(3)) for _ in range(n)]


NOUNS = ["dog", "cat", "report", "bank", "city", "letter", "market", "house"]
VERBS = ["sees", "sold", "wants", "reads", "took", "likes", "made", "found"]


def sentences(n: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)

    def phrase() -> str:
        noun = f"the {rng.choice(NOUNS)}"
        return f"{noun} of {phrase()}" if rng.random() < 0.3 else noun

    return [f"{phrase()} {rng.choice(VERBS)} {phrase()} ." for _ in range(n)]


def predicates(n: int, seed: int = 1) -> list[str]:
    """The same sentences as JSON, with the place of the verb."""
    lines = []
    for sentence in sentences(n, seed):
        tokens = sentence.split()
        verb = next(i for i, token in enumerate(tokens) if token in VERBS)
        lines.append(json.dumps({"tokens": tokens, "predicates": [verb]}))
    return lines
