"""A power study as Markdown, text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from goodstein.power.cell import Cell
from goodstein.power.rates import Rate

if TYPE_CHECKING:
    from goodstein.power.result import PowerStudy

BOUND = "Neyman–Pearson"

Grid = list[list[str]]
"""Head and rows."""


def markdown(study: PowerStudy, level: float | None) -> str:
    """Tables of power, size and time."""
    parts = []
    for title, grid in _grids(study, level, bold="**").items():
        head, *rows = (f"| {' | '.join(_escaped(row))} |" for row in grid)
        parts += [f"**{title}**", "", head, f"|:--|{'--:|' * (len(grid[0]) - 1)}", *rows, ""]
    return "\n".join([*parts, _legend(study), ""])


def text(study: PowerStudy, level: float | None) -> str:
    """The same for a terminal."""
    parts = []
    for title, grid in _grids(study, level, bold="*").items():
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        parts += [title, ""]
        for row in grid:
            first, *others = (
                cell.ljust(w) if not i else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            parts.append("  ".join([f"  {first}", *others]).rstrip())
        parts.append("")
    return "\n".join([*parts, *wrap(_legend(study), 100)])


def csv_text(study: PowerStudy) -> str:
    """One row for each cell, test and level."""
    rows = [row for level in _levels(study) for row in study.table(level)]
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def json_text(study: PowerStudy) -> str:
    """The same rows, and every p-value."""
    content = {
        "cells": [
            {"name": cell.name, "n": cell.n, "level": cell.level, "effect": cell.effect}
            for cell in study.cells
        ],
        "tests": list(study.tests),
        "levels": list(study.levels),
        "trials": study.trials,
        "rows": [row for level in _levels(study) for row in study.table(level)],
        "pvalues": [
            {"cell": cell, "law": law, "test": test, "pvalues": values.tolist()}
            for (cell, law, test), values in study.pvalues.items()
        ],
    }
    return json.dumps(content, ensure_ascii=False)


def _levels(study: PowerStudy) -> list[float]:
    own = [cell.level for cell in study.cells if cell.level is not None]
    return [*dict.fromkeys([*study.levels, *own])]


def _grids(study: PowerStudy, level: float | None, bold: str) -> dict[str, Grid]:
    """Power, size and time; tests in columns."""
    at = {study.level(cell, level) for cell in study.cells}
    where = f" at level {at.pop():g}" if len(at) == 1 else ""
    mixed = not where
    grids = {}
    others = [cell for cell in study.cells if cell.alternative is not None]
    if others:
        known = [study.bound(cell, level) for cell in others]
        grid = _grid(study, others, level, mixed, lambda cell, test: _power(study, cell, test, level, bold))
        if any(known):
            grid[0].append(BOUND)
            for row, bound in zip(grid[1:], known, strict=True):
                row.append("–" if bound is None else _short(bound))
        grids[f"Power{where}"] = grid
    sized = [
        cell
        for cell in study.cells
        if any((cell.name, "null", test) in study.pvalues for test in study.tests)
    ]
    if sized:
        grids[f"Size{where}"] = _grid(
            study, sized, level, mixed, lambda cell, test: _size(study, cell, test, level)
        )
    grids["Median time of one test"] = _grid(
        study, study.cells, None, False, lambda cell, test: _time(study.time(test, cell))
    )
    return grids


def _grid(
    study: PowerStudy,
    cells: Sequence[Cell],
    level: float | None,
    mixed: bool,
    entry: Callable[[Cell, str], str],
) -> Grid:
    head = ["cell", *(["level"] if mixed else []), *study.tests]
    rows = [
        [
            cell.name,
            *([f"{study.level(cell, level):g}"] if mixed else []),
            *(entry(cell, test) for test in study.tests),
        ]
        for cell in cells
    ]
    return [head, *rows]


def _power(study: PowerStudy, cell: Cell, test: str, level: float | None, bold: str) -> str:
    if (cell.name, "alternative", test) not in study.pvalues:
        return "–"
    rate = _short(study.power(cell, test, level))
    mark = study.size_mark(cell, test, level)
    if test == study.best(cell, level):
        rate = f"{bold}{rate}{bold if bold == '**' else ''}"
    return f"{rate} ↑" if mark == "↑" else rate


def _size(study: PowerStudy, cell: Cell, test: str, level: float | None) -> str:
    if (cell.name, "null", test) not in study.pvalues:
        return "–"
    return f"{_short(study.size(cell, test, level))} {study.size_mark(cell, test, level)}".rstrip()


def _legend(study: PowerStudy) -> str:
    said = (
        f"{study.trials} trials; 95 % intervals of Wilson. ↑ or ↓: the size is outside the central 99.9 % of "
        "the binomial distribution. The best test of a cell among those without ↑ is marked."
    )
    return f"{said} {BOUND}: what no test of the level can exceed." if study.bounds else said


def _short(rate: Rate) -> str:
    low, high = (f"{end:.2f}".removeprefix("0") for end in rate.interval)
    return f"{rate.value:.3f} [{low}, {high}]".removeprefix("0")


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return "–"
    if seconds < 0.000_995:
        return f"{float(f'{1e6 * seconds:.2g}'):g} µs"
    return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{float(f'{seconds:.2g}'):g} s"


def _escaped(row: Sequence[str]) -> list[str]:
    return [cell.replace("|", r"\|") for cell in row]
