"""Running tasks on threads or on any executor, always reduced in the order of the tasks."""

from __future__ import annotations

import os
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
    return lambda item: context.copy().run(task, item)


def check_workers(workers: Workers) -> None:
    """Raise unless `workers` is one of the things that :func:`run` takes."""
    if workers is None or (hasattr(workers, "submit") and not isinstance(workers, type)):
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
_blas_depth = 0
_blas_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Give each tile one BLAS thread; the setting is global, so nested and concurrent uses are counted."""
    global _blas_depth, _blas_limit
    with _blas_lock:
        _blas_depth += 1
        if _blas_depth == 1:
            _blas_limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _blas_lock:
            _blas_depth -= 1
            if _blas_depth == 0:
                _blas_limit.restore_original_limits()


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
