r"""Draws from a density on the line, a half-line or an interval, by its score or its logarithm.

Along a line the score is all that there is to know: log q is its integral, up to a constant. In coordinates

.. math:: x = c + w \sinh u, \qquad x = a + w e^u, \qquad x = (a + b e^u) / (1 + e^u)

of the line, a half-line and an interval, tails and edges that are powers become exponential, so that a few
hundred values do wherever the mass is. Cells are halved until log q, by Simpson's rule, is as good as
linear in each where q is not negligible, and the integral of the score is known wherever it is needed to get
from one mode to another. Draws are then those of a density that is log-linear in u between the nodes, off by
a factor of at most exp(±BENT/4), and that leaves out at most OMITTED at either end.

There is nothing to draw from where values are not finite before the density has become negligible, where
mass escapes, or where the cells do not become fine enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.domains import Box, Euclidean
from goodstein.errors import InputError, ScoreError, heard
from goodstein.types import Array, BoolArray

BENT = 1e-4
"""How far log q may be from a line in the middle of a cell; halves of cells, which are drawn from, have a
quarter of that."""
ROUGH = 1e-5
"""How far Simpson's rule and the trapezoids may be apart in a cell: they do not see the same of a jump."""
DEEP = 25.0
"""log q below its maximum that is negligible: e^-25 = 1e-11."""
OMITTED = 1e-5
"""Mass that may be missing at an end, as next to an edge where numbers are too coarse for a density that is
unbounded there."""
COARSE = 1e-10
"""Distances to an edge, relative to where it is, below which rounding shows in the score."""
HUGE = 1e140
"""Numbers beyond this overflow where they are squared, and a score would seem to be zero there."""
FEWEST = 256
"""Points that are asked for at once, so many or twice, four times … as many."""
CELLS = 10_000
"""Cells that are too many: the values are rough, or random."""
ROUNDS = 60
"""Halvings, after which a cell is as narrow as rounding."""

FIRST = np.concatenate([np.arange(0.0, 24.0, 0.5), 24.0 * 1.25 ** np.arange(16)])
"""Where values are asked for first, on both sides; the last is about 700, near where exp overflows."""

Function = Callable[[Array], Array]
"""Values at points, (n,) to (n,), not finite where there are none."""


@dataclass(frozen=True)
class Coordinate:
    """A coordinate u on the whole line for an interval (a, b), which may be infinite."""

    lower: float
    upper: float
    centre: float
    width: float

    @classmethod
    def near(cls, lower: float, upper: float, points: Array) -> Coordinate:
        """With its middle where the points are."""
        low, centre, high = np.quantile(points, [0.25, 0.5, 0.75])
        width = (high - low) / 2 or 1e-3 * abs(centre) or 1.0
        if np.isfinite(lower) != np.isfinite(upper):
            width = abs(centre - (lower if np.isfinite(lower) else upper)) or width
        return cls(lower, upper, float(centre), float(width))

    def at(self, u: Array) -> tuple[Array, Array, Array]:
        """x, log dx/du and its derivative; dx/du > 0."""
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        if below and above:
            span = self.upper - self.lower
            share = np.exp(-np.logaddexp(0.0, -np.abs(u)))
            least = np.exp(-np.abs(u)) * share * span
            x = np.where(u < 0, self.lower + least, self.upper - least)
            return x, np.log(span) - np.abs(u) + 2 * np.log(share), -np.tanh(u / 2)
        if below or above:
            sign = 1.0 if below else -1.0
            step = self.width * np.exp(sign * u)
            edge = self.lower if below else self.upper
            return edge + sign * step, np.log(self.width) + sign * u, np.full_like(u, sign)
        slope = np.log(self.width) + np.abs(u) + np.log1p(np.exp(-2 * np.abs(u))) - np.log(2.0)
        return self.centre + self.width * np.sinh(u), slope, np.tanh(u)

    def usable(self, u: Array) -> Array:
        """Those whose points are numbers that can be told from the edges."""
        x = self.at(u)[0]
        clear = np.abs(x) < HUGE
        for edge in (self.lower, self.upper):
            clear &= np.abs(x - edge) > COARSE * abs(edge) if np.isfinite(edge) else True
        return np.asarray(u[clear])


