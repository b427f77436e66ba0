"""Point patterns: several configurations of points in the same window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import MOST_COORDINATES, check_count, real_array
from goodstein.data.base import Data
from goodstein.domains.base import Domain
from goodstein.errors import DomainError, InputError, describe_rows, must, other_domain
from goodstein.lazy import cached_property
from goodstein.types import Array, Column
from goodstein.validation import as_array


class Patterns(Data):
    """Point patterns, one array (k_i, d) each; k_i may be zero.

    Parameters
    ----------
    patterns
        The arrays. Whether they lie in the window is checked where that is known, :func:`as_patterns`.
    dim
        Number of coordinates; None takes that of the first pattern with points.
    """

    costly = True

    def __init__(self, patterns: Iterable[Array], dim: int | None = None) -> None:
        if not isinstance(patterns, list | tuple | Patterns):
            raise must("patterns", "a list of arrays (k, d), one for each pattern", patterns, "Patterns")
        if not len(patterns):
            raise must("patterns", "at least one pattern", patterns, "Patterns")
        arrays = [real_array(pattern, f"patterns[{i}]") for i, pattern in enumerate(patterns)]
        if dim is None:
            dim = next((array.shape[-1] for array in arrays if array.ndim == 2), 1)
        self.dim = check_count(dim, "dim", 1, MOST_COORDINATES)
        for i, array in enumerate(arrays):
            flat = array.ndim == 1 and self.dim == 1
            fits = flat or (array.ndim == 2 and array.shape[1] == self.dim)
            if array.size and not (fits and np.isfinite(array).all()):
                raise must(f"patterns[{i}]", f"finite points, an array (k, {self.dim})", patterns[i])
        # Copies: whoever made the patterns may write on.
        self._patterns = tuple(np.array(array).reshape(-1, self.dim) for array in arrays)

    def __len__(self) -> int:
        return len(self._patterns)

    def __getitem__(self, index: int) -> Array:
        return self._patterns[index]

    def __iter__(self) -> Iterator[Array]:
        return iter(self._patterns)

    @cached_property
    def counts(self) -> npt.NDArray[np.intp]:
        """The number of points in each pattern, (m,)."""
        return np.array([len(pattern) for pattern in self._patterns], dtype=np.intp)

    @cached_property
    def pooled(self) -> Array:
        """All points, one pattern after the other, (Σk_i, d)."""
        return np.concatenate(self._patterns) if self._patterns else np.empty((0, self.dim))

    @cached_property
    def starts(self) -> npt.NDArray[np.intp]:
        """Where each pattern begins in :attr:`pooled`, and where the last one ends, (m + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.intp)

    def total(self, values: Array) -> Array:
        """Sums over the points of each pattern: (…, Σk_i) to (…, m)."""
        sums = np.zeros((*values.shape[:-1], len(self)))
        filled = np.flatnonzero(self.counts)
        if filled.size:
            sums[..., filled] = np.add.reduceat(values, self.starts[filled], axis=-1)
        return sums

    def as_rows(self) -> Array:
        """Number of points, and sums over coordinates and their squares, (m, 1 + 2d)."""
        moments = np.vstack([self.pooled.T, self.pooled.T**2])
        return np.column_stack([self.counts, self.total(moments).T])

    def take(self, rows: Any) -> Patterns:
        return Patterns([self._patterns[i] for i in rows], self.dim)

    def as_columns(self) -> dict[str, Column]:
        return {"points": self.counts}

    def like(self, values: Any, model: Any, domain: Domain) -> Patterns:
        """Whole patterns: the operator sees those, not single locations."""
        if (isinstance(values, np.ndarray) and values.dtype != object) or hasattr(values, "columns"):
            raise InputError(
                "must be whole patterns: the test looks at those, not at single locations.",
                argument="data",
                predicate=True,
                remedy="Pass a list with an array (k, d) for each pattern.",
            )
        items = [as_pattern(item, i, domain) for i, item in enumerate(values)]
        return Patterns(items, domain.dim)

    def describe(self) -> str:
        low, high = self.counts.min(), self.counts.max()
        return f"{len(self)} point patterns with {low} to {high} points, {self.counts.sum()} in all"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


def as_patterns(patterns: Any, domain: Domain) -> Patterns:
    """Point patterns of a user, checked; nothing is altered or dropped."""
    if isinstance(patterns, np.ndarray) and patterns.ndim in (1, 2) and patterns.dtype != object:
        raise InputError(
            f"`patterns` is one array of shape {patterns.shape}, but the test needs several independent "
            "patterns: pass a list with one array of shape (k, d) for each."
        )
    if hasattr(patterns, "columns"):
        raise InputError(
            "`patterns` is one data frame, but the test needs several independent patterns: pass a list with "
            "one data frame of coordinates for each, such as "
            '[part[["x", "y"]] for _, part in frame.groupby("pattern")].'
        )
    try:
        items = list(patterns.values() if isinstance(patterns, Mapping) else patterns)
    except (TypeError, NotImplementedError):
        raise InputError(
            f"`patterns` must be a sequence of arrays, one for each pattern, got {type(patterns).__name__}."
        ) from None
    if len(items) < 2:
        raise InputError(
            f"`patterns` holds {len(items)} pattern{'' if len(items) == 1 else 's'}; a test needs at least 2 "
            "independent ones. Parts of one large pattern will do if they are far enough apart to be "
            "independent."
        )
    result = Patterns([as_pattern(item, i, domain) for i, item in enumerate(items)], domain.dim)
    if not result.counts.any():
        raise InputError(f"all {len(result)} patterns are empty. Check the data.", argument="patterns")
    return result


def as_pattern(item: Any, i: int, domain: Domain) -> Array:
    """The i-th pattern of a user or of a sampler, checked, (k, d)."""
    name = f"`patterns`: pattern {i}"
    try:
        array = as_array(item)
    except InputError as error:
        raise InputError(f"{name}: {error.bare}") from None
    if array.size == 0:
        return np.empty((0, domain.dim))
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    x = np.array(array, dtype=np.float64)
    if x.ndim == 1 and domain.dim == 1:
        x = x[:, None]
    if x.ndim != 2 or x.shape[1] != domain.dim:
        raise InputError(
            f"{name} has shape {array.shape}, but {domain!r} needs (k, {domain.dim}): one row per point."
        )
    broken = np.asarray(~np.isfinite(x).all(axis=1))
    if broken.any():
        raise InputError(
            f"{name}: {describe_rows(broken)} hold NaN or infinite values. Remove or correct them."
        )
    outside = np.asarray(~domain.contains(x))
    if outside.any():
        raise DomainError(
            f"{name}: {describe_rows(outside)} lie outside {domain!r}. Remove them{other_domain()}."
        )
    return x
