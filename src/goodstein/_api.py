"""The functions that users call: validate, compose, return."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from goodstein._typing import RNG, Array, ArrayLike
from goodstein._validation import as_data
from goodstein.auditing.boundary import check_boundary, check_connected
from goodstein.auditing.report import AuditReport, Check
from goodstein.domains.base import Domain
from goodstein.domains.euclidean import Euclidean
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import InputError, SteinIdentityError
from goodstein.kernels import IMQ
from goodstein.kernels.base import Kernel
from goodstein.models import as_model
from goodstein.models.model import Model
from goodstein.nulls import Null, WildBootstrap
from goodstein.operators import Operator, default_operator
from goodstein.problem import Problem, draw
from goodstein.result import TestResult


def ksd_test(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    null: Null = WildBootstrap(),  # noqa: B008 - frozen, used as a value
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
) -> TestResult:
    """Test whether a model fits data, by the kernel Stein discrepancy.

    The null hypothesis is that the rows of `data` are independent draws from `model`, which needs
    to be known only up to its normalising constant.

    Parameters
    ----------
    data
        Observations, (n, d) or a data frame; (n,) for one dimension.
    model
        A score function, or anything that :func:`as_model` takes.
    domain
        Where the model is a density; None takes the model's own, or R^d. A smaller domain than
        the model's own means the model truncated to it.
    operator
        Stein operator; None takes :class:`Langevin` on R^d, :class:`LogRatio` on a simplex, and
        :class:`Standardised` with the domain's auxiliary function elsewhere.
    kernel
        None takes :class:`IMQ` with the median bandwidth.
    null
        Null distribution: :class:`WildBootstrap`, :class:`Spectral`, :class:`MonteCarlo`, or, for
        a model fitted to the same data, :class:`ParametricBootstrap`.
    workers
        Threads, -1 for all cores, or a :class:`concurrent.futures.Executor`; the result is the
        same for all of them.
    rng
        Seed or generator of everything random.
    audit
        Whether to raise :class:`SteinIdentityError` when the test cannot keep its level. If
        False the test runs all the same and the result says what is wrong.

    Returns
    -------
    TestResult

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> result = gs.ksd_test(model.sample(200, rng=1), model, rng=1)
    >>> result.pvalue > 0.05
    True
    """
    check_workers(workers)
    generator = _generator(rng)
    problem = _compose(data, model, domain, operator, kernel)
    if not hasattr(null, "calibrate") or isinstance(null, type):
        raise InputError(
            f"`null` must be a null method such as WildBootstrap(), Spectral(), MonteCarlo() or "
            f"ParametricBootstrap(fit), got {null!r}."
        )
    # Seeds, not spawned generators: not every bit generator can spawn.
    probe_rng, null_rng = map(np.random.default_rng, generator.integers(0, 1 << 63, size=2))
    report = _quick_audit(problem, probe_rng)
    notes: list[str] = []
    if not report.valid:
        if audit:
            raise SteinIdentityError(_refusal(report))
        reasons = " ".join(report.messages("fail"))
        notes.append(f"The audit refused this test and was overruled; its p-value is not valid. {reasons}")
    notes += report.messages("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calibration = null.calibrate(problem, workers=workers, rng=null_rng)
    for message in dict.fromkeys((str(w.message), w.category) for w in caught):
        warnings.warn(*message, stacklevel=2)
        notes.append(message[0])
    return TestResult(
        statistic=calibration.statistic,
        pvalue=calibration.pvalue,
        null_distribution=calibration.draws,
        n=problem.form.n,
        model=problem.model.name,
        domain=problem.domain,
        operator=problem.fitted_operator,
        kernel=problem.fitted_kernel,
        null=null,
        audit=report,
        notes=tuple(notes),
    )


def stein_matrix(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
) -> Array:
    """The Stein matrix h(x_i, x_j), (n, n), for inspection at small n.

    Parameters are those of :func:`ksd_test`; nothing is audited.

    Examples
    --------
    >>> import goodstein as gs
    >>> h = gs.stein_matrix([[0.5], [-0.3]], gs.families.Normal(0, 1), kernel=gs.Gaussian(1.0))
    >>> print(f"{h[0, 1]:.10f}")
    -0.3122440859
    """
    return _compose(data, model, domain, operator, kernel).form.matrix()


def audit(
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    data: ArrayLike | None = None,
    rng: RNG = None,
) -> AuditReport:
    """Say whether a test of this model, on this domain, with this operator, is valid.

    Checks that Stein's identity and a finite variance are possible at every face of the boundary,
    that the domain is connected, that the density is integrable far out, that score and log
    density agree, and, if the model can be sampled, that E[T k(·, y)] = 0.

    Parameters
    ----------
    model, domain, operator
        As in :func:`ksd_test`.
    data
        Points at which to look at the model; without them draws from the model are used.
    rng
        Seed or generator.

    Returns
    -------
    AuditReport
        Print it to read it; ``.valid`` says whether any check failed.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> gs.audit(model, rng=1).valid
    True
    >>> gs.audit(model, operator=gs.Standardised(gs.GeometricMean()), rng=1).valid
    False
    """
    from goodstein.auditing.checks import check_identity, check_score, check_tails

    generator = _generator(rng)
    wrapped = as_model(model)
    points: Array | None = None
    if data is not None:
        problem = _compose(data, wrapped, domain, operator, None)
        _ = problem.features  # an error here is about the user's own rows
        wrapped, domain, operator, points = problem.model, problem.domain, problem.operator, problem.data
    else:
        _check_parts(domain, operator)
        domain = domain if domain is not None else wrapped.domain
        if domain is None:
            raise InputError("The model does not say where it lives: pass `domain` or `data`.")
        wrapped = _restricted(wrapped, domain)
        operator = operator if operator is not None else default_operator(domain)
        if wrapped.has_sample:
            points = draw(wrapped, domain, 200, generator)
    checks = [
        check_connected(domain),
        check_boundary(wrapped, domain, operator, points, generator),
        check_tails(wrapped, domain, operator, points, generator),
        check_score(wrapped, domain, points),
    ]
    if all(check.status != "fail" for check in checks):
        checks.append(check_identity(wrapped, domain, operator, generator))
    return AuditReport(wrapped.name, repr(domain), _short(operator), tuple(checks))


def _generator(rng: RNG) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`rng` must be None, a non-negative integer or a numpy random Generator, got {rng!r} ({error})."
        ) from None


def _compose(
    data: ArrayLike, model: Any, domain: Domain | None, operator: Operator | None, kernel: Kernel | None
) -> Problem:
    """Validated data and everything that was left out filled in."""
    wrapped = as_model(model)
    own = wrapped.domain
    _check_parts(domain, operator)
    if domain is not None and own is not None and domain.dim != own.dim:
        raise InputError(
            f"`domain` {domain!r} has {domain.dim} dimensions, but {wrapped.name} lives on {own!r} "
            f"with {own.dim}."
        )
    chosen = domain if domain is not None else own
    if chosen is not None:
        x = as_data(data, chosen.dim, where=repr(chosen) if domain is not None else wrapped.name)
    else:
        x = as_data(data)
        chosen = Euclidean(x.shape[1])
    for region in (own, chosen) if own is not None and own != chosen else (chosen,):
        region.validate(x)
    if operator is None:
        operator = default_operator(chosen)
    if kernel is None:
        kernel = IMQ()
    elif not hasattr(kernel, "fitted") or isinstance(kernel, type):
        raise InputError(
            f"`kernel` must be a kernel such as IMQ() or Gaussian(bandwidth=1.0), got {kernel!r}."
        )
    return Problem(x, _restricted(wrapped, chosen), chosen, operator, kernel)


def _check_parts(domain: Any, operator: Any) -> None:
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(f"`domain` must be a domain such as Box(0, 1) or Simplex(3), got {domain!r}.")
    if operator is not None and (not hasattr(operator, "features") or isinstance(operator, type)):
        raise InputError(
            f"`operator` must be an operator such as Langevin() or Standardised(), got {operator!r}."
        )


def _restricted(model: Model, domain: Domain) -> Model:
    """The model on a domain: truncated to it, sampler included, if its own is larger."""
    if model.domain is None or model.domain == domain:
        return model.on(domain)
    from goodstein.families import Truncated

    return as_model(Truncated(model, domain))


def _quick_audit(problem: Problem, rng: np.random.Generator) -> AuditReport:
    """The checks that cost next to nothing, before every test."""
    checks: list[Check] = [
        check_connected(problem.domain),
        check_boundary(problem.model, problem.domain, problem.operator, problem.data, rng),
    ]
    return AuditReport(problem.model.name, repr(problem.domain), _short(problem.operator), tuple(checks))


def _refusal(report: AuditReport) -> str:
    reasons = " ".join(report.messages("fail"))
    return (
        f"{report.operator} is not valid for {report.model} on {report.domain}. {reasons} "
        "(audit=False runs the test all the same.)"
    )


def _short(operator: Operator) -> str:
    return repr(operator).replace("auxiliary=None", "")


__all__ = ["Model", "audit", "ksd_test", "stein_matrix"]
