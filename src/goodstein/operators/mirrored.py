"""The mirrored operator: the geometry of an entropic mirror map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.domains import Box, Domain, Simplex
from goodstein.errors import InputError
from goodstein.models.model import Model
from goodstein.operators.base import Operator
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array


@dataclass(frozen=True)
class Mirrored(Operator):
    """The matrix operator with G = (∇²ψ)⁻¹, ψ the negative entropy.

    On a simplex of d parts G = diag(x) − xxᵀ, whose tangential divergence is 1 − d·x, in the symmetric form
    that treats all parts alike; for a Dirichlet model the drift is α − α₀x, bounded, so that zeros in the
    data are allowed. On a box [l, u] each coordinate has G = (x − l)(u − x)/(u − l); on a half-line x − l; on
    a line 1. On a half-line the weight is unbounded, and the wild bootstrap then conservative in small
    samples of skewed data; ``Standardised()``, whose weight is bounded, is not.

    References
    ----------
    Shi, Liu, Mackey (2022), Sampling with mirrored Stein operators.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> gs.ksd_test(model.sample(100, rng=1), model, operator=gs.Mirrored(), rng=1).pvalue > 0.05
    True
    """

    pointwise = True  # no annotation: not a field

    def features(self, model: Model, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G) in the tangent space of the simplex, or in the coordinates of the box."""
        if isinstance(domain, Simplex):
            # Gs = x∘s − x(x·s), made from x∘s, which is finite where a part is zero.
            weighted = model.weighted_score(data)
            drift = weighted - data * weighted.sum(axis=1, keepdims=True) + 1.0 - domain.dim * data
            basis = domain.basis
            # Columns of G and the drift sum to zero, so the tangent basis loses nothing.
            scaled = (basis * data[:, None, :]).reshape(-1, domain.parts)
            matrix = (scaled @ basis.T).reshape(len(data), len(basis), len(basis))
            along = data @ basis.T
            matrix -= along[:, :, None] * along[:, None, :]
            return SteinFeatures(along, drift @ basis.T, matrix)
        g, dg = self._box(domain, data)
        return SteinFeatures(data, g * model.score(data) + dg, g)

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array:
        if isinstance(domain, Simplex):
            inner = x * normals
            weight: Array = inner - x * inner.sum(axis=1, keepdims=True)
            return weight
        return self._box(domain, x)[0] * normals

    def _box(self, domain: Domain, x: Array) -> tuple[Array, Array]:
        if not isinstance(domain, Box):
            raise InputError(
                f"Mirrored works on a Simplex and on a Box, got {domain!r}. Use Standardised() there."
            )
        g, dg = np.ones_like(x), np.zeros_like(x)
        for i, (lower, upper) in enumerate(zip(domain.lower, domain.upper, strict=True)):
            below, above = x[:, i] - lower, upper - x[:, i]
            if np.isfinite(lower) and np.isfinite(upper):
                g[:, i] = below * above / (upper - lower)
                dg[:, i] = (above - below) / (upper - lower)
            elif np.isfinite(lower):
                g[:, i], dg[:, i] = below, 1.0
            elif np.isfinite(upper):
                g[:, i], dg[:, i] = above, -1.0
        return g, dg
