"""Which tests are aggregated where nothing is said: one rule for every kind of domain.

A collection looks at the data in a few *kinds of ways*, and every kind has the same share of the level, which
its members divide equally:

by Stein's identity, with the operator A of the domain,
    - **shape**: A with kernels that are fine, medium and as wide as the data;
    - **spread**: functions of the distance from the centre, ``Dilation(A)``;
    - **moments**: few polynomials, harmonics, counts or times, of which a person has a name for each;
    - **margins**: when events are, for durations;
    - **form**, **changes**: of durations what each covariate does, and whether that changes with time;
    - **distances**: of a point pattern those between points;
    - **modes**: how often each of several modes that lie apart is visited, which no score sees;

against draws of the model, where it has a sampler,
    - **closeness**: mean embeddings with kernels finer than the data are wide;
    - **directions**: mean embeddings of which weak directions are made strong;
    - **moments**: means, second moments, radius, or mean and spread of residuals along covariates;
    - **form**, **changes**: of residuals waves of the mean, and whether their ranks change along covariates;
    - **location**: where all columns lie, by their ranks, or mean and spread of all residuals;
    - **margins**: the distribution of each column, or of residuals;
    - **pairs**: how columns go together, whatever their distributions are;
    - **level**: how probable observations are, where the model has a log density.

There are no weights for single domains or members: what members have in common is told by their joint null
distribution, in which those that are nearly the same count as one (:mod:`goodstein.nulls.combine`). The kinds
and their scales were chosen on simulations of common departures from a model, in location, scale, tails,
dependence, single columns and fine structure, and judged on the frozen suite of ``validation/unseen.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from goodstein.conditional.drawn_ranks import DrawnRanks
from goodstein.conditional.drawn_residuals import DrawnResiduals
from goodstein.conditional.given_draws import GivenDraws
from goodstein.conditional.operator import Conditional
from goodstein.conditional.residuals import Residuals
from goodstein.data.points import Points, draw
from goodstein.domains import Box, Domain, Euclidean, Lattice, Simplex, Sphere, Torus
from goodstein.errors import InputError, SamplingError
from goodstein.kernels import IMQ, Gaussian, Hamming, Kernel, Median
from goodstein.models.model import Model
from goodstein.operators import (
    Coordinate,
    Counts,
    Difference,
    Dilation,
    DrawnLevel,
    DrawnMargins,
    DrawnMoments,
    DrawnPairs,
    DrawnRadius,
    Harmonics,
    Jumps,
    Langevin,
    LogRatio,
    MeanEmbedding,
    Mirrored,
    Moments,
    Operator,
    Perturbed,
    Regularised,
    SecondOrder,
    Standardised,
)
from goodstein.operators.views.base import View
from goodstein.operators.views.drawn import DrawnView, whitened
from goodstein.operators.views.drawn_level import is_flat
from goodstein.patterns.distances import Distances
from goodstein.patterns.innovations import Innovations
from goodstein.patterns.marks import OfMarks
from goodstein.patterns.numbers import Numbers
from goodstein.patterns.operator import Papangelou
from goodstein.problems.problem import Problem
from goodstein.survival.martingale import Martingale
from goodstein.survival.residuals import CoxResiduals
from goodstein.survival.timing import Timing
from goodstein.types import Array

SCORED = (Langevin, LogRatio, Standardised, Coordinate, SecondOrder, Difference, Jumps)
"""Default operators of points beside which draws of the model are looked at."""

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the usual bandwidth, where nothing better is known."""

RATES = (0.3, 1.0, 3.0)
"""The same for the rates of Hamming's kernel."""

SHAPE, CLOSE = (1.0, 0.5, 0.25), (0.5, 0.25, 0.125)
"""Multiples of the median distance for Stein operators and for mean embeddings."""

COUNTED = (2.0, 1.0, 0.5)
"""The same for counts, whose steps are wide: the widest finds another mean or variance, the finest zeros."""

STRENGTH = 0.01
"""How weak a direction may be, relative to the strongest, to be made as strong as that."""

COLUMNS = 25
"""So many columns have members of their own."""

CROSSED = 10
"""Covariates at most of which all pairs are looked at."""

WIDE = 50
"""Columns beyond which there are too many second moments for any of them to stand out."""

SOME = 500
"""Draws that show what those of a model are like."""

