"""The difference operator, for discrete data on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.auditing.report import Check, Question
from goodstein.constraints import number
from goodstein.domains import Domain, Lattice
from goodstein.errors import DomainError, given
from goodstein.kernels.lattice import Hamming
from goodstein.models.model import Model
from goodstein.operators.base import Operator
from goodstein.operators.difference_form import DifferenceFeatures, DifferenceStack
from goodstein.operators.difference_ratios import (
    MAX_NUMBERS,
    log_probability,
    log_ratios,
    log_ratios_at,
    ratios,
    ratios_before,
)
from goodstein.types import Array, BoolArray

PROBES = 50
"""Rows at which score and log probabilities are compared."""
SMALL = 1024
"""Lattices with at most so many states are looked at as a whole."""
MOST_ROWS = 200
"""Rows at which the neighbours of states are looked at."""
CONSEQUENCE = (
    "Stein's identity needs q > 0 at all states, unless weights are bounded: use Difference(bound=10), or a "
    "lattice of possible states only."
)
RARE = Question("rare states")
UNSEEN = 10.0
"""A state that is n/UNSEEN times less probable than another may be missing where that one is common."""


@dataclass(frozen=True)
class Difference(Operator):
    r"""T f = Σ_i s_i f_i − Δ*_i f_i, the Stein operator of discrete data on a :class:`Lattice`.

    Here ¬_i moves coordinate i to its next level, in cyclic order, Δ*_i f(x) = f(x) − f(¬_i⁻¹x) moves
    it back, and

        s_i(x) = 1 − q(¬_i x) / q(x)

    is the difference score, which needs no normalising constant: the ``score`` of a model on a lattice, or
    computed from its ``logpdf``. States arrive at such functions as an array of floats (n, d);
    ``lattice.encode(x)`` makes whole numbers of them to index tables with.

    The ratio q(¬x)/q(x) is huge at rare states. Where such states are not among the data Stein's identity
    does not show in them, and the bootstrap rejects true models: 98 of 100 times for 50 Poisson counts. A
    ``bound`` c puts the auxiliary function g_i = 1/(1 + q(¬_i x)/(c·q(x))) before the test functions,

        T f = Σ_i g_i(¬_i⁻¹x) f_i(¬_i⁻¹x) − g_i(x) q(¬_i x)/q(x) f_i(x),

    in which no weight exceeds c, or one. As g_i vanishes where q does, some states may then also be
    impossible; without a bound Stein's identity needs q > 0 at all states. Where most neighbours of common
    states are rare, the bootstrap fails all the same, a warning says so, and :class:`MonteCarlo` is the way.
    On a lattice the operator by default is ``Difference(bound=10)`` and the kernel :class:`Hamming`; radial
    kernels act on the positions of the levels, 0, …, L − 1.

    Parameters
    ----------
    bound
        c, a positive number: the larger, the closer to the operator without bound, which is None.

    References
    ----------
    Yang, Liu, Rao & Neville (2018), "Goodness-of-fit testing for discrete distributions via Stein
    discrepancy", *ICML*. The bound is an auxiliary function in the sense of Xu (2022),
    "Standardisation-function kernel Stein discrepancy", *AISTATS*.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.Model(logpdf=lambda x: 1.0 * (x[:, 0] == x[:, 1]), domain=gs.Lattice(3, 2))
    >>> x = np.random.default_rng(1).integers(0, 3, size=(300, 2))
    >>> gs.ksd_test(x, model, operator=gs.Difference(), rng=1).pvalue
    0.001
    """

    bound: float | None = None

    conditions_suffice = True  # no annotation: not a field

    def __post_init__(self) -> None:
        if self.bound is not None:
            bound = number(
                self.bound, "bound", of="Difference", above=0.0, wanted="a positive number or None"
            )
            object.__setattr__(self, "bound", bound)

    def __repr__(self) -> str:
        return "Difference()" if self.bound is None else f"Difference(bound={self.bound:g})"

    def features(self, model: Model, domain: Domain, data: Array) -> DifferenceFeatures:
        """The weights of f(¬_i⁻¹x) and of −f(x)."""
        lattice = _as_lattice(domain)
        if self.bound is None:
            moved, stayed = np.ones(data.shape), ratios(model, lattice, data)
        else:
            moved, stayed = _bounded(model, lattice, data, self.bound)
        return DifferenceFeatures(lattice.encode(data), moved, stayed, len(lattice.levels))

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> DifferenceStack:
        """Every state is looked at by itself."""
        return DifferenceStack(self.features(model, domain, data), count)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        lattice = _as_lattice(domain)
        points = lattice.sample_uniform(PROBES, rng) if data is None else data
        positive = _check_positive(model, lattice, points, self.bound is not None)
        checks = [positive, _check_score(model, lattice, points)]
        if data is not None and all(check.status != "fail" for check in checks):
            checks.append(_check_rare(model, lattice, data, self.bound))
        return checks

    def default_kernel(self) -> Hamming:
        return Hamming()


def _as_lattice(domain: Domain) -> Lattice:
    if not isinstance(domain, Lattice):
        raise DomainError(
            f"Difference() is for discrete data, but the domain is {domain!r}. Pass "
            f"{given('domain', 'Lattice(levels, d)')}, or leave the operator out."
        )
    return domain


def _bounded(model: Model, lattice: Lattice, data: Array, bound: float) -> tuple[Array, Array]:
    """g(¬⁻¹x) and g(x)·q(¬x)/q(x), both (n, d); probabilities may be zero, or far from each other."""
    two, log_bound = len(lattice.levels) == 2, math.log(bound)
    if model.has_score:
        ratio = ratios(model, lattice, data)
        stayed = ratio / (1.0 + ratio / bound)
        if two:  # the next level is also the one before
            return np.asarray(bound * ratio / (1.0 + bound * ratio)), np.asarray(stayed)
    else:
        forward = log_ratios(model, lattice, data)
        stayed = bound * _logistic(forward - log_bound)
        if two:
            return _logistic(forward + log_bound), np.asarray(stayed)
    if model.has_logpdf:
        return _logistic(log_ratios(model, lattice, data, -1) + log_bound), np.asarray(stayed)
    return np.asarray(1.0 / (1.0 + ratios_before(model, lattice, data) / bound)), np.asarray(stayed)


def _logistic(x: Array) -> Array:
    """1/(1 + e^{−x}), for infinite x too."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def _check_positive(model: Model, lattice: Lattice, points: Array, bounded: bool) -> Check:
    """Whether q > 0: at all states of a small lattice, otherwise at the neighbours of the points."""
    question = Question("positive probabilities")
    if model.has_logpdf and lattice.size <= SMALL:
        states = lattice.states()
        zero = np.isneginf(log_probability(model, lattice, states))
        if not zero.any():
            return question.passed(f"All {len(states)} states have positive probability.")
        state = ", ".join(f"{value:g}" for value in states[np.argmax(zero)])
        found = (
            f"{model.name} has probability zero at {int(zero.sum())} of {len(states)} states, the first is "
            f"({state})"
        )
        if not bounded:
            return question.failed(f"{found}. {CONSEQUENCE}")
        pieces = _pieces(lattice, ~zero)
        if pieces == 1:
            return question.passed(f"{found}; the bounded weights vanish there.")
        return question.failed(
            f"{found}. The others fall into {pieces} sets that no step of one coordinate connects, and the "
            "test cannot see how the mass is shared among them. Test each set by itself, with its states as "
            "the levels of one coordinate, Lattice(count, 1)."
        )
    if bounded:
        return question.passed("Probabilities may be zero, since the bounded weights vanish there.")
    rows, columns = np.nonzero(ratios(model, lattice, points) == 0.0)
    if model.has_logpdf and len(rows):
        # A ratio below 1e-16 may have been rounded to zero; the log probability knows.
        zero = np.isneginf(log_ratios(model, lattice, points[rows])[np.arange(len(rows)), columns])
        rows, columns = rows[zero], columns[zero]
    if not len(rows):
        return question.passed(f"All neighbours of {len(points)} states have positive probability.")
    row, column, count = rows[0], columns[0], len(set(rows.tolist()))
    if not model.has_logpdf:
        return question.warned(
            f"The score of {model.name} is exactly one at {count} of {len(points)} rows, the first is row "
            f"{row}: a neighbouring state has probability zero, or almost. If it is zero the p-value is not "
            f"valid. {CONSEQUENCE}"
        )
    return question.failed(
        f"{model.name} has probability zero next to {count} of {len(points)} rows: row {row} with column "
        f"{column} moved on by one level cannot occur. {CONSEQUENCE}"
    )


