"""The beta-binomial distribution."""

from __future__ import annotations

import math

import numpy as np

from goodstein.constraints import check_count, number
from goodstein.domains.lattice import Lattice
from goodstein.errors import InputError, must
from goodstein.families.base import Family, latent_model
from goodstein.families.checks import as_pairs
from goodstein.models.latent import LatentModel
from goodstein.types import Array, ArrayLike
from goodstein.validation import as_generator


class BetaBinomial(Family):
    r"""Beta-binomial distribution of counts 0, …, N: x | z ~ Bin(N, z) with z ~ Beta(a, b).

    .. math:: q(x) = \binom Nx \frac{B(a + x, b + N - x)}{B(a, b)},
              \qquad z \mid x \sim \mathrm{Beta}(a + x, b + N - x).

    It lives on ``Lattice(N + 1, 1)``, where the score is the difference score 1 − q(¬x)/q(x), with
    ¬x = x + 1 and ¬N = 0. The family itself has that of the marginal; :meth:`latent` forgets it and
    keeps q(x | z) and draws of z given x.

    Parameters
    ----------
    count
        N, the number of trials.
    a, b
        Parameters of the beta distribution.

    References
    ----------
    Johnson, Kemp & Kotz (2005), *Univariate Discrete Distributions*, section 6.2.2.

    Examples
    --------
    >>> from goodstein.families import BetaBinomial
    >>> q = BetaBinomial(2, a=1, b=1)
    >>> q
    BetaBinomial(count=2, a=1, b=1)
    >>> q.score([[0], [1], [2]])  # uniform on 0, 1, 2
    array([[0.], [0.], [0.]])
    >>> import goodstein as gs
    >>> q = BetaBinomial(3, a=8, b=4)
    >>> gs.ksd_test(q.sample(200, rng=1), q.latent(), rng=1).pvalue > 0.05
    True
    """

    count: int
    a: float
    b: float
    domain: Lattice
    _logs: Array

    def __init__(self, count: int, a: ArrayLike, b: ArrayLike) -> None:
        n, a, b = check_count(count, "count"), number(a, "a", above=0.0), number(b, "b", above=0.0)
        logs = [_log_choose(n, x) + _log_beta(a + x, b + n - x) - _log_beta(a, b) for x in range(n + 1)]
        self._set(count=n, a=a, b=b, _logs=np.array(logs), domain=Lattice(n + 1, 1))

    def score(self, x: ArrayLike) -> Array:
        codes = self.domain.encode(self._points(x))
        return np.asarray(-np.expm1(np.roll(self._logs, -1)[codes] - self._logs[codes]))

    def logpdf(self, x: ArrayLike) -> Array:
        return np.asarray(self._logs[self.domain.encode(self._points(x))[:, 0]])

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return rng.binomial(self.count, rng.beta(self.a, self.b, n)).astype(np.float64)

    def latent(self) -> LatentModel:
        """The same distribution as a model with a latent probability z.

        The mean of q(¬x | z)/q(x | z) over z given x is q(¬x)/q(x), but its variance is finite only if
        a > N (at x = N, where ¬x = 0) and b > 1 (at x = N − 1); elsewhere it raises.
        """
        if not (self.a > self.count and self.b > 1):
            infinite = "has an infinite variance over z given x unless a > count and b > 1"
            reason = f"{self!r}: the ratio q(¬x|z)/q(x|z) {infinite}, so a test with draws of z has no level."
            raise InputError(reason, remedy="Use the exact score: ksd_test(data, model).")
        return latent_model(self, "latent z")

    def conditional_score(self, x: Array, z: Array) -> Array:
        """1 − q(¬x | z)/q(x | z), (n, 1), for probabilities z, (n, 1)."""
        n = self.count
        x, z = as_pairs(self._counts(x), z, (1,))
        if ((z <= 0) | (z >= 1)).any():
            raise must("z", "probabilities between 0 and 1", z)
        odds = z / (1.0 - z)
        inner = (n - x) / (x + 1.0) * odds
        return np.asarray(1.0 - np.where(x == n, odds**-n, inner))

    def posterior_sample(self, x: Array, draws: int, rng: np.random.Generator) -> Array:
        """Draws of z for each count, (n, draws, 1)."""
        x, draws, rng = self._counts(x)[:, None], check_count(draws, "draws"), as_generator(rng)
        return rng.beta(self.a + x, self.b + self.count - x, (len(x), draws, 1))

    def _counts(self, x: ArrayLike) -> Array:
        points = self._points(x)
        self.domain.validate(points)
        return points


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
