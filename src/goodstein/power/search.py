"""The search for a number of observations: the power at some n, and where it crosses the wanted one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.errors import CalibrationWarning, InputError, quiet
from goodstein.power.cell import Cell
from goodstein.power.laws import name_of
from goodstein.power.neyman_pearson import RatioTest
from goodstein.power.rates import ROUNDING, Rate, rejections, wilson
from goodstein.power.runner import Runner
from goodstein.power.trials import CHUNK, Test, failed, pvalue_of
from goodstein.types import Array

WINDOW = 1.0
"""How far from the wanted power, as normal quantiles, the power at an n may be that helps to fit."""
CONFIDENCE = 0.95


def bracket(
    power: Callable[[int], float], start: int, low: int, high: int, wanted: float, close: float
) -> tuple[int | None, int | None]:
    """Two n with too little and enough power, at most a factor `close` or one observation apart.

    The first is None where already `low` is enough, the second where `high` is not.
    """
    below: int | None = None
    above: int | None = None
    n = start
    while below is None or above is None:
        if power(n) >= wanted:
            above = n
            if n == low:
                return None, above
            n = max(low, n // 2)
        else:
            below = n
            if n == high:
                return below, None
            n = min(high, 2 * n)
    while above - below > 1 and above > close * below:
        n = min(max(round(math.sqrt(below * above)), below + 1), above - 1)
        if power(n) >= wanted:
            above = n
        else:
            below = n
    return below, above


def crossing(n: npt.NDArray[np.int64], rejected: Array, wanted: float) -> tuple[int, tuple[int, int]] | None:
    """Where Φ⁻¹(power) = a + b√n, fitted to trials, crosses the wanted power, and a confidence interval.

    `rejected` is 1 or 0 for each trial at each n, (trials, k), NaN where it was not run. A row shares its
    random numbers, so the covariance is that of sums over rows. None where the curve cannot be fitted or
    does not rise for certain.
    """
    from scipy.special import ndtri

    target = float(ndtri(wanted))
    count = (~np.isnan(rejected)).sum(axis=0)
    hits = np.nansum(rejected, axis=0)
    near = np.abs(ndtri((hits + 0.5) / (count + 1)) - target) <= WINDOW
    if near.sum() < 2 or len(np.unique(hits[near] / count[near])) < 2:
        return None
    x = np.sqrt(n[near].astype(np.float64))
    fitted = _probit(x, rejected[:, near])
    if fitted is None:
        return None
    (a, b), v = fitted
    z2 = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) ** 2
    # Fieller: all x with (a + bx − t)² ≤ z²·Var(a + bx).
    square = b**2 - z2 * v[1, 1]
    cross = (a - target) * b - z2 * v[0, 1]
    constant = (a - target) ** 2 - z2 * v[0, 0]
    disc = cross**2 - square * constant
    if b <= 0 or square <= 0 or disc < 0:
        return None
    ends = [(-cross + sign * math.sqrt(disc)) / square for sign in (-1, 1)]
    root = (target - a) / b
    if root <= 0:
        return None
    low, middle, high = (math.ceil(max(end, 0.0) ** 2 - 1e-9) for end in (ends[0], root, ends[1]))
    return max(middle, 1), (max(low, 1), max(high, 1))


def _probit(x: Array, rejected: Array) -> tuple[Array, Array] | None:
    """Maximum likelihood estimate of (a, b), and its covariance with rows as clusters."""
    from scipy.special import ndtr, ndtri

    design = np.column_stack([np.ones_like(x), x])
    seen = ~np.isnan(rejected)
    count, hits = seen.sum(axis=0), np.nansum(rejected, axis=0)
    eta = ndtri((hits + 0.5) / (count + 1))
    beta = np.zeros(2)
    for _ in range(50):
        mean = np.clip(ndtr(eta), 1e-12, 1 - 1e-12)
        slope = np.exp(-0.5 * eta**2) / math.sqrt(2 * math.pi)
        weight = count * slope**2 / (mean * (1 - mean))
        working = eta + (hits / count - mean) / slope
        information = design.T @ (weight[:, None] * design)
        new = np.linalg.solve(information, design.T @ (weight * working))
        moved = float(np.abs(new - beta).max())
        beta, eta = new, design @ new
        if not np.isfinite(eta).all() or np.abs(eta).max() > 8:
            return None
        if moved < 1e-10:
            break
    mean = ndtr(eta)
    slope = np.exp(-0.5 * eta**2) / math.sqrt(2 * math.pi)
    residual = np.where(seen, rejected - mean, 0.0) * slope / (mean * (1 - mean))
    scores = residual @ design
    inverse = np.linalg.inv(information)
    return beta, inverse @ (scores.T @ scores) @ inverse


PValues = Callable[[int, range], list[float]]
"""p-values of some trials at n, in their order."""
START = 60
"""Trials after which a number of observations that is far off is given up."""
SURE = 0.999
CLOSE = 1.1
"""Ratio of too many to too few observations at which the search ends and the curve takes over."""
NUMBERS = 4e7
"""That may be drawn for one value of the Neyman–Pearson bound."""


@dataclass(frozen=True)
class Planned:
    """What workers need."""

    cell: Cell
    test: Test
    seed: int

    def pvalues(self, n: int, numbers: range) -> list[float]:
        """p-values of some trials, each with the same random numbers for all n."""
        law = self.cell.alternative_law
        assert law is not None
        found = []
        for k in numbers:
            try:
                data = law(n, np.random.default_rng([self.seed, k, 0]))
                rng = np.random.default_rng([self.seed, k, 1])
                with quiet(CalibrationWarning):  # which the rates are about
                    found.append(pvalue_of(self.test(data, self.cell.model, rng=rng)))
            except Exception as error:
                raise failed(f"{name_of(self.test)} at n = {n}, trial {k}", error) from error
        return found


def pvalues_at(runner: Runner, todo: Callable[..., Any], n: int, numbers: range) -> list[float]:
    """p-values of some trials at n, in their order."""
    tasks = [("pvalues", n, numbers[start : start + CHUNK]) for start in range(0, len(numbers), CHUNK)]
    return [pvalue for part in runner.all(todo, tasks) for pvalue in part]


class PowerCurve:
    """The power at the n that were tried."""

    def __init__(self, run: PValues, power: float, level: float, trials: int) -> None:
        self._run, self._power, self._level, self._trials = run, power, level, trials
        self._pvalues: dict[int, list[float]] = {}

    def rate(self, n: int) -> float:
        """The power at n, from as many trials as it takes to see on which side of the wanted one it is."""
        known = self._pvalues.setdefault(n, [])
        aim = START
        while len(known) < self._trials:
            known += self._run(n, range(len(known), min(aim, self._trials)))
            rate = rejections(known, self._level) / len(known)
            low, high = wilson(rate, len(known), SURE)
            if not low <= self._power <= high:
                break
            aim *= 2
        return rejections(known, self._level) / len(known)

    def solved(self, below: int, above: int, low: int, high: int) -> tuple[int, tuple[int, int]]:
        """n and its interval, from too few and enough observations, and once more from there."""
        found = self._crossing()
        for _ in range(2):
            if found is None or found[0] in self._pvalues or not low <= found[0] <= high:
                break
            self.rate(found[0])
            found = self._crossing()
        if found is None:
            return self._jump(below, above)
        n = min(max(found[0], low), high)
        return n, (min(found[1][0], n), max(found[1][1], n))

    def _crossing(self) -> tuple[int, tuple[int, int]] | None:
        tried = sorted(self._pvalues)
        rejected = np.full((self._trials, len(tried)), np.nan)
        for j, n in enumerate(tried):
            values = np.array(self._pvalues[n])
            rejected[: len(values), j] = values <= self._level + ROUNDING
        return crossing(np.array(tried), rejected, self._power)

    def _jump(self, below: int, above: int) -> tuple[int, tuple[int, int]]:
        """The same without a smooth curve, where the power jumps between neighbouring n."""
        _, n = bracket(self.rate, below, below, above, self._power, 1.0)
        assert n is not None
        points = dict(self.points())
        too_few = [m for m, rate in points.items() if rate.interval[1] < self._power]
        enough = [m for m, rate in points.items() if rate.interval[0] > self._power]
        return n, (min(max(too_few, default=0) + 1, n), max(min(enough, default=above), n))

    def points(self) -> tuple[tuple[int, Rate], ...]:
        """The power at every n, in the order in which they were tried."""
        return tuple(
            (n, Rate.of(rejections(values, self._level), len(values))) for n, values in self._pvalues.items()
        )


def least(cell: Cell, power: float, level: float, high: int, seed: int) -> int:
    """The n of the most powerful test; raises where even that is more than `high`."""
    pair = cell.pair
    assert pair is not None
    known: dict[int, float] = {}

    def bound(n: int) -> float:
        if n not in known:
            draws = NUMBERS / (n * pair.null.width) if pair.log_ratio is None else 5000
            m = int(np.clip(0.8 * draws, max(2000, 50 / level), 20_000))
            here, rngs = replace(pair, n=n), [np.random.default_rng([seed, i]) for i in range(2)]
            under_null = here.ratios("null", m, rngs[0])
            known[n] = RatioTest.of(under_null, here.ratios("alternative", m // 4, rngs[1])).power(level)
        return known[n]

    below, above = bracket(bound, min(cell.n, high), 1, high, power, 1.02)
    if above is None:
        raise InputError(
            f"even the most powerful test of all has only power {bound(high):.3f} at n = {high}, level "
            f"{level:g}; {power:g} is wanted. No test can do it: raise the upper bound or ask for less.",
            argument="bounds",
        )
    if below is None or above - below == 1:
        return above
    # Between the two the curve is a line on its own scale.
    from scipy.special import ndtri

    ends = ndtri(np.clip([bound(below), bound(above)], 1e-9, 1 - 1e-9))
    share = (ndtri(power) - ends[0]) / (ends[1] - ends[0])
    root = math.sqrt(below) + share * (math.sqrt(above) - math.sqrt(below))
    return int(min(above, max(below + 1, math.ceil(root**2 - 1e-9))))
