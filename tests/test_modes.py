"""Isolated modes: where a test by scores says nothing of shares, the result says so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as st

import goodstein as gs
from goodstein.auditing.modes import DEPTH, check_modes
from goodstein.operators.mode_search import find_modes

FAMILY = gs.families


def mixture(half: float, weights=(0.5, 0.5), d: int = 1) -> FAMILY.GaussianMixture:
    means = np.zeros((2, d))
    means[:, 0] = -half, half
    return FAMILY.GaussianMixture(weights, means, 1.0)


def check(model, x, drawn=None):
    wrapped = gs.as_model(model)
    x = np.asarray(x, float).reshape(len(x), -1)
    return check_modes(wrapped, wrapped.domain or gs.Euclidean(x.shape[1]), x, drawn)


def bare(family, sample=None):
    return gs.Model(score=family.score, domain=family.domain, sample=sample, name="bare")


FAR = mixture(5.0)
APART = {
    "density": (FAR, FAR),
    "score": (bare(FAR), FAR),
    "five dimensions": (mixture(6.0, d=5), mixture(6.0, d=5)),
    "other weights": (FAR, mixture(5.0, (0.8, 0.2))),
    "other units": (
        FAMILY.GaussianMixture([0.5, 0.5], [[-5e3, 0.0], [5e3, 0.0]], np.diag([1e6, 1e-4])),
        FAMILY.GaussianMixture([0.5, 0.5], [[-5e3, 0.0], [5e3, 0.0]], np.diag([1e6, 1e-4])),
    ),
    "box": (
        FAMILY.Truncated(FAMILY.GaussianMixture([0.5, 0.5], [0.3, 0.7], 0.0016), gs.Box(0.0, 1.0)),
        FAMILY.Truncated(FAMILY.GaussianMixture([0.5, 0.5], [0.3, 0.7], 0.0016), gs.Box(0.0, 1.0)),
    ),
}


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("n", [40, 3000])
def test_groups_that_lie_apart_are_told(name, n):
    model, source = APART[name]
    (found,) = check(model, source.sample(n, rng=1))
    assert found.status == "warn" and not found.loud and "2 groups" in found.message


def test_the_drop_is_that_of_the_density():
    """log q falls from the typical, half a unit below the peak, to the middle, 12.5 − log 2 below it."""
    (found,) = check(FAR, FAR.sample(200, rng=1))
    (numeric,) = check(bare(FAR), FAR.sample(200, rng=1))
    drop = float(found.message.partition("e^-")[2].split()[0])
    assert 10.5 <= drop <= 12.5
    assert numeric.message.partition("e^-")[2].split()[0] == found.message.partition("e^-")[2].split()[0]
    assert DEPTH < 10.5


ONE_PIECE = {
    "normal": FAMILY.Normal(0.0, 1.0),
    "twenty dimensions": FAMILY.Normal(np.zeros(20)),
    "cauchy": FAMILY.StudentT(1.0, 0.0, 1.0),
    "skewed": FAMILY.LogNormal(0.0, 2.0),
    "pole": FAMILY.Gamma(0.2, 1.0),
    "poles": st.beta(0.1, 0.1),
    "overlapping": mixture(2.0),
}


@pytest.mark.parametrize("name", ONE_PIECE)
@pytest.mark.parametrize("n", [20, 200])
def test_one_piece_is_never_taken_for_two(name, n):
    model = ONE_PIECE[name]
    wrapped = gs.as_model(model)
    for seed in range(15):
        x = wrapped.sample(n, np.random.default_rng(seed))
        x = np.clip(x, 1e-300, 1 - 1e-16) if name == "poles" else x
        assert check(model, x) == []
        if name != "poles":
            assert check(bare(model), x) == []


@pytest.mark.parametrize("name", ["normal", "twenty dimensions", "cauchy", "skewed"])
def test_no_groups_are_sought_where_the_density_has_one_peak(name, monkeypatch):
    def fail(distances):
        raise AssertionError("single linkage was asked")

    monkeypatch.setattr("goodstein.auditing.modes.single_linkage", fail)
    x = ONE_PIECE[name].sample(100, rng=1)
    assert check(ONE_PIECE[name], 1e3 * (x / 1e3), drawn=x) == []  # equal rows, some up to rounding
    with pytest.raises(AssertionError, match="single linkage"):
        check(FAR, FAR.sample(40, rng=1))


def test_curved_ridges_are_one_piece():
    rng = np.random.default_rng(1)
    ring = gs.Model(logpdf=lambda x: -0.5 * ((np.sqrt((x**2).sum(axis=1)) - 5) / 0.3) ** 2, name="ring")
    angle, radius = rng.uniform(0, 2 * np.pi, 300), 5 + 0.3 * rng.standard_normal(300)
    assert check(ring, np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])) == []
    banana = gs.Model(
        logpdf=lambda x: -(x[:, 0] ** 2) / 18 - 0.5 * ((x[:, 1] - x[:, 0] ** 2) / 0.2) ** 2, name="banana"
    )
    a = 3 * rng.standard_normal(300)
    assert check(banana, np.column_stack([a, a**2 + 0.2 * rng.standard_normal(300)])) == []


def test_clusters_that_the_model_does_not_have_are_the_business_of_the_test():
    x = mixture(5.0).sample(200, rng=1)
    assert check(FAMILY.Normal(0.0, 25.0), x) == []
    assert gs.ksd_test(x, FAMILY.Normal(0.0, 25.0), rng=1).pvalue <= 0.01


def test_outliers_are_no_group():
    x = np.append(FAMILY.Normal(0.0, 1.0).sample(100, rng=1), [-5.0, 5.0])
    assert check(mixture(5.0, (0.5, 0.5)), x) == []


def test_the_summary_names_what_was_not_tested():
    """All data in one of two modes: the test by scores sees nothing, and draws tell why."""
    x = FAMILY.Normal(5.0, 1.0).sample(200, rng=1)
    blind = gs.ksd_test(x, FAR, rng=1)
    assert blind.pvalue > 0.05
    assert "was not tested" in str(blind) and "mmd_test" in str(blind) and "Perturbed()" in str(blind)
    assert "isolated modes" in [check.name for check in blind.audit.checks]
    assert gs.mmd_test(x, FAR, rng=1).pvalue <= 0.01
    named = gs.ksd_test(x, FAR, operator=gs.Perturbed(), rng=1)
    assert named.pvalue <= 0.01 and "was not tested" not in str(named)


def test_a_collection_with_draws_sees_the_shares_and_one_without_says_that_it_does_not():
    model = mixture(5.0, d=2)
    x = mixture(5.0, (0.8, 0.2), 2).sample(150, rng=1)
    seeing = gs.aggregated_test(x, model, null=gs.WildBootstrap(199), rng=1)
    assert seeing.pvalue <= 0.05 and "was not tested" not in str(seeing)
    blind = gs.aggregated_test(x, model.score, null=gs.WildBootstrap(199), rng=1)
    assert blind.pvalue > 0.05 and "Model(score=..., logpdf=...)" in str(blind)


def test_along_a_line_the_score_alone_tells_the_shares_and_a_mode_in_which_no_data_are():
    x = mixture(5.0, (0.8, 0.2)).sample(150, rng=1)
    seeing = gs.aggregated_test(x, FAR.score, null=gs.WildBootstrap(199), rng=1)
    assert seeing.pvalue <= 0.05 and "was not tested" not in str(seeing)
    (note,) = gs.ksd_test(FAMILY.Normal(5.0).sample(300, rng=3), FAR.score, rng=1).notes
    assert "The data and draws of the model fall into 2 groups" in note


def test_a_sampler_of_a_users_own_is_not_called_where_it_is_not_needed():
    def sample(n, rng):
        raise AssertionError("the sampler was called")

    x = FAMILY.Normal(5.0, 1.0).sample(50, rng=1)
    assert gs.ksd_test(x, bare(FAR, sample), rng=1).notes == ()


def density(family):
    """Its logarithm alone, and a score: no sampler that would show what the data do not."""
    return gs.Model(logpdf=family.logpdf, score=family.score, domain=family.domain, batched=True, name="bare")


def test_a_mode_in_which_no_data_are_is_told_where_there_is_a_log_density():
    """As after a Markov chain that never left one of two modes: the score alone sees nothing wrong."""
    d = 3
    model = mixture(8.0, (0.7, 0.3), d)
    x = FAMILY.Normal([-8.0] + [0.0] * (d - 1)).sample(300, rng=3)
    result = gs.ksd_test(x, density(model), rng=1)
    assert result.pvalue > 0.05
    (note,) = result.notes
    assert "has a mode at [8.0" in note and "about 30% of the mass" in note and "Perturbed()" in note
    assert gs.ksd_test(x, density(model), operator=gs.Perturbed(), rng=1).pvalue < 0.01
    assert gs.ksd_test(x, bare(model), rng=1).notes == ()  # nobody can know


@pytest.mark.parametrize(
    "family",
    [
        FAMILY.Normal([1.0, 2.0], [[1.0, 0.9], [0.9, 1.0]]),
        FAMILY.StudentT(2.0, 0.0, 1.0),
        FAMILY.Gamma(0.5, 1.0),
        FAMILY.LogNormal(0.0, 2.0),
        mixture(1.0),
    ],
    ids=lambda family: type(family).__name__,
)
def test_no_mode_is_missed_where_there_is_one(family):
    notes = gs.ksd_test(family.sample(200, rng=1), density(family), rng=1).notes
    assert not any("mode" in note for note in notes)


def test_compiled_densities_are_asked_for_few_numbers_of_rows():
    shapes = []

    def logpdf(z):
        shapes.append(len(z))
        return FAR.logpdf(z)

    model = gs.Model(logpdf=logpdf, score=FAR.score, domain=FAR.domain, batched=True)
    x = FAMILY.Normal(-5.0, 1.0).sample(300, rng=1)
    del shapes[:]
    assert len(find_modes(model, FAR.domain, x[:20])) == 2
    assert set(shapes) <= {32, 64, 128, 256, 512} and sum(shapes) < 3000


@pytest.mark.parametrize(
    "model",
    [
        FAMILY.Normal([0.0, 3.0], [[2.0, 1.0], [1.0, 2.0]]),
        FAMILY.StudentT(1.5, [0.0, 3.0]),
        FAMILY.Laplace([0.0, 3.0], [1.0, 4.0]),
    ],
    ids=repr,
)
def test_families_that_promise_no_valley_have_none(model):
    """By the definition: on a line the density is nowhere below both of its ends."""
    assert gs.as_model(model).quasi_concave
    a, b = (3.0 * model.sample(500, rng=seed) for seed in (1, 2))
    for share in (0.1, 0.5, 0.9):
        between = model.logpdf((1.0 - share) * a + share * b)
        assert (between >= np.minimum(model.logpdf(a), model.logpdf(b)) - 1e-9).all()
    assert not gs.as_model(mixture(1.0)).quasi_concave
