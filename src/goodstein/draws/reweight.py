"""Stein importance weights: weights of draws under which they stand for a model best."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from goodstein.domains.base import Domain
from goodstein.draws.thin import prepared
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import InputError, within_memory
from goodstein.kernels.base import Kernel
from goodstein.operators.base import Operator
from goodstein.types import Array, ArrayLike

MOST = 2500
"""Draws whose Stein matrix is held."""


class SteinWeights(NamedTuple):
    """Weights of draws, and how good they are.

    Attributes
    ----------
    weights
        Not negative, of sum one, (n,); many are zero.
    ksd, equal
        The discrepancy of the weighted draws, √(wᵀHw), and that with equal weights.
    gap
        By how much wᵀHw may exceed the smallest there is, 2(wᵀHw − min_i (Hw)_i): a certificate that needs
        no trust in the solver.
    """

    weights: Array
    ksd: float
    equal: float
    gap: float

    def __repr__(self) -> str:
        n, kept = len(self.weights), int(np.count_nonzero(self.weights))
        return (
            f"SteinWeights({n} weights, {kept} of them above zero; "
            f"KSD {self.ksd:.4g}, with equal weights {self.equal:.4g}; gap {self.gap:.2g})"
        )


def stein_weights(
    draws: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
) -> SteinWeights:
    r"""Weights under which draws have the smallest kernel Stein discrepancy.

    .. math:: \min_w \; w^\top H w \quad \text{with} \quad w \ge 0, \; \textstyle\sum_i w_i = 1.

    Nothing is asked of where the draws come from: they may be those of a chain with a bias, of a variational
    fit, or of all iterations of a search. The weighted mean of a function estimates its mean under the model.

    Parameters
    ----------
    draws, model, domain, operator, kernel
        As in :func:`thin`. Of more than 2500 draws choose some with it first.

    Notes
    -----
    The weights fit the noise of these draws: a test of the same draws with them is not valid. For that
    weights must be functions of the draw alone (:class:`Weighted`).

    With H = RᵀR and u = tw the programme is that of non-negative least squares, ‖Ru‖² + (1 − Σu)² =
    t² wᵀHw + (1 − t)², whose minimum over t grows with wᵀHw.

    References
    ----------
    Liu, Lee (2017), Black-box importance sampling. Hodgkinson, Salomone, Roosta (2020), The reproducing Stein
    kernel approach for post-hoc corrected sampling.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> x = np.random.default_rng(1).normal(0.5, 1.5, 200)
    >>> found = gs.stein_weights(x, gs.families.Normal(0, 1))
    >>> bool(abs(found.weights @ x) < 0.05), found.ksd < 0.2 * found.equal
    (True, True)
    """
    problem = prepared(draws, model, domain, operator, kernel)
    n = len(problem.data)
    if n > MOST:
        raise InputError(
            f"{n} draws; their Stein matrix is held as a whole, for {MOST} at most.",
            argument="draws",
            remedy=f"Choose some first: rows = thin(draws, model, {MOST}).",
        )
    with one_blas_thread(), within_memory():
        matrix = problem.form.matrix()
        equal = float(matrix.mean())
        # In units in which both terms of the least squares are of the size of one.
        values, vectors = np.linalg.eigh(matrix / equal)
        kept = values > 1e-14 * values[-1]
        root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
        target = np.zeros(len(root) + 1)
        target[-1] = 1.0
        found, _ = nnls(np.vstack([root, np.ones(n)]), target, maxiter=30 * n)
        weights = found / found.sum()
        products = matrix @ weights
    square = float(weights @ products)
    gap = 2.0 * max(square - float(products.min()), 0.0)
    return SteinWeights(weights, math.sqrt(max(square, 0.0)), math.sqrt(equal), gap)
