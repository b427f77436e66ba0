"""Hostile calls: every public class and function, each argument replaced in turn by what it is not made for.

A call must end in an error of the library's own, or in a right answer. What is wrong, and must not happen:

raw
    an exception of another kind;
silent
    a value was taken that cannot be meant (text or True for a number, masked entries at face value), the
    answer is not sensible (NaN, a p-value outside of (0, 1]), or an array of the caller's was changed;
hang
    more time or memory than a refusal needs.

``python tests/battery.py`` runs all calls, or a ``--share`` of them, and writes the table to
``validation/doors.md``; with words it runs the objects whose names contain one of them.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl

import goodstein as gs
from cases import SQUARE
from doors import DOORS, Door
from goodstein.errors import Explained
from goodstein.families import ERGM, Exponential, Normal, PoissonProcess, UniformOnSphere
from goodstein.graphs import GlauberFlips, SubgraphCounts, WeisfeilerLehman
from goodstein.patterns import ConfigurationKernel

SECONDS = 20.0
"""A call that takes longer hangs."""

MEMORY = 6 << 30
"""Address space of the long run, in bytes."""

REPORT_FILE = Path(__file__).resolve().parents[1] / "validation" / "doors.md"

OUTCOMES = ("right", "clear", "raw", "silent", "hang")
BAD = OUTCOMES[2:]


# --- hostile values --------------------------------------------------------------------------


@dataclass(frozen=True)
class Hostile:
    """A value, made anew for each call from the valid one, and what kind of thing it is."""

    name: str
    kind: str
    make: Callable[[Any], Any]


def constant(kind: str, *values: Any) -> list[Hostile]:
    return [Hostile(called(value), kind, lambda _, value=value: value) for value in values]


def called(value: Any) -> str:
    return getattr(value, "__name__", repr(value)[:40])


def numbers(valid: Any) -> np.ndarray:
    """An array like the valid value, or one of two rows where that holds no numbers."""
    try:
        array = np.array(np.nan if valid is None else valid, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if np.isnan(array).all():
        array = np.array([[0.25, 0.5], [0.5, 0.25]])
    return array if array.ndim else array[None]


def with_row(number: float) -> Callable[[Any], Any]:
    def make(valid: Any) -> Any:
        array = numbers(valid).copy()
        array[len(array) // 2 :][:1] = number
        return array

    return make


def masked(valid: Any) -> Any:
    array = numbers(valid)
    return np.ma.array(array, mask=np.arange(array.size).reshape(array.shape) == 0)


def derived(kind: str, **makers: Callable[[np.ndarray], Any]) -> list[Hostile]:
    return [
        Hostile(name.replace("_", " "), kind, lambda valid, make=make: make(numbers(valid)))
        for name, make in makers.items()
    ]


def raising(error: Exception) -> Callable[..., Any]:
    def function(*args: Any, **options: Any) -> Any:
        raise error

    return function


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "wrong signature": lambda: 0.0,
    "returns None": lambda *_, **__: None,
    "returns NaN": lambda *_, **__: np.nan,
    "returns text": lambda *_, **__: "a",
    "returns a shape": lambda *_, **__: np.zeros((3, 7)),
    "returns NaN rows": lambda x=3, *_, **__: np.full(
        np.shape(x) or (x if isinstance(x, int) else 3,), np.nan
    ),
    "returns one row": lambda x=3, *_, **__: np.zeros((1, np.shape(x)[-1] if np.ndim(x) else 1)),
    "returns complex": lambda x=3, *_, **__: np.asarray(x) * 1j,
    "returns ragged": lambda *_, **__: [[1.0, 2.0], [3.0]],
    "returns what it got": lambda x=3, *_, **__: x,
    "raises": raising(ZeroDivisionError("division by zero, in a function of the user's")),
    "raises KeyError": raising(KeyError("column of the user's")),
}
"""What functions of a user's may do; the last ones raise."""


class Junk:
    def __repr__(self) -> str:
        return "Junk()"


class Unspeakable:
    def __repr__(self) -> str:
        raise ZeroDivisionError("repr")


