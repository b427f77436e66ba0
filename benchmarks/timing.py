"""Timing by turns in one run: only ratios of what was measured side by side are worth keeping."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

from threadpoolctl import ThreadpoolController

Action = Callable[[], Any]
Times = dict[str, list[float]]


@dataclass(frozen=True)
class Ratio:
    """A ratio of two times, and the range over the rounds."""

    value: float
    low: float
    high: float


def ratio(above: list[float], below: list[float]) -> Ratio:
    """The median over the rounds of the ratio within a round."""
    pairs = [a / b for a, b in zip(above, below, strict=True)]
    return Ratio(median(pairs), min(pairs), max(pairs))


def ratio_of_minima(above: list[float], below: list[float]) -> Ratio:
    """For short processes, whose times err to one side only."""
    pairs = [a / b for a, b in zip(above, below, strict=True)]
    return Ratio(min(above) / min(below), min(pairs), max(pairs))


def by_turns(actions: Mapping[str, Action], rounds: int, *, least: float = 0.2, warm: bool = True) -> Times:
    """Seconds per call of every action, once a round.

    Parameters
    ----------
    actions
        What to time; odd rounds run them in the opposite order, so that a machine that gets slower
        favours none of them.
    rounds
        Number of rounds.
    least
        An action is repeated within its turn until it has taken this many seconds.
    warm
        Whether to run everything once before.
    """
    if warm:
        for action in actions.values():
            action()
    times: Times = {name: [] for name in actions}
    for turn in range(rounds):
        for name in list(actions)[:: -1 if turn % 2 else 1]:
            times[name].append(_per_call(actions[name], least))
    return times


def _per_call(action: Action, least: float) -> float:
    calls, start = 0, time.perf_counter()
    while True:
        action()
        calls += 1
        elapsed = time.perf_counter() - start
        if elapsed >= least:
            return elapsed / calls


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """BLAS with this many threads."""
    with _controller().limit(limits=count, user_api="blas"):
        yield


def with_blas(count: int, action: Action) -> Action:
    """The action with this many BLAS threads."""

    def limited() -> Any:
        with blas_threads(count):
            return action()

    return limited


def blas_in_use() -> str:
    """What threadpoolctl finds out about BLAS."""
    found = [pool for pool in _controller().info() if pool["user_api"] == "blas"]
    texts = {f"{p['internal_api']} {p['version']} ({p.get('architecture', 'unknown')})" for p in found}
    return ", ".join(sorted(texts)) or "unknown"


def command_seconds(code: str) -> float:
    """CPU seconds, of user and system, of ``python -c code`` in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _python(code)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_megabytes(code: str) -> float:
    """Peak resident memory of ``python -c code`` in a process of its own."""
    return float(_python(f"{code}\n{_REPORT_PEAK}").strip().splitlines()[-1])


def seconds_and_megabytes(before: str, code: str) -> tuple[float, float]:
    """Wall seconds of some code after other code, and the peak memory of both, in a process of its own."""
    timed = f"import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    *_, seconds, peak = _python(f"{before}\n{timed}\n{_REPORT_PEAK}").split()
    return float(seconds), float(peak)


# On Linux ru_maxrss of a process includes the memory that its parent had when it was started (it
# outlives exec), which here may be gigabytes; the high-water mark of the address space does not.
_REPORT_PEAK = f"""
import resource
try:
    lines = open("/proc/self/status").read().splitlines()
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
except (OSError, StopIteration):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * {1 if platform.system() == "Darwin" else 1024}
print(peak / 1e6)
"""


def _python(code: str) -> str:
    # Without bytecode every start would compile the library anew, which no user sees.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout
