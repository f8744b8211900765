"""Every kind of rule, on the built-in networks that it fits."""

from __future__ import annotations

from golden_box import shell
from golden_infer import ASK, INPUTS
from golden_rule_files import BROKEN, BY_MODEL, TEXT

ENGINES = ["usual", "gbi", "masked", "auto", "network"]


def fitting() -> None:
    for model, rules in BY_MODEL.items():
        for name in rules:
            # Programs are started for every output.
            engines = ["gbi", "network"] if "checker" in name or name in ("mixed", "never") else ENGINES
            for engine in engines:
                limit = " --max-steps 8" if "checker" in name or model == "parser" or name in ("mixed", "never") else ""
                lines = INPUTS[model]
                if name in ("checker-exit-code", "checker-exit-json", "checker-hangs", "checker-rubbish"):
                    lines, limit = "in/one-bad.txt", " --max-steps 1"
                said = f"{ASK} --explain {lines} --model {model} --engine {engine} --constraint in/rules/{name}.toml{limit}"
                shell(f"rules/{model}/{name}/{engine}", said, seconds=4 if limit else 2)


def text_rules() -> None:
    """Rules about text also work where symbols are characters or words."""
    for name in TEXT:
        for model in ("transducer", "expressions"):
            said = f"{ASK} {INPUTS[model]} --model {model} --engine gbi --max-steps 5 --constraint in/rules/{name}.toml"
            shell(f"rules/{model}/{name}", said)


def broken() -> None:
    for name in BROKEN:
        models = ["transducer", "tagger"] if name in ("bio-false", "roles", "empty-all") else ["transducer"]
        for model in models:
            said = f"{ASK} {INPUTS[model]} --model {model} --constraint in/rules/broken-{name}.toml"
            shell(f"rules/broken/{name}/{model}", said)
    shell("rules/broken/absent", f"{ASK} in/transducer.txt --constraint absent.toml")
    shell("rules/broken/not-text", f"{ASK} in/transducer.txt --constraint in/transducer.txt.gz")


fitting()
text_rules()
broken()
