"""Every example ends in a sentence with a p-value, on its own data or on a stand-in of the same form."""

from __future__ import annotations

import csv
import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
CARRIED = ["aggregated_lavas", "fit_and_test", "planning_a_sample_size", "skye_lavas"]
"""Examples whose data ship with the library; the others read tables that their users have."""

rng = np.random.default_rng(20_220_328)
IONS = ["Na", "K", "Mg", "Ca", "Sr", "Cl", "SO4", "HCO3"]
TREES = ["redwood", "finpines", "japanesepines", "nztrees", "cells"]
LAWYERS = [f"V{k}" for k in range(12)]


def durations(n, time, status):
    return {time: rng.weibull(1.5, n).round(3) + 0.001, status: rng.integers(0, 2, n)}


def uniform(n, *names):
    return {name: column for name, column in zip(names, rng.uniform(size=(len(names), n)), strict=True)}


RIVERS = {"River": np.repeat(["Anoia", "Cardener", "LowerLLobregat"], 80)}
RIVERS |= {ion: np.exp(rng.normal(size=240)) for ion in IONS}
ARTICLES = {"art": rng.poisson(1.5, 80), "fem": rng.choice(["Men", "Women"], 80)}
ARTICLES |= {"mar": rng.choice(["Married", "Single"], 80)}
ARTICLES |= {name: rng.uniform(0, 3, 80).round(2) for name in ("kid5", "phd", "ment")}
SQUARE = {"xrange": [0, 1], "yrange": [0, 1], "rings": [[[0, 0], [1, 0], [1, 1], [0, 1]]]}
PAIRS = [(a, b) for a in LAWYERS for b in LAWYERS if a < b]
TIES = [PAIRS[k] for k in rng.choice(len(PAIRS), 15, replace=False)]
SCHOOLS = {f"theta[{k}]": rng.normal(4, 3, 600) for k in range(8)} | {"mu": rng.normal(4, 3, 600)}

TABLES = {
    "compositional/hydrochem": RIVERS,
    "directional/magnetic_remanence_B6": {
        "declination_deg": rng.normal(30, 20, 40),
        "inclination_deg": rng.normal(20, 10, 40),
    },
    "directional/turtles_B3": {"theta_deg": rng.normal(60, 30, 40)},
    "directional/pigeons": {"treatment": ["c"] * 40, "bearing": rng.integers(0, 360, 40)},
    "directional/wind_col_de_la_roa": {"theta_rad": rng.vonmises(0, 1, 200) % (2 * np.pi)},
    "discrete/prussian_horse_kicks": {"y": rng.poisson(0.7, 60)},
    "discrete/biochemists_articles": ARTICLES,
    "discrete/supreme_court_1994_97": {f"J{k}": rng.integers(0, 2, 60) for k in range(9)},
    "discrete/lazega_lawyers_nodes": {"Name": LAWYERS},
    "discrete/lazega_lawyers_edges": {"source": [a for a, _ in TIES], "target": [b for _, b in TIES]},
    "mcmc/posteriordb_eight_schools_noncentered_draws": SCHOOLS | {"tau": rng.gamma(2, 2, 600)},
    "spatial/osteocytes_3d_boxes": {"pattern": range(10), "zmin": [-45.0] * 10, "zmax": [0.0] * 10},
    "spatial/osteocytes_3d": {
        "pattern": rng.integers(0, 10, 80),
        "x": rng.uniform(0, 80, 80),
        "y": rng.uniform(0, 100, 80),
        "z": rng.uniform(-45, 0, 80),
    },
    "spatial/humberside": uniform(60, "x", "y") | {"mark": ["case", "control"] * 30},
    "survival/aml": durations(23, "time", "status"),
    "survival/ovarian": durations(26, "futime", "fustat"),
    "survival/lung": durations(60, "time", "status"),
} | {f"spatial/{name}": uniform(40, "x", "y") for name in TREES}
DOCUMENTS = {
    "spatial/windows": dict.fromkeys([*TREES, "humberside"], SQUARE),
    "mcmc/posteriordb_eight_schools_noncentered_data": {
        "y": [28, 8, -3, 7, -1, 1, 18, 12],
        "sigma": [12] * 8,
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Stand-ins for the tables, small, with the columns that the examples read."""
    found = tmp_path_factory.mktemp("data")
    for name in {*TABLES, *DOCUMENTS}:
        (found / name).parent.mkdir(exist_ok=True)
    for name, columns in TABLES.items():
        with (found / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    for name, document in DOCUMENTS.items():
        (found / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return found


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "data_folder")


def run(name, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("few_draws")
def test_example_runs_and_says_what_it_found(name, monkeypatch, capsys, folder):
    run(name, monkeypatch, *([] if name in CARRIED else [folder]))
    output = capsys.readouterr().out
    values = [float(p) for p in re.findall(r"p = (0?\.\d+|1\.0*|\d\.?\d*e-\d+)", output)]
    assert values, "no p-value in the text"
    assert all(0 < p <= 1 for p in values)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(CARRIED)))
def test_example_without_its_data_says_which_files_it_needs(name, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match=rf"^Name a folder that holds .*\.csv: python .*{name}\.py FOLDER$"):
        run(name, monkeypatch)
    with pytest.raises(SystemExit, match=rf"^{tmp_path} does not hold \w+/\w.*, which this example reads\.$"):
        run(name, monkeypatch, tmp_path)
