"""Moments of the data against those of draws."""

from __future__ import annotations

from dataclasses import dataclass

from goodstein.constraints import check_count
from goodstein.errors import InputError
from goodstein.numerics import polynomials
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names
from goodstein.operators.views.drawn import DrawnView, Functions, whitened
from goodstein.operators.views.moments import MOST
from goodstein.types import Array

WORDS = ("means", "variances and correlations", "skewness")
"""What the first degrees look at."""


@dataclass(frozen=True, eq=False, repr=False)
class DrawnMoments(DrawnView):
    """T f(x_i) = f(x_i) − mean_b f(y_ib) for all monomials f of one degree in whitened coordinates.

    z = L⁻¹(x − ȳ), with mean ȳ and covariance LLᵀ of the draws y of the model. Degree 1 compares means, 2
    variances and correlations, 3 skewness. Monomials have the weights √(k!/α!), so that neither units nor the
    choice of axes count. The Stein matrix has finite rank, so that time and memory are linear in n, and there
    is no kernel.

    Parameters
    ----------
    degree
        k, at least 1.
    operator
        Where draws come from and how many there are, a :class:`MeanEmbedding`, also with log-ratios; None
        takes ``MeanEmbedding()``.

    Notes
    -----
    Every observation is compared with draws of its own, so that the error of finitely many draws is part of
    what all null distributions allow for; simulated samples share the draws. Moments of heavy-tailed models
    are carried by so few observations that random signs do not know their distribution: the test is then
    refused unless it is simulated, ``null=MonteCarlo()``.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.families.GaussianMixture([0.5, 0.5], [[-2, 0, 0], [2, 0, 0]], np.eye(3))
    >>> x = model.sample(200, rng=1)
    >>> x[:, 2] = 0.25 * x[:, 0] + 0.83 * x[:, 2]
    >>> gs.ksd_test(x, model, operator=gs.DrawnMoments(2), rng=1).pvalue < 0.01
    True
    """

    degree: int = 2
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        self.require_embedding()
        check_count(self.degree, "degree", of="DrawnMoments")

    def looks_at(self, names: Names = None) -> str:
        if self.degree <= len(WORDS):
            return WORDS[self.degree - 1]
        return f"moments of degree {self.degree}"

    def functions(self, draws: Array) -> Functions:
        m = draws.shape[1]
        if (total := polynomials.count(m, self.degree)) > MOST:
            raise InputError(f"{self!r} has {total} moments in {m} coordinates, more than {MOST}.")
        coordinates = whitened(draws)
        return lambda x: polynomials.values(coordinates(x), self.degree)

    def _arguments(self) -> list[str]:
        return [str(self.degree)]
