"""Power on the circle, on spheres, and of the second-order operator on R^d."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scenario import Alternative, Draw, PValue, Scenario
from scipy.stats import chi2, vonmises

import goodstein as gs
from goodstein.families import Bingham, Kent, Normal, UniformOnSphere, VonMises, VonMisesFisher

Array = np.ndarray
Statistic = Callable[[Array], Array]
"""Of many samples at once, (m, n, d) to (m,)."""

WILD = gs.WildBootstrap(499)
DRAWS = 9_999
"""Simulated samples that calibrate a classical statistic."""
CALIBRATED = "Classical statistics are calibrated by 9999 simulated samples of the null model."


def ksd(model: Any, operator: Any) -> PValue:
    """Our test with the operator's own kernel."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        return gs.ksd_test(x, model, operator=operator, null=WILD, workers=1, rng=rng).pvalue

    return pvalue


def ours(model: Any) -> dict[str, PValue]:
    """Both operators."""
    return {"SecondOrder": ksd(model, gs.SecondOrder()), "Coordinate": ksd(model, gs.Coordinate())}


@cache
def simulated(statistic: Statistic, null: Draw, n: int) -> Array:
    """The statistic of samples of the null model, sorted; the seed is fixed."""
    rng = np.random.default_rng(20_220_328)
    parts = []
    for start in range(0, DRAWS, 500):
        size = min(500, DRAWS - start)
        parts.append(statistic(null(size * n, rng).reshape(size, n, -1)))
    return np.sort(np.concatenate(parts))


def classical(statistic: Statistic, null: Draw) -> PValue:
    """A test that rejects large values of a statistic, calibrated by simulation."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        known = simulated(statistic, null, len(x))
        beyond = DRAWS - np.searchsorted(known, statistic(x[None])[0] - 1e-12)
        return float((1 + beyond) / (1 + DRAWS))

    return pvalue


def log_ratio(alternative: Any, null: Any) -> Callable[[Array], float]:
    """log p(x) − log q(x) up to a constant."""
    return lambda x: float(np.sum(alternative.logpdf(x) - null.logpdf(x)))


def alternatives(laws: dict[str, Any], null: Any, **published: Any) -> tuple[Alternative, ...]:
    """Alternatives whose densities are known."""
    return tuple(
        Alternative(label, law.sample, log_ratio(law, null), **published) for label, law in laws.items()
    )


# The circle.


def rayleigh(x: Array) -> Array:
    """Length of the mean vector, of angles (m, n, 1) or of unit vectors (m, n, d)."""
    if x.shape[2] == 1:
        x = np.concatenate([np.cos(x), np.sin(x)], axis=2)
    return np.linalg.norm(x.mean(axis=1), axis=1)


def kuiper(x: Array) -> Array:
    """D⁺ + D⁻ for uniform angles."""
    u = np.sort(np.mod(x[:, :, 0], 2 * np.pi) / (2 * np.pi), axis=1)
    n = u.shape[1]
    i = np.arange(n)
    return ((i + 1) / n - u).max(axis=1) + (u - i / n).max(axis=1)


def watson(x: Array) -> Array:
    """U² for uniform angles."""
    u = np.sort(np.mod(x[:, :, 0], 2 * np.pi) / (2 * np.pi), axis=1)
    n = u.shape[1]
    i = np.arange(n)
    square = ((u - (2 * i + 1) / (2 * n)) ** 2).sum(axis=1)
    return square - n * (u.mean(axis=1) - 0.5) ** 2


class Axial:
    """Density ∝ exp(κ cos 2θ): two opposite modes."""

    def __init__(self, kappa: float) -> None:
        self.kappa = kappa

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return 0.5 * rng.vonmises(0.0, self.kappa, (n, 1)) + np.pi * rng.integers(0, 2, (n, 1))

    def logpdf(self, x: Array) -> Array:
        return self.kappa * np.cos(2 * x[:, 0])


FLAT = VonMises(0.0, 0.0)
DRAW_FLAT = FLAT.sample
CIRCLE_TESTS = {
    "Coordinate": ksd(FLAT, gs.Coordinate()),
    "SecondOrder": ksd(FLAT, gs.SecondOrder()),
    "Rayleigh": classical(rayleigh, DRAW_FLAT),
    "Kuiper": classical(kuiper, DRAW_FLAT),
    "Watson U²": classical(watson, DRAW_FLAT),
}
PUBLISHED = {
    30: {"dKSDu, published": 0.560, "dKSDv, published": 0.338, "Rayleigh": 0.138},
    50: {"dKSDu, published": 0.750, "dKSDv, published": 0.898, "Rayleigh": 0.308},
    100: {"dKSDu, published": 0.82, "dKSDv, published": 1.0, "Rayleigh": 0.712},
    200: {"dKSDu, published": 0.90, "dKSDv, published": 1.0, "Rayleigh": 0.980},
}
"""Xu & Matsuda (2020), uniform against von Mises κ = .5, level .01."""


def circle() -> list[Scenario]:
    """Uniform angles against one and two modes, and a von Mises law against another concentration."""
    one = {f"κ = {kappa}": VonMises(1.0, kappa) for kappa in (0.2, 0.35, 0.5, 0.65)}
    two = {f"κ = {kappa}": Axial(kappa) for kappa in (0.2, 0.35, 0.5, 0.65)}
    about = f"Uniform angles on the circle against {{}}. {CALIBRATED}"
    found = [
        Scenario(
            "Circle, one mode",
            50,
            DRAW_FLAT,
            alternatives(one, FLAT),
            CIRCLE_TESTS,
            about=about.format("von Mises angles of concentration κ"),
        ),
        Scenario(
            "Circle, two modes",
            50,
            DRAW_FLAT,
            alternatives(two, FLAT),
            CIRCLE_TESTS,
            about=about.format("axial angles, density ∝ exp(κ cos 2θ), which Rayleigh's test cannot see"),
        ),
    ]
    null = VonMises(1.0, 2.0)
    more = {f"κ = {kappa}": VonMises(1.0, kappa) for kappa in (2.4, 2.8, 3.2, 3.6)}
    tests = {
        "Coordinate": ksd(null, gs.Coordinate()),
        "SecondOrder": ksd(null, gs.SecondOrder()),
        "score test of κ": classical(score_of_kappa, null.sample),
        "Kuiper of the cdf": classical(kuiper_of_cdf, null.sample),
        "Watson U² of the cdf": classical(watson_of_cdf, null.sample),
    }
    found.append(
        Scenario(
            "Circle, concentration",
            100,
            null.sample,
            alternatives(more, null),
            tests,
            about=f"Von Mises angles with κ = 2 against larger concentrations. {CALIBRATED}",
        )
    )
    return found + [published(n) for n in PUBLISHED]


def published(n: int) -> Scenario:
    """The setting of Xu & Matsuda's table at one sample size."""
    law = {"κ = 0.5": VonMises(1.0, 0.5)}
    return Scenario(
        f"Circle, published setting, n = {n}",
        n,
        DRAW_FLAT,
        alternatives(law, FLAT, published=PUBLISHED[n]),
        CIRCLE_TESTS,
        level=0.01,
        about="Uniform angles against von Mises angles with κ = .5, as in Xu & Matsuda (2020), whose rates "
        f"stand in brackets. {CALIBRATED}",
    )


