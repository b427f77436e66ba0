"""How wrong a model is: shares that it cannot explain, tests that tolerate some, and equivalence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.stats as st

import goodstein as gs
from goodstein.pipeline.compose import compose
from goodstein.results.bound import bounded, largest_feature
from goodstein.tests_of_fit.equivalence import noisiest
from levels import check_level

FAMILY = gs.families
LINE = FAMILY.Normal(0.0, 1.0)
QUICK = gs.WildBootstrap(199)


def contaminated(n: int, share: float, at: float, seed: int) -> np.ndarray:
    x = LINE.sample(n, rng=seed)
    x[np.random.default_rng(seed).permutation(n)[: round(share * n)]] = at
    return x


# --- how much one observation can count -------------------------------------------------------


def test_the_largest_feature_on_the_line_is_that_of_the_formula():
    """h(x, x) = (ws + w′)² + w²/ℓ² for IMQ, on a fine grid."""
    operator = gs.Standardised(gs.Decaying(centre=(0.0,), scale=(1.0,)))
    problem = compose(LINE.sample(50, rng=1), LINE, operator=operator, kernel=gs.IMQ(1.0))
    x = np.linspace(-40, 40, 400_001)
    w = 1 / (1 + x**2 / 4)
    slope = -x / 2 * w**2
    expected = np.sqrt(((slope - w * x) ** 2 + w**2).max())
    assert largest_feature(problem) == pytest.approx(expected, rel=1e-4)


BOUNDED = {
    "line": (LINE, gs.Standardised),
    "five dimensions": (FAMILY.Normal(np.zeros(5)), gs.Standardised),
    "student": (FAMILY.StudentT(3.0, 0.0, 1.0), gs.Langevin),
    "gamma": (FAMILY.Gamma(2.0, 1.0), gs.Standardised),
    "half-normal": (FAMILY.Truncated(LINE, gs.Box(0.0, np.inf)), gs.Standardised),
    "box": (FAMILY.Truncated(FAMILY.Normal([0.0, 0.0]), gs.Box([0, 0], [1, 1])), gs.Standardised),
    "ball": (FAMILY.Truncated(FAMILY.Normal([0.0, 0.0]), gs.Ball(2)), gs.Standardised),
    "dirichlet": (FAMILY.Dirichlet([0.5, 0.5, 0.5]), gs.LogRatio),
    "circle": (FAMILY.VonMises(0.0, 2.0), gs.Coordinate),
    "sphere": (FAMILY.VonMisesFisher([0.0, 0.0, 1.0], 2.0), gs.SecondOrder),
    "spins": (FAMILY.Ising(0.3 * (np.eye(6, k=1) + np.eye(6, k=-1))), gs.Difference),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_no_draw_of_anything_has_a_larger_feature(name):
    model, operator = BOUNDED[name]
    used, bound = bounded(compose(model.sample(100, rng=1), model))
    assert type(used.fitted_operator) is operator
    rng = np.random.default_rng(2)
    if name == "spins":
        others = [used.domain.states()]
    else:
        spread = model.sample(2000, rng=3)
        others = [spread, used.domain.retracted(spread + 3 * rng.standard_normal(spread.shape))]
    for x in others:
        x = x[used.domain.contains(x)]
        features = used.fitted_operator.features(used.model, used.domain, x)
        assert np.sqrt(features.form(used.fitted_kernel).diagonal().max(initial=0.0)) <= 1.005 * bound


def test_durations_count_by_their_share_and_event():
    """On the scale of u: h = δ(1−u)²/ℓ² − … is largest at the shortest durations with an event."""
    data = gs.Censored(FAMILY.Exponential(1.0).sample(80, rng=1)[:, 0], np.ones(80, bool))
    problem = compose(data, FAMILY.Exponential(1.0), kernel=gs.Gaussian(0.5))
    u = np.linspace(0, 1, 20_001)
    k = np.exp(-(u**2) / 0.5)
    # ⟨ξ, ξ⟩ for ξω = (1−u) ω′(u) − ω(u) + ω(0), with k = exp(−(u−v)²/2ℓ²), ℓ = ½.
    own = (1 - u) ** 2 / 0.25 + 2 - 2 * k + 2 * (1 - u) * (-u / 0.25) * k
    assert largest_feature(problem) == pytest.approx(np.sqrt(own.max()), rel=1e-3)


@pytest.mark.parametrize("model", [st.gumbel_l(), FAMILY.LogNormal(0.0, 1.0)])
def test_where_there_is_no_limit_it_is_refused(model):
    x = gs.as_model(model).sample(100, np.random.default_rng(1))
    with pytest.raises(gs.InputError, match="without limit"):
        gs.ksd_test(x, model, rng=1).tolerance()


# --- the weight -------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [gs.Euclidean(2), gs.Box([0.0, -np.inf], [np.inf, 1.0])])
def test_the_weight_has_the_derivatives_that_differences_have(domain):
    x = np.random.default_rng(1).uniform(0.1, 0.8, (6, 2))
    auxiliary = gs.Decaying(power=1.5).fitted(x, domain)
    g, dg = auxiliary.evaluate(x, domain)
    for j in range(2):
        step = np.zeros(2)
        step[j] = 1e-6
        up, down = (auxiliary.evaluate(x + sign * step, domain)[0] for sign in (1, -1))
        change = (up - down) / 2e-6
        assert (change if g.ndim == 1 else change[:, j]) == pytest.approx(dg[:, j], rel=1e-5)


def test_the_weight_keeps_steins_identity():
    """E h(X, y) = 0, by quadrature."""
    x, weights = np.polynomial.hermite_e.hermegauss(120)
    operator = gs.Standardised(gs.Decaying(centre=(0.0,), scale=(1.0,)))
    h = gs.stein_matrix(x, LINE, operator=operator, kernel=gs.IMQ(1.0))
    assert np.abs(weights @ h / weights.sum())[np.abs(x) < 3].max() < 1e-3 * np.sqrt(h.max())


def test_the_weight_does_not_depend_on_the_units():
    x = FAMILY.Normal([0.0, 0.0]).sample(60, rng=1)
    units = np.array([1.0, 1e4])
    g = gs.Decaying().fitted(x, gs.Euclidean(2)).evaluate(x, gs.Euclidean(2))[0]
    other = gs.Decaying().fitted(x * units, gs.Euclidean(2)).evaluate(x * units, gs.Euclidean(2))[0]
    assert other == pytest.approx(g)


@pytest.mark.parametrize("options", [{"power": 0.0}, {"scale": (0.0,)}, {"centre": (np.nan,)}])
def test_bad_weights_are_refused(options):
    with pytest.raises(gs.InputError):
        gs.Decaying(**options)


# --- tolerance --------------------------------------------------------------------------------


def test_the_share_is_that_of_the_definition():
    x = contaminated(150, 0.3, 3.0, 1)
    found = gs.ksd_test(x, LINE, null=QUICK, rng=1).tolerance(rng=5)
    h = gs.stein_matrix(x, LINE, operator=found.operator, kernel=found.kernel)
    assert found.ksd == pytest.approx(np.sqrt(h.mean()))
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(4000, 150))
    draws = np.sqrt(np.einsum("bi,ij,bj->b", signs, h, signs)) / 150
    assert found.noise == pytest.approx(np.quantile(draws, 0.95), rel=0.1)
    assert found.share == pytest.approx((found.ksd - found.noise) / found.largest)
    assert "cannot explain at least" in str(found) and "confidence" in found._repr_html_()


def test_a_share_is_seldom_above_the_truth_and_grows_with_it():
    shares = {}
    for truth in (0.0, 0.1, 0.3):
        results = [gs.ksd_test(contaminated(200, truth, 1.5, k), LINE, null=QUICK, rng=k) for k in range(8)]
        found = np.array([result.tolerance().share for result in results])
        assert np.sum(found > truth) <= 3  # of eight, for five per cent or less
        shares[truth] = found.mean()
    assert shares[0.0] < 0.01 < shares[0.1] < shares[0.3]


def test_the_tolerant_test_rejects_where_the_share_exceeds_the_tolerance():
    x = contaminated(300, 0.2, 3.0, 1)
    share = gs.ksd_test(x, LINE, tolerance=0.0, rng=1).details["share"]
    assert 0.02 < share < 0.2
    for tolerance, rejected in ((0.9 * share, True), (1.1 * share, False)):
        result = gs.ksd_test(x, LINE, tolerance=tolerance, rng=1)
        assert (result.pvalue <= 0.05) is rejected
    assert "of the population do not come from the model" in str(result)
    assert gs.ksd_test(x, LINE, tolerance=0.2, rng=1).pvalue > 0.5


def test_without_tolerance_it_is_the_usual_test_of_a_bounded_operator():
    x = FAMILY.StudentT(3.0, 0.0, 1.0).sample(80, rng=1)
    model = FAMILY.StudentT(3.0, 0.3, 1.0)
    assert gs.ksd_test(x, model, tolerance=0, rng=1).pvalue == gs.ksd_test(x, model, rng=1).pvalue


def test_a_tolerance_that_makes_no_sense_is_refused():
    x = LINE.sample(30, rng=1)
    for tolerance in (-0.1, 1.0, "some"):
        with pytest.raises(gs.InputError, match="tolerance"):
            gs.ksd_test(x, LINE, tolerance=tolerance, rng=1)
    with pytest.raises(gs.InputError, match="WildBootstrap"):
        gs.ksd_test(x, LINE, tolerance=0.1, null=gs.MonteCarlo(19), rng=1)
    stored = pickle.loads(pickle.dumps(gs.ksd_test(x, LINE, rng=1)))
    with pytest.raises(gs.InputError, match="before it is stored"):
        stored.tolerance()


# --- equivalence ------------------------------------------------------------------------------


def test_the_noisiest_direction_is_the_first_eigenvector(monkeypatch):
    form = compose(LINE.sample(120, rng=1), LINE).form
    h = form.matrix()
    values, vectors = np.linalg.eigh(h)
    exact = noisiest(form, np.random.default_rng(1))
    assert np.abs(exact) == pytest.approx(np.abs(np.sqrt(values[-1]) * vectors[:, -1]), abs=1e-8)
    monkeypatch.setattr("goodstein.tests_of_fit.equivalence.MOST", 60)
    some = noisiest(form, np.random.default_rng(1))
    # A unit vector too, so that its components have no larger mean square.
    assert 0.8 * (exact @ exact) < some @ some <= (exact @ exact) * (1 + 1e-9)


def test_equivalence_keeps_its_level_at_the_boundary():
    shifted = [LINE.sample(100, rng=k) + 0.4 for k in range(40)]
    pvalues = [
        gs.equivalence_test(x, LINE, shift=0.4, null=QUICK, rng=k).pvalue for k, x in enumerate(shifted)
    ]
    check_level(pvalues, 0.05, conservative=True)
    wrong = [contaminated(100, 0.2, 1.1, k) for k in range(40)]
    pvalues = [
        gs.equivalence_test(x, LINE, margin=0.2, null=QUICK, rng=k).pvalue for k, x in enumerate(wrong)
    ]
    check_level(pvalues, 0.05, conservative=True)


def test_a_model_that_is_nearly_right_is_good_enough_and_one_that_is_not_is_not():
    x = LINE.sample(800, rng=1)
    near, far = x - x.mean() + 0.1, x - x.mean() + 0.35
    assert gs.ksd_test(near, LINE, rng=1).pvalue <= 0.05
    result = gs.equivalence_test(near, LINE, shift=0.25, rng=1)
    assert result.pvalue <= 0.05 and "evidence that the discrepancy is smaller" in str(result)
    assert result.details["within, at level 0.05"] < 0.25
    assert gs.equivalence_test(far, LINE, shift=0.25, rng=1).pvalue > 0.5
    assert gs.equivalence_test(near, LINE, margin=0.2, rng=1).pvalue <= 0.05


def test_the_smallest_margin_is_where_the_pvalue_crosses():
    x = FAMILY.Dirichlet([2.0, 2.0, 2.0]).sample(150, rng=1)
    model = FAMILY.Dirichlet([2.0, 2.2, 2.0])
    within = gs.equivalence_test(x, model, margin=0.3, rng=1).details["within, at level 0.05"]
    assert gs.equivalence_test(x, model, margin=1.02 * within, rng=1).pvalue <= 0.05
    assert gs.equivalence_test(x, model, margin=0.98 * within, rng=1).pvalue > 0.05


def test_what_equivalence_asks_for():
    x = LINE.sample(30, rng=1)
    for options in ({}, {"margin": 0.1, "shift": 0.1}, {"margin": 1.5}, {"shift": 0.0}):
        with pytest.raises(gs.InputError):
            gs.equivalence_test(x, LINE, rng=1, **options)
    model = FAMILY.VonMises(0.0, 1.0)
    with pytest.raises(gs.InputError, match="margin"):
        gs.equivalence_test(model.sample(30, rng=1), model, shift=0.1, rng=1)
