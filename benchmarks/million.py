"""The exact test of a million rows: its p-value, time, CPU time and largest memory.

python benchmarks/million.py
"""

from __future__ import annotations

import argparse
import platform
import resource
import time

import numpy as np

import goodstein as gs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=-1, help="threads; all cores unless told")
    options = parser.parse_args()
    start = time.perf_counter()
    result = gs.ksd_test(
        np.random.default_rng(0).standard_normal((options.rows, options.columns)),
        gs.families.Normal(np.zeros(options.columns)),
        null=gs.WildBootstrap(options.draws),
        workers=options.workers,
        rng=1,
        progress=True,
    )
    used = resource.getrusage(resource.RUSAGE_SELF)
    memory = used.ru_maxrss * (1 if platform.system() == "Darwin" else 1024) / 1e6
    print(
        f"n = {options.rows}, d = {options.columns}, B = {options.draws}: statistic {result.statistic!r}, "
        f"p = {result.pvalue:.4g}; {time.perf_counter() - start:.0f} s, "
        f"{used.ru_utime + used.ru_stime:.0f} s of CPU time, at most {memory:.0f} MB."
    )


if __name__ == "__main__":
    main()
