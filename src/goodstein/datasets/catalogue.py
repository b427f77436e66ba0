"""What is known of each table that ships: one entry, from which its documentation and its reader come."""

from __future__ import annotations

import csv
import difflib
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.types import Array

Loader = TypeVar("Loader", bound=Callable[[], Any])

_CARRIED: dict[str, Dataset] = {}


@dataclass(frozen=True)
class Dataset:
    """What is known of a table: its columns, where it lives, who measured it, and where it was taken from.

    Attributes
    ----------
    name, title
        How it is called here, and what it is, in one sentence.
    columns
        What each column of the published table means, with its unit.
    references
        Who published it; the first is the one to cite.
    source
        The package from which the numbers were taken, unaltered, and its licence. Measurements that have been
        published are facts; the packages' terms are named for those whom they concern.
    """

    name: str
    title: str
    columns: Mapping[str, str]
    references: tuple[str, ...]
    source: str
    _load: Callable[[], Any]
    _domain: Callable[[], Domain] | None

    def load(self) -> Any:
        """What a test takes: the same as calling the function of this name."""
        return self._load()

    def table(self) -> dict[str, NDArray[Any]]:
        """The published table, column by column: numbers, with NaN for missing ones, or words."""
        return read(self.name)

    @property
    def domain(self) -> Domain | None:
        """Where the points may lie, such as the region of a map; None for durations."""
        return None if self._domain is None else self._domain()

    def __str__(self) -> str:
        rows = len(next(iter(self.table().values())))
        columns = [f"{name}: {meaning}" for name, meaning in self.columns.items()]
        lines = [
            f"{self.name}: {self.title}",
            "",
            f"{rows} rows",
            *columns,
            "",
            *self.references,
            self.source,
        ]
        return "\n".join(
            textwrap.fill(line, 100, initial_indent="  " if i else "", subsequent_indent="      ")
            for i, line in enumerate(lines)
        )


def carried(
    columns: Mapping[str, str],
    references: tuple[str, ...],
    source: str,
    domain: Callable[[], Domain] | None = None,
) -> Callable[[Loader], Loader]:
    """Enter a function that loads a table; its docstring gets the facts, its first line is the title."""

    def enter(load: Loader) -> Loader:
        name, text = load.__name__, load.__doc__ or ""
        title = text.partition("\n")[0].rstrip(".")
        _CARRIED[name] = Dataset(name, title, columns, references, source, load, domain)
        facts = ["Notes", "-----", f"Columns of the table, ``about({name!r}).table()``:", ""]
        facts += [f"- {column}: {meaning}" for column, meaning in columns.items()]
        facts += ["", source, "", "References", "----------"]
        facts += [f".. [{i}] {reference}" for i, reference in enumerate(references, 1)]
        load.__doc__ = f"{textwrap.dedent(f'    {text}').rstrip()}\n\n" + "\n".join(facts)
        return load

    return enter


def names() -> list[str]:
    """The tables that ship, by name."""
    return sorted(_CARRIED)


def about(name: str) -> Dataset:
    """What is known of a table: columns and units, domain, references, source and licence.

    Examples
    --------
    >>> import goodstein as gs
    >>> print(gs.datasets.about("turtles"))
    turtles: Headings of 76 turtles after they had laid their eggs
    <BLANKLINE>
      76 rows
      heading: degrees
    <BLANKLINE>
      N. I. Fisher (1993), Statistical Analysis of Circular Data, Cambridge University Press, B.3
      M. A. Stephens (1969), Techniques for directional data, Technical Report 150, Stanford University
      Taken from the R package circular 0.4-95 (GPL-2)
    >>> gs.datasets.about("redwood").domain
    Box([0, 1] x [-1, 0])
    >>> gs.datasets.about("aml").table()["x"][0]
    np.str_('Maintained')
    """
    if name not in _CARRIED:
        near = difflib.get_close_matches(name, _CARRIED, 1)
        meant = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(names())}."
        raise InputError(f"there is no table {name!r}.", argument="name", remedy=meant)
    return _CARRIED[name]


def read(name: str) -> dict[str, NDArray[Any]]:
    """The columns of a file, those of numbers as numbers."""
    from importlib.resources import files  # here, because it is slow to import

    with files(__package__).joinpath(f"{name}.csv").open(encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return {column: _cells(cells) for column, cells in zip(header, zip(*rows, strict=True), strict=True)}


def read_points(name: str) -> Array:
    """The columns x and y, (n, 2)."""
    table = read(name)
    return np.column_stack([table["x"], table["y"]])


def _cells(cells: tuple[str, ...]) -> NDArray[Any]:
    try:
        return np.array([float(cell or "nan") for cell in cells])
    except ValueError:
        return np.array(cells)
