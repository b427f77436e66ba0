"""Domains from what people hold in their hands."""

from __future__ import annotations

from typing import Any

from goodstein.domains.base import Domain
from goodstein.domains.polygon import Polygon
from goodstein.errors import must


def as_domain(value: Any, wanted: str = "a domain such as Box or Ball", of: str = "") -> Domain:
    """A domain; a polygon of shapely or geopandas is a :class:`Polygon`.

    >>> import shapely
    >>> from goodstein.domains.regions import as_domain
    >>> as_domain(shapely.box(0, 0, 2, 1))
    Polygon(4 vertices)
    """
    if isinstance(value, Domain):
        return value
    frame = hasattr(value, "crs") and hasattr(value, "geometry")
    if frame or "Polygon" in str(getattr(value, "geom_type", "")):
        return Polygon(value)
    raise must("domain", wanted, value, of)
