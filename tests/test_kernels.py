"""Kernels: bandwidth rules, whitening, sums, distances, messages; their laws are in ``test_laws.py``."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

import goodstein as gs
from cases import RADIAL
from definitions import double_precision
from goodstein.errors import InputError
from goodstein.kernels import IMQ, Gaussian, Hamming, Matern52, Median, RationalQuadratic, Sum, Whitened
from goodstein.kernels.bandwidth import _middle
from goodstein.kernels.base import as_kernel
from goodstein.numerics.distances import placed, squared_distances

RHO = np.array([0.0, 1e-3, 0.2, 1.0, 3.7, 20.0])


def test_median_rule_is_the_median_distance():
    x = np.random.default_rng(1).standard_normal((80, 3)) + 1e5
    assert Median()(x) == pytest.approx(np.median(pdist(x)), rel=1e-9)
    assert Median(scale=0.3)(x) == pytest.approx(0.3 * np.median(pdist(x)), rel=1e-9)
    assert IMQ().fitted(x).bandwidth == Median()(x)
    assert Gaussian(Median(2.0)).fitted(x).bandwidth == pytest.approx(2 * Median()(x))
    assert Gaussian(0.5).fitted(x).bandwidth == 0.5


def test_median_rule_with_ties_takes_the_mean_of_the_positive_distances():
    x = np.vstack([np.full((9, 2), 0.1), [[0.1, 3.1]]])
    assert np.median(pdist(x)) == 0
    assert Median()(x) == pytest.approx(3.0, rel=1e-14)


def test_median_rule_thins_large_samples_evenly():
    # Of 2000 rows every second one is looked at: what lies between them may be anything.
    x = np.random.default_rng(2).standard_normal((2000, 2))
    x[1::2] *= 100.0
    assert Median()(x) == pytest.approx(np.median(pdist(x[::2])), rel=0.01)
    # Of ten sorted blocks, each in a place of its own, all count alike.
    places = 2.0 ** np.arange(10)
    expected = np.median(pdist(np.repeat(places, 100)[:, None]))
    assert Median()(np.repeat(places, 500)[:, None]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 40, 90_000, 90_001])
@pytest.mark.parametrize("values", ["normal", "few", "sorted", "mostly zero", "equal", "every eleventh"])
def test_the_middle_is_that_of_all_values(count, values):
    """Sorting says which it is; of many values some are looked at first, and these may mislead."""
    rng = np.random.default_rng(count)
    x = {
        "normal": rng.standard_normal(count),
        "few": rng.integers(0, 4, count) * 1.0,
        "sorted": np.sort(rng.exponential(size=count)),
        "mostly zero": np.where(rng.random(count) < 0.7, 0.0, rng.random(count)),
        "equal": np.full(count, 3.0),
        "every eleventh": np.where(np.arange(count) % 11 == 0, 9.0, rng.random(count)),
    }[values]
    ordered = np.sort(x)
    assert _middle(x) == (ordered[(count - 1) // 2], ordered[count // 2])


def test_median_rule_of_equal_points_is_an_error():
    with pytest.raises(InputError, match=r"all 5 points are equal.*pass a kernel with a bandwidth"):
        Median()(np.ones((5, 2)))


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("kernel", [Gaussian, IMQ, RationalQuadratic, Matern52])
def test_bandwidths_must_be_positive(kernel, bandwidth):
    with pytest.raises(
        InputError, match=f"`bandwidth` of {kernel.__name__} must be a positive number, a rule"
    ):
        kernel(bandwidth)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Gaussian("wide"), "must be a positive number, a rule such as"),
        (lambda: IMQ(1.0, exponent=0.5), r"`exponent` of IMQ must be a number in \[-1, 0\), got 0\.5"),
        (lambda: IMQ(1.0, exponent=-2), r"`exponent` of IMQ must be a number in \[-1, 0\), got -2"),
        (lambda: RationalQuadratic(1.0, alpha=0), "`alpha` of RationalQuadratic must be a positive number"),
        (lambda: Median(0.0), "`scale` of Median must be a positive number"),
        (lambda: Sum(()), "needs at least one kernel"),
        (
            lambda: Gaussian() + Whitened(),
            "cannot be a term of a sum",
        ),
        (lambda: Gaussian() + 3, r"`kernels` must be kernels such as IMQ\(\) or Gaussian\(bandwidth=1\.0\)"),
        (lambda: Whitened(Whitened()), "cannot be whitened again"),
        (lambda: Whitened(metric=[[1.0, 2.0]]), r"must be a symmetric \(m, m\) matrix"),
        (lambda: Whitened(metric=[[1.0, 2.0], [2.0, 1.0]]), "not positive definite"),
        (lambda: Whitened().linear_map, "has no metric yet"),
        (lambda: Gaussian().profiles(RHO), "has no bandwidth yet"),
    ],
)
def test_messages(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_whitening_makes_the_sample_covariance_the_identity():
    x = np.random.default_rng(3).standard_normal((200, 3)) @ np.array([[1, 0, 0], [50, 1, 0], [0, 3, 1e-3]])
    kernel = Whitened(IMQ()).fitted(x)
    y = x @ kernel.linear_map
    np.testing.assert_allclose(np.cov(y, rowvar=False), np.eye(3), atol=1e-7)
    assert kernel.kernel.bandwidth == pytest.approx(np.median(pdist(y)), rel=1e-9)


def test_whitening_refuses_what_cannot_be_whitened():
    rng = np.random.default_rng(4)
    flat = rng.standard_normal((50, 1)) @ np.ones((1, 2))
    with pytest.raises(InputError, match="lie in a subspace"):
        Whitened().fitted(flat)
    with pytest.raises(InputError, match="a coordinate is constant"):
        Whitened().fitted(np.column_stack([rng.standard_normal(50), np.ones(50)]))
    with pytest.raises(InputError, match="needs more points than dimensions"):
        Whitened().fitted(rng.standard_normal((3, 3)))
    with pytest.raises(InputError, match="but the points have 3 coordinates"):
        Whitened(metric=np.eye(2)).fitted(rng.standard_normal((9, 3)))


def test_sums_flatten_and_print_as_they_are_written():
    total = Gaussian(1.0) + (IMQ(2.0) + Matern52(3.0))
    assert len(total.kernels) == 3
    assert repr(total).count(" + ") == 2
    assert total.fitted(np.zeros((2, 1))) == total


@pytest.mark.parametrize("case", RADIAL, ids=lambda case: case.name)
def test_values_in_many_dimensions_need_no_array_of_all_differences(case):
    d = 50
    kernel = case.make(d)
    x = np.random.default_rng(5).standard_normal((200, d)) / np.sqrt(d) + 1e3
    tracemalloc.start()
    got = kernel(x, x[:150])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    y = x @ case.linear_map(d)
    with double_precision():
        expected = np.asarray(case.profile(cdist(y, y[:150], "sqeuclidean")))
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert peak < 200 * 150 * d * 8 / 5 + 2e6


# Squared distances: one function for the library


def test_squared_distances_by_differences_and_by_products():
    x = np.random.default_rng(6).standard_normal((30, 4))
    y = x[::3] + 1e-9
    expected = cdist(x, y, "sqeuclidean")
    np.testing.assert_allclose(squared_distances(x, y), expected, rtol=1e-14)
    near, other = (placed(points + 1e6, np.full(4, 1e6), 0.1) for points in (x, y))
    assert near.close and other.close
    np.testing.assert_allclose(near.squared_distances(other), expected, atol=1e-9)
    np.testing.assert_array_equal(near[3:7].squared_distances(other), near.squared_distances(other)[3:7])
    assert (near.squared_distances(near) >= 0).all()
    # Far from the centre, in bandwidths, a product would lose the digits that the kernel sees.
    far, others = (placed(1e6 + points, np.zeros(4), 1e-3) for points in (x, y))
    assert not far.close
    np.testing.assert_allclose(far.squared_distances(others), expected, rtol=1e-4, atol=1e-16)


# What is asked of every kernel


class Plain:
    """A user's object with the two methods of a radial kernel and nothing else."""

    def fitted(self, points):
        return self

    def profiles(self, rho, order=2):
        return [np.exp(-rho) * (-1.0) ** k for k in range(order + 1)]

    def __repr__(self):
        return "Plain()"


