"""Weights of observations: importance weights, and those of surveys."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.constraints import real_array
from goodstein.errors import InputError, must, refuse_rows
from goodstein.types import Array, ArrayLike


class Weighted:
    r"""Data with a weight for each row, up to a common factor.

    The rows come from another law than the one in question, and E[w·f(x)] over them is proportional to E f(x)
    over the latter: w = q/p for draws of a proposal p, one over the probability of being chosen in a survey.
    The statistic is then

    .. math:: U = \frac{1}{n(n-1)} \sum_{i \ne j} w_i w_j h(x_i, x_j), \qquad \frac1n \sum_i w_i = 1,

    and random signs multiply w_i ξ_i, whose mean is zero under the null as that of ξ_i is without weights.

    Parameters
    ----------
    data
        Points or chains, in any form that a test takes.
    weights
        One for each row, not negative, in the order of the rows; for chains one after the other, or of the
        shape (chains, draws). Their sum does not matter.

    Notes
    -----
    Pairs (x_i, w_i) must be independent and alike, or draws of chains. Strata make the test cautious, as they
    make every estimate better than it thinks; rows of one cluster depend on each other and make it reject too
    often.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> proposal, model = gs.families.Normal(0, 2), gs.families.Normal(0, 1)
    >>> x = proposal.sample(300, rng=1)
    >>> weights = np.exp(model.logpdf(x) - proposal.logpdf(x))
    >>> gs.ksd_test(gs.Weighted(x, weights), model, rng=1).pvalue > 0.05
    True
    """

    def __init__(self, data: Any, weights: ArrayLike) -> None:
        if isinstance(data, Weighted):
            raise InputError(
                "The data are weighted already.", argument="data", remedy="Multiply the weights."
            )
        if weights is None:
            raise must("weights", "numbers, one for each row of the data", weights, "Weighted")
        self.data, self.weights = data, weights

    def __repr__(self) -> str:
        return f"Weighted({type(self.data).__name__})"


def weighted(data: Any, weights: ArrayLike | None) -> Any:
    """The data, with weights where there are some."""
    return data if weights is None else Weighted(data, weights)


def as_weights(weights: Any, n: int) -> Array:
    """Weights of n rows as the library uses them, of mean one."""
    values = real_array(weights, "weights")
    if values.ndim not in (1, 2) or values.size != n:
        raise must("weights", f"{n} numbers, one for each row of the data", weights)
    values = values.reshape(n)
    refuse_rows(~np.isfinite(values), "have a weight that is not finite.", REMEDY, argument="weights")
    refuse_rows(values < 0, "have a negative weight.", REMEDY, argument="weights")
    if not values.max() > 0:
        raise InputError("are all zero.", argument="weights", predicate=True, remedy="Check them.")
    values = values / values.max()
    return np.asarray(values / values.mean())


REMEDY = "Correct them, or leave out these rows; a weight of zero leaves a row out of the sums."


def effective(weights: Array) -> float:
    """(Σw)² / Σw², the number of rows of equal weight that these are worth."""
    return float(weights.sum() ** 2 / (weights**2).sum())
