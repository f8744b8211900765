"""What every workload shares: check that all programs do the same, time them in turns, report.

A workload is one file beside this one. It brings PyTorch variants (see `Variant`) and the command
that times one round of cajole's half; `compare` does the rest.
"""

import json
import subprocess
import sys
from statistics import median
from time import perf_counter

ROUNDS = 7
LOG_PROB_TOLERANCE = 1e-4
STEP_TOLERANCE = 1e-3  # moved weights are read in half precision, if W was stored so
GRADIENT_TOLERANCE = 1e-3  # of the gradient's norm, for each parameter on its own
# After many steps a last-bit difference can tip a decision, so a repair may rarely go another way.
LEAST_AGREEMENT = 0.95


class Variant:
    """One way to do the work in PyTorch. Cases are numbered as in the exported list."""

    label = ""
    # What `torch.compile` makes of a variant is shown, but is not what the speed-up refers to.
    is_compiled = False
    # Nor is one whose backward pass does not come from PyTorch.
    is_by_hand = False

    def gradient(self, case):
        """The output without its end symbol, log p of it, and d(g log p)/dW by cajole's names."""
        raise NotImplementedError

    def iteration_seconds(self, case):
        """The time of one iteration from the original weights; restoring them is not counted."""
        raise NotImplementedError

    def after_a_step(self, case):
        """The output and log p of it after one iteration from the original weights."""
        raise NotImplementedError

    def repair(self, case):
        """The number of steps and the output of a whole repair from the original weights."""
        raise NotImplementedError


def run_json(command):
    """The JSON that a program prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}")
    return json.loads(done.stdout)


def compare(workload, variants, time_ours, exported, folder, tolerance=GRADIENT_TOLERANCE):
    """Checks, times and reports; leaves the speed-up in `folder`/speedup."""
    cases = range(len(exported["cases"]))
    print(f"{workload}: {len(cases)} inputs, medians of {ROUNDS} interleaved rounds")
    for variant in variants:
        print(f"  {variant.label}: {check_gradients(variant, exported, folder, tolerance)}")
        if "after" in exported["cases"][0]:
            print(f"    {check_steps(variant, exported)}")

    has_repairs = "repair" in exported["cases"][0]
    ours = []
    iterations = {variant.label: [] for variant in variants}
    repairs = {variant.label: [] for variant in variants}
    for i in range(ROUNDS):
        ours.append(run_json(time_ours))
        for variant in variants:
            seconds = [variant.iteration_seconds(case) for case in cases]
            iterations[variant.label].append(1e3 * sum(seconds) / len(seconds))
        for variant in variants if has_repairs else []:
            start = perf_counter()
            repaired = [variant.repair(case) for case in cases]
            repairs[variant.label].append(1e3 * (perf_counter() - start) / len(cases))
            if i == 0:
                print(f"  {variant.label}: {check_repairs(variant, repaired, exported)}")

    of = lambda key: [round_[key] for round_ in ours]
    base = of("iteration_ms")
    print_table("ms/iteration", [("cajole", base), *iterations.items()])
    if has_repairs:
        print_table("ms/repair", [("cajole", of("repair_ms")), *repairs.items()])
    print_machine(ours)
    plain = [v for v in variants if not (v.is_compiled or v.is_by_hand)]
    eager = [iterations[variant.label] for variant in plain]
    leave_speedup(folder, min(median(times) for times in eager) / median(base))


def leave_speedup(folder, speedup):
    """Writes what `bench/run` prints as its last line."""
    (folder / "speedup").write_text(f"{speedup:.1f}\n")


def check_gradients(variant, exported, folder, tolerance):
    """Output, log-probability and every gradient of some cases against cajole's; says how close."""
    # Not above: workloads without PyTorch need nothing but Python.
    import numpy as np
    from safetensors.numpy import load_file

    worst_log_prob = worst_gradient = widest = 0.0
    for case in range(exported["gradients"]):
        output, log_prob, gradients = variant.gradient(case)
        name, want = f"{variant.label}, case {case}", exported["cases"][case]
        off = check_output(name, (output, log_prob), want, LOG_PROB_TOLERANCE)
        worst_log_prob = max(worst_log_prob, off)
        ours = load_file(folder / f"gradient-{case}.safetensors")
        if ours.keys() != gradients.keys():
            fail(f"{variant.label}: parameters {sorted(gradients)}, cajole {sorted(ours)}")
        for name, gradient in ours.items():
            difference = gradients[name].reshape(gradient.shape) - gradient
            off = float(np.linalg.norm(difference) / max(float(np.linalg.norm(gradient)), 1e-12))
            if not off < tolerance:
                fail(f"{variant.label}, case {case}: gradient of {name} is off by {off:.1e}")
            worst_gradient = max(worst_gradient, off)
            widest = max(widest, float(np.abs(difference).max()))
    return (
        f"same outputs, log p within {worst_log_prob:.0e}, gradients within {worst_gradient:.0e}"
        f" of their norm and {widest:.0e} at every weight"
    )


