"""Which views of the data a model fails in: quantities, the error of the list, and what is said."""

from __future__ import annotations

import json
import math
import re
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import goodstein as gs
from goodstein.domains import Lattice
from goodstein.explain import explain, step_down
from goodstein.explain.columns import Columns, Edges
from goodstein.explain.directions import Directions
from goodstein.explain.durations import Hazards
from goodstein.explain.outcomes import Outcomes
from goodstein.explain.places import Places
from goodstein.explain.quantities import Sorted, l_quantities, rank_correlations
from goodstein.explain.shares import bounded_scores, limits
from goodstein.explain.states import States
from goodstein.explain.views import Several, Told
from goodstein.models import Model

FAMILY = gs.families
QUICK = gs.WildBootstrap(19)


def explained(data, model, null=QUICK, **options):
    return gs.ksd_test(data, model, null=null, rng=1).explain(**options)


# Quantities and their influences.


def test_l_moments_are_means_over_subsamples():
    # Hosking's definition, by all subsamples: λ₂ = E[X₂:₂ − X₁:₂]/2, λ₃ = E[X₃:₃ − 2X₂:₃ + X₁:₃]/3, …
    x = np.random.default_rng(1).gamma(2.0, size=12)

    def mean(weights):
        size = len(weights)
        return np.mean([np.sort(some) @ weights for some in combinations(x, size)]) / size

    second, third, fourth = mean([-1, 1]), mean([1, -2, 1]), mean([-1, 3, -3, 1])
    values, _ = l_quantities(Sorted(x[:, None]))
    assert_allclose(values[:, 0], [x.mean(), np.log(second), third / second, fourth / second])


def test_rank_correlation_is_spearmans_with_ties_too():
    x = np.random.default_rng(2).normal(size=(60, 3)).round(1)
    x[:, 1] += x[:, 0]
    values, _ = rank_correlations(Sorted(x), [(0, 1), (1, 2)])
    expected = [scipy.stats.spearmanr(x[:, j], x[:, k])[0] for j, k in ((0, 1), (1, 2))]
    assert_allclose(values, expected)


def looks():
    rng = np.random.default_rng(3)
    x = rng.gamma(2.0, size=(300, 3))
    x[:, 1] += 0.5 * x[:, 0]
    heavy = rng.standard_cauchy((300, 2))
    yield "columns", Columns(x, ["a", "b", "c"]), x
    yield "heavy tails", Columns(rng.standard_cauchy((9000, 2)), ["a", "b"]), heavy
    yield "edges", Edges(x, ["a", "b", "c"], np.zeros(3), np.full(3, np.inf)), x
    yield "places", Places(x.copy(), x, ["a", "b", "c"], rng, lambda y: y), x
    u = FAMILY.VonMisesFisher([0.0, 0.6, 0.8], 3.0).sample(300, rng)
    yield "directions", Directions(u, lambda y: y, "rows", ["a", "b", "c"]), u
    axes = FAMILY.Bingham(np.diag([2.0, 0.0, -3.0])).sample(300, rng)
    yield "axes", Directions(axes, lambda y: y, "rows", ["a", "b", "c"]), axes
    states = rng.integers(0, 3, size=(300, 3)).astype(float)
    states[:150, 1] = states[:150, 0]
    yield "states", States(states, Lattice(3, 3), ["a", "b", "c"]), states
    data = gs.Censored(rng.exponential(size=300), rng.random(300) < 0.7)
    yield "durations", Hazards(constant_hazard(), data), data


def constant_hazard():
    return gs.SurvivalModel(hazard=lambda t: 1.0 + 0 * t, cumulative_hazard=lambda t: 1.0 * t)


@pytest.mark.parametrize(
    ("look", "data"), [pytest.param(look, data, id=name) for name, look, data in looks()]
)
def test_influences_are_those_of_leaving_rows_out(look, data):
    # The jackknife: (n − 1)(T − T without row i) is the influence of row i up to 1/n.
    n = len(data)
    values, psi = look.measure(data)
    assert len(values) == psi.shape[1] == len(look.views)
    some = np.arange(0, n, 5)
    rows = [np.delete(np.arange(n), i) for i in some]
    left = np.array(
        [look.measure(data.take(r) if isinstance(data, gs.Censored) else data[r])[0] for r in rows]
    )
    jackknife = (n - 1) * (values - left)
    own = psi[some] - psi[some].mean(axis=0)
    jackknife -= jackknife.mean(axis=0)
    for k in range(len(values)):
        scale = own[:, k].std()
        assert np.abs(own[:, k] - jackknife[:, k]).mean() < 0.12 * scale, look.views[k].name


