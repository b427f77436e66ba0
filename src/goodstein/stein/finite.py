"""Features of finitely many test functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from goodstein.kernels.frames import Located
from goodstein.numerics import polynomials
from goodstein.stein.features import SteinFeatures, require_finite
from goodstein.stein.forms import LowRankForm
from goodstein.types import Array


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
