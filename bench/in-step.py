"""One iteration of many inputs in step that move only biases, beside one input whose weights all move.

No PyTorch takes part. What is compared is what the `small` preset gains by sharing matrices, on one
thread; inputs in step are checked to come to the same outputs as alone.
"""

import sys
from pathlib import Path
from statistics import median

from side_by_side import ROUNDS, leave_speedup, print_table, run_json


def main():
    binary, folder = sys.argv[1], Path(sys.argv[2])
    command = lambda verb: [binary, "in-step", verb, "--dir", str(folder)]
    n = run_json(command("prepare"))["in_step"]
    print(f"in-step: one thread, medians of {ROUNDS} interleaved rounds")
    rounds = [run_json(command("time")) for _ in range(ROUNDS)]
    of = lambda key: [round_[key] for round_ in rounds]
    speedups = []
    for net in ("net1", "tagger"):
        everything, biases = of(f"{net}_all_ms"), of(f"{net}_biases_ms")
        rows = [("all weights of one input", everything), (f"biases of {n} in step", biases)]
        print_table(f"{net}, ms/input", rows)
        speedups.append(median(everything) / median(biases))
        print(f"  {net}: {speedups[-1]:.1f} times as fast\n")
    leave_speedup(folder, min(speedups))


if __name__ == "__main__":
    main()
