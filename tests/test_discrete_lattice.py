"""The lattice of discrete data and the kernels on it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import goodstein as gs
from cases import random_tables
from goodstein.domains import Lattice
from goodstein.errors import InputError
from goodstein.kernels import CategoricalProduct, Hamming
from goodstein.operators.difference import Difference


def test_lattice_encodes_and_shifts():
    lattice = Lattice((2.5, -1, 7), 2)
    codes = np.array([[0, 1], [2, 0]])
    x = lattice.decode(codes)
    np.testing.assert_array_equal(x, [[2.5, -1.0], [7.0, 2.5]])
    np.testing.assert_array_equal(lattice.encode(x), codes)
    np.testing.assert_array_equal(lattice.shift(x, 1), [[2.5, 7.0], [7.0, -1.0]])
    np.testing.assert_array_equal(lattice.shift(lattice.shift(x, 0), 0, -1), x)
    np.testing.assert_array_equal(lattice.shift(x, 0, 3), x)
    assert lattice.size == 9
    assert lattice.states().shape == (9, 2)
    assert len(np.unique(lattice.states(), axis=0)) == 9
    assert lattice.contains(np.array([[2.5, 7.0], [2.5, 0.0], [np.nan, 7.0], [np.inf, 7.0]])).tolist() == [
        True,
        False,
        False,
        False,
    ]


def test_lattice_is_a_value():
    assert Lattice((0, 1, 2), 4) == Lattice(3, 4)
    assert Lattice((1, 0), 4) != Lattice(2, 4)  # the cyclic order is another with more than two levels
    assert hash(Lattice((0, 1), 2)) == hash(Lattice(2, 2))
    assert repr(Lattice((-1, 1), 3)) == "Lattice((-1, 1), 3)"
    assert repr(Lattice(5, 2)) == "Lattice(5, 2)"
    assert repr(Lattice(np.arange(1, 11), 2)) == "Lattice((1, 2, 3, ..., 10), 2)"
    drawn = Lattice(3, 2).sample_uniform(3000, np.random.default_rng(1))
    assert stats.chisquare(np.bincount((drawn @ [3, 1]).astype(int))).pvalue > 0.01


def test_integer_and_frame_data():
    pd = pytest.importorskip("pandas")
    model = gs.families.CategoricalTable(np.ones((3, 3)))
    x = model.sample(40, rng=1)
    expected = gs.ksd_test(x, model, rng=1).pvalue
    assert gs.ksd_test(x.astype(int), model, rng=1).pvalue == expected
    assert gs.ksd_test(pd.DataFrame(x.astype("int8"), columns=["a", "b"]), model, rng=1).pvalue == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Lattice(1, 2), "`levels` must be an integer of at least 2, got 1"),
        (lambda: Lattice(2.5, 2), "whole number of at least 2, or a sequence of at least two"),
        (
            lambda: Lattice((1,), 2),
            "`levels` must be a whole number of at least 2, or a sequence of at least two numbers",
        ),
        (
            lambda: Lattice((1, np.inf), 2),
            "`levels` must be finite numbers",
        ),
        (lambda: Lattice((1, np.nan), 2), "`levels` must be finite numbers"),
        (lambda: Lattice(("yes", "no"), 2), "`levels` must be real numbers"),
        (lambda: Lattice((0, 1, 0), 2), "`levels` must be distinct, but 0 occurs twice"),
        (lambda: Lattice(2, 0), "`d` must be an integer of at least 1"),
        (lambda: Lattice(2, 30).states(), r"1.07e\+09 states, too many"),
        (lambda: Lattice(2, 2).encode([[0, 2]]), r"`x`: 1 of 1 rows \(row 0\).*column 1 of row 0 holds 2"),
        (lambda: Hamming(0), "`rate` of Hamming must be a positive number, got 0"),
        (lambda: Hamming("a"), "`rate` of Hamming"),
        (lambda: Hamming(True), "`rate` of Hamming"),
        (lambda: Difference(-1), "`bound` of Difference must be a positive number or None, got -1"),
        (lambda: Difference(np.inf), "`bound` of Difference"),
        (lambda: CategoricalProduct("a"), "`table` of CategoricalProduct must be real numbers"),
        (lambda: CategoricalProduct(np.ones((2, 3))), r"must be square.*got shape \(2, 3\)"),
        (lambda: CategoricalProduct([[1, 0], [0, 1]]), r"positive numbers, but entry \(0, 1\) is 0"),
        (
            lambda: CategoricalProduct([[1, 0.5], [0.4, 1]]),
            r"symmetric, but entries .* are 0.[45] and 0.[45]",
        ),
        (
            lambda: CategoricalProduct([[1, 2], [2, 1]]),
            r"not positive semidefinite \(smallest eigenvalue -1\)",
        ),
        (
            lambda: CategoricalProduct([np.ones((2, 2)), [[1, 2], [2, 1]]]),
            "for coordinate 1 is not positive semidefinite",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_hamming_counts_differences():
    x = np.random.default_rng(1).integers(0, 3, size=(6, 4))
    y = np.random.default_rng(2).integers(0, 3, size=(5, 4))
    expected = [[np.exp(-2.0 * sum(a != b for a, b in zip(u, v, strict=True)) / 4) for v in y] for u in x]
    np.testing.assert_allclose(Hamming(2.0)(x, y), expected)
    table = CategoricalProduct(Hamming(2.0).tables(3, 4)[0])
    np.testing.assert_allclose(table(x, y), expected)


def test_kernels_are_values():
    table = random_tables(3, 2)
    kernel = CategoricalProduct(table)
    assert kernel == CategoricalProduct(table.tolist())
    assert hash(kernel) == hash(CategoricalProduct(table))
    assert kernel.fitted(np.zeros((2, 2))) is kernel
    assert Hamming(2).fitted(np.zeros((2, 2))) == Hamming(2.0)
    assert repr(kernel) == "CategoricalProduct(2×3×3)"
    assert repr(CategoricalProduct([[1, 0.5], [0.5, 1]])) == "CategoricalProduct([[1.0, 0.5], [0.5, 1.0]])"
    assert repr(Difference()) == "Difference()"
    assert repr(Difference(bound=10)) == "Difference(bound=10)"
