"""A corpus on Ray: here on one machine, elsewhere on as many as the cluster has.

python python/examples/ray_corpus.py
"""

# Needs: ray.data
from __future__ import annotations

import pathlib
import tempfile

import cajole
import cajole.ray

# %% A file of lines that all nodes can read.
folder = pathlib.Path(tempfile.mkdtemp())
path = folder / "lines.txt"
path.write_text("azbz\nbzaz\nazazbz\n" * 200)

# %% Records come as a dataset: write it as Parquet or JSON, or process it further.
cajole.ray.connect()
lines = cajole.ray.read_lines(path, lines_a_block=100)
records = cajole.ray.infer(lines, model="transducer", concurrency=1, batch_size=100)
rows = sorted(records.take_all(), key=lambda row: int(row["line"]))

# %% They are the same records as on one machine.
assert [row["record"] for row in rows] == [r.to_json() for r in cajole.load("transducer").infer(path)]
print(len(rows), "records,", rows[0]["record"])
