"""Scale and tails of the data against those of draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.operators.base import Operator, set_inner
from goodstein.operators.views.base import Names
from goodstein.operators.views.drawn import DrawnView, Functions, whitened
from goodstein.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class DrawnRadius(DrawnView):
    """T f(x_i) = f(x_i) − mean_b f(y_ib) for the second and fourth power of the radius: scale and kurtosis.

    r² = ‖L⁻¹(x − ȳ)‖², with mean ȳ and covariance LLᵀ of the draws y of the model. The test functions are r²
    and what r⁴ has beyond it, both of unit variance in the draws. Time and memory are linear in n, and there
    is no kernel. See :class:`DrawnMoments` for draws and null distributions; fourth powers are so heavy that
    most models have to be simulated, ``null=MonteCarlo()``.

    Parameters
    ----------
    operator
        Where draws come from and how many there are, a :class:`MeanEmbedding`, also with log-ratios; None
        takes ``MeanEmbedding()``.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0] * 5)
    >>> x = gs.families.StudentT(8, [0.0] * 5).sample(100, rng=1) * 0.75**0.5
    >>> gs.ksd_test(x, model, operator=gs.DrawnRadius(), null=gs.MonteCarlo(199), rng=1).pvalue < 0.05
    True
    """

    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        self.require_embedding()

    def looks_at(self, names: Names = None) -> str:
        return "the distance from the centre: scale and tails"

    def functions(self, draws: Array) -> Functions:
        coordinates = whitened(draws)

        def powers(x: Array) -> Array:
            with np.errstate(over="ignore"):  # refused by row where the features are
                square = (coordinates(x) ** 2).sum(axis=1)
                return np.column_stack([np.ones(len(x)), square, square**2])

        # An orthonormal basis of the powers under the draws; of a sphere about the origin nothing is left.
        seen = powers(draws)
        size = np.sqrt((seen**2).mean(axis=0))
        _, upper = np.linalg.qr(seen / size / np.sqrt(len(seen)))
        kept = np.abs(np.diag(upper))[1:] > 1e-9
        inverse = np.linalg.pinv(upper)[:, 1:][:, kept]
        return lambda x: np.asarray((powers(x) / size) @ inverse)
