"""The distribution of outcomes given covariates, by their ranks among draws of the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.conditional.given_draws import Functions, GivenDraws
from goodstein.constraints import check_count
from goodstein.lazy import Kept
from goodstein.numerics.polynomials import legendre
from goodstein.operators.views.base import Names
from goodstein.operators.views.trends import Trends
from goodstein.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class DrawnRanks(GivenDraws):
    """T f(x_i, y_i) = [w(u_i) − mean_b w(u_ib)]·b(x_i), u = F(y | x), for models of y given x.

    u_i is the share of draws of y given x_i that lie below y_i, equal ones counted half, an estimate of the
    probability transform of y_i, for every column of y; u_ib those of other draws; w the Legendre polynomials
    of degree 1, …, k; and b the constant, or polynomials in the ranks of x as in
    :class:`DrawnResiduals`. So it is Neyman's smooth test of the residuals' distribution: where it lies, how
    wide, skewed and peaked it is. The functions are bounded, so that no tail is too heavy. The Stein matrix
    has finite rank, so that time and memory are linear in n, and there is no kernel.

    Parameters
    ----------
    degree
        k, at least 1.
    covariate
        The place of the covariate that b is a function of; None takes all of them, one at a time.
    trend
        The degree of these polynomials; 0 takes all observations alike.
    draws
        Draws for each observation, half of them to rank it among.
    seed
        Seed of the draws; tests take it from their ``rng``.

    References
    ----------
    Neyman (1937), "Smooth" test for goodness of fit.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-2, 2, 200)
    >>> data = gs.Paired(x, np.sin(x) + rng.exponential(size=200) - 1.0)
    >>> model = gs.ConditionalModel.gaussian(np.sin, 1.0)
    >>> gs.ksd_test(data, model, operator=gs.DrawnRanks(), rng=1).pvalue < 0.01
    True
    """

    degree: int = 4
    covariate: int | None = None
    trend: int = 0
    draws: int = 100
    seed: int = field(default=0, repr=False)
    trends: Trends | None = field(default=None, init=False, repr=False)
    _kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    usual_trend = 0  # no annotations: not fields
    bounded = True

    def __post_init__(self) -> None:
        check_count(self.degree, "degree", of="DrawnRanks")
        self.check_draws()

    def looks_at(self, names: Names = None) -> str:
        return "the distribution of residuals" + self.along_what()

    def functions(self, draws: Array, model: Any) -> Functions:
        half, size = len(draws), draws[0].size
        # One search for all: what has two parts is ordered by the first, here the place of an outcome.
        known = _placed(np.sort(draws.reshape(half, size), axis=0).T).ravel()
        before = 2 * half * np.arange(size)

        def ranked(y: Array) -> Array:
            at = _placed(y.reshape(size, 1)).ravel()
            below = np.searchsorted(known, at) + np.searchsorted(known, at, side="right") - before
            u = (below / (2.0 * half)).reshape(y.shape)
            return np.asarray(legendre(u, self.degree)[..., 1:].reshape(len(y), -1))

        return ranked

    def _arguments(self) -> list[str]:
        return [str(self.degree), *super()._arguments()]


def _placed(values: Array) -> npt.NDArray[np.complex128]:
    """Numbers (places, c) whose real part is their place."""
    found = np.empty(values.shape, np.complex128)
    found.real, found.imag = np.arange(len(values))[:, None], values
    return found
