"""The Bingham distribution."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Self

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains.sphere import Sphere
from goodstein.errors import InputError
from goodstein.families.base import SCORE_MATCHING, Family
from goodstein.families.directions import as_directions, drawn_by_rejection
from goodstein.models.influence import solved
from goodstein.types import Array, ArrayLike


class Bingham(Family):
    r"""Bingham distribution of unit vectors in R^d, for axes: x and −x have the same density.

    .. math:: \log q(x) = x^\top A x + c, \qquad s(x) = 2 A x.

    A multiple of the identity may be added to A without changing the distribution. With
    A = κ μμᵀ it is the Watson distribution.

    Parameters
    ----------
    A
        Symmetric matrix, (d, d).

    References
    ----------
    Bingham (1974), "An antipodally symmetric distribution on the sphere", *Annals of
    Statistics* 2, 1201-1225.
    Kent, Ganeiber & Mardia (2018), "A new unified approach for the simulation of a wide class of
    directional distributions", *Journal of Computational and Graphical Statistics* 27, 291-301.
    Mardia, Kent & Laha (2016), "Score matching estimators for directional distributions".

    Examples
    --------
    >>> from goodstein.families import Bingham
    >>> q = Bingham([[3, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> q
    Bingham([[3, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> q.score([[1, 0, 0]])
    array([[6., 0., 0.]])
    >>> fitted = Bingham.fit(Bingham([[2, 0, 0], [0, -1, 0], [0, 0, -1]]).sample(100_000, rng=0))
    >>> bool(abs(fitted.A.diagonal() - [2, -1, -1]).max() < 0.1)
    True
    """

    A: Array

    def __init__(self, A: ArrayLike) -> None:
        matrix = numbers(A, "A")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            reason = f"expected a square matrix of at least 2 rows, got shape {matrix.shape}."
            raise InputError(reason, argument="A")
        gap = float(np.abs(matrix - matrix.T).max())
        if gap > 1e-10 * (1.0 + float(np.abs(matrix).max())):
            reason = f"must be symmetric, but A and its transpose differ by {gap:.3g}."
            raise InputError(reason, argument="A", remedy="Pass (A + A.T) / 2, which has the same xᵀAx.")
        self._set(A=0.5 * (matrix + matrix.T), domain=Sphere(len(matrix)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Score matching, which needs no normalising constant; A with trace zero.

        For x ↦ xᵀB_k x with a basis B_k of the symmetric matrices of trace zero it is the linear system
        Σ_l E[∇t_k·∇t_l] θ_l = −E[Δt_k], with Δt_k = −2d t_k on the sphere. It is consistent, and a
        little less precise than maximum likelihood.
        """
        points = as_directions(x)
        d = points.shape[1]
        basis = _trace_free(d)
        t, gradients = _statistics(points, basis)
        normal = np.einsum("nki,nli->kl", gradients, gradients) / len(points)
        if np.linalg.matrix_rank(normal, hermitian=True) < len(basis):
            reason = f"{len(points)} directions in R^{d} do not determine a Bingham distribution."
            raise InputError(reason, argument="x", remedy="They are too few, or lie on a great circle.")
        theta = np.linalg.solve(normal, 2.0 * d * t.mean(axis=0))
        return cls(np.einsum("k,kij->ij", theta, basis))

    _methods = (SCORE_MATCHING,)

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """Multiples of the matrices of a basis with trace zero."""
        return tuple(f"A[{k}]" for k in range(len(_trace_free(self.dim))))

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        return type(self)(self.A + np.einsum("k,kij->ij", by, _trace_free(self.dim)))

    def _influence_values(self, data: Any) -> Array:
        """N⁻¹(Δt + ∇t·s), the negative gradient of the loss ½‖s‖² + Δ log q over its curvature N."""
        points = self._points(data)
        t, gradients = _statistics(points, _trace_free(self.dim))
        psi = np.einsum("nki,ni->nk", gradients, self.score(points)) - 2.0 * self.dim * t
        slope = np.einsum("nki,nli->kl", gradients, gradients) / len(points)
        return solved(psi, slope, self.coordinates())

    def _fit_method(self, **options: Any) -> str:
        return SCORE_MATCHING

    def score(self, x: ArrayLike) -> Array:
        return np.asarray(2.0 * self._points(x) @ self.A)

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density without its constant, which has no closed form, (n,)."""
        points = self._points(x)
        return np.asarray(np.einsum("ni,ij,nj->n", points, self.A, points))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return sample_bingham(self.A, n, rng)

    def _brief(self) -> dict[str, Any]:
        return {"d": self.dim, "eigenvalues": np.linalg.eigvalsh(self.A)}


def sample_bingham(matrix: Array, n: int, rng: np.random.Generator) -> Array:
    """Unit vectors with density ∝ exp(xᵀAx), by rejection from angular central Gaussians.

    After Kent, Ganeiber and Mardia. With B = max eigenvalue − A ≥ 0 and Ω = I + 2B/b the envelope is
    (xᵀΩx)^(−d/2), the direction of a N(0, Ω⁻¹) vector; the best b solves Σ_i 1/(b + 2λ_i) = 1 with λ_i the
    eigenvalues of B.
    """
    values, axes = np.linalg.eigh(matrix)
    excess = values.max() - values
    d, b = len(excess), _envelope(excess)
    spread = 1.0 / np.sqrt(1.0 + 2.0 * excess / b)

    def accepted(missing: int) -> Array:
        size = 2 * missing + 16
        x = rng.standard_normal((size, d)) * spread
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        u = x**2 @ excess
        # log of e^(−u)(1 + 2u/b)^(d/2), less its maximum, which is at u = (d − b)/2.
        level = -u + 0.5 * d * np.log1p(2.0 * u / b) + 0.5 * (d - b) - 0.5 * d * math.log(d / b)
        return np.asarray(x[np.log1p(-rng.random(size)) <= level])

    drawn = drawn_by_rejection(n, (d,), accepted) @ axes.T
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _envelope(excess: Array) -> float:
    """The root b of Σ 1/(b + 2λ_i) = 1, between 1 and d since the smallest λ is zero."""
    low, high = 1.0, float(len(excess))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (1.0 / (middle + 2.0 * excess)).sum() > 1.0 else (low, middle)
    return 0.5 * (low + high)


def _statistics(points: Array, basis: Array) -> tuple[Array, Array]:
    """t_k = xᵀB_k x, (n, K), and its gradients along the sphere, (n, K, d)."""
    moved = np.einsum("kij,nj->nki", basis, points)
    t = np.einsum("nki,ni->nk", moved, points)
    return t, 2.0 * (moved - t[:, :, None] * points[:, None, :])


def _trace_free(d: int) -> Array:
    """A basis of the symmetric (d, d) matrices of trace zero, (d(d+1)/2 − 1, d, d)."""
    unit = np.eye(d)
    basis = []
    for i in range(d):
        basis += [np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i]) for j in range(i + 1, d)]
        if i:
            basis.append(np.diag(unit[:i].sum(axis=0) - i * unit[i]))
    return np.array(basis)
