"""Several kernels of one operator in one pass: the same numbers as one by one."""

from __future__ import annotations

import numpy as np
import pytest

import goodstein as gs
from definitions import CASES
from goodstein.engine.reduce import Alone, quadratic_forms
from goodstein.engine.schemes import IndependentSigns, OrthogonalSigns
from goodstein.kernels import RationalQuadratic
from goodstein.kernels.gaussian import squarings
from goodstein.kernels.tile import Parts
from goodstein.pipeline.compose import compose
from goodstein.stein.shared import SharedForm, bundled, joint_statistics

KERNELS = [
    gs.Gaussian(4.0),
    gs.Gaussian(0.5),
    gs.IMQ(0.3),
    gs.Gaussian(2.0),
    gs.IMQ(2.0, exponent=-0.3),
    RationalQuadratic(1.5, alpha=1.7),
    gs.Gaussian(1.7),
    gs.IMQ(5.0),
]


def forms(n=150, d=3, operator=None, kernels=KERNELS, offset=0.0):
    x = np.random.default_rng(d).standard_normal((n, d)) + offset
    model = gs.families.Normal(np.full(d, offset))
    features = compose(x, model, None, operator).features
    return [features.form(kernel) for kernel in kernels]


def by_definition(form, signs):
    """Σ_{i≠j} ε_i ε_j H_ij / n(n − 1) from the whole matrix."""
    h = form.matrix()
    np.fill_diagonal(h, 0.0)
    return np.einsum("bi,ij,bj->b", signs, h, signs) / (form.n * (form.n - 1))


@pytest.mark.parametrize("operator", [gs.Langevin(), gs.Dilation()], ids=["Langevin", "Dilation"])
@pytest.mark.parametrize("n", [7, 150, 700, 1300])
def test_statistics_and_draws_are_those_of_the_whole_matrix(operator, n):
    members = forms(n, operator=operator)
    weights = IndependentSigns(3, n, 40)
    statistics, draws = joint_statistics(members, weights)
    signs = weights.signs.astype(float)
    for k, form in enumerate(members):
        expected = by_definition(form, signs)
        spread = np.sqrt(np.mean(expected**2))
        np.testing.assert_allclose(draws[k], expected, rtol=0, atol=1e-5 * spread)
        one = by_definition(form, np.ones((1, n)))[0]
        assert abs(statistics[k] - one) < 5e-8 * max(n, 200) * spread


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_members_share_signs_and_keep_their_places(offset):
    members = forms(offset=offset)
    weights = OrthogonalSigns(5, members[0].n, 200)
    statistics, draws = joint_statistics(members, weights)
    for k, form in enumerate(members):
        statistic, alone = quadratic_forms(form, weights)
        spread = alone.std()
        assert abs(statistics[k] - statistic) < 2e-5 * spread
        np.testing.assert_allclose(draws[k], alone, rtol=0, atol=1e-5 * spread)


def test_forms_are_bundled_where_they_share_features():
    members = forms() + forms(operator=gs.Dilation())
    bundles, order = bundled(members)
    # Kernels with other exponents than −½ and −1 are made one by one.
    assert [type(bundle) for bundle in bundles] == [SharedForm, SharedForm, *[Alone] * 4]
    # Gaussians before inverse multiquadrics.
    assert order == [0, 1, 3, 6, 2, 7, 8, 9, 11, 14, 10, 15, 4, 5, 12, 13]
    mixed = [members[0], members[8], members[1], members[9]]
    bundles, order = bundled(mixed)
    assert len(bundles) == 2
    assert order == [0, 2, 1, 3]
    weights = OrthogonalSigns(5, 150, 50)
    statistics, _ = joint_statistics(mixed, weights)
    expected = [quadratic_forms(form, None)[0] for form in mixed]
    np.testing.assert_allclose(statistics, expected, rtol=1e-4)


def test_kernels_of_ones_own_and_huge_entries_stay_alone():
    own = forms(kernels=[gs.Matern52(1.0), gs.Matern52(2.0), gs.IMQ(1.0, exponent=-0.3)])
    assert all(isinstance(bundle, Alone) for bundle in bundled(own)[0])
    x = np.random.default_rng(1).standard_normal((50, 2))
    features = compose(x, lambda x: -1e12 * x, gs.Euclidean(2)).features
    huge = [features.form(gs.Gaussian(width)) for width in (1.0, 2.0)]
    assert all(isinstance(bundle, Alone) for bundle in bundled(huge)[0])
    statistics, draws = joint_statistics(huge, OrthogonalSigns(1, 50, 20))
    assert np.isfinite(statistics).all() and np.isfinite(draws).all()


@pytest.mark.parametrize("workers", [2, 3, -1])
def test_threads_change_nothing(workers):
    members = forms(1200)
    weights = OrthogonalSigns(5, 1200, 100)
    one = joint_statistics(members, weights, workers=1)
    many = joint_statistics(members, weights, workers=workers)
    assert np.array_equal(one[0], many[0])
    assert np.array_equal(one[1], many[1])


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.name)
def test_parts_give_the_tile_of_every_operator(case):
    """Single precision, against the double-precision tile, relative to the largest entry there can be."""
    kernels = [gs.Gaussian(0.7), gs.Gaussian(1.4), gs.IMQ(0.9)]
    members = [case.features.form(kernel) for kernel in kernels]
    n = members[0].n
    out = np.empty((len(kernels), n, n), np.float32)
    shared = SharedForm(members)
    shared.fill(slice(0, n), slice(0, n), out)
    for k, form in enumerate(members):
        diagonal = form.diagonal()
        size = np.sqrt(np.outer(diagonal, diagonal))
        expected = np.triu(form.matrix(), k=1)
        assert np.max(np.abs(shared.scales[k] * out[k] - expected) / size) < 2e-6


