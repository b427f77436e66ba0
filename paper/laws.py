"""The models of the paper's simulations, and the laws that its data follow instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import goodstein as gs
from goodstein.families import Dirichlet, GaussianMixture, Normal, Truncated

Array = np.ndarray
MEANS = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def covariance(nu: float, d: int = 3) -> Array:
    """Σ_ν: unit variances, and the correlation ν of the first two coordinates."""
    found = np.eye(d)
    found[0, 1] = found[1, 0] = nu
    return found


def gaussian(nu: float = 0.0) -> Truncated:
    """N(0, Σ_ν) in the unit ball of R³."""
    return Truncated(Normal(np.zeros(3), covariance(nu)), gs.Ball(3))


def two(means: Any, cov: Array) -> Truncated:
    """½N(μ₁, Σ) + ½N(μ₂, Σ) in the unit ball."""
    return Truncated(GaussianMixture([0.5, 0.5], means, [cov] * 2), gs.Ball(len(cov)))


def mixture(nu: float = 0.0, d: int = 3) -> Truncated:
    """½N(−e₁, Σ_ν) + ½N(e₁, Σ_ν) in the unit ball of R^d."""
    return two(MEANS[:, :d], covariance(nu, d))


@dataclass(frozen=True)
class Singular:
    """The limit ν → 1, which has no density: x₁ − x₂ is constant in every component.

    A draw is μ + (z, z, w) with standard normal z and w, kept if it lies in the ball.
    """

    means: tuple[tuple[float, float, float], ...]

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        means, found = np.array(self.means), np.empty((0, 3))
        while len(found) < n:
            z, w = rng.standard_normal((2, 4 * n))
            x = means[rng.integers(len(means), size=4 * n)] + np.column_stack([z, z, w])
            found = np.concatenate([found, x[(x**2).sum(axis=1) < 1.0]])
        return found[:n]


SINGULAR_GAUSSIAN = Singular(((0.0, 0.0, 0.0),))
SINGULAR_MIXTURE = Singular(((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0)))


def dirichlet(nu: float = 0.0, parts: int = 3) -> Dirichlet:
    """Dirichlet(½ + ν, ½, …, ½)."""
    return Dirichlet([0.5 + nu] + [0.5] * (parts - 1))
