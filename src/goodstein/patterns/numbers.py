"""Numbers of points in a pattern, and where more of them are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from goodstein.constraints import check_count
from goodstein.domains.base import Domain
from goodstein.numerics.roots import inverse_root
from goodstein.operators.base import Operator
from goodstein.operators.views.base import Names
from goodstein.patterns.data import Patterns
from goodstein.patterns.views import PatternView, Window
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

WORDS = ("the number of points", "the number of points and its slope")
"""What the first degrees look at."""


@dataclass(frozen=True, eq=False, repr=False)
class Numbers(PatternView):
    r"""The Stein–Papangelou operator with sums over the points, f(φ) = Σ_{x∈φ} p(x), for point patterns.

    A pattern stands for the numbers

        ∫ p(u) ρ(u | φ) du − Σ_{x∈φ} p(x),

    with polynomials p up to degree k, orthonormal under the intensity of the model: expected less observed
    points (k = 0), more of them on one side (1), in the middle or at the edges (2). These are the innovations
    of a point process, its residuals. The Stein matrix has finite rank, and there is no kernel.

    Parameters
    ----------
    degree
        k: 0 for the number of points, 1 for its slope in every direction, 2 for a bend.
    operator
        A :class:`goodstein.patterns.Papangelou` with the nodes of the integral; None takes the usual one.

    References
    ----------
    Baddeley, Turner, Møller, Hazelton (2005), Residual analysis for spatial point processes.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> square = gs.Box([0, 0], [1, 1])
    >>> truth = gs.families.PoissonProcess(lambda u: 40.0 * u[:, 0], square)
    >>> model = gs.families.PoissonProcess(20.0, square)
    >>> patterns = truth.sample(30, rng=1)
    >>> gs.ksd_test(patterns, model, operator=gs.patterns.Numbers(0), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(patterns, model, operator=gs.patterns.Numbers(1), rng=1).pvalue < 0.01
    True
    """

    degree: int = 1
    operator: Operator | None = None

    def __post_init__(self) -> None:
        self.require_papangelou()
        check_count(self.degree, "degree", 0, of="Numbers")

    def looks_at(self, names: Names = None) -> str:
        known = self.degree < len(WORDS)
        return WORDS[self.degree] if known else f"where points are, by polynomials of degree {self.degree}"

    def features(self, model: Any, domain: Domain, data: Patterns) -> FiniteFeatures:
        """∫ p ρ(· | φ) − Σ_{x∈φ} p(x)."""
        window = Window(model, domain, data, self.operator.nodes, np.inf)  # type: ignore[union-attr]
        centre = window.shares @ window.nodes
        size = np.sqrt(window.shares @ (window.nodes - centre) ** 2)

        def polynomials(points: Array) -> Array:
            z = (points - centre) / np.where(size > 0, size, 1.0)
            columns = [
                np.prod(z[:, factors], axis=1)
                for degree in range(self.degree + 1)
                for factors in map(list, combinations_with_replacement(range(z.shape[1]), degree))
            ]
            return np.stack(columns, axis=1)

        at_nodes = polynomials(window.nodes)
        rotation = inverse_root(at_nodes.T @ (window.shares[:, None] * at_nodes))
        observed = data.total(polynomials(data.pooled).T).T
        return FiniteFeatures((window.intensity @ at_nodes - observed) @ rotation)

    def _arguments(self) -> list[str]:
        return [str(self.degree)]
