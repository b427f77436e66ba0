"""Censored data: what is refused, in which words, and what the audit says of an operator."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from lifelines import ExponentialFitter, WeibullFitter

import goodstein as gs
from test_bad_input import CALLS, refused

# Samples as small as those of most tests here are too small for the bootstrap, which a warning says.
pytestmark = pytest.mark.filterwarnings("ignore:In the time watched")

EXPON = scipy.stats.expon()
DATA = gs.Censored([0.2, 0.5, 0.9, 1.1, 2.4], [1, 1, 0, 1, 0])


@pytest.fixture(params=CALLS)
def call(request):
    """Each public function that takes data, as a function of data and model."""
    return CALLS[request.param]


# --- durations and events -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("durations", "events", "message"),
    [
        ([1.0, -2.0, 3.0], [1, 1, 1], r"`durations`: 1 of 3 rows \(row 1\) hold negative values"),
        ([1.0, np.nan, np.nan], [1, 1, 1], r"`durations`: 2 of 3 rows \(the first is row 1\) hold NaN"),
        ([1.0, np.inf, 2.0], [1, 1, 1], r"`durations`: 1 of 3 rows \(row 1\) hold infinite values"),
        ([1.0, 2.0], [1, 1, 1], r"`durations` has 2 values and `event_observed` has 3"),
        ([1.0, 2.0], [1, 2], r"1 of 2 rows \(row 1\) do not, the first is 2\. In R's coding.*status == 2"),
        ([1.0, 2.0], [-1, 1], r"`event_observed` must hold booleans.*the first is -1\.$"),
        ([1.0, 2.0], [np.nan, 1], r"`event_observed` must hold booleans.*the first is nan"),
        ([1.0, 2.0], ["dead", "alive"], r"`event_observed` must hold booleans.*status == \"dead\""),
        ([], [], "`durations` is empty"),
        ([1.0], [], "`event_observed` is empty"),
        ([True, False], [1.0, 2.0], "Are durations and events swapped"),
        (["a", "b"], [1, 0], "`durations` must hold real numbers, got dtype <U1"),
        (np.array([1, 2], "timedelta64[D]"), [1, 0], r"Divide by a unit of time"),
        (np.ones((2, 3)), [1, 0], r"`durations` must have shape \(n,\), got \(2, 3\)"),
        ([[1.0], [2.0, 3.0]], [1, 0], "`durations` is not an array of numbers"),
        (np.ma.masked_equal([1.0, 9.0], 9.0), [1, 0], r"1 of 2 rows \(row 1\) hold masked values"),
    ],
    ids=[
        "negative",
        "nan",
        "infinite",
        "lengths",
        "r-coding",
        "minus-one",
        "nan-event",
        "words",
        "empty",
        "no-events",
        "swapped",
        "strings",
        "timedelta",
        "matrix",
        "ragged",
        "masked",
    ],
)
def test_durations_and_events_are_checked(durations, events, message):
    with pytest.raises(gs.InputError, match=message):
        gs.Censored(durations, events)


MODELS = {
    "family": gs.families.Exponential(1.0),
    "scipy": EXPON,
    "SurvivalModel": gs.SurvivalModel(hazard=np.ones_like, cumulative_hazard=lambda t: t),
    "lifelines": ExponentialFitter().fit([0.5, 1.5]),
}


def test_frames_must_say_which_column_is_which(call):
    martingale, t, d = gs.Martingale(), DATA.durations, DATA.event_observed
    for columns in ({"time": t, "status": d}, {"time": t, "status": d, "age": t}):
        match = "columns 'time', 'status'.* does not say which are durations"
        message = refused(call, pd.DataFrame(columns), EXPON, operator=martingale, match=match)
        assert message.endswith('Censored.from_frame(df, durations="...", event_observed="...").')
    lazy = pl.DataFrame({"t": t, "d": d}).lazy()
    refused(call, lazy, EXPON, operator=martingale, match=r"\.collect\(\)")


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_frames_are_read_by_the_names_that_are_given(model):
    expected = gs.ksd_test(DATA, model, rng=1)
    for make in (pd.DataFrame, pl.DataFrame):
        for events in (DATA.event_observed, DATA.event_observed.astype(int)):
            frame = make({"arrest": events, "week": DATA.durations})
            with pytest.raises(gs.InputError, match="does not say which are durations"):
                gs.ksd_test(frame, model)
            named = gs.Censored.from_frame(frame, durations="week", event_observed="arrest")
            result = gs.ksd_test(named, model, rng=1)
            assert result.pvalue == expected.pvalue
            assert "durations: column 'week', events: column 'arrest'" in result.data


def watched(seed, n=200):
    rng = np.random.default_rng(seed)
    t, c = 10 * rng.weibull(1.5, n), rng.uniform(0, 15, n)
    return gs.Censored(np.minimum(t, c), t <= c)


@pytest.mark.parametrize("test", [gs.ksd_test, gs.aggregated_test])
@pytest.mark.parametrize(
    "fit",
    [lambda data: WeibullFitter().fit(data.durations, data.event_observed), gs.families.Weibull.fit],
    ids=["lifelines", "family"],
)
def test_durations_that_lost_their_flags_are_recognised(test, fit):
    data = watched(1)
    model = fit(data)
    censored = int((~data.event_observed).sum())
    message = (
        rf"{censored} of 200 rows .* are events here, but were censored .* Pass Censored\(durations, event"
    )
    shuffled = np.random.default_rng(0).permutation(data.durations)
    for same in (data.durations, data.durations[:, None], gs.Censored(data.durations), shuffled):
        with pytest.raises(gs.InputError, match=message):
            test(same, model, rng=1)
    with pytest.raises(gs.InputError, match=r"of 90 rows .* were censored when"):
        test(data.durations[:90], model, rng=1)
    turned = gs.Censored(data.durations, ~data.event_observed)
    with pytest.raises(gs.InputError, match=message):
        test(turned, model, rng=1)


def test_durations_of_others_without_flags_are_asked_about():
    data, other = watched(1), watched(2)
    model = WeibullFitter().fit(data.durations, data.event_observed)
    with pytest.warns(gs.CalibrationWarning, match="were censored, and all 200 that are tested are taken"):
        result = gs.ksd_test(other.durations, model, rng=1)
    assert any("If some of them are not, pass Censored" in note for note in result.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.ksd_test(other, model, rng=1)
        gs.ksd_test(gs.Censored(other.durations, np.ones(200)), model, rng=1)  # said, so it is believed
        gs.ksd_test(other.durations, WeibullFitter().fit(other.durations[:100] + 1e-9), rng=1)


def test_the_same_times_by_chance_are_not_taken_for_the_same_rows():
    """Whole weeks repeat, in any study."""
    rng = np.random.default_rng(3)
    weeks = np.minimum(np.ceil(rng.exponential(40.0, 300)), 52.0)
    model = ExponentialFitter().fit(weeks, weeks < 52)
    others = np.ceil(rng.exponential(40.0, 60))
    with pytest.warns(gs.CalibrationWarning, match="were censored, and all 60"):
        gs.ksd_test(others, model, rng=1)


def test_from_frame_names_the_columns_that_there_are():
    frame = pd.DataFrame({"time": [1.0, 2.0], "status": [1, 0]})
    with pytest.raises(gs.InputError, match=r"no column 'dead'. It has 'time', 'status'"):
        gs.Censored.from_frame(frame, durations="time", event_observed="dead")
    holes = pd.DataFrame({"time": [1.0, None], "status": [1, 0]})
    with pytest.raises(gs.InputError, match=r"`durations`: 1 of 2 rows \(row 1\) hold NaN"):
        gs.Censored.from_frame(holes, durations="time", event_observed="status")
    unsure = pl.DataFrame({"time": [1.0, 2.0], "status": [True, None]})
    with pytest.raises(gs.InputError, match="`event_observed` must hold booleans"):
        gs.Censored.from_frame(unsure, durations="time", event_observed="status")


def test_only_right_censoring_is_taken(call):
    left = scipy.stats.CensoredData([1.0, 2.0], left=[0.5])
    refused(call, left, EXPON, match=r"1 left-censored and 0 interval-censored values\. Only right-censored")
    interval = scipy.stats.CensoredData([1.0, 2.0], interval=[[0.5, 0.7], [1.0, 2.0]])
    refused(call, interval, EXPON, match="0 left-censored and 2 interval-censored")


def test_points_are_no_durations(call):
    for operator in (gs.Martingale(), gs.Survival(), gs.ProportionalHazards()):
        refused(
            call, np.ones((5, 2)), EXPON, operator=operator, match=r"is for durations.*Censored\(durations"
        )
    refused(call, -np.ones(5), EXPON, operator=gs.Martingale(), match="5 of 5 rows .* hold negative values")
    refused(call, gs.Censored([1.0], [1]), EXPON, match="1 duration; a test needs at least 2")


# --- operators, domains, models ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operator", [gs.Langevin(), gs.Standardised(), gs.Mirrored()], ids=lambda o: type(o).__name__
)
def test_operators_for_points_are_refused(call, operator):
    message = refused(call, DATA, EXPON, operator=operator, match=r"is for uncensored points")
    assert type(operator).__name__ in message
    assert "Use Martingale()" in message


def test_a_domain_has_no_place(call):
    refused(call, DATA, EXPON, domain=gs.Box(0, 5), match=r"`domain` has no place in a test of durations")


def test_models_without_a_hazard_are_refused(call):
    message = refused(call, DATA, gs.families.Normal(), match="has no hazard")
    assert "SurvivalModel(hazard=..., cumulative_hazard=...)" in message
    refused(call, DATA, lambda t: -t, match="has no hazard")
    refused(call, DATA, gs.Model(score=lambda t: -t), match="has no hazard")
    refused(call, DATA, np.ones(5), match="Are data and model swapped")
    refused(call, DATA, gs.SurvivalModel, match="is the class SurvivalModel, not one of its instances")
    refused(
        call, DATA, scipy.stats.norm(), match="lives on all real numbers, but a duration is never negative"
    )
    refused(call, DATA, scipy.stats.expon(loc=-1), match=r"lives on Box\(\[-1, inf\)\)")
    refused(call, DATA, scipy.stats.poisson(3.0), match="is discrete and has no hazard rate")
    refused(call, DATA, scipy.stats.weibull_min, match="has no parameters yet")
    refused(
        call, DATA, scipy.stats.multivariate_normal([0.0, 0.0]), match="not a distribution of one duration"
    )


def test_operators_check_their_arguments():
    with pytest.raises(gs.InputError, match="`transform` must be 'cdf', 'hazard' or None, got 'pdf'"):
        gs.Martingale("pdf")
    for wrong in (0.0, -1.0, np.inf, "long", True):
        with pytest.raises(gs.InputError, match="`horizon` of ProportionalHazards must be a positive time"):
            gs.ProportionalHazards(wrong)


def model(hazard=lambda t: 1 + 0 * t, cumulative=lambda t: t, **options):
    return gs.SurvivalModel(hazard=hazard, cumulative_hazard=cumulative, name="mine", **options)


def test_functions_of_the_user_are_checked(call):
    with pytest.raises(gs.InputError, match="`hazard` of SurvivalModel must be a function"):
        gs.SurvivalModel(hazard=3.0, cumulative_hazard=lambda t: t)
    with pytest.raises(gs.InputError, match="`sample` of SurvivalModel must be a function"):
        model(sample=7)
    none = gs.Martingale(None)
    negative = model(hazard=lambda t: 1 - t)
    refused(
        call,
        DATA,
        negative,
        operator=none,
        match=r"`hazard` of mine is negative or NaN at .* at t = 1\.1",
        error=gs.ScoreError,
    )
    backwards = model(cumulative=lambda t: -t)
    refused(
        call, DATA, backwards, match="`cumulative_hazard` of mine is negative or NaN", error=gs.ScoreError
    )
    wrong_shape = model(cumulative=lambda t: t[:2])
    refused(call, DATA, wrong_shape, match=r"returned float64 values of shape \(2,\)", error=gs.ScoreError)
    number = model(cumulative=lambda t: float(t) if t > 0 else 0.0)
    refused(
        call, DATA, number, match=r"failed on an array of \d+ times.*numpy.vectorize", error=gs.ScoreError
    )


def test_samplers_of_the_user_are_checked():
    for sample, message in (
        (lambda n, rng: np.ones(n + 1), r"returned shape \(6,\); expected \(5,\)"),
        (lambda n, rng: -np.ones(n), r"negative or not finite in 5 of 5 rows"),
    ):
        with pytest.raises(gs.SamplingError, match=message):
            model(sample=sample).sample(5, rng=1)
    with pytest.raises(gs.InputError, match="`n` must be an integer of at least 1"):
        model().sample(0)


# --- hazards at the data ------------------------------------------------------------------------------------


def test_events_where_the_hazard_is_zero_or_infinite_are_refused(call):
    zero = gs.Censored([0.0, 1.0, 2.0, 0.0], [1, 1, 0, 0])
    two, half = scipy.stats.weibull_min(3.0), scipy.stats.weibull_min(0.5)
    none = gs.Martingale(None)
    options = {"audit": False} if call is gs.ksd_test else {}
    for operator in (none, gs.Survival()):
        message = refused(
            call,
            zero,
            two,
            operator=operator,
            match=r"zero at 1 of 4 rows \(row 0\), the first at t = 0",
            **options,
        )
        assert "often a rounded one" in message
    refused(
        call,
        zero,
        half,
        operator=none,
        match=r"hazard of .* is not finite at 1 of 4 rows \(row 0\)",
        **options,
    )
    refused(
        call, zero, half, operator=gs.Survival(), match="finite at zero, but that of .* is not", **options
    )
    for rv in (two, half):
        refused(
            call,
            zero,
            rv,
            operator=gs.ProportionalHazards(),
            match=r"1 of 4 rows \(row 0\) are events at time zero",
        )
    late = scipy.stats.expon(loc=0.7)
    refused(
        call,
        DATA,
        late,
        operator=none,
        match=r"zero at 2 of 5 rows \(the first is row 0\), the first at t = 0\.2",
        **options,
    )


def test_durations_beyond_the_support_are_refused(call):
    refused(
        call,
        DATA,
        scipy.stats.uniform(0, 2),
        match=r"1 of 5 rows \(row 4\) lie beyond 2, where the survival function",
    )


def test_an_underflow_is_no_end_of_the_support(call):
    far = gs.Censored([1.0, 2.0, 900.0], [1, 1, 1])
    gamma = scipy.stats.gamma(3.0)
    assert gamma.sf(900.0) == 0.0
    assert np.isfinite(gs.stein_matrix(far, gamma)).all()
    options = {"audit": False} if call is gs.ksd_test else {}
    for operator in (gs.Martingale("hazard"), gs.Survival()):
        refused(call, far, gamma, operator=operator, match="not finite at 1 of 3 rows", **options)


def test_nothing_to_see_for_proportional_hazards(call):
    data = gs.Censored([1.0, 2.0, 3.0], [0, 0, 0])
    with pytest.warns(gs.CalibrationWarning, match="All 3 durations are censored"):
        refused(
            call,
            data,
            EXPON,
            operator=gs.ProportionalHazards(),
            match="none of the 3 durations is an event before",
        )
    zeros = gs.Censored([0.0] * 20 + [1.0], np.arange(21) == 20)
    refused(
        call,
        zeros,
        EXPON,
        operator=gs.ProportionalHazards(),
        match="nine tenths of the durations or more are zero",
    )


@pytest.mark.parametrize("operator", [gs.Martingale(), gs.Martingale(None), gs.Survival()], ids=repr)
def test_data_without_events_are_tested_with_a_warning(operator):
    data = gs.Censored(np.linspace(0.1, 9.0, 30), np.zeros(30, bool))
    with pytest.warns(gs.CalibrationWarning, match="All 30 durations are censored") as caught:
        result = gs.ksd_test(data, EXPON, operator=operator, rng=1)
    assert [w.filename for w in caught] == [__file__]
    assert result.notes[0].startswith("All 30 durations are censored")
    assert result.pvalue < 0.01


# --- the audit ----------------------------------------------------------------------------------------------

PERIODIC = model(lambda t: 1 - np.cos(np.pi * t), lambda t: t - np.sin(np.pi * t) / np.pi)
KINK = model(lambda t: np.abs(t - 1), lambda t: np.where(t < 1, t - t**2 / 2, 0.5 + (t - 1) ** 2 / 2))
STEP = model(lambda t: np.where(t < 0.8, 1.0, 2.0), lambda t: t + np.maximum(t - 0.8, 0))
GAP = model(lambda t: np.where((t > 0.5) & (t < 0.8), 0.0, 1.0), lambda t: t - np.clip(t - 0.5, 0, 0.3))
ROOT = model(lambda t: 1 + np.sqrt(t), lambda t: t + t**1.5 / 1.5)
NONE, CDF = gs.Martingale(None), gs.Martingale()
SURVIVAL, PROPORTIONAL = gs.Survival(), gs.ProportionalHazards()
WEIBULL = scipy.stats.weibull_min


@pytest.mark.parametrize(
    ("rv", "operator", "status", "message"),
    [
        (EXPON, NONE, "pass", "finite"),
        (WEIBULL(1.2), NONE, "pass", "finite"),
        (WEIBULL(1.5), NONE, "warn", r"E\[δ/λ₀⁴\] is infinite.*too often"),
        (WEIBULL(0.5), NONE, "pass", "finite"),
        (
            WEIBULL(2.0),
            NONE,
            "fail",
            r"like t\^1\.00 near t = 0, so E\[δ/λ₀²\] is infinite.*Use Martingale\(\)",
        ),
        (scipy.stats.lognorm(1.0), NONE, "fail", "near t = 0"),
        (scipy.stats.lomax(3.0), NONE, "pass", "finite"),
        (scipy.stats.lomax(1.5), NONE, "warn", r"falls like S₀\^0\.67"),
        (PERIODIC, NONE, "fail", r"near t = 0"),
        (KINK, NONE, "fail", r"zero at t = 1, where it behaves like \|t − t₀\|\^1\.00"),
        (GAP, NONE, "fail", r"is zero around t = 0\.5\d*, where Stein's identity fails"),
        (STEP, NONE, "pass", "finite"),
        (EXPON, SURVIVAL, "pass", "finite"),
        (WEIBULL(2.5), SURVIVAL, "pass", "finite"),
        (WEIBULL(2.0), SURVIVAL, "fail", r"near t = 0 the derivative of the hazard"),
        (ROOT, SURVIVAL, "fail", "near t = 0 the derivative"),
        (STEP, SURVIVAL, "fail", r"jumps at t = 0\.8"),
        (KINK, SURVIVAL, "fail", r"zero at t = 1, .* no finite variance"),
        (PERIODIC, SURVIVAL, "pass", "finite"),
        (scipy.stats.uniform(0, 3), SURVIVAL, "fail", r"grows like S₀\^-1\.00.*Stein's identity fails"),
        (scipy.stats.beta(1, 1.5, scale=3), SURVIVAL, "warn", r"grows like S₀\^-0\.67"),
        (scipy.stats.beta(1, 3, scale=9), SURVIVAL, "pass", "finite"),
        (WEIBULL(0.5), PROPORTIONAL, "pass", "vanishes"),
        (WEIBULL(2.0), PROPORTIONAL, "pass", "vanishes"),
        (STEP, PROPORTIONAL, "fail", r"jumps at t = 0\.8"),
        (EXPON, gs.ProportionalHazards(3.0), "fail", r"horizon 3 lies beyond the longest duration, 2\.4"),
        (GAP, CDF, "pass", "every continuous model"),
        (WEIBULL(0.5), gs.Martingale("hazard"), "pass", "every continuous model"),
    ],
)
def test_the_audit_says_what_an_operator_needs(rv, operator, status, message):
    data = gs.Censored(np.concatenate([np.linspace(0.05, 0.49, 20), DATA.durations[2:]]), np.arange(23) < 22)
    report = gs.audit(rv, operator=operator, data=data, rng=1)
    (check,) = (check for check in report.checks if check.name in ("hazard", "weight and hazard"))
    assert check.status == status
    assert re.search(message, check.message, flags=re.IGNORECASE)
    if status == "fail":
        assert not report.valid
        with pytest.raises(gs.SteinIdentityError, match="is not valid for"):
            gs.ksd_test(data, rv, operator=operator, rng=1)
        assert not gs.ksd_test(data, rv, operator=operator, rng=1, audit=False).audit.valid


def test_a_hazard_that_is_infinite_at_zero_is_not_for_the_survival_operator():
    report = gs.audit(WEIBULL(0.5), operator=SURVIVAL, rng=1)
    assert "infinite at zero" in report.messages("fail")[0]
    with pytest.raises(gs.SteinIdentityError, match=r"infinite at zero.*Use Martingale\(\)"):
        gs.ksd_test(DATA, WEIBULL(0.5), operator=SURVIVAL, rng=1)
    with pytest.raises(gs.InputError, match=r"finite at zero.*Use Martingale\(\)"):
        gs.stein_matrix(DATA, WEIBULL(0.5), operator=SURVIVAL)


def test_zeros_of_the_hazard_are_found_inside():
    shifted = model(
        lambda t: 1 - np.cos(np.pi * (t + 0.5)), lambda t: t - (np.sin(np.pi * (t + 0.5)) - 1) / np.pi
    )
    report = gs.audit(shifted, operator=NONE, data=DATA, rng=1)
    assert "zero at t = 1.5, where it behaves like |t − t₀|^2.00" in " ".join(report.messages("fail"))


def test_functions_that_contradict_each_other_are_found_out():
    wrong = model(lambda t: 2 + 0 * t, lambda t: t)
    with pytest.raises(
        gs.SteinIdentityError, match=r"the hazard is 2, but the cumulative hazard has the derivative 1"
    ):
        gs.ksd_test(DATA, wrong, rng=1)
    with pytest.raises(gs.SteinIdentityError, match="is 1 at zero, where it must be 0"):
        gs.ksd_test(DATA, model(lambda t: np.exp(t), np.exp), rng=1)
    slope = model(lambda t: 1 + t, lambda t: t + t**2 / 2, log_hazard_derivative=lambda t: 1 + t)
    with pytest.raises(gs.SteinIdentityError, match="`log_hazard_derivative` differs from the derivative"):
        gs.ksd_test(DATA, slope, operator=SURVIVAL, rng=1)
    right = model(lambda t: 1 + t, lambda t: t + t**2 / 2, log_hazard_derivative=lambda t: 1 / (1 + t))
    assert gs.ksd_test(DATA, right, operator=SURVIVAL, rng=1).audit.valid


@pytest.mark.parametrize("operator", [CDF, gs.Martingale("hazard"), NONE, SURVIVAL, PROPORTIONAL], ids=repr)
def test_the_audit_needs_no_data(operator):
    report = gs.audit(model(lambda t: 0.7 + t, lambda t: 0.7 * t + t**2 / 2), operator=operator, rng=1)
    assert report.valid
    assert [check.status for check in report.checks if check.name.startswith("Stein")] == ["pass"]


def test_the_audit_finds_a_sampler_of_another_law():
    wrong = model(sample=lambda n, rng: rng.exponential(1.4, size=n))
    assert not gs.audit(wrong, rng=1).valid


# --- few events ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default:In the time watched")
@pytest.mark.parametrize("operator", [gs.Martingale(), gs.Martingale(None), gs.Survival()], ids=repr)
def test_few_expected_events_are_warned_of_unless_the_null_is_simulated(operator):
    """Watched for a hundredth of a mean life: two events are expected, and whoever sees none looks odd."""
    t = np.random.default_rng(5).uniform(0.0, 0.02, 200)
    data = gs.Censored(t, np.arange(200) < 2)
    with pytest.warns(gs.CalibrationWarning, match=r"expects 2(\.\d)? events only.*MonteCarlo\(\)"):
        result = gs.ksd_test(data, EXPON, operator=operator, rng=1)
    assert any("far too often" in note for note in result.notes)
    assert gs.ksd_test(data, EXPON, operator=operator, null=gs.MonteCarlo(19), rng=1).notes == ()


def test_few_events_break_the_bootstrap_and_not_the_simulation():
    rejected = {"wild": 0, "simulated": 0}
    nulls = {"wild": gs.WildBootstrap(99), "simulated": gs.MonteCarlo(19)}
    for seed in range(40):
        rng = np.random.default_rng([17, seed])
        life, watched = rng.exponential(size=40), np.full(40, 0.05)  # two events are expected
        data = gs.Censored(np.minimum(life, watched), life <= watched)
        if data.event_observed.any():
            for name, null in nulls.items():
                rejected[name] += gs.ksd_test(data, EXPON, null=null, workers=1, rng=seed).pvalue <= 0.05
        else:
            rejected["wild"] += 1  # all features are alike: the smallest p-value there is
    assert rejected["wild"] >= 6  # of 40, at the level 5 %
    assert rejected["simulated"] <= 7


def test_enough_expected_events_are_no_reason_to_warn():
    rng = np.random.default_rng(3)
    data = gs.Censored(rng.exponential(size=40))
    assert gs.ksd_test(data, EXPON, rng=1).notes == ()


@pytest.mark.parametrize("transform", ["cdf", "hazard", None])
def test_events_that_the_model_makes_impossible_are_refused(call, transform):
    family = gs.families.PiecewiseExponential([0.5, 1.0], [1.0, 0.0, 1.0])
    data = gs.Censored([0.2, 0.7, 1.4, 0.8], [1, 1, 1, 0])
    refused(
        call,
        data,
        family,
        operator=gs.Martingale(transform),
        match=r"hazard of PiecewiseExponential.* is zero at 1 of 4 rows \(row 1\), the first at t = 0\.7",
        **({"audit": False} if call is gs.ksd_test else {}),
    )


def test_series_that_are_not_aligned_are_refused():
    times, events = pd.Series([1.0, 2.0, 3.0]), pd.Series([1, 0, 1])
    assert len(gs.Censored(times, events)) == 3
    with pytest.raises(gs.InputError, match=r"different indexes.*\.to_numpy\(\)"):
        gs.Censored(times.iloc[::-1], events)
    assert len(gs.Censored(times.iloc[::-1].to_numpy(), events.to_numpy())) == 3


def test_models_with_scales_of_their_own_cannot_be_compared_on_them():
    data = gs.Censored(np.random.default_rng(1).exponential(size=40))
    models = gs.families.Exponential(1.0), gs.families.Weibull(1.0, 1.2)
    with pytest.raises(gs.InputError, match=r"by its own distribution.*Martingale\(transform=None\)"):
        gs.relative_ksd_test(data, *models, rng=1)
    assert gs.relative_ksd_test(data, *models, operator=gs.Martingale(None), rng=1).n == 40


def test_the_callers_arrays_stay_their_own():
    durations, events = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    data = gs.Censored(durations, events)
    durations[0], events[0] = 9.0, False  # neither read-only now, nor shared
    assert data.durations[0] == 1.0 and data.event_observed[0]
    with pytest.raises(ValueError, match="read-only"):
        data.durations[0] = 5.0


def test_a_model_in_another_unit_is_not_blamed_on_the_data():
    """Exponential with a mean of a second, durations in days: nothing is left of its probability."""
    data = gs.Censored([3.0, 70.0, 900.0, 1400.0], [True, True, False, True])
    for test in (gs.ksd_test, gs.aggregated_test):
        with pytest.raises(gs.InputError, match=r"shortest duration, 3, .*the same unit"):
            test(data, gs.families.Exponential(1e-5), rng=1)


def test_ends_of_intervals_are_told_from_flags():
    with pytest.raises(gs.InputError, match="later ends of intervals: such events cannot be tested"):
        gs.Censored([1.0, 2.0, 3.0], [1.5, 2.5, 3.5])
    with pytest.raises(gs.InputError) as raised:
        gs.Censored(np.arange(1.0, 9.0), [0, 1, 1, 0, 1, 0, 9, 1])  # a slip among flags
    assert "intervals" not in str(raised.value)
