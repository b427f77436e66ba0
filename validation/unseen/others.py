"""Unseen cells of models of y given x."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm, skewnorm

import goodstein as gs
from unseen.laws import RNG, Array, Case, Function


def mean(x: Array) -> Array:
    return np.sin(2 * x)


def scale(x: Array) -> Array:
    return np.exp(0.3 * x)


def pairs(
    n: int, rng: RNG, *, mean: Function = mean, scale: Function = scale, shape: float = 0.0
) -> gs.Paired:
    """x is uniform on (−2, 2); the noise has mean zero and variance one, and may be skewed."""
    x = rng.uniform(-2.0, 2.0, n)
    return gs.Paired(x, mean(x) + scale(x) * skewnorm.rvs(shape, *usual(shape), size=n, random_state=rng))


def usual(shape: float) -> tuple[float, float]:
    """Location and scale of the skew normal law with mean zero and variance one."""
    delta = shape / np.hypot(1.0, shape)
    deviation = 1 / np.sqrt(1 - 2 * delta**2 / np.pi)
    return -deviation * delta * np.sqrt(2 / np.pi), deviation


def departure(**changed: Any) -> tuple[Callable[..., gs.Paired], Callable[[gs.Paired], float]]:
    """A sampler, and its log likelihood ratio to the null."""
    new, wide, shape = changed.get("mean", mean), changed.get("scale", scale), changed.get("shape", 0.0)

    def log_ratio(data: gs.Paired) -> float:
        x, y = data.x, data.y
        z = (y - new(x)) / wide(x)
        own = skewnorm.logpdf(z, shape, *usual(shape)) - np.log(wide(x))
        return float(np.sum(own - norm.logpdf(y, mean(x), scale(x))))

    return partial(pairs, **changed), log_ratio


def cases() -> Iterator[Any]:
    yield Case(
        "y given x, normal with growing scale",
        gs.ConditionalModel.gaussian(mean, scale, name="sine with growing scale"),
        150,
        {
            "a jump": (lambda a: departure(mean=lambda x: mean(x) + a * (x > 1.0)), 0.82),
            "another scale": (
                lambda a: departure(scale=lambda x: scale(x) * np.exp(a * np.cos(2 * x))),
                0.26,
            ),
            "skewed noise": (lambda a: departure(shape=a), 2.8),
        },
        how={"sample_null": pairs},
    )
