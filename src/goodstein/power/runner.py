"""Running tasks here, in processes of our own, or on any executor; results come as they are ready."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Self

from goodstein.engine.blas import one_blas_thread
from goodstein.engine.cluster import Cluster
from goodstein.engine.executors import available_cores, explained_workers, is_client
from goodstein.engine.progress import begin, unwatched
from goodstein.engine.shares import Pool, dumps
from goodstein.errors import InputError, shown

Tasks = Sequence[tuple[Any, ...]]

PROCESSES = range(1, 4097)
"""Numbers of processes that may be meant."""


class Runner:
    """A place to run tasks, with one BLAS thread for each.

    Parameters
    ----------
    workers
        None or 1: this process. A number: so many processes, -1 one for each core. Or a
        :class:`concurrent.futures.Executor`, which stays open, or a Dask client.
    """

    def __init__(self, workers: Any = None) -> None:
        self._pool: Pool | None = None
        self._dismissal: Any = None
        if workers is None:
            return
        if is_client(workers):
            self._pool = Cluster(workers)
        elif isinstance(workers, Executor):
            self._pool = Pool(workers)
        elif (
            isinstance(workers, int)
            and not isinstance(workers, bool)
            and (workers == -1 or workers in PROCESSES)
        ):
            processes = available_cores() if workers == -1 else workers
            if processes > 1:
                from multiprocessing import get_context

                # Not fork: threads of BLAS or JAX would not survive it.
                context = get_context("spawn")
                waiting, self._dismissal = context.Pipe(duplex=False)
                self._pool = Pool(ProcessPoolExecutor(processes, context, _attend, (waiting,)))
        else:
            raise InputError(
                "`workers` must be None, a positive number of processes, -1 for all cores, or a "
                f"concurrent.futures.Executor; got {shown(workers)}."
            )

    @property
    def is_elsewhere(self) -> bool:
        """Whether tasks leave this process, so that what they need must be picklable."""
        return self._pool is not None and not self._pool.here

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if self._dismissal is None or self._pool is None:
            return
        if error is not None:
            self._dismissal.close()  # nobody waits for a trial that nobody wants any more
        self._pool.executor.shutdown(cancel_futures=True)
        self._dismissal.close()

    def results(self, function: Callable[..., Any], tasks: Tasks) -> Iterator[tuple[int, Any]]:
        """The number of a task and function(*task), in the order in which they are ready."""
        if self._pool is None:
            yield from ((number, _alone(function, *task)) for number, task in enumerate(tasks))
            return
        # One by one: what a cluster holds for its workers must not be hidden inside a function.
        fixed = (function.func, *function.args) if isinstance(function, partial) else (function,)
        futures: dict[Future[Any], int] = {}
        try:
            with explained_workers():
                for number, task in enumerate(tasks):
                    futures[self._pool.submit(_alone, *fixed, *task)] = number
                for future in as_completed(futures):
                    yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()

    def all(self, function: Callable[..., Any], tasks: Tasks) -> list[Any]:
        """function(*task) for all tasks, in their order."""
        finished, found = begin(len(tasks)), {}
        for number, result in self.results(function, tasks):
            found[number] = result
            finished(1)
        return [found[number] for number in range(len(tasks))]

    def packed(self, work: Any, parts: dict[str, Any]) -> Any:
        """The work as tasks carry it: itself, or pickled once; `parts` of it by their names in messages."""
        if self._pool is None or not self.is_elsewhere:
            return work
        try:
            pickled = dumps(work)
        except Exception as error:  # whatever an object's own pickling may raise
            for name, part in parts.items():
                try:
                    dumps(part)
                except Exception as reason:
                    raise InputError(
                        f"{name} cannot be sent to other processes ({type(reason).__name__}: {reason}). "
                        "Define it at the top of a module, not as a lambda or inside a function (or install "
                        "cloudpickle); or use workers=None or a ThreadPoolExecutor."
                    ) from None
            raise InputError(f"The study cannot be sent to other processes: {error}") from None
        return self._pool.keep(pickled) if self._pool.holds else pickled


@lru_cache(maxsize=4)
def _loads(pickled: bytes) -> Any:
    return pickle.loads(pickled)


def perform(packed: Any, method: str, *arguments: Any) -> Any:
    """Call a method of packed work; a process unpacks it once, so that what models compile is kept."""
    work = _loads(packed) if isinstance(packed, bytes) else packed
    return getattr(work, method)(*arguments)


def _attend(dismissal: Any) -> None:
    """End a process of our own as soon as the other end is closed: on dismissal, or since its owner died."""

    def watch() -> None:
        with suppress(EOFError, OSError):
            dismissal.recv_bytes()
        os._exit(1)

    # Ctrl-C reaches all processes of a terminal; the owner dismisses them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _alone(function: Callable[..., Any], *task: Any) -> Any:
    with one_blas_thread(), unwatched():
        return function(*task)
