"""The spectrally regularised test, adaptive over the strength of its regularisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.constraints import check_flag, number
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers
from goodstein.engine.progress import ProgressLike
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.nulls.base import Null
from goodstein.operators import Operator, Regularised
from goodstein.pipeline.choice import choose_null
from goodstein.pipeline.compose import compose
from goodstein.results.result import TestResult
from goodstein.tests_of_fit.aggregated import aggregated_test, as_list
from goodstein.types import RNG, ArrayLike

STRENGTHS = 5
"""Strengths of the default grid."""


def regularised_test(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    strengths: Sequence[float] | None = None,
    fraction: float | None = 0.2,
    draws: int | None = None,
    null: Null | None = None,
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> TestResult:
    """Test whether a model fits data, by spectrally regularised kernel Stein discrepancies.

    The Stein kernel is divided by the covariance of its features (:class:`Regularised`), so that the test
    also sees fine structure and correlations. How strongly to regularise depends on the deviation; the test
    takes several strengths at once, with one p-value for all of them together (:func:`aggregated_test`).

    Parameters
    ----------
    data, model, domain, operator, kernel
        As in :func:`ksd_test`; the operator is the one to regularise.
    strengths
        Strengths λ of the regularisation, as multiples of the trace of the covariance. None takes five
        from 1 down to the smallest with which the null distribution keeps its level
        (:class:`Regularised`), in a geometric progression.
    fraction, draws
        Where the covariance comes from, as in :class:`Regularised`: draws from the model if it has a
        sampler, otherwise a fifth of the rows. With ``fraction=None`` it is that of all data; then use
        ``null=MonteCarlo()``.
    null, workers, rng, audit, progress
        As in :func:`aggregated_test`.

    Returns
    -------
    TestResult
        An aggregated result: its `members` are the strengths, with their p-values alone and adjusted.

    References
    ----------
    Hagrass, Sriperumbudur, Balasubramanian (2024), Minimax optimal goodness-of-fit testing with kernel
    Stein discrepancy.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> x = rng.standard_normal(2000)
    >>> x = x[rng.uniform(size=2000) < (1 + 0.7 * np.cos(7 * x)) / 1.7][:200]  # with fine ripples
    >>> gs.ksd_test(x, gs.families.Normal(), rng=1).pvalue > 0.05
    True
    >>> gs.regularised_test(x, gs.families.Normal(), rng=1).pvalue < 0.01
    True
    """
    if isinstance(operator, Regularised):
        raise InputError(
            f"`operator` is the operator to regularise, not {operator!r}. Pass the operator inside it, or "
            "use ksd_test for one strength."
        )
    check_flag(audit, "audit")
    plain = compose(data, model, domain, operator, kernel)
    wrapped = Regularised(plain.operator, 1.0, fraction, draws)
    chosen = choose_null(null, plain).null
    if strengths is None:
        # From one, which is close to the plain test, to the least that keeps the level.
        least = wrapped.least(plain.model, plain.observations)
        if fraction is None and chosen.simulates:
            least = 1.0 / len(plain.data)
        grid = np.geomspace(1.0, min(least, 1.0), STRENGTHS).tolist()
    else:
        given = as_list(strengths, "strengths", "0.1, 0.01")
        # How large they must be the operator says.
        grid = [number(strength, f"strengths[{k}]") for k, strength in enumerate(given)]
    result = aggregated_test(
        data,
        model,
        domain=domain,
        operators=[replace(wrapped, strength=strength) for strength in grid],
        kernels=[plain.kernel],
        null=chosen.given,
        workers=workers,
        rng=rng,
        audit=audit,
        progress=progress,
    )
    count = f"{len(grid)} strength{'' if len(grid) == 1 else 's'}"
    return replace(result, title=f"Spectrally regularised kernel Stein discrepancy test, {count}")
