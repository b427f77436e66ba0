"""Places of trees, cells and homes: the points of a map, and the region in which they were looked for."""

from __future__ import annotations

import numpy as np

from goodstein.datasets.catalogue import carried, read, read_points
from goodstein.domains.box import Box
from goodstein.domains.polygon import Polygon
from goodstein.types import Array

SOURCE = "Taken from the R package spatstat.data 3.0-0 (GPL-2 or later)"
SIDE = {"x": "in units of the side of the square", "y": "in units of the side of the square"}
METRES = {"x": "metres", "y": "metres"}
RIPLEY = (
    "B. D. Ripley (1977), Modelling spatial patterns, Journal of the Royal Statistical Society B 39, 172-212"
)

SHARED = Box([0.0, 0.0, -30.0], [81.82, 100.0, 0.0])
"""The part of a brick of bone that all bricks have."""


@carried(
    columns=SIDE,
    references=(
        RIPLEY,
        "D. J. Strauss (1975), A model for clustering, Biometrika 62, 467-475, of which this is a part",
    ),
    source=SOURCE,
    domain=lambda: Box([0.0, -1.0], [1.0, 0.0]),
)
def redwood() -> Array:
    """Places of 62 redwood seedlings, which stand in clumps.

    Returns
    -------
    ndarray of shape (62, 2)
        In units of the side of the map.

    Examples
    --------
    >>> import goodstein as gs
    >>> gs.datasets.redwood().shape
    (62, 2)
    """
    return read_points("redwood")


@carried(
    columns={"x": "in units of 5.7 metres", "y": "in units of 5.7 metres"},
    references=(
        "P. J. Diggle (2003), Statistical Analysis of Spatial Point Patterns, 2nd edition, Arnold",
        "M. Numata (1961), Forest vegetation in the vicinity of Choshi, Bulletin of the Choshi Marine "
        "Laboratory 3, 28-48",
    ),
    source=SOURCE,
    domain=lambda: Box([0.0, 0.0], [1.0, 1.0]),
)
def japanese_pines() -> Array:
    """Places of 65 saplings of Japanese black pine, the classic of places taken at random.

    Returns
    -------
    ndarray of shape (65, 2)
        In units of the side of the map.
    """
    return read_points("japanese_pines")


@carried(
    columns=SIDE,
    references=(
        RIPLEY,
        "F. H. C. Crick and P. A. Lawrence (1975), Compartments and polyclones in insect development, "
        "Science 189, 340-347",
    ),
    source=SOURCE,
    domain=lambda: Box([0.0, 0.0], [1.0, 1.0]),
)
def cells() -> Array:
    """Centres of 42 biological cells seen under a microscope, which keep their distance.

    Returns
    -------
    ndarray of shape (42, 2)
        In units of the side of the map.
    """
    return read_points("cells")


@carried(
    columns={"x": "decimetres", "y": "decimetres"},
    references=(
        "L. Strand (1972), A model for stand growth, IUFRO Third Conference Advisory Group of Forest "
        "Statisticians, INRA, Paris, 207-216",
        "B. D. Ripley (1981), Spatial Statistics, Wiley",
    ),
    source=SOURCE,
    domain=lambda: Box([0.0, 0.0], [96.0, 100.0]),
)
def swedish_pines() -> Array:
    """Places of 71 pine saplings in a Swedish forest, more even than chance.

    Returns
    -------
    ndarray of shape (71, 2)
        Decimetres.
    """
    return read_points("swedish_pines")


@carried(
    columns=METRES | {"diameter": "centimetres", "height": "metres"},
    references=(
        "A. Penttinen, D. Stoyan and H. M. Henttonen (1992), Marked point processes in forest "
        "statistics, Forest Science 38, 806-824",
    ),
    source=SOURCE,
    domain=lambda: Box([-5.0, -8.0], [5.0, 2.0]),
)
def finnish_pines() -> Array:
    """Places of 126 pine saplings in a Finnish forest.

    Returns
    -------
    ndarray of shape (126, 2)
        Metres; diameters and heights are in the table.
    """
    return read_points("finnish_pines")


