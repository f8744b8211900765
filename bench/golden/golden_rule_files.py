"""Rule files of all kinds, by the networks that they are for."""

from __future__ import annotations

COUNT = """arithmetic = 'count(out, "a") = 3 * count(in, "a")'"""

TRANSDUCER = {
    "arithmetic": COUNT,
    "arithmetic-squared": f'{COUNT}\nsquared = true\ndivide-by = "lengths"\nweight = 2.5\nname = "count"',
    "arithmetic-many": """arithmetic = 'len(out) != 28 and 2 * len(out) - 1 <= 3 * len(in) and count(out, "z") > (1 + 1) * 1'""",
    "pattern": 'pattern = "(aaa|zb)*"',
    "pattern-strict": 'pattern = "(aaa){4,}(zb)+a*"\ndivide-by = "output"',
    "symbols": """symbols = '("a" "a" "a" | "z" "b")*'""",
    "symbols-any": """symbols = '{ . . . } "b"'""",
    "grammar": """grammar = 's = { pair } ; pair = "aaa" pair "zb" | "aaa" | "zb" ;'\nstart = "s" """,
    "must-have": 'must-have = ["zbzb", "aaaaaa"]',
    "must-not-have": 'must-not-have = ["zz", "bb", "zbaaazb"]\nmust-have = ["azb"]',
    "checker-lines": 'checker = { command = ["python3", "in/checker.py"], timeout-ms = 60000 }',
    "checker-exit-code": '[checker]\ncommand = ["python3", "in/exit_code.py"]\nmode = "exit-code"\ntimeout-ms = 60000',
    "checker-exit-json": '[checker]\ncommand = ["python3", "in/exit_code.py", "json"]\nmode = "exit-code"\npass = "json"\ntimeout-ms = 60000\ncache = 1',
    "checker-rubbish": 'checker = { command = ["python3", "in/rubbish.py"], timeout-ms = 2500 }',
    "checker-crash": 'checker = { command = ["python3", "in/crash.py"], timeout-ms = 60000 }',
    "checker-hangs": 'checker = { command = ["python3", "in/hangs.py"], timeout-ms = 900 }',
    "copies": "copies = { pattern = 'z' }",
    "all": f"""[[all]]\nname = "three a for each a"\n{COUNT}\n[[all]]\nname = "well formed"\npattern = "(aaa|zb)*"\nweight = 0.5""",
    "all-nested": """[[all]]\npattern = "[abz]*"\n[[all]]\nname = "either"\n[[all.any]]\narithmetic = 'len(out) <= 4'\n[[all.any]]\npattern = "(aaa)*(zb)*"\nweight = 3""",
    "any": """[[any]]\nname = "short"\narithmetic = 'len(out) <= 4'\n[[any]]\nname = "only a"\npattern = "a*"\nweight = 0.25""",
    "never": 'pattern = "[^abz]+"',
    "mixed": f"""[[all]]\n{COUNT}\n[[all]]\nchecker = {{ command = ["python3", "in/checker.py"], timeout-ms = 60000 }}\nweight = 0.1""",
}

EXPRESSIONS = {
    "e-grammar-file": 'grammar-file = "../e.ebnf"\ndivide-by = "output"',
    "e-balanced": """arithmetic = 'count(out, "(") = count(out, ")")'""",
    "e-symbols": """symbols = '"(" ( "(" | ")" | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "+" | "-" | "*" | "/" | "^" )* ")"'""",
    "e-phrases": 'must-have = ["( a", "+ ("]\nmust-not-have = ["( ("]',
    "e-pattern": """pattern = '\\( .* \\)'""",
    "e-copies": "copies = { glossary = { h = '^' }, pattern = '[a-d]' }",
}

PARSER = {
    "p-full": 'shift-reduce = "full"\nname = "one tree"\ndivide-by = "lengths"',
    "p-paper": 'shift-reduce = "paper"',
    "p-more": """[[all]]\nshift-reduce = "full"\n[[all]]\nmust-not-have = ["!SBAR"]\nweight = 0.1""",
    "p-count": """arithmetic = 'count(out, "s") = len(in) and count(out, "!VP") <= 3'""",
}

TAGGER = {
    "t-bio": "bio = true",
    "t-unique": 'unique-roles = ["ARG0", "ARG1", "ARG2"]',
    "t-continuations": "continuations = true",
    "t-references": "references = true",
    "t-spans-all": 'spans-in-tree = "all"',
    "t-spans-phrasal": 'spans-in-tree = "phrasal"\nfree-roles = ["V", "ARGM-TMP"]',
    "t-consistent": "consistent = true",
    "t-consistent-roles": 'consistent = ["ARG0", "ARG1"]',
    "t-valid": """[valid]\nroles = ["ARG1"]\npattern = '(the|The|a|him) ?\\w*'""",
    "t-all": """[[all]]\nbio = true\n[[all]]\nunique-roles = ["ARG0", "ARG1"]\n[[all]]\nreferences = true\n[[all]]\nspans-in-tree = "all"\nname = "nodes\"""",
    "t-symbols": """must-have = ["B-ARG0"]\nmust-not-have = ["B-ARG2"]""",
}

TEXT = {
    "w-pattern": 'pattern = "[a-z ,.]*"',
    "w-arithmetic": """arithmetic = 'len(words(out)) <= 4 and len(out) <= 2 * len(in)'""",
    "w-grammar": "grammar = 's = word { \" \" word } ; word = /[a-z]+/ | /[0-9]+/ ;'",
    "w-symbols": """symbols = '{ . } "a" { . }'""",
    "w-must-have": 'must-have = ["a"]\nmust-not-have = ["e", "  "]',
    "w-words": 'must-have = ["the"]\nwords = true',
    "w-copies": """[copies]\nnumbers = true\nnames = true\npattern = '\\{\\w+\\}'\nglossary = { house = "maison", cat = "chat" }""",
    "w-copies-file": '[copies]\nglossary-file = "../terms.tsv"',
    "w-schema": """[json-schema]\ntype = "object"\nrequired = ["name", "age"]\nproperties.name.type = "string"\nproperties.age = { type = "integer", minimum = 0 }""",
    "w-schema-file": 'json-schema-file = "../schema.json"',
    "w-sql": """[sql]\ndialect = "sqlite"\ntables.users = ["id", "name"]""",
    "w-sql-file": """[sql]\nschema-file = "../schema.sql" """,
    "w-checker": 'checker = { command = ["python3", "in/checker.py"], timeout-ms = 60000 }',
    "w-any": """[[any]]\npattern = "[a-z]+"\n[[any]]\narithmetic = 'len(words(out)) <= 2'""",
}

BIO = {
    "l-phrases": """must-have = ["B-PER"]\nmust-not-have = ["O O"]""",
    "l-consistent": "consistent = true",
    "l-arithmetic": """arithmetic = 'count(out, "O") <= 2'""",
    "l-valid": """[valid]\nroles = ["PER"]\npattern = '[a-z]+'\njoin = "_" """,
    "l-checksum": """[valid]\nroles = ["PER"]\nchecksum = "luhn" """,
    "l-all": """[[all]]\nbio = true\n[[all]]\nunique-roles = ["PER"]\n[[all]]\nmust-have = ["B-PER"]""",
    "l-pattern": """pattern = '(O |B-PER |I-PER )*O'""",
}
OPEN = {
    "o-arithmetic": """arithmetic = 'count(out, "V") <= 1 and count(out, "N") >= 1'""",
    "o-phrases": """must-have = ["ADJ"]\nmust-not-have = ["V V"]""",
    "o-symbols": """symbols = '("N" | "DET" "V")*'""",
}
NUMBERED = {
    "n-arithmetic": """arithmetic = '2 * count(out, "LABEL_1") <= len(in)'""",
    "n-phrases": """must-not-have = ["LABEL_1 LABEL_1"]\nmust-have = ["LABEL_0"]""",
}

BROKEN = {
    "no-key": 'name = "x"',
    "two-keys": 'pattern = "a*"\nbio = true',
    "unknown-key": "patern = 'a*'",
    "bad-toml": "pattern = 'a",
    "bad-regex": "pattern = '(a'",
    "bad-formula": "arithmetic = 'count(out) ='",
    "product": "arithmetic = 'len(out) * len(out) = 4'",
    "no-symbol": """symbols = '"q"'""",
    "bad-grammar": "grammar = 's = t ;'",
    "no-grammar-file": 'grammar-file = "absent.ebnf"',
    "no-program": 'checker = { command = ["no-such-program"] }',
    "ends-at-once": 'checker = { command = ["false"] }',
    "no-command": "checker = { command = [] }",
    "bad-mode": 'checker = { command = ["true"], mode = "odd" }',
    "no-cache": 'checker = { command = ["true"], cache = 0 }',
    "regex-of-characters": "grammar = 's = /[a-z]/ ;'",
    "weight": "pattern = 'a*'\nweight = -1",
    "divide": "pattern = 'a*'\ndivide-by = 'input'",
    "empty-all": "all = []",
    "nested-broken": "[[all]]\npattern = 'a*'\n[[all]]\n[[all.any]]\nmust-have = 3",
    "bio-false": "bio = false",
    "roles": "unique-roles = []",
    "schema": "json-schema = 3",
    "dialect": "sql = { dialect = 'klingon' }",
    "copies-nothing": "copies = {}",
    "exponential": "pattern = '(a|b)*a(a|b){30}'",
}

BY_MODEL = {"transducer": TRANSDUCER, "expressions": EXPRESSIONS, "parser": PARSER, "tagger": TAGGER}
RULES = {name: text for rules in (*BY_MODEL.values(), TEXT, BIO, OPEN, NUMBERED) for name, text in rules.items()}
RULES |= {f"broken-{name}": text for name, text in BROKEN.items()}

CHECKER = '''import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    symbols = asked["symbols"]
    bad = [i for i, symbol in enumerate(symbols) if symbol in ("z", "e", "t")]
    parts = [{"start": i, "end": i + 1, "cost": 0.5, "message": f"{symbols[i]} at {i}"} for i in bad[1:]]
    reply = {"id": asked["id"], "loss": 0.5 * len(parts), "parts": parts}
    print("a stray line")
    print(json.dumps(reply), flush=True)
'''
EXIT_CODE = """import json
import os
import sys

text = sys.stdin.read()
if sys.argv[1:] == ["json"]:
    asked = json.loads(text)
    sys.exit(len(asked["output"]) % 2)
sys.exit(0 if text.count("a") == 3 * os.environ["CAJOLE_INPUT"].count("a") else 3)
"""
PROGRAMS = {
    "checker.py": CHECKER,
    "exit_code.py": EXIT_CODE,
    "rubbish.py": "import sys\nfor line in sys.stdin:\n    print('{', flush=True)\n",
    "crash.py": "import sys\nsys.stdin.readline()\nprint('no more', file=sys.stderr)\nsys.exit(3)\n",
    "hangs.py": "import sys\nimport time\nsys.stdin.readline()\ntime.sleep(60)\n",
    "terms.tsv": "house\tmaison\ndog\tchien\n",
    "schema.json": '{"type": "array", "items": {"type": ["integer", "null"]}, "maxItems": 3}\n',
    "schema.sql": "CREATE TABLE users (id INTEGER, name TEXT);\nCREATE TABLE orders (id INTEGER, user_id INTEGER);\n",
}
