"""The diagnosis of auxiliary functions: against quadrature, closed forms and the audit."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss

import goodstein as gs
from goodstein.auxiliary import Unit

NORMAL = gs.families.Normal


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def quadrature(mean: float, variance: float, ratio: bool) -> tuple[float, float]:
    """E_p[g·s] and KSD²/σ for p = N(mean, variance), q = N(0, 1), Gaussian kernel of bandwidth 1.

    The Stein kernel is differentiated by hand: h = ∂_x∂_y[q(x)g(x) k q(y)g(y)]/(q(x)q(y)).
    """
    nodes, weights = leggauss(300)
    x, w = 10.0 * nodes, 10.0 * weights
    p = np.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    log_slope = -x + (x - mean) / variance
    g = np.exp(-(x**2) / 2 + (x - mean) ** 2 / (2 * variance)) if ratio else np.ones_like(x)
    dg = g * log_slope if ratio else np.zeros_like(x)
    b = -x * g + dg
    r = x[:, None] - x
    k = np.exp(-(r**2) / 2)
    # ∂_x k = −rk, ∂_y k = rk, ∂_x∂_y k = (1 − r²)k.
    h = k * (np.outer(b, b) + r * np.outer(b, g) - r * np.outer(g, b) + (1 - r**2) * np.outer(g, g))
    inner = h @ (w * p)
    ksd = float(inner @ (w * p))
    sigma = 2.0 * math.sqrt(float(inner**2 @ (w * p)) - ksd**2)
    return float((-x * g) @ (w * p)), ksd / sigma


CASES = [
    # The two examples of the documentation, and what had been found by simulation before.
    (0.0, 1.6, False, 0.0, 0.1315, 0.135),
    (0.0, 1.6, True, 0.0, 0.1012, 0.104),
    (0.5, 1.0, False, -0.5, 0.2274, 0.224),
    (0.5, 1.0, True, 0.0, 0.2273, 0.221),
]


def _g(mean: float, variance: float, ratio: bool):
    if not ratio:
        return Unit()

    def value(x):
        return np.exp(-(x[:, 0] ** 2) / 2 + (x[:, 0] - mean) ** 2 / (2 * variance))

    return gs.Auxiliary(value, lambda x: value(x)[:, None] * (-x + (x - mean) / variance))


@pytest.mark.parametrize(("mean", "variance", "ratio", "condition", "criterion", "simulated"), CASES)
def test_the_condition_of_the_paper_is_not_one_of_optimality(
    mean, variance, ratio, condition, criterion, simulated
):
    """E_p[g·s] = 0 for g = 1 and q/p, of which one is worse; and g = 1 violates it, yet ties."""
    exact_condition, exact = quadrature(mean, variance, ratio)
    assert exact_condition == pytest.approx(condition, abs=1e-9)
    assert exact == pytest.approx(criterion, abs=5e-5)
    assert exact == pytest.approx(simulated, abs=0.007)
    # A stratified sample: the law of p without most of its noise.
    levels = (np.arange(2000) + 0.5) / 2000
    from scipy.stats import norm

    x = norm(mean, math.sqrt(variance)).ppf(levels)
    report = gs.diagnose_auxiliary(x, NORMAL(), _g(mean, variance, ratio), kernel=gs.Gaussian(1.0))
    (row,) = report.rows
    assert row.mean_gs[0] == pytest.approx(condition, abs=2e-3)
    # U leaves out the diagonal, which for a stratified sample matters by one in n.
    assert row.criterion.value == pytest.approx(exact, rel=0.05)
    assert row.valid and row.faces == ()


def test_documentation_has_these_numbers():
    for mean, variance, ratio, *_ in CASES:
        assert f"{quadrature(mean, variance, ratio)[1]:.3f}"[1:] in gs.diagnose_auxiliary.__doc__


def test_means_and_their_errors():
    """g = x² in R²: E g·s = −E x_i|x|² and so on, from the moments of the data themselves."""
    x = rng().standard_normal((500, 2)) + np.array([0.3, 0.0])
    square = (x**2).sum(axis=1)
    bowl = gs.Auxiliary(lambda x: (x**2).sum(axis=1), lambda x: 2 * x)
    (row,) = gs.diagnose_auxiliary(x, NORMAL([0, 0]), bowl).rows
    np.testing.assert_allclose(row.mean_gs, (-x * square[:, None]).mean(axis=0), rtol=1e-10)
    spread = [np.std(-x[:, i] * square, ddof=1) / math.sqrt(500) for i in range(2)]
    np.testing.assert_allclose(row.mean_gs_error, spread, rtol=1e-10)
    assert row.mean_g == pytest.approx(square.mean())
    assert row.mean_g_error == pytest.approx(np.std(square, ddof=1) / math.sqrt(500))
    np.testing.assert_allclose(row.mean_b, (2 * x - x * square[:, None]).mean(axis=0), rtol=1e-10)


def test_mean_of_the_drift_vanishes_under_the_model_if_and_only_if_the_identity_holds():
    model = gs.families.Uniform(gs.Box(0, 1))
    x = model.sample(4000, rng=1)
    slanted = gs.Auxiliary(lambda x: x[:, 0], np.ones_like)
    report = gs.diagnose_auxiliary(x, model, {"own": gs.BoxProduct(), "x": slanted}, rng=1)
    own, other = report.rows
    assert own.valid and abs(own.mean_b[0]) < 4 * own.mean_b_error[0]
    # ∫(x)′dx = 1, the flux through x = 1.
    assert not other.valid and other.mean_b[0] == pytest.approx(1.0)
    assert {(e.face, round(e.weight, 2)) for e in other.faces} == {("x_1 = 0", 1.0), ("x_1 = 1", 0.0)}
    assert "NO" in str(report) and "does not vanish" in str(report)


def test_defaults_on_a_simplex_and_all_ways_to_read_the_report():
    model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    report = gs.diagnose_auxiliary(model.sample(100, rng=1), model, rng=1)
    valid = {row.name: row.valid for row in report.rows}
    assert valid == {
        "Unit()": False,
        "ProductOfParts(power=1.0)": True,
        "GeometricMean()": False,
        "BoundaryDistance()": True,
    }
    exponents = {row.name: {round(e.weight, 2) for e in row.faces} for row in report.rows}
    assert exponents["GeometricMean()"] == {0.33} and exponents["BoundaryDistance()"] == {1.0}
    assert {round(e.density, 2) for e in report.rows[0].faces} == {-0.5}
    text, page, record = str(report), report._repr_html_(), report.to_dict()
    assert "U/σ" in text and "no sign of power" in text and page.count("<tr>") == 5
    assert json.loads(json.dumps(record))["auxiliaries"][1]["valid"] is True
    assert [row["face"] for row in record["auxiliaries"][0]["faces"]] == ["x_1 = 0", "x_2 = 0", "x_3 = 0"]


def test_what_cannot_be_evaluated_is_said_not_raised():
    """Zeros: the score is infinite there, and b of the product of parts is not."""
    model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    x = np.vstack([model.sample(50, rng=1), [[0.0, 0.5, 0.5]]])
    rows = {row.name: row for row in gs.diagnose_auxiliary(x, model, rng=1).rows}
    assert rows["ProductOfParts(power=1.0)"].valid
    assert math.isfinite(rows["ProductOfParts(power=1.0)"].criterion.value)
    assert not rows["Unit()"].valid and math.isnan(rows["Unit()"].criterion.value)
    assert any("not finite" in problem for problem in rows["Unit()"].problems)


@pytest.mark.parametrize("domain", [gs.Box([0, 0], [1, 1]), gs.Ball(2), gs.Polygon([(0, 0), (1, 0), (0, 1)])])
def test_every_domain_has_a_valid_candidate(domain):
    model = gs.families.Uniform(domain)
    report = gs.diagnose_auxiliary(model.sample(60, rng=1), model, rng=1)
    assert report.rows[0].valid is False
    assert all(row.valid for row in report.rows[1:])


def test_many_coordinates_are_cut_in_print_only():
    report = gs.diagnose_auxiliary(rng().standard_normal((40, 9)), NORMAL(np.zeros(9)))
    assert "The first 6 of 9 coordinates are shown." in str(report)
    assert len(report.to_dict()["auxiliaries"][0]["mean_gs"]) == 9


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"auxiliaries": []}, "`auxiliaries` is empty"),
        ({"auxiliaries": [gs.Standardised()]}, "`auxiliaries` must be auxiliary functions"),
        ({"auxiliaries": gs.BallPower}, "`auxiliaries` must be auxiliary functions"),
        ({"auxiliaries": "distance"}, "`auxiliaries` must be auxiliary functions"),
        ({"domain": gs.Sphere(2)}, "none of them"),
        ({"kernel": 1.0}, "`kernel` must be a kernel"),
        ({"rng": "seed"}, "`rng` must be"),
    ],
)
def test_bad_input(options, told):
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    model = gs.families.UniformOnSphere(2) if "domain" in options else NORMAL([0, 0])
    with pytest.raises(gs.InputError, match=told):
        gs.diagnose_auxiliary(x, model, **options)
