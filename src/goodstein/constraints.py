"""The table of constraints: one line for each parameter of a constructor or function, one form of message.

"`gamma` of Strauss must be a number in [0, 1], got 'a'." Functions of the user's are asked here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from goodstein.errors import Explained, InputError, must, shown
from goodstein.foreign import contents
from goodstein.types import Array
from goodstein.validation import NUMBERS, as_array, refuse_masked

MOST = 2**31 - 1
"""The largest count: more rows or resamples than that fill any memory and outlast any patience."""

MOST_DRAWS = 10**7
"""The largest number of draws that are held for each observation."""

LARGEST = 1e75
"""The size up to which, and down to whose inverse, fourth powers of a parameter are floats."""

MOST_COORDINATES = 10**6
"""The largest number of coordinates or levels, of which arrays are made at once."""


def number(
    value: object,
    name: str,
    *,
    above: float = -np.inf,
    least: float = -np.inf,
    most: float = np.inf,
    below: float = np.inf,
    of: str = "",
    wanted: str = "",
    error: Any = InputError,
) -> float:
    """A finite real number, above and below these or at most and least those."""
    try:
        plain = (
            value.item()
            if isinstance(value, np.ndarray) and not value.ndim and not np.ma.isMA(value)
            else value
        )
        if isinstance(plain, bool) or not isinstance(plain, int | float | np.integer | np.floating):
            raise TypeError
        found = float(plain)
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    wanted = wanted or _range("a", "number", above, least, most, below)
    if not (np.isfinite(found) and above < found < below and least <= found <= most):
        raise must(name, wanted, value, of, error)
    if abs(found) > LARGEST or (above == 0 and found < 1 / LARGEST):
        raise must(name, f"{wanted}, {_sizes(above == 0)}", value, of, error)
    return found + 0.0  # without the sign of a zero


def numbers(
    value: object,
    name: str,
    *,
    ndim: int | tuple[int, ...] | None = None,
    above: float = -np.inf,
    least: float = -np.inf,
    largest: float = LARGEST,
    infinite: bool = False,
    of: str = "",
    error: Any = InputError,
) -> Array:
    """Finite real numbers, at least one, as an array that nobody else holds.

    `ndim` says how many axes it may have. Masked entries, text, dates, objects, complex numbers and truth
    values are refused, whatever NumPy would make of them.
    """
    array = real_array(value, name, of, error)
    if array.ndim == 2 and array.shape[1] == 1 and len(getattr(value, "shape", (0, 0))) == 1:
        array = array[:, 0]  # a series, such as the coefficients of a fit
    axes = (ndim,) if isinstance(ndim, int) else ndim
    if axes is not None and array.ndim not in axes:
        kinds = " or ".join(("a number", "a vector", "a matrix", "an array (k, a, b)")[k] for k in axes)
        raise must(name, kinds, _Text(f"an array of shape {array.shape}"), of, error)
    if not array.size:
        raise must(name, "at least one number", _Text(f"an empty array of shape {array.shape}"), of, error)
    found = np.asarray(array + 0.0)  # an array of our own, without the signs of zeros
    good = ~np.isnan(found) if infinite else np.isfinite(found)
    good &= (found > above if above > -np.inf else True) & (found >= least)
    size = np.where(np.isinf(found), 1.0, np.abs(found))
    fair = good & (size <= largest) & ((above != 0) | (size >= 1 / largest))
    if not fair.all():
        first = np.argwhere(~(fair if good.all() else good))[0]
        words = _range(
            *(("a", "number") if not found.ndim else ("", "numbers")), above, least, np.inf, np.inf
        )
        wanted = (
            f"{words}, {_sizes(above == 0, largest)}"
            if good.all()
            else "numbers, not NaN"
            if infinite
            else words
        )
        raise must(name, wanted, _Text(f"{found[tuple(first)]:g}{_index(first)}"), of, error)
    return found


def _sizes(positive: bool, largest: float = LARGEST) -> str:
    ends = f"from {1 / largest:g} to {largest:g}" if positive else f"of at most {largest:g} in size"
    return f"{ends} (choose other units)"


def real_array(value: object, name: str, of: str = "", error: Any = InputError) -> Array:
    """Real numbers of any shape and size as float64, perhaps the array that was handed in."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        array = as_array(value, name)
    except InputError as caught:
        raise error(caught.reason, argument=name, predicate=caught.predicate, remedy=caught.remedy) from None
    if array.dtype.kind not in "iuf":
        refused = must(name, "real numbers", value, of, error)
        raise (
            refused
            if (remedy := NUMBERS.get(array.dtype.kind)) is None
            else refused.told(name, remedy=remedy)
        )
    return np.asarray(array, dtype=np.float64)