def test_each_quantity_is_about_one_thing():
    rng = np.random.default_rng(4)
    x = rng.gamma(3.0, size=(200, 3)) @ np.array([[1.0, 0.4, 0], [0, 1, 0], [0, 0, 1]])
    look = Columns(x, ["a", "b", "c"])
    names = [view.name for view in look.views]
    before = dict(zip(names, look.measure(x)[0], strict=True))

    def changed(y):
        after = dict(zip(names, look.measure(y)[0], strict=True))
        return {name for name in names if abs(after[name] - before[name]) > 1e-9}

    assert changed(x + np.array([5.0, 0, 0])) == {"mean of a"}
    about = (x - x.mean(axis=0)) * [2.0, 1, 1] + x.mean(axis=0)
    assert changed(about) == {"spread of a", "spread of all"}
    curved = np.column_stack([np.exp(x[:, 0] / 3), x[:, 1:]])
    assert not any(name.startswith("correlation") for name in changed(curved))


# The error of the list.


@pytest.mark.parametrize(
    "weights", [[0.3, 0.1, 0.2, 0.25, 0.15], [0.25, 0.125, 0.25, 0.125, 0.25], [0.2] * 5]
)
def test_step_down_is_the_closed_test(weights):
    rng, weights = np.random.default_rng(5), np.array(weights)
    z = np.array([2.6, -2.2, 1.0, 2.4, 0.3])
    sums = rng.normal(size=(50, 5)) @ (np.eye(5) + 0.5)
    found = step_down.adjusted(z, weights, sums, np.random.default_rng(6))
    drawn = step_down._draws(sums, np.random.default_rng(6)).T.astype(float)
    draws = np.log(2 * scipy.stats.norm.sf(np.abs(drawn))) - np.log(weights)
    own = np.log(2 * scipy.stats.norm.sf(np.abs(z))) - np.log(weights)
    subsets = list(map(list, chain.from_iterable(combinations(range(5), size) for size in range(1, 6))))
    local = {}
    for s in subsets:
        counted = (1 + (draws[:, s].min(axis=1) <= own[s].min()).sum()) / (1 + len(draws))
        local[tuple(s)] = min(counted, np.exp(min(own[s].min() + np.log(weights[s].sum()), 0.0)))
    closed = [max(p for s, p in local.items() if v in s) for v in range(5)]
    assert_allclose(found, closed, rtol=1e-12)


def test_step_down_keeps_its_error_where_others_fail(monkeypatch):
    monkeypatch.setattr(step_down, "DRAWS", 499)
    rng = np.random.default_rng(7)
    root = np.linalg.cholesky(0.5 * np.eye(8) + 0.5)
    weights, false, trials = np.full(8, 1 / 8), 0, 600
    for _ in range(trials):
        sums = rng.normal(size=(100, 8)) @ root.T
        z = sums.sum(axis=0) / np.sqrt((sums**2).sum(axis=0))
        z[:3] += 12.0
        found = step_down.adjusted(z, weights, sums, rng)
        assert (found[:3] <= 0.05).all()
        false += (found[3:] <= 0.05).any()
    # Not above the level, and using most of it, which Bonferroni's .05·5/8 would not.
    low, high = scipy.stats.binom(trials, 0.05).ppf([0.01, 0.999])
    assert low <= false <= high


@pytest.mark.slow
@pytest.mark.parametrize("defect", ["nothing", "mean", "tails"])
def test_list_keeps_its_error(defect):
    # In full, with 1000 trials and more defects: validation/size.md.
    model, false, trials = FAMILY.Normal([0.0, 0.0]), 0, 150
    for k in range(trials):
        rng = np.random.default_rng([8, k])
        x = model.sample(100, rng)
        wrong = {"nothing": (), "mean": ("mean of column 0",), "tails": ("tails",)}[defect]
        if defect == "mean":
            x[:, 0] += 1.0
        if defect == "tails":
            x *= 0.81531 / np.sqrt(rng.chisquare(5, 100) / 5)[:, None]
        hold = [
            one
            for one in explained(x, model, rng=k).findings
            if not (wrong and (one.view.startswith(wrong) or one.kind == "places"))
        ]
        false += any(one.fails for one in hold)
    assert false <= scipy.stats.binom(trials, 0.05).ppf(0.999)


