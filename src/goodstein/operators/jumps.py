"""The operator of jumps between neighbouring states, for counts and other discrete data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import check_option, numbers
from goodstein.data.points import draw
from goodstein.domains import Domain, Naturals
from goodstein.domains.states import States
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError, given
from goodstein.kernels import Gaussian, Median
from goodstein.kernels.frames import spread_frame
from goodstein.operators.base import Operator
from goodstein.operators.difference_ratios import require_possible
from goodstein.operators.jump_form import JumpFeatures
from goodstein.types import Array, BoolArray

PROBES = 50
"""States whose neighbours are asked for theirs."""
LONGEST = 10_000
"""Counts up to which all are asked whether they can occur."""


@dataclass(frozen=True)
class Jumps(Operator):
    r"""T g(x) = Σ_{y ∈ N(x)} κ(q(y)/q(x)) g(x, y), κ(t) = t/(1 + t), for states x with neighbours N(x).

    The rates q(x) κ(q(y)/q(x)) = q(x)q(y)/(q(x) + q(y)) are the same from x to y as back, so that T g has
    mean zero for every bounded g with g(x, y) = −g(y, x), and a normalising constant of q is not needed. No
    rate exceeds one: there are no rare states with large weights, and impossible ones have none.

    - ``functions="states"``: g(x, y) = f(y) − f(x) with f of an RKHS on the states, the generator of a jump
      process with invariant law q. For any space with neighbours.
    - ``functions="edges"``: g(x, x + Δ) = f_Δ(½(x + (x + Δ))) for every move Δ of :class:`Naturals`, a test
      function of its own at the middle of the step. There are more such functions, as those of
      :class:`Langevin` are more than the gradients in :class:`SecondOrder`. One kernel matrix for each pair
      of steps is needed, 4 for each move, and nothing cancels where counts are large.

    Neither finds more of everything. Of 100 counts, tested for a Poisson law of mean 3, edges and states
    found, at the level .05 and with the default kernels (200 trials, ``validation/power.md``):

    ==================================  =====  ======
    the counts are                      edges  states
    ==================================  =====  ======
    Poisson, of mean 3.5                .50    .20
    negative binomial, size 6           .33    .20
    binomial, six trials                .79    .78
    Poisson, a tenth of zeros more      .73    .82
    ==================================  =====  ======

    Parameters
    ----------
    functions
        ``"edges"`` or ``"states"``; None takes edges on :class:`Naturals` and states elsewhere.
    units
        Factors of the test functions of edges, one for each move; None takes them from the data: how many
        such moves make up the spread of the counts, so that large and small ones have the same say.
        ``"root"`` takes ½ + √x in the place of the spread, where each step is: for regressions whose means
        range from small to large, in which wrong means of large counts would else hardly count. Weights then
        grow like √x, which must have a mean.

    Notes
    -----
    The default kernel is :class:`Gaussian`, with the median distance for edges and twice that for states; on
    :class:`Naturals` kernels see √x. A kernel of your own is
    called with rows of states, k(x, y).

    References
    ----------
    Hodgkinson, Salomone, Roosta (2020), The reproducing Stein kernel approach for post-hoc corrected
    sampling. Shi, Zhou, Hwang, Titsias, Mackey (2022), Gradient estimation with discrete Stein operators. The
    rate κ is Barker's (1965).

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> counts = np.random.default_rng(1).negative_binomial(4, 4 / 7, size=(200, 1))  # mean 3, variance 5.25
    >>> gs.ksd_test(counts, gs.families.Poisson(3.0), rng=1).pvalue < 0.01
    True
    >>> gs.ksd_test(counts, gs.families.NegativeBinomial(3.0, size=4.0), rng=1).pvalue > 0.05
    True
    >>> unnormalised = gs.Model(logpdf=lambda x: 1.1 * x[:, 0] - 0.2 * x[:, 0] ** 1.5, domain=gs.Naturals(1))
    >>> gs.ksd_test(counts, unnormalised, operator=gs.Jumps("states"), rng=1).pvalue < 0.01
    True
    """

    functions: Literal["edges", "states"] | None = None
    units: Array | Literal["root"] | None = field(default=None, repr=False, compare=False)

    conditions_suffice = True  # no annotation: not a field

    def __post_init__(self) -> None:
        check_option(self.functions, "functions", ("edges", "states", None), of="Jumps")
        if self.units is not None and not (isinstance(self.units, str) and self.units == "root"):
            object.__setattr__(self, "units", numbers(self.units, "units", ndim=1, above=0.0, of="Jumps"))

    def __repr__(self) -> str:
        return "Jumps()" if self.functions is None else f"Jumps({self.functions!r})"

    def on(self, domain: Domain) -> Jumps:
        space = as_states(domain)
        moves = isinstance(space, Naturals)
        if self.functions == "edges" and not moves:
            raise DomainError(
                f'Jumps("edges") needs the moves of Naturals(d, moves), and {domain!r} has neighbours only.',
                remedy='Use Jumps("states").',
            )
        known = len(as_moves(domain)) if moves else 0
        if isinstance(self.units, np.ndarray) and len(self.units) != known:
            raise InputError(
                f"`units` of Jumps are {len(self.units)} numbers, one for each move, and {domain!r} has "
                f"{known}."
            )
        return self if self.functions or not moves else replace(self, functions="edges")

    def fitted(self, data: Any, domain: Domain) -> Jumps:
        if self.functions != "edges" or self.units is not None or len(as_moves(domain)) == 1:
            return self
        # One over the length of a move, in units of the spread of every count.
        return replace(
            self, units=1.0 / np.linalg.norm(spread_frame(data).coordinates(as_moves(domain)), axis=1)
        )

    def features(self, model: Any, domain: Domain, data: Array) -> JumpFeatures:
        """Places and weights: the middles of steps with rates up and down, or states with rates to them."""
        space = as_states(domain)
        near = space.neighbours(data)
        n, m, d = near.shape
        rate = rates(model, data, near)
        here, there = space.embedded(data), space.embedded(near.reshape(-1, d)).reshape(n, m, -1)
        if self.functions == "edges" or (self.functions is None and isinstance(space, Naturals)):
            middles = 0.5 * (here[:, None] + there)
            signed = rate.reshape(n, -1, 2) * [1.0, -1.0]
            if self.units is not None:
                signed = signed * self._sizes(as_moves(domain), middles.reshape(n, m // 2, 2, -1))
            return JumpFeatures(here, middles.reshape(n, m // 2, 2, -1), signed)
        places = np.concatenate([here[:, None], there], axis=1)
        weights = np.concatenate([-rate.sum(axis=1, keepdims=True), rate], axis=1)
        return JumpFeatures(here, places[:, None], weights[:, None])

    def _sizes(self, moves: Array, middles: Array) -> Array:
        """The factors of the steps, (M, 1) or, at their middles, (n, M, 2)."""
        if isinstance(self.units, np.ndarray):
            return self.units[:, None]
        return np.asarray(1.0 / np.linalg.norm(moves[:, None] / (0.5 + middles), axis=-1))

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        space = as_states(domain)
        if not model.has_logpdf:
            return [Question("probabilities").failed(_no_logpdf(model))]
        if data is None:
            try:
                data = draw(model, domain, PROBES, rng)
            except (InputError, SamplingError, NotImplementedError):
                return [Check("possible states", "skip", "They are looked for around data: pass some.")]
        return [_check_neighbours(space, data), _check_reach(model, space, data)]

    def default_kernel(self) -> Gaussian:
        # Differences of a test function are small where it is wide: for states twice as wide found more.
        return Gaussian() if self.functions == "edges" else Gaussian(Median(2.0))


def as_states(domain: Domain) -> States:
    """A domain whose states have neighbours."""
    if not isinstance(domain, States):
        raise DomainError(
            f"Jumps() is for counts and other states with neighbours, but the domain is {domain!r}. Pass "
            f"{given('domain', 'Naturals(d)', 'StateSpace(d, neighbours)')}, or leave the operator out."
        )
    return domain


def as_moves(domain: Domain) -> Array:
    """The moves of counts."""
    assert isinstance(domain, Naturals)  # as `on` has seen
    return domain.moves


def _no_logpdf(model: Any) -> str:
    return (
        f"Jumps() compares probabilities of neighbouring states, and {model.name} has a score only. Pass "
        "Model(logpdf=...): the log probability, up to a constant."
    )


def rates(model: Any, data: Array, near: Array) -> Array:
    """κ(q(y)/q(x)) for the neighbours y (n, m, d) of states x (n, d), (n, m); zero for none."""
    if not model.has_logpdf:
        raise ScoreError(_no_logpdf(model))
    here = require_possible(model, model.logpdf(data))
    out = np.empty(near.shape[:2])
    # All rows at once for each neighbour in turn, as a model of y given x must be asked.
    for j in range(near.shape[1]):
        step = np.asarray(model.logpdf(near[:, j])) - here
        none = (near[:, j] == data).all(axis=1)
        out[:, j] = np.where(none, 0.0, np.exp(-np.logaddexp(0.0, -step)))
    return out


def _check_neighbours(space: States, data: Array) -> Check:
    """Whether neighbours have each other for neighbours, as those of counts do."""
    question = Question("neighbours")
    if isinstance(space, Naturals):
        keeps = " What no move changes is taken as given." if space.keeps else ""
        return question.passed(f"Steps lead back.{keeps}")
    some = np.unique(data, axis=0)[:PROBES]
    near = space.neighbours(some)
    for x, around in zip(some, near, strict=True):
        others = around[(around != x).any(axis=1)]
        back = (space.neighbours(others) == x).all(axis=2).any(axis=1) if len(others) else np.ones(0, bool)
        if not back.all():
            state, other = (_shown(values) for values in (x, others[np.argmin(back)]))
            return question.failed(
                f"{other} is a neighbour of {state}, but {state} is none of {other}, so the rates do not "
                "balance. `neighbours` must be mutual."
            )
    return question.passed(f"The neighbours of {len(some)} states have these for theirs.")


def _check_reach(model: Any, space: States, data: Array) -> Check:
    """Whether steps of positive probability lead from one state to the next."""
    question = Question("possible states")
    advice = "the test cannot see how the mass is shared between such pieces. Test each by itself."
    if isinstance(space, Naturals) and space.dim == 1 and not space.keeps and data.max() < LONGEST:
        possible = _possible(model, np.arange(data.max() + 2.0)[:, None])
        at = np.flatnonzero(possible)
        gap = np.flatnonzero(np.diff(at) > 1)
        if len(gap) and np.abs(space.moves).max() == 1:
            k = int(at[gap[0]] + 1)
            return question.failed(
                f"{model.name} has probability zero at {k} and not on both sides of it: no steps lead "
                f"across, and {advice}"
            )
    alone = rates(model, data, space.neighbours(data)).sum(axis=1) == 0
    if alone.all():
        return question.failed(
            f"No neighbour of any of {len(data)} states is possible, so nothing is tested."
        )
    if alone.any():
        state = _shown(data[np.argmax(alone)])
        return question.warned(
            f"{int(alone.sum())} of {len(data)} rows, the first is {state}, have no possible neighbour: they "
            f"do not count, and {advice}"
        )
    return question.passed("Steps of positive probability lead from every state to others.")


def _possible(model: Any, states: Array) -> BoolArray:
    return np.asarray(np.asarray(model.logpdf(states)) > -np.inf)


def _shown(state: Array) -> str:
    return f"({', '.join(f'{value:g}' for value in state[:8])}{', …' if len(state) > 8 else ''})"
