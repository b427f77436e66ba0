"""The uniform distribution on a bounded domain."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from goodstein.domains import Domain
from goodstein.errors import DomainError
from goodstein.families.base import Family
from goodstein.families.checks import as_domain
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import check_count


class Uniform(Family):
    r"""Uniform distribution on any bounded domain.

    .. math::

        \log q(x) = c \quad (x \in V), \qquad s(x) = 0.

    All that a test sees of it is the auxiliary function, so it needs an operator that knows
    the boundary; the default one on a bounded domain does.

    Parameters
    ----------
    domain
        A bounded domain, for example ``Box``, ``Ball``, ``Simplex`` or ``Polygon``.

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

    _parameters: ClassVar[tuple[str, ...]] = ("domain",)

    def __init__(self, domain: Domain) -> None:
        if not as_domain(domain).bounded:
            raise DomainError(
                f"`domain`: {domain!r} is unbounded, so there is no uniform distribution on it. "
                "Pass a bounded one such as Box or Ball."
            )
        self._set(domain=domain)

    def score(self, x: ArrayLike) -> Array:
        """Zero, (n, d)."""
        return np.zeros_like(self._points(x))

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density up to a constant: zero inside and -inf outside, (n,)."""
        return np.where(self.domain.contains(self._points(x)), 0.0, -np.inf)

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent points, (n, d)."""
        return self.domain.sample_uniform(check_count(n, "n", 0), np.random.default_rng(rng))
