"""Help of every command, and messages about flags and settings that are wrong."""

from __future__ import annotations

from golden_box import shell

COMMANDS = (
    "infer parse tag explain eval lint compare evalb srl-eval generate import train reproduce serve "
    "generate/expressions import/allennlp import/torch"
).split()

WRONG = {
    "no-command": "",
    "command": "infr",
    "flag": "infer --no-such-flag",
    "model": "infer in/transducer.txt --model no-such-model",
    "model-folder": "infer in/transducer.txt --model in",
    "model-file": "infer in/transducer.txt --model in/transducer.txt",
    "engine": "infer in/transducer.txt --engine gradient",
    "preset": "infer in/transducer.txt --preset cautious",
    "set-key": "infer in/transducer.txt --set schedule.step=1",
    "set-value": "infer in/transducer.txt --set schedule.step-size=fast",
    "set-negative": "infer in/transducer.txt --set schedule.step-size=-1",
    "set-nan": "infer in/transducer.txt --set schedule.step-size=nan",
    "set-form": "infer in/transducer.txt --set width",
    "set-moves": """infer in/transducer.txt --set 'moves=["no-such"]'""",
    "set-width": "infer in/transducer.txt --set width=0",
    "set-kind": """infer in/transducer.txt --set 'objective={kind="raise"}'""",
    "set-twice": "infer in/transducer.txt --no-times --engine gbi --set pull=0.1 --set pull=0.2",
    "width": "infer in/transducer.txt --width 0",
    "width-large": "infer in/transducer.txt --width 2000",
    "threads": "infer in/transducer.txt --threads 0",
    "threads-many": "infer in/transducer.txt --threads 513",
    "deadline": "infer in/transducer.txt --deadline-ms 0",
    "max-tokens": "infer in/transducer.txt --max-tokens 0",
    "max-steps": "infer in/transducer.txt --max-steps many",
    "resume-and-overwrite": "infer in/transducer.txt --out o --resume --overwrite",
    "resume-without-out": "infer in/transducer.txt --resume",
    "out-folder": "infer in/transducer.txt --out in",
    "out-nowhere": "infer in/transducer.txt --out no/such/folder/o.jsonl",
    "two-files": "infer in/transducer.txt in/parser.txt",
    "parse-model": "parse in/parser.txt --model transducer",
    "tag-model": "tag in/tagger.txt --model parser",
    "tag-format": "tag in/tagger.txt --format xml",
    "tag-trees": "tag in/tagger.txt --trees absent.ptb",
    "tag-input-trees": "tag in/tagger.txt --trees input",
    "tag-few-trees": "tag in/tagger.txt --trees in/short.ptb",
    "lint-nothing": "lint",
    "lint-absent": "lint rules/spans.toml absent.jsonl",
    "lint-no-gold": "lint rules/transduction.toml in/transducer.txt",
    "compare-engine": "compare in/transducer.txt --engines gbi,odd",
    "compare-lines": "compare in/transducer.txt --lines 0",
    "eval-no-gold": "eval in/transducer.txt",
    "eval-split": "eval --split odd",
    "evalb-absent": "evalb in/gold.ptb absent.ptb",
    "evalb-lengths": "evalb in/gold.ptb in/short.ptb",
    "evalb-param": "evalb in/gold.ptb in/test.ptb --param in/gold.ptb",
    "srl-eval-other": "srl-eval in/gold.props in/gold.ptb",
    "train-task": "train dancing",
    "train-no-pairs": "train pairs",
    "train-no-data": "train parsing --out net",
    "train-network": "train parsing --quick --network no-such --out net",
    "train-setting": "train transduction --set training.epoch=1 --out net",
    "train-encoder": "train srl --quick --encoder in --out net",
    "reproduce-nets": "reproduce transduction --nets nets/srl",
    "reproduce-no-data": "reproduce srl --out report",
    "reproduce-no-nets": "reproduce parsing --quick --nets in --out report",
    "generate-operands": "generate expressions --operands 1..=3",
    "generate-range": "generate expressions --operands 5..=2",
    "import-absent": "import allennlp absent.tar.gz --out net",
    "import-mapping": "import torch in/transducer.txt --mapping in/own.prm --out net",
    "serve-address": "serve --listen nowhere",
    "serve-open": "serve --listen 0.0.0.0:0",
    "serve-token": "serve --token-file absent",
    "serve-model": "serve --model no-such-model",
    "serve-rules": "serve --rules absent",
}

shell("help/main", "cajole --help")
shell("help/short", "cajole -h")
shell("help/help", "cajole help infer")
shell("help/version", "cajole --version; cajole --version --verbose; cajole --version --verbose --json")
for command in COMMANDS:
    words = command.replace("/", " ")
    shell(f"help/{command.replace('/', '-')}", f"cajole {words} --help")
    shell(f"help/{command.replace('/', '-')}-short", f"cajole {words} -h")
for name, line in WRONG.items():
    shell(f"wrong/{name}", f"cajole {line}")
