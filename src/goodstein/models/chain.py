r"""Draws from a density without a sampler, by Markov chains that start at the data.

If the model is true, the data are draws from it, and chains that leave its distribution invariant go on
drawing from it, however well they mix. They show values that are too rare for a small sample. These draws are
good enough to judge how skewed features are; they do not make a null distribution.

Proposals are stretches about rows of the data, x′ = a + z(x − a) (Goodman and Weare, 2010), which need no
scale and reach far into the tails in a few steps. On a simplex and a box they are made in logarithms of the
distances from the faces, next to which densities may be unbounded. Without a log density its difference is
the integral of the score along the proposed step, by Simpson's rule. On counts and lattices a chain moves to
neighbours.
"""

from __future__ import annotations

import numpy as np

from goodstein.domains import Box, Domain, Lattice, Simplex
from goodstein.domains.states import States
from goodstein.errors import InputError, NotFiniteError, NumericalScoreWarning, quiet
from goodstein.models.callables import Kind
from goodstein.models.model import Model
from goodstein.types import Array

CHAINS = 100
"""Maximum number of chains; their first rows are evenly spread over the sample."""
STEPS, BURN_IN = 24, 8
"""Steps of each chain, and the first ones, which are left out: data of another law must reach the model."""
ROUGH = 6.0
"""Difference between the middle slope of a step and the mean of the outer ones beyond which Simpson's rule is
not trusted, and the step is not made."""
LEAST = 0.05
"""Share of proposals that must be accepted."""
SEED = 0x5CE11
"""Seed of the chains: the draws do not depend on the user's generator, nor on anything drawn from it."""


def chained(model: Model, domain: Domain, rows: Array) -> Array | None:
    """Draw by chains that start at rows of the data, (N, d).

    None where the model cannot be evaluated away from the data, or not for many points at once, where its
    score is an estimate, or where hardly any proposal is accepted.
    """
    discrete, x = domain.discrete, rows[np.linspace(0, len(rows) - 1, min(len(rows), CHAINS)).astype(np.intp)]
    key, kind = ("logpdf", Kind.LOGPDF) if model.has_logpdf else ("score", Kind.SCORE)
    if model.estimated or not model.everywhere or (discrete and not model.has_logpdf):
        return None
    rng = np.random.default_rng(np.random.SeedSequence(SEED))
    try:
        if key in model._functions and model._function(key, kind, x).slow:
            return None
        with quiet(NumericalScoreWarning), np.errstate(all="ignore"):
            states = _among_states(model, domain, x, rng) if discrete else _in_space(model, domain, x, rng)
    except InputError:
        return None
    return np.concatenate(states[BURN_IN:]) if states else None


def _among_states(model: Model, domain: Domain, x: Array, rng: np.random.Generator) -> list[Array]:
    """Return the states of all chains after each step, by moves to neighbours."""
    logs, each, states = model.logpdf(x), np.arange(len(x)), []
    for _ in range(STEPS):
        if isinstance(domain, Lattice):
            to = x.copy()
            to[each, rng.integers(domain.dim, size=len(x))] = rng.choice(domain.levels, len(x))
        elif isinstance(domain, States):
            near = domain.neighbours(x)
            to = near[each, rng.integers(near.shape[1], size=len(x))]
        else:
            return []
        after = model.logpdf(to)
        taken = np.log(rng.random(len(x))) < after - logs
        x, logs = np.where(taken[:, None], to, x), np.where(taken, after, logs)
        states.append(x)
    return states


def _in_space(model: Model, domain: Domain, x: Array, rng: np.random.Generator) -> list[Array]:
    """Return the states of all chains after each step, by stretches; none where few are accepted."""
    closed = isinstance(domain, Simplex)
    if not domain.flat or (domain.basis is not None and not closed):
        return []
    space, (n, d) = _Space(model, domain, x), x.shape
    anchors = u = space.entered(x)
    logs, slope = space.asked(x)
    states, accepted = [], 0
    for _ in range(STEPS):
        z = 0.5 * (1.0 + rng.random((n, 1))) ** 2
        about = anchors[(np.arange(n) + rng.integers(1, max(n, 2))) % n]
        to = about + z * (u - about)
        y = space.left(to)
        if model.has_logpdf:
            after, slope = space.asked(y)
            gain, smooth = after - logs, True
        else:
            after, slopes = space.asked(np.concatenate([y, space.left(0.5 * (u + to))]))
            after, middle, slopes = after[:n], slopes[n:], slopes[:n]
            along = [np.einsum("ij,ij->i", part, to - u) for part in (slope, middle, slopes)]
            gain = after - logs + (along[0] + 4.0 * along[1] + along[2]) / 6.0
            smooth = np.abs(along[1] - 0.5 * (along[0] + along[2])) < ROUGH
        taken = smooth & (np.log(rng.random(n)) < (d - closed - 1) * np.log(z[:, 0]) + gain)
        x, u, logs = (
            np.where(taken[:, None], y, x),
            np.where(taken[:, None], to, u),
            np.where(taken, after, logs),
        )
        if not model.has_logpdf:
            slope = np.where(taken[:, None], slopes, slope)
        states.append(x)
        accepted += int(taken.sum())
    return states if accepted > LEAST * n * STEPS else []


class _Space:
    """Coordinates without faces, and the density there."""

    def __init__(self, model: Model, domain: Domain, rows: Array) -> None:
        self.model, self.domain, self.rows, self.closed = model, domain, rows, isinstance(domain, Simplex)
        lower, upper = np.full((2, domain.dim), [[-np.inf], [np.inf]])
        if isinstance(domain, Box):
            lower, upper = domain.lower, domain.upper
        elif self.closed:
            lower = np.zeros(domain.dim)
        self.below, self.above = np.isfinite(lower), np.isfinite(upper)
        self.lower, self.upper = np.where(self.below, lower, 0.0), np.where(self.above, upper, 0.0)

    def entered(self, x: Array) -> Array:
        """Return the coordinates of points, (n, d)."""
        low = np.where(self.below, np.log(x - self.lower), 0.0)
        return np.where(self.below | self.above, low - np.where(self.above, np.log(self.upper - x), 0.0), x)

    def left(self, u: Array) -> Array:
        """Return the points at coordinates, (n, d)."""
        if self.closed:
            powers = np.exp(u - u.max(axis=1, keepdims=True))
            return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        interval = self.lower + (self.upper - self.lower) / (1.0 + np.exp(-u))
        one_side = np.where(self.below, self.lower + np.exp(u), self.upper - np.exp(-u))
        return np.where(self.below & self.above, interval, np.where(self.below | self.above, one_side, u))

    def asked(self, x: Array) -> tuple[Array, Array]:
        """Return the log density, or its part that the score does not know, and the score; NaN if unknown."""
        rate = np.where(self.below, x - self.lower, 1.0) * np.where(self.above, self.upper - x, 1.0)
        rate /= np.where(self.below & self.above, self.upper - self.lower, 1.0)
        logs, model = np.log(rate).sum(axis=1), self.model
        function = model.logpdf if model.has_logpdf else model.weighted_score if self.closed else model.score
        # The number of rows stays the same: compilers look at each number anew.
        known, spare = self.domain.contains(x), np.resize(self.rows, x.shape)
        try:
            values = function(np.where(known[:, None], x, spare))
        except NotFiniteError as error:
            known[error.rows] = False
            values = function(np.where(known[:, None], x, spare))
        logs = np.where(known, logs + values if model.has_logpdf else logs, np.nan)
        if model.has_logpdf:
            return logs, values
        if self.closed:
            return logs, values - x * values.sum(axis=1, keepdims=True)
        return logs, values * rate