# What is found.


def test_lavas_lack_the_trend_that_a_dirichlet_cannot_have():
    # The specimens lie along a curve from magnesium to alkalis with nearly the same iron (Aitchison 1986):
    # the ratio of those two varies more than a Dirichlet distribution lets it, iron to both less.
    x = pd.DataFrame(gs.datasets.skye_lavas(), columns=["A", "F", "M"])
    result = gs.ksd_test(
        x, FAMILY.Dirichlet.fit(x.to_numpy()), null=gs.ParametricBootstrap(FAMILY.Dirichlet.fit, 19), rng=1
    )
    found = {one.view: one for one in result.explain().failing}
    assert next(iter(found.values())).columns == ("log(F/others)",)
    assert found["spread of log(F/others)"].high < 0.5
    assert found["spread of log(A/M)"].low > 1.1
    assert found["correlation of F, M"].effect > 0 > found["correlation of F, M"].model


def test_names_units_and_order():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(300, 2)) * [3.0, 1.0] + [50.0, 0.0]
    frame = pd.DataFrame({"income": x[:, 0] * 1.0, "<b>age</b>": x[:, 1]})
    model = FAMILY.Normal([50.0, 0.0], [[4.0, 0.0], [0.0, 1.0]])
    found = explained(frame, model)
    first = found.findings[0]
    assert (first.view, first.columns, first.unit, first.model) == (
        "spread of income",
        ("income",),
        "ratio",
        1.0,
    )
    assert first.low < 1.5 < first.high
    assert first.statement.startswith("spread of `income` is 1.")
    assert "its variance 2." in first.statement
    adjusted = [one.adjusted for one in found.findings]
    assert [one.fails for one in found.findings] == sorted(
        (one.fails for one in found.findings), reverse=True
    )
    assert max(adjusted[: len(found.failing)]) <= 0.05 < min(adjusted[len(found.failing) :])
    assert all(one.adjusted >= one.pvalue * 0.999 for one in found.findings)
    assert len(found.table().split("\n")) == len(found) + 1
    kept = json.loads(found.to_json())
    assert kept["findings"][0]["view"] == "spread of income"
    assert "In order:" in str(found)


def test_html_is_escaped():
    x = np.random.default_rng(1).normal(2.0, 1.0, size=(100, 1))
    found = explained(pd.DataFrame(x, columns=["<script>"]), FAMILY.Normal(0, 1))
    assert "<script>" in found.findings[0].statement
    assert "<script>" not in found._repr_html_()


def test_same_seed_same_explanation():
    x = FAMILY.Normal([0.0, 0.0]).sample(100, rng=1)
    result = gs.ksd_test(x, FAMILY.Normal([0.0, 0.0]), null=QUICK, rng=1)
    assert result.explain(rng=3) == result.explain(rng=3)
    other = gs.ksd_test(x, FAMILY.Normal([0.0, 0.0]), null=QUICK, rng=1, workers=2)
    assert other.explain(rng=3) == result.explain(rng=3)


def test_collections_are_explained_too():
    x = FAMILY.Normal([0.6, 0.0]).sample(100, rng=2)
    result = gs.aggregated_test(x, FAMILY.Normal([0.0, 0.0]), null=gs.WildBootstrap(99), rng=1)
    assert result.explain().findings[0].view == "mean of column 0"


def test_model_without_a_sampler_is_asked_for_its_score():
    model = Model(score=lambda x: -x, domain=gs.Euclidean(3))
    x = np.random.default_rng(3).standard_normal((300, 3))
    x[:, 1] += 0.5
    found = explained(x, model)
    assert [one.view for one in found.failing] == ["mean of column 1"]
    assert found.findings[0].low < 0.5 < found.findings[0].high
    assert "no sampler" in found.notes[0]
    x[:, 1] = 0.5 * x[:, 0] + np.sqrt(0.75) * (x[:, 1] - 0.5)
    assert explained(x, model).findings[0].view == "correlation of column 0, column 1"


