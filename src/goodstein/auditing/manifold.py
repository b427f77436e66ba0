"""What Stein's identity needs on circles, spheres and charts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from goodstein.auditing.conditions import FIRST, SCORES, exponents
from goodstein.auditing.jumps import check_jumps
from goodstein.auditing.report import Check, Question
from goodstein.auxiliary.base import Auxiliary
from goodstein.domains import Box, Chart, Domain, Face, Sphere
from goodstein.domains.circle import TURN, Torus
from goodstein.errors import InputError, NumericalScoreWarning, ScoreError, given, quiet
from goodstein.models.model import Model, in_coordinates
from goodstein.types import Array

Coefficients: TypeAlias = Callable[[Model, Domain, Array], Any]
"""The features of the second-order operator: its drift, (n, m), and diffusion, (n, m, m) or None."""

POINTS = 10
"""Points at which score and log density are compared."""
STEP = 1e-3
AROUND = 1024
"""Points at which a score is summed around a circle."""
FEWEST = 128
"""The same, at least, where many coordinates of a log density are differentiated numerically."""
STARTS = 3
"""From how many points it is summed, at most."""
MANY_TURNS = 2.0
"""Angles in radians seldom reach further than this."""
FAR_TURNS = 10.0
"""Nor do those of headings that were followed for long; half a turn in degrees would be 28."""
MARGIN = 1e-2
"""Exponents are estimated; closer to the critical value than this counts as on the wrong side."""


def check_poles(domain: Sphere, auxiliary: bool) -> Check:
    """Without g the drift is infinite at the poles of the angles."""
    question = Question("poles")
    if auxiliary or domain.dim == 2:
        return question.passed("The operator is bounded at the poles of the angles.")
    return question.failed(
        f"With g = 1 the angles of {domain!r} have the term cot θ, whose square has no finite mean at the "
        "poles, so the statistic has no finite variance and no bootstrap knows its null distribution. "
        f"Valid here: {given('operator', 'Coordinate()', 'SecondOrder()')}."
    )


def check_coordinate_faces(
    model: Model, chart: Chart, auxiliary: Auxiliary, data: Array | None, rng: np.random.Generator
) -> Check:
    """Whether qJ·g vanishes where the coordinates of a chart end."""
    question = Question("boundary")
    if not chart.has_boundary:
        return question.passed("The coordinates have no end.")
    fixed = auxiliary if data is None else auxiliary.fitted(data, chart.region)
    try:
        found = exponents(in_coordinates(model, chart), chart.region, fixed.boundary_weight, data, rng)
    except InputError:
        return _unknown(question, model, chart)
    bad = [face for face in found if not face.valid]
    if not bad:
        return question.passed(f"q·J·g vanishes at all {len(found)} ends of the coordinates.")
    message = bad[0].problem().replace("the density behaves", "q·J behaves")
    return question.failed(
        f"{message[0].upper()}{message[1:]}. Use an auxiliary function that vanishes there: Coordinate(), or "
        "Coordinate(Auxiliary(function))."
    )


def check_flux(
    model: Model, domain: Domain, data: Array | None, rng: np.random.Generator, features: Coefficients
) -> Check:
    """Whether anything flows through a boundary: q∇f does, unless q or the metric prevents it."""
    question = Question("boundary")
    if not domain.has_boundary:
        return question.passed(f"{domain!r} has no boundary.")
    if not isinstance(domain, Chart):
        return question.failed(
            f"SecondOrder has no auxiliary function that could make the flux q∇f vanish at the boundary of "
            f"{domain!r}. Use {given('operator', 'Standardised()')} there."
        )
    try:
        problem = _flux_problem(model, domain, data, rng, features)
    except InputError:
        return _unknown(question, model, domain)
    if problem is None:
        return question.passed("Nothing flows through the ends of the coordinates.")
    return question.failed(problem)


def _flux_problem(
    model: Model, chart: Chart, data: Array | None, rng: np.random.Generator, coefficients: Coefficients
) -> str | None:
    """What goes wrong at an end of the coordinates, by the exponents of qJ, flux and coefficients.

    With qJ ~ δ^c, flux D G⁻¹ν ~ δ^a and coefficients (b, M) ~ δ^e the identity needs c + a > 0 and
    the variance c + 2e > −1.
    """
    density = in_coordinates(model, chart)
    for face in chart.faces(data, rng):
        sizes, slopes = [], []
        for share in (10.0 * FIRST, FIRST):
            delta = share * face.reach
            x = face.points + delta[:, None] * face.normals
            with quiet(NumericalScoreWarning):
                slopes.append(delta * np.einsum("ij,ij->i", density.score(x), face.normals))
                features = coefficients(model, chart, x)
            flux = np.einsum("nki,nij,nj->nk", chart.tangents(x), chart.inverse_metric(x), face.normals)
            spread = np.zeros(0) if features.diffusion is None else features.diffusion.reshape(len(x), -1)
            sizes.append([np.linalg.norm(v, axis=1) for v in (flux, features.drift, spread)])
        with np.errstate(divide="ignore", invalid="ignore"):
            a, e_drift, e_diffusion = (
                np.where(now > 0, np.log10(before / now), np.inf) for before, now in zip(*sizes, strict=True)
            )
        c = float(np.min(slopes[1] - (slopes[0] - slopes[1]) / 9.0))
        flow, growth = c + float(np.min(a)), c + 2.0 * float(min(np.min(e_drift), np.min(e_diffusion)))
        if flow < MARGIN:
            return (
                f"At the end {face.name} of the coordinates the flux q·J·G⁻¹∇f behaves like δ^{flow:.2f} at "
                "distance δ and does not vanish, so Stein's identity fails. Use "
                f"{given('operator', 'Coordinate()')} there{_coming_round(chart, face)}."
            )
        if growth < -1.0 + MARGIN:
            return (
                f"At the end {face.name} of the coordinates the operator's coefficients grow so fast that "
                "the statistic has no finite variance. If it is only a pole of the chart, pass the "
                "`embedding` of the manifold, on which test functions are smooth. Use "
                f"{given('operator', 'Coordinate()')} there."
            )
    return None


def _coming_round(chart: Chart, face: Face) -> str:
    """The advice for an angle that was not declared to be one."""
    box, i = chart.coordinates, int(np.argmax(np.abs(face.normals[0])))
    if not isinstance(box, Box) or not np.isfinite([box.lower[i], box.upper[i]]).all():
        return ""
    return f", or, if the coordinate comes round there, Chart(..., periodic={sorted({*chart.periodic, i})})"


def _unknown(question: Question, model: Model, chart: Chart) -> Check:
    return question.warned(
        f"The score of {model.name} or the metric could not be evaluated close to the ends of {chart!r}, so "
        "the boundary was not checked. The p-value is valid only if q·J·g vanishes there."
    )


def check_manifold(model: Model, domain: Domain, data: Array | None, rng: np.random.Generator) -> list[Check]:
    """Score and log density agree along the manifold, and come round where coordinates do."""
    if data is not None:
        points = data[rng.permutation(len(data))[:POINTS]]
    elif isinstance(domain, (Torus, Sphere)):
        points = domain.sample_uniform(POINTS, rng)
    else:
        return [Question("score").skipped("There are no points to look at it: pass `data`.")]
    checks = []
    # Any real number is an angle, so that degrees are not refused.
    turns = 0.0 if data is None else float(np.ptp(data, axis=0).max()) / TURN
    if isinstance(domain, Torus) and turns > MANY_TURNS:
        advice = "If they are degrees, convert them: np.radians(data)."
        message = f"The angles reach over {turns:.0f} turns. {advice}"
        checks.append(Question("units").warned(message, loud=turns > FAR_TURNS))
    if isinstance(domain, Torus) or (isinstance(domain, Chart) and domain.periodic):
        checks.append(check_periodic(model, domain, points))
    checks.append(check_tangential_score(model, domain, points, rng))
    return checks + check_jumps(model, domain, None, data)


def check_periodic(model: Model, domain: Torus | Chart, points: Array) -> Check:
    """Whether the model, the metric and the embedding have the periods of the domain."""
    question = Question("periodicity")
    if isinstance(domain, Torus):
        coordinates, periods = tuple(range(domain.dim)), np.full(domain.dim, TURN)
    else:
        coordinates, periods = domain.periodic, domain.periods
    for i, period in zip(coordinates, periods, strict=True):
        moved = points.copy()
        moved[:, i] += period
        angle = f"coordinate {i + 1}" if domain.dim > 1 else "the angle"
        kinds = [("score", model.score)]
        if isinstance(domain, Chart):
            kinds += [("metric", domain.metric_matrix), ("embedding", domain.embedded)]
        with quiet(NumericalScoreWarning):
            for kind, function in kinds:
                here, there = function(points), function(moved)
                gap = float(np.abs(here - there).max())
                if gap > 1e-5 * (1.0 + float(np.abs(here).max())):
                    what = f"score of {model.name}" if kind == "score" else kind
                    return question.failed(
                        f"Not a density on {domain!r}: the {what} is not the same after a whole turn of "
                        f"{angle}; it differs by {gap:.3g}. Wrap the model, or pass the right `domain`."
                    )
            gain, scale = _gain(model, points, i, float(period))
        if abs(gain) > 1e-4 * (1.0 + scale):
            return question.failed(
                f"Not a density on {domain!r}: the log density of {model.name} gains {gain:.3g} in a whole "
                f"turn of {angle}, so it jumps where the angle comes round. Pass a density that does not, or "
                "a `domain` that ends there, such as a Box."
            )
    return question.passed("Everything is the same after a whole turn.")


def _gain(model: Model, points: Array, i: int, period: float) -> tuple[float, float]:
    """What log q gains in one turn, and the size of the terms that make it up; (0, 1) where not known."""
    if model.has_logpdf:
        moved = points.copy()
        moved[:, i] += period
        values, again = model.logpdf(points), model.logpdf(moved)
        finite = np.isfinite(values) & np.isfinite(again)
        if finite.any():
            gains = (again - values)[finite]
            gain, scale = float(gains[np.argmax(np.abs(gains))]), float(np.abs(values[finite]).max())
            if abs(gain) > 1e-4 * (1.0 + scale):
                return gain, scale
    # A log density of the angle modulo a turn gains nothing even if it jumps; its score tells. A numerical
    # derivative across the jump hides it, which does not happen from all starts.
    found = (_integral_around(model, points[k : k + 1], i, period) for k in range(min(STARTS, len(points))))
    return next((pair for pair in found if pair is not None), (0.0, 1.0))


def _integral_around(model: Model, point: Array, i: int, period: float) -> tuple[float, float] | None:
    """The integral of the score around, and its size; None where two rules do not agree on it."""
    count = AROUND
    if not model.has_score:  # every coordinate is differentiated at every point
        count = max(FEWEST, AROUND >> (point.shape[1] - 1).bit_length())
    # The numbers of points have no common factor, so that errors at kinks differ between the rules.
    other = 3 * count // 4 + 1
    line = np.repeat(point, count + other, axis=0)
    line[:, i] += period * np.concatenate([np.arange(count) / count, (np.arange(other) + 0.382) / other])
    try:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slopes = model.score(line)[:, i] * period
    except (ScoreError, ValueError):  # a density with zeros has no score there
        return None
    gain, again = float(slopes[:count].mean()), float(slopes[count:].mean())
    size = float(np.abs(slopes).max())
    # Means over equidistant points converge faster than any power for smooth periodic functions. Where
    # the score jumps, at a kink, or almost does, they are wrong by up to size/count for each of them.
    smooth = abs(gain - again) <= 1e-6 * (1.0 + size)
    clear = abs(gain) > 4.0 / count * (1.0 + size) and abs(gain - again) < 0.05 * abs(gain)
    return (gain, size) if smooth or clear else None


def check_tangential_score(model: Model, domain: Domain, points: Array, rng: np.random.Generator) -> Check:
    """The score along random directions against differences of the log density."""
    if not (model.has_logpdf and model.has_score):
        return SCORES.skipped("Only one of score and log density is given.")
    if domain.flat and domain.has_boundary:
        return SCORES.skipped("Not compared on a domain with a boundary.")
    directions = rng.standard_normal(points.shape)
    step = STEP
    if isinstance(domain, Sphere):
        directions = domain.project(points, directions)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    elif not isinstance(domain, Torus):
        step *= float(np.median(np.abs(points - np.median(points, axis=0)))) or 1.0
        room = domain.boundary_distance(points) / np.linalg.norm(directions, axis=1)
        step = min(step, 0.1 * float(room.min()))

    def value(t: float) -> Array:
        if isinstance(domain, Sphere):
            return model.logpdf(np.cos(t) * points + np.sin(t) * directions)
        return model.logpdf(points + t * directions)

    try:
        near, far = value(step) - value(-step), value(2.0 * step) - value(-2.0 * step)
        score = model.score(points)
    except (ScoreError, ValueError) as error:
        return SCORES.skipped(f"They cannot be compared: {error}")
    expected = (8.0 * near - far) / (12.0 * step)
    got = np.einsum("ij,ij->i", score, directions)
    with np.errstate(invalid="ignore"):
        gap = np.abs(got - expected) / (1.0 + np.abs(expected) + np.linalg.norm(score, axis=1))
    wrong = gap > 1e-4
    if not wrong.any():
        return SCORES.passed(f"They agree to {np.nanmax(gap, initial=0.0):.1e} at {len(points)} points.")
    row = int(np.nanargmax(gap))
    # A kink in the density spoils a difference at single points.
    answer = SCORES.failed if wrong.mean() > 0.2 else SCORES.warned
    return answer(
        f"They differ at {int(wrong.sum())} of {len(points)} points: along a random direction at one of them "
        f"the score is {got[row]:.4g}, but the log density has the derivative {expected[row]:.4g}. One of "
        "the two is wrong."
    )
