"""The standardised operator with a full matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from goodstein.constraints import answered, asked, require_functions
from goodstein.domains.base import Domain
from goodstein.errors import ScoreError
from goodstein.models.model import Model
from goodstein.operators.base import Operator, tangent
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array


@dataclass(frozen=True)
class MatrixStandardised(Operator):
    """T f = q⁻¹ ∇·(q G f) with a matrix G(x): b·f + Σ_ij G_ij ∂_i f_j, b = Gᵀs + div G.

    Parameters
    ----------
    G
        Function of x (n, d) that returns the matrices, (n, d, J), usually J = d.
    divergence
        Function of x (n, d) that returns Σ_i ∂_i G_ij, (n, J). On a simplex the derivatives are
        tangential, which is not the same as ambient ones.

    Notes
    -----
    The identity needs q·Gᵀν = 0 on a boundary with normal ν; a tangential field such as
    G = I − xxᵀ in the unit ball will do, where a scalar g would have to vanish in all directions.

    Examples
    --------
    >>> import goodstein as gs, numpy as np
    >>> def G(x):
    ...     return np.eye(2) - x[:, :, None] * x[:, None, :]
    >>> def divergence(x):
    ...     return -3.0 * x
    >>> model = gs.families.Truncated(gs.families.Normal([0, 0], 1.0), gs.Ball(2))
    >>> result = gs.ksd_test(
    ...     model.sample(100, rng=1), model, operator=gs.MatrixStandardised(G, divergence), rng=1
    ... )
    >>> result.pvalue > 0.05
    True
    """

    G: Callable[[Array], Array]
    divergence: Callable[[Array], Array]

    def __post_init__(self) -> None:
        given = {"G": self.G, "divergence": self.divergence}
        require_functions(given, "MatrixStandardised", "a function of x (n, d)")

    def features(self, model: Model, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G) = (x, Gᵀs + div G, G)."""
        matrix = self._matrix(data)
        divergence = self._asked("divergence", data)
        if divergence.shape != (len(data), matrix.shape[2]):
            raise ScoreError(
                f"`divergence` of MatrixStandardised returned shape {divergence.shape}, expected "
                f"{(len(data), matrix.shape[2])}: Σ_i ∂_i G_ij for every point and column j."
            )
        if domain.basis is not None:
            # Only the tangential part of G counts. One that is tangential already is left alone: what
            # rounding leaves of its normal part must not meet a score that is huge near a face.
            tangential = domain.basis.T @ domain.basis @ matrix
            if np.abs(matrix - tangential).max() > 1e-12 * np.abs(matrix).max():
                matrix = tangential
        drift = np.einsum("ni,nij->nj", model.score(data), matrix) + divergence
        if domain.basis is not None:
            matrix = np.einsum("mi,nij->nmj", domain.basis, matrix)
        return SteinFeatures(tangent(domain, data), drift, matrix)

    def supplied(self, domain: Domain) -> Sequence[Callable[[Array], Array]]:
        return self._matrix, partial(self._asked, "divergence")

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array:
        weight: Array = np.einsum("ni,nij->nj", normals, self._matrix(x))
        return weight

    def _asked(self, name: str, x: Array) -> Array:
        what = f"`{name}` of MatrixStandardised"
        return answered(asked(getattr(self, name), what, x, error=ScoreError), what, error=ScoreError)

    def _matrix(self, x: Array) -> Array:
        matrix = self._asked("G", x)
        if matrix.ndim != 3 or matrix.shape[:2] != x.shape:
            raise ScoreError(
                f"`G` of MatrixStandardised returned shape {matrix.shape}, expected "
                f"({x.shape[0]}, {x.shape[1]}, J): one matrix per point."
            )
        return matrix
