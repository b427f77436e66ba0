"""The Kent distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.domains.base import ROUNDING
from goodstein.domains.sphere import Sphere
from goodstein.errors import InputError
from goodstein.families.base import Family
from goodstein.families.bingham import sample_bingham
from goodstein.families.checks import as_nonnegative, as_parameter
from goodstein.families.directions import as_directions, drawn_by_rejection
from goodstein.types import Array, ArrayLike


class Kent(Family):
    r"""Kent distribution of unit vectors in R³: von Mises–Fisher with an elliptic shape.

    .. math::

        \log q(x) = \kappa\, \gamma_1 \cdot x + \beta [(\gamma_2 \cdot x)^2 - (\gamma_3 \cdot x)^2] + c,
        \qquad s(x) = \kappa \gamma_1 + 2 \beta (\gamma_2 \gamma_2^\top - \gamma_3 \gamma_3^\top) x.

    Parameters
    ----------
    axes
        Orthonormal rows γ₁ (mean direction), γ₂ (major axis), γ₃ (minor axis), (3, 3).
    kappa
        Concentration κ ≥ 0.
    beta
        Ovalness β ≥ 0; up to κ/2 there is one mode, beyond two.

    References
    ----------
    Kent (1982), "The Fisher-Bingham distribution on the sphere", *Journal of the Royal
    Statistical Society B* 44, 71-80.
    Mardia, Kent & Laha (2016), "Score matching estimators for directional distributions".

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.families import Kent
    >>> q = Kent(np.eye(3), kappa=10.0, beta=3.0)
    >>> q
    Kent(axes=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], kappa=10, beta=3)
    >>> q.score([[1, 0, 0]])
    array([[10., 0., 0.]])
    >>> fitted = Kent.fit(q.sample(100_000, rng=0))
    >>> abs(fitted.kappa - 10) < 0.2, abs(fitted.beta - 3) < 0.1
    (True, True)
    """

    axes: Array
    kappa: float
    beta: float

    def __init__(self, axes: ArrayLike, kappa: float, beta: float) -> None:
        rows = as_parameter("axes", axes)
        if rows.shape != (3, 3):
            reason = f"expected the three axes as rows, (3, 3), got shape {rows.shape}."
            raise InputError(reason, argument="axes")
        gap = float(np.abs(rows @ rows.T - np.eye(3)).max())
        if gap > ROUNDING:
            reason = f"the rows must be orthonormal, but their scalar products are wrong by {gap:.3g}."
            remedy = "np.linalg.qr(np.asarray(axes, dtype=float).T)[0].T makes them so, up to signs."
            raise InputError(reason, argument="axes", remedy=remedy)
        kappa, beta = as_nonnegative("kappa", kappa), as_nonnegative("beta", beta)
        self._set(axes=rows, kappa=kappa, beta=beta, domain=Sphere(3))

    @classmethod
    def fit(cls, x: ArrayLike) -> Self:
        """Axes by moments, as in Kent (1982); κ ≥ 0 and β ≥ 0 by score matching.

        Both are consistent at every concentration, whereas the approximate κ and β of the moment
        method are right only for large κ.
        """
        points = as_directions(x)
        if points.shape[1] != 3:
            reason = f"the Kent distribution lives in R³, got {points.shape[1]} columns."
            raise InputError(reason, argument="x")
        mean = points.mean(axis=0)
        length = float(np.linalg.norm(mean))
        if length < 1e-12:
            raise InputError("the mean vector is zero, so there is no mean direction.", argument="x")
        first = mean / length
        across = np.linalg.svd(first[None, :])[2][1:]  # any basis of the plane at right angles
        scatter = (points @ across.T).T @ (points @ across.T) / len(points)
        major = np.linalg.eigh(scatter)[1][:, 1] @ across
        minor = np.cross(first, major)
        return cls(np.array([first, major, minor]), *_score_matching(points, first, major, minor))

    def _fit_method(self, **options: Any) -> str:
        return "moments and score matching"

    def score(self, x: ArrayLike) -> Array:
        first, second, third = self.axes
        points = self._points(x)
        shape = np.outer(points @ second, second) - np.outer(points @ third, third)
        return np.asarray(self.kappa * first + 2.0 * self.beta * shape)

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density without its constant, which has no closed form, (n,)."""
        along, second, third = (self._points(x) @ self.axes.T).T
        return np.asarray(self.kappa * along + self.beta * (second**2 - third**2))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        """Unit vectors by rejection from a Bingham distribution.

        From t ≤ (1 + t²)/2 the density is below that of the Bingham distribution with κ/2 more along γ₁,
        and what that gives is accepted with probability exp(−κ(1 − t)²/2), t = γ₁·x.
        """
        first, second, third = self.axes
        envelope = 0.5 * self.kappa * np.outer(first, first)
        envelope += self.beta * (np.outer(second, second) - np.outer(third, third))

        def accepted(missing: int) -> Array:
            x = sample_bingham(envelope, 3 * missing + 16, rng)
            level = -0.5 * self.kappa * (1.0 - x @ first) ** 2
            return np.asarray(x[np.log1p(-rng.random(len(x))) <= level])

        return drawn_by_rejection(n, (3,), accepted)

    def _brief(self) -> dict[str, Any]:
        # The third axis follows from these two.
        return {"mean": self.axes[0], "major": self.axes[1], "kappa": self.kappa, "beta": self.beta}


def _score_matching(x: Array, first: Array, major: Array, minor: Array) -> tuple[float, float]:
    """κ ≥ 0 and β ≥ 0 that minimise the score matching objective at given axes.

    For t₁ = γ₁·x and t₂ = (γ₂·x)² − (γ₃·x)² on S²: Δt₁ = −2t₁, Δt₂ = −6t₂.
    """
    along, u, v = x @ first, x @ major, x @ minor
    shape = u**2 - v**2
    across = 2.0 * (u[:, None] * major - v[:, None] * minor - shape[:, None] * x)
    gradients = [first - along[:, None] * x, across]
    normal = np.array([[np.einsum("ij,ij->i", a, b).mean() for b in gradients] for a in gradients])
    right = np.array([2.0 * along.mean(), 6.0 * shape.mean()])
    if np.linalg.matrix_rank(normal, hermitian=True) == 2:
        kappa, beta = np.linalg.solve(normal, right)
        if kappa >= 0 and beta >= 0:
            return float(kappa), float(beta)
    if not normal[0, 0] > 0:
        raise InputError("all directions are equal, so that no finite kappa fits them.", argument="x")
    # Both right-hand sides are positive by the choice of the axes. On the edge of the quadrant the
    # objective is least at one of the two single fits.
    single = [max(right[k], 0.0) / normal[k, k] if normal[k, k] > 0 else 0.0 for k in range(2)]
    gains = [right[k] * single[k] for k in range(2)]
    return (float(single[0]), 0.0) if gains[0] >= gains[1] else (0.0, float(single[1]))