class _Text(str):
    """Words that describe a value, shown as they are."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _range(article: str, noun: str, above: float, least: float, most: float, below: float) -> str:
    """The words for a range of numbers."""
    article = f"{article} " if article else ""
    low, high = max(above, least), min(below, most)
    if not np.isfinite(low) and not np.isfinite(high):
        return f"{article}finite {noun}"
    if not np.isfinite(high):
        if above == 0:
            return f"{article}positive {noun}"
        return f"{article}{noun} {'above' if above >= least else 'of at least'} {low:g}"
    if not np.isfinite(low):
        return f"{article}{noun} {'below' if below <= most else 'of at most'} {high:g}"
    if above >= least and below <= most:
        return f"{article}{noun} between {low:g} and {high:g}"
    left, right = "(" if above >= least else "[", ")" if below <= most else "]"
    return f"{article}{noun} in {left}{low:g}, {high:g}{right}"


def _index(position: Any) -> str:
    return f" at index {', '.join(map(str, position))}" if len(position) else ""


def check_count(
    value: object, name: str, least: int = 1, most: int = MOST, *, of: str = "", error: Any = InputError
) -> int:
    """An integer argument of at least `least`, and not so large that it could not be done."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= int(value) <= most:  # type: ignore[call-overload]
        wanted = f"an integer of at least {least}"
        if whole and int(value) > most:  # type: ignore[call-overload]
            wanted = f"an integer from {least} to {most}"
        raise must(name, wanted, value, of, error)
    return int(value)  # type: ignore[call-overload, no-any-return]


def check_seed(value: object, name: str = "seed", of: str = "") -> int:
    """An integer from which random numbers follow."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise must(name, "a non-negative integer", value, of)
    return int(value)


def check_flag(value: object, name: str, of: str = "") -> bool:
    """True or False, and nothing that is only taken for one of them."""
    if not isinstance(value, bool | np.bool_):
        raise must(name, "True or False", value, of)
    return bool(value)


def check_option(value: object, name: str, options: Iterable[Any], of: str = "") -> Any:
    """One of several words, or None where that is one of them."""
    known = tuple(options)
    if not (value is None or isinstance(value, str)) or value not in known:
        words = [repr(one) for one in known]
        raise must(name, f"{', '.join(words[:-1])} or {words[-1]}", value, of)
    return value


def check_names(value: object, name: str, known: Iterable[str], of: str = "") -> tuple[str, ...]:
    """Some of several words, each once; one may stand without a list."""
    words, options = (value,) if isinstance(value, str) else value, tuple(known)
    if not isinstance(words, list | tuple) or not words or not {str} >= {type(word) for word in words}:
        raise must(name, f"some of {', '.join(options)}", value, of)
    if not set(words) <= set(options):
        raise must(name, f"some of {', '.join(options)}", value, of)
    if len(set(words)) < len(words):
        raise must(name, f"some of {', '.join(options)}, each once", value, of)
    return tuple(words)


def check_text(value: object, name: str, of: str = "") -> str:
    """A string that says something."""
    if not isinstance(value, str):
        raise must(name, "a string", value, of)
    return value


def check_share(value: object, name: str) -> float:
    """A number between 0 and 1, such as a level."""
    return number(value, name, above=0.0, below=1.0)


# --- functions of the user's -------------------------------------------------------------------------


def require_functions(
    functions: Mapping[str, object], owner: str, what: str = "a function", error: Any = InputError
) -> None:
    """Raise where one of the arguments of a class, by name, is no function."""
    for name, function in functions.items():
        if not is_function(function):
            raise must(name, what, function, owner, error)


def is_function(thing: object) -> bool:
    """Whether it is a function, and neither a class nor a kernel, which can be called too."""
    return callable(thing) and not isinstance(thing, type) and not hasattr(thing, "fitted")


def asked(function: Callable[..., Any], what: str, *arguments: Any, error: Any = InputError) -> Any:
    """What a user's function says; where it fails, an error that names it."""
    try:
        return function(*arguments)
    except (Explained, MemoryError):
        raise
    except Exception as failure:
        said = " ".join(str(failure).split())
        reason = f"{what} raised {type(failure).__name__}{f': {said[:160]}' if said else ''}."
        raise error(reason, remedy="Call it by itself with the same arguments to see where.") from failure


def answered(values: Any, what: str, shape: tuple[int, ...] | None = None, error: Any = InputError) -> Array:
    """What a user's function returned, as real numbers of a shape; finite or not is another matter."""
    try:
        refuse_masked(values)
        array = np.asarray(contents(values))
        if array.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        raise error(f"{what} must return real numbers, got {shown(values)}.") from None
    if shape is not None and array.shape != shape:
        raise error(f"{what} must return an array of shape {shape}, got {array.shape}.")
    return np.asarray(array, dtype=np.float64)
