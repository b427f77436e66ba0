"""Durations without their flags: whether some that a model was fitted to as censored stand as events."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.data.base import Data
from goodstein.data.rows import SeenRows, as_rows
from goodstein.errors import refuse_rows

REMEDY = "Pass Censored(durations, event_observed)."


def refuse_lost_flags(model: Any, data: Data) -> None:
    """Raise where rows of the model's own fit, censored there, are events here, or lost their entries."""
    seen = _seen(model)
    if seen is not None and seen.late and not data.late:
        refuse_rows(
            seen.among(data.observations),
            f"have no entry time here, but had one when {model.name} was fitted to them.",
            "Pass Censored(durations, event_observed, entry).",
        )
    seen = _censored_fit(model)
    if seen is None:
        return
    known = seen.among(data.observations)
    if not known.any():
        return
    durations = as_rows(data.observations)[:, 0]
    events = known if data.ended is None else known & data.ended  # without flags all are taken for events
    left = Counter(seen.values[seen.ended, 0].tolist())  # several rows may share a time
    wrong = np.zeros(len(durations), bool)
    for row in np.flatnonzero(events):
        left[durations[row]] -= 1
        wrong[row] = left[durations[row]] < 0
    refuse_rows(wrong, f"are events here, but were censored when {model.name} was fitted to them.", REMEDY)


def check_flags(model: Any, data: Data) -> list[Check]:
    """Whether the model was fitted to censored durations, and nobody said of these whether they are."""
    seen = _censored_fit(model)
    if seen is None or data.told:
        return []
    assert seen.ended is not None
    share = 1.0 - float(seen.ended.mean())
    message = (
        f"{model.name} was fitted to durations of which {share:.0%} were censored, and all {len(data)} that "
        f"are tested are taken for events. If some of them are not, p{REMEDY[1:]}"
    )
    return [Question("flags of censoring").warned(message, loud=True)]


def _censored_fit(model: Any) -> SeenRows | None:
    """What the model was fitted to, where some of it was censored."""
    rows = _seen(model)
    return rows if rows is not None and rows.ended is not None and not rows.ended.all() else None


def _seen(model: Any) -> SeenRows | None:
    """What the model was fitted to, where that is known by its rows."""
    rows = None if model.provenance is None else model.provenance.rows
    return rows if isinstance(rows, SeenRows) else None
