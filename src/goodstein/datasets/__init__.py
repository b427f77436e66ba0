"""Published tables that ship with the package, each as what a test takes.

``gs.datasets.redwood()`` loads one: an array of points, angles in radians, compositions that sum to one,
:class:`goodstein.Censored` durations, or a list of point patterns. What it loads is the caller's own. The
table as it was published, column by column, the region of a map, references and licence are in
``gs.datasets.about("redwood")``; ``gs.datasets.names()`` lists them all.
"""

from goodstein.datasets.catalogue import Dataset, about, names
from goodstein.datasets.compositions import skye_lavas
from goodstein.datasets.directions import arrivals, pigeons, turtles, winds
from goodstein.datasets.durations import aml, lung, ovarian, veteran
from goodstein.datasets.maps import (
    cells,
    chorley,
    finnish_pines,
    humberside,
    japanese_pines,
    longleaf,
    new_zealand_trees,
    osteocytes,
    redwood,
    swedish_pines,
)

__all__ = [
    "Dataset",
    "about",
    "aml",
    "arrivals",
    "cells",
    "chorley",
    "finnish_pines",
    "humberside",
    "japanese_pines",
    "longleaf",
    "lung",
    "names",
    "new_zealand_trees",
    "osteocytes",
    "ovarian",
    "pigeons",
    "redwood",
    "skye_lavas",
    "swedish_pines",
    "turtles",
    "veteran",
    "winds",
]
