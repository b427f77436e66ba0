"""Errors and warnings, and the one way in which they speak of rows.

Every message says what is wrong, where, and how to fix it.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, Self

import numpy as np

from goodstein.lazy import lock_for_forks
from goodstein.types import ArrayLike, BoolArray

PACKAGE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = os.path.join(PACKAGE, "command")


class Explained(Exception):
    """An error in parts: what is wrong, with which argument and in which rows, and what to do about it.

    Whoever catches one takes the parts, and nobody reads the text. It begins with the ``argument`` and goes
    on with the ``reason``, a sentence of its own or, with ``predicate``, the end of one that the argument
    begins: "`data` has no columns." It ends with the ``remedy``, how to fix it. ``rows`` are those concerned.
    """

    def __init__(
        self,
        reason: str,
        *,
        argument: str | None = None,
        predicate: bool = False,
        rows: BoolArray | np.bool_ | None = None,
        remedy: str | None = None,
    ) -> None:
        self.reason, self.argument, self.predicate, self.remedy = reason, argument, predicate, remedy
        self.rows = None if rows is None else np.flatnonzero(rows)
        subject = "" if argument is None else f"`{argument}`{'' if predicate else ':'} "
        super().__init__(f"{subject}{self.bare}")

    @property
    def bare(self) -> str:
        """Reason and remedy, without the argument, which may be another one where the error is caught."""
        return self.reason if self.remedy is None else f"{self.reason} {self.remedy}"

    def told(self, argument: str | None = None, *, remedy: str | None = None, before: str = "") -> Self:
        """The same error about another argument, with another remedy, or with words before the reason."""
        predicate = self.predicate and not before
        other = type(self)(
            f"{before}{self.reason}", argument=argument, predicate=predicate, remedy=remedy or self.remedy
        )
        other.rows = self.rows
        return other


class InputError(Explained, ValueError):
    """The data or an argument cannot be used as given."""


class DomainError(InputError):
    """Data lie outside the domain, or a domain is not a valid region."""


class ScoreError(InputError):
    """A score, log density or auxiliary function cannot be evaluated or differentiated as needed."""


class NotFiniteError(ScoreError):
    """A score, log density or weight is infinite or NaN at some rows."""


class BandwidthError(InputError):
    """A rule can take no bandwidth from the data, because all points are the same."""


class SteinIdentityError(Explained, ValueError):
    """Stein's identity does not hold, so the test would not keep its level."""


class SamplingError(Explained, RuntimeError):
    """A model cannot be sampled, or only with unreasonable effort."""


class TrialError(Explained, RuntimeError):
    """A test, a sampler or a likelihood ratio failed in a study of power; the message says where."""


class ResourceError(Explained, RuntimeError):
    """A worker died, or memory or disk ran out: nothing was wrong with the call, and it can be made again."""


class NumericalScoreWarning(UserWarning):
    """A score obtained by numerical differentiation is doubtful at some rows."""


class CalibrationWarning(UserWarning):
    """A p-value is valid only under conditions that the user should check."""


@contextmanager
def within_memory(what: str = "The computation") -> Iterator[None]:
    """Say what ran out of memory, and how to go on."""
    try:
        yield
    except MemoryError as error:
        found = f" ({error})" if str(error) else ""
        raise ResourceError(
            f"{what} ran out of memory{found}. Data and model are as they were.",
            remedy="Use fewer workers, each of which holds blocks of its own, fewer rows or fewer draws; a "
            "function of yours may take its rows in parts.",
        ) from error


def describe_rows(bad: BoolArray | np.bool_) -> str:
    """Say which rows a mask marks.

    >>> from goodstein.errors import describe_rows
    >>> import numpy as np
    >>> describe_rows(np.array([False, True, True]))
    '2 of 3 rows (the first is row 1)'
    """
    bad = np.asarray(bad)
    rows = np.flatnonzero(bad)
    if len(rows) == 1:
        return f"1 of {bad.size} rows (row {rows[0]})"
    return f"{rows.size} of {bad.size} rows (the first is row {rows[0]})"


def refuse_rows(
    bad: ArrayLike, what: str, remedy: str | None = None, *, argument: str = "data", error: Any = InputError
) -> None:
    """Raise where rows are bad, (n,), and say which they are and what is wrong with them."""
    rows = np.asarray(bad)
    if rows.any():
        raise error(f"{describe_rows(rows)} {what}", argument=argument, rows=rows, remedy=remedy)


def must(name: str, wanted: str, value: object, of: str = "", error: Any = InputError) -> Explained:
    """The error that says what an argument must be, and what was given instead."""
    reason = f"{f'of {of} ' if of else ''}must be {wanted}, got {shown(value)}."
    refused: Explained = error(reason, argument=name, predicate=True)
    return refused


def safe_repr(value: object) -> str:
    """The ``repr`` of an object, or the name of its class where that raises."""
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__}"


