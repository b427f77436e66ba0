"""Rivals of the aggregated test: other kernel tests, and the classical tests of each domain.

The null distributions of classical statistics are simulated once for each model, with the same samples for
all of them, so that every test keeps its level whatever the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import classical
import numpy as np
from suite import BY_DRAWS
from survival import kolmogorov_smirnov, log_rank, pearson
from tables import KSD, RNG, Array, Test, aggregated, squared_distances

import goodstein as gs
from goodstein.power.laws import law_of

DRAWS = 499
"""Simulated samples, and draws of a bootstrap."""
WILD = gs.WildBootstrap(DRAWS)

# Kernel tests.


def ksdagg(data: Any, model: Any, *, rng: RNG) -> Any:
    """The collection of Schrab et al. (2022): IMQ kernels with 10 bandwidths and equal weights.

    On R^d they are λ^{i/9}/d, i = 0, …, 9, with λ the largest distance between two observations; elsewhere
    that is not defined, and they are 2^{−4}, …, 2^5 times the median, or ten rates of Hamming's kernel.
    """
    domain = getattr(model, "domain", None)
    kernels: list[Any] = [gs.IMQ(gs.Median(2.0**k)) for k in range(-4, 6)]
    if isinstance(domain, gs.Lattice):
        kernels = [gs.Hamming(rate) for rate in np.geomspace(0.1, 10.0, 10)]
    elif isinstance(data, np.ndarray) and isinstance(domain, gs.Euclidean):
        largest = max(float(np.sqrt(squared_distances(data).max())), 2.0)
        kernels = [gs.IMQ(largest ** (i / 9) / domain.dim) for i in range(10)]
    return gs.aggregated_test(data, model, kernels=kernels, null=WILD, workers=1, rng=rng)


BY_SCORE: dict[str, Test] = {
    "aggregated": aggregated,
    "KSD": partial(KSD, null=WILD),
    "KSDAgg": ksdagg,
    "regularised": partial(gs.regularised_test, null=WILD, workers=1),
}
"""What needs no draws."""

# Classical tests.


@lru_cache(maxsize=2)
def samples(law: Any, n: int) -> list[Any]:
    rng = np.random.default_rng(31)
    return [law(n, rng) for _ in range(DRAWS)]


@lru_cache(maxsize=2)
def known_of(model: Any) -> classical.Known:
    return classical.Known(model)


@lru_cache(maxsize=64)
def null_values(statistic: Callable[..., float], knowledge: Any, law: Any, n: int) -> Array:
    return np.array([statistic(x, knowledge) for x in samples(law, n)])


@dataclass(frozen=True)
class Classical:
    """A test that rejects large values of statistic(data, knowledge), simulated once under the model."""

    statistic: Callable[..., float]
    knowledge: Callable[[Any], Any] = known_of
    censoring: Any = None

    def __call__(self, data: Any, model: Any, *, rng: RNG) -> float:
        knowledge, law = self.knowledge(model), drawn_from(model, self.censoring)
        value = self.statistic(data, knowledge)
        draws = null_values(self.statistic, knowledge, law, len(data))
        slack = 1e-9 * abs(value)
        return float((1 + np.count_nonzero(draws >= value - slack)) / (1 + DRAWS))


@lru_cache(maxsize=8)
def drawn_from(model: Any, censoring: Any) -> Any:
    """The law of the data; the same object for the same model, so that its samples are found again."""
    return law_of(model, "model", censoring=censoring)


def itself(model: Any) -> Any:
    return model


MOMENTS = {
    "means": Classical(classical.means),
    "second moments": Classical(classical.second),
    "largest second moment": Classical(classical.largest_second),
    "Mardia's kurtosis": Classical(classical.kurtosis),
    "Mardia's skewness": Classical(classical.skewness),
}
DISTRIBUTION = {
    "Kolmogorov–Smirnov": Classical(classical.kolmogorov),
    "Anderson–Darling": Classical(classical.anderson),
    "Cramér–von Mises": Classical(classical.cramer),
    "Henze–Zirkler": Classical(classical.henze_zirkler),
    "energy": Classical(classical.energy),
}
ANGLES = {
    "Rayleigh": Classical(classical.means),
    "second harmonic": Classical(classical.second_harmonic),
    "second moments": Classical(classical.second),
    "Kuiper": Classical(classical.kuiper),
    "Watson": Classical(classical.watson),
    "energy": Classical(classical.energy),
}
AXES = {
    "Rayleigh": Classical(classical.means),
    "Bingham": Classical(classical.second),
    "Giné": Classical(classical.gine),
    "energy": Classical(classical.energy),
}
COUNTS = {
    "χ² of pairs": Classical(classical.pair_counts, itself),
    "largest pair": Classical(classical.largest_pair, itself),
    "χ² of all cells": Classical(classical.all_cells, itself),
}


def of_points(domain: Any) -> dict[str, Test]:
    """Kernel tests with and without draws, and the classical tests of a domain."""
    own: dict[str, Test] = {**DISTRIBUTION, **MOMENTS}
    if isinstance(domain, gs.Torus):
        own = dict(ANGLES)
    elif isinstance(domain, gs.Sphere):
        own = dict(AXES)
    elif isinstance(domain, gs.Lattice):
        own = dict(COUNTS)
    return BY_SCORE | BY_DRAWS | own


# Durations.


def of_durations(censoring: Any) -> dict[str, Test]:
    """Classical tests are given the law of the censoring; ours do not know it."""
    statistics: dict[str, Any] = {
        "log-rank": log_rank,
        "log-rank, early": classical.early_log_rank,
        "log-rank, late": classical.late_log_rank,
        "Kolmogorov–Smirnov": kolmogorov_smirnov,
        "Pearson, 6 cells": pearson,
    }
    return BY_SCORE | {name: Classical(one, itself, censoring) for name, one in statistics.items()}


# Pairs.

OF_PAIRS: dict[str, Test] = {
    "aggregated": aggregated,
    "KSD": partial(KSD, null=WILD),
    "Kolmogorov–Smirnov of residuals": classical.of_residuals,
    "residuals, cubic in x": partial(classical.cubic, power=1),
    "squared residuals, cubic in x": partial(classical.cubic, power=2),
}

KERNEL = frozenset({*BY_SCORE, *BY_DRAWS})
"""What is no classical test."""
