"""Few functions of the data against those of many draws of the model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.auditing.skewness import carrying, too_skewed
from goodstein.data.points import draw
from goodstein.domains import Domain
from goodstein.errors import InputError, given
from goodstein.numerics.ranges import cut
from goodstein.operators.base import Operator, features_of, stacked_of
from goodstein.operators.embedding import CHUNK, Drawn, EmbeddingFeatures, MeanEmbedding, compare
from goodstein.operators.views.base import FiniteView
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

Functions = Callable[[Array], Array]
"""Test functions at points, (n, m) to (n, c)."""

PROBES = 2000
"""Draws at which the sizes of features are compared."""

FIXED = 4000
"""Draws from which ranks and units are taken, at most: only the means have to be known well."""


class DrawnView(FiniteView):
    """T f(x_i) = f(x_i) − mean_b f(y_ib) for few functions f, with the draws of a :class:`MeanEmbedding`."""

    bounded: ClassVar[bool] = False
    """Whether the functions are bounded by few times their spread: then no tail is too heavy for them."""

    @abstractmethod
    def functions(self, draws: Array) -> Functions:
        """The test functions, with all that they take from draws of the model, (N, m), fixed."""

    def seen(self, model: Any, domain: Domain, rows: Array, points: Array) -> Array:
        """What the test functions are functions of, at rows and at the points where an embedding has them."""
        return points

    def choose(self, domain: Domain) -> Operator:
        return MeanEmbedding()

    def require_embedding(self) -> None:
        """Raise where the operator inside does not draw."""
        if not (self.operator is None or isinstance(self.operator, MeanEmbedding)):
            name = type(self).__name__
            raise InputError(f"`operator` of {name} must be MeanEmbedding(), got {self.operator!r}.")

    def features(self, model: Any, domain: Domain, data: Any) -> FiniteFeatures:
        """f(x_i) − mean_b f(y_ib)."""
        inner = cast(EmbeddingFeatures, features_of(self._embedding(domain), model, domain, data))
        return self._compared(inner, model, domain, data)

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> FiniteFeatures:
        inner: EmbeddingFeatures = stacked_of(self._embedding(domain), model, domain, data, count)
        return self._compared(inner, model, domain, data)

    def features_beside(self, features: Any, model: Any, domain: Domain, others: Any) -> FiniteFeatures:
        """The others are compared with all draws of the data."""
        drawn = features.drawn
        functions, means = drawn.kept(lambda: self._means(drawn, model, domain), self)
        points = self._embedding(domain).points(domain, others)
        beside = functions(self.seen(model, domain, others, points)) - means.mean(axis=0)
        return FiniteFeatures(np.vstack([features.tau, beside]), drawn)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """Independent draws, and functions that are not too heavy for random signs."""
        embedding = self._embedding(domain)
        checks = embedding.conditions(model, domain, data, rng)
        if self.bounded or data is None or any(check.status == "fail" for check in checks):
            return checks
        # Always the same draws: whether a test is refused must not be left to chance.
        rows = draw(model, domain, PROBES, np.random.default_rng(0))
        drawn = self.seen(model, domain, rows, embedding.points(domain, rows))
        seen = self.functions(drawn)(drawn)
        norms = ((seen - seen.mean(axis=0)) ** 2).sum(axis=1)
        if too_skewed(norms, len(data)):
            message = (
                f"About {len(data) * carrying(norms):.2g} of {len(data)} observations carry {self!r}, so "
                f"that random signs do not tell its distribution. Use {given('null', 'MonteCarlo()')}."
            )
            checks = [*checks, Question("heavy features").failed(message, asymptotic=True)]
        return checks

    def _embedding(self, domain: Domain) -> MeanEmbedding:
        inner = self.inner(domain)
        assert isinstance(inner, MeanEmbedding)
        return inner

    def _compared(self, inner: EmbeddingFeatures, model: Any, domain: Domain, data: Any) -> FiniteFeatures:
        # Many samples of the model are compared with the same draws.
        functions, means = inner.drawn.kept(lambda: self._means(inner.drawn, model, domain), self)
        seen = self.seen(model, domain, data, inner.observations)
        return FiniteFeatures(compare(functions(seen), means), inner.drawn)

    def _means(self, drawn: Drawn, model: Any, domain: Domain) -> tuple[Functions, Array]:
        """The functions, and their means over the draws of each observation."""
        n, m, k = drawn.others.shape
        every = self.seen(model, domain, drawn.rows, drawn.others.reshape(-1, k))
        functions = self.functions(every[:FIXED])
        # Not all draws at once: of many columns there are many functions.
        means = []
        for rows in cut(0, n, max(1, CHUNK // m)):
            seen = functions(every[m * rows.start : m * rows.stop])
            each = seen.reshape(-1, m, seen.shape[1])
            means.append(each.mean(axis=1))
        return functions, np.concatenate(means)


def whitened(draws: Array) -> Functions:
    """z = L⁻¹(x − x̄) with mean x̄ and covariance LLᵀ of the draws; correlations whatever the units are."""
    centre, size = draws.mean(axis=0), draws.std(axis=0)
    if not (size > 0).all():
        raise InputError("a coordinate is the same in all draws of the model, so they cannot be whitened.")
    unit = (draws - centre) / size
    values, vectors = np.linalg.eigh(unit.T @ unit / len(unit))
    if not values[0] > 1e-10 * values[-1]:
        raise InputError("Draws of the model lie in a subspace, so they cannot be whitened.")
    linear = vectors / np.sqrt(values)
    return lambda x: np.asarray(((x - centre) / size) @ linear)
