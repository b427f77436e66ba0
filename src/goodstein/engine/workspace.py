"""Scratch arrays that each thread keeps between tiles: fresh ones cost more in page faults than the work."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

MOST = 16
"""Threads whose arrays are kept when they have ended, for those of the next test."""

_spare: list[dict[Any, npt.NDArray[Any]]] = []
_local = threading.local()


class _Slabs(dict[Any, npt.NDArray[Any]]):
    """The arrays of a thread by name and kind of number, which goes with it."""

    def __del__(self, spare: list[dict[Any, npt.NDArray[Any]]] = _spare) -> None:
        if len(spare) < MOST:
            spare.append(dict(self))


def _slabs() -> dict[Any, npt.NDArray[Any]]:
    found: _Slabs | None = getattr(_local, "slabs", None)
    if found is None:
        try:
            found = _Slabs(_spare.pop())
        except IndexError:
            found = _Slabs()
        _local.slabs = found
    return found


def scratch(name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> npt.NDArray[Any]:
    """An uninitialised array, the same memory at every call with this name in this thread."""
    size = math.prod(shape)
    slabs = _slabs()
    key = name, dtype
    slab = slabs.get(key)
    if slab is None or slab.size < size:
        slab = slabs[key] = np.empty(size, dtype)
    return slab[:size].reshape(shape)
