"""Ratios of probabilities of neighbouring states, from a difference score or from log probabilities."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.domains.lattice import Lattice
from goodstein.errors import NotFiniteError, ScoreError, describe_rows
from goodstein.models.model import Model
from goodstein.numerics.ranges import cut
from goodstein.types import Array

Index: TypeAlias = npt.NDArray[np.intp]

MAX_NUMBERS = 1 << 20
"""Numbers in the states that are handed to a log probability function at a time."""

IMPROBABLE = (
    "A state next to such a row is more than 1e308 times as probable as the row itself. Check the model, and "
    "that the row belongs to the data."
)


def ratios(model: Model, lattice: Lattice, data: Array) -> Array:
    """q(¬_i x)/q(x), (n, d), from the difference score if there is one."""
    if not model.has_score:
        with np.errstate(over="ignore"):
            ratio = np.exp(log_ratios(model, lattice, data))
        infinite = ~np.isfinite(ratio).all(axis=1)
        if infinite.any():
            raise ScoreError(
                f"The difference score of {model.name} is not finite at {describe_rows(infinite)}. "
                f"{IMPROBABLE}"
            )
        return np.asarray(ratio)
    try:
        score = model.score(data)
    except NotFiniteError as error:
        raise error.told(remedy=IMPROBABLE) from None  # that of continuous models advises on boundaries
    above = (score > 1.0 + 1e-6).any(axis=1)
    if above.any():
        raise ScoreError(
            f"The score of {model.name} exceeds one at {describe_rows(above)}. On a lattice the score is the "
            "difference score 1 − q(¬x)/q(x), not a derivative of log q. Pass Model(logpdf=...) to have it "
            "computed."
        )
    return np.asarray(1.0 - score)


def ratios_before(model: Model, lattice: Lattice, data: Array) -> Array:
    """q(x)/q(¬_i⁻¹x), (n, d), from the difference score."""
    before = [ratios(model, lattice, lattice.shift(data, i, -1))[:, i] for i in range(data.shape[1])]
    return np.stack(before, axis=1)


def log_ratios(model: Model, lattice: Lattice, data: Array, step: int = 1) -> Array:
    """log q(y) − log q(x), (n, d), with y the state x with coordinate i moved on by `step` levels."""
    n, d = data.shape
    rows, columns = (index.ravel() for index in np.indices((n, d)))
    return log_ratios_at(model, lattice, data, rows, columns, step).reshape(n, d)


def log_ratios_at(
    model: Model, lattice: Lattice, data: Array, rows: Index, columns: Index, step: int = 1
) -> Array:
    """The same for some rows and columns only, (k,)."""
    here = require_possible(model, log_probability(model, lattice, data))
    moved = lattice.decode((lattice.encode(data) + step) % len(lattice.levels))
    result = np.empty(len(rows))
    for part in cut(0, len(rows), max(1, MAX_NUMBERS // data.shape[1])):
        row, column = rows[part], columns[part]
        shifted = data[row]
        shifted[np.arange(len(row)), column] = moved[row, column]
        result[part] = log_probability(model, lattice, shifted)
    return np.asarray(result - here[rows])


def require_possible(model: Any, logs: Array) -> Array:
    """Log probabilities of observed states, (n,); raises where one of them cannot occur."""
    impossible = ~np.isfinite(logs)
    if impossible.any():
        raise ScoreError(
            f"{model.name} has log probability {logs[impossible][0]} at {describe_rows(impossible)}, so "
            "these states cannot occur under the model. Remove them, or correct the model."
        )
    return logs


def log_probability(model: Model, lattice: Lattice, states: Array) -> Array:
    """log q up to a constant, (n,), with advice for functions that index tables."""
    try:
        return model.logpdf(states)
    except ScoreError as error:
        if not isinstance(error.__cause__, IndexError):
            raise
        raise ScoreError(
            f"{error}\nStates arrive as floats. To index a table use the whole numbers "
            f"{lattice!r}.encode(x), or pass the table itself: families.CategoricalTable(table)."
        ) from error.__cause__