@carried(
    columns={"x": "feet", "y": "feet"},
    references=(
        "A. F. Mark and A. E. Esler (1970), An assessment of the point-centred quarter method of "
        "plotless sampling in some New Zealand forests, Proceedings of the New Zealand Ecological "
        "Society 17, 106-110",
        "B. D. Ripley (1981), Spatial Statistics, Wiley",
    ),
    source=SOURCE,
    domain=lambda: Box([0.0, 0.0], [153.0, 95.0]),
)
def new_zealand_trees() -> Array:
    """Places of 86 trees in a forest of New Zealand.

    Returns
    -------
    ndarray of shape (86, 2)
        Feet.
    """
    return read_points("new_zealand_trees")


@carried(
    columns=METRES | {"dbh": "diameter at breast height, centimetres"},
    references=(
        "W. J. Platt, G. W. Evans and S. L. Rathbun (1988), The population dynamics of a long-lived "
        "conifer (Pinus palustris), The American Naturalist 131, 491-525",
    ),
    source=SOURCE,
    domain=lambda: Box([0.0, 0.0], [200.0, 200.0]),
)
def longleaf() -> Array:
    """Places of 584 longleaf pines in a forest of Georgia.

    Returns
    -------
    ndarray of shape (584, 2)
        Metres; diameters are in the table.
    """
    return read_points("longleaf")


@carried(
    columns={"x": "hectometres", "y": "hectometres", "group": "case or control"},
    references=(
        "J. Cuzick and R. Edwards (1990), Spatial clustering for inhomogeneous populations, Journal of "
        "the Royal Statistical Society B 52, 73-104",
    ),
    source=SOURCE,
    domain=lambda: Polygon(read_points("humberside_region")),
)
def humberside() -> Array:
    """Homes of 62 children with leukaemia or lymphoma, and of 141 others, in North Humberside.

    Returns
    -------
    ndarray of shape (203, 2)
        Hectometres; who is a case and who a control is in the table.
    """
    return read_points("humberside")


@carried(
    columns={"x": "kilometres", "y": "kilometres", "cancer": "larynx or lung"},
    references=(
        "P. J. Diggle (1990), A point process modelling approach to raised incidence of a rare "
        "phenomenon in the vicinity of a prespecified point, Journal of the Royal Statistical Society A "
        "153, 349-362",
    ),
    source=SOURCE,
    domain=lambda: Polygon(read_points("chorley_region")),
)
def chorley() -> Array:
    """Homes of 58 people with cancer of the larynx and 978 with cancer of the lung, in Lancashire.

    Returns
    -------
    ndarray of shape (1036, 2)
        Kilometres; which cancer it is is in the table.
    """
    return read_points("chorley")


@carried(
    columns={
        "pattern": "brick of bone, 1 to 40; ten of each of four samples",
        "x": "microns, 0 to 81",
        "y": "microns, 0 to 100",
        "z": "microns, from minus the depth of the brick to 0",
    },
    references=(
        "A. J. Baddeley, C. V. Howard, A. Boyde and S. Reid (1987), Three-dimensional analysis of the "
        "spatial distribution of particles using the tandem-scanning reflected light microscope, Acta "
        "Stereologica 6 (supplement II), 87-100",
    ),
    source=f"{SOURCE}, where it is osteo",
    domain=lambda: SHARED,
)
def osteocytes() -> list[Array]:
    """Places of osteocyte lacunae in 40 bricks of bone.

    The bricks differ in depth, from 30 to 110 microns; loaded are the uppermost 30 microns, which all have.
    Twelve points of the table were recorded at x = 81.82 although the bricks are said to be 81 wide, so the
    window is 81.82 wide.

    Returns
    -------
    list of 40 arrays of shape (number of points, 3)
        Microns.
    """
    table = read("osteocytes")
    points = np.column_stack([table["x"], table["y"], table["z"]])
    shared = SHARED.contains(points)
    return [points[shared & (table["pattern"] == k)] for k in range(1, 41)]
