"""`infer` on built-in networks: engines, presets, settings, threads, files, bad lines."""

from __future__ import annotations

from golden_box import shell

ENGINES = ["usual", "gbi", "beam", "masked", "astar", "exact", "sample", "auto", "network"]
INPUTS = {
    "transducer": "in/transducer.txt",
    "expressions": "in/expressions.txt",
    "parser": "in/parser.txt",
    "tagger": "in/tagger.jsonl",
}
SHIPPED = {
    "transducer": ["transduction", "transduction-full"],
    "expressions": ["expressions", "expressions-full", "python"],
    "tagger": ["spans"],
}
ASK = "cajole infer --no-times --threads 1"


def engines() -> None:
    """Every engine on every network, under its own and under shipped rules, with traces."""
    for model, lines in INPUTS.items():
        for engine in ENGINES:
            said = f"{ASK} --explain {lines} --model {model} --engine {engine}"
            # Pairs have no rules of their own.
            if model != "expressions" or engine == "usual":
                shell(f"infer/{model}/own-rules/{engine}", said, seconds=3 if model == "parser" else 1)
            for rules in SHIPPED.get(model, []):
                shell(f"infer/{model}/{rules}/{engine}", f"{said} --constraint rules/{rules}.toml", seconds=2)
    # Rules about other symbols.
    shell("infer/transducer/foreign-rules", f"{ASK} in/transducer.txt --constraint rules/spans.toml")
    shell("infer/parser/foreign-rules", f"{ASK} in/parser.txt --model parser --constraint rules/spans.toml")
    shell("infer/tagger/foreign-rules", f"{ASK} in/tagger.jsonl --model tagger --constraint rules/expressions.toml")


def presets() -> None:
    overrides = {
        "step": "--set schedule.step-size=0.05 --set schedule.max-steps=7",
        "sgd": """--set 'schedule={rule={kind="sgd"},step-size=0.01,max-steps=5}' --set 'restarts=[]'""",
        "sources": """--set 'sources=[{kind="black-box",limit=64}]'""",
        "no-sources": """--set 'sources=[]' --set 'objective={kind="lower",candidates=2}'""",
        "moves": """--set 'moves=["@vectors"]' --set pull=0.1""",
        "everything": """--set 'moves=[]' --max-steps 6""",
        "width": "--width 3",
        "wide": "--width 12 --engine beam",
        "max-steps": "--max-steps 2",
        "no-steps": "--max-steps 0",
        "patience": "--patience 1",
        "no-patience": "--patience 0",
        "ranking": """--set 'ranking="per-symbol"'""",
        "deadline": "--deadline-ms 3600000",
        "paper-patience": "--preset paper --patience 3 --width 2",
    }
    for model, lines in INPUTS.items():
        said = f"{ASK} --explain {lines} --model {model}"
        seconds = 6 if model == "parser" else 2
        rules = " --constraint rules/expressions.toml" if model == "expressions" else ""
        for preset in ["paper", "best", "small"]:
            at_most = " --max-steps 25" if model == "parser" and preset == "paper" else ""
            shell(f"infer/{model}/preset/{preset}", f"{said} --engine gbi --preset {preset}{rules}{at_most}", seconds=seconds)
        for name, flags in overrides.items():
            engine = "" if "--engine" in flags else " --engine gbi"
            shell(f"infer/{model}/set/{name}", f"{said}{engine}{rules} {flags}", seconds=seconds)
        for engine in ("gbi", "auto"):
            shell(f"infer/{model}/threads/{engine}-1", f"{said} --engine {engine}{rules}")
            several = said.replace("--threads 1", "--threads 3")
            twin = f"infer/{model}/threads/{engine}-1"
            shell(f"infer/{model}/threads/{engine}-3", f"{several} --engine {engine}{rules}", twin=twin)
            default = said.replace("--threads 1 ", "")
            shell(f"infer/{model}/threads/{engine}-all", f"{default} --engine {engine}{rules}", twin=twin)


def many() -> None:
    """More lines than are answered together; the same on one thread and on three."""
    expressions = "cajole generate expressions --n 200 --operands 7..=11 --split test > lines"
    asked = {
        "transducer": ("true", "in/many-transducer.txt"),
        "expressions": (expressions, "lines --constraint rules/expressions.toml"),
        "parser": ("true", "in/many-parser.txt"),
        "tagger": ("true", "in/many-parser.txt"),
    }
    for model, (first, lines) in asked.items():
        flags = {"small": "--preset small", "best": "--preset best", "auto": "--engine auto", "beam": "--engine beam"}
        for name, flag in flags.items():
            ways = {threads: f"{first}; {ASK} {lines} --model {model} {flag}".replace("--threads 1", f"--threads {threads}") for threads in (1, 3)}
            shell(f"infer/{model}/many/{name}", ways[1], seconds=8)
            shell(f"infer/{model}/many/{name}-3", ways[3], seconds=8, twin=f"infer/{model}/many/{name}")
    tagged = "cajole parse in/many-parser.txt > trees.ptb; cajole tag in/many-parser.txt --trees trees.ptb --json"
    shell("infer/tagger/many/trees", tagged, seconds=8)


