"""The rows that something was chosen on or fitted to, remembered so that they are known again."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from goodstein.data.base import Data
from goodstein.errors import InputError, describe_rows
from goodstein.lazy import cached_property
from goodstein.types import Array, BoolArray

CHANCE = 1e-6
"""Coincidences that independent data would show with less than this probability are none."""

FEW = 12
"""Number of states, in effect, below which nobody can tell which rows were seen before."""

DECIMALS = 6
"""Numbers with at most so many decimals count as rounded."""

PREDICTED = 8
"""Decimals of predictions that two ways to calculate them agree in."""


EPSILON = float(np.finfo(np.float64).eps)


class SeenRows:
    """Rows that something was chosen on or fitted to, points or another kind, by which they are known again.

    Whatever is tuned on some rows fits their noise too, and a test on them does not keep its level. A row of
    the data that equals one of these, bit by bit, is taken for the same observation.

    Equal rows are natural, though, where data are discrete or rounded: where these rows or the data repeat
    rows of their own, or where those that coincide have at most six decimals. Then data are recognised if
    they are more like these rows than independent data with as many repetitions would be. With a_v and b_v
    the numbers of times that a value v occurs among m rows and n data, Σ(a_v/m − b_v/n)² is about
    (1/m + 1/n)(1 − r)·χ²_ν/ν for independent data, r the share of pairs within either that are equal and
    ν = 1/r; recognised is what falls short of the quantile at 10⁻⁶. Recognised are also these rows, and the
    `whole` data that they are a part of, in any order, since a fit does not see the order, unless there are
    so few that chance makes the same rows again. So a few rows used twice can go unnoticed among rounded
    data, and where there are few states even many. Rows that were changed in between, if only by a unit, are
    not recognised; single precision is no change.
    """

    def __init__(self, data: Any, *, discrete: bool = False, whole: Any = None) -> None:
        self.values = as_rows(data)
        self.ended = data.ended if isinstance(data, Data) else None
        self.late = isinstance(data, Data) and data.late
        self._whole = None if whole is None else _digest(as_rows(whole))
        self._discrete = discrete

    def __len__(self) -> int:
        return len(self.values)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_counts"}

    @cached_property
    def _counts(self) -> Counter[bytes]:
        return Counter(_keys(self.values))

    def among(self, data: Any) -> BoolArray:
        """Which of the data are such rows, (n,); none where chance could have made them equal."""
        rows = as_rows(data)
        nothing = np.zeros(len(rows), bool)
        if rows.shape[1] != self.values.shape[1]:
            return nothing
        keys = _keys(rows)
        known = np.fromiter((key in self._counts for key in keys), bool, len(keys))
        if not known.any():
            if _is_single(rows) == _is_single(self.values):
                return nothing
            # One of both went through single precision.
            return SeenRows(_single(self.values), discrete=self._discrete).among(_single(rows))
        counts = Counter(keys)
        tied = self._discrete or len(self._counts) < len(self) or len(counts) < len(keys)
        natural = tied or bool((np.round(rows[known], DECIMALS) == rows[known]).all())
        if natural and not (self._too_alike(counts) or self._the_same(rows, counts)):
            return nothing
        return known

    def refuse(self, data: Any, what: str) -> None:
        """Raise where the data are such rows, on which `what` was chosen."""
        known = self.among(data)
        if known.any():
            raise InputError(
                f"{describe_rows(known)} are among the {len(self)} training rows on which {what} was "
                "chosen. A test on them would not keep its level. Pass other rows.",
                argument="data",
                rows=known,
            )

    def _too_alike(self, counts: Counter[bytes]) -> bool:
        """Whether independent data would hardly ever be so much like the training rows."""
        from scipy.special import gammainc

        m, n = len(self), counts.total()
        if m == n == 1:
            return False
        both = sum(count * self._counts[key] for key, count in counts.items())
        first, second = (sum(c * c for c in part.values()) for part in (self._counts, counts))
        # One equal pair more than there are: the share is small, and known from few pairs.
        equal = (first - m + second - n + 2) / (m * (m - 1) + n * (n - 1))
        if equal > 1.0 / FEW:
            return False
        distance = first / m**2 + second / n**2 - 2.0 * both / (m * n)
        ratio = distance / ((1.0 - equal) * (1.0 / m + 1.0 / n))
        return bool(gammainc(0.5 / equal, 0.5 / equal * max(ratio, 0.0)) < CHANCE)

    def _the_same(self, rows: Array, counts: Counter[bytes]) -> bool:
        """Whether the data are these rows, or those that they are a part of, in any order."""
        if counts != self._counts and _digest(rows) != self._whole:
            return False
        if len(rows) == 1:
            # One observation of many numbers, such as a graph: how often each number occurs in it.
            often = np.unique(rows, return_counts=True)[1]
            return bool(often @ np.log(often / rows.size) < np.log(CHANCE))
        seen = np.array([self._counts[key] for key in counts], np.float64)
        often = np.fromiter(counts.values(), np.float64, len(counts))
        return bool(often @ np.log(np.maximum(seen, 0.5) / len(self)) < np.log(CHANCE))


class SeenPredictions(SeenRows):
    """Rows of a regression that are also known by what it predicts for them, (n,), up to so many digits.

    Where outcomes are tied, as durations in weeks are, a part of the rows is not known again by these alone.
    `predict` is a function of data that returns the predictions; these are numbers of the size of one.
    """

    def __init__(self, data: Any, predicted: Array, predict: Callable[[Any], Array]) -> None:
        super().__init__(data)
        self._predict = predict
        self._both = SeenRows(_beside(self.values, predicted))

    def among(self, data: Any) -> BoolArray:
        known = super().among(data)
        if known.any() or as_rows(data).shape[1] != self.values.shape[1]:
            return known
        known = self._both.among(_beside(as_rows(data), self._predict(data)))
        ended = data.ended if isinstance(data, Data) else None
        if ended is None or not ended.any() or known[ended].mean() >= 0.5 * known.mean():
            return known
        # Others with the same covariates, who were all watched up to the same day.
        return np.zeros(len(known), bool)


def _beside(rows: Array, predicted: Array) -> Array:
    """Rows with what is predicted for them; two ways to calculate that differ by less than a digit here."""
    return np.column_stack([rows, np.round(predicted, PREDICTED)])


class SeenTimes:
    """What is left of durations in an estimator that keeps the times at which some ended, each once.

    Data are recognised, all of them, if they end at these times and no others, unless others would too: with
    b of them at a time, that is met again by other data with the probability 1 − e^{−b}.
    Where durations are neither rounded nor tied, every one that equals one of the times is recognised.
    """

    def __init__(self, times: Array) -> None:
        self.times = np.unique(times)

    def __len__(self) -> int:
        return 0

    def among(self, data: Any) -> BoolArray:
        """Which of the data are such durations, (n,)."""
        t = as_rows(data)[:, 0]
        known = np.isin(t, self.times)
        if not known.any():
            return known
        different, often = np.unique(t, return_counts=True)
        tied, rounded = len(different) < len(t), np.round(t, DECIMALS) == t
        if not tied and not rounded[known].all():
            return known
        same = np.array_equal(different, self.times)
        return known & (same and np.log(-np.expm1(-often)).sum() < np.log(CHANCE))


class SeenMoments:
    """What is left of rows in a fit that keeps their mean and variances, (d,) both; None where it does not.

    Data are recognised, all of them, if their own mean and variances are the same up to rounding, of single
    operations by `epsilon`, and those of independent data would be with probability below 10⁻⁶ only: data
    with steps of δ have sums with steps of δ and δ². A part of the rows is not recognised.
    """

    def __init__(self, mean: Array, variances: Array | None = None, epsilon: float = EPSILON) -> None:
        self.mean, self.variances, self.epsilon = mean, variances, epsilon

    def __len__(self) -> int:
        return 0

    def among(self, data: Any) -> BoolArray:
        """Which of the data are the rows, (n,): all or none."""
        x = as_rows(data)
        n = len(x)
        nothing = np.zeros(n, bool)
        if x.shape[1] != len(self.mean) or not (width := np.ptp(x, axis=0)).all():
            return nothing
        rounding = self.epsilon * (100.0 + 10.0 * math.sqrt(n))
        with np.errstate(over="ignore"):
            mean = x.mean(axis=0)
            # The spread, which takes longer, is at most the width.
            if (np.abs(self.mean - mean) > rounding * (width + np.abs(mean))).any():
                return nothing
            spread = x.std(axis=0)
        if not np.isfinite(spread).all():  # squares of such numbers are no floats
            return nothing
        away = np.abs(mean) / spread
        gaps = [(np.abs(self.mean - mean) / spread, 1.0 + away)]
        if self.variances is not None:
            gaps.append((np.abs(self.variances / spread**2 - 1.0), 1.0 + away**2))
        if any((gap > rounding * loss).any() for gap, loss in gaps):
            return nothing
        chance, step = 1.0, _steps(x) / spread
        for power, (_, loss) in enumerate(gaps, start=1):
            # Differences of means, and of variances of normal data, have errors of √(2/n) and √(4/n).
            share = np.maximum(rounding * loss, step**power / n) / math.sqrt(math.pi / n)
            chance *= float(np.minimum(share, 1.0).prod())
        return nothing | (chance < CHANCE)


def _steps(x: Array) -> Array:
    """Of what size the steps of each column are, (d,); zero where it is not rounded."""
    decimals = np.arange(DECIMALS, -1, -1)
    rounded = np.array([(np.round(x, k) == x).all(axis=0) for k in decimals])
    return np.where(rounded[0], 10.0 ** -(decimals[rounded.sum(axis=0) - 1]), 0.0)


def as_rows(data: Any) -> Array:
    """Observations as an array (n, d) of their own: points, or what tells data of another kind apart."""
    rows = np.asarray(data if isinstance(data, np.ndarray) else data.as_rows())
    # −0 counts as 0.
    return np.ascontiguousarray(rows, np.float64) + 0.0


def _keys(rows: Array) -> list[bytes]:
    """Each row's bits."""
    raw, width = rows.tobytes(), rows.shape[1] * rows.itemsize
    return [raw[start : start + width] for start in range(0, len(raw), width)]


def _single(rows: Array) -> Array:
    """Rows as single precision leaves them."""
    with np.errstate(over="ignore"):
        return rows.astype(np.float32).astype(np.float64)


def _is_single(rows: Array) -> bool:
    return bool(np.array_equal(_single(rows), rows))


def _digest(rows: Array) -> bytes:
    """The same for rows in another order."""
    return hashlib.blake2b(b"".join(sorted(_keys(rows))), digest_size=16).digest()
