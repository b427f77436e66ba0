"""What families on a lattice share: the difference score, enumeration, Gibbs sampling, fits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from goodstein.constraints import check_count, numbers
from goodstein.domains import Lattice
from goodstein.domains.lattice import Codes
from goodstein.errors import InputError
from goodstein.families.base import LIKELIHOOD, Family
from goodstein.families.checks import as_sample
from goodstein.lazy import cached_property
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

EXACT_STATES = 1 << 16
"""Lattices with at most so many states are sampled exactly."""
FIT_STATES = 1 << 12
"""Lattices with at most so many states are fitted by maximum likelihood."""
SWEEPS = 200
"""Gibbs updates of every coordinate, from a uniform start, before a draw is taken."""
ITERATIONS = 100
TOLERANCE = 1e-9
PSEUDOLIKELIHOOD = "maximum pseudo-likelihood"
SINGULAR = 1e-7
"""Where information is smaller than this, in some direction, an estimate is on its way to infinity."""


class LatticeFamily(Family):
    """A probability mass function on a lattice, positive everywhere, known up to its constant."""

    domain: Lattice

    _methods = (LIKELIHOOD, PSEUDOLIKELIHOOD)

    def _fit_method(self, penalty: float = 0.0, **options: Any) -> str:
        return "penalised maximum likelihood" if penalty else "maximum likelihood"

    @abstractmethod
    def _log_weight(self, codes: Codes) -> Array:
        """log q up to a constant, (n,)."""

    def _log_ratio(self, codes: Codes) -> Array:
        """log q(¬_i x) − log q(x), (n, d)."""
        here, result = self._log_weight(codes), np.empty(codes.shape)
        for i in range(self.dim):
            shifted = codes.copy()
            shifted[:, i] = (codes[:, i] + 1) % len(self.domain.levels)
            result[:, i] = self._log_weight(shifted) - here
        return result

    def _log_conditional(self, codes: Codes, i: int) -> Array:
        """log q(x_i = · | the others) up to a constant, (n, L)."""
        raise NotImplementedError  # only families with a Gibbs sampler need it

    def score(self, x: ArrayLike) -> Array:
        """The difference score 1 − q(¬_i x)/q(x), (n, d)."""
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1(self._log_ratio(self._codes(x))))

    def logpdf(self, x: ArrayLike) -> Array:
        """Log probability up to the constant :meth:`log_partition`, (n,)."""
        return self._log_weight(self._codes(x))

    def log_partition(self) -> float:
        """The logarithm of the sum of exp(logpdf) over all states, by enumeration."""
        return self._enumerated[0]

    def sample(self, n: int, rng: RNG = None, *, sweeps: int = SWEEPS) -> Array:
        """Draw ``n`` independent states, (n, d).

        On a lattice of at most 2^16 states they are exact, by enumeration. On a larger one every draw is
        the end of a Gibbs chain of its own, which starts at a uniform state and visits all coordinates
        ``sweeps`` times. Where couplings are so strong that such a chain does not settle, raise
        ``sweeps`` or bring a sampler of your own: ``Model(score=q.score, sample=..., domain=q.domain)``.
        """
        n, sweeps = check_count(n, "n", 0), check_count(sweeps, "sweeps")
        generator = as_generator(rng)
        if self.domain.size > EXACT_STATES:
            return self.domain.decode(self._gibbs(n, sweeps, generator))
        cumulative = self._enumerated[1]
        place = np.searchsorted(cumulative, generator.random(n) * cumulative[-1], side="right")
        shape = (len(self.domain.levels),) * self.dim
        return self.domain.decode(np.stack(np.unravel_index(place, shape), axis=1))

    @cached_property
    def _enumerated(self) -> tuple[float, Array]:
        """The log of the normalising constant, and cumulative probabilities in the order of the states."""
        if self.domain.size > EXACT_STATES:
            states = f"{self.domain.size:.3g} states; at most {EXACT_STATES} are summed over"
            raise InputError(f"{self!r} has {states}.")
        weights = self._log_weight(self.domain.encode(self.domain.states()))
        top = float(weights.max())
        cumulative = np.cumsum(np.exp(weights - top))
        return top + float(np.log(cumulative[-1])), cumulative

    def _gibbs(self, n: int, sweeps: int, rng: np.random.Generator) -> Codes:
        """n chains side by side."""
        codes = rng.integers(0, len(self.domain.levels), size=(n, self.dim))
        for _ in range(sweeps):
            for i in range(self.dim):
                logs = self._log_conditional(codes, i)
                weights = np.exp(logs - logs.max(axis=1, keepdims=True))
                cumulative = np.cumsum(weights, axis=1)
                uniform = rng.random((n, 1)) * cumulative[:, -1:]
                codes[:, i] = (uniform >= cumulative[:, :-1]).sum(axis=1)
        return codes

    def _contributions(self, data: Any, method: str) -> Array:
        if method == LIKELIHOOD:
            return self.logpdf(data) - self.log_partition()
        codes, total = self._codes(data), np.zeros(len(data))
        for i in range(self.dim):
            logs = self._log_conditional(codes, i)
            top = logs.max(axis=1)
            total += logs[np.arange(len(codes)), codes[:, i]] - top
            total -= np.log(np.exp(logs - top[:, None]).sum(axis=1))
        return total

    def _codes(self, x: ArrayLike) -> Codes:
        return self.domain.encode(self._points(x))


def as_couplings(name: str, value: ArrayLike) -> Array:
    """A symmetric matrix (d, d) with zeros on its diagonal."""
    matrix = numbers(value, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"expected a square matrix (d, d), got shape {matrix.shape}.", argument=name)
    if not np.array_equal(matrix, matrix.T):
        i, j = np.unravel_index(np.argmax(np.abs(matrix - matrix.T)), matrix.shape)
        entries = f"entries ({i}, {j}) and ({j}, {i}) are {matrix[i, j]:g} and {matrix[j, i]:g}"
        remedy = "From an upper triangle make triangle + triangle.T."
        raise InputError(f"must be symmetric, but {entries}.", argument=name, remedy=remedy)
    diagonal = np.flatnonzero(matrix.diagonal())
    if len(diagonal):
        entry = f"entry ({diagonal[0]}, {diagonal[0]}) is {matrix.diagonal()[diagonal[0]]:g}"
        remedy = "A coordinate is not coupled to itself."
        raise InputError(f"its diagonal must be zero, but {entry}.", argument=name, remedy=remedy)
    return matrix


def symmetric(pairs: Array, d: int) -> Array:
    """The symmetric matrix (d, d) with zero diagonal and these entries above it, row by row."""
    matrix = np.zeros((d, d))
    matrix[np.triu_indices(d, 1)] = pairs
    return matrix + matrix.T


def as_states(x: ArrayLike, levels: ArrayLike) -> tuple[Lattice, Codes]:
    """Observations from which a family is fitted: their lattice and their codes."""
    points = as_sample(x)
    lattice = Lattice(levels, points.shape[1])
    return lattice, lattice.encode(points)


def maximum_likelihood(statistics: Array, observed: Array, penalty: float) -> Array:
    """Parameters of the exponential family exp(β·t(x)), given t at all states, (states, p), and t̄, (p,).

    Newton's method for the concave function β·t̄ − log Σ_x exp(β·t(x)) − penalty·‖β‖²/2.
    """
    p = len(observed)
    beta = np.zeros(p)

    def evaluate(beta: Array) -> tuple[float, Array]:
        energy = statistics @ beta
        top = energy.max()
        weights = np.exp(energy - top)
        total = weights.sum()
        value = beta @ observed - top - np.log(total) - 0.5 * penalty * (beta @ beta)
        return float(value), weights / total

    value, weights = evaluate(beta)
    for _ in range(ITERATIONS):
        mean = weights @ statistics
        gradient = observed - mean - penalty * beta
        centred = statistics - mean
        information = (centred * weights[:, None]).T @ centred + penalty * np.eye(p)
        if float(np.linalg.eigvalsh(information)[0]) < SINGULAR:
            break
        if np.abs(gradient).max() <= TOLERANCE:
            return beta
        step = np.linalg.solve(information, gradient)
        slope, size = float(gradient @ step), 1.0
        while size > 1e-8:
            trial = beta + size * step
            found, trial_weights = evaluate(trial)
            if found >= value + 1e-4 * size * slope - 1e-12 * abs(value):
                break
            size /= 2.0
        beta, value, weights = trial, found, trial_weights
    raise no_estimate()


def no_estimate() -> InputError:
    """What to say where the likelihood has no maximum."""
    why = "some combination of levels never occurs in the data, and its parameter wants to be infinite"
    remedy = "Leave out coordinates, or pass a small `penalty`, such as 0.01."
    return InputError(f"the likelihood has no maximum, because {why}.", argument="x", remedy=remedy)
