"""The regularised Stein kernel against linear algebra of its definition; level; the trap; bad input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import goodstein as gs
from definitions import check_form
from goodstein.kernels import IMQ, Gaussian, Median
from goodstein.operators.regularised import Regularised
from goodstein.pipeline.compose import compose
from goodstein.stein.forms import LowRankForm
from levels import check_level, trials

Normal, Dirichlet = gs.families.Normal, gs.families.Dirichlet
NO_SAMPLER = gs.Model(score=lambda x: -x, batched=True, name="no sampler")


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def censored(n: int, seed: int = 1) -> gs.Censored:
    event, end = rng(seed).exponential(size=n), rng(seed + 1).exponential(7 / 3, size=n)
    return gs.Censored(np.minimum(event, end), event <= end)


BALL = gs.families.Truncated(Normal([0, 0]), gs.Ball(2))
CASES = {
    "Langevin": (rng().standard_normal((20, 2)), Normal([0, 0]), gs.Langevin()),
    "Standardised on a ball": (BALL.sample(20, rng=1), BALL, gs.Standardised()),
    "LogRatio": (Dirichlet([0.5, 1, 2]).sample(20, rng=1), Dirichlet([0.5, 1, 2]), gs.LogRatio()),
    "Martingale": (censored(20), gs.families.Exponential(1.0), gs.Martingale()),
}


def definition(h, reference, rest, strength):
    """λ⁻¹[h(x, y) − h(x, Z)(mλI + h(Z, Z))⁻¹h(Z, y)], entry by entry."""
    m = len(reference)
    lam = strength * sum(h[z, z] for z in reference) / m
    inverse = np.linalg.inv([[h[a, b] + (m * lam if a == b else 0.0) for b in reference] for a in reference])
    out = np.empty((len(rest), len(rest)))
    for i, x in enumerate(rest):
        for j, y in enumerate(rest):
            correction = sum(
                h[x, a] * inverse[p, q] * h[b, y]
                for p, a in enumerate(reference)
                for q, b in enumerate(reference)
            )
            out[i, j] = (h[x, y] - correction) / lam
    return out


# --- the kernel --------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [1.0, 0.02])
@pytest.mark.parametrize("name", CASES)
def test_split_is_the_definition(name, strength):
    data, model, inner = CASES[name]
    plain = gs.stein_matrix(data, model, operator=inner, kernel=IMQ())
    operator = Regularised(inner, strength, fraction=0.23, draws=0)
    features = compose(data, model, None, operator, IMQ(), seeds=(0, 0, 7)).features
    reference, rest = features.reference, features.rest
    assert len(reference) == 5  # ⌈0.23·20⌉
    assert sorted([*reference, *rest]) == list(range(20))
    got = compose(data, model, None, operator, IMQ(), seeds=(0, 0, 7)).form.matrix()
    np.testing.assert_allclose(got, definition(plain, reference, rest, strength), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in CASES if name != "Martingale"])
def test_draws_are_the_definition(name):
    """The sampler returns known points; all data are tested."""
    data, family, inner = CASES[name]
    drawn = family.sample(7, rng=5)
    model = gs.Model(score=family.score, sample=lambda n, rng: drawn[:n], domain=family.domain, batched=True)
    model.trusted = True  # its draws are meant to be the same
    plain = gs.stein_matrix(np.vstack([data, drawn]), model, operator=inner, kernel=Gaussian(0.9))
    got = gs.stein_matrix(data, model, operator=Regularised(inner, 0.1, draws=7), kernel=Gaussian(0.9))
    want = definition(plain, range(20, 27), range(20), 0.1)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


@dataclass(frozen=True)
class _Known:
    """An operator with finitely many features, given by a function."""

    def features(self, model, domain, data):
        return _KnownFeatures(np.column_stack([data, data**2 - 1, data**3 - 3 * data, np.sin(data)]), data)


@dataclass(frozen=True)
class _KnownFeatures:
    tau: np.ndarray
    points: np.ndarray

    def form(self, kernel):
        return LowRankForm(self.tau)


@pytest.mark.parametrize("fraction", [0.3, None])
def test_finite_features_are_divided_by_their_covariance(fraction):
    """h_λ(x, y) = τ(x)ᵀ(C + λ)⁻¹τ(y), with the 4 × 4 covariance itself."""
    x = rng().standard_normal((30, 1))
    operator = Regularised(_Known(), 0.05, fraction, draws=0)
    problem = compose(x, NO_SAMPLER, gs.Euclidean(1), operator, IMQ(1.0), seeds=(0, 0, 3))
    tau = _Known().features(None, None, x).tau
    z = tau[problem.features.reference]
    covariance = z.T @ z / len(z)
    inverse = np.linalg.inv(covariance + 0.05 * np.trace(covariance) * np.eye(4))
    rest = tau[problem.features.rest]
    np.testing.assert_allclose(problem.form.matrix(), rest @ inverse @ rest.T, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_all_data_filter_the_spectrum(name):
    """Every eigenvalue μ of H becomes n·μ/(μ + nλ); their sum is at most n times 1/strength."""
    data, model, inner = CASES[name]
    plain = gs.stein_matrix(data, model, operator=inner, kernel=IMQ())
    got = gs.stein_matrix(data, model, operator=Regularised(inner, 0.1, fraction=None), kernel=IMQ())
    mu, v = np.linalg.eigh(plain)
    filtered = 20 * mu / (mu + 0.1 * np.trace(plain))
    np.testing.assert_allclose(got, (v * filtered) @ v.T, rtol=1e-9, atol=1e-10)
    assert np.trace(got) / 20 <= 1 / 0.1


def test_stein_identity_given_the_reference_points():
    """∫ h_λ(x, y) q(x) dx = 0 at every y, by Gauss–Hermite quadrature, whatever Z is."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(90)
    odd = np.array([[-2.0], [0.1], [0.2], [3.0]])  # nothing like draws from the model
    model = gs.Model(score=lambda x: -x, sample=lambda n, rng: odd[:n], domain=gs.Euclidean(1), batched=True)
    h = gs.stein_matrix(nodes, model, operator=Regularised(strength=0.01, draws=4), kernel=Gaussian(1.0))
    near = np.abs(nodes) < 5
    bound = weights @ np.abs(h)
    assert np.abs((weights @ h)[near] / bound[near]).max() < 1e-10


