"""Single linkage against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from goodstein.numerics.linkage import single_linkage


@pytest.mark.parametrize("n", [2, 3, 50])
def test_the_tree_is_that_of_scipy(n):
    x = np.random.default_rng(n).standard_normal((n, 2))
    children, count = single_linkage(squareform(pdist(x)))
    expected = linkage(pdist(x), "single")
    np.testing.assert_array_equal(children, np.sort(expected[:, :2], axis=1))
    np.testing.assert_array_equal(count[n:], expected[:, 3])


def test_equal_points_are_joined():
    children, count = single_linkage(np.zeros((4, 4)))
    assert count[-1] == 4 and len(np.unique(children)) == 6
