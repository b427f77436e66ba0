"""Streams: payoffs against their definition and quadrature, wealth by hand, shards, pickles, bad input."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

import goodstein as gs
from goodstein.families import Dirichlet, Normal, StudentT
from goodstein.monitoring import bets as module
from goodstein.monitoring.wealth import Wealth

LINE = Normal(0.0, 1.0)
DATA = Normal(0.4, 1.0).sample(300, rng=2)


def watching(model=LINE, landmarks=40, **options):
    return gs.Monitor(model, landmarks=landmarks, rng=1, **options)


def test_wealth_is_that_of_a_gambler_who_knows_the_past_only():
    payoffs = np.array([0.5, 0.2, -0.6, 0.9, 0.9, -1.0])
    wealth, most, total, squares = 1.0, 1.0, 0.0, 0.0
    for payoff in payoffs:
        stake = min(max(total / (0.25 + squares), 0.0), 0.5)
        wealth *= 1.0 + stake * payoff
        most, total, squares = max(most, wealth), total + payoff, squares + payoff**2
    found = Wealth().after(payoffs[:2]).after(payoffs[:0]).after(payoffs[2:])
    assert math.exp(found.log) == pytest.approx(wealth, rel=1e-12)
    assert math.exp(found.log_largest) == pytest.approx(most, rel=1e-12)
    assert most > wealth > 0.0


def test_payoffs_are_bounded_and_have_mean_zero_under_the_model():
    """By quadrature over the model, for the direction of the bets after so many observations."""
    grid = np.linspace(-12.0, 12.0, 601)[:, None]
    density = np.exp(LINE.logpdf(grid))
    for count in (1, 30, 200):
        bets = watching().update(DATA[:count])._bets
        bets.choose()
        payoff = bets.direction @ bets.columns(grid)[: len(bets.rows)]
        mean = float(np.sum(payoff * density)) * (grid[1, 0] - grid[0, 0])
        assert abs(mean) < 1e-8
        assert np.abs(payoff).max() > 0.1
        assert payoff.min() >= -1.0 and payoff.max() <= 1.0


def test_evidence_is_that_of_the_definition():
    """One observation after another, with the mean of all features before it projected on the first 40."""
    monitor = watching().update(DATA)
    used = monitor._problem
    h = used.fitted_operator.features(used.model, used.domain, DATA).form(used.fitted_kernel).matrix()
    wealth, direction, turn = Wealth(), None, 1
    for t in range(len(DATA)):
        if t >= turn:
            turn, m = max(t + 1, math.ceil(1.05 * t)), min(t, 40)
            mean = h[:m, :t].mean(axis=1)
            coefficients = np.linalg.pinv(h[:m, :m], rcond=1e-10, hermitian=True) @ mean
            direction = coefficients / math.sqrt(coefficients @ mean)
        if direction is not None:
            wealth = wealth.after(direction @ h[: len(direction), [t]] / monitor._bets.bound)
    # Up to directions that are cut off as rounding errors, here those below 1e-10 of the largest.
    assert monitor.evalue == pytest.approx(math.exp(wealth.log), rel=1e-4)
    assert monitor.pvalue == pytest.approx(math.exp(-wealth.log_largest), rel=1e-4)


@pytest.mark.parametrize("size", [1, 7, 113])
def test_chunks_do_not_count(size):
    whole, parts = watching().update(DATA[:150]), watching()
    for start in range(0, 150, size):
        parts.update(DATA[start : min(start + size, 150)])
    assert parts.n == whole.n == 150
    assert parts.evalue == pytest.approx(whole.evalue, rel=1e-9)
    assert parts.pvalue == pytest.approx(whole.pvalue, rel=1e-9)


def test_what_is_wrong_is_found_and_what_is_true_is_not():
    wrong, right = watching().update(DATA), watching().update(LINE.sample(300, rng=5))
    assert wrong.reject(0.01) and wrong.evalue > 100 and wrong.pvalue <= 1 / wrong.evalue
    assert not right.reject() and right.evalue < 20 and 0 < right.pvalue <= 1
    text = wrong.report()
    assert text == str(wrong) and "300 observations so far" in text and "valid at any time" in text
    assert wrong.to_dict()["n"] == 300 and json.loads(wrong.to_json())["evalue"] == wrong.evalue
    assert "e-value" in repr(wrong)


@pytest.mark.parametrize(
    ("model", "other"),
    [
        (Dirichlet([2.0, 2.0, 2.0]), Dirichlet([5.0, 2.0, 2.0])),
        (gs.families.VonMisesFisher([0.0, 0.0, 1.0], 2.0), gs.families.VonMisesFisher([0.0, 1.0, 0.0], 2.0)),
        (StudentT(3.0, [0.0, 0.0]), Normal([1.0, 0.0])),
    ],
)
def test_other_domains(model, other):
    assert gs.Monitor(model, rng=1).update(other.sample(400, rng=1)).reject(0.01)


def test_far_observations_do_not_break_it():
    x = LINE.sample(100, rng=5)
    x[50] = 1e6
    found = watching().update(x)
    assert math.isfinite(found.evalue)


@pytest.mark.slow
def test_level_is_kept_with_a_look_after_every_observation():
    start = watching()
    early = sum(start.merge().update(LINE.sample(200, rng=100 + k)).reject(0.05) for k in range(400))
    assert early <= 0.05 * 400 + 3 * math.sqrt(400 * 0.05 * 0.95)


# --- shards and files --------------------------------------------------------------------------


def test_shards_multiply():
    parts = [watching().update(part) for part in (DATA[:120], DATA[120:200], DATA[200:])]
    merged = parts[1].merge(parts[0], parts[2])
    assert merged.n == 300
    assert merged.evalue == pytest.approx(math.prod(part.evalue for part in parts), rel=1e-9)
    assert merged.pvalue == pytest.approx(min(1.0, 1.0 / merged.evalue), rel=1e-9)
    # It goes on with the bets of the first, which has seen most, and leaves the shards as they were.
    more = Normal(0.4, 1.0).sample(50, rng=9)
    before = parts[0].evalue
    factor = merged.merge().update(more).evalue / merged.evalue
    assert factor == pytest.approx(parts[0].merge().update(more).evalue / parts[0].evalue, rel=1e-9)
    assert parts[0].evalue == before and parts[0].n == 120


def test_shards_must_be_of_one_model_and_of_different_rows():
    one = watching().update(DATA[:60])
    with pytest.raises(gs.InputError, match="observations in common"):
        one.merge(watching().update(DATA[30:90]))
    with pytest.raises(gs.InputError, match=r"others\[0\] watches another model"):
        one.merge(watching(Normal(0.0, 2.0)))
    with pytest.raises(gs.InputError, match=r"`others\[0\]` must be a Monitor"):
        one.merge(3)


def test_a_pickled_monitor_goes_on():
    whole, first = watching().update(DATA), watching().update(DATA[:77])
    again = pickle.loads(pickle.dumps(first))
    assert (again.n, again.evalue, again.pvalue) == (77, first.evalue, first.pvalue)
    assert again.update(DATA[77:]).evalue == pytest.approx(whole.evalue, rel=1e-9)
    assert first.n == 77 and again.merge(watching().update(-DATA[:50])).n == len(DATA) + 50


# --- what is refused ---------------------------------------------------------------------------


def test_a_score_alone_needs_a_reference():
    with pytest.raises(gs.InputError, match=r"has no sampler.*Pass `reference`"):
        gs.Monitor(lambda x: -x, domain=gs.Euclidean(1))
    found = gs.Monitor(lambda x: -x, reference=LINE.sample(200, rng=3), landmarks=40).update(DATA)
    assert found.reject(0.01)


def test_observations_beyond_the_bound_are_refused_and_change_nothing():
    monitor = watching(bound=3.0).update(DATA[:20])
    before = monitor.to_dict()
    with pytest.raises(gs.ScoreError, match=r"√h\(x, x\) is .* at row 1 .* more than twice the bound of 3"):
        monitor.update([[0.0], [50.0]])
    assert monitor.to_dict() == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: watching(landmarks=1), "`landmarks` of Monitor"),
        (lambda: watching(bound=0.0), "`bound` of Monitor must be a positive number"),
        (lambda: watching().update(None), "`chunk` is None"),
        (lambda: watching().update([[np.nan]]), "NaN"),
        (lambda: watching().update([[1.0, 2.0]]), "2 columns"),
        (lambda: watching().reject(2.0), "`level` must be"),
        (lambda: watching(gs.families.Exponential(1.0)).update([[-1.0]]), "outside"),
        (lambda: watching(operator=gs.Regularised(strength=0.1, draws=0)), "one by one"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(gs.InputError, match=message):
        call()


def test_an_operator_that_is_not_valid_is_refused():
    uniform = gs.families.Uniform(gs.Box(0.0, 1.0))
    with pytest.raises(gs.SteinIdentityError, match="not valid"):
        watching(uniform, operator=gs.Langevin())


def test_dependence_is_told():
    x = np.random.default_rng(1).standard_normal((100, 1))
    for i in range(1, 100):
        x[i] = 0.9 * x[i - 1] + np.sqrt(0.19) * x[i]
    with pytest.warns(gs.CalibrationWarning, match="depend on each other.*not valid"):
        found = watching(landmarks=80).update(x)
    assert "depend on each other" in str(found)


def test_rows_of_the_fit_are_told():
    with pytest.warns(gs.CalibrationWarning, match="took no part in the fit"):
        watching(Normal.fit(DATA)).update(DATA[:50])


def test_work_for_an_observation_does_not_grow(monkeypatch):
    monitor, sizes = watching(), []
    original = module.Bets._joint

    def spied(self, x):
        form = original(self, x)
        sizes.append(form.n - len(x))
        return form

    monkeypatch.setattr(module.Bets, "_joint", spied)
    monitor.update(LINE.sample(2000, rng=1))
    assert max(sizes) == 40 and len(sizes) < 150