@pytest.mark.parametrize("fraction", [0.2, None])
@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1.0])
def test_positive_semidefinite_in_blocks(fraction, strength):
    x = rng().standard_normal((300, 2))
    operator = Regularised(strength=strength, fraction=fraction, draws=0)
    check_form(compose(x, Normal([0, 0]), None, operator, None, seeds=(0, 0, 1)).form)


# --- the test ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_large_strength_is_the_plain_test(name):
    data, model, inner = CASES[name]
    data = censored(60) if name == "Martingale" else data  # with fewer events there is a warning
    strong = Regularised(inner, 1e9, fraction=None)
    plain = gs.ksd_test(data, model, operator=inner, rng=5)
    got = gs.ksd_test(data, model, operator=strong, rng=5)
    assert got.pvalue == plain.pvalue
    if name != "Martingale":
        drawn = gs.ksd_test(data, model, operator=Regularised(inner, 1e9), kernel=plain.kernel, rng=5)
        assert drawn.pvalue == plain.pvalue


def test_invariance_under_units_and_the_scale_of_the_auxiliary_function():
    x = np.abs(rng().standard_normal((60, 1)))

    def half_normal(unit):
        return gs.Model(
            score=lambda y: -y / unit**2,
            sample=lambda n, rng: unit * np.abs(rng.standard_normal((n, 1))),
            domain=gs.Box(0, np.inf),
            batched=True,
        )

    def pvalue(unit=1.0, factor=1.0, **options):
        g = gs.Auxiliary(lambda y: factor * y[:, 0], lambda y: np.full((len(y), 1), factor))
        operator = Regularised(gs.Standardised(g), strength=0.05, **options)
        result = gs.ksd_test(unit * x, half_normal(unit), operator=operator, rng=2)
        return result.pvalue, result.statistic

    for options in ({}, {"draws": 0}):
        want = pvalue(**options)
        assert pvalue(factor=1e3, **options) == pytest.approx(want, rel=1e-9)
        assert pvalue(unit=1e-4, **options) == pytest.approx(want, rel=1e-9)


