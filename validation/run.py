"""Measure how often tests reject true models and false ones, and write the reports.

    python validation/run.py [size|power|unseen] [--trials N] [--only PATTERN] [--workers N] [--quick]

Cells and their tests are run by `goodstein.power_study`. What is in size.csv, power.csv or unseen.csv already
is kept if its first trials still have the same p-values, so that a change of the library is noticed, and if
it has at least as many trials. Finished trials are kept in records/, so that a run which was stopped goes on
where it was; finished parts of a table are written at once.
"""

from __future__ import annotations

import argparse
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import report
import unseen_report
from results import FIRST, Key, Measured, Results, from_study, read, write
from tables import Part, Table, laws

import goodstein as gs

HERE = Path(__file__).parent
MODULES = {
    "size": "points corners units dependence weighted assertions fitted survival survival_regression "
    "directional discrete counts latent conditional patterns pattern graphs others tolerance modes views "
    "explained approximate more",
    "power": "suite survival survival_regression directional discrete counts latent conditional patterns "
    "pattern graphs fitted euclidean units modes approximate more",
    "unseen": "unseen",
}
"""Each has size_tables(), power_tables() or unseen_tables(); the reports are in this order."""
TRIALS, QUICK = {"size": 2000, "power": 500, "unseen": 100}, {"size": 200, "power": 100, "unseen": 20}
REPORTS = {"size": report.size_report, "power": report.power_report, "unseen": unseen_report.unseen_report}


def tables_of(kind: str) -> list[Table]:
    """All tables of a report."""
    modules = [import_module(name) for name in MODULES[kind].split()]
    tables = [table for module in modules for table in getattr(module, f"{kind}_tables")()]
    assert len({table.name for table in tables}) == len(tables), "two tables have the same name"
    return tables


def main(argv: Sequence[str] | None = None, folder: Path = HERE) -> None:
    """Run what is missing and write the reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=[*MODULES], help="one of the reports (default: all)")
    parser.add_argument(
        "--trials",
        type=int,
        help="trials a row (default 2000 for size, 500 or fewer for power, 100 for unseen)",
    )
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="rows with this in `table | cell | test`"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: all cores)")
    parser.add_argument("--quick", action="store_true", help="200, 100 or 20 trials a row, printed only")
    options = parser.parse_args(argv)
    if options.trials is not None and options.trials < FIRST:
        parser.error(f"--trials must be at least {FIRST}")
    # Not fork: threads of BLAS or JAX would not survive it.
    many = options.workers > 1
    with ProcessPoolExecutor(options.workers, get_context("spawn")) if many else nullcontext() as workers:
        kinds = [options.kind] if options.kind else [*MODULES]
        if not sum(run(kind, options, folder, workers) for kind in kinds):
            raise SystemExit(f"No row has {options.only!r} in its name.")


def run(kind: str, options: argparse.Namespace, folder: Path, workers: Executor | None) -> int:
    """One report, or what is chosen of it; the number of its parts."""
    tables = tables_of(kind)
    known = {} if options.quick else read(folder / f"{kind}.csv", tables)
    parts = [(table, part) for table in tables for part in chosen(table, options.only)]
    for number, (table, part) in enumerate(parts, 1):
        start, most = time.perf_counter(), options.trials or (QUICK if options.quick else TRIALS)[kind]
        record = None if options.quick else folder / "records"
        fresh = measure(table, part, min(most, table.trials or most), known, workers, record)
        known |= fresh
        if fresh and not options.quick:
            publish(kind, tables, known, folder)
        note = f"{len(fresh)} rows, {time.perf_counter() - start:.1f} s" if fresh else "known"
        names = ", ".join(cell.name for cell in part[0])
        print(f"[{number}/{len(parts)}] {table.name} | {names}: {note}", flush=True)
    if options.quick:
        form = report.size_table if kind == "size" else report.power_table
        print(*("\n" + form(table, known) for table in dict.fromkeys(table for table, _ in parts)), sep="\n")
    elif parts:
        publish(kind, tables, known, folder)
    return len(parts)


def chosen(table: Table, pattern: str) -> Iterator[Part]:
    """The parts of a table, with only the cells and tests whose names have the pattern."""
    for cells, tests in table.parts:
        names = {
            cell: [
                test
                for test in tests
                if pattern.casefold() in f"{table.name} | {cell.name} | {test}".casefold()
            ]
            for cell in cells
        }
        some = [replace(cell, tests=own) for cell, own in names.items() if own]
        if some:
            yield some, tests


def measure(
    table: Table, part: Part, trials: int, known: Results, workers: Executor | None, records: Path | None
) -> dict[Key, Measured]:
    """What is missing of a part, or has changed."""
    cells, tests = part
    seed, path = zlib.crc32(table.name.encode()), None
    first = from_study(
        table, gs.power_study(cells, tests, trials=FIRST, bound=False, workers=workers, seed=seed)
    )

    def stale(key: Key) -> bool:
        old = known.get(key)
        return old is None or old.fingerprint != first[key].fingerprint or old.trials < trials

    todo = []
    for cell in cells:
        names = [test for test in cell.tests if any(stale((table.name, law, test)) for law in laws(cell))]
        if names:
            todo.append(replace(cell, tests=names))
    if not todo:
        return {}
    if records is not None:
        records.mkdir(exist_ok=True)
        path = records / f"{seed:08x}"
    study = gs.power_study(
        todo, tests, trials=trials, bound_draws=(4000, 2000), workers=workers, path=path, seed=seed
    )
    return from_study(table, study)


def publish(kind: str, tables: Sequence[Table], known: Results, folder: Path) -> None:
    """Both files, each replaced in one step."""
    write(folder / f"{kind}.csv", tables, known)
    part = folder / f"{kind}.md.part"
    part.write_text(REPORTS[kind](tables, known), encoding="utf-8")
    part.replace(folder / f"{kind}.md")


if __name__ == "__main__":
    main()