def check_output(name, got, want, tolerance):
    """An output and its log-probability against cajole's; returns how far off the latter is."""
    output, log_prob = got
    if output != want["output"]:
        fail(f"{name}: decodes {output}, cajole {want['output']}")
    off = abs(log_prob - want["log_prob"]) / max(1, abs(log_prob))
    if not off < tolerance:
        fail(f"{name}: log p {log_prob}, cajole {want['log_prob']}")
    return off


def check_steps(variant, exported):
    """What is decoded after a step against cajole's; says how close."""
    worst = 0.0
    for case, want in enumerate(case["after"] for case in exported["cases"]):
        name = f"{variant.label}, case {case}, after a step"
        off = check_output(name, variant.after_a_step(case), want, STEP_TOLERANCE)
        worst = max(worst, off)
    return f"after a step, same outputs, log p within {worst:.0e}"


def check_repairs(variant, repaired, exported):
    """Whole repairs against cajole's: as many steps to the same output; says how many agree."""
    wanted = [(case["repair"]["steps"], case["repair"]["output"]) for case in exported["cases"]]
    same = sum(got == want for got, want in zip(repaired, wanted))
    if same < LEAST_AGREEMENT * len(wanted):
        fail(f"{variant.label}: only {same} of {len(wanted)} repairs agree with cajole's")
    return f"{same} of {len(wanted)} repairs take as many steps to the same output"


def print_table(unit, rows):
    """One row per program, its times in `unit`; ratios are to the first."""
    base, width = median(rows[0][1]), max(len(label) for label, _ in rows)
    print(f"\n  {'':{width}}  {unit:>14} {'(lowest-highest round)':>24}   ratio")
    for label, times in rows:
        spread = f"({min(times):.4g}-{max(times):.4g})"
        print(f"  {label:{width}}  {median(times):14.4g} {spread:>24}{median(times) / base:8.2f}")


def print_machine(ours):
    """How much of the machine cajole uses: of one core's multipliers, and of a second core."""
    of = lambda key: median(round_[key] for round_ in ours)
    print(
        f"\n  cajole: {of('flops') / 1e6:.2f} MFLOP per iteration, {of('gflops'):.1f} GFLOP/s,"
        f" {100 * of('share_of_peak'):.0f} % of one core's {of('peak_gflops'):.0f}"
    )
    if "bytes" in ours[0]:
        share = lambda key: 100 * median(r["gigabytes"] / r[key] for r in ours)
        print(
            f"  cajole: {of('bytes') / 1e6:.0f} MB of weights per iteration,"
            f" {of('gigabytes'):.1f} GB/s: {share('cache_gigabytes'):.0f} % of what one core reads"
            f" from a cache that holds one layer's ({of('cache_gigabytes'):.0f}),"
            f" {share('memory_gigabytes'):.0f} % of what it reads from memory"
            f" ({of('memory_gigabytes'):.0f})"
        )
    if "parts_ms" in ours[0]:
        parts = {part: median(r["parts_ms"][part] for r in ours) for part in ours[0]["parts_ms"]}
        print("  cajole: " + ", ".join(f"{part} {ms:.2f} ms" for part, ms in parts.items()))
    if "repairs_per_second" in ours[0]:
        one = median(round_["repairs_per_second"]["1"] for round_ in ours)
        two = median(round_["repairs_per_second"]["2"] for round_ in ours)
        print(
            f"  cajole: {one:.0f} repairs per second on 1 thread, {two:.0f} on 2:"
            f" {of('scaling'):.2f} times as many"
        )
    print()


def fail(problem):
    sys.exit(f"\nDISAGREEMENT: {problem}")
