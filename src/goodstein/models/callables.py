"""Turning whatever function a user brings into a batched NumPy one.

A score or log density may be written for NumPy, JAX or PyTorch, and for all points at once,
(n, d), or for a single point, (d,); in one dimension also for a flat array, (n,), or for a
number. :func:`recognise` finds out by calling it on a few rows, d + 1 of them, so that rows
and columns cannot be confused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from goodstein.errors import (
    InputError,
    NumericalScoreWarning,
    ResourceError,
    ScoreError,
    heard,
    warn,
    within_memory,
)
from goodstein.numerics.frameworks import Framework, Function, NumPy, Torch, framework_of, frameworks, loaded
from goodstein.types import Array

SINGLE = (
    "takes float32 tensors only, so scores are rounded to single precision (about 1e-6 of their size, more "
    "where terms cancel). Convert the module with .double() to avoid that."
)


class Kind(Enum):
    """What a function returns: a vector for each point, or a number."""

    SCORE = "score"
    LOGPDF = "log density"

    def shape(self, n: int, d: int) -> tuple[int, ...]:
        """Shape of the values at n points."""
        return (n, d) if self is Kind.SCORE else (n,)

    def fits(self, shape: tuple[int, ...], n: int, d: int) -> bool:
        """Whether values of this shape are one vector, or one number, for each of n points."""
        expected = [self.shape(n, d)]
        if self is Kind.LOGPDF or d == 1:
            expected += [(n,), (n, 1)]
        if n == 1:
            # Libraries like to drop an axis of length one, scipy.stats among them.
            expected += [shape[1:] for shape in expected]
        return shape in expected

    @property
    def other(self) -> Kind:
        """The kind that this one is most often mistaken for."""
        return Kind.LOGPDF if self is Kind.SCORE else Kind.SCORE


class Convention(Enum):
    """What a function takes at once."""

    BATCH = "all points, (n, d)"
    FLAT = "all points of the line, (n,)"
    NUMBER = "one point of the line, a number"
    POINT = "one point, (d,)"

    @staticmethod
    def candidates(d: int) -> tuple[Convention, ...]:
        """Conventions that make sense for d columns, in the order in which they are tried."""
        return tuple(Convention) if d == 1 else (Convention.BATCH, Convention.POINT)

    @property
    def by_row(self) -> bool:
        """Whether the function takes one point at a time."""
        return self in (Convention.POINT, Convention.NUMBER)

    @property
    def flat(self) -> bool:
        """Whether the only column is taken without its axis."""
        return self in (Convention.FLAT, Convention.NUMBER)

    def argument(self, n: int, d: int) -> str:
        """Describe the argument, given n points."""
        shapes = {"BATCH": f"shape ({n}, {d})", "FLAT": f"shape ({n},)", "POINT": f"shape ({d},)"}
        return shapes.get(self.name, "a number")


class Batched:
    """A user's function as a map of float64 arrays, (n, d) to (n, d) or to (n,).

    It knows the ``framework``, the array library that the function is written for, and the ``convention``,
    what it takes at once. ``settled`` says that the rows it was recognised from differed, so that it need not
    be recognised again for other data.
    """

    def __init__(
        self, function: Function, kind: Kind, framework: Framework, convention: Convention, settled: bool
    ) -> None:
        self.kind, self.framework, self.convention, self.settled = kind, framework, convention, settled
        function = framework.own(function)
        inner = framework.over_rows(function) if convention.by_row else function

        def native(x: Any) -> Any:
            return inner(x[:, 0] if convention.flat else x)

        self.native: Function = native
        self._compiled = framework.compiled(native)
        self._gradient: Function | None = None

    @property
    def slow(self) -> bool:
        """Whether many points take long, because each is a call of its own."""
        return self.convention.by_row and isinstance(self.framework, NumPy)

    def raw(self, x: Array) -> Any:
        """Return whatever the function returns."""
        with self.framework.context(), within_memory(f"The {self.kind.value} function, of {len(x)} points,"):
            return self._compiled(self.framework.array(x))

    def __call__(self, x: Array) -> Array:
        """Evaluate at each row."""
        n, d = x.shape
        with self.framework.context():
            values = self.framework.numpy(self.raw(x))
        if not self.kind.fits(values.shape, n, d):
            found = f"returned shape {values.shape} for {n} points in {d} dimensions"
            reason = f"The {self.kind.value} function {found}; expected {self.kind.shape(n, d)}."
            one = "row" if self.kind is Kind.SCORE else "number"
            raise ScoreError(reason, remedy=f"It must return one {one} for each point.")
        return values.reshape(self.kind.shape(n, d))

    def gradient(self, x: Array) -> Array:
        """Gradient of a log density by the framework's automatic differentiation, (n, d)."""
        with self.framework.context(), within_memory("The gradient of the log density"):
            if self._gradient is None:
                self._gradient = self.framework.gradient(self.native)
            try:
                return self.framework.numpy(self._gradient(self.framework.array(x)))
            except MemoryError:
                raise
            except Exception as error:
                name = self.framework.name
                failed = f"but differentiating it failed: {_first_line(error)}."
                remedy = f"Write it with {name} operations throughout, or pass Model(score=...)."
                raise ScoreError(f"The log density is a {name} function, {failed}", remedy=remedy) from error


