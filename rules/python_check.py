"""A judge for `cajole infer`: is the output an expression that Python compiles?

Reads one request per line, {"input": ..., "output": "...", "symbols": [...], "id": 7}, and replies
with one line, {"id": 7, "loss": 1.0, "parts": [...], "message": "..."}.
"""

import json
import sys


def verdict(symbols):
    try:
        compile(" ".join(symbols), "output", "eval")
        return {"loss": 0.0}
    except SyntaxError as error:
        # Convert the 1-based column to a symbol index; one past the last is the end.
        column, at = (error.offset or 1) - 1, 0
        while at < len(symbols) and column > len(symbols[at]):
            column -= len(symbols[at]) + 1
            at += 1
        at = min(at, len(symbols))
        part = {"start": at, "end": at + 1, "cost": 1.0, "message": error.msg}
        return {"loss": 1.0, "parts": [part], "message": error.msg}


for line in sys.stdin:
    request = json.loads(line)
    reply = {"id": request["id"], **verdict(request["symbols"])}
    print(json.dumps(reply), flush=True)
