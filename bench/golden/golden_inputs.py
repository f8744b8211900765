"""Lines, rules and other files that cases read."""

from __future__ import annotations

import gzip
import json
import pathlib
import random
from typing import Any

from golden_rule_files import PROGRAMS, RULES

# Own outputs violate the task's rule for all but the last three; repairs take 0 to 7 steps by default, 1 to 100 with
# the preset `paper`, which gives the third up.
TRANSDUCER = [
    "azbzazazazazazazazazbz", "bzbzazbzazazazazazazazbz", "azbzazazazazazbzazazbzbz", "azbzbzbzazbzbzbzazazazaz",
    "azazazbzazazbzazazazbzbz", "bzazbzazbzazbzbzbzbzbzaz", "azbzazazazazazazbzbzbzbz", "azbz", "bz", "azazbzbz",
]  # fmt: skip

# Own outputs violate rules/expressions.toml.
EXPRESSIONS = [
    "h - h * e ^ g + a * c * e / f * g / h - d", "h / d * f ^ g - d / h * e - f + e ^ h ^ f",
    "b - h ^ a ^ g / c ^ e * d ^ h * c - d", "c - g + b ^ a + g ^ e ^ d * c + d / a * f",
    "b - h + c * e ^ d * f ^ e + d - c ^ g * c", "a + b * c",
]  # fmt: skip

PARSER = [
    "The children that a famous singer lost wanted a boat after the war although the dog that an old friend brought"
    " remembered the cat .",
    "The nurse that the pilot that the children saw saw left a box of books yesterday although my brother that the dog"
    " that the children saw left lost three tickets .",
    "The dog that a famous singer saw chased the cat with the telescope although an old friend that a famous singer"
    " that the dog remembered wanted brought a box of books .",
    "Her lawyer that the children hid lost a box of books at midnight although the director , once a famous singer ,"
    " lost three tickets that my brother sold .",
    "The dog chased the cat .",
]

TREES = [
    "(S (NP (XX I)) (VP (XX saw) (NP (XX the) (XX man)) (PP (XX with) (NP (NP (XX the) (XX telescope)) (PP (XX in)"
    " (NP (XX the) (XX park))))) (PP (XX near) (NP (NP (XX the) (XX river)) (NP (XX yesterday))))) (. .))",
    "(S (S (NP (XX They)) (VP (XX gave) (NP (XX him)) (NP (XX a) (XX book)) (NP (WHNP (XX that)) (SBAR (ADVP (XX"
    " nobody)) (S (VP (XX had) (VP (XX read)))))))) (, ,) (XX and) (S (NP (XX he)) (VP (XX read) (NP (XX it)) (PP"
    " (XX in) (NP (XX a) (XX day))))) (. .))",
    "(S (NP (DT The) (NN dog)) (VP (VBD chased) (NP (DT the) (NN cat))) (. .))",
    "(S (NP (XX John)) (VP (XX sold) (NP (XX the) (XX car) (XX to)) (NP (XX his) (XX friend) (XX because)) (S (NP (XX"
    " he)) (VP (XX needed) (NP (XX money))))) (. .))",
]

TAGGED = [
    {"tokens": "The cat that the dog chased ran away and the dog that the cat saw slept .".split(), "predicates": [5, 6, 14]},
    {"text": "Our friend gave the children a book and told them a story about the war ."},
    {"tokens": "He said that she had left".split(), "pos": ["PRP", "VBD", "IN", "PRP", "VBD", "VBN"], "id": "pos"},
    {"tokens": ["Nothing", "here"], "predicates": []},
]

# Tags in place of words, as the networks in nets/ read them.
POS = [
    "DT NN VBD DT NN IN DT NN .", "PRP VBZ JJ NNS IN NNP NNP , CC PRP VBP RB JJ .",
    "DT NNP NNP NNP CD NNS CC DT NNS , VBD NNP NNP , VBD IN PRP MD VB DT NN TO VB PRP$ NN IN CD NNS .",
    "CD CD CD : NNP -LRB- NNP -RRB- '' `` VBG VBG TO IN IN DT WDT WP$ EX MD MD RB RBR .",
    ": : `` IN DT DT CC CC VBD VBD WP WRB WDT TO TO VB JJ JJ JJR , , , NN NNS '' : PRP PRP CD $ $ CD .",
]  # fmt: skip

TEXTS = [
    "the dog saw 42 cats in Paris", "hello-world runs {name} 3.14 x", "the blue house", "a cat", "Ann met Bob in 1999 .",
    "über naïve été 東京",
]  # fmt: skip

IDS: list[Any] = [1, -7, 1.5, 1e300, 12345678901234567890123, "x", "", "ä\n\u0001\u2028", None, True, [1, "a"], {"k": {"v": 1}}]

GOLD_TRANSDUCER = [("azbz", "aaazb"), ("bzbz", "zbzb"), ("azaz", "aaazb"), (TRANSDUCER[0], "aaazb" + "aaa" * 8 + "zb")]


