"""The operator for one point pattern: what every point adds, and what the model says it adds."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import check_count, check_names, numbers
from goodstein.domains import Box, Domain, Polygon
from goodstein.errors import InputError, given
from goodstein.kernels import Gaussian, Kernel
from goodstein.operators.base import Operator
from goodstein.patterns.data import Patterns
from goodstein.patterns.marks import OfMarks, sums_of
from goodstein.patterns.nodes import quadrature
from goodstein.patterns.operator import check_possible, check_ties
from goodstein.patterns.single import Pattern
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

LOOKS = {"number": 1 / 2, "locations": 1.0, "neighbours": 1 / 3}
"""Their weights in a sum: few functions are most of the number's and of the neighbours', and their noise."""

BANDWIDTH = 0.25
"""Of the marks: a quarter of the window's sides, and of the distribution of distances."""

NODES = (256, 1024)
"""Fewest and most nodes of the integral, unless the user says otherwise; between them two for each point."""

FINER = 2
"""Times between which Λ is taken as linear, for each node."""

ROUNDED = 1e-12
"""What rounding leaves where nothing is left, such as of the number of points after a fit; it is no tie."""


@dataclass(frozen=True)
class Innovations(Operator):
    r"""Innovations of one point pattern: its points less the integral of their conditional intensity.

    .. math::

        T g(\varphi) = \sum_{x \in \varphi} g(x, \varphi \setminus x)
                       - \int g(u, \varphi)\, \rho(u \mid \varphi)\, du

    has mean zero under the model for every function g of a point and of the others (Georgii, Nguyen, Zessin),
    with ρ the Papangelou conditional intensity. Here g is a function of marks z of the point u. With n points
    and M the integral of ρ, the statistic of marks is the squared norm of T in the reproducing kernel Hilbert
    space of g, given the number of points,

    .. math::

        (nM)^{-1} \Bigl\| \sum_{x \in \varphi} k(z(x), \cdot)
        - \frac{n}{M} \int k(z(u), \cdot)\, \rho(u \mid \varphi)\, du \Bigr\|^2 .

    Without n/M the noise of the number would hide what marks have to say. The number is a look of its own,
    with :math:`(n - M)^2 / M^2`. For neighbours k is studentised by what is seen, which makes it
    :math:`k(z, z') / \sqrt{s(z) s(z')}` with :math:`s(z) = (1 + \sum_y k(z, z(y)))/M`, the sum over the other
    points y: a surplus of near neighbours has a long tail under the model, in which their absence would be
    lost. Edges of the window need no correction: marks of points and of nodes suffer from them alike.

    Where the model is one of events in time, known by the integral Λ of their intensity given the past, times
    are changed to Λ(t). There its events are those of a Poisson process with rate one, and marks look back
    only, at the past.

    Parameters
    ----------
    looks
        What is looked at, one name or several, whose statistics are added, with weights 1/2, 1 and 1/3:
        "number", how many points there are; "locations", marks that say where a point is, in units of the
        window's sides (in time, the time itself); "neighbours", its distance r to the k-th nearest other
        point (in time, to the k-th before), as the probability :math:`P(\chi^2_{2k} \le 2 \bar\rho\, |B_r|)`
        that a Poisson process of the same mean intensity has it nearer.
    order
        k.
    nodes
        About how many nodes the integral has; None takes two for each point, at least 256 and at most 1024.
    units
        Of the coordinates, in which distances between neighbours are measured, one number for each: of places
        and times, say, the distance and the time that are to count alike. None takes them as they are.

    Notes
    -----
    The kernel is one of the marks, ``Gaussian(0.25)`` unless another one is named, with a number as
    bandwidth. There is one observation, so the null distribution is simulated: the level is exact for a given
    model, however coarse the nodes are. For a fitted one use :class:`ParametricBootstrap`, which is
    the default where the model knows how it was fitted.

    References
    ----------
    Baddeley, Turner, Møller, Hazelton (2005), Residual analysis for spatial point processes. Ogata (1988),
    Statistical models for earthquake occurrences and residual analysis for point processes.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.PoissonProcess(62.0, gs.Box([0, -1], [1, 0]))
    >>> gs.ksd_test(gs.Pattern(gs.datasets.redwood()), model, null=gs.MonteCarlo(99), rng=1).pvalue
    0.01
    """

    looks: tuple[str, ...] | str = tuple(LOOKS)
    order: int = 1
    nodes: int | None = None
    units: tuple[float, ...] | None = None

    takes = Pattern  # no annotations: these are not fields
    title = "Kernel Stein test of one point pattern"
    statistic_name = "KSD², V-statistic over points"
    diagonal_counts = True
    conditions_suffice = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", check_names(self.looks, "looks", tuple(LOOKS), of="Innovations"))
        check_count(self.order, "order", of="Innovations")
        if self.nodes is not None:
            check_count(self.nodes, "nodes", 2, of="Innovations")
        if self.units is not None:
            found = np.atleast_1d(numbers(self.units, "units", above=0.0, ndim=(0, 1), of="Innovations"))
            object.__setattr__(self, "units", tuple(found.tolist()))

    def features(self, model: Any, domain: Domain, data: Pattern) -> Innovated:
        """Marks of points and of nodes, and the weights of the nodes."""
        points = data.points
        count = self.nodes or int(np.clip(2 ** math.ceil(math.log2(2 * len(points) + 1)), *NODES))
        if model.evolves:
            points, nodes, weights, places = changed(model, points, count)
        else:
            nodes, base = rule(domain, count, self._units(domain.dim))
            weights = base * model.papangelou(nodes, points)
        if not weights.sum() > 0:
            raise InputError(
                f"The conditional intensity of {model.name} is zero in all of the window.", argument="model"
            )
        size = float(weights.sum())
        low, side = bounds(domain, nodes)
        if not model.evolves:
            places = points, nodes
            density = size / float(base.sum())
        marks = []
        for look in self.looks:
            if look == "number":
                marks.append((np.zeros((len(points), 1)), np.zeros((len(nodes), 1))))
            elif look == "locations":
                marks.append(((places[0] - low) / side, (places[1] - low) / side))
            elif model.evolves:
                events = points[:, 0]
                marks.append((since(events, events, self.order), since(nodes[:, 0], events, self.order)))
            else:
                marks.append(self._neighbours(points, nodes, density))
        return Innovated(points, tuple(self.looks), tuple(marks), weights)

    def _units(self, dim: int) -> tuple[float, ...]:
        if self.units is None or len(self.units) == 1:
            return (self.units or (1.0,)) * dim
        if len(self.units) != dim:
            wanted = f"must have one number for each of the {dim} coordinates"
            raise InputError(f"`units` of Innovations {wanted}, got {len(self.units)}.")
        return self.units

    def _neighbours(self, points: Array, nodes: Array, density: float) -> tuple[Array, Array]:
        """Probabilities of the distances from points, (n, 1), and from nodes, (N, 1)."""
        units = np.array(self._units(points.shape[1]))
        scale = density * float(np.prod(units))
        own = distances(points / units, points / units, self.order + 1)
        return tuple(  # type: ignore[return-value]
            probabilities(r, self.order, scale, points.shape[1])
            for r in (own, distances(nodes / units, points / units, self.order))
        )

    def __repr__(self) -> str:
        given = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)[1:]]
        usual = {f"{field.name}={field.default!r}" for field in fields(self)}
        looks = ", ".join(map(repr, self.looks))
        looks = looks if len(self.looks) == 1 else f"({looks})"
        return f"Innovations({', '.join([looks, *(one for one in given if one not in usual)])})"

    def default_kernel(self) -> OfMarks:
        return OfMarks(Gaussian(BANDWIDTH))

    def adapted(self, kernel: Kernel) -> Kernel:
        if isinstance(kernel, OfMarks):
            return kernel
        plain = kernel.plain
        if not plain.radial or not isinstance(plain.bandwidths, float | None | list):
            raise InputError(
                f"{given('kernel')} of one point pattern must be one of marks, such as Gaussian(0.25), got "
                f"{kernel!r}."
            )
        if not all(isinstance(term.bandwidths, float) for term in plain.terms):
            raise InputError(
                f"{given('kernel')} of one point pattern needs a number as bandwidth, such as "
                f"Gaussian({BANDWIDTH}): its marks have units of their own. Got {kernel!r}."
            )
        return OfMarks(plain)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        simulated = Question("null distribution").passed("Simulated, so that no integral has to be exact.")
        if data is None or model.evolves:
            return [simulated]
        one = Patterns([data.points], domain.dim)
        return [simulated, check_possible(model, one), check_ties(one)]