VALUES = [
    *constant("none", None),
    *constant("text", "a", ""),
    *constant("bytes", b""),
    *constant("bool", True, np.False_),
    *constant("int", -1, 0, 1, 7),
    *constant("float", -0.0, 1.5, -2.5),
    *constant("extreme", 1e300, 1e-300, -1e300, 1e-81, 1e100),
    *constant("size", 10**30, 2**63, 10**10),
    *constant("nan", np.nan, np.float32("nan")),
    *constant("inf", np.inf, -np.inf),
    *constant("complex", 1j, np.complex64(1)),
    *constant("junk", {}, {"a": 1.0}, {1.0, 2.0}, dict, Junk, Junk(), np, Ellipsis, slice(None), range),
    Hostile("no repr", "junk", lambda _: Unspeakable()),
    Hostile("a list without repr", "junk", lambda _: [Unspeakable()]),
    *constant("int", np.array(1), np.int8(3)),
    *constant("float", np.array(1.0), np.float16(0.5), Fraction(1, 2)),
    *constant("junk", Decimal("0.5")),
    *constant("extreme", 5e-324, 1.79e308),
    *constant("text", "a\0b", "a" * 300, "../a", "é"),
    Hostile("a lazy frame", "junk", lambda valid: pl.LazyFrame(numbers(valid).reshape(-1, 1))),
    Hostile("a generator", "generator", lambda _: (value for value in (1.0, 2.0))),
    Hostile("a groupby object", "junk", lambda _: pd.DataFrame({"a": [1, 1, 2], "b": 0.1}).groupby("a")),
    Hostile("a class of executors", "junk", lambda _: ThreadPoolExecutor),
    *constant("random", np.random.RandomState(0)),
    *constant("empty", [], (), frozenset(), np.empty(0), np.empty((0, 2)), np.empty((5, 0)), [[]]),
    *constant("ragged", [[1.0, 2.0], [3.0]], [1.0, [2.0, 3.0]], [np.zeros(2), np.zeros((2, 2))]),
    *constant("texts", ["a", "b"], np.array(["a", "b"]), np.array(["1.0", "2.0"])),
    *constant("objects", [None, 1.0], np.array([1.0, 2.0], object), [Junk()], [{}]),
    *constant("dates", np.array(["2020-01-01", "2020-01-02"], "M8[D]"), np.array([1, 2], "m8[s]")),
    *constant("dates", np.datetime64("2020-01-01"), pd.Timestamp("2020-01-01")),
    *constant("bools", np.array([True, False]), [True, False]),
    *derived("complex", complex_array=lambda x: x + 1j),
    *derived("objects", object_array=lambda x: x.astype(object)),
    *derived("texts", text_array=lambda x: x.astype(str)),
    *derived("bools", bool_array=lambda x: x > 0),
    *derived("dates", date_array=lambda x: np.abs(x).astype("M8[D]")),
    Hostile("masked", "masked", masked),
    *derived(
        "axis",
        a_last_axis=lambda x: x.reshape(len(x), -1)[..., None],
        long_and_thin=lambda x: x.reshape(-1, 1, 1),
    ),
    Hostile("NaN row", "nan", with_row(np.nan)),
    Hostile("inf row", "inf", with_row(np.inf)),
    Hostile("1e300 in a row", "extreme", with_row(1e300)),
    *derived(
        "array",
        three_axes=lambda x: x[None, None],
        extra_column=lambda x: np.column_stack([x.reshape(len(x), -1), x.reshape(len(x), -1)[:, :1]]),
        one_row=lambda x: x[:1],
        flat=lambda x: x.ravel(),
        transposed=lambda x: x.T,
        zeros=lambda x: np.zeros_like(x),
        negative=lambda x: -x,
        same_rows=lambda x: np.repeat(x[:1], len(x), axis=0),
        whole_numbers=lambda x: x.round().astype(int),
        read_only=lambda x: np.broadcast_to(x, x.shape),
        nested_lists=lambda x: x.tolist(),
        matrix=lambda x: np.asmatrix(x.reshape(len(x), -1)),
        nothing_masked=np.ma.array,
        long_double=lambda x: x.astype(np.longdouble),
        half=lambda x: x.astype(np.float16),
        jax_array=jnp.asarray,
        memoryview=memoryview,
        records=lambda x: np.rec.fromarrays(x.reshape(len(x), -1).T),
        frame=lambda x: pd.DataFrame(x.reshape(len(x), -1)),
    ),
    *derived("float", no_axis=lambda x: x.ravel()[0]),
    *derived("extreme", times_1e100=lambda x: x * 1e100, times_1e_100=lambda x: x * 1e-100),
    *derived("extreme", times_1e200=lambda x: x * 1e200, times_1e_200=lambda x: x * 1e-200),
    *constant("operator", gs.Langevin(), gs.Martingale(), gs.Coordinate(), gs.Difference(), GlauberFlips()),
    *constant("kernel", gs.IMQ(1.0), gs.Hamming(), gs.Whitened(), SubgraphCounts(), WeisfeilerLehman()),
    *constant("kernel", ConfigurationKernel()),
    *constant("domain", gs.Circle(), gs.Lattice(3, 2), gs.Simplex(2), gs.Euclidean(7)),
    *constant("null", gs.MonteCarlo(3), gs.Spectral(9)),
    *constant("family", Normal(), Exponential(), UniformOnSphere(3), ERGM(5), PoissonProcess(9.0, SQUARE)),
    *constant("auxiliary", gs.BallPower(), gs.GeometricMean()),
    *constant(
        "kind", gs.Censored([1.0, 2.0, 3.0]), gs.Patterns([np.full((3, 2), 0.5)] * 2), gs.Chains([[[1.0]]])
    ),
    *(Hostile(name, "callable", lambda _, found=found: found) for name, found in FUNCTIONS.items()),
]

