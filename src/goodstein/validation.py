"""From what a user hands in to a float64 array (n, d), or a message that says what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from numbers import Real
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from goodstein.errors import Explained, InputError, refuse_rows
from goodstein.foreign import contents
from goodstein.types import RNG, Array, ArrayLike

FRAMES = ("pandas", "polars", "pyarrow", "modin", "narwhals", "duckdb")

NUMBERS = {
    "M": "Dates become numbers as times since one of them: (x - x.min()) / np.timedelta64(1, 'D').",
    "m": "Divide them by a unit of time: x / np.timedelta64(1, 'D').",
    "b": "If zeros and ones are meant, say so: x.astype(int).",
    "c": "A model of complex numbers is one of their real and imaginary parts, in two columns.",
}
"""What to do with values that are no real numbers, by the kind of their type."""

COLUMNS = {
    "Date": "Dates become numbers as times since one of them, for example in days.",
    "Duration": "Divide durations by a unit of time.",
    "Boolean": "If zeros and ones are meant, convert them to integers.",
    "Categorical": "Categories have no distances; as codes they are states of a Lattice.",
}
"""The same for columns of a data frame, by the beginning of the name of their type."""


MOST = 2**31 - 1
"""The largest count: more rows or resamples than that fill any memory and outlast any patience."""

MOST_DRAWS = 10**7
"""The largest number of draws that are held for each observation."""

LARGEST = 1e75
"""The size up to which, and down to whose inverse, fourth powers of a parameter are floats."""

MOST_COORDINATES = 10**6
"""The largest number of coordinates or levels, of which arrays are made at once."""


def as_data(
    data: ArrayLike,
    dim: int | None = None,
    *,
    where: str = "the model",
    least: int = 2,
    use: str = "a test",
    largest: float = LARGEST**2,
    other_columns: Callable[[int], str | None] | None = None,
) -> Array:
    """Observations as rows of a float64 array; nothing is altered, dropped or imputed.

    They are an array, a nested sequence, or a data frame of pandas, polars or Arrow, with the `dim` columns
    that `where` expects; None takes what is there. A test, or another `use`, needs two rows at the `least`.
    What to do with so many other columns, where that can be guessed, `other_columns` says.
    """
    array = as_array(data)
    if array.dtype.kind not in "iuf":
        usual = "If they are numbers, convert them with .astype(float); otherwise drop them."
        remedy = NUMBERS.get(array.dtype.kind, usual)
        raise _refused(f"must hold real numbers, got dtype {array.dtype}.", remedy)
    x = np.array(array, dtype=np.float64, order="C")
    if x.ndim == 1 and (dim is None or dim == 1):
        x = x[:, None]
    if x.ndim != 2:
        expected = "(n, d)" if dim is None else f"(n, {dim})"
        hint = f" One-dimensional data do not fit {where}, which has {dim} dimensions." if x.ndim == 1 else ""
        rule = "one row per observation, one column per coordinate"
        guess = None if other_columns is None or x.ndim != 1 else other_columns(1)
        raise _refused(f"has shape {array.shape}, expected {expected}: {rule}.{hint}", guess)
    if dim is not None and x.shape[1] != dim:
        guess = None if other_columns is None else other_columns(x.shape[1])
        raise _refused(
            f"has {_count(x.shape[1], 'column')}, but {where} has {_count(dim, 'dimension')}.",
            guess or "Pass the columns that the model describes, or a model of these columns.",
        )
    if x.shape[1] == 0:
        raise _refused("has no columns.")
    if len(x) < least:
        raise _refused(f"has {_count(len(x), 'row')}; {use} needs at least 2.")
    remedy = "Remove or complete them beforehand; goodstein never drops or imputes values."
    refuse_rows(np.isnan(x).any(axis=1), "hold NaN.", remedy)
    refuse_rows(np.isinf(x).any(axis=1), "hold infinite values.", "Remove or correct them.")
    far = (np.abs(x) > largest).any(axis=1)
    refuse_rows(far, f"hold values beyond {largest:g} in size.", "Correct them, or choose other units.")
    return x


def as_array(data: Any, name: str = "data") -> np.ndarray[Any, Any]:
    """Whatever a user hands in as an array of any kind of number; masked and missing values are refused."""
    try:
        return _as_array(data)
    except InputError as error:
        raise error if name == "data" else error.told(name) from None


def _as_array(data: Any) -> np.ndarray[Any, Any]:
    refuse_masked(data)
    data = contents(data)
    if isinstance(data, Mapping):
        remedy = (
            "Pass its arrays side by side, as the model takes them: np.column_stack(list(data.values()))."
        )
        raise _refused(f"is a {type(data).__name__}, which has no rows.", remedy)
    if is_frame(data):
        return _from_frame(data)
    if callable(getattr(data, "take", None)) and not hasattr(data, "__array__"):
        raise _refused(f"is a {type(data).__name__}, which is no array of numbers.")
    try:
        return np.asarray(data)
    except ValueError as error:
        lengths = {len(row) for row in data if isinstance(row, Sized)} if isinstance(data, Iterable) else ()
        mixed = "some of its entries are numbers and others are sequences"
        reason = "its rows differ in length" if len(lengths) > 1 else mixed if lengths else str(error)
        raise _refused(
            f"is not a rectangular array of numbers: {reason}.", "Every row needs one number for each column."
        ) from None


def refuse_masked(values: Any, argument: str = "data") -> None:
    """Raise where some entries of a masked array are masked."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        mask = np.atleast_1d(np.ma.getmaskarray(values))
        masked = mask.reshape(len(mask), -1).any(axis=1)
        refuse_rows(masked, "hold masked values.", "Remove or complete them.", argument=argument)