def test_hazard_up_to_a_factor():
    rng = np.random.default_rng(10)
    event, end = 30.0 * rng.exponential(size=400), rng.uniform(0, 150, 400)
    data = gs.Censored(np.minimum(event, end), event <= end)
    model, operator = FAMILY.Exponential(1.0), gs.ProportionalHazards()
    assert not gs.ksd_test(data, model, operator=operator, null=QUICK, rng=1).explain().failing
    early = np.where(event > 15.0, 15.0 + 0.3 * (event - 15.0), event)
    data = gs.Censored(np.minimum(early, end), early <= end)
    found = gs.ksd_test(data, model, operator=operator, null=QUICK, rng=1).explain()
    assert found.findings[0].view.startswith("hazard ")
    assert "over all time" not in {one.view[7:] for one in found.findings}
    before = next(one for one in found.findings if "before" in one.view)
    assert before.effect < 1.0


def test_fit_is_taken_into_account(monkeypatch):
    monkeypatch.setattr(explain, "REFITS", 40)
    x = np.random.default_rng(4).standard_t(4, size=(300, 1))
    for null in (gs.FittedWildBootstrap(19), gs.ParametricBootstrap(FAMILY.Normal.fit, 19)):
        found = explained(x, FAMILY.Normal.fit(x), null=null)
        assert {one.kind for one in found.failing} <= {"tails", "places", "spread"}
        assert found.findings[0].kind == "tails"
    # A right model that was fitted: what the fit matches must not be found.
    x = np.random.default_rng(5).normal(3.0, 2.0, size=(60, 1))
    assert not explained(x, FAMILY.Normal.fit(x), null=gs.FittedWildBootstrap(19)).failing


def test_dependent_rows_widen_the_limits():
    rng = np.random.default_rng(6)
    chains = np.zeros((4, 500, 1))
    for t in range(1, 500):
        chains[:, t] = 0.9 * chains[:, t - 1] + np.sqrt(0.19) * rng.normal(size=(4, 1))
    chained, plain = (
        explained(chains, FAMILY.Normal(0, 1)),
        explained(rng.normal(size=(2000, 1)), FAMILY.Normal(0, 1)),
    )
    widths = [next(one.high - one.low for one in e.findings if one.kind == "mean") for e in (chained, plain)]
    # The correlation time is 19, so the limits are √19 = 4.4 times as far apart.
    assert 3.0 < widths[0] / widths[1] < 6.5
    assert not chained.failing
    assert "batches" in chained.notes[-1]


def test_heavy_tails_have_no_means():
    model = FAMILY.StudentT(1.0, [0.0], [[1.0]])
    x = 1.7 * np.random.default_rng(7).standard_cauchy((300, 1))
    found = explained(x, model)
    assert found.findings[0].view == "spread of column 0"
    assert found.findings[0].low < 1.7 < found.findings[0].high
    assert "middle of" in next(one.statement for one in found.findings if one.kind == "mean")


def test_many_columns_have_few_kinds():
    x = np.random.default_rng(8).standard_normal((60, 35))
    found = explained(x, FAMILY.Normal(np.zeros(35)))
    assert not any(one.kind == "correlation" and len(one.columns) == 2 for one in found.findings)
    assert len(found) < 350


# What cannot be explained.


def test_messages():
    x = np.random.default_rng(1).standard_normal((15, 1))
    result = gs.ksd_test(x, FAMILY.Normal(0, 1), null=QUICK, rng=1)
    with pytest.raises(gs.InputError, match="needs 20 observations"):
        result.explain()
    with pytest.raises(gs.InputError, match="`level`"):
        result.explain(level=2.0)
    lattice = Lattice(2, 3)
    states = lattice.sample_uniform(50, rng=1)
    unnormalised = Model(logpdf=lambda s: 0.0 * s[:, 0], domain=lattice)
    with pytest.raises(gs.InputError, match="has no sampler"):
        explained(states, unnormalised)


def test_other_kinds_of_data_say_what_to_do():
    patterns = FAMILY.PoissonProcess(20.0, gs.Box(0, [1, 1])).sample(30, rng=1)
    result = gs.point_pattern_ksd_test(
        patterns, FAMILY.PoissonProcess(20.0, gs.Box(0, [1, 1])), null=QUICK, rng=1
    )
    with pytest.raises(gs.InputError, match=r"views of points, durations and outcomes.*witness\(\)"):
        result.explain()


