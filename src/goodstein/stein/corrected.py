r"""The Stein matrix of features that take part in the fit of the model's parameters.

With influence values IF, (n, p), of fitted parameters the mean feature is to first order the mean of

    ξ̃_i = ξ_i + Σ_a D_a IF_ia,    D_a = mean_j ∂_a ξ_j,

whose matrix is H̃ = H + C IFᵀ + IF Cᵀ + IF K IFᵀ with C_ia = ⟨ξ_i, D_a⟩ and K_ab = ⟨D_a, D_b⟩: a correction
of rank 2p, so that neither memory nor time grow with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.engine.executors import one_blas_thread
from goodstein.numerics.ranges import cut
from goodstein.stein.features import Features
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

BUDGET = 3e7
"""Entries of Stein matrices from which the derivatives are taken, about; a second's work."""

FEWEST = 100
"""Rows at the least from which they are taken, however many parameters there are."""

HEIGHT, WIDTH = 256, 1024


class CorrectedForm(BlockForm):
    """H̃ = H + B IFᵀ + IF Bᵀ, with B = C + ½ IF K, (n, p), and IF, (n, p)."""

    def __init__(self, inner: BlockForm, half: Array, influence: Array) -> None:
        self._inner, self._half, self._influence = inner, half, influence
        self._left = np.hstack([half, influence])
        self._right = np.hstack([influence, half])

    @property
    def n(self) -> int:
        return self._inner.n

    @property
    def added(self) -> float:
        """What the correction adds to the sum of the diagonal."""
        return 2.0 * float(np.einsum("ia,ia->", self._half, self._influence))

    def take(self, index: Any) -> CorrectedForm:
        return CorrectedForm(self._inner.take(index), self._half[index], self._influence[index])

    def block(self, rows: slice, cols: slice) -> Array:
        out = self._inner.block(rows, cols)
        out += self._left[rows] @ self._right[cols].T
        return out

    def diagonal(self) -> Array:
        correction = 2.0 * np.einsum("ia,ia->i", self._half, self._influence)
        return np.asarray(np.maximum(self._inner.diagonal() + correction, 0.0))


def corrected(form: BlockForm, joined: Features, kernel: Any, steps: Array, influence: Array) -> CorrectedForm:
    """H̃ from H, and from all features at θ̂ and then, for one parameter after another, some at θ̂ ± step.

    The derivative D_a is a central difference of mean features, over the standard error of the parameter:
    that is as far as the expansion is used, and a score with kinks has a derivative on that scale only.
    """
    n, p = influence.shape
    whole = joined.form(kernel)
    m = (whole.n - n) // (2 * p)
    with one_blas_thread():
        means = _means(whole, n, m, 2 * p)
    slopes = (means[0::2] - means[1::2]) / (2.0 * steps[:, None])
    c = slopes[:, :n].T
    ends = slopes[:, n:].reshape(p, 2 * p, m).mean(axis=2)
    k = (ends[:, 0::2] - ends[:, 1::2]) / (2.0 * steps)
    return CorrectedForm(form, c + influence @ (0.25 * (k + k.T)), influence)


def rows_for_slopes(n: int, p: int) -> npt.NDArray[np.intp]:
    """Rows whose features D is a mean of: all, or so many at random that 2pm(n + 2pm) is affordable."""
    affordable = 0.5 * (np.sqrt(n**2 + 4.0 * BUDGET) - n) / (2 * p)
    m = int(max(min(n, FEWEST), min(n, affordable)))
    return np.arange(n) if m == n else np.sort(np.random.default_rng(0).choice(n, m, replace=False))


def _means(form: BlockForm, n: int, m: int, stacks: int) -> Array:
    """The mean of the rows of every stack, (stacks, columns)."""
    means = np.zeros((stacks, form.n))
    for k in range(stacks):
        for rows in cut(n + k * m, n + (k + 1) * m, HEIGHT):
            for cols in cut(0, form.n, WIDTH):
                means[k, cols] += form.block(rows, cols).sum(axis=0)
    return means / m
