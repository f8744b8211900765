"""The three tasks of the paper with the built-in networks.

python python/examples/paper_tasks.py
"""

from __future__ import annotations

import cajole

# %% Transduction: az becomes aaa, bz becomes zb.
transducer = cajole.load("transducer")
[transduced] = transducer.infer(["azbzazazazazazazazazbz"])
print(transduced.output, transduced.status, "after", transduced.steps, "steps")
assert transduced.status == "satisfied"

# %% Parsing: commands that build one tree over the sentence.
parser = cajole.load("parser")
sentences = ["The dog that barks sees the cat .", "golf item was learning of indoors , though"]
for parsed in parser.infer(sentences):
    assert parsed.tree is not None
    print(parsed.status, parsed.tree.pretty(), sep="\n")

# %% Role labeling: who did what to whom; arguments must be constituents of the tree.
tagger = cajole.load("tagger")
tree = "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat))) (. .))"
[labelled] = tagger.infer([{"tree": tree, "predicates": [2]}])
for answer in labelled.answers:
    print(answer.status, [(a["role"], a["text"]) for a in answer["arguments"]])
