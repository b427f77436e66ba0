"""From what a user hands in to an array (n, d) or a generator, or a message that says what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from os import PathLike
from typing import Any

import numpy as np

from goodstein.errors import InputError, must, refuse_rows
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


def as_data(
    data: ArrayLike,
    dim: int | None = None,
    *,
    where: str = "the model",
    least: int = 2,
    use: str = "a test",
    largest: float = np.inf,
    other_columns: Callable[[int], str | None] | None = None,
) -> Array:
    """Observations as rows of a float64 array; nothing is altered, dropped or imputed.

    They are an array, a nested sequence, a data frame of pandas, polars or Arrow, or a dictionary of columns,
    with the `dim` columns that `where` expects; None takes what is there. An array of double precision that
    is mapped from a file (``np.load(path, mmap_mode="r")``) stays there; of everything else there is one
    copy, row by row. A test, or another `use`, needs two rows at the `least`. What to do with so many other
    columns, where that can be guessed, says `other_columns`.
    """
    if isinstance(data, str | bytes | PathLike):
        read = "numpy.load(path, mmap_mode='r'), polars.read_parquet(path) or pandas.read_csv(path)"
        raise _refused(f"is {data!r:.60}, a name and not the numbers.", f"Read the file first: {read}.")
    array = as_array(data)
    if array.dtype.kind not in "iuf":
        usual = "If they are numbers, convert them with .astype(float); otherwise drop them."
        remedy = NUMBERS.get(array.dtype.kind, usual)
        raise _refused(f"must hold real numbers, got dtype {array.dtype}.", remedy)
    # Users may change their arrays later, but not what was put together from the columns of a data frame.
    own = is_frame(data) or _is_mapped(array)
    x = np.array(array, dtype=np.float64, order="C", copy=None if own else True)
    if _is_mapped(x):
        x = x.view()
        x.flags.writeable = False  # nor may a score function write to the file
    if x.ndim == 1 and (dim is None or dim == 1):
        x = x[:, None]
    if x.ndim != 2:
        expected = "(n, d)" if dim is None else f"(n, {dim})"
        hint = f" One-dimensional data do not fit {where}, which has {dim} dimensions." if x.ndim == 1 else ""
        rule = "one row per observation, one column per coordinate"
        guess = None if other_columns is None or x.ndim != 1 else other_columns(1)
        raise _refused(f"has shape {array.shape}, expected {expected}: {rule}.{hint}", guess)
    if dim is not None and x.shape[1] != dim:
        guess = _lying(x, dim)
        if guess is None and other_columns is not None:
            guess = other_columns(x.shape[1])
        raise _refused(
            f"has {_count(x.shape[1], 'column')}, but {where} has {_count(dim, 'dimension')}.",
            guess or "Pass the columns that the model describes, or a model of these columns.",
        )
    if x.shape[1] == 0:
        raise _refused("has no columns.")
    if len(x) < least:
        raise _refused(f"has {_count(len(x), 'row')}; {use} needs at least 2.")
    if not np.isfinite(x).all():
        remedy = "Remove or complete them beforehand; goodstein never drops or imputes values."
        refuse_rows(np.isnan(x).any(axis=1), "hold NaN.", remedy)
        refuse_rows(np.isinf(x).any(axis=1), "hold infinite values.", "Remove or correct them.")
    if largest == np.inf:
        return x
    size = np.maximum(x.max(axis=0), -x.min(axis=0))
    if (size > largest).any():
        far = (np.abs(x) > largest).any(axis=1)
        refuse_rows(far, f"hold values beyond {largest:g} in size.", "Correct them, or choose other units.")
    if ((size > 0) & (size < 1 / largest)).any():
        reason = f"has values of magnitude {size[size > 0].min():.1g}, too small to be squared."
        raise _refused(reason, "Choose other units.")
    return x


def as_array(data: Any, name: str = "data") -> np.ndarray[Any, Any]:
    """Whatever a user hands in as an array of any kind of number; masked and missing values are refused."""
    if type(data) is np.ndarray and data.dtype.kind in "iuf":
        return data
    try:
        return _as_array(data)
    except InputError as error:
        raise error if name == "data" else error.told(name) from None


def _as_array(data: Any) -> np.ndarray[Any, Any]:
    refuse_masked(data)
    data = contents(data)
    if isinstance(data, Mapping) or is_records(data):
        return _side_by_side(data)
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


def is_records(data: Any) -> bool:
    """Whether it is a structured array, whose fields have names."""
    return isinstance(data, np.ndarray) and data.dtype.names is not None


def _names_of(data: Any) -> list[Any]:
    """Of the columns of a dictionary or of a structured array."""
    return list(data.dtype.names or ()) if isinstance(data, np.ndarray) else list(data)


def _side_by_side(data: Any) -> np.ndarray[Any, Any]:
    """The columns of a dictionary or of a structured array, as (n, d)."""
    columns = {name: _as_array(data[name]) for name in _names_of(data)}
    if not columns:
        raise _refused("has no columns.")
    for name, column in columns.items():
        if column.ndim != 1 or column.dtype.kind not in "iuf":
            found = f"shape {column.shape}" if column.ndim != 1 else f"dtype {column.dtype}"
            raise _refused(
                f"is a {type(data).__name__} whose column {name!r} has {found}; columns are arrays (n,) of "
                "numbers.",
                "Pass an array (n, d), or a dictionary of its columns.",
            )
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} {length}" for name, length in list(lengths.items())[:5])
        raise _refused(f"has columns of different lengths: {told}.", "Every row needs a value in each.")
    return np.column_stack(list(columns.values()))


def refuse_masked(values: Any, argument: str = "data") -> None:
    """Raise where some entries of a masked array are masked."""
    # NumPy loads its masked arrays when they are first asked for.
    other = isinstance(values, np.ndarray) and type(values) is not np.ndarray
    if other and np.ma.is_masked(values):
        mask = np.atleast_1d(np.ma.getmaskarray(values))
        masked = mask.reshape(len(mask), -1).any(axis=1)
        refuse_rows(masked, "hold masked values.", "Remove or complete them.", argument=argument)


def is_frame(data: Any) -> bool:
    """Whether it is a data frame, or a column of one, that narwhals may know."""
    known = type(data).__module__.partition(".")[0] in FRAMES
    return known and any(hasattr(type(data), name) for name in ("__array__", "columns", "collect"))


def column_names(data: Any) -> tuple[str, ...] | None:
    """The names of a data frame's columns, or of the one that a Series is; None where they have none.

    Dictionaries of columns and structured arrays have names too.

    >>> import pandas as pd
    >>> from goodstein.validation import column_names
    >>> column_names(pd.DataFrame({"income": [1.0], "age": [2.0]}))
    ('income', 'age')
    """
    if isinstance(data, Mapping) or is_records(data):
        names = _names_of(data)
    elif is_frame(data):
        names = list(read_frame(data).columns)
    else:
        return None
    if len(set(names)) < len(names) or not all(isinstance(name, str) and name for name in names):
        return None
    # Names come from files, and what cannot be printed has no place in a terminal.
    return tuple(name if name.isprintable() else repr(name) for name in names)


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
    return _by_rows(frame)


def _by_rows(frame: Any) -> np.ndarray[Any, Any]:
    """The columns of a data frame as those of an array by rows, one after the other: in one copy only."""
    alike, out = len(set(frame.schema.values())) == 1, None
    for place, name in enumerate(frame.columns):
        column = np.asarray(frame.get_column(name).to_numpy())
        if column.dtype.kind not in "iuf":
            return np.asarray(frame.to_numpy())
        if out is None:
            out = np.empty((len(column), len(frame.columns)), column.dtype if alike else np.float64)
        out[:, place] = column
    return np.asarray(frame.to_numpy()) if out is None else out


def _is_mapped(array: Any) -> bool:
    """Whether an array lies in a file."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def _refused(reason: str, remedy: str | None = None) -> InputError:
    return InputError(reason, argument="data", predicate=True, remedy=remedy)


def _lying(x: Array, dim: int) -> str | None:
    """What to do about an array whose rows and columns look exchanged; None where they do not."""
    if len(x) == dim < x.shape[1]:
        return "Rows are observations: pass data.T."
    if dim == 1 < len(x) < x.shape[1]:
        return "If each row is a chain of one parameter, pass Chains(list(data)); else data.ravel()."
    return None


def _count(k: int, noun: str) -> str:
    return f"{k} {noun}{'' if k == 1 else 's'}"


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
