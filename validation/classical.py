"""Classical statistics: of points against what many draws of a model tell, of durations, and of residuals.

Those of points were made for the normal or the uniform law; here the model stands in its place, and data are
compared with its draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from scipy.stats import chi2, kstest
from survival import on_the_scale
from tables import Array

import goodstein as gs

MANY, SOME = 20_000, 1000
"""Draws that stand for the model, and how many of them where they are compared with the data in pairs."""

# Of points.


def coordinates(domain: Any, x: Array) -> Array:
    """Log-ratios of compositions, cosines and sines of angles, otherwise the points as they are."""
    return np.log(x) @ domain.basis.T if isinstance(domain, gs.Simplex) else domain.embedded(x)


class Known:
    """What statistics know of a model."""

    def __init__(self, model: Any) -> None:
        self.domain = model.domain
        self.drawn = model.sample(MANY, np.random.default_rng(30))
        y = coordinates(self.domain, self.drawn)
        self.mean = y.mean(axis=0)
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(y.T)))
        kept = values > 1e-9 * values[-1]
        self.root = vectors[:, kept] / np.sqrt(values[kept])
        self.some = self.whitened(self.drawn[:SOME])
        self._usual: dict[Any, tuple[Array, Array]] = {}

    def whitened(self, x: Array) -> Array:
        return (coordinates(self.domain, x) - self.mean) @ self.root

    @cached_property
    def margins(self) -> Array:
        """Each coordinate sorted; of angles between 0 and 2π."""
        return np.sort(self.plain(self.drawn), axis=0)

    def plain(self, x: Array) -> Array:
        if isinstance(self.domain, gs.Torus):
            return np.mod(x, 2 * np.pi)
        return coordinates(self.domain, x)

    def shares(self, x: Array) -> Array:
        """Probability transforms of the coordinates, sorted, strictly between zero and one, (n, d)."""
        y = np.sort(self.plain(x), axis=0)
        found = [np.searchsorted(m, column) for m, column in zip(self.margins.T, y.T, strict=True)]
        return (np.array(found).T + 0.5) / (MANY + 1)

    def usual(self, features: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Mean and deviation of features of whitened draws."""
        if features not in self._usual:
            found = features(self.whitened(self.drawn))
            self._usual[features] = found.mean(axis=0), np.maximum(found.std(axis=0), 1e-9)
        return self._usual[features]


Statistic = Callable[[Array, Known], float]


def kolmogorov(x: Array, known: Known) -> float:
    """The largest deviation of a marginal distribution function."""
    u, i = known.shares(x), np.arange(len(x))[:, None]
    return float(np.maximum((i + 1) / len(x) - u, u - i / len(x)).max())


def anderson(x: Array, known: Known) -> float:
    """The largest A² of a coordinate."""
    u, i = known.shares(x), np.arange(1, len(x) + 1)[:, None]
    sums = ((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1]))).mean(axis=0)
    return float(-len(x) - sums.min())


def cramer(x: Array, known: Known) -> float:
    """The largest W² of a coordinate."""
    u, i = known.shares(x), np.arange(len(x))[:, None]
    return float(((u - (2 * i + 1) / (2 * len(x))) ** 2).sum(axis=0).max())


def kuiper(x: Array, known: Known) -> float:
    """The largest D⁺ + D⁻ of an angle."""
    u, i = known.shares(x), np.arange(len(x))[:, None]
    return float((((i + 1) / len(x) - u).max(axis=0) + (u - i / len(x)).max(axis=0)).max())


def watson(x: Array, known: Known) -> float:
    """The largest U² of an angle."""
    u, i = known.shares(x), np.arange(len(x))[:, None]
    square = ((u - (2 * i + 1) / (2 * len(x))) ** 2).sum(axis=0)
    return float((square - len(x) * (u.mean(axis=0) - 0.5) ** 2).max())


def means(x: Array, known: Known) -> float:
    """Hotelling's statistic with known moments; of directions it is Rayleigh's for this model."""
    return float((known.whitened(x).mean(axis=0) ** 2).sum())


def products(z: Array) -> Array:
    i, j = np.triu_indices(z.shape[1])
    return z[:, i] * z[:, j]


def deviations(x: Array, known: Known, features: Callable[[Array], Array]) -> Array:
    mean, deviation = known.usual(features)
    return (features(known.whitened(x)).mean(axis=0) - mean) / deviation


def second(x: Array, known: Known) -> float:
    """Second moments of whitened coordinates, each in units of its deviation; of axes it is Bingham's."""
    return float((deviations(x, known, products) ** 2).sum())


def largest_second(x: Array, known: Known) -> float:
    return float(np.abs(deviations(x, known, products)).max())


def double(z: Array) -> Array:
    """Not of z but of angles."""
    return np.column_stack([np.cos(2 * z), np.sin(2 * z)])


def second_harmonic(x: Array, known: Known) -> float:
    """Rayleigh's statistic of doubled angles, against the model's."""
    gap = double(x).mean(axis=0) - double(known.drawn).mean(axis=0)
    return float((gap**2).sum())


def fourth(z: Array) -> Array:
    return (z**2).sum(axis=1, keepdims=True) ** 2


def kurtosis(x: Array, known: Known) -> float:
    """Mardia's kurtosis with known moments, against the model's, on both sides."""
    return float(abs(deviations(x, known, fourth)[0]))


