"""One pass over the upper triangle of the Stein matrix: the statistic and all bootstrap draws.

The statistic is U = Σ_{i≠j} H_ij / n(n−1), a draw U* = Σ_{i≠j} ε_i ε_j H_ij / n(n−1) with signs ε. The matrix
is visited in strips of rows; each strip returns its share and the shares are added in the order of the
strips, so that the result does not depend on who computed them. Memory is O(n·draws + strip), never n².
Signs are drawn in one of two ways (:mod:`goodstein.engine.schemes`).

A matrix ττᵀ with a thin factor τ, (n, c), is never formed (:mod:`goodstein.engine.thin`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from goodstein.engine.executors import Workers, one_blas_thread, run
from goodstein.engine.schemes import Held, Weights
from goodstein.engine.signs import CHUNK
from goodstein.engine.thin import thin_forms
from goodstein.engine.triangle import above_diagonal, areas
from goodstein.engine.workspace import scratch
from goodstein.lazy import cached_property
from goodstein.numerics.ranges import cut
from goodstein.types import Array

WIDE, LARGE = 768, 1000
"""Columns of a tile of one form, of so many rows and more.

Threads wait for Python's lock after every call, so that calls should be long. A stride of a power of two
would let rows displace each other in the cache.
"""

SEVERAL, LEAST = 4480, 192
"""Columns of a tile that several forms share, of all of them together, and at least of each: one thread would
like fewer, which stay in its cache, two threads more."""

MANY = 20_000
"""Rows from which on memory counts more than a fraction of a millisecond."""

MOST_APART = 1e24
"""Where the largest entry of the diagonal is more times the usual one, products are in double precision."""


class Form(Protocol):
    """All that the engine knows of a Stein form."""

    @property
    def n(self) -> int:
        """Number of observations."""

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]."""

    def diagonal(self) -> Array:
        """The diagonal of H."""

    def take(self, index: Any) -> Form:
        """The form of some observations, in the given order."""

    @property
    def factor(self) -> Array | None:
        """τ, (n, c), with H = ττᵀ, where there is one; None elsewhere."""


class Bundle(Protocol):
    """Several forms of the same observations that are cheaper together than one by one."""

    @property
    def n(self) -> int:
        """Number of observations."""

    @property
    def scales(self) -> Sequence[float]:
        """A positive number for each form, divided by which its entries are safe in single precision."""

    @property
    def wide(self) -> bool:
        """Whether the entries of a form are too far apart for single precision."""

    def take(self, index: Any) -> Bundle:
        """The forms of some observations, in the given order."""

    def fill(self, rows: slice, cols: slice, out: Held) -> Array:
        """Write H[rows, cols]/scale of every form to out[form], zeros on and below H's diagonal.

        Returns the sums of the entries of H that were written, (forms,).
        """


@dataclass(frozen=True)
class Alone(Bundle):
    """A bundle of one form."""

    form: Form

    def thin(self, weights: Weights | None) -> Array | None:
        """The factor τ, where it is less work than the matrix."""
        tau = self.form.factor
        return None if tau is None or (weights is not None and 2 * tau.shape[1] > self.n) else tau

    @property
    def n(self) -> int:
        return self.form.n

    @cached_property
    def scales(self) -> tuple[float]:
        """The largest entry of the matrix, which lies on its diagonal."""
        return (float(self.form.diagonal().max()) or 1.0,)

    @cached_property
    def wide(self) -> bool:
        """One row may be so large that all others would become zeros."""
        diagonal = self.form.diagonal()
        positive, largest = diagonal[diagonal > 0.0], float(diagonal.max())
        # The smallest of them, which is quickly found, usually tells.
        if not len(positive) or largest <= MOST_APART * float(positive.min()):
            return False
        return largest > MOST_APART * float(np.median(positive))

    def take(self, index: Any) -> Alone:
        return Alone(self.form.take(index))

    def fill(self, rows: slice, cols: slice, out: Held) -> Array:
        block = above_diagonal(self.form.block(rows, cols), rows, cols)
        np.multiply(block, 1.0 / self.scales[0], out=out[0], casting="same_kind")
        return np.array([block.sum()])


def quadratic_forms(
    form: Form, weights: Weights | None, *, workers: Workers = None, tile: int | None = None
) -> tuple[float, Array]:
    """U and its bootstrap draws; without weights, a scheme of signs, the statistic alone.

    `tile` columns of the matrix are computed at a time, which changes speed only.
    """
    statistics, draws = joint_quadratic_forms([Alone(form)], weights, workers=workers, tile=tile)
    return float(statistics[0]), draws[0]


