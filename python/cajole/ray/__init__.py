"""Corpora on more than one machine: `cajole.ray`.

`infer` maps a Ray Dataset to records. Actors load the model once and work on batches; Ray gives
back-pressure, retries and progress. A lost node costs only the blocks it was working on. These are
answered again, and since answers depend only on their lines, nothing is lost, duplicated or different.

From a terminal, with the flags of `cajole infer`: `python -m cajole.ray FILE --out OUT`.
"""

from __future__ import annotations

from cajole.ray._dataset import connect, infer, read_lines

__all__ = ["connect", "infer", "read_lines"]
