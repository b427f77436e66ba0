"""Where to look: locations and bandwidth that make a finite-set test powerful, learnt on training data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goodstein.engine.executors import one_blas_thread
from goodstein.errors import InputError
from goodstein.kernels import Kernel, RadialKernel, Whitened
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array

GAMMA = 0.01
"""Added to the variance, in units of the drift, so that a small variance alone does not attract."""
STARTS = 5
"""Sets of locations that are tried before one of them is improved."""
GRID = 3.0 * math.log(2.0) * np.linspace(-1.0, 1.0, 7)
"""Logarithms of the squared bandwidth that are tried, about that of the rule."""
STEPS = 100
APART = 1e-4
"""How far below one the kernel between two locations must be for them to count as two."""


@dataclass(frozen=True)
class Learnt:
    """Locations (J, m), a kernel with its bandwidth, and the criterion that they reached."""

    locations: Array
    kernel: Kernel
    criterion: float | None


class LocationCriterion:
    """U / √(σ² + γ), a proxy of the power, as a function of locations and of θ, for a bandwidth ℓ·e^(θ/2).

    σ² = 4·(mean (τ·τ̄)² − ‖τ̄‖⁴) is the variance of √n·U under the alternative. γ is 0.01 times the
    squared median of ‖a‖²/C, so that nothing depends on the units of the data.
    """

    def __init__(self, features: SteinFeatures, kernel: Kernel) -> None:
        self.features, self.kernel = features, kernel
        unit = float(np.median(np.einsum("ij,ij->i", features.value, features.value)))
        unit /= features.value.shape[1]
        self.gamma = GAMMA * (unit**2 if unit > 0 else 1.0)

    def __call__(self, locations: Array, theta: float) -> tuple[float, Array, float]:
        """The criterion, and its derivatives with respect to the locations, (J, m), and to θ."""
        features, kernel = self.features, self.kernel
        n, count = features.value.shape
        scale = math.exp(-theta)
        shape = 1.0 / math.sqrt(count * len(locations))
        parts = []
        for location in locations:
            r = features.points - location
            rho = np.einsum("ij,ij->i", r, r)
            # k_θ(ρ) = φ(ρe^{−θ}), so every derivative in ρ brings a factor e^{−θ}.
            phi, first, second = kernel.profiles(scale * rho, order=2)
            first, second = first * scale, second * scale**2
            moved = features.along(r)
            parts.append((r, rho, phi, first, second, moved))
        tau = shape * np.stack(
            [
                features.value * phi[:, None] + 2.0 * first[:, None] * moved
                for _, _, phi, first, _, moved in parts
            ],
            axis=1,
        )
        value, by_tau = self._of_features(tau.reshape(n, -1))
        by_tau = shape * by_tau.reshape(tau.shape)
        by_location, by_theta = np.empty_like(locations), 0.0
        for j, (r, rho, _, first, second, moved) in enumerate(parts):
            b = by_tau[:, j]
            along_a = np.einsum("ic,ic->i", b, features.value)
            along_g = np.einsum("ic,ic->i", b, moved)
            # d(a φ + 2 φ′ Gᵀr): r changes by −dv and ρ by −2 r·dv; with θ, φ by −ρφ′ and φ′ by −φ′ − ρφ″.
            pull = -2.0 * first * along_a - 4.0 * second * along_g
            by_location[j] = pull @ r - 2.0 * first @ self._unweighted(b)
            by_theta -= float(rho @ (first * along_a) + 2.0 * ((first + rho * second) @ along_g))
        return value, by_location, by_theta

    def _of_features(self, tau: Array) -> tuple[float, Array]:
        """The criterion of τ, (n, D), and its derivative."""
        n = len(tau)
        mean = tau.mean(axis=0)
        square = float(mean @ mean)
        w = tau @ mean
        u = (n * square - float(np.einsum("ij,ij->", tau, tau)) / n) / (n - 1)
        variance = max(4.0 * (float(w @ w) / n - square**2), 0.0)
        sigma = math.sqrt(variance + self.gamma)
        by_u = (2.0 / (n - 1)) * (mean - tau / n)
        by_variance = (8.0 / n) * (np.outer(w, mean) + (w @ tau) / n - 2.0 * square * mean)
        return u / sigma, by_u / sigma - (0.5 * u / sigma**3) * by_variance

    def _unweighted(self, b: Array) -> Array:
        """G b at every observation, (n, m)."""
        weight = self.features.weight
        if weight is not None and weight.ndim == 3:
            return np.asarray(np.einsum("ilc,ic->il", weight, b))
        return self.features.along(b)


def learn(
    features: SteinFeatures, kernel: Kernel, start: Array | None, count: int, generator: np.random.Generator
) -> Learnt:
    """Locations and bandwidth that maximise the criterion on these features, by L-BFGS-B."""
    from scipy.optimize import minimize

    free = not all(isinstance(term.bandwidths, float) for term in kernel.terms)
    for term in kernel.terms:
        if free and not isinstance(term, RadialKernel):
            raise InputError(
                f"{term!r} has no bandwidth that could be chosen. Use Gaussian(), IMQ() or "
                "RationalQuadratic(), or optimise=False."
            )
    fitted = kernel.fitted_to(features)
    features, plain = features.seen_by(fitted)
    start = None if start is None else fitted.coordinates(start)
    criterion = LocationCriterion(features, plain)
    starts = (
        [start]
        if start is not None
        else [draw_locations(features.points, count, generator) for _ in range(STARTS)]
    )
    grid = GRID if free else np.zeros(1)
    with one_blas_thread():
        best = max(
            ((criterion(v, float(theta))[0], k, float(theta)) for k, v in enumerate(starts) for theta in grid)
        )
        first = starts[best[1]]
        # In units of the data's spread, so that the steps of the search do not depend on the user's.
        centre, spread = features.points.mean(axis=0), features.points.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        reach = np.concatenate([features.points, first])
        # One standard deviation beyond the training data, and beyond the start: far out nothing is seen.
        low, high = (reach.min(axis=0) - centre) / spread - 1.0, (reach.max(axis=0) - centre) / spread + 1.0
        bounds = [*zip(np.tile(low, len(first)), np.tile(high, len(first)), strict=True)]
        bounds.append((float(GRID[0]) - 1.0, float(GRID[-1]) + 1.0) if free else (0.0, 0.0))

        def objective(z: Array) -> tuple[float, Array]:
            v = centre + spread * z[:-1].reshape(first.shape)
            value, by_location, by_theta = criterion(v, float(z[-1]))
            return -value, -np.append((spread * by_location).ravel(), by_theta if free else 0.0)

        found = minimize(
            objective,
            np.append(((first - centre) / spread).ravel(), best[2]),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": STEPS},
        )
    locations, theta = centre + spread * found.x[:-1].reshape(first.shape), float(found.x[-1])
    chosen = fitted.scaled(math.exp(0.5 * theta)) if free else fitted
    if isinstance(fitted, Whitened):
        locations = fitted.fixed.back(locations)
    return Learnt(np.ascontiguousarray(locations), chosen, -float(found.fun))


def draw_locations(points: Array, count: int, generator: np.random.Generator) -> Array:
    """Draws from the normal distribution with the points' mean and covariance, (count, m)."""
    mean, n = points.mean(axis=0), len(points)
    # Random combinations of the centred rows have their covariance, also where it is singular.
    return np.asarray(mean + generator.standard_normal((count, n)) @ (points - mean) / math.sqrt(n))


def distinct(locations: Array, kernel: Kernel) -> int:
    """How many locations the kernel tells apart: 1 − k(v, v′)/k(v, v) above 10⁻⁴, in whatever units."""
    gram = kernel(locations, locations)
    apart = 1.0 - gram / gram[0, 0] > APART
    found: list[int] = []
    for j in range(len(locations)):
        if apart[j, found].all():
            found.append(j)
    return len(found)
