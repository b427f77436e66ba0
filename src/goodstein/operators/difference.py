"""The difference operator, for discrete data on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.domains.lattice import Lattice
from goodstein.errors import DomainError, InputError
from goodstein.kernels.hamming import Hamming
from goodstein.models.model import Model
from goodstein.operators.difference_form import DifferenceFeatures
from goodstein.operators.difference_ratios import log_probability, log_ratios, ratios
from goodstein.types import Array, BoolArray

PROBES = 50
"""Rows at which score and log probabilities are compared."""
SMALL = 1024
"""Lattices with at most so many states are looked at as a whole."""
MOST_ROWS = 200
"""Rows at which the neighbours of states are looked at."""
UNSEEN = 10.0
"""A state that is n/UNSEEN times less probable than another may be missing where that one is common."""


@dataclass(frozen=True)
class Difference:
    r"""T f = Σ_i s_i f_i − Δ*_i f_i, the Stein operator of discrete data on a :class:`Lattice`.

    Here ¬_i moves coordinate i to its next level, in cyclic order, Δ*_i f(x) = f(x) − f(¬_i⁻¹x) moves
    it back, and

        s_i(x) = 1 − q(¬_i x) / q(x)

    is the difference score, which needs no normalising constant. The operator takes the ``score`` of a
    model on a lattice for s; from a model with a ``logpdf`` only it computes s at the d shifted copies of
    the data, in logarithms. States arrive at such functions as an array of floats (n, d);
    ``lattice.encode(x)`` makes whole numbers of them to index tables with.

    The ratio q(¬x)/q(x) is huge at rare states. Where such states are not among the data Stein's
    identity does not show in them, and the bootstrap rejects true models: 98 of 100 times for 50
    Poisson counts. A ``bound`` c puts the auxiliary function g_i = 1/(1 + q(¬_i x)/(c·q(x))) before the
    test functions,

        T f = Σ_i g_i(¬_i⁻¹x) f_i(¬_i⁻¹x) − g_i(x) q(¬_i x)/q(x) f_i(x),

    in which no weight exceeds c, or one. As g_i vanishes where q does, some states may then also be
    impossible; without a bound Stein's identity needs q > 0 at all states. The bound helps where a few
    states are rare. Where most neighbours of common states are, the bootstrap fails all the same, a
    warning says so, and :class:`MonteCarlo` is the way. On a lattice the operator by default is
    ``Difference(bound=10)``.

    The kernel is :class:`Hamming` by default; radial kernels act on the positions of the levels,
    0, …, L − 1.

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

    def __post_init__(self) -> None:
        if self.bound is None:
            return
        number = isinstance(self.bound, Real) and not isinstance(self.bound, bool)
        if not (number and math.isfinite(self.bound) and self.bound > 0):
            raise InputError(f"`bound` of Difference must be a positive number or None, got {self.bound!r}.")
        object.__setattr__(self, "bound", float(self.bound))

    def __repr__(self) -> str:
        return "Difference()" if self.bound is None else f"Difference(bound={self.bound:g})"

    def features(self, model: Model, domain: Domain, data: Array) -> DifferenceFeatures:
        """The weights of f(¬_i⁻¹x) and of −f(x)."""
        lattice = _as_lattice(domain)
        codes, count = lattice.encode(data), len(lattice.levels)
        if self.bound is None:
            ratio = ratios(model, lattice, data)
            return DifferenceFeatures(codes, np.ones_like(ratio), ratio, count)
        moved, stayed = _bounded(model, lattice, data, self.bound)
        return DifferenceFeatures(codes, moved, stayed, count)

    def conditions(
        self, model: Model, domain: Domain, data: Array | None, rng: np.random.Generator
    ) -> list[Check]:
        """Whether probabilities are positive, the score is theirs, and rare states do no harm."""
        lattice = _as_lattice(domain)
        points = lattice.sample_uniform(PROBES, rng) if data is None else data
        bounded = self.bound is not None
        checks = [_check_positive(model, lattice, points, bounded), _check_score(model, lattice, points)]
        if data is not None and all(check.status != "fail" for check in checks):
            rare = _check_rare_bounded if bounded else _check_rare
            checks.append(rare(model, lattice, data, self.bound or np.inf))
        return checks

    def default_kernel(self) -> Hamming:
        """:class:`Hamming`, with rate one."""
        return Hamming()


