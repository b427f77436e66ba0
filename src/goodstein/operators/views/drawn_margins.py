"""Distributions of single coordinates against those of draws."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import check_count
from goodstein.domains import Domain
from goodstein.numerics.polynomials import legendre
from goodstein.numerics.ranks import shares_below
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.embedding import EmbeddingFeatures, compare
from goodstein.operators.views.base import Names, named
from goodstein.operators.views.columns import as_column, require_columns
from goodstein.operators.views.drawn import FIXED, DrawnView, Functions
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

USUAL = 3
"""Degree of the polynomials that views of one sample share; whoever needs more makes its own."""


class RankedView(DrawnView):
    """Products of polynomials in ranks among draws, which all views of one sample take from one place."""

    bounded = True

    @abstractmethod
    def chosen(self, omega: Array, dim: int) -> Array:
        """The test functions, (n, c), of all ω_a(F_j(x_j)) with a ≥ 1, (n, m, at least the degree)."""

    def _compared(self, inner: EmbeddingFeatures, model: Any, domain: Domain, data: Any) -> FiniteFeatures:
        drawn = inner.drawn
        _, means = drawn.kept(lambda: self._means(drawn, model, domain), self)
        degree = max(USUAL, self.degree)  # type: ignore[attr-defined]

        def polynomials() -> Array:
            every = drawn.others.reshape(-1, drawn.others.shape[2])[:FIXED]
            ordered = drawn.kept(lambda: np.sort(columns_of(every, domain), axis=0), domain)
            return ranked(columns_of(inner.observations, domain), ordered, degree)

        omega = inner.kept(polynomials, degree, domain)
        return FiniteFeatures(compare(self.chosen(omega, domain.dim), means), drawn)


@dataclass(frozen=True, eq=False, repr=False)
class DrawnMargins(RankedView):
    """T f(x_i) = f(x_i) − mean_b f(y_ib) for polynomials in F_j(x_j), F_j the distribution function of draws.

    Neyman's smooth test of one margin, or of all at once: with ω the Legendre polynomials of degree 1, …, k,
    orthonormal on (0, 1), f = ω(F_j(x_j)) looks at location, spread and skewness of coordinate j. The
    functions are bounded, so that no tail is too heavy for any null distribution. Time and memory are linear
    in n, up to a logarithm, and there is no kernel. See :class:`DrawnMoments` for the draws.

    On a simplex coordinates are the parts, or with log-ratios the logarithms of the parts divided by their
    geometric mean; on a torus cos θ_j and sin θ_j.

    Parameters
    ----------
    degree
        k, at least 1.
    column
        j, from 0 on; None takes all of them.
    operator
        Where draws come from and how many there are, a :class:`MeanEmbedding`, also with log-ratios; None
        takes ``MeanEmbedding()``.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.StudentT(3, [0.0] * 8)
    >>> x = model.sample(150, rng=1)
    >>> x[:, 2] *= 1.7
    >>> gs.ksd_test(x, model, operator=gs.DrawnMargins(), rng=1).pvalue < 0.05
    True
    """

    degree: int = 3
    column: int | None = None
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        self.require_embedding()
        check_count(self.degree, "degree", of="DrawnMargins")
        if self.column is not None:
            object.__setattr__(self, "column", as_column(self.column, "`column` of DrawnMargins"))

    def check(self, domain: Domain) -> None:
        if self.column is not None:
            require_columns(self, (self.column,), domain)

    def looks_at(self, names: Names = None) -> str:
        if self.column is not None:
            return f"the distribution of {named(self.column, names)}"
        return "where columns lie" if self.degree == 1 else "the distributions of single columns"

    def seen(self, model: Any, domain: Domain, rows: Array, points: Array) -> Array:
        columns = columns_of(points, domain)
        if self.column is None:
            return columns
        width = columns.shape[1] // domain.dim  # two where a column is an angle
        return columns[:, width * self.column : width * (self.column + 1)]

    def chosen(self, omega: Array, dim: int) -> Array:
        if self.column is not None:
            width = omega.shape[1] // dim
            omega = omega[:, width * self.column : width * (self.column + 1)]
        return omega[:, :, : self.degree].reshape(len(omega), -1)

    def functions(self, draws: Array) -> Functions:
        ordered = np.sort(draws, axis=0)
        return lambda x: ranked(x, ordered, self.degree).reshape(len(x), -1)

    def _arguments(self) -> list[str]:
        return [str(self.degree), *([] if self.column is None else [f"column={self.column}"])]


def columns_of(points: Array, domain: Domain) -> Array:
    """The coordinates that a user knows of points where the kernel of an embedding looks."""
    basis = None if domain.discrete else domain.basis
    return points if basis is None else points @ basis


def ranked(x: Array, ordered: Array, degree: int) -> Array:
    """ω(F_j(x_j)) for all columns j, (n, m, degree); where draws tie, F_j is halfway up the step."""
    u = np.column_stack([shares_below(x[:, j], column) for j, column in enumerate(ordered.T)])
    return legendre(u, degree)[..., 1:]
