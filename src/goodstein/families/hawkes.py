"""The Hawkes process: events that make further events likelier for a while."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count, number
from goodstein.domains import Box, Domain
from goodstein.errors import InputError, SamplingError, must
from goodstein.families.checks import as_points
from goodstein.families.poisson_process import check_expected
from goodstein.models.provenance import FittableValue
from goodstein.patterns.single import Pattern, as_single
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

FEWEST = 2
"""Events that a fit needs at least; of so few it says little, but samples of a bootstrap may have no more."""

PACES = (0.1, 1.0, 10.0, 100.0)
"""Decays at which a search may begin, in units of the rate of events."""

MOST_POINTS = 10**7
"""Events of one sequence after which a sampler gives up."""


class Hawkes(FittableValue):
    r"""Hawkes process on an interval [0, T] with an exponential kernel, empty before it.

    .. math::

        \lambda(t) = \mu + \sum_{t_i < t} \alpha \beta\, e^{-\beta (t - t_i)}, \qquad
        \Lambda(t) = \mu t + \alpha \sum_{t_i < t} \bigl(1 - e^{-\beta (t - t_i)}\bigr).

    Every event has Poisson(α) children on average, after delays that are exponential with rate β. On the
    scale of Λ the events are those of a Poisson process with rate one, which is what a test looks at.

    Parameters
    ----------
    base
        μ > 0: the rate of events without a parent.
    branching
        α in [0, 1): children of one event, on average.
    decay
        β > 0: one over the mean delay of a child.
    domain
        The interval, a bounded :class:`Box` in one dimension.

    References
    ----------
    Hawkes (1971), Spectra of some self-exciting and mutually exciting point processes. Ogata (1988),
    Statistical models for earthquake occurrences and residual analysis for point processes.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Hawkes(1.0, 0.5, 2.0, gs.Box(0, 100))
    >>> events = model.sample(1, rng=1)[0]
    >>> gs.ksd_test(events, model, null=gs.MonteCarlo(99), rng=1).pvalue > 0.05
    True
    >>> long = gs.families.Hawkes(1.0, 0.5, 2.0, gs.Box(0, 500))
    >>> round(gs.families.Hawkes.fit(long.sample(1, rng=1)[0], long.domain).branching, 1)
    0.5
    """

    base: float
    branching: float
    decay: float
    domain: Box

    def __init__(self, base: float, branching: float, decay: float, domain: Domain) -> None:
        if not (isinstance(domain, Box) and domain.bounded and domain.dim == 1):
            raise must("domain", "a bounded interval such as Box(0, 100)", domain, "Hawkes")
        self._set(base=number(base, "base", above=0.0), decay=number(decay, "decay", above=0.0))
        wanted = "a number in [0, 1); from 1 on events never die out"
        self._set(
            branching=number(branching, "branching", least=0.0, below=1.0, wanted=wanted), domain=domain
        )

    @classmethod
    def fit(cls, events: Any, domain: Domain) -> Self:
        """Maximum likelihood, from the times of the events in the interval.

        The likelihood may have several maxima; the search begins at the likeliest of twelve guesses, with
        delays from a hundredth of the mean gap to ten of them.
        """
        from scipy.optimize import minimize

        probe = cls(1.0, 0.0, 1.0, domain)
        times = np.sort(as_single(events, probe.domain).points[:, 0])
        if len(times) < FEWEST:
            raise InputError(f"a fit needs at least {FEWEST} events, got {len(times)}.", argument="events")
        start, length = float(probe.domain.lower[0]), float((probe.domain.upper - probe.domain.lower)[0])
        rate = len(times) / length

        def negative(parameters: Array) -> tuple[float, Array]:
            mu, beta = np.exp(parameters[0]), np.exp(parameters[2])
            alpha = 1.0 / (1.0 + np.exp(-parameters[1]))
            value, slopes = _log_likelihood(times - start, length, mu, alpha, beta)
            chain = np.array([mu, alpha * (1.0 - alpha), beta])
            return -value / len(times), -slopes * chain / len(times)

        span = [(np.log(rate * low), np.log(rate * high)) for low, high in ((1e-4, 10.0), (1e-2, 1e4))]
        starts = [
            np.array([np.log((1.0 - share) * rate), np.log(share / (1.0 - share)), np.log(rate * pace)])
            for pace in PACES
            for share in (0.1, 0.5, 0.8)
        ]
        first = min(starts, key=lambda one: negative(one)[0])
        bounds = [span[0], (-15.0, 7.0), span[1]]
        best = minimize(negative, first, jac=True, method="L-BFGS-B", bounds=bounds).x
        base, decay = np.exp(best[[0, 2]])
        return cls(float(base), float(1.0 / (1.0 + np.exp(-best[1]))), float(decay), domain)

    @classmethod
    def _fit_data(cls, data: Any, **options: Any) -> Pattern:
        return as_single(data, options["domain"])

    def log_likelihood(self, events: ArrayLike) -> float:
        """Σ log λ(t_i) − Λ(T)."""
        times = np.sort(as_points(events, 1, "events")[:, 0]) - self.domain.lower[0]
        length = float((self.domain.upper - self.domain.lower)[0])
        return _log_likelihood(times, length, self.base, self.branching, self.decay)[0]

    def intensity(self, t: ArrayLike, events: ArrayLike) -> Array:
        """λ(t) given the events before t, (k,)."""
        at, past = self._places(t, events)
        waned, _ = self._waned(at, past)
        return np.asarray(self.base + self.branching * self.decay * waned)

    def compensator(self, t: ArrayLike, events: ArrayLike) -> Array:
        """Λ(t), the integral of the intensity from the beginning of the interval to t, (k,)."""
        at, past = self._places(t, events)
        waned, count = self._waned(at, past)
        return np.asarray(self.base * (at - self.domain.lower[0]) + self.branching * (count - waned))

    def sample(self, n: int, rng: RNG = None) -> list[Array]:
        """Draw ``n`` independent sequences, each (k_i, 1) and in order, generation by generation."""
        generator, count = as_generator(rng), check_count(n, "n", 0)
        low, high = float(self.domain.lower[0]), float(self.domain.upper[0])
        check_expected(self, count * self.base * (high - low) / (1.0 - self.branching))
        return [self._draw(low, high, generator) for _ in range(count)]

    def _draw(self, low: float, high: float, rng: np.random.Generator) -> Array:
        born = rng.uniform(low, high, size=rng.poisson(self.base * (high - low)))
        times = [born]
        while len(born):
            parents = np.repeat(born, rng.poisson(self.branching, size=len(born)))
            born = parents + rng.exponential(1.0 / self.decay, size=len(parents))
            born = born[born < high]
            times.append(born)
            if sum(map(len, times)) > MOST_POINTS:
                raise SamplingError(f"{self!r} draws more than {MOST_POINTS:.0e} events.")
        return np.sort(np.concatenate(times))[:, None]

    def _places(self, t: ArrayLike, events: ArrayLike) -> tuple[Array, Array]:
        return as_points(t, 1, "t")[:, 0], np.sort(as_points(events, 1, "events")[:, 0])

    def _waned(self, t: Array, events: Array) -> tuple[Array, Array]:
        """Σ_{t_i < t} e^{−β(t − t_i)} and the number of the events before t, each (k,)."""
        count = np.searchsorted(events, t, side="left")
        if not len(events):
            return np.zeros(len(t)), np.zeros(len(t))
        after = _decayed(events, self.decay) + 1.0  # just after each event
        last = np.maximum(count - 1, 0)
        waned = np.where(
            count > 0, after[last] * np.exp(-self.decay * np.maximum(t - events[last], 0.0)), 0.0
        )
        # Of equal times none is before the other, which the recursion does not know; they have
        # probability zero.
        return np.asarray(waned), count.astype(np.float64)

    def __repr__(self) -> str:
        numbers = f"base={self.base:.6g}, branching={self.branching:.6g}, decay={self.decay:.6g}"
        return f"Hawkes({numbers}, {self.domain!r})"


def _decayed(times: Array, beta: float) -> Array:
    """A_i = Σ_{j<i} e^{−β(t_i − t_j)} = e^{−β(t_i − t_{i−1})}(1 + A_{i−1}), (n,)."""
    steps = np.exp(-beta * np.diff(times)).tolist()
    found, last = [0.0], 0.0
    for step in steps:
        last = step * (1.0 + last)
        found.append(last)
    return np.array(found)


def _log_likelihood(t: Array, length: float, mu: float, alpha: float, beta: float) -> tuple[float, Array]:
    """Σ log λ(t_i) − Λ(T) and its derivatives in μ, α and β, for times after the beginning."""
    decayed = _decayed(t, beta)
    gaps = np.diff(t)
    # B_i = Σ_{j<i} (t_i − t_j) e^{−β(t_i − t_j)} = e^{−βd}(B_{i−1} + d(1 + A_{i−1})).
    steps = np.exp(-beta * gaps)
    found, last = [0.0], 0.0
    for step, add in zip(steps.tolist(), (gaps * (1.0 + decayed[:-1])).tolist(), strict=True):
        last = step * (last + add)
        found.append(last)
    moved = np.array(found)
    rate = mu + alpha * beta * decayed
    left = length - t
    tail = np.exp(-beta * left)
    value = float(np.log(rate).sum() - mu * length - alpha * (1.0 - tail).sum())
    slopes = [
        (1.0 / rate).sum() - length,
        (beta * decayed / rate).sum() - (1.0 - tail).sum(),
        (alpha * (decayed - beta * moved) / rate).sum() - alpha * (left * tail).sum(),
    ]
    return value, np.array(slopes)
