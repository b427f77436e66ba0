"""The Bingham distribution."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np

from goodstein.domains.sphere import Sphere
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.checks import as_parameter
from goodstein.families.directions import as_directions
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import check_count


class Bingham(Family):
    r"""Bingham distribution of unit vectors in R^d, for axes: x and −x have the same density.

    .. math::

        \log q(x) = x^\top A x + c, \qquad s(x) = 2 A x.

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
    Kent, Ganeiber & Mardia (2018), "A new unified approach for the simulation of a wide
    class of directional distributions", *Journal of Computational and Graphical Statistics*
    27, 291-301.
    Mardia, Kent & Laha (2016), "Score matching estimators for directional distributions".

    Examples
    --------
    >>> from goodstein.families import Bingham
    >>> q = Bingham([[3, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> q.score([[1, 0, 0]])
    array([[6., 0., 0.]])
    >>> q.sample(2, rng=0).shape
    (2, 3)
    """

    _parameters: ClassVar[tuple[str, ...]] = ("A",)

    A: Array
    domain: Sphere

    def __init__(self, A: ArrayLike) -> None:
        matrix = as_parameter("A", A)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise InputError(f"`A`: expected a square matrix of at least 2 rows, got shape {matrix.shape}.")
        gap = float(np.abs(matrix - matrix.T).max())
        if gap > 1e-10 * (1.0 + float(np.abs(matrix).max())):
            raise InputError(
                f"`A`: must be symmetric, but A and its transpose differ by {gap:.3g}. Pass (A + A.T) / 2, "
                "which has the same xᵀAx."
            )
        self._set(A=0.5 * (matrix + matrix.T), domain=Sphere(len(matrix)))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Score matching, which needs no normalising constant; A with trace zero.

        For x ↦ xᵀB_k x with a basis B_k of the symmetric matrices of trace zero it is the linear system
        Σ_l E[∇t_k·∇t_l] θ_l = −E[Δt_k], with Δt_k = −2d t_k on the sphere. It is consistent, and a
        little less precise than maximum likelihood.

        Examples
        --------
        >>> from goodstein.families import Bingham
        >>> fitted = Bingham.fit(Bingham([[2, 0, 0], [0, -1, 0], [0, 0, -1]]).sample(100_000, rng=0))
        >>> bool(abs(fitted.A.diagonal() - [2, -1, -1]).max() < 0.1)
        True
        """
        points = as_directions(x)
        d = points.shape[1]
        basis = _trace_free(d)
        moved = np.einsum("kij,nj->nki", basis, points)
        t = np.einsum("nki,ni->nk", moved, points)
        gradients = 2.0 * (moved - t[:, :, None] * points[:, None, :])
        normal = np.einsum("nki,nli->kl", gradients, gradients) / len(points)
        if np.linalg.matrix_rank(normal, hermitian=True) < len(basis):
            raise InputError(
                f"`x`: {len(points)} directions in R^{d} do not determine a Bingham distribution. They are "
                "too few, or lie on a great circle."
            )
        theta = np.linalg.solve(normal, 2.0 * d * t.mean(axis=0))
        return cls(np.einsum("k,kij->ij", theta, basis))

    def score(self, x: ArrayLike) -> Array:
        """2Ax, (n, d)."""
        return np.asarray(2.0 * self._points(x) @ self.A)

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density without its constant, which has no closed form: xᵀAx, (n,)."""
        points = self._points(x)
        return np.asarray(np.einsum("ni,ij,nj->n", points, self.A, points))

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent unit vectors, (n, d), by rejection from angular central Gaussians."""
        return sample_bingham(self.A, check_count(n, "n", 0), np.random.default_rng(rng))


def sample_bingham(matrix: Array, n: int, rng: np.random.Generator) -> Array:
    """Unit vectors with density ∝ exp(xᵀAx), after Kent, Ganeiber and Mardia.

    With B = max eigenvalue − A ≥ 0 and Ω = I + 2B/b the envelope is (xᵀΩx)^(−d/2), the direction of
    a N(0, Ω⁻¹) vector; the best b solves Σ_i 1/(b + 2λ_i) = 1 with λ_i the eigenvalues of B.
    """
    values, axes = np.linalg.eigh(matrix)
    excess = values.max() - values
    d = len(excess)
    b = _envelope(excess)
    spread = 1.0 / np.sqrt(1.0 + 2.0 * excess / b)
    kept = [np.empty((0, d))]
    found = 0
    while found < n:
        size = 2 * (n - found) + 16
        x = rng.standard_normal((size, d)) * spread
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        u = x**2 @ excess
        # log of e^(−u)(1 + 2u/b)^(d/2), less its maximum, which is at u = (d − b)/2.
        level = -u + 0.5 * d * np.log1p(2.0 * u / b) + 0.5 * (d - b) - 0.5 * d * math.log(d / b)
        x = x[np.log1p(-rng.random(size)) <= level]
        kept.append(x)
        found += len(x)
    drawn = np.concatenate(kept)[:n] @ axes.T
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def _envelope(excess: Array) -> float:
    """The root b of Σ 1/(b + 2λ_i) = 1, between 1 and d since the smallest λ is zero."""
    low, high = 1.0, float(len(excess))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (1.0 / (middle + 2.0 * excess)).sum() > 1.0 else (low, middle)
    return 0.5 * (low + high)


def _trace_free(d: int) -> Array:
    """A basis of the symmetric (d, d) matrices of trace zero, (d(d+1)/2 − 1, d, d)."""
    basis = []
    for i in range(d):
        for j in range(i + 1, d):
            pair = np.zeros((d, d))
            pair[i, j] = pair[j, i] = 1.0
            basis.append(pair)
        if i:
            diagonal = np.zeros(d)
            diagonal[:i], diagonal[i] = 1.0, -float(i)
            basis.append(np.diag(diagonal))
    return np.array(basis)
