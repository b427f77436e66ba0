"""Every p-value on a fixed seed is the one in ``recorded.json``, a table of what the library has returned.

Where a result is meant to change, look at what ``python tests/recorded_cases.py --check
tests/recorded.json`` prints, and make the table anew with ``--write``; say in the change log what changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shapely

from recorded_cases import CASES, differences, run

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))

# Before 2.1 shapely cuts no polygon into triangles: points in one are then drawn in another way.
OTHERWISE = set() if hasattr(shapely, "constrained_delaunay_triangles") else {"families/uniform"}


def test_all_cases_are_recorded():
    assert RECORDED.keys() == CASES.keys()


@pytest.mark.parametrize("group", dict.fromkeys(name.split("/")[0] for name in CASES))
def test_as_recorded(group):
    names = [name for name in CASES if name.startswith(f"{group}/") and name not in OTHERWISE]
    found = {name: differences(name, RECORDED[name], run(name)) for name in names}
    assert {name: lines for name, lines in found.items() if lines} == {}
