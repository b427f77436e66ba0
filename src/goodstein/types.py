"""Types that the whole package shares."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
"""A float64 array: data are (n, d), scores (n, d), log densities (n,)."""

Single: TypeAlias = npt.NDArray[np.float32]
"""A float32 array: only inside the engine."""

BoolArray: TypeAlias = npt.NDArray[np.bool_]

Column: TypeAlias = npt.NDArray[Any]
"""A column of a table, (n,): numbers, words or booleans."""

RNG: TypeAlias = "int | np.random.Generator | np.random.BitGenerator | np.random.SeedSequence | None"
"""Whatever :func:`numpy.random.default_rng` takes (SPEC 7)."""

ArrayLike: TypeAlias = Any
"""What a user may hand in as data: arrays, nested lists, data frames."""
