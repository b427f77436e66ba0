"""Density estimates of compositions with full bandwidth matrices, and tests of them.

Points are (m, 2): the plane of the simplex, or log-ratios.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import variants
from scipy.optimize import minimize
from scipy.stats import gaussian_kde

import goodstein as gs
from goodstein.models.kde import GaussianKDE

Array = np.ndarray
SIMPLEX = gs.Simplex(3)
ROUNDING = 0.01 / np.sqrt(12)
"""The standard deviation of what whole per cents hide."""


def normal_scale(z: Array) -> Array:
    """SciPy's full matrix, by Scott's rule, which in two dimensions is Silverman's and the normal scale."""
    return np.atleast_2d(gaussian_kde(z.T).covariance)


def gradient_scale(z: Array) -> Array:
    """The normal-scale matrix for the gradient of the density, which is what a score needs.

    (4/(n(d + 2r + 2)))^(2/(d + 2r + 4))·S with r = 1 (Chacón, Duong & Wand 2011).
    """
    n, d = z.shape
    return (4 / (n * (d + 4))) ** (2 / (d + 6)) * np.cov(z.T)


def cross_validated(z: Array, floor: float) -> Array:
    """The full matrix with the largest leave-one-out likelihood.

    It is `floor`²·I plus any positive matrix: rounded data share coordinates, and without a floor the
    likelihood would grow for ever along a direction in which each point has a neighbour.
    """
    x, y = (z[:, None] - z)[~np.eye(len(z), dtype=bool)].T

    def matrix(theta: Array) -> Array:
        factor = np.array([[np.exp(theta[0]), 0.0], [theta[1], np.exp(theta[2])]])
        return factor @ factor.T + floor**2 * np.eye(2)

    def loss(theta: Array) -> float:
        h = matrix(theta)
        det = h[0, 0] * h[1, 1] - h[0, 1] ** 2
        square = (h[1, 1] * x**2 - 2 * h[0, 1] * x * y + h[0, 0] * y**2) / det
        each = -0.5 * square.reshape(len(z), -1)
        top = each.max(axis=1)
        inner = top + np.log(np.exp(each - top[:, None]).sum(axis=1))
        return float(0.5 * len(z) * np.log(det) - inner.sum())

    start = np.linalg.cholesky(normal_scale(z))
    theta = np.array([np.log(start[0, 0]), start[1, 0], np.log(start[1, 1])])
    steps = np.vstack([theta, theta + np.diag([0.5, 0.5 * start[1, 1], 0.5])])
    options = {"initial_simplex": steps, "xatol": 1e-3, "fatol": 1e-4, "maxiter": 400}
    return matrix(minimize(loss, theta, method="Nelder-Mead", options=options).x)


def to_plane(x: Array) -> Array:
    return (x - 1 / 3) @ SIMPLEX.basis.T


@dataclass(frozen=True)
class PlaneDensity:
    """A density estimate in the plane of the simplex, cut off at its edge: the score needs no constant."""

    kde: GaussianKDE
    domain: Any = SIMPLEX

    def score(self, x: Array) -> Array:
        return self.kde.score(to_plane(x)) @ SIMPLEX.basis

    def logpdf(self, x: Array) -> Array:
        return self.kde.logpdf(to_plane(x))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        found = np.empty((0, 3))
        while len(found) < n:
            x = 1 / 3 + self.kde.sample(4 * n, rng) @ SIMPLEX.basis
            found = np.concatenate([found, x[(x > 0).all(axis=1)]])
        return found[:n] / found[:n].sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Split:
    """A way to fit a density to one part of the data and to test it on the other."""

    select: Callable[[Array], Array]
    plane: bool = True
    test: Any = None

    def fit(self, x: Array) -> Any:
        z = to_plane(x) if self.plane else SIMPLEX.to_logratio(x)
        kde = GaussianKDE(z, self.select(z))
        return PlaneDensity(kde) if self.plane else kde

    def draw(self, model: Any, n: int, rng: np.random.Generator) -> Array:
        x = model.sample(n, rng)
        return x if self.plane else SIMPLEX.from_logratio(x)

    def pvalue(self, model: Any, x: Array, rng: np.random.Generator) -> float:
        test = self.test or (MINIMUM if self.plane else LOG_RATIOS)
        result = test(x if self.plane else SIMPLEX.to_logratio(x), model, rng=rng)
        return result if isinstance(result, float) else float(result.pvalue)


MINIMUM = variants.bd_ksd(gs.BoundaryDistance())
LOG_RATIOS = partial(gs.ksd_test, kernel=gs.Gaussian(), audit=False, workers=1)  # in R², nothing vanishes
MAIN = "plane, normal scale"
TESTS = {
    MAIN: Split(normal_scale),
    "plane, normal scale of the gradient": Split(gradient_scale),
    "plane, cross-validation": Split(partial(cross_validated, floor=ROUNDING)),
    "plane, normal scale, as coded": Split(
        normal_scale, test=variants.coded(variants.Ambient(gs.BoundaryDistance()))
    ),
    "log-ratios, normal scale": Split(normal_scale, plane=False),
    # In the middle of the triangle a log-ratio is three times as far as a part.
    "log-ratios, cross-validation": Split(partial(cross_validated, floor=3 * ROUNDING), plane=False),
}
