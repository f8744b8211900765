"""Makes a Hugging Face folder with random weights for each family, and lines for it. Needs torch and transformers.

    python bench/golden/golden_make.py FOLDER
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "huggingface"))

SEEDS = {
    "bert": 0, "roberta": 1, "xlm-roberta": 2, "camembert": 3, "distilbert": 4,
    "bart": 5, "marian": 6, "t5": 7, "mt5": 8, "bart-2": 14, "marian-2": 15, "t5-2": 16, "mt5-2": 17,
}  # fmt: skip


def main() -> None:
    import folders
    import torch

    torch.set_num_threads(1)
    out = pathlib.Path(sys.argv[1])
    for family, seed in SEEDS.items():
        at, unfinished = out / family, out / f"{family}.unfinished"
        if at.exists():
            continue
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        made = folders.make(seed, unfinished)
        assert family.startswith(made["family"]), made
        inputs = [{"tokens": one} if isinstance(one, list) else {"input": one} for one in made["inputs"]]
        lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in inputs)
        (out / f"{family}.jsonl").write_text(lines)
        unfinished.rename(at)


if __name__ == "__main__":
    main()
