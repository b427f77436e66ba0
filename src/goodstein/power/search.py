"""The search for a number of observations: the power at some n, and where it crosses the wanted one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.power.cell import Cell
from goodstein.power.curve import bracket, crossing
from goodstein.power.laws import name_of
from goodstein.power.rates import ROUNDING, Rate, rejections, wilson
from goodstein.power.ratio import Pair, RatioTest
from goodstein.power.runner import Runner
from goodstein.power.trials import pvalue_of
from goodstein.power.work import CHUNK, Test
from goodstein.types import Array

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
                found.append(pvalue_of(self.test(data, self.cell.null, rng=rng)))
            except Exception as error:
                raise RuntimeError(
                    f"{name_of(self.test)} at n = {n}, trial {k}: {type(error).__name__}: {error}"
                ) from error
        return found


def pvalues_at(runner: Runner, todo: Callable[..., Any], n: int, numbers: range) -> list[float]:
    """p-values of some trials at n, in their order."""
    tasks = [
        ("pvalues", n, range(start, min(start + CHUNK, numbers.stop)))
        for start in range(numbers.start, numbers.stop, CHUNK)
    ]
    return [pvalue for part in runner.all(todo, tasks) for pvalue in part]


class PowerCurve:
    """The power at the n that were tried."""

    def __init__(
        self, run: Callable[[int, range], list[float]], power: float, level: float, trials: int
    ) -> None:
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
            ratios: list[Array] = [
                Pair(pair.null, pair.alternative, n, pair.log_ratio).ratios(
                    which, count, np.random.default_rng([seed, i])
                )
                for i, (which, count) in enumerate((("null", m), ("alternative", m // 4)))
            ]
            known[n] = RatioTest.of(*ratios).power(level)
        return known[n]

    below, above = bracket(bound, min(cell.n, high), 1, high, power, 1.02)
    if above is None:
        raise InputError(
            f"`bounds`: even the most powerful test of all has only power {bound(high):.3f} at n = {high}, "
            f"level {level:g}; {power:g} is wanted. No test can do it: raise the upper bound or ask for less."
        )
    if below is None or above - below == 1:
        return above
    # Between the two the curve is a line on its own scale.
    from scipy.special import ndtri

    ends = ndtri(np.clip([bound(below), bound(above)], 1e-9, 1 - 1e-9))
    share = (ndtri(power) - ends[0]) / (ends[1] - ends[0])
    root = math.sqrt(below) + share * (math.sqrt(above) - math.sqrt(below))
    return int(min(above, max(below + 1, math.ceil(root**2 - 1e-9))))
