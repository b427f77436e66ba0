"""Ranks as data for copulas: true models look too good to a null distribution of independent rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, rankdata

import goodstein as gs
from goodstein.auditing.ranks import are_ranks

GUMBEL = gs.families.GumbelCopula(2.0)


def ranks(x):
    return rankdata(x, axis=0) / (len(x) + 1)


def of_ranks(u):
    copula = gs.families.GumbelCopula.fit(u)
    return gs.Model(
        logpdf=copula.logpdf,
        score=copula.score,
        domain=copula.domain,
        sample=lambda n, rng: ranks(copula.sample(n, rng=rng)),
    )


@pytest.mark.parametrize("null", [None, gs.MonteCarlo(39)], ids=["signs", "simulated"])
def test_a_large_p_value_of_ranks_decides_nothing(null):
    u = ranks(GUMBEL.sample(100, rng=1))
    with pytest.warns(gs.CalibrationWarning, match="Every column is evenly spaced, as ranks"):
        result = gs.ksd_test(u, GUMBEL, null=null, rng=1)
    assert result.pvalue > 0.5
    assert "the rows are ranks" in result.undecided()
    assert "Cannot decide" in result.summary()


def test_a_bootstrap_that_ranks_its_samples_too_has_uniform_p_values_and_finds_another_copula():
    null = gs.ParametricBootstrap(of_ranks, 39)
    found = []
    for seed in range(30):
        u = ranks(GUMBEL.sample(60, rng=seed))
        result = gs.ksd_test(u, of_ranks(u), null=null, rng=seed)
        assert not result.undecided(0.05)
        found.append(result.pvalue)
    assert kstest(found, "uniform").pvalue > 0.01
    other = ranks(gs.families.ClaytonCopula(4.0).sample(150, rng=1))
    assert gs.ksd_test(other, of_ranks(other), null=null, rng=1).pvalue == 1 / 40


def test_what_ranks_are():
    u = np.random.default_rng(1).permuted(np.tile(np.arange(1, 31.0) / 31, (2, 1)), axis=1).T
    assert are_ranks(u)
    assert not are_ranks(u[:, :1])  # a grid of one column is a design
    assert not are_ranks(u[1:])
    assert not are_ranks(np.random.default_rng(1).random((30, 2)))
    assert not are_ranks(u[:5])


def test_even_steps_elsewhere_are_no_ranks_of_a_copula():
    x = np.random.default_rng(1).permuted(np.tile(np.linspace(-2, 2, 40), (2, 1)), axis=1).T
    result = gs.ksd_test(x, gs.families.Normal([0.1, 0], np.eye(2)), rng=1)
    assert not any("ranks" in note for note in result.notes)
