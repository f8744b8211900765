"""First outputs of many inputs, batched and one by one: cajole beside itself, on one thread.

A network in half precision is read so by single inputs, which then gain little by a batch.

No PyTorch takes part. What is compared is what a first pass over a corpus gains by batching, and
both ways are checked to find the same outputs.
"""

import sys
from pathlib import Path
from statistics import median

from side_by_side import ROUNDS, leave_speedup, print_table, run_json


def main():
    binary, folder = sys.argv[1], Path(sys.argv[2])
    command = lambda verb: [binary, "first-pass", verb, "--dir", str(folder)]
    data = run_json(command("prepare"))
    print(
        f"first-pass: {data['sentences']} inputs of {data['mean_tokens']:.0f} tokens on average,"
        f" outputs of {data['mean_symbols']:.0f} symbols, medians of {ROUNDS} rounds"
    )
    rounds = [run_json(command("time")) for _ in range(ROUNDS)]
    of = lambda key: [round_[key] for round_ in rounds]
    ways = ["batched", "alone", "half_batched", "half_alone", "beam_batched", "beam_alone"]
    labels = ["batched", "one by one", "batched, half precision", "one by one, half precision"]
    labels += ["beam of 5, batched, half precision", "beam of 5, one by one, half precision"]
    print_table("ms/input", [(label, of(f"{way}_ms")) for label, way in zip(labels, ways)])
    print()
    leave_speedup(folder, median(of("alone_ms")) / median(of("batched_ms")))


if __name__ == "__main__":
    main()
