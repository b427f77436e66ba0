"""One point pattern: a single configuration of points in its window."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.constraints import real_array
from goodstein.data.base import Data
from goodstein.domains.base import Domain
from goodstein.errors import InputError, SamplingError, must
from goodstein.foreign import contents
from goodstein.patterns.data import Patterns
from goodstein.types import Array, Column
from goodstein.validation import as_data, column_names, is_frame


class Pattern(Data):
    """One observed point pattern, (n, d): the places of trees in a plot, the times of events.

    The whole pattern is one observation, whose points may attract or repel each other, so that its null
    distribution is simulated. Several independent patterns are :class:`Patterns`.

    Parameters
    ----------
    points
        The points, (n, d), or (n,) on the line; there may be none. Whether they lie in the window is checked
        where that is known.
    names
        Names of the coordinates.
    origin
        The pattern from which chains start that draw patterns like this one; tests fill it in.

    Examples
    --------
    >>> import goodstein as gs
    >>> gs.Pattern(gs.datasets.redwood())
    <one point pattern with 62 points>
    """

    replicated = False
    kind = "point patterns"

    def __init__(
        self, points: Any, names: tuple[str, ...] | None = None, origin: Array | None = None
    ) -> None:
        values = points.points if isinstance(points, Pattern) else real_array(contents(points), "points")
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or not np.isfinite(values).all():
            raise must("points", "finite points, an array (n, d)", points, "Pattern")
        # A copy: whoever made the points may write on.
        self.points: Array = np.array(values)
        self.points.setflags(write=False)
        self._names, self.origin = names, origin

    def __len__(self) -> int:
        return len(self.points)

    @property
    def names(self) -> tuple[str, ...] | None:
        return self._names

    def take(self, rows: Any) -> Pattern:
        raise InputError("One pattern is one observation, which cannot be split.", argument="data")

    def as_rows(self) -> Array:
        """The points, (n, d), by which a fit knows them again."""
        return self.points

    def as_columns(self) -> dict[str, Column]:
        names = self.names or [f"column {j}" for j in range(self.points.shape[1])]
        return dict(zip(names, self.points.T, strict=True)) if len(self) else {}

    def prepared(self, model: Any, seeds: tuple[int, int, int]) -> Pattern:
        """With the origin of chains, where the model cannot be drawn from independently.

        It is reached from this pattern by the reversed chain, so that under the null this pattern and those
        that are drawn are exchangeable, however short the chains are (Besag and Clifford, 1989).
        """
        rng = np.random.default_rng(seeds[0])
        if model.samples:
            try:
                model.sample(1, rng)
            except SamplingError as error:
                if model.evolves or error.argument == "rng":
                    raise
            else:
                return self
        return Pattern(self.points, self.names, model.walk(self.points, rng)) if model.has_sample else self

    def drawn(self, model: Any, domain: Any, rng: np.random.Generator) -> Pattern:
        """Another pattern of the model; the number of its points is random."""
        found = model.sample(1, rng)[0] if self.origin is None else model.walk(self.origin, rng)
        return Pattern(found.reshape(-1, domain.dim), self.names, self.origin)

    def describe(self) -> str:
        return f"one point pattern with {len(self)} points"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


def is_single(data: Any) -> bool:
    """Whether it is one pattern: an array or frame of points, geometries, numbers, or one array in a list."""
    if isinstance(data, Pattern) or is_frame(data) or hasattr(data, "geom_type"):
        return True
    data = contents(data)
    if isinstance(data, np.ndarray):
        return data.ndim in (1, 2) and data.dtype != object
    if not isinstance(data, list | tuple) or not len(data):
        return False
    return _alone(data) or all(isinstance(x, int | float | np.number) for x in data)


def _alone(data: Any) -> bool:
    """Whether it is a list with one array."""
    return isinstance(data, list | tuple) and len(data) == 1 and np.ndim(data[0]) == 2


def as_single(data: Any, domain: Domain) -> Pattern:
    """One point pattern of a user in its window, checked; nothing is altered or dropped."""
    data = data[0] if _alone(data) else data
    names = data.names if isinstance(data, Pattern) else column_names(data)
    values = data.points if isinstance(data, Pattern) else data
    if isinstance(values, np.ndarray) and values.size == 0:
        remedy = "Of an empty window the probability is exp(−expected number)."
        raise InputError("holds no points.", argument="data", predicate=True, remedy=remedy)
    found = as_data(values, domain.dim, where=repr(domain), least=1, other_columns=domain.other_columns)
    domain.validate(found)
    return Pattern(found, names)


def as_some(data: Any, domain: Domain, several: Any) -> tuple[Array, ...]:
    """The arrays of one pattern or of several, for fits; `several` reads the latter."""
    if isinstance(data, Patterns):
        return tuple(data)
    return (as_single(data, domain).points,) if is_single(data) else tuple(several(data, domain))
