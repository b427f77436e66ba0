"""Where the modes of a density are that lie apart, and how wide they are, by its logarithm alone.

Points are put into groups: the highest one, and all from which a straight line leads up to it without a
valley; then the highest of the rest, and so on. From the highest of each group, and from starts far away,
log q is climbed. A maximum μ with −∇²log q(μ) = Σ⁻¹ is a mode with about the mass q(μ)|Σ|^½ (Laplace). Two of
them lie apart if log q falls by DEPTH and more between them and each is far from the other in its own Σ; of
two that do not the one of less mass is none. A maximum that is flat in a direction, as on a ring, is none.

The points only say where to look: where a mode is and how wide are the model's alone. They are draws of the
model where it has a sampler, and then the observations have no part in it at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.data.points import draw
from goodstein.domains.base import Domain
from goodstein.errors import InputError, NumericalScoreWarning, SamplingError, ScoreError, quiet
from goodstein.lazy import cached_property
from goodstein.models.model import Model
from goodstein.text import brief
from goodstein.types import Array, BoolArray

ROWS = 300
"""Points that are looked at: draws of the model, or observations evenly spread over the sample."""
WIDE, NEAREST, FARTHEST = 24, 2.0, 64.0
"""Starts away from observations, among which a mode may be missing, and how many spreads away they are."""
FEW = 20
"""The same where nothing but a missing mode is looked for."""
SHAPE, LARGEST_SHAPE = 32, 512
"""Numbers of rows that are rounded up to powers of two, from the first to the second."""
GROUPS = 12
"""Groups that are climbed from."""
MOST = 8
"""Modes that are kept, those of most mass."""
NODES = 15
"""Points on a line between two others."""
SHALLOW = 2.0
"""By how much log q may fall on a line within a group."""
DEPTH = 4.0
"""By how much log q falls between modes that lie apart."""
FAR = 3.0
"""How far they are apart at least, in the standard deviations of each."""
SMALLEST = 0.01
"""Modes of less mass than this share are left out."""
CLIMB = 200
"""Steps of a climb."""
STEP = 1e-5
"""Steps of numerical derivatives, in spreads of the points."""
FLAT = 20.0
"""Spreads of the points beyond which the width of a mode is no width."""
ARRIVED = 0.1
"""Standard deviations that its end may be away from the maximum."""


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes μ, (M, d), with x = μ_j + L_j z, L_j lower triangular, (M, d, d), and shares, (M,)."""

    centres: Array
    factors: Array
    shares: Array

    def __len__(self) -> int:
        return len(self.centres)

    @cached_property
    def log_volumes(self) -> Array:
        """log det L_j, (M,)."""
        return np.asarray(np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1))

    def standardised(self, x: Array) -> Array:
        """z_j = L_j⁻¹(x − μ_j) for all modes, (M, n, d)."""
        return np.stack(
            [np.linalg.solve(f, (x - c).T).T for c, f in zip(self.centres, self.factors, strict=True)]
        )

    def labels(self, x: Array) -> Array:
        """Which mode a point belongs to, (n,): that of most density in a mixture of normals with these."""
        squares = np.einsum("jni,jni->jn", (z := self.standardised(x)), z)
        weights = np.log(self.shares) - self.log_volumes
        return np.asarray(np.argmax(weights[:, None] - 0.5 * squares, axis=0))

    def place(self, z: Array, mode: int) -> Array:
        """μ_j + L_j z, (n, d)."""
        return np.asarray(self.centres[mode] + z @ self.factors[mode].T)


def find_modes(model: Model, domain: Domain, data: Array, starts: Array | None = None) -> Modes:
    """Modes that lie apart, none or two and more; from given starts alone, if there are any."""
    with quiet(NumericalScoreWarning), np.errstate(all="ignore"):
        try:
            return _found(model, domain, data, starts)
        except ScoreError:  # where the density cannot be asked, which is another check's business
            return _none(data.shape[1])


def _found(model: Model, domain: Domain, data: Array, starts: Array | None) -> Modes:
    points, drawn = _points(model, domain, data)
    spread = points.std(axis=0)
    spread = np.where(spread > 0, spread, spread.max() or 1.0)
    if starts is None:
        starts = _highest(model, domain, points)
        if not drawn:
            wide = np.random.default_rng(0).standard_normal((WIDE, data.shape[1]))
            wide *= (np.geomspace(NEAREST, FARTHEST, WIDE) / np.linalg.norm(wide, axis=1))[:, None]
            wide = points.mean(axis=0) + spread * wide
            starts = np.concatenate([starts, wide[np.isfinite(log_density(model, domain, wide))]])
    if not len(starts):
        return _none(data.shape[1])
    tops = _climbed(model, domain, starts, spread)
    return _apart(model, domain, tops, *_widths(model, domain, tops, spread))


