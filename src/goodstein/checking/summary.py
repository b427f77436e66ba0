"""Data in a few numbers: never the observations themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from goodstein.data.base import Data
from goodstein.text import Report, Table, plain
from goodstein.types import Column

MOST = 20
"""Columns that are summarised."""

HEAD = ("column", "mean", "sd", "min", "median", "max")


@dataclass(frozen=True)
class ColumnSummary:
    """Five numbers of one column; of truth values the mean is the share of those that are true."""

    name: str
    mean: float
    deviation: float
    smallest: float
    median: float
    largest: float

    @classmethod
    def of(cls, name: str, values: Column) -> ColumnSummary:
        """From the column itself."""
        x = np.asarray(values, dtype=float)
        numbers = (x.mean(), x.std(ddof=1) if len(x) > 1 else 0.0, x.min(), np.median(x), x.max())
        return cls(name, *(float(number) for number in numbers))

    def line(self) -> Sequence[str]:
        """A line of a table."""
        numbers = (self.mean, self.deviation, self.smallest, self.median, self.largest)
        return (self.name, *(f"{number:.4g}" for number in numbers))


@dataclass(frozen=True)
class DataSummary(Report):
    """What the data are: how many, of what kind, and numbers of each column.

    Attributes
    ----------
    words
        The data in words.
    n
        Number of observations.
    names
        Names of the columns, where they came with some.
    columns
        Numbers of the first columns.
    more
        How many further columns there are.
    """

    words: str
    n: int
    names: tuple[str, ...] | None
    columns: tuple[ColumnSummary, ...]
    more: int = 0

    @classmethod
    def of(cls, data: Data, domain: Any) -> DataSummary:
        """From the observations themselves, and where they live."""
        where = f", {data.kind}" if domain is None else f" on {domain!r}"
        words = data.describe() or f"{len(data)} observations{where}"
        columns = list(data.as_columns().items())
        found = tuple(ColumnSummary.of(name, values) for name, values in columns[:MOST])
        return cls(words, len(data), data.names, found, max(len(columns) - MOST, 0))

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "columns": [plain(asdict(column)) for column in self.columns]}

    def _title(self) -> str:
        return self.words

    def _tables(self) -> list[Table]:
        return [Table(HEAD, [column.line() for column in self.columns])] if self.columns else []

    def _notes(self) -> list[str]:
        return [f"{self.more} further columns are not shown."] if self.more else []
