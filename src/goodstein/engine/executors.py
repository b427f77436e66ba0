"""Running tasks on threads or on any executor, always reduced in the order of the tasks."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from goodstein.errors import InputError, ResourceError, within_memory

if TYPE_CHECKING:
    from concurrent.futures import Executor

Workers: TypeAlias = "int | Executor | None"
T = TypeVar("T")
R = TypeVar("R")

SMALL = 1000
"""Below this many rows one thread is faster than two."""

SLICE = 0.25
"""Seconds after which a worker hands back what it has: an interruption need not wait for its share."""


def run(task: Callable[[T], R], items: Sequence[T], workers: Workers, *, size: int) -> list[R]:
    """[task(item) for item in items], possibly at the same time.

    On None (all cores for problems with many rows, `size`, one for small ones), a number of threads, -1 for
    all cores, or an executor; for one of other processes task and items must be picklable.
    """
    with within_memory(), explained_workers():
        if isinstance(workers, int):
            threads = available_cores() if workers == -1 else workers
        elif workers is None:
            threads = available_cores() if size >= SMALL else 1
        else:
            return _run_on(as_executor(workers), task, items)
        threads = min(threads, len(items))
        if threads <= 1:
            with one_blas_thread():
                return [task(item) for item in items]
        from concurrent.futures import ThreadPoolExecutor

        with one_blas_thread():
            pool = ThreadPoolExecutor(threads)
            try:
                return list(pool.map(_here(task), items))
            finally:
                pool.shutdown(cancel_futures=True)


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


def as_executor(workers: Any) -> Executor:
    """An executor from itself, or that of a Dask client."""
    found: Executor = workers.get_executor() if callable(getattr(workers, "get_executor", None)) else workers
    return found


LOST = ("KilledWorker", "FutureCancelledError")
"""What Dask calls it; its classes are not imported for that."""


@contextmanager
def explained_workers() -> Iterator[None]:
    """Say in our own words that workers died or are no longer there."""
    try:
        yield
    except Exception as error:
        from concurrent.futures import BrokenExecutor, CancelledError

        if isinstance(error, (BrokenExecutor, CancelledError)) or type(error).__name__ in LOST:
            raise ResourceError(
                "The worker processes died.",
                remedy='In a script the call must stand under `if __name__ == "__main__":`, because every '
                "process imports the script anew. Otherwise they crashed, were stopped or ran out of memory: "
                "data and model are as they were, so call again, with a new pool or fewer workers; "
                "workers=None runs everything in this process.",
            ) from error
        if type(error) is RuntimeError and str(error).startswith("cannot schedule new futures"):
            raise InputError(
                "is a pool that was shut down. Call inside its `with` block, or make a new one.",
                argument="workers",
                predicate=True,
            ) from error
        raise


def _run_on(executor: Executor, task: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """[task(item) for item in items] on an executor; what waits there is cancelled with the first error."""
    from concurrent.futures import ThreadPoolExecutor

    if isinstance(executor, ThreadPoolExecutor):
        with one_blas_thread():
            return list(executor.map(_here(task), items))
    # Few shares of the items, because the data go with each of them.
    groups = min(len(items), 16)
    packed = _packed(task)
    results: list[Any] = [None] * len(items)
    waiting: deque[tuple[Any, Sequence[int]]] = deque()
    try:
        for first in range(groups):
            places: Sequence[int] = range(first, len(items), groups)
            waiting.append((executor.submit(_share, packed, [items[k] for k in places]), places))
        while waiting:
            future, places = waiting[0]
            found = future.result()
            waiting.popleft()
            for place, result in zip(places, found, strict=False):
                results[place] = result
            if left := places[len(found) :]:
                waiting.append((executor.submit(_share, packed, [items[k] for k in left]), left))
    finally:
        for future, _ in waiting:
            future.cancel()
    return results


def _packed(task: Any) -> bytes:
    try:
        return dumps(task)
    except Exception as error:  # whatever an object's own pickling may raise
        raise InputError(
            f"the data, the model or another argument cannot be sent to other processes ({error}). Define "
            "functions at the top of a module, not as a lambda or inside another; install cloudpickle; or "
            "use threads: workers=2.",
            argument="workers",
        ) from error


def dumps(thing: Any) -> bytes:
    """Pickle; by cloudpickle where it is installed, which also takes lambdas and functions of a notebook."""
    if find_spec("cloudpickle") is None:
        return pickle.dumps(thing)
    pickled: bytes = import_module("cloudpickle").dumps(thing)
    return pickled


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Any:
    """A task, which a worker unpacks once: what it has made for itself, such as signs, serves all shares."""
    return pickle.loads(packed)


def _share(packed: bytes, items: list[Any]) -> list[Any]:
    """Runs a task on several items in a worker of an executor, on as many as there is time for."""
    start, found = time.monotonic(), []
    with one_blas_thread(), within_memory("A worker"):
        task = _unpacked(packed)
        for item in items:
            found.append(task(item))
            if time.monotonic() - start > SLICE:
                break
    return found


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
