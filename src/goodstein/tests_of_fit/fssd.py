"""The finite-set Stein discrepancy: a test in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers
from goodstein.errors import InputError
from goodstein.kernels import Gaussian
from goodstein.kernels.base import Kernel
from goodstein.nulls.base import Calibration
from goodstein.numerics.ranges import cut
from goodstein.operators.base import Operator
from goodstein.operators.finite_set import FiniteSet, FiniteSetForm, plain_features, require_analytic
from goodstein.pipeline.compose import as_generator, compose
from goodstein.pipeline.run import draw_seeds, run_test
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult
from goodstein.tests_of_fit.locations import Learnt, distinct, draw_locations, learn
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import check_count

LEAST_TRAINING, LEAST_TEST = 10, 20
"""Rows below which locations cannot be learnt, or the limit law not be trusted."""


def fssd_test(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    n_locations: int = 5,
    train_fraction: float = 0.2,
    optimise: bool = True,
    locations: ArrayLike | None = None,
    n_resamples: int = 9999,
    rng: RNG = None,
    audit: bool = True,
) -> TestResult:
    """Test whether a model fits data, by the finite-set Stein discrepancy, in linear time.

    The Stein witness is looked at in J locations v instead of everywhere. With
    τ(x) = [a(x)k(x, v_j) + G(x)ᵀ∇k(x, v_j)]_j / √(CJ), for C test functions, the statistic is

        U = n/(n − 1)·‖mean τ‖² − mean‖τ‖²/(n − 1),

    and under the null n·U ⇒ Σ ω_i(Z_i² − 1) with ω the eigenvalues of the covariance of τ. Locations
    and bandwidth are chosen on a part of the data, so as to maximise a proxy of the power, and the
    test is made on the rest. Time and memory are O(n·d·J).

    Parameters
    ----------
    data, model, domain, operator
        As in :func:`ksd_test`; the operator must have plain features, as :class:`Langevin` and
        :class:`Standardised` do.
    kernel
        A real analytic kernel; None takes :class:`Gaussian`. A bandwidth that is given as a number is
        kept, otherwise it is chosen together with the locations.
    n_locations
        J; not used if `locations` are given.
    train_fraction
        Share of the rows, drawn at random, on which locations and bandwidth are chosen. These rows
        are not tested.
    optimise
        False: nothing is learnt and all rows are tested, with the median bandwidth, at `locations`
        or at draws from a normal distribution fitted to the data.
    locations
        Where to look, (J, m), or where to start if `optimise`, in the coordinates that the kernel
        sees: those of the data, but on a simplex those of its tangent space or log-ratios.
    n_resamples
        Draws from the limit law.
    rng, audit
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult
        Its `details` hold the locations, how many of them are distinct, the bandwidth, the number of
        training rows and the proxy.

    Notes
    -----
    Learnt locations may coincide: where the model is wrong in one place above all, the proxy draws several
    of them there. The test stays valid and then looks at fewer places than J; "distinct locations" in
    `details` counts those that the kernel tells apart.

    References
    ----------
    Jitkrittum, Xu, Szabó, Fukumizu, Gretton (2017), A linear-time kernel goodness-of-fit test.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> x = np.random.default_rng(1).laplace(size=(2000, 2)) / np.sqrt(2)
    >>> gs.fssd_test(x, gs.families.Normal([0, 0]), rng=1).pvalue < 0.01
    True
    >>> gs.fssd_test(x, gs.families.Laplace([0, 0], 1 / np.sqrt(2)), rng=1).pvalue > 0.05
    True
    """
    check_count(n_locations, "n_locations")
    _check_fraction(train_fraction)
    null = SpectralOfFeatures(check_count(n_resamples, "n_resamples"))
    seeds = draw_seeds(as_generator(rng))
    problem = compose(data, model, domain, operator, Gaussian() if kernel is None else kernel, seeds[2])
    if not isinstance(problem.data, np.ndarray):
        raise InputError("`data`: fssd_test takes points, an array (n, d). Use ksd_test for these data.")
    require_analytic(problem.kernel)
    generator = np.random.default_rng([seeds[2], 1])
    train, rest = _split(problem, train_fraction, generator) if optimise else (problem, problem)
    features = plain_features(train.fitted_operator, train.model, train.domain, train.data)
    start = None if locations is None else _as_locations(locations, features.points.shape[1])
    if optimise:
        learnt = learn(features, train.kernel, start, n_locations, generator)
    else:
        chosen = draw_locations(features.points, n_locations, generator) if start is None else start
        learnt = Learnt(chosen, train.kernel.fitted(features.points), None)
    looked = replace(rest, operator=FiniteSet(train.fitted_operator, learnt.locations), kernel=learnt.kernel)
    details = {
        "locations": [[float(f"{number:.6g}") for number in row] for row in learnt.locations],
        "distinct locations": distinct(learnt.locations, learnt.kernel),
        "bandwidth": _bandwidths(learnt.kernel),
        "n_train": len(problem.data) - len(rest.data),
        "power criterion": learnt.criterion,
    }
    result = run_test(
        looked,
        null=null,
        workers=1,
        seeds=seeds,
        audit=audit,
        title="Finite-set Stein discrepancy test",
        details=details,
    )
    return FiniteSetResult(**{field.name: getattr(result, field.name) for field in fields(result)})


class FiniteSetResult(TestResult):
    """The outcome of :func:`fssd_test`."""

    _statistic_name = "FSSD², U-statistic"


@dataclass(frozen=True)
class SpectralOfFeatures:
    """n·U ⇒ Σ ω_i(Z_i² − 1), with ω the eigenvalues of the covariance of the finitely many features."""

    n_resamples: int = 9999

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        """The statistic, and draws from the limit law divided by n; both in linear time."""
        form = problem.form
        assert isinstance(form, FiniteSetForm)
        centred = form.tau - form.tau.mean(axis=0)
        # Both products have the same positive eigenvalues.
        n, count = centred.shape
        product = centred.T @ centred if count <= n else centred @ centred.T
        eigenvalues = np.linalg.eigvalsh(product / n)
        eigenvalues = eigenvalues[eigenvalues > 1e-12 * eigenvalues[-1]]
        draws = np.empty(self.n_resamples)
        for part in cut(0, self.n_resamples, 512):
            normal = rng.standard_normal((part.stop - part.start, len(eigenvalues)))
            draws[part] = (normal**2 - 1.0) @ eigenvalues
        return Calibration(form.statistic, draws / n)


def _split(problem: Problem, fraction: float, generator: np.random.Generator) -> tuple[Problem, Problem]:
    """Rows to learn from and rows to test on, drawn at random, each in their order."""
    n = len(problem.data)
    count = round(fraction * n)
    if count < LEAST_TRAINING or n - count < LEAST_TEST:
        raise InputError(
            f"`data`: {n} rows make {count} to learn locations from and {n - count} to test on, but at least "
            f"{LEAST_TRAINING} and {LEAST_TEST} are needed. Use ksd_test, which needs no split, or change "
            "`train_fraction`."
        )
    order = generator.permutation(n)
    first, second = np.sort(order[:count]), np.sort(order[count:])
    return problem.with_data(problem.data[first]), problem.with_data(problem.data[second])


def _check_fraction(fraction: Any) -> None:
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0.0 < fraction < 1.0:
        raise InputError(f"`train_fraction` must be a number between 0 and 1, got {fraction!r}.")


def _as_locations(locations: Any, m: int) -> Array:
    try:
        found = np.array(locations, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if m == 1 and found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or found.shape[1] != m or not len(found) or not np.isfinite(found).all():
        raise InputError(
            f"`locations` must be finite numbers of shape (J, {m}), one row for each location, got shape "
            f"{np.shape(locations)}."
        )
    return found


def _bandwidths(kernel: Any) -> float | list[float] | None:
    inner = getattr(kernel, "kernel", kernel)
    terms: Sequence[Any] = getattr(inner, "kernels", (inner,))
    found = [float(term.bandwidth) for term in terms if isinstance(getattr(term, "bandwidth", None), float)]
    return found[0] if len(found) == 1 else found or None
