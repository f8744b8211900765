"""Commands besides `infer`: parse, tag, explain, eval, lint, compare, scores, data, imports."""

from __future__ import annotations

import json

from golden_box import ROOT, Answer, Box, answers, shell
from golden_infer import INPUTS


def parse() -> None:
    said = "cajole parse --threads 1"
    shell("parse/plain", f"{said} in/parser.txt", seconds=2)
    shell("parse/pretty", f"{said} in/parser.txt --pretty", seconds=2)
    shell("parse/json", f"{said} in/parser.txt --json", seconds=2)
    shell("parse/explain", f"{said} in/parser.txt --explain", seconds=2)
    shell("parse/explain-good", "echo 'The dog barked .' | cajole parse --explain")
    shell("parse/two-files", f"{said} in/parser.txt in/tagger.txt", seconds=2)
    shell("parse/pipe", "cat in/parser.txt | cajole parse --threads 3", seconds=2, twin="parse/plain")
    shell("parse/out", f"{said} in/parser.txt --out o.jsonl; {said} in/parser.txt --out o.jsonl --resume", seconds=2)
    shell("parse/bad", f"{said} in/bad-words.txt")
    shell("parse/bad-json", f"{said} in/bad-words.txt --json")
    shell("parse/bad-out", f"{said} in/bad-words.txt --out o.jsonl")
    shell("parse/settings", f"{said} in/parser.txt --preset best --max-steps 4 --patience 2 --width 2", seconds=2)
    shell("parse/constraint", f"{said} in/parser.txt --constraint in/rules/p-more.toml --max-steps 5", seconds=4)
    shell("parse/short", f"{said} in/parser.txt --max-tokens 12")
    shell("parse/empty", f"{said} in/empty.txt; {said} in/blank.txt")


def tag() -> None:
    said = "cajole tag --threads 1"
    for form in ["text", "bio", "json", "conll", "props"]:
        for lines in ("tagger.txt", "tagger.jsonl", "sentences_conll"):
            shell(f"tag/{form}/{lines}", f"{said} in/{lines} --format {form}")
        shell(f"tag/{form}/bad", f"{said} in/bad-words.txt --format {form}")
    for trees in ["auto", "input", "parser", "none", "in/gold.ptb"]:
        for nodes in ["phrasal", "all"]:
            name = trees.replace("in/", "").replace(".", "-")
            shell(f"tag/trees/{name}-{nodes}", f"{said} in/tagger.jsonl --json --trees {trees} --nodes {nodes}")
    shell("tag/explain", f"{said} in/tagger.jsonl --explain")
    shell("tag/explain-good", "echo 'The dog barked .' | cajole tag --explain")
    shell("tag/threads", "cajole tag --threads 3 in/tagger.txt", twin="tag/text/tagger.txt")
    shell("tag/out", f"{said} in/tagger.jsonl --out o.jsonl; {said} in/tagger.jsonl --out o.jsonl --resume")
    shell("tag/settings", f"{said} in/tagger.jsonl --preset paper --max-steps 4 --patience 2 --json")
    shell("tag/constraint", f"{said} in/tagger.jsonl --constraint in/rules/t-all.toml --json")
    shell("tag/two-files", f"{said} in/tagger.txt in/tagger.jsonl")
    shell("tag/pipe", "cat in/tagger.jsonl | cajole tag --threads 1 --json")


def explain() -> None:
    for form in ("", " --json"):
        name = "json" if form else "text"
        shell(f"explain/{name}/default", f"cajole explain{form}")
        shell(f"explain/{name}/transducer", f"cajole explain{form} azbzazazazazazazazazbz azbz")
        shell(f"explain/{name}/paper", f"cajole explain{form} --preset paper azbzazazazazazazazazbz")
        shell(f"explain/{name}/parser", f'cajole explain{form} --model parser "$(head -1 in/parser.txt)"')
        shell(f"explain/{name}/tagger", f'cajole explain{form} --model tagger "$(head -1 in/tagger.jsonl)"')
        line = 'cajole explain{} --model expressions --constraint rules/expressions.toml "$(head -1 in/expressions.txt)"'
        shell(f"explain/{name}/expressions", line.format(form))
        shell(f"explain/{name}/bad", f"cajole explain{form} azq azbz '{{bad'")
        shell(f"explain/{name}/settings", f"cajole explain{form} --max-steps 3 --patience 1 --width 3 azbzbzazazbzazazbzbzbzaz")
    shell("explain/good", "cajole explain azbz")