def test_result_counts_the_tested_rows():
    x, model = rng().standard_normal((500, 2)), Normal([0, 0])
    operator = Regularised(strength=0.05, draws=0)
    result = gs.ksd_test(x, model, operator=operator, rng=1)
    assert result.n == 400 and result.v_statistic > 0
    assert "Regularised(Langevin(), strength=0.05, draws=0)" in result.summary()


def test_seed_determines_split_and_draws():
    x, model = rng().standard_normal((60, 2)), Normal([0, 0])
    for operator in (Regularised(draws=0), Regularised()):
        one, same, other = (
            compose(x, model, None, operator, None, seeds=(0, 0, s)).form.matrix() for s in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, same)
        assert not np.allclose(one, other)


@pytest.mark.parametrize("null", [gs.Spectral(), gs.MonteCarlo(99)])
def test_other_null_distributions(null):
    x = Dirichlet([0.9, 0.5, 0.5]).sample(100, rng=1)
    for operator in (Regularised(), Regularised(draws=0)):
        assert gs.ksd_test(x, Dirichlet([0.5, 0.5, 0.5]), operator=operator, null=null, rng=1).pvalue < 0.05


def test_finds_what_the_plain_test_does_not():
    """Correlation in five dimensions, ten samples: directions of small variance."""
    model, plain, regularised = Normal(np.zeros(5)), [], []
    for seed in range(10):
        x = model.sample(200, rng=seed)
        x[:, 0] = 0.5 * x[:, 1] + np.sqrt(1 - 0.5**2) * x[:, 0]
        plain.append(gs.ksd_test(x, model, rng=seed).pvalue < 0.05)
        regularised.append(gs.regularised_test(x, model, rng=seed).pvalue < 0.05)
    assert sum(regularised) >= sum(plain) + 4


def test_audit_and_inner_operators():
    report = gs.audit(BALL, operator=Regularised(draws=0), rng=1)
    assert report.valid and "Stein's identity by simulation" in str(report)
    uniform = gs.families.Uniform(gs.Ball(2))
    assert not gs.audit(uniform, operator=Regularised(gs.Langevin()), rng=1).valid
    with pytest.raises(gs.SteinIdentityError, match="Stein's identity fails"):
        gs.ksd_test(uniform.sample(50, rng=1), uniform, operator=Regularised(gs.Langevin()), rng=1)
    skipped = [
        c for c in Regularised().conditions(Normal(), gs.Euclidean(1), None, rng()) if c.status == "skip"
    ]
    assert "depends on the number" in skipped[0].message
    latent = gs.families.ProbabilisticPCA([[1.0], [2.0]], variance=0.5)
    operator = Regularised(gs.Latent(draws=5))
    assert gs.ksd_test(latent.sample(40, rng=1), latent.latent(), operator=operator, rng=1).pvalue > 0.01


# --- level -------------------------------------------------------------------------------------


@trials(100, 300)
@pytest.mark.parametrize("options", [{"strength": 1 / 120}, {"strength": 0.03, "draws": 0}])
def test_level(options, trials):
    """At the least strength that is accepted, with draws and without."""
    model, options = Normal(), {"operator": Regularised(**options), "null": gs.WildBootstrap(199)}
    samples = (model.sample(60, rng=[trial, 4]) for trial in range(trials))
    check_level((gs.ksd_test(x, model, rng=k, **options).pvalue for k, x in enumerate(samples)), 0.05, 0.2)


@trials(50, 150)
def test_level_of_the_adaptive_test(trials):
    model, null = Dirichlet([0.5, 0.5, 0.5]), gs.WildBootstrap(199)
    samples = (model.sample(50, rng=[trial, 6]) for trial in range(trials))
    check_level(
        (gs.regularised_test(x, model, null=null, rng=k).pvalue for k, x in enumerate(samples)), 0.1, 0.2
    )


TRAP = Regularised(gs.Martingale(), strength=0.003, fraction=None)
SMALL = IMQ(Median(0.25))


def test_trap_all_data_and_random_signs():
    """Why the audit refuses: overruled, a true model is rejected three times too often and more."""
    model, null, count = gs.families.Exponential(1.0), gs.WildBootstrap(199), 0
    for trial in range(100):
        x = censored(80, seed=10 + 2 * trial)
        result = gs.ksd_test(x, model, operator=TRAP, kernel=SMALL, null=null, rng=trial, audit=False)
        count += result.pvalue <= 0.05
    assert count > 15
    assert not result.audit.valid and "overruled" in result.notes[0]


