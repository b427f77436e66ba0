"""Data and model as an explanation asks them: quantities, references, samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.domains import Lattice
from goodstein.explain.affine import effects_of
from goodstein.explain.compare import Bounds
from goodstein.explain.durations import Hazards
from goodstein.explain.explanation import PLACES
from goodstein.explain.looks import look_at_points
from goodstein.explain.outcomes import Outcomes
from goodstein.explain.scores import Scores
from goodstein.explain.shares import UNSEEN
from goodstein.explain.views import Look
from goodstein.problems.problem import Problem
from goodstein.survival.model import SurvivalModel
from goodstein.survival.operator import DurationOperator
from goodstein.types import Array, BoolArray
from goodstein.validation import draw_seed

DRAWS = (10_000, 100_000)
"""Draws of the model that its quantities are taken from: fifty for each row, within these limits."""

FEW = 4_000
"""Draws that tell variances under the model, or quantities where draws are ends of Markov chains."""

AT_ONCE = 1 << 20
"""Numbers that samples are drawn of at a time."""

SOLVED = (
    "The model has no sampler: its score says by which shift, scale and correlation the data are off, as if "
    "they were an image of the model, of the nearest of its modes, and whether skewness and tails are off. "
    "With a sampler they are compared as such."
)
DIRECTIONS = (
    "The model has no sampler: its score says in which direction location, spread and correlation are off, "
    "but not how far, and whether skewness and tails are off. Columns that depend on one that is off may be "
    "named with it. With a sampler they are compared as such."
)
"""Notes where the effects of models without a sampler can be solved for, and elsewhere."""

EXACT_STATES = 1 << 16
"""States of a lattice beyond which the families' own draws are ends of Markov chains."""


class Side(ABC):
    """A problem with the views of it."""

    look: Look
    samples: bool = True
    """Whether samples of the model can be had that show how far z is from normal."""
    notes: tuple[str, ...] = ()

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self._seed = problem, draw_seed(rng)

    @abstractmethod
    def measure(self, observations: Any, model: Any = None) -> tuple[Array, Array]:
        """Quantities, (v,), and influences, (n, v), of observations, as a model sees them."""

    def of_rows(self, rows: npt.NDArray[np.intp]) -> tuple[Array, Array]:
        """Quantities and influences of some rows of the data."""
        return self.measure(self.problem.data.take(rows).observations)

    @abstractmethod
    def reference(self, model: Any = None, many: int | None = None, stream: int | None = None) -> Array:
        """What the quantities are if the model is true, (v,).

        By the same seed for all models, so that draws differ by the move of the parameters alone, unless a
        number of another `stream` is given.
        """

    @abstractmethod
    def bounds(self) -> Bounds:
        """What is known of the variances of influences under the model."""

    def error(self, many: int | None = None) -> Array | float:
        """Variances of the reference, (v,)."""
        return 0.0

    def unseen(self, reference: Array) -> BoolArray:
        """Of which views the reference is no more than an upper limit, (v,)."""
        return np.zeros(len(reference), bool)

    def drawn(self, count: int, rows: int, seed: int) -> Iterator[Any]:
        """So many samples of the model, of as many rows or as there are."""
        data, model, domain = self.problem.data, self.problem.model, self.problem.domain
        for k in range(count):
            yield data.drawn(model, domain, np.random.default_rng([seed, k])).observations


