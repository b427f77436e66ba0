"""Two coordinates together."""

from __future__ import annotations

from dataclasses import dataclass

from goodstein.errors import InputError
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names, named
from goodstein.operators.views.columns import ColumnView, as_column


@dataclass(frozen=True, eq=False, repr=False)
class Pair(ColumnView):
    """Another operator with the test functions f(y) = e_j φ₁(y_j, y_l) + e_l φ₂(y_j, y_l).

    With features (y, a, G) of the operator inside, observation i stands for

        ξ φ = a_j φ₁ + a_l φ₂ + Σ_{p,r ∈ {j,l}} G_rp ∂_r φ_p,

    in two dimensions however many the data have: how two coordinates depend on each other. Coordinates are
    as for :class:`Margin`; on a :class:`Lattice` the test functions are the indicators of joint levels, and
    there is no kernel.

    Parameters
    ----------
    first, second
        j and l, from 0 on.
    operator
        The operator inside; None takes the domain's own, on a sphere :class:`Tangential`.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0] * 10)
    >>> x = model.sample(200, rng=1)
    >>> x[:, 7] = 0.4 * x[:, 2] + 0.84**0.5 * x[:, 7]
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Pair(2, 7), rng=1).pvalue < 0.01
    True
    """

    first: int
    second: int
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        for name in ("first", "second"):
            object.__setattr__(self, name, as_column(vars(self)[name], f"`{name}` of Pair"))
        if self.first == self.second:
            raise InputError(f"Pair needs two columns, got {self.first} twice. Use Margin({self.first}).")

    def looks_at(self, names: Names = None) -> str:
        return f"{named(self.first, names)} and {named(self.second, names)} together"

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.first, self.second)
