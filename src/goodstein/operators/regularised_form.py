"""The Stein matrix of a regularised operator: H less what the reference points explain of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.engine.executors import one_blas_thread
from goodstein.engine.workspace import scratch
from goodstein.errors import InputError
from goodstein.lazy import cached_property
from goodstein.numerics.ranges import cut
from goodstein.stein.forms import BlockForm, DenseForm
from goodstein.stein.totals import loose_block
from goodstein.types import Array, Single

SINGLE = 3e-3
"""Strengths from which on a statistic may do with single precision."""


def ridge_of(diagonal: Array, strength: float) -> float:
    """λ, from h(z, z)."""
    trace = float(diagonal.mean())
    if not trace > 0:
        raise InputError(
            f"The operator inside Regularised is zero at all {len(diagonal)} reference points, so "
            "nothing can be learnt from them. Check the auxiliary function and the data."
        )
    return strength * trace


def whole(inner: BlockForm, ridge: float) -> DenseForm:
    """n H(H + nλ)⁻¹ = n(I − nλ(H + nλ)⁻¹), in which nothing large cancels."""
    from scipy.linalg import cho_factor, cho_solve

    n = inner.n
    with one_blas_thread():
        shifted = inner.matrix()
        shifted.flat[:: n + 1] += n * ridge
        inverse = cho_solve(cho_factor(shifted, lower=True, overwrite_a=True), np.eye(n))
    inverse *= -(n * ridge)
    inverse.flat[:: n + 1] += 1.0
    return DenseForm(0.5 * n * (inverse + inverse.T))


class Factor:
    """L, lower triangular, with L Lᵀ = mλI + h(Z, Z)."""

    def __init__(self, reference: BlockForm, ridge: float) -> None:
        m = reference.n
        with one_blas_thread():
            shifted = reference.matrix()
            shifted.flat[:: m + 1] += m * ridge
            self.lower = np.linalg.cholesky(shifted)

    @cached_property
    def inverse(self) -> Single:
        """L⁻¹ in single precision, a product with which is faster than solving."""
        from scipy.linalg import solve_triangular

        eye = np.eye(len(self.lower))
        return np.asarray(solve_triangular(self.lower, eye, lower=True, check_finite=False), np.float32)


@dataclass(frozen=True)
class Projection:
    """W = h(·, Z) L⁻ᵀ at the tested observations, (n, m), from the form of all and where they are in it."""

    form: BlockForm
    reference: slice
    rest: slice
    factor: Factor

    @cached_property
    def values(self) -> Array:
        """W."""
        from scipy.linalg import solve_triangular

        start, stop = self.rest.start, self.rest.stop
        w = np.empty((stop - start, len(self.factor.lower)))
        with one_blas_thread():
            for cols in cut(start, stop, 256):
                block = self.form.block(self.reference, cols)
                solved = solve_triangular(self.factor.lower, block, lower=True, check_finite=False)
                w[cols.start - start : cols.stop - start] = solved.T
        return w

    @property
    def single(self) -> Array:
        """W in single precision, for sums in which its errors average out."""
        block = loose_block(self.form, self.reference, self.rest).astype(np.float32)
        return np.asarray((self.factor.inverse @ block).T, np.float64)


class RegularisedForm(BlockForm):
    """λ⁻¹(H − W Wᵀ), from H of the operator inside, W, (n, m), and λ."""

    def __init__(self, inner: BlockForm, projected: Array, ridge: float) -> None:
        self._inner, self._projected, self._ridge = inner, projected, ridge

    @property
    def n(self) -> int:
        return self._inner.n

    def take(self, index: Any) -> RegularisedForm:
        return RegularisedForm(self._inner.take(index), self._projected[index], self._ridge)

    def block(self, rows: slice, cols: slice) -> Array:
        w = self._projected
        cols = slice(cols.start, min(cols.stop, self.n))  # the audit asks for as many as it drew
        out = self._inner.block(rows, cols)
        out -= np.matmul(w[rows], w[cols].T, out=scratch("regularised", out.shape))
        out *= 1.0 / self._ridge
        return out

    @property
    def vanishes(self) -> bool:
        return self._inner.vanishes

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        return self._reduced(*_sums(self._projected))

    def _reduced(self, square: float, squares: float) -> tuple[BlockForm | None, float, float]:
        """From the square of the sum of all W, and the sum of their squares."""
        inner, factor, rest = self._inner.reduced()
        return inner, factor / self._ridge, (rest - (square - squares)) / self._ridge

    def diagonal(self) -> Array:
        w = self._projected
        left = self._inner.diagonal() - np.einsum("ij,ij->i", w, w)
        return np.asarray(np.maximum(left, 0.0) / self._ridge)  # below zero by rounding only


class DrawnForm(RegularisedForm):
    """The same, with W made when a block is asked for: a statistic alone needs less of it."""

    def __init__(self, inner: BlockForm, projection: Projection, ridge: float, strength: float) -> None:
        self._inner, self._projection, self._ridge, self._strength = inner, projection, ridge, strength

    @cached_property
    def _projected(self) -> Array:
        return self._projection.values

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        # 1/λ multiplies rounding errors.
        w = self._projection.single if self._strength >= SINGLE else self._projected
        return self._reduced(*_sums(w))


def _sums(w: Array) -> tuple[float, float]:
    """‖Σ_i W_i‖² and Σ_i ‖W_i‖²."""
    total = w.sum(axis=0)
    return float(total @ total), float(np.vdot(w, w))
