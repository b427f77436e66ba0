"""Whether the parts of a model agree and are what they are said to be, cheaply enough for every test.

Members of one collection ask for a score or for a log density, and a test by the score of a model says
nothing about its log density. Along one direction v a central difference of log q is compared with s·v, at a
few observations: two evaluations of log q each, whatever the dimension. :func:`goodstein.audit` compares all
derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.domains import Box, Domain, Euclidean
from goodstein.errors import InputError, NumericalScoreWarning, ScoreError, heard, quiet
from goodstein.models.callables import Kind
from goodstein.models.model import Model
from goodstein.models.repeatable import DRAWS_DIFFER
from goodstein.types import Array

ROWS = 8
"""Observations that are looked at."""
LEAST = 3
"""So many of them must tell something."""
STEP = 0.02
"""Of the scale of a coordinate, one over the root mean square of its score: data in two modes spread more."""
RESOLVED = 1e-5
"""Differences of log q below this share of it may be rounding in single precision."""
APART = 0.1
"""By how much the derivatives differ, relative to their sizes, wherever they are called different."""


def check_agreement(model: Model, domain: Domain, data: Array) -> list[Check]:
    """A warning where the score is another one than that of the log density at every row that tells.

    At every one: kinks and rounding may spoil a difference at some.
    """
    if not (model.has_logpdf and model.has_score) or not isinstance(domain, Euclidean | Box):
        return []
    x = data[np.linspace(0, len(data) - 1, min(len(data), ROWS)).astype(np.intp)]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], data.shape[1])
    try:
        with quiet(NumericalScoreWarning), np.errstate(all="ignore"):
            score = model.score(x)
            direction = STEP * signs / np.sqrt(np.mean(score**2, axis=0))
            if not np.isfinite(direction).all():
                return []
            ahead, behind = x + direction, x - direction
            inside = domain.contains(ahead) & domain.contains(behind)
            if inside.sum() < LEAST:
                return []
            both = model.logpdf(np.concatenate([ahead[inside], behind[inside]]))
            above, below = np.split(both, 2)
            slope = 2.0 * score[inside] @ direction
    except ScoreError:  # which is another check's business
        return []
    found, sizes = above - below, np.maximum(np.abs(above), np.abs(below))
    size = np.maximum(np.abs(found), np.abs(slope))
    telling = np.isfinite(found) & (size > RESOLVED * sizes) & (size > 0)
    apart = np.abs(found - slope) > APART * size
    if telling.sum() < LEAST or not apart[telling].all():
        return []
    row = int(np.argmax(telling))
    own, expected = (float(each[row] / (2.0 * np.linalg.norm(direction))) for each in (slope, found))
    message = (
        f"The score of {model.name} is not the derivative of its log density: at all of {int(telling.sum())} "
        f"observations they differ along a line, at the first the score says {own:.3g}, the log density "
        f"{expected:.3g}. One of both is wrong; audit(model, data=data) compares all derivatives."
    )
    return [Question("score and log density along a line").warned(message, loud=True)]


def check_repeatable(model: Any) -> list[Check]:
    """A warning where draws of the model depend on more than their generator, as was found when it drew."""
    if model.repeats is not False:
        return []
    return [Question("repeatable draws").warned(f"A sampler of {model.name} {DRAWS_DIFFER}", loud=True)]


REACH, NODES, BLOCK = 25.0, 2560, 256
"""Points c + w sinh(u) with |u| up to the first, so many, so many of them at once."""
FALLS = 2.0
"""By how much a log density falls, at least, from its largest value to the outermost points."""
OFF = 0.05
"""By how much the sum over these points, with an edge between two of them, may be off one."""


def check_kind(model: Any, domain: Any, data: Array | None) -> list[Check]:
    """A failure where a score on the line is a log density: ∫ exp f = 1, and f falls at both ends.

    No density on the line has a score that falls at both ends. On an interval a score may do so, and a log
    density is −∞ outside, which a score is not.
    """
    if data is None or not isinstance(model, Model) or not isinstance(domain, Euclidean | Box):
        return []
    asked = "score" in model._functions and model.everywhere and not (model.closed_form or model.latent)
    if not asked or domain.dim > 1:
        return []
    low, centre, high = np.quantile(data, [0.25, 0.5, 0.75])
    width, u = 0.5 * (high - low) or 1.0, np.linspace(-REACH, REACH, NODES)
    x = (centre + width * np.sinh(u))[:, None]

    def values(points: Array) -> Array:
        return model._asked("score", Kind.SCORE, points)[:, 0]

    try:
        with heard(), np.errstate(all="ignore"):
            values(data[:: max(1, len(data) // 8)])  # how it is called is found out where it has to work
            coarse = values(x[:: NODES // BLOCK])
            if not max(coarse[0], values(x[-BLOCK:])[-1]) < coarse.max() - FALLS:
                return []
            found = np.concatenate([values(part) for part in np.split(x, NODES // BLOCK)])
            total = float(np.exp(found) @ (width * np.cosh(u)) * (u[1] - u[0]))
    except InputError:  # which is another check's business
        return []
    if not abs(total - 1.0) < OFF or not np.isneginf(found[~domain.contains(x)]).all():
        return []
    return [
        Question("score or log density").failed(
            f"The score of {model.name} is a log density: its exponential integrates to {total:.3g}, and it "
            "falls at both ends. Pass Model(logpdf=...)."
        )
    ]
