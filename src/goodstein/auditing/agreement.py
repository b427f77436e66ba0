"""Whether the parts of a model belong together, cheaply enough to be asked before every test.

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
from goodstein.errors import NumericalScoreWarning, ScoreError, quiet
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
