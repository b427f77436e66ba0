"""What tests that compare data with draws from the model share: where kernels look, and what is assumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.auditing.report import AuditReport, Check
from goodstein.domains.base import Domain
from goodstein.domains.lattice import Lattice
from goodstein.errors import InputError
from goodstein.kernels import Gaussian, Hamming, Whitened
from goodstein.kernels.base import Kernel
from goodstein.pipeline.compose import compose
from goodstein.problems.problem import Problem


def compose_sampled(
    data: Any, model: Any, domain: Domain | None, kernel: Kernel | None, *, test: str
) -> Problem:
    """Validated points, a model that can be sampled on their domain, and a kernel; the operator is unused."""
    if hasattr(data, "nodes") and hasattr(data, "edges"):
        raise InputError(f"`data` is a graph. {test} takes points; use graph_ksd_test(graph, model).")
    problem = compose(data, model, domain, None, kernel)
    if not isinstance(problem.data, np.ndarray):
        raise InputError(
            f"`data`: {test} takes points, an array (n, d), and draws points from the model. For censored "
            "durations, and for these data, use ksd_test(data, model, null=MonteCarlo())."
        )
    if not problem.model.has_sample:
        own = "Pass Model(score=..., sample=function of (n, rng))"
        raise InputError(
            f"{test} compares the data with draws from the model, but {problem.model.name} has no sampler. "
            f"{getattr(problem.model, 'sampler_advice', own)}, or use ksd_test, which needs the score only."
        )
    return replace(problem, kernel=_chosen_kernel(kernel, problem.domain))


def _chosen_kernel(kernel: Any, domain: Domain) -> Kernel:
    """The user's kernel, or the Gaussian one, on a lattice that of Hamming's distance."""
    lattice = isinstance(domain, Lattice)
    if kernel is None:
        return Hamming() if lattice else Gaussian()
    if hasattr(kernel, "tables"):
        if not isinstance(domain, Lattice):
            raise InputError(
                f"{kernel!r} compares states of a Lattice, but the model lives on {domain!r}. Use Gaussian() "
                "or IMQ(), or pass domain=Lattice(levels, d)."
            )
        kernel.tables(len(domain.levels), domain.dim)  # raises where they do not fit
    elif not (hasattr(kernel, "profiles") or callable(kernel) or isinstance(kernel, Whitened)):
        raise InputError(
            f"`kernel`: {kernel!r} can neither be called, k(x, y), nor has it a method `profiles`. Use "
            "Gaussian(), IMQ() or another kernel of goodstein.kernels."
        )
    chosen: Kernel = kernel
    return chosen


def assumptions(problem: Problem, test: str) -> AuditReport:
    """A report of what no program can check: no identity has to hold for these tests."""
    message = (
        f"Assumed, not checked: the rows of the data are independent, and so are the draws of "
        f"{problem.model.name}. The p-value is then exact at every sample size."
    )
    return AuditReport(
        problem.model.name, repr(problem.domain), test, (Check("independent draws", "skip", message),)
    )
