"""Tables in JSON, as records, as columns or as rows, and the points of GeoJSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from goodstein.command.escaping import quoted, short
from goodstein.command.sources import MOST_JSON, Source
from goodstein.command.table import Column, Table, Wanted, as_numbers, as_word, choose
from goodstein.errors import InputError

SHAPES = 'Write records, [{"a": 1, "b": 2}, …], columns, {"a": [1, …], "b": [2, …]}, or rows, [[1, 2], …].'
GEOMETRY = ("FeatureCollection", "Feature", "GeometryCollection", "MultiPoint")


def load(source: Source) -> Any:
    """What a file of JSON says; what is too large or too deep for a table is refused."""
    source.require_size(MOST_JSON, "Convert it to Parquet or CSV.")
    with source.opened() as file:
        content = file.read(MOST_JSON + 1)
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_unique)
    except RecursionError:
        raise InputError(f"{source.name} is nested too deeply for a table.", remedy=SHAPES) from None
    except UnicodeDecodeError:
        raise InputError(f"{source.name} is no text in UTF-8.", remedy="Save it as UTF-8.") from None
    except _TwiceError as error:
        raise InputError(f"{source.name}: an object has the name {quoted(error)} twice.") from None
    except ValueError as error:
        raise InputError(f"{source.name} is no valid JSON: {short(str(error), 80)}.") from None


class _TwiceError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError(Counter(name for name, _ in pairs).most_common(1)[0][0])
    return found


def read_json(source: Source, wanted: Wanted) -> Table:
    """The columns of a table in JSON."""
    found = load(source)
    if isinstance(found, Mapping) and found.get("type") in GEOMETRY:
        found = _points(found, source.name)
    columns, named = _columns(found, source.name, wanted.rows)
    names = list(columns)
    made = {}
    for k in choose(names, wanted, source.name):
        name, cells = names[k], columns[names[k]]
        column = Column(np.empty(0), [as_word(cell) for cell in cells] if name in wanted.words else None)
        column.values = np.array(as_numbers(cells, 0, column), np.float64)
        made[name] = column
    return Table(source.name, made, named)


def _columns(found: Any, source: str, rows: int | None) -> tuple[dict[str, list[Any]], bool]:
    if isinstance(found, Mapping):
        lists = all(isinstance(cells, list) for cells in found.values())
        if not found or not lists or len({len(cells) for cells in found.values()}) > 1:
            raise InputError(f"{source} holds no columns of equal length.", remedy=SHAPES)
        return {name: cells[:rows] for name, cells in found.items()}, True
    if not isinstance(found, list) or not found:
        raise InputError(f"{source} holds no table.", remedy=SHAPES)
    found = found[:rows]
    if all(isinstance(row, Mapping) for row in found):
        names = list(dict.fromkeys(name for row in found for name in row))
        return {name: [row.get(name) for row in found] for name in names}, True
    if all(isinstance(row, list) for row in found):
        width = len(found[0])
        odd = next((k for k, row in enumerate(found) if len(row) != width), None)
        if odd is not None:
            raise InputError(f"{source}: row {odd} has {len(found[odd])} entries, the first one {width}.")
        return {str(k): [row[k] for row in found] for k in range(width)}, False
    if any(isinstance(row, list | Mapping) for row in found):
        raise InputError(f"{source} mixes rows and single values.", remedy=SHAPES)
    return {"0": found}, False


def _points(found: Mapping[str, Any], source: str) -> list[dict[str, Any]]:
    """The points of GeoJSON as records: x, y and their properties."""
    parts: Any = found.get("features", found.get("geometries", [found]))
    records = []
    for k, part in enumerate(parts if isinstance(parts, list) else [None]):
        place = part.get("geometry", part) if isinstance(part, Mapping) else None
        kind = place.get("type") if isinstance(place, Mapping) else None
        at: Any = place.get("coordinates") if isinstance(place, Mapping) else None
        if kind not in ("Point", "MultiPoint") or not isinstance(at, list):
            reason = f"{source}: geometry {k} is {quoted(kind)}, and observations are points."
            raise InputError(reason, remedy="A polygon is a region: --region file.geojson.")
        more = part.get("properties") if isinstance(part, Mapping) else None
        for point in [at] if kind == "Point" else at:
            if not isinstance(point, list) or len(point) < 2:
                raise InputError(f"{source}: geometry {k} has no coordinates x, y.")
            own = {"x": point[0], "y": point[1]}
            records.append({**own, **{n: v for n, v in (more or {}).items() if n not in own}})
    return records
