"""The harness of the validation tables: what it counts, keeps and prints."""

from __future__ import annotations

import csv
import dataclasses
import functools
import importlib
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, cramervonmises, kstest, norm

import goodstein as gs
from goodstein.power.laws import law_of

FOLDER = Path(__file__).resolve().parents[1] / "validation"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="the validation scripts are not part of this copy"
)

N, LEVEL, SHIFTS = 9, 0.05, (0.3, 0.8)
FIRST = 3
"""Trials that make a fingerprint."""
FROZEN = 0x258D78A5
"""Of names, numbers of observations and effects of the unseen cells."""


@pytest.fixture(scope="module")
def modules():
    """The harness. Its modules import each other by name, and another folder may use the same names."""
    names = {path.stem for path in FOLDER.glob("*.py")} | {path.parent.name for path in FOLDER.glob("*/*.py")}
    others = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        harness = ("run", "tables", "results", "report", "unseen_report", "unseen", "rivals", "classical")
        yield {name: importlib.import_module(name) for name in harness}
    for name in [*sys.modules]:
        if name.partition(".")[0] in names:
            del sys.modules[name]
    sys.modules.update(others)


@pytest.fixture
def power(modules, monkeypatch):
    """One small table: the mean of nine normal variables."""
    calls = {"z": 0, "never": 0}

    def z_test(x, model, *, rng):
        calls["z"] += 1
        return float(norm.sf(np.sqrt(len(x)) * x.mean()))

    def never(x, model, *, rng):
        calls["never"] += 1
        return float(rng.uniform(0.9, 1.0))

    def draw(shift):
        return lambda n, rng: shift + rng.standard_normal(n)

    table = modules["tables"].against(
        gs.families.Normal(), N, {"z": z_test, "never": never}, sample_null=draw(0.0)
    )(
        "mean",
        "Why.",
        {f"shift {shift}": (draw(shift), lambda x: x.sum()) for shift in SHIFTS},
        published={f"shift {shift}": {"published": 0.999} for shift in SHIFTS},
    )
    run = modules["run"]
    monkeypatch.setattr(run, "tables_of", lambda kind: [table])
    monkeypatch.setattr(run, "calls", calls, raising=False)
    return run


def of_the_table(power):
    """The tests of the table, to be changed."""
    return power.tables_of("power")[0].parts[0][1]