@dataclass(frozen=True)
class Innovated:
    """Points (n, d), marks of them and of the nodes for every look, and the nodes' weights times ρ, (N,)."""

    points: Array
    looks: tuple[str, ...]
    marks: tuple[tuple[Array, Array], ...]
    weights: Array

    def form(self, kernel: OfMarks) -> InnovationForm:
        """The matrix over pairs of points."""
        return InnovationForm(self, kernel)


class InnovationForm(BlockForm):
    r"""⟨ξ_i, ξ_j⟩, ξ_i = √a (n/M)(k(z_i, ·) − (c/n) Σ_u w_u k(z_u, ·)) and M = Σ_u w_u, summed over looks.

    Its mean is a‖Σ_i k(z_i, ·) − c Σ_u w_u k(z_u, ·)‖²/M², with c = n/M and a = M/n, but for the number both
    are 1, times the look's weight; k is studentised for neighbours. An empty pattern, of which there is
    nothing but the number, is one row with the nodes alone.
    """

    def __init__(self, innovated: Innovated, kernel: OfMarks) -> None:
        w, n, mass = innovated.weights, len(innovated.points), float(innovated.weights.sum())
        self._count, self._mass, self._squared, self._expected = n, mass, 0.0, np.zeros(n)
        self._looks = []
        for name, (own, nodes) in zip(innovated.looks, innovated.marks, strict=True):
            a, c = (1.0, 1.0) if name == "number" else (mass / n if n else 0.0, n / mass)
            a *= LOOKS[name]
            sums = sums_of(kernel.kernel, own, nodes)
            if name == "neighbours":
                sums = sums.studentised(mass)
            self._looks.append((a, sums))
            self._expected += a * c * sums.between(w)
            self._squared += a * c**2 * sums.among(w)

    @property
    def n(self) -> int:
        return max(self._count, 1)

    def block(self, rows: slice, cols: slice) -> Array:
        if not self._count:
            return np.full((1, 1), self._squared / self._mass**2)
        inner = np.sum([a * sums.block(rows, cols) for a, sums in self._looks], axis=0)
        return self._centred(inner, self._expected[rows, None] + self._expected[None, cols])

    def diagonal(self) -> Array:
        if not self._count:
            return np.full(1, self._squared / self._mass**2)
        own = np.sum([a * sums.diagonal() for a, sums in self._looks], axis=0)
        return self._centred(own, 2.0 * self._expected)

    def _centred(self, inner: Array, expected: Array) -> Array:
        n = self._count
        return np.asarray((inner - expected / n + self._squared / n**2) * (n / self._mass) ** 2)

    def mean(self) -> float:
        own = sum(a * sums.total() for a, sums in self._looks)
        mean = (self._squared - 2.0 * float(self._expected.sum()) + own) / self._mass**2
        return mean if mean > ROUNDED else 0.0