class Drawn(Side):
    """Points, and a model that can be drawn from."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        domain = problem.domain
        chains = isinstance(domain, Lattice) and domain.size > EXACT_STATES
        self.samples = not chains
        self._many = FEW if chains else int(np.clip(50 * len(problem.data), *DRAWS))
        self._draws = self._draw(self._many, self._seed)
        names = problem.data.names or names_of(problem)
        self.look = look_at_points(problem.observations, self._draws, domain, names, rng)
        self._near = np.array([view.kind == PLACES for view in self.look.views])
        _, psi = self.look.measure(self._draws[:FEW])
        self._variances = (psi**2).mean(axis=0)

    def measure(self, observations: Any, model: Any = None) -> tuple[Array, Array]:
        return self.look.measure(observations)

    def reference(self, model: Any = None, many: int | None = None, stream: int | None = None) -> Array:
        draws = self._draws
        if model is not None:
            seed = (self._seed,) if stream is None else (self._seed, stream)
            draws = self._draw(min(many or self._many, self._many), *seed, model=model)
        values = self.look.measure(draws, influence=False)[0]
        # Where draws are few, so many more of the model may lie there.
        return np.where(self._near, np.maximum(values, UNSEEN / len(draws)), values)

    def bounds(self) -> Bounds:
        return Bounds.of(self._variances, self.look.views)

    def error(self, many: int | None = None) -> Array:
        return np.asarray(self._variances / (many or self._many))

    def unseen(self, reference: Array) -> BoolArray:
        return np.asarray(self._near & (reference <= UNSEEN / self._many))

    def drawn(self, count: int, rows: int, seed: int) -> Iterator[Array]:
        # Several at a time, since a call of a sampler takes longer than a few hundred rows of it.
        together = max(1, AT_ONCE // (rows * self.problem.domain.dim))
        for first in range(0, count, together):
            many = min(together, count - first)
            yield from np.split(self._draw(many * rows, seed, first), many)

    def _draw(self, n: int, *seed: int, model: Any = None) -> Array:
        problem = self.problem if model is None else self.problem.with_model(model)
        rng = np.random.default_rng(seed)
        drawn: Array = problem.data.many(problem.model, problem.domain, n, rng).observations
        return drawn


class Asked(Side):
    """What is measured needs the model, and not only its draws."""

    def measure(self, observations: Any, model: Any = None) -> tuple[Array, Array]:
        look = self.look
        assert isinstance(look, Hazards | Outcomes | Scores)
        asked = self.problem if model is None else self.problem.with_model(model)
        return look.under(asked.model, observations)

    def bounds(self) -> Bounds:
        return Bounds.none(len(self.look.views))


class Timed(Asked):
    """Censored durations, whose expected events need no draws."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        operator = problem.operator
        up_to_a_factor = isinstance(operator, DurationOperator) and not operator.needs_scale
        self.samples = not up_to_a_factor and problem.model.has_sample
        unknown = isinstance(problem.model, SurvivalModel) and up_to_a_factor
        self.look = Hazards(problem.model, problem.observations, proportional=unknown)

    def reference(self, model: Any = None, many: int | None = None, stream: int | None = None) -> Array:
        return np.ones(len(self.look.views))

    def bounds(self) -> Bounds:
        look = self.look
        assert isinstance(look, Hazards)
        return Bounds.of(look.variances(self.problem.observations)[: len(look.views)], look.views)


class Given(Asked):
    """Outcomes given covariates, and a model that draws them at the same covariates."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        self.look = Outcomes(problem.model, problem.domain, problem.observations, self._seed)

    def reference(self, model: Any = None, many: int | None = None, stream: int | None = None) -> Array:
        look = self.look
        assert isinstance(look, Outcomes)
        return look.references


class Scored(Asked):
    """Points, and a model of which the score alone is known."""

    samples = False

    def __init__(self, problem: Problem, rng: np.random.Generator, fitted: bool) -> None:
        super().__init__(problem, rng)
        solved = None if fitted else effects_of(problem)
        names = problem.data.names or names_of(problem)
        self.look = look = Scores(problem.domain, names, None if solved is None else solved.scales)
        self.notes = (DIRECTIONS if solved is None else SOLVED,)
        self._own = super().measure(problem.observations) if solved is None else look.told(solved)

    def measure(self, observations: Any, model: Any = None) -> tuple[Array, Array]:
        return self._own if model is None else super().measure(observations, model)

    def of_rows(self, rows: npt.NDArray[np.intp]) -> tuple[Array, Array]:
        # From the influences, without the score at any row.
        values, influences = self._own
        return values + influences[rows].mean(axis=0), influences[rows]

    def reference(self, model: Any = None, many: int | None = None, stream: int | None = None) -> Array:
        return np.zeros(len(self.look.views))


def names_of(problem: Problem) -> list[str]:
    """What columns are called that have no names."""
    domain = problem.domain
    if isinstance(domain, Lattice):
        word = "site"
    else:
        word = "column" if domain.discrete or domain.basis is None else "part"
    return [f"{word} {j}" for j in range(domain.dim)]
