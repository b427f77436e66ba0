"""What goodstein is measured against: an inevitable matrix product, and two plain versions of the test.

Both plain versions are written from the definition

    h(x, y) = s(x)·s(y) k + s(x)·∇_y k + s(y)·∇_x k + tr ∇_x∇_y k

for points x with scores s, and take the statistic U = Σ_{i≠j} h_ij / n(n−1) with B draws
U* = Σ_{i≠j} ε_i ε_j h_ij / n(n−1).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from timing import Action, blas_threads

Array = npt.NDArray[np.float64]


def matrix_product(n: int, draws: int, threads: int) -> Action:
    """The limit: n²B/2 multiply-adds in single precision, by the BLAS of NumPy.

    The product (B, n/2) × (n/2, n) is taken in pieces of at most 1000 columns, always the same
    ones, so that memory stays small and everything is warm. The threads share the pieces and BLAS
    has one thread in each: on an idle machine that is as fast as threads within BLAS, which on a
    busy one wait for each other and would make the limit look slow.
    """
    pieces = threads * math.ceil(n / (1000 * threads))
    widths = [n * (k + 1) // pieces - n * k // pieces for k in range(pieces)]
    rng = np.random.default_rng(0)
    signs = rng.standard_normal((draws, n // 2), np.float32)
    piece = rng.standard_normal((n // 2, max(widths)), np.float32)
    outs = [np.empty((draws, max(widths)), np.float32) for _ in range(threads)]

    def share(thread: int) -> None:
        for width in widths[thread::threads]:
            np.matmul(signs, piece[:, :width], out=outs[thread][:, :width])

    def run() -> None:
        with blas_threads(1):
            if threads == 1:
                share(0)
            else:
                with ThreadPoolExecutor(threads) as pool:
                    list(pool.map(share, range(threads)))

    return run


def full_matrix_test(x: Array, score: Array, draws: int, seed: int = 0) -> tuple[float, Array]:
    """IMQ kernel (1 + ‖x − y‖²)^(−1/2); the whole matrix, then one product with all signs."""
    n = len(x)
    h = imq_stein_matrix(x, score)
    np.fill_diagonal(h, 0.0)
    statistic = h.sum() / (n * (n - 1))
    signs = 2.0 * np.random.default_rng(seed).integers(0, 2, (draws, n)) - 1.0
    return statistic, np.einsum("bi,bi->b", signs @ h, signs) / (n * (n - 1))


def imq_stein_matrix(x: Array, score: Array) -> Array:
    """The Stein matrix of the IMQ kernel with unit bandwidth, (n, n), as one would write it in NumPy."""
    d = x.shape[1]
    norms = (x**2).sum(axis=1)
    squared = norms[:, None] + norms - 2.0 * (x @ x.T)
    own = (x * score).sum(axis=1)
    mixed = x @ score.T
    # (x − y)·(s(y) − s(x))
    drift = mixed + mixed.T - own[:, None] - own
    base = 1.0 + squared
    k = 1.0 / np.sqrt(base)
    return k * (score @ score.T - (drift - d) / base - 3.0 * squared / base**2)


def per_draw_test(x: Array, score: Array, draws: int, bandwidth: float, seed: int = 0) -> tuple[float, Array]:
    """The way of kgof: the matrix coordinate by coordinate, then n² work for each draw by itself."""
    n = len(x)
    h = gaussian_stein_matrix_by_coordinates(x, score, bandwidth)
    np.fill_diagonal(h, 0.0)
    statistic = h.sum() / (n * (n - 1))
    rng = np.random.default_rng(seed)
    sample = np.empty(draws)
    for b in range(draws):
        signs = 2.0 * rng.integers(0, 2, n) - 1.0
        sample[b] = signs @ (h @ signs)
    return statistic, sample / (n * (n - 1))


def gaussian_stein_matrix_by_coordinates(x: Array, score: Array, bandwidth: float) -> Array:
    """The Stein matrix of the Gaussian kernel, (n, n); for each coordinate both gradients, kernel and all."""
    n, d = x.shape
    first, second = np.zeros((n, n)), np.zeros((n, n))
    for i in range(d):
        first += _gaussian_gradient(x, i, bandwidth) * score[:, i]
        second += -_gaussian_gradient(x, i, bandwidth) * score[:, i, None]
    squared = _squared_distances(x)
    k = np.exp(-squared / (2.0 * bandwidth**2))
    trace = k / bandwidth**2 * (d - squared / bandwidth**2)
    return k * (score @ score.T) + first + second + trace


def _gaussian_gradient(x: Array, i: int, bandwidth: float) -> Array:
    """The derivative of k(x, y) by coordinate i of x, (n, n)."""
    k = np.exp(-_squared_distances(x) / (2.0 * bandwidth**2))
    return -k * (x[:, i, None] - x[:, i]) / bandwidth**2


def _squared_distances(x: Array) -> Array:
    norms = (x**2).sum(axis=1)
    return norms[:, None] - 2.0 * (x @ x.T) + norms
