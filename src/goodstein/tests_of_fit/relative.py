"""The relative test: which of two models, both perhaps wrong, is closer to the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from goodstein.auditing.fitted import Advice
from goodstein.auditing.report import AuditReport
from goodstein.constraints import check_flag
from goodstein.data.base import Data
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers, run
from goodstein.engine.progress import ProgressLike, watching
from goodstein.engine.reduce import Form
from goodstein.engine.signs import CHUNK
from goodstein.engine.triangle import above_diagonal, areas, upper_tiles
from goodstein.errors import InputError, ScoreError, must
from goodstein.kernels.base import Kernel
from goodstein.kernels.frames import Frame
from goodstein.kernels.score_frame import score_frame
from goodstein.kernels.whitened import Whitened
from goodstein.nulls.base import Calibration
from goodstein.numerics.ranges import cut
from goodstein.operators.base import Operator, Wrapping
from goodstein.pipeline.audit import observed_checks, overruled, quick_audit, require_valid
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.pipeline.run import caveats, recorded, report_test
from goodstein.problems.order import dependence_of
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult
from goodstein.stein.features import SteinFeatures
from goodstein.stein.finite import FiniteFeatures
from goodstein.survival.data import Censored
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

DEGENERATE, CLEAR = 2.0, 2.0
"""What two models that both fit perfectly would show, and hardly ever more.

