"""Sample sizes against closed forms, and what cannot be planned."""

from __future__ import annotations

import threading
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.special import ndtr
from scipy.stats import chi2, norm

import goodstein as gs
from goodstein.families import Exponential, Normal
from goodstein.power.search import bracket, crossing

NULL = Normal(0, 1)


def z_test(data, model, *, rng):
    """The most powerful test of the mean against larger ones."""
    return float(ndtr(-np.sqrt(len(data)) * data.mean()))


def exact(shift: float, power: float, level: float) -> float:
    return float(((norm.isf(level) + norm.ppf(power)) / shift) ** 2)


# --- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shift", "power", "level"),
    [
        pytest.param(0.3, 0.8, 0.05, marks=pytest.mark.slow),
        (0.5, 0.9, 0.01),
        pytest.param(0.2, 0.5, 0.1, marks=pytest.mark.slow),
        (0.9, 0.95, 0.05),
    ],
)
def test_normal_mean(shift, power, level):
    found = gs.sample_size(
        NULL, Normal(shift, 1), z_test, power=power, level=level, trials=600, bounds=(2, 10_000), rng=1
    )
    n = exact(shift, power, level)
    low, high = found.interval
    # A closed form within the 99.9 % interval, about 1.7 times as wide.
    assert found.n - 1.7 * (found.n - low) - 1 <= n <= found.n + 1.7 * (high - found.n) + 1
    assert high - low < 0.5 * n + 4
    assert found.bound == pytest.approx(n, rel=0.08, abs=1.0)  # the test is the most powerful one


def test_the_interval_covers():
    n, covered = np.ceil(exact(0.5, 0.8, 0.05)), 0
    for seed in range(12):
        found = gs.sample_size(NULL, Normal(0.5, 1), z_test, trials=60, bound=False, rng=seed)
        covered += found.interval[0] <= n <= found.interval[1]
    assert covered >= 9  # of 12; at 95 % fewer have a probability of .2 %


def test_the_bound_of_a_test_that_sees_less():
    # Only the signs: p = .5 + about shift·φ(0), which needs π/2 times as many observations.
    def sign_test(data, model, *, rng):
        return float(ndtr(-(2 * (data > 0).sum() - len(data)) / np.sqrt(len(data))))

    found = gs.sample_size(NULL, Normal(0.3, 1), sign_test, trials=400, rng=1)
    assert 1.2 < found.n / found.bound < 2.1


def test_exponential_bound():
    found = gs.sample_size(
        Exponential(1),
        Exponential(1.5),
        lambda data, model, *, rng: float(chi2.sf(2 * data.sum(), 2 * len(data))),
        trials=400,
        rng=2,
    )
    n = next(n for n in range(2, 200) if chi2.sf(chi2.isf(0.05, 2 * n) / 1.5, 2 * n) >= 0.8)
    assert found.interval[0] - 2 <= n <= found.interval[1] + 2
    assert found.bound == pytest.approx(n, rel=0.08, abs=1.0)


# --- its parts ------------------------------------------------------------------------------------


@given(
    threshold=st.integers(1, 3000),
    low=st.integers(1, 50),
    span=st.integers(1, 2000),
    start=st.integers(0, 2000),
    close=st.sampled_from([1.0, 1.1]),
)
def test_brackets_enclose_the_crossing(threshold, low, span, start, close):
    high = low + span
    begin = min(low + start, high)
    below, above = bracket(lambda n: float(n >= threshold), begin, low, high, 0.5, close)
    if threshold <= low:
        assert (below, above) == (None, low)
    elif threshold > high:
        assert (below, above) == (high, None)
    else:
        assert below < threshold <= above
        assert above - below == 1 or above <= close * below


def test_the_curve_finds_where_it_crosses():
    a, b, wanted = -1.6, 0.3, 0.8
    root = ((norm.ppf(wanted) - a) / b) ** 2
    n = np.array([20, 50, 60, 70, 90, 400])
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        # Each row shares one random number, as trials do: dependent, and no more informative than one column.
        rejected = (rng.random((200, 1)) < ndtr(a + b * np.sqrt(n))).astype(float)
        rejected[50:, 0] = np.nan
        found, (low, high) = crossing(n, rejected, wanted)
        assert low <= found <= high
        covered += low <= np.ceil(root) <= high
    assert 0.9 <= covered / 200 <= 0.99


def test_a_curve_that_does_not_rise_crosses_nowhere():
    flat = np.tile((np.arange(100) < 80).astype(float)[:, None], (1, 3))
    assert crossing(np.array([10, 20, 30]), flat, 0.8) is None
    falling = np.column_stack([np.arange(100) < hits for hits in (90, 80, 70)]).astype(float)
    assert crossing(np.array([10, 20, 30]), falling, 0.8) is None
    jump = np.column_stack([np.arange(100) < hits for hits in (0, 100)]).astype(float)
    assert crossing(np.array([10, 11]), jump, 0.8) is None


def test_power_that_jumps_has_a_sharp_answer():
    found = gs.sample_size(
        NULL, Normal(0.3, 1), lambda data, model, *, rng: 0.0 if len(data) >= 37 else 1.0, bound=False, rng=1
    )
    assert found.n == 37 and found.interval == (37, 37)


# --- where it runs, what it takes -----------------------------------------------------------------


