"""What a test would have found, against what it finds."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy.stats import ncx2

import goodstein as gs
from goodstein.results.detectable import Move, detectable_square, smallest_moves

FAMILY = gs.families


def test_with_one_feature_the_discrepancy_is_found_as_often_as_the_noncentral_law_says():
    """n·U = λ(χ²₁(nδ²/λ) − 1): one eigenvalue, for which the bound on the variance is an equality."""
    n, eigenvalue = 400, 2.0
    draws = eigenvalue / n * (np.random.default_rng(1).chisquare(1, 200_000) - 1.0)
    critical = float(np.quantile(draws, 0.95))
    square = detectable_square(critical, float(draws.std()), 0.8)
    power = ncx2.sf(1.0 + n * critical / eigenvalue, 1, n * square / eigenvalue)
    assert 0.78 < power < 0.84


def test_with_many_features_it_is_conservative():
    n, m = 400, 30
    draws = (np.random.default_rng(1).chisquare(m, 200_000) - m) / n
    critical = float(np.quantile(draws, 0.95))
    square = detectable_square(critical, float(draws.std()), 0.8)
    assert ncx2.sf(m + n * critical, m, n * square) > 0.8


MODELS = {
    "normal": (FAMILY.Normal([0.0, 0.0]), "shift of column 1"),
    "gamma": (FAMILY.Gamma(2.0, 1.0), "change of scale of column 0"),
    "dirichlet": (FAMILY.Dirichlet([2.0, 3.0, 4.0]), "factor on part 1"),
    "angles": (FAMILY.VonMises(0.0, 2.0), "rotation of column 0"),
    "interval": (
        FAMILY.Truncated(FAMILY.Normal(0.5, 0.1), gs.Box(0.0, 1.0)),
        "factor on the odds of column 0",
    ),
}


def moved(name: str, x: np.ndarray, change: str, size: float) -> np.ndarray:
    """The change written out once more."""
    column = int(change[-1])
    y = x.copy()
    if name == "normal":
        y[:, column] += size * x[:, column].std()
    elif name == "gamma":
        y *= 1 + size
    elif name == "angles":
        y += size
    elif name == "dirichlet":
        y[:, column] *= 1 + size
        y /= y.sum(axis=1, keepdims=True)
    else:
        y = 1 / (1 + (1 / x - 1) / (1 + size))
    return y


@pytest.mark.parametrize("name", MODELS)
def test_a_detectable_move_is_found_in_about_four_of_five_samples(name):
    model, change = MODELS[name]
    report = gs.ksd_test(model.sample(150, rng=1), model, rng=1).detectable()
    (size,) = [move.size for move in report.moves if move.change == change]
    samples = [moved(name, model.sample(150, rng=100 + k), change, size) for k in range(60)]
    null = gs.WildBootstrap(199)
    power = np.mean([gs.ksd_test(y, model, null=null, rng=k).pvalue <= 0.05 for k, y in enumerate(samples)])
    assert power > 0.6  # 0.8, less four standard errors
    small = [moved(name, model.sample(150, rng=100 + k), change, size / 4) for k in range(30)]
    assert (
        np.mean([gs.ksd_test(y, model, null=null, rng=k).pvalue <= 0.05 for k, y in enumerate(small)]) < 0.5
    )


def test_a_detectable_change_of_all_times_is_found_in_about_four_of_five_samples():
    model = FAMILY.Exponential(1.0)

    def durations(seed, factor):
        """With one in three censored."""
        rng = np.random.default_rng(seed)
        t, c = rng.exponential(size=150), rng.exponential(2.0, size=150)
        return gs.Censored(factor * np.minimum(t, c), t <= c)

    (move,) = gs.ksd_test(durations(1, 1.0), model, rng=1).detectable().moves
    assert move.change == "change of scale of all times" and 0.1 < move.size < 0.8
    null = gs.WildBootstrap(199)
    for factor, low, high in ((1 + move.size, 0.6, 1.0), (1 + move.size / 4, 0.0, 0.5)):
        found = [gs.ksd_test(durations(k, factor), model, null=null, rng=k).pvalue for k in range(100, 160)]
        assert low < np.mean(np.array(found) <= 0.05) < high


def test_more_data_find_less():
    model = FAMILY.Normal(0.0, 1.0)
    few, many = (gs.ksd_test(model.sample(n, rng=1), model, rng=1).detectable() for n in (50, 800))
    assert few.ksd / many.ksd == pytest.approx(4.0, rel=0.15)
    assert few.moves[0].size / many.moves[0].size == pytest.approx(4.0, rel=0.3)


def test_the_search_finds_the_smallest_move_of_all_members():
    model = FAMILY.Normal([0.0, 0.0], [[1.0, 0.5], [0.5, 2.0]])
    result = gs.aggregated_test(model.sample(80, rng=1), model, null=gs.WildBootstrap(199), rng=1)
    squares = [detectable_square(member.critical, member.spread, 0.8) for member in result.members]
    alone = [smallest_moves([p], [s]) for p, s in zip(result.asked, squares, strict=True)]
    least = [min(move.size for move in moves) for moves in zip(*alone, strict=True)]
    found = result.detectable().moves
    assert [move.size for move in found] == pytest.approx(least, rel=0.03)
    assert [move.change for move in found] == [move.change for move in alone[0]]
    assert result.detectable(columns=1).moves == found[:2]
    assert found[2].kind == "shift of" and found[2].column == "column 1"
    with pytest.raises(gs.InputError, match="`columns`"):
        result.detectable(columns=0)


def test_a_collection_finds_what_its_best_member_finds():
    model = FAMILY.Normal([0.0] * 3)
    result = gs.aggregated_test(model.sample(100, rng=1), model, null=gs.WildBootstrap(199), rng=1)
    report = result.detectable()
    assert report.ksd is None and len(report.moves) == 6
    assert all(0.1 < move.size < 2.0 for move in report.moves)
    assert "shift of column 2" in str(report) and "standard deviations" in report._repr_html_()


def test_the_summary_has_a_line_of_it():
    x = FAMILY.Normal(0.0, 1.0).sample(50, rng=1)
    result = gs.ksd_test(x, FAMILY.Normal(0.0, 1.0), rng=1)
    assert f"a KSD of {result.detectable_ksd:.3g} in four of five samples" in result.summary()
    assert "four of five" not in gs.mmd_test(x, FAMILY.Normal(0.0, 1.0), rng=1).summary()
    with pytest.raises(gs.InputError, match=r"no Stein discrepancy for detectable\(\) to ask\. Use ksd_test"):
        gs.mmd_test(x, FAMILY.Normal(0.0, 1.0), rng=1).detectable()
    found = gs.fssd_test(x, FAMILY.Normal(0.0, 1.0), rng=1)
    assert f"an FSSD of {found.detectable_ksd:.3g} in four of five samples" in found.summary()
    assert "finite-set Stein discrepancy" in str(found.detectable())
    both = gs.aggregated_test(x, FAMILY.Normal(0.0, 1.0), null=gs.WildBootstrap(199), rng=1)
    assert "in a member that looks at" in both.summary() and "a KSD of" in both.summary()
    assert gs.ksd_test(x, lambda x: -x, null=gs.WildBootstrap(9), rng=1).detectable_ksd is None


def test_a_stored_result_says_that_it_holds_no_data():
    model = FAMILY.Normal([0.0] * 50)
    x = model.sample(500, rng=1)
    stored = pickle.dumps(gs.ksd_test(x, model, rng=1))
    assert len(stored) < x.nbytes / 4
    again = pickle.loads(stored)
    assert again.detectable_ksd > 0
    with pytest.raises(gs.InputError, match="before it is stored"):
        again.detectable()


def test_kinds_without_moves_have_the_discrepancy_alone():
    model = FAMILY.VonMisesFisher([0.0, 0.0, 1.0], 1.0)
    report = gs.ksd_test(model.sample(60, rng=1), model, rng=1).detectable()
    assert report.moves == () and report.ksd > 0


def test_a_move_that_was_not_found_says_so():
    assert Move("shift of column 0", math.inf, "standard deviations").words() == "none that was tried"


def test_moves_of_data_to_which_the_model_was_fitted_say_so():
    x = gs.families.Normal(0, 1).sample(80, rng=1)
    fitted = gs.ksd_test(x, gs.families.Normal.fit(x), rng=1)
    assert "a fit to moved data would follow them" in str(fitted.detectable())
    assert gs.ksd_test(x, gs.families.Normal(0, 1), rng=1).detectable().notes == ()


@pytest.mark.parametrize("test", [gs.ksd_test, gs.aggregated_test])
def test_moves_are_found_against_a_fixed_model_where_the_model_was_fitted(test):
    # The null distribution of a fitted model has no width where the fit follows, and shows nothing of moves.
    x = gs.families.Normal(0, 1).sample(200, rng=1)
    fit = gs.families.Normal.fit(x)
    fixed = gs.families.Normal(fit.mean + 1e-3, 1.001 * fit.cov)
    found = test(x, fit, null=gs.FittedWildBootstrap(499), rng=1).detectable()
    expected = test(x, fixed, null=gs.WildBootstrap(1999), rng=1).detectable()
    assert [move.change for move in found.moves] == [move.change for move in expected.moves]
    for move, other in zip(found.moves, expected.moves, strict=True):
        assert abs(np.log(move.size / other.size)) < 0.25
    # No test of 200 rows sees less of a shift than the best one does: (1.64 + 0.84)/√200.
    assert found.moves[0].size > 0.17


def test_moves_are_the_same_for_more_rows_than_are_asked(monkeypatch):
    x = gs.families.Normal(0, 1).sample(600, rng=1)
    result = gs.ksd_test(x, gs.families.Normal.fit(x), rng=1)
    whole = result.detectable().moves
    monkeypatch.setattr("goodstein.results.detectable.FIXED_ROWS", 200)
    for move, other in zip(result.detectable().moves, whole, strict=True):
        assert abs(np.log(move.size / other.size)) < 0.15
