"""Auxiliary functions g of the standardised operator T_q(g·f).

An auxiliary function makes q·g vanish at the boundary, so that Stein's identity holds although q does not.
The operator needs g, the derivatives ∂_i g_i, and the drift b = g·s + ∂g, s = ∇log q, which is one
overridable method, because g·s may be 0·∞ at the boundary while b is finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.constraints import answered, asked, require_functions
from goodstein.errors import DomainError, InputError, describe_rows, shown
from goodstein.foreign import Own, written_outside
from goodstein.numerics.differentiate import gradient as numerical_gradient
from goodstein.types import Array, ArrayLike

if TYPE_CHECKING:
    from goodstein.domains.base import Domain
    from goodstein.models.model import Model


class Auxiliary:
    r"""An auxiliary function of your own.

    The operator is :math:`T f = q^{-1} \sum_i \partial_i (q\, g_i f_i)`, with one g for all
    coordinates (scalar) or one g_i for each (diagonal). Near a boundary at distance δ, where
    :math:`q \sim δ^{α-1}`, a function :math:`g \sim δ^a` keeps Stein's identity if
    :math:`a > 1 - α` and the variance finite if :math:`a > 1 - α/2`; so a = 1 always does.

    Parameters
    ----------
    value
        Maps points (n, d) to g, (n,) if it is scalar or (n, d) if it is diagonal.
    gradient
        Maps points (n, d) to the derivatives (n, d): ∂_i g, or ∂_i g_i. On a simplex any ambient gradient
        will do. If not given, ``value`` is differentiated numerically, with steps inside the domain.

    References
    ----------
    Xu (2022), Standardisation-function kernel Stein discrepancy.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import Auxiliary
    >>> from goodstein.domains import Box
    >>> def sine(x):
    ...     return np.sin(np.pi * x)
    >>> g, dg = Auxiliary(sine).evaluate(np.array([[0.25], [0.75]]), Box(0, 1))
    >>> g[:, 0].round(4), (dg[:, 0] / np.pi).round(4)
    (array([0.7071, 0.7071]), array([ 0.7071, -0.7071]))
    """

    # None in a subclass that brings its own `evaluate`.
    _value: Callable[[Array], ArrayLike] | None = None
    _gradient: Callable[[Array], ArrayLike] | None = None

    def __init__(
        self, value: Callable[[Array], ArrayLike], gradient: Callable[[Array], ArrayLike] | None = None
    ) -> None:
        given = {"value": value} if gradient is None else {"value": value, "gradient": gradient}
        require_functions(given, "Auxiliary", "a function of points (n, d)")
        self._value = value
        self._gradient = gradient

    def __repr__(self) -> str:
        functions = [self._value] if self._gradient is None else [self._value, self._gradient]
        names = [getattr(function, "__name__", type(function).__name__) for function in functions]
        return f"Auxiliary({', '.join(names)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not Auxiliary:
            return NotImplemented
        return self._value == other._value and self._gradient == other._gradient

    def __hash__(self) -> int:
        return hash((self._value, self._gradient))

    @property
    def own(self) -> bool:
        """Whether a user wrote it, so that the library's tests say nothing about its derivatives."""
        inside = (part.own for part in vars(self).values() if isinstance(part, Auxiliary))
        return type(self) in (Auxiliary, OwnAuxiliary) or written_outside(self) or any(inside)

    def supplied(self, domain: Domain) -> Sequence[Callable[[Array], Array]]:
        """g and its derivatives, unless these are numerical, where a user wrote them; otherwise nothing."""
        both: list[Callable[[Array], Array]] = [
            partial(self.value, domain=domain),
            lambda x: self.evaluate(x, domain)[1],
        ]
        return both[: 1 if type(self) is Auxiliary and self._gradient is None else 2] if self.own else ()

    def value(self, x: Array, domain: Domain) -> Array:
        """g alone, (n,) or (n, d): all that the behaviour at the boundary depends on."""
        return self.evaluate(x, domain)[0] if self._value is None else self._checked_value(x)

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        """g (n,) or (n, d), and its derivatives ∂_i g or ∂_i g_i, (n, d)."""
        g = self._checked_value(x)
        if self._gradient is None:
            dg = self._numerical_gradient(x, domain, scalar=g.ndim == 1)
        else:
            what = f"The gradient of {self!r}"
            dg = answered(asked(self._gradient, what, x), what, x.shape)
            _require_finite(dg, f"The gradient of {self!r}")
        return g, dg

    def _numerical_gradient(self, x: Array, domain: Domain, *, scalar: bool) -> Array:
        remedy = "pass its derivatives: Auxiliary(value, gradient)"
        if scalar:
            return numerical_gradient(self._unchecked_value, x, domain, name=repr(self), remedy=remedy)
        columns = []
        for i in range(x.shape[1]):

            def component(points: Array, i: int = i) -> Array:
                return self._unchecked_value(points)[:, i]

            columns.append(numerical_gradient(component, x, domain, name=repr(self), remedy=remedy)[:, i])
        return np.column_stack(columns)

    def drift(self, x: Array, g: Array, dg: Array, model: Model) -> Array:
        """b = g·s + ∂g, (n, d)."""
        weight = g[:, None] if g.ndim == 1 else g
        return weight * model.score(x) + dg

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array:
        """gν, the part of g that must vanish on a face with normal ν."""
        g = self.value(x, domain)
        return g[:, None] if g.ndim == 1 else g * normals

    def fitted(self, x: Array, domain: Domain) -> Auxiliary:
        """The same function with whatever scale it takes from the data fixed."""
        return self

    def _unchecked_value(self, x: Array) -> Array:
        assert self._value is not None
        return answered(asked(self._value, repr(self), x), repr(self))

    def _checked_value(self, x: Array) -> Array:
        g = self._unchecked_value(x)
        n, d = x.shape
        if g.shape not in ((n,), (n, d)):
            hint = " Drop the last axis: g[:, 0]." if g.shape == (n, 1) else ""
            raise InputError(
                f"{self!r} must return one value per point, shape ({n},), or one per coordinate, "
                f"shape ({n}, {d}); got {g.shape}.{hint}"
            )
        _require_finite(g, f"{self!r}")
        return g


