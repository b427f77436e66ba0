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
from scipy.stats import binom, norm

import goodstein as gs

FOLDER = Path(__file__).resolve().parents[1] / "validation"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="the validation scripts are not part of this copy"
)

N, LEVEL, SHIFTS = 9, 0.05, (0.3, 0.8)
FIRST = 3
"""Trials that make a fingerprint."""


@pytest.fixture(scope="module")
def modules():
    """The harness. Its modules import each other by name, and another folder may use the same names."""
    names = {path.stem for path in FOLDER.glob("*.py")}
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield {name: importlib.import_module(name) for name in ("run", "tables", "results", "report")}
    for name in names:
        sys.modules.pop(name, None)
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


@pytest.mark.parametrize("kind", ["size", "power"])
def test_committed_reports_are_what_the_committed_numbers_say(modules, kind):
    tables = modules["run"].tables_of(kind)
    known = modules["results"].read(FOLDER / f"{kind}.csv", tables)
    with (FOLDER / f"{kind}.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["table"], row["law"], row["test"]) for row in csv.DictReader(file)]
    assert sorted(rows) == sorted(known)  # every row belongs to a cell and a test that can be run
    form = getattr(modules["report"], f"{kind}_report")
    text = (FOLDER / f"{kind}.md").read_text(encoding="utf-8")
    assert text == form(tables, known)
    assert "Not explained" not in text and "no reason found yet" not in text


def test_the_audit_refuses_every_warning_example(modules):
    (table,) = (one for one in modules["run"].tables_of("size") if one.name == "Warning examples")
    for cells, tests in table.parts:
        audited = {name: functools.partial(test, audit=True) for name, test in tests.items()}
        for cell in cells:
            with pytest.raises(RuntimeError, match="SteinIdentityError"):
                gs.power_study([cell], audited, trials=3)
