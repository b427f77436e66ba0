"""The uniform distribution on a bounded domain."""

from __future__ import annotations

import numpy as np

from goodstein.domains import Box, Domain
from goodstein.domains.regions import as_domain
from goodstein.errors import DomainError
from goodstein.families.base import Family
from goodstein.types import Array, ArrayLike


class Uniform(Family):
    r"""Uniform distribution on any bounded domain.

    .. math:: \log q(x) = c \quad (x \in V), \qquad s(x) = 0.

    All that a test sees of it is the auxiliary function, so it needs an operator that knows
    the boundary; the default one on a bounded domain does.

    Parameters
    ----------
    domain
        A bounded domain, for example ``Box``, ``Ball``, ``Simplex`` or ``Polygon``; None takes [0, 1].

    References
    ----------
    Liu, Kanamori & Williams (2022), "Estimating density models with truncation boundaries
    using score matching", *Journal of Machine Learning Research* 23(186).

    Examples
    --------
    >>> from goodstein.domains import Box
    >>> from goodstein.families import Uniform
    >>> q = Uniform(Box([0, 0], [1, 2]))
    >>> q.score([[0.5, 0.5]])
    array([[0., 0.]])
    >>> q.logpdf([[0.5, 1.5], [1.5, 0.5]])
    array([  0., -inf])
    """

    def __init__(self, domain: Domain | None = None) -> None:
        domain = Box(0.0, 1.0) if domain is None else as_domain(domain)
        if not domain.bounded:
            reason = f"{domain!r} is unbounded, so there is no uniform distribution on it."
            remedy = "Pass a bounded one such as Box or Ball."
            raise DomainError(reason, argument="domain", remedy=remedy)
        self._set(domain=domain)

    def score(self, x: ArrayLike) -> Array:
        return np.zeros_like(self._points(x))

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density up to a constant: zero inside and -inf outside, (n,)."""
        return np.where(self.domain.contains(self._points(x)), 0.0, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        return self.domain.sample_uniform(n, rng)
