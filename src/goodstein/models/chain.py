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

from typing import Any

import numpy as np

from goodstein.domains import Box, Domain, Lattice, Simplex
from goodstein.domains.states import States
from goodstein.errors import InputError, NumericalScoreWarning, quiet
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
FAR = 30.0
"""Rise of the log density along a chain from which it did not start at a draw of the model, but at an outlier
or at data of quite another law, and is left out."""
DRIFT = 5.0
"""Mean rise of log q along chains, in standard errors, beyond which the data are not draws of the model: it
is zero if they are. Chains that move to neighbours are then still on their way, and say nothing of it."""
SEED = 0x5CE11
"""Seed of the chains: the draws do not depend on the user's generator, nor on anything drawn from it."""


def chained(model: Any, domain: Domain, rows: Array) -> Array | None:
    """Draw by chains that start at rows of the data, (N, d).

    None where the model cannot be evaluated away from the data, or not for many points at once, where its
    score is an estimate, or where hardly any proposal is accepted.
    """
    x = rows[np.linspace(0, len(rows) - 1, min(len(rows), CHAINS)).astype(np.intp)]
    solid = not domain.discrete and domain.flat and (domain.basis is None or isinstance(domain, Simplex))
    reached = solid or (isinstance(domain, Lattice | States) and model.has_logpdf)
    if not (reached and isinstance(model, Model) and model.everywhere and not model.estimated):
        return None
    key, kind = ("logpdf", Kind.LOGPDF) if model.has_logpdf else ("score", Kind.SCORE)
    walk = _among_states if domain.discrete else _in_space
    try:
        if key in model._functions and model._function(key, kind, x).slow:
            return None
        with quiet(NumericalScoreWarning), np.errstate(all="ignore"):
            states, risen = walk(model, domain, x, np.random.default_rng(np.random.SeedSequence(SEED)))
    except InputError:
        return None
    near = risen < FAR
    if not near.any():
        return None
    states, risen = states[:, near], risen[near]
    if domain.discrete:
        useless = risen.sum() > DRIFT * np.sqrt(len(risen)) * risen.std()
    else:
        moves = np.diff(states, axis=0).any(axis=2)
        useless = moves.sum() <= LEAST * moves.size
    return None if useless else np.concatenate(states[BURN_IN:])


def _among_states(model: Model, domain: Any, x: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the states of all chains after each step, by moves to neighbours, and the rises of log q."""
    logs, n, states = model.logpdf(x), len(x), []
    first = logs
    for _ in range(STEPS):
        if isinstance(domain, Lattice):
            moved = np.arange(domain.dim) == rng.integers(domain.dim, size=(n, 1))
            to = np.where(moved, rng.choice(domain.levels, (n, 1)), x)
        else:
            near = domain.neighbours(x)
            to = near[np.arange(n), rng.integers(near.shape[1], size=n)]
        after = model.logpdf(to)
        taken = np.log(rng.random(n)) < after - logs
        x, logs = np.where(taken[:, None], to, x), np.where(taken, after, logs)
        states.append(x)
    return np.array(states), logs - first


def _in_space(model: Model, domain: Domain, x: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the states of all chains after each step, by stretches, and the rises of log q."""
    space, n, dim = _Space(model, domain, x), len(x), domain.dim - isinstance(domain, Simplex)
    anchors = u = space.entered(x)
    states, risen = [], np.zeros(n)
    for _ in range(STEPS):
        z = 0.5 * (1.0 + rng.random((n, 1))) ** 2
        about = anchors[(np.arange(n) + rng.integers(1, max(n, 2))) % n]
        to = about + z * (u - about)
        rise = space.rise(u, to)
        taken = np.log(rng.random(n)) < (dim - 1) * np.log(z[:, 0]) + rise
        risen += np.where(taken, rise, 0.0)
        u = np.where(taken[:, None], to, u)
        states.append(space.left(u))
    return np.array(states), risen


class _Space:
    """Coordinates without faces, and the density there."""

    def __init__(self, model: Model, domain: Domain, rows: Array) -> None:
        self.model, self.domain, self.rows, self.closed = model, domain, rows, isinstance(domain, Simplex)
        everything = np.full((2, domain.dim), [[0.0 if self.closed else -np.inf], [np.inf]])
        lower, upper = (domain.lower, domain.upper) if isinstance(domain, Box) else everything
        self.below, self.above = np.isfinite(lower), np.isfinite(upper)
        self.lower, self.upper = np.where(self.below, lower, 0.0), np.where(self.above, upper, 0.0)

    def entered(self, x: Array) -> Array:
        """Return the coordinates of points, (n, d)."""
        low = np.where(self.below, np.log(x - self.lower), 0.0)
        return np.where(self.below | self.above, low - np.where(self.above, np.log(self.upper - x), 0.0), x)

    def left(self, u: Array) -> Array:
        """Return the points at coordinates, (n, d)."""
        u = u - u.max(axis=1, keepdims=True) if self.closed else u
        interval = self.lower + (self.upper - self.lower) / (1.0 + np.exp(-u))
        one_side = np.where(self.below, self.lower + np.exp(u), self.upper - np.exp(-u))
        x = np.where(self.below & self.above, interval, np.where(self.below | self.above, one_side, u))
        return x / x.sum(axis=1, keepdims=True) if self.closed else x

    def rise(self, start: Array, stop: Array) -> Array:
        """Return by how much the log density rises between coordinates, (n,); −inf if that is not known."""
        model, closed, n = self.model, self.closed, len(start)
        x = self.left(np.concatenate([start, stop, 0.5 * (start + stop)][: 2 if model.has_logpdf else 3]))
        rate = np.where(self.below, x - self.lower, 1.0) * np.where(self.above, self.upper - x, 1.0)
        rate /= np.where(self.below & self.above, self.upper - self.lower, 1.0)
        function = model.logpdf if model.has_logpdf else model.weighted_score if closed else model.score
        known = self.domain.contains(x) & (rate > 0).all(axis=1)
        # The number of rows stays the same: compilers look at each number anew.
        values = function(np.where(known[:, None], x, np.resize(self.rows, x.shape)))
        usable = known.reshape(-1, n).all(axis=0)
        rise = np.diff(np.log(rate[: 2 * n]).sum(axis=1).reshape(2, n), axis=0)[0]
        if model.has_logpdf:
            rise += values[n:] - values[:n]
        else:
            slopes = values - x * values.sum(axis=1, keepdims=True) if closed else values * rate
            first, last, middle = np.einsum("kij,ij->ki", slopes.reshape(3, n, -1), stop - start)
            rise += (first + 4.0 * middle + last) / 6.0
            usable &= np.abs(middle - 0.5 * (first + last)) < ROUGH
        return np.where(usable, rise, -np.inf)
