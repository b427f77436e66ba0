"""The models of the paper's simulations, and the laws that its data follow instead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, loggamma

import goodstein as gs
from goodstein.families import Dirichlet, GaussianMixture, Normal, Truncated

Array = np.ndarray
MEANS = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def covariance(nu: float) -> Array:
    """Σ_ν: unit variances, and the correlation ν of the first two coordinates."""
    found = np.eye(3)
    found[0, 1] = found[1, 0] = nu
    return found


def gaussian(nu: float = 0.0) -> Truncated:
    """N(0, Σ_ν) in the unit ball of R³."""
    return Truncated(Normal(np.zeros(3), covariance(nu)), gs.Ball(3))


def mixture(nu: float = 0.0) -> Truncated:
    """½N(−e₁, Σ_ν) + ½N(e₁, Σ_ν) in the unit ball of R³."""
    return Truncated(GaussianMixture([0.5, 0.5], MEANS, [covariance(nu)] * 2), gs.Ball(3))


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


def dirichlet_bound(nu: float, n: int, parts: int = 3, level: float = 0.01) -> float:
    """The power of the most powerful test of Dirichlet(½, …, ½) against ½ + ν, by quadrature.

    The likelihood ratio is monotone in Σ log x₁, whose law is found by inverting its characteristic
    function: E exp(it·log x₁) = Γ(α₁ + it)Γ(α₀) / (Γ(α₁)Γ(α₀ + it)). It checks the
    simulated bound.
    """

    def tail(y: float, first: float) -> float:
        total = first + 0.5 * (parts - 1)
        t = np.linspace(1e-7, 60.0 / np.sqrt(n), 40_001)
        log_phi = n * (loggamma(first + 1j * t) - gammaln(first) + gammaln(total) - loggamma(total + 1j * t))
        integrand = np.imag(np.exp(log_phi - 1j * t * y)) / t
        return 0.5 + float(np.trapezoid(integrand, t)) / np.pi

    centre = n * (digamma(0.5) - digamma(0.5 * parts))
    spread = 40.0 * np.sqrt(n)
    if nu > 0:  # large Σ log x₁ speaks for the alternative
        edge = brentq(lambda y: tail(y, 0.5) - level, centre - spread, centre + spread)
        return tail(edge, 0.5 + nu)
    edge = brentq(lambda y: tail(y, 0.5) - (1 - level), centre - spread, centre + spread)
    return 1.0 - tail(edge, 0.5 + nu)
