"""Auxiliary functions for the ball, the simplex and the box, and which one a domain gets by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from goodstein.auxiliary.base import Auxiliary, BoundaryDistance, Unit
from goodstein.constraints import number, numbers
from goodstein.domains import Ball, Box, Chart, Domain, Euclidean, Polygon, Polytope, Simplex, Sphere, Torus
from goodstein.errors import DomainError, InputError, given, must, refuse_rows
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.models.model import Model


DomainType = TypeVar("DomainType", bound=Domain)


@dataclass(frozen=True)
class BallPower(Auxiliary):
    r"""g(x) = 1 − (‖x − c‖/R)^p on the ball with centre c and radius R.

    .. math:: \nabla g(x) = -\frac{p}{R^2} \Bigl(\frac{\|x - c\|}{R}\Bigr)^{p-2} (x - c)

    For p < 2 this has no limit at the centre, a null set, where the gradient is taken as 0.
    It has finite variance there if p > 1 − d/2.

    Parameters
    ----------
    p
        The power, positive. The larger it is, the more weight the outer parts of the ball get.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import BallPower
    >>> from goodstein.domains import Ball
    >>> g, dg = BallPower(2).evaluate(np.array([[0.5, 0.0]]), Ball(2))
    >>> g, dg
    (array([0.75]), array([[-1., -0.]]))
    """

    p: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", number(self.p, "p", above=0.0))

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        ball = _on(self, domain, Ball)
        if self.p <= 1 - ball.dim / 2:
            raise InputError(
                f"{self!r} has a gradient of infinite variance at the centre of {ball!r}. "
                f"Take p > {1 - ball.dim / 2:g}."
            )
        ratio = ball.distance_to_center(x) / ball.radius
        # Beyond rounding, x lies in the ball and g is not negative.
        g = np.maximum(1 - ratio**self.p, 0.0)
        at_center = ratio == 0
        factor = np.where(at_center, 0.0, np.where(at_center, 1.0, ratio) ** (self.p - 2))
        return g, -self.p / ball.radius**2 * factor[:, None] * (x - ball.center)


@dataclass(frozen=True)
class ProductOfParts(Auxiliary):
    r"""g(x) = ∏_i x_i^a on the simplex, with a the power.

    .. math:: b_i = x_i^{a-1} \prod_{j \ne i} x_j^a \; (x_i s_i + a)

    For a = 1 Stein's identity holds for every density that is bounded by a Dirichlet one, and for
    Dirichlet(α) itself :math:`b_i = α_i \prod_{j \ne i} x_j`, which is finite where parts are zero. A power a
    < 1 needs α_i > 1 − a for the identity and α_i > 2 − 2a for a finite variance.

    Parameters
    ----------
    power
        The power a, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import ProductOfParts
    >>> from goodstein.domains import Simplex
    >>> g, dg = ProductOfParts().evaluate(np.array([[0.2, 0.3, 0.5]]), Simplex(3))
    >>> g.round(12), dg.round(12)
    (array([0.03]), array([[0.15, 0.1 , 0.06]]))
    """

    power: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", number(self.power, "power", above=0.0))

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        """g, (n,), and its ambient derivatives a·x_i^(a−1) ∏_{j≠i} x_j^a, (n, D)."""
        _on(self, domain, Simplex)
        return _product(self, x, self.power)

    def drift(self, x: Array, g: Array, dg: Array, model: Model) -> Array:
        """b = ∂g ∘ (1 + x∘s/a), (n, D): finite at zeros wherever x∘s is."""
        return np.asarray(dg * (1 + model.weighted_score(x) / self.power))


@dataclass(frozen=True)
class GeometricMean(Auxiliary):
    """g(x) = (∏_i x_i)^(1/D), the geometric mean of the D parts of a composition.

    It is :class:`ProductOfParts` with power 1/D. It vanishes so slowly at the faces that
    Stein's identity needs every α_i > 1 − 1/D of a Dirichlet-like density, and a finite
    variance α_i > 2 − 2/D; otherwise the test rejects true models.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import GeometricMean
    >>> from goodstein.domains import Simplex
    >>> g, dg = GeometricMean().evaluate(np.array([[0.2, 0.3, 0.5]]), Simplex(3))
    >>> g.round(4), dg.round(4)
    (array([0.3107]), array([[0.5179, 0.3452, 0.2071]]))
    """

    def __init__(self) -> None:
        pass

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        """g, (n,), and its ambient derivatives g/(D x_i), (n, D)."""
        simplex = _on(self, domain, Simplex)
        return _product(self, x, 1 / simplex.parts)

    def drift(self, x: Array, g: Array, dg: Array, model: Model) -> Array:
        """b = ∂g ∘ (1 + D·x∘s), (n, D)."""
        return np.asarray(dg * (1 + model.weighted_score(x) * x.shape[1]))


@dataclass(frozen=True)
class BoxProduct(Auxiliary):
    r"""A diagonal function on a box: each g_i vanishes on the sides of its own coordinate.

    With the ends a_i and b_i of coordinate i and a length σ_i, g_i = (x_i − a_i)(b_i − x_i)/(b_i − a_i) where
    both are finite, min(σ_i, x_i − a_i) or min(σ_i, b_i − x_i) where one is, and σ_i where none is. Every g_i
    is a length in the unit of x_i, so g_i ∂_i has no unit.

    Parameters
    ----------
    scale
        The lengths σ_i, one number or one per coordinate. If not given, :meth:`fitted` takes them from the
        data: the median distance from the finite end, or, without one, from the median; before, 1.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import BoxProduct
    >>> from goodstein.domains import Box
    >>> box = Box([0, 0], [1, np.inf])
    >>> x = np.array([[0.5, 3.0], [0.1, 0.5], [0.2, 2.0]])
    >>> auxiliary = BoxProduct().fitted(x, box)
    >>> auxiliary
    BoxProduct(scale=(1.0, 2.0))
    >>> auxiliary.evaluate(x, box)[0]
    array([[0.25, 2.  ],
           [0.09, 0.5 ],
           [0.16, 2.  ]])
    """

    scale: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.scale is not None:
            lengths = numbers(self.scale, "scale", ndim=(0, 1), above=0.0, of="BoxProduct")
            exact = float(lengths) if lengths.ndim == 0 else tuple(lengths.tolist())
            object.__setattr__(self, "scale", exact)

    def fitted(self, x: Array, domain: Domain) -> BoxProduct:
        """The same with every σ_i fixed; for a bounded coordinate its width is put on record."""
        box = _on(self, domain, Box)
        if self.scale is not None:
            self._lengths(box)
            return self
        lengths = []
        for column, low, high in zip(x.T, box.lower, box.upper, strict=True):
            if np.isfinite(low) and np.isfinite(high):
                lengths.append(float(high - low))
                continue
            end = low if np.isfinite(low) else high if np.isfinite(high) else np.median(column)
            lengths.append(_typical(np.abs(column - end)))
        return BoxProduct(tuple(lengths))

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        box = _on(self, domain, Box)
        lengths = np.broadcast_to(self._lengths(box), x.shape)
        below, above = x - box.lower, box.upper - x
        width = box.upper - box.lower
        bounded = np.isfinite(width)
        # Infinite differences belong to the branches that are not taken.
        with np.errstate(invalid="ignore"):
            g = np.where(bounded, below * above / width, np.minimum(lengths, np.minimum(below, above)))
            dg = (above - below) / width
        near = np.where(below < lengths, 1.0, 0.0) - np.where(above < lengths, 1.0, 0.0)
        return g, np.where(bounded, dg, near)

    def _lengths(self, box: Box) -> Array:
        lengths = np.asarray(1.0 if self.scale is None else self.scale)
        if lengths.ndim == 1 and lengths.size != box.dim:
            raise InputError(f"{self!r} has {lengths.size} scales, but {box!r} has {box.dim} coordinates.")
        return lengths


def _typical(distances: Array) -> float:
    """The median distance or, if most are zero, the mean of the others; 1 if all are."""
    median = float(np.median(distances))
    if median > 0:
        return median
    positive = distances[distances > 0]
    return float(positive.mean()) if positive.size else 1.0


def _product(auxiliary: Auxiliary, x: Array, power: float) -> tuple[Array, Array]:
    """∏ x_j^a and its derivatives a·x_i^(a−1)·∏_{j≠i} x_j^a, without dividing by x_i."""
    zero = np.asarray((x == 0).any(axis=1))
    if power < 1:
        remedy = "Use ProductOfParts(), which takes zeros, or replace them explicitly before."
        refuse_rows(zero, f"hold zeros, where the derivatives of {auxiliary!r} are infinite.", remedy)
    powers = x**power
    one = np.ones((len(x), 1))
    before = np.cumprod(np.hstack([one, powers[:, :-1]]), axis=1)
    after = np.cumprod(np.hstack([one, powers[:, :0:-1]]), axis=1)[:, ::-1]
    g = powers.prod(axis=1)
    dg = power * x ** (power - 1) * before * after
    largest = dg[~zero].max(initial=0.0)
    # The statistic multiplies two such values.
    if not zero.all() and largest**2 < np.finfo(np.float64).tiny:
        raise InputError(
            f"{auxiliary!r} underflows: with {x.shape[1]} parts its derivatives are at most {largest:.1g}. "
            "Use BoundaryDistance() or the log-ratio operator."
        )
    return g, dg


def _on(auxiliary: Auxiliary, domain: Domain, kind: type[DomainType]) -> DomainType:
    """The domain, if it is of the kind that the function is made for."""
    if not isinstance(domain, kind):
        raise DomainError(
            f"{auxiliary!r} is made for a {kind.__name__}, got {domain!r}. "
            "Use BoundaryDistance() or an Auxiliary of your own."
        )
    return domain


def default_auxiliary(domain: Domain) -> Auxiliary:
    """An auxiliary function that makes Stein's identity hold for every density bounded on the domain.

    What the domain itself names (:meth:`goodstein.domains.Domain.default_auxiliary`); otherwise

    - on a ball :class:`BallPower` with p = 2, which is smooth everywhere;
    - on a box :class:`BoxProduct`: each g_i vanishes on the two sides of its coordinate;
    - on a simplex :class:`ProductOfParts`, which vanishes on every face and is finite at zeros;
    - on polygons and polytopes :class:`BoundaryDistance`;
    - on a chart that of the region of its coordinates;
    - g = 1 where there is no boundary at which it would have to vanish.

    Examples
    --------
    >>> from goodstein.auxiliary import default_auxiliary
    >>> from goodstein.domains import Ball
    >>> default_auxiliary(Ball(2))
    BallPower(p=2.0)
    """
    if not isinstance(domain, Domain):
        raise must("domain", "a domain such as Box or Simplex", domain)
    wish: Auxiliary | None = domain.default_auxiliary()
    if wish is not None:
        return wish
    if isinstance(domain, Chart):
        return default_auxiliary(domain.region)
    if isinstance(domain, Ball):
        return BallPower()
    if isinstance(domain, Box):
        return BoxProduct()
    if isinstance(domain, Simplex):
        return ProductOfParts()
    if isinstance(domain, Polygon | Polytope):
        return BoundaryDistance()
    if isinstance(domain, Euclidean | Torus | Sphere):
        return Unit()
    raise DomainError(
        f"{domain!r} has no auxiliary function of its own. Pass one: "
        f"{given('operator', 'Standardised(auxiliary)')}."
    )
