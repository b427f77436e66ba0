"""Tables of compositions."""

from __future__ import annotations

import numpy as np

from goodstein.datasets.catalogue import carried, read
from goodstein.domains.simplex import Simplex
from goodstein.types import Array


@carried(
    columns={
        "A": "the alkalis Na2O + K2O, per cent",
        "F": "iron as Fe2O3, per cent",
        "M": "magnesium as MgO, per cent",
    },
    references=(
        "J. Aitchison (1986), The Statistical Analysis of Compositional Data, Chapman and Hall, Data 6, "
        "p. 360",
        "R. N. Thompson, J. Esson and A. C. Dunham (1972), Major element chemical variation in the "
        "Eocene lavas of the Isle of Skye, Scotland, Journal of Petrology 13, 219-253; often cited with "
        '"Duncan" as third author',
    ),
    source="As in the R package MASS 7.3-58 (GPL-2 or GPL-3), where it is Skye",
    domain=lambda: Simplex(3),
)
def skye_lavas() -> Array:
    """Compositions of 23 aphyric lavas from the Isle of Skye.

    Each row is one specimen, with the parts A (the alkalis Na₂O + K₂O), F (iron as Fe₂O₃) and M (magnesium as
    MgO) as proportions of their sum. The published table is in whole per cent and every row sums to 100
    exactly; dividing by 100 is the only change made to it. There are no zeros. The specimens follow a curved
    trend across the AFM triangle, from iron- and magnesium-rich basalts to alkali-rich rocks, which is why
    the table is a classic test of models for compositions.

    Returns
    -------
    ndarray of shape (23, 3)
        Rows sum to one; the order is that of the published table.

    Examples
    --------
    >>> from goodstein.datasets import skye_lavas
    >>> x = skye_lavas()
    >>> x.shape
    (23, 3)
    >>> x[0]
    array([0.52, 0.42, 0.06])
    """
    return np.column_stack(list(read("skye_lavas").values())) / 100.0