@pytest.mark.parametrize("null", [gs.WildBootstrap(), gs.Spectral()])
def test_trap_is_refused(null):
    with pytest.raises(
        gs.SteinIdentityError, match=r"fraction=0\.2\), null=MonteCarlo\(\), or a larger strength"
    ):
        gs.ksd_test(censored(80), gs.families.Exponential(1.0), operator=TRAP, kernel=SMALL, null=null, rng=1)
    with pytest.raises(gs.SteinIdentityError, match="Use null=MonteCarlo"):
        gs.ksd_test(
            rng().standard_normal(100), Normal(), operator=Regularised(strength=0.001), null=null, rng=1
        )


def test_trap_does_not_concern_simulated_null_distributions():
    model = gs.families.Exponential(1.0)
    result = gs.ksd_test(censored(80), model, operator=TRAP, kernel=SMALL, null=gs.MonteCarlo(99), rng=1)
    assert result.audit.valid and not result.notes and result.pvalue > 0.01
    x = rng().standard_normal(100)
    assert gs.ksd_test(
        x, Normal(), operator=Regularised(strength=0.001), null=gs.MonteCarlo(99), rng=1
    ).audit.valid


@pytest.mark.parametrize(
    ("operator", "n", "least"),
    [
        (Regularised(fraction=None), 100, 0.4),
        (Regularised(), 100, 1 / 200),
        (Regularised(), 1000, 1 / 500),
        (Regularised(draws=0), 100, 0.03),
        (Regularised(draws=0), 1000, 1 / 200),
    ],
)
def test_least_strength(operator, n, least):
    x = np.linspace(-1, 1, n)[:, None]
    model = gs.as_model(Normal())
    assert operator.least(model, x) == pytest.approx(least)

    def status(strength):
        checked = Regularised(None, strength, operator.fraction, operator.draws)
        check = checked.conditions(model, gs.Euclidean(1), x, rng())[-1]
        return check.status, check.asymptotic

    assert status(least) == ("pass", False)
    assert status(0.99 * least) == ("fail", True)


# --- the adaptive test -------------------------------------------------------------------------


def test_members_are_the_strengths():
    x, model = Dirichlet([0.8, 0.5, 0.5]).sample(150, rng=1), Dirichlet([0.5, 0.5, 0.5])
    result = gs.regularised_test(x, model, rng=1)
    strengths = [member.operator.strength for member in result.members]
    np.testing.assert_allclose(strengths, np.geomspace(1, 1 / 300, 5))
    assert {repr(member.operator.operator) for member in result.members} == {"LogRatio()"}
    assert result.pvalue <= 0.01 and "5 strengths" in result.summary()
    one = gs.regularised_test(x, model, strengths=[0.2], rng=1)
    alone = gs.ksd_test(x, model, operator=Regularised(gs.LogRatio(), 0.2), rng=1)
    assert one.members[0].statistic == pytest.approx(alone.statistic, rel=1e-6)
    assert one.members[0].pvalue == pytest.approx(alone.pvalue, abs=2e-3)


def test_durations_and_splits():
    result = gs.regularised_test(censored(100), gs.families.Exponential(1.0), rng=1)
    assert result.n == 80 and result.pvalue > 0.01
    assert repr(result.members[0].operator.operator) == repr(gs.Martingale())
    split = gs.regularised_test(rng().standard_normal((100, 2)), NO_SAMPLER, fraction=0.3, rng=1)
    assert split.n == 70


def test_all_data_with_a_simulated_null_distribution():
    x, null = rng().standard_normal(60), gs.MonteCarlo(39)
    result = gs.regularised_test(x, Normal(), fraction=None, strengths=None, null=null, rng=1)
    assert result.members[-1].operator.strength == pytest.approx(1 / 60)
    assert result.n == 60 and result.audit.valid