def score_of_kappa(x: Array) -> Array:
    """|mean cos(θ − 1) − I₁(2)/I₀(2)|."""
    return np.abs(np.cos(x[:, :, 0] - 1.0).mean(axis=1) - 0.6977746579640081)


def _uniform(x: Array) -> Array:
    """Angles made uniform by the distribution function of the null model."""
    u = vonmises.cdf(np.mod(x - 1.0 + np.pi, 2 * np.pi) - np.pi, 2.0)
    return 2 * np.pi * np.clip(u, 0.0, 1.0 - 1e-15)


def kuiper_of_cdf(x: Array) -> Array:
    """Kuiper's statistic after the transformation."""
    return kuiper(_uniform(x))


def watson_of_cdf(x: Array) -> Array:
    """Watson's statistic after the transformation."""
    return watson(_uniform(x))


# Spheres.


def bingham_test(x: Array) -> Array:
    """tr T², T the mean of xxᵀ."""
    scatter = np.einsum("mni,mnj->mij", x, x) / x.shape[1]
    return np.einsum("mij,mij->m", scatter, scatter)


def gine(x: Array) -> Array:
    """Giné's F_n on S², which sees every alternative, up to its constant: −Σ (ψ + sin ψ)."""
    values = np.empty(len(x))
    for k, sample in enumerate(x):
        cosine = np.clip(sample @ sample.T, -1.0, 1.0)
        values[k] = -(np.arccos(cosine) + np.sqrt(1.0 - cosine**2)).sum()
    return values / x.shape[1]


def kent_test(x: Array) -> Array:
    """Ovalness about the first axis: squared difference of the eigenvalues of the scatter across it."""
    y, z = x[:, :, 1], x[:, :, 2]
    return ((y**2 - z**2).mean(axis=1)) ** 2 + 4 * (y * z).mean(axis=1) ** 2


