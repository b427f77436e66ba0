"""Near-linear tests against dense matrices, the exact test and each other; budgets; bad input."""

from __future__ import annotations

import numpy as np
import pytest

import goodstein as gs
from goodstein.engine import band, schemes, thin
from goodstein.engine.band import band_forms
from goodstein.engine.schemes import IndependentSigns, OrthogonalSigns
from goodstein.engine.signs import permutation
from goodstein.engine.thin import thin_forms
from goodstein.families import Dirichlet, Exponential, Ising, Normal, VonMisesFisher
from goodstein.nulls.approximate import Projected, inverse_root
from goodstein.pipeline import budget
from goodstein.pipeline.compose import compose
from goodstein.stein.forms import DenseForm

PLANE = Normal([0.1, 0.0])
X = Normal([0.0, 0.0]).sample(700, rng=3)
FAST = gs.WildBootstrap(99)
SCHEMES = [
    IndependentSigns(5, 700, 30),
    IndependentSigns(5, 700, 30, 0.1, (0, 300)),
    IndependentSigns(5, 700, 30, 0.0, (0, 100, 250, 530)),
    OrthogonalSigns(5, 700, 30),
]


def dense_signs(scheme):
    """All signs of all draws, (draws, n), by asking for one row at a time."""
    if isinstance(scheme, IndependentSigns):
        return scheme.signs.astype(float)
    order, patterns = scheme.order(), []
    for vector in scheme.signs:
        for row in schemes.hadamard(scheme.blocks):
            signs = np.empty(scheme.n)
            signs[order] = vector * np.repeat(row, np.diff(scheme.edges))
            patterns.append(signs)
    return np.array(patterns[: scheme.count])


@pytest.mark.parametrize("scheme", SCHEMES, ids=["iid", "chain", "batches", "orthogonal"])
@pytest.mark.parametrize("held", [True, False], ids=["held", "streamed"])
def test_draws_of_a_thin_factor_are_quadratic_forms(scheme, held, monkeypatch):
    if not held:
        monkeypatch.setattr(schemes, "MOST_HELD", 0)
        monkeypatch.setattr(thin, "STEP", 256)
    tau = np.random.default_rng(1).standard_normal((700, 4))
    matrix = tau @ tau.T
    np.fill_diagonal(matrix, 0.0)
    statistic, draws = thin_forms(tau.__getitem__, 700, scheme, workers=2)
    signs = dense_signs(scheme)
    assert statistic == pytest.approx(matrix.sum() / (700 * 699), rel=1e-10)
    np.testing.assert_allclose(draws, np.einsum("bi,ij,bj->b", signs, matrix, signs) / (700 * 699), rtol=1e-9)


def test_landmarks_project_the_stein_matrix():
    form = compose(X, PLANE).form
    h = form.matrix()
    chosen = np.array([3, 50, 51, 420, 699])
    expected = h[:, chosen] @ np.linalg.pinv(h[np.ix_(chosen, chosen)]) @ h[chosen]
    rows = Projected(form, chosen, inverse_root(form.take(chosen).matrix()))
    psi = np.concatenate([rows(slice(0, 400)), rows(np.arange(400, 700))])
    np.testing.assert_allclose(psi @ psi.T, expected, atol=1e-10 * np.abs(h).max())
    # Equal landmarks add nothing: the matrix has no inverse and needs none.
    twice = np.append(chosen, 3)
    same = Projected(form, twice, inverse_root(form.take(twice).matrix()))(slice(0, 700))
    np.testing.assert_allclose(same @ same.T, expected, atol=1e-8 * np.abs(h).max())


def test_one_long_feature_does_not_hide_the_others():
    h = np.diag([1e14, 1.0, 2.0, 0.0])
    h[1, 2] = h[2, 1] = 0.5
    root = inverse_root(h)
    np.testing.assert_allclose(h @ root @ root.T @ h, h, rtol=1e-12)
    assert root.shape == (4, 3)


