"""Early and late events, by few test functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import check_count
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.numerics.polynomials import legendre
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import FiniteView, Names
from goodstein.stein.finite import FiniteFeatures
from goodstein.survival.data import Censored
from goodstein.survival.martingale import Martingale


@dataclass(frozen=True, eq=False, repr=False)
class Timing(FiniteView):
    r"""The martingale operator with polynomials in u = F₀(t) as test functions, for censored durations.

    With ω_k the shifted Legendre polynomials of degree 1, …, k, orthonormal on (0, 1), observation i stands
    for the numbers

        δ_i (1 − u_i) ω_k′(u_i) − (ω_k(u_i) − ω_k(0)):

    whether there are too many events or too few, early or late ones, those in the middle or at the ends. The
    Stein matrix has finite rank, so that time and memory are linear in n, and there is no kernel.

    Parameters
    ----------
    degree
        k, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> event, censoring = rng.weibull(1.3, size=200), rng.exponential(2.0, size=200)
    >>> data = gs.Censored(np.minimum(event, censoring), event <= censoring)
    >>> gs.ksd_test(data, gs.families.Exponential(1.0), operator=gs.Timing(), rng=1).pvalue < 0.05
    True
    """

    degree: int = 3
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self, "Martingale()")
        inside = self.operator
        if inside is None:
            object.__setattr__(self, "operator", Martingale())
        elif not (isinstance(inside, Martingale) and inside.transform == "cdf"):
            raise InputError(f"`operator` of Timing must be Martingale(), got {inside!r}.")
        check_count(self.degree, "`degree` of Timing")

    def looks_at(self, names: Names = None) -> str:
        return "how many events there are, early and late"

    def features(self, model: Any, domain: Domain, data: Censored) -> FiniteFeatures:
        """δ(1 − u)ω′(u) − (ω(u) − ω(0))."""
        assert isinstance(self.operator, Martingale)
        inner = self.operator.features(model, domain, data)
        assert inner.weight is not None
        omega, slope = legendre(inner.points[:, 0], self.degree)
        start, _ = legendre(np.zeros(1), self.degree)
        return FiniteFeatures(inner.weight[:, None] * slope - (omega - start))

    def __repr__(self) -> str:
        return f"Timing({self.degree})"
