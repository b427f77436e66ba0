"""Telling whoever waits how far long work is.

A public function opens a watch, ``with watching(progress): ...``; what runs inside calls :func:`begin` with
the number of pieces of work, and what that returns after each of them. Nothing in between knows of it: the
watch is a context variable. It is told in the thread that opened it, never in a worker, and of the outermost
work alone: the tests of a power study, or the statistic of a simulated sample, are no steps of their own.

What is told changes nothing in a result, not even where telling fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, TypeAlias

from goodstein.constraints import is_function
from goodstein.engine.progress import Progress, spoken
from goodstein.errors import must, warn, warn_at_once

if TYPE_CHECKING:
    from typing import TextIO

ProgressLike: TypeAlias = "bool | Callable[[int, int], object] | TextIO | None"
"""What users pass: whether to show a line, a function of what is done and of how much there is, a stream."""

Tell: TypeAlias = Callable[[int, int], object]

Foretell: TypeAlias = Callable[[float, int], None]
"""Told of the seconds that a step will take, and of how many work at it."""

PROBE = 1.0
"""Seconds from which on it is told how long the rest will take."""

WORTH_SAYING, LONG = 10.0, 600.0
"""Seconds from which on somebody wants to know beforehand, and from which on to do something else."""

Finished: TypeAlias = Callable[[float], None]
"""Called with the work that was done."""

PAUSE = 0.05
"""Seconds between two calls of a function of the user's, the first and the last of a step excepted."""


class Watch:
    """Counts what is done of what is known to be there; both only grow."""

    def __init__(self, tell: Tell | None, foretell: Foretell | None = None) -> None:
        self._tell, self._foretell = tell, foretell
        self._done, self._total, self._said = 0, 0, 0.0
        self.failure: Exception | None = None

    def begin(self, count: int, work: float, hands: int) -> Finished:
        """A step of so many pieces, which are so much work in all; call what is returned with that done."""
        before, finished = self._total, 0.0
        self._total += count
        self._say(before, always=True)
        forecast = None if self._foretell is None else Forecast(work, hands, self._foretell)

        def add(amount: float) -> None:
            nonlocal finished
            finished += amount
            if forecast is not None:
                forecast.add(amount)
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


class Forecast:
    """How long a step will take, from the first pieces of it: a probe whose work is not lost.

    The first piece itself does not count: whatever all of them need is made with it.
    """

    def __init__(self, work: float, hands: int, foretell: Foretell) -> None:
        self._left, self._hands, self._seen = work, hands, 0
        self._foretell: Foretell | None = foretell

    def add(self, amount: float) -> None:
        """So much was done."""
        self._left -= amount
        if self._foretell is None:
            return
        self._seen += 1
        now = time.monotonic()
        if self._seen == 1:
            self._start = now, self._left
        elif self._seen > 2 * self._hands and now - self._start[0] >= PROBE:
            seconds = self._left * (now - self._start[0]) / (self._start[1] - self._left)
            if seconds > WORTH_SAYING:
                self._foretell(seconds, self._hands)
            self._foretell = None


NOBODY = Watch(None)
"""The watch inside a piece of work."""

_watch: ContextVar[Watch | None] = ContextVar("_watch", default=None)


def begin(count: int, work: float | None = None, hands: int = 1) -> Finished:
    """Begin a step of so many pieces, or none; what is returned is called with the work that was done.

    All pieces are `work`, a number in any unit; None says that each piece is one. So many `hands` do it.
    """
    watch = _watch.get()
    if watch is None or watch is NOBODY or not count:
        return _unheard
    return watch.begin(count, count if work is None else work, hands)


def _unheard(amount: float) -> None:
    """Nobody watches."""


@contextmanager
def unwatched() -> Iterator[None]:
    """For the inside of a piece of work, which is told of as a whole."""
    if _watch.get() is None:
        yield
        return
    token = _watch.set(NOBODY)
    try:
        yield
    finally:
        _watch.reset(token)


class watching:
    """Tell somebody how far the work inside is, unless somebody outside is told already.

    Parameters
    ----------
    progress
        What the user passed; :class:`InputError` where it is of no use.
    what
        What is being done, for the line on the terminal.
    advice
        What to do about work that will take more than ten minutes, of which a warning tells at once, whether
        or not anybody watches.
    """

    def __init__(self, progress: Any, what: str = "Testing", advice: str | None = None) -> None:
        self._line: Progress | None = None
        self._tell: Tell | None = None
        self._advice = advice
        if progress is None or progress is False:
            return
        if progress is True:
            self._line = Progress(what)
        elif isinstance(progress, Progress):
            self._line = progress
        elif callable(getattr(progress, "write", None)) and not isinstance(progress, type):
            self._line = Progress(what, stream=progress)
        elif is_function(progress):
            self._tell = progress
        else:
            wanted = "True, False, a function (done, total), or a stream such as sys.stderr"
            raise must("progress", wanted, progress)
        if self._line is not None:
            self._tell = self._line.update

    def __enter__(self) -> None:
        self._token: Token[Watch | None] | None = None
        if (self._tell is None and self._advice is None) or _watch.get() is not None:
            return
        self._watch = Watch(self._tell, self._foretell)
        self._token = _watch.set(self._watch)
        if self._line is not None:
            self._line.__enter__()

    def _foretell(self, seconds: float, hands: int) -> None:
        """Say how long a step will take, and what to do about it."""
        said = f"about {spoken(seconds)} on {hands} core{'' if hands == 1 else 's'}"
        if self._line is not None:
            self._line.expect(said, seconds)
        if self._advice is not None and seconds > LONG:
            warn_at_once(f"This will take {said}. {self._advice}", RuntimeWarning)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._token is None:
            return
        _watch.reset(self._token)
        if self._line is not None:
            self._line.__exit__(kind, error, trace)
        failure = self._watch.failure
        if failure is not None and error is None:
            message = f"`progress` raised {type(failure).__name__}: {failure}. It was not called again."
            warn(f"{message} The result is what it would have been without it.", RuntimeWarning)
