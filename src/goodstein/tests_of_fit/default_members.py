"""Which tests are aggregated where nothing is said: a collection for every kind of domain.

They were chosen on simulations like those in ``validation/power.md``, so that each common departure from a
model, in location, scale, tails, dependence or fine structure, is seen well by at least one member, and with
few members, because each makes all others a little less powerful.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from goodstein.auxiliary.functions import ProductOfParts
from goodstein.data.points import Points, draw
from goodstein.domains import Simplex
from goodstein.errors import InputError, SamplingError
from goodstein.kernels import IMQ, Gaussian, Hamming, Kernel, Median
from goodstein.operators import (
    Coordinate,
    Difference,
    Dilation,
    Langevin,
    LogRatio,
    MeanEmbedding,
    Mirrored,
    Operator,
    Regularised,
    SecondOrder,
    Standardised,
)
from goodstein.problems.problem import Problem
from goodstein.survival.martingale import Martingale
from goodstein.types import Array

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the usual bandwidth, where nothing better is known."""

RATES = (0.3, 1.0, 3.0)
"""The same for the rates of Hamming's kernel."""

TINY = -230.0
"""The logarithm of the smallest product of parts that is of use, and far from where squares underflow."""

SOME = 500
"""Draws that show how small parts, and their products, are."""

NEARLY_ZERO = 1e-100
"""Where parts are smaller than this some are zero sooner or later, in the data or in one of many samples."""

FEW = 50
"""Fewer observations than this do not tell many directions apart."""


class Entry(NamedTuple):
    """An operator, the kernels to use with it, and their weights, one number for all or one for each."""

    operator: Operator
    kernels: Sequence[Kernel]
    weight: float | tuple[float, ...] = 1.0

    @property
    def weights(self) -> tuple[float, ...]:
        """One for each kernel."""
        return self.weight if isinstance(self.weight, tuple) else (self.weight,) * len(self.kernels)


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


def default_collection(problem: Problem) -> list[Entry]:
    """The collection for a problem that was composed with the default operator.

    Members that draw from the model are there only if it has a sampler that works.
    """
    operator: Any = problem.operator
    sampled = isinstance(problem.data, Points) and _can_draw(problem)
    if isinstance(operator, Langevin):
        return _euclidean(len(problem.data), problem.domain.dim, sampled)
    if isinstance(operator, LogRatio):
        return _simplex(problem, sampled)
    if isinstance(operator, Standardised):
        return _region(operator, len(problem.data), sampled)
    if isinstance(operator, Martingale):
        return _durations()
    if isinstance(operator, Coordinate):
        found = [Entry(operator, gaussians(1.0, 2.0), (0.5, 1.5)), Entry(SecondOrder(), gaussians(4.0))]
        return found + _draws(sampled, gaussians(1.0), 2.0)
    if isinstance(operator, SecondOrder):
        return [Entry(operator, gaussians(1.0, 2.0, 4.0)), *_draws(sampled, gaussians(1.0))]
    if isinstance(operator, Difference):
        return [Entry(operator, hammings(0.3, 3.0)), *_draws(sampled, hammings(1.0))]
    return [Entry(operator, default_kernels(problem))]


def _can_draw(problem: Problem) -> bool:
    """Whether the model has a sampler that reaches the domain: rejection may find nothing there."""
    return problem.model.has_sample and _cannot_draw(problem) is None


def _cannot_draw(problem: Problem) -> str | None:
    """Why its sampler draws nothing; None where it does."""
    try:
        draw(problem.model, problem.domain, 2, np.random.default_rng(0))
    except (InputError, SamplingError) as error:
        return error.bare
    return None


def left_out(problem: Problem, operators: Sequence[Operator]) -> list[str]:
    """Notes about members of the collection for a problem that are not among these operators."""
    notes = []
    kinds = (Langevin, LogRatio, Mirrored, Standardised, Coordinate, SecondOrder, Difference)
    points = isinstance(problem.data, Points) and isinstance(problem.operator, kinds)
    if points and problem.model.has_sample and not any(isinstance(o, MeanEmbedding) for o in operators):
        notes.append(
            f"Left out the members that compare data with draws: the sampler of {problem.model.name} finds "
            f"nothing on {problem.domain!r}. {_cannot_draw(problem) or ''}".rstrip()
        )
    compositions = isinstance(problem.domain, Simplex) and Mirrored() in operators
    if compositions and LogRatio() not in operators:
        notes.append(
            "Left out LogRatio() and what goes with it: parts are zero, or so small that the model draws "
            "zeros, which have no log-ratio."
        )
    if compositions and Standardised(ProductOfParts()) not in operators:
        notes.append(
            f"Left out Standardised(ProductOfParts()): on {problem.domain!r} the product of all parts is too "
            "small for floating point numbers."
        )
    return notes


