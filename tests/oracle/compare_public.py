"""Runs public packages as oracles beside our references: python tests/oracle/compare_public.py [encoding …]

Needs requirements.txt beside this file; the project's own tests need none of it. Prints a line for each comparison and fails
if one is further off than float32 explains; without arguments it writes PUBLIC.md. What a package means differently is said
in the last column and undone before comparing: an explanation counts only because the numbers then agree.
"""

import sys
from datetime import date
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

import make_goldens  # registers the references
from public import COMPARISONS

FAMILIES = ("rotations", "scores", "others", "configs")
for family in FAMILIES:
    import_module(f"public_{family}")

HEAD = """# Our references beside public implementations

Written by `python tests/oracle/compare_public.py` on {today} with {packages}.

The references in this folder make the goldens that the C++ is tested against; here they are compared with code that others
wrote, in its float32. The difference is the largest one, as a share of the largest value (of 1 if that is more); frequencies
count each as a share of itself. Where a package means something differently, the last column says what, and it was undone
before comparing. Options are ours.

| encoding | options | package | what | shape | difference | where definitions differ |
|---|---|---|---|---|---|---|
"""

READ = """
## Read, not run

Code and papers that no package carries, compared by reading.

| encoding | source | finding |
|---|---|---|
| kerple_log, kerple_power | the authors' repository (chijames/KERPLE, 25be3d7) | log: r1 from U(0, 2), r2 from U(0, 1); power: r1 from U(0, 1), r2 from U(0, 2); at least 0.01, the power's r2 at most 2. As here. |
| cable | the authors' repository (axiomlab/Cable, 8bc6b83) | prefix sums of −softplus(w·x + b), score + S_i − S_j. As here. |
| forget_gate | the authors' repository (zhixuan-lin/forgetting-transformer, 883f260) | a projection with bias, N(0, 0.02) and zero at the start, log σ, prefix sums. As here. |
| deberta | the authors' repository (microsoft/DeBERTa, 4d7fe0b) | reads Qr[δ(i, j)], like transformers; ours is Qr[δ(j, i)], after the paper's equation. Turning rows 1 … 2K − 1 round makes them equal for all distances below K; beyond, the shared row differs. |
| ssmax | arithmetic | 1/mean(ln n) for n = 1 … 1024 is {ssmax:.5f}: the initial 0.168 for L = 1024. |
| sandwich | none by the authors was found | k from 1 to W/2, after the paper's equation (`first=0` counts as sinusoids do). A version that NeMo had also began at 1, but stopped at W/2 − 1 and had no cosine; it is not a reference. |
"""


def shape_of(x):
    return "×".join(map(str, np.shape(x))) or "1"


def measure(encoding, package, options, what, ours, theirs, differs="", tolerance=2e-5):
    """The row of the table, and whether it is good."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    same = ours.shape == theirs.shape
    difference = np.max(np.abs(ours - theirs)) / max(1.0, np.max(np.abs(theirs))) if same else np.inf
    return (
        encoding,
        options,
        f"{package} {version(package).split('+')[0]}",
        what,
        shape_of(theirs),
        f"{difference:.0e}" if difference else "0",
        differs,
    ), difference <= tolerance


def main():
    rows, faults = [], 0
    for encoding, package, function in COMPARISONS:
        if sys.argv[1:] and encoding not in sys.argv[1:]:
            continue
        for result in function():
            row, good = measure(encoding, package, *result)
            print(" | ".join(filter(None, (*row, "" if good else "FAULT"))), flush=True)
            rows, faults = [*rows, row], faults + (not good)
    if faults:
        sys.exit(f"{faults} of {len(rows)} differ without an explanation")
    if not sys.argv[1:]:
        packages = ", ".join(sorted({row[2] for row in rows}))
        ssmax = 1 / np.log(np.arange(1, 1025)).mean()
        table = "\n".join(
            f"| {' | '.join((*row[:1], f'`{row[1]}`' if row[1] else '', *row[2:]))} |"
            for row in sorted(rows, key=lambda row: row[0].lower())
        )
        text = HEAD.format(today=date.today(), packages=packages) + table + "\n" + READ.format(ssmax=ssmax)
        (Path(__file__).parent / "PUBLIC.md").write_text(text, newline="\n")


main()