def _as_lattice(domain: Domain) -> Lattice:
    if not isinstance(domain, Lattice):
        raise DomainError(
            f"Difference() is for discrete data, but the domain is {domain!r}. Pass "
            "domain=Lattice(levels, d), or leave the operator out."
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
    before = [ratios(model, lattice, lattice.shift(data, i, -1))[:, i] for i in range(data.shape[1])]
    return np.asarray(1.0 / (1.0 + np.stack(before, axis=1) / bound)), np.asarray(stayed)


def _logistic(x: Array) -> Array:
    """1/(1 + e^{−x}), for infinite x too."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def _check_positive(model: Model, lattice: Lattice, points: Array, bounded: bool) -> Check:
    """Whether q > 0: at all states of a small lattice, otherwise at the neighbours of the points."""
    name = "positive probabilities"
    if model.has_logpdf and lattice.size <= SMALL:
        states = lattice.states()
        zero = np.isneginf(log_probability(model, lattice, states))
        if not zero.any():
            return Check(name, "pass", f"All {len(states)} states have positive probability.")
        state = ", ".join(f"{value:g}" for value in states[np.argmax(zero)])
        found = (
            f"{model.name} has probability zero at {int(zero.sum())} of {len(states)} states, the first is "
            f"({state})"
        )
        if not bounded:
            return Check(name, "fail", f"{found}. {_CONSEQUENCE}")
        pieces = _pieces(lattice, ~zero)
        if pieces == 1:
            return Check(name, "pass", f"{found}; the bounded weights vanish there.")
        return Check(
            name,
            "fail",
            f"{found}. The others fall into {pieces} sets that no step of one coordinate connects, and the "
            "test cannot see how the mass is shared among them. Test each set by itself, with its states as "
            "the levels of one coordinate, Lattice(count, 1).",
        )
    if bounded:
        return Check(name, "pass", "Probabilities may be zero, since the bounded weights vanish there.")
    rows, columns = np.nonzero(ratios(model, lattice, points) == 0.0)
    if not len(rows):
        return Check(name, "pass", f"All neighbours of {len(points)} states have positive probability.")
    row, column, count = rows[0], columns[0], len(set(rows.tolist()))
    if not model.has_logpdf:
        return Check(
            name,
            "warn",
            f"The score of {model.name} is exactly one at {count} of {len(points)} rows, the first is row "
            f"{row}: a neighbouring state has probability zero, or almost. If it is zero the p-value is not "
            f"valid. {_CONSEQUENCE}",
        )
    # A ratio below 1e-16 may have been rounded to zero; the log probability knows.
    zero = np.isneginf(log_ratios(model, lattice, points[rows])[np.arange(len(rows)), columns])
    if not zero.any():
        return Check(name, "pass", f"All neighbours of {len(points)} states have positive probability.")
    row, column, count = rows[zero][0], columns[zero][0], len(set(rows[zero].tolist()))
    return Check(
        name,
        "fail",
        f"{model.name} has probability zero next to {count} of {len(points)} rows: row {row} with column "
        f"{column} moved on by one level cannot occur. {_CONSEQUENCE}",
    )


_CONSEQUENCE = (
    "Stein's identity needs q > 0 at all states, unless weights are bounded: use Difference(bound=10), or a "
    "lattice of possible states only."
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
    name = "score against log probabilities"
    if not (model.has_logpdf and model.has_score):
        if model.has_score and not getattr(model, "estimated", False):
            return _check_cycle(model, lattice, points[:PROBES])
        return Check(name, "skip", "Only one of score and log probability is given.")
    points = points[:PROBES]
    got = 1.0 - ratios(model, lattice, points)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = -np.expm1(log_ratios(model, lattice, points))
        gap = np.abs(got - expected) / (1.0 + np.abs(expected))
    row, column = np.unravel_index(np.argmax(gap), gap.shape)
    # Written so that NaN, from infinite scores, is not taken for agreement.
    if gap[row, column] <= 1e-4:
        return Check(name, "pass", f"They agree to {gap.max():.1e} at {len(points)} states.")
    return Check(
        name,
        "fail",
        f"They differ: at row {row} the score of column {column} is {got[row, column]:.4g}, but the log "
        f"probabilities give 1 − q(¬x)/q(x) = {expected[row, column]:.4g} on {lattice!r}. A score belongs to "
        "one lattice and is no derivative of log q. Pass Model(logpdf=..., domain=...) without a score.",
    )


def _check_cycle(model: Model, lattice: Lattice, points: Array) -> Check:
    """Around a cycle of levels the ratios 1 − s = q(¬x)/q(x) multiply to one."""
    name = "score around the levels"
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
        return Check(name, "pass", "The ratios of probabilities agree around the levels.")
    return Check(
        name,
        "fail",
        f"The score of {model.name} is no difference score: the ratios q(¬x)/q(x) = 1 − score around the "
        f"levels of a coordinate multiply to {math.exp(min(worst, 50.0)):.4g} or its inverse, not to one. On "
        "a lattice the score is 1 − q(¬x)/q(x), not a derivative of log q. Pass Model(logpdf=..., "
        "domain=...) to have it computed.",
    )


def _check_rare_bounded(model: Model, lattice: Lattice, data: Array, bound: float) -> Check:
    """Whether most of E‖T‖² sits in neighbours of common states that are too rare to have been seen.

    Summed over pairs of neighbours x and y the weights squared are c·σ(u)σ(−u) at y, relative to q(x),
    with u = ±log(q(y)/q(x)) − log c and σ the logistic function.
    """
    name = "rare states"
    n = len(data)
    points = data[np.linspace(0, n - 1, min(n, MOST_ROWS)).astype(np.intp)]
    forward, backward = _log_steps(model, lattice, points)
    total = rare = 0.0
    for step, u in ((forward, forward - math.log(bound)), (backward, -backward - math.log(bound))):
        weight = _logistic(u) * _logistic(-u)
        total += float(weight.sum())
        rare += float(weight[step < -math.log(n / UNSEEN)].sum() if n > UNSEEN else 0.0)
    if rare <= 0.5 * total:
        return Check(name, "pass", "States that are too rare to be seen do not matter much.")
    return Check(
        name,
        "warn",
        f"About {rare / total:.0%} of the statistic's variance sits in states that are more than "
        f"{n / UNSEEN:g} times less probable than their neighbours and may be missing among {n} rows. Where "
        "they are, the bootstrap rejects true models far too often. Use null=MonteCarlo(), or leave out "
        "levels that hardly occur.",
        asymptotic=True,
    )


def _log_steps(model: Model, lattice: Lattice, points: Array) -> tuple[Array, Array]:
    """log q(¬_i x)/q(x) and log q(¬_i⁻¹x)/q(x), both (n, d)."""
    two = len(lattice.levels) == 2
    if model.has_logpdf:
        forward = log_ratios(model, lattice, points)
        return forward, forward if two else log_ratios(model, lattice, points, -1)
    with np.errstate(divide="ignore"):
        forward = np.log(ratios(model, lattice, points))
        if two:
            return forward, forward
        before = [ratios(model, lattice, lattice.shift(points, i, -1))[:, i] for i in range(lattice.dim)]
        return forward, -np.log(np.stack(before, axis=1))


def _check_rare(model: Model, lattice: Lattice, data: Array, bound: float) -> Check:
    """Whether states that balance the common ones in Stein's identity are too rare to have been seen."""
    name = "rare states"
    n = len(data)
    # How much more probable the data are than the states just before them.
    if len(lattice.levels) == 2:
        with np.errstate(divide="ignore"):
            rarer = 1.0 / ratios(model, lattice, data)
    elif model.has_logpdf:
        with np.errstate(over="ignore"):
            rarer = np.exp(-log_ratios(model, lattice, data, -1))
    else:
        before = [ratios(model, lattice, lattice.shift(data, i, -1))[:, i] for i in range(lattice.dim)]
        rarer = np.stack(before, axis=1)
    share = (rarer > n / UNSEEN).mean(axis=0)
    worst = int(np.argmax(share))
    if share[worst] <= 0.01:
        return Check(name, "pass", "No state that matters is too rare to be seen.")
    return Check(
        name,
        "warn",
        f"For {share[worst]:.0%} of the rows the state with column {worst} moved back by one level is more "
        f"than {n / UNSEEN:g} times less probable. Stein's identity weighs it all the more, but among {n} "
        "rows it may be missing: a bootstrap p-value may be far too small. Use Difference(bound=10), or "
        "null=MonteCarlo().",
        asymptotic=True,
    )
