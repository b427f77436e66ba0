"""Running tasks on threads or on any executor, always reduced in the order of the tasks."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from goodstein.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Executor

Workers: TypeAlias = "int | Executor | None"
T = TypeVar("T")
R = TypeVar("R")

BRING_BLAS = ("scipy.linalg", "sklearn", "torch")
"""Packages that bring BLAS libraries of their own, usually after NumPy's."""

SMALL = 1000
"""Below this many rows one thread is faster than two."""


def run(task: Callable[[T], R], items: Sequence[T], workers: Workers, *, size: int) -> list[R]:
    """[task(item) for item in items], possibly at the same time.

    On None (all cores for problems with many rows, `size`, one for small ones), a number of threads, -1 for
    all cores, or an executor; for one of other processes task and items must be picklable.
    """
    if isinstance(workers, int):
        threads = available_cores() if workers == -1 else workers
    elif workers is None:
        threads = available_cores() if size >= SMALL else 1
    else:
        from concurrent.futures import ThreadPoolExecutor

        if not isinstance(workers, ThreadPoolExecutor):
            return _run_elsewhere(task, items, workers)
        with one_blas_thread():
            return list(workers.map(_here(task), items))
    threads = min(threads, len(items))
    with one_blas_thread():
        if threads <= 1:
            return [task(item) for item in items]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(_here(task), items))


def _here(task: Callable[[T], R]) -> Callable[[T], R]:
    """The task in this thread's context, so that its warnings are heard here."""
    context = copy_context()

    def run_here(item: T) -> R:
        with one_blas_thread():
            return context.copy().run(task, item)

    return run_here


def check_workers(workers: Workers) -> None:
    """Raise unless `workers` is one of the things that :func:`run` takes."""
    if workers is None or hasattr(workers, "submit"):
        return
    if isinstance(workers, bool) or not isinstance(workers, int) or (workers < 1 and workers != -1):
        raise InputError(
            "`workers` must be a positive number of threads, -1 for all cores, or a "
            f"concurrent.futures.Executor; got {workers!r}."
        )


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _run_elsewhere(task: Callable[[T], R], items: Sequence[T], executor: Executor) -> list[R]:
    """Few tasks, each with a share of the items, because every task carries the data with it."""
    groups = min(len(items), 16)
    futures = [executor.submit(_share, task, list(items[i::groups])) for i in range(groups)]
    results: list[Any] = [None] * len(items)
    for i, future in enumerate(futures):
        results[i::groups] = future.result()
    return results


def _share(task: Callable[[T], R], items: list[T]) -> list[R]:
    """Runs a task on several items in a worker of an executor."""
    with one_blas_thread():
        return [task(item) for item in items]


_blas_lock = threading.Lock()
_blas_users = 0
_blas_before: list[tuple[Any, int]] = []
_blas_here = threading.local()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give each tile one BLAS thread, also where tests run in several threads, and afterwards what there was.

    Most BLAS libraries have one setting for the process, so nested and concurrent uses are counted, and the
    last to leave puts back what the first has found. Those on OpenMP have one for every thread.
    """
    global _blas_users, _blas_before
    for_all, for_each = _blas_libraries(tuple(name in sys.modules for name in BRING_BLAS))
    with _blas_lock:
        _blas_users += 1
        if _blas_users == 1:
            _blas_before = _limited(for_all)
    depth = _blas_here.__dict__.setdefault("depth", 0)
    if depth == 0:
        _blas_here.before = _limited(for_each)
    _blas_here.depth = depth + 1
    try:
        yield
    finally:
        _blas_here.depth = depth
        if depth == 0:
            _set_threads(_blas_here.before)
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _set_threads(_blas_before)


def _limited(libraries: Sequence[Any]) -> list[tuple[Any, int]]:
    """Limit libraries to one thread; how many each of them had."""
    before = [(library, library.num_threads) for library in libraries]
    _set_threads([(library, 1) for library in libraries])
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
