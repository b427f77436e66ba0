"""What an auxiliary function does to a model and data, in a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.auditing.boundary import Exponents, exponents
from goodstein.auxiliary.base import Auxiliary, BoundaryDistance, Unit
from goodstein.auxiliary.criterion import Criterion, power_criterion
from goodstein.auxiliary.functions import BallPower, GeometricMean, ProductOfParts
from goodstein.auxiliary.report import AuxiliaryReport, Diagnosis
from goodstein.domains import Ball, Box, Polygon, Polytope, Simplex
from goodstein.domains.base import Domain
from goodstein.errors import InputError, ScoreError
from goodstein.kernels.base import Kernel
from goodstein.operators.base import tangent
from goodstein.operators.standardised import Standardised
from goodstein.pipeline.compose import as_generator, compose
from goodstein.pipeline.run import draw_seeds, quick_audit
from goodstein.problems.problem import Problem
from goodstein.text import readable
from goodstein.types import RNG, Array, ArrayLike


def diagnose_auxiliary(
    data: ArrayLike,
    model: Any,
    auxiliaries: Auxiliary | Sequence[Auxiliary] | Mapping[str, Auxiliary] | None = None,
    *,
    domain: Domain | None = None,
    kernel: Kernel | None = None,
    rng: RNG = None,
) -> AuxiliaryReport:
    r"""Look at what auxiliary functions g do: their means, their power criterion, and the boundary.

    For each g the report has the means of g_i ∂_i log q, of g and of the drift b = g·s + ∂g over the data,
    with standard errors; the power criterion U/σ, σ² = 4·Var_x[E_x′ h(x, x′)]; the exponents with which
    density and g behave at every face of the boundary; and whether a test with g is valid.

    Parameters
    ----------
    data, model, domain
        As in :func:`ksd_test`. To choose g by what is seen here, use data that are not tested afterwards.
    auxiliaries
        One auxiliary function, several, or a mapping from names to them. None takes those that the library
        has for the domain, g = 1 included.
    kernel
        For the power criterion; None takes :class:`IMQ` with the median bandwidth.
    rng
        Seed or generator of the points at which the boundary is looked at.

    Returns
    -------
    AuxiliaryReport
        Print it, or use ``.rows`` and ``.to_dict()``.

    Notes
    -----
    The paper that introduced these operators calls g optimal if E_p[g_i ∂_i log q] = 0, p being the law of
    the data, and recommends g ≈ q/p, which has this property. **That condition is not one of optimality.**
    In its derivation a derivative has to hit p·g and not g alone; done right, the stationary points are
    g_i(∂_i log q − ∂_i log p) = 0, that is p = q. Two examples with the Gaussian kernel of bandwidth 1 and
    q = N(0, 1), by quadrature:

    ============  ======  ===========  ======
    p             g       E_p[g·s]     U/σ
    ============  ======  ===========  ======
    N(0, 1.6)     1       0            .131
    N(0, 1.6)     q/p     0            .101
    N(½, 1)       1       −.5          .227
    N(½, 1)       q/p     0            .227
    ============  ======  ===========  ======

    (1.6 is a variance.) In the first both satisfy the condition and the ratio is worse; in the second g = 1
    violates it and is as good. On a bounded domain g = 1 violates it even if p = q. So the means of g·s
    describe g, no more; compare U/σ, and only among valid g.

    Under the model E[b] = 0 if Stein's identity holds for constant test functions, so a mean of b that is
    many standard errors away from 0 speaks against the model or against g.

    References
    ----------
    Xu (2022), Standardisation-function kernel Stein discrepancy.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> report = gs.diagnose_auxiliary(model.sample(200, rng=1), model, rng=1)
    >>> [row.name for row in report.rows if row.valid]
    ['ProductOfParts(power=1.0)', 'BoundaryDistance()']
    """
    generator = as_generator(rng)
    seeds = draw_seeds(generator)
    problem = compose(data, model, domain, Standardised(Unit()), kernel, seeds[2])
    if not isinstance(problem.data, np.ndarray) or not _is_flat(problem.domain):
        raise InputError(
            f"`domain`: auxiliary functions belong to R^d and its parts, and {problem.domain!r} is none of "
            "them."
        )
    named = _as_named(auxiliaries, problem.domain)
    rows = [_diagnose(name, auxiliary, problem, seeds[0]) for name, auxiliary in named.items()]
    return AuxiliaryReport(
        problem.model.name,
        repr(problem.domain),
        readable(problem.kernel.fitted(tangent(problem.domain, problem.data))),
        len(problem.data),
        tuple(rows),
    )


def _diagnose(name: str, auxiliary: Auxiliary, problem: Problem, seed: int) -> Diagnosis:
    data, place = problem.data, problem.domain
    fixed = auxiliary.fitted(data, place)  # one that was found on these data refuses them
    operator = Standardised(fixed)
    moved = replace(problem, operator=operator)
    report = quick_audit(moved, np.random.default_rng(seed))
    faces: list[Exponents] = []
    if place.has_boundary:
        with suppress(ScoreError):  # the audit says so
            faces = exponents(problem.model, place, operator, data, np.random.default_rng(seed))
    problems = report.messages("fail") + report.messages("warn")
    m = tangent(place, data[:1]).shape[1]
    valid, gs, b, each_g = report.valid, np.full((2, m), np.nan), np.full((2, m), np.nan), np.full(2, np.nan)
    criterion = Criterion(math.nan, math.nan, math.nan)
    try:
        features = operator.features(problem.model, place, data)
        g, dg = fixed.evaluate(data, place)
        criterion = power_criterion(features.form(problem.kernel.fitted(features.points)))
    except InputError as error:
        valid, problems = False, (*problems, str(error))
    else:
        # b − ∂g rather than g·s, which is 0·∞ on a boundary where b is finite.
        b, gs = features.value, features.value - tangent(place, dg)
        each_g = g.reshape(len(g), -1).mean(axis=1)
    return Diagnosis(
        name=name,
        auxiliary=fixed,
        mean_gs=gs.mean(axis=0),
        mean_gs_error=_error(gs),
        mean_g=float(each_g.mean()),
        mean_g_error=float(_error(each_g)),
        mean_b=b.mean(axis=0),
        mean_b_error=_error(b),
        criterion=criterion,
        faces=tuple(faces),
        valid=valid,
        problems=problems,
    )


def available(domain: Domain) -> list[Auxiliary]:
    """The auxiliary functions that the library has for a domain, valid or not."""
    if isinstance(domain, Simplex):
        return [Unit(), ProductOfParts(), GeometricMean(), BoundaryDistance()]
    if isinstance(domain, Ball):
        return [Unit(), BallPower(), BoundaryDistance()]
    if isinstance(domain, Box | Polygon | Polytope) and domain.has_boundary:
        own = domain.default_auxiliary()
        return [Unit(), *(part for part in dict.fromkeys([own, BoundaryDistance()]))]
    return [Unit(), domain.default_auxiliary()] if domain.has_boundary else [Unit()]


def _as_named(auxiliaries: Any, domain: Domain) -> dict[str, Auxiliary]:
    if auxiliaries is None:
        auxiliaries = available(domain)
    if hasattr(auxiliaries, "evaluate") or isinstance(auxiliaries, type):
        auxiliaries = [auxiliaries]
    if isinstance(auxiliaries, Mapping):
        named = {str(name): auxiliary for name, auxiliary in auxiliaries.items()}
    elif isinstance(auxiliaries, Sequence) and not isinstance(auxiliaries, str):
        named = {}
        for auxiliary in auxiliaries:
            name = readable(auxiliary)
            while name in named:
                name += " again"
            named[name] = auxiliary
    else:
        named = {"": auxiliaries}
    for auxiliary in named.values():
        if isinstance(auxiliary, type) or not hasattr(auxiliary, "evaluate"):
            raise InputError(
                f"`auxiliaries` must be auxiliary functions such as BoundaryDistance(), got {auxiliary!r}. "
                "Wrap a function of your own: Auxiliary(function)."
            )
    if not named:
        raise InputError("`auxiliaries` is empty: pass at least one, or None.")
    return named


def _is_flat(domain: Domain) -> bool:
    return domain.flat and not hasattr(domain, "levels")


def _error(values: Array) -> Array:
    """Standard error of the mean over rows."""
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(len(values)))