@lru_cache(maxsize=16)
def rule(domain: Domain, count: int, units: tuple[float, ...]) -> tuple[Array, Array]:
    """Nodes and weights, which all patterns share; in a box as dense in all directions, in units."""
    if not isinstance(domain, Box):
        return quadrature(domain, count)
    scale = np.array(units)
    nodes, weights = quadrature(Box(domain.lower / scale, domain.upper / scale), count)
    return nodes * scale, weights * float(np.prod(scale))


def bounds(domain: Domain, nodes: Array) -> tuple[Array, Array]:
    """The least corner of a box around the window, and its sides."""
    if isinstance(domain, Box):
        return domain.lower, domain.upper - domain.lower
    if isinstance(domain, Polygon):
        corners = np.array(domain.geometry.bounds).reshape(2, 2)
        return corners[0], corners[1] - corners[0]
    # Of a domain of a user's own the nodes tell about where it ends.
    side = np.ptp(nodes, axis=0)
    return nodes.min(axis=0) - 0.25 * side, 1.5 * side


def changed(model: Any, times: Array, count: int) -> tuple[Array, Array, Array, tuple[Array, Array]]:
    """Events (n, 1) and nodes (N, 1) on the scale of Λ, weights (N,), and the times of events and nodes.

    Times, unlike Λ(t)/Λ(T), are known before what happens later, as an integrand has to be.
    """
    order = np.sort(times, axis=0)
    low, high = float(model.domain.lower[0]), float(model.domain.upper[0])
    grid = np.sort(np.concatenate([np.linspace(low, high, FINER * count), order[:, 0]]))
    along = model.compensator(grid, order)
    end = float(along[-1])
    nodes = end * (np.arange(count) + 0.5) / count
    places = np.interp(nodes, along, grid)
    moved = model.compensator(order[:, 0], order)
    return moved[:, None], nodes[:, None], np.full(count, end / count), (order, places[:, None])


def since(t: Array, events: Array, order: int) -> Array:
    """P(Gamma_k ≤ t − the k-th last of the events before t), (n, 1); one where there are fewer."""
    from scipy.special import gammainc

    last = np.searchsorted(events, t, side="left") - order
    gap = np.where(last >= 0, t - events[np.maximum(last, 0)] if len(events) else 0.0, np.inf)
    return np.asarray(gammainc(order, gap))[:, None]


def distances(x: Array, points: Array, order: int) -> Array:
    """The distance of every x to the point that is the k-th nearest, (n,); infinite where there are fewer."""
    from scipy.spatial import KDTree

    if len(points) < order:
        return np.full(len(x), np.inf)
    return np.asarray(KDTree(points).query(x, k=[order])[0][:, 0])


def probabilities(r: Array, order: int, density: float, dim: int) -> Array:
    """P(Gamma_k ≤ density · ∣ball of radius r∣), (n, 1)."""
    from scipy.special import gammainc

    ball = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    return np.asarray(gammainc(order, density * ball * r**dim))[:, None]
