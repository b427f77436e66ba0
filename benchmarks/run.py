"""Compare goodstein with the matrix-product limit, with plain NumPy and with other packages.

Run it with `make bench`. The table goes to the standard output, progress to the standard error, and a
complete run writes RESULTS.md and RESULTS.svg beside this file and adds its ratios to history.csv; it ends
with an error where one of them is worse than in the run before. It takes about twenty minutes on two idle
cores, a minute or two with `--quick`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from history import append, entries, previous, regressions
from report import PREAMBLE, Row, by_number, machine_facts, markdown_table, processor
from scaling import picture
from targets import MEASUREMENTS, QUICK, Plan, Sizes

from goodstein.engine.executors import available_cores

RESULTS = Path(__file__).with_name("RESULTS.md")
TARGETS = sorted({target for targets in MEASUREMENTS.values() for target in targets}, key=by_number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see whether everything runs")
    parser.add_argument("--only", nargs="+", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument(
        "--output",
        type=Path,
        help="where to write the table; a complete run writes RESULTS.md without being told",
    )
    options = parser.parse_args()
    wanted = set(options.only or TARGETS)
    output = options.output or (None if options.quick or options.only else RESULTS)

    sizes = QUICK if options.quick else Sizes()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    start = time.perf_counter()

    def progress(text: str) -> None:
        print(f"[{time.perf_counter() - start:5.0f} s] {text}", file=sys.stderr, flush=True)

    plan = Plan(sizes, min(2, available_cores()), progress)
    rows: list[Row] = []
    for measure, targets in MEASUREMENTS.items():
        if wanted.intersection(targets):
            rows += [row for row in measure(plan) if row.target in wanted]
    progress("done")

    table = markdown_table(rows, judge=not options.quick)
    preamble = PREAMBLE.format(draws=sizes.draws, threads=plan.threads)
    text = f"{preamble}\n{machine_facts(available_cores(), load)}\n\n{table}\n"
    print(text)
    if output is not None:
        output.write_text(text, encoding="utf-8")
        progress(f"written to {os.path.relpath(output)}")
        if picture(output.with_suffix(".svg")):
            progress(f"drawn in {os.path.relpath(output.with_suffix('.svg'))}")
    if output == RESULTS:
        now = entries(rows, processor())
        worse = regressions(previous(processor()), now)
        append(now)
        if worse:
            sys.exit("Worse than in the run before:\n" + "\n".join(f"- {line}" for line in worse))


if __name__ == "__main__":  # worker processes import this file
    main()
