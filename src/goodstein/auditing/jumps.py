"""Whether a density jumps, or ends, inside its domain, where first-order operators integrate by parts.

Stein's identity needs q·g absolutely continuous. Straight lines go through the sorted data in one dimension,
through random pairs of rows in others, and on beyond the data. Along them log(q + ε q̃) is looked at, with q̃
the median of q at the data, so that places with hardly any density count little. Cells of a line whose two
halves rise by different amounts are halved again and again. What does not vanish is a jump, whatever the
score says; a kink vanishes with its cell.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from goodstein.auditing.conditions import Weight
from goodstein.auditing.report import Check, Question
from goodstein.domains.base import Domain
from goodstein.errors import InputError, heard
from goodstein.models.callables import Kind
from goodstein.models.model import Model
from goodstein.text import brief
from goodstein.types import Array

Lines: TypeAlias = tuple[Array, Array, Array]
"""Starts and moves, (k, d), and increasing nodes t, (k, m), of lines x = start + t·move."""

SMALL = 0.1
"""ε: densities below this share of that at the data count less and less."""
LEAST, SINGLE = 0.02, 1e-6
"""Smallest jump of log(q + ε q̃), whose bias is half a standard error of the statistic at about 10,000 rows,
and more for each unit of log q, which single precision rounds to 6e-8 of its size."""
BLOCK = 256
"""Points asked for at once, always as many: some functions are compiled for every number of points."""
ROWS, CHORDS = 112, 20
"""Values between which a line has its nodes in one dimension, and lines in others."""
BEYOND = np.array([0.02, 0.1, 0.5])
"""How far lines go on beyond the data, as shares of their length."""
HALVINGS, MOST = 36, 64
"""After so many a cell is about as narrow as rounding; so many cells are followed, those that bend most."""


def check_jumps(model: Any, domain: Domain, weight: Weight | None, data: Array | None) -> list[Check]:
    """A failure where q·g jumps inside the domain; families of the library are continuous there."""
    if data is None or not isinstance(model, Model) or domain.discrete or len(data) < 2:
        return []
    if model.closed_form or model.estimated or not (model.has_logpdf and model.everywhere):
        return []
    lines = lines_through(domain, data)
    with heard(), np.errstate(all="ignore"):
        # First of all at data: how the function is to be called is found out where it has to work.
        rows = lines[0] if domain.dim > 1 else lines[2][:, len(BEYOND) : -len(BEYOND)].T
        typical = float(np.nanmedian(_logs(model, domain, rows)))
        ends, logs = find_jumps(model, domain, lines, typical)
        sizes, known = _sizes(ends, logs, typical, weight, domain, rows)
    if not (sizes >= LEAST).any():
        return []
    worst = int(np.argmax(sizes))
    low, high = np.sort(logs[:, worst])
    where = f"at {brief([float(f'{value:.4g}') for value in ends[0, worst]])}, inside {domain!r}"
    said, remedy = (
        f"jumps by a factor of {np.exp(high - low):.3g} {where}",
        "test the pieces, each on its domain",
    )
    if np.isneginf(low):
        said, remedy = f"ends {where}: it is zero beyond", "pass the domain on which it lives"
    message = (
        f"The density of {model.name} {said}, so Stein's identity fails. Valid are draws of the model "
        f"(mmd_test) and Jumps() on counts of the cells of a grid; or {remedy}."
    )
    question = Question("jumps of the density")
    if known:
        return [question.failed(message)]
    return [question.warned(f"{message} The operator does not say what its weight is there.", loud=True)]


def find_jumps(model: Model, domain: Domain, lines: Lines, typical: float) -> tuple[Array, Array]:
    """Both ends of all jumps that were found, (2, k, d), and log q there, (2, k), with log q̃ = `typical`."""
    starts, moves, nodes = lines
    low, high = nodes[:, :-1].ravel(), nodes[:, 1:].ravel()
    line = np.repeat(np.arange(len(nodes)), nodes.shape[1] - 1)
    # Columns: where the cells begin, where their middles are, and where they end.
    t = np.column_stack([low, (low + high) / 2, high])
    logs = _logs_along(model, domain, lines, line, t)
    least = LEAST + SINGLE * abs(typical)
    for k in range(HALVINGS + 1):
        rises = np.diff(np.logaddexp(logs, typical + np.log(SMALL)), axis=1)
        bends = np.abs(rises[:, 1] - rises[:, 0])
        keep = np.flatnonzero(bends > 0.5 * least)
        keep = keep[np.argsort(-bends[keep], kind="stable")[:MOST]]
        line, t, logs, rises = line[keep], t[keep], logs[keep], rises[keep]
        if k == HALVINGS or not len(keep):
            break
        line, t, logs = (
            np.tile(line, 2),
            np.vstack([t[:, :2], t[:, 1:]]),
            np.vstack([logs[:, :2], logs[:, 1:]]),
        )
        t, logs = np.insert(t, 1, t.mean(axis=1), axis=1), np.insert(logs, 1, 0.0, axis=1)
        logs[:, 1] = _logs_along(model, domain, lines, line, t[:, 1:2])[:, 0]
    ends = starts[line] + moves[line] * t.T[[0, 2], :, None]
    # Beside a jump nothing changes any more; beside a pole or a zero of |x|^0.1 it does.
    flat = np.isneginf(logs).any(axis=1) | (np.abs(rises).min(axis=1) < 0.1 * least)
    # Next to an edge, where q may have a pole, one rounding of a number may be as large as that.
    flat &= np.abs(ends[1] - ends[0]).max(axis=1) <= 1e-6 * domain.boundary_distance(
        domain.retracted(ends[0])
    )
    jumps = flat & (np.abs(rises.sum(axis=1)) > least)
    return ends[:, jumps], logs.T[::2, jumps]


def _sizes(
    ends: Array, logs: Array, typical: float, weight: Weight | None, domain: Domain, rows: Array
) -> tuple[Array, bool]:
    """Jumps of log(q g + ε q̃ g̃) for the weight g of an operator, and whether that is known."""
    known, floor = True, np.full(logs.shape[1], typical + np.log(SMALL))
    if weight is not None and logs.size:
        along = ends[1] - ends[0]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        sides = [weight(domain, points, along) for points in ends]
        typically = [weight(domain, rows, np.tile(each, (len(rows), 1))) for each in along]
        known = sides[0] is not None
        if known:
            logs = logs + np.log(np.linalg.norm(np.array(sides), axis=2))
            floor = floor + np.log(np.median(np.linalg.norm(np.array(typically), axis=2), axis=1))
    return np.abs(np.diff(np.logaddexp(logs, floor), axis=0)[0]), known


def lines_through(domain: Domain, data: Array) -> Lines:
    """Lines on which neighbours and random pairs of rows lie."""
    if domain.dim == 1:
        x = np.unique(data[:, 0])
        x = x[np.linspace(0, len(x) - 1, min(len(x), ROWS)).astype(np.intp)]
        steps = BEYOND * (x[-1] - x[0])
        return np.zeros((1, 1)), np.ones((1, 1)), np.concatenate([x[0] - steps[::-1], x, x[-1] + steps])[None]
    n = len(data)
    first = np.linspace(0, n - 1, min(n, CHORDS)).astype(np.intp)
    other = (first + np.random.default_rng(0).integers(1, n, len(first))) % n
    t = np.concatenate([-BEYOND[::-1], np.linspace(0.0, 1.0, 9), 1.0 + BEYOND])
    return data[first], data[other] - data[first], np.tile(t, (len(first), 1))


def _logs_along(model: Model, domain: Domain, lines: Lines, line: Any, t: Array) -> Array:
    """log q at places t, (k, m), of lines, (k,)."""
    x = lines[0][line][:, None] + lines[1][line][:, None] * t[:, :, None]
    return _logs(model, domain, x.reshape(-1, x.shape[2])).reshape(t.shape)


def _logs(model: Model, domain: Domain, x: Array) -> Array:
    """log q at points; NaN outside the domain, and where it cannot be had."""
    x = domain.retracted(x)
    found, rows = np.full(len(x), np.nan), np.flatnonzero(domain.contains(x))
    for part in np.split(rows, range(BLOCK, len(rows), BLOCK)):
        with suppress(InputError):
            found[part] = model._asked("logpdf", Kind.LOGPDF, x[np.resize(part, BLOCK)])[: len(part)]
    return found
