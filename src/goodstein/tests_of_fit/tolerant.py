"""The test that tolerates a share of wrong observations."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.auditing.fitted import SPLIT, Advice
from goodstein.auditing.report import AuditReport
from goodstein.constraints import number
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import InputError, shown
from goodstein.nulls.base import Calibration
from goodstein.nulls.wild import WildBootstrap
from goodstein.pipeline.audit import observed_checks, overruled, quick_audit, require_valid
from goodstein.pipeline.compose import Seeds
from goodstein.pipeline.run import caveats, recorded, report_test
from goodstein.problems.problem import Problem
from goodstein.results.bound import bounded
from goodstein.results.result import TestResult
from goodstein.results.tolerance import roots, tolerance_of

ON_OTHERS = Advice(f"Fit it to some of the rows and test it on the others: {SPLIT}.")
"""No null distribution takes account of a fit where the model may be wrong."""


def tolerant_test(
    problem: Problem, tolerance: float, *, null: Any, workers: Workers, seeds: Seeds, audit: bool
) -> TestResult:
    """Reject where more than this share of the observations cannot have come from the model.

    The statistic is √V − tolerance·B, compared with draws of √V* under random signs; see
    :mod:`goodstein.results.tolerance`.
    """
    check_workers(workers)
    wanted = "a share of the observations, in [0, 1)"
    tolerance = number(tolerance, "tolerance", least=0.0, below=1.0, wanted=wanted)
    used, largest = bounded(problem)
    chosen = random_signs(null)
    report, notes = looked_at(used, chosen, seeds, audit)
    calibration, told = recorded(
        lambda: chosen.calibrate(used, workers=workers, rng=np.random.default_rng(seeds[1]))
    )
    ksd, draws = roots(used, calibration)
    return report_test(
        used,
        Calibration(ksd - tolerance * largest, draws),
        report,
        [*notes, *told],
        null=chosen,
        n=used.form.n,
        operator=used.fitted_operator.given,
        kernel=used.fitted_kernel.given,
        title="Kernel Stein discrepancy test with a tolerance",
        statistic_name="KSD, V-statistic, less what is tolerated",
        claim=f"that more than {tolerance:.3g} of the population do not come from the model",
        details={
            "tolerance": tolerance,
            "KSD": ksd,
            "largest KSD": largest,
            "share": tolerance_of(used, largest, calibration, 0.95).share,
        },
        asked=[used],
        smallest=chosen.smallest_pvalue(used, used.form.n),
    )


def random_signs(null: Any) -> WildBootstrap:
    """The wild bootstrap: it draws from the data, of which some may be wrong, and not from the model.

    That of fitted parameters will not do, because it draws what is left of a true model after a fit.
    """
    if null is None:
        return WildBootstrap()
    if isinstance(null, WildBootstrap) and not null.refits:
        return null
    raise InputError(
        f"must be a WildBootstrap where some observations may be wrong, got {shown(null)}: other null "
        "distributions are those of a model that is true.",
        argument="null",
        predicate=True,
    )


def looked_at(
    problem: Problem, null: WildBootstrap, seeds: Seeds, audit: bool, advice: Advice = ON_OTHERS
) -> tuple[AuditReport, list[str]]:
    """The audit of a problem, and what there is to tell of it."""
    report = quick_audit(problem, np.random.default_rng(seeds[0]))
    report = report.extended(observed_checks(problem, null, advice, thorough=audit))
    if audit:
        require_valid([report])
    return report, [*overruled(report), *caveats(report, simulated=False)]
