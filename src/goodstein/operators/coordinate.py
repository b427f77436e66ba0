"""The coordinate-dependent operator on circles, tori, spheres and charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auditing.conditions import check_connected
from goodstein.auditing.derivatives import check_derivatives
from goodstein.auditing.manifold import check_coordinate_faces, check_manifold, check_poles
from goodstein.auditing.report import Check
from goodstein.auxiliary.base import Auxiliary, Unit, as_auxiliary
from goodstein.auxiliary.functions import default_auxiliary
from goodstein.domains import Chart, Domain, Sphere, Torus
from goodstein.errors import InputError
from goodstein.models.model import Model, in_coordinates
from goodstein.operators.base import Operator
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array


@dataclass(frozen=True)
class Coordinate(Operator):
    """T f = (qJ)⁻¹ Σ_i ∂_i(q J g_i f_i) in coordinates θ, J their volume element.

    With a_i = g_i ∂_i log(qJ) + ∂_i g_i it is Σ_i (a_i f_i + g_i ∂_i f_i), one test function for each
    coordinate, and kernels act on chordal distances.

    On :class:`Circle` and :class:`Torus` J = 1, g = 1 and a is the score. On :class:`Sphere` of R^d the
    coordinates are the angles of x = (cos θ₁, sin θ₁ cos θ₂, …), and ∂_i log J = (d − 1 − i) cot θ_i
    is so large at the poles that with g = 1 the statistic has no finite variance. With g_i = sin θ_i,
    i ≤ d − 2, and g = 1 for the last angle, it is bounded: a_i = sin θ_i ∂_i log q + (d − i) cos θ_i.
    The result depends on which axis is the first; :class:`SecondOrder` depends on none.

    On a :class:`Chart` g is the auxiliary function of the coordinates' region, 1 if they have no end.

    Parameters
    ----------
    auxiliary
        True for the g above; False for g = 1 everywhere, as first published; or, on a
        chart, an :class:`Auxiliary` of your own.

    References
    ----------
    Xu, Matsuda (2020), A Stein goodness-of-fit test for directional distributions.

    Examples
    --------
    >>> import goodstein as gs
    >>> theta = gs.families.VonMises(0.0, 1.0).sample(100, rng=1)
    >>> gs.ksd_test(theta, gs.families.VonMises(0.0, 1.0), operator=gs.Coordinate(), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(theta, gs.families.VonMises(1.0, 1.0), operator=gs.Coordinate(), rng=1).pvalue
    0.001
    """

    auxiliary: bool | Auxiliary = True

    conditions_suffice = True  # no annotation: not a field

    def __post_init__(self) -> None:
        if not isinstance(self.auxiliary, bool):
            name = "`auxiliary` of Coordinate must be True, False or an auxiliary function"
            own = as_auxiliary(self.auxiliary, name, "Coordinate(Auxiliary(function))")
            object.__setattr__(self, "auxiliary", own)

    def __repr__(self) -> str:
        return "Coordinate()" if self.auxiliary is True else f"Coordinate({self.auxiliary!r})"

    def fitted(self, data: Array, domain: Domain) -> Coordinate:
        if not isinstance(domain, Chart):
            return self
        return Coordinate(self.auxiliary_on(domain).fitted(data, domain.region))

    def auxiliary_on(self, chart: Chart) -> Auxiliary:
        """The auxiliary function on a chart."""
        if isinstance(self.auxiliary, bool):
            return default_auxiliary(chart) if self.auxiliary else Unit()
        return self.auxiliary

    def features(self, model: Model, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G): points in R^k, a as above, G = g_i ∂y/∂θ_i in column i."""
        if isinstance(domain, Chart):
            return self._on_chart(model, domain, data)
        if not isinstance(domain, (Torus, Sphere)):
            raise InputError(
                f"Coordinate works on Circle, Torus, Sphere and Chart, got {domain!r}. Use Langevin() or "
                "Standardised() there."
            )
        if not isinstance(self.auxiliary, bool):
            raise InputError(
                f"On {domain!r} `auxiliary` of Coordinate is True or False. An auxiliary function of your "
                "own needs coordinates of your own: see Chart."
            )
        score = model.score(data)
        if isinstance(domain, Torus):
            return SteinFeatures(domain.embedded(data), score, domain.tangents(data))
        weight, divergence = spherical_fields(data, self.auxiliary)
        return SteinFeatures(data, np.einsum("nk,nki->ni", score, weight) + divergence, weight)

    def _on_chart(self, model: Model, chart: Chart, data: Array) -> SteinFeatures:
        auxiliary = self.auxiliary_on(chart)
        g, dg = auxiliary.evaluate(data, chart.region)
        drift = auxiliary.drift(data, g, dg, in_coordinates(model, chart))
        points = chart.embedded(data)
        if points is data:
            return SteinFeatures(data, drift, g)
        each = g[:, None] if g.ndim == 1 else g
        return SteinFeatures(points, drift, chart.tangents(data) * each[:, None, :])

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        checks = [check_connected(domain)]
        if isinstance(domain, Chart):
            auxiliary = self.auxiliary_on(domain)
            checks.append(check_coordinate_faces(model, domain, auxiliary, data, rng))
            checks += check_derivatives(auxiliary.supplied(domain.region), domain.region, data, rng)
        elif isinstance(domain, Sphere):
            checks.append(check_poles(domain, self.auxiliary is not False))
        return checks + check_manifold(model, domain, data, rng)


def spherical_fields(x: Array, auxiliary: bool) -> tuple[Array, Array]:
    """g_i ∂x/∂θ_i in the columns of (n, d, d − 1), and their divergences on the sphere, (n, d − 1).

    Everything is made from r_i = ‖(x_i, …, x_d)‖, without computing an angle: cos θ_i = x_i/r_i and sin θ_i =
    r_(i+1)/r_i. Where r_i = 0 the columns vanish, and cos θ_i, which could be anything, is taken to be zero,
    its mean over the circle that shrinks to that point.
    """
    n, d = x.shape
    rest = np.sqrt(np.cumsum(x[:, ::-1] ** 2, axis=1)[:, ::-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(rest > 0, x / rest, 0.0)
    fields, divergence = np.zeros((n, d, d - 1)), np.zeros((n, d - 1))
    for i in range(d - 2):
        fields[:, i:, i] = cosine[:, i, None] * x[:, i:]
        # x_i²/r_i − r_i = −r_(i+1)²/r_i, in which nothing cancels close to a pole.
        with np.errstate(divide="ignore", invalid="ignore"):
            fields[:, i, i] = np.where(rest[:, i] > 0, -(rest[:, i + 1] ** 2) / rest[:, i], 0.0)
        divergence[:, i] = (d - 1 - i) * cosine[:, i]
        if not auxiliary:
            with np.errstate(divide="ignore", invalid="ignore"):
                sine = rest[:, i + 1] / rest[:, i]
                fields[:, :, i] /= sine[:, None]
                divergence[:, i] = (d - 2 - i) * cosine[:, i] / sine
    fields[:, d - 2, d - 2], fields[:, d - 1, d - 2] = -x[:, d - 1], x[:, d - 2]
    return fields, divergence
