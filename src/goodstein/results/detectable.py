r"""What a test would have found: discrepancies from the null distribution alone, moves from the data too.

Under an alternative with mean embedding μ, ‖μ‖ = δ = KSD, the U-statistic has mean δ² and the variance
4 Var⟨ξ, μ⟩/n + v, v that of the null. With Var⟨ξ, μ⟩ ≤ δ²λ, λ the largest eigenvalue, and v = 2Σλ²/n² ≥
2λ²/n² it is at most 2√2·√v·δ² + v. So with q the (1 − level)-quantile of the null distribution and z the
`power`-quantile of the normal one, U exceeds q with that probability or more where

    δ² − z·(2√2·√v·δ² + v)^½ ≥ q,

which needs the draws of the null distribution alone. A move of the data, such as a shift, is detectable where
it brings about such a δ; that of moved data is the mean of U over the move and its inverse, less what
there was before, under the operator and the kernel of the test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from goodstein.data.points import Points
from goodstein.domains import Box, Domain, Euclidean, Simplex, Torus
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import InputError
from goodstein.nulls.base import JointCalibration
from goodstein.nulls.combine import combined
from goodstein.nulls.wild import WildBootstrap
from goodstein.problems.problem import Problem
from goodstein.results.bound import require_everywhere
from goodstein.stein.totals import statistics
from goodstein.survival.data import Censored
from goodstein.text import Report, Table
from goodstein.types import Array

ROWS = 300
"""Rows on which moves are tried."""
STEPS = 8
"""Moves of each kind that are tried, each guessed from the one before."""
GUESS = 0.2
"""The first."""
DOUBT = 1e-3
"""Members that miss what they need by less than this share of it are looked at more closely."""
FITTED = (
    "The model was fitted to these data. So large are the moves that such a sample shows against a model "
    "that was fixed beforehand; a fit to moved data would follow them, so that larger ones are needed, and "
    "what it follows entirely, such as a shift where the mean is fitted, is never found."
)
"""What is said where a fit would follow the moves."""
FIXED = WildBootstrap(1999)
"""The null distribution of a model as if it was not fitted, and the rows of which that is asked."""
FIXED_ROWS = 1000
SEED = 0
LARGEST = 20.0
"""Standard deviations, or logarithms, beyond which a move is not looked for."""

Mover: TypeAlias = Callable[[Any, float], Any]


def detectable_square(critical: float, spread: float, power: float) -> float:
    """δ², the squared discrepancy at which U exceeds a critical value with this probability.

    The spread is the standard deviation of U under the null.
    """
    from statistics import NormalDist

    z = NormalDist().inv_cdf(power)
    half = critical + math.sqrt(2.0) * z**2 * spread
    return float(half + math.sqrt(max(half**2 - critical**2 + (z * spread) ** 2, 0.0)))


@dataclass(frozen=True)
class Move:
    """A change of the data, how large it has to be, and in which unit; infinite where none was large enough.

    A ``size`` in standard deviations, in radians, or as a factor of the scale less one; ``column`` is
    what was moved.
    """

    change: str
    size: float
    unit: str
    column: str = ""

    @property
    def kind(self) -> str:
        """The change without the column."""
        return self.change.removesuffix(self.column).rstrip()

    def words(self) -> str:
        """The size as a person reads it."""
        if not math.isfinite(self.size):
            return "none that was tried"
        return f"{self.size:.0%}" if self.unit == "share" else f"{self.size:.2g} {self.unit}"


@dataclass(frozen=True)
class Detectable(Report):
    """What a test at some level finds with some probability.

    Attributes
    ----------
    level, power
        The level, and the probability.
    ksd
        The discrepancy that is found, as a root; None for a collection, whose members have
        discrepancies of different scales.
    moves
        Changes of the data that are found, one at a time, where the domain has such changes. For a collection
        that of the member which finds the smallest.
    notes
        What a reader should know.
    name
        What the discrepancy is called.
    """

    level: float
    power: float
    ksd: float | None
    moves: tuple[Move, ...]
    notes: tuple[str, ...] = ()
    name: str = "kernel Stein discrepancy"

    def _title(self) -> str:
        return f"Found at level {self.level:g} with probability {self.power:g} or so"

    def _tables(self) -> list[Table]:
        found = [] if self.ksd is None else [(self.name, f"{self.ksd:.3g}")]
        return [Table((), [*found, *((move.change, move.words()) for move in self.moves)])]

    def _notes(self) -> tuple[str, ...]:
        return self.notes


def movable(problem: Problem) -> bool:
    """Whether there are moves of such data."""
    return isinstance(problem.data, Points | Censored) and not problem.operator.corrects_fit


@one_blas_thread()
def squares_unfitted(
    problems: Sequence[Problem], weights: Sequence[float], level: float, power: float
) -> list[float]:
    """Squared discrepancies that are found under each of several operators if the model was not fitted.

    The null distribution of a fitted model is narrower, without any width in directions that the fit follows.
    """
    n = len(problems[0].data)
    rows = np.linspace(0, n - 1, min(n, FIXED_ROWS)).astype(np.intp)
    if problems[0].dependence.found:
        rows = np.arange(len(rows))  # evenly spaced ones would be independent
    # By the same seed, so that the draws of all are joint.
    each = [
        FIXED.calibrate(
            problem.with_data(problem.data.take(rows)), workers=None, rng=np.random.default_rng(SEED)
        )
        for problem in problems
    ]
    joint = JointCalibration(np.array([one.statistic for one in each]), np.array([one.draws for one in each]))
    critical = combined(joint, np.array(weights), level, merge=False).critical - joint.draws.mean(axis=1)
    shrunk = len(rows) / n
    return [
        shrunk * detectable_square(float(limit), float(draws.std()), power)
        for limit, draws in zip(critical, joint.draws, strict=True)
    ]


@one_blas_thread()
def smallest_moves(
    problems: Sequence[Problem], squares: Sequence[float], columns: int | None = None
) -> tuple[Move, ...]:
    """The smallest moves by which a problem reaches its squared discrepancy, of so many columns or all."""
    first = problems[0]
    if not movable(first):
        return ()
    require_everywhere(first)
    x = some_rows(first)
    members = [(p, square, _statistic(p, x)) for p, square in zip(problems, squares, strict=True)]
    found, known = [], dict[str, tuple[int, float]]()
    for change, column, unit, mover in _movers(first.domain, x, first.data.names, columns):
        # Columns are alike: the search begins with the member, and the size, that the last one ended with.
        best, guess = known.get(change, (0, GUESS))
        size, left = math.inf, sorted(range(len(members)), key=lambda k: k != best)
        while left:
            k = left.pop(0)
            smaller = _size(*members[k], x, mover, size, guess)
            if smaller < size:
                size = smaller
                known[change] = k, size
                left = [left[j] for j in _reaching([members[j] for j in left], x, mover, size)]
        size = math.expm1(size) if unit == "share" else size
        found.append(Move(f"{change} {column}", size, unit, column))
    return tuple(found)


def shift_discrepancy(problem: Problem, size: float) -> float:
    """The smallest KSD, over columns, of data shifted by so many standard deviations of one column."""
    x = some_rows(problem)
    movers = [mover for *_, unit, mover in _movers(problem.domain, x) if unit == "standard deviations"]
    if not movers:
        raise InputError(
            f"{problem.domain!r} has no column that can be shifted.",
            argument="shift",
            remedy="Pass `margin`, a share of the observations.",
        )
    before = _statistic(problem, x)
    gained = [0.5 * (_statistic(problem, m(x, size)) + _statistic(problem, m(x, -size))) for m in movers]
    return math.sqrt(max(min(gained) - before, np.finfo(float).tiny))


def some_rows(problem: Problem) -> Any:
    """Observations on which moves are tried."""
    if not isinstance(problem.data, Points | Censored):
        raise InputError(f"{type(problem.data).__name__} observations cannot be shifted.", argument="data")
    n = len(problem.data)
    return problem.data.take(np.linspace(0, n - 1, min(n, ROWS)).astype(np.intp)).observations


def _statistic(problem: Problem, points: Any) -> float:
    form = problem.fitted_operator.features(problem.model, problem.domain, points).form(problem.fitted_kernel)
    everything = slice(0, form.n)  # so few rows are one block
    total = float(form.block(everything, everything).sum() - form.diagonal().sum())
    return total / (form.n * (form.n - 1))


def _reaching(
    members: Sequence[tuple[Problem, float, float]], x: Any, mover: Mover, size: float
) -> list[int]:
    """Which members find a move of this size, so that they may find a smaller one too; all where in doubt."""
    everyone = list(range(len(members)))
    if len(members) < 2:
        return everyone
    problems = [problem for problem, _, _ in members]
    try:
        gained = 0.5 * (_statistics(problems, mover(x, size)) + _statistics(problems, mover(x, -size)))
    except InputError:
        return everyone
    return [k for k in everyone if gained[k] - members[k][2] > (1.0 - DOUBT) * members[k][1]]


def _statistics(problems: Sequence[Problem], points: Any) -> Array:
    """U of several problems at other points, which share what they can; in single precision."""
    seen: dict[int, Any] = {}
    forms = []
    for problem in problems:
        operator = problem.fitted_operator
        if id(operator) not in seen:
            seen[id(operator)] = operator.features(problem.model, problem.domain, points)
        forms.append(seen[id(operator)].form(problem.fitted_kernel))
    if len({form.n for form in forms}) > 1:
        return np.array([_statistic(problem, points) for problem in problems])
    return statistics(forms)


def _size(
    problem: Problem, square: float, before: float, x: Any, mover: Mover, known: float, guess: float
) -> float:
    """How far data have to be moved; infinite where that is too far, or farther than what is known to do."""
    size = known if math.isfinite(known) else guess
    for _ in range(STEPS):
        try:
            gained = 0.5 * sum(_statistic(problem, mover(x, sign * size)) for sign in (1, -1)) - before
        except InputError:  # where the model's score cannot be had
            return math.inf
        if size >= known and gained <= square:
            return math.inf
        ratio = math.sqrt(square / gained) if gained > square / 16.0 else 4.0
        if abs(ratio - 1.0) < 0.02:
            break
        size *= ratio
        if size > LARGEST:
            return math.inf
    return size


def _movers(
    domain: Domain, x: Any, names: Sequence[str] | None = None, columns: int | None = None
) -> list[tuple[str, str, str, Mover]]:
    """Changes of one column at a time that leave the data in the domain, with their units."""
    if isinstance(x, Censored):
        return [("change of scale of", "all times", "share", _lengthen)]
    d = x.shape[1]
    column = "part" if isinstance(domain, Simplex) else "column"
    called = names or [f"{column} {j}" for j in range(d)]
    some = range(d) if columns is None else range(min(columns, d))
    if isinstance(domain, Simplex):
        return [("factor on", called[j], "share", _weigh(j)) for j in some]
    if isinstance(domain, Torus):
        return [("rotation of", called[j], "radians", _shift(j, 1.0)) for j in some]
    movers: list[tuple[str, str, str, Mover]] = []
    if isinstance(domain, Euclidean | Box):
        for j in some:
            lower, upper = (-math.inf, math.inf)
            if isinstance(domain, Box):
                lower, upper = float(domain.lower[j]), float(domain.upper[j])
            low, high = math.isfinite(lower), math.isfinite(upper)
            if not low and not high:
                deviation = float(x[:, j].std()) or 1.0
                movers.append(("shift of", called[j], "standard deviations", _shift(j, deviation)))
            if low and high:
                movers.append(("factor on the odds of", called[j], "share", _odds(j, lower, upper)))
            else:
                centre = lower if low else upper if high else float(np.median(x[:, j]))
                movers.append(("change of scale of", called[j], "share", _stretch(j, centre)))
    return movers


def _moved(x: Array, j: int, column: Array) -> Array:
    moved = x.copy()
    moved[:, j] = column
    return moved


def _shift(j: int, unit: float) -> Mover:
    return lambda x, size: _moved(x, j, x[:, j] + size * unit)


def _stretch(j: int, centre: float) -> Mover:
    return lambda x, size: _moved(x, j, centre + (x[:, j] - centre) * math.exp(size))


def _odds(j: int, lower: float, upper: float) -> Mover:
    def moved(x: Array, size: float) -> Array:
        share = (x[:, j] - lower) / (upper - lower)
        share = share * math.exp(size) / (1.0 + share * math.expm1(size))
        return _moved(x, j, np.clip(lower + (upper - lower) * share, lower, upper))

    return moved


def _lengthen(x: Censored, size: float) -> Censored:
    """All times longer by a factor, those of censoring and entry too."""
    factor = math.exp(size)
    return x.seen_at(x.durations * factor, x.event_observed, x.entry * factor)


def _weigh(j: int) -> Mover:
    def moved(x: Array, size: float) -> Array:
        weighed = _moved(x, j, x[:, j] * math.exp(size))
        return np.asarray(weighed / weighed.sum(axis=1, keepdims=True))

    return moved
