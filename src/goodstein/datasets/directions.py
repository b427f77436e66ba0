"""Tables of directions in the plane and of times of day."""

from __future__ import annotations

import numpy as np

from goodstein.datasets.catalogue import carried, read
from goodstein.domains.circle import Circle
from goodstein.types import Array

SOURCE = "Taken from the R package circular 0.4-95 (GPL-2)"
FISHER = "N. I. Fisher (1993), Statistical Analysis of Circular Data, Cambridge University Press"


@carried(
    columns={"heading": "degrees"},
    references=(
        f"{FISHER}, B.3",
        "M. A. Stephens (1969), Techniques for directional data, Technical Report 150, Stanford University",
    ),
    source=SOURCE,
    domain=Circle,
)
def turtles() -> Array:
    """Headings of 76 turtles after they had laid their eggs.

    Most of them made for the sea, some went straight away from it.

    Returns
    -------
    ndarray of shape (76,)
        Radians, in the published order, which is that of the angles.
    """
    angles: Array = np.radians(read("turtles")["heading"])
    return angles


@carried(
    columns={
        "treatment": "c: control, v1: trigeminal nerve cut, on: olfactory nerve cut",
        "bearing": "degrees, home is 360",
    },
    references=(
        "A. Gagliardo, P. Ioalè, M. Savini and M. Wild (2008), Having the nerve to home: trigeminal "
        "magnetoreceptor versus olfactory mediation of homing in pigeons, Journal of Experimental "
        "Biology 211, 2046-2051",
    ),
    source=SOURCE,
    domain=Circle,
)
def pigeons() -> Array:
    """Bearings in which 108 homing pigeons of three groups vanished from sight.

    Returns
    -------
    ndarray of shape (108,)
        Radians; the groups are in the table.
    """
    angles: Array = np.radians(read("pigeons")["bearing"])
    return angles


@carried(
    columns={"direction": "radians"},
    references=(
        "C. Agostinelli (2007), Robust estimation for circular data, Computational Statistics & Data "
        "Analysis 51, 5867-5875",
    ),
    source=SOURCE,
    domain=Circle,
)
def winds() -> Array:
    """Wind directions at the Col de la Roa in the Italian Alps, 62 nights of the year 2001.

    Five readings a night, a quarter of an hour apart: readings of one night depend on each other, and every
    fifth of them is a sample of nights.

    Returns
    -------
    ndarray of shape (310,)
        Radians, in order of time.
    """
    return read("winds")["direction"]


@carried(
    columns={"hour": "hours since midnight"},
    references=(
        f"{FISHER}, B.1",
        "D. R. Cox and P. A. W. Lewis (1966), The Statistical Analysis of Series of Events, Methuen",
    ),
    source=SOURCE,
    domain=Circle,
)
def arrivals() -> Array:
    """Times of day at which 254 patients arrived at an intensive care unit.

    Returns
    -------
    ndarray of shape (254,)
        Radians, a full turn being 24 hours, in the order in which the patients came.
    """
    return read("arrivals")["hour"] * (2 * np.pi / 24)
