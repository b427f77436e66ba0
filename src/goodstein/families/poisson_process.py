"""The Poisson process on a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from goodstein.constraints import answered, asked, check_count, number
from goodstein.domains import Domain
from goodstein.domains.regions import as_domain
from goodstein.errors import InputError, SamplingError
from goodstein.families.checks import as_points
from goodstein.models.provenance import FittableValue
from goodstein.patterns.data import Patterns, as_patterns
from goodstein.patterns.loglinear import LogLinear, as_covariates, design, maximise
from goodstein.patterns.nodes import quadrature
from goodstein.patterns.single import Pattern, as_single, as_some, is_single
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

FINE = 4096
"""Nodes of the integral and of the search for the largest intensity."""

MOST_POINTS = 10**8
"""Points that are drawn at once, at most."""

MARGIN = 1.2
"""How much larger than the largest value at the nodes an intensity may be."""


class PoissonProcess(FittableValue):
    r"""A Poisson process: independent points, a Poisson number of them in every region.

    .. math::

        \rho(u \mid \varphi) = \lambda(u), \qquad
        |\varphi \cap B| \sim \text{Poisson}\Bigl(\int_B \lambda\Bigr).

    Parameters
    ----------
    intensity
        λ: a positive number, the expected number of points per unit of area, or a function of points
        (k, d) that returns (k,), such as :class:`goodstein.patterns.LogLinear`. In a box of places and
        times it is one of both.
    domain
        The window, a bounded :class:`Box` or a :class:`Polygon`.
    bound
        An upper bound of the intensity, for drawing by thinning; None takes 1.2 times the largest of
        its values at 4096 nodes. A larger value that is met on the way is an error.

    References
    ----------
    Møller & Waagepetersen (2003), *Statistical Inference and Simulation for Spatial Point Processes*.

    Examples
    --------
    >>> from goodstein.domains import Box
    >>> from goodstein.families import PoissonProcess
    >>> model = PoissonProcess(lambda u: 100 * u[:, 0], Box([0, 0], [1, 1]))
    >>> model.mass
    50.0
    >>> [pattern.shape for pattern in model.sample(3, rng=1)]
    [(50, 2), (41, 2), (58, 2)]
    >>> PoissonProcess.fit([[[0.5, 0.5], [0.1, 0.2], [0.3, 0.9]], [[0.7, 0.8]]], Box([0, 0], [1, 1]))
    PoissonProcess(2, Box([0, 1]^2))
    """

    intensity: float | Callable[[Array], Any]
    domain: Domain
    bound: float | None
    mass: float
    """∫ λ over the window: the expected number of points."""
    _highest: float

    def __init__(
        self, intensity: float | Callable[[Array], Any], domain: Domain, bound: float | None = None
    ) -> None:
        own = callable(intensity) and not isinstance(intensity, type)
        domain = as_domain(domain)
        nodes, weights = quadrature(domain, FINE if own else 2)
        rate = intensity if own else number(intensity, "intensity", above=0.0)
        limit = None if bound is None else number(bound, "bound", above=0.0)
        self._set(intensity=rate, domain=domain, bound=limit)
        values = self._values(nodes)
        self._set(mass=float(weights @ values), _highest=float(values.max()))
        if not self.mass > 0:
            raise InputError("`intensity` is zero at all nodes in the window: there would be no points.")
        if limit is not None and self._highest > limit:
            raise InputError(f"`bound` is {limit:g}, but the intensity reaches {self._highest:g}.")

    @classmethod
    def fit(cls, patterns: Any, domain: Domain | None = None, covariates: Any = None) -> Self:
        """Maximum likelihood: a constant intensity, or one that is log-linear in covariates.

        Parameters
        ----------
        patterns
            One pattern, (n, d), or a list of several.
        domain
            The window.
        covariates
            Functions of points (k, d) that return (k,), such as :class:`goodstein.patterns.Raster`, in a
            list or by name; then the intensity is :class:`goodstein.patterns.LogLinear`, and its integral
            a sum over 4096 nodes. None fits a constant.
        """
        domain = as_domain(domain)
        found = as_some(patterns, domain, as_patterns)
        if covariates is None:
            area = float(quadrature(domain, 2)[1].sum())
            return cls(float(np.mean([len(one) for one in found])) / area, domain)
        functions, names = as_covariates(covariates)
        nodes, weights = quadrature(domain, FINE)
        points = np.concatenate(found)
        if len(points) <= len(functions):
            reason = f"{len(points)} points are too few for {len(functions)} covariates and a constant."
            raise InputError(reason, argument="patterns")
        rows = design(functions, names, points), design(functions, names, nodes)
        return cls(LogLinear(maximise(*rows, weights, len(found)), covariates), domain)

    @classmethod
    def _fit_data(cls, data: Any, **options: Any) -> Pattern | Patterns:
        return (as_single if is_single(data) else as_patterns)(data, as_domain(options["domain"]))

    def papangelou(self, u: ArrayLike, pattern: ArrayLike) -> Array:
        """λ(u), whatever the pattern, (k,)."""
        as_points(pattern, self.domain.dim, "pattern")
        return self._values(as_points(u, self.domain.dim, "u"))

    def papangelou_within(self, pattern: ArrayLike) -> Array:
        """λ at the points of a pattern, each given the others, (l,)."""
        return self._values(as_points(pattern, self.domain.dim, "pattern"))

    def sample(self, n: int, rng: RNG = None) -> list[Array]:
        """Draw ``n`` independent patterns, each (k_i, d), by thinning a process of constant intensity."""
        generator = as_generator(rng)
        count = check_count(n, "n", 0)
        limit = self.bound if self.bound is not None else MARGIN * self._highest
        area = float(quadrature(self.domain, 2)[1].sum())
        check_expected(self, count * max(self.mass, limit * area if callable(self.intensity) else 0.0))
        if not callable(self.intensity):
            counts = generator.poisson(self.mass, size=count)
            points = self.domain.sample_uniform(int(counts.sum()), generator)
            return np.split(points, np.cumsum(counts)[:-1]) if count else []
        counts = generator.poisson(limit * area, size=count)
        points = self.domain.sample_uniform(int(counts.sum()), generator)
        values = self._values(points)
        if len(values) and values.max() > limit:
            reason = f"The intensity reaches {values.max():g}, more than the bound {limit:g}"
            remedy = "Pass PoissonProcess(..., bound=...)."
            raise SamplingError(f"{reason} that was taken for drawing.", remedy=remedy)
        keep = generator.uniform(size=len(points)) * limit < values
        owner = np.repeat(np.arange(count), counts)[keep]
        return np.split(points[keep], np.searchsorted(owner, np.arange(1, count))) if count else []

    def _values(self, u: Array) -> Array:
        """The intensity at points (k, d), checked, (k,)."""
        if not callable(self.intensity):
            return np.full(len(u), self.intensity)
        values = answered(asked(self.intensity, "`intensity`", u), "`intensity`", (len(u),))
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
        if wrong.size:
            where = np.array2string(u[wrong[0]], precision=6)
            reason = f"is {values[wrong[0]]:g} at the point {where}; it must be finite and at least 0."
            raise InputError(reason, argument="intensity", predicate=True)
        return values

    def __repr__(self) -> str:
        if callable(self.intensity):
            return f"PoissonProcess({getattr(self.intensity, '__name__', 'intensity')}, {self.domain!r})"
        return f"PoissonProcess({self.intensity:.6g}, {self.domain!r})"


def check_expected(process: Any, points: float) -> None:
    """Raise where so many points would have to be drawn that no memory holds them."""
    if points > MOST_POINTS:
        reason = f"{process!r} would have to draw about {points:.3g} points, more than {MOST_POINTS:.0e}."
        raise SamplingError(reason, remedy="Use a smaller intensity, or fewer patterns.")
