"""What was measured: a row of a CSV file for each law of the data and each test."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kstest
from tables import NULL, Table, laws

from goodstein.power import PowerStudy
from goodstein.power.rates import rejections, size_mark

LEVELS = (0.01, 0.05, 0.10)
BOUND = "Neyman–Pearson bound"
"""The name of the likelihood-ratio test, which knows the truth."""
FIRST = 3
"""Trials that identify the behaviour of a test."""

Key = tuple[str, str, str]
"""Table, law and test."""


class Measured(NamedTuple):
    """The rejections of one test under one law; None is what is not known."""

    n: int
    trials: int
    at_01: float
    """Rejections at the level .01; a randomised test may reject by halves."""
    at_05: float
    at_10: float | None = None
    seconds: float | None = None
    """Median time of one test."""
    uniform: float | None = None
    """Of a size: the p-value of the Kolmogorov–Smirnov test that p-values are uniform."""
    upper: float | None = None
    """Of the bound: what it does not exceed, with the error of its threshold included."""
    fingerprint: str | None = None
    """Of the p-values of the first trials, which tell whether a test still does what it did."""

    def rejected(self, level: float) -> float:
        found = {0.01: self.at_01, 0.05: self.at_05, 0.1: self.at_10}[level]
        assert found is not None, f"rejections were not counted at the level {level}"
        return found

    def rate(self, level: float) -> float:
        return self.rejected(level) / self.trials

    def mark(self, level: float, draws: int = 999) -> str:
        """↑ or ↓ where the size is too large or too small for the level.

        That is the largest multiple of 1/(draws + 1), the step of the p-value, which is not above it.
        """
        attainable = np.floor(level * (draws + 1) + 1e-9) / (draws + 1)
        return _mark(self.rejected(level), self.trials, attainable)


_mark = lru_cache(size_mark)
Results = Mapping[Key, Measured]


def draws_of(table: Table, test: str) -> int:
    """How many draws of the null distribution are behind a p-value."""
    said = re.search(r"B=(\d+)", test)
    return int(said[1]) if said else table.draws


def from_study(table: Table, study: PowerStudy) -> dict[Key, Measured]:
    """All rates of a study."""
    found: dict[Key, Measured] = {}
    kinds = {(cell.name, kind): law for cell in study.cells for law, kind in laws(cell).items()}
    sizes = {cell.name: cell.n for cell in study.cells}
    for (cell, kind, test), p in study.pvalues.items():
        key, uniform = (table.name, kinds[cell, kind], test), None
        if kind == "null":
            step = np.random.default_rng(0).random(len(p)) / (draws_of(table, test) + 1)
            uniform = float(kstest(p - step, "uniform").pvalue)
        text = " ".join([*key, *(f"{value:.6f}" for value in p[:FIRST])])
        found[key] = Measured(
            sizes[cell],
            len(p),
            *(rejections(p, level) for level in LEVELS),
            seconds=float(np.median(study.seconds[cell, kind, test])),
            uniform=uniform,
            fingerprint=f"{zlib.crc32(text.encode()):#010x}",
        )
    for cell, bound in study.bounds.items():
        counts = (bound.power(level) * len(bound.above) for level in LEVELS)
        upper = bound.interval(table.level)[1]
        found[table.name, cell, BOUND] = Measured(sizes[cell], len(bound.above), *counts, upper=upper)
    return found


def read(path: Path, tables: Sequence[Table]) -> dict[Key, Measured]:
    """Known results of what still exists."""
    sizes = {(table.name, law): cell.n for table in tables for cell in table.cells for law in laws(cell)}
    exist = {key for table in tables for key in table.keys}
    exist |= {(*law, BOUND) for law in sizes if law[1] != NULL}
    known: dict[Key, Measured] = {}
    for table, law, test, *values in rows_of(path):
        one = Measured(*map(_value, values))
        if (table, law, test) in exist and sizes[table, law] == one.n:
            known[table, law, test] = one
    return known


def rows_of(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def write(path: Path, tables: Iterable[Table], known: Results) -> None:
    """All that is known, in the order of the tables; replaced in one step."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", "law", "test", *Measured._fields])
        for table in tables:
            bounds = [(table.name, cell.name, BOUND) for cell in table.cells]
            rows = [key for key in [*table.keys, *bounds] if key in known]
            writer.writerows([*key, *map(_text, known[key])] for key in rows)
    part.replace(path)


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(text: str) -> Any:
    if text.startswith("0x") or not text:
        return text or None
    return float(text) if "." in text or "e" in text else int(text)
