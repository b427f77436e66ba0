"""Objects of other packages: what they are, and the arrays inside them, without importing anything."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np

from goodstein.errors import InputError, refuse_rows, safe_repr, warn

LONGEST = 120

CHAINS = ("chain", "draw")
"""Names of the dimensions along which arviz and its kin keep chains and their draws."""


def roots(obj: Any) -> set[str]:
    """Top-level packages that an object's class and its bases come from.

    >>> import numpy as np
    >>> from goodstein.foreign import roots
    >>> sorted(roots(np.random.default_rng()))
    ['builtins', 'numpy']
    """
    return {cls.__module__.partition(".")[0] for cls in type(obj).__mro__}


def written_outside(obj: Any) -> bool:
    """Whether an object's class is none of the library's, so that no test of ours knows it."""
    return type(obj).__module__.partition(".")[0] != "goodstein"


def bases(obj: Any) -> set[str]:
    """Names of an object's class and of its bases."""
    return {cls.__name__ for cls in type(obj).__mro__}


def describe(obj: Any) -> str:
    """Return the ``repr`` where that says something on one line, otherwise the name of the class.

    >>> from goodstein.foreign import describe
    >>> describe([1, 2])
    '[1, 2]'
    >>> describe(object())
    'object'
    """
    text = safe_repr(obj)
    if " object at 0x" in text or "\n" in text or len(text) > LONGEST:
        return type(obj).__name__
    return text


def unusable(reason: str, remedy: str | None = None) -> InputError:
    """What to say of a `model` that is none, or not one that can be used."""
    return InputError(reason, argument="model", remedy=remedy)


def require_instance(model: Any) -> None:
    """Raise for a class where one of its instances is meant."""
    if isinstance(model, type):
        how = f"Call it with parameters: {model.__name__}(...)"
        if hasattr(model, "fit"):
            # Of ours it is a method of the class, and elsewhere one of an instance.
            how += f", or fit it: {model.__name__}{'' if inspect.ismethod(model.fit) else '()'}.fit(...)"
        raise InputError(f"`model` is the class {model.__name__}, not one of its instances. {how}.")


class Own:
    """A user's plain object in the place of one of ours: what it has takes the place of the defaults."""

    taken_over: ClassVar[tuple[str, ...]]
    """Attributes that are taken from the object as they are, where it has them."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self.__dict__.update({name: getattr(own, name) for name in self.taken_over if hasattr(own, name)})

    @property
    def given(self) -> Any:
        """The user's object."""
        return self._own

    def __repr__(self) -> str:
        return safe_repr(self._own)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and bool(self._own == other._own)

    def __hash__(self) -> int:
        return hash(self._own)


# --- what is inside ----------------------------------------------------------------------------------


