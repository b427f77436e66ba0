"""The moderated maximum mean discrepancy, adaptive over the strength of moderation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_count
from goodstein.data.points import draw
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers, one_blas_thread, run
from goodstein.engine.progress import ProgressLike, watching
from goodstein.errors import BandwidthError, InputError
from goodstein.kernels.base import Kernel
from goodstein.nulls.base import Calibration
from goodstein.numerics.distances import Placed
from goodstein.numerics.ranges import cut
from goodstein.pipeline.run import caveats, recorded, report_test
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult
from goodstein.stein.pairwise import Pairwise
from goodstein.tests_of_fit.draws import assumptions, compose_sampled
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator, draw_seed

LEAST_DRAWS, MOST_DRAWS = 100, 200
"""Draws by default: more make a finer basis, but the test slower."""
NEGLIGIBLE = 1e-8
"""Eigenvalues below this share of the kernel's largest value are left out: single precision does not resolve
their functions."""
PRECISION = np.float32
"""Of the eigenfunctions at a sample; the noise of a sample is far larger, and double precision slower."""
ENTRIES = 1 << 16
"""Kernel values that are held at a time: larger arrays cost more in page faults than the work."""


def m3d_test(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    kernel: Kernel | None = None,
    n_draws: int | None = None,
    n_scales: int = 6,
    n_resamples: int = 199,
    workers: Workers = None,
    rng: RNG = None,
    progress: ProgressLike = None,
) -> TestResult:
    r"""Test whether a model fits data, by the moderated maximum mean discrepancy.

    The kernel, centred under the model q, has eigenvalues λ_k and eigenfunctions φ_k in L²(q). The maximum
    mean discrepancy gives φ_k the weight λ_k, which falls fast, so that it hardly sees departures that
    oscillate. The moderated one bounds test functions by ‖f‖²_{L²(q)} + ϱ²‖f‖²_H ≤ 1 and is

        η²_ϱ = Σ_k λ_k/(λ_k + ϱ²)·(E_p φ_k)²,

    estimated by the U-statistic Σ_{i≠j} K_ϱ(x_i, x_j)/n², K_ϱ = Σ_k λ_k/(λ_k + ϱ²)·φ_kφ_k. The smaller ϱ,
    the more functions count, and the more noise. The test takes the largest standardised value over
    ϱ = √λ₁·2⁻ʲ, j = 0, 1, …, and simulates the model for its null distribution, which makes the p-value
    exact at every sample size.

    Parameters
    ----------
    data, model, domain
        As in :func:`ksd_test`; points only, and the model must have a sampler.
    kernel
        None takes :class:`Gaussian` with the median distance between draws from the model as its
        bandwidth, on R^d and boxes each coordinate in units of their median absolute deviation, and
        :class:`Hamming` on a lattice. Kernels look where those of :func:`mmd_test` do.
    n_draws
        Draws from the model in which eigenvalues and eigenfunctions are computed; None takes as many as
        there are data, but at least 100 and at most 200.
    n_scales
        Number of values of ϱ.
    n_resamples
        Number of samples of n simulated from the model.
    workers, rng, progress
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult
        In `details`: "scales", all ϱ; "values", the standardised statistic at each; "best scale", the ϱ at
        which it is largest.

    Notes
    -----
    With m draws y from the model, λ_k and u_k are eigenvalues and eigenvectors of the centred matrix
    k(y_i, y_j)/m, and φ_k(x) = (Σ_j k(x, y_j)u_jk − c_k)/(√m·λ_k). These draws also fix the bandwidth and
    the ϱ, so that data and simulated samples are exchangeable given them. The constants c_k that centre φ_k
    and, at each ϱ, mean and standard deviation of the statistic are learnt from all samples together, the
    data among them, and so without loss of exactness. What the functions φ_k do not span is left out: divided
    by ϱ², as a resolvent formula for K_ϱ has it, that remainder makes the test one-sided.

    The grid of ϱ is ours: the one of the authors, and their threshold, which grows like √(log log n), could
    not be confirmed, and with a simulated null distribution none is needed. Time is O(n·m²·n_resamples).

    References
    ----------
    Balasubramanian, Li, Yuan (2021), On the optimality of kernel-embedding based goodness-of-fit tests,
    Journal of Machine Learning Research 22.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> x = gs.families.GaussianMixture([0.5, 0.5], [-0.9, 0.9], [0.19, 0.19]).sample(100, rng=1)
    >>> gs.m3d_test(x, gs.families.Normal(0.0, 1.0), rng=1).pvalue <= 0.01  # same mean, same variance
    True
    >>> x = gs.families.Normal(0.0, 1.0).sample(100, rng=1)
    >>> gs.m3d_test(x, gs.families.Normal(0.0, 1.0), rng=1).pvalue > 0.05
    True
    """
    watch = watching(progress)
    check_workers(workers)
    n_resamples, n_scales = check_count(n_resamples, "n_resamples", 2), check_count(n_scales, "n_scales")
    if n_draws is not None:
        n_draws = check_count(n_draws, "n_draws", 2)
    generator = as_generator(rng)
    seeds = [draw_seed(generator), draw_seed(generator)]
    problem = compose_sampled(data, model, domain, kernel, test="m3d_test")
    n = len(problem.data)
    m = min(max(n, LEAST_DRAWS), MOST_DRAWS) if n_draws is None else n_draws
    drawn = draw(problem.model, problem.domain, m, np.random.default_rng(seeds[0]))
    fitted, basis = _decomposed(problem, problem.domain.embedded(drawn))
    task = _Simulated(problem, basis, seeds[1], n)
    parts = cut(0, n_resamples, max(1, ENTRIES // (n * m)))
    report = assumptions(problem, "the moderated maximum mean discrepancy")
    notes = caveats(report, simulated=True)
    with watch:
        simulated, told = recorded(lambda: run(task, list(enumerate(parts)), workers, size=n * n_resamples))
    with one_blas_thread():
        # In the same precision as simulated samples, which rounding must not tell from the data.
        own = basis.sums(problem.domain.embedded(problem.observations), 1, PRECISION)
        first, second = (np.concatenate(sums) for sums in zip(own, *simulated, strict=True))
        scales = math.sqrt(basis.eigenvalues[0]) * np.exp2(-np.arange(n_scales, dtype=np.float64))
        values = standardised(moderated(basis, first, second, n, scales))
    return report_test(
        problem,
        Calibration(float(values[0].max()), values[1:].max(axis=1)),
        report,
        [*notes, *told],
        null=Simulations(n_resamples),
        n=n,
        operator=None,
        kernel=fitted,
        title="Moderated maximum mean discrepancy test",
        statistic_name="largest standardised M3D², U-statistic",
        details={
            "n_draws": m,
            "scales": scales.tolist(),
            "values": values[0].tolist(),
            "best scale": float(scales[np.argmax(values[0])]),
        },
    )


@dataclass(frozen=True)
class Simulations:
    """Samples simulated from the model, all of them compared with the same draws."""

    n_resamples: int


@dataclass(frozen=True)
class Basis:
    """Eigenvalues λ, descending, (r,), and eigenvectors u, (m, r), of the centred k(y_i, y_j)/m."""

    pairwise: Pairwise
    draws: Placed
    eigenvalues: Array
    vectors: Array

    def sums(self, points: Array, samples: int, dtype: npt.DTypeLike = np.float64) -> tuple[Array, Array]:
        """Σ_i a_k(x_i) and Σ_i a_k(x_i)², a_k(x) = Σ_j k(x, y_j)u_jk, for each of some samples, (samples, r).

        The kernel and the squares are computed in the given precision.
        """
        vectors, placed = self.vectors.astype(dtype), self.pairwise.placed(points)
        first, second = np.zeros((2, samples, vectors.shape[1]))
        # Several samples come in one piece, one large sample in several.
        rows = max(1, ENTRIES // len(vectors)) if samples == 1 else len(points)
        for part in cut(0, len(points), rows):
            features = self.pairwise(placed[part], self.draws, dtype) @ vectors
            ones = np.ones(len(features) // samples, dtype)
            shape = (samples, len(ones), -1)
            first += ones @ features.reshape(shape)
            second += ones @ np.square(features, out=features).reshape(shape)
        return first, second


def decompose(pairwise: Pairwise, points: Array) -> Basis:
    """The eigenbasis of the kernel, centred, in draws from the model."""
    draws = pairwise.placed(points)
    gram = pairwise(draws, draws)
    size = float(np.abs(gram).max())
    mean = gram.mean(axis=0)
    gram = gram - mean - mean[:, None] + mean.mean()
    eigenvalues, vectors = np.linalg.eigh(0.5 * (gram + gram.T) / len(points))
    eigenvalues, vectors = eigenvalues[::-1], vectors[:, ::-1]
    kept = eigenvalues > NEGLIGIBLE * size
    return Basis(pairwise, draws, eigenvalues[kept], np.ascontiguousarray(vectors[:, kept]))


def moderated(basis: Basis, first: Array, second: Array, n: int, scales: Array) -> Array:
    """Σ_{i≠j} K_ϱ(x_i, x_j)/n for samples (S, r) of sums over n rows and each ϱ, (S, scales).

    The functions are centred at their mean over all samples.
    """
    centre = first.mean(axis=0) / n
    pairs = (first - n * centre) ** 2 - (second - 2.0 * centre * first + n * centre**2)
    eigenvalues = basis.eigenvalues[:, None]
    weight = 1.0 / (len(basis.draws) * eigenvalues * (eigenvalues + scales**2))
    return np.asarray(pairs @ weight / n)


def standardised(values: Array) -> Array:
    """Every entry of a column less the mean of the others, in units of their standard deviation.

    An increasing function of the entry, the same for all columns: large values stay comparable, which
    they would not if one of them were among those that make the unit.
    """
    count = len(values)
    deviation = values - values.mean(axis=0)
    spread = np.sqrt(np.mean(deviation**2, axis=0))
    z = np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > 0)
    # Where all others are equal nothing would be left to divide by.
    rest = np.maximum(1.0 - z**2 / (count - 1), 1e-12)
    return np.asarray(z * math.sqrt(count / (count - 1)) / np.sqrt(rest))


def _decomposed(problem: Problem, points: Array) -> tuple[Kernel, Basis]:
    """The kernel with its bandwidth from draws of the model, and its eigenbasis in them."""
    name, m = problem.model.name, len(points)
    try:
        fitted = problem.kernel.fitted(points)
    except BandwidthError:
        raise BandwidthError(
            f"All {m} draws from {name} are equal, so no bandwidth can be taken from them. Check the "
            "sampler, or pass a kernel with a bandwidth, for example Gaussian(bandwidth=1.0)."
        ) from None
    with one_blas_thread():
        basis = decompose(Pairwise(fitted, points), points)
    if not len(basis.eigenvalues):
        raise InputError(
            f"{fitted!r} does not tell the {m} draws from {name} apart, so the test sees nothing. Take a "
            "smaller bandwidth, or check the sampler."
        )
    return fitted, basis


@dataclass(frozen=True)
class _Simulated:
    """Sums over some of the simulated samples; their random numbers depend on the seed and the part alone."""

    problem: Problem
    basis: Basis
    seed: int
    n: int

    def __call__(self, item: tuple[int, slice]) -> tuple[Array, Array]:
        index, part = item
        samples = part.stop - part.start
        model, domain = self.problem.model, self.problem.domain
        rng = np.random.default_rng([self.seed, index])
        # Some samplers return their draws in an order, such as one component of a mixture after another.
        drawn = rng.permutation(draw(model, domain, samples * self.n, rng))
        return self.basis.sums(domain.embedded(drawn), samples, PRECISION)