class Flat:
    """A tile with constant P, Q and R."""

    unit = False

    def __init__(self, rho, p, q, r):
        self.distances, self.parts = rho, (p, q, r)

    def rho(self, scale=1.0, offset=0.0):
        return offset + scale * self.distances

    def combine(self, *weights, one=0.0):
        return np.full_like(self.distances, np.dot(weights, self.parts) + one)


def blocks_of(kernels, rho, p=1.0, q=0.0, r=0.0, unit=1.0):
    """What the kernels make of constant parts, (kernels, rows, columns), in double precision."""
    out = np.empty((len(kernels), rho.size), np.float32)
    kernels[0].stein_parts(kernels, Parts(Flat(rho, p, q, r), rho.shape, unit), out)
    scales = np.array([kernel.parts_scale(unit) for kernel in kernels])
    return scales[:, None, None] * out.reshape(len(kernels), *rho.shape).astype(float)


def test_exponentials_by_squaring_are_exponentials():
    rho = np.random.default_rng(1).exponential(size=(20, 30))
    rates = np.array([0.02, 0.01, 0.08, 0.16, 0.32, 0.5, 4.0, 4.0, 1.0])
    got = blocks_of([gs.Gaussian(np.sqrt(0.5 / rate)) for rate in rates], rho)
    np.testing.assert_allclose(got, np.exp(-rates[:, None, None] * rho), rtol=6e-6)


@pytest.mark.parametrize("unit", [1.0, 4.0, 1 / 16])
def test_constants_of_shared_parts_are_exact(unit):
    """Errors that are the same for all entries would not average out, so the mean error is what counts."""
    rho = np.random.default_rng(2).exponential(3.0, size=(300, 400))
    p, q, r = 0.7, -1.3, 2.1
    lengths = np.array([0.8, 1.1, 1.1 * np.sqrt(2), 3.7])[:, None, None]
    t = 1 + rho / lengths**2
    powers = {
        gs.IMQ: [t**-0.5, -0.5 / lengths**2 * t**-1.5, 0.75 / lengths**4 * t**-2.5],
        RationalQuadratic: [1 / t, -1 / lengths**2 / t**2, 2 / lengths**4 / t**3],
        gs.Gaussian: [(-0.5 / lengths**2) ** k * np.exp(-0.5 * rho / lengths**2) for k in range(3)],
    }
    for kind, (phi, slope, curvature) in powers.items():
        # A rational quadratic kernel with α = 1 has 2ℓ² where the others have ℓ².
        factor = np.sqrt(0.5) if kind is RationalQuadratic else 1.0
        kernels = [kind(factor * length) for length in lengths.ravel().tolist()]
        expected = p * phi + q * slope + r * curvature
        error = blocks_of(kernels, rho, p, q, r, unit) - expected
        size = np.abs(p * phi) + np.abs(q * slope) + np.abs(r * curvature)
        assert np.max(np.abs(error) / size) < 2e-6
        assert np.max(np.abs(error.mean(axis=(1, 2))) / size.mean(axis=(1, 2))) < 2e-7


def test_rates_that_double_are_exact_multiples():
    rates = [-0.3, -0.3 * (2.0 + 1e-9), -0.3 * 4.0, -1.3]
    found = {place: (rate, count) for place, rate, count in squarings(rates)}
    first = float(np.float32(-0.3))
    assert found[0] == (first, None)
    assert found[1] == (2 * first, 1)
    assert found[2] == (4 * first, 1)
    assert found[3] == (float(np.float32(-1.3)), None)


def test_order_and_kinds_of_kernels_change_nothing_but_roundings():
    """Members are put next to those of their kind; without that, kernels are made elsewhere and moved."""
    kernels = [gs.Gaussian(2.0), gs.IMQ(1.0), gs.Gaussian(1.0), RationalQuadratic(1.0), gs.IMQ(2.0)]
    members = forms(300, kernels=kernels)
    for scheme in (IndependentSigns, OrthogonalSigns):
        weights = scheme(5, 300, 64)
        together = joint_statistics(members, weights)
        for places in ([0, 2, 1, 4, 3], [4, 3, 2, 1, 0]):
            other = joint_statistics([members[place] for place in places], weights)
            np.testing.assert_allclose(other[0], together[0][places], rtol=1e-5)
            np.testing.assert_allclose(other[1], together[1][places], rtol=0, atol=1e-5 * together[1].std())
    shared = [
        SharedForm([members[place] for place in places]) for places in ([0, 1, 2, 3, 4], [0, 2, 1, 3, 4])
    ]
    rows, cols, (first, second) = slice(0, 200), slice(100, 300), np.empty((2, 5, 200, 200), np.float32)
    sums = shared[0].fill(rows, cols, first), shared[1].fill(rows, cols, second)
    np.testing.assert_allclose(second[[0, 2, 1, 3, 4]], first, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(sums[1][[0, 2, 1, 3, 4]], sums[0], rtol=1e-5)
