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
from goodstein.engine.watching import Finished, begin
from goodstein.numerics.ranges import cut
from goodstein.stein.features import Features
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

BUDGET = 5e6
"""Entries of Stein matrices from which the derivatives are taken, about: a fraction of a second's work."""

FEWEST = 100
"""Rows at the least from which they are taken, however many parameters there are."""

LEAST = 0.25
"""Share of its variance that any observation keeps: one that determines a parameter alone shows nothing."""

HEIGHT, WIDTH, EDGE = 256, 1024, 32


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
    joined: Features,
    kernel: Any,
    steps: Array,
    influence: Array,
    *,
    likelihood: bool,
    told: Finished | None = None,
) -> CorrectedForm:
    """H̃ from H, and from all features at θ̂ and then, for one parameter after another, some at θ̂ ± step.

    D_a is a central difference of mean features, over the standard error of the parameter: that is as far as
    the expansion is used, and a score with kinks has a derivative on that scale only. For parameters of
    maximum likelihood it is also minus the covariance of the features and the derivatives ψ of the log
    likelihood, since 0 = ∂E_θ ξ = E ∂ξ + E ξψ. Differences of smooth features are the more precise, those of
    features with large derivatives, or with kinks, the less; so both are averaged, with weights by their
    variances in these data. Whoever waits is `told` of rows that are done, n in all.

    Features from which a fit was taken off fall short of those that it left alone: by the share p/n of their
    variance on average, and where D was found as a covariance, which is a regression of ξ on ψ, each by its
    leverage h_i = IF_iᵀ (Σ_j IF_j IF_jᵀ)⁻¹ IF_i. The scales (1 − w h_i − (1 − w) p/n)^(−½), with w the weight
    of the covariance, make up for that.
    """
    told = told or begin(0)
    n, p = influence.shape
    whole = joined.form(kernel)
    m = (whole.n - n) // (2 * p)
    with one_blas_thread():
        means, ends = _means(whole, n, m, 2 * p)
        c = (means[0::2] - means[1::2]).T / (2.0 * steps)
        k = (ends[0::2] - ends[1::2]) / (2.0 * steps[:, None])
        k = (k[:, 0::2] - k[:, 1::2]) / (2.0 * steps)
        if likelihood:
            noise = (_squares(whole, n, m, steps) - np.diag(k)) / m
            c, k, w = _averaged(form, c, k, noise, influence, told)
        else:
            w = 0.0
            told(n)
    return CorrectedForm(form, c + 0.5 * influence @ k, influence, _scales(influence, w))


def _scales(influence: Array, w: float) -> Array:
    """(1 − w h − (1 − w) p/n)^(−½), (n,)."""
    n, p = influence.shape
    leverage = (np.linalg.qr(influence)[0] ** 2).sum(axis=1)
    kept = 1.0 - w * leverage - (1.0 - w) * p / n
    return np.asarray(1.0 / np.sqrt(np.maximum(kept, LEAST)))


def rows_for_slopes(n: int, p: int) -> npt.NDArray[np.intp]:
    """Rows whose features D is a mean of: all, or so many at random that 2pm(n + pm) is affordable."""
    affordable = (np.sqrt(n**2 + 2.0 * BUDGET) - n) / (2 * p)
    m = int(max(min(n, FEWEST), min(n, affordable)))
    return np.arange(n) if m == n else np.sort(np.random.default_rng(0).choice(n, m, replace=False))


def _means(form: BlockForm, n: int, m: int, stacks: int) -> tuple[Array, Array]:
    """The mean of the rows of every stack at the first n columns, (stacks, n), and over stacks, squared."""
    means, ends = np.zeros((stacks, n)), np.zeros((stacks, stacks))
    edges = [n + k * m for k in range(stacks + 1)]
    for k in range(stacks):
        for rows in cut(edges[k], edges[k + 1], HEIGHT):
            for cols in cut(0, n, WIDTH):
                means[k, cols] += form.block(rows, cols).sum(axis=0)
            for other in range(k, stacks):
                for cols in cut(edges[other], edges[other + 1], WIDTH):
                    ends[k, other] += form.block(rows, cols).sum()
    return means / m, (np.triu(ends) + np.triu(ends, 1).T) / m**2


def _squares(form: BlockForm, n: int, m: int, steps: Array) -> Array:
    """The mean of ‖∂_a ξ_j‖² over j, for every parameter, (p,)."""
    diagonal, squares = form.diagonal(), np.empty(len(steps))
    for a, step in enumerate(steps):
        up, down = n + 2 * a * m, n + (2 * a + 1) * m
        parts = cut(0, m, EDGE)
        between = sum(
            form.block(slice(up + r.start, up + r.stop), slice(down + r.start, down + r.stop)).trace()
            for r in parts
        )
        own = diagonal[up : up + m].sum() + diagonal[down : down + m].sum()
        squares[a] = max(own - 2.0 * between, 0.0) / (m * (2.0 * step) ** 2)
    return squares


def _averaged(
    form: BlockForm, c: Array, k: Array, noise: Array, influence: Array, told: Finished
) -> tuple[Array, Array, float]:
    """C and K of D averaged with minus the covariance of ξ and ψ, IF times the information; its weight."""
    n = len(influence)
    psi = np.linalg.solve(influence.T @ influence / n, influence.T).T  # (n, p)
    other = np.zeros_like(c)
    for rows in cut(0, n, HEIGHT):
        for cols in cut(0, n, WIDTH):
            other[rows] -= form.block(rows, cols) @ psi[cols] / n
        told(rows.stop - rows.start)
    squared = -psi.T @ other / n
    spread = (influence**2).mean(axis=0)
    noises = [float(spread @ noise)]
    noises.append(float(spread @ ((psi**2 * form.diagonal()[:, None]).mean(axis=0) - np.diag(squared)) / n))
    w = noises[0] / (sum(noises) or 1.0)
    mixed = -c.T @ psi / n
    k = (1 - w) ** 2 * k + w**2 * squared + w * (1 - w) * (mixed + mixed.T)
    return (1 - w) * c + w * other, k, w