def lines(*objects: Any) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)


def pos_lines() -> str:
    return lines(*[{"tokens": tags.split(), "pos": tags.split(), "id": i} for i, tags in enumerate(POS)])


def role_lines() -> str:
    """Tags with the predicate's lemma, as networks of roles without words read them."""
    said = []
    for i, tags in enumerate(POS[:3]):
        words = tags.split()
        p = next(at for at, tag in enumerate(words) if tag.startswith("V"))
        leaves = [f"({tag} {tag})" for tag in words]
        tree = f"(S (NP {' '.join(leaves[:p])}) (VP {' '.join(leaves[p:])}))"
        said.append({"id": i, "tree": tree, "srl": [{"p": p, "lemma": ["say", "be", "go"][i]}]})
    return lines(*said)


def expressions_gold() -> str:
    pairs = [("a + b * c", "( a + ( b * c ) )"), ("a - b", "( a - b )"), (EXPRESSIONS[0], "( a + b )"), ("a", "a")]
    return lines(*[{"input": x, "output": y, "genre": "short" if len(x) < 12 else "long"} for x, y in pairs])


def many_transductions() -> str:
    """More lines than are answered together."""
    r = random.Random(7)
    return "".join("".join(r.choice(["az", "bz"]) for _ in range(r.randint(1, 12))) + "\n" for _ in range(500))


def many_sentences() -> str:
    """Sentences with clauses in clauses."""
    r = random.Random(7)
    nouns = ["the dog", "the nurse", "an old friend", "the pilot", "the children", "her lawyer", "my brother"]
    verbs, objects = ["saw", "left", "lost", "sold", "wanted"], ["a boat", "three tickets", "a box of books"]

    def person(depth: int) -> str:
        clause = depth > 0 and r.random() < 0.6
        return r.choice(nouns) + (f" that {person(depth - 1)} {r.choice(verbs)}" if clause else "")

    said = [f"{person(3)} {r.choice(verbs)} {r.choice(objects)} although {person(2)} {r.choice(verbs)} it ." for _ in range(120)]
    return "".join(one[0].upper() + one[1:] + "\n" for one in said)


def bad_transducer() -> bytes:
    """Lines that cannot be worked on, and good ones in between."""
    said: list[Any] = [
        "azbz", "", "   ", "azq", "{", '{"input": 3}', '{"id": 5}', '{"input": "azbz", "input": "bz"}', "[1, 2]", "null",
        '"azbz"', '{"input": "azbz", "unknown": 1}', '{"input": ["a", "z"]}', '{"input": ["a", "zz"]}', '{"input": []}',
        '{"input": ""}', "az" * 200, '{"input": "azbz", "constraint": {"pattern": "(a"}}', '{"input": "azbz", "id": 9,',
        '{"input": "azbz", "constraint": {"arithmetic": "len(out) = 7"}}', '{"input": "azbz", "constraint": "must-have = [\'zb\']"}',
        '{"input": "azbz", "constraint": {"checker": {"command": ["true"]}}}', '{"input": "azbz", "constraint": {"no-such": 1}}',
        '{"input": "azbz", "constraint": {"grammar-file": "in/e.ebnf"}}', '{"input": "azbz", "constraint": 7}',
        '{"input": "azbz", "constraint": {}}', '{"input": "azbz", "constraint": {"all": [{"pattern": "a*"}, {"must-have": ["zb"]}]}}',
        '{"input": "azbz", "constraint": {"bio": true}}', '{"input": "azbz", "constraint": {"symbols": "\\"q\\""}}', "a b z",
        '{"input": "az", "output": 3}', '{"text": "az"}', '{"tokens": ["a", "z"]}', "\ufeffazbz", "azbz\r",
    ]  # fmt: skip
    return "\n".join(said).encode() + b"\naz\xffbz\n\x00\nbz"


def bad_words() -> str:
    """Bad lines of parsers and taggers."""
    said = [
        "The dog barked .", "", '{"tokens": []}', '{"tokens": ["a", ""]}', '{"tokens": ["a", 3]}', '{"tree": "(S (NP"}',
        '{"tree": "(S (NN dog))", "tokens": ["cat"]}', '{"tokens": ["a", "b"], "pos": ["DT"]}', '{"text": ""}', "{}",
        '{"tokens": ["dogs", "bark"], "predicates": [7]}', '{"tokens": ["dogs", "bark"], "predicates": "x"}',
        '{"tokens": ["dogs", "bark"], "srl": [{"p": 1, "bio": "B-ARG0 B-V"}]}', '{"tokens": ["dogs", "bark"], "srl": [{"p": 9}]}',
        '{"tokens": ["a b", "(", ")"]}', '{"input": "The dog barked ."}', "x " * 300, '{"text": 5}', "日本語 ( text )",
        '{"tokens": ["dogs", "bark"], "predicates": [1, 1]}', '{"tokens": ["dogs", "bark"], "srl": [{"p": 1, "bio": "B-ARG0"}]}',
    ]  # fmt: skip
    return "\n".join(said) + "\n"


