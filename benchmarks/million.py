"""The exact test of a million rows, which may be interrupted and goes on where it was.

    python benchmarks/million.py

A kill or Ctrl-C leaves a checkpoint; the same command goes on from there, on any number of workers, and ends
with the p-value of a run without a pause. Time, CPU time and the largest memory of all runs together are kept
beside the checkpoint and printed at the end.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import goodstein as gs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=-1, help="threads; all cores unless told")
    parser.add_argument("--checkpoint", type=Path, default=Path("million.checkpoint"))
    options = parser.parse_args()
    book = options.checkpoint.with_suffix(".json")
    spent = json.loads(book.read_text()) if options.checkpoint.exists() and book.exists() else {}
    # A kill is an interruption too: the checkpoint is written on the way out.
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    start, result = time.perf_counter(), None
    try:
        x = np.random.default_rng(0).standard_normal((options.rows, options.columns))
        result = gs.ksd_test(
            x,
            gs.families.Normal(np.zeros(options.columns)),
            null=gs.WildBootstrap(options.draws),
            workers=options.workers,
            rng=1,
            progress=sys.stderr,
            checkpoint=options.checkpoint,
        )
    except KeyboardInterrupt:
        print("Interrupted; the same command goes on.", file=sys.stderr)
    finally:
        spent = _added(spent, time.perf_counter() - start)
        book.write_text(json.dumps(spent))
    found = "not done yet" if result is None else f"statistic {result.statistic!r}, p = {result.pvalue:.4g}"
    print(
        f"n = {options.rows}, d = {options.columns}, B = {options.draws}: {found}; {spent['seconds']:.0f} s "
        f"in {spent['runs']} runs, {spent['cpu']:.0f} s of CPU time, at most {spent['megabytes']:.0f} MB."
    )


def _added(before: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What all runs took, this one included."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if platform.system() == "Darwin" else 1024
    return {
        "runs": before.get("runs", 0) + 1,
        "seconds": before.get("seconds", 0.0) + seconds,
        "cpu": before.get("cpu", 0.0) + used.ru_utime + used.ru_stime,
        "megabytes": max(before.get("megabytes", 0.0), used.ru_maxrss * unit / 1e6),
    }


if __name__ == "__main__":
    main()
