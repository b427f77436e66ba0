"""The functions that users call: validate, compose, return."""

from __future__ import annotations

from typing import Any

from goodstein.auditing.report import AuditReport
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers
from goodstein.kernels.base import Kernel
from goodstein.nulls import Null, WildBootstrap
from goodstein.operators import Operator
from goodstein.pipeline.compose import as_generator, compose, compose_model
from goodstein.pipeline.run import check_null, conditions, draw_seeds, run_test, short
from goodstein.problems.problem import draw
from goodstein.results.result import TestResult
from goodstein.types import RNG, Array, ArrayLike


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
        Observations, (n, d) or a data frame; (n,) for one dimension. Right-censored durations are
        :class:`Censored`, a ``scipy.stats.CensoredData`` or a structured array (event, time).
    model
        A score function, or anything that :func:`as_model` takes; for durations a distribution on
        the half-line, a fitted lifelines model or a :class:`SurvivalModel`.
    domain
        Where the model is a density; None takes the model's own, or R^d. A smaller domain than
        the model's own means the model truncated to it.
    operator
        Stein operator; None takes :class:`Langevin` on R^d, :class:`LogRatio` on a simplex,
        :class:`Martingale` for durations, :class:`Coordinate` on circles and tori,
        :class:`SecondOrder` on spheres, :class:`Difference` on lattices, :class:`Latent` for latent
        models, and :class:`Standardised` with the domain's auxiliary function on regions with an edge.
    kernel
        None takes :class:`IMQ` with the median bandwidth, or what the operator prefers.
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
    check_null(null)
    seeds = draw_seeds(as_generator(rng))
    problem = compose(data, model, domain, operator, kernel, seeds[2])
    return run_test(problem, null=null, workers=workers, seeds=seeds, audit=audit)


def stein_matrix(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    rng: RNG = None,
) -> Array:
    """The Stein matrix h(x_i, x_j), (n, n), for inspection at small n.

    Parameters are those of :func:`ksd_test`; nothing is audited. `rng` matters only to operators that
    draw random numbers.

    Examples
    --------
    >>> import goodstein as gs
    >>> h = gs.stein_matrix([[0.5], [-0.3]], gs.families.Normal(0, 1), kernel=gs.Gaussian(1.0))
    >>> print(f"{h[0, 1]:.10f}")
    -0.3122440859
    """
    seed = draw_seeds(as_generator(rng))[2]
    return compose(data, model, domain, operator, kernel, seed).form.matrix()


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

    generator = as_generator(rng)
    points: Any = None
    if data is not None:
        problem = compose(data, model, domain, operator, None)
        _ = problem.features  # an error here is about the user's own rows
        wrapped, domain, operator, points = problem.model, problem.domain, problem.operator, problem.data
    else:
        wrapped, domain, operator = compose_model(model, domain, operator)
        if wrapped.has_sample:
            points = draw(wrapped, domain, 200, generator)
    checks = conditions(wrapped, domain, operator, points, generator)
    if not hasattr(operator, "conditions"):
        checks += [
            check_tails(wrapped, domain, operator, points, generator),
            check_score(wrapped, domain, points),
        ]
    if all(check.status != "fail" for check in checks):
        checks.append(check_identity(wrapped, domain, operator, generator))
    return AuditReport(wrapped.name, repr(domain), short(operator), tuple(checks))


__all__ = ["audit", "ksd_test", "stein_matrix"]
