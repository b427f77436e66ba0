"""Draws of named parameters, as samplers return them: in containers of arviz, CmdStanPy and numpyro."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from goodstein.data.chains import Chains
from goodstein.errors import InputError
from goodstein.foreign import CHAINS, roots, variables_of
from goodstein.types import Array

COLUMN = re.compile(r"(?P<name>[^\[\]]+?)(?:\[(?P<index>\d+(?:,\d+)*)\])?")
"""A column of Stan's output, such as theta[1,2]."""


class NamedDraws(Chains):
    """Chains of named variables, side by side in the columns.

    `variables` are arrays (chains, draws, …), by name, with names of the columns that each makes.
    """

    def __init__(self, variables: Mapping[str, Array], names: Mapping[str, Sequence[str]]) -> None:
        self.variables = {name: np.asarray(values) for name, values in variables.items()}
        flat = [values.reshape(*values.shape[:2], -1) for values in self.variables.values()]
        super().__init__(np.concatenate(flat, axis=2))
        self._names = tuple(column for name in self.variables for column in names[name])

    @classmethod
    def of_shapes(cls, variables: Mapping[str, Array]) -> NamedDraws:
        """With columns called by their places, such as theta[3]."""
        return cls(variables, {name: labels(name, value.shape[2:]) for name, value in variables.items()})


def labels(name: str, shape: Sequence[int], first: int = 0) -> list[str]:
    """What the entries of a variable are called, counted from `first` on."""
    places = product(*(range(first, first + size) for size in shape))
    return [name if not place else f"{name}[{','.join(map(str, place))}]" for place in places]


def named_draws(data: Any) -> NamedDraws | None:
    """Chains of named variables in a container of another package; None where it is something else."""
    origins = roots(data)
    if origins & {"arviz", "arviz_base", "xarray"}:
        found = variables_of(data)
        return None if found is None else _of_xarray(found)
    if "cmdstanpy" in origins and callable(getattr(data, "draws", None)):
        return _of_stan(np.asarray(data.draws(concat_chains=False)), list(data.column_names))
    if "numpyro" in origins and callable(getattr(data, "get_samples", None)):
        return of_mapping(data.get_samples(group_by_chain=True))
    return None


def of_mapping(variables: Mapping[str, Any]) -> NamedDraws:
    """Of arrays (chains, draws, …) by name."""
    arrays = {str(name): np.asarray(values) for name, values in variables.items()}
    heads = {array.shape[:2] for array in arrays.values()}
    if len(heads) != 1 or len(next(iter(heads))) != 2:
        shown = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:5])
        raise InputError(
            f"The variables differ in their numbers of chains and draws ({shown}).",
            argument="data",
            remedy="Pass arrays (chains, draws, …).",
        )
    return NamedDraws.of_shapes(arrays)


def _of_xarray(found: Mapping[str, Any]) -> NamedDraws:
    variables, names = {}, {}
    for name, variable in found.items():
        rest = [dim for dim in variable.dims if dim not in CHAINS]
        values = np.asarray(variable.transpose(*CHAINS, *rest).values)
        known = getattr(variable, "coords", {})
        places = [
            [str(place) for place in np.asarray(known[dim].values)]
            if dim in known
            else list(map(str, range(size)))
            for dim, size in zip(rest, values.shape[2:], strict=True)
        ]
        variables[name] = values
        names[name] = [f"{name}[{', '.join(place)}]" if place else name for place in product(*places)]
    return NamedDraws(variables, names)


def _of_stan(draws: Array, columns: Sequence[str]) -> NamedDraws:
    """Columns of Stan's output, (draws, chains, columns), but for those of the sampler, such as lp__."""
    places: dict[str, list[tuple[tuple[Any, ...], int]]] = {}
    for k, column in enumerate(columns):
        read = COLUMN.fullmatch(column)
        if column.endswith("__") or read is None:
            continue
        index: tuple[Any, ...] = tuple(int(place) - 1 for place in (read["index"] or "").split(",") if place)
        places.setdefault(read["name"], []).append((index, k))
    variables = {}
    for name, found in places.items():
        shape = tuple(max(place) + 1 for place in zip(*(index for index, _ in found), strict=True))
        values = np.empty((draws.shape[1], draws.shape[0], *shape))
        for place, k in found:
            values[..., *place] = draws[:, :, k].T
        variables[name] = values
    return NamedDraws(variables, {name: labels(name, v.shape[2:], 1) for name, v in variables.items()})
