"""One direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains import Domain
from goodstein.errors import InputError, must
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names, View, named, projected
from goodstein.stein.features import SteinFeatures


@dataclass(frozen=True, eq=False, repr=False)
class Direction(View):
    """Another operator with the test functions f(y) = v φ(v·y): it looks at one combination of coordinates.

    With features (y, a, G) of the operator inside, observation i stands for

        ξ φ = (v·a) φ(v·y) + vᵀGv φ′(v·y),

    in one dimension however many the data have.

    Parameters
    ----------
    vector
        v, one number for each column of the data; on a simplex its part along the simplex counts, and with
        :class:`LogRatio` it multiplies the logarithms of the parts.
    operator
        The operator inside, with plain :class:`SteinFeatures`; None takes the domain's own, on a sphere
        :class:`Tangential`.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0] * 10)
    >>> x = model.sample(200, rng=1) + 0.08
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Direction([1.0] * 10), rng=1).pvalue < 0.01
    True
    """

    vector: Any
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        vector = numbers(self.vector, "vector", ndim=1, of="Direction")
        if not vector.any():
            raise must("vector", "a number for each column, not all zero", self.vector, "Direction")
        vector.setflags(write=False)
        object.__setattr__(self, "vector", vector)

    def looks_at(self, names: Names = None) -> str:
        parts = [f"{c:g}·{named(j, names)}" for j, c in enumerate(self.vector) if c]
        return f"the distribution of {' + '.join(parts).replace('+ -', '− ')}"

    def check(self, domain: Domain) -> None:
        if len(self.vector) != domain.dim:
            raise InputError(
                f"`vector` of Direction has {len(self.vector)} numbers, but data on {domain!r} have "
                f"{domain.dim} columns."
            )
        if domain.basis is not None and not (domain.basis @ self.vector).any():
            raise InputError(
                f"`vector` of Direction is the same in all columns, and so is the sum on {domain!r}."
            )

    def features(self, model: Any, domain: Domain, data: Any) -> SteinFeatures:
        """(v·y, v·a, vᵀGv)."""
        vector = self.vector if domain.basis is None else domain.basis @ self.vector
        # Its length is of no account, and squares of it must not overflow.
        vector = vector / np.abs(vector).max()
        return projected(self.square(model, domain, data), vector[:, None])

    def _arguments(self) -> list[str]:
        return [str(self.vector.tolist())]
