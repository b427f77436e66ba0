"""Every example runs on its real data and ends in a sentence with a p-value."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CARRIED = {"aggregated_lavas", "fit_and_test", "planning_a_sample_size", "skye_lavas"}
"""Examples whose data ship with the library."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_says_what_it_found(path, capsys):
    if path.stem not in CARRIED and not DATA.is_dir():
        pytest.skip(f"{DATA} is not there")
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    output = capsys.readouterr().out
    values = [float(p) for p in re.findall(r"p = (0?\.\d+|1\.0*|\d\.?\d*e-\d+)", output)]
    assert values, "no p-value in the text"
    assert all(0 < p <= 1 for p in values)
