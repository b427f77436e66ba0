"""Running tasks on threads or on any executor, always reduced in the order of the tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from goodstein.engine.blas import one_blas_thread as one_blas_thread
from goodstein.engine.progress import begin, unwatched
from goodstein.errors import InputError, ResourceError, safe_repr, within_memory
from goodstein.lazy import deferred

if TYPE_CHECKING:
    from concurrent.futures import Executor

cluster = deferred("goodstein.engine.cluster")
shares = deferred("goodstein.engine.shares")

Workers: TypeAlias = "int | Executor | None"
T = TypeVar("T")
R = TypeVar("R")

SMALL = 1000
"""Below this many rows one thread is faster than two."""


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
    all cores, an executor or a Dask client; for one of other processes task and items must be picklable.
    Whoever watches is told how far it is, by the `costs` of the items where they differ.
    """
    costs = [1.0] * len(items) if costs is None else costs
    results: list[Any] = [None] * len(items)
    with within_memory(), explained_workers():
        place = _place(workers, size, len(items))
        finished = begin(len(items), sum(costs))
        with unwatched(), closing(_found(task, items, place)) as found:
            for k, result in found:
                results[k] = result
                finished(costs[k])
    return results


def _place(workers: Any, size: int, count: int) -> Any:
    """Where to work: so many threads of our own, or somebody's pool."""
    if workers is not None and not isinstance(workers, int):
        return as_pool(workers)
    all_cores = workers == -1 or (workers is None and size >= SMALL)
    return max(1, min(available_cores() if all_cores else workers or 1, count))


def several(workers: Workers, size: int, count: int) -> bool:
    """Whether :func:`run` would use several threads of this process for so many items."""
    place = _place(workers, size, count)
    return place > 1 if isinstance(place, int) else place.here


def _found(task: Callable[[T], R], items: Sequence[T], place: Any) -> Generator[tuple[int, R], None, None]:
    """Places of items and what the task makes of them, as they come."""
    if not isinstance(place, int) and not place.here:
        yield from shares.shared(place, task, items)
        return
    with one_blas_thread():
        if place == 1:
            yield from enumerate(map(task, items))
            return
        from concurrent.futures import ThreadPoolExecutor

        if not isinstance(place, int):
            yield from enumerate(place.executor.map(_here(task), items))
            return
        pool = ThreadPoolExecutor(place)
        try:
            yield from enumerate(pool.map(_here(task), items))
        finally:
            pool.shutdown(cancel_futures=True)


def _here(task: Callable[[T], R]) -> Callable[[T], R]:
    """The task in this thread's context, so that its warnings are heard here."""
    context = copy_context()

    def run_here(item: T) -> R:
        with one_blas_thread():
            return context.copy().run(task, item)

    return run_here


def check_workers(workers: Workers) -> None:
    """Raise unless `workers` is one of the things that :func:`run` takes."""
    if workers is None or (callable(getattr(workers, "submit", None)) and not isinstance(workers, type)):
        return
    if isinstance(workers, bool) or not isinstance(workers, int) or (workers < 1 and workers != -1):
        raise InputError(
            "`workers` must be a positive number of threads, -1 for all cores, a "
            f"concurrent.futures.Executor or a Dask client; got {safe_repr(workers)}."
        )


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def as_pool(workers: Any) -> Any:
    """The pool that somebody's executor or Dask client is."""
    return cluster.Cluster(workers) if is_client(workers) else shares.Pool(workers)


def is_client(workers: Any) -> bool:
    """Whether it is a client of a cluster."""
    return callable(getattr(workers, "get_executor", None)) and not isinstance(workers, type)


DIED = ("KilledWorker", "FutureCancelledError", "CommClosedError")
"""What clusters raise where workers died; the classes are not imported for that."""


@contextmanager
def explained_workers() -> Iterator[None]:
    """Say in our own words that workers died or are no longer there."""
    try:
        yield
    except Exception as error:
        from concurrent.futures import BrokenExecutor, CancelledError

        if isinstance(error, (BrokenExecutor, CancelledError)) or type(error).__name__ in DIED:
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
