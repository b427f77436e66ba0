"""Power of the finite-set test, which is made for large samples, beside the quadratic-time test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scenario import Alternative, Scenario
from scipy.stats import kstest, laplace, norm

import goodstein as gs

TRIALS = 300
Array = np.ndarray


def fssd(x: Array, rng: np.random.Generator, **options: Any) -> float:
    return gs.fssd_test(x, gs.families.Normal(np.zeros(x.shape[1])), rng=rng, **options).pvalue


def ksd(x: Array, rng: np.random.Generator, **options: Any) -> float:
    model = gs.families.Normal(np.zeros(x.shape[1]))
    return gs.ksd_test(x, model, workers=1, rng=rng, **options).pvalue


def kolmogorov(x: Array, rng: np.random.Generator) -> float:
    return float(kstest(x[:, 0], "norm").pvalue)


def null(d: int) -> Callable[[int, np.random.Generator], Array]:
    return lambda n, rng: rng.standard_normal((n, d))


def contaminated(share: float) -> Alternative:
    """(1 − w)·N(0, 1) + w·Laplace, both of unit variance."""
    scale = np.sqrt(0.5)

    def draw(n: int, rng: np.random.Generator) -> Array:
        other = rng.uniform(size=n) < share
        return np.where(other, rng.laplace(scale=scale, size=n), rng.standard_normal(n))[:, None]

    def log_ratio(x: Array) -> float:
        ratio = np.exp(laplace.logpdf(x[:, 0], scale=scale) - norm.logpdf(x[:, 0]))
        return float(np.sum(np.log(1 - share + share * ratio)))

    return Alternative(f"w = {share:g}", draw, log_ratio)


def stretched(d: int, variance: float) -> Alternative:
    """The first variance is σ²: the "Gaussian variance difference" problem of Jitkrittum et al."""

    def draw(n: int, rng: np.random.Generator) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 0] *= np.sqrt(variance)
        return x

    return Alternative(f"σ² = {variance:g}", draw, lambda x: float((1 - 1 / variance) * (x[:, 0] ** 2).sum()))


def rippled(amplitude: float) -> Alternative:
    """The density φ(x)·(1 + a·sin 5x)."""

    def draw(n: int, rng: np.random.Generator) -> Array:
        # φ is even and the ripple odd: a draw of φ or its mirror image, with odds 1 ± a·sin 5x.
        x = rng.standard_normal(n)
        keep = rng.uniform(-1.0, 1.0, size=n) < amplitude * np.sin(5 * x)
        return np.where(keep, x, -x)[:, None]

    return Alternative(
        f"a = {amplitude:g}", draw, lambda x: float(np.log1p(amplitude * np.sin(5 * x[:, 0])).sum())
    )


def scenarios() -> list[Scenario]:
    """Tails, a variance in one of five directions, and a ripple."""
    tests: dict[str, Any] = {
        "FSSD": fssd,
        "FSSD, half of the rows for learning": partial(fssd, train_fraction=0.5),
        "FSSD, random locations": partial(fssd, optimise=False),
        "KSD": ksd,
        "KSD, Gaussian kernel": partial(ksd, kernel=gs.Gaussian()),
    }
    line = tests | {"Kolmogorov–Smirnov": kolmogorov}
    cost = "FSSD takes linear time, KSD quadratic."
    return [
        Scenario(
            "FSSD: Laplace tails",
            500,
            null(1),
            tuple(contaminated(w) for w in (0.2, 0.4, 0.6, 0.8)),
            line,
            trials=TRIALS,
            about="Null: N(0, 1). Truth: a share w comes from a Laplace law of the same mean and variance. "
            f"{cost}",
        ),
        Scenario(
            "FSSD: one variance of five",
            500,
            null(5),
            tuple(stretched(5, v) for v in (1.2, 1.4, 1.7, 2.0)),
            tests,
            trials=TRIALS,
            about=f"Null: N(0, I) in five dimensions. Truth: the first variance is σ². {cost}",
        ),
        Scenario(
            "FSSD: a ripple",
            500,
            null(1),
            tuple(rippled(a) for a in (0.15, 0.2, 0.3, 0.4)),
            line,
            trials=TRIALS,
            about="Null: N(0, 1). Truth: the density φ(x)(1 + a·sin 5x), a difference on a finer scale than "
            f"the median distance, which a learnt bandwidth can follow. {cost}",
        ),
    ]
