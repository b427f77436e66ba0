"""Densities that jump or end inside their domain, and functions that are not what they are said to be.

Draws are those of the true law, so every refusal here is of a model that the test would reject at any level:
its score is right, and Stein's identity fails all the same.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import goodstein as gs
from goodstein.auditing.agreement import check_kind
from goodstein.auditing.jumps import check_jumps

UNIT = gs.Box(0.0, 1.0)


def steps(n, rng):
    """Mass .8 on (0, .5), .2 on (.5, 1)."""
    return np.where(rng.random(n) < 0.8, 0.5, 1.0)[:, None] - 0.5 * rng.random((n, 1))


def glued(n, rng):
    """Halves of N(0, 1) and N(0, 9) in the first coordinate."""
    x = np.abs(rng.standard_normal((n, 2)))
    return np.where(rng.random((n, 1)) < 0.5, [-1.0, 1.0], [3.0, -1.0]) * x


def cut(n, rng):
    """N(0, I) in a disc."""
    x = rng.standard_normal((6 * n + 50, 2))
    return x[(x**2).sum(axis=1) < 2.0][:n]


def log_steps(x):
    return np.where(x[:, 0] < 0.5, np.log(1.6), np.log(0.4))


def log_glued(x):
    left = x[:, 0] < 0.0
    own = np.where(left, -(x[:, 0] ** 2) / 2, -(x[:, 0] ** 2) / 18 - np.log(3.0))
    return own - x[:, 1] ** 2 / 2


def log_exponential(x):
    return np.where(x[:, 0] > 0.0, -x[:, 0], -np.inf)


def log_pieces(x):
    return np.where((x[:, 0] < 1.0) | (x[:, 0] > 2.0), 0.0, -np.inf)


BROKEN = {
    "histogram": (steps, gs.Model(logpdf=log_steps, domain=UNIT)),
    "histogram, drawn": (steps, gs.Model(logpdf=log_steps, domain=UNIT, sample=steps)),
    "histogram, score and draws": (steps, gs.Model(score=lambda x: 0.0 * x, domain=UNIT, sample=steps)),
    "histogram of scipy": (steps, scipy.stats.rv_histogram(([8, 2], [0, 0.5, 1]), density=False)()),
    "glued normals": (glued, gs.Model(logpdf=log_glued)),
    "no domain": (lambda n, rng: rng.exponential(size=(n, 1)), gs.Model(logpdf=log_exponential)),
    "disc": (
        cut,
        gs.Model(logpdf=lambda x: np.where((x**2).sum(axis=1) < 2, -(x**2).sum(axis=1) / 2, -np.inf)),
    ),
    "pieces": (
        lambda n, rng: rng.random((n, 1)) + np.where(rng.random((n, 1)) < 0.5, 0.0, 2.0),
        gs.Model(logpdf=log_pieces, domain=gs.Box(0.0, 3.0)),
    ),
}


def failing(report: gs.AuditReport) -> set[str]:
    return {check.name for check in report.checks if check.status == "fail"}


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("name", BROKEN)
def test_a_density_that_jumps_or_ends_inside_its_domain_is_refused(name, n):
    draw, model = BROKEN[name]
    for seed in range(3):
        x = draw(n, np.random.default_rng(seed))
        with pytest.raises(gs.SteinIdentityError):
            gs.ksd_test(x, model, rng=seed)
    by_draws = name == "histogram, score and draws"
    expected = "Stein's identity by simulation" if by_draws else "jumps of the density"
    assert expected in failing(gs.audit(model, data=x, rng=1))
    for call in (gs.aggregated_test, gs.check):
        with pytest.raises(gs.SteinIdentityError):
            call(x, model, rng=1)


@pytest.mark.parametrize("operator", [gs.MeanEmbedding(), None], ids=["draws", "weight"])
def test_what_is_valid_for_a_density_that_jumps_keeps_its_level(operator):
    """Draws, which are advised, and a weight that vanishes at the jump and at the edges."""

    def weight(x):
        return x[:, 0] * (1.0 - x[:, 0]) * np.abs(x[:, 0] - 0.5)

    def derivative(x):
        t = x[:, 0]
        inner = t * (1.0 - t)
        return ((1.0 - 2.0 * t) * np.abs(t - 0.5) + inner * np.sign(t - 0.5))[:, None]

    model = gs.Model(logpdf=log_steps, score=lambda x: 0.0 * x, domain=UNIT, sample=steps)
    operator = operator or gs.Standardised(gs.Auxiliary(weight, derivative))
    rejected = [
        gs.ksd_test(
            steps(60, np.random.default_rng(seed)),
            model,
            operator=operator,
            null=gs.WildBootstrap(199),
            rng=seed,
        ).pvalue
        <= 0.05
        for seed in range(60)
    ]
    assert sum(rejected) <= scipy.stats.binom(60, 0.05).ppf(0.9999)


SCIPY = """norm; norm 1e6 .01; cauchy; t .7; t 3; laplace; logistic; gumbel_r; gumbel_l; skewnorm 4; gennorm
.8; gennorm 5; hypsecant; dgamma 2.2; dweibull 1.6; exponnorm 2; laplace_asymmetric 2; loglaplace 3;
crystalball 2 3; johnsonsu 2 2; johnsonsb 4 3; nct 14 .2; genlogistic .4; skewcauchy .5; jf_skew_t 8
4; moyal; expon; expon 1e5 .001; gamma .1; gamma .3; gamma 3; beta .3 5; beta .1 .1; beta 2 3;
uniform; triang .2; trapezoid .2 .8; weibull_min .4; weibull_min 2; weibull_max 2.9; pareto .5;
pareto 2.6; lomax 1.9; lognorm 3; halfnorm; halfcauchy; halflogistic; invgamma 4; invgauss .1;
rayleigh; maxwell; nakagami 5; rice .8; chi 78; chi2 1; f 29 18; burr 10 4; powerlaw 1.7; arcsine;
semicircular; cosine; bradford .3; truncnorm -1 2; truncexpon 4.7; loguniform 1e-4 1e4; wrapcauchy
.03; vonmises_line 4; genextreme -.1; argus 1; pearson3 .1; fisk 3; levy; kappa3 1; foldnorm 2;
exponweib 2.9 2; erlang 4; gompertz .9; betaprime 5 6"""


def frozen(text):
    name, *numbers = text.split()
    return getattr(scipy.stats, name)(*map(float, numbers))


@pytest.mark.parametrize("text", SCIPY.replace("\n", " ").split("; "))
def test_continuous_densities_are_left_alone(text):
    rv = frozen(text.strip())
    model = gs.as_model(rv)
    for n, seed in ((30, 0), (200, 1)):
        x = np.asarray(rv.rvs(n, random_state=np.random.default_rng(seed)))[:, None]
        assert check_jumps(model, model.domain, None, x) == []


def test_kinks_narrow_modes_tables_and_single_precision_are_no_jumps():
    grid = np.linspace(-9.0, 9.0, 400)
    normals = np.random.default_rng(1).standard_normal((100, 2))
    funnel = normals * np.column_stack([np.full(100, 3.0), np.exp(1.5 * normals[:, 0])])
    cases = [
        (normals, lambda x: -np.abs(x).sum(axis=1)),
        (normals, lambda x: np.interp(x, grid, -(grid**2) / 2).sum(axis=1)),
        (normals, lambda x: (-(x.astype(np.float32) ** 2).sum(axis=1) / 2 - 3e3).astype(np.float32)),
        (funnel, lambda x: -(x[:, 0] ** 2) / 18 - x[:, 0] / 2 - x[:, 1] ** 2 * np.exp(-x[:, 0]) / 2),
        (1e-6 * normals + 1.0, lambda x: -((x - 1.0) ** 2).sum(axis=1) / 2e-12),
        (normals, lambda x: np.where((x**2).sum(axis=1) < 49, -(x**2).sum(axis=1) / 2, -np.inf)),
    ]
    for x, logpdf in cases:
        assert check_jumps(gs.Model(logpdf=logpdf), gs.Euclidean(2), None, x) == []


# --- what a function is --------------------------------------------------------------------------

LINE = "norm; norm 14 3; norm 0 .1; cauchy; t .5; laplace; gamma 3; expon; lognorm 2; beta 2 5; uniform"


@pytest.mark.parametrize("text", LINE.split("; "))
def test_a_log_density_given_for_a_score_is_told_in_one_dimension(text):
    rv = frozen(text)
    x = rv.rvs(100, random_state=np.random.default_rng(1))
    with pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(x, lambda v: rv.logpdf(v), rng=1)
    inside = rv.support()
    domain = gs.Box(*inside) if np.isfinite(inside).any() else gs.Euclidean(1)
    report = gs.ksd_test(x, gs.Model(score=rv.logpdf, domain=domain), audit=False, rng=1).audit
    assert "score or log density" in failing(report)


SCORES = [
    ("norm", lambda v: -v),
    ("cauchy", lambda v: -2 * v / (1 + v * v)),
    ("laplace", lambda v: -np.sign(v)),
    ("gumbel_r", lambda v: np.exp(-v) - 1),
    ("t .5", lambda v: -1.5 * v / (0.5 + v * v)),
    ("halfnorm", lambda v: -v),  # on the half-line also the log density of Exp(1)
    ("uniform", lambda v: 0 * v),  # on (0, 1) its own log density
    ("expon", lambda v: -1 + 0 * v),
    ("gamma .3", lambda v: -0.7 / v - 1),
    ("chi .99", lambda v: -0.01 / v - v),
    ("lognorm 1", lambda v: -(1 + np.log(v)) / v),
]


@pytest.mark.parametrize("scale", [0.1, 1.0, 7.0])
@pytest.mark.parametrize(("text", "score"), SCORES, ids=[text for text, _ in SCORES])
def test_a_true_score_is_never_taken_for_a_log_density(text, score, scale):
    rv = frozen(text)
    x = scale * rv.rvs(100, random_state=np.random.default_rng(1))[:, None]
    low, high = np.multiply(rv.support(), scale)
    domain = gs.Box(low, high) if np.isfinite([low, high]).any() else gs.Euclidean(1)
    for where in (domain, gs.Euclidean(1)):
        assert check_kind(gs.Model(score=lambda v: score(v / scale) / scale), where, x) == []


def test_covariates_before_outcomes_are_refused_by_name_or_by_draws():
    rng = np.random.default_rng(1)
    x = rng.normal(size=100)
    data = gs.Paired(x, 2 * x + rng.normal(size=100))
    with pytest.raises(gs.InputError):
        gs.ConditionalModel(score=lambda x, y: 2 * x - y)
    with pytest.raises(gs.InputError):
        gs.ksd_test(data, lambda x, y: 2 * x - y)

    def sample(x, rng):
        return 2 * x + rng.normal(size=len(x))

    swapped = gs.ConditionalModel(score=lambda a, b: 2 * a - b, sample=sample)
    with pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(data, swapped, rng=1)
    right = gs.ConditionalModel(score=lambda b, a: 2 * a - b, sample=sample)
    assert not failing(gs.ksd_test(data, right, rng=1).audit)


def test_compositions_with_many_zeros_are_checked():
    x = np.array([[0, 0.4, 0.6], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]] * 20)
    found = gs.check(x, gs.families.Dirichlet([1, 2, 3]), null=gs.MonteCarlo(99), rng=1)
    assert found.rejected
    assert found.tolerance is not None
