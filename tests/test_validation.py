"""The harness of the power table: what it counts, keeps and prints."""

from __future__ import annotations

import csv
import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

FOLDER = Path(__file__).resolve().parents[1] / "validation"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="the validation scripts are not part of this copy"
)

N, LEVEL, SHIFTS = 9, 0.05, (0.3, 0.8)


@pytest.fixture
def power(monkeypatch):
    """The harness, with one small scenario: the mean of nine normal variables."""
    monkeypatch.syspath_prepend(str(FOLDER))
    module, scenario = importlib.import_module("power"), importlib.import_module("scenario")
    calls = {"z": 0, "never": 0}

    def z_test(x, rng):
        calls["z"] += 1
        return float(norm.sf(np.sqrt(len(x)) * x.mean()))

    def never(x, rng):
        calls["never"] += 1
        return float(rng.uniform(0.9, 1.0))

    def draw(shift):
        return lambda n, rng: shift + rng.standard_normal(n)

    alternatives = tuple(
        scenario.Alternative(f"shift {shift}", draw(shift), lambda x: x.sum(), {"published": 0.999})
        for shift in SHIFTS
    )
    one = scenario.Scenario("mean", N, draw(0.0), alternatives, {"z": z_test, "never": never}, LEVEL, "Why.")
    monkeypatch.setattr(module, "collected", lambda: {"mean": one})
    monkeypatch.setattr(module, "calls", calls, raising=False)
    return module


def run(power, folder: Path, *options: str) -> list[dict[str, str]]:
    power.main(["--workers", "0", *options], folder)
    with (folder / "power.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_bound_is_the_power_of_the_optimal_test(power, tmp_path):
    records = run(power, tmp_path, "--trials", "20")
    bounds = {row["law"]: row for row in records if row["test"] == power.BOUND}
    assert set(bounds) == {f"shift {shift}" for shift in SHIFTS}
    for shift in SHIFTS:
        row = bounds[f"shift {shift}"]
        for column, level in (("rejections_0.01", 0.01), ("rejections_level", LEVEL)):
            expected = norm.cdf(shift * np.sqrt(N) - norm.isf(level))
            # Four standard errors of the power, and of the threshold times the slope of the power in it.
            z = norm.isf(level)
            slope = norm.pdf(z - shift * np.sqrt(N)) / norm.pdf(z)
            error = np.hypot(
                np.sqrt(expected * (1 - expected) / 2000), slope * np.sqrt(level * (1 - level) / 4000)
            )
            assert abs(float(row[column]) / 2000 - expected) < 4 * error
        assert float(row["upper"]) > expected


def test_known_cells_are_kept_and_changed_ones_measured_again(power, tmp_path):
    first = run(power, tmp_path, "--trials", "20")
    assert [row["law"] for row in first if row["test"] == "z"] == ["null", "shift 0.3", "shift 0.8"]
    assert power.calls["z"] == 3 * 20
    assert run(power, tmp_path, "--trials", "20") == first
    assert power.calls["z"] == 3 * 20 + 3 * power.FIRST  # only the fingerprints
    # Another behaviour of one test: that test alone is measured again.
    tests = power.collected()["mean"].tests
    tests["never"] = lambda x, rng: 0.5
    before = power.calls["z"]
    again = run(power, tmp_path, "--trials", "20")
    assert power.calls["z"] == before + 3 * power.FIRST
    changed = [new["test"] for old, new in zip(first, again, strict=True) if old != new]
    assert changed == ["never"] * 3
    # More trials than are known.
    assert {row["trials"] for row in run(power, tmp_path, "--trials", "30") if row["test"] == "z"} == {"30"}


def test_rates_do_not_depend_on_how_they_are_cut(power, tmp_path, monkeypatch):
    def counts(folder):
        folder.mkdir()
        return [
            [row[f] for f in power.FIELDS if f != "seconds"] for row in run(power, folder, "--trials", "25")
        ]

    expected = counts(tmp_path / "one")
    monkeypatch.setattr(power, "CHUNK", 7)
    assert counts(tmp_path / "two") == expected
    shifted = [row for row in expected if row[1] == "shift 0.8" and row[5] == "z"]
    rng_rates = [
        norm.sf(
            3
            * (0.8 + np.random.default_rng([power.seed_of("mean", "shift 0.8"), k]).standard_normal(9)).mean()
        )
        for k in range(25)
    ]
    assert int(shifted[0][8]) == np.count_nonzero(np.array(rng_rates) <= LEVEL)


def test_report(power, tmp_path, capsys):
    run(power, tmp_path, "--trials", "20")
    text = (tmp_path / "power.md").read_text(encoding="utf-8")
    assert "Why. n = 9, level .05. 20 trials: a rate of .5 is known to ±.20" in text
    row = next(line for line in text.splitlines() if line.startswith("| z |"))
    assert row.count("**") == 4  # the best of both alternatives
    published = next(line for line in text.splitlines() if line.startswith("| published |"))
    assert published.count("[.999 ‡]") == 2 and "impossible at this level" in text
    summary = next(line for line in text.splitlines() if line.startswith("| mean | z |"))
    assert "| never | .000 | – |" in summary
    power.main(["--workers", "0", "--quick", "--trials", "5"], tmp_path / "nowhere")  # prints, writes nothing
    assert "| null (size) |" in capsys.readouterr().out


def test_a_judged_test_is_compared_with_the_best_other_law_by_law(power, tmp_path, monkeypatch):
    """The test that never rejects is judged, and falls short of the other wherever that finds something."""
    one = power.collected()["mean"]
    label = one.alternatives[-1].label
    swapped = dict(reversed(one.tests.items()))
    judged = dataclasses.replace(one, tests=swapped, judged=True, reasons={label: "it never looks."})
    monkeypatch.setattr(power, "collected", lambda: {"mean": judged})
    run(power, tmp_path, "--trials", "20")
    text = (tmp_path / "power.md").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"| mean: {label} |"))
    assert "| z |" in line and "| 0.00 † |" in line
    assert f"- mean: {label} (.000 of " in text and "it never looks." in text
    assert "In 0 of 2 cells it has at least the average power" in text


def test_liberal_tests_are_marked_and_never_the_best(power, tmp_path):
    power.collected()["mean"].tests["always"] = lambda x, rng: 0.0
    run(power, tmp_path, "--trials", "20")
    text = (tmp_path / "power.md").read_text(encoding="utf-8")
    assert "| always | 1.000 ↑ | 1.000 | 1.000 |" in text
    assert next(line for line in text.splitlines() if line.startswith("| z |")).count("**") == 4


def test_errors_name_the_cell(power, tmp_path):
    power.collected()["mean"].tests["broken"] = lambda x, rng: float("nan")
    with pytest.raises(RuntimeError, match=r"mean \| null \| broken, trial 0: ValueError: nan is no p-value"):
        run(power, tmp_path, "--trials", "20")
    with pytest.raises(SystemExit, match="No scenario has 'other'"):
        run(power, tmp_path, "--only", "other")
