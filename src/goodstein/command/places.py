"""Domains by name, ``box:0,1;0,1``, and regions from files."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from goodstein.command.escaping import quoted, short
from goodstein.command.read_json import load
from goodstein.command.reading import Layout, read
from goodstein.command.sources import find
from goodstein.command.strings import Spec, nearest, parse
from goodstein.command.table import Wanted, refuse_text
from goodstein.domains.ball import Ball
from goodstein.domains.base import Domain
from goodstein.domains.box import Box, Orthant
from goodstein.domains.circle import Circle, Torus
from goodstein.domains.euclidean import Euclidean
from goodstein.domains.lattice import Lattice
from goodstein.domains.naturals import Naturals
from goodstein.domains.polygon import Polygon
from goodstein.domains.polytope import Polytope
from goodstein.domains.simplex import Simplex
from goodstein.domains.sphere import Sphere
from goodstein.errors import DomainError, InputError

PLACES: dict[str, type[Domain]] = {
    "ball": Ball,
    "box": Box,
    "circle": Circle,
    "euclidean": Euclidean,
    "lattice": Lattice,
    "naturals": Naturals,
    "orthant": Orthant,
    "polytope": Polytope,
    "simplex": Simplex,
    "sphere": Sphere,
    "torus": Torus,
}
SIZES = ("d", "parts")
"""Parameters that the number of columns gives where they are left out."""

SHAPEFILES = (".shp", ".gpkg", ".fgb", ".gml", ".kml")


def place_of(text: str, dim: int | None) -> Domain:
    """The domain that a string names, for data of so many columns."""
    spec = parse(text)
    name = spec.name.lower()
    if name not in PLACES:
        raise InputError(f"--domain: there is no domain {quoted(spec.name)}.", remedy=nearest(name, PLACES))
    if name == "box" and spec.first is not None:
        return _box(spec, dim)
    offered = {size: dim for size in SIZES if dim is not None}
    found: Domain = make(PLACES[name], spec, offered, "--domain")
    return found


def make(kind: Any, spec: Spec, offered: dict[str, Any], argument: str, function: Any = None) -> Any:
    """Call a class, or a function of it, with the parameters of a string and what is offered besides."""
    function = kind if function is None else function
    known = inspect.signature(function).parameters
    accepted = [name for name in known if name not in ("domain", "rng", "x", "data", "patterns", "graph")]
    given = dict(spec.parameters)
    if spec.first is not None:
        if not accepted or accepted[0] in given:
            raise InputError(f"{quoted(spec.text)}: {quoted(spec.first)} belongs to no parameter.")
        given[accepted[0]] = spec.first
    for name in given:
        if name not in accepted:
            remedy = nearest(name, accepted) if accepted else "It has none."
            raise InputError(
                f"{quoted(spec.text)}: {spec.name} has no parameter {quoted(name)}.", remedy=remedy
            )
    given = {**{name: value for name, value in offered.items() if name in known}, **given}
    needed = [n for n, p in known.items() if p.default is p.empty and n not in given and n in accepted]
    if needed:
        example = ",".join(f"{name}=…" for name in needed)
        reason = f"{argument}: {spec.name} needs {' and '.join(needed)}."
        raise InputError(reason, remedy=f"Write {spec.name}:{example}.")
    try:
        return function(**given)
    except InputError as error:
        raise error.told(error.argument, before=f"{short(spec.text)}: ") from None


def _box(spec: Spec, dim: int | None) -> Box:
    """The intervals of a box, one for each coordinate or one for all."""
    try:
        ends = np.atleast_2d(np.array(spec.first, dtype=np.float64))
    except (TypeError, ValueError):
        ends = np.empty((0, 0))
    if ends.ndim != 2 or ends.shape[1:] != (2,) or spec.parameters:
        raise InputError(
            f"--domain: {quoted(spec.text)} is no box.",
            remedy="Write an interval for each column, 'box:0,1;0,5', or one for all, box:0,1.",
        )
    if len(ends) == 1 and dim is not None:
        ends = np.repeat(ends, dim, axis=0)
    try:
        return Box(ends[:, 0], ends[:, 1])
    except DomainError as error:
        raise error.told("--domain", before=f"{short(spec.text)}: ") from None


def region_of(text: str) -> Domain:
    """The polygon in a file: GeoJSON, the vertices in a table, or what geopandas reads."""
    try:
        if text.lower().endswith(SHAPEFILES):
            return _from_geopandas(text)
        source = find(text)
        if source.kind != "json":
            table = read(text, Wanted(None), Layout())
            refuse_text(table, table.columns)
            return Polygon(np.column_stack([column.values for column in table.columns.values()]))
        found = load(source)
        if not isinstance(found, dict) or "type" not in found:
            raise InputError(f"{source.name} is no GeoJSON.", remedy="It needs a polygon with coordinates.")
        return Polygon(found)
    except DomainError as error:
        remedy = error.remedy
        if error.argument == "shape" and "longitudes" in error.reason:
            remedy = "If they are planar already, save the vertices as a CSV file."
        raise error.told("--region", remedy=remedy) from None


def _from_geopandas(text: str) -> Domain:
    find_file(text)
    try:
        import geopandas
    except ImportError:
        raise InputError(
            f"--region: {quoted(text)} needs geopandas, which is not installed.",
            remedy="pip install geopandas, or save the region as GeoJSON.",
        ) from None
    try:
        frame = geopandas.read_file(text)
    except Exception as error:  # of the drivers below it, of many kinds
        raise InputError(f"--region: {quoted(text)} cannot be read: {short(str(error), 120)}.") from None
    return Polygon(frame)


def find_file(text: str) -> None:
    """Raise where there is no such file."""
    try:
        open(text, "rb").close()
    except OSError as error:
        reason = f"{quoted(text)} cannot be read: {error.strerror}."
        raise InputError(reason, remedy="Check its name.") from None
