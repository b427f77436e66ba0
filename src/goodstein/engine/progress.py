"""Progress of long work: a bar of tqdm on a terminal, or calls of a function of the user's.

A public function opens a watch, ``with watching(progress): ...``; what runs inside calls :func:`begin` with
the number of pieces of work, and what that returns after each of them. Nothing in between knows of it: the
watch is a context variable. It is told in the thread that opened it, never in a worker, and of the outermost
work alone. What is told changes nothing in a result, not even where telling fails.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias

from goodstein.constraints import is_function
from goodstein.errors import must, warn

ProgressLike: TypeAlias = "bool | Callable[[int, int], object] | None"
Finished: TypeAlias = Callable[[float], None]

PATIENCE = 2.0  # seconds after which somebody who waits wants to see a bar
PAUSE = 0.05  # seconds between two calls of a function, the first and the last of a step excepted


class Watch:
    """Counts what is done of what is known to be there; both only grow."""

    def __init__(self, tell: Callable[[int, int], object] | None) -> None:
        self._tell = tell
        self._done, self._total, self._said = 0, 0, 0.0
        self.failure: Exception | None = None

    def begin(self, count: int, work: float) -> Finished:
        """Begin a step of so many pieces, which are so much work; call what is returned with that done."""
        before, finished = self._total, 0.0
        self._total += count
        self._say(before, always=True)

        def add(amount: float) -> None:
            nonlocal finished
            finished += amount
            done = before + min(round(count * finished / work), count)
            if done > self._done:
                self._say(done, always=done == self._total)

        return add

    def _say(self, done: int, *, always: bool) -> None:
        self._done, now = done, time.monotonic()
        if self._tell is None or not (always or now - self._said >= PAUSE):
            return
        self._said = now
        try:
            self._tell(done, self._total)
        except Exception as error:  # whatever a function of the user's may raise
            self._tell, self.failure = None, error


_watch: ContextVar[Watch | Literal[False] | None] = ContextVar(
    "_watch", default=None
)  # False: inside a piece


def begin(count: int, work: float | None = None) -> Finished:
    """Begin a step of so many pieces, or none; call what is returned with the work that was done.

    All pieces are `work`, a number in any unit; None says that each piece is one.
    """
    watch = _watch.get()
    return watch.begin(count, work or count) if watch and count else lambda amount: None


@contextmanager
def _set(watch: Watch | Literal[False]) -> Iterator[None]:
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def unwatched() -> AbstractContextManager[None]:
    """For the inside of a piece of work, which is told of as a whole."""
    return nullcontext() if _watch.get() is None else _set(False)


def watching(progress: Any, what: str = "Testing") -> AbstractContextManager[None]:
    """Tell how far the work inside is, unless somebody outside is told."""
    if progress is None or progress is False:
        return nullcontext()
    if progress is not True and not is_function(progress):
        raise must("progress", "True, False or a function (done, total)", progress)
    return _watching(progress, what)


@contextmanager
def _watching(progress: Any, what: str) -> Iterator[None]:
    if _watch.get() is not None:
        yield
        return
    with _bar(what) if progress is True else nullcontext(progress) as tell, _set(watch := Watch(tell)):
        yield
    if watch.failure is not None and progress is not True:
        message = (
            f"`progress` raised {type(watch.failure).__name__}: {watch.failure}. It was not called again."
        )
        warn(f"{message} The result is what it would have been without it.", RuntimeWarning)


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], object] | None]:
    """What moves a bar on a terminal or below the cell of a notebook; None where nobody looks."""
    try:
        live = sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")
    except (AttributeError, ValueError):  # there is no such stream, or it was closed
        live = False
    if not live:
        yield None
        return
    from tqdm import tqdm

    bar = tqdm(desc=what, total=0, delay=PATIENCE, leave=False, miniters=1, dynamic_ncols=True)

    def move(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield move
    finally:
        with suppress(OSError, ValueError):  # nobody listens any more, which must not cost a result
            bar.close()
