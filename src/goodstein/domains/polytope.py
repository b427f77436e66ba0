"""Convex polytopes given by linear inequalities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains.base import Domain, Face, sample_in_box
from goodstein.errors import DomainError
from goodstein.frozen import Frozen
from goodstein.lazy import cached_property
from goodstein.numerics.ranges import cut
from goodstein.types import Array, ArrayLike, BoolArray

POINTS_PER_FACE = 4

# Share of the coordinates' magnitude by which a computed point of a face may miss it.
ROUNDING = 1e-12

# Distances from hyperplanes that are held at a time.
MAX_ENTRIES = 1 << 22

# The linear programmes are solved to about this accuracy.
SOLVER_TOLERANCE = 1e-7


class Polytope(Frozen, Domain):
    r"""The convex set :math:`\{x : A x \le b\}`, which may be unbounded.

    Inside it the distance to the boundary is
    :math:`\min_i (b_i - A_i \cdot x) / \|A_i\|`, redundant rows included.

    Parameters
    ----------
    A
        One inequality per row, (m, d).
    b
        Right-hand sides, (m,).

    Examples
    --------
    The triangle with corners (0, 0), (1, 0) and (0, 1):

    >>> import numpy as np
    >>> from goodstein.domains import Polytope
    >>> triangle = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    >>> triangle
    Polytope(3 inequalities in R^2)
    >>> triangle.boundary_distance(np.array([[0.4, 0.4]])).round(4)
    array([0.1414])
    """

    A: Array
    b: Array
    _directions: Array
    _offsets: Array
    _center: Array
    _radius: float

    def __init__(self, A: ArrayLike, b: ArrayLike) -> None:
        matrix = numbers(A, "A", ndim=2, error=DomainError)
        right = np.atleast_1d(numbers(b, "b", ndim=(0, 1), error=DomainError))
        if right.shape != (len(matrix),):
            expected = f"one number for each of the {len(matrix)} rows of `A`"
            raise DomainError(f"must hold {expected}, got shape {right.shape}.", argument="b", predicate=True)
        norms = np.linalg.norm(matrix, axis=1)
        if not norms.all():
            raise DomainError(f"Row {np.argmin(norms)} of `A` is zero, so it constrains nothing. Drop it.")
        directions, offsets = matrix / norms[:, None], right / norms
        center, radius = _chebyshev(directions, offsets)
        self._set(A=matrix, b=right, _directions=directions, _offsets=offsets, _center=center, _radius=radius)

    def __repr__(self) -> str:
        count = len(self.b)
        return f"Polytope({count} {'inequality' if count == 1 else 'inequalities'} in R^{self.dim})"

    @property
    def dim(self) -> int:
        return int(self.A.shape[1])

    @property
    def mixed_units(self) -> bool:
        """A half-space stays one in any units; several faces would change their distances."""
        return len(self.b) == 1

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self._bounds).all())

    @cached_property
    def _bounds(self) -> Array:
        """Smallest box around the polytope, (2, d), by linear programming."""
        bounds = np.empty((2, self.dim))
        for i, unit in enumerate(np.eye(self.dim)):
            for side, sign in enumerate((1.0, -1.0)):
                # Relative to the centre, so that an offset costs no accuracy.
                end = _solve(sign * unit, self._directions, self._slack(self._center[None])[0] / self._radius)
                bounds[side, i] = -sign * np.inf if end is None else self._center[i] + self._radius * end[i]
        # The programmes are solved to about 1e-7, so the box might cut off a sliver.
        width = bounds[1] - bounds[0]
        margin = SOLVER_TOLERANCE * np.where(np.isfinite(width), width, 0.0)
        bounds += np.stack([-margin, margin])
        bounds.setflags(write=False)
        return bounds

    def _slack(self, x: Array) -> Array:
        """Distance to each bounding hyperplane, negative beyond it, (n, m)."""
        return np.asarray(self._offsets - x @ self._directions.T)

    def contains(self, x: Array) -> BoolArray:
        magnitude = np.abs(self._offsets) + np.abs(x) @ np.abs(self._directions).T
        within = self._slack(x) >= -ROUNDING * magnitude
        return np.asarray(within.all(axis=1) & np.isfinite(x).all(axis=1))

    def boundary_distance(self, x: Array) -> Array:
        return np.asarray(np.maximum(self._slack(x).min(axis=1), 0.0))

    def boundary_gradient(self, x: Array) -> Array:
        return np.asarray(-self._directions[self._slack(x).argmin(axis=1)])

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """Up to four points on every facet; inequalities that touch no facet are left out.

        The first point is well inside the facet. The others are feet of ``interior`` points to which the
        facet is the nearest, where there are any, and otherwise uniform points on random chords through the
        first.
        """
        faces = []
        nearest = self._nearest(interior, rng)
        for i, (direction, offset) in enumerate(zip(self._directions, self._offsets, strict=True)):
            middle = self._facet_centers[i]
            if middle is None:
                continue
            found = [middle]
            if self.dim > 1:
                found += nearest.get(i, [])
                found += [self._on_chord(i, middle, rng) for _ in range(POINTS_PER_FACE - len(found))]
            points = np.array(found)
            # Snap onto the hyperplane: a linear programme is solved to 1e-7 or so only.
            points += (offset - points @ direction)[:, None] * direction
            # After t steps row j has slack s_j + t·a_i·a_j, and row i has slack t.
            slack = np.delete(self._slack(points), i, axis=1)
            approach = 1 - np.delete(self._directions, i, axis=0) @ direction
            apart = approach > ROUNDING
            # A half-space lets one walk for ever: stop at a length typical of the polytope.
            reach = (slack[:, apart] / approach[apart]).min(axis=1, initial=self._scale)
            usable = reach > 0
            if usable.any():
                normals = np.tile(-direction, (int(usable.sum()), 1))
                name = f"row {i}: A[{i}]·x = {self.b[i]:g}"
                faces.append(Face(name, points[usable], normals, reach[usable]))
        return faces

    @property
    def _scale(self) -> float:
        """A length that is typical of the polytope and finite even if it is not bounded."""
        return 10 * self._radius

    @cached_property
    def _facet_centers(self) -> list[Array | None]:
        """A point well inside every facet, found once; None for a redundant row.

        Where one can walk from the foot of the centre's perpendicular a tenth of the inradius inwards with
        this facet the nearest, the foot is such a point. Elsewhere a linear programme finds one.
        """
        found: list[Array | None] = []
        slack = self._slack(self._center[None])[0]
        for part in cut(0, len(slack), max(1, MAX_ENTRIES // len(slack))):
            feet = self._center + slack[part, None] * self._directions[part]
            beyond, approach = self._slack(feet), 1 - self._directions[part] @ self._directions.T
            itself = (np.arange(len(feet)), np.arange(part.start, part.stop))
            beyond[itself], approach[itself] = np.inf, 1.0
            free = np.asarray((beyond > 0.1 * self._radius * np.maximum(approach, ROUNDING)).all(axis=1))
            for k, foot in enumerate(feet):
                found.append(foot if free[k] else self._facet_center(part.start + k, beyond[k]))
        return found

    def _facet_center(self, i: int, beyond: Array) -> Array | None:
        """Centre of the largest ball in facet i; None for a redundant row.

        Only a few rows touch the ball: those count that cut most off the foot of the centre's perpendicular,
        which is so far `beyond` all others, and those that a first solution violates.
        """
        direction = self._directions[i]
        # Work relative to the centre and in units of the inradius, where everything is of order one.
        offsets = self._slack(self._center[None])[0] / self._radius
        cosines = self._directions @ direction
        same = np.flatnonzero((cosines > 1 - ROUNDING) & (np.abs(offsets - offsets[i]) <= SOLVER_TOLERANCE))
        if same[0] < i:
            return None  # the same inequality once more
        # Not √(1 − cos²), which is 1e-8 instead of 0 for rows that repeat one another.
        sines = np.linalg.norm(self._directions - cosines[:, None] * direction, axis=1)
        constraints = np.column_stack([self._directions, sines])
        on_it = {"A_eq": np.append(direction, 0.0)[None], "b_eq": [offsets[i]]}
        missing = beyond / np.maximum(sines, ROUNDING)
        missing[i] = np.inf
        used = np.zeros(len(offsets), bool)
        while True:
            used[np.argsort(missing)[: 10 * (self.dim + 1)]] = True
            used[i] = False
            solution = _largest_ball(constraints[used], offsets[used], 10.0, **on_it)
            if solution is None or solution[-1] <= SOLVER_TOLERANCE:
                return None  # and other rows would take away even more
            room = offsets - constraints @ solution
            missing = np.where(used | (room >= -SOLVER_TOLERANCE), np.inf, room)
            missing[i] = np.inf
            if not np.isfinite(missing).any():
                return np.asarray(self._center + self._radius * solution[:-1])

    def _nearest(self, interior: Array | None, rng: np.random.Generator) -> dict[int, list[Array]]:
        """Feet of a few interior points on the facets that are nearest to them, by row."""
        found: dict[int, list[Array]] = {}
        if interior is None or len(interior) == 0:
            return found
        slack = self._slack(interior)
        for k in rng.permutation(len(interior)):
            i = int(slack[k].argmin())
            on_facet = found.setdefault(i, [])
            if slack[k, i] < 0 or len(on_facet) == POINTS_PER_FACE - 1:
                continue
            # The ball around the point that touches the facet is inside, and so is where it touches.
            foot = interior[k] + slack[k, i] * self._directions[i]
            room = self._slack(foot[None])[0]
            room[i] = np.inf
            if (room > SOLVER_TOLERANCE * self._radius).all():
                on_facet.append(foot)
        return found

    def _on_chord(self, i: int, middle: Array, rng: np.random.Generator) -> Array:
        """A uniform point on a random chord of facet i through ``middle``."""
        direction = self._directions[i]
        step = rng.standard_normal(self.dim)
        step -= (step @ direction) * direction
        step /= np.linalg.norm(step)
        slope = np.delete(self._directions @ step, i)
        slack = np.maximum(np.delete(self._slack(middle[None])[0], i), 0.0)
        # A row that repeats row i has a slope of rounding errors, and must not stop the chord.
        up, down = slope > ROUNDING, slope < -ROUNDING
        ahead = (slack[up] / slope[up]).min(initial=self._scale)
        behind = (slack[down] / -slope[down]).min(initial=self._scale)
        return np.asarray(middle + rng.uniform(-0.9 * behind, 0.9 * ahead) * step)

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        if not self.bounded:
            return super().sample_uniform(n, rng)
        return sample_in_box(self, self._bounds[0], self._bounds[1], n, rng)


def _chebyshev(directions: Array, offsets: Array) -> tuple[Array, float]:
    """Centre and radius of a large ball inside, the largest one where there is one."""
    constraints = np.column_stack([directions, np.ones(len(directions))])
    magnitude = scale = float(np.abs(offsets).max()) or 1.0
    center, radius = np.zeros(directions.shape[1]), 0.0
    # Twice: the second time around the first centre and in units of the first radius, since a
    # programme is solved to a share of its numbers, which are large for a small polytope far out.
    for _ in range(2):
        limits = (offsets - directions @ center) / scale
        solution = _largest_ball(constraints, limits, 2.0)
        if solution is None:
            raise DomainError(
                "The polytope is empty: no x satisfies A x <= b. Check the signs of `A` and `b`."
            )
        center = center + scale * solution[:-1]
        radius = float((offsets - directions @ center).min())
        scale = max(radius, SOLVER_TOLERANCE * magnitude)
    if radius <= ROUNDING * magnitude:
        flat = "A x <= b leaves a set of lower dimension, on which there is no density"
        remedy = "Check for pairs of inequalities that amount to an equality."
        raise DomainError(f"The polytope has no interior: {flat}.", remedy=remedy)
    return center, radius


def _largest_ball(constraints: Array, limits: Array, most: float, **options: Any) -> Array | None:
    """Centre and radius, which is the last column and at most so large, of the largest ball."""
    d = constraints.shape[1] - 1
    bounds = [(None, None)] * d + [(0.0, most)]
    return _solve(-np.eye(d + 1)[-1], constraints, limits, bounds=bounds, **options)


def _solve(objective: Array, constraints: Array, limits: Array, **options: Any) -> Array | None:
    """Minimise a linear function subject to ``constraints @ z <= limits``; None without minimiser."""
    from scipy.optimize import linprog

    solution = linprog(objective, A_ub=constraints, b_ub=limits, **{"bounds": (None, None), **options})
    return np.asarray(solution.x) if solution.status == 0 else None