class Product:
    """A user's object that is called, and takes something from the data."""

    def __init__(self, centre=0.0):
        self.centre = centre

    def fitted(self, points):
        return Product(points.mean(axis=0))

    def __call__(self, x, y):
        return (x - self.centre) @ (y - self.centre).T


def test_plain_objects_are_wrapped_once():
    kernel = as_kernel(Plain())
    assert repr(kernel) == "Plain()" and as_kernel(kernel) is kernel
    assert kernel.radial and kernel.bandwidths is None and kernel.shortest_length == 1.0
    x = np.random.default_rng(7).standard_normal((6, 2))
    np.testing.assert_allclose(kernel(x, x), Gaussian(0.5**0.5)(x, x), rtol=1e-14)
    np.testing.assert_allclose(
        (Gaussian(1.0) + Plain())(x, x), Gaussian(1.0)(x, x) + kernel(x, x), rtol=1e-14
    )
    product = as_kernel(Product()).fitted(x)
    assert not product.radial
    np.testing.assert_allclose(product(x, x), Product(x.mean(axis=0))(x, x))
    with pytest.raises(InputError, match="is no function of a distance with derivatives"):
        product.profiles(RHO)
    with pytest.raises(InputError, match="is no function of a distance with derivatives"):
        gs.ksd_test(x, gs.families.Normal([0, 0]), kernel=Product())


