"""One coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names, named
from goodstein.operators.views.columns import ColumnView, as_column


@dataclass(frozen=True, eq=False, repr=False)
class Margin(ColumnView):
    """Another operator with the test functions f(y) = e_j φ(y_j): it looks at one coordinate alone.

    With features (y, a, G) of the operator inside, observation i stands for

        ξ φ = a_j φ(y_j) + G_jj φ′(y_j),

    in one dimension however many the data have. It asks whether y_j, given all other coordinates, is as the
    model says, averaged over these.

    On a simplex j is a part, or with :class:`LogRatio` the logarithm of a part divided by the geometric mean
    of all; on a sphere an axis; on a torus an angle, (cos θ_j, sin θ_j). On a :class:`Lattice` the test
    functions are the indicators of the levels of coordinate j, and there is no kernel.

    Parameters
    ----------
    column
        j, from 0 on.
    operator
        The operator inside; None takes the domain's own, on a sphere :class:`Tangential`.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0] * 10)
    >>> x = model.sample(200, rng=1)
    >>> x[:, 3] = gs.families.Laplace(0.0, 0.6).sample(200, rng=2)[:, 0]
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Margin(3), rng=1).pvalue < 0.01
    True
    """

    column: int
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        object.__setattr__(self, "column", as_column(self.column, "`column` of Margin"))

    def looks_at(self, names: Names = None) -> str:
        return f"the distribution of {named(self.column, names)}"

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)
