"""Factors of the Stein matrix: per-point columns whose matrix products are ρ, P, Q and R.

See :mod:`goodstein.stein.forms` for what these are. All of P, Q and R share one set of left columns; each
uses a slice of it, with right columns of its own, so that a linear combination of the three is
again one matrix product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from goodstein.stein.features import SteinFeatures
from goodstein.types import Array

Part = Literal["p", "q", "r", "one"]
PARTS: tuple[Part, ...] = ("p", "q", "r", "one")


def factorise(features: SteinFeatures, norms: Array, most: int) -> Factors | None:
    """Factors of features with centred points; None if they would have more than `most` columns.

    Parameters
    ----------
    features
        The features.
    norms
        Squared norms of their points, (n,).
    most
        Limit to the columns of a full matrix weight, of which there are m²J and more.
    """
    weight = features.weight
    if weight is None or weight.ndim == 1:
        return ScalarFactors(features, norms)
    if weight.ndim == 2:
        return DiagonalFactors(features, norms)
    m, components = weight.shape[1:]
    return MatrixFactors(features, norms) if m * m * components <= most else None


class Factors(ABC):
    """What the three kinds of weight have in common; right factors are made when first asked for."""

    left: Array
    unit = False
    """Whether G is the identity, so that R = −4ρ."""

    def __init__(self, features: SteinFeatures, norms: Array) -> None:
        self.x, self.a, self.norms = features.points, features.value, norms[:, None]
        self.rho_right = np.hstack([self.x, np.ones_like(self.norms), self.norms])
        self._rho_left: dict[tuple[float, float], Array] = {}
        self._right: dict[tuple[float, ...], tuple[slice, Array]] = {}

    @abstractmethod
    def part(self, name: Part) -> tuple[int, Array]:
        """The first column of `left` that P, Q, R or the constant 1 uses, and the right columns."""

    def rho_left(self, scale: float, offset: float) -> Array:
        """The left factor of offset + scale·ρ."""
        key = (scale, offset)
        if key not in self._rho_left:
            columns = [(-2.0 * scale) * self.x, scale * self.norms + offset, np.full_like(self.norms, scale)]
            self._rho_left[key] = np.hstack(columns)
        return self._rho_left[key]

    def right(self, p: float, q: float, r: float, one: float) -> tuple[slice, Array]:
        """Columns of `left`, and the right factor that makes them p·P + q·Q + r·R + one."""
        key = (p, q, r, one)
        if key not in self._right:
            used = [(w, *self.part(name)) for w, name in zip(key, PARTS, strict=True) if w != 0.0]
            start = min(first for _, first, _ in used)
            stop = max(first + columns.shape[1] for _, first, columns in used)
            total = np.zeros((len(self.left), stop - start))
            for weight, first, columns in used:
                total[:, first - start : first - start + columns.shape[1]] += weight * columns
            self._right[key] = (slice(start, stop), total)
        return self._right[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_right": {}, "_rho_left": {}}


class ScalarFactors(Factors):
    """G = g·1. With xa = x·a, left columns a, gx, xa, g, g‖x‖²."""

    def __init__(self, features: SteinFeatures, norms: Array) -> None:
        super().__init__(features, norms)
        self.unit = features.weight is None
        self.g = np.ones_like(self.norms) if features.weight is None else features.weight[:, None]
        self.xa = np.einsum("ij,ij->i", self.x, self.a)[:, None]
        self.left = np.hstack([self.a, self.g * self.x, self.xa, self.g, self.g * self.norms])

    def part(self, name: Part) -> tuple[int, Array]:
        """Q = 2[gx·a′ + a·g′x′ − xa·g′ − g·xa′ − m g g′], R = −4gg′ρ; the constant 1 needs g = 1."""
        a, g, gx, m = self.a, self.g, self.g * self.x, self.x.shape[1]
        if name == "p":
            return 0, a
        if name == "q":
            return 0, 2.0 * np.hstack([gx, a, -g, -self.xa - m * g])
        if name == "r":
            return m, np.hstack([8.0 * gx, np.zeros_like(g), -4.0 * g * self.norms, -4.0 * g])
        return 2 * m + 1, g


class DiagonalFactors(Factors):
    """G = diag(g). Left columns a, gx, g, xa, gx², products by coordinate."""

    def __init__(self, features: SteinFeatures, norms: Array) -> None:
        super().__init__(features, norms)
        assert features.weight is not None
        self.g = features.weight
        self.left = np.hstack([self.a, self.g * self.x, self.g, self.x * self.a, self.g * self.x**2])

    def part(self, name: Part) -> tuple[int, Array]:
        """As for a scalar weight, but R = −4 Σ_i g_i g′_i r_i²."""
        x, a, g = self.x, self.a, self.g
        if name == "p":
            return 0, a
        if name == "q":
            return 0, 2.0 * np.hstack([g * x, a, -x * a - g, -g])
        return x.shape[1], np.hstack([8.0 * g * x, -4.0 * g * x**2, np.zeros_like(x), -4.0 * g])


class MatrixFactors(Factors):
    """Any G. With u = Gᵀx, left columns a, u, G_ij, x_i a_j, x_i u_j, G_ij x_l."""

    def __init__(self, features: SteinFeatures, norms: Array) -> None:
        super().__init__(features, norms)
        assert features.weight is not None
        self.g = features.weight
        self.u = np.einsum("nij,ni->nj", self.g, self.x)
        n = len(self.g)
        self.flat = self.g.reshape(n, -1)
        self.xa, self.xu = (
            np.einsum("ni,nj->nij", self.x, vectors).reshape(n, -1) for vectors in (self.a, self.u)
        )
        gx = np.einsum("nij,nl->nilj", self.g, self.x).reshape(n, -1)
        self.left = np.hstack([self.a, self.u, self.flat, self.xa, self.xu, gx])

    def part(self, name: Part) -> tuple[int, Array]:
        """By (Gᵀr)_j = u_j − Σ_i G_ij x′_i and (G′ᵀr)_j = Σ_l x_l G′_lj − u′_j."""
        if name == "p":
            return 0, self.a
        if name == "q":
            return 0, 2.0 * np.hstack([self.u, self.a, -self.xa - self.flat, -self.flat])
        xg = np.einsum("ni,nlj->nilj", self.x, self.g).reshape(len(self.x), -1)
        columns = [self.u, -self.xu, np.zeros_like(self.xa), -self.flat, xg]
        return self.a.shape[1], 4.0 * np.hstack(columns)