class OwnAuxiliary(Own, Auxiliary):
    """A user's plain object with a method ``evaluate``."""

    taken_over = ("value", "drift", "boundary_weight")

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        what = f"`evaluate` of {self!r}"
        given = asked(self._own.evaluate, what, x, domain)
        if not isinstance(given, list | tuple) or len(given) != 2:
            raise InputError(f"{what} must return a pair, g and its derivatives, got {shown(given)}.")
        g, dg = answered(given[0], what), answered(given[1], f"{what}, its second part,", x.shape)
        if g.shape not in (x.shape[:1], x.shape):
            raise InputError(f"{what} must return g of shape {x.shape[:1]} or {x.shape}, got {g.shape}.")
        _require_finite(g, what)
        _require_finite(dg, what)
        return g, dg

    def fitted(self, x: Array, domain: Domain) -> Auxiliary:
        fit = getattr(self._own, "fitted", None)
        return self if fit is None else as_auxiliary(asked(fit, f"`fitted` of {self!r}", x, domain))


def as_auxiliary(
    thing: Any, name: str = "`auxiliary` must be an auxiliary function", wrapped: str = "Auxiliary(function)"
) -> Auxiliary:
    """An auxiliary function from itself, or from a user's object with a method ``evaluate``."""
    if isinstance(thing, Auxiliary):
        return thing
    if isinstance(thing, type) or not callable(getattr(thing, "evaluate", None)):
        raise InputError(f"{name}, got {shown(thing)}. Wrap a function of your own: {wrapped}.")
    return OwnAuxiliary(thing)


@dataclass(frozen=True)
class Unit(Auxiliary):
    """g = 1: the ordinary Langevin operator, for densities that vanish at the boundary by themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import Unit
    >>> from goodstein.domains import Euclidean
    >>> g, dg = Unit().evaluate(np.zeros((3, 2)), Euclidean(2))
    >>> g
    array([1., 1., 1.])
    """

    def __init__(self) -> None:
        pass

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        return np.ones(len(x)), np.zeros(x.shape)


@dataclass(frozen=True)
class BoundaryDistance(Auxiliary):
    r"""g(x) is the distance from x to the boundary of the domain.

    It vanishes like δ on every face, so Stein's identity holds for every density
    that grows more slowly than 1/δ. It is Lipschitz; where two faces are equally near,
    which is a null set, the gradient of one of them is taken.

    References
    ----------
    Liu, Kanamori, Williams (2022), Estimating density models with truncation boundaries using score
    matching, Journal of Machine Learning Research 23.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import BoundaryDistance
    >>> from goodstein.domains import Box
    >>> g, dg = BoundaryDistance().evaluate(np.array([[0.5, 0.9]]), Box(0, [1, 1]))
    >>> g.round(12), dg
    (array([0.1]), array([[ 0., -1.]]))
    """

    def __init__(self) -> None:
        pass

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        if not domain.has_boundary:
            raise DomainError(
                f"{domain!r} has no boundary to measure the distance from. Use Langevin() there."
            )
        return domain.boundary_distance(x), domain.boundary_gradient(x)


def _require_finite(values: Array, name: str) -> None:
    finite = np.isfinite(values)
    bad = ~finite if values.ndim == 1 else np.asarray(~finite.all(axis=1))
    if bad.any():
        raise InputError(
            f"{name} is not finite at {describe_rows(bad)}. An auxiliary function must be finite everywhere "
            "on the domain."
        )
