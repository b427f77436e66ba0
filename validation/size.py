"""Measure how often every test rejects a true model, and write size.md and size.csv.

    python validation/size.py [--trials N] [--only PATTERN] [--workers N] [--quick] [--fresh]

Rows that are in size.csv already are kept if they have the same fingerprint (their name and the p-values
of their first trials, so that a change of the library is noticed) and at least as many trials.
Every finished row is written at once.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import zlib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from size_report import LEVELS, Measured, markdown, summary_line
from size_row import Row
from size_rows import all_rows
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
CHUNK = 25
"""Trials that a worker takes at a time."""
FIRST = 3
"""Trials that identify the behaviour of a row."""

ROWS = {row.name: row for row in all_rows()}


def main() -> None:
    """Run what is missing and write the reports."""
    options = arguments()
    chosen = [row for row in ROWS.values() if options.only.casefold() in row.name.casefold()]
    if not chosen:
        raise SystemExit(f"No row has {options.only!r} in its name.")
    known = {} if options.quick else read(HERE / "size.csv")
    pool = ProcessPoolExecutor(options.workers, get_context("spawn"), threadpool_limits, (1,))
    try:
        for number, row in enumerate(chosen, 1):
            if not row.audit and not row.refused():
                raise RuntimeError(f"{row.name}: the audit accepts this warning example.")
            mark = fingerprint(row)
            old = known.get(row.name)
            enough = old is not None and old.fingerprint == mark and old.trials >= options.trials
            start = time.perf_counter()
            if options.fresh or not enough:
                known[row.name] = Measured(row, mark, options.trials, measure(row, options.trials, pool))
                if not options.quick:
                    write(known)
                note = f"{time.perf_counter() - start:.1f} s"
            else:
                note = "known"
            print(f"[{number}/{len(chosen)}] {summary_line(known[row.name])} {note}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    if not options.quick:
        write(known)


def arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, help="trials a row (default 2000)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only rows with this in their name")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: all cores)")
    parser.add_argument("--quick", action="store_true", help="200 trials a row, printed only")
    parser.add_argument("--fresh", action="store_true", help="measure rows again that are known")
    options = parser.parse_args()
    if options.trials is not None and options.trials < 1:
        parser.error("--trials must be positive")
    options.trials = options.trials or (200 if options.quick else 2000)
    return options


def measure(row: Row, trials: int, pool: ProcessPoolExecutor) -> tuple[int, ...]:
    """The number of rejections at every level."""
    edges = [*range(0, trials, CHUNK), trials]
    futures = [pool.submit(pvalues, row.name, range(*ends)) for ends in pairwise(edges)]
    p = np.array([value for future in futures for value in future.result()])
    # p-values are multiples of 1/(draws + 1), so one that equals the level may miss it by rounding.
    return tuple(int(np.count_nonzero(p <= level + 1e-9)) for level in LEVELS)


def pvalues(name: str, trials: Iterable[int]) -> list[float]:
    """The p-values of some trials of a row."""
    found = []
    for trial in trials:
        try:
            found.append(ROWS[name].pvalue(trial))
        except Exception as error:
            raise RuntimeError(f"{name}, trial {trial}: {error}") from error
    return found


def fingerprint(row: Row) -> str:
    """A hash of what the row is called and of what it does."""
    first = " ".join(f"{p:.6f}" for p in pvalues(row.name, range(FIRST)))
    return f"{zlib.crc32(f'{row.name} {first}'.encode()):08x}"


def read(path: Path) -> dict[str, Measured]:
    """Known results of rows that still exist."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        records = [record for record in csv.DictReader(file) if record["name"] in ROWS]
    return {
        record["name"]: Measured(
            ROWS[record["name"]],
            record["fingerprint"],
            int(record["trials"]),
            tuple(int(record[f"rejections_{level:.2f}"]) for level in LEVELS),
        )
        for record in records
    }


def write(known: dict[str, Measured]) -> None:
    """Both files, each replaced in one step."""
    results = [known[name] for name in ROWS if name in known]
    replace(HERE / "size.md", markdown(results, missing=len(ROWS) - len(results)))
    records = [measured.record() for measured in results]
    temporary = HERE / "size.csv.part"
    with temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    temporary.replace(HERE / "size.csv")


def replace(path: Path, text: str) -> None:
    """Write a file so that it is never half written."""
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    main()
