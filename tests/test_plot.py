"""The picture of a result: drawn off screen, with everything on it that a reader needs."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import goodstein as gs
from goodstein.plot import null_distribution

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

MODEL = gs.families.Normal([0.0, 0.0])
RESULT = gs.ksd_test(MODEL.sample(60, rng=1), MODEL, rng=1)


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


def lines(ax) -> dict[str, float]:
    """Where the labelled vertical lines stand."""
    return {line.get_label(): line.get_xdata()[0] for line in ax.lines}


def test_what_loading_a_backend_turns_on_stays_on(tmp_path):
    # In a notebook the backend is loaded by the first picture and turns on that pictures are shown.
    backend = (
        "import matplotlib\nfrom matplotlib.backends.backend_agg import *\nmatplotlib.interactive(True)\n"
    )
    (tmp_path / "of_a_notebook.py").write_text(backend, encoding="utf-8")
    program = (
        "import matplotlib\nmatplotlib.use('module://of_a_notebook')\nmatplotlib.interactive(False)\n"
        "from goodstein.plot.style import canvas\n"
        "with canvas(None): pass\n"
        "print(matplotlib.is_interactive())"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_statistic_and_critical_value_stand_where_they_are():
    found = lines(RESULT.plot("null"))
    (observed,) = [x for label, x in found.items() if "observed" in label]
    (critical,) = [x for label, x in found.items() if "critical" in label]
    assert observed == RESULT.statistic
    draws = np.sort(RESULT.null_distribution)
    # Five per cent of the draws lie beyond.
    assert 0.04 <= (draws > critical).mean() <= 0.06


def test_the_pvalue_is_on_the_picture():
    (label,) = [label for label in lines(RESULT.plot("null")) if "observed" in label]
    assert f"{RESULT.pvalue:.3g}" in label


def test_the_histogram_holds_all_draws():
    ax = RESULT.plot("null")
    edges = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert min(left for left, _ in edges) == pytest.approx(RESULT.null_distribution.min())
    assert max(right for _, right in edges) == pytest.approx(RESULT.null_distribution.max())
    assert sum(bar.get_width() * bar.get_height() for bar in ax.patches) == pytest.approx(1.0)


def test_axes_title_and_legend_say_what_is_seen():
    ax = RESULT.plot("null")
    assert "KSD" in ax.get_xlabel()
    title = ax.get_title(loc="left") + ax.get_title()
    assert "Normal" in title
    assert "60" in title
    texts = {text.get_text() for text in ax.get_legend().get_texts()}
    assert texts == {*lines(ax), "if the model were true"}


LONG = ", ".join(f"P_{i} = Normal(mean=[{i}.25, 0.5], cov=[[1.0, 0.5], [0.5, 1.0]])" for i in range(4))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", ["Normal()", LONG], ids=["short", "long"])
def test_no_title_is_cut_off(name, columns):
    figure, axes = plt.subplots(1, columns, squeeze=False, figsize=(4 + 3 * columns, 4), layout="constrained")
    ax = dataclasses.replace(RESULT, model=name).plot("null", ax=axes[0, -1])
    figure.canvas.draw()
    assert ax.get_title(loc="left").split() == f"{name}, n = 60".split()
    seen = ax._left_title.get_window_extent()
    assert seen.x0 >= ax.get_window_extent().x0 - 1 and seen.x1 <= figure.bbox.x1
    assert seen.y0 >= ax.get_window_extent().y1 - 1 and seen.y1 <= figure.bbox.y1


def test_the_title_of_a_relative_test_fits():
    other = gs.families.GaussianMixture([0.5, 0.5], [[0.0, 0.5], [0.5, 0.0]], [1.0, 1.5])
    ax = gs.relative_ksd_test(MODEL.sample(60, rng=1), MODEL, other, rng=1).plot("null")
    ax.figure.canvas.draw()
    assert "GaussianMixture" in ax.get_title(loc="left")
    assert ax._left_title.get_window_extent().x1 <= ax.figure.bbox.x1


def test_given_axes_are_used_and_no_other_figure_is_made():
    figure, (left, right) = plt.subplots(1, 2)
    assert RESULT.plot("null", ax=right) is right
    assert right.lines
    assert not left.lines
    assert plt.get_fignums() == [figure.number]
    assert null_distribution(RESULT, ax=left) is left
    assert left.lines


def test_without_axes_a_new_figure_is_made_each_time():
    first, second = RESULT.plot("null"), RESULT.plot("null")
    assert first.figure is not second.figure


def test_the_result_is_not_altered():
    before = RESULT.to_dict()
    RESULT.plot("null")
    assert RESULT.to_dict() == before


@pytest.mark.parametrize("count", [1, 2, 19])
def test_few_draws_are_no_obstacle(count):
    result = gs.ksd_test(MODEL.sample(30, rng=1), MODEL, null=gs.WildBootstrap(count), rng=1)
    ax = result.plot("null")
    ax.figure.canvas.draw()
    assert ax.patches


def test_a_statistic_far_beyond_the_draws_is_still_in_the_picture():
    result = gs.ksd_test(MODEL.sample(60, rng=1) + 3.0, MODEL, rng=1)
    ax = result.plot("null")
    low, high = ax.get_xlim()
    assert low <= result.statistic <= high


def test_the_picture_can_be_saved(tmp_path):
    file = tmp_path / "null.png"
    RESULT.plot("null").figure.savefig(file)
    assert file.stat().st_size > 1000


@pytest.mark.parametrize("missing", ["matplotlib", "matplotlib.pyplot"])
def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "goodstein\[plot\]"'):
        RESULT.plot("null")


def test_plots_are_there_without_an_import_and_load_nothing_before_they_are_drawn():
    code = (
        "import sys, goodstein as gs; gs.plot.null_distribution; gs.power_study; gs.estimate.Fit; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
