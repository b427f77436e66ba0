"""What families of counts share: the difference score, fits, and checks of data."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np

from goodstein.domains import Naturals
from goodstein.errors import InputError, refuse_rows
from goodstein.families.base import Family
from goodstein.families.checks import as_sample
from goodstein.types import Array, ArrayLike

LARGEST_MEAN = 1e15
"""Means beyond which counts are rounded."""
FARTHEST = 30.0
"""How far a parameter may move on its own scale, that of logarithms, before it is on its way to infinity."""


class CountFamily(Family):
    """A probability mass function on ℕ^d; a subclass writes :meth:`_logpmf` and :meth:`_draw`."""

    domain: Naturals

    @abstractmethod
    def _logpmf(self, x: Array) -> Array:
        """log q at counts (n, d), (n,), where it is not −∞ for being negative."""

    def logpdf(self, x: ArrayLike) -> Array:
        """Log probability at each row of ``x`` (n, d), (n,); −inf where there are no counts."""
        points = self._points(x)
        possible = self.domain.contains(points)
        out = np.full(len(points), -np.inf)
        if possible.any():
            out[possible] = self._logpmf(points[possible])
        return out

    def score(self, x: ArrayLike) -> Array:
        """The difference score 1 − q(x + e_j)/q(x), (n, d), with e_j one more of the j-th count."""
        points = self._points(x)
        here, out = self.logpdf(points), np.empty(points.shape)
        for j in range(self.dim):
            more = points.copy()
            more[:, j] += 1.0
            there = self.logpdf(more)
            with np.errstate(over="ignore", invalid="ignore"):
                out[:, j] = np.where(np.isneginf(there), 1.0, -np.expm1(there - here))
        return out


def log_factorial(x: Array) -> Array:
    """log x!."""
    from scipy.special import gammaln

    return np.asarray(gammaln(x + 1.0))


def as_counts(x: ArrayLike, d: int | None = 1) -> Array:
    """Observations from which a family of counts is fitted, (n, d); d may be anything if None."""
    points = as_sample(x)
    if d is not None and points.shape[1] != d:
        raise InputError(f"expected one column of counts, got {points.shape[1]}.", argument="x")
    try:
        Naturals(points.shape[1]).validate(points)
    except InputError as error:
        raise error.told("x") from None
    return points


def as_shared_total(x: ArrayLike) -> tuple[Array, int, Array]:
    """Counts of several kinds, (n, d), whose rows add up to the same total; that, and the kinds' shares."""
    counts = as_counts(x, None)
    total = counts[0].sum()
    off = counts.sum(axis=1) != total
    refuse_rows(off, f"do not add up to {total:g}, as row 0 does.", argument="x")
    means = counts.mean(axis=0)
    if total == 0 or not (means > 0).all():
        reason = f"kind {int(np.argmin(means))} never occurs, so its probability is at its limit."
        raise InputError(reason, argument="x", remedy="Leave it out.")
    return counts, int(total), means / means.sum()


F = TypeVar("F", bound=CountFamily)


def most_likely(start: F, x: Array, what: str) -> F:
    """The member of a family that makes counts (n, d) most likely, from a member nearby.

    By quasi-Newton steps in the coordinates of :meth:`Family.moved`. `what` says why there may be none.
    """
    from scipy.optimize import minimize

    values, times = np.unique(x, axis=0, return_counts=True)
    share = times / len(x)

    def loss(by: Array) -> float:
        if np.abs(by).max() > FARTHEST:
            return np.inf
        try:
            return -float(share @ start.moved(by).logpdf(values))
        except InputError:  # no such member
            return np.inf

    at = np.zeros(len(start.coordinates()))
    with np.errstate(all="ignore"):
        for _ in range(3):  # each search begins with a fresh matrix, and ends where differences are noise
            found = minimize(_differenced(loss), at, jac=True, method="BFGS", options={"gtol": 1e-9})
            at = found.x
    if not np.isfinite(found.fun) or np.abs(at).max() > FARTHEST / 3 or np.abs(found.jac).max() > 1e-5:
        raise InputError(f"the likelihood has no maximum: {what}", argument="x")
    return start.moved(at)


def _differenced(function: Any, step: float = 1e-5) -> Any:
    """A function with its gradient by differences of order four."""

    def both(at: Array) -> tuple[float, Array]:
        slopes = np.empty(len(at))
        for k in range(len(at)):
            moves = [function(at + h * step * np.eye(len(at))[k]) for h in (-2, -1, 1, 2)]
            slopes[k] = (moves[0] - 8 * moves[1] + 8 * moves[2] - moves[3]) / (12 * step)
        return function(at), np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0)

    return both