@pytest.mark.parametrize("thing", [3, "wide", IMQ, Plain])
def test_other_things_are_no_kernels(thing):
    with pytest.raises(InputError, match=r"`x_kernel` must be a kernel such as IMQ\(\)"):
        as_kernel(thing, "x_kernel")
    with pytest.raises(InputError, match=r"`kernels` must be kernels such as IMQ\(\)"):
        as_kernel(thing, "kernels")


def test_a_kernel_with_neither_profiles_nor_values_is_refused_at_the_border():
    class Mute:
        def fitted(self, points):
            return self

    with pytest.raises(InputError, match="can neither be called"):
        gs.ksd_test(np.zeros((5, 1)), gs.families.Normal(), kernel=Mute())


def test_bandwidths_as_reports_show_them():
    assert Gaussian(2).bandwidths == 2.0 and Gaussian().bandwidths is None
    assert (Gaussian(2.0) + (IMQ() + Plain())).bandwidths == [2.0, None, None]
    assert Whitened(Gaussian(2.0) + IMQ(3.0)).bandwidths == [2.0, 3.0]
    assert (Gaussian(2.0) + IMQ(0.5)).shortest_length == 0.5
    assert Hamming().bandwidths is None


def test_scaling_multiplies_the_bandwidths_that_are_numbers():
    assert Gaussian(2.0).scaled(1.5) == Gaussian(3.0)
    assert (Gaussian(2.0) + IMQ()).scaled(1.5) == Gaussian(3.0) + IMQ()
    whitened = Whitened(IMQ(2.0), np.diag([1.0, 4.0])).scaled(0.5)
    assert whitened.kernel == IMQ(1.0) and whitened.metric[1, 1] == 4.0
    assert Hamming(2.0).scaled(3.0) == Hamming(2.0)


def test_several_scales_are_multiples_of_the_rule():
    scales, rates = (0.5, 2.0), (0.3, 3.0)
    assert IMQ().at_scales(scales, rates) == [IMQ(Median(0.5)), IMQ(Median(2.0))]
    assert Gaussian(Median(3.0)).at_scales(scales, rates) == [Gaussian(Median(1.5)), Gaussian(Median(6.0))]
    assert Hamming().at_scales(scales, rates) == [Hamming(0.3), Hamming(3.0)]
    for kernel in (
        Gaussian(1.0),
        Gaussian(lambda points: 1.0),
        Gaussian() + IMQ(),
        as_kernel(Plain()),
    ):
        assert kernel.at_scales(scales, rates) == [kernel]
    several = Whitened(IMQ(), metric="score").at_scales(scales, rates)
    assert [(kernel.kernel, kernel.metric) for kernel in several] == [
        (IMQ(Median(0.5)), "score"),
        (IMQ(Median(2.0)), "score"),
    ]


def test_whitened_kernels_are_compared_by_their_values():
    metric = np.array([[2.0, 0.5], [0.5, 1.0]])
    kernel = Whitened(IMQ(1.0), metric)
    assert kernel == Whitened(IMQ(1.0), metric.tolist())
    assert len({kernel, Whitened(IMQ(1.0), metric), Whitened(IMQ(1.0))}) == 2
    assert kernel not in (Whitened(IMQ(2.0), metric), Whitened(IMQ(1.0), 2 * metric), IMQ(1.0))
    assert Whitened() == Whitened()