def _draws(sampled: bool, kernels: Sequence[Kernel], weight: float | tuple[float, ...] = 1.0) -> list[Entry]:
    """What compares data with draws from the model, if there are any."""
    return [Entry(MeanEmbedding(), kernels, weight)] if sampled else []


def _euclidean(n: int, d: int, sampled: bool) -> list[Entry]:
    """Shape and location; tails and scale; dependence and fine structure; all of it by draws.

    Most weight goes to what is the commonest departure and what other tests are good at too: location, and
    on the line scale. In several dimensions all distances are alike, and tails show at half their median.
    """
    line = d == 1
    scales, weights = ((1.0,), (2.0,)) if line else ((0.5, 1.0), (1.0, 0.5))
    kernels = [*gaussians(*scales), *multiquadrics(4.0)]
    dilation = Entry(Dilation(Langevin()), kernels, (*weights, 2.0 if line else 1.0))
    location = 1.5 if line else 2.0
    if not sampled:
        kernels = [*gaussians(0.25, 0.5, 1.0), *multiquadrics(4.0)]
        return [Entry(Langevin(), kernels, (1.0, 1.0, 1.5, location)), dilation]
    return [
        Entry(Langevin(), [*gaussians(1.0), *multiquadrics(4.0)], (1.5, location)),
        dilation,
        Entry(_fine(Langevin(), n), gaussians(1.0), 0.5 if line else 1.5),
        *_draws(sampled, gaussians(0.5), 1.0 if line else 1.5),
    ]


def _simplex(problem: Problem, sampled: bool) -> list[Entry]:
    """Three geometries at three bandwidths; the product of many parts is tiny, so it has little weight."""
    seen = [problem.observations]
    if sampled:
        seen.append(draw(problem.model, problem.domain, SOME, np.random.default_rng(0)))
    product = Entry(Standardised(ProductOfParts()), multiquadrics(0.5, 1.0, 4.0), 0.1)
    entries = [
        Entry(LogRatio(), multiquadrics(0.5, 1.0, 4.0), (0.5, 1.0, 2.5)),
        Entry(Mirrored(), multiquadrics(0.5, 1.0, 4.0), (0.5, 1.0, 2.5)),
        *([product] if all(map(_has_product, seen)) else []),
        Entry(Dilation(LogRatio()), multiquadrics(1.0), 1.5),
        *_draws(sampled, gaussians(1.0), 0.3),
        *([Entry(MeanEmbedding(logratio=True), multiquadrics(4.0), 4.0)] if sampled else []),
    ]
    if min(float(x.min()) for x in seen) > NEARLY_ZERO:
        return entries
    plain = (Mirrored(), Standardised(ProductOfParts()), MeanEmbedding())
    return [entry for entry in entries if entry.operator in plain]


def _has_product(x: Array) -> bool:
    """Whether the product of all parts but one is a number whose square is one.

    On a logarithmic scale it would be one, but of a few rows only: its logarithm varies by √D and more.
    """
    logs = np.log(x[(x > 0).all(axis=1)])
    return not len(logs) or bool((logs.sum(axis=1) - logs.min(axis=1)).max() >= TINY)


def _region(operator: Standardised, n: int, sampled: bool) -> list[Entry]:
    """Where g vanishes at the edge the draws see what the operator does not."""
    dilation = Entry(Dilation(operator), multiquadrics(2.0))
    if not sampled:
        return [Entry(operator, [*gaussians(0.25, 0.5, 1.0), *multiquadrics(4.0)]), dilation]
    return [
        Entry(operator, [*gaussians(1.0), *multiquadrics(4.0)], (1.0, 1.5)),
        dilation,
        Entry(_fine(MeanEmbedding(), n), gaussians(1.0), 2.0),
        *_draws(sampled, gaussians(1.0), 1.5),
    ]


def _fine(operator: Operator, n: int) -> Regularised:
    """The operator with weak directions made strong, as far as the observations tell them apart."""
    return Regularised(operator, strength=0.01 if n >= FEW else 0.03)


def _durations() -> list[Entry]:
    """Fine scales for hazards that swing, coarse ones for ageing; the coarsest is nearly log-rank."""
    return [
        Entry(Martingale("cdf"), gaussians(0.25, 0.5, 1.0), (1.0, 1.0, 3.0)),
        Entry(Martingale("hazard"), gaussians(0.125, 4.0), (1.0, 0.3)),
    ]
