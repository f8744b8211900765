"""Trees as shift-reduce commands, and the score of commands that may be no tree."""

from collections import Counter

# What evalb's COLLINS.prm leaves out, and what it takes for the same.
PUNCTUATION = {",", ":", "``", "''", "."}
SAME = {"PRT": "ADVP"}


def parse(text):
    """The tree in brackets as (label, children); a leaf is its tag."""
    stack, root = [], None
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    for i, word in enumerate(words):
        if word == "(":
            stack.append((words[i + 1], []))
        elif word == ")":
            label, children = stack.pop()
            node = (label, children) if children else label
            if stack:
                stack[-1][1].append(node)
            else:
                root = node
    return root


def commands(node, found):
    """Appends the commands of a tree: "s", "r" and labels."""
    if isinstance(node, str):
        found.append("s")
        return
    label, children = node
    for child in children:
        commands(child, found)
    found.extend("r" for _ in children)
    found.append(label)


def brackets(output, tags):
    """The labelled brackets that commands build over tags, as evalb counts them. Commands that
    cannot be carried out are left out. The second value says whether the commands are one tree."""
    stack, pending, taken, valid = [], None, 0, True
    found = Counter()
    for command in output:
        if command == "s":
            valid &= pending is None and taken < len(tags)
            if taken < len(tags):
                stack.append((taken, taken + 1))
                taken += 1
        elif command == "r":
            valid &= bool(stack)
            if stack:
                start, end = stack.pop()
                pending = (start, pending[1] if pending else end)
        else:
            valid &= pending is not None
            if pending:
                found[(command, *pending)] += 1
                stack.append(pending)
            pending = None
    valid &= pending is None and taken == len(tags) and len(stack) == 1
    before = [0]
    for tag in tags:
        before.append(before[-1] + (tag not in PUNCTUATION))
    counted = Counter()
    for (label, start, end), n in found.items():
        start, end = before[start], before[end]
        if start < end and label != "TOP":
            counted[SAME.get(label, label), start, end] += n
    return counted, valid


def f1(outputs, golds, sentences):
    """Labelled F1 in per cent, and the number of outputs that are no tree."""
    both = ours = theirs = failures = 0
    for output, gold, tags in zip(outputs, golds, sentences):
        found, valid = brackets(output, tags)
        expected, _ = brackets(gold, tags)
        both += (found & expected).total()
        ours += found.total()
        theirs += expected.total()
        failures += not valid
    return 200 * both / max(1, ours + theirs), failures