Then n·D is near Σλ(Z² − 1), with λ the eigenvalues of h_P − h_Q and Z standard normal, and the variance,
relative to its mean, near Σλ²Z²/Σλ². The test is undefined where that ratio is at most `DEGENERATE`, which
it exceeds with a probability of at most 16 %, and D at most `CLEAR` of the standard deviations that it would
have.
"""

EQUAL = 1e-8
"""Stein matrices that differ by no more than this, relative to their size, are the same but for rounding."""

OTHER_DATA = Advice("Compare models that were fitted to other data.")

STRIPS = 64
"""Each strip of rows reports one number per column, so that memory stays a multiple of n."""


@dataclass(frozen=True)
class NormalLimit:
    """The limit law of the difference of two U-statistics: N(0, variance), by the jackknife."""

    variance: float

    def __repr__(self) -> str:
        return f"NormalLimit(variance={self.variance:.6g})"


def relative_ksd_test(
    data: ArrayLike,
    model_p: Any,
    model_q: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | tuple[Operator | None, Operator | None] | None = None,
    kernel: Kernel | None = None,
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> TestResult:
    r"""Test whether model Q is closer to the data than model P, by their kernel Stein discrepancies.

    The null hypothesis is KSD²_P ≤ KSD²_Q: P fits at least as well as Q. Neither needs to be true,
    and at least one should not be: the statistic

    .. math:: D = U_P - U_Q

    is asymptotically normal unless both models fit perfectly. Its variance is the jackknife's.

    Parameters
    ----------
    data
        Observations, (n, d) or a data frame; (n,) for one dimension.
    model_p, model_q
        Models, as in :func:`ksd_test`; for example two :class:`LatentModel`.
    domain
        Where both are densities; None takes their own, or R^d.
    operator
        Stein operator for both; a pair (for P, for Q) where they differ only in how they estimate the
        score, as ``(Latent(100), Langevin())`` do; None takes the default of each model.
    kernel
        The same for both. None takes that of :func:`ksd_test`, in the mean of the metrics of both scores.
    workers, rng, audit, progress
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult
        With ``statistic`` D; ``pvalue`` 1 − Φ(D/√variance), small if Q fits better; and in ``details``
        both discrepancies, the standard error, and ``"undefined"``, which is True, the p-value being
        NaN, where difference and variance could be those of two models that both fit perfectly.

    Notes
    -----
    Models that were fitted to these very data have an advantage that grows with the number of their
    parameters. Fit both on other data.

    References
    ----------
    Kanagawa, Jitkrittum, Mackey, Fukumizu, Gretton (2023), A kernel Stein test for comparing latent
    variable models, Journal of the Royal Statistical Society B 85.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0.0, 1.0).sample(300, rng=1)
    >>> worse, better = gs.families.Normal(0.6, 1.0), gs.families.Normal(0.2, 1.0)
    >>> gs.relative_ksd_test(x, worse, better, rng=1).pvalue < 0.05
    True
    >>> gs.relative_ksd_test(x, better, worse, rng=1).pvalue < 0.05
    False
    """
    watch = watching(progress)
    check_workers(workers)
    check_flag(audit, "audit")
    generator = as_generator(rng)
    # Latent draws for P and for Q must not be the same numbers in different rows.
    seeds = [draw_seeds(generator), draw_seeds(generator)]
    operators = operator if isinstance(operator, tuple | list) else (operator, operator)
    if len(operators) != 2:
        raise must("operator", "one operator or a pair (for P, for Q)", operator)
    p, q = (
        compose(data, model, domain, chosen, kernel, seed)
        for model, chosen, seed in zip((model_p, model_q), operators, seeds, strict=True)
    )
    if len(p.data) < 3:
        raise InputError(f"`data` has {len(p.data)} rows; a relative test needs at least 3.")
    if p.domain != q.domain:
        raise InputError(
            f"{p.model.name} lives on {p.domain!r}, {q.model.name} on {q.domain!r}. Pass `domain`, the one "
            "on which both are to be compared."
        )
    if not p.data.replicated:
        reason = f"One of {p.data.kind} is one observation, on which models cannot be compared."
        raise InputError(reason, argument="data")
    reports = [
        quick_audit(problem, np.random.default_rng(seed[0]))
        for problem, seed in zip((p, q), seeds, strict=True)
    ]
    order = dependence_of(p.data)
    seen = [c for part in (p, q) for c in observed_checks(part, None, OTHER_DATA, dependence=order)]
    report = _joined(reports).extended(list(dict.fromkeys(seen)))
    if audit:
        require_valid([*reports, report])
    notes = [*overruled(report), *caveats(report, simulated=False)]
    p, q = _same_kernel(p, q)
    notes += _alike(p, q)
    with watch:
        found, told = recorded(lambda: _compared(p, q, workers))
    return _result(p, q, found, report, [*notes, *told])


@dataclass(frozen=True)
class _Found:
    """U_P, U_Q, the jackknife variance of their difference, and the mean square of H_P − H_Q."""

    u_p: float
    u_q: float
    n: int
    variance: float
    square: float
    equal: bool

    @property
    def undefined(self) -> bool:
        """Whether all could be the noise of two models that both fit perfectly.

        Without signal the entries of H_P − H_Q are uncorrelated, and their mean square is all that matters: D
        has the variance 2·square/n(n−1), and its jackknife variance the mean 4·square/n(n−2).
        """
        degenerate = self.variance <= DEGENERATE * 4.0 * self.square / (self.n * (self.n - 2))
        spread = math.sqrt(2.0 * self.square / (self.n * (self.n - 1)))
        return self.equal or (degenerate and abs(self.u_p - self.u_q) <= CLEAR * spread)


def _compared(p: Problem, q: Problem, workers: Workers) -> _Found:
    """One pass over the upper triangles of both Stein matrices."""
    form_p, form_q = p.form, q.form
    n = form_p.n
    strips = cut(0, n, max(CHUNK, -(-n // STRIPS)))
    shares = run(_Strip(form_p, form_q), strips, workers, size=n, costs=areas(strips, n))
    rows = np.zeros(n)
    for strip, (share, _) in zip(strips, shares, strict=True):
        rows[strip.start :] += share
    sum_p, sum_q, squares = np.sum([sums for _, sums in shares], axis=0)
    pairs = n * (n - 1)
    variance = jackknife_variance(rows)
    square = 2.0 * squares / pairs
    size = float(np.mean(form_p.diagonal()) + np.mean(form_q.diagonal()))
    if not np.isfinite([variance, square, size]).all():
        raise ScoreError(
            "The statistic or its variance is not finite, because a score is too large to be squared. Check "
            "the scores, or rescale the data and the models."
        )
    equal = math.sqrt(square) <= EQUAL * size
    return _Found(float(2.0 * sum_p / pairs), float(2.0 * sum_q / pairs), n, variance, square, equal)


def jackknife_variance(row_sums: Array) -> float:
    """The jackknife's variance of a U-statistic of degree two, from the row sums without diagonal.

    Leaving out row i gives (T − 2r_i)/((n−1)(n−2)), with T the sum of all r_i; the variance is
    (n−1)/n times the sum of squared deviations of these n values from their mean.
    """
    n = len(row_sums)
    deviations = (n * row_sums - row_sums.sum()) / (n * (n - 1.0) * (n - 2.0))
    return float((n - 1) * 4.0 * np.mean(deviations**2))


@dataclass(frozen=True)
class _Strip:
    """Sums over the part of both matrices above the diagonal that begins in some rows."""

    p: Form
    q: Form

    def __call__(self, strip: slice) -> tuple[Array, Array]:
        """Row sums of H_P − H_Q from the strip's first row on, and (Σ H_P, Σ H_Q, Σ (H_P − H_Q)²)."""
        n, first = self.p.n, strip.start
        rows, sums = np.zeros(n - first), np.zeros(3)
        for part, cols in upper_tiles(cut(first, strip.stop, CHUNK), n, CHUNK):
            # A block may be scratch that the next one overwrites.
            block = above_diagonal(np.array(self.p.block(part, cols)), part, cols)
            other = above_diagonal(self.q.block(part, cols), part, cols)
            sums[:2] += block.sum(), other.sum()
            block -= other
            sums[2] += np.einsum("ij,ij->", block, block)
            rows[part.start - first : part.stop - first] += block.sum(axis=1)
            rows[cols.start - first : cols.stop - first] += block.sum(axis=0)
        return rows, sums


