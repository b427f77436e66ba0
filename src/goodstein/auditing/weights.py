"""Whether enough observations carry a weighted statistic.

n rows with weights w are worth (Σw)²/Σw² rows of equal weight. A statistic is carried by fewer still, m =
(Σ w²h)² / Σ (w²h)² with h = h(x, x), where large weights are those of large features, as they are far out. If
few carry it, random signs know the distribution of these few alone; rows with larger weights still that
happened not to be drawn are not among them, and it is samples without them that are rejected.
"""

from __future__ import annotations

from goodstein.auditing.report import Check, Question
from goodstein.auditing.skewness import carrying
from goodstein.data.weights import effective
from goodstein.text import about
from goodstein.types import Array

REFUSED, OF_FEW = 12.0, 0.2
"""Rows that must carry a weighted statistic, at least, and as a share of a few rows."""


def check_weights(weights: Array, diagonal: Array) -> list[Check]:
    """What is said of weights of mean one, with the diagonal of the weighted Stein matrix."""
    question, n, carried = Question("weights"), len(weights), len(weights) * carrying(diagonal)
    message = (
        f"The rows are weighted: {n} of them are worth about {about(effective(weights))} of equal weight, "
        f"the largest weight is {weights.max() / n:.2g} of all, and about {about(carried)} of them carry "
        "the statistic."
    )
    if carried < min(REFUSED, OF_FEW * n):
        remedy = "Draw from a proposal that is wider, or closer to the model; or draw more."
        return [question.failed(f"{message} That is too few to decide on. {remedy}", of_data=True)]
    return [question.warned(message)]
