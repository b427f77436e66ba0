"""The history of the benchmarks: what counts as worse than in the run before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"

if not FOLDER.exists():
    pytest.skip("The benchmarks are not here.", allow_module_level=True)


@pytest.fixture
def history(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    # Other folders have modules of these names too.
    before = {name: sys.modules.pop(name) for name in ("history", "report", "timing") if name in sys.modules}
    yield pytest.importorskip("history")
    for name in ("history", "report", "timing"):
        sys.modules.pop(name, None)
    sys.modules.update(before)


def run(history, speed, gain, milliseconds):
    from report import Bound, Row
    from timing import Ratio

    rows = [
        Row("1", "speed", Ratio(speed, 0.95 * speed, 1.05 * speed), Bound(1.7)),
        Row("4", "gain", Ratio(gain, 0.95 * gain, 1.05 * gain), Bound(1.6, at_least=True)),
        Row("7", "time", Ratio(milliseconds, milliseconds, milliseconds), unit="ms", judged=False),
        Row("peers", "nobody", None, remark="not available"),
    ]
    return history.entries(rows, "a processor")


def test_a_ratio_that_is_much_worse_is_told_and_a_time_is_not(history, tmp_path):
    path = tmp_path / "history.csv"
    history.append(run(history, 1.5, 1.8, 2.0), path)
    before = history.previous("a processor", path)
    assert [entry["what"] for entry in before] == ["speed", "gain", "time"]
    assert history.previous("another processor", path) == []
    assert history.regressions(before, run(history, 1.6, 1.7, 9.0)) == []
    assert history.regressions(before, run(history, 1.0, 2.5, 1.0)) == []
    told = history.regressions(before, run(history, 1.9, 1.2, 2.0))
    assert told == ["speed: 1.5 → 1.9 ×, 27 % worse", "gain: 1.8 → 1.2 ×, 50 % worse"]
