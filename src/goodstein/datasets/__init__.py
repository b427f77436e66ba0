"""Small published tables that ship with the package."""

from __future__ import annotations

import numpy as np

from goodstein.types import Array

__all__ = ["skye_lavas"]


def skye_lavas() -> Array:
    """Compositions of 23 aphyric lavas from the Isle of Skye.

    Each row is one specimen, with the parts A (the alkalis Na₂O + K₂O), F (iron as Fe₂O₃) and M (magnesium as
    MgO) as proportions of their sum. The published table is in whole per cent and every row sums to 100
    exactly; dividing by 100 is the only change made to it. There are no zeros.

    Returns
    -------
    ndarray of shape (23, 3)
        Rows sum to one; the order is that of the published table. The array is the caller's own: changing it
        does not affect the next call.

    Notes
    -----
    The specimens follow a curved trend across the AFM triangle, from iron- and magnesium-rich basalts to
    alkali-rich rocks, which is why the table is a classic test of models for compositions.

    References
    ----------
    .. [1] J. Aitchison (1986), *The Statistical Analysis of Compositional Data*, Chapman and Hall, Data 6,
       p. 360.
    .. [2] R. N. Thompson, J. Esson and A. C. Dunham (1972), "Major element chemical variation in the Eocene
       lavas of the Isle of Skye, Scotland", *Journal of Petrology* 13, 219-253; often cited with "Duncan" as
       the third author.

    Examples
    --------
    >>> from goodstein.datasets import skye_lavas
    >>> x = skye_lavas()
    >>> x.shape
    (23, 3)
    >>> x[0]
    array([0.52, 0.42, 0.06])
    """
    from importlib.resources import files  # here, because it is slow to import

    with files(__name__).joinpath("skye_lavas.csv").open(encoding="utf-8") as lines:
        return np.loadtxt(lines, delimiter=",", skiprows=1, dtype=np.float64, ndmin=2) / 100.0