EACH_ROW = "write it for all points at once, each row by itself, such as with x.mean(axis=1, keepdims=True)"


@dataclass(frozen=True)
class Attempt:
    """One way of calling a function that did not work."""

    description: str
    error: Exception | None = None
    framework: str = "numpy"
    confused: bool = False
    mixed: bool = False
    """Whether all points at once gave the right shape, but not row by row."""


def recognise(function: Function, kind: Kind, x: Array, name: str) -> Batched:
    """Find out how to call a score or log density, by calling it on a few rows of ``x``, (n, d) with n > 0.

    Messages call the function by its ``name``.

    >>> import numpy as np
    >>> from goodstein.models.callables import Kind, recognise
    >>> f = recognise(lambda x: -0.5 * x @ x, Kind.LOGPDF, np.ones((3, 3)), "logpdf")
    >>> f.framework.name, f.convention.value
    ('numpy', 'one point, (d,)')
    >>> f(np.ones((2, 3)))
    array([-1.5, -1.5])
    """
    n, d = x.shape
    k = d + 1
    probe = x[(np.arange(k) * n) // k] if n >= k else x[np.arange(k) % n]
    attempts: list[Attempt] = []
    for framework in _candidates(attempts):
        for convention in Convention.candidates(d):
            batched = Batched(function, kind, framework, convention, settled=bool((probe != probe[0]).any()))
            # The real call will repeat whatever is worth warning about.
            with heard():
                attempt = _attempt(batched, probe)
            if attempt is None and convention.by_row and any(a.mixed for a in attempts):
                attempt = _read_in_two_ways(function, batched, probe)
            if attempt is None:
                if isinstance(framework, Torch) and framework.single:
                    warn(f"{name} {SINGLE}", NumericalScoreWarning)
                return batched
            attempts.append(attempt)
            if attempt.framework != "numpy":
                break
    if isinstance(attempts[0].error, (InputError, ScoreError)):
        raise attempts[0].error  # one of our own distributions, which knows best what is wrong
    raise ScoreError(_explain(attempts, kind, d, name)) from attempts[0].error


def _candidates(attempts: list[Attempt]) -> Iterator[Framework]:
    """NumPy; then what the function returned when called with NumPy; otherwise what is loaded."""
    yield NumPy()
    foreign = attempts[-1].framework
    for name in loaded() if foreign == "numpy" else [foreign]:
        yield from frameworks(name)


def _attempt(batched: Batched, probe: Array) -> Attempt | None:
    """Try one way of calling; None where it works."""
    k, d = probe.shape
    kind, convention, framework = batched.kind, batched.convention, batched.framework
    tried = f"{framework.name}, {convention.argument(k, d)}: "
    try:
        values = batched.raw(probe)
        foreign = framework_of(values)
        if isinstance(framework, NumPy) and foreign != "numpy":
            return Attempt(f"{tried}returned a {foreign} array", framework=foreign)
        with framework.context():
            shape = framework.numpy(values).shape
        if not kind.fits(shape, k, d):
            seen = shape[1:] if convention.by_row else shape
            return Attempt(f"{tried}returned shape {seen}", confused=kind.other.fits(shape, k, d))
        if not _independent_rows(batched, probe):
            return Attempt(f"{tried}a row's result is random, or depends on the other rows", mixed=True)
    except ResourceError:
        raise
    except Exception as error:
        return Attempt(f"{tried}{_first_line(error)}", error=error)
    return None


def _read_in_two_ways(function: Function, alone: Batched, probe: Array) -> Attempt | None:
    """A function that mixes rows, where one point (d,) gives something else than it does as (1, d).

    ``lambda x: -x / np.linalg.norm(x)`` gives the same: it is meant for one point. With
    ``lambda x: x.mean(axis=0) - x`` nobody can tell whether it is meant for one point or is a mistake.
    """
    rows = Batched(function, alone.kind, alone.framework, Convention.BATCH, alone.settled)
    with heard():
        for row in probe:
            if not np.allclose(alone(row[None]), rows(row[None]), rtol=1e-3, equal_nan=True):
                tried = f"{alone.framework.name}, {alone.convention.argument(*probe.shape)}: "
                return Attempt(f"{tried}gives something else than as shape (1, {len(row)}); {EACH_ROW}")
        values = alone(probe)
    # On the line the mean over all points of one point is the point itself.
    differ = bool((probe != probe[0]).any())
    if differ and (not np.isfinite(values).any() or np.allclose(values, values[0], rtol=1e-12)):
        tried = f"{alone.framework.name}, {alone.convention.argument(*probe.shape)}: "
        return Attempt(f"{tried}gives {values.flat[0]:.3g} at every point; {EACH_ROW}")
    return None


def _independent_rows(batched: Batched, probe: Array) -> bool:
    """Whether the first and the last row give the same on their own as among the others.

    A function of one point that merely broadcasts does not pass, for example
    ``lambda x: -x / np.linalg.norm(x)``; nor does anything random.
    """
    together = batched(probe)
    scale = np.abs(together[np.isfinite(together)]).max(initial=0.0)
    # Single precision, and the order of summation, may show.
    single = bool(np.array_equal(together.astype(np.float32), together, equal_nan=True))
    tolerance = 1e-3 if single else 1e-8
    for row in (0, len(probe) - 1):
        alone = batched(probe[row : row + 1])[0]
        if not np.allclose(alone, together[row], rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return False
    return True


def _explain(attempts: list[Attempt], kind: Kind, d: int, name: str) -> str:
    """Say what is expected and what was tried."""
    batch, point = (f"(n, {d})", f"({d},)") if kind is Kind.SCORE else ("(n,)", "a number")
    message = (
        f"{name} cannot be used as a {kind.value} in {d} dimension{'s' if d > 1 else ''}: it must map "
        f"points (n, {d}) to {batch}, or one point ({d},) to {point}. Tried:\n"
        + "\n".join(f"  - {attempt.description}" for attempt in attempts)
    )
    if any(attempt.confused for attempt in attempts):
        argument = "logpdf" if kind is Kind.SCORE else "score"
        message += f"\nThis looks like a {kind.other.value}: pass Model({argument}=...)."
    elif "numpyro" in sys.modules and all(": AssertionError" in attempt.description for attempt in attempts):
        message += (
            f"\nIf {name.split()[-1]} is a model of numpyro, pass from_numpyro({name.split()[-1]}, ...)."
        )
    return message


def _first_line(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {text[:157] + '...' if len(text) > 160 else text}"
