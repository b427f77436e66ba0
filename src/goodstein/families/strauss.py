"""The Strauss process: points that repel each other."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count, number
from goodstein.domains import Domain
from goodstein.domains.regions import as_domain
from goodstein.errors import SamplingError
from goodstein.families.checks import as_points
from goodstein.families.poisson_process import check_expected
from goodstein.models.provenance import FittableValue
from goodstein.numerics.distances import squared_distances
from goodstein.patterns.loglinear import maximise
from goodstein.patterns.nodes import quadrature
from goodstein.patterns.single import Pattern, as_single
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

MOST_POINTS = 10_000
"""Points of the dominating process after which coupling from the past gives up."""

FINE = 4096
"""Nodes of the integral in a fit."""

ROWS = 512
"""Points whose neighbours are sought at a time."""


class Strauss(FittableValue):
    r"""Strauss process on a window: every pair of points closer than R costs a factor γ.

    .. math::

        q(\varphi) \propto \beta^{|\varphi|} \gamma^{s_R(\varphi)}, \qquad
        \rho(u \mid \varphi) = \beta\, \gamma^{\#\{x \in \varphi : \|x - u\| \le R\}},

    with :math:`s_R` the number of pairs at most R apart. γ = 1 is the Poisson process of intensity β,
    γ = 0 forbids such pairs.

    Parameters
    ----------
    beta
        β > 0: the intensity where no other point is near.
    gamma
        γ in [0, 1].
    radius
        R > 0.
    domain
        The window, a bounded :class:`Box` or a :class:`Polygon`. Points outside of it do not exist in
        this model.

    Notes
    -----
    Patterns are drawn exactly, by dominated coupling from the past (Kendall & Møller 2000): there is no
    burn-in. The time it takes grows quickly with β·∣ball of radius R∣; beyond what is reasonable the
    sampler raises :class:`SamplingError`, while tests that do not simulate go on.

    References
    ----------
    Strauss (1975), A model for clustering. Kendall & Møller (2000), Perfect simulation using dominating
    processes on ordered spaces, with application to locally stable point processes.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Box
    >>> from goodstein.families import Strauss
    >>> model = Strauss(100.0, 0.5, 0.1, Box([0, 0], [1, 1]))
    >>> model.papangelou(np.array([[0.5, 0.5]]), np.array([[0.5, 0.45], [0.5, 0.9]]))
    array([50.])
    >>> len(model.sample(2, rng=1))
    2
    """

    beta: float
    gamma: float
    radius: float
    domain: Domain
    _size: float

    def __init__(self, beta: float, gamma: float, radius: float, domain: Domain) -> None:
        self._set(beta=number(beta, "beta", above=0.0), radius=number(radius, "radius", above=0.0))
        wanted = "a number in [0, 1]; above 1 the density has no finite integral"
        self._set(gamma=number(gamma, "gamma", least=0.0, most=1.0, wanted=wanted), domain=as_domain(domain))
        self._set(_size=float(quadrature(self.domain, 2)[1].sum()))

    @classmethod
    def fit(cls, pattern: Any, domain: Domain, radius: float) -> Self:
        """Maximum pseudo-likelihood of β and γ, given R, from one pattern.

        The integral of the conditional intensity is a sum over 4096 nodes. Where γ would exceed one it is
        one, and the process is Poisson; where no two points are within R it is zero.

        Parameters
        ----------
        pattern
            The points, (n, d).
        domain
            The window.
        radius
            R.

        References
        ----------
        Jensen & Møller (1991), Pseudolikelihood for exponential family models of spatial point processes.
        """
        domain = as_domain(domain)
        points = as_single(pattern, domain).points
        probe = cls(1.0, 1.0, radius, domain)
        nodes, weights = quadrature(domain, FINE)
        own = probe._close(points, points).sum(axis=1) - 1.0
        near = np.concatenate(
            [
                np.zeros(0),
                *(probe._close(nodes[k : k + ROWS], points).sum(axis=1) for k in range(0, len(nodes), ROWS)),
            ]
        )
        if not own.any():
            return cls(len(points) / float(weights[near == 0].sum()), 0.0, radius, domain)
        theta = maximise(_with_ones(own), _with_ones(near), weights)
        if theta[1] >= 0.0:
            return cls(len(points) / probe._size, 1.0, radius, domain)
        return cls(float(np.exp(theta[0])), float(np.exp(theta[1])), radius, domain)

    @classmethod
    def _fit_data(cls, data: Any, **options: Any) -> Pattern:
        return as_single(data, as_domain(options["domain"]))

    def _fit_method(self, **options: Any) -> str:
        return "maximum pseudo-likelihood"

    def papangelou(self, u: ArrayLike, pattern: ArrayLike) -> Array:
        """β γ^(number of points of the pattern within R of u), (k,)."""
        d = self.domain.dim
        points, others = as_points(u, d, "u"), as_points(pattern, d, "pattern")
        return np.asarray(self.beta * self.gamma ** self._close(points, others).sum(axis=1))

    def papangelou_within(self, pattern: ArrayLike) -> Array:
        """That of the points of a pattern, each given the others, (l,)."""
        points = as_points(pattern, self.domain.dim, "pattern")
        close = self._close(points, points)
        np.fill_diagonal(close, False)
        return np.asarray(self.beta * self.gamma ** close.sum(axis=1))

    def sample(self, n: int, rng: RNG = None) -> list[Array]:
        """Draw ``n`` independent patterns, each (k_i, d), exactly."""
        generator, count = as_generator(rng), check_count(n, "n", 0)
        check_expected(self, self.beta * self._size)
        return [self._draw(generator) for _ in range(count)]

    def _draw(self, rng: np.random.Generator) -> Array:
        """Dominated coupling from the past.

        A stationary birth-and-death process of intensity β, run backwards from time 0, dominates; each
        of its points has a mark. Two processes start at time −T, one with all of its points and one
        with none, and take a birth if its mark is below the acceptance probability γ^t, with t counted
        in the other process, which is the smaller or the larger one. They enclose the Strauss process;
        once they agree at time 0, all three do.
        """
        rate = self.beta * self._size
        death = np.zeros(rng.poisson(rate))
        birth = -rng.exponential(size=len(death))
        points = self.domain.sample_uniform(len(death), rng)
        mark = rng.uniform(size=len(death))
        start, horizon = 0.0, 1.0
        while True:
            # Points that die between −horizon and the last start; those born before −T are its state there.
            k = rng.poisson(rate * (horizon - start))
            new = -rng.uniform(start, horizon, size=k)
            death = np.concatenate([death, new])
            birth = np.concatenate([birth, new - rng.exponential(size=k)])
            points = np.vstack([points, self.domain.sample_uniform(k, rng)])
            mark = np.concatenate([mark, rng.uniform(size=k)])
            if len(points) > MOST_POINTS:
                instead = "a null method that does not simulate, such as WildBootstrap()"
                remedy = f"Use a smaller `beta` or `radius`, or {instead}."
                raise SamplingError(f"{self!r} repels too strongly to be drawn exactly.", remedy=remedy)
            upper, lower = self._run(birth, death, mark, points, horizon)
            if upper == lower:
                return np.asarray(points[[i for i in range(len(points)) if upper >> i & 1]])
            start, horizon = horizon, 2.0 * horizon

    def _run(self, birth: Array, death: Array, mark: Array, points: Array, horizon: float) -> tuple[int, int]:
        """The upper and the lower process at time 0, as sets of points in the bits of an integer."""
        near: list[int] = []
        for start in range(0, len(points), ROWS):
            bits = np.packbits(self._close(points[start : start + ROWS], points), axis=1, bitorder="little")
            near += [int.from_bytes(row.tobytes(), "little") for row in bits]
        # A point is in no process when it is born, so that it does not count itself among those near it.
        # γ^t for all t, so that every decision is one comparison of the mark.
        powers = (self.gamma ** np.arange(len(points) + 1)).tolist()
        time = np.concatenate([birth, death])
        order = np.argsort(time, kind="stable")
        order = order[(time[order] > -horizon) & (time[order] < 0.0)]
        marks, n = mark.tolist(), len(points)
        upper = sum(1 << int(i) for i in np.flatnonzero(birth <= -horizon))
        lower = 0
        for event in order.tolist():
            if event >= n:
                bit = ~(1 << (event - n))
                upper &= bit
                lower &= bit
                continue
            bit = 1 << event
            grow_upper = marks[event] < powers[(near[event] & lower).bit_count()]
            grow_lower = marks[event] < powers[(near[event] & upper).bit_count()]
            if grow_upper:
                upper |= bit
            if grow_lower:
                lower |= bit
        return upper, lower

    def _close(self, x: Array, y: Array) -> Any:
        """Which pairs are at most R apart, (k, l)."""
        return squared_distances(x, y) <= self.radius**2

    def __repr__(self) -> str:
        numbers = f"beta={self.beta:.6g}, gamma={self.gamma:.6g}, radius={self.radius:.6g}"
        return f"Strauss({numbers}, {self.domain!r})"


def _with_ones(values: Array) -> Array:
    return np.column_stack([np.ones(len(values)), values])