def is_frame(data: Any) -> bool:
    """Whether it is a data frame, or a column of one, that narwhals may know."""
    known = type(data).__module__.partition(".")[0] in FRAMES
    return known and any(hasattr(type(data), name) for name in ("__array__", "columns", "collect"))


def read_frame(data: Any) -> Any:
    """A data frame of narwhals from one of pandas, polars or Arrow, or from a column of such a one."""
    import narwhals as nw

    if type(data).__module__.startswith("pandas") and data.ndim == 2 and not data.columns.is_unique:
        data = data.set_axis(range(data.shape[1]), axis=1)  # pandas lets two columns share a name
    try:
        frame = nw.from_native(data, allow_series=True, eager_only=True)
    except TypeError:
        kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
        lazy = hasattr(data, "collect")
        remedy = "Call .collect() on it first." if lazy else "Pass an array or a data frame."
        raise InputError(f"cannot read an object of type {kind}.", argument="data", remedy=remedy) from None
    return frame.to_frame() if isinstance(frame, nw.Series) else frame


def _from_frame(data: Any) -> np.ndarray[Any, Any]:
    frame = read_frame(data)
    other = {str(name): str(dtype) for name, dtype in frame.schema.items() if not dtype.is_numeric()}
    if other:
        hints = {hint for kind in other.values() for word, hint in COLUMNS.items() if kind.startswith(word)}
        named = [f"{name} ({kind.partition('(')[0]})" for name, kind in other.items()]
        raise _refused(
            f"has columns that are not numbers: {', '.join(named[:5])}.",
            " ".join(["Select the numeric columns that the model describes.", *sorted(hints)]),
        )
    # get_column, not frame[name]: names may be numbers.
    null = {name: frame.get_column(name).is_null().to_numpy() for name in frame.columns}
    missing = [name for name, rows in null.items() if rows.any()]
    if missing:
        bad = np.any([null[name] for name in missing], axis=0)
        remedy = "Remove or complete them before the test."
        refuse_rows(bad, f"hold missing values (column {missing[0]!r}).", remedy)
    return np.asarray(frame.to_numpy())


def _refused(reason: str, remedy: str | None = None) -> InputError:
    return InputError(reason, argument="data", predicate=True, remedy=remedy)


def _count(k: int, noun: str) -> str:
    return f"{k} {noun}{'' if k == 1 else 's'}"


# --- the table of constraints ------------------------------------------------------------------------
#
# One line for each parameter of a constructor or function, and one form of message:
# "`gamma` of Strauss must be a number in [0, 1], got 'a'."


def must(name: str, wanted: str, value: object, of: str = "", error: Any = InputError) -> Explained:
    """The error that says what an argument must be, and what was given instead."""
    reason = f"{f'of {of} ' if of else ''}must be {wanted}, got {shown(value)}."
    refused: Explained = error(reason, argument=name, predicate=True)
    return refused


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
    text = " ".join(repr(value).split())
    if " object at 0x" in text:
        return f"a {type(value).__name__}"
    if len(text) > 60:
        return (
            text[:60] + "..." if isinstance(value, int | list | tuple | str) else f"a {type(value).__name__}"
        )
    return text


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
            if isinstance(value, np.ndarray) and not np.ma.isMA(value) and not value.ndim
            else value
        )
        if isinstance(plain, bool | np.bool_) or not isinstance(plain, Real):
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


def as_generator(rng: RNG) -> np.random.Generator:
    """The generator that a seed or generator stands for (SPEC 7)."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or isinstance(rng, np.random.SeedSequence | np.random.BitGenerator):
        return np.random.default_rng(rng)
    if isinstance(rng, np.random.RandomState):  # the same stream of bits
        return np.random.Generator(rng._bit_generator)
    flat = isinstance(rng, np.ndarray) and rng.ndim == 1 and rng.dtype.kind in "iu"
    given: Any = rng
    entries = list(given) if flat or isinstance(given, list | tuple) else [given]
    whole = [isinstance(one, int | np.integer) and not isinstance(one, bool) and one >= 0 for one in entries]
    if not all(whole) or not whole:
        raise must("rng", "None, a non-negative integer or a numpy random Generator", rng)
    return np.random.default_rng(rng)


def draw_seed(rng: np.random.Generator) -> int:
    """One 63-bit seed, from which everything random in some part follows.

    Seeds, not spawned generators: not every bit generator can spawn.
    """
    return int(rng.integers(0, 1 << 63))


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