def _same_kernel(p: Problem, q: Problem) -> tuple[Problem, Problem]:
    """Both with the kernel of P, bandwidth included; they must look at the data in the same way.

    A metric of the score is the mean of both, so that neither model is preferred.
    """
    for part in (p, q):
        if isinstance(part.features, FiniteFeatures):
            raise InputError(
                f"{part.operator!r} has few test functions, each in a scale that depends on the model, so "
                "that the discrepancies of two models by it cannot be compared.",
                remedy="Leave `operator` out, or look at single columns with Margin(), Pair() or "
                "Direction(); explain() of a test of each model says where it fails.",
            )
    seen: list[Any] = [part.features.points for part in (p, q)]
    seen = [points.as_rows() if isinstance(points, Data) else points for points in seen]
    if not np.array_equal(seen[0], seen[1]):
        if isinstance(p.data, Censored):
            raise InputError(
                "Each model transforms the durations by its own distribution, so no kernel serves both. Pass "
                "operator=Martingale(transform=None), or Survival()."
            )
        raise InputError(
            f"{p.operator!r} and {q.operator!r} look at the data in different coordinates, so no kernel "
            "serves both. Pass the same `operator` for both models."
        )
    kernel: Any = p.kernel
    if isinstance(kernel, Whitened) and kernel.metric == "score":
        kernel = replace(kernel, frame=_joint_frame(p.features, q.features))
    p = p.with_kernel(kernel)
    return p, q.with_kernel(p.fitted_kernel)


def _joint_frame(a: Any, b: Any) -> Frame | None:
    """That of the features of both models together; None where they are of different kinds."""
    if not type(a) is type(b) is SteinFeatures:
        return None
    weights = [part.weight for part in (a, b) if part.weight is not None]
    if len({weight.ndim for weight in weights}) > 1 or len(weights) == 1:
        return None
    points, value = (np.concatenate(parts) for parts in ((a.points, b.points), (a.value, b.value)))
    return score_frame(points, value, np.concatenate(weights) if weights else None)


def _alike(p: Problem, q: Problem) -> list[str]:
    """A note where the operators are not the same but for the estimation of the score."""
    used = [part.fitted_operator for part in (p, q)]
    inside = [operator.operator if isinstance(operator, Wrapping) else None for operator in used]
    kinds = [repr(outer if inner is None else inner) for outer, inner in zip(used, inside, strict=True)]
    if kinds[0] == kinds[1]:
        return []
    return [
        f"The discrepancy of P is that of {kinds[0]}, the discrepancy of Q that of {kinds[1]}; they are not "
        "on one scale."
    ]


def _joined(reports: Sequence[AuditReport]) -> AuditReport:
    """What was found about P and about Q, in one report."""
    checks = tuple(
        replace(check, name=f"{check.name} ({name})", message=f"{name}: {check.message}")
        for name, report in zip("PQ", reports, strict=True)
        for check in report.checks
    )
    p, q = reports
    operator = p.operator if p.operator == q.operator else f"{p.operator} and {q.operator}"
    return AuditReport(f"P = {p.model}, Q = {q.model}", p.domain, operator, checks)


def _result(p: Problem, q: Problem, found: _Found, report: AuditReport, notes: list[str]) -> TestResult:
    difference, deviation = found.u_p - found.u_q, math.sqrt(found.variance)
    undefined = bool(found.undefined)
    if found.equal:
        notes.append(
            f"To {p.fitted_operator!r} both models are the same: their Stein matrices agree, rounding apart, "
            "so there is no difference to test and no p-value. Look with an operator that tells them apart, "
            "such as the domain's own, or at a column on which they differ."
        )
    elif undefined:
        notes.append(
            "The difference and its variance are no larger than they would be if both models fitted the data "
            "perfectly, so the normal limit does not hold and there is no p-value. More data may separate "
            "the models; ksd_test says whether each of them fits."
        )
    shares = (np.arange(999) + 0.5) / 999
    null = [] if undefined else [deviation * NormalDist().inv_cdf(share) for share in shares]
    same = repr(p.fitted_operator) == repr(q.fitted_operator)
    return report_test(
        p,
        Calibration(difference, np.array(null)),
        report,
        notes,
        pvalue=math.nan if undefined else 0.5 * math.erfc(difference / deviation / math.sqrt(2.0)),
        null=NormalLimit(found.variance),
        n=len(p.data),
        operator=p.fitted_operator.given if same else (p.fitted_operator.given, q.fitted_operator.given),
        kernel=p.fitted_kernel.given,
        title="Relative kernel Stein discrepancy test",
        statistic_name="KSD²_P − KSD²_Q, U-statistics",
        claim="that Q fits better than P",
        details={"KSD²_P": found.u_p, "KSD²_Q": found.u_q, "std. error": deviation, "undefined": undefined},
    )