NEARLY_ZERO = 1e-100
"""Where parts are smaller than this some are zero sooner or later, in the data or in one of many samples."""

FEW = 50
"""Fewer observations than this do not tell many directions apart."""

DRAWN, NUMBERS = 20_000, 1 << 21
"""Draws with which all observations together are compared where simulated samples share them, and the entries
of these at most.

Their error is the same in the data and in all samples, as if the model were wrong by it. With 20 draws for
each observation it is .22 of the error of the data.
"""

EACH, PAIRED = 500, 100_000
"""The same where each observation has draws of its own, given its covariates: so many each, and all together.

Half of them tell what residuals and ranks are, so that 100 of them leave noise in these too.
"""

FINE = 8
"""The degree of curves along a covariate that a mean with some waves differs from."""

LOOKS_AT = {
    "number": "how many points there are",
    "locations": "where points are",
    "neighbours": "how near each other points are",
}
"""What members look at in one point pattern."""


class Entry(NamedTuple):
    """An operator and the kernels to use with it; none is the operator's own functions."""

    operator: Operator
    kernels: Sequence[Kernel] = ()

    @property
    def size(self) -> int:
        """The number of members."""
        return max(1, len(self.kernels))


Kinds = dict[str, list[Entry]]
"""Kinds of ways to look at data, by name."""


def gaussians(*scales: float) -> list[Kernel]:
    """Gaussian kernels at multiples of the median distance."""
    return [Gaussian(Median(scale)) for scale in scales]


def multiquadrics(*scales: float) -> list[Kernel]:
    """Inverse multiquadric kernels at multiples of the median distance."""
    return [IMQ(Median(scale)) for scale in scales]


def hammings(*rates: float) -> list[Kernel]:
    """Hamming kernels."""
    return [Hamming(rate) for rate in rates]


def default_kernels(problem: Problem) -> list[Kernel]:
    """Several bandwidths of the kernel of a problem that was composed without one."""
    return problem.kernel.at_scales(SCALES, RATES)


def default_collection(problem: Problem, simulated: bool = True, shared: bool = True) -> Kinds:
    """The collection for a problem that was composed with the default operator.

    Members that draw from the model are there only if it has a sampler that works; those that are too heavy
    for random signs only if their null distribution is `simulated`. Draws are many if all simulated samples
    are compared with the same, `shared`, and not each with those of a model that was fitted to it.
    """
    drawn = _drawn(problem)
    kinds = _by_identity(problem, drawn, simulated, shared)
    kinds["modes"] = _modes(problem)
    if drawn is not None:
        kinds |= _against_draws(problem, drawn, simulated, shared)
    return {name: entries for name, entries in kinds.items() if entries}


def shares_of(kinds: Kinds) -> list[tuple[float, ...]]:
    """The shares of the members of every entry, in order: one for each kind, divided equally."""
    return [
        (1.0 / (len(kinds) * sum(each.size for each in entries)),) * entry.size
        for entries in kinds.values()
        for entry in entries
    ]


def _by_identity(problem: Problem, drawn: Array | None, simulated: bool, shared: bool) -> Kinds:
    operator: Any = problem.operator
    domain = problem.domain
    if isinstance(operator, LogRatio):
        # Log-ratios tell small parts apart; the parts themselves may be zero.
        parts = Entry(Mirrored(), multiquadrics(1.0, 4.0))
        kinds = _flat(operator, domain.dim) if _has_logratios(problem, drawn) else {"shape": []}
        kinds["shape"].append(parts)
        return kinds
    if isinstance(operator, Langevin | Standardised):
        return _flat(operator, domain.dim)
    if isinstance(operator, Coordinate | SecondOrder):
        waves = isinstance(domain, Sphere | Torus)
        shape = [Entry(operator, gaussians(*SHAPE)), Entry(SecondOrder(), gaussians(2.0, 4.0))]
        if isinstance(operator, SecondOrder):  # once, so that all kernels share its features
            shape = [Entry(operator, gaussians(*SHAPE, 2.0, 4.0))]
        return {
            "shape": shape,
            "moments": [Entry(Harmonics(degree)) for degree in (1, 2) if waves],
        }
    if isinstance(operator, Difference):
        counts = [Entry(Counts(degree)) for degree in (1, 2) if degree <= domain.dim <= COLUMNS]
        return {"shape": [Entry(operator, hammings(*RATES))], "moments": counts}
    if isinstance(operator, Jumps):
        return {"shape": [Entry(operator, gaussians(*COUNTED))]}
    if isinstance(operator, Conditional):
        return _of_pairs(problem, simulated, shared)
    if isinstance(operator, Papangelou):
        return {
            "shape": [Entry(operator, default_kernels(problem))],
            "moments": [Entry(Numbers(0, operator)), Entry(Numbers(1, operator))],
            "distances": [Entry(Distances(operator=operator))],
        }
    if isinstance(operator, Martingale):
        repeated = simulated or problem.model.provenance is None
        return _of_durations(problem, simulated) | _along_covariates(problem, repeated)
    if isinstance(operator, CoxResiduals):
        return {"shape": [Entry(operator)]} | _of_cox(problem)
    if isinstance(operator, Innovations):
        return _of_pattern(operator)
    return {"shape": [Entry(operator, default_kernels(problem))]}


