"""How probable observations are, against draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.constraints import check_count
from goodstein.data.points import draw
from goodstein.domains import Domain
from goodstein.errors import InputError
from goodstein.numerics.polynomials import legendre
from goodstein.numerics.ranks import shares_below
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names
from goodstein.operators.views.drawn import DrawnView, Functions
from goodstein.types import Array

SOME = 100
"""Draws that show whether all places are equally probable."""
SAME = 1e-12
"""Log densities that differ by less than this share of the largest are equal but for rounding."""
FLAT = 1e-9
"""The same of all of them: those of a uniform law."""


@dataclass(frozen=True, eq=False, repr=False)
class DrawnLevel(DrawnView):
    """T f(x_i) = f(x_i) − mean_b f(y_ib) for polynomials in F(log q(x)), F that of the draws.

    F is the distribution function of log q over draws of the model, so F(log q(x)) is the share of draws that
    are less probable than x. It is uniform under the model whatever its shape: where it is small too often
    observations lie where the model has hardly any, and where it is never small they keep too near its modes.
    With ω the Legendre polynomials of degree 1, …, k, orthonormal on (0, 1), f = ω(F(log q(x))). The
    functions are bounded, so that no tail is too heavy for any null distribution; time and memory are linear
    in n, up to a logarithm, and there is no kernel.

    Neither units, nor linear maps of the coordinates, nor the normalising constant count. It is blind to
    departures along sets of equal density, such as a rotation of the standard normal law, and refused
    if q is uniform. Levels that are equal but for rounding, as those of many states are, count as equal.

    Parameters
    ----------
    degree
        k, at least 1.
    operator
        Where draws come from and how many there are, a :class:`MeanEmbedding`; None takes
        ``MeanEmbedding()``.

    References
    ----------
    Hyndman (1996), Computing and graphing highest density regions.

    Examples
    --------
    Points in the middle of a ring of three components, where the mean and all variances are right:

    >>> import numpy as np
    >>> import goodstein as gs
    >>> angle = 2 * np.pi / 3 * np.arange(3)
    >>> centres = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = gs.families.GaussianMixture([1 / 3] * 3, centres, 0.3 * np.eye(2))
    >>> x = gs.families.Normal([0.0, 0.0], 2.3).sample(100, rng=1)
    >>> gs.ksd_test(x, model, operator=gs.DrawnLevel(), rng=1).pvalue < 0.01
    True
    """

    degree: int = 3
    operator: Operator | None = None

    bounded = True  # no annotation: not a field

    def __post_init__(self) -> None:
        set_inner(self)
        self.require_embedding()
        check_count(self.degree, "degree", of="DrawnLevel")

    def looks_at(self, names: Names = None) -> str:
        return "how probable observations are"

    def functions(self, draws: Array) -> Functions:
        # From the largest on, in steps of the rounding: a constant in the log density changes nothing.
        ends = draws[np.isfinite(draws)]
        largest = float(ends.max()) if len(ends) else 0.0
        step = SAME * float(np.abs(ends).max(initial=1.0))
        ordered = np.sort(np.rint((draws - largest) / step))

        def functions(level: Array) -> Array:
            return legendre(shares_below(np.rint((level - largest) / step), ordered), self.degree)[:, 1:]

        return functions

    def seen(self, model: Any, domain: Domain, rows: Array, points: Array) -> Array:
        return np.asarray(model.logpdf(rows))

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """Independent draws, and a log density."""
        if not model.has_logpdf:
            raise InputError(
                f"DrawnLevel looks at the log density, but {model.name} has none.",
                remedy="Give the model `logpdf`, up to a constant, or use DrawnRadius() or DrawnMargins().",
            )
        if model.has_sample and is_flat(model.logpdf(draw(model, domain, SOME, np.random.default_rng(0)))):
            raise InputError(
                f"DrawnLevel sees nothing in {model.name}, under which all places are equally probable.",
                remedy="Use MeanEmbedding() or DrawnMargins().",
            )
        return super().conditions(model, domain, data, rng)

    def _arguments(self) -> list[str]:
        return [str(self.degree)]


def is_flat(level: Array) -> bool:
    """Whether log densities are those of a uniform law, up to rounding.

    >>> import numpy as np
    >>> from goodstein.operators.views.drawn_level import is_flat
    >>> is_flat(np.log([0.5, 0.5, 0.5 + 1e-12])), is_flat(np.log([0.5, 0.4]))
    (True, False)
    """
    ends = level[np.isfinite(level)]
    return not len(ends) or bool(np.ptp(ends) <= FLAT * max(1.0, np.abs(ends).max()))
