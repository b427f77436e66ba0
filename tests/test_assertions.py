"""Assertions about samplers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import chi2

import goodstein as gs
from goodstein.testing.samples import MARGIN, combined, parts_for

RNG = np.random.default_rng(3)
X = RNG.normal(size=(1200, 2))


def score(x):
    return -x


def autoregression(rho, n, rng):
    steps = rng.standard_normal((n, 2))
    steps[1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], steps, axis=0)


def test_right_samplers_pass():
    gs.testing.assert_samples(X, score)
    gs.testing.assert_samples(X.reshape(4, 300, 2), score)
    gs.testing.assert_samples([autoregression(0.7, 1500, RNG) for _ in range(4)], score)
    gs.testing.assert_samples(autoregression(0.5, 3000, RNG), score)


def test_wrong_ones_fail_and_the_message_says_in_what():
    names = pytest.importorskip("pandas").DataFrame(X * [1.0, 1.4], columns=["mu", "tau"])
    with pytest.raises(AssertionError) as failure:
        gs.testing.assert_samples(names, score)
    said = str(failure.value)
    assert "The draws are not from score=score: p = " in said
    assert "(false alarms: 1e-06)" in said
    assert "1200 draws, worth about 1200 independent ones; p-values of 4 parts" in said
    assert "1. spread of `tau`" in said


def test_fisher_combines_p_values_with_their_margin():
    pvalues = np.array([0.004, 0.3, 0.9, 0.02])
    expected = chi2.sf(-2 * np.log(np.minimum(1.0, MARGIN * pvalues)).sum(), 8)
    assert combined(pvalues) == pytest.approx(expected, rel=1e-12)
    assert [parts_for(rate) for rate in (0.05, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)] == [2, 2, 2, 3, 4, 6]


def test_uniform_p_values_give_no_more_false_alarms_than_are_allowed():
    """Of p-values (1 + k)/1000, the largest that B = 999 draws of a true model have, by convolution."""
    steps = np.arange(0.0, 60.0, 0.01)
    values = -2 * np.log(np.minimum(1.0, MARGIN * np.arange(1, 1001) / 1000))
    one = np.bincount(np.ceil(values / 0.01).astype(int), minlength=len(steps)) / 1000
    four = one
    for _ in range(3):
        four = np.convolve(four, one)
    at = np.arange(len(four)) * 0.01
    for rate in (1e-2, 1e-4, 1e-6):
        assert four[at >= chi2.isf(rate, 8)].sum() <= rate


def test_the_answer_does_not_depend_on_chance():
    shifted = X + 0.12
    outcomes = []
    for _ in range(3):
        try:
            gs.testing.assert_samples(shifted, score)
            outcomes.append("")
        except AssertionError as failure:
            outcomes.append(str(failure))
    assert len(set(outcomes)) == 1


def test_too_few_draws_and_bad_rates_are_refused():
    with pytest.raises(gs.InputError, match=r"`draws`: 20 draws, worth about 20 .* are too few"):
        gs.testing.assert_samples(X[:20], score)
    with pytest.raises(gs.InputError, match=r"`false_alarms` must be a rate from 1e-9 to 0\.05"):
        gs.testing.assert_samples(X, score, false_alarms=0.0)
    with pytest.raises(gs.InputError, match="`draws`"):
        gs.testing.assert_samples(np.where(X > 3, np.nan, X), score)
    with pytest.raises(gs.SteinIdentityError):
        gs.testing.assert_samples(
            RNG.uniform(size=(400, 1)), lambda x: -x, domain=gs.Box(0, 1), operator=gs.Langevin()
        )
