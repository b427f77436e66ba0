"""Few functions of covariates, along which views look at residuals."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count, check_flag
from goodstein.errors import InputError
from goodstein.numerics.polynomials import legendre
from goodstein.numerics.ranks import shares_below
from goodstein.numerics.roots import inverse_root
from goodstein.operators.views.base import FiniteView, Names
from goodstein.operators.views.columns import as_column
from goodstein.types import Array


@dataclass(frozen=True, eq=False)
class Trends:
    """Functions of covariates whose matrix of second moments over the data is the identity.

    They span the constant and the polynomials up to a degree in the ranks of every covariate, or of one; with
    `pairs` also the products of ranks of every two. A model of y given x says nothing of x, so that they may
    come from the covariates of the data; ranks mind neither units nor outliers.
    """

    ordered: Array
    """The covariates of the data, each in its order, (n, p)."""
    degree: int
    covariate: int | None
    rotation: Array
    pairs: bool = False

    @classmethod
    def of(cls, x: Array, degree: int, covariate: int | None = None, pairs: bool = False) -> Trends:
        """Those of covariates (n, p)."""
        some = x if covariate is None else x[:, [covariate]]
        p = some.shape[1]
        size = 1 + degree * p + (p * (p - 1) // 2 if pairs else 0)
        raw = cls(np.sort(some, axis=0), degree, covariate, np.eye(size), pairs)
        every = raw(x)
        return cls(raw.ordered, degree, covariate, inverse_root(every.T @ every / len(x)), pairs)

    def __call__(self, x: Array) -> Array:
        """At rows of covariates, (n, p) to (n, functions)."""
        columns = [np.ones((len(x), 1))]
        some = x if self.covariate is None else x[:, [self.covariate]]
        for column, known in zip(some.T, self.ordered.T, strict=True):
            columns.append(legendre(shares_below(column, known), self.degree)[:, 1:])
        if self.pairs:
            first = [column[:, :1] for column in columns[1:]]
            columns += [one * other for one, other in combinations(first, 2)]
        return np.asarray(np.hstack(columns) @ self.rotation)


class TrendView(FiniteView):
    """A view of residuals along covariates: features of y given x times functions of x.

    A frozen dataclass with the fields ``covariate``, ``trend`` and ``trends``, which the data fill.
    """

    covariate: int | None
    trend: int
    trends: Trends | None

    usual_trend = 3
    pairs: bool = False

    def check_trends(self) -> None:
        """Raise where the fields cannot be what they are."""
        name = type(self).__name__
        check_count(self.trend, "trend", 0, of=name)
        if self.covariate is not None:
            object.__setattr__(self, "covariate", as_column(self.covariate, f"`covariate` of {name}"))

    def with_trends(self, data: Any) -> Self:
        """With the functions of x that are made of the covariates of the data."""
        x = data.covariates
        if self.covariate is not None and self.covariate >= x.shape[1]:
            raise InputError(
                f"{self!r} looks along covariate {self.covariate}, but there are the columns 0 to "
                f"{x.shape[1] - 1}."
            )
        fitted = copy.copy(self)
        object.__setattr__(fitted, "trends", Trends.of(x, self.trend, self.covariate, self.pairs))
        return fitted

    def along_what(self, names: Names = None) -> str:
        """Along what, in words; with names of covariates, where they are known."""
        return along_what(self.covariate, self.trend, self.pairs, names)

    def __repr__(self) -> str:
        inside = [] if self.operator is None else [f"operator={self.operator!r}"]
        return f"{type(self).__name__}({', '.join([*self._arguments(), *inside])})"

    def _arguments(self) -> list[str]:
        own = [] if self.covariate is None else [f"covariate={self.covariate}"]
        own += [] if self.trend == self.usual_trend else [f"trend={self.trend}"]
        return [*own, "pairs=True"] if self.pairs else own


def along_what(covariate: int | None, trend: int, pairs: bool, names: Names = None) -> str:
    """Along what covariates a view looks, in words."""
    if trend == 0:
        return ""
    if pairs:
        return " where two covariates are large or small together"
    if covariate is None:
        return f" along `{names[0]}`" if names and len(names) == 1 else " along all covariates"
    return f" along `{names[covariate]}`" if names else f" along covariate {covariate}"


def require_trend(trend: int, covariate: int | None, pairs: bool, name: str) -> None:
    """Raise where covariates are named, and no functions of them; or one, and products of two."""
    check_flag(pairs, "pairs", of=name)
    if pairs and (trend == 0 or covariate is not None):
        raise InputError(f"{name}(pairs=True) looks at all covariates, and needs a `trend`, such as trend=1.")
    if covariate is not None and trend == 0:
        raise InputError(f"{name}(covariate={covariate}) needs a `trend`, such as trend=3.")


def along(features: Array, curves: Array) -> Array:
    """Features of y given x, (n, c), times every function of x, (n, b), side by side, (n, c·b)."""
    return np.asarray((features[:, :, None] * curves[:, None, :]).reshape(len(features), -1))