PTB_GOLD = """(S (NP (DT The) (NN dog)) (VP (VBD chased) (NP (DT the) (NN cat))) (. .))
(S (NP (NNS Dogs)) (VP (VBP bark) (ADVP (RB loudly))))
(TOP (S (NP (PRP He)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN dog)))))))
(S (NP (NN x)) (VP (VBZ y)))
"""
PTB_TEST = """(S (NP (DT The) (NN dog)) (VP (VBD chased) (NP (DT the)) (NP (NN cat))) (. .))
(S (NP (NNS Dogs)) (VP (NN bark) (PRT (RB loudly))))
(TOP (S (NP (PRP He)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN dog))))))

"""
PROPS_GOLD = "-\t(ARG0*)\nknow\t(V*)\n-\t(ARG1*\n-\t*)\n\n-\t(ARG0*)\t(ARG1*)\nsay\t(V*)\t*\ngo\t(ARG1*)\t(V*)\n\n"
PROPS_TEST = "-\t(ARG0*)\nknow\t(V*)\n-\t(ARG1*)\n-\t*\n\n-\t(ARG0*)\t(ARG0*)\nsay\t(V*)\t*\ngo\t(C-ARG0*)\t(V*)\n\n"
CONLL = """#begin document (nw/x); part 000
nw/x 0 0 Dogs NNS (TOP(S(NP*) - - - - * (ARG0*) -
nw/x 0 1 bark VBP (VP*))) bark 01 - - * (V*) -

nw/x 0 0 He PRP (TOP(S(NP*) - - - - * (ARG0*) -
nw/x 0 1 saw VBD (VP* see 01 - - * (V*) -
nw/x 0 2 them PRP (NP*)))) - - - - * (ARG1*) -

#end document
"""

FILES: dict[str, str | bytes] = {
    "transducer.txt": "\n".join(TRANSDUCER) + "\n",
    "transducer-gold.jsonl": lines(*[{"input": x, "output": y, "genre": x[:2]} for x, y in GOLD_TRANSDUCER]),
    "expressions.txt": "\n".join(EXPRESSIONS) + "\n",
    "expressions-gold.jsonl": expressions_gold(),
    "parser.txt": "\n".join(PARSER) + "\n",
    "tagger.jsonl": lines(*[{"tree": tree, "id": i} for i, tree in enumerate(TREES)], *TAGGED),
    "tagger.txt": "".join(f"{sentence}\n" for sentence in [PARSER[4], PARSER[0], "He said that she had left ."]),
    "pos.jsonl": pos_lines(),
    "roles.jsonl": role_lines(),
    "texts.txt": "\n".join(TEXTS) + "\n",
    "words.jsonl": lines(*[{"tokens": text.split(), "id": i} for i, text in enumerate(TEXTS)], {"input": TEXTS[0]}),
    "ids.jsonl": lines(*[{"id": one, "input": "azbz"} for one in IDS], {"input": TRANSDUCER[0], "id": "repaired"}),
    "bad-transducer.txt": bad_transducer(),
    "bad-words.txt": bad_words(),
    "one-bad.txt": "azbz\nazq\nbz\n",
    "many-transducer.txt": many_transductions(),
    "many-parser.txt": many_sentences(),
    "empty.txt": "",
    "blank.txt": "\n\n  \n",
    "transducer.txt.gz": gzip.compress(("\n".join(TRANSDUCER[:3]) + "\n").encode(), mtime=0),
    "gold.ptb": PTB_GOLD,
    "test.ptb": PTB_TEST,
    "short.ptb": PTB_GOLD.split("\n")[0] + "\n",
    "gold.props": PROPS_GOLD,
    "test.props": PROPS_TEST,
    "sentences_conll": CONLL,
    "own.prm": "DEBUG 0\nMAX_ERROR 10\nLABELED 0\nDELETE_LABEL TOP\nDELETE_LABEL .\nCUTOFF_LEN 4\n",
    "trees-gold.jsonl": lines(*[{"tree": tree, "id": i, "genre": "g"} for i, tree in enumerate(PTB_GOLD.split("\n")[:3])]),
    "srl-gold.jsonl": lines(
        {"tree": TREES[2], "srl": [{"p": 2, "lemma": "chase", "bio": "B-ARG0 I-ARG0 B-V B-ARG1 I-ARG1 O"}], "genre": "a"},
        {"tree": TREES[0], "srl": [{"p": 1, "lemma": "see", "bio": "B-ARG0 B-V B-ARG1 I-ARG1 I-ARG1 " + "O " * 9 + "O"}]},
    ),
    "e.ebnf": 'expression = operand | "(" expression operator expression ")" ;\noperator = "+" | "-" | "*" | "/" | "^" ;\n'
    'operand = "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" ;\n',
}


def write_inputs(at: pathlib.Path) -> None:
    rules = {f"rules/{name}.toml": text for name, text in RULES.items()}
    for name, content in {**FILES, **PROGRAMS, **rules}.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