def _columns(problem: Problem) -> list[int | None]:
    """Covariates along which members look, one at a time, or None for all at once."""
    p = problem.observations.covariates.shape[1]
    return [None] if p == 1 or p > COLUMNS else [*range(p)]


def _of_durations(problem: Problem, simulated: bool) -> Kinds:
    """How many events there are, and when; random signs do not know what the few who are late at risk do."""
    shape = [Entry(Martingale("cdf"), gaussians(*SHAPE)), Entry(Martingale("hazard"), gaussians(0.125))]
    if simulated:
        return {
            "shape": shape,
            "moments": [Entry(Timing(0)), Entry(Timing(1, standardised=True))],
            "margins": [Entry(Timing(5)), Entry(Timing(5, standardised=True))],
        }
    # Of fits that are not repeated Timing(1) knows too little in a hundred rows: .088 of 500 at .05.
    degrees = (1, 5) if problem.model.provenance is None else (5,)
    return {"shape": shape, "moments": [Entry(Timing(degree)) for degree in degrees]}


def _along_covariates(problem: Problem, repeated: bool) -> Kinds:
    """Of durations: what each covariate does, whether that changes with time, or with another covariate.

    Of fits that are not repeated the last knows too little in a hundred rows: .080 of 300 at .05, and the
    collection with it .073.
    """
    z = problem.observations.covariates
    if z is None:
        return {}
    return {
        "form": [Entry(Timing(0, covariate=column, trend=2)) for column in _columns(problem)],
        "changes": [Entry(Timing(1, covariate=column, trend=1)) for column in _columns(problem)],
        "pairs": [Entry(Timing(0, trend=1, pairs=True))] if repeated and 2 <= z.shape[1] <= CROSSED else [],
    }


def _of_cox(problem: Problem) -> Kinds:
    """The same of proportional hazards; without what the equations of the fit have made zero."""

    def entries(*views: CoxResiduals) -> list[Entry]:
        data, domain = problem.observations, problem.domain
        made = [(view, view.fitted(data, domain).features(problem.model, domain, data)) for view in views]
        return [Entry(view) for view, features in made if features.tau.any()]

    p = problem.observations.covariates.shape[1]
    return {
        "form": entries(*[CoxResiduals(0, covariate=column, trend=2) for column in _columns(problem)]),
        "changes": entries(*[CoxResiduals(1, covariate=column, trend=1) for column in _columns(problem)]),
        "pairs": entries(CoxResiduals(0, trend=1, pairs=True)) if 2 <= p <= CROSSED else [],
    }


def _of_pattern(operator: Innovations) -> Kinds:
    """How many points one pattern has, where they are, and how near each other."""
    widths = [OfMarks(Gaussian(width)) for width in (0.125, 0.25, 0.5)]
    return {
        "number": [Entry(replace(operator, looks="number"), widths[:1])],
        "locations": [Entry(replace(operator, looks="locations"), widths)],
        "neighbours": [
            Entry(replace(operator, looks="neighbours", order=1), widths[:2]),
            Entry(replace(operator, looks="neighbours", order=2), widths[1:2]),
        ],
    }


def _flat(operator: Operator, d: int) -> Kinds:
    """What an operator with as many test functions as coordinates has."""
    return {
        "shape": [Entry(operator, gaussians(*SHAPE))],
        "spread": [Entry(Dilation(operator), [*gaussians(0.5), *multiquadrics(4.0)])],
        "moments": [Entry(Moments(degree, operator)) for degree in (0, 1)] if d <= WIDE else [],
    }


