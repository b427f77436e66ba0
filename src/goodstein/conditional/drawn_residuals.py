"""Moments of residuals along covariates, against draws of the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.conditional.given_draws import Functions, GivenDraws
from goodstein.constraints import check_count
from goodstein.errors import InputError
from goodstein.lazy import Kept
from goodstein.numerics import polynomials
from goodstein.operators.views.base import Names
from goodstein.operators.views.trends import Trends
from goodstein.types import Array

WORDS = tuple(f"the {what} of residuals" for what in ("mean", "spread", "skewness", "tails"))
"""What the first degrees look at."""


@dataclass(frozen=True, eq=False, repr=False)
class DrawnResiduals(GivenDraws):
    """T f(x_i, y_i) = [p(z_i) − mean_b p(z_ib)]·b(x_i), z = (y − m(x))/s(x), for models of y given x.

    m(x_i) and s(x_i) are mean and standard deviation of draws of y given x_i, and z_ib other draws, seen in
    the same way; p are the monomials of degree k in the columns of z, and b the constant and polynomials in
    the ranks of x, orthonormal over the data. Degree 1 compares the mean of residuals with a curve in x, 2
    their variances and correlations, 3 skewness, 4 tails. The Stein matrix has finite rank, so that time and
    memory are linear in n, and there is no kernel.

    Parameters
    ----------
    degree
        k, at least 1.
    covariate
        The place of the covariate that b is a function of; None takes all of them, one at a time.
    trend
        The degree of these polynomials; 0 leaves the constant.
    draws
        Draws for each observation, half of them for m and s.
    seed
        Seed of the draws; tests take it from their ``rng``.

    Notes
    -----
    It needs no score and no identity, so that y may be on any domain, discrete or not. The draws depend on x
    alone, and simulated samples, which keep x, are compared with the same ones. Powers of residuals at the
    ends of x are carried by so few observations that random signs do not always know their distribution: the
    test is then refused unless it is simulated, ``null=MonteCarlo()``, which here is exact.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-2, 2, 200)
    >>> data = gs.Paired(x, np.sin(x) + np.exp(0.25 * x) * rng.normal(size=200))
    >>> model = gs.ConditionalModel.gaussian(np.sin, 1.0)
    >>> gs.ksd_test(data, model, operator=gs.DrawnResiduals(2), null=gs.MonteCarlo(199), rng=1).pvalue
    0.005
    """

    degree: int = 1
    covariate: int | None = None
    trend: int = 3
    draws: int = 100
    seed: int = field(default=0, repr=False)
    trends: Trends | None = field(default=None, init=False, repr=False)
    _kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_count(self.degree, "degree", of="DrawnResiduals")
        self.check_draws()

    def looks_at(self, names: Names = None) -> str:
        known = self.degree <= len(WORDS)
        what = WORDS[self.degree - 1] if known else f"moments of degree {self.degree} of residuals"
        return what + self.along_what()

    def functions(self, draws: Array, model: Any) -> Functions:
        centre, size = draws.mean(axis=0), draws.std(axis=0)
        if not (size > 0).any(axis=0).all():
            raise InputError(f"Draws of {model.name} do not vary, so that there are no residuals.")
        # Where few draws are all the same, as those of rare events are, they vary as little as any do.
        size = np.where(size > 0, size, np.where(size > 0, size, np.inf).min(axis=0))
        return lambda y: polynomials.values((y - centre) / size, self.degree)

    def _arguments(self) -> list[str]:
        return [str(self.degree), *super()._arguments()]
