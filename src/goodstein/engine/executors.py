"""Running tasks on threads or on any executor, always reduced in the order of the tasks."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from goodstein.engine.watching import begin, unwatched
from goodstein.errors import InputError, ResourceError, within_memory

if TYPE_CHECKING:
    from concurrent.futures import Executor

Workers: TypeAlias = "int | Executor | None"
T = TypeVar("T")
R = TypeVar("R")

BRING_BLAS = ("scipy.linalg", "sklearn", "torch")
"""Packages that bring BLAS libraries of their own, usually after NumPy's."""

SMALL = 1000
"""Below this many rows one thread is faster than two."""

SLICE = 0.25
"""Seconds after which a worker hands back what it has: an interruption need not wait for its share."""


def run(
    task: Callable[[T], R],
    items: Sequence[T],
    workers: Workers,
    *,
    size: int,
    costs: Sequence[float] | None = None,
) -> list[R]:
    """[task(item) for item in items], possibly at the same time.

    On None (all cores for problems with many rows, `size`, one for small ones), a number of threads, -1 for
    all cores, or an executor; for one of other processes task and items must be picklable. Whoever watches
    is told how far it is, by the `costs` of the items where they differ.
    """
    costs = [1.0] * len(items) if costs is None else costs
    finished = begin(len(items), sum(costs))
    with within_memory(), explained_workers(), unwatched():
        if isinstance(workers, int):
            threads = available_cores() if workers == -1 else workers
        elif workers is None:
            threads = available_cores() if size >= SMALL else 1
        else:
            return _run_on(as_executor(workers), task, items, costs, finished)
        threads = min(threads, len(items))
        if threads <= 1:
            with one_blas_thread():
                return _counted(map(task, items), costs, finished)
        from concurrent.futures import ThreadPoolExecutor

        with one_blas_thread():
            pool = ThreadPoolExecutor(threads)
            try:
                return _counted(pool.map(_here(task), items), costs, finished)
            finally:
                pool.shutdown(cancel_futures=True)


def _counted(found: Iterable[R], costs: Sequence[float], finished: Callable[[float], None]) -> list[R]:
    """All results, told of one by one."""
    results = []
    for result, cost in zip(found, costs, strict=True):
        results.append(result)
        finished(cost)
    return results


def _here(task: Callable[[T], R]) -> Callable[[T], R]:
    """The task in this thread's context, so that its warnings are heard here."""
    context = copy_context()

    def run_here(item: T) -> R:
        with one_blas_thread():
            return context.copy().run(task, item)

    return run_here


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


def _run_on(
    executor: Executor,
    task: Callable[[T], R],
    items: Sequence[T],
    costs: Sequence[float],
    finished: Callable[[float], None],
) -> list[R]:
    """[task(item) for item in items] on an executor; what waits there is cancelled with the first error."""
    from concurrent.futures import ThreadPoolExecutor

    if isinstance(executor, ThreadPoolExecutor):
        with one_blas_thread():
            return _counted(executor.map(_here(task), items), costs, finished)
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
                finished(costs[place])
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
