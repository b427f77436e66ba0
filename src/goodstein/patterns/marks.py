"""Kernels of marks, and their sums over points and nodes: by functions where Gaussian, else by pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from goodstein.kernels import Gaussian, Kernel
from goodstein.numerics.ranges import cut
from goodstein.types import Array

ROWS = 512
"""Rows of the matrix of pairs that are held at a time."""

NARROW = 0.025
"""Bandwidths below which a kernel is not expanded in functions, of which there would be too many."""

SMALL = 1e-8
"""Eigenvalues, relative to the largest, of functions that are left out."""


@dataclass(frozen=True)
class OfMarks(Kernel):
    """A kernel of marks, which have no units."""

    kernel: Kernel

    @property
    def given(self) -> Kernel:
        return self.kernel

    @property
    def bandwidths(self) -> float | list[Any] | None:
        return self.kernel.bandwidths

    def __call__(self, x: Any, y: Any) -> Array:
        return self.kernel(x, y)


@dataclass(frozen=True)
class _Expanded:
    """k(z, z′) = ψ(z)·ψ(z′) with finitely many functions ψ of points (n, c) and of nodes (N, c)."""

    own: Array
    nodes: Array

    def studentised(self, mass: float) -> _Expanded:
        """With k(z, z′)/√(s(z)s(z′)) for k, where s(z) = (1 + Σ k(z, ·) over the other points)/M."""
        seen = self.own.sum(axis=0)
        own, nodes = _rarity(self.own @ seen - self.diagonal(), self.nodes @ seen, mass)
        return _Expanded(own[:, None] * self.own, nodes[:, None] * self.nodes)

    def block(self, rows: slice, cols: slice) -> Array:
        return np.asarray(self.own[rows] @ self.own[cols].T)

    def diagonal(self) -> Array:
        return np.asarray((self.own**2).sum(axis=1))

    def between(self, w: Array) -> Array:
        return np.asarray(self.own @ (w @ self.nodes))

    def among(self, w: Array) -> float:
        return float(((w @ self.nodes) ** 2).sum())

    def total(self) -> float:
        return float((self.own.sum(axis=0) ** 2).sum())


@dataclass(frozen=True)
class _Direct:
    """The same for any kernel, pair by pair, with factors of points (n,) and of nodes (N,)."""

    kernel: Kernel
    own: Array
    nodes: Array
    of_own: Array
    of_nodes: Array

    def studentised(self, mass: float) -> _Direct:
        ones = np.ones(len(self.own))
        others = self._sums(self.own, self.own, ones) - self.diagonal()
        of_own, of_nodes = _rarity(others, self._sums(self.nodes, self.own, ones), mass)
        return _Direct(self.kernel, self.own, self.nodes, of_own, of_nodes)

    def block(self, rows: slice, cols: slice) -> Array:
        factors = self.of_own[rows, None] * self.of_own[None, cols]
        return np.asarray(factors * self.kernel(self.own[rows], self.own[cols]))

    def diagonal(self) -> Array:
        # The kernel is a function of distances, so that k(z, z) is the same for all.
        one = np.zeros((1, self.nodes.shape[1]))
        return np.asarray(self.of_own**2 * self.kernel(one, one)[0, 0])

    def between(self, w: Array) -> Array:
        return np.asarray(self.of_own * self._sums(self.own, self.nodes, self.of_nodes * w))

    def among(self, w: Array) -> float:
        w = self.of_nodes * w
        return float(w @ self._sums(self.nodes, self.nodes, w))

    def total(self) -> float:
        return float(self.of_own @ self._sums(self.own, self.own, self.of_own))

    def _sums(self, x: Array, y: Array, w: Array) -> Array:
        parts = [self.kernel(x[rows], y) @ w for rows in cut(0, len(x), ROWS)]
        return np.concatenate([np.empty(0), *parts])


def sums_of(kernel: Kernel, own: Array, nodes: Array) -> _Expanded | _Direct:
    """Sums of a kernel over marks of points and of nodes, in the way that is the faster one."""
    if not isinstance(kernel, Gaussian) or own.shape[1] > 2 or kernel.length < NARROW:
        return _Direct(kernel, own, nodes, np.ones(len(own)), np.ones(len(nodes)))
    return _Expanded(expanded(own, kernel.length), expanded(nodes, kernel.length))


def _rarity(own: Array, nodes: Array, mass: float) -> tuple[Array, Array]:
    """√(M/(1 + Σ k)) of points and nodes, from sums of the kernel over the marks of the other points."""
    # The expansion leaves a hair below zero where no other mark is near.
    return tuple(np.sqrt(mass / (1.0 + np.maximum(sums, 0.0))) for sums in (own, nodes))  # type: ignore[return-value]


def expanded(z: Array, length: float) -> Array:
    """ψ(z) with ψ(z)·ψ(z′) = exp(−‖z − z′‖²/2ℓ²) to about 1e-6, for marks in [0, 1]^d and d ≤ 2, (n, c)."""
    functions = _functions(2.0 * length)
    degrees = np.arange(len(functions))
    # T_k(x) = cos(k arccos x); rounding may leave a mark a hair outside.
    angles = np.arccos(np.clip(2.0 * z.T - 1.0, -1.0, 1.0))
    parts = [np.cos(np.multiply.outer(angle, degrees)) @ functions for angle in angles]
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.asarray((parts[0][:, :, None] * parts[1][:, None, :]).reshape(len(z), functions.shape[1] ** 2))


@lru_cache(maxsize=16)
def _functions(length: float) -> Array:
    """Coefficients of the functions on [−1, 1] in Chebyshev polynomials, (m, c): k ≈ Σ_ab A_ab T_a T_b."""
    count = math.ceil(6.0 / length) + 12
    places = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    to_coefficients = np.linalg.inv(np.polynomial.chebyshev.chebvander(places, count - 1))
    gram = np.exp(-0.5 * (places[:, None] - places) ** 2 / length**2)
    values, vectors = np.linalg.eigh(to_coefficients @ gram @ to_coefficients.T)
    kept = values > SMALL * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
