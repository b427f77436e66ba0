"""What a null method is, and the one place where a p-value is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from goodstein.engine.executors import Workers
from goodstein.errors import ScoreError
from goodstein.problems.problem import Problem
from goodstein.types import Array


def rounding(draws: Array) -> float:
    """How far draws may be apart that differ by rounding only: 1e-5 of their root mean square."""
    scale = float(np.abs(draws).max()) or 1.0
    return 1e-5 * scale * float(np.sqrt(np.mean((draws / scale) ** 2)))


@dataclass(frozen=True)
class Calibration:
    """The statistic and draws of it under the null."""

    statistic: float
    draws: Array

    def __post_init__(self) -> None:
        _require_finite(self.statistic, self.draws)

    @property
    def pvalue(self) -> float:
        """(1 + #{draws ≥ statistic}) / (1 + #draws), which is never zero.

        Draws that fall short of the statistic by rounding only count as ties, so that the result
        does not depend on the order of summation: products with signs are taken in single
        precision, which moves a draw by about 1e-6 of their spread.
        """
        exceed = int(np.count_nonzero(self.draws >= self.statistic - rounding(self.draws)))
        return (1 + exceed) / (1 + len(self.draws))


@dataclass(frozen=True)
class JointCalibration:
    """Statistics of several tests of the same data, (tests,), and joint draws of them, (tests, draws)."""

    statistics: Array
    draws: Array

    def __post_init__(self) -> None:
        _require_finite(self.statistics, self.draws)

    def __getitem__(self, k: int) -> Calibration:
        """The test by itself."""
        return Calibration(float(self.statistics[k]), self.draws[k])


def _require_finite(statistic: float | Array, draws: Array) -> None:
    if not (np.isfinite(statistic).all() and np.isfinite(draws).all()):
        # A NaN exceeds no draw and would pass for the smallest p-value there is.
        raise ScoreError(
            "The statistic or its null distribution is not finite, because the score or the operator's "
            "weight is too large to be squared. Check the score, or rescale the data and the model."
        )


class Null(Protocol):
    """What the library asks of a null method; any object with this method can be passed as `null`.

    One that can draw the statistics of several tests jointly also has
    ``calibrate_jointly(collection, *, workers, rng) -> JointCalibration``, which
    :func:`goodstein.aggregated_test` needs; ``simulates = True`` says that it simulates the model, so that
    warnings about asymptotic approximations do not concern it.
    """

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        """The statistic of the problem and draws of it under the null."""
        ...


def draw_seed(rng: np.random.Generator) -> int:
    """One 63-bit seed, from which everything random in a null method follows."""
    return int(rng.integers(0, 1 << 63))
