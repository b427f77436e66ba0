"""The reproduction of the paper: its quick run agrees with the committed results of the full one."""

import csv
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import fisher_exact, norm

import goodstein as gs
from goodstein.families import Normal, Truncated

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "paper"
DATA = ROOT.parent / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not PAPER.exists(), reason="the reproduction of the paper is not part of this copy"
)
pytest.importorskip("matplotlib")
pytest.importorskip("mpltern")
pytest.importorskip("pyproj")


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(autouse=True)
def _path(monkeypatch):
    """The modules of paper/ import each other by name: it is no package."""
    monkeypatch.syspath_prepend(str(PAPER))


def paper_module(name):
    return importlib.import_module(name)


def quick_run(folder):
    """A quick run into a folder, by `make paper-quick` where the tests run in its environment."""
    environment = os.environ | {"PYTHONWARNINGS": "error::RuntimeWarning"}
    if Path(sys.prefix).resolve() == (ROOT / ".venv").resolve():
        command = ["make", "paper-quick", f"QUICK={folder}"]
    else:
        script = str(PAPER / "run.py")
        command = [sys.executable, script, "--quick", "--folder", str(folder), "--workers", "2"]
        environment |= {"PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-3000:]


def rates(path):
    """Rejections and trials by cell, test and law."""
    found = {}
    for row in table(path):
        for kind in ("size", "power"):
            if row.get(kind):
                trials = int(row["trials"])
                found[row["cell"], row["test"], kind] = round(float(row[kind]) * trials), trials
    return found


def studies():
    """The results that are rates of rejection."""
    paths = sorted((PAPER / "results").glob("*.csv"))
    return [path.stem for path in paths if {"cell", "test", "trials"} <= set(table(path)[0])]


def test_what_is_not_installed_is_named_before_the_work(monkeypatch):
    run = paper_module("run")
    monkeypatch.setitem(sys.modules, "mpltern", None)
    for name in ("style", "auxiliaries"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(SystemExit, match=r"mpltern .*\[test\]"):
        run.main(["--quick", "--only", "auxiliaries"])


def test_a_part_runs_alone(tmp_path, monkeypatch):
    """It writes its results, which agree with the committed ones, and a report of what there is."""
    monkeypatch.setattr(paper_module("samples"), "draw", lambda setting: None)  # figures take their time
    paper_module("run").main(["--quick", "--only", "samples", "--workers", "1", "--folder", str(tmp_path)])
    new, stored = (table(folder / "results" / "samples.csv") for folder in (tmp_path, PAPER))
    assert [(row["law"], row["quantity"]) for row in new] == [(row["law"], row["quantity"]) for row in stored]
    for one, other in zip(new, stored, strict=True):
        assert abs(float(one["measured"]) - float(other["measured"])) < 0.02, one
    text = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert "## The sample distributions" in text
    assert "## Skye lavas" not in text


@pytest.mark.slow
def test_the_quick_run_finds_the_committed_rates(tmp_path):
    """Within Monte Carlo error: no pair of rates differs at level 1e-4. And its report has its figures.

    One test, not two: the run takes a minute or two, and workers share no fixtures.
    """
    quick_run(tmp_path)
    assert len(studies()) >= 4
    compared, worst = 0, []
    for part in studies():
        stored = rates(PAPER / "results" / f"{part}.csv")
        new = rates(tmp_path / "results" / f"{part}.csv")
        assert new, f"the quick run has no rates of {part}"
        assert set(new) <= set(stored), (
            f"{part}: {sorted(set(new) - set(stored))[:3]} are not in the full run"
        )
        for key, (count, trials) in new.items():
            known, of = stored[key]
            pvalue = fisher_exact([[count, trials - count], [known, of - known]]).pvalue
            compared += 1
            if pvalue < 1e-4:
                worst.append(f"{part} {key}: {count}/{trials}, committed {known}/{of}")
    assert compared > 50
    assert not worst, worst
    if (DATA / "chicago").is_dir():
        _compare_splits(tmp_path)
    text = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    named = [piece.split(")")[0] for piece in text.split("](figures/")[1:]]
    assert len(named) >= 5
    for name in named:
        assert (tmp_path / "figures" / name).stat().st_size > 5000, name


def _compare_splits(folder):
    """The first split of the Chicago data has the committed p-values, up to rounding in the fit."""
    key = ("data", "ties", "model", "test", "n", "split")
    stored = {
        tuple(row[name] for name in key): float(row["pvalue"])
        for row in table(PAPER / "results" / "chicago_splits.csv")
        if row["pvalue"]
    }
    new = table(folder / "results" / "chicago_splits.csv")
    assert new
    for row in new:
        assert abs(stored[tuple(row[name] for name in key)] - float(row["pvalue"])) < 0.02, row


def test_the_committed_report_is_that_of_the_committed_results():
    """Nobody edited numbers by hand: the report is written again from the CSV files alone."""
    setting, report, run = (paper_module(name) for name in ("setting", "report", "run"))
    text = report.text(setting.Setting(PAPER), run.PARTS)
    assert text == (PAPER / "REPORT.md").read_text(encoding="utf-8")


def test_every_printed_rate_is_judged():
    """Each entry of published.csv has a measured partner in the committed results."""
    for row in table(PAPER / "published.csv"):
        if row["quantity"] in ("power", "size"):
            stored = rates(PAPER / "results" / f"{row['part']}.csv")
            assert (row["cell"], row["test"], row["quantity"]) in stored, row


def test_verdicts():
    verdicts = paper_module("verdicts")
    entry = {"quantity": "power", "value": 0.305}
    row = {"power": 0.012, "trials": 2000, "bound": 0.013}
    assert verdicts.judge(entry, row) == verdicts.IMPOSSIBLE
    assert verdicts.judge(entry, row | {"bound": 0.6}) == verdicts.DIFFERS
    assert verdicts.judge(entry, row | {"bound": 0.6, "power": 0.33}) == verdicts.REPRODUCED
    # A printed power a little above the bound can be chance.
    assert verdicts.judge(entry, row | {"bound": 0.28, "power": 0.27}) == verdicts.REPRODUCED
    one = {"quantity": "power", "value": 1.0}
    assert verdicts.judge(one, {"power": 1.0, "trials": 200, "bound": 1.0}) == verdicts.REPRODUCED


def test_texts_are_filled(tmp_path, monkeypatch):
    """Formats, figures, repeated lines, paragraphs with a condition; what was not measured is a dash."""
    words = paper_module("words")
    monkeypatch.setattr(words, "HERE", tmp_path)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "part.md").write_text(
        """## {verdict!c}

A power of {at[a, ν = 1][MMD]:.3f}
and {span:.2f}, or {span:.0 %}; {slope:−.1f}.

![plot] What {none} shows.

| cell | p |
| --- | ---: |
| for rows: {cell} | {p:.2f} |

?yes - one
  item
- another

?no This {is_not} said.
""",
        encoding="utf-8",
    )
    values = {
        "verdict": "not decided",
        "at": {"a, ν = 1": {"MMD": 0.25}},
        "span": words.Span([0.3, 0.1, 0.2]),
        "slope": -0.5,
        "none": None,
        "rows": [{"cell": "a", "p": 0.5}, {"cell": "b", "p": None}],
        "yes": True,
        "no": "",
    }
    assert words.fill("part", values).split("\n\n") == [
        "## Not decided",
        "A power of 0.250 and 0.10–0.30, or 10–30 %; −0.5.",
        "![What – shows.](figures/plot.png)",
        "*What – shows.*",
        "| cell | p |\n| --- | ---: |\n| a | 0.50 |\n| b | – |",
        "- one item\n- another",
    ]
    with pytest.raises(KeyError, match="verdict"):
        words.fill("part", {})


def test_every_claim_is_judged(monkeypatch):
    """A claim of published.csv that a text does not mention stops the report."""
    report, setting = paper_module("report"), paper_module("setting")
    entry = dict.fromkeys(("where", "value"), "Section 1") | {"part": "samples", "quantity": "claim"}
    more = setting.Rows([*report.published(), {**entry, "cell": "x", "test": "y", "text": "A new claim."}])
    monkeypatch.setattr(report, "published", lambda: more)
    with pytest.raises(AssertionError, match=r"text/samples.md says nothing of \['A new claim.'\]"):
        report.section(setting.Setting(PAPER), "samples")


def test_the_singular_law_lies_on_two_planes():
    laws = paper_module("laws")
    x = laws.SINGULAR_MIXTURE(500, np.random.default_rng(0))
    assert np.allclose(np.abs(x[:, 0] - x[:, 1]), 1.0)
    assert (np.linalg.norm(x, axis=1) < 1).all()
    assert 0.4 < np.mean(x[:, 0] > x[:, 1]) < 0.6


def test_the_exact_bound_of_the_dirichlet_cells():
    """Characteristic function against the simulated likelihood-ratio test, and a value by other means."""
    bounds = paper_module("bounds")
    rng = np.random.default_rng(0)
    for nu, largest in ((0.3, True), (-1 / 3, False)):
        null, other = (
            np.log(rng.dirichlet([0.5 + one, 0.5, 0.5], (4000, 20))[..., 0]).sum(1) for one in (0, nu)
        )
        edge = np.quantile(null, 0.99 if largest else 0.01)
        simulated = np.mean(other > edge if largest else other < edge)
        assert abs(bounds.dirichlet_bound(nu, 20) - simulated) < 0.05
    assert abs(bounds.dirichlet_bound(0.1, 200) - 0.5734) < 1e-3


def test_the_bound_in_the_ball():
    """Quadrature against the simulated likelihood-ratio test, and against the normal law without a cut."""
    laws, bounds = paper_module("laws"), paper_module("bounds")
    null, other = laws.gaussian(), laws.gaussian(0.5)
    exact = bounds.ball_bound(null, other, 200)
    simulated = gs.neyman_pearson_power(null, other, 200, 0.01, n_null=4000, n_alternative=2000, rng=1)
    assert abs(exact - 0.2205) < 1e-3
    assert abs(exact - simulated.power) < 0.05
    # Narrow laws do not feel the boundary: the mean of normal variables, shifted by a tenth of their spread.
    narrow = [Truncated(Normal([shift, 0.0], 0.01), gs.Ball(2)) for shift in (0.0, 0.01)]
    power = norm.sf(norm.isf(0.01) - 0.1 * np.sqrt(900))
    assert abs(bounds.ball_bound(*narrow, 900, points=400) - power) < 2e-3


def test_work_that_was_done_is_not_done_again(tmp_path):
    """A run that is killed goes on where it was, even if its last line was cut short."""
    setting = paper_module("setting").Setting(tmp_path)
    calls = []

    def work(x):
        calls.append(x)
        return {"square": x * x}

    assert setting.each("part", work, {"a": (1,), "b": (2,)})["b"] == {"square": 4}
    path = setting.record("part.jsonl")
    path.write_text(path.read_text() + '{"c": {"squ')  # killed while writing
    found = setting.each("part", work, {"a": (1,), "b": (2,), "c": (3,), "d": (4,)})
    assert calls == [1, 2, 3, 4]
    assert [found[name]["square"] for name in "abcd"] == [1, 4, 9, 16]
    assert list(setting.each("part", work, {"d": (4,), "a": (1,)})) == ["d", "a"]
    assert len(calls) == 4


def test_tables_keep_their_values(tmp_path):
    setting = paper_module("setting").Setting(tmp_path)
    setting.write(
        "part", [{"cell": "a, ν = 1", "n": 200, "rate": 0.25, "bound": None}, {"cell": "b", "more": True}]
    )
    first, second = setting.read("part")
    assert first == {"cell": "a, ν = 1", "n": 200, "rate": 0.25, "bound": None, "more": None}
    assert second["more"] == 1
    assert setting.read("part").where(n=200).by("cell")["a, ν = 1"]["rate"] == 0.25