def check_missing(model: Model, domain: Domain, data: Array) -> list[Check]:
    """A note where the density has a mode that none of the data are near, as after a chain that was stuck.

    A few of the data are enough to tell how far away to start; of the mass no more is known than by Laplace.
    """
    rows = np.linspace(0, len(data) - 1, min(len(data), FEW)).astype(np.intp)
    modes = find_modes(model, domain, data[rows])
    empty = np.setdiff1d(np.arange(len(modes)), modes.labels(data)) if len(modes) else np.empty(0, np.intp)
    if not len(empty):
        return []
    most = int(empty[np.argmax(modes.shares[empty])])
    where = brief([float(f"{value:.3g}") for value in modes.centres[most]])
    return [
        Question("isolated modes").warned(
            f"The density of {model.name} has a mode at {where} that lies apart, with about "
            f"{modes.shares[most]:.0%} of the mass, and none of the data are near. That was not tested: "
            "scores do not see it. Moves between modes test it: ksd_test(..., operator=Perturbed())."
        )
    ]


def _none(d: int) -> Modes:
    return Modes(np.empty((0, d)), np.empty((0, d, d)), np.empty(0))


def _points(model: Model, domain: Domain, data: Array) -> tuple[Array, bool]:
    """Draws of the model, always the same, and True; observations where it cannot be drawn from."""
    if model.has_sample:
        try:
            return draw(model, domain, ROWS, np.random.default_rng(0)), True
        except (InputError, SamplingError):
            pass
    return data[np.linspace(0, len(data) - 1, min(len(data), ROWS)).astype(np.intp)], False


def log_density(model: Model, domain: Domain, x: Array) -> Array:
    """log q, which is −∞ off the domain, (n,)."""
    inside = domain.contains(x)
    values = np.full(len(x), -np.inf)
    if inside.any():
        values[inside] = _in_few_shapes(model.logpdf, x[inside])
    return values


def _in_few_shapes(function: Callable[[Array], Array], x: Array) -> Array:
    """A function of rows, asked for numbers of rows of which there are few: compilers look at each anew."""
    n = len(x)
    count = max(SHAPE, 1 << (n - 1).bit_length())
    if count > LARGEST_SHAPE:
        return function(x)
    return function(np.concatenate([x, np.broadcast_to(x[-1], (count - n, x.shape[1]))]))[:n]


def _lowest(model: Model, domain: Domain, starts: Array, stops: Array) -> Array:
    """The least log q on lines from points to others, (n,), the ends left out."""
    share = np.linspace(0.0, 1.0, NODES + 2)[1:-1, None, None]
    lines = starts + share * (stops - starts)
    values = log_density(model, domain, lines.reshape(-1, lines.shape[2]))
    return np.asarray(values.reshape(NODES, -1).min(axis=0))


def _highest(model: Model, domain: Domain, x: Array) -> Array:
    """The highest point of each group."""
    values = log_density(model, domain, x)
    x, values = x[np.isfinite(values)], values[np.isfinite(values)]
    found: list[Array] = []
    while len(x) and len(found) < GROUPS:
        top = int(np.argmax(values))
        found.append(x[top])
        low = _lowest(model, domain, x, np.broadcast_to(x[top], x.shape))
        rest = low < values - SHALLOW
        rest[top] = False
        x, values = x[rest], values[rest]
    return np.array(found).reshape(len(found), -1)


