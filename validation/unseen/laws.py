"""Laws of the unseen cells: densities with their samplers, and ways to spoil them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp
from scipy.stats import norm

import goodstein as gs

Array = np.ndarray
RNG = np.random.Generator
Function = Callable[..., Any]


class Named(gs.Model):
    """A model that equals those of the same name, so that what was simulated for it is found again."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and (self.name, self.has_sample) == (other.name, other.has_sample)

    def __hash__(self) -> int:
        return hash((self.name, self.has_sample))


@dataclass(frozen=True, eq=False)
class Case:
    """One model, and what is wrong with it: by name how to make the law of the data, and the effect."""

    name: str
    null: Any
    n: int
    departures: Mapping[str, tuple[Function, float]]
    sampler: bool = True
    """Whether tests may draw from the model; without, all that they know is its score."""
    about: str = ""
    how: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the cells."""


def law(name: str, domain: Any, logpdf: Function, sample: Function, score: Function | None = None) -> Named:
    """Functions of all points at once; alternatives need no score."""
    return Named(score=score, logpdf=logpdf, sample=sample, domain=domain, batched=True, name=name)


def blind(model: Any) -> Named:
    """The same model without its sampler: a score, on a lattice a log density."""
    key = "logpdf" if isinstance(model.domain, gs.Lattice) else "score"
    name = model.name if isinstance(model, gs.Model) else repr(model)
    return Named(**{key: getattr(model, key)}, domain=model.domain, batched=True, name=f"{name}, no sampler")


# Ways to spoil a law.


def tilted(base: Any, weight: Function, most: float, score: Function | None = None, name: str = "") -> Named:
    """The density ∝ q·w with 0 ≤ w ≤ `most`, drawn by rejection."""

    def sample(n: int, rng: RNG) -> Array:
        kept = [base.sample(0, rng)]
        missing = n
        while missing > 0:
            x = base.sample(missing + 50, rng)
            x = x[rng.random(len(x)) * most < weight(x)][:missing]
            kept.append(x)
            missing -= len(x)
        return np.concatenate(kept)

    def logpdf(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return base.logpdf(x) + np.log(weight(x))

    return law(name or "tilted", base.domain, logpdf, sample, score)


def rippled(base: Any, function: Function, amplitude: float) -> Named:
    """The density ∝ q·(1 + a·h), |h| ≤ 1."""
    return tilted(base, lambda x: 1.0 + amplitude * function(x), 1.0 + abs(amplitude))


def mixture(
    shares: Sequence[float], laws: Sequence[Any], name: str = "mixture", scored: bool = False
) -> Named:
    """Normalised laws, each with its share; with a score where it is asked for."""
    log_shares = np.log(shares)

    def terms(x: Array) -> Array:
        return np.array([one.logpdf(x) for one in laws]) + log_shares[:, None]

    def sample(n: int, rng: RNG) -> Array:
        which = rng.choice(len(laws), size=n, p=shares)
        x = laws[0].sample(n, rng)
        for k, one in enumerate(laws[1:], 1):
            x[which == k] = one.sample(np.count_nonzero(which == k), rng)
        return x

    def score(x: Array) -> Array:
        found = terms(x)
        weights = np.exp(found - logsumexp(found, axis=0))
        return sum(w[:, None] * one.score(x) for w, one in zip(weights, laws, strict=True))

    return law(name, laws[0].domain, lambda x: logsumexp(terms(x), axis=0), sample, score if scored else None)


def contaminated(base: Any, other: Any, share: float) -> Named:
    """A share of the data follows another law."""
    return mixture([1.0 - share, share], [base, other])


# Laws on the line, and their products.


@dataclass(frozen=True)
class Margin:
    """A law on the line; its functions take arrays of any shape."""

    logpdf: Function
    sample: Function
    """(size, rng)"""
    score: Function = np.zeros_like


def product(name: str, domain: Any, *margins: Margin) -> Named:
    """Independent coordinates."""

    def by_column(what: str, x: Array) -> Array:
        return np.column_stack([getattr(m, what)(x[:, j]) for j, m in enumerate(margins)])

    return law(
        name,
        domain,
        lambda x: by_column("logpdf", x).sum(axis=1),
        lambda n, rng: np.column_stack([m.sample(n, rng) for m in margins]),
        lambda x: by_column("score", x),
    )


def scaled(margin: Margin, scale: float, shift: float = 0.0) -> Margin:
    return Margin(
        lambda x: margin.logpdf((x - shift) / scale) - np.log(scale),
        lambda size, rng: shift + scale * margin.sample(size, rng),
        lambda x: margin.score((x - shift) / scale) / scale,
    )


def normal(mean: float = 0.0, deviation: float = 1.0) -> Margin:
    return scaled(
        Margin(norm.logpdf, lambda size, rng: rng.standard_normal(size), lambda x: -x), deviation, mean
    )


def uniform(low: float, high: float) -> Margin:
    inside = -np.log(high - low)
    return Margin(
        lambda x: np.where((x >= low) & (x <= high), inside, -np.inf),
        lambda size, rng: rng.uniform(low, high, size),
    )


LOGISTIC = Margin(
    lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))),
    lambda size, rng: rng.logistic(size=size),
    lambda x: 1.0 - 2.0 * expit(x),
)
LAPLACE = Margin(
    lambda x: -np.abs(x) - np.log(2.0), lambda size, rng: rng.laplace(size=size), lambda x: -np.sign(x)
)
GUMBEL = Margin(
    lambda x: -x - np.exp(-x), lambda size, rng: rng.gumbel(size=size), lambda x: np.exp(-x) - 1.0
)


def skew_normal(shape: float) -> Margin:
    delta = shape / np.hypot(1.0, shape)

    def sample(size: int, rng: RNG) -> Array:
        first, second = rng.standard_normal((2, size))
        return delta * np.abs(first) + np.sqrt(1 - delta**2) * second

    def score(x: Array) -> Array:
        return shape * np.exp(norm.logpdf(shape * x) - log_ndtr(shape * x)) - x

    return Margin(lambda x: np.log(2.0) + norm.logpdf(x) + log_ndtr(shape * x), sample, score)


def blend(share: float, one: Margin, other: Margin) -> Margin:
    """A share of the second."""

    def sample(size: int, rng: RNG) -> Array:
        return np.where(rng.random(size) < share, other.sample(size, rng), one.sample(size, rng))

    return Margin(
        lambda x: np.logaddexp(np.log1p(-share) + one.logpdf(x), np.log(share) + other.logpdf(x)), sample
    )


def equal(d: int, off: float) -> Array:
    """Unit variances and equal correlations."""
    return np.full((d, d), off) + (1.0 - off) * np.eye(d)


def chained(d: int, correlation: float) -> Array:
    """The covariance of an autoregressive chain."""
    index = np.arange(d)
    return correlation ** np.abs(index[:, None] - index)


def with_pair(cov: Array, i: int, j: int, change: float) -> Array:
    """The covariance with one entry changed."""
    found = cov.copy()
    found[i, j] += change
    found[j, i] += change
    return found


def heaped(base: Any, places: Array, width: float, share: float) -> Named:
    """On the line: a share of the data lies close about the nearest of some places."""
    reference = np.sort(base.sample(50_000, np.random.default_rng(7))[:, 0])
    edges = np.concatenate([[-np.inf], (places[1:] + places[:-1]) / 2, [np.inf]])
    weights = np.diff(np.searchsorted(reference, edges)) / len(reference)
    used = weights > 0
    places, weights = places[used], weights[used] / weights[used].sum()

    def logpdf(x: Array) -> Array:
        near = np.log(weights) + norm.logpdf(x[:, :1], places, width)
        return logsumexp(near, axis=1)

    def sample(n: int, rng: RNG) -> Array:
        return (rng.choice(places, size=n, p=weights) + width * rng.standard_normal(n))[:, None]

    return contaminated(base, law("heaps", base.domain, logpdf, sample), share)
