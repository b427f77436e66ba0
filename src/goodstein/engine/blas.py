"""One BLAS thread for each tile: workers are the parallelism, and bits do not depend on their number."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from contextlib import ContextDecorator
from functools import lru_cache
from typing import Any

from goodstein.lazy import lock_for_forks

BRING_BLAS = ("scipy.linalg", "sklearn", "torch")
"""Packages that bring BLAS libraries of their own, usually after NumPy's."""

_blas_lock = lock_for_forks()
_blas_users = 0
_blas_before: list[tuple[Any, int]] = []
_blas_here = threading.local()


class one_blas_thread(ContextDecorator):
    """Give each tile one BLAS thread, also where tests run in several threads, and afterwards what there was.

    Most BLAS libraries have one setting for the process, so concurrent uses are counted, and the last to
    leave puts back what the first has found. Those on OpenMP have one for every thread. Inside another use
    of the same thread there is nothing to do.
    """

    def __enter__(self) -> None:
        global _blas_users, _blas_before
        depth = _blas_here.__dict__.setdefault("depth", 0)
        if not depth:
            for_all, for_each = _blas_libraries(tuple(name in sys.modules for name in BRING_BLAS))
            with _blas_lock:
                _blas_users += 1
                if _blas_users == 1:
                    _blas_before = _limited(for_all)
            _blas_here.before = _limited(for_each)
        _blas_here.depth = depth + 1

    def __exit__(self, *error: object) -> None:
        global _blas_users
        _blas_here.depth -= 1
        if _blas_here.depth:
            return
        _set_threads(_blas_here.before)
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _set_threads(_blas_before)


def _limited(libraries: Sequence[Any]) -> list[tuple[Any, int]]:
    """Limit libraries to one thread; those that had more of them, and how many."""
    before = [(library, count) for library in libraries if (count := library.num_threads) != 1]
    _set_threads([(library, 1) for library, _ in before])
    return before


def _set_threads(wanted: Sequence[tuple[Any, int]]) -> None:
    for library, threads in wanted:
        # For threadpoolctl the first thread that sets a number owns the setting, and others do nothing.
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
        library.set_num_threads(threads)
        if release is not None:
            release(force=True)


@lru_cache(maxsize=8)
def _blas_libraries(_: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
    """Those with one setting for all threads, and those with one for each; again when more are loaded."""
    from threadpoolctl import ThreadpoolController

    found = [lib for lib in ThreadpoolController().lib_controllers if lib.user_api == "blas"]
    own = [lib for lib in found if getattr(lib, "threading_layer", None) == "openmp"]
    return [lib for lib in found if lib not in own], own
