"""How pairs of coordinates depend on each other, against draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import check_count
from goodstein.domains import Domain
from goodstein.errors import InputError
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names
from goodstein.operators.views.drawn import Functions
from goodstein.operators.views.drawn_margins import RankedView, columns_of, ranked
from goodstein.operators.views.moments import MOST
from goodstein.types import Array

WORDS = {2: "rank correlations of columns", 3: "how columns bend along others"}
"""What the first degrees look at."""


@dataclass(frozen=True, eq=False, repr=False)
class DrawnPairs(RankedView):
    """T f(x_i) = f(x_i) − mean_b f(y_ib) for products ω_a(F_j(x_j)) ω_b(F_l(x_l)) with a + b = k.

    F_j is the distribution function of coordinate j over draws of the model and ω_a the Legendre polynomial
    of degree a ≥ 1, orthonormal on (0, 1). Degree 2 compares Spearman's rank correlations of all pairs of
    coordinates j < l with those of the model, degree 3 whether one coordinate bends along another. The
    functions are bounded, so that no tail is too heavy for any null distribution, and see nothing of the
    units. Time and memory are linear in n, up to a logarithm, and there is no kernel. See
    :class:`DrawnMoments` for the draws, and :class:`DrawnMargins` for what coordinates are on a simplex or a
    torus.

    Parameters
    ----------
    degree
        k, at least 2.
    operator
        Where draws come from and how many there are, a :class:`MeanEmbedding`, also with log-ratios; None
        takes ``MeanEmbedding()``.

    Examples
    --------
    One column bends along another, and no correlation shows it:

    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0, 0])
    >>> x = model.sample(200, rng=1)
    >>> x[:, 1] = 0.9 * x[:, 1] + 0.3 * (x[:, 0] ** 2 - 1)
    >>> gs.ksd_test(x, model, operator=gs.DrawnPairs(3), rng=1).pvalue < 0.01
    True
    """

    degree: int = 2
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        self.require_embedding()
        check_count(self.degree, "degree", least=2, of="DrawnPairs")

    def check(self, domain: Domain) -> None:
        if domain.dim < 2:
            raise InputError(
                f"{self!r} looks at pairs of columns, but data on {domain!r} have one.",
                remedy="Use DrawnMargins().",
            )

    def looks_at(self, names: Names = None) -> str:
        return WORDS.get(self.degree, "how pairs of columns depend on each other")

    def seen(self, model: Any, domain: Domain, rows: Array, points: Array) -> Array:
        return columns_of(points, domain)

    def functions(self, draws: Array) -> Functions:
        ordered, m = np.sort(draws, axis=0), draws.shape[1]
        if (total := m * (m - 1) // 2 * (self.degree - 1)) > MOST:
            raise InputError(f"{self!r} has {total} products in {m} coordinates, more than {MOST}.")
        return lambda x: self.chosen(ranked(x, ordered, self.degree - 1), m)

    def chosen(self, omega: Array, dim: int) -> Array:
        first, second = np.triu_indices(omega.shape[1], 1)
        pairs = [omega[:, first, a] * omega[:, second, self.degree - 2 - a] for a in range(self.degree - 1)]
        return np.hstack(pairs)

    def _arguments(self) -> list[str]:
        return [str(self.degree)]