def test_places_that_touch_are_one_finding():
    """A clump in the plane: one region with too many rows, and none of its neighbours again."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    x[:60] = [1, 1] + 0.2 * rng.normal(size=(60, 2))
    found = gs.ksd_test(rng.permutation(x), gs.families.Normal([0, 0]), rng=1).explain(rng=1)
    many = [one for one in found.failing if one.kind == "places" and one.effect > 1]
    assert len(many) == 1 and re.search(r"`column 0` = [\d.]+ to [\d.]+", many[0].statement)


def test_linked_places_are_one_and_others_are_not():
    draws, names = np.random.default_rng(2).normal(size=(400, 1)), ["a"]
    look = Several(
        [Columns(draws, names), Places(draws[:200], draws, names, np.random.default_rng(1), np.asarray)]
    )
    first = len(look.views) - 96
    order = np.argsort(look._looks[1]._centres[:, 0])
    low, near, high = (first + int(order[place]) for place in (10, 11, -1))
    groups = look.together([high, low, near])
    assert sorted(map(sorted, groups)) == sorted([[high], sorted([low, near])])
    assert "too" not in look.sentence([low, near])(Told(1.0, 0.5, 1.5, 1.0, False))


def test_noise_of_the_models_draws_is_no_finding():
    # A normal fit matches the mean: what is left of a difference is that of draws of the model alone.
    for seed in range(4):
        x = np.random.default_rng(seed).normal(size=(60, 1))
        result = gs.ksd_test(x, FAMILY.Normal.fit(x), null=gs.FittedWildBootstrap(19), rng=seed, audit=False)
        found = {one.view: one for one in result.explain(rng=seed).findings}
        assert found["mean of column 0"].pvalue > 0.3


def test_samples_that_are_fitted_have_references_of_their_own(monkeypatch):
    # Of common draws all z would be off by the same noise, which is then taken from the z of the data.
    x = np.random.default_rng(1).normal(size=(60, 1))
    result = gs.ksd_test(x, FAMILY.Normal.fit(x), null=gs.FittedWildBootstrap(19), rng=1, audit=False)
    middles = []

    def shape(z, *others):
        middles.append(np.median(z, axis=0)[0])
        return stretch(z, *others)

    stretch = explain.stretch
    monkeypatch.setattr(explain, "stretch", shape)
    for seed in range(8):
        result.explain(rng=seed)
    # The median of a hundred normal variables has the standard error .125; with common draws it was 1.
    assert np.std(middles) < 0.35


@pytest.mark.parametrize("share", [0.004, 0.05, 0.4, 0.97])
def test_limits_of_shares_hold_the_truth(share):
    # Every sample that a binomial distribution can give, with its probability.
    n, k = 120, np.arange(121)
    errors = np.sqrt(k / n * (1 - k / n) / n)
    low, high = limits(k / n, errors, n, 1.96)
    probability = scipy.stats.binom.pmf(k, n, share)
    assert probability[(low <= share) & (share <= high)].sum() > 0.92
    assert (low >= 0).all() and (high <= 1).all() and (low[1:] > 0).all() and (high[:-1] < 1).all()
    assert high[0] == pytest.approx(-math.expm1(-0.5 * 1.96**2 / n))  # (1 - p)^n is the likelihood of no row


def test_bounds_of_rare_rows_are_no_smaller_than_binomial_tails():
    n, share = 200, 0.01
    k = np.arange(3, 60)
    scores = bounded_scores(k / n, np.full(len(k), share), n)
    two_sided = 2.0 * scipy.stats.norm.sf(scores)
    assert (two_sided >= scipy.stats.binom.sf(k - 1, n, share)).all()
    assert (two_sided <= 40 * scipy.stats.binom.sf(k - 1, n, share)).all()
    assert not bounded_scores(np.array([0.0, 0.01]), np.full(2, share), n).any()


def test_rows_where_the_model_has_none_are_named():
    rng = np.random.default_rng(11)
    x = rng.normal(170, 8, 250)
    x[:8] = rng.normal(220, 3, 8)
    data = pd.DataFrame({"height": rng.permutation(x)})
    found = gs.ksd_test(data, gs.families.Normal([170], [[64]]), rng=1).explain()
    near = next(one for one in found.failing if one.kind == "places" and one.effect > 1)
    assert "more than" in near.statement and near.adjusted < 0.001
    said = re.search("= (.*?)(?: to (.*?))?: more", near.statement)
    assert all(205 < float(end) < 235 for end in said.groups() if end)
    mean = next(one for one in found.findings if one.kind == "mean")
    assert "where the model says 170 (" in mean.statement  # and not what its draws happen to have


def test_limits_of_places_are_no_powers_of_ten():
    # One place far out, where no draw of the model lies, stretched the limits of all others a millionfold.
    rng = np.random.default_rng(16)
    x = np.exp(rng.normal(0.8, 0.8, 300))
    found = gs.ksd_test({"income": x}, gs.families.Gamma(2, 2 / 3), rng=1).explain()
    known = [one for one in found.findings if one.kind == "places" and one.model == 1 and one.effect > 0.1]
    assert len(known) > 10
    for one in known:
        assert 0 < one.low <= one.effect <= one.high < 6 * one.effect


def test_few_rows_where_few_were_expected_have_a_positive_limit():
    x = np.random.default_rng(30).poisson(3, 300) * (np.random.default_rng(31).random(300) > 0.12)
    found = gs.ksd_test({"visits": x}, gs.families.Poisson(3), domain=gs.Naturals(1), rng=1).explain()
    one = next(one for one in found.findings if one.kind == "large counts")
    assert 0 < one.low < one.effect < one.high


def test_what_no_view_shows_is_said():
    rng = np.random.default_rng(3)
    angles = rng.uniform(-np.pi, np.pi, 4000)
    angles = angles[2 * rng.random(4000) < 1 + np.cos(9 * angles)][:150]
    result = gs.ksd_test(angles, gs.families.Uniform(gs.Circle()), kernel=gs.Gaussian(0.15), rng=1)
    found = result.explain()
    assert result.pvalue <= 0.05 and not found.failing
    assert "none of these views shows by itself" in str(found)
    assert "contributions()" in str(found)
    right = gs.ksd_test(rng.uniform(-np.pi, np.pi, 150), gs.families.Uniform(gs.Circle()), rng=1)
    assert right.pvalue > 0.05 and "by itself:" not in str(right.explain())


def test_small_numbers_are_told_with_powers_of_ten():
    assert Told(2.4e-10, 0.0, 2.5e-6, 1.0, True).times == "2.4e-10 × the model's (0 to 2.5e-06)"
    assert Told(0.0123, 0.0101, 0.0145, 0.01, True).interval == "(0.0101 to 0.0145)"
    # The model's number comes from draws, and is told as far as they know it.
    assert "says 170 (" in Told(172.13, 170.5, 174.0, 170.07, True, noise=0.07).against
    assert "says 170.1 (" in Told(172.13, 170.5, 174.0, 170.07, True).against


# Outcomes given covariates.


def outcomes(seed, law, n=300):
    """A frame of two covariates and a series of outcomes, y = 1 + age + law(rng, age, dose)."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    y = 1 + x[:, 0] + law(rng, *x.T)
    return pd.DataFrame(x, columns=["age", "dose"]), pd.Series(y, name="pressure")