def contents(data: Any) -> Any:
    """The array inside a container of another package; whatever is none, as it is.

    Points of shapely and geopandas give their coordinates, (n, 2); draws of arviz and xarray an array
    (chain, draw, parameter), all variables side by side in their order; arrays of JAX and PyTorch their
    numbers.
    """
    origins = roots(data)
    if "torch" in origins and hasattr(data, "detach"):
        tensor = data.detach().cpu()
        return (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    if origins & {"jax", "jaxlib"} and hasattr(data, "__array__"):
        return np.asarray(data)
    if origins & {"arviz", "arviz_base", "xarray"}:
        return _draws(data)
    if "geopandas" in origins:
        return _of_geopandas(data)
    places = _geometries(data)
    return data if places is None else _coordinates(places)


# --- points ------------------------------------------------------------------------------------------


def _of_geopandas(data: Any) -> Any:
    """Coordinates of the geometry column; the other columns are properties of the points."""
    if not hasattr(data, "geometry"):
        raise _unread("this GeoDataFrame has no geometry column.", "Say which it is: data.set_geometry(...).")
    geometry = data.geometry
    system = getattr(geometry, "crs", None)
    if system is not None and system.is_geographic:
        warn(
            "The coordinates are degrees of longitude and latitude, in which lengths depend on the place and "
            "the direction. Project them first, data.to_crs(...), or test on the sphere: "
            "from_lonlat(data.geometry.x, data.geometry.y).",
            UserWarning,
        )
    return _coordinates(list(geometry))


def _geometries(data: Any) -> list[Any] | None:
    """Geometries of shapely that the data are, one or many; None where they are something else."""
    if "shapely" in roots(data):
        return list(data.geoms) if hasattr(data, "geoms") else [data]
    objects = getattr(data, "dtype", None) == np.dtype(object) and data.ndim == 1
    if not (objects or isinstance(data, list | tuple)):
        return None
    first = next(iter(data), None)
    # Several MultiPoints are several patterns.
    return list(data) if "shapely" in roots(first) and not hasattr(first, "geoms") else None


def _coordinates(geometries: list[Any]) -> Any:
    """Coordinates of points, (n, 2), or (n, 3) if all have a height."""
    kinds = [getattr(geometry, "geom_type", type(geometry).__name__) for geometry in geometries]
    other = np.array([kind != "Point" for kind in kinds])
    names = ", ".join(sorted({kind for kind in kinds if kind != "Point"}))
    remedy = "Pass points, for example their .centroid, if that is what the model describes."
    refuse_rows(other, f"are no points ({names}).", remedy)
    empty = np.array([point.is_empty for point in geometries])
    refuse_rows(empty, "are empty points.", "Remove them.")
    high = all(point.has_z for point in geometries)
    return np.array([[p.x, p.y, p.z] if high else [p.x, p.y] for p in geometries], np.float64)


# --- draws -------------------------------------------------------------------------------------------


def variables_of(data: Any) -> dict[str, Any] | None:
    """The variables of draws of arviz or xarray, all with chains and draws; None where they are not such."""
    if bases(data) & {"DataTree", "InferenceData"}:
        data = _posterior(data)
    if not getattr(data, "data_vars", None):
        return None
    variables = {str(name): data[name] for name in data.data_vars}
    return variables if all(set(CHAINS) <= set(one.dims) for one in variables.values()) else None


def _draws(data: Any) -> Any:
    """Draws of arviz or xarray, (chain, draw, parameter); or rows, where there is one other dimension."""
    if bases(data) & {"DataTree", "InferenceData"}:
        return _of_dataset(_posterior(data))
    return _of_dataset(data) if hasattr(data, "data_vars") else _of_variable(data)


def _posterior(data: Any) -> Any:
    """The group of the draws in an InferenceData of arviz or a DataTree, which may be that group itself."""
    if getattr(data, "data_vars", None):
        return data.to_dataset()
    groups = data.groups() if callable(data.groups) else data.groups
    names = [str(group).strip("/") for group in groups if str(group).strip("/")]
    if "posterior" not in names:
        reason = (
            f"no group 'posterior' in this {type(data).__name__}, which holds {', '.join(names) or 'none'}."
        )
        raise _unread(reason, 'Pass the group that holds the draws, for example data["prior"].')
    found = data["posterior"]
    return found.to_dataset() if "DataTree" in bases(found) else found


def _of_dataset(data: Any) -> Any:
    variables = {str(name): data[name] for name in data.data_vars}
    if not variables:
        raise _unread("this Dataset holds no variables.", "Pass the group that holds the draws.")
    shapes = {name: _row_dimensions(variable) for name, variable in variables.items()}
    rows = next(iter(shapes.values()))
    other = [name for name, dims in shapes.items() if dims != rows]
    if rows is None or other:
        name = next(name for name, dims in shapes.items() if dims is None or dims != rows)
        dims = ", ".join(map(str, variables[name].dims))
        raise _unread(
            f"the variable {name!r} of this Dataset has the dimensions ({dims}), so it is not clear what its "
            "rows are.",
            'Pass the variables that the model describes, data[["a", "b"]], with dimensions chain and draw.',
        )
    return np.concatenate([_of_variable(variable) for variable in variables.values()], axis=-1)


def _of_variable(variable: Any) -> Any:
    """One variable, its rows first and all that is in one of them in a last axis."""
    rows = _row_dimensions(variable)
    if rows is None:
        dims = ", ".join(map(str, variable.dims))
        raise _unread(
            f"a DataArray with the dimensions ({dims}) does not say what its rows are.",
            'Pass a table, for example data.stack(row=["x", "y"]).transpose("row", ...).values.',
        )
    rest = [dim for dim in variable.dims if dim not in rows]
    values = np.asarray(variable.transpose(*rows, *rest).values)
    return values.reshape(*values.shape[: len(rows)], -1)


def _row_dimensions(variable: Any) -> tuple[str, ...] | None:
    """Chains and draws, or the first of at most two dimensions; None where that is not clear."""
    dims = tuple(variable.dims)
    if set(CHAINS) <= set(dims):
        return CHAINS
    return dims[:1] if len(dims) in (1, 2) else None


def _unread(reason: str, remedy: str) -> InputError:
    return InputError(reason, argument="data", remedy=remedy)
