"""How far long work is: a line on a terminal's standard error stream, from two seconds on.

The line holds an estimate of the time that is left of the present step, which long steps tell as soon as it
is known, and of work that does not tell how far it is (:mod:`goodstein.engine.watching`) the time so far. A
stream that the user names gets lines wherever it leads.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TextIO

PATIENCE = 2.0
"""Seconds after which somebody who waits wants to know."""

INTERVAL = 0.5

LOGGED = 10.0
"""Seconds between the lines of a stream that keeps all of them, such as a file."""


class Progress:
    """A line that says what is done and for how long; nothing where nobody looks."""

    def __init__(self, what: str, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.what, self._done, self._total = what, 0, 0
        self._stream = sys.stderr if stream is None else stream
        self._live = _is_live(self._stream)
        self._shown = not quiet and (self._live or stream is not None)
        self._ended = threading.Event()
        self._began = time.monotonic()
        self._expected, self._news = "", threading.Event()
        self._step = (0, 0.0)
        """What was done when the present step began, and after how many seconds that was."""

    def __enter__(self) -> Self:
        if self._shown:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._news.set()
        if self._shown:
            self._thread.join()

    def update(self, done: int, total: int) -> None:
        """So much is done, of so much; a total that has changed begins a step."""
        if total != self._total:
            self._step = (self._done, time.monotonic() - self._began)
        self._done, self._total = done, total

    def expect(self, said: str, seconds: float) -> None:
        """Say at once about how long the present step will take, in words and as a number."""
        self._expected = said
        self._news.set()

    def line(self, seconds: float) -> str:
        """What is shown after so many seconds."""
        if self._expected:
            said, self._expected = f"{self.what} … {self._expected}", ""
            return said
        done, total = self._in_step()
        if not 0 < done < total:
            return f"{self.what} … {spoken(seconds)}"
        left = (seconds - self._step[1]) * (total - done) / done
        return f"{self.what} … {100 * done // total} %, {spoken(seconds)}, about {spoken(left)} left"

    def _in_step(self) -> tuple[int, int]:
        return self._done - self._step[0], self._total - self._step[0]

    def _watch(self) -> None:
        self._news.wait(PATIENCE)
        if self._ended.is_set():
            return
        with suppress(OSError, ValueError):  # nobody listens any more, which must not cost a result
            try:
                import rich.console
                import rich.progress
            except ImportError:
                self._write_lines()
            else:
                if self._stream.isatty():
                    self._draw_bar(rich)
                else:
                    self._write_lines()

    def _draw_bar(self, rich: Any) -> None:
        """The same as a bar of rich, where that is installed."""
        parts = rich.progress
        columns = (
            parts.TextColumn("{task.description}", markup=False),
            parts.BarColumn(),
            parts.TimeElapsedColumn(),
            parts.TimeRemainingColumn(),
        )
        console = rich.console.Console(file=self._stream)
        with parts.Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(self.what, total=None)
            bar.reset(task, start=False)
            bar.tasks[0].start_time = bar.get_time() - (time.monotonic() - self._began)
            while not self._ended.wait(INTERVAL):
                done, total = self._in_step()
                what = f"{self.what}, {self._expected}" if self._expected else self.what
                bar.update(task, description=what, completed=done, total=total or None)

    def _write_lines(self) -> None:
        """One line that is written over and over and then taken away, or one after the other into a file."""
        width = 0
        while True:
            line = self.line(time.monotonic() - self._began)
            width = max(width, len(line))
            self._stream.write(f"\r{line:<{width}}" if self._live else f"{line}\n")
            self._stream.flush()
            self._news.wait(INTERVAL if self._live else LOGGED)
            self._news.clear()
            if self._ended.is_set():
                break
        if self._live:
            self._stream.write(f"\r{'':<{width}}\r")
            self._stream.flush()


def _is_live(stream: Any) -> bool:
    """Whether a line can be written over: on a terminal, or below the cell of a notebook."""
    try:
        return bool(stream.isatty()) or type(stream).__module__.startswith("ipykernel")
    except (AttributeError, OSError, ValueError):  # there is no such stream, or it was closed
        return False


def spoken(seconds: float) -> str:
    """A time in words.

    >>> from goodstein.engine.progress import spoken
    >>> spoken(3.2), spoken(75), spoken(7300)
    ('3 s', '1 min 15 s', '2 h 1 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