LINE = gs.ConditionalModel.gaussian(lambda x: 1 + x[:, 0], 0.5)

DEPARTURES = {
    "form": (lambda rng, a, b: 0.4 * (b**2 - 4 / 3) + 0.5 * rng.normal(size=len(a)), "covariate", "dose"),
    "shift": (lambda rng, a, b: 0.3 + 0.5 * rng.normal(size=len(a)), "mean", "pressure"),
    "spread": (lambda rng, a, b: 0.8 * rng.normal(size=len(a)), "spread", "pressure"),
    "heteroscedastic": (
        lambda rng, a, b: 0.5 * np.exp(0.5 * a) * rng.normal(size=len(a)),
        "spread along covariates",
        "age",
    ),
}


@pytest.mark.parametrize("name", DEPARTURES)
def test_regressions_are_explained(name):
    law, kind, column = DEPARTURES[name]
    first = explained(outcomes(1, law), LINE).findings[0]
    assert first.fails and first.kind == kind and first.columns[-1] == column
    assert "`pressure`" in first.statement


def test_right_regressions_have_no_findings():
    found = [
        explained(outcomes(s, lambda rng, a, b: 0.5 * rng.normal(size=len(a)), 100), LINE) for s in range(20)
    ]
    assert sum(len(one.failing) > 0 for one in found) <= 4  # .05 of 20: five or more in 3 of 1000


