"""Run every table and figure of the paper beside its corrections, and write REPORT.md.

    python paper/run.py [--quick] [--only PART ...] [--workers N] [--data FOLDER] [--fresh] [--report]

A run that was stopped goes on where it was: all finished work is in records/. A quick run has fewer
cells and trials and writes to quick/.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from shutil import rmtree

from report import write_report
from setting import HERE, Setting

PARTS = (
    "power_table",
    "readings",
    "type_one",
    "samples",
    "truncated_power",
    "runtime",
    "auxiliaries",
    "dirichlet_power",
    "survival_remarks",
    "estimation",
    "chicago",
    "skye",
)
"""In the order of the report."""


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(argv)
    setting = Setting(options.folder, options.quick, options.workers, options.data)
    if options.fresh:
        for part in options.only:
            for record in (setting.folder / "records").glob(f"{part}*"):
                rmtree(record) if record.is_dir() else record.unlink()
    begin = time.perf_counter()
    try:
        modules = {part: import_module(part) for part in options.only}
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is missing, which the paper needs: pip install -e '.[test]'")
    for part, module in modules.items():
        start = time.perf_counter()
        if not options.report:
            module.run(setting)
        if setting.read(part) and hasattr(module, "draw"):
            module.draw(setting)
        print(f"{part}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"{write_report(setting, PARTS)}, {time.perf_counter() - begin:.0f} s in all", file=sys.stderr)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer cells and trials, to paper/quick")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS)
    )
    parser.add_argument("--workers", type=int, default=-1, help="processes (default: one for each core)")
    parser.add_argument("--data", type=Path, help="the folder that holds chicago/ (default: ../shared/data)")
    parser.add_argument("--folder", type=Path, help="where results go (default: paper, or paper/quick)")
    parser.add_argument("--fresh", action="store_true", help="forget what is in records/ of these parts")
    parser.add_argument("--report", action="store_true", help="only draw and write what was measured")
    options = parser.parse_args(argv)
    options.folder = options.folder or (HERE / "quick" if options.quick else HERE)
    options.data = options.data or HERE.parents[1] / "shared" / "data"
    return options


if __name__ == "__main__":
    main()
