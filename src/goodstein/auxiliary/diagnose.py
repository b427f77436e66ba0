"""What an auxiliary function does to a model and data, in a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.auditing.conditions import Exponents, exponents
from goodstein.auxiliary.base import Auxiliary, BoundaryDistance, Unit, as_auxiliary
from goodstein.auxiliary.criterion import PowerCriterion, power_criterion
from goodstein.auxiliary.functions import BallPower, GeometricMean, ProductOfParts, default_auxiliary
from goodstein.data.points import Points
from goodstein.domains import Ball, Box, Domain, Polygon, Polytope, Simplex
from goodstein.errors import InputError, ScoreError
from goodstein.kernels.base import Kernel
from goodstein.kernels.imq import IMQ
from goodstein.operators.base import tangent
from goodstein.operators.standardised import Standardised
from goodstein.pipeline.audit import quick_audit
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.problems.problem import Problem
from goodstein.text import Report, Table, plain, readable
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

COORDINATES = 6
"""Coordinates whose means are printed; :meth:`AuxiliaryReport.to_dict` has them all."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found about one auxiliary function, its scales fixed.

    Attributes
    ----------
    mean_gs, mean_g, mean_b
        Means over the data of g_i ∂_i log q, of g, and of the drift b_i = g_i ∂_i log q + ∂_i g_i, whose
        expectation is 0 under the model wherever Stein's identity holds; each with its standard error, for
        each coordinate (on a simplex orthonormal ones of its tangent space), and g over all of them.
    criterion
        U, σ and U/σ with the kernel of the report.
    faces
        The exponents of density and g at each face of the boundary.
    valid, problems
        Whether a test with this g can keep its level, and if not, why.
    """

    name: str
    auxiliary: Auxiliary
    mean_gs: Array
    mean_gs_error: Array
    mean_g: float
    mean_g_error: float
    mean_b: Array
    mean_b_error: Array
    criterion: PowerCriterion
    faces: tuple[Exponents, ...]
    valid: bool
    problems: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        means = ("mean_gs", "mean_gs_error", "mean_g", "mean_g_error", "mean_b", "mean_b_error")
        found: dict[str, Any] = plain(
            {
                "auxiliary": self.name,
                "valid": self.valid,
                "problems": self.problems,
                **{name: self.__dict__[name] for name in means},
                "u": self.criterion.u,
                "sigma": self.criterion.sigma,
                "criterion": self.criterion.value,
                "faces": [{**vars(face), "valid": face.valid} for face in self.faces],
            }
        )
        return found


@dataclass(frozen=True, eq=False)
class AuxiliaryReport(Report):
    """Auxiliary functions side by side; print it to read it.

    Attributes
    ----------
    model, domain, kernel
        What was looked at, in words.
    n
        Number of observations.
    rows
        One :class:`Diagnosis` for each auxiliary function.
    """

    model: str
    domain: str
    kernel: str
    n: int
    rows: tuple[Diagnosis, ...]

    def _title(self) -> str:
        return f"Auxiliary functions for {self.model} on {self.domain}, {self.n} observations"

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        del found["rows"]
        return {**found, "auxiliaries": [row.to_dict() for row in self.rows]}

    def _tables(self) -> list[Table]:
        count = len(self.rows[0].mean_gs) if self.rows else 0
        shown = min(count, COORDINATES)
        header = ["g", "valid", "mean g", *(f"mean g·s_{i + 1}" for i in range(shown))]
        header += ["U", "σ", "U/σ", "least exponent of q·g"]
        lines = []
        for row in self.rows:
            means = [(row.mean_g, row.mean_g_error), *zip(row.mean_gs, row.mean_gs_error, strict=True)]
            found, least = row.criterion, min((e.density + e.weight for e in row.faces), default=math.nan)
            line = [row.name, "yes" if row.valid else "NO"]
            line += [f"{mean:.3g} ± {error:.2g}" for mean, error in means[: 1 + shown]]
            line += [f"{found.u:.3g}", f"{found.sigma:.3g}", f"{found.value:.3f}"]
            lines.append([*line, "no boundary" if math.isnan(least) else f"{least:.2f}"])
        return [Table(header, lines)]

    def _notes(self) -> list[str]:
        notes = [
            f"Kernel {self.kernel}. U/σ is the power criterion; a mean of g·s of zero is no sign of power."
        ]
        if self.rows and len(self.rows[0].mean_gs) > COORDINATES:
            notes.append(f"The first {COORDINATES} of {len(self.rows[0].mean_gs)} coordinates are shown.")
        notes += [f"{row.name}: {' '.join(row.problems)}" for row in self.rows if row.problems]
        return notes


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
    the data, and recommends g ≈ q/p, which has this property. *That condition is not one of optimality*: in
    its derivation a derivative has to hit p·g and not g alone; done right, the stationary
    points are g_i(∂_i log q − ∂_i log p) = 0, that is p = q. With q = N(0, 1) and the Gaussian kernel of
    bandwidth 1, by quadrature: for p with variance 1.6 both g = 1 and q/p satisfy it, with U/σ = .131 and
    .101; for p = N(½, 1) g = 1 violates it, E_p[g·s] = −.5, and both have .227. So the means of g·s describe
    g, no more; compare U/σ, and only among valid g.

    Under the model E[b] = 0, so a mean of b that is many standard errors away from 0 speaks against the model
    or against g.

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
    problem = compose(data, model, domain, Standardised(Unit()), IMQ() if kernel is None else kernel, seeds)
    place = problem.domain
    if not isinstance(problem.data, Points) or not place.flat or place.discrete:
        raise InputError(
            f"auxiliary functions belong to R^d and its parts, and {place!r} is none of them.",
            argument="domain",
        )
    named = _as_named(auxiliaries, problem.domain)
    rows = [_diagnose(name, auxiliary, problem, seeds[0]) for name, auxiliary in named.items()]
    return AuxiliaryReport(
        problem.model.name,
        repr(problem.domain),
        readable(problem.kernel.fitted(tangent(problem.domain, problem.observations))),
        len(problem.data),
        tuple(rows),
    )


def _diagnose(name: str, auxiliary: Auxiliary, problem: Problem, seed: int) -> Diagnosis:
    data, place = problem.observations, problem.domain
    fixed = auxiliary.fitted(data, place)  # one that was found on these data refuses them
    operator = Standardised(fixed)
    moved = replace(problem, operator=operator)
    report = quick_audit(moved, np.random.default_rng(seed))
    faces: list[Exponents] = []
    if place.has_boundary:
        with suppress(ScoreError):  # the audit says so
            faces = exponents(
                problem.model, place, operator.boundary_weight, data, np.random.default_rng(seed)
            )
    problems = report.messages("fail") + report.messages("warn")
    m = tangent(place, data[:1]).shape[1]
    valid, gs, b, each_g = report.valid, np.full((2, m), np.nan), np.full((2, m), np.nan), np.full(2, np.nan)
    criterion = PowerCriterion(math.nan, math.nan, math.nan)
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
        return [Unit(), *dict.fromkeys([default_auxiliary(domain), BoundaryDistance()])]
    return [Unit(), default_auxiliary(domain)] if domain.has_boundary else [Unit()]


def _as_named(auxiliaries: Any, domain: Domain) -> dict[str, Auxiliary]:
    if auxiliaries is None:
        auxiliaries = available(domain)
    if isinstance(auxiliaries, Mapping):
        named = {str(name): auxiliary for name, auxiliary in auxiliaries.items()}
    else:
        several = isinstance(auxiliaries, Sequence) and not isinstance(auxiliaries, str)
        named = {}
        for auxiliary in auxiliaries if several else [auxiliaries]:
            name = readable(auxiliary)
            while name in named:
                name += " again"
            named[name] = auxiliary
    if not named:
        raise InputError("`auxiliaries` is empty: pass at least one, or None.")
    wanted = "`auxiliaries` must be auxiliary functions such as BoundaryDistance()"
    return {name: as_auxiliary(auxiliary, wanted) for name, auxiliary in named.items()}


def _error(values: Array) -> Array:
    """Standard error of the mean over rows."""
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(len(values)))