def _climbed(model: Model, domain: Domain, x: Array, spread: Array) -> Array:
    """Where steepest ascent ends, with steps of Barzilai and Borwein that never go down, (m, d)."""
    x, value = x.copy(), log_density(model, domain, x)
    slope = _slope(model, domain, x, spread)
    step = np.full(len(x), 1e-2)
    for _ in range(CLIMB):
        move = step[:, None] * slope
        length = np.linalg.norm(move, axis=1)
        move *= np.minimum(1.0, 4.0 / np.maximum(length, 1e-300))[:, None]
        active: BoolArray = length > 1e-7
        if not active.any():
            break
        to = x + spread * move
        new = np.full(len(x), -np.inf)
        new[active] = log_density(model, domain, to[active])
        up = active & (new >= value)
        step[active & ~up] *= 0.25
        if not up.any():
            continue
        after = _slope(model, domain, to[up], spread)
        bend = np.einsum("ij,ij->i", move[up], slope[up] - after)
        square = np.einsum("ij,ij->i", move[up], move[up])
        # Where the density is not concave a step says nothing of the next one but that more is to be had.
        step[up] = np.where(bend > 1e-12 * square, square / np.maximum(bend, 1e-300), 2.0 * step[up])
        x[up], value[up], slope[up] = to[up], new[up], after
    return x


def _slope(model: Model, domain: Domain, x: Array, spread: Array) -> Array:
    """∇log q in units of the spread, (n, d); for a climb differences will do, which are cheap."""
    if model.has_score:
        return np.asarray(_in_few_shapes(model.score, x) * spread)
    offsets = STEP * spread * np.eye(x.shape[1])
    at = np.concatenate([x[:, None] + offsets, x[:, None] - offsets]).reshape(-1, x.shape[1])
    above, below = log_density(model, domain, at).reshape(2, *x.shape)
    slope = (above - below) / (2.0 * STEP)
    return np.asarray(np.where(np.isfinite(slope), slope, 0.0))


def _widths(model: Model, domain: Domain, tops: Array, spread: Array) -> tuple[Array, BoolArray]:
    """Σ at the tops, (m, d, d), and which of them are maxima."""
    m, d = tops.shape
    steps = np.full((m, d), 1e-3)  # in units of the spread, as all else here
    for _ in range(2):  # again, with steps that suit the widths
        offsets = spread * steps[:, :, None] * np.eye(d)
        at = np.concatenate([tops[:, None] + offsets, tops[:, None] - offsets]).reshape(-1, d)
        above, below = _slope(model, domain, at, spread).reshape(2, m, d, d)
        bend = (below - above) / (2.0 * steps[:, :, None])
        values, vectors = np.linalg.eigh(0.5 * (bend + bend.transpose(0, 2, 1)))
        maxima: BoolArray = values[:, 0] > FLAT**-2
        values = np.where(maxima[:, None], values, 1.0)
        cov = np.einsum("mik,mk,mjk->mij", vectors, 1.0 / values, vectors)
        steps = np.minimum(steps, 0.05 * np.sqrt(np.diagonal(cov, axis1=1, axis2=2)))
    # A climb that was slow, along a curved ridge, has not arrived: sᵀΣs is the square of the way to go.
    slope = _slope(model, domain, tops, spread)
    maxima &= np.einsum("mi,mij,mj->m", slope, cov, slope) <= ARRIVED**2
    return cov * np.outer(spread, spread), maxima


def _apart(model: Model, domain: Domain, tops: Array, covs: Array, maxima: BoolArray) -> Modes:
    """Those that lie apart, in the order of their mass."""
    tops, factors = tops[maxima], np.asarray(np.linalg.cholesky(covs[maxima]), np.float64)
    modes = Modes(tops, factors, np.ones(len(tops)))
    heights = log_density(model, domain, tops)
    masses = heights + modes.log_volumes
    order = [int(j) for j in np.argsort(-masses) if np.isfinite(masses[j])]
    kept: list[int] = []
    for j in order:
        if kept:
            others = tops[kept]
            gaps = others - tops[j]
            own = np.linalg.norm(np.linalg.solve(factors[j], gaps.T), axis=0)
            theirs = np.linalg.norm(np.linalg.solve(factors[kept], gaps[:, :, None])[:, :, 0], axis=1)
            if min(own.min(), theirs.min()) < FAR:  # most often the same mode
                continue
            low = _lowest(model, domain, np.broadcast_to(tops[j], others.shape), others)
            if (np.minimum(heights[kept], heights[j]) - low).min() < DEPTH:
                continue
        kept.append(j)
    if not kept:
        return _none(tops.shape[1])
    shares = np.exp(masses[kept] - masses[kept].max())
    shares /= shares.sum()
    kept = [j for j, share in zip(kept, shares, strict=True) if share >= SMALLEST][:MOST]
    if len(kept) < 2:
        return _none(tops.shape[1])
    shares = np.exp(masses[kept] - masses[kept].max())
    return Modes(tops[kept], factors[kept], shares / shares.sum())