FUNCTIONS_ONLY = [value for value in VALUES if value.kind == "callable" and value.name != "wrong signature"]


# --- calls ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A door, one of its arguments, and a hostile value for it."""

    door: Door
    argument: str
    value: Hostile
    allowed: bool

    def __str__(self) -> str:
        return f"{self.door.name}({self.argument}={self.value.name})"


def calls(chosen: list[Door]) -> Iterator[Call]:
    """All of them."""
    for door in chosen:
        for argument, kinds in door.parameters().items():
            for value in FUNCTIONS_ONLY if door.kind == "protocols" else VALUES:
                yield Call(door, argument, value, value.kind in kinds)


# --- outcomes --------------------------------------------------------------------------------


class HangError(BaseException):
    """A call took too long; no exception that a function could catch."""


@dataclass(frozen=True)
class Outcome:
    """How a call ended."""

    kind: str
    text: str = ""
    seconds: float = 0.0


def stop(*_: object) -> None:
    raise HangError


def alarms(seconds: float) -> None:
    """Stop after so long a computation, and after a long wait, for other processes may be busy."""
    # Again and again, because a first alarm may be lost in a callback that ignores exceptions.
    for timer, alarm in ((signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_REAL, signal.SIGALRM)):
        signal.signal(alarm, stop)
        signal.setitimer(timer, seconds * (20 if alarm == signal.SIGALRM else 1), 1.0)