def measures() -> None:
    gold = {
        "transducer": "transducer-gold.jsonl",
        "expressions": "expressions-gold.jsonl --constraint rules/expressions.toml",
        "parser": "trees-gold.jsonl",
        "tagger": "srl-gold.jsonl",
    }
    for model, lines in gold.items():
        for form in ("", " --json"):
            name = "json" if form else "text"
            said = f"in/{lines} --model {model} --threads 1{form}"
            shell(f"eval/{model}/{name}", f"cajole eval {said}")
            shell(f"compare/{model}/{name}", f"cajole compare {said}", seconds=3)
        shell(f"compare/{model}/report", f"cajole compare in/{lines} --model {model} --out report", seconds=3)
        shell(f"eval/{model}/settings", f"cajole eval in/{lines} --model {model} --preset best --max-steps 3 --width 2")
    for model, lines in INPUTS.items():
        rules = " --constraint rules/expressions.toml" if model == "expressions" else ""
        shell(f"compare/{model}/failures", f"cajole compare {lines} --model {model}{rules} --out report --threads 1", seconds=12)
    shell("compare/engines", "cajole compare in/transducer.txt --engines gbi,exact --shown 1 --lines 3 --out report")
    shell("compare/exists", "mkdir report; touch report/compare.md; cajole compare in/transducer.txt --engines beam --out report")
    shell("compare/bad", "cajole compare in/bad-transducer.txt --engines beam,gbi")
    shell("compare/unmeasured", "cajole compare in/one-bad.txt --engines beam --constraint in/rules/checker-crash.toml")
    shell("compare/empty", "cajole compare in/empty.txt")
    shell("compare/threads", "cajole compare in/transducer.txt --threads 3 --out report", twin="compare/transducer/failures")
    for split in ("train", "dev", "tune"):
        shell(f"eval/split/{split}", f"cajole eval --split {split} --threads 1 --engine network || cajole eval --split {split}")
    shell("eval/bad", "cajole eval in/bad-transducer.txt")
    shell("eval/empty", "cajole eval in/empty.txt")
    shell("eval/pipe", "cat in/transducer-gold.jsonl | cajole eval - --json")


def lint() -> None:
    asked = {
        "transducer": "rules/transduction.toml in/transducer-gold.jsonl --characters",
        "transducer-full": "rules/transduction-full.toml in/transducer-gold.jsonl --characters --examples 1",
        "model": "rules/transduction.toml in/transducer-gold.jsonl --characters --model transducer",
        "expressions": "rules/expressions-full.toml in/expressions-gold.jsonl",
        "expressions-model": "in/rules/e-balanced.toml in/expressions-gold.jsonl --model expressions",
        "roles": "rules/spans.toml in/srl-gold.jsonl --verbs",
        "roles-by": "in/rules/t-all.toml in/srl-gold.jsonl --by id",
        "roles-model": "rules/spans.toml in/srl-gold.jsonl --model tagger",
        "text": "in/rules/w-copies.toml in/expressions-gold.jsonl --text",
        "checker": "in/rules/checker-lines.toml in/transducer-gold.jsonl --characters",
        "two-files": "rules/transduction.toml in/transducer-gold.jsonl in/transducer-gold.jsonl --characters",
        "broken": "in/rules/broken-bad-regex.toml in/transducer-gold.jsonl",
        "bad": "rules/transduction.toml in/bad-transducer.txt --characters",
    }
    for name, line in asked.items():
        shell(f"lint/text/{name}", f"cajole lint {line} --threads 1")
        shell(f"lint/json/{name}", f"cajole lint {line} --threads 1 --json")


def scores() -> None:
    for form in ("", " --json"):
        name = "json" if form else "text"
        shell(f"evalb/{name}", f"cajole evalb in/gold.ptb in/test.ptb{form}")
        shell(f"evalb/{name}-param", f"cajole evalb in/gold.ptb in/test.ptb --param in/own.prm{form}")
        shell(f"srl-eval/{name}", f"cajole srl-eval in/gold.props in/test.props{form}")
    shell("evalb/same", "cajole evalb in/gold.ptb in/gold.ptb")
    shell("srl-eval/same", "cajole srl-eval in/gold.props in/gold.props")


def generate() -> None:
    for name, flags in {
        "default": "--n 20", "operands": "--n 5 --operands 9..=11 --split test", "one": "--n 3 --operands 4",
        "seed": "--n 5 --seed 7 --split dev", "json": "--n 2 --json",
    }.items():  # fmt: skip
        shell(f"generate/{name}", f"cajole generate expressions {flags}")
    shell("generate/all", "cajole generate expressions | sha256sum")


MAPPING = """[network]
transformer = "transformer"
reads = "src"
writes = "trg"
output = "generator"
heads = 2
positions = 16
scales-symbols = true
[symbols]
vocabulary = "vocab.json"
start = "<s>"
end = "</s>"
unknown = "<u>"
special = []
ends-input = true
max-length = 9
"""


@answers("import")
def imports(box: Box) -> dict[str, Answer]:
    """Archives and tensors that are no network: what is said about them."""
    saved = ROOT / "crates/cajole-cli/tests/data/zip.pt"
    (box.at / "saved.pt").symlink_to(saved)
    (box.at / "m.toml").write_text(MAPPING)
    (box.at / "vocab.json").write_text('{"<s>": 0, "</s>": 1, "<u>": 2, "a": 3}')
    found = {"torch": box.shell("cajole import torch saved.pt --mapping m.toml --out net")}
    (box.at / "run").mkdir()
    found["no-weights"] = box.shell("cajole import allennlp run --out net")
    (box.at / "run/best.th").write_bytes(saved.read_bytes()[:99])
    for kind in ("srl", "crf_tagger"):
        (box.at / "run/config.json").write_text(json.dumps({"model": {"type": kind, "text_field_embedder": {}}}))
        found[f"cut-{kind}"] = box.shell("cajole import allennlp run --out net")
    return found


parse()
tag()
explain()
measures()
lint()
scores()
generate()
