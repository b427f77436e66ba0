"""What operators on censored data need of a hazard: at zero, at its zeros, at jumps, and far out."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.errors import NumericalScoreWarning, ScoreError, given, quiet
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel
from goodstein.survival.regression import AnySurvival, slopes
from goodstein.types import Array, BoolArray

SHARES = np.array([1e-5, 1e-7])
"""Where a hazard is taken to show its behaviour at zero, as shares of a typical duration."""

TAIL = np.array([12.0, 24.0])
"""Values of the cumulative hazard at which it is taken to show its behaviour far out."""

GRID = 512
"""Points between zero and the longest duration from which zeros and jumps are looked for."""

TOLERANCE = 1e-2
"""Exponents are estimated; closer to the critical value than this counts as on the wrong side."""

REMEDY = 'Use Martingale(), that is transform="cdf", which needs nothing of the hazard.'

EXPECTED = 15.0
"""With fewer expected events than this the wild bootstrap was measured to be liberal."""


def check_events(data: Censored | None, model: AnySurvival | None = None) -> list[Check]:
    """Whether events were observed and, where a model is given, enough of them were to be expected.

    Σ Λ₀(T) − Λ₀(E) is the number of events that the model expects in the time that was watched. Where it is
    small there may be none, and then nothing in the data balances what the others add up to.
    """
    if data is None:
        return []
    checks = []
    if not data.event_observed.any():
        message = f"All {len(data)} durations are censored: the test sees only that no event came."
        checks.append(Question("events").warned(message))
    expected = np.inf if model is None else float(expected_events(model, data).sum())
    if model is not None and expected < EXPECTED:
        message = (
            f"In the time watched {model.name} expects {expected:.2g} events only. With so few the bootstrap "
            "rejects true models far too often (at the level 1 % about 40 % of them for one expected event, "
            f"7 to 10 % for five). Use {given('null', 'MonteCarlo()')}."
        )
        checks.append(Question("expected events").warned(message, asymptotic=True))
    return checks


def check_agreement(model: AnySurvival, data: Censored | None) -> list[Check]:
    """The hazard against the derivative of the cumulative hazard, where a user wrote both."""
    if model.trusted or data is None:
        return []
    question = Question("hazard against cumulative hazard")
    some = data.take(_some_rows(data.durations))
    given, t = model.given(some), some.durations
    at_zero = float(np.abs(given.cumulative_hazard(np.zeros(len(t)))).max(initial=0.0))
    if at_zero > 1e-9:
        found = f"The cumulative hazard of {model.name} is {at_zero:g} at zero, where it must be 0."
        return [question.failed(found)]
    slope = slopes(given.cumulative_hazard, t)
    hazard = given.hazard(t)
    known = np.isfinite(slope) & np.isfinite(hazard)
    ahead = given.cumulative_hazard(t)
    t, slope, hazard = t[known], slope[known], hazard[known]
    gap = np.abs(hazard - slope) - 1e-7 * ahead[known] / t  # beyond what rounding does
    wrong = gap > 1e-4 * (hazard + np.median(hazard)) if len(t) else np.zeros(0, bool)
    if _mostly_right(wrong):
        return [question.passed(f"They agree at {wrong.size} durations.")]
    k = int(np.argmax(gap))
    message = (
        f"They differ at {int(wrong.sum())} of {wrong.size} durations: at t = {t[k]:g} the hazard is "
        f"{hazard[k]:g}, but the cumulative hazard has the derivative {slope[k]:g}. One of them is wrong."
    )
    return [question.failed(message)]


def check_derivative(model: SurvivalModel, data: Censored | None) -> list[Check]:
    """λ₀′/λ₀ against a numerical derivative of log λ₀, where a user wrote both."""
    if model.trusted or data is None or not model.has_log_hazard_derivative:
        return []
    question = Question("derivative of the log hazard")
    t = _some(data.durations[data.event_observed & (data.durations > 0)])
    numerical = SurvivalModel(hazard=model.hazard, cumulative_hazard=model.cumulative_hazard)
    try:
        with quiet(NumericalScoreWarning):
            expected = numerical.log_hazard_derivative(t)
        got = model.log_hazard_derivative(t)
    except ScoreError as error:
        return [question.warned(str(error))]
    wrong = np.abs(got - expected) > 1e-4 * (np.abs(expected) + 1.0 / t)
    if _mostly_right(wrong):
        return [question.passed(f"It agrees with a numerical one at {wrong.size} events.")]
    k = int(np.argmax(wrong))
    message = (
        f"`log_hazard_derivative` differs from the derivative of log hazard at {int(wrong.sum())} of "
        f"{wrong.size} events: at t = {t[k]:g} it is {got[k]:g}, not {expected[k]:g}."
    )
    return [question.failed(message)]


def _mostly_right(wrong: BoolArray) -> bool:
    """A jump of the hazard spoils a numerical derivative at single points."""
    return not wrong.size or bool(wrong.mean() <= 0.1)


def exponent_at_zero(model: SurvivalModel) -> float:
    """p where λ₀(t) ~ t^p near zero; inf where λ₀ vanishes faster, or altogether."""
    return _exponent(*model.hazard(SHARES * _scale(model)))


def drift_diverges_at_zero(model: SurvivalModel) -> bool:
    """Whether ∫(λ₀′)²/λ₀ is infinite at zero: t·(λ₀′)²/λ₀ does not vanish there."""
    scale = _scale(model)
    t = SHARES * scale
    try:
        with quiet(NumericalScoreWarning):
            growth = t * model.hazard(t) * model.log_hazard_derivative(t) ** 2 * scale**2
    except ScoreError:
        return True
    # Below that it is the rounding of a derivative that is zero.
    return bool(growth[1] >= 1e-5) and _exponent(*growth) < TOLERANCE


def tail_exponents(model: SurvivalModel, drift: bool = False) -> float:
    """c where λ₀, or λ₀ + |λ₀′/λ₀|, grows like exp(c·Λ₀) far out; NaN where that cannot be said."""
    t = model.quantile(TAIL)
    if not np.isfinite(t).all():
        return float("nan")
    try:
        with np.errstate(all="ignore"), quiet(NumericalScoreWarning):
            values = model.hazard(t) + (np.abs(model.log_hazard_derivative(t)) if drift else 0.0)
            return float(np.log(values[1] / values[0]) / (TAIL[1] - TAIL[0]))
    except ScoreError:
        return float("nan")


def zeros_inside(model: SurvivalModel, longest: float) -> list[tuple[float, float]]:
    """Where λ₀ is zero between 0 and the longest duration, and the p with λ₀ ~ |t − t₀|^p there.

    p is infinite where it is zero on an interval.
    """
    grid = np.linspace(0.0, longest, GRID + 1)[1:]
    values = _finite_hazard(model, grid)
    top, step = float(values.max()), longest / GRID
    if (values == 0.0).sum() > 1 and (values[1:] + values[:-1] == 0.0).any():
        return [(float(grid[np.argmin(values[1:] + values[:-1])]), float("inf"))]
    left, middle, right = values[:-2], values[1:-1], values[2:]
    low = np.flatnonzero((middle <= left) & (middle <= right) & (middle < np.maximum(left, right))) + 1
    place, width = grid[low], np.full(len(low), step)
    offsets = np.linspace(-1.0, 1.0, 9)
    for _ in range(22):  # to the square root of rounding, where a smooth minimum is flat
        around = place[:, None] + width[:, None] * offsets
        found = _finite_hazard(model, around.ravel()).reshape(around.shape)
        place, width = around[np.arange(len(place)), found.argmin(axis=1)], width * 0.4
    zeros = place[_finite_hazard(model, place) <= 1e-9 * top]
    beside = step * np.array([1e-1, 1e-3])
    return [(float(t0), _exponent(*_finite_hazard(model, t0 + beside))) for t0 in zeros]


def first_jump(model: SurvivalModel, longest: float) -> float | None:
    """Where λ₀ jumps, if it does: halving an interval does not make the difference of its ends vanish."""
    low = np.linspace(0.0, longest, GRID + 1)[1:-1]
    high = low + longest / GRID
    at_low, at_high = (_finite_hazard(model, t) for t in (low, high))
    top = float(np.maximum(at_low, at_high).max())
    for _ in range(40):
        open_ = np.abs(at_high - at_low) > 1e-7 * top
        low, high, at_low, at_high = (a[open_] for a in (low, high, at_low, at_high))
        if not len(low):
            return None
        middle = 0.5 * (low + high)
        value = _finite_hazard(model, middle)
        left = np.abs(value - at_low) >= np.abs(at_high - value)
        low, at_low = np.where(left, low, middle), np.where(left, at_low, value)
        high, at_high = np.where(left, middle, high), np.where(left, value, at_high)
    return float(low[0])


def longest_duration(model: SurvivalModel, data: Censored | None) -> float:
    """How far the data go; without data, where a hundredth survives."""
    if data is not None and data.durations.max() > 0:
        return float(data.durations.max())
    end = float(model.quantile([np.log(100.0)])[0])
    return end if np.isfinite(end) else _scale(model)


def check_smooth(model: SurvivalModel, longest: float, question: Question) -> Check | None:
    """λ₀ must have no jumps, and no zeros that are kinks, for an operator that differentiates it."""
    jump = first_jump(model, longest)
    if jump is not None:
        found = f"jumps at t = {jump:.6g}, where it has no derivative, so Stein's identity fails"
        return question.failed(f"The hazard of {model.name} {found}. {REMEDY}")
    for t0, p in zeros_inside(model, longest):
        if p <= 1.0 + TOLERANCE:
            found = f"is zero at t = {t0:.6g}, where it behaves like |t − t₀|^{p:.2f}"
            message = f"The hazard of {model.name} {found}: the statistic has no finite variance. {REMEDY}"
            return question.failed(message)
    return None


def _exponent(far: float, near: float) -> float:
    """p of a function that behaves like t^p, from its values at two places, one a hundredth of the other."""
    return float(np.log(far / near) / np.log(100.0)) if near > 0 else float("inf")


def expected_events(model: AnySurvival, data: Censored) -> Array:
    """What the cumulative hazard grew while each duration was watched, (n,)."""
    given = model.given(data)
    grown = given.cumulative_hazard(data.durations)
    return grown - given.cumulative_hazard(data.entry) if data.late else grown


def _some_rows(durations: Array, count: int = 50) -> Any:
    """Rows of at most so many different positive durations, spread evenly."""
    t, rows = np.unique(durations, return_index=True)
    rows = rows[t > 0]
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), count)).astype(np.intp)]


def _some(durations: Array, count: int = 50) -> Array:
    """At most so many different durations, spread evenly."""
    t = np.unique(durations)
    return t[np.linspace(0, len(t) - 1, min(len(t), count)).astype(np.intp)]


def _finite_hazard(model: SurvivalModel, t: Array) -> Array:
    values = model.hazard(np.maximum(t, 0.0))
    return np.where(np.isfinite(values), values, 0.0)


def _scale(model: SurvivalModel) -> float:
    """A duration of the order of the median; 1 where the cumulative hazard is bounded below that."""
    t = 1.0
    while model.cumulative_hazard([t])[0] < 0.5:
        t *= 4.0
        if t > 1e300:
            return 1.0
    while t > 1e-300 and model.cumulative_hazard([t / 4.0])[0] >= 0.5:
        t /= 4.0
    return t
