"""Kernels against finite differences of their own values and against published formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from goodstein.errors import InputError
from goodstein.kernels import IMQ, Gaussian, Matern52, Median, RationalQuadratic, Sum, Whitened

FITTED = [
    Gaussian(0.7),
    IMQ(1.3),
    IMQ(0.9, exponent=-0.25),
    IMQ(0.9, exponent=-1.0),
    RationalQuadratic(1.1, alpha=0.6),
    Matern52(1.4),
    Gaussian(0.7) + IMQ(2.0),
]
RHO = np.array([0.0, 1e-3, 0.2, 1.0, 3.7, 20.0])


def named(kernel) -> str:
    return repr(kernel)


def closed_form(kernel, r: np.ndarray) -> np.ndarray:
    """k as a function of the distance, as the textbooks write it."""
    if isinstance(kernel, Sum):
        return sum(closed_form(term, r) for term in kernel.kernels)
    width = kernel.bandwidth
    if isinstance(kernel, Gaussian):
        return np.exp(-(r**2) / (2 * width**2))
    if isinstance(kernel, IMQ):
        return (1 + (r / width) ** 2) ** kernel.exponent
    if isinstance(kernel, RationalQuadratic):
        return (1 + r**2 / (2 * kernel.alpha * width**2)) ** -kernel.alpha
    t = np.sqrt(5) * r / width
    return (1 + t + t**2 / 3) * np.exp(-t)


@pytest.mark.parametrize("kernel", FITTED, ids=named)
def test_values(kernel):
    np.testing.assert_allclose(
        kernel.profiles(RHO, order=0)[0], closed_form(kernel, np.sqrt(RHO)), rtol=1e-14
    )
    x = np.random.default_rng(0).standard_normal((5, 3))
    expected = closed_form(kernel, np.linalg.norm(x[:, None] - x[None, :2], axis=-1))
    np.testing.assert_allclose(kernel(x, x[:2]), expected, rtol=1e-13)


@pytest.mark.parametrize("kernel", FITTED, ids=named)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_are_those_of_the_profile_below(kernel, order):
    if order > 2 and isinstance(kernel, Matern52):
        with pytest.raises(InputError, match="only two derivatives at zero distance"):
            kernel.profiles(RHO, order=order)
        return
    rho = RHO[1:]
    step = 1e-6 * rho
    above, below = (kernel.profiles(rho + s, order=order)[order - 1] for s in (step, -step))
    np.testing.assert_allclose(kernel.profiles(rho, order)[order], (above - below) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("kernel", FITTED, ids=named)
def test_the_number_of_profiles_is_the_order_plus_one(kernel):
    assert [len(kernel.profiles(RHO, order)) for order in (0, 1, 2)] == [1, 2, 3]


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
    x = np.random.default_rng(2).standard_normal((5000, 2))
    assert Median()(np.sort(x, axis=0)) == pytest.approx(Median()(np.sort(x, axis=0)), rel=0)
    assert Median()(x) == pytest.approx(np.median(pdist(x[::3])), rel=0.05)


def test_median_rule_of_equal_points_is_an_error():
    with pytest.raises(InputError, match=r"all 5 points are equal.*pass a kernel with a bandwidth"):
        Median()(np.ones((5, 2)))


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("kernel", [Gaussian, IMQ, RationalQuadratic, Matern52])
def test_bandwidths_must_be_positive(kernel, bandwidth):
    with pytest.raises(InputError, match=f"`bandwidth` of {kernel.__name__} must be a positive number, got"):
        kernel(bandwidth)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Gaussian("wide"), "must be a positive number, a rule such as"),
        (lambda: IMQ(1.0, exponent=0.5), r"`exponent` of IMQ must lie in \[-1, 0\), got 0.5"),
        (lambda: IMQ(1.0, exponent=-2), r"`exponent` of IMQ must lie in \[-1, 0\), got -2"),
        (lambda: RationalQuadratic(1.0, alpha=0), "`alpha` of RationalQuadratic must be a positive number"),
        (lambda: Median(0.0), "`scale` of Median must be a positive number"),
        (lambda: Sum(()), "needs at least one kernel"),
        (lambda: Gaussian() + Whitened(), "cannot be a term of a sum"),
        (lambda: Gaussian() + 3, "cannot be a term of a sum"),
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
