"""What a test returns: frozen, complete, readable by people and by programs."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re

import numpy as np
import pytest

import goodstein as gs

FAMILY = gs.families
PLANE = FAMILY.Normal([0.0, 0.0])
X = PLANE.sample(60, rng=1)

RESULTS = {
    "defaults": lambda: gs.ksd_test(X, PLANE, rng=1),
    "bare score": lambda: gs.ksd_test(X, lambda x: -x, rng=1),
    "sum of kernels, whitened": lambda: gs.ksd_test(
        X, PLANE, kernel=gs.Whitened(gs.Gaussian() + gs.IMQ(2.0)), rng=1
    ),
    "monte carlo": lambda: gs.ksd_test(X, PLANE, null=gs.MonteCarlo(9), rng=1),
    "parametric": lambda: gs.ksd_test(
        X, FAMILY.Normal.fit(X), null=gs.ParametricBootstrap(FAMILY.Normal.fit, 9), rng=1
    ),
    "simplex": lambda: gs.ksd_test(gs.datasets.skye_lavas(), FAMILY.Dirichlet([2.0, 2.0, 2.0]), rng=1),
    "mixed box": lambda: gs.ksd_test(
        np.abs(X), FAMILY.Normal([0, 0]), domain=gs.Box([0.0, 0.0], [5.0, np.inf]), null=gs.Spectral(9), rng=1
    ),
    "overruled": lambda: gs.ksd_test(
        FAMILY.Dirichlet([0.5] * 3).sample(30, rng=1),
        FAMILY.Dirichlet([0.5] * 3),
        operator=gs.Standardised(gs.GeometricMean()),
        audit=False,
        rng=1,
    ),
}


@pytest.fixture(params=RESULTS)
def result(request):
    return RESULTS[request.param]()


def with_pvalue(pvalue: float) -> gs.TestResult:
    return dataclasses.replace(RESULTS["defaults"](), pvalue=pvalue)


def test_a_result_is_frozen():
    result = RESULTS["defaults"]()
    for field in dataclasses.fields(result):
        with pytest.raises(AttributeError):
            setattr(result, field.name, None)


def test_the_null_distribution_of_a_result_cannot_be_overwritten():
    result = RESULTS["defaults"]()
    with pytest.raises(ValueError, match="read-only"):
        result.null_distribution[0] = 99.0


def test_a_result_holds_what_the_contract_names(result):
    assert isinstance(result.statistic, float)
    assert isinstance(result.pvalue, float)
    assert 0 < result.pvalue <= 1
    assert result.null_distribution.dtype == np.float64
    assert result.null_distribution.ndim == 1
    assert isinstance(result.n, int)
    for name in ("operator", "kernel", "domain", "null", "model", "audit", "notes"):
        assert getattr(result, name) is not None
    assert isinstance(result.notes, tuple)


def test_a_result_records_what_was_used():
    result = RESULTS["defaults"]()
    assert result.n == 60
    assert result.domain == gs.Euclidean(2)
    assert result.operator == gs.Langevin()
    assert result.null == gs.WildBootstrap()
    assert "Normal" in result.model


def test_the_bandwidth_is_recorded_as_a_number():
    result = RESULTS["defaults"]()
    width = gs.Median()(result.kernel.coordinates(X))
    assert result.kernel.kernel == gs.IMQ(bandwidth=width)
    assert result.to_dict()["bandwidth"] == width
    assert f"{width:.6g}" in result.summary() and "metric='score'" in result.summary()
    assert "None" not in repr(result.kernel)


def test_the_bandwidth_is_that_of_the_points_the_kernel_looks_at():
    """On the simplex the default operator works in log-ratio coordinates."""
    x = gs.datasets.skye_lavas()
    result = RESULTS["simplex"]()
    assert result.operator == gs.LogRatio()
    assert result.kernel.bandwidth == pytest.approx(gs.Median()(gs.Simplex(3).to_logratio(x)))


def test_a_bandwidth_of_ones_own_is_kept():
    result = gs.ksd_test(X, PLANE, kernel=gs.Gaussian(bandwidth=0.25), rng=1)
    assert result.kernel.bandwidth == 0.25
    assert result.to_dict()["bandwidth"] == 0.25
    scaled = gs.ksd_test(X, PLANE, kernel=gs.Gaussian(gs.Median(scale=0.5)), rng=1)
    assert scaled.kernel.bandwidth == pytest.approx(0.5 * gs.Median()(X))


def test_a_sum_of_kernels_records_every_bandwidth():
    found = RESULTS["sum of kernels, whitened"]().to_dict()["bandwidth"]
    assert len(found) == 2
    assert found[0] > 0
    assert found[1] == 2.0


def test_the_operator_is_recorded_with_the_scales_it_took_from_the_data():
    result = RESULTS["mixed box"]()
    scale = result.operator.auxiliary.scale
    assert scale == pytest.approx((5.0, np.median(np.abs(X[:, 1]))))
    assert "BoxProduct" in result.summary()


@pytest.mark.parametrize("name", ["defaults", "sum of kernels, whitened", "monte carlo"])
def test_the_recorded_parts_reproduce_the_statistic(name):
    """Bandwidths and scales are numbers now, so nothing is left to be taken from the data."""
    result = RESULTS[name]()
    again = gs.ksd_test(X, PLANE, operator=result.operator, kernel=result.kernel, rng=2)
    # Simulated statistics, and so that of the data, come from functions of the distances in single precision.
    rel = 1e-6 if result.null.simulates else 1e-12
    assert again.statistic == pytest.approx(result.statistic, rel=rel)
    halves = gs.stein_matrix(X[:30], PLANE, operator=result.operator, kernel=result.kernel)
    whole = gs.stein_matrix(X, PLANE, operator=result.operator, kernel=result.kernel)
    np.testing.assert_allclose(halves, whole[:30, :30], rtol=1e-9, atol=1e-12)


# --- for programs -----------------------------------------------------------------------------


def test_json_and_dictionary_say_the_same(result):
    assert json.loads(result.to_json()) == result.to_dict()


def test_json_is_strict(result):
    """No NaN or Infinity, which other programs do not read."""
    json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(name))
    json.dumps(result.to_dict(), allow_nan=False)


def test_json_options_are_passed_on():
    result = RESULTS["defaults"]()
    assert result.to_json(indent=2).count("\n") > 5
    assert json.loads(result.to_json(indent=2, sort_keys=True)) == result.to_dict()


def test_the_dictionary_holds_the_numbers_exactly(result):
    found = result.to_dict()
    assert found["statistic"] == result.statistic
    assert found["pvalue"] == result.pvalue
    assert found["n"] == result.n
    assert found["null_distribution"] == result.null_distribution.tolist()
    assert found["notes"] == list(result.notes)
    assert found["valid"] is result.audit.valid


def test_the_dictionary_is_plain(result):
    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(inner) for key, inner in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (str, int, float, bool)

    assert plain(result.to_dict())


def test_a_result_can_be_pickled():
    result = RESULTS["defaults"]()
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    assert str(again) == str(result)


# --- for people -------------------------------------------------------------------------------


def test_the_summary_holds_the_numbers(result):
    text = result.summary()
    assert f"{result.statistic:.4g}" in text or f"{result.statistic:.6g}" in text
    printed = re.findall(r"p-value\s+(\S+)", text)[0]
    assert float(printed) == pytest.approx(result.pvalue, rel=1e-3)
    assert f"{result.n} observations" in text
    for part in (result.model, repr(result.domain), type(result.null).__name__):
        assert part in text


def test_str_is_the_summary(result):
    assert str(result) == result.summary()


def test_the_summary_fits_a_terminal():
    for line in RESULTS["defaults"]().summary().splitlines():
        assert len(line) <= 100, line


def test_the_summary_has_no_memory_addresses(result):
    for text in (str(result), repr(result), result.to_json()):
        assert "0x" not in text


@pytest.mark.parametrize(
    ("pvalue", "verdict"),
    [
        (0.005, "Strong evidence against the model."),
        (0.01, "Strong evidence against the model."),
        (0.03, "Evidence against the model."),
        (0.05, "Evidence against the model."),
        (0.051, "No evidence against the model."),
        (0.5, "No evidence against the model."),
    ],
)
def test_the_verdict_follows_the_pvalue(pvalue, verdict):
    result = with_pvalue(pvalue)
    assert verdict in result.summary()
    assert verdict in result._repr_html_()
    assert result.summary().lower().count("evidence against the model") == 1


FAR = np.full(5, 100.0) + 0.01 * np.arange(5)
LINE = FAMILY.Normal(0.0, 1.0)

UNDECIDED = {
    "few observations": (lambda: gs.ksd_test(FAR, LINE, rng=1), 2.0**-4, "use null=MonteCarlo()"),
    "and no sampler": (
        lambda: gs.ksd_test(np.column_stack([FAR, FAR[::-1]]), lambda x: -x, rng=1),
        2.0**-4,
        "more are needed",
    ),
    "a collection": (lambda: gs.aggregated_test(FAR, LINE, null=gs.WildBootstrap(99), rng=1), 2.0**-4, "use"),
    "few draws": (lambda: gs.ksd_test(X, PLANE, null=gs.WildBootstrap(9), rng=1), 0.1, "take more of them"),
    "few simulations": (lambda: gs.ksd_test(FAR, LINE, null=gs.MonteCarlo(9), rng=1), 0.1, "take more"),
    "a slow chain": (
        lambda: gs.ksd_test(X[:, 0], LINE, null=gs.WildBootstrap(99, flip=0.02), rng=1),
        0.98**59,
        "more are needed",
    ),
    "few permutations": (lambda: gs.mmd_test(FAR[:3], LINE, rng=1), 0.1, "more are needed"),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_where_no_pvalue_is_small_enough_the_verdict_says_so(case):
    run, smallest, remedy = UNDECIDED[case]
    result = run()
    assert result.smallest_pvalue == pytest.approx(smallest)
    (verdict,) = [line for line in str(result).splitlines() if line.startswith("  Cannot decide: ")]
    assert remedy in verdict and f"{smallest:.3g}" in verdict
    assert "evidence" not in verdict.lower()
    assert "Cannot decide" in result._repr_html_()


def test_equal_signs_are_the_smallest_pvalue_of_the_wild_bootstrap():
    """For observations that are all the same no other signs come near: p is the share of equal ones."""
    for n in (3, 5, 7):
        result = gs.ksd_test(FAR[:1].repeat(n), LINE, kernel=gs.IMQ(1.0), rng=n, null=gs.WildBootstrap(9999))
        assert result.pvalue == pytest.approx(result.smallest_pvalue, rel=0.25)


def test_evidence_that_cannot_be_strong_says_why():
    result = gs.ksd_test(np.append(FAR, 99.0), LINE, rng=1)
    assert "Evidence against the model. 6 observations have no p-value below 0.0312" in str(result)
    assert "Strong evidence" in str(gs.ksd_test(FAR, LINE, null=gs.MonteCarlo(), rng=1))
    assert gs.ksd_test(X, PLANE, rng=1).limit == ""


@pytest.mark.parametrize("pvalue", [0.001, 0.04, 0.9])
def test_the_verdict_never_claims_that_a_model_is_true(pvalue):
    text = with_pvalue(pvalue).summary().lower()
    for claim in ("accept", "true model", "model is correct", "model fits"):
        assert claim not in text


def test_an_overruled_audit_takes_the_place_of_the_verdict():
    """Who reads one line only must not read a verdict that rests on an invalid p-value."""
    text = RESULTS["overruled"]().summary()
    (verdict,) = [
        line for line in text.splitlines() if "evidence against" in line.lower() or "not valid" in line
    ][:1]
    assert "not valid" in verdict


def test_notes_are_shown_in_every_form():
    result = RESULTS["overruled"]()
    (note,) = result.notes
    assert note in result.summary()
    assert note in json.loads(result.to_json())["notes"]
    assert "overruled" in result._repr_html_()
    assert "Note" in result._repr_html_()


def test_long_names_and_long_lists_of_details():
    details = {"a rather long name": np.arange(50) / 7.0, "table": [[0.123456789, 1.0]] * 30, "few": [1, 2]}
    result = dataclasses.replace(RESULTS["defaults"](), details=details)
    lines = result.summary().splitlines()[2:-2]
    starts = {len(line[:21].rstrip()) <= 20 and line[20] == " " and line[21] != " " for line in lines}
    assert starts == {True}
    assert max(map(len, lines)) <= 110
    assert "(50 in all)" in result.summary() and "(30 in all)" in result.summary()
    assert "[[0.123457, 1.0], " in result.summary() and "[1, 2]" in result.summary()
    plain = result.to_dict()["details"]
    assert plain["a rather long name"] == details["a rather long name"].tolist()
    assert plain["table"] == details["table"]


def test_what_does_not_exist_is_null_in_json():
    result = dataclasses.replace(
        RESULTS["defaults"](),
        domain=None,
        statistic=np.nan,
        v_statistic=np.nan,
        pvalue=np.nan,
        details={"ratio": np.nan, "ratios": np.array([1.0, np.nan])},
    )
    found = json.loads(result.to_json(), parse_constant=lambda name: pytest.fail(name))
    for name in ("domain", "statistic", "v_statistic", "pvalue"):
        assert found[name] is None
    assert found["details"] == {"ratio": None, "ratios": [1.0, None]}


def test_no_notes_no_heading_for_them():
    result = RESULTS["defaults"]()
    assert result.notes == ()
    assert "Note" not in result.summary()
    assert "Note" not in result._repr_html_()


def test_html_is_escaped():
    result = dataclasses.replace(
        RESULTS["bare score"](), model="score=<lambda>", notes=("a < b & c <script>",)
    )
    text = result._repr_html_()
    assert "<lambda>" not in text
    assert "&lt;lambda&gt;" in text
    assert "<script>" not in text
    assert text.count("<table>") == text.count("</table>") == 1


def test_html_holds_what_the_summary_holds(result):
    import html

    text = html.unescape(re.sub(r"<[^>]+>", " ", result._repr_html_()))
    for word in (result.model, repr(result.domain), f"{result.n} observations", "p-value", "statistic"):
        assert word in text


def test_the_short_form_leaves_out_the_draws():
    assert "null_distribution" not in repr(RESULTS["defaults"]())
    assert len(repr(RESULTS["defaults"]())) < 600


def test_models_are_told_how_they_get_a_sampler():
    latent = gs.LatentModel(lambda x, z: z - x, lambda x, draws, rng: np.zeros((len(x), draws, 2)))
    with pytest.raises(
        gs.InputError, match=r"Pass LatentModel\(..., sample=function of \(n, rng\)\), or use"
    ):
        gs.ksd_test(X, latent, null=gs.MonteCarlo(9), rng=1)
