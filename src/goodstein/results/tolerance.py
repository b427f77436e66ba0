r"""How many of the observations the model cannot explain, and tests that tolerate some of them.

With μ the mean feature under P and μ̂ that of the data, ‖μ̂‖ = √V ≤ ‖μ̂ − μ‖ + KSD, and the wild bootstrap
draws ‖μ̂ − μ‖², somewhat too large where μ is not zero. So KSD ≥ √V − √q with q its 95 % quantile, and as a
share ε of wrong observations makes a KSD of ε·B at most (:mod:`goodstein.results.bound`), the share is at
least (√V − √q)/B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.nulls.base import Calibration
from goodstein.problems.problem import Problem
from goodstein.text import Report, Table, readable, short
from goodstein.types import Array


@dataclass(frozen=True)
class Tolerance(Report):
    """A lower confidence bound of the share of observations that the model cannot explain.

    Attributes
    ----------
    share
        At least so large a part of the population must be exchanged before the model can be true.
    level
        The level of confidence.
    ksd, noise
        √V, and what the model alone makes of it, the quantile √q of its null distribution.
    largest
        B, the largest discrepancy that one observation can have.
    n, operator, kernel
        The number of observations, and what was used: another operator than that of the test where under that
        one a single observation may count without limit.
    """

    share: float
    level: float
    ksd: float
    noise: float
    largest: float
    n: int
    operator: Any
    kernel: Any

    def _title(self) -> str:
        confidence = f"{self.level:.0%} confidence"
        return f"The model cannot explain at least {self.share:.1%} of the population ({confidence})"

    def _tables(self) -> list[Table]:
        lines = [
            ("observations", f"{self.n}"),
            ("operator", readable(self.operator)),
            ("kernel", short(self.kernel)),
            ("KSD", f"{self.ksd:.4g}   (root of the V-statistic)"),
            ("noise", f"{self.noise:.4g}   (of a true model, {self.level:.0%} quantile)"),
            ("largest KSD", f"{self.largest:.4g}   (of a single observation)"),
        ]
        return [Table((), lines)]


def roots(problem: Problem, calibration: Calibration) -> tuple[float, Array]:
    """√V and draws of √V*, from the U-statistic and draws of it under random signs."""
    n, trace = problem.form.n, float(problem.form.diagonal().sum())
    values = (np.append(calibration.draws, calibration.statistic) * (n * (n - 1)) + trace) / n**2
    found = np.sqrt(np.maximum(values, 0.0))
    return float(found[-1]), found[:-1]


def tolerance_of(problem: Problem, largest: float, calibration: Calibration, level: float) -> Tolerance:
    """The share that a bootstrap of a problem with bounded features leaves over."""
    ksd, draws = roots(problem, calibration)
    # The order statistic that keeps the level with finitely many draws.
    place = min(math.ceil(level * (len(draws) + 1)), len(draws)) - 1
    noise = float(np.sort(draws)[place])
    return Tolerance(
        max(ksd - noise, 0.0) / largest,
        level,
        ksd,
        noise,
        largest,
        problem.form.n,
        problem.fitted_operator.given,
        problem.fitted_kernel.given,
    )
