"""What collections are made of: operators with kernels, and what members of several kinds of data need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from goodstein.kernels import IMQ, Gaussian, Hamming, Kernel, Median
from goodstein.operators import Operator
from goodstein.problems.problem import Problem

SHAPE = (1.0, 0.5, 0.25)
"""Multiples of the median distance for Stein operators."""

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the usual bandwidth, where nothing better is known."""

RATES = (0.3, 1.0, 3.0)
"""The same for the rates of Hamming's kernel."""

COLUMNS = 25
"""So many columns have members of their own."""

WIDE = 50
"""Columns beyond which there are too many second moments for any of them to stand out."""


class Entry(NamedTuple):
    """An operator and the kernels to use with it; none is the operator's own functions."""

    operator: Operator
    kernels: Sequence[Kernel] = ()

    @property
    def size(self) -> int:
        """The number of members."""
        return max(1, len(self.kernels))


Kinds = dict[str, list[Entry]]
"""Kinds of ways to look at data, by name."""


def gaussians(*scales: float) -> list[Kernel]:
    """Gaussian kernels at multiples of the median distance."""
    return [Gaussian(Median(scale)) for scale in scales]


def multiquadrics(*scales: float) -> list[Kernel]:
    """Inverse multiquadric kernels at multiples of the median distance."""
    return [IMQ(Median(scale)) for scale in scales]


def hammings(*rates: float) -> list[Kernel]:
    """Hamming kernels."""
    return [Hamming(rate) for rate in rates]


def default_kernels(problem: Problem) -> list[Kernel]:
    """Several bandwidths of the kernel of a problem that was composed without one."""
    return problem.kernel.at_scales(SCALES, RATES)


def columns_of(problem: Problem) -> list[int | None]:
    """Covariates along which members look, one at a time, or None for all at once."""
    p = problem.observations.covariates.shape[1]
    return [None] if p == 1 or p > COLUMNS else [*range(p)]


def heavy(view: Operator, problem: Problem) -> bool:
    """Whether random signs do not tell its distribution."""
    rng = np.random.default_rng(0)
    checks = view.on(problem.domain).conditions(problem.model, problem.domain, problem.observations, rng)
    return any(check.status == "fail" and check.asymptotic for check in checks)
