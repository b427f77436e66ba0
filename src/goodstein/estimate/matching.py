r"""The objective of score matching, weighted by an auxiliary function.

With the score s = ∇log q, its derivatives along orthonormal directions k, and a weight g that
vanishes at the boundary,

    ℓ(x; θ) = Σ_k g_k (s_k² + 2 ∂_k s_k) + 2 ∂_k g_k · s_k,

whose mean is, up to a constant, E Σ_k g_k (∂_k log p − s_k)². One g for all directions makes it
g(‖s‖² + 2∇·s) + 2∇g·s.
"""

from __future__ import annotations

import numpy as np

from goodstein.estimate.affine import AffineScores
from goodstein.estimate.base import Evaluation, Scores
from goodstein.estimate.minimise import hessian_by_differences, solve_normal_equations
from goodstein.types import Array


class MatchingObjective:
    """The mean of ℓ over the observations, as a function of θ.

    Parameters
    ----------
    scores
        The family at the data.
    weight, slope
        g_k and ∂_k g_k along the directions of the sample, (n, m) both.
    unit
        A length on which the data vary.
    """

    def __init__(self, scores: Scores, weight: Array, slope: Array, unit: float) -> None:
        self.scores = scores
        self.weight, self.slope = weight, slope
        self.unit = unit
        self.scale = float(weight.mean()) * weight.shape[1] / unit**2

    def value_and_gradient(self, theta: Array, counts: Array | None = None) -> tuple[float, Array]:
        """The objective and its gradient."""
        value, gradient = 0.0, np.zeros(self.scores.size)
        total = float(self.scores.n if counts is None else counts.sum())
        for rows in self.scores.row_blocks():
            evaluation, on_score, on_second, losses = self._block(theta, rows)
            if counts is not None:
                losses = losses * counts[rows]
                on_score, on_second = on_score * counts[rows, None], on_second * counts[rows, None]
            value += float(losses.sum())
            gradient += evaluation.pullback(on_score, on_second)
        return value / total, gradient / total

    def influences(self, theta: Array) -> Array:
        """∇_θ ℓ at each observation, (n, p)."""
        parts = []
        for rows in self.scores.row_blocks():
            evaluation, on_score, on_second, _ = self._block(theta, rows)
            parts.append(evaluation.pullback(on_score, on_second, each=True))
        return np.concatenate(parts)

    def solve(self, counts: Array | None = None) -> Array:
        """θ = −A⁻¹b for scores that are affine in θ, where the objective is θᵀAθ + 2bᵀθ + c."""
        return solve_normal_equations(*self._quadratic(counts), self.scores.coordinates)

    def hessian(self, theta: Array) -> Array:
        """2A for affine scores; by differences of the gradient otherwise."""
        if isinstance(self.scores, AffineScores):
            return 2.0 * self._quadratic(None)[0]
        return hessian_by_differences(self, theta)

    def _quadratic(self, counts: Array | None) -> tuple[Array, Array]:
        """A and b."""
        scores = self.scores
        assert isinstance(scores, AffineScores)
        weight, slope = self.weight, self.slope
        if counts is not None:
            weight, slope = weight * counts[:, None], slope * counts[:, None]
        design = scores.design.reshape(-1, scores.size)
        matrix = design.T @ (weight.reshape(-1, 1) * design)
        right = design.T @ (weight * scores.offset + slope).ravel()
        right += scores.second_design.reshape(-1, scores.size).T @ weight.ravel()
        return matrix / scores.n, right / scores.n

    def _block(self, theta: Array, rows: slice) -> tuple[Evaluation, Array, Array, Array]:
        """The evaluation, the derivatives of ℓ in s and ∂s, and ℓ itself, at some rows."""
        evaluation = self.scores.evaluate(theta, rows)
        g, dg, s = self.weight[rows], self.slope[rows], evaluation.score
        losses = (g * (s * s + 2.0 * evaluation.second) + 2.0 * dg * s).sum(axis=1)
        return evaluation, 2.0 * (g * s + dg), 2.0 * g, losses
