"""Members for points that compare them with draws of the model."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np

from goodstein.data.points import Points, draw
from goodstein.domains import Domain, Lattice, Simplex
from goodstein.errors import InputError, SamplingError
from goodstein.models.model import Model
from goodstein.operators import (
    DrawnLevel,
    DrawnMargins,
    DrawnMoments,
    DrawnPairs,
    DrawnRadius,
    MeanEmbedding,
    Operator,
    Regularised,
)
from goodstein.operators.views.drawn import DrawnView, whitened
from goodstein.operators.views.drawn_level import is_flat
from goodstein.problems.problem import Problem
from goodstein.tests_of_fit.members.entries import (
    COLUMNS,
    RATES,
    WIDE,
    Entry,
    Kinds,
    gaussians,
    hammings,
    heavy,
    multiquadrics,
)
from goodstein.tests_of_fit.members.points import SCORED, has_logratios
from goodstein.types import Array

CLOSE = (0.5, 0.25, 0.125)
"""Multiples of the median distance for mean embeddings."""

STRENGTH = 0.01
"""How weak a direction may be, relative to the strongest, to be made as strong as that."""

SOME = 500
"""Draws that show what those of a model are like."""

FEW = 50
"""Fewer observations than this do not tell many directions apart."""

DRAWN, NUMBERS = 20_000, 1 << 21
"""Draws with which all observations together are compared where simulated samples share them, and the entries
of these at most.

Their error is the same in the data and in all samples, as if the model were wrong by it. With 20 draws for
each observation it is .22 of the error of the data.
"""


def against_draws(problem: Problem, drawn: Array, simulated: bool, shared: bool) -> Kinds:
    """Of a lattice the kernels are Hamming's; of a simplex log-ratios are compared, and the parts too."""
    domain, few = problem.domain, len(problem.data) < FEW
    lattice = isinstance(domain, Lattice)
    logratio = isinstance(domain, Simplex) and has_logratios(problem, drawn)
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
        moments = [moment for moment in moments if not heavy(moment, problem)]
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


def some_drawn(problem: Problem) -> Array | None:
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


def from_draws(operator: Operator | None) -> bool:
    """Whether an operator has draws of the model in the place of an identity."""
    inside = getattr(operator, "operator", None)
    return isinstance(operator, MeanEmbedding | DrawnView) or (inside is not None and from_draws(inside))
