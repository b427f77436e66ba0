"""What a power study has found."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goodstein.errors import InputError
from goodstein.power.cell import Cell
from goodstein.power.neyman_pearson import check_level
from goodstein.power.rates import Rate, rejections, size_mark
from goodstein.power.ratio import RatioTest
from goodstein.power.trials import medians
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Key = tuple[str, str, str]
"""Cell, null or alternative, test."""


@dataclass(frozen=True, eq=False)
class PowerStudy:
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
        return medians(
            values for key, values in self.seconds.items() if key[2] == test and name in (None, key[0])
        )

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
                rows.append(
                    {
                        "cell": cell.name,
                        "test": test,
                        "n": cell.n,
                        "level": self.level(cell, level),
                        "trials": self.trials,
                        **_columns("size", size),
                        "size_mark": self.size_mark(cell, test, level),
                        **_columns("power", power),
                        **_columns("bound", bound),
                        "of_bound": None if math.isnan(share) else share,
                        "best": test == best,
                        "seconds": self.time(test, cell),
                    }
                )
        return rows

    def to_markdown(self, level: float | None = None) -> str:
        """Tables of power, size and time, tests in columns."""
        from goodstein.power.tables import markdown

        return markdown(self, level)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """:meth:`table` at all levels as CSV, also written to a file if a path is given."""
        from goodstein.power.tables import csv_text

        return _written(csv_text(self), path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """:meth:`table` at all levels and all p-values as JSON, also written to a file if a path is given."""
        from goodstein.power.tables import json_text

        return _written(json_text(self), path)

    def plot(self, ax: Axes | None = None, *, level: float | None = None) -> Axes:
        """Power of each test with Wilson's intervals, below the bound; needs ``goodstein[plot]``."""
        from goodstein.plot.power import power_curves

        return power_curves(self, ax=ax, level=level)

    def __str__(self) -> str:
        from goodstein.power.tables import text

        return text(self, None)

    def level(self, cell: str | Cell, level: float | None = None) -> float:
        """The level at which a cell is reported."""
        if level is not None:
            return check_level(level)
        own = self._cell(cell).level
        return self.levels[0] if own is None else own

    def _rate(self, cell: str | Cell, kind: str, test: str, level: float | None) -> Rate:
        one = self._cell(cell)
        if test not in self.tests:
            raise InputError(f"There is no test {test!r} in this study. It has {', '.join(self.tests)}.")
        if (one.name, kind, test) not in self.pvalues:
            what = "size" if kind == "null" else "power"
            raise InputError(f"The {what} of {test!r} in the cell {one.name!r} was not measured.")
        count = rejections(self.pvalues[one.name, kind, test], self.level(one, level))
        return Rate.of(count, self.trials)

    def _cell(self, cell: str | Cell) -> Cell:
        name = cell.name if isinstance(cell, Cell) else cell
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
        # Replaced in one step, so that the file is never half written.
        part = Path(f"{os.fspath(path)}.part")
        part.write_text(content, encoding="utf-8", newline="")
        part.replace(path)
    return content
