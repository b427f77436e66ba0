"""What a power study has found, and its tables: power, size and time, tests in columns."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goodstein.constraints import check_share, check_text
from goodstein.engine.files import csv_text, write_whole
from goodstein.errors import InputError
from goodstein.power.cell import Cell
from goodstein.power.neyman_pearson import RatioTest
from goodstein.power.rates import Rate, rejections, size_mark
from goodstein.power.trials import medians
from goodstein.text import Report, Table
from goodstein.types import Array

Key = tuple[str, str, str]
"""Cell, null or alternative, test."""
BOUND = "Neyman–Pearson"
TIME = "Median time of one test"


@dataclass(frozen=True, eq=False)
class PowerStudy(Report):
    """How often each test rejected in each cell.

    All methods take a cell by its name, and at any `level`, because the p-values are kept; None takes
    that of the cell, or else the first of the study.

    Attributes
    ----------
    cells
        What was tested against what.
    tests
        Names of the tests.
    levels
        Those of the study; the first is that of the tables.
    trials
        Data sets from every law.
    pvalues, seconds
        By cell, ``"null"`` or ``"alternative"``, and test, (trials,) each.
    bounds
        The likelihood-ratio tests by cell, where they are known.
    """

    cells: tuple[Cell, ...]
    tests: tuple[str, ...]
    levels: tuple[float, ...]
    trials: int
    pvalues: Mapping[Key, Array] = field(repr=False)
    seconds: Mapping[Key, Array] = field(repr=False)
    bounds: Mapping[str, RatioTest] = field(repr=False)

    def power(self, cell: str | Cell, test: str, level: float | None = None) -> Rate:
        """The share of data sets of the alternative that a test rejects."""
        return self._rate(cell, "alternative", test, level)

    def size(self, cell: str | Cell, test: str, level: float | None = None) -> Rate:
        """The share of data sets of the null model that a test rejects, which should be the level."""
        return self._rate(cell, "null", test, level)

    def size_mark(self, cell: str | Cell, test: str, level: float | None = None) -> str:
        """↑ or ↓ where the size is outside the central 99.9 % of the binomial distribution at the level."""
        one = self._cell(cell)
        key = (one.name, "null", test)
        if key not in self.pvalues:
            return ""
        at = self.level(one, level)
        return size_mark(rejections(self.pvalues[key], at), self.trials, at)

    def bound(self, cell: str | Cell, level: float | None = None) -> Rate | None:
        """The Neyman–Pearson bound of a cell; None where it is not known."""
        one = self._cell(cell)
        test = self.bounds.get(one.name)
        if test is None:
            return None
        at = self.level(one, level)
        return Rate(test.power(at), test.interval(at), len(test.above))

    def of_bound(self, cell: str | Cell, test: str, level: float | None = None) -> float:
        """Power as a share of the bound; NaN where that is not known."""
        bound = self.bound(cell, level)
        if bound is None or not bound.value:
            return math.nan
        return self.power(cell, test, level).value / bound.value

    def best(self, cell: str | Cell, level: float | None = None) -> str | None:
        """The test with the most power among those whose size is not too large (↑); None if there is none."""
        one = self._cell(cell)
        rates = {
            test: self.power(one, test, level).value
            for test in self.tests
            if (one.name, "alternative", test) in self.pvalues and self.size_mark(one, test, level) != "↑"
        }
        return max(rates, key=lambda test: rates[test], default=None)

    def time(self, test: str, cell: str | Cell | None = None) -> float:
        """Median seconds of one test, over one cell or all of them."""
        name = None if cell is None else self._cell(cell).name
        self._test(test)
        here = [key for key in self.seconds if key[2] == test and name in (None, key[0])]
        return medians(self.seconds[key] for key in here)

    def table(self, level: float | None = None) -> list[dict[str, Any]]:
        """One row for each cell and test, with plain numbers; None where something was not measured."""
        rows = []
        for cell in self.cells:
            best, bound = self.best(cell, level), self.bound(cell, level)
            for test in self.tests:
                has = {kind for kind in ("null", "alternative") if (cell.name, kind, test) in self.pvalues}
                if not has:
                    continue
                size = self.size(cell, test, level) if "null" in has else None
                power = self.power(cell, test, level) if "alternative" in has else None
                share = self.of_bound(cell, test, level) if power is not None else math.nan
                row = {"cell": cell.name, "test": test, "n": cell.n, "level": self.level(cell, level)}
                row |= {"trials": self.trials, **_columns("size", size)}
                row |= {"size_mark": self.size_mark(cell, test, level), **_columns("power", power)}
                row |= {**_columns("bound", bound), "of_bound": None if math.isnan(share) else share}
                rows.append({**row, "best": test == best, "seconds": self.time(test, cell)})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """:meth:`table` at all levels and all p-values, as plain numbers, strings and lists."""
        cells = [{"name": c.name, "n": c.n, "level": c.level, "effect": c.effect} for c in self.cells]
        study = {
            "cells": cells,
            "tests": list(self.tests),
            "levels": list(self.levels),
            "trials": self.trials,
        }
        pvalues = [
            {"cell": cell, "law": law, "test": test, "pvalues": values.tolist()}
            for (cell, law, test), values in self.pvalues.items()
        ]
        return {**study, "rows": self._rows(), "pvalues": pvalues}

    def to_json(self, path: str | os.PathLike[str] | None = None, **options: Any) -> str:
        """:meth:`to_dict` as JSON, also written to a file if a path is given; see :func:`json.dumps`."""
        return _written(super().to_json(**{"ensure_ascii": False, **options}), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """:meth:`table` at all levels as CSV, also written to a file if a path is given."""
        rows = self._rows()
        return _written(csv_text([rows[0], *(row.values() for row in rows)]), path)

    def _rows(self) -> list[dict[str, Any]]:
        """:meth:`table` at all levels, those of cells included."""
        own = [cell.level for cell in self.cells if cell.level is not None]
        return [row for level in dict.fromkeys([*self.levels, *own]) for row in self.table(level)]

    def to_markdown(self, level: float | None = None) -> str:
        """Tables of power, size and time, tests in columns."""
        parts = []
        for table in self._tables(level, "**"):
            lines = [[cell.replace("|", r"\|") for cell in line] for line in (table.header, *table.lines)]
            head, *rows = (f"| {' | '.join(line)} |" for line in lines)
            parts += [f"**{table.title}**", "", head, f"|:--|{'--:|' * (len(table.header) - 1)}", *rows, ""]
        return "\n".join([*parts, " ".join(self._notes()), ""])

    def _notes(self) -> list[str]:
        notes = [
            f"{self.trials} trials; 95 % intervals of Wilson.",
            "↑ or ↓: the size is outside the central 99.9 % of the binomial distribution.",
            "The best test of a cell among those without ↑ is marked.",
        ]
        return [*notes, f"{BOUND}: what no test of the level can exceed."] if self.bounds else notes

    def _tables(self, level: float | None = None, bold: str = "*") -> list[Table]:
        at = {self.level(cell, level) for cell in self.cells}
        where = f" at level {at.pop():g}" if len(at) == 1 else ""

        def table(title: str, cells: Sequence[Cell], entry: Callable[[Cell, str], str]) -> Table:
            mixed = not where and title != TIME
            lines = [["cell", *(["level"] if mixed else []), *self.tests]]
            for cell in cells:
                own = [f"{self.level(cell, level):g}"] if mixed else []
                lines.append([cell.name, *own, *(entry(cell, test) for test in self.tests)])
            return Table(lines[0], lines[1:], title)

        def power(cell: Cell, test: str) -> str:
            if (cell.name, "alternative", test) not in self.pvalues:
                return "–"
            rate = _short(self.power(cell, test, level))
            if test == self.best(cell, level):
                rate = f"{bold}{rate}{bold if bold == '**' else ''}"
            return f"{rate} ↑" if self.size_mark(cell, test, level) == "↑" else rate

        def size(cell: Cell, test: str) -> str:
            if (cell.name, "null", test) not in self.pvalues:
                return "–"
            return f"{_short(self.size(cell, test, level))} {self.size_mark(cell, test, level)}".rstrip()

        found = []
        others = [cell for cell in self.cells if cell.alternative is not None]
        if others:
            powers = table(f"Power{where}", others, power)
            known = [self.bound(cell, level) for cell in others]
            if any(known):
                bounds = ["–" if bound is None else _short(bound) for bound in known]
                lines = [[*line, bound] for line, bound in zip(powers.lines, bounds, strict=True)]
                powers = Table([*powers.header, BOUND], lines, powers.title)
            found.append(powers)
        names = {name for name, kind, _ in self.pvalues if kind == "null"}
        if names:
            found.append(table(f"Size{where}", [cell for cell in self.cells if cell.name in names], size))
        return [*found, table(TIME, self.cells, lambda cell, test: _time(self.time(test, cell)))]

    def level(self, cell: str | Cell, level: float | None = None) -> float:
        """The level at which a cell is reported."""
        if level is not None:
            return check_share(level, "level")
        own = self._cell(cell).level
        return self.levels[0] if own is None else own

    def _rate(self, cell: str | Cell, kind: str, test: str, level: float | None) -> Rate:
        one = self._cell(cell)
        self._test(test)
        if (one.name, kind, test) not in self.pvalues:
            what = "size" if kind == "null" else "power"
            raise InputError(f"The {what} of {test!r} in the cell {one.name!r} was not measured.")
        count = rejections(self.pvalues[one.name, kind, test], self.level(one, level))
        return Rate.of(count, self.trials)

    def _test(self, test: str) -> str:
        if check_text(test, "test") not in self.tests:
            raise InputError(f"There is no test {test!r} in this study. It has {', '.join(self.tests)}.")
        return test

    def _cell(self, cell: str | Cell) -> Cell:
        name = cell.name if isinstance(cell, Cell) else check_text(cell, "cell")
        found = next((one for one in self.cells if one.name == name), None)
        if found is None:
            known = ", ".join(repr(one.name) for one in self.cells)
            raise InputError(f"There is no cell {name!r} in this study. It has {known}.")
        return found


def _columns(name: str, rate: Rate | None) -> dict[str, float | None]:
    if rate is None:
        return {name: None, f"{name}_lower": None, f"{name}_upper": None}
    return {name: rate.value, f"{name}_lower": rate.interval[0], f"{name}_upper": rate.interval[1]}


def _written(content: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_whole(path, content)
    return content


def _short(rate: Rate) -> str:
    low, high = (f"{end:.2f}".removeprefix("0") for end in rate.interval)
    return f"{rate.value:.3f} [{low}, {high}]".removeprefix("0")


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return "–"
    if seconds < 0.000_995:
        return f"{float(f'{1e6 * seconds:.2g}'):g} µs"
    return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{float(f'{seconds:.2g}'):g} s"
