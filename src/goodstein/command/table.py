"""A table as it was read from a file: columns of numbers, with what is missing and what is no number."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.command.escaping import quoted
from goodstein.command.strings import nearest
from goodstein.errors import InputError
from goodstein.types import Array

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", ".", "?", "-", "nil", "missing"})
"""Cells, in small letters, that say that there is no value."""

SHOWN = 3
"""Cells that are named in a message."""


@dataclass(frozen=True)
class Wanted:
    """Which columns are asked for by name, which of them may hold words, and how many rows; None: all."""

    columns: tuple[str, ...] | None = None
    words: frozenset[str] = frozenset()
    rows: int | None = None


@dataclass
class Column:
    """One column: numbers, NaN where there is none; and, if asked for, the words themselves."""

    values: Array
    words: list[str] | None = None
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Number of the row and content of the first cells that are no numbers."""
    bad_count: int = 0


@dataclass
class Table:
    """Columns by name; `named` tells whether the names came with the data.

    `lines` are the numbers of the lines on which the rows stand in the file, where there are such.
    """

    source: str
    columns: dict[str, Column]
    named: bool = True
    lines: npt.NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).values) if self.columns else 0

    def where(self, row: int) -> str:
        """How a person finds a row."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"


def choose(names: Sequence[str], wanted: Wanted, source: str) -> list[int]:
    """Which columns of a file were asked for, in that order; a name that is not there is refused."""
    places, times = {name: place for place, name in enumerate(names)}, Counter(names)
    asked = list(names) if wanted.columns is None else list(wanted.columns)
    for name in asked:
        if name not in places:
            raise InputError(f"{source} has no column {quoted(name)}.", remedy=nearest(name, names))
        if times[name] > 1:
            raise InputError(f"{source} has two columns {quoted(name)}.", remedy="Rename one of them.")
    return [places[name] for name in asked]


def split_names(text: str) -> tuple[str, ...]:
    """Names between commas; one that holds a comma stands in quotation marks.

    >>> from goodstein.command.table import split_names
    >>> split_names('a, b,"c, d"')
    ('a', 'b', 'c, d')
    """
    names = next(csv.reader([text], skipinitialspace=True), [])
    found = tuple(name.strip() for name in names)
    if not found or not all(found):
        raise InputError(f"--columns: {quoted(text)} holds an empty name.", remedy="Write --columns a,b,c.")
    if len(set(found)) < len(found):
        raise InputError(f"--columns: {quoted(text)} names a column twice.")
    return found


def as_numbers(cells: Iterable[Any], first_row: int, column: Column) -> list[float]:
    """Cells as numbers; NaN where they are missing, or are no numbers, which the column notes."""
    found = []
    for row, cell in enumerate(cells, first_row):
        if isinstance(cell, bool):
            number = None
        elif isinstance(cell, int | float):
            number = float(cell) if abs(cell) < 1e308 or isinstance(cell, float) else None
        elif cell is None or (isinstance(cell, str) and cell.strip().casefold() in MISSING):
            number = np.nan
        else:
            number = _parsed(cell) if isinstance(cell, str) else None
        if number is None:
            column.bad_count += 1
            if len(column.bad) < SHOWN:
                column.bad.append((row, str(cell)[:200]))
            number = np.nan
        found.append(number)
    return found


def _parsed(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def as_word(cell: Any) -> str:
    """A cell as a word, as one would write it."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell).strip()


def _numeric(table: Table) -> str:
    """The option that names the columns of a table that hold numbers alone."""
    found = [name for name, column in table.columns.items() if not column.bad_count and "," not in name]
    listed = ",".join(found)
    return f"--columns {quoted(listed, 60) if found and len(listed) <= 60 else 'a,b'}"


def refuse_text(table: Table, names: Iterable[str]) -> None:
    """Raise for the first column in which some cells are no numbers, and name these."""
    for name in names:
        column = table.columns[name]
        if not column.bad_count:
            continue
        cells = ", ".join(f"{quoted(cell, 20)} in {table.where(row)}" for row, cell in column.bad)
        more = f" and {column.bad_count - len(column.bad)} more" if column.bad_count > len(column.bad) else ""
        comma = all(_parsed(cell.replace(",", ".", 1)) is not None for _, cell in column.bad)
        if comma:
            remedy = "Write decimal points instead of commas."
        elif column.bad_count == len(table):
            remedy = f"Name the columns of numbers: {_numeric(table)}."
        else:
            remedy = f"Correct these cells, or name other columns: {_numeric(table)}."
        raise InputError(
            f"{table.source}: column {quoted(name)} holds text where numbers are needed: {cells}{more}.",
            remedy=remedy,
        )