def measured(power, folder: Path, *options: str) -> list[dict[str, str]]:
    power.main(["power", "--workers", "1", *options], folder)
    with (folder / "power.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def text_of(folder: Path) -> str:
    return (folder / "power.md").read_text(encoding="utf-8")


def row_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def test_bound_is_the_power_of_the_optimal_test(power, tmp_path):
    rows = measured(power, tmp_path, "--trials", "20")
    bounds = {row["law"]: row for row in rows if row["test"] == "Neyman–Pearson bound"}
    assert set(bounds) == {f"shift {shift}" for shift in SHIFTS}
    for shift in SHIFTS:
        row = bounds[f"shift {shift}"]
        for column, level in (("at_01", 0.01), ("at_05", LEVEL)):
            expected = norm.cdf(shift * np.sqrt(N) - norm.isf(level))
            # Four standard errors of the power, and of the threshold times the slope of the power in it.
            z = norm.isf(level)
            slope = norm.pdf(z - shift * np.sqrt(N)) / norm.pdf(z)
            error = np.hypot(
                np.sqrt(expected * (1 - expected) / 2000), slope * np.sqrt(level * (1 - level) / 4000)
            )
            assert abs(float(row[column]) / 2000 - expected) < 4 * error
        assert float(row["upper"]) > expected


def test_known_rows_are_kept_and_changed_ones_measured_again(power, tmp_path):
    first = measured(power, tmp_path, "--trials", "20")
    assert [row["law"] for row in first if row["test"] == "z"] == ["null", "shift 0.3", "shift 0.8"]
    before = power.calls["z"]
    assert measured(power, tmp_path, "--trials", "20") == first
    assert power.calls["z"] == before + 3 * FIRST  # only the fingerprints
    # Another behaviour of one test: that test alone is measured again.
    of_the_table(power)["never"] = lambda x, model, *, rng: 0.5
    before = power.calls["z"]
    again = measured(power, tmp_path, "--trials", "20")
    assert power.calls["z"] == before + 3 * FIRST
    # Without times and the bound, which is measured with whatever is.
    counts = [[(row["test"], row["at_10"], row["fingerprint"]) for row in rows] for rows in (first, again)]
    assert [new[0] for old, new in zip(*counts, strict=True) if old != new] == ["never"] * 3
    # More trials than are known; those on record are not run again, but for the fingerprints.
    before = power.calls["z"]
    more = measured(power, tmp_path, "--trials", "30")
    assert {row["trials"] for row in more if row["test"] == "z"} == {"30"}
    assert power.calls["z"] == before + 3 * (10 + 2 * FIRST)


def test_rejections_are_counted_at_every_level(power, tmp_path):
    rows = {(row["law"], row["test"]): row for row in measured(power, tmp_path, "--trials", "25")}
    seeds = [zlib.crc32(b"mean"), zlib.crc32(b"shift 0.8|alternative")]
    p = [norm.sf(3 * (0.8 + np.random.default_rng([*seeds, k]).standard_normal(N)).mean()) for k in range(25)]
    counted = [int(rows["shift 0.8", "z"][column]) for column in ("at_01", "at_05", "at_10")]
    assert counted == [np.count_nonzero(np.array(p) <= level) for level in (0.01, 0.05, 0.1)]


def test_report_of_power(power, tmp_path, capsys):
    measured(power, tmp_path, "--trials", "20")
    text = text_of(tmp_path)
    assert "Why. n = 9, level .05. 20 trials: a rate of .5 is known to ±.20" in text
    assert row_of(text, "| z |").count("**") == 4  # the best of both alternatives
    assert row_of(text, "| published |").count("[.999 ‡]") == 2 and "impossible at this level" in text
    assert "| never | .000 | – |" in row_of(text, "| mean | z |")
    power.main(
        ["power", "--workers", "1", "--quick", "--trials", "5"], tmp_path / "nowhere"
    )  # writes nothing
    assert "| null (size) |" in capsys.readouterr().out
    assert not (tmp_path / "nowhere").exists()


def test_a_judged_test_is_compared_with_the_best_other_law_by_law(power, tmp_path, monkeypatch):
    """The test that never rejects is judged, and falls short of the other wherever that finds something."""
    (one,), label = power.tables_of("power"), f"shift {SHIFTS[-1]}"
    (cells, tests) = one.parts[0]
    parts = [(cells, dict(reversed(tests.items())))]
    judged = dataclasses.replace(one, parts=parts, judged=True, notes={label: "it never looks."})
    monkeypatch.setattr(power, "tables_of", lambda kind: [judged])
    measured(power, tmp_path, "--trials", "20")
    text = text_of(tmp_path)
    line = row_of(text, f"| mean: {label} |")
    assert "| z |" in line and "| 0.00 † |" in line
    assert f"- mean: {label} (.000 of " in text and "it never looks." in text
    assert "In 0 of 2 cells it has at least the average power" in text


def test_liberal_tests_are_marked_and_never_the_best(power, tmp_path):
    of_the_table(power)["always"] = lambda x, model, *, rng: 0.0
    measured(power, tmp_path, "--trials", "20")
    text = text_of(tmp_path)
    assert "| always | 1.000 ↑ | 1.000 | 1.000 |" in text
    assert row_of(text, "| z |").count("**") == 4


def test_errors_name_the_cell(power, tmp_path):
    of_the_table(power)["broken"] = lambda x, model, *, rng: float("nan")
    with pytest.raises(RuntimeError, match=r"\| broken, trial 0: ValueError: nan is no p-value"):
        measured(power, tmp_path, "--trials", "20")
    with pytest.raises(SystemExit, match="No row has 'other'"):
        measured(power, tmp_path, "--only", "other")


def test_only_what_is_named_is_run(power, tmp_path):
    rows = measured(power, tmp_path, "--trials", "5", "--only", "SHIFT 0.8 | z")
    tested = {(row["law"], row["test"]) for row in rows if row["seconds"]}
    assert tested == {("null", "z"), ("shift 0.8", "z")}
    assert power.calls["never"] == 0
    assert "1 of 3 columns have not been measured yet" in text_of(tmp_path)


def test_report_of_sizes(modules):
    """Marks at the level that the step of the p-value allows, and every marked row has its note."""
    tables, results = modules["tables"], modules["results"]
    test = lambda x, model, *, rng: 0.5  # noqa: E731
    part = tables.true({"model": gs.families.Normal()}, {"default": test, "coarse, B=39": test}, (50,))
    table = tables.Table("Default operators", "Why.", [part], notes={"model, * | coarse*": "A reason."})
    usual, coarse = ((table.name, "model, n = 50", name) for name in ("default", "coarse, B=39"))
    lower, upper = binom.ppf([0.0005, 0.9995], 1000, 0.05)
    fine = results.Measured(50, 1000, 10, int(upper), 100, uniform=0.25)
    text = modules["report"].size_report([table], {usual: fine})
    assert "1 rows: 0 marked as liberal, 0 as conservative, none of them" in text
    assert "**1 rows have not been measured yet.**" in text
    # With 39 draws no p-value is at most .01, so any rejection there is one too many.
    known = {
        usual: results.Measured(50, 1000, 10, int(upper) + 1, 100),
        coarse: results.Measured(50, 1000, 1, int(lower) - 1, 100),
    }
    text = modules["report"].size_report([table], known)
    assert "2 rows: 2 marked as liberal, 1 as conservative, 1 of them without explanation" in text
    assert (
        f"| model, n = 50 | default | 1000 | .0100 | **{(upper + 1) / 1000:.4f}** ↑ |".replace("0.", ".")
        in text
    )
    assert row_of(text, "| model, n = 50 | coarse, B=39 | 1000 | **.0010** ↑").endswith("↓ | .1000 | 2 |")
    assert "1. **Not explained.**\n2. A reason." in text


@pytest.mark.parametrize("kind", ["size", "power", "unseen"])
def test_committed_reports_are_what_the_committed_numbers_say(modules, kind):
    tables = modules["run"].tables_of(kind)
    known = modules["results"].read(FOLDER / f"{kind}.csv", tables)
    with (FOLDER / f"{kind}.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["table"], row["law"], row["test"]) for row in csv.DictReader(file)]
    assert sorted(rows) == sorted(known)  # every row belongs to a cell and a test that can be run
    text = (FOLDER / f"{kind}.md").read_text(encoding="utf-8")
    assert text == modules["run"].REPORTS[kind](tables, known)
    assert "Not explained" not in text and "no reason found yet" not in text


def test_the_audit_refuses_every_warning_example(modules):
    (table,) = (one for one in modules["run"].tables_of("size") if one.name == "Warning examples")
    for cells, tests in table.parts:
        audited = {name: functools.partial(test, audit=True) for name, test in tests.items()}
        for cell in cells:
            with pytest.raises(RuntimeError, match="SteinIdentityError"):
                gs.power_study([cell], audited, trials=3)


# The frozen suite.


def cells(modules):
    """Name, observations and effects of all cells."""
    every = modules["unseen"].every_case()
    return [
        (case.name, case.n, label, effect) for case in every for label, (_, effect) in case.departures.items()
    ]


def test_the_frozen_suite_is_as_it_was(modules):
    """Whoever changes a cell has to measure the suite anew, and to say why."""
    found = cells(modules)
    assert len(found) == 102
    assert zlib.crc32(repr(found).encode()) == FROZEN


def test_the_frozen_suite_covers_every_domain_with_and_without_draws(modules):
    unseen = modules["unseen"]
    cases = [case for case in unseen.every_case() if not isinstance(case.null, gs.ConditionalModel)]
    domains = {type(case.null.domain).__name__ for case in cases}
    kinds = "Euclidean Box Ball Polygon Polytope Simplex Circle Torus Sphere Lattice"
    assert domains >= set(kinds.split())
    for table in map(unseen.table_of, cases):
        drawn = not table.name.endswith((unseen.SCORE_ONLY, unseen.CENSORED))
        assert ("MMD" in table.tests) == drawn and table.tests[0] == "aggregated"
        if table.name.endswith(unseen.SCORE_ONLY):
            assert not any(cell.model.has_sample for cell in table.cells)


def ratios(law, other, n, rng):
    """p/q, up to a constant, at draws of q."""
    x = law(n, rng)
    return other.log_density(x) - law.log_density(x)


@pytest.mark.slow
def test_densities_and_samplers_of_the_frozen_suite_belong_together(modules):
    """E_q[r f(r)] / E_p[f(r)], r = p/q up to a constant, is that constant whatever f: here for two."""
    worst = {}
    for case in modules["unseen"].every_case():
        if isinstance(case.null, gs.ConditionalModel):
            continue
        how = {"censoring": case.how.get("censoring")}
        null, rng, n = law_of(case.null, "model", **how), np.random.default_rng(1), 4000
        for label, (make, effect) in case.departures.items():
            other = law_of(make(effect), "alternative", **how)
            under = ratios(null, other, n, rng)
            over = -ratios(other, null, n, rng)
            centre = np.median(under[np.isfinite(under)])
            odds = [np.exp(np.minimum(values - centre, 500.0)) for values in (under, over)]
            parts = [[odds[0] / (c + odds[0]), 1.0 / (c + odds[1])] for c in (1.0, 0.1)]
            relative = [[part / part.mean() for part in pair] for pair in parts]
            logs = [np.log(pair[0].mean() / pair[1].mean()) for pair in parts]
            spread = sum((one - two).var() for one, two in zip(*relative, strict=True)) / n
            worst[case.name, label] = abs(logs[0] - logs[1]) / np.sqrt(max(spread, 1e-12))
    assert max(worst.values()) < 4.5, max(worst, key=worst.get)


def test_scores_of_the_frozen_suite_are_derivatives(modules):
    for case in modules["unseen"].every_case():
        if "censoring" in case.how or isinstance(case.null, gs.ConditionalModel):
            continue
        domain, model = case.null.domain, gs.as_model(case.null)
        if isinstance(domain, gs.Lattice | gs.Sphere | gs.Simplex):  # families, and mixtures of them
            continue
        x = case.null.sample(20, np.random.default_rng(2))
        for j, step in enumerate(1e-5 * np.eye(x.shape[1])):
            inside = domain.contains(x + step) & domain.contains(x - step)
            y = x[inside]
            slope = (model.logpdf(y + step) - model.logpdf(y - step)) / 2e-5
            assert np.allclose(slope, model.score(y)[:, j], rtol=1e-4, atol=1e-4), case.name


# Rivals.


@pytest.fixture(scope="module")
def known(modules):
    return modules["classical"].Known(gs.families.Normal([0.0]))


def test_classical_statistics_of_margins_are_those_of_scipy(modules, known):
    classical, x = modules["classical"], gs.families.Normal([0.3]).sample(80, 3)
    assert classical.kolmogorov(x, known) == pytest.approx(kstest(x[:, 0], "norm").statistic, abs=0.02)
    expected = cramervonmises(x[:, 0], "norm").statistic
    assert classical.cramer(x, known) == pytest.approx(expected, rel=0.1)
    # A² = n ∫ (F̂ − F)²/(F(1 − F)) dF.
    u = (np.arange(200_000) + 0.5) / 200_000
    ecdf = np.searchsorted(np.sort(norm.cdf(x[:, 0])), u, side="right") / 80
    assert classical.anderson(x, known) == pytest.approx(
        80 * np.mean((ecdf - u) ** 2 / (u * (1 - u))), rel=0.1
    )


def test_kuiper_and_watson_do_not_depend_on_where_angles_start(modules):
    classical, rng = modules["classical"], np.random.default_rng(4)
    known = classical.Known(gs.families.VonMises(0.0, 0.0))
    x = rng.vonmises(1.0, 1.0, (100, 1))
    for statistic in (classical.kuiper, classical.watson):
        assert statistic(x + 2.5, known) == pytest.approx(statistic(x, known), rel=0.1)


def test_weighted_log_rank_has_variance_one_under_the_null(modules):
    rng, model = np.random.default_rng(5), gs.families.Weibull(1.0, 2.0)
    values = {"early_log_rank": [], "late_log_rank": []}
    for _ in range(600):
        x, c = model.sample(60, rng)[:, 0], rng.exponential(1.5, 60)
        data = gs.Censored(np.minimum(x, c), x <= c)
        for name, found in values.items():
            found.append(getattr(modules["classical"], name)(data, model))
    for found in values.values():
        assert np.mean(np.square(found)) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 600))


