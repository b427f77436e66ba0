"""Weighted rows: importance weights and those of surveys."""

from __future__ import annotations

import re

import numpy as np
import pytest
from click.testing import CliRunner

import goodstein as gs
from goodstein.command.main import cli
from goodstein.data.weights import as_weights, effective
from goodstein.pipeline.compose import compose

NORMAL = gs.families.Normal([0.0, 0.0])
WIDE = gs.families.Normal([0.2, 0.0], [[2.0, 0.3], [0.3, 1.5]])
X = WIDE.sample(120, rng=3)
W = np.exp(NORMAL.logpdf(X) - WIDE.logpdf(X))


def test_the_statistic_is_the_weighted_sum_over_pairs():
    kernel = gs.Gaussian(1.3)
    h = gs.stein_matrix(X, NORMAL, kernel=kernel)
    w = W / W.mean()
    n = len(X)
    expected = sum(w[i] * w[j] * h[i, j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    found = gs.ksd_test(X, NORMAL, kernel=kernel, weights=W, rng=1)
    assert found.statistic == pytest.approx(expected, rel=1e-6)
    assert found.v_statistic == pytest.approx(w @ h @ w / n**2, rel=1e-6)


@pytest.mark.parametrize("null", [gs.WildBootstrap(199), gs.Spectral(999)], ids=["wild", "spectral"])
def test_equal_weights_change_nothing_and_their_sum_does_not_count(null):
    plain = gs.ksd_test(X, NORMAL, null=null, rng=1)
    equal = gs.ksd_test(X, NORMAL, null=null, rng=1, weights=np.full(len(X), 7.0))
    assert equal.pvalue == plain.pvalue
    assert equal.statistic == pytest.approx(plain.statistic, rel=1e-6)
    one, other = (gs.ksd_test(X, NORMAL, null=null, rng=1, weights=scale * W) for scale in (1.0, 2.0**40))
    assert one.pvalue == other.pvalue


def test_a_weight_of_zero_leaves_a_row_out():
    kernel, weights = gs.IMQ(1.0), W.copy()
    weights[::5] = 0.0
    kept = weights > 0
    n, m = len(X), int(kept.sum())
    whole = gs.ksd_test(X, NORMAL, kernel=kernel, weights=weights, rng=1).statistic
    some = gs.ksd_test(X[kept], NORMAL, kernel=kernel, weights=weights[kept], rng=1).statistic
    assert whole == pytest.approx(some * (n / m) ** 2 * m * (m - 1) / (n * (n - 1)), rel=1e-6)


@pytest.mark.parametrize(
    "operator",
    [gs.Langevin(), gs.Dilation(), gs.Moments(1), gs.MeanEmbedding(), gs.Standardised(gs.Decaying())],
)
def test_blocks_diagonal_and_factor_of_a_weighted_form_are_those_of_its_matrix(operator):
    problem = compose(gs.Weighted(X, W), NORMAL, None, operator, weighted=True)
    plain = compose(X, NORMAL, None, operator)
    w = W / W.mean()
    expected = w[:, None] * plain.form.matrix() * w
    form = problem.form
    scale = np.abs(expected).max()
    assert np.abs(form.matrix() - expected).max() < 1e-10 * scale
    assert (
        np.abs(form.take(np.arange(40)[::-1]).matrix() - expected[:40, :40][::-1, ::-1]).max() < 1e-10 * scale
    )
    if form.factor is not None:
        assert np.abs(form.factor @ form.factor.T - expected).max() < 1e-10 * scale


def test_importance_weights_make_the_mean_of_every_column_zero():
    """∫ p(x) w(x) h(x, y) dx = 0, by the trapezoidal rule."""
    model, proposal = gs.families.Normal(0, 1), gs.families.Normal(0.5, 2.0)
    grid = np.linspace(-12, 12, 4001)[:, None]
    w = np.exp(model.logpdf(grid) - proposal.logpdf(grid))
    points = np.array([[-1.0], [0.3], [2.0]])
    problem = compose(
        gs.Weighted(np.vstack([grid, points]), np.append(w, np.ones(3))),
        model,
        kernel=gs.Gaussian(1.0),
        weighted=True,
    )
    block = problem.form.block(slice(0, len(grid)), slice(len(grid), len(grid) + 3))
    mean = np.exp(proposal.logpdf(grid)) @ block * (grid[1, 0] - grid[0, 0])
    assert np.abs(mean).max() < 1e-9


def test_a_result_says_how_many_rows_they_are_worth():
    result = gs.ksd_test(X, NORMAL, weights=W, rng=1)
    worth = W.sum() ** 2 / (W**2).sum()
    assert effective(W) == pytest.approx(worth)
    assert f"120 of them are worth about {worth:.3g} of equal weight" in " ".join(result.notes)


def test_weights_are_found_and_wrong_ones_lead_to_rejection():
    assert gs.ksd_test(X, NORMAL, rng=1).pvalue < 0.05
    assert gs.ksd_test(X, NORMAL, weights=W, rng=1).pvalue > 0.05
    assert gs.aggregated_test(gs.Weighted(X, W), NORMAL, rng=1).pvalue > 0.05
    shifted = gs.families.Normal([0.6, 0.0])
    assert gs.aggregated_test(gs.Weighted(X, W), shifted, rng=1).pvalue < 0.05


def test_check_takes_them_and_says_what_it_cannot():
    found = gs.check(X, NORMAL, weights=W, rng=1, null=gs.WildBootstrap(199))
    assert set(found.missing) == {"explanation", "tolerance", "detectable"}
    result = gs.ksd_test(X, NORMAL, weights=W, rng=1)
    assert result.contributions().contribution.mean() == pytest.approx(result.statistic, rel=1e-6)
    with pytest.raises(gs.InputError, match=r"witness\(\) has no place for weighted rows"):
        result.witness([[0.0, 0.0]])


def test_chains_keep_their_weights():
    chains = gs.Chains(X.reshape(3, 40, 2))
    result = gs.ksd_test(chains, NORMAL, weights=W.reshape(3, 40), rng=1)
    assert result.data == "3 chains of 40 draws"
    assert np.array_equal(
        gs.Chains(X.reshape(3, 40, 2)).weighted(W).take(np.arange(5)).weights, as_weights(W, 120)[:5]
    )


@pytest.mark.parametrize(
    "weights, message",
    [
        (W[:-1], "`weights` must be 120 numbers, one for each row of the data"),
        (-W, r"`weights`: 120 of 120 rows \(the first is row 0\) have a negative weight"),
        (
            np.where(np.arange(120) == 7, np.nan, W),
            r"1 of 120 rows \(row 7\) have a weight that is not finite",
        ),
        (0 * W, "`weights` are all zero"),
        (["a"] * 120, "`weights` must be real numbers"),
        (np.exp(-np.arange(120.0)), "carry the statistic. That is too few to decide on"),
    ],
    ids=["length", "negative", "nan", "zero", "text", "concentrated"],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(X, NORMAL, weights=weights, rng=1)


def test_what_is_not_valid_for_weights_is_refused():
    data = gs.Weighted(X, W)
    for null in (gs.MonteCarlo(19), gs.ParametricBootstrap(gs.families.Normal), gs.FittedWildBootstrap()):
        with pytest.raises(gs.InputError, match="has no place for weighted rows"):
            gs.ksd_test(X, NORMAL, weights=W, null=null)
    for test in (gs.mmd_test, gs.fssd_test, gs.m3d_test, gs.regularised_test):
        with pytest.raises(
            gs.InputError, match="The rows are weighted, for which this is not known to be valid"
        ):
            test(data, NORMAL)
    with pytest.raises(gs.InputError, match="not known to be valid"):
        gs.ksd_test(X, NORMAL, weights=W, tolerance=0.1)
    with pytest.raises(gs.InputError, match="weights are for points and chains"):
        gs.ksd_test(gs.Censored([1.0, 2.0, 3.0]), gs.families.Exponential(1.0), weights=[1, 1, 1])
    with pytest.raises(gs.InputError, match="weighted already"):
        gs.Weighted(data, W)


def test_heavy_weights_are_told():
    x = gs.families.Normal(1.0, 1.0).sample(200, rng=7)
    w = np.exp(-(x[:, 0]))
    with pytest.warns(gs.CalibrationWarning, match="carry the statistic: the wild bootstrap may reject"):
        gs.ksd_test(x, gs.families.Normal(0.0, 1.0), weights=w, rng=1)


def test_the_command_line_takes_a_column_of_weights(tmp_path):
    path = tmp_path / "draws.csv"
    np.savetxt(path, np.column_stack([X, W]), delimiter=",", header="a,b,w", comments="")
    model = "normal:mean=[0,0],cov=[[1,0],[0,1]]"
    expected = gs.ksd_test(X, NORMAL, weights=W, rng=1)

    def run(*options):
        return CliRunner().invoke(cli, ["test", str(path), *options, "--seed", "1"])

    for options in (["--weights", "w"], ["--weights", "w", "--columns", "a,b"]):
        done = run(model, *options)
        assert done.exit_code == 0
        assert float(re.search(r"p-value +(\S+)", done.output)[1]) == pytest.approx(expected.pvalue, abs=1e-3)
    for options, message in (
        ([model, "--weights", "v"], "there is no column 'v' of weights"),
        (["normal", "--fit", "--weights", "w"], "fits have no place for --weights"),
        ([model, "--columns", "w", "--weights", "w"], "there is no column beside 'w'"),
    ):
        done = run(*options)
        assert message in f"{done.output} {done.exception}"


def test_a_fit_without_the_weights_is_told_as_such_and_no_null_is_advised_that_refuses_weights():
    with pytest.warns(gs.CalibrationWarning, match="to these very data, without their weights"):
        result = gs.ksd_test(X, gs.families.Normal.fit(X), weights=W, rng=1)
    assert not any("FittedWildBootstrap" in note or "ParametricBootstrap" in note for note in result.notes)
    assert any("gs.split(data" in note for note in result.notes)


def test_of_few_weighted_rows_no_simulation_is_advised():
    result = gs.ksd_test(X[:5], NORMAL, weights=W[:5], rng=1, audit=False)
    assert "5 observations have no p-value below 0.0625" in result.limit
    assert "MonteCarlo" not in result.limit
    assert "MonteCarlo" in gs.ksd_test(X[:5], NORMAL, rng=1).limit


def test_split_takes_each_row_with_its_weight():
    first, second = gs.split(gs.Weighted(X, W), 0.25, rng=1)
    assert len(first.data) == 30
    assert len(second.data) == 90
    of = {tuple(row): weight for row, weight in zip(X, W, strict=True)}
    for part in (first, second):
        assert [of[tuple(row)] for row in part.data] == part.weights.tolist()
    plain = gs.split(X, 0.25, rng=1)
    assert np.array_equal(plain[0], first.data)
    with pytest.raises(gs.InputError, match="`weights` must be 120 numbers, one for each row"):
        gs.split(gs.Weighted(X, W[1:]), rng=1)
