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

from goodstein.conditional.operator import Conditional
from goodstein.patterns.innovations import Innovations
from goodstein.patterns.operator import Papangelou
from goodstein.problems.problem import Problem
from goodstein.survival.martingale import Martingale
from goodstein.survival.residuals import CoxResiduals
from goodstein.tests_of_fit.members.drawn import against_draws, some_drawn
from goodstein.tests_of_fit.members.durations import of_cox, of_durations
from goodstein.tests_of_fit.members.entries import Entry, Kinds, default_kernels
from goodstein.tests_of_fit.members.pairs import of_pairs
from goodstein.tests_of_fit.members.patterns import of_pattern, of_patterns
from goodstein.tests_of_fit.members.points import SCORED, modes, of_points
from goodstein.types import Array


def default_collection(problem: Problem, simulated: bool = True, shared: bool = True) -> Kinds:
    """The collection for a problem that was composed with the default operator.

    Members that draw from the model are there only if it has a sampler that works; those that are too heavy
    for random signs only if their null distribution is `simulated`. Draws are many if all simulated samples
    are compared with the same, `shared`, and not each with those of a model that was fitted to it.
    """
    drawn = some_drawn(problem)
    kinds = _by_identity(problem, drawn, simulated, shared)
    kinds["modes"] = modes(problem)
    if drawn is not None:
        kinds |= against_draws(problem, drawn, simulated, shared)
    return {name: entries for name, entries in kinds.items() if entries}


def shares_of(kinds: Kinds) -> list[tuple[float, ...]]:
    """The shares of the members of every entry, in order: one for each kind, divided equally."""
    return [
        (1.0 / (len(kinds) * sum(each.size for each in entries)),) * entry.size
        for entries in kinds.values()
        for entry in entries
    ]


def _by_identity(problem: Problem, drawn: Array | None, simulated: bool, shared: bool) -> Kinds:
    operator = problem.operator
    if isinstance(operator, SCORED):
        return of_points(problem, drawn)
    if isinstance(operator, Conditional):
        return of_pairs(problem, simulated, shared)
    if isinstance(operator, Papangelou):
        return of_patterns(problem)
    if isinstance(operator, Martingale):
        return of_durations(problem, simulated)
    if isinstance(operator, CoxResiduals):
        return of_cox(problem)
    if isinstance(operator, Innovations):
        return of_pattern(operator)
    return {"shape": [Entry(operator, default_kernels(problem))]}
