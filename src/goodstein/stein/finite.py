"""Features of finitely many test functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from goodstein.kernels.frames import Located
from goodstein.numerics import polynomials
from goodstein.numerics.ranges import cut
from goodstein.stein.features import SteinFeatures, require_finite
from goodstein.stein.forms import LowRankForm
from goodstein.types import Array

TOGETHER = 1 << 20
"""Labels that are drawn at a time."""


@dataclass(frozen=True)
class FiniteFeatures(Located):
    """τ, (n, c): finitely many test functions at n observations, which need no kernel.

    `drawn` is what the observations were compared with, where that is the same whatever they are, and
    `inside` are features of which these were made, where others are to be seen as these were.
    """

    tau: Array
    drawn: Located | None = None
    inside: SteinFeatures | None = None

    def __post_init__(self) -> None:
        require_finite("Remove these rows, or take test functions of a lower degree.", {"features": self.tau})

    def __len__(self) -> int:
        return len(self.tau)

    @property
    def points(self) -> Array:
        """The features themselves."""
        return self.tau

    @property
    def shared(self) -> Located | None:
        return self.drawn

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another."""
        return replace(self, tau=np.concatenate([part.tau for part in (self, *others)]))

    def form(self, kernel: Any) -> LowRankForm:
        """τ τᵀ, whatever the kernel is."""
        return LowRankForm(self.tau)

    def stacked(self, count: int) -> FiniteFeatures:
        return self


def polynomial_features(features: SteinFeatures, degree: int) -> Array:
    """ξ_i of f = e_j p(y) for all monomials p of a degree, a_j p + Σ_l G_lj ∂_l p, (n, count·J)."""
    y, value, weight = features.points, features.value, features.weight
    tau = polynomials.values(y, degree)[:, :, None] * value[:, None, :]
    for column, factors in enumerate(polynomials.monomials(y.shape[1], degree)):
        if weight is not None and weight.ndim == 3:
            tau[:, column] += features.along(polynomials.gradient(y, factors))
            continue
        for variable, slope in polynomials.slopes(y, factors):
            g = 1.0 if weight is None else weight if weight.ndim == 1 else weight[:, variable]
            tau[:, column, variable] += g * slope
    return np.asarray(tau.reshape(len(y), -1))


@dataclass(frozen=True)
class LabelFeatures(FiniteFeatures):
    """Labels, (n,), and their probabilities, (n, M), given all else: τ_ij = w_j (1[label_i = j] − p_ij).

    `context` is what they were made with, for features of others.
    """

    labels: Array = field(default_factory=lambda: np.empty(0, np.intp))
    probabilities: Array = field(default_factory=lambda: np.empty((0, 0)))
    weights: Array = field(default_factory=lambda: np.empty(0))
    context: Any = None

    @classmethod
    def of(cls, labels: Array, probabilities: Array, weights: Array, context: Any = None) -> LabelFeatures:
        """With τ."""
        observed = np.arange(probabilities.shape[1]) == labels[:, None]
        tau = weights * (observed - probabilities)
        return cls(tau, labels=labels, probabilities=probabilities, weights=weights, context=context)

    def joined(self, others: Sequence[FiniteFeatures]) -> FiniteFeatures:  # type: ignore[override]
        """Features alone: labels that are compared with each other are drawn by signs."""
        return FiniteFeatures(np.concatenate([part.tau for part in (self, *others)]))

    def form(self, kernel: Any) -> LabelForm:
        """τ τᵀ, whatever the kernel is."""
        return LabelForm(self)


class LabelForm(LowRankForm):
    """τ τᵀ of labels, whose statistic can be drawn by drawing labels anew."""

    def __init__(self, features: LabelFeatures) -> None:
        super().__init__(features.tau)
        self._features = features

    def redrawn(self, count: int, rng: np.random.Generator) -> Array:
        features, n = self._features, self.n
        p, w2 = features.probabilities, features.weights**2
        edges = np.cumsum(p, axis=1)[:, :-1]
        # ‖τ‖² of an observation under each of its labels.
        norms = (p**2 @ w2)[:, None] + w2 * (1.0 - 2.0 * p)
        expected = p.sum(axis=0)
        out = np.empty(count)
        for draws in cut(0, count, max(1, TOGETHER // n)):
            u = rng.random((draws.stop - draws.start, n))
            labels = (u[:, :, None] >= edges).sum(axis=2)
            counts = np.stack([(labels == j).sum(axis=1) for j in range(p.shape[1])], axis=1)
            sums = norms[np.arange(n), labels].sum(axis=1)
            out[draws] = ((counts - expected) ** 2 @ w2 - sums) / (n * (n - 1))
        return out