@one_blas_thread()
def joint_quadratic_forms(
    bundles: Sequence[Bundle], weights: Weights | None, *, workers: Workers = None, tile: int | None = None
) -> tuple[Array, Array]:
    """U of every form, (forms,), and bootstrap draws with the same signs for all of them, (forms, draws).

    Parameters are those of :func:`quadratic_forms`; all forms are of the same observations. There is one BLAS
    thread from the first product to the last: others go on spinning for a while when they have been used, on
    a core that tiles need.
    """
    order = weights.order() if weights is not None else None
    thin = [bundle.thin(weights) if isinstance(bundle, Alone) else None for bundle in bundles]
    rest = [bundle for bundle, factor in zip(bundles, thin, strict=True) if factor is None]
    by_strips = iter(_by_strips(rest, order, weights, workers, tile) if rest else ())
    found: list[tuple[float, Array]] = []
    for bundle, factor in zip(bundles, thin, strict=True):
        if factor is None:
            found += [next(by_strips) for _ in bundle.scales]
        else:
            found.append(thin_forms(factor.__getitem__, len(factor), weights, workers=1))
    return np.array([statistic for statistic, _ in found]), np.array([draws for _, draws in found])


def _by_strips(
    bundles: Sequence[Bundle],
    order: npt.NDArray[np.intp] | None,
    weights: Weights | None,
    workers: Workers,
    tile: int | None,
) -> list[tuple[float, Array]]:
    """U of every form and its draws, by one pass over the matrices."""
    n = bundles[0].n
    if order is not None:
        bundles = [bundle.take(order) for bundle in bundles]
    strips = weights.strips() if weights is not None else cut(0, n, CHUNK)
    scales = [scale for bundle in bundles for scale in bundle.scales]
    precision = np.float64 if any(bundle.wide for bundle in bundles) else np.float32
    if tile is None:
        tile = _width(n, len(scales))
    task = _StripTask(tuple(bundles), weights, len(scales), tile, precision)
    if workers is None or isinstance(workers, int):
        task.prepare()
    results = run(task, strips, workers, size=n, costs=areas(strips, n))
    pairs = n * (n - 1)
    found = []
    for k, scale in enumerate(scales):
        statistic = 2.0 * float(sum(total[k] for total, _ in results)) / pairs
        draws = np.empty(0)
        if weights is not None:
            draws = weights.draws([partials[k] for _, partials in results]) * (2.0 * scale / pairs)
        found.append((statistic, draws))
    return found


def _width(n: int, count: int) -> int:
    """Columns of a tile of so many forms."""
    if count == 1:
        return WIDE if n >= LARGE else CHUNK
    # An odd multiple of 32, or nearly so: no stride may be a power of two.
    return max(LEAST, min(WIDE, SEVERAL // count) // 64 * 64 - 32)


@dataclass(frozen=True)
class _StripTask:
    bundles: tuple[Bundle, ...]
    weights: Weights | None
    count: int
    tile: int
    precision: type[np.floating[Any]]

    def prepare(self) -> None:
        """Make what all tiles share: threads that begin together would each make it, at a peak of memory."""
        if self.weights is not None:
            _ = self.weights.signs
        for bundle in self.bundles if self.bundles[0].n >= MANY else ():
            bundle.fill(slice(0, 1), slice(0, 1), np.empty((len(bundle.scales), 1, 1), self.precision))

    def __call__(self, rows: slice) -> tuple[Array, list[Array]]:
        """For every form, the sum of the strip's entries above the diagonal, and its share of the draws."""
        n, height, count = self.bundles[0].n, rows.stop - rows.start, self.count
        totals = np.zeros(count)
        partials: list[Array] = []
        wide = self.tile if self.weights is None else self.weights.columns
        width = max(self.tile, wide // count // self.tile * self.tile)
        for start in range(rows.start, n, width):
            stop = min(start + width, n)
            held = scratch("strip", (count, height, stop - start), self.precision)
            for cols in cut(start, stop, self.tile):
                first = 0
                for bundle in self.bundles:
                    last = first + len(bundle.scales)
                    out = held[first:last, :, cols.start - start : cols.stop - start]
                    totals[first:last] += bundle.fill(rows, cols, out)
                    first = last
            if self.weights is not None:
                shares = self.weights.strip_draws(rows, slice(start, stop), held)
                partials = [a + b for a, b in zip(partials, shares, strict=True)] if partials else shares
        return totals, partials
