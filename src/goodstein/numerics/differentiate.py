"""Gradients by numerical differentiation, for log densities and auxiliary functions.

:func:`scipy.differentiate.derivative` does the work; what is added here is that every step
stays inside the domain, that rows are taken in chunks, and that rows at which the result
cannot be trusted are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.errors import NumericalScoreWarning, ScoreError, describe_rows, takes, warn
from goodstein.types import Array, BoolArray

if TYPE_CHECKING:
    from goodstein.domains.base import Domain

IntArray: TypeAlias = npt.NDArray[np.intp]

FIRST_STEP = 0.47
"""First step, in units of the data's spread along the direction. Not a power of two, so that a
log density computed in double precision shows digits that single precision does not have."""

BOUNDARY_SHARE = 0.45
"""First step, as a share of the distance to the boundary: log densities like a·log(x) have
their singularity there, and finite differences converge only well within that distance."""

RETRY = 1e-3
"""Factor on the first step where that fails: the density may vary on a much finer scale than the data."""

RTOL = 1e-8
ATOL = 1e-9
"""When two estimates in a row agree; the better of them is then closer by two orders or more."""

TRUSTED = 1e-6
"""A row is reported where its estimated error exceeds TRUSTED·(1 + |derivative|), both per
unit of spread: far below what a test statistic can feel, far above rounding."""

WEIGHTS = 13.5
"""Sum of the absolute weights of the stencil, by which rounding errors are multiplied."""

EPS = float(np.finfo(np.float64).eps)
CHUNK_ELEMENTS = 1 << 20


def gradient(
    function: Callable[[Array], Array], x: Array, domain: Domain | None, *, name: str, remedy: str
) -> Array:
    """Gradient (n, d) of a batched function, (m, d) to (m,), by finite differences of order eight.

    The domain limits the steps. Where it has a tangent ``basis`` the derivatives are taken along its rows, so
    the function is never evaluated off the domain's hyperplane, and the result is the tangential part of the
    gradient. Messages call the function by its ``name``, and advise the ``remedy`` where this fails.

    >>> import numpy as np
    >>> from goodstein.numerics.differentiate import gradient
    >>> def logpdf(x):
    ...     return -0.5 * (x**2).sum(axis=1)
    >>> gradient(logpdf, np.array([[1.0, 2.0]]), None, name="the log density", remedy="pass a score")
    array([[-1.0, -2.0]])
    """
    n, d = x.shape
    if n == 0:
        return np.empty((0, d))
    basis = None if domain is None else domain.basis
    directions = np.eye(d) if basis is None else basis
    room = np.full(n, np.inf) if domain is None else domain.boundary_distance(x)
    stuck: BoolArray = ~(room > 0)
    if stuck.any():
        where = f"{describe_rows(stuck)} lie on the boundary of {domain!r} or outside"
        reason = f"{name}: {where}, where there is no room for numerical derivatives."
        raise ScoreError(reason, rows=stuck, remedy=f"Move them inside, or {remedy}.")
    spread = coordinate_spread(x @ directions.T)
    score = np.empty((n, d))
    error = np.empty(n)
    # A row costs nine points per direction at once.
    rows = max(1, CHUNK_ELEMENTS // (9 * d * len(directions)))
    for start in range(0, n, rows):
        chunk = slice(start, start + rows)
        lines = _Lines(function, x[chunk], directions * spread[:, None])
        slope, uncertain = _directional(lines, room[chunk], spread, domain)
        score[chunk] = (slope / spread) @ directions
        error[chunk] = (uncertain / (1 + np.abs(slope))).max(axis=1)
    _report(score, error, domain, name, remedy)
    return score


class _Lines:
    """A function along straight lines through each point: one line per (row, direction)."""

    def __init__(self, function: Callable[[Array], Array], x: Array, moves: Array) -> None:
        self.function, self.x, self.moves = function, x, moves
        self.row, self.direction = (i.ravel() for i in np.indices((len(x), len(moves))))
        self.centre = function(x)
        self.single, self.constant = True, True

    def points(self, lines: IntArray, t: Array) -> Array:
        """The points x + t·move, (lines.size, d)."""
        return np.asarray(self.x[self.row[lines]] + t[:, None] * self.moves[self.direction[lines]])

    def __call__(self, t: Array, line: Array) -> Array:
        t, line = np.broadcast_arrays(t, line)
        values = self.function(self.points(line.ravel().astype(np.intp), t.ravel()))
        self.constant = self.constant and bool(np.all(values == self.centre[0]))
        with np.errstate(over="ignore"):
            rounded = values.astype(np.float32)
        self.single = self.single and np.array_equal(rounded, values, equal_nan=True)
        return values.reshape(t.shape)

    def rounding(self, lines: IntArray, slope: Array, step: Array) -> Array:
        """What rounding of the log density and of the points may do to derivatives with these steps."""
        coarse = self.single and not self.constant
        eps = float(np.finfo(np.float32 if coarse else np.float64).eps)
        value = eps * np.abs(self.centre)[self.row[lines]]
        return np.asarray(WEIGHTS * (value / step + np.abs(slope) * self.resolution(lines) / step))

    def resolution(self, lines: IntArray) -> Array:
        """The smallest t that changes a point at all, in its most finely resolved coordinate.

        That coordinate is the one that matters near a boundary such as x_i = 0.
        """
        moves = np.abs(self.moves)[self.direction[lines]]
        size = np.abs(self.x)[self.row[lines]]
        ratio = np.divide(size, moves, out=np.full_like(size, np.inf), where=moves > 0)
        return np.asarray(EPS * ratio.min(axis=1))


def _directional(lines: _Lines, room: Array, spread: Array, domain: Domain | None) -> tuple[Array, Array]:
    """Derivatives along all directions and their estimated errors, both (n, m), per unit of spread."""
    shape = len(lines.x), len(lines.moves)
    step = _first_steps(lines, room, spread, domain)
    slope, error = _differentiate(lines, np.arange(len(step)), step)
    doubtful = np.flatnonzero(~(error <= 0.1 * TRUSTED * (1 + np.abs(slope))))
    # Where no digits are left a finer step would see a constant, and no error in it.
    doubtful = doubtful[RETRY * step[doubtful] > 1e6 * lines.resolution(doubtful)]
    if doubtful.size:
        again, again_error = _differentiate(lines, doubtful, RETRY * step[doubtful])
        better = np.isfinite(again) & ~(again_error >= error[doubtful])
        slope[doubtful[better]] = again[better]
        error[doubtful[better]] = again_error[better]
    return slope.reshape(shape), error.reshape(shape)


def _first_steps(lines: _Lines, room: Array, spread: Array, domain: Domain | None) -> Array:
    """First steps, one per line, per unit of spread, such that no point leaves the domain.

    The distance to the boundary bounds the step in every direction. Along directions in
    which the domain goes on further than that (along a nearby edge, say) the step may be
    longer, and the derivative has that much less rounding error.
    """
    safe = np.minimum(FIRST_STEP, BOUNDARY_SHARE * room[lines.row] / spread[lines.direction])
    step = safe.copy()
    short = np.flatnonzero(safe < FIRST_STEP)
    longer = FIRST_STEP
    while domain is not None and short.size:
        inside = np.ones(short.size, dtype=bool)
        # Twice the step, as the boundary must be well beyond it; then the points of the stencil.
        for share in (2.0, 1.0, 0.5, 0.25, 0.125):
            for sign in (-1.0, 1.0):
                t = np.full(short.size, sign * share * longer)
                inside &= domain.contains(lines.points(short, t))
        step[short[inside]] = longer
        longer /= 4
        short = short[~inside]
        short = short[safe[short] < longer]
    return step


def _differentiate(lines: _Lines, which: IntArray, step: Array) -> tuple[Array, Array]:
    """Derivatives at t = 0 along some of the lines, and their estimated errors."""
    from scipy.differentiate import derivative

    # Where a stencil leaves an undeclared support the log density is -inf: derivative() sees that.
    with np.errstate(invalid="ignore", divide="ignore"):
        options = {"initial_step": step, "tolerances": {"rtol": RTOL, "atol": ATOL}}
        result = derivative(lines, np.zeros(len(which)), args=(which,), **options)
    slope: Array = np.asarray(result.df)
    error = np.where(result.success, 0.0, result.error)
    # Differences of rounded values can agree by accident, so rounding is counted on its own.
    last_step = step / 2.0 ** np.maximum(result.nit - 1, 0)
    return slope, np.maximum(error, lines.rounding(which, slope, last_step))


def coordinate_spread(coordinates: Array) -> Array:
    """A robust standard deviation of each column; 1 where the rows do not differ."""
    low, high = np.percentile(coordinates, [25, 75], axis=0)
    spread = (high - low) / 1.349
    spread = np.where(spread > 0, spread, coordinates.std(axis=0))
    spread = np.where(spread > 0, spread, 1.0)
    # In a tighter cluster than this the steps would drown in rounding.
    return np.asarray(np.maximum(spread, 1e-6 * np.abs(coordinates).max(axis=0)))


def _report(slopes: Array, error: Array, domain: Domain | None, name: str, remedy: str) -> None:
    """Raise or warn about rows whose derivative did not converge."""
    broken: BoolArray = np.asarray(~np.isfinite(slopes).all(axis=1))
    if broken.any():
        hint = f"Check that it is finite throughout {domain!r}"
        if domain is None:
            own = "`domain`" if takes("domain") else "Model(..., domain=...)"
            hint = f"Pass {own}, so that the steps stay where it is finite"
        where = f"{describe_rows(broken)}: it is not finite there or nearby"
        reason = f"{name} cannot be differentiated numerically at {where}."
        raise ScoreError(reason, rows=broken, remedy=f"{hint}, or {remedy}.")
    doubtful = ~(error <= TRUSTED)
    if doubtful.any():
        warn(
            f"{name}: the numerical derivatives are doubtful at {describe_rows(doubtful)}, with an estimated "
            f"relative error of up to {error.max():.1g}. A kink, noise or single precision does that, or a "
            f"boundary within rounding of the point. To be sure, {remedy}.",
            NumericalScoreWarning,
        )
