"""The maximum mean discrepancy between data and draws from the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_count
from goodstein.data.points import draw
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers, run
from goodstein.engine.progress import ProgressLike, watching
from goodstein.engine.schemes import strip_height
from goodstein.engine.triangle import above_diagonal, areas, upper_tiles
from goodstein.kernels.base import Kernel
from goodstein.lazy import cached_property
from goodstein.nulls.base import Calibration
from goodstein.numerics.distances import Placed
from goodstein.numerics.ranges import cut
from goodstein.pipeline.run import caveats, recorded, report_test
from goodstein.results.result import TestResult
from goodstein.stein.pairwise import Pairwise
from goodstein.tests_of_fit.draws import assumptions, compose_sampled
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator, draw_seed

WIDTH = 1024
"""Columns of the kernel matrix that are held at a time."""
SOME = 64
"""Rows from which the mean of the kernel is taken."""


def mmd_test(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    kernel: Kernel | None = None,
    n_draws: int | None = None,
    n_resamples: int = 999,
    workers: Workers = None,
    rng: RNG = None,
    progress: ProgressLike = None,
) -> TestResult:
    """Test whether a model fits data, by the maximum mean discrepancy to draws from the model.

    With m draws y from the model the statistic is

        MMD² = Σ_{i≠j} k(x_i, x_j)/(n(n−1)) + Σ_{i≠j} k(y_i, y_j)/(m(m−1)) − 2 Σ_ij k(x_i, y_j)/(nm),

    and its null distribution comes from permuting which rows are data and which are draws. The p-value is
    exact at every sample size. The score is not used; what that costs is the noise of the draws, which with
    m = n is as large as that of the data.

    Parameters
    ----------
    data, model, domain
        As in :func:`ksd_test`; points only, and the model must have a sampler.
    kernel
        None takes :class:`Gaussian` with the median distance between all rows, data and draws, as its
        bandwidth, on R^d and boxes each coordinate in units of its median absolute deviation, and
        :class:`Hamming` on a lattice. On circles, tori and charts kernels look at the
        embedded points; on a lattice radial kernels act on the positions of the levels.
    n_draws
        m; None draws as many as there are data.
    n_resamples
        Number of permutations.
    workers, rng, progress
        As in :func:`ksd_test`.

    Notes
    -----
    Time is O((n + m)²·n_resamples), memory O((n + m)·n_resamples). Another seed gives another p-value.

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola (2012), A kernel two-sample test, Journal of Machine
    Learning Research 13.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0.5, 1.0).sample(200, rng=1)
    >>> gs.mmd_test(x, gs.families.Normal(0.0, 1.0), rng=1).pvalue
    0.001
    >>> gs.mmd_test(x, gs.families.Normal(0.5, 1.0), rng=1).pvalue > 0.05
    True
    """
    watch = watching(progress)
    check_workers(workers)
    check_count(n_resamples, "n_resamples")
    if n_draws is not None:
        check_count(n_draws, "n_draws", 2)
    generator = as_generator(rng)
    seeds = [draw_seed(generator), draw_seed(generator)]
    problem = compose_sampled(data, model, domain, kernel, test="mmd_test")
    n = len(problem.data)
    m = n if n_draws is None else n_draws
    drawn = draw(problem.model, problem.domain, m, np.random.default_rng(seeds[0]))
    pooled = problem.domain.embedded(np.concatenate([problem.observations, drawn]))
    # In an order that does not say which rows are data: rules may look at some of the rows only.
    fitted = problem.kernel.fitted(pooled[np.lexsort(pooled.T)])
    pairwise = Pairwise(fitted, pooled)
    labels = Labels(seeds[1], n, m, n_resamples)
    report = assumptions(problem, "the maximum mean discrepancy")
    notes = caveats(report, simulated=True)
    with watch:
        found, told = recorded(lambda: two_sample(pairwise, pairwise.placed(pooled), labels, workers))
    return report_test(
        problem,
        Calibration(found.statistic, found.draws),
        report,
        [*notes, *told],
        null=Permutations(n_resamples),
        n=n,
        operator=None,
        kernel=fitted,
        v_statistic=found.v_statistic,
        title="Maximum mean discrepancy test",
        statistic_name="MMD², U-statistic",
        details={"n_draws": m},
        # With as many draws as data, exchanging them all changes nothing.
        smallest=(1 + (n == m)) / math.comb(n + m, n),
    )


@dataclass(frozen=True)
class Permutations:
    """Random permutations of which rows are data and which are draws from the model."""

    n_resamples: int


@dataclass(frozen=True)
class Labels:
    """Which rows are data, as numbers: √(m/n) for n rows of data, −√(n/m) for m draws.

    The numbers add up to zero, so that a constant in the kernel drops out before anything is rounded.
    """

    seed: int
    n: int
    m: int
    count: int

    @property
    def observed(self) -> Array:
        """Data first, (n + m,)."""
        return np.repeat([math.sqrt(self.m / self.n), -math.sqrt(self.n / self.m)], [self.n, self.m])

    @cached_property
    def permuted(self) -> npt.NDArray[np.float32]:
        """Random permutations of them, (count, n + m)."""
        tiled = np.tile(self.observed.astype(np.float32), (self.count, 1))
        return np.random.default_rng(self.seed).permuted(tiled, axis=1, out=tiled)

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """c₀, c₁, c₂ such that c₀ + c₁(v_i + v_j) + c₂v_iv_j is the weight of k_ij in MMD².

        These weights are 1/n(n−1) for two rows of data, 1/m(m−1) for two draws and −1/nm for one of each.
        """
        n, m = self.n, self.m
        within, among, between = 1.0 / (n * (n - 1)), 1.0 / (m * (m - 1)), -1.0 / (n * m)
        p, q = math.sqrt(m / n), math.sqrt(n / m)
        c2 = (within + among - 2.0 * between) / (p + q) ** 2
        c1 = 0.5 * ((within - among) / (p + q) - c2 * (p - q))
        return between - c1 * (p - q) + c2, c1, c2

    def __getstate__(self) -> dict[str, Any]:
        # Workers of other processes permute anew: that is faster than sending the permutations.
        return {k: v for k, v in self.__dict__.items() if k != "permuted"}


@dataclass(frozen=True)
class TwoSample:
    """The U-statistic of MMD², its permutation draws, and the V-statistic."""

    statistic: float
    draws: Array
    v_statistic: float


def two_sample(pairwise: Pairwise, pooled: Placed, labels: Labels, workers: Workers = 1) -> TwoSample:
    """MMD² of the first n rows against the last m, and of all permutations, in one pass.

    For labels v the statistic is 2[c₀Σ_{i<j}k_ij + c₁Σ_i v_i r_i + c₂Σ_{i<j}v_iv_jk_ij], with r the row sums
    of the kernel matrix without its diagonal.
    """
    total = len(pooled)
    _ = labels.permuted  # once, before threads ask for it
    strips = cut(0, total, strip_height(total))
    # A constant adds nothing to MMD². Without its mean a wide kernel keeps its digits in single precision.
    some = pooled[:: -(-total // SOME)]
    shift = float(pairwise(some, some)[~np.eye(len(some), dtype=bool)].mean())
    task = _Strip(pairwise, pooled, labels, shift)
    shares = run(task, strips, workers, size=total, costs=areas(strips, total))
    rows, quadratic, draws = np.zeros(total), 0.0, np.zeros(labels.count)
    for strip, (row_share, observed_share, share) in zip(strips, shares, strict=True):
        rows[strip.start :] += row_share
        quadratic += observed_share
        draws += share
    c0, c1, c2 = labels.coefficients
    constant, v = c0 * float(rows.sum()), labels.observed
    # Labels add up to zero: about their mean row sums are small and single precision is enough.
    deviations = rows - rows.mean()
    statistic = constant + 2.0 * (c1 * float(v @ deviations) + c2 * quadratic)
    linear = labels.permuted @ deviations.astype(np.float32)
    draws = constant + 2.0 * (c1 * linear.astype(np.float64) + c2 * draws)
    diagonal = float(v**2 @ (pairwise.diagonal(pooled) - shift))
    return TwoSample(statistic, draws, (2.0 * quadratic + diagonal) / (labels.n * labels.m))


@dataclass(frozen=True)
class _Strip:
    """The part of the kernel matrix above the diagonal that begins in some rows."""

    pairwise: Pairwise
    pooled: Placed
    labels: Labels
    shift: float

    def __call__(self, strip: slice) -> tuple[Array, float, Array]:
        """Row sums from the strip's first row on, and Σ v_iv_jk_ij for the labels and all permutations."""
        v, permuted = self.labels.observed, self.labels.permuted
        first, total = strip.start, len(self.pooled)
        rows, quadratic, draws = np.zeros(total - first), 0.0, np.zeros(self.labels.count)
        for _, cols in upper_tiles([strip], total, WIDTH):
            block = self.pairwise(self.pooled[strip], self.pooled[cols]) - self.shift
            block = above_diagonal(block, strip, cols)
            rows[: strip.stop - first] += block.sum(axis=1)
            rows[cols.start - first : cols.stop - first] += block.sum(axis=0)
            quadratic += float(v[strip] @ block @ v[cols])
            product = permuted[:, cols] @ block.astype(np.float32).T
            draws += np.einsum("bi,bi->b", permuted[:, strip], product)
        return rows, quadratic, draws