def distance(x: Array, known: Known, kernel: Callable[[Array, Array], Array]) -> float:
    """The squared distance of data and draws in the space of a kernel, up to a constant."""
    z = known.whitened(x)
    return float(kernel(z, z).mean() - 2 * kernel(z, known.some).mean())


def squares(a: Array, b: Array) -> Array:
    return np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0.0)


def cubed(a: Array, b: Array) -> Array:
    inner = a @ b.T
    return inner * inner * inner


def skewness(x: Array, known: Known) -> float:
    """Mardia's skewness with known moments: third moments against the model's."""
    return distance(x, known, cubed)


def henze_zirkler(x: Array, known: Known) -> float:
    """Characteristic functions, with the weight of Henze & Zirkler (1990), against the model's."""
    n, d = len(x), known.some.shape[1]
    beta = ((2 * d + 1) * n / 4) ** (1 / (d + 4)) / np.sqrt(2)
    return distance(x, known, lambda a, b: np.exp(-0.5 * beta**2 * squares(a, b)))


def energy(x: Array, known: Known) -> float:
    return distance(x, known, lambda a, b: -np.sqrt(squares(a, b)))


def gine(x: Array, known: Known) -> float:
    """Giné's F_n, against draws of the model."""

    def kernel(a: Array, b: Array) -> Array:
        cosine = np.clip(a @ b.T, -1.0, 1.0)
        return -(np.arccos(cosine) + np.sqrt(1 - cosine**2))

    return float(kernel(x, x).mean() - 2 * kernel(x, known.drawn[:SOME]).mean())


# Of lattices.


@lru_cache(maxsize=4)
def listed(model: Any) -> tuple[Array, Array, Array]:
    """All states as single and pairwise indicators, their probabilities, and the deviations of the former."""
    domain = model.domain
    states = domain.states()
    logs = model.logpdf(states)
    q = np.exp(logs - logs.max())
    q /= q.sum()
    features = indicators(domain, states)
    mean = q @ features
    return features, q, np.sqrt(np.maximum(q @ (features - mean) ** 2, 1e-12))


def indicators(domain: Any, x: Array) -> Array:
    """1{x_i = u}, and 1{x_i = u, x_j = v}."""
    single = (domain.encode(x)[:, :, None] == np.arange(1, len(domain.levels))).astype(float)
    d, flat = domain.dim, single.reshape(len(x), -1)
    i, j = np.triu_indices(d, 1)
    pairs = np.einsum("nku,nkv->nkuv", single[:, i], single[:, j]).reshape(len(x), -1)
    return np.column_stack([flat, pairs])


def codes(domain: Any, x: Array) -> Array:
    return np.ravel_multi_index(tuple(domain.encode(x).T), (len(domain.levels),) * domain.dim)


def pair_gaps(x: Array, model: Any) -> Array:
    features, q, deviation = listed(model)
    return (features[codes(model.domain, x)].mean(axis=0) - q @ features) / deviation


def pair_counts(x: Array, model: Any) -> float:
    """χ² of single and pairwise counts."""
    return float((pair_gaps(x, model) ** 2).sum())


def largest_pair(x: Array, model: Any) -> float:
    return float(np.abs(pair_gaps(x, model)).max())


def all_cells(x: Array, model: Any) -> float:
    """Pearson's χ² of all states."""
    _, q, _ = listed(model)
    counts = np.bincount(codes(model.domain, x), minlength=len(q))
    return float(((counts - len(x) * q) ** 2 / q).sum())


# Of durations.


def weighted_log_rank(data: gs.Censored, model: Any, *, late: bool) -> float:
    """|Σ w (dN − Y dΛ)| in units of its deviation, with the weight S₀ or 1 − S₀."""
    t, event = on_the_scale(data, model)

    def integral(power: int) -> Array:
        """∫ wᵏ over time at risk."""
        parts = {0: t, 1: -np.expm1(-t), 2: -np.expm1(-2 * t) / 2}
        if not late:
            return parts[power]
        return parts[0] - parts[1] if power == 1 else parts[0] - 2 * parts[1] + parts[2]

    weight = -np.expm1(-t) if late else np.exp(-t)
    return float(abs(weight[event].sum() - integral(1).sum()) / np.sqrt(integral(2).sum()))


early_log_rank = partial(weighted_log_rank, late=False)
late_log_rank = partial(weighted_log_rank, late=True)


# Of residuals.


def residuals(data: gs.Paired, model: Any) -> Array:
    """(y − mean)/scale of a normal model, from its score: −z/scale, whose slope in y is −1/scale²."""
    score = model.score(data.y, data.x)
    slope = model.score(data.y + 1.0, data.x) - score
    return -score / np.sqrt(-slope)


def of_residuals(data: gs.Paired, model: Any, *, rng: Any) -> float:
    """Kolmogorov–Smirnov of residuals."""
    return float(kstest(residuals(data, model), "norm").pvalue)


def cubic(data: gs.Paired, model: Any, *, rng: Any, power: int) -> float:
    """Whether residuals, or their squares, follow a cubic in x: the score test, χ²₄."""
    z = residuals(data, model)
    basis, _ = np.linalg.qr(np.vander(data.x, 4))
    response = z if power == 1 else (z**2 - 1) / np.sqrt(2.0)
    return float(chi2.sf(np.sum((basis.T @ response) ** 2), 4))
