"""Which null distribution is chosen where none is named, and which members too few observations carry."""

import numpy as np
import pytest

import goodstein as gs
from goodstein.auditing.skewness import carrying, needed, too_skewed
from goodstein.errors import CalibrationWarning
from goodstein.nulls import MonteCarlo, WildBootstrap
from goodstein.pipeline.choice import BUDGET, SAMPLES, choose_null, cost_of_a_sample
from goodstein.pipeline.compose import compose
from goodstein.pipeline.probes import check_skewed

LINE = gs.families.Normal(0.0, 1.0)


def chosen(data, model, null="auto", **options):
    return choose_null(null, compose(data, model), **options)


def test_a_model_with_a_sampler_is_simulated_while_that_is_affordable():
    counts = []
    for n in (20, 500, 2000):
        problem = compose(LINE.sample(n, rng=1), LINE)
        choice = choose_null("auto", problem, 1999, members=6)
        counts.append((type(choice.null), choice.null.n_resamples))
        affordable = [count for count in SAMPLES if count * cost_of_a_sample(problem, 6) <= BUDGET]
        assert bool(affordable) is isinstance(choice.null, MonteCarlo)
        assert ("affordable" if affordable else "too long") in choice.reason
    assert counts == [(MonteCarlo, 999), (MonteCarlo, 499), (WildBootstrap, 1999)]


def test_nothing_else_is_simulated_of_itself():
    x = LINE.sample(30, rng=1)
    plane = np.column_stack([x, x[::-1]])
    assert isinstance(chosen(plane, gs.Model(score=lambda x: -x)).null, WildBootstrap)
    assert "no sampler" in chosen(plane, gs.Model(score=lambda x: -x)).reason
    # Along a line the score alone does, unless every point is a call of its own.
    assert isinstance(chosen(x, gs.Model(score=lambda x: -x)).null, MonteCarlo)
    assert "no sampler" in chosen(x, gs.Model(score=lambda x: -float(x))).reason
    window = gs.families.PoissonProcess(9.0, gs.Box([0, 0], [1, 1]))
    assert isinstance(chosen(window.sample(10, rng=1), window).null, WildBootstrap)
    large = gs.families.Ising(np.zeros((20, 20)))
    states = np.sign(np.random.default_rng(1).normal(size=(30, 20)))
    assert "Markov chain" in chosen(states, large).reason
    # ksd_test keeps the wild bootstrap, and what a user names is taken as it is.
    assert choose_null(None, compose(x, LINE)) == (WildBootstrap(), "")
    assert chosen(x, LINE, MonteCarlo(19)) == (MonteCarlo(19), "")
    with pytest.raises(gs.InputError, match="null"):
        chosen(x, LINE, "simulate")


def test_the_result_tells_the_choice():
    x = LINE.sample(20, rng=1)
    result = gs.ksd_test(x, LINE, null="auto", rng=1)
    assert result.null == MonteCarlo(999)
    assert "affordable" in result.details["null distribution"]
    plane = np.column_stack([x, x[::-1]])
    assert gs.aggregated_test(plane, gs.Model(score=lambda x: -x), rng=1).null == WildBootstrap(1999)
    assert gs.ksd_test(x, LINE, rng=1).null == WildBootstrap()


def test_rows_that_depend_on_each_other_are_not_compared_with_independent_ones():
    rng, chain = np.random.default_rng(1), np.zeros(300)
    for k in range(1, 300):
        chain[k] = 0.95 * chain[k - 1] + np.sqrt(1 - 0.95**2) * rng.normal()
    with pytest.warns(CalibrationWarning, match="depend"):
        result = gs.ksd_test(chain, LINE, null="auto", rng=1)
    assert isinstance(result.null, WildBootstrap)
    assert "depend on each other" in result.details["null distribution"]


def test_how_many_observations_carry_a_statistic():
    assert carrying(np.ones(50)) == pytest.approx(1.0)
    assert carrying(np.r_[np.zeros(49), 3e200]) == pytest.approx(0.02)
    assert carrying(np.zeros(5)) == 1.0
    assert [needed(n) for n in (10, 20, 50, 120, 1000)] == pytest.approx([4.0, 7.0, 7.0, 12.0, 16.0])
    assert too_skewed(np.r_[np.zeros(96), np.ones(4)], 100)


def test_skewed_features_warn_or_are_left_out():
    model = gs.families.Dirichlet([100.0, 1.0, 0.1])
    x = model.sample(200, rng=3)
    with pytest.warns(CalibrationWarning, match=r"skewed.*MonteCarlo\(\)"):
        gs.ksd_test(x, model, operator=gs.Standardised(gs.ProductOfParts()), rng=1)
    result = gs.aggregated_test(x, model, null=WildBootstrap(199), rng=1)
    assert any("too few observations carry" in note and "Moments" in note for note in result.notes)
    assert not any("Moments(1, LogRatio())" in repr(member.operator) for member in result.members)
    assert sum(member.weight for member in result.members) == pytest.approx(1.0)
    # Simulated null distributions are exact with all of them.
    simulated = gs.aggregated_test(x[:30], model, null=MonteCarlo(19), rng=1)
    assert any("Moments(1, LogRatio())" in repr(member.operator) for member in simulated.members)
    assert not simulated.notes


@pytest.mark.parametrize("n", [20, 50, 200])
def test_ordinary_features_are_not_called_skewed(n):
    for model in (LINE, gs.families.Normal(np.zeros(5)), gs.families.Dirichlet([2.0, 1.0, 0.5])):
        flagged = [bool(check_skewed(compose(model.sample(n, rng=k), model))) for k in range(10)]
        assert sum(flagged) <= 1


def test_counts_in_many_columns_have_pairs_of_neighbours_to_pay_for():
    rng = np.random.default_rng(1)
    counts = compose(rng.poisson(2.0, (100, 30)), gs.families.Poisson(np.full(30, 2.0)))
    numbers = compose(rng.normal(size=(100, 30)), gs.families.Normal(np.zeros(30)))
    assert cost_of_a_sample(counts, 13) > 2 * cost_of_a_sample(numbers, 13)
    assert isinstance(choose_null("auto", counts, members=13).null, WildBootstrap)


def test_a_small_p_value_decides_nothing_where_draws_of_the_model_say_that_hardly_any_row_carries_it():
    rare = gs.families.Poisson(0.01)
    zeros = np.zeros(100)  # the most probable sample there is
    with pytest.warns(CalibrationWarning, match="carry the statistic"):
        result = gs.ksd_test(zeros, rare, rng=1)
    assert result.pvalue < 0.05
    assert "random signs do not know the distribution" in result.undecided()
    simulated = gs.ksd_test(zeros, rare, null=MonteCarlo(99), rng=1)
    assert simulated.pvalue > 0.3
    assert not simulated.undecided(0.05)
    # Gross misfits of models whose features are of nearly equal size stay what they are.
    assert not gs.ksd_test(np.full(100, 3.0), gs.families.Poisson(1.0), rng=1).undecided()
