"""What tests that compare data with draws from the model share: where kernels look, and what is assumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.auditing.report import AuditReport, Check
from goodstein.data.points import Points
from goodstein.domains import Domain, Lattice
from goodstein.errors import InputError
from goodstein.kernels import Gaussian, Hamming
from goodstein.kernels.base import Kernel, as_kernel
from goodstein.kernels.lattice import LatticeKernel
from goodstein.pipeline.audit import observed_checks
from goodstein.pipeline.compose import compose, in_units
from goodstein.problems.order import dependence_of
from goodstein.problems.problem import Problem


def compose_sampled(
    data: Any, model: Any, domain: Domain | None, kernel: Kernel | None, *, test: str
) -> Problem:
    """Validated points, a model that can be sampled on their domain, and a kernel; the operator is unused."""
    problem = compose(data, model, domain, None, kernel)
    if not isinstance(problem.data, Points):
        raise InputError(
            f"{test} takes points, an array (n, d), and draws points from the model, not "
            f"{problem.data.describe()}. For censored durations, and for these data, use "
            "ksd_test(data, model, null=MonteCarlo()).",
            argument="data",
        )
    if not problem.model.has_sample:
        raise InputError(
            f"{test} compares the data with draws from the model, but {problem.model.name} has no sampler. "
            f"{problem.model.sampler_advice}, or use ksd_test, which needs the score only."
        )
    return replace(problem, kernel=_chosen_kernel(kernel, problem.domain))


def _chosen_kernel(kernel: Any, domain: Domain) -> Kernel:
    """The user's kernel, or the Gaussian one, on a lattice that of Hamming's distance."""
    lattice = isinstance(domain, Lattice)
    if kernel is None:
        return Hamming() if lattice else in_units(Gaussian(), domain)
    chosen = as_kernel(kernel)
    if isinstance(chosen, LatticeKernel):
        if not isinstance(domain, Lattice):
            raise InputError(
                f"{kernel!r} compares states of a Lattice, but the model lives on {domain!r}. Use Gaussian() "
                "or IMQ(), or pass domain=Lattice(levels, d)."
            )
        chosen.tables(len(domain.levels), domain.dim)  # raises where they do not fit
    return chosen


def assumptions(problem: Problem, test: str) -> AuditReport:
    """A report of what no program can check, and of what is seen in the data: no identity has to hold."""
    message = (
        f"Assumed, not checked: the rows of the data are independent, and so are the draws of "
        f"{problem.model.name}. The p-value is then exact at every sample size."
    )
    if not problem.model.trusted:
        problem.simulate(np.random.default_rng(0))  # by which it is found out whether draws repeat
    # These tests look at the data alone, and the model need not have a score. There is no audit to overrule:
    # what would be refused is a warning.
    seen = [
        replace(check, status="warn", loud=True) if check.status == "fail" else check
        for check in observed_checks(problem, None, dependence=dependence_of(problem.data))
    ]
    checks = (Check("independent draws", "skip", message), *seen)
    return AuditReport(problem.model.name, repr(problem.domain), test, checks)
