"""Scratch arrays that each thread keeps between tiles: fresh ones cost more in page faults than the work."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

_local = threading.local()


def scratch(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """An uninitialised array, the same memory at every call with this name in this thread."""
    size = math.prod(shape)
    slabs: dict[Any, npt.NDArray[Any]] = _local.__dict__
    key = f"{name}:{np.dtype(dtype).char}"
    slab = slabs.get(key)
    if slab is None or slab.size < size:
        slab = slabs[key] = np.empty(size, dtype)
    return slab[:size].reshape(shape)
