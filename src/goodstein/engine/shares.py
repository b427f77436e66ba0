"""Work in shares on an executor of other processes: what all shares need is sent as seldom as it can be.

A share is a few items, every so many-th of them, so that all shares are about as much work. A worker hands
back what it has after some time, and the rest becomes a share of its own: an interruption need not wait, and
a worker that is slow or comes late holds nobody up.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any, ClassVar

from goodstein.engine.blas import one_blas_thread
from goodstein.engine.progress import unwatched
from goodstein.errors import InputError, must, within_memory

FEW = 16
"""Shares where the data go with each of them."""

EACH, TOGETHER, MOST = 8, 4, 1000
"""Where they do not: shares for each worker at least, items of a share, and shares at the most beyond
that."""

SLICE = 0.25
"""Seconds after which a worker hands back what it has: leaving a pool waits for all that has begun."""

LOST = 3
"""How often data that were lost with the workers that held them are sent again."""


def plan(count: int, hands: int | None = None) -> list[range]:
    """The items of every share; `hands` is the number of workers that have been sent the data beforehand.

    >>> from goodstein.engine.shares import plan
    >>> len(plan(3907, hands=2)), plan(3907, hands=2)[0]
    (976, range(0, 3907, 976))
    """
    wanted = FEW if hands is None else max(FEW, EACH * hands, min(count // TOGETHER, MOST))
    groups = min(count, wanted)
    return [range(first, count, groups) for first in range(groups)]


class Pool:
    """Any executor of other processes; the data go with every share."""

    seconds: ClassVar[float] = SLICE
    """After which a worker hands back what it has."""

    holds: ClassVar[bool] = False
    """Whether workers hold what is kept for them, so that shares may be many."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    @property
    def here(self) -> bool:
        """Whether it works in threads of this process, to which nothing need be sent."""
        return isinstance(self.executor, ThreadPoolExecutor)

    @property
    def hands(self) -> int | None:
        """How many workers hold the data beforehand."""
        return None

    def keep(self, thing: Any) -> Any:
        """What stands for a thing in the arguments of :meth:`submit`."""
        return packed(thing)

    def again(self, thing: Any) -> Any:
        """The same, after it was lost; None where it cannot have been."""
        return None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin a call."""
        future: Future[Any] = self.executor.submit(function, *arguments)
        if not callable(getattr(future, "add_done_callback", None)):
            raise must("workers", "an executor whose `submit` returns a Future", self.executor)
        return future


def shared(pool: Pool, task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Places of items and what the task makes of them, as they come; what waits is cancelled at the end."""
    if not items:  # a file held all of them
        return
    kept, sent = pool.keep(task), 1
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    waiting: dict[Future[Any], tuple[Sequence[int], int]] = {}

    def submit(places: Sequence[int]) -> None:
        future = pool.submit(share, kept, [items[k] for k in places], pool.seconds)
        waiting[future] = places, sent
        future.add_done_callback(done.put)

    try:
        for some in plan(len(items), pool.hands):
            submit(some)
        while waiting:
            future = done.get()
            places, number = waiting.pop(future)
            try:
                found = future.result()
            except CancelledError:
                if number == sent:
                    kept = pool.again(task) if sent <= LOST else None
                    sent += 1
                if kept is None:
                    raise
                submit(places)
                continue
            yield from zip(places, found, strict=False)
            if left := places[len(found) :]:
                submit(left)
    finally:
        for future in waiting:
            future.cancel()


def share(kept: Any, items: list[Any], seconds: float) -> list[Any]:
    """What a task makes of several items, of as many as there is time for; runs in a worker."""
    start, found = time.monotonic(), []
    with one_blas_thread(), within_memory("A worker"), unwatched():
        task = _unpacked(kept) if isinstance(kept, bytes) else kept
        for item in items:
            found.append(task(item))
            if time.monotonic() - start > seconds:
                break
    return found


def packed(thing: Any) -> bytes:
    """Pickle, or say that it cannot be sent."""
    try:
        return dumps(thing)
    except Exception as error:  # whatever an object's own pickling may raise
        raise unsendable(error) from error


def unsendable(error: Exception) -> InputError:
    """The error that says what to do where something cannot be pickled."""
    return InputError(
        f"the data, the model or another argument cannot be sent to other processes ({error}). Define "
        "functions at the top of a module, not as a lambda or inside another; install cloudpickle; or "
        "use threads: workers=2.",
        argument="workers",
    )


def dumps(thing: Any) -> bytes:
    """Pickle; by cloudpickle where it is installed, which also takes lambdas and functions of a notebook."""
    if find_spec("cloudpickle") is None:
        return pickle.dumps(thing)
    pickled: bytes = import_module("cloudpickle").dumps(thing)
    return pickled


@lru_cache(maxsize=1)
def _unpacked(pickled: bytes) -> Any:
    """A task, which a worker unpacks once: what it has made for itself, such as signs, serves all shares."""
    return pickle.loads(pickled)
