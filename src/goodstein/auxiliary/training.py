"""The rows that something was chosen on, remembered so that a test on them can be refused."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import numpy as np

from goodstein.errors import InputError, describe_rows
from goodstein.types import Array

CHANCE = 1e-6
"""Coincidences that independent data would show with less than this probability are none."""

FEW = 12
"""Number of states, in effect, below which nobody can tell which rows were seen before."""

DECIMALS = 6
"""Numbers with at most so many decimals count as rounded."""


class TrainingRows:
    """Rows of training data, points or another kind, and the refusal to be evaluated on them again.

    Whatever is tuned on some rows fits their noise too, and a test on them would reject true models. A row
    of the data that equals a training row, bit by bit, is taken for the same observation, and one is enough
    to refuse the data.

    Equal rows are natural, though, where data are discrete or rounded: where training rows or data repeat
    rows of their own, or where those that coincide have at most six decimals. Then data are refused if they
    are more like the training rows than independent data with as many repetitions would be. With a_v and b_v
    the numbers of times that a value v occurs among m training rows and n data, Σ(a_v/m − b_v/n)² is about
    (1/m + 1/n)(1 − r)·χ²_ν/ν for independent data, r the share of pairs within either that are equal and
    ν = 1/r; refused is what falls short of the quantile at 10⁻⁶. Refused are also the training rows, or
    the `whole` data that they are a part of, in their order, unless chance could have made that too. So a few
    rows used twice can go unnoticed among rounded data, and where there are few states even many. Rows that
    were changed in between, if only by a unit, are not recognised.
    """

    def __init__(self, data: Any, *, discrete: bool = False, whole: Any = None) -> None:
        self._counts = Counter(_keys(data))
        self._sequences = {_digest(part) for part in (data, whole) if part is not None}
        self._discrete = discrete
        self.n = len(data)

    def __len__(self) -> int:
        return self.n

    def refuse(self, data: Any, what: str) -> None:
        """Raise where the data are training rows, on which `what` was chosen."""
        keys = _keys(data)
        known = np.fromiter((key in self._counts for key in keys), bool, len(keys))
        if not known.any():
            return
        counts = Counter(keys)
        tied = self._discrete or len(self._counts) < self.n or len(counts) < len(keys)
        rows = as_rows(data)[known]
        natural = tied or bool((np.round(rows, DECIMALS) == rows).all())
        if natural and not (self._too_alike(counts) or self._the_same(data, counts)):
            return
        raise InputError(
            f"{describe_rows(known)} are among the {self.n} training rows on which {what} was "
            "chosen. A test on them would not keep its level. Pass other rows.",
            argument="data",
            rows=known,
        )

    def _too_alike(self, counts: Counter[bytes]) -> bool:
        """Whether independent data would hardly ever be so much like the training rows."""
        from scipy.special import gammainc

        m, n = self.n, counts.total()
        both = sum(count * self._counts[key] for key, count in counts.items())
        first, second = (sum(c * c for c in part.values()) for part in (self._counts, counts))
        # One equal pair more than there are: the share is small, and known from few pairs.
        equal = (first - m + second - n + 2) / (m * (m - 1) + n * (n - 1))
        if equal > 1.0 / FEW:
            return False
        distance = first / m**2 + second / n**2 - 2.0 * both / (m * n)
        ratio = distance / ((1.0 - equal) * (1.0 / m + 1.0 / n))
        return bool(gammainc(0.5 / equal, 0.5 / equal * max(ratio, 0.0)) < CHANCE)

    def _the_same(self, data: Any, counts: Counter[bytes]) -> bool:
        """Whether the data are these rows, or those that they are a part of, in the same order."""
        if _digest(data) not in self._sequences:
            return False
        seen = np.array([self._counts[key] for key in counts], np.float64)
        often = np.fromiter(counts.values(), np.float64, len(counts))
        return bool(often @ np.log(np.maximum(seen, 0.5) / self.n) < np.log(CHANCE))


def as_rows(data: Any) -> Array:
    """Observations as an array (n, d): points themselves, or what tells data of another kind apart."""
    if isinstance(data, np.ndarray):
        return data
    return np.asarray(data.as_rows())


def _keys(data: Any) -> list[bytes]:
    """Each row's bits; −0 counts as 0."""
    rows = np.ascontiguousarray(as_rows(data), np.float64) + 0.0
    raw, width = rows.tobytes(), rows.shape[1] * rows.itemsize
    return [raw[start : start + width] for start in range(0, len(raw), width)]


def _digest(data: Any) -> bytes:
    return hashlib.blake2b(b"".join(_keys(data)), digest_size=16).digest()