def mean_test(x: Array) -> Array:
    """Score test of κμ in the von Mises–Fisher family with κ = 5, μ = e₁."""
    ratio = 1 / np.tanh(5.0) - 1 / 5.0  # A₃(5)
    mean = x.mean(axis=1)
    return (mean[:, 0] - ratio) ** 2 / (1 - ratio**2 - 2 * ratio / 5) + (mean[:, 1:] ** 2).sum(axis=1) / (
        ratio / 5
    )


SPHERE = UniformOnSphere(3)
DRAW_SPHERE = SPHERE.sample
AXIS = np.ones(3) / np.sqrt(3)
"""No axis of the coordinates: what the coordinate-dependent operator sees depends on them."""


def spheres() -> list[Scenario]:
    """Uniform directions against one mode and against an axis; von Mises–Fisher against Kent."""
    tests = {
        **ours(SPHERE),
        "Rayleigh": classical(rayleigh, DRAW_SPHERE),
        "Bingham": classical(bingham_test, DRAW_SPHERE),
        "Giné": classical(gine, DRAW_SPHERE),
    }
    one = {f"κ = {kappa}": VonMisesFisher(AXIS, kappa) for kappa in (0.2, 0.3, 0.45, 0.6)}
    axis = {f"κ = {kappa}": Bingham(kappa * np.outer(AXIS, AXIS)) for kappa in (0.4, 0.7, 1.0, 1.3)}
    about = f"Uniform directions on S² against {{}}. {CALIBRATED}"
    null = VonMisesFisher(np.eye(3)[0], 5.0)
    oval = {f"β = {beta}": Kent(np.eye(3), 5.0, beta) for beta in (0.4, 0.8, 1.2, 1.6)}
    fisher = {
        **ours(null),
        "score test of the von Mises–Fisher family": classical(mean_test, null.sample),
        "Kent's test of ovalness": classical(kent_test, null.sample),
    }
    tilted = {
        f"{angle} rad": VonMisesFisher([np.cos(angle), 0.0, np.sin(angle)], 5.0)
        for angle in (0.05, 0.1, 0.15, 0.2)
    }
    return [
        Scenario(
            "Sphere, one mode", 100, DRAW_SPHERE, alternatives(one, SPHERE), tests,
            about=about.format("von Mises–Fisher directions about (1, 1, 1)"),
        ),
        Scenario(
            "Sphere, an axis", 100, DRAW_SPHERE, alternatives(axis, SPHERE), tests,
            about=about.format("Watson directions, density ∝ exp(κ(μ·x)²), about (1, 1, 1)"),
        ),
        Scenario(
            "Sphere, ovalness", 100, null.sample, alternatives(oval, null), fisher,
            about=f"Von Mises–Fisher directions with κ = 5 against Kent's of ovalness β. {CALIBRATED}",
        ),
        Scenario(
            "Sphere, another mean direction", 100, null.sample, alternatives(tilted, null), fisher,
            about=f"Von Mises–Fisher directions with κ = 5 against the same, tilted. {CALIBRATED}",
        ),
    ]  # fmt: skip


# R^d.


def euclidean() -> list[Scenario]:
    """The second-order operator beside the Langevin operator."""
    null = Normal(np.zeros(5))

    def mean(x: Array, rng: np.random.Generator) -> float:
        return float(chi2.sf(len(x) * (x.mean(axis=0) ** 2).sum(), 5))

    def variance(x: Array, rng: np.random.Generator) -> float:
        total = (x**2).sum()
        return float(2 * min(chi2.sf(total, x.size), chi2.cdf(total, x.size)))

    tests = {
        "SecondOrder": ksd(null, gs.SecondOrder()),
        "Langevin": ksd(null, gs.Langevin()),
        "χ² test of the mean": mean,
        "χ² test of the variance": variance,
    }
    shifts = {f"{size}": Normal(np.full(5, size / np.sqrt(5))) for size in (0.1, 0.2, 0.3, 0.4)}
    scales = {f"{size}": Normal(np.zeros(5), size) for size in (1.08, 1.14, 1.2, 1.3)}
    return [
        Scenario(
            "R⁵, second order, mean", 100, null.sample, alternatives(shifts, null), tests,
            about="N(0, I) against a mean of this length.",
        ),
        Scenario(
            "R⁵, second order, variance", 100, null.sample, alternatives(scales, null), tests,
            about="N(0, I) against this variance of every coordinate.",
        ),
    ]  # fmt: skip


def scenarios() -> list[Scenario]:
    """All scenarios of this module."""
    return [*circle(), *spheres(), *euclidean()]
