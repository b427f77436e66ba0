"""Reports that are one table, a line for each point or observation."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.lazy import deferred
from goodstein.text import Report, Table, plain
from goodstein.types import Column

files = deferred("goodstein.engine.files")

SHOWN = 10
"""Lines of a table that are printed."""


class Tidy(Report):
    """A report with named columns of equal length.

    ``pandas.DataFrame(report.to_dict())`` and ``polars.DataFrame(report.to_dict())`` make a data frame of it.
    """

    @abstractmethod
    def columns(self) -> dict[str, Column]:
        """All columns, by name."""

    @abstractmethod
    def _order(self) -> npt.NDArray[np.intp]:
        """The lines in the order in which they are printed."""

    def __len__(self) -> int:
        return len(next(iter(self.columns().values())))

    def to_dict(self) -> dict[str, Any]:
        """A list of plain numbers and words for each column."""
        return {name: plain(values) for name, values in self.columns().items()}

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as comma-separated values, also written to a file if a path is given."""
        columns = self.to_dict()
        text: str = files.csv_text([columns, *zip(*columns.values(), strict=True)])
        if path is not None:
            files.write_whole(path, text)
        return text

    def table(self, lines: int | None = None) -> str:
        """The table as text: all of it, or its first lines."""
        return "\n".join(line[2:] for line in self._table(np.arange(len(self))[:lines]).text())

    def _table(self, lines: npt.NDArray[np.intp]) -> Table:
        columns = self.columns()
        cells = [[_cell(values[k]) for values in columns.values()] for k in lines]
        return Table(list(columns), cells)

    def _tables(self) -> Sequence[Table]:
        return [self._table(self._order()[:SHOWN])]


def beside(values: Mapping[str, Column], own: Mapping[str, Column]) -> dict[str, Column]:
    """Columns of data and columns of a report, which keep their names where both have the same."""
    return {f"{name} (data)" if name in own else name: column for name, column in values.items()} | {**own}


def _cell(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