@pytest.mark.slow  # test_power_study.py has one for the same processes
def test_processes_give_what_one_process_gives():
    test = partial(gs.ksd_test, null=gs.WildBootstrap(49))
    options = {"power": 0.6, "trials": 60, "bound": False, "bounds": (5, 200)}
    here = gs.sample_size(NULL, Normal(0.8, 1), test, **options, rng=3)
    there = gs.sample_size(NULL, Normal(0.8, 1), test, **options, workers=2, rng=3)
    assert (here.n, here.interval, here.curve) == (there.n, there.interval, there.curve)
    assert here.test == "ksd_test"


def test_trials_share_their_random_numbers_over_n():
    seen = {}

    def spy(data, model, *, rng):
        seen.setdefault(len(data), []).append((data[0, 0], rng.random()))
        return z_test(data, model, rng=rng)

    gs.sample_size(NULL, Normal(0.5, 1), spy, trials=80, bound=False, rng=1)
    first, *others = (values[:60] for values in seen.values())
    assert len(others) > 2
    assert all(values == first for values in others)


def test_a_score_and_a_sampler_are_enough():
    found = gs.sample_size(
        lambda x: -x,
        lambda n, rng: rng.normal(0.6, size=(n, 1)),
        lambda data, model, *, rng: z_test(data, model, rng=rng) if callable(model) else None,
        trials=100,
        rng=1,
    )
    assert found.bound is None and "any test" not in str(found)
    assert found.interval[0] - 3 <= exact(0.6, 0.8, 0.05) <= found.interval[1] + 3
    given = gs.sample_size(
        lambda x: -x,
        lambda n, rng: rng.normal(0.6, size=(n, 1)),
        z_test,
        sample_null=lambda n, rng: rng.normal(size=(n, 1)),
        log_ratio=lambda x: x.sum(),
        trials=100,
        rng=1,
    )
    assert given.bound == pytest.approx(exact(0.6, 0.8, 0.05), rel=0.15)


def test_the_default_is_the_kernel_test():
    found = gs.sample_size(NULL, Normal(1.2, 1), trials=60, bounds=(5, 100), bound=False, rng=1)
    assert found.test == "ksd_test" and 5 < found.n < 40


def test_it_says_what_it_found():
    found = gs.sample_size(NULL, Normal(0.5, 1), z_test, trials=100, rng=1)
    text = str(found)
    assert int(found) == found.n
    assert f"n = {found.n} (95 % interval {found.interval[0]} to {found.interval[1]})" in text
    assert f"needs at least about {found.bound}" in text
    assert "in 100 trials" in text
    small = gs.sample_size(NULL, Normal(3, 1), z_test, trials=60, bound=False, rng=1)
    assert small.n == 10 and "n = 10, the smallest that was tried, is enough" in str(small)
    with pytest.raises(AttributeError):
        found.n = 3


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"power": 0.04}, "`power` must be a number between the level 0.05 and 1, got 0.04"),
        ({"power": 1.0}, "`power` must be"),
        ({"power": "high"}, "`power` must be"),
        ({"level": 0}, "`level` must be"),
        ({"trials": 10}, "`trials` must be an integer of at least 60"),
        ({"bounds": (50, 20)}, "`bounds` must be the smallest and the largest n"),
        ({"bounds": 50}, "`bounds` must be the smallest and the largest n"),
        ({"bounds": (1, 20)}, "`bounds` must be an integer of at least 2"),
        ({"alternative": None}, "`alternative` must be a model or a function"),
        ({"test": "ksd"}, "`test` must be a function"),
        ({"rng": "x"}, "`rng` must be"),
        ({"workers": -3}, "`workers` must be"),
        ({"model": 5}, "`model`: cannot use 5"),
        ({"log_ratio": 5}, "`log_ratio` must be a function"),
        ({"alternative": Normal([0, 0])}, "of dimension 1, `alternative` on .* of dimension 2"),
    ],
    ids=range(15),
)
def test_bad_input_is_refused(options, match):
    arguments = {"model": NULL, "alternative": Normal(0.5, 1), "test": z_test, "rng": 1, **options}
    positional = [arguments.pop(name) for name in ("model", "alternative", "test")]
    with pytest.raises(gs.InputError, match=match):
        gs.sample_size(*positional, **arguments)


def test_power_out_of_reach_is_refused():
    with pytest.raises(gs.InputError, match=r"at n = 40 the power is 0\.0.* below the wanted 0\.8. Raise"):
        gs.sample_size(NULL, Normal(0.5, 1), lambda data, model, *, rng: rng.random(), bounds=(10, 40), rng=1)
    calls = []

    def never_called(data, model, *, rng):
        calls.append(1)
        return 0.5

    with pytest.raises(
        gs.InputError, match=r"even the most powerful test of all has only power 0\.\d+ at n = 40"
    ):
        gs.sample_size(NULL, Normal(0.1, 1), never_called, bounds=(10, 40), rng=1)
    assert not calls


def test_errors_name_test_n_and_trial():
    def broken(data, model, *, rng):
        raise ZeroDivisionError("nothing there")

    with pytest.raises(RuntimeError, match=r"broken at n = 10, trial 0: ZeroDivisionError: nothing there"):
        gs.sample_size(NULL, Normal(0.5, 1), broken, bound=False, rng=1)
    lock = threading.Lock()

    def locked(data, model, *, rng):
        with lock:
            return 0.5

    with pytest.raises(gs.InputError, match="`test` cannot be sent to other processes"):
        gs.sample_size(NULL, Normal(0.5, 1), locked, bound=False, workers=2, rng=1)