@dataclass(frozen=True)
class Line:
    """A density that is log-linear between nodes of a coordinate, and its draws."""

    coordinate: Coordinate
    nodes: Array
    logs: Array
    known: str = "its score"

    def __post_init__(self) -> None:
        rise = np.diff(self.logs)
        mean = np.divide(np.expm1(-np.abs(rise)), -np.abs(rise), out=np.ones_like(rise), where=rise != 0)
        mass = np.diff(self.nodes) * np.exp(np.maximum(self.logs[1:], self.logs[:-1])) * mean
        object.__setattr__(self, "_below", np.cumsum(mass) / mass.sum())

    def __str__(self) -> str:
        low, high = self.coordinate.at(self.nodes[[0, -1]])[0]
        return f"{self.known} from {low:.3g} to {high:.3g}"

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws, (n,)."""
        which, where = rng.random((2, n))
        below: Array = self._below  # type: ignore[attr-defined]
        k = np.minimum(np.searchsorted(below, which, side="right"), len(below) - 1)
        rise = self.logs[k + 1] - self.logs[k]
        steep = np.maximum(np.abs(rise), 1e-300)
        # From the higher end, so that nothing overflows.
        share = -np.log1p(where * np.expm1(-steep)) / steep
        share = np.where(rise > 0, 1.0 - share, share)
        return self.coordinate.at(self.nodes[k] + share * (self.nodes[k + 1] - self.nodes[k]))[0]


def drawn_along(ask: Function, domain: Any, near: Array, *, logs: bool) -> Line | None:
    """Draws from a model on a domain with these scores, or `logs` of its density; None where there are none.

    The function takes points, (n, 1); `near` are some of about the size that the model has.
    """
    if isinstance(domain, Box) and domain.dim == 1:
        lower, upper = float(domain.lower[0]), float(domain.upper[0])
    elif isinstance(domain, Euclidean) and domain.dim == 1:
        lower, upper = -np.inf, np.inf
    else:
        return None

    def values(x: Array) -> Array:
        # Functions are compiled anew for every number of points: so there are few.
        padded = np.full(max(FEWEST, 1 << (len(x) - 1).bit_length()), x[-1])
        padded[: len(x)] = x
        try:
            return ask(padded[:, None]).ravel()[: len(x)]
        except (InputError, ScoreError):
            # Some refuse points so far out that they overflow, and all points with them.
            if len(x) == 1:
                return np.full(1, np.nan)
            return np.concatenate([values(part) for part in np.array_split(x, 2)])

    with heard():
        return along_line(values, Coordinate.near(lower, upper, near), logs=logs)


def along_line(values: Function, coordinate: Coordinate, *, logs: bool) -> Line | None:
    """The density with these scores, or these `logs` of it; None where it cannot be known."""

    def ask(u: Array) -> Array:
        x, log_slope, bend = coordinate.at(u)
        found = values(x)
        return found + log_slope if logs else found * np.exp(log_slope) + bend

    with np.errstate(all="ignore"):
        edges = coordinate.usable(np.concatenate([-FIRST[:0:-1], FIRST]))
        at_edges = ask(edges)
        run = _finite_around(edges, at_edges)
        edges, at_edges = edges[run], at_edges[run]
        if len(edges) < 2:
            return None
        middles = (edges[1:] + edges[:-1]) / 2
        at_middles = ask(middles)
        for _ in range(ROUNDS):
            if not np.isfinite(at_middles).all():
                return None
            log_edges, log_middles = _logs(edges, at_edges, at_middles, logs)
            heavy = _heavy(log_edges, log_middles)
            if not heavy.any():
                return None
            split = heavy & (np.abs(log_middles - (log_edges[1:] + log_edges[:-1]) / 2) > BENT)
            if not logs:
                split |= _rough(edges, at_edges, at_middles, heavy)
            if not split.any():
                known = "its log density" if logs else "the integral of its score"
                return _cut(coordinate, edges, log_edges, log_middles, heavy, known)
            if len(middles) + split.sum() > CELLS:
                return None
            halves = np.column_stack([edges[:-1] + middles, middles + edges[1:]])[split] / 2
            at_halves = ask(halves.ravel()).reshape(-1, 2)
            places = np.flatnonzero(split)
            edges = np.insert(edges, places + 1, middles[split])
            at_edges = np.insert(at_edges, places + 1, at_middles[split])
            middles[split], at_middles[split] = halves[:, 0], at_halves[:, 0]
            middles = np.insert(middles, places + 1, halves[:, 1])
            at_middles = np.insert(at_middles, places + 1, at_halves[:, 1])
    return None


def _finite_around(edges: Array, values: Array) -> slice:
    """The run of finite values around the middle."""
    broken = np.flatnonzero(~np.isfinite(values))
    middle = int(np.abs(edges).argmin())
    if middle in broken:
        return slice(0)
    below, above = broken[broken < middle], broken[broken > middle]
    return slice(int(below[-1]) + 1 if len(below) else 0, int(above[0]) if len(above) else len(values))


def _logs(edges: Array, at_edges: Array, at_middles: Array, logs: bool) -> tuple[Array, Array]:
    """Logs of the density at edges and middles, if need be integrals of scores."""
    if logs:
        return at_edges, at_middles
    h, low, high = np.diff(edges), at_edges[:-1], at_edges[1:]
    rise = h / 6 * (low + 4 * at_middles + high)
    # Outwards from the middle: far out there are numbers beside which all others are lost.
    middle = int(np.abs(edges).argmin())
    below, above = -np.cumsum(rise[:middle][::-1])[::-1], np.cumsum(rise[middle:])
    log_edges = np.concatenate([below, [0.0], above])
    log_middles = log_edges[:-1] + h / 24 * (5 * low + 8 * at_middles - high)
    # Between its edges where scores agree in sign, however coarse the cell is.
    signs = np.sign(low) + np.sign(at_middles) + np.sign(high)
    between = np.clip(log_middles, *np.sort([log_edges[:-1], log_edges[1:]], axis=0))
    return log_edges, np.where(np.abs(signs) == 3, between, log_middles)


def _heavy(log_edges: Array, log_middles: Array) -> BoolArray:
    """Cells where the density is not negligible."""
    most = np.fmax(np.fmax(log_edges[:-1], log_edges[1:]), log_middles)
    return np.asarray(most > most.max() - DEEP)


def _rough(edges: Array, at_edges: Array, at_middles: Array, heavy: BoolArray) -> BoolArray:
    """Cells in which the integral of the score is not known well and needed.

    Needed it is wherever there is a heavy cell, or one with a score that points outwards, beyond it: there
    may be another mode.
    """
    low, high = at_edges[:-1], at_edges[1:]
    first, last = np.flatnonzero(heavy)[[0, -1]]
    falling = np.flatnonzero((low < 0) | (at_middles < 0) | (high < 0))
    rising = np.flatnonzero((low > 0) | (at_middles > 0) | (high > 0))
    needed = np.zeros(len(heavy), dtype=bool)
    needed[min([first, *falling[:1]]) : max([last, *rising[-1:]]) + 1] = True
    apart = np.diff(edges) / 12 * np.abs(2 * at_middles - low - high)
    return np.asarray(needed & (apart > ROUGH))


def _cut(
    coordinate: Coordinate, edges: Array, at_edges: Array, at_middles: Array, heavy: BoolArray, known: str
) -> Line | None:
    """The part that counts, unless there is more beyond its ends."""
    first, last = np.flatnonzero(heavy)[[0, -1]]
    nodes, logs = np.empty(2 * len(heavy) + 1), np.empty(2 * len(heavy) + 1)
    nodes[::2], nodes[1::2] = edges, (edges[1:] + edges[:-1]) / 2
    logs[::2], logs[1::2] = at_edges, at_middles
    inside = slice(2 * first, 2 * last + 3)
    nodes, logs = nodes[inside], logs[inside] - logs[inside].max()
    mass = np.diff(nodes) @ np.exp((logs[1:] + logs[:-1]) / 2)
    for end, slope in ((0, logs[1] - logs[0]), (-1, logs[-2] - logs[-1])):
        rate = slope / abs(nodes[end] - nodes[1 if end == 0 else -2])
        if not (rate > 0 and np.exp(logs[end]) / rate <= OMITTED * mass):
            return None
    return Line(coordinate, nodes, logs, known)