def run(call: Call) -> Outcome:
    """The outcome of one call; only in the main thread of a process."""
    arguments = dict(call.door.arguments)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        arguments[call.argument] = call.value.make(arguments.get(call.argument))
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    before = {name: (value.copy(), value.flags.writeable) for name, value in arrays.items()}
    start = time.perf_counter()
    alarms(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = call.door.call(arguments)
            alarms(0)
            wrong = "" if call.allowed else f"{call.value.kind} accepted: {answer!r:.80}"
            wrong = wrong or complaint(answer, call.value.kind == "extreme")
        kind = "silent" if wrong else "right"
    except HangError:
        kind, wrong = "hang", f"more than {SECONDS:g} s"
    except MemoryError as error:
        kind, wrong = "hang", f"memory: {error}"
    except Explained as error:
        kind, wrong = "clear", str(error)
    except Exception as error:
        kind, wrong = "raw", f"{type(error).__name__}: {error} ({place(error)})"
        if call.door.kind == "protocols" and place(error) == Path(__file__).name:
            kind = "clear"  # raised by the user's own object, and rightly passed on
    finally:
        alarms(0)
    for name, (copy, writeable) in before.items():
        now = np.ma.getdata(arrays[name])
        same = arrays[name].flags.writeable == writeable and now.tobytes() == np.ma.getdata(copy).tobytes()
        if not same and kind in ("right", "clear"):
            kind, wrong = "silent", f"the caller's array `{name}` was changed"
    return Outcome(kind, wrong, time.perf_counter() - start)


def place(error: Exception) -> str:
    """Where it was raised: a line of the library, or a file."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    name = Path(last.filename).name
    return name if last.filename == __file__ else f"{name}:{last.lineno}"


def complaint(answer: Any, extreme: bool = False, depth: int = 0) -> str:
    """What is not sensible about an answer; numbers may overflow where the input is extreme."""
    if isinstance(answer, (float, np.floating)):
        return complaint(np.array([answer]), extreme)
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "fc":
        bad = np.isnan(answer) if extreme else ~(np.isfinite(answer) | (answer == -np.inf))
        return f"{bad.sum()} of {answer.size} values are {answer[bad].ravel()[0]}" if bad.any() else ""
    if hasattr(answer, "pvalue"):
        p = answer.pvalue
        if not (isinstance(p, float) and 0 < p <= 1):
            return f"p = {p!r}"
        return complaint(np.array([answer.statistic, *answer.null_distribution]))
    if isinstance(answer, (list, tuple)) and depth < 3:
        return next(filter(None, (complaint(one, extreme, depth + 1) for one in answer)), "")
    return ""


def table(results: list[tuple[Call, Outcome]]) -> str:
    """Outcomes by kind of object, in Markdown."""
    counts: dict[str, Counter[str]] = {}
    for call, outcome in results:
        counts.setdefault(call.door.kind, Counter())[outcome.kind] += 1
    counts["all"] = sum(counts.values(), Counter())
    heads = ["", "calls", "right answers", "clear errors", "raw exceptions", "silent", "hangs"]
    rows = [heads, ["---", *["---:"] * 6]]
    for kind, count in counts.items():
        rows.append([kind, *(f"{number:,}" for number in (count.total(), *(count[o] for o in OUTCOMES)))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


REPORT = """# Hostile calls

Every public class, function and method ({doors} valid calls) is called with one argument at a time replaced
by each of {values} values that it is not made for: None, text, True, sizes of 10³⁰, NaN, complex and masked
arrays, dates, ragged lists, wrong shapes, data at scales of 1e±100, generators, objects without a repr, names
that are too long, objects of the library of another kind, functions that return the wrong thing or raise. A
call must end in an error of the library's own or in a right answer. The last three columns must be zero:
exceptions of another kind; values that were taken and cannot be meant, answers that are not sensible, arrays
of the caller's that were changed; calls that take more than {seconds:g} s or {memory} GiB. What users' own
data, domains and executors raise is passed on.

Made by `python tests/battery.py`, of {share} of the calls; `make test-all` runs them all, `make test` a
sample.

{table}
"""


def main() -> int:
    """Run the battery; the number of calls that went wrong, at most 1, for the shell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of names of objects; none: all, and write the report")
    parser.add_argument("--report", type=Path, default=REPORT_FILE, help="where the report goes")
    parser.add_argument("--share", type=float, default=1.0, help="run only this share of the calls")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    options.report = options.report.resolve()
    os.chdir(tempfile.mkdtemp())  # some hostile values are names of files
    chosen = [
        door
        for door in DOORS
        if not options.words or any(word in f"{door.kind}: {door.name}" for word in options.words)
    ]
    rng = np.random.default_rng(0)
    results = []
    for call in calls(chosen):
        if rng.random() < options.share:
            results.append((call, run(call)))
            if results[-1][1].kind in BAD:
                print(f"{results[-1][1].kind:6} {call}: {results[-1][1].text[:200]}", flush=True)
    found = table(results)
    print(found)
    slow = sorted(results, key=lambda pair: -pair[1].seconds)[:5]
    seconds = sum(outcome.seconds for _, outcome in results)
    print(f"{seconds:.0f} s; slowest: {[(str(call), round(one.seconds, 1)) for call, one in slow]}")
    if not options.words:
        sizes = {"values": len(VALUES), "doors": len(chosen), "seconds": SECONDS, "memory": MEMORY >> 30}
        text = REPORT.format(**sizes, share=f"{options.share:.0%}", table=found)
        options.report.write_text(text, encoding="utf-8")
    return int(any(outcome.kind in BAD for _, outcome in results))


if __name__ == "__main__":
    sys.exit(main())
