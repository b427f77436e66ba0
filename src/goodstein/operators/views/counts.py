"""Marginal and pair counts of discrete data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from goodstein.constraints import check_count
from goodstein.domains import Domain, Lattice
from goodstein.errors import InputError, must
from goodstein.operators.base import Operator, set_inner, stacked_of
from goodstein.operators.difference_form import DifferenceStack
from goodstein.operators.views.base import FiniteView, Names, named
from goodstein.operators.views.counting import CountsStack, count_features
from goodstein.stein.finite import FiniteFeatures


@dataclass(frozen=True, eq=False, repr=False)
class Counts(FiniteView):
    """The difference operator with test functions of one coordinate, or of two: marginal and pair counts.

    On a :class:`Lattice`, f_j is any function of the coordinates of a group that j is in: each coordinate by
    itself for degree 1, every pair for degree 2. The Stein matrix has finite rank, so that time and memory
    are linear in n, and there is no kernel. Single coordinates and pairs are :class:`Margin` and
    :class:`Pair`.

    Parameters
    ----------
    degree
        1 or 2: coordinates that are looked at together.
    operator
        The operator inside, a :class:`Difference`; None takes ``Difference(bound=10)``.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> x = np.random.default_rng(1).integers(0, 2, (300, 6))
    >>> x[:, 5] = np.where(np.random.default_rng(2).uniform(size=300) < 0.25, x[:, 0], x[:, 5])
    >>> model = gs.Model(logpdf=lambda x: 0.0 * x[:, 0], domain=gs.Lattice(2, 6))
    >>> gs.ksd_test(x, model, operator=gs.Counts(1), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Counts(2), rng=1).pvalue < 0.05
    True
    """

    degree: int = 1
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        if check_count(self.degree, "degree", of="Counts") > 2:
            raise must("degree", "1 or 2", self.degree, "Counts")

    def looks_at(self, names: Names = None) -> str:
        what = "counts" if self.degree == 1 else "pair counts"
        if names is None:
            return what
        return f"{what} of {', '.join(named(column, names) for column in range(len(names)))}"

    def check(self, domain: Domain) -> None:
        if not isinstance(domain, Lattice):
            raise InputError(f"Counts are of states of a Lattice, got {domain!r}. Use Moments() there.")
        if domain.dim < self.degree:
            raise InputError(f"{self!r} needs {self.degree} columns, and {domain!r} has {domain.dim}.")

    def features(self, model: Any, domain: Domain, data: Any) -> FiniteFeatures:
        """α_j 1[¬_j⁻¹x = v] − β_j 1[x = v] for all groups, coordinates j of them and joint states v."""
        groups = combinations(range(domain.dim), self.degree)
        return count_features(self.inner(domain), model, domain, data, groups)

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> CountsStack | None:
        """Every state is looked at by itself."""
        inner = stacked_of(self.inner(domain), model, domain, data, count)
        return CountsStack(inner.features, self.degree) if isinstance(inner, DifferenceStack) else None

    def _arguments(self) -> list[str]:
        return [str(self.degree)]
