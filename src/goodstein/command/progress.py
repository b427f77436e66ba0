"""How far long work is: a line on a terminal's standard error stream, from two seconds on.

The one seam for it: a computation that reports calls :meth:`Progress.update` with what is done and how much
there is in all, and the line then holds an estimate of the time that is left; of one that does not it holds
the time so far.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 2.0
"""Seconds after which somebody who waits wants to know."""

INTERVAL = 0.5


class Progress:
    """A line that says what is done and for how long; nothing where nobody looks."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what, self._done, self._total = what, 0, 0
        self._stream = sys.stderr
        self._shown = not quiet and self._stream.isatty()
        self._ended = threading.Event()
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        if self._shown:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._shown:
            self._thread.join()

    def update(self, done: int, total: int) -> None:
        """So much is done, of so much."""
        self._done, self._total = done, total

    def line(self, seconds: float) -> str:
        """What is shown after so many seconds."""
        if not 0 < self._done < self._total:
            return f"{self.what} … {_spoken(seconds)}"
        left = seconds * (self._total - self._done) / self._done
        share = 100 * self._done // self._total
        return f"{self.what} … {share} %, {_spoken(seconds)}, about {_spoken(left)} left"

    def _watch(self) -> None:
        if self._ended.wait(PATIENCE):
            return
        try:
            import rich.console
            import rich.progress
        except ImportError:
            self._write_lines()
        else:
            self._draw_bar(rich)

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
                bar.update(task, completed=self._done, total=self._total or None)

    def _write_lines(self) -> None:
        width = 0
        while True:
            line = self.line(time.monotonic() - self._began)
            width = max(width, len(line))
            self._stream.write(f"\r{line:<{width}}")
            self._stream.flush()
            if self._ended.wait(INTERVAL):
                self._stream.write(f"\r{'':<{width}}\r")
                self._stream.flush()
                return


def _spoken(seconds: float) -> str:
    """A time in words.

    >>> from goodstein.command.progress import _spoken
    >>> _spoken(3.2), _spoken(75), _spoken(7300)
    ('3 s', '1 min 15 s', '2 h 1 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
