r"""The Stein matrix of features that take part in the fit of the model's parameters.

With influence values IF, (n, p), of fitted parameters the mean feature is to first order the mean of

    ξ̃_i = ξ_i + Σ_a D_a IF_ia,    D_a = E ∂_a ξ = −E ξ ψ_a,

since 0 = ∂E_θ ξ = E ∂ξ + E ξψ with ψ the derivatives of the log density. Its matrix is
H̃ = H + C IFᵀ + IF Cᵀ + IF K IFᵀ with C_ia = ⟨ξ_i, D_a⟩ and K_ab = ⟨D_a, D_b⟩: a correction of rank 2p, so
that neither memory nor time grow with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.engine.executors import one_blas_thread
from goodstein.engine.progress import Finished, begin
from goodstein.numerics.ranges import cut
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

LEAST = 0.25
"""Share of its variance that any observation keeps: one that determines a parameter alone shows nothing."""

ROUNDING, LITTLE = 1e-4, 0.1
"""Shares of the trace below which the matrix stays as it was: the fit leaves nothing but rounding, or so
little that second order counts too. The latter holds for collections, which without it reject .037 to .11 of
true models at .05 and with it .02 to .05, and for operators of second degree, such as Dilation under a wide
kernel (.19 with a share of .01). Others keep the level by themselves: mixtures, with shares of .002 to .15,
reject .02 to .08."""

HEIGHT, WIDTH = 256, 1024


class CorrectedForm(BlockForm):
    """s_i s_j H̃_ij, H̃ = H + B IFᵀ + IF Bᵀ, with B = C + ½ IF K, (n, p), IF, (n, p), and `scales` s, (n,)."""

    def __init__(self, inner: BlockForm, half: Array, influence: Array, scales: Array) -> None:
        self.inner = inner
        self._half, self._influence, self._scales = half, influence, scales
        self._left = np.hstack([half, influence])
        self._right = np.hstack([influence, half])

    @property
    def n(self) -> int:
        return self.inner.n

    def take(self, index: Any) -> CorrectedForm:
        parts = self._half[index], self._influence[index], self._scales[index]
        return CorrectedForm(self.inner.take(index), *parts)

    def block(self, rows: slice, cols: slice) -> Array:
        out = self.inner.block(rows, cols)
        out += self._left[rows] @ self._right[cols].T
        out *= self._scales[rows, None] * self._scales[cols]
        return out

    def diagonal(self) -> Array:
        correction = 2.0 * np.einsum("ia,ia->i", self._half, self._influence)
        return np.asarray(self._scales**2 * np.maximum(self.inner.diagonal() + correction, 0.0))


def corrected(
    form: BlockForm,
    influence: Array,
    psi: Array,
    drawn: BlockForm | None = None,
    told: Finished | None = None,
    *,
    least: float = ROUNDING,
) -> BlockForm:
    """H̃ from H and ψ, (m, p), at the observations themselves or at draws of the model.

    In `drawn` the features of the draws follow those of the observations. Whoever waits is `told` of rows
    that are done, n in all.

    Features from which a fit was taken off fall short of those that it left alone: where D was found at the
    observations, which is a regression of ξ on ψ, each by its leverage h_i = IF_iᵀ (Σ_j IF_j IF_jᵀ)⁻¹ IF_i,
    else by the share p/n of their variance on average. The scales (1 − h_i)^(−½) make up for that.
    """
    told = told or begin(0)
    n, p = influence.shape
    whole, first = (form, 0) if drawn is None else (drawn, n)
    slopes = np.zeros((whole.n, p))
    with one_blas_thread():
        for rows in cut(0, whole.n, HEIGHT):
            for cols in cut(first, whole.n, WIDTH):
                slopes[rows] -= whole.block(rows, cols) @ psi[cols.start - first : cols.stop - first]
            told(max(0, min(rows.stop, n) - rows.start))
        slopes /= len(psi)
        k = -psi.T @ slopes[first:] / len(psi)
        half = slopes[:n] + 0.5 * influence @ k
        leverage = (np.linalg.qr(influence)[0] ** 2).sum(axis=1) if drawn is None else np.full(n, p / n)
    found = CorrectedForm(form, half, influence, 1.0 / np.sqrt(np.maximum(1.0 - leverage, LEAST)))
    return found if found.diagonal().sum() > least * form.diagonal().sum() else form