def test_a_classical_test_rejects_as_often_as_its_level_says(modules):
    """Also where the model is not the normal law that the statistic was made for."""
    rivals, classical = modules["rivals"], modules["classical"]
    model, rng = gs.families.Gamma(2.0), np.random.default_rng(6)
    test = rivals.Classical(classical.kurtosis)
    p = np.array([test(model.sample(40, rng), model, rng=rng) for _ in range(800)])
    # The error of 499 simulated values, and of 800 trials.
    for level in (0.05, 0.2):
        error = np.sqrt(level * (1 - level) * (1 / 499 + 1 / 800))
        assert abs(np.mean(p <= level) - level) < 4 * error


def test_report_of_the_frozen_suite(modules):
    """Shares of the best test in hindsight, with classical ones and without; a liberal one is left out."""
    tables, results = modules["tables"], modules["results"]
    name = "Unseen: R^1, made up"
    test = lambda x, model, *, rng: 0.5  # noqa: E731
    law = gs.families.Normal
    tests = dict.fromkeys(["aggregated", "KSD", "MMD", "Anderson–Darling"], test)
    table = tables.against(law(), 50, tests)(name, "Why.", {"shift": law(0.5)})
    powers = {"aggregated": 45, "KSD": 48, "MMD": 99, "Anderson–Darling": 90}
    known = {(name, "shift", one): results.Measured(50, 100, 0, count) for one, count in powers.items()}
    known |= {(name, "null", one): results.Measured(50, 100, 0, 5) for one in powers}
    known[name, "null", "MMD"] = results.Measured(50, 100, 0, 40)
    text = modules["unseen_report"].unseen_report([table], known)
    line = row_of(text, "| R^1, made up: shift |")
    assert (
        line == "| R^1, made up: shift | – | – | .450 | KSD | .480 | Anderson–Darling | .900 | 0.94 | 0.50 |"
    )
    assert row_of(text, "| data can be drawn |").endswith("| .450 | .480 | .900 | 0 | 1 | 0.50 | 0.94 |")
    assert "- Unseen: R^1, made up: MMD, .400 ↑" in text