def files() -> None:
    """Where records come from and go."""
    some = "cajole infer in/transducer.txt"
    shell("infer/files/times", f"{some} --threads 1")
    shell("infer/files/out", f"{some} --no-times --out o.jsonl")
    shell("infer/files/out-times", f"{some} --out o.jsonl")
    shell("infer/files/out-gz", f"{some} --no-times --out o.jsonl.gz")
    shell("infer/files/json", f"{some} --no-times --json")
    shell("infer/files/gz", "cajole infer in/transducer.txt.gz --no-times")
    shell("infer/files/pipe", "cat in/transducer.txt | cajole infer --no-times")
    shell("infer/files/dash", "cat in/transducer.txt | cajole infer - --no-times --out o.jsonl")
    shell("infer/files/resume-finished", f"{some} --no-times --out o.jsonl; {some} --no-times --out o.jsonl --resume")
    cut = "head -4 o.jsonl > p; head -c 40 o.jsonl >> p; mv p o.jsonl"
    unfinish = 'sed -i s/\'"finished": true\'/\'"finished": false\'/ o.jsonl.run.json'
    whole = f"{some} --no-times --out o.jsonl 2>/dev/null"
    shell("infer/files/resume-cut", f"{whole}; {cut}; {unfinish}; {some} --no-times --out o.jsonl --resume")
    shell("infer/files/resume-damaged", f"{whole}; {cut}; {some} --no-times --out o.jsonl --resume")
    shell("infer/files/resume-other", f"{whole}; {some} --out o.jsonl --no-times --preset paper --resume")
    shell("infer/files/resume-nothing", f"{some} --no-times --out o.jsonl --resume")
    shell("infer/files/exists", f"{whole}; {some} --no-times --out o.jsonl")
    shell("infer/files/overwrite", f"{whole}; {some} --no-times --out o.jsonl --overwrite --engine beam")
    shell("infer/files/same-file", "cp in/transducer.txt x; cajole infer x --out x; cajole infer x --out x --overwrite")
    shell("infer/files/absent", "cajole infer absent.txt")
    shell("infer/files/folder", "cajole infer in")
    for name in ("empty", "blank"):
        shell(f"infer/files/{name}", f"cajole infer in/{name}.txt --no-times --out o.jsonl")
    shell("infer/files/own-checkpoint", "cajole infer in/transducer.txt --no-times --model models/transducer")
    shell("infer/files/by-folder", "cajole infer in/parser.txt --no-times --model models/parser --threads 1", seconds=3)


def bad_lines() -> None:
    shell("infer/bad/transducer", f"{ASK} in/bad-transducer.txt")
    shell("infer/bad/transducer-out", f"{ASK} in/bad-transducer.txt --out o.jsonl")
    shell("infer/bad/expressions", f"{ASK} in/bad-transducer.txt --model expressions")
    for model in ("parser", "tagger"):
        shell(f"infer/bad/{model}", f"{ASK} in/bad-words.txt --model {model}")
    shell("infer/bad/strict", f"{ASK} in/one-bad.txt --strict")
    shell("infer/bad/strict-out", f"{ASK} in/one-bad.txt --strict --out o.jsonl")
    shell("infer/bad/strict-good", f"{ASK} in/transducer.txt --strict")
    shell("infer/bad/not-strict", f"{ASK} in/one-bad.txt")
    shell("infer/bad/max-tokens", f"{ASK} in/transducer.txt --max-tokens 5")
    shell("infer/bad/max-tokens-more", f"{ASK} in/bad-transducer.txt --max-tokens 500 --engine network", seconds=3)
    shell("infer/bad/max-line-bytes", f"{ASK} in/transducer.txt --max-line-bytes 9")
    shell("infer/bad/ids", f"{ASK} in/ids.jsonl")
    shell("infer/bad/ids-out", f"{ASK} in/ids.jsonl --out o.jsonl --explain")
    for engine in ("gbi", "auto", "network"):
        shell(f"infer/bad/engine-{engine}", f"{ASK} in/bad-transducer.txt --engine {engine} --constraint rules/transduction-full.toml")


engines()
presets()
many()
files()
bad_lines()
