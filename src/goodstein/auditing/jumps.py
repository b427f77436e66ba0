"""Whether a density jumps, or ends, inside its domain, where first-order operators integrate by parts.

Stein's identity needs q·g absolutely continuous. Along straight lines, through the sorted data in one dimension
and through random pairs of rows in others, both continued beyond the data, log(q + ε q̃) is looked at, with q̃
the median of q at the data: places with hardly any density then count little. Cells of a line whose two halves
rise by different amounts are halved again and again. What has not vanished in the end is a jump, of whatever
score; a kink vanishes with the cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.domains.base import Domain
from goodstein.errors import InputError, heard
from goodstein.models.model import Model
from goodstein.text import brief
from goodstein.types import Array, BoolArray

Weight = Callable[[Domain, Array, Array], Array | None]
"""Gᵀν of an operator at points with normals ν; None where it does not say."""

SMALL = 0.1
"""ε: densities below this share of that at the data count less and less."""
LEAST = 0.02
"""Smallest jump of log(q + ε q̃): its bias is half a standard error of the statistic at about 10,000 rows."""
SINGLE = 1e-6
"""The same for each unit of log q, which single precision rounds to 6e-8 of its size."""
LEVEL = 0.1
"""Changes of the same beside a jump, as a share of the smallest jump, that are none."""
BLOCK = 256
"""Points that are asked for at once, always as many: functions are compiled anew for every number of points."""
ROWS, CHORDS = 112, 20
"""Values between which lines have their nodes in one dimension, and lines in others."""
BEYOND = np.array([0.02, 0.1, 0.5])
"""How far lines go on beyond the data, as shares of their length."""
HALVINGS = 36
"""After which a cell is about as narrow as rounding."""
MOST = 64
"""Cells that are followed, those with the largest changes."""
RESOLVED = 1e-9
"""Rounding of coordinates, as a share of the length of a line, above which nothing can be told."""
NEAR = 1e-6
"""Width of a cell over its distance to the edge of the domain above which the density may have a pole there."""


class Jumps(NamedTuple):
    """Points before and after each jump, the log density there, and the directions of the lines."""

    before: Array
    after: Array
    logs: Array
    directions: Array


def check_jumps(model: Model, domain: Domain, weight: Weight | None, data: Array | None) -> list[Check]:
    """A failure where q·g jumps inside the domain; families of the library are continuous there."""
    if data is None or not isinstance(model, Model) or domain.discrete or len(data) < 2:
        return []
    if model.closed_form or model.estimated or not (model.has_logpdf and model.everywhere):
        return []
    lines = _lines(domain, data)
    if lines is None:
        return []
    with heard(), np.errstate(all="ignore"):
        # First of all at data: how the function is to be called is found out where it has to work.
        rows = lines[0] if domain.dim > 1 else lines[2][:, len(BEYOND) : -len(BEYOND)].T
        typical = float(np.nanmedian(_logs(model, domain, rows)))
        found = find_jumps(model, domain, lines, typical)
        if found is None:
            return []
        sizes, unknown = _sizes(found, typical, weight, domain, rows)
    worst = int(np.argmax(np.nan_to_num(sizes, nan=np.inf)))
    if sizes[worst] < LEAST:
        return []
    low, high = np.sort(found.logs[worst])
    where = brief([float(f"{value:.4g}") for value in found.before[worst]])
    question, name = Question("jumps of the density"), model.name
    if np.isneginf(low):
        message = (
            f"The density of {name} ends at {where}, inside {domain!r}: it is zero on one side and not on the "
            "other, so Stein's identity fails. Pass the domain on which it lives, such as Box(0, inf) or a "
            "Polytope, or compare with draws of the model: mmd_test."
        )
    else:
        message = (
            f"The density of {name} jumps by a factor of {np.exp(high - low):.3g} at {where}, inside "
            f"{domain!r}, so Stein's identity fails. Test the rows between jumps on a domain of their own, "
            "counts of the cells of a grid with Jumps(), or compare with draws of the model: mmd_test."
        )
    if unknown:
        return [question.warned(f"{message} The operator does not say what its weight is there.", loud=True)]
    return [question.failed(message)]


def find_jumps(model: Model, domain: Domain, lines: tuple[Array, Array, Array], typical: float) -> Jumps | None:
    """All jumps that were found of log(q + ε q̃), with log q̃ = `typical`; None where there are none."""
    starts, moves, nodes = lines
    t, line = nodes, np.repeat(np.arange(len(nodes))[:, None], nodes.shape[1] - 1, axis=1).ravel()

    def at(which: Array, place: Array) -> Array:
        return _logs(model, domain, starts[which] + moves[which] * place[:, None])

    def floored(logs: Array) -> Array:
        return np.logaddexp(logs, typical + np.log(SMALL))

    whole = np.repeat(np.arange(len(t)), t.shape[1])
    low, high = t[:, :-1].ravel(), t[:, 1:].ravel()
    middle = (low + high) / 2
    both = at(np.concatenate([whole, line]), np.concatenate([t.ravel(), middle]))
    at_nodes, at_middle = both[: t.size].reshape(t.shape), both[t.size :]
    at_low, at_high = at_nodes[:, :-1].ravel(), at_nodes[:, 1:].ravel()
    least = LEAST + SINGLE * abs(typical)
    for k in range(HALVINGS + 1):
        bend = np.abs(floored(at_low) + floored(at_high) - 2 * floored(at_middle))
        keep = np.flatnonzero(bend > 0.5 * least)
        keep = keep[np.argsort(-bend[keep], kind="stable")[:MOST]]
        if not len(keep):
            return None
        line, low, middle, high = (each[keep] for each in (line, low, middle, high))
        at_low, at_middle, at_high = (each[keep] for each in (at_low, at_middle, at_high))
        if k == HALVINGS:
            break
        line = np.tile(line, 2)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_low, at_high = np.concatenate([at_low, at_middle]), np.concatenate([at_middle, at_high])
        middle = (low + high) / 2
        at_middle = at(line, middle)
    before, after = (starts[line] + moves[line] * place[:, None] for place in (low, high))
    width = np.linalg.norm(after - before, axis=1)
    # Beside a jump nothing changes any more; beside a zero such as that of |x|^0.1, which is none, it does.
    halves = np.abs([floored(at_middle) - floored(at_low), floored(at_high) - floored(at_middle)])
    jumps = np.isneginf(np.minimum(at_low, at_high)) | (halves.min(axis=0) < LEVEL * least)
    jumps &= np.abs(floored(at_high) - floored(at_low)) > least
    jumps &= width <= NEAR * domain.boundary_distance(domain.retracted((before + after) / 2))
    if not jumps.any():
        return None
    directions = moves[line] / np.linalg.norm(moves[line], axis=1, keepdims=True)
    return Jumps(before[jumps], after[jumps], np.column_stack([at_low, at_high])[jumps], directions[jumps])


def _sizes(
    found: Jumps, typical: float, weight: Weight | None, domain: Domain, rows: Array
) -> tuple[Array, bool]:
    """Jumps of log(q g + ε q̃ g̃), and whether the weight g is not known."""
    logs, floor = found.logs, np.full(len(found.logs), typical + np.log(SMALL))
    unknown = False
    if weight is not None:
        sides = [weight(domain, points, found.directions) for points in (found.before, found.after)]
        unknown = any(side is None for side in sides)
        if not unknown:
            scale = [
                np.median(np.linalg.norm(weight(domain, rows, np.tile(each, (len(rows), 1))), axis=1))
                for each in found.directions
            ]
            logs = logs + np.log(np.column_stack([np.linalg.norm(side, axis=1) for side in sides]))
            floor = floor + np.log(scale)
    both = np.logaddexp(logs, floor[:, None])
    return np.abs(both[:, 1] - both[:, 0]), unknown


def _lines(domain: Domain, data: Array) -> tuple[Array, Array, Array] | None:
    """Lines x = start + t·move and their nodes t, increasing; None where numbers are too coarse."""
    if domain.dim == 1:
        x = np.unique(data[:, 0])
        x = x[np.linspace(0, len(x) - 1, min(len(x), ROWS)).astype(np.intp)]
        steps = BEYOND * (x[-1] - x[0])
        nodes = np.concatenate([x[0] - steps[::-1], x, x[-1] + steps])[None]
        starts, moves, length = np.zeros((1, 1)), np.ones((1, 1)), np.array([[x[-1] - x[0]]])
    else:
        n = len(data)
        first = np.linspace(0, n - 1, min(n, CHORDS)).astype(np.intp)
        other = (first + np.random.default_rng(0).integers(1, n, len(first))) % n
        starts, moves = data[first], data[other] - data[first]
        t = np.concatenate([-BEYOND[::-1], np.linspace(0.0, 1.0, 9), 1.0 + BEYOND])
        nodes, length = np.tile(t, (len(first), 1)), np.abs(moves)
    sharp = np.spacing(np.abs(data).max(axis=0)) <= RESOLVED * length
    kept: BoolArray = np.asarray((sharp | (length == 0)).all(axis=1) & (length > 0).any(axis=1))
    return (starts[kept], moves[kept], nodes[kept]) if kept.any() else None


def _logs(model: Model, domain: Domain, x: Array) -> Array:
    """log q at points; NaN outside the domain, and where it cannot be had."""
    x = domain.retracted(x)
    found, rows = np.full(len(x), np.nan), np.flatnonzero(domain.contains(x))
    for part in np.split(rows, range(BLOCK, len(rows), BLOCK)):
        while len(part):
            try:
                found[part] = model.logpdf(x[np.resize(part, BLOCK)])[: len(part)]
                break
            except InputError as error:
                if error.rows is None:
                    break
                # Padding repeats the rows, so that none beyond them is bad alone.
                part = np.delete(part, [row for row in error.rows if row < len(part)])
    return found
