"""Checks that need more than the boundary: used by `gs.audit`, not before every test."""

from __future__ import annotations

import warnings

import numpy as np

from goodstein.auditing.report import Check, Status
from goodstein.domains.base import Domain
from goodstein.errors import InputError, NumericalScoreWarning, ScoreError
from goodstein.kernels import IMQ
from goodstein.models.model import Model
from goodstein.operators.base import Operator, fitted_operator, tangent
from goodstein.problems.problem import draw
from goodstein.types import Array

RADII = np.array([1e3, 1e4])
"""Distances, in units of the data's spread, at which a density is taken to show its tail."""


CENTRES = 20
"""Points y at which Stein's identity is checked by simulation."""


def check_score(model: Model, domain: Domain, points: Array | None) -> Check:
    """The score against a numerical derivative of the log density."""
    name = "score against log density"
    if not (model.has_logpdf and model.has_score):
        return Check(name, "skip", "Only one of score and log density is given.")
    if points is None:
        return Check(name, "skip", "There are no points to compare them at: pass `data`.")
    points = points[:50]
    numerical = Model(logpdf=model.logpdf, domain=domain)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalScoreWarning)
            expected = tangent(domain, numerical.score(points))
        got = tangent(domain, model.score(points))
    except ScoreError as error:
        return Check(name, "warn", str(error))
    gap = np.abs(got - expected).max(axis=1) / (1.0 + np.abs(expected).max(axis=1))
    wrong = gap > 1e-4
    if not wrong.any():
        return Check(name, "pass", f"They agree to {gap.max():.1e} at {len(points)} points.")
    row = int(np.argmax(gap))
    # A kink in the density, such as the Laplace's, spoils a numerical derivative at single points.
    status: Status = "fail" if wrong.mean() > 0.1 else "warn"
    return Check(
        name,
        status,
        f"They differ at {int(wrong.sum())} of {len(points)} points: at point {row} the score is "
        f"{np.array2string(got[row], precision=4)}, but the log density has the derivative "
        f"{np.array2string(expected[row], precision=4)}. One of the two is wrong.",
    )


def check_tails(
    model: Model, domain: Domain, operator: Operator, points: Array | None, rng: np.random.Generator
) -> Check:
    """Whether the density falls fast enough far out to be integrable and to give a finite variance."""
    name = "tails"
    if domain.bounded:
        return Check(name, "pass", "The domain is bounded.")
    centre = np.zeros(domain.dim) if points is None else np.median(points, axis=0)
    spread = 1.0 if points is None else float(np.median(np.abs(points - centre))) or 1.0
    directions = rng.standard_normal((256, domain.dim))
    # Few random directions stay in an orthant or a strip: these have all signs alike, or one axis only.
    axes = np.eye(domain.dim)
    directions = np.vstack([axes, -axes, directions, np.abs(directions), -np.abs(directions)])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions = rng.permutation(directions[domain.contains(centre + spread * RADII[-1] * directions)])[:16]
    if not len(directions):
        return Check(name, "skip", "No direction was found in which the domain goes on for ever.")
    decay, growth = [], []
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for radius in spread * RADII:
                x = centre + radius * directions
                decay.append(-radius * np.einsum("ij,ij->i", model.score(x), directions))
                if hasattr(operator, "boundary_weight"):
                    growth.append(np.linalg.norm(operator.boundary_weight(domain, x, directions), axis=1))
    except (ScoreError, ArithmeticError, ValueError):
        return Check(name, "skip", "The score cannot be evaluated far out.")
    m = domain.dim
    # q ~ R^(−decay) and g ~ R^c; q·R^(m−1) must be integrable, also after multiplication by g².
    c = np.log(growth[1] / growth[0]) / np.log(RADII[1] / RADII[0]) if growth else np.zeros(1)
    tail, c_max = float(np.min(decay[1])), float(np.max(c))
    if tail <= m * (1.0 - 1e-6):
        return Check(
            name,
            "warn",
            f"Far out the density behaves like R^{-tail:.3g}, which has no finite integral in dimension {m}. "
            "If the score is that of a density, check its sign; if it is a learnt score, ignore this.",
        )
    if tail <= m + 2.0 * max(c_max, 0.0):
        return Check(
            name,
            "warn",
            f"The density falls like R^{-tail:.3g} and the operator's weight grows like "
            f"R^{c_max:.2f}: the statistic "
            "may have no finite variance. Use a bounded auxiliary function.",
        )
    rate = "faster than R^-50" if tail > 50 else f"like R^{-tail:.3g}"
    return Check(name, "pass", f"Far out the density falls {rate}.")


def check_identity(
    model: Model, domain: Domain, operator: Operator, rng: np.random.Generator, draws: int = 4000
) -> Check:
    """E_q[T k(·, y)] = 0 at several y, by simulation."""
    name = "Stein's identity by simulation"
    if not model.has_sample:
        return Check(name, "skip", "The model cannot be sampled.")
    x = draw(model, domain, draws, rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalScoreWarning)
            features = fitted_operator(operator, x, domain).features(model, domain, x)
    except (InputError, ScoreError) as failure:
        reason = str(failure).removeprefix("`data`: ")
        return Check(name, "warn", f"The operator cannot be evaluated at draws from the model: {reason}")
    chosen = getattr(operator, "default_kernel", IMQ)()
    form = features.form(chosen.fitted(features.points))
    # h(x, y) = ⟨T k(·, y), ·⟩ has mean zero over x at every y, whatever the operator.
    values = form.block(slice(0, CENTRES), slice(CENTRES, draws))
    error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, np.abs(values.mean(axis=1)) / error, 0.0)
    worst, worst_mean = float(z.max()), float(values.mean(axis=1)[np.argmax(z)])
    from statistics import NormalDist

    limit = NormalDist().inv_cdf(1.0 - 0.5e-4 / CENTRES)
    found = f"the largest of {CENTRES} means is {worst:.1f} standard errors from zero ({draws} draws)"
    if worst > limit:
        return Check(
            name,
            "fail",
            f"E[h(·, y)] is not zero: {found}, about {worst_mean:.3g}. Sampler and score disagree, or the "
            "operator's derivatives or boundary are wrong.",
        )
    return Check(name, "pass", f"E[h(·, y)] = 0 within error: {found}.")
