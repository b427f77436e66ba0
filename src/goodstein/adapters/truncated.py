"""Any model, restricted to a region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.constraints import check_count
from goodstein.domains import Chart, Domain
from goodstein.domains.regions import as_domain
from goodstein.errors import DomainError, InputError, SamplingError
from goodstein.families.base import Family
from goodstein.models import Model
from goodstein.types import RNG, Array, ArrayLike, BoolArray
from goodstein.validation import as_generator

LARGEST_BATCH = 2_000_000  # numbers drawn at once, 16 MB


class Truncated(Family):
    r"""A model restricted to a domain V.

    .. math::

        q_V(x) \propto q(x)\, 1\{x \in V\}, \qquad s_V(x) = \nabla\log q(x) \quad (x \in V).

    The score is that of the model without truncation, so the mass of V is never needed.
    V is part of the null hypothesis: it must be known, not read off the data.

    Parameters
    ----------
    model
        A family, or whatever :func:`goodstein.models.as_model` takes.
    domain
        The region V. It must lie within the model's own domain.

    References
    ----------
    Xu (2022), "Standardisation-function kernel Stein discrepancy: a unifying view on kernel
    Stein discrepancy tests for goodness-of-fit", *AISTATS*.
    Liu, Kanamori & Williams (2022), "Estimating density models with truncation boundaries
    using score matching", *Journal of Machine Learning Research* 23(186).

    Examples
    --------
    >>> from goodstein.domains import Box
    >>> from goodstein.families import Normal, Truncated
    >>> q = Truncated(Normal(), Box([0], [1]))
    >>> q.score([[0.5]])
    array([[-0.5]])
    >>> q.logpdf([[0.5], [1.5]]).round(3)
    array([-1.044,   -inf])
    >>> round(q.acceptance_rate(rng=0), 2)
    0.34
    >>> bool(q.domain.contains(q.sample(100, rng=0)).all())
    True
    """

    model: Any
    _model: Model

    def __init__(self, model: Any, domain: Domain) -> None:
        wrapped, domain = as_model(model), as_domain(domain)
        _require_within(domain, wrapped)
        # Declared to live on the domain, so that a density without score is differentiated
        # with steps that stay inside.
        self._set(model=model, domain=domain, _model=wrapped.on(domain))
        self.remember(wrapped.provenance)

    def __repr__(self) -> str:
        return f"Truncated({self._model.name}, {self.domain!r})"

    @property
    def has_logpdf(self) -> bool:
        """Whether the model has a log density."""
        return self._model.has_logpdf

    @property
    def has_sample(self) -> bool:
        """Whether the model can be sampled."""
        return self._model.has_sample

    def score(self, x: ArrayLike) -> Array:
        return self._model.score(self._points(x))

    def weighted_score(self, x: ArrayLike) -> Array:
        """x ∘ score, (n, d), by the model's own formula where it has one."""
        return self._model.weighted_score(self._points(x))

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density of the model inside, without the constant of truncation; -inf outside, (n,)."""
        x = self._points(x)
        inside = self.domain.contains(x)
        value = np.full(len(x), -np.inf)
        value[inside] = self._model.logpdf(x[inside])
        return value

    def sample(self, n: int, rng: RNG = None, *, max_draws_per_point: int = 10_000) -> Array:
        """Draw ``n`` independent points, (n, d), by rejection from the model.

        One point may cost ``max_draws_per_point`` draws from the model on average; a hundred times as many
        are made before :class:`SamplingError` says that the domain has too little mass.
        """
        n = check_count(n, "n", 0)
        limit = check_count(max_draws_per_point, "max_draws_per_point")
        generator = as_generator(rng)
        kept = [np.empty((0, self.dim))]
        accepted = drawn = 0
        batch = n + 16
        while accepted < n:
            if drawn < 100 * limit:
                batch = min(batch, 100 * limit - drawn)
            elif accepted * limit < drawn:
                seen = f"{accepted:,} of {drawn:,} draws".replace(",", " ")
                where = f"{self.domain!r} has almost no mass under {self._model.name}"
                own = "give the model a sampler of its own: Model(score=..., sample=..., domain=...)"
                raise SamplingError(
                    f"{where}: {seen} fell inside, and one point may cost {limit} draws.",
                    remedy=f"Check model and domain, raise `max_draws_per_point`, or {own}.",
                )
            for points, inside in self._proposals(batch, generator):
                kept.append(points[inside])
                accepted += len(kept[-1])
                drawn += len(points)
            batch = int(1.1 * (n - accepted) * drawn / accepted) + 16 if accepted else 2 * batch
            batch = min(batch, LARGEST_BATCH)
        return np.concatenate(kept)[:n]

    def acceptance_rate(self, n: int = 100_000, rng: RNG = None) -> float:
        """Share of ``n`` draws from the model that fall into the domain.

        It estimates the mass of the domain, with standard error at most 0.5 / √n; its inverse
        is what one point of :meth:`sample` costs.
        """
        n = check_count(n, "n")
        return sum(int(inside.sum()) for _, inside in self._proposals(n, as_generator(rng))) / n

    def _proposals(self, n: int, rng: np.random.Generator) -> Iterator[tuple[Array, BoolArray]]:
        """Draws from the model and which of them lie inside, in batches of bounded memory."""
        if not self.has_sample:
            reason = f"{self!r} cannot be sampled, because {self._model.name} has no sampler."
            raise SamplingError(reason, remedy="Pass Model(score=..., sample=...) as `model`.")
        while n > 0:
            points = self._model.sample(min(n, max(1, LARGEST_BATCH // self.dim)), rng)
            yield points, self.domain.contains(points)
            n -= len(points)


def _require_within(domain: Domain, model: Model) -> None:
    """Raise where the domain is visibly no part of the model's own domain.

    Its boundary would then not be that of the density, and Stein's identity would fail.
    """
    own = model.domain
    if own is None:
        return
    if own.dim != domain.dim:
        raise InputError(f"{model.name} has dimension {own.dim}, but {domain!r} has {domain.dim}.")
    if own != domain and (not own.flat or isinstance(domain, Chart)):
        reason = f"{model.name} is a density on {own!r}, which says nothing about {domain!r}."
        remedy = "Pass a model of the coordinates that the domain has."
        raise DomainError(reason, argument="domain", remedy=remedy)
    if not own.has_boundary or own == domain:
        return
    beyond = not domain.has_boundary or (own.bounded and not domain.bounded)
    if not beyond and domain.bounded:
        try:
            points = domain.sample_uniform(256, np.random.default_rng(0))
        except (DomainError, SamplingError):
            return
        beyond = not own.contains(points).all()
    if beyond:
        reason = f"{domain!r} reaches beyond {own!r}, where {model.name} lives."
        raise DomainError(reason, argument="domain", remedy="Pass a region within it.")
