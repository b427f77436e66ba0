"""The picture of a result: drawn off screen, with everything on it that a reader needs."""

from __future__ import annotations

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


def test_statistic_and_critical_value_stand_where_they_are():
    found = lines(RESULT.plot())
    (observed,) = [x for label, x in found.items() if "observed" in label]
    (critical,) = [x for label, x in found.items() if "critical" in label]
    assert observed == RESULT.statistic
    draws = np.sort(RESULT.null_distribution)
    # Five per cent of the draws lie beyond.
    assert 0.04 <= (draws > critical).mean() <= 0.06


def test_the_pvalue_is_on_the_picture():
    (label,) = [label for label in lines(RESULT.plot()) if "observed" in label]
    assert f"{RESULT.pvalue:.3g}" in label


def test_the_histogram_holds_all_draws():
    ax = RESULT.plot()
    edges = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    assert min(left for left, _ in edges) == pytest.approx(RESULT.null_distribution.min())
    assert max(right for _, right in edges) == pytest.approx(RESULT.null_distribution.max())
    assert sum(bar.get_width() * bar.get_height() for bar in ax.patches) == pytest.approx(1.0)


def test_axes_title_and_legend_say_what_is_seen():
    ax = RESULT.plot()
    assert "KSD" in ax.get_xlabel()
    title = ax.get_title(loc="left") + ax.get_title()
    assert "Normal" in title
    assert "60" in title
    assert {text.get_text() for text in ax.get_legend().get_texts()} == set(lines(ax))


def test_given_axes_are_used_and_no_other_figure_is_made():
    figure, (left, right) = plt.subplots(1, 2)
    assert RESULT.plot(ax=right) is right
    assert right.lines
    assert not left.lines
    assert plt.get_fignums() == [figure.number]
    assert null_distribution(RESULT, ax=left) is left
    assert left.lines


def test_without_axes_a_new_figure_is_made_each_time():
    first, second = RESULT.plot(), RESULT.plot()
    assert first.figure is not second.figure


def test_the_result_is_not_altered():
    before = RESULT.to_dict()
    RESULT.plot()
    assert RESULT.to_dict() == before


@pytest.mark.parametrize("count", [1, 2, 19])
def test_few_draws_are_no_obstacle(count):
    result = gs.ksd_test(MODEL.sample(30, rng=1), MODEL, null=gs.WildBootstrap(count), rng=1)
    ax = result.plot()
    ax.figure.canvas.draw()
    assert ax.patches


def test_a_statistic_far_beyond_the_draws_is_still_in_the_picture():
    result = gs.ksd_test(MODEL.sample(60, rng=1) + 3.0, MODEL, rng=1)
    ax = result.plot()
    low, high = ax.get_xlim()
    assert low <= result.statistic <= high


def test_the_picture_can_be_saved(tmp_path):
    file = tmp_path / "null.png"
    RESULT.plot().figure.savefig(file)
    assert file.stat().st_size > 1000


@pytest.mark.parametrize("missing", ["matplotlib", "matplotlib.pyplot"])
def test_without_matplotlib_the_message_says_what_to_install(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "goodstein\[plot\]"'):
        RESULT.plot()