def shown(value: Any) -> str:
    """A value in a message: in full where that is short."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype") and value.shape:
        kinds = {np.ndarray: "an array", np.ma.MaskedArray: "a masked array"}
        kind = kinds.get(type(value), f"a {type(value).__name__}")
        return f"{kind} of shape {tuple(value.shape)} and dtype {value.dtype}"
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return f"the function {value.__name__}"
    text = " ".join(safe_repr(value).split())
    if " object at 0x" in text:
        return f"a {type(value).__name__}"
    if len(text) > 60:
        return (
            text[:60] + "..." if isinstance(value, int | list | tuple | str) else f"a {type(value).__name__}"
        )
    return text


def warn(message: str | Warning, category: type[Warning] = CalibrationWarning) -> None:
    """Warn whoever called the library, however deep inside it the reason was found."""
    if issubclass(category, _unheard.get()):
        return
    listener = _listener.get()
    if listener is not None:
        listener.append(Told(message, category, __file__, 0))
        return
    # What is shown on a stream that was closed must not cost a result.
    with suppress(OSError, ValueError):
        warnings.warn(message, category, stacklevel=_entry()[1] + 1)


def takes(argument: str) -> bool:
    """Whether the function of the library that the user called has an argument of this name."""
    code = _entry()[0]
    return argument in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def given(argument: str, *values: str) -> str:
    """How the user writes an argument in the call that was made, with one of these values, for messages.

    Tests of one operator have an argument `operator`, those of several a list `operators`. Where the function
    that was called has neither, the words name :func:`ksd_test`, which has all of them.
    """
    if takes(argument):
        return " or ".join(f"{argument}={value}" for value in values) or f"`{argument}`"
    if takes(f"{argument}s"):
        return " or ".join(f"{argument}s=[{value}]" for value in values) or f"`{argument}s`"
    return " or ".join(f"ksd_test(..., {argument}={value})" for value in values or ("...",))


def other_domain() -> str:
    """The end of "Remove them …" where the function that the user called has an argument `domain`."""
    return " or pass the right `domain`" if takes("domain") else ""


def _entry() -> tuple[CodeType, int]:
    """The function of the library that the user called, and how many frames above the asking one that was."""
    frame: FrameType | None = sys._getframe(1)
    assert frame is not None
    code, level = frame.f_code, 0
    # Constructors of dataclasses are made of a string.
    ours, others = (PACKAGE, "<string>"), (functools.__file__,)
    while frame is not None and frame.f_code.co_filename.startswith(ours + others):
        if frame.f_code.co_filename.startswith(COMMANDS):  # which calls the library as users do
            break
        code = frame.f_code if frame.f_code.co_filename.startswith(ours) else code
        level, frame = level + 1, frame.f_back
    return code, level


class Told(NamedTuple):
    """A warning, and where it was given."""

    message: str | Warning
    category: type[Warning]
    filename: str
    lineno: int


_listener: ContextVar[list[Told] | None] = ContextVar("_listener", default=None)
_unheard: ContextVar[tuple[type[Warning], ...]] = ContextVar("_unheard", default=())


@contextmanager
def quiet(*categories: type[Warning]) -> Iterator[None]:
    """Without warnings of the library of these kinds, in this thread and the workers that it starts."""
    token = _unheard.set((*_unheard.get(), *categories))
    try:
        yield
    finally:
        _unheard.reset(token)


@contextmanager
def heard() -> Iterator[list[Told]]:
    """All warnings on the way, of this thread and of the workers that it starts, instead of showing them.

    Python's own way, ``warnings.catch_warnings``, changes what all threads share: several at once mix up
    their warnings, and the last may leave others' filters behind.
    """
    told: list[Told] = []
    with _switchboard:
        token = _listener.set(told)
        try:
            yield told
        finally:
            _listener.reset(token)


class _Listening:
    """The pattern of a filter that concerns only those who listen."""

    def match(self, text: str) -> bool:
        """Whether there is somebody in this context."""
        return _listener.get() is not None


class _Switchboard:
    """Hands warnings of other libraries to whoever listens; put up by the first, taken down by the last.

    It adds a filter to those that are there and takes it away again, and puts nothing else back: a
    ``catch_warnings`` of another thread may have begun in the meantime or ended. While such a one has all
    warnings ignored, those of other libraries are lost here too; warnings of this one never are.
    """

    def __init__(self) -> None:
        self._lock = lock_for_forks()
        self._users = 0
        self._filter: Any = ("always", _Listening(), Warning, None, 0)
        self._lists: list[Any] = []

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                # Not showwarning, which catch_warnings sets back in the middle of a test.
                self._shown = warnings._showwarnmsg  # type: ignore[attr-defined]
                warnings._showwarnmsg = self._show  # type: ignore[attr-defined]
            current: Any = warnings.filters
            if current[:1] != [self._filter]:
                current.insert(0, self._filter)
                self._lists.append(current)
                _forget_shown()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for filters in (*self._lists, warnings.filters):
                    while self._filter in filters:
                        filters.remove(self._filter)
                self._lists.clear()
                warnings._showwarnmsg = self._shown  # type: ignore[attr-defined]
                _forget_shown()

    def _show(self, told: warnings.WarningMessage) -> None:
        listener = _listener.get()
        if listener is None:
            self._shown(told)
        else:
            listener.append(Told(told.message, told.category, told.filename, told.lineno))


def _forget_shown() -> None:
    """Have Python look at its filters again, also for warnings that it has shown once."""
    python: Any = warnings
    if hasattr(python, "_filters_mutated"):
        python._filters_mutated()
    else:  # from Python 3.14 on
        with python._lock:
            python._filters_mutated_lock_held()


_switchboard = _Switchboard()