def test_residuals_are_those_of_the_definition():
    x, y = outcomes(2, lambda rng, a, b: 0.3 + 0.8 * rng.normal(size=len(a)))
    found = {one.view: one for one in explained((x, y), LINE).findings}
    residuals = (y - 1 - x["age"]).to_numpy()
    # A hundred draws for each of 300 rows: their mean is known to .5/√30000.
    assert found["mean of pressure"].effect == pytest.approx(residuals.mean(), abs=0.012)
    assert found["mean of pressure"].low < 0.3 < found["mean of pressure"].high
    spread = np.abs(residuals).mean() / (0.5 * math.sqrt(2 / math.pi))
    assert found["spread of pressure given covariates"].effect == pytest.approx(spread, rel=0.02)
    high = (residuals > 0.5 * scipy.stats.norm.ppf(0.95)).mean() / 0.05
    assert found["high outcomes of pressure"].effect == pytest.approx(high, rel=0.25)
    few, many = np.quantile(x["dose"], [1 / 3, 2 / 3])
    inside = (x["dose"] > few) & (x["dose"] <= many)
    middling = next(one for view, one in found.items() if view.startswith("mean") and "dose is from" in view)
    assert middling.effect == pytest.approx(residuals[inside].mean() - residuals.mean(), abs=0.02)


def test_influences_of_outcomes_are_those_of_more_rows():
    x, y = outcomes(3, lambda rng, a, b: rng.normal(size=len(a)), 60)
    pairs = gs.Paired(x, y)

    def sample(x, rng):
        # The hundred draws at a row are always the same, whatever the other rows are.
        k = np.arange(len(x)) // (len(x) // 100)
        return 1 + x[:, 0] + 0.5 * scipy.stats.norm.ppf((37 * k % 100 + 0.5) / 100)

    look = Outcomes(gs.ConditionalModel(score=lambda y, x: 0 * y, sample=sample), gs.Euclidean(1), pairs, 1)
    values, psi = look.measure(pairs)
    assert np.isfinite(values).all()
    assert_allclose(psi.mean(axis=0), 0, atol=1e-12)
    whole = np.tile(np.arange(len(pairs)), 50)
    for i in (0, 17, 42):
        heavier, _ = look.measure(pairs.take(np.append(whole, i)))
        assert_allclose((heavier - values) * (len(whole) + 1), psi[i], rtol=0.02, atol=1e-9)


def test_counts_given_covariates_know_the_fit():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(37)
    x = rng.uniform(-1, 1, (300, 2))
    frame = sm.add_constant(pd.DataFrame(x, columns=["age", "dose"]))
    visits = rng.poisson(np.exp(1 + x[:, 0])) * (rng.random(300) > 0.2)
    fit = sm.GLM(pd.Series(visits, name="visits"), frame, family=sm.families.Poisson()).fit()
    pairs = gs.Paired.of_fit(fit)
    assert pairs.covariate_names == ("const", "age", "dose") and pairs.outcome_names == ("visits",)
    found = gs.ksd_test(pairs, fit, rng=1).explain()
    zeros = next(one for one in found.findings[:2] if one.kind == "zeros")
    assert zeros.fails and zeros.low > 1 and zeros.columns == ("visits",)
    assert not any("const" in one.columns for one in found.findings)
    # A fit matches the mean.
    mean = next(one for one in found.findings if one.kind == "mean")
    assert abs(mean.effect) < 0.05 and mean.adjusted > 0.5


def test_outcomes_need_a_sampler():
    model = gs.ConditionalModel(score=lambda y, x: x[:, 0] - y)
    with pytest.raises(gs.InputError, match=r"has no sampler\. .*sample="):
        explained(outcomes(1, lambda rng, a, b: rng.normal(size=len(a))), model)


def test_sentences_are_to_the_left():
    law, _, _ = DEPARTURES["heteroscedastic"]
    lines = str(explained(outcomes(1, law), LINE)).split("\n")
    head = next(line for line in lines if "what is wrong" in line)
    first = next(line for line in lines if line.strip().startswith("1."))
    assert head.index("what is wrong") == first.index("`pressure`")


def test_tails_of_directions_are_on_the_side_where_they_are():
    rng = np.random.default_rng(26)
    angles = rng.vonmises(0.0, 8.0, 400)
    angles[:60] = rng.normal(1.2, 0.2, 60)  # all at larger angles
    found = explained({"heading": rng.permutation(angles)}, FAMILY.VonMises(0.0, 8.0))
    shape = next(one for one in found.failing if one.view.startswith("lean of"))
    assert "longer tail towards larger angles" in shape.statement
    mirrored = explained({"heading": rng.permutation(-angles)}, FAMILY.VonMises(0.0, 8.0))
    shape = next(one for one in mirrored.failing if one.view.startswith("lean of"))
    assert "longer tail away from larger angles" in shape.statement