def _of_pairs(problem: Problem, simulated: bool, shared: bool) -> Kinds:
    """Of outcomes given covariates: residuals against draws where there are any, else by Stein's identity."""
    p, columns = problem.observations.covariates.shape[1], _columns(problem)
    trend = 3 if p <= COLUMNS else 1
    kernels = problem.kernel.at_scales((1.0, 4.0), (1.0,))
    kinds: Kinds = {"shape": [Entry(problem.operator, kernels)]}
    if problem.model.has_sample:
        kinds |= _residuals(problem, columns, trend, simulated, shared)
    elif problem.domain.flat and not problem.domain.discrete:
        kinds["moments"] = [
            Entry(Residuals(degree, column, trend)) for column in columns for degree in (0, 1)
        ]
    return kinds


def _residuals(
    problem: Problem, columns: list[int | None], trend: int, simulated: bool, shared: bool
) -> Kinds:
    """Against draws at the same covariates: mean and spread of all and along each covariate, distribution."""
    draws = DrawnResiduals.draws
    if simulated and shared:
        draws = min(EACH, max(draws, ceil(PAIRED / len(problem.data))))
    residuals, ranks = partial(DrawnResiduals, draws=draws), partial(DrawnRanks, draws=draws)
    views: dict[str, list[GivenDraws]] = {
        "drawn moments": [residuals(degree, column, trend) for column in columns for degree in (1, 2)],
        "margins": [*(residuals(degree, trend=0) for degree in (3, 4)), ranks()],
    }
    if simulated and trend > 1:
        views["location"] = [residuals(degree, trend=0) for degree in (1, 2)]
        views["form"] = [residuals(1, column, FINE) for column in columns]
        views["changes"] = [ranks(2, column, trend) for column in columns]
    return {
        kind: [Entry(view) for view in some if simulated or view.bounded or not _heavy(view, problem)]
        for kind, some in views.items()
    }


def _modes(problem: Problem) -> list[Entry]:
    """Moves between modes, where the model has a log density and modes of it are found that lie apart.

    They are looked for among draws of the model, so that the data have no part in the choice; where it has
    no sampler, among the data, which then say no more than where to look. :class:`GradientFree` is not for a
    collection: nobody but the user knows a proposal.
    """
    model, domain = problem.model, problem.domain
    if not isinstance(model, Model) or not isinstance(problem.data, Points) or model.estimated:
        return []
    if not model.has_logpdf or not isinstance(domain, Euclidean | Box):
        return []
    operator = Perturbed()
    try:
        modes = operator.found(model, domain, problem.observations)
    except InputError:
        return []
    return [Entry(operator)] if len(modes) else []


def _against_draws(problem: Problem, drawn: Array, simulated: bool, shared: bool) -> Kinds:
    """Of a lattice the kernels are Hamming's; of a simplex log-ratios are compared, and the parts too."""
    domain, few = problem.domain, len(problem.data) < FEW
    lattice = isinstance(domain, Lattice)
    logratio = isinstance(domain, Simplex) and _has_logratios(problem, drawn)
    parts = MeanEmbedding(_draws(problem) if simulated and shared else MeanEmbedding.draws)
    embedding = replace(parts, logratio=True) if logratio else parts
    closeness = [Entry(parts, hammings(*RATES) if lattice else gaussians(*CLOSE))]
    if logratio:
        closeness.append(Entry(embedding, multiquadrics(4.0)))
    once = hammings(1.0) if lattice else gaussians(1.0)
    # Reference points have draws of their own, so that many for each would be too many; they tell it no more.
    regularised = Regularised(MeanEmbedding(logratio=logratio), strength=STRENGTH * (3 if few else 1))
    columns = range(domain.dim) if domain.dim <= COLUMNS else [None]
    moments: list[DrawnView] = []
    if domain.dim <= WIDE and _whitens(embedding.points(domain, drawn)):
        moments = [DrawnMoments(1, embedding), DrawnMoments(2, embedding), DrawnRadius(embedding)]
    if not simulated:
        moments = [moment for moment in moments if not _heavy(moment, problem)]
    return {
        "closeness": closeness,
        "directions": [Entry(regularised, once)],
        "drawn moments": [Entry(moment) for moment in moments],
        "location": [Entry(DrawnMargins(1, None, embedding))],
        "margins": [Entry(DrawnMargins(3, column, embedding)) for column in columns],
        "pairs": [Entry(DrawnPairs(degree, embedding)) for degree in _degrees(domain)],
        "level": [Entry(DrawnLevel(3, embedding))] if _has_levels(problem, drawn) else [],
    }


