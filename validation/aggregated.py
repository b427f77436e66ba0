"""Measure the level of the aggregated test for small and large collections, and write aggregated.md.

    python validation/aggregated.py [--trials N] [--workers N]

The p-value is to be uniform under the null whatever the collection: one member, two, thirty, with copies of
members among them, equal weights or not. The p-values go to aggregated.jsonl as they come, so an interrupted
run goes on where it stopped.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import kstest

import goodstein as gs
from goodstein.power.rates import size_mark, wilson

HERE = Path(__file__).parent
RESAMPLES = 199
LEVELS = (0.01, 0.05, 0.1)


def gaussians(count: int) -> list[gs.Gaussian]:
    """Bandwidths from half the median distance to sixteen times as much.

    With much smaller ones the wild bootstrap of a single test is conservative, and so is the whole.
    """
    return [gs.Gaussian(gs.Median(scale)) for scale in np.geomspace(0.5, 16, count)]


COLLECTIONS = {
    "1 member": [gs.Gaussian()],
    "2 members": [gs.Gaussian(), gs.IMQ(gs.Median(4.0))],
    "2 members, each five times": [gs.Gaussian(), gs.IMQ(gs.Median(4.0))] * 5,
    "30 members": [*gaussians(20), *(gs.IMQ(gs.Median(s)) for s in np.geomspace(0.5, 8, 10))],
    "30 members, 20 of them copies": gaussians(10) * 3,
}

WILD = gs.WildBootstrap(RESAMPLES)


def tests() -> dict[str, object]:
    found: dict[str, object] = {
        name: partial(gs.aggregated_test, kernels=kernels, null=WILD, workers=1)
        for name, kernels in COLLECTIONS.items()
    }
    thirty = COLLECTIONS["30 members"]
    found["30 members, weights 1, …, 30"] = partial(
        gs.aggregated_test, kernels=thirty, weights=list(range(1, 31)), null=WILD, workers=1
    )
    found["the library's collection"] = partial(gs.aggregated_test, null=WILD, workers=1)
    found["2 members, simulated null"] = partial(
        gs.aggregated_test, kernels=COLLECTIONS["2 members"], null=gs.MonteCarlo(99), workers=1
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    wild = [name for name in tests() if "simulated" not in name]
    simplex = gs.families.Dirichlet([0.5, 0.5, 0.5])
    cells = [
        gs.Cell(gs.families.Normal([0.0, 0.0]), None, 50, name="N(0, I) on R², n = 50"),
        gs.Cell(simplex, None, 100, name="Dirichlet(½, ½, ½), n = 100", tests=wild),
    ]
    study = gs.power_study(
        cells,
        tests(),
        trials=options.trials,
        bound=False,
        workers=options.workers,
        path=HERE / "aggregated.jsonl",
        progress=True,
    )
    lines = [
        "# The level of the aggregated test",
        "",
        f"Written by `make validate` (`validation/aggregated.py`). {options.trials} samples of a true model "
        f"for each row, {RESAMPLES} draws a test (simulated null: 99); rates marked ↑ or ↓ lie outside the "
        "central 99.9 % of the binomial distribution. *KS* is the p-value of the Kolmogorov–Smirnov test "
        "that the p-values, made continuous by a uniform share of their step, are uniform. A test at level α "
        "rejects where its p-value is at most α; the rates here are counted in just this way.",
        "",
    ]
    rng = np.random.default_rng(0)
    for cell in cells:
        lines += [
            f"## {cell.name}",
            "",
            f"| collection | {' | '.join(f'level {level:g}' for level in LEVELS)} | KS |",
            f"|:--|{'--:|' * (len(LEVELS) + 1)}",
        ]
        for test in study.tests:
            if (cell.name, "null", test) not in study.pvalues:
                continue
            p = np.asarray(study.pvalues[cell.name, "null", test])
            counts = [int(np.count_nonzero(p <= level + 1e-9)) for level in LEVELS]
            rates = [
                f"{count / len(p):.4f} {size_mark(count, len(p), level)}".strip()
                for count, level in zip(counts, LEVELS, strict=True)
            ]
            step = 1 / 100 if "simulated" in test else 1 / (RESAMPLES + 1)
            uniform = kstest(p - step * rng.random(len(p)), "uniform").pvalue
            lines.append(f"| {test} | {' | '.join(rates)} | {uniform:.3f} |")
        lines.append("")
    half = (wilson(0.05, options.trials)[1] - wilson(0.05, options.trials)[0]) / 2
    lines.append(f"A rate of .05 is known to ±{half:.3f} (Wilson, 95 %).")
    (HERE / "aggregated.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
