"""The piecewise exponential distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from goodstein.constraints import numbers
from goodstein.errors import InputError, ScoreError
from goodstein.families.checks import vector
from goodstein.families.coordinates import Positive, free
from goodstein.families.durations import Lifetimes, durations_and_events
from goodstein.types import Array, ArrayLike


class PiecewiseExponential(Lifetimes):
    r"""Piecewise exponential distribution: a hazard that is constant between breakpoints.

    .. math:: λ(t) = h_j \quad\text{for}\quad b_{j-1} < t \le b_j, \qquad b_0 = 0,\; b_J = \infty.

    The density jumps where the hazard does. Stein's identity then fails for every operator that uses
    the score or the derivative of the hazard, so those raise :class:`goodstein.ScoreError`. The
    :class:`goodstein.Martingale` operator uses neither: pass the durations as
    :class:`goodstein.Censored`, with or without censoring.

    Parameters
    ----------
    breakpoints
        Times at which the hazard changes, positive and increasing, (J − 1,).
    hazards
        The hazard before, between and after them, (J,): not negative, and positive in the last piece.
        `lifelines` stores their inverses.

    References
    ----------
    Friedman (1982), "Piecewise exponential models for survival data with covariates",
    *Annals of Statistics* 10, 101-113.

    Examples
    --------
    >>> from goodstein.families import PiecewiseExponential
    >>> q = PiecewiseExponential([1.0, 3.0], [0.5, 0.1, 1.0])
    >>> q
    PiecewiseExponential(breakpoints=[1, 3], hazards=[0.5, 0.1, 1])
    >>> q.cumulative_hazard([1.0, 2.0, 4.0])
    array([0.5, 0.6, 1.7])
    >>> PiecewiseExponential.fit([0.5, 1.0, 2.0, 3.0], breakpoints=[1.0])
    PiecewiseExponential(breakpoints=[1], hazards=[0.571429, 0.666667])
    >>> PiecewiseExponential.fitter([1.0])([0.5, 1.0, 2.0, 3.0]).hazards.round(3)
    array([0.571, 0.667])
    """

    breakpoints: Array
    hazards: Array
    _starts: Array
    _reached: Array

    _free = free(hazards=Positive())

    def __init__(self, breakpoints: ArrayLike, hazards: ArrayLike) -> None:
        ends = _as_breakpoints(breakpoints)
        values = np.atleast_1d(numbers(hazards, "hazards", ndim=(0, 1), least=0.0))
        if len(values) != len(ends) + 1:
            reason = f"{len(ends)} breakpoints make {len(ends) + 1} pieces, got {len(values)} hazards."
            raise InputError(reason, argument="hazards")
        if values[-1] == 0:
            raise InputError("the last one is 0, so that some lives would never end.", argument="hazards")
        starts = np.concatenate([[0.0], ends])
        reached = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(starts))])
        self._set(breakpoints=ends, hazards=values, _starts=starts, _reached=reached)

    @classmethod
    def fit(cls, data: Any, breakpoints: ArrayLike) -> Self:  # type: ignore[override]
        """Maximum likelihood for given breakpoints: events in each piece over the time spent in it.

        Breakpoints are chosen beforehand, not by looking at the data.
        """
        ends = _as_breakpoints(breakpoints)
        t, event = durations_and_events(data, cls)
        starts = np.concatenate([[0.0], ends])
        lengths = np.diff(np.append(starts, np.inf))
        exposure = np.clip(t[:, None] - starts, 0.0, lengths).sum(axis=0)
        events = np.bincount(_piece(ends, t[event]), minlength=len(starts))
        if events[-1] == 0:
            last = f"after the last breakpoint, {ends[-1]:g}," if len(ends) else "at all"
            reason = f"there are no events {last} so the last hazard would be 0."
            raise InputError(reason, argument="data", remedy="Choose earlier breakpoints.")
        return cls(ends, events / exposure)

    @classmethod
    def fitter(cls, breakpoints: ArrayLike) -> PiecewiseFit:
        """The fit with given breakpoints as a function of data, for a :class:`ParametricBootstrap`."""
        return PiecewiseFit(tuple(_as_breakpoints(breakpoints).tolist()))

    def score(self, x: ArrayLike) -> Array:
        """−λ at each row; raises where the density jumps."""
        self._require_smooth("score")
        return super().score(x)

    def _log_hazard(self, t: Array) -> Array:
        return np.asarray(np.log(self.hazards)[_piece(self.breakpoints, t)])

    def _log_hazard_derivative(self, t: Array) -> Array:
        self._require_smooth("derivative of the hazard")
        return np.zeros_like(t)

    def _cumulative_hazard(self, t: Array) -> Array:
        piece = _piece(self.breakpoints, t)
        return np.asarray(self._reached[piece] + self.hazards[piece] * (t - self._starts[piece]))

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        e = rng.standard_exponential(n)
        # The last piece that starts below e: pieces without hazard are never ended in.
        piece = np.maximum(np.searchsorted(self._reached, e, side="left") - 1, 0)
        return np.asarray(self._starts[piece] + (e - self._reached[piece]) / self.hazards[piece])

    def _require_smooth(self, what: str) -> None:
        if (self.hazards != self.hazards[0]).any():
            why = f"so Stein's identity fails for operators that use its {what}"
            how = "ksd_test(Censored(durations, events), model, operator=Martingale())"
            remedy = f"Use Martingale(), which does not: {how}."
            raise ScoreError(f"The density of {self!r} jumps at its breakpoints, {why}.", remedy=remedy)


@dataclass(frozen=True)
class PiecewiseFit:
    """`PiecewiseExponential.fit` with breakpoints; a class, so that it can be sent to other processes."""

    breakpoints: tuple[float, ...]

    def __call__(self, data: Any) -> PiecewiseExponential:
        return PiecewiseExponential.fit(data, self.breakpoints)

    def __repr__(self) -> str:
        return f"PiecewiseExponential.fitter([{', '.join(f'{b:g}' for b in self.breakpoints)}])"


def _piece(breakpoints: Array, t: Array) -> npt.NDArray[np.intp]:
    """The piece j with b_{j−1} < t <= b_j; time zero is in the first."""
    return np.searchsorted(breakpoints, t, side="left")


def _as_breakpoints(value: ArrayLike) -> Array:
    if (isinstance(value, list | tuple) and not value) or (isinstance(value, np.ndarray) and not value.size):
        return np.empty(0)
    ends = vector(value, "breakpoints", above=0.0)
    if (np.diff(ends) <= 0).any():
        raise InputError(f"must increase, got {ends.tolist()}.", argument="breakpoints")
    return ends
