r"""The kernel Stein discrepancy as a function of the parameters.

The features of observation i are (y_i, a_i, G_i) with a_i(θ) = a_i(0) + M_i u_i(θ), u the score. With a
radial kernel φ(ρ), r = y_i − y_j,

    h_ij = φ a_i·a_j + 2φ′ [a_j·G_iᵀr − a_i·G_jᵀr] + (terms without a),

so V(θ) = [Σ_ij φ_ij a_i·a_j + 2 Σ_i a_i·γ_i]/n² + constant, γ_i = −2 Σ_j φ′_ij G_jᵀ(y_i − y_j).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.engine.reduce import quadratic_forms
from goodstein.estimate.affine import AffineScores
from goodstein.estimate.base import Scores
from goodstein.estimate.gram import Gram
from goodstein.estimate.minimise import hessian_by_differences, solve_normal_equations
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array

MOST_NUMBERS = 1 << 23
"""Size of the largest array; parameters are taken in parts where one for all of them would be larger."""


class DiscrepancyObjective:
    """The V-statistic of the discrepancy, as a function of θ.

    Parameters
    ----------
    scores
        The family at the data.
    features
        The operator at score zero.
    slopes
        M, (n, J, m): how its values change with the score.
    kernel
        A fitted radial kernel.
    """

    def __init__(self, scores: Scores, features: SteinFeatures, slopes: Array, kernel: Any) -> None:
        self.scores, self.slopes = scores, slopes
        self.value = features.value
        # About their mean, so that an offset costs no digits; ρ and r do not change.
        self.points = features.points - features.points.mean(axis=0)
        self.weight = _as_matrix(features)
        self.gram = Gram(self.points, kernel)
        self.pairs = float(scores.n**2)
        form = features.form(kernel)
        diagonal = form.diagonal()
        self.scale = float(diagonal.mean())
        self._gamma = self._linear(None)
        at_zero = self._quadratic_form(self.value, *self._linear_terms(self.value, None), None)
        without = quadratic_forms(form, None, workers=1)[0]  # the U-statistic
        self.constant = (without * scores.n * (scores.n - 1) + float(diagonal.sum())) / self.pairs - at_zero

    def value_and_gradient(self, theta: Array, counts: Array | None = None) -> tuple[float, Array]:
        """The objective and its gradient."""
        values = self._values(theta)
        product, gamma = self._linear_terms(values, counts)
        value = self._quadratic_form(values, product, gamma, counts) + self.constant
        on_values = 2.0 * (product + gamma) / self.pairs
        if counts is not None:
            on_values = on_values * counts[:, None]
        gradient = np.zeros(self.scores.size)
        for rows in self.scores.row_blocks():
            on_score = np.einsum("nj,njm->nm", on_values[rows], self.slopes[rows])
            evaluation = self.scores.evaluate(theta, rows, second=False)
            gradient += evaluation.pullback(on_score, None)
        return value, gradient

    def solve(self, counts: Array | None = None) -> Array:
        """θ = −A⁻¹b for scores that are affine in θ."""
        return solve_normal_equations(*self._quadratic(counts), self.scores.coordinates)

    def hessian(self, theta: Array) -> Array:
        """2A for affine scores; by differences of the gradient otherwise."""
        if isinstance(self.scores, AffineScores):
            return 2.0 * self._quadratic(None)[0]
        return hessian_by_differences(self, theta)

    def influences(self, theta: Array) -> Array:
        """2/n Σ_j ∇_θ h_ij, (n, p): twice the projection of the gradient, whose mean is zero at the minimum.

        ∇h_ij has a part from each argument; at the true parameters only that of the second has a mean over
        j which is not zero.
        """
        n = self.scores.n
        values = self._values(theta)
        product, gamma = self._linear_terms(values, None)
        jacobian = self._jacobian(theta)
        own = np.einsum("nj,njp->np", product + gamma, jacobian)
        few = max(1, MOST_NUMBERS // (n * self.weight[0].size))
        parts = range(0, jacobian.shape[2], few)
        other = [self._others(values, jacobian[:, :, first : first + few]) for first in parts]
        return np.asarray(2.0 * (own + np.hstack(other)) / n)

    def _others(self, values: Array, jacobian: Array) -> Array:
        """Σ_j ∂a_j·(a_i φ_ij + 2φ′_ij G_iᵀ(y_i − y_j)), (n, p), for p parameters."""
        # l runs over coordinates of y, j over test functions.
        n, j, p = jacobian.shape
        m = self.points.shape[1]
        flat = jacobian.reshape(n, j * p)
        moved = (self.points[:, :, None, None] * jacobian[:, None]).reshape(n, m * j * p)
        plain, slope = self.gram.products(flat, np.hstack([flat, moved]))
        assert plain is not None and slope is not None
        first = slope[:, : j * p].reshape(n, 1, j, p)
        second = slope[:, j * p :].reshape(n, m, j, p)
        other = np.einsum("nj,njp->np", values, plain.reshape(n, j, p))
        other += 2.0 * np.einsum("nlj,nljp->np", self.weight, self.points[:, :, None, None] * first - second)
        return np.asarray(other)

    def lost(self, theta: Array) -> float:
        """The largest rounding error of a(θ), as a share of its typical size: large scores may cancel."""
        error = np.finfo(np.float64).eps * np.einsum("njm,nm->nj", abs(self.slopes), abs(self._score(theta)))
        return float(error.max() / np.sqrt((self._values(theta) ** 2).mean()))

    def _score(self, theta: Array) -> Array:
        blocks = self.scores.row_blocks()
        return np.concatenate([self.scores.evaluate(theta, rows, second=False).score for rows in blocks])

    def _values(self, theta: Array) -> Array:
        """a(θ), (n, J)."""
        return np.asarray(self.value + np.einsum("njm,nm->nj", self.slopes, self._score(theta)))

    def _jacobian(self, theta: Array) -> Array:
        """∂a/∂θ, (n, J, p)."""
        scores = self.scores
        if isinstance(scores, AffineScores):
            return np.asarray(self.slopes @ scores.design)
        m = self.slopes.shape[2]
        parts = []
        for rows in scores.row_blocks():
            evaluation = scores.evaluate(theta, rows, second=False)
            units = np.broadcast_to(np.eye(m)[:, None, :], (m, len(self.value[rows]), m))
            parts.append(np.stack([evaluation.pullback(unit, None, each=True) for unit in units], axis=1))
        return np.asarray(self.slopes @ np.concatenate(parts))

    def _linear(self, counts: Array | None) -> Array:
        """γ, (n, J)."""
        n, m, j = self.weight.shape
        weight = self.weight if counts is None else self.weight * counts[:, None, None]
        along = np.einsum("nlj,nl->nj", weight, self.points)
        _, slope = self.gram.products(None, np.hstack([along, weight.reshape(n, m * j)]))
        assert slope is not None
        own = np.einsum("nl,nlj->nj", self.points, slope[:, j:].reshape(n, m, j))
        return np.asarray(2.0 * (slope[:, :j] - own))

    def _linear_terms(self, values: Array, counts: Array | None) -> tuple[Array, Array]:
        """Σ_j φ_ij a_j and γ_i, (n, J) both."""
        product, _ = self.gram.products(values if counts is None else values * counts[:, None], None)
        assert product is not None
        return product, self._gamma if counts is None else self._linear(counts)

    def _quadratic_form(self, values: Array, product: Array, gamma: Array, counts: Array | None) -> float:
        inner = (values * (product + 2.0 * gamma)).sum(axis=1)
        return float(inner.sum() if counts is None else inner @ counts) / self.pairs

    def _quadratic(self, counts: Array | None) -> tuple[Array, Array]:
        """A and b of the objective θᵀAθ + 2bᵀθ + c."""
        scores = self.scores
        assert isinstance(scores, AffineScores)
        n, p = scores.n, scores.size
        design = self.slopes @ scores.design
        at_zero = self.value + np.einsum("njm,nm->nj", self.slopes, scores.offset)
        weighted = design if counts is None else design * counts[:, None, None]
        product, _ = self.gram.products(weighted.reshape(n, -1), None)
        linear, gamma = self._linear_terms(at_zero, counts)
        assert product is not None
        left = weighted.reshape(-1, p).T
        return left @ product.reshape(-1, p) / self.pairs, left @ (linear + gamma).ravel() / self.pairs


def _as_matrix(features: SteinFeatures) -> Array:
    """G as (n, m, J)."""
    n, m = features.points.shape
    weight = np.ones((n, m)) if features.weight is None else features.weight
    if weight.ndim == 3:
        return weight
    diagonal = np.broadcast_to(weight.reshape(n, -1), (n, m))
    return np.asarray(diagonal[:, :, None] * np.eye(m))
