"""Inputs for the built-in networks, made here: nothing needs to be downloaded."""

from __future__ import annotations

import json
import random


def transductions(n: int, seed: int = 1) -> list[str]:
    """Strings of `az` and `bz`, which the built-in transducer was trained on."""
    rng = random.Random(seed)
    return ["".join(rng.choice(("az", "bz")) for _ in range(rng.randint(3, 20))) for _ in range(n)]


def expressions(n: int, seed: int = 1) -> list[str]:
    """Expressions longer than those that the built-in network for pairs was trained on."""
    rng = random.Random(seed)

    def one() -> str:
        first, *rest = (rng.choice("abcdefgh") for _ in range(rng.randint(4, 12)))
        return " ".join([first, *(f"{rng.choice('+-*/^')} {operand}" for operand in rest)])

    return [one() for _ in range(n)]


NOUNS = ["dog", "cat", "report", "bank", "city", "letter", "market", "house"]
VERBS = ["sees", "sold", "wants", "reads", "took", "likes", "made", "found"]


def sentences(n: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)

    def phrase() -> str:
        noun = f"the {rng.choice(NOUNS)}"
        return f"{noun} of {phrase()}" if rng.random() < 0.3 else noun

    return [f"{phrase()} {rng.choice(VERBS)} {phrase()} ." for _ in range(n)]


WORDS = "sense Though ice according golf investigation item hit indoors learning to of , was".split()


def word_salad(n: int, seed: int = 1) -> list[str]:
    """Random words, of which a parser sometimes makes no tree."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(8, 18))) for _ in range(n)]


def predicates(n: int, seed: int = 1) -> list[str]:
    """The same sentences as JSON, with the place of the verb, under rules that outputs violate."""
    lines = []
    for sentence in sentences(n, seed):
        tokens = sentence.split()
        verb = next(i for i, token in enumerate(tokens) if token in VERBS)
        lines.append(json.dumps({"tokens": tokens, "predicates": [verb]}))
    return lines
