"""What a test does by default depends neither on the units of coordinates nor, on R^d, on linear maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import goodstein as gs
from goodstein.kernels.frames import Frame, spread_frame
from goodstein.kernels.score_frame import score_frame, score_frames
from goodstein.pipeline.compose import compose
from goodstein.stein.features import SteinFeatures

N = 70
UNITS = np.array([1e-6, 1.0, 1e6])
SOME = gs.WildBootstrap(199)


@dataclass(frozen=True)
class Setting:
    """A model of three coordinates, in coordinates Ax."""

    domain: Callable[[Any], Any]
    score: Callable[[Any], Any]
    sample: Callable[[int, Any], Any]

    def model(self, linear: Any, scale: float = 1.0, sampler: bool = True) -> gs.Model:
        inverse = np.linalg.inv(linear)
        return gs.Model(
            score=lambda y: scale * self.score(y @ inverse.T) @ inverse,
            sample=(lambda n, rng: self.sample(n, rng) @ linear.T) if sampler else None,
            domain=self.domain(linear),
            batched=True,
        )

    def data(self, linear: Any, n: int = N) -> Any:
        return self.sample(n, np.random.default_rng(5)) @ linear.T


PRECISION = np.linalg.inv([[1.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 2.0]])


def normal(n, rng):
    return rng.standard_normal((n, 3)) @ np.linalg.cholesky(np.linalg.inv(PRECISION)).T


def mixed(n, rng):
    return np.column_stack([rng.gamma(2.0, size=n), rng.beta(2.0, 3.0, n), rng.standard_normal(n)])


def mixed_score(x):
    one, two, three = x.T
    return np.column_stack([1.0 / one - 1.0, 1.0 / two - 2.0 / (1.0 - two), -three])


def box(linear):
    unit = np.diag(linear)
    return gs.Box(unit * [0.0, 0.0, -np.inf], unit * [np.inf, 1.0, np.inf])


def beyond_a_face(linear):
    """{x₁ + x₂ > −40}, in other coordinates."""
    return gs.Polytope([-np.array([1.0, 1.0, 0.0]) @ np.linalg.inv(linear)], [40.0])


SETTINGS = {
    "R^3": Setting(lambda linear: gs.Euclidean(3), lambda x: -x @ PRECISION, normal),
    "box": Setting(box, mixed_score, mixed),
    "half-space": Setting(beyond_a_face, lambda x: -x @ PRECISION, normal),
}


def selected(x, model, *, rng):
    return gs.select(x, model, rng=rng).test(null=SOME, rng=rng)


DEFAULTS: dict[str, Callable[..., Any]] = {
    "ksd_test": partial(gs.ksd_test, null=SOME),
    "ksd_test, dilated": partial(gs.ksd_test, operator=gs.Dilation(), null=SOME),
    **{
        repr(view): partial(gs.ksd_test, operator=view, null=SOME)
        for view in (
            gs.Margin(1),
            gs.Pair(2, 0),
            gs.Moments(0),
            gs.Moments(1),
            gs.Moments(2),
            gs.DrawnMoments(1),
            gs.DrawnMargins(),
        )
    },
    "aggregated_test": partial(gs.aggregated_test, null=SOME),
    "regularised_test": partial(gs.regularised_test, null=SOME),
    "select": selected,
    "fssd_test": partial(gs.fssd_test, optimise=False),
    "mmd_test": partial(gs.mmd_test, n_resamples=99),
    "m3d_test": partial(gs.m3d_test, n_resamples=49),
}


@pytest.mark.filterwarnings("ignore:The features are so skewed")  # Moments(2), on a half-line
@pytest.mark.parametrize("test", DEFAULTS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_units_do_not_count(setting, test):
    case = SETTINGS[setting]
    one, other = (
        DEFAULTS[test](case.data(linear), case.model(linear), rng=3) for linear in (np.eye(3), np.diag(UNITS))
    )
    assert other.pvalue == one.pvalue
    # Up to a constant: the distance from a face is measured in the units of the coordinates.
    for each in (one, other):
        assert np.isfinite(each.statistic)
    shape = [each.null_distribution / each.statistic for each in (one, other)]
    np.testing.assert_allclose(shape[0], shape[1], rtol=1e-3, atol=1e-3 * np.abs(shape[0]).max())


def test_a_search_for_locations_forgets_the_units():
    case = SETTINGS["R^3"]
    one, other = (gs.fssd_test(case.data(a), case.model(a), rng=3) for a in (np.eye(3), np.diag(UNITS)))
    assert other.pvalue == pytest.approx(one.pvalue, abs=0.01)


@pytest.mark.parametrize(
    "test", ["ksd_test", "ksd_test, dilated", "aggregated_test", "regularised_test", "select"]
)
def test_linear_maps_do_not_count(test):
    case = SETTINGS["R^3"]
    linear = np.array([[1.0, 0.0, 0.0], [30.0, 3.0, 0.0], [0.5, 0.01, 0.02]])
    one, other = (
        DEFAULTS[test](1.1 * case.data(a, 600), case.model(a, sampler=False), rng=3)
        for a in (np.eye(3), linear)
    )
    assert other.pvalue == pytest.approx(one.pvalue, abs=1 / 200)
    # Moments are those about medians of columns, which move a little when these are mixed.
    assert other.statistic == pytest.approx(one.statistic, rel=0.05 if test == "aggregated_test" else 1e-5)


@pytest.mark.parametrize("setting", ["R^3", "box"])
def test_models_are_compared_in_any_units(setting):
    case = SETTINGS[setting]
    results = [
        gs.relative_ksd_test(case.data(a), *(case.model(a, by, sampler=False) for by in (2.0, 3.0)), rng=1)
        for a in (np.eye(3), np.diag(UNITS))
    ]
    assert results[1].pvalue == pytest.approx(results[0].pvalue, rel=1e-6)
    plain = np.eye(3)
    models = (case.model(plain, by, sampler=False) for by in (3.0, 2.0))
    swapped = gs.relative_ksd_test(case.data(plain), *models, rng=1)
    assert swapped.pvalue == pytest.approx(1.0 - results[0].pvalue, abs=1e-9)


def test_units_of_covariates_and_outcomes_do_not_count():
    rng = np.random.default_rng(0)
    x, noise = rng.standard_normal((60, 2)), rng.standard_normal((60, 2))

    def pvalue(a, b):
        model = gs.ConditionalModel(score=lambda y, z: -(y / b - z / a) / b)
        return gs.conditional_ksd_test(a * x, b * (x + noise), model, null=SOME, rng=1).pvalue

    one = np.ones(2)
    assert pvalue(np.array([1e-5, 1e4]), np.array([1e3, 1e-3])) == pvalue(one, one)


def test_a_kernel_that_is_named_is_left_as_it_is():
    case = SETTINGS["R^3"]
    x, model = case.data(np.eye(3)), case.model(np.eye(3))
    assert gs.ksd_test(x, model, kernel=gs.IMQ(), rng=1).kernel == gs.IMQ(gs.Median()(x))
    shown = repr(gs.ksd_test(x, model, rng=1).kernel)
    assert shown.startswith("Whitened(IMQ(") and shown.endswith("metric='score')")
    line = gs.ksd_test(x[:, 0], gs.families.Normal(), rng=1)
    assert isinstance(line.kernel, gs.IMQ)


# --- the metric, by its definition ---------------------------------------------------------------


def test_in_the_score_metric_the_matrix_is_that_of_mapped_data_and_model():
    case = SETTINGS["R^3"]
    x, s = case.data(np.eye(3), 200), case.score(case.data(np.eye(3), 200))
    got = gs.stein_matrix(x, case.model(np.eye(3)))
    root = np.linalg.cholesky(PRECISION)  # what a linear score says without noise; z = Lᵀx has the score L⁻¹s
    z, score = x @ root, np.linalg.solve(root, s.T).T
    expected = SteinFeatures(z, score).form(gs.IMQ().fitted(z)).matrix()
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


def test_on_a_box_every_coordinate_has_its_own_length_and_its_own_weight():
    """h = Σ_j (u_j/L_j)²(a_j + g_j∂_j)(a′_j + g′_j∂′_j) k(Ly, Ly′), with k differentiated by hand."""
    case = SETTINGS["box"]
    problem = compose(case.data(np.eye(3)), case.model(np.eye(3)))
    y, a, g = problem.features.points, problem.features.value, problem.features.weight
    unit = 1.0 / np.sqrt((g**2).mean(axis=0))
    share = 0.05 * np.sqrt(6.0) * N / ((1.0 + 1.65 * np.sqrt(2.0)) ** 2 + 10.0)
    length = np.sqrt(((a * unit) ** 2).mean(axis=0) - share * (a * unit).mean(axis=0) ** 2)
    kernel = problem.fitted_kernel
    np.testing.assert_allclose(kernel.linear_map, length, rtol=1e-12)
    width2 = kernel.plain.bandwidth**2
    r = (y[:, None] - y) * length
    base = 1.0 + (r**2).sum(axis=2) / width2
    k, slope, bend = base**-0.5, -0.5 / width2 * base**-1.5, 0.75 / width2**2 * base**-2.5
    expected = np.zeros((N, N))
    for j in range(3):
        forward = 2.0 * slope * r[..., j] * length[j]  # ∂_j k, and −∂′_j k
        twice = -(4.0 * bend * r[..., j] ** 2 + 2.0 * slope) * length[j] ** 2
        aj, gj = a[:, j], g[:, j]
        part = np.outer(aj, aj) * k + np.outer(gj, gj) * twice
        part += np.outer(gj, aj) * forward - np.outer(aj, gj) * forward
        expected += (unit[j] / length[j]) ** 2 * part
    np.testing.assert_allclose(problem.form.matrix(), expected, rtol=1e-9, atol=1e-11)


def test_noise_is_not_taken_for_correlation_and_correlation_not_for_noise():
    rng = np.random.default_rng(1)
    n, m = 100, 20
    value = rng.standard_normal((n, m))
    assert score_frame(value, value, None).linear_map.shape == (m,)
    value[:, 1] = value[:, 0] + 0.05 * value[:, 1]
    linear = score_frame(value, value, None).linear_map
    whitened = np.linalg.solve(linear, value.T)[:2]
    assert abs(np.corrcoef(whitened)[0, 1]) < 0.3


@pytest.mark.parametrize("n", [2, 5, 20])
def test_fewer_rows_than_coordinates(n):
    x = np.random.default_rng(2).standard_normal((n, 20)) * np.geomspace(1e-6, 1e6, 20)
    frame = score_frame(x, -x / np.geomspace(1e-6, 1e6, 20) ** 2, None)
    assert np.isfinite(frame.coordinates(x)).all() and (frame.linear_map > 0).any()


def test_coordinates_in_which_nothing_is_seen_have_the_unit_of_the_points():
    x = np.random.default_rng(3).standard_normal((300, 3)) * [1.0, 1e5, 1.0]
    value = -x * [1.0, 0.0, 1.0]
    frame = score_frame(x, value, None)
    assert 0.1 < np.abs(frame.coordinates(x)[:, 1]).max() < 100.0
    np.testing.assert_allclose(spread_frame(np.ones((4, 2))).linear_map, 1.0)
    value[:, 2] = value[:, 0]  # the scores of two coordinates are equal
    frame = score_frame(x, value, None)
    assert np.isfinite(frame.values(value)).all()


def test_a_frame_keeps_weights_in_few_numbers():
    rng = np.random.default_rng(4)
    linear, g = np.tril(rng.standard_normal((3, 3))) + 2 * np.eye(3), rng.random((5, 3))
    frame = Frame(linear)
    assert frame.weights(None) is None
    np.testing.assert_array_equal(frame.weights(g[:, 0]), g[:, 0])
    full = linear.T @ (g[:, :, None] * np.eye(3)) @ np.linalg.inv(linear).T
    np.testing.assert_allclose(frame.weights(g), full, atol=1e-12)
    assert Frame(np.diag(linear)).weights(g).ndim == 2
    block = linear.copy()
    block[2, :2] = 0.0
    g[:, 1] = g[:, 0]
    np.testing.assert_allclose(Frame(block).weights(g), g)
    np.testing.assert_allclose(frame.back(frame.coordinates(g)), g)


def unusual(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Points, values and weights of four samples, one or all of which need a way of their own."""
    points = rng.normal(size=(4, 30, 3)) @ np.array([[1.0, 0.9, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 5.0]])
    value, weight = -points + rng.normal(size=points.shape), None
    if kind == "a slip":
        value[1, 3] = 1e12
    elif kind == "a blind coordinate":
        value[2, :, 0] = 0.0
    elif kind == "columns alike":
        points[3, :, 1] = points[3, :, 0]
        value[3, :, 1] = value[3, :, 0]
    elif kind == "a constant weight":
        weight = rng.uniform(0.5, 1.0, size=(4, 30))
        weight[1] = 2.0
    elif kind == "few constant weights":
        weight = rng.uniform(0.5, 1.0, size=(4, 30, 3))
        weight[:, :, 0] = 2.0
        weight[1, :, 1] = 3.0
    elif kind == "weights":
        weight = rng.uniform(0.5, 1.0, size=(4, 30))
    elif kind == "few rows":
        points, value = points[:, :8], value[:, :8]
    return points, value, weight


KINDS = ["usual", "a slip", "a blind coordinate", "columns alike", "weights", "few rows"]


@pytest.mark.parametrize("kind", [*KINDS, "a constant weight", "few constant weights"])
def test_frames_of_several_samples_are_those_of_each(kind):
    points, value, weight = unusual(kind, np.random.default_rng(1))
    found = score_frames(points, value, weight)
    for k, frame in enumerate(found):
        alone = score_frame(points[k], value[k], None if weight is None else weight[k])
        scale = np.abs(alone.linear_map).max()
        assert frame.linear_map == pytest.approx(alone.linear_map, rel=1e-9, abs=1e-9 * scale)
        assert np.asarray(frame.unit) == pytest.approx(alone.unit, rel=1e-12)
