"""An auxiliary function that falls off far from the data, so that no observation counts without limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from goodstein.auxiliary.base import Auxiliary, as_auxiliary
from goodstein.auxiliary.functions import default_auxiliary
from goodstein.constraints import number, numbers
from goodstein.domains.base import Domain
from goodstein.errors import must
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.models.model import Model

REACH = 4.0
"""‖z‖² is divided by this for every coordinate: at typical points the weight is (5/4)^(−power)."""
NORMAL = 1.4826
"""Standard deviations of a normal distribution in a median absolute deviation."""


@dataclass(frozen=True)
class Decaying(Auxiliary):
    r"""g·w with a boundary function g and the weight w = (1 + ‖z‖²/4d)^(−power) of z = (x − centre)/scale.

    With g = 1 the Stein kernel of a density whose score grows like ‖x‖^r is bounded if power ≥ r/2, so that
    no single observation, wherever it lies, counts for more than a certain amount. That is what a tolerance
    for a share of wrong observations rests on; see :meth:`TestResult.tolerance`.

    Parameters
    ----------
    auxiliary
        g; None takes the domain's own, which is 1 on R^d.
    power
        How fast it falls off; 1 is enough for scores that grow no faster than ‖x‖².
    centre, scale
        One number for each coordinate. If not given, :meth:`fitted` takes the median of the data and their
        median absolute deviation, in standard deviations of a normal distribution; before, 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.auxiliary import Decaying
    >>> from goodstein.domains import Euclidean
    >>> g, dg = Decaying().evaluate(np.array([[0.0], [2.0]]), Euclidean(1))
    >>> g, dg[:, 0]
    (array([1. , 0.5]), array([ 0.  , -0.25]))
    """

    auxiliary: Auxiliary | None = None
    power: float = 1.0
    centre: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.auxiliary is not None:
            object.__setattr__(self, "auxiliary", as_auxiliary(self.auxiliary))
        number(self.power, "power", of="Decaying", above=0.0)
        for name, given, above in (("centre", self.centre, -np.inf), ("scale", self.scale, 0.0)):
            if given is not None:
                values = np.atleast_1d(numbers(given, name, ndim=(0, 1), above=above, of="Decaying"))
                object.__setattr__(self, name, tuple(values.tolist()))

    def fitted(self, x: Array, domain: Domain) -> Decaying:
        centre = np.median(x, axis=0) if self.centre is None else np.asarray(self.centre)
        scale = self.scale
        if scale is None:
            spread = NORMAL * np.median(np.abs(x - centre), axis=0)
            spread = np.where(spread > 0, spread, x.std(axis=0))
            scale = tuple(np.where(spread > 0, spread, 1.0).tolist())
        inner = self._inner(domain).fitted(x, domain)
        return Decaying(inner, self.power, tuple(centre.tolist()), scale)

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        g, dg = self._inner(domain).evaluate(x, domain)
        w, dw = self._weight(x)
        if g.ndim == 2:
            return g * w[:, None], dg * w[:, None] + g * dw
        return g * w, dg * w[:, None] + g[:, None] * dw

    def drift(self, x: Array, g: Array, dg: Array, model: Model) -> Array:
        """w·(drift of g) + g ∂w: g·s is the business of the function inside."""
        domain = model.domain
        assert domain is not None  # an operator's model is on its domain
        inner = self._inner(domain)
        own, d_own = inner.evaluate(x, domain)
        w, dw = self._weight(x)
        return w[:, None] * inner.drift(x, own, d_own, model) + (own[:, None] if own.ndim == 1 else own) * dw

    def _inner(self, domain: Domain) -> Auxiliary:
        return default_auxiliary(domain) if self.auxiliary is None else self.auxiliary

    def _weight(self, x: Array) -> tuple[Array, Array]:
        """w, (n,), and its gradient, (n, d)."""
        d = x.shape[1]
        for name, given in (("centre", self.centre), ("scale", self.scale)):
            if given is not None and len(given) not in (1, d):
                raise must(name, f"one number for each of the {d} coordinates", given, "Decaying")
        scale = np.asarray(1.0 if self.scale is None else self.scale)
        z = (x - np.asarray(0.0 if self.centre is None else self.centre)) / scale
        base = 1.0 + np.einsum("ij,ij->i", z, z) / (REACH * d)
        w = base**-self.power
        return w, -2.0 * self.power / (REACH * d) * (w / base)[:, None] * z / scale
