"""How skewed the features of a test are, from many draws of its model."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.auditing.skewness import (
    UNKNOWN,
    carrying,
    check_alone,
    decisive,
    needed,
    skewed,
    standing_alone,
    too_skewed,
)
from goodstein.data.points import Points, draw
from goodstein.domains import Lattice
from goodstein.errors import InputError, SamplingError, ScoreError, given
from goodstein.families.discrete import EXACT_STATES
from goodstein.models.chain import chained
from goodstein.operators import Dilation, Langevin, MeanEmbedding, Moments, Operator, Perturbed, Regularised
from goodstein.operators.views.drawn import DrawnView
from goodstein.problems.problem import Problem
from goodstein.stein.features import squared_norms_of
from goodstein.text import brief
from goodstein.types import Array

PROBES = 2000
"""Draws at which the sizes of features are compared."""

MATRICES = 2_000_000
"""Entries of the matrices that all of them may hold."""

EVEN = 0.6
"""Share of the observations that carry the statistic beyond which no chain is drawn: features are even. Where
all are equal, others may be missing; squares and products are never even enough to tell."""

FEW = 65_536
"""Numbers in draws that a distribution of the library keeps for the next test."""


def check_skewed(problem: Problem, thorough: bool = True, probes: Probes | None = None) -> list[Check]:
    """Whether too few of the points carry the statistic for null distributions of large samples."""
    weighted, n, model = problem.data.weights is not None, len(problem.data), problem.model
    probes = Probes(problem if thorough else None) if probes is None else probes
    found = squared_norms(problem, thorough, probes)
    if found is None:
        return []
    simulated = given("null", "MonteCarlo()")
    own = model.has_sample and model.drawn_by is None
    if weighted:
        remedy, least = "Draw from a proposal that is closer to the model, or draw more", 0.0
    elif model.has_sample:
        remedy, least = f"Use {simulated}, which is exact", UNKNOWN if own else decisive(n)
    else:
        remedy = f"Use a narrower kernel, another operator, or {simulated} with a sampler, Model(sample=...)"
        least = needed(n) if probes.chain is None or _is_quadratic(problem.operator) else decisive(n)
    least = least if thorough else 0.0
    # A test that can be simulated may be warned of; another must not decide.
    if not (too_skewed(found, n, weighted=weighted) or (not own and n * carrying(found) < least)):
        return []
    return [skewed(found, n, f"{remedy}.", least=least)]


def _is_quadratic(operator: Operator) -> bool:
    """Whether features are squares or products, which have heavier tails by themselves."""
    return isinstance(operator, Dilation) or (isinstance(operator, Moments) and operator.degree > 0)


def _is_even(diagonal: Array) -> bool:
    """Whether features are clearly of about the same size, and not all equal."""
    return carrying(diagonal) >= EVEN and bool(diagonal.min() < diagonal.max())


def check_standing_alone(problem: Problem, thorough: bool = True) -> list[Check]:
    """Whether one row is so large beside all others as none that the model draws."""
    data = problem.data
    try:
        form = problem.form
    except InputError:  # tests by draws take kernels that have no Stein form
        return []
    if problem.operator.diagonal_counts or form.n != len(data) or isinstance(problem.operator, Perturbed):
        return []
    diagonal = form.diagonal()
    row = standing_alone(diagonal)
    if row is None:
        return []
    # Models whose features are skewed draw such rows, if rarely.
    drawn = Probes().norms(problem) if thorough and isinstance(data, Points) else None
    if drawn is not None and diagonal[row] <= drawn.max():
        return []
    which = f"Row {row}"
    if isinstance(data, Points):
        point = [float(f"{value:.3g}") for value in problem.observations[row]]
        which += f", {brief(point)},"
    return [check_alone(diagonal, row, which)]


class Probes:
    """Draws of a model, and features of them: made once for all members of a collection that share them."""

    def __init__(self, first: Problem | None = None) -> None:
        """Without a sampler chains draw, unless the features of the `first` problem are clearly even."""
        self.chain: Array | None = None
        if first is not None and first.data.weights is None and not first.model.has_sample:
            own = squared_norms(first, thorough=False)
            if own is not None and (_is_quadratic(first.operator) or not _is_even(own)):
                self.chain = chained(first.model, first.domain, first.observations)
        self._drawn: dict[int, Points] = {}
        self._features: dict[int, tuple[Any, Any]] = {}

    def norms(self, problem: Problem) -> Array | None:
        """h(x, x) at draws from the model; None where there are none."""
        model, domain = problem.model, problem.domain
        # Samplers of a user's own may be slow. On a lattice of many states every draw is the end of a chain.
        slow = isinstance(domain, Lattice) and domain.size > EXACT_STATES
        drawn = self.chain is not None or (model.has_sample and model.draws_fast and not slow)
        if not drawn or problem.data.weights is not None:
            return None
        try:
            norms = squared_norms_of(self._seen(problem), problem.fitted_kernel)
        except (InputError, ScoreError, SamplingError):
            return None
        return norms if np.isfinite(norms).all() else None

    def _seen(self, problem: Problem) -> Any:
        """Features of the draws; those of the data, which kernels share too, tell which."""
        own = problem.features
        if id(own) not in self._features:
            domain = problem.domain
            # Features may hold a matrix for every draw.
            count = min(PROBES, max(len(problem.data), min(PROBES, MATRICES // domain.dim**2)))
            self._features[id(own)] = own, self._of_draws(problem, count)
        return self._features[id(own)][1]

    def _of_draws(self, problem: Problem, count: int) -> Any:
        model, domain, operator = problem.model, problem.domain, problem.operator

        def made() -> Any:
            if count not in self._drawn:
                chain, rng = self.chain, np.random.default_rng(0)
                rows = draw(model, domain, count, rng) if chain is None else chain[-count:]
                self._drawn[count] = Points(rows)
            return problem.with_data(self._drawn[count]).features

        if self.chain is not None or not isinstance(operator, Langevin) or count * domain.dim > FEW:
            return made()
        return model.kept((operator, domain, count), made)


def squared_norms(problem: Problem, thorough: bool = True, probes: Probes | None = None) -> Array | None:
    """h(x, x) at draws from the model, or at the data where there are none; None unless these are points."""
    if not isinstance(problem.data, Points) or problem.operator.diagonal_counts:
        return None
    if problem.data.weights is not None:
        return problem.form.diagonal()
    # The first has features of nearly equal size. The second divides by their covariance, and a few large
    # ones make it conservative (N(0, 1), n = 60, strength 1/120: .01 at .05 in the eighth so flagged). The
    # third looks at its draws itself, and the fourth has its own draws of the null distribution.
    if isinstance(problem.operator, (MeanEmbedding, Regularised, DrawnView, Perturbed)):
        return None
    drawn = (probes or Probes()).norms(problem) if thorough else None
    return problem.form.diagonal() if drawn is None else drawn