def _pieces(lattice: Lattice, possible: BoolArray) -> int:
    """How many sets of possible states there are that steps of one coordinate do not connect."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = np.arange(lattice.size).reshape((len(lattice.levels),) * lattice.dim)
    start = np.concatenate([index.ravel()] * lattice.dim)
    stop = np.concatenate([np.roll(index, -1, axis=i).ravel() for i in range(lattice.dim)])
    kept = possible[start] & possible[stop]
    edges = (np.ones(int(kept.sum())), (start[kept], stop[kept]))
    total, _ = connected_components(coo_array(edges, shape=(lattice.size, lattice.size)), directed=False)
    return int(total) - int(np.count_nonzero(~possible))


def _check_score(model: Model, lattice: Lattice, points: Array) -> Check:
    """The difference score against the log probabilities."""
    question = Question("score against log probabilities")
    if not (model.has_logpdf and model.has_score):
        if model.has_score and not model.estimated:
            return _check_cycle(model, lattice, points[:PROBES])
        return question.skipped("Only one of score and log probability is given.")
    points = points[:PROBES]
    rows, columns = _spread(len(points), lattice.dim)
    got = 1.0 - ratios(model, lattice, points)[rows, columns]
    with np.errstate(over="ignore", invalid="ignore"):
        expected = -np.expm1(log_ratios_at(model, lattice, points, rows, columns))
        gap = np.abs(got - expected) / (1.0 + np.abs(expected))
    worst = int(np.argmax(gap))
    # Written so that NaN, from infinite scores, is not taken for agreement.
    if gap[worst] <= 1e-4:
        return question.passed(f"They agree to {gap.max():.1e} at {len(points)} states.")
    return question.failed(
        f"They differ: at row {rows[worst]} the score of column {columns[worst]} is {got[worst]:.4g}, but "
        f"the log probabilities give 1 − q(¬x)/q(x) = {expected[worst]:.4g} on {lattice!r}. A score belongs "
        "to one lattice and is no derivative of log q. Pass Model(logpdf=..., domain=...) without a score."
    )


def _spread(n: int, d: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of all entries (n, d), or of a few of every column, by turns, where there are many.

    Every entry is a state of d numbers of its own.
    """
    each = min(n, max(1, MAX_NUMBERS // d**2))
    columns = np.repeat(np.arange(d), each)
    return np.arange(len(columns)) % n, columns


def _check_cycle(model: Model, lattice: Lattice, points: Array) -> Check:
    """Around a cycle of levels the ratios 1 − s = q(¬x)/q(x) multiply to one."""
    question = Question("score around the levels")
    total = np.zeros((len(points), lattice.dim))
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(lattice.dim):
            moved = points
            for _ in lattice.levels:
                total[:, i] += np.log(ratios(model, lattice, moved)[:, i])
                moved = lattice.shift(moved, i, 1)
    known = np.isfinite(total)
    worst = float(np.abs(total[known]).max(initial=0.0))
    if worst <= 1e-4:
        return question.passed("The ratios of probabilities agree around the levels.")
    return question.failed(
        f"The score of {model.name} is no difference score: the ratios q(¬x)/q(x) = 1 − score around the "
        f"levels of a coordinate multiply to {math.exp(min(worst, 50.0)):.4g} or its inverse, not to one. On "
        "a lattice the score is 1 − q(¬x)/q(x), not a derivative of log q. Pass Model(logpdf=..., "
        "domain=...) to have it computed."
    )


def _check_rare_bounded(model: Model, lattice: Lattice, data: Array, bound: float) -> Check:
    """Whether most of E‖T‖² sits in neighbours of common states that are too rare to have been seen.

    Summed over pairs of neighbours x and y the weights squared are c·σ(u)σ(−u) at y, relative to q(x),
    with u = ±log(q(y)/q(x)) − log c and σ the logistic function.
    """
    n = len(data)
    points = data[np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp)]
    forward, backward = _log_steps(model, lattice, points)
    total = rare = 0.0
    for step, u in ((forward, forward - math.log(bound)), (backward, -backward - math.log(bound))):
        weight = _logistic(u) * _logistic(-u)
        total += float(weight.sum())
        rare += float(weight[step < -math.log(n / UNSEEN)].sum() if n > UNSEEN else 0.0)
    if rare <= 0.5 * total:
        return RARE.passed("States that are too rare to be seen do not matter much.")
    return RARE.warned(
        f"About {rare / total:.0%} of the statistic's variance sits in states that are more than "
        f"{n / UNSEEN:g} times less probable than their neighbours and may be missing among {n} rows. Where "
        f"they are, the bootstrap rejects true models far too often. Use {given('null', 'MonteCarlo()')}, or "
        "leave out levels that hardly occur.",
        asymptotic=True,
    )


def _log_steps(model: Model, lattice: Lattice, points: Array) -> tuple[Array, Array]:
    """log q(¬_i x)/q(x) and log q(¬_i⁻¹x)/q(x), both (n, d)."""
    two = len(lattice.levels) == 2
    if model.has_logpdf and not (two and model.has_score):
        forward = log_ratios(model, lattice, points)
        return forward, forward if two else log_ratios(model, lattice, points, -1)
    # One evaluation of the score instead of one of log q for every neighbour.
    with np.errstate(divide="ignore"):
        forward = np.log(ratios(model, lattice, points))
        return forward, forward if two else -np.log(ratios_before(model, lattice, points))


def _check_rare(model: Model, lattice: Lattice, data: Array, bound: float | None) -> Check:
    """Whether states that balance the common ones in Stein's identity are too rare to have been seen."""
    if bound is not None:
        return _check_rare_bounded(model, lattice, data, bound)
    n = len(data)
    share = (_log_steps(model, lattice, data)[1] < -math.log(n / UNSEEN)).mean(axis=0)
    worst = int(np.argmax(share))
    if share[worst] <= 0.01:
        return RARE.passed("No state that matters is too rare to be seen.")
    return RARE.warned(
        f"For {share[worst]:.0%} of the rows the state with column {worst} moved back by one level is more "
        f"than {n / UNSEEN:g} times less probable. Stein's identity weighs it all the more, but among {n} "
        "rows it may be missing: a bootstrap p-value may be far too small. Use Difference(bound=10), or "
        f"{given('null', 'MonteCarlo()')}.",
        asymptotic=True,
    )