def _draws(problem: Problem) -> int:
    """How many draws each observation has where they are made once for all samples."""
    return max(MeanEmbedding.draws, ceil(min(DRAWN, NUMBERS // problem.domain.dim) / len(problem.data)))


def _degrees(domain: Domain) -> tuple[int, ...]:
    """Of products of functions of two columns; of two states there is one function."""
    if not 2 <= domain.dim <= COLUMNS:
        return ()
    return (2,) if isinstance(domain, Lattice) and len(domain.levels) == 2 else (2, 3)


def _drawn(problem: Problem) -> Array | None:
    """Some draws, always the same; None where there are none, or where members against draws do not apply."""
    if not (isinstance(problem.data, Points) and isinstance(problem.operator, SCORED)):
        return None
    if not problem.model.has_sample:
        return None
    try:
        return draw(problem.model, problem.domain, SOME, np.random.default_rng(0))
    except (InputError, SamplingError):
        return None


def _has_levels(problem: Problem, drawn: Array) -> bool:
    """Whether the log density is known, and not that of a uniform law up to rounding."""
    model = problem.model
    if not isinstance(model, Model) or model.estimated or not model.has_logpdf:
        return False
    return not is_flat(model.logpdf(drawn))


def _whitens(points: Array) -> bool:
    """Whether the draws have a covariance matrix that can be inverted."""
    try:
        whitened(points)
    except InputError:
        return False
    return True


def _heavy(view: Operator, problem: Problem) -> bool:
    """Whether random signs do not tell its distribution."""
    rng = np.random.default_rng(0)
    checks = view.on(problem.domain).conditions(problem.model, problem.domain, problem.observations, rng)
    return any(check.status == "fail" and check.asymptotic for check in checks)


def from_draws(operator: Operator | None) -> bool:
    """Whether an operator has draws of the model in the place of an identity."""
    inside = getattr(operator, "operator", None)
    return isinstance(operator, MeanEmbedding | DrawnView) or (inside is not None and from_draws(inside))


def _has_logratios(problem: Problem, drawn: Array | None) -> bool:
    """Whether no part is zero, nor so small that one of many samples has zeros."""
    seen = [problem.observations, *([] if drawn is None else [drawn])]
    return min(float(x.min()) for x in seen) > NEARLY_ZERO


def looks_at(operator: Operator, names: Sequence[str] | None = None) -> str:
    """What a member looks at, in a few words."""
    if isinstance(operator, View | Perturbed | CoxResiduals):
        return operator.looks_at(names)
    if isinstance(operator, Dilation):
        return "the distance from the centre"
    if isinstance(operator, Innovations):
        return LOOKS_AT["".join(operator.looks)] if len(operator.looks) == 1 else "points"
    if isinstance(operator, Regularised):
        return "all directions alike"
    return "where observations are" if isinstance(operator, MeanEmbedding) else "shape"


def left_out(problem: Problem, operators: Sequence[Operator]) -> list[str]:
    """Notes about members of the collection for a problem that are not among these operators."""
    notes = []
    scored = isinstance(problem.data, Points) and isinstance(problem.operator, (*SCORED, Mirrored))
    if scored and problem.model.has_sample and not any(map(from_draws, operators)):
        notes.append(
            f"Left out the members that compare data with draws: the sampler of {problem.model.name} finds "
            f"nothing on {problem.domain!r}. {_cannot_draw(problem) or ''}".rstrip()
        )
    if Mirrored() in operators and LogRatio() not in operators:
        notes.append(
            "Left out LogRatio() and what goes with it: parts are zero, or so small that the model draws "
            "zeros, which have no log-ratio."
        )
    return notes


def _cannot_draw(problem: Problem) -> str | None:
    """Why its sampler draws nothing; None where it does."""
    try:
        draw(problem.model, problem.domain, 2, np.random.default_rng(0))
    except (InputError, SamplingError) as error:
        return error.bare
    return None