def test_all_data_with_random_signs_are_strongly_regularised():
    result = gs.regularised_test(rng().standard_normal(100), Normal(), fraction=None, rng=1)
    assert result.members[-1].operator.strength == pytest.approx(0.4)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 0}, "`strength` of Regularised must be a number of at least 1e-06, got 0"),
        ({"strength": np.inf}, "`strength` of Regularised"),
        ({"strength": "a"}, "`strength` of Regularised"),
        ({"fraction": 1.0}, "`fraction` of Regularised must be a number between 0 and 1, or None, got 1.0"),
        ({"fraction": True}, "`fraction` of Regularised"),
        ({"draws": -1}, "`draws` must be an integer of at least 0, got -1"),
        ({"draws": 10, "fraction": None}, "all data .* or 10 draws from the model, not both"),
        ({"operator": gs.Langevin}, "`operator` of Regularised must be the operator to regularise"),
        ({"operator": Regularised()}, "`operator` of Regularised must be the operator to regularise"),
        ({"operator": gs.ProportionalHazards()}, "counts who is at risk"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(gs.InputError, match=message):
        Regularised(**options)


def test_bad_data():
    x = rng().standard_normal((100, 2))
    with pytest.raises(gs.InputError, match=r"no sampler has no sampler\. Use draws=0"):
        gs.ksd_test(x, NO_SAMPLER, operator=Regularised(draws=10), rng=1)
    with pytest.raises(gs.InputError, match="the data are not points"):
        gs.ksd_test(
            censored(20), gs.families.Exponential(1.0), operator=Regularised(gs.Martingale(), draws=10), rng=1
        )
    with pytest.raises(gs.InputError, match="at most 2000 rows; here are 2001"):
        gs.ksd_test(np.linspace(-1, 1, 2001), Normal(), operator=Regularised(fraction=None), rng=1)
    with pytest.raises(gs.InputError, match=r"of 3 rows .* splits off 2, and 1 remain"):
        gs.ksd_test(x[:3], NO_SAMPLER, operator=Regularised(fraction=0.5), rng=1)
    with pytest.raises(gs.InputError, match="is for uncensored points"):
        gs.ksd_test(censored(20), gs.families.Exponential(1.0), operator=Regularised(), rng=1)


def test_reference_points_that_cannot_be_used():
    def zeros(n, rng):
        return np.tile([0.5, 0.5, 0.0], (n, 1))

    model = gs.Model(score=lambda x: 0 * x, sample=zeros, domain=gs.Simplex(3), batched=True, name="edge")
    x = Dirichlet([1, 1, 1]).sample(30, rng=1)
    with pytest.raises(gs.InputError, match=r"60 reference points could not be drawn from edge .* draws=0"):
        gs.ksd_test(x, model, operator=Regularised(), rng=1)
    assert gs.ksd_test(x, model, operator=Regularised(draws=0, strength=0.2), rng=1).n == 24

    def impossible(n, rng):
        raise gs.SamplingError("no point was accepted.")

    model = gs.Model(score=lambda x: -x, sample=impossible, batched=True, name="hopeless")
    with pytest.raises(gs.SamplingError, match=r"could not be drawn from hopeless .*no point was accepted"):
        gs.ksd_test(rng().standard_normal(30), model, operator=Regularised(), rng=1)


def test_nothing_to_see_at_the_reference_points():
    g = gs.Auxiliary(lambda y: np.zeros(len(y)), np.zeros_like)
    with pytest.raises(gs.InputError, match="is zero at all 40 reference points"):
        gs.stein_matrix(rng().standard_normal(20), Normal(), operator=Regularised(gs.Standardised(g)))
    huge = gs.Model(score=lambda x: 1e200 * x, batched=True)
    with pytest.raises(gs.ScoreError, match="h\\(x, x\\) is not finite at 20 of 20 rows"):
        gs.stein_matrix(rng().standard_normal(20), huge, operator=Regularised(), kernel=IMQ(1.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strengths": []}, "`strengths` is empty"),
        ({"strengths": 0.1}, r"`strengths` must be a list such as \[0\.1, 0\.01\]"),
        ({"strengths": [0.1, "a"]}, r"`strengths\[1\]` must be a finite number, got 'a'"),
        ({"strengths": [0.1, -1]}, "`strength` of Regularised"),
        ({"operator": Regularised()}, "Pass the operator inside it"),
        ({"null": "wild"}, "`null` must be a null method"),
        ({"fraction": 2}, "`fraction` of Regularised"),
    ],
)
def test_bad_options_of_the_adaptive_test(options, message):
    with pytest.raises(gs.InputError, match=message):
        gs.regularised_test(rng().standard_normal(50), Normal(), rng=1, **options)
