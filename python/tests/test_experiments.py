"""Networks that the scripts of `experiments/` train on a GPU give the same outputs in cajole."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cajole

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

SCRIPTS = Path(__file__).resolve().parents[2] / "experiments"


def sentence(i: int, split: str, section: str) -> dict[str, Any]:
    """A small made-up sentence of tags, with one predicate."""
    rng = random.Random(f"{split}{i}")
    noun = lambda: rng.choice(["(NP (DT DT) (NN NN))", "(NP (NNP NNP))", "(NP (DT DT) (JJ JJ) (NN NN))"])
    subject, what = noun(), noun()
    tree = f"(S {subject} (VP (VBD VBD) {what}) (. .))"
    n, m = (text.count("(") - 1 for text in (subject, what))
    role = lambda name, size: [f"B-{name}"] + [f"I-{name}"] * (size - 1)
    bio = [*role("ARG0", n), "B-V", *role("ARG1", m), "O"]
    srl = [{"p": n, "lemma": rng.choice(["see", "buy"]), "roleset": "x.01", "bio": " ".join(bio)}]
    return {"id": f"nw/wsj/{section}/{i}", "genre": "nw-wsj", "tree": tree, "srl": srl}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("delex")
    for genre in ["bc", "bn", "mz", "nw-wsj", "nw", "pt", "tc", "wb"]:
        for split, section, n in [("train", "02", 30), ("dev", "22", 8)]:
            with gzip.open(folder / f"{genre}.{split}.jsonl.gz", "wt") as file:
                file.writelines(json.dumps(sentence(i, split, section)) + "\n" for i in range(n))
    return folder


def run(script: str, *flags: str) -> None:
    subprocess.run([sys.executable, str(SCRIPTS / script), *flags], check=True, timeout=300)


@pytest.mark.parametrize("name", ["net2", "net5"])
def test_parsers(name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ["--data", str(data), "--out", str(tmp_path), "--device", "cpu", "--epochs", "6"]
    run("parsers.py", *flags, "--tokens", "100", "--every", "0", "--warmup", "5", name)
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import parsers
    from corpus import rows, tags_of
    from safetensors.torch import load_file

    card = json.loads((tmp_path / name / "config.json").read_text())
    network = card["network"]
    net = parsers.Seq2Seq(parsers.NETWORKS[name], network["words"], network["output-symbols"])
    weights = load_file(tmp_path / name / "model.safetensors")
    with torch.no_grad():
        for key, tensor in net.named_as_ours().items():
            tensor.copy_(weights[key])
    net.eval()
    read = lambda file: (tmp_path / name / f"vocab.{file}.txt").read_text().splitlines()
    names = ["s", "r", *(f"!{label}" for label in read("labels"))]
    word = {tag: i for i, tag in enumerate(read("words"))}
    lines = list(rows(data / "nw-wsj.dev.jsonl.gz"))
    native = cajole.load(str(tmp_path / name))
    outputs = [r.to_dict()["output"] for r in native.infer(lines, engine="network", width=1)]
    end = len(names)
    for line, output in zip(lines, outputs):
        ids = torch.tensor([[*(word[tag] for tag in tags_of(line["tree"])), len(word)]])
        [found] = net.greedy(ids, torch.tensor([ids.shape[1]]), end).tolist()
        found = found[: found.index(end)] if end in found else found
        assert output == " ".join(names[i] for i in found)


def test_taggers(data: Path, tmp_path: Path) -> None:
    flags = ["--data", str(data), "--out", str(tmp_path), "--device", "cpu", "--epochs", "12"]
    run("taggers.py", *flags, "--step-size", "1e-2", "srl-10")
    card = json.loads((tmp_path / "srl-10" / "config.json").read_text())
    lines = [sentence(i, "dev", "22") for i in range(8)]
    native = cajole.load(str(tmp_path / "srl-10"))
    outputs = [r.to_dict()["output"].split() for r in native.infer(lines, engine="network")]
    golds = [line["srl"][0]["bio"].split() for line in lines]
    assert [len(output) for output in outputs] == [len(gold) for gold in golds]
    right = sum(o == g for o, g in zip(outputs, golds))
    # The script's own dev F1 is of these sentences, once for each genre.
    assert (right == len(lines)) == (card["dev-f1"] == 100.0)