@pytest.mark.parametrize("scheme", SCHEMES[:3], ids=["iid", "chain", "batches"])
def test_pairs_are_those_of_a_band_in_random_order(scheme):
    matrix = np.random.default_rng(2).standard_normal((700, 700))
    matrix = matrix @ matrix.T
    order, reach = permutation(9, 700), 37
    place = np.argsort(order)
    apart = np.abs(place[:, None] - place)
    kept = np.where((apart > 0) & (apart <= reach), matrix, 0.0)
    pairs = np.count_nonzero(kept)
    statistic, draws = band_forms(DenseForm(matrix), order, reach, scheme, workers=2)
    signs = scheme.signs.astype(float)
    if scheme.flip == 0.5:  # independent signs have no order, and go along that of the pairs
        signs = signs[:, place]
    assert pairs == 2 * (700 * reach - reach * (reach + 1) // 2)
    assert statistic == pytest.approx(kept.sum() / pairs, rel=1e-10)
    expected = np.einsum("bi,ij,bj->b", signs, kept, signs) / pairs
    np.testing.assert_allclose(draws, expected, atol=1e-5 * np.abs(expected).max())


SPINS = Ising(0.2 * (np.ones((3, 3)) - np.eye(3)))
CASES = {
    "plane": (X, PLANE),
    "simplex": (Dirichlet([1.0, 2.0, 2.0]).sample(60, rng=1), Dirichlet([1.0, 2.0, 3.0])),
    "sphere": (VonMisesFisher([0, 0, 1.0], 2.0).sample(60, rng=1), VonMisesFisher([0, 1.0, 0], 2.0)),
    "lattice": (SPINS.sample(60, rng=1), SPINS),
    "durations": (gs.Censored(np.linspace(0.1, 2.0, 50), np.arange(50) % 3 > 0), Exponential(1.0)),
}


@pytest.mark.filterwarnings("ignore::goodstein.CalibrationWarning")
@pytest.mark.parametrize("name", CASES)
def test_all_landmarks_and_all_pairs_are_the_exact_test(name):
    data, model = CASES[name]
    options = {"null": gs.WildBootstrap(99, signs="iid"), "rng": 1}
    exact = gs.ksd_test(data, model, **options)
    landmarks = gs.ksd_test(data, model, approximate=gs.Nystrom(10_000), **options)
    assert landmarks.pvalue == exact.pvalue
    assert landmarks.statistic == pytest.approx(exact.statistic, rel=1e-6)
    spread = exact.null_distribution.std()
    np.testing.assert_allclose(landmarks.null_distribution, exact.null_distribution, atol=1e-4 * spread)
    assert landmarks.v_statistic == pytest.approx(exact.v_statistic, rel=1e-6)
    pairs = gs.ksd_test(data, model, approximate=gs.Incomplete(10_000), **options)
    assert pairs.statistic == pytest.approx(exact.statistic, rel=1e-6)


@pytest.mark.parametrize("approximation", [gs.Nystrom(30), gs.Incomplete(20)])
def test_neither_workers_nor_tiles_count(approximation, monkeypatch):
    options = {"null": FAST, "rng": 1, "approximate": approximation}
    one = gs.ksd_test(X, PLANE, workers=1, **options)
    monkeypatch.setattr(thin, "STEP", 256)
    monkeypatch.setattr(band, "PART", 100)
    monkeypatch.setattr(band, "WIDTH", 64)
    two = gs.ksd_test(X, PLANE, workers=2, **options)
    assert one.pvalue == two.pvalue
    assert one.statistic == pytest.approx(two.statistic, rel=1e-10)
    again = gs.ksd_test(X, PLANE, workers=1, **options)
    assert (again.null_distribution == two.null_distribution).all()


def test_landmarks_are_made_for_few_rows_at_a_time(monkeypatch):
    asked = []
    original = Projected.__call__

    def spied(self, index):
        asked.append(index.stop - index.start if isinstance(index, slice) else len(index))
        return original(self, index)

    monkeypatch.setattr(Projected, "__call__", spied)
    x = Normal([0.0, 0.0]).sample(5000, rng=1)
    result = gs.ksd_test(x, PLANE, approximate=gs.Nystrom(), null=FAST, rng=1)
    assert sum(asked) == 5000 and max(asked) <= thin.STEP
    assert result.details["approximation"] == "283 landmarks (Nyström)"
    assert result.title.endswith("approximate") and "283 landmarks" in result.statistic_name
    assert result.pvalue == 0.01


def test_dependent_rows_are_allowed_for():
    steps = np.random.default_rng(4).standard_normal(600)
    x = np.empty(600)
    x[0] = steps[0]
    for i in range(1, 600):
        x[i] = 0.9 * x[i - 1] + np.sqrt(1 - 0.81) * steps[i]
    for approximation in (gs.Nystrom(40), gs.Incomplete(100)):
        with pytest.warns(gs.CalibrationWarning, match="depend on each other"):
            found = gs.ksd_test(x, Normal(0, 1), approximate=approximation, rng=1)
        blind = gs.ksd_test(
            x, Normal(0, 1), approximate=approximation, null=gs.WildBootstrap(flip=0.5), rng=1
        )
        assert np.std(found.null_distribution) > 2 * np.std(blind.null_distribution)
        assert found.pvalue > 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"approximate": 100}, r"`approximate` must be Nystrom\(\), Incomplete\(\) or None, got 100"),
        (
            {"approximate": gs.Nystrom(), "null": gs.MonteCarlo(9)},
            "`null` must be a WildBootstrap where the st",
        ),
        ({"approximate": gs.Nystrom(), "operator": gs.Moments(1)}, "exact test is linear in n already"),
        ({"approximate": gs.Nystrom(), "tolerance": 0.1}, "exclude each other"),
        ({"budget": "1 min", "tolerance": 0.1}, "exclude each other"),
        ({"budget": "1 min", "null": gs.MonteCarlo(9)}, "`budget` is for tests by random signs"),
        ({"budget": "a minute"}, "`budget` must be a positive number of seconds, or a text such as '30 s'"),
        ({"budget": "0 s"}, "`budget` must be a positive number of seconds"),
        ({"budget": -1.0}, "`budget` must be a positive number of seconds"),
        ({"budget": "1min 5 s"}, "`budget` must be"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(X, PLANE, rng=1, **options)


@pytest.mark.parametrize("choice", [gs.Nystrom(), gs.Incomplete()])
def test_a_model_that_was_fitted_to_the_data_is_refused(choice):
    with pytest.raises(gs.InputError, match=r"does not take account of a fit.*gs\.split"):
        gs.ksd_test(X, Normal.fit(X), approximate=choice, rng=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.Nystrom(1), "`landmarks` of Nystrom must be an integer of at least 2"),
        (lambda: gs.Nystrom("all"), "`landmarks` of Nystrom"),
        (lambda: gs.Incomplete(0), "`pairs` of Incomplete must be an integer of at least 1"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(gs.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "expected"), [("30 s", 30.0), ("1.5 min", 90.0), ("2h", 7200.0), (5, 5.0), (0.5, 0.5)]
)
def test_times_are_read(text, expected):
    assert budget.seconds(text) == expected


def test_a_budget_takes_the_strongest_test_that_fits(monkeypatch):
    # A microsecond for each entry with its draws, a nanosecond for one alone and for a product.
    monkeypatch.setattr(budget, "_measured", lambda *_: (1e-6, 1e-9, 1e-9))
    exact = gs.ksd_test(X, PLANE, budget=10.0, workers=1, null=FAST, rng=1)
    assert exact.pvalue == gs.ksd_test(X, PLANE, workers=1, null=FAST, rng=1).pvalue
    assert exact.details["budget"] == "exact: estimated at 0.2 s" and not exact.notes
    monkeypatch.setattr(budget, "_measured", lambda *_: (1.0, 1e-9, 1e-9))
    found = gs.ksd_test(X, PLANE, budget=100.0, workers=1, null=FAST, rng=1)
    assert found.details["budget"].startswith("Nystrom(500): estimated at ")
    assert found.details["budget"].endswith("the exact test at 70 h")
    assert "does not fit in the budget" in found.notes[0] and "Nystrom(landmarks=500)" in found.notes[0]
    named = gs.ksd_test(X, PLANE, approximate=gs.Nystrom(500), workers=1, null=FAST, rng=1)
    assert named.pvalue == found.pvalue and named.statistic == found.statistic
    monkeypatch.setattr(budget, "_measured", lambda *_: (1.0, 1.0, 1.0))
    late = gs.ksd_test(X, PLANE, budget=100.0, workers=1, null=FAST, rng=1)
    assert late.details["budget"].startswith("Nystrom(125)") and "No choice fits" in late.details["budget"]
    with pytest.raises(gs.InputError, match=r"`budget` is too short for the exact test.*gs\.split"):
        gs.ksd_test(X, Normal.fit(X), budget=1.0, rng=1)


def test_what_is_linear_by_itself_stays_exact():
    found = gs.ksd_test(X, PLANE, operator=gs.Moments(1), budget=1e-3, null=FAST, rng=1)
    assert found.details["budget"] == "exact: linear in the number of rows by itself"


def test_estimates_come_from_a_small_part():
    form = compose(X, PLANE).form
    times = budget._measured(form, OrthogonalSigns, 99)
    assert len(times) == 3 and min(times) > 0.0
