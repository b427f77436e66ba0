"""Pictures: compared with stored ones, and what they say, of whom and in which words."""

from __future__ import annotations

import dataclasses
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import goodstein as gs

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import image  # noqa: E402

from goodstein.plot.bands import PLACES, bands, coverage, places, ranks  # noqa: E402
from goodstein.plot.choose import KINDS, shape_of  # noqa: E402
from goodstein.plot.directions import hammer  # noqa: E402
from goodstein.plot.durations import kaplan_meier  # noqa: E402
from goodstein.plot.graph import layout, residuals  # noqa: E402
from goodstein.plot.plane import boundary, scatter  # noqa: E402
from goodstein.plot.sides import words  # noqa: E402
from goodstein.plot.style import MOST_POINTS, drawing, drawn_rows, safe  # noqa: E402
from goodstein.plot.triangle import composition, place  # noqa: E402
from goodstein.plot.uniform import envelope  # noqa: E402
from picture_cases import (  # noqa: E402  # noqa: E402
    CASES,
    FOLDER,
    WHERE,
    axis,
    collection,
    drawn,
    durations,
    explanation,
    plane,
    polygon,
    several,
    states,
    triangle,
)
from picture_cases import graph as graph_case  # noqa: E402

MORE, LESS = "more data than the model allows", "less data than the model allows"
TOLERANCE = 6.0
"""Root mean square of the difference of pixels, out of 255, that versions of matplotlib may make."""
LARGEST_FILE = 150_000


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


def texts(picture) -> set[str]:
    """All that is written on a picture."""
    figure = getattr(picture, "figure", picture)
    return {text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()}


def legend(picture) -> list[str]:
    figure = getattr(picture, "figure", picture)
    return [text.get_text() for one in figure.legends for text in one.get_texts()]


def caption(picture) -> str:
    return " ".join(" ".join(one.get_title().get_text().split()) for one in picture.figure.legends)


# --- stored images --------------------------------------------------------------------------------


def distance(name: str, pixels: np.ndarray) -> float:
    stored = image.imread(FOLDER / f"{name}.png")[:, :, :3] * 255.0
    assert stored.shape == pixels.shape
    return float(np.sqrt(((stored - pixels) ** 2).mean()))


@pytest.mark.skipif(matplotlib.__version_info__ < (3, 11), reason="earlier versions hatch in another way")
@pytest.mark.parametrize("name", CASES)
def test_pictures_are_like_the_stored_ones(name):
    assert distance(name, drawn(CASES[name]())) < TOLERANCE


def test_another_picture_is_not_like_the_stored_one():
    other = gs.ksd_test(np.random.default_rng(3).normal(0.0, 1.0, 150), gs.families.Normal(0, 1), rng=1)
    assert distance("axis", drawn(gs.plot.where(other))) > 2 * TOLERANCE


def test_every_stored_image_has_its_case_and_all_are_small():
    files = list(FOLDER.glob("*.png"))
    assert {file.stem for file in files} == set(CASES)
    assert sum(file.stat().st_size for file in files) < 400_000


# --- every kind of data ---------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_cut_off_and_everything_can_be_read(name, style):
    with plt.style.context(style):
        picture, paper = CASES[name](), np.array(matplotlib.colors.to_rgb(plt.rcParams["axes.facecolor"]))
    figure = getattr(picture, "figure", picture)
    figure.canvas.draw()
    whole = figure.bbox
    for text in figure.findobj(matplotlib.text.Text):
        if not text.get_text() or not text.get_visible() or text.get_clip_on():
            continue
        box = text.get_window_extent()
        if text.axes is not None and not text.axes.axison:
            continue
        assert box.x0 >= -1 and box.x1 <= whole.x1 + 1, text.get_text()
        assert box.y0 >= -1 and box.y1 <= whole.y1 + 1, text.get_text()
        ink = np.array(matplotlib.colors.to_rgb(text.get_color()))
        assert contrast(ink, paper) > 4.5, (text.get_text(), text.get_color())


def contrast(first: np.ndarray, second: np.ndarray) -> float:
    """The ratio of luminances of WCAG 2."""

    def luminance(rgb):
        linear = np.where(rgb <= 0.03928, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05

    low, high = sorted([luminance(first), luminance(second)])
    return high / low


@pytest.mark.parametrize("name", CASES)
def test_files_are_small(name):
    content = gs.plot.svg(CASES[name]())
    assert len(content.encode()) < LARGEST_FILE
    assert ET.fromstring(content).tag.endswith("svg")


def test_files_are_the_same_each_time():
    assert gs.plot.svg(plane().plot()) == gs.plot.svg(plane().plot())


def test_letters_keep_their_size():
    # Digits are dropped from coordinates, and from nothing else: of this scale are the letters.
    assert 'transform="scale(0.015625)"' in gs.plot.svg(axis().plot())


def test_the_ground_of_a_file_is_transparent():
    root = ET.fromstring(gs.plot.svg(CASES["axis"]()))
    (ground,) = [part for part in root.iter() if part.get("id") == "patch_1"]
    assert "fill: none" in next(iter(ground)).get("style")


@pytest.mark.parametrize("name", WHERE)
def test_a_result_picks_the_picture_of_its_data(name):
    result = WHERE[name]()
    assert shape_of(result) == ("plane" if name in ("polygon", "conditional") else name)


def test_by_default_a_result_shows_where_the_model_fails():
    one, other = (drawn(picture) for picture in (axis().plot(), gs.plot.where(axis())))
    np.testing.assert_array_equal(one, other)


def test_sides_are_said_in_words_and_never_by_signs():
    for result in (axis(), plane(), polygon()):
        found = legend(result.plot())
        assert MORE in found and LESS in found
    on_time = legend(durations().plot())
    assert "more events than the model allows" in on_time and "fewer events than the model allows" in on_time
    assert words("less") == LESS
    for result in (axis(), plane()):
        written = texts(result.plot())
        assert {"more", "less"} <= written
        assert not {"+", "-", "−", "z"} & written


def test_the_sides_are_hatched_in_two_ways():
    ax = axis().plot()
    entries = {
        text.get_text(): handle
        for one in ax.figure.legends
        for text, handle in zip(one.get_texts(), one.legend_handles, strict=True)
    }
    hatches = {entries[MORE].get_hatch(), entries[LESS].get_hatch()}
    assert len(hatches) == 2 and None not in hatches


def test_coloured_stretches_are_those_of_the_witness():
    result = axis()
    ax = result.plot()
    spans = [patch for patch in ax.patches if patch.get_hatch() == "////"]
    found = result.witness([0.9, 1.5, -1.2, 4.5])

    def marked(x: float, hatch: str) -> bool:
        ends = [patch.get_extents() for patch in ax.patches if patch.get_hatch() == hatch]
        at = ax.transData.transform((x, 0.0))[0]
        return any(box.x0 <= at <= box.x1 for box in ends)

    assert spans
    # The limits for four points are narrower than those for the whole picture, so this goes one way.
    for x, more, fewer in zip((0.9, 1.5, -1.2, 4.5), found.more, found.fewer, strict=True):
        assert not marked(x, "////") or more
        assert not marked(x, "----") or fewer
    assert marked(-1.2, "----")


def test_axes_have_the_names_of_the_columns():
    assert axis().plot().get_xlabel() == "height in cm"
    ax = plane().plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("east", "north")
    assert {"sand", "silt", "clay"} <= texts(triangle().plot())
    assert {"a", "b", "c"} <= texts(several().plot())
    assert states().plot().get_xlabel() == "visits"


def test_a_model_that_fits_shows_no_regions():
    model = gs.families.Normal([0.0, 0.0])
    ax = gs.ksd_test(model.sample(200, rng=4), model, rng=1).plot()
    assert MORE not in legend(ax) and LESS not in legend(ax)
    assert "no single place stands out" in caption(ax)


def test_long_tails_do_not_squeeze_the_picture():
    x = np.random.default_rng(1).standard_cauchy(400)
    ax = gs.ksd_test(x, gs.families.StudentT(1.0), rng=1).plot("where")
    low, high = ax.get_xlim()
    assert high - low < 0.5 * np.ptp(x)
    hidden = int(((x < low) | (x > high)).sum())
    assert f"{hidden} of 400 observations lie outside the picture." in caption(ax)


def test_the_picture_reaches_where_the_model_expects_data_and_there_are_none():
    x = np.abs(np.random.default_rng(1).standard_normal(200))
    ax = gs.ksd_test(x, gs.families.Normal(0, 1), rng=1).plot()
    assert ax.get_xlim()[0] < -2.0
    assert LESS in legend(ax)


@pytest.mark.parametrize("domain", [gs.Box(0, np.inf), gs.Box([0, -np.inf], [1, np.inf])], ids=repr)
def test_half_open_domains_end_where_they_end(domain):
    rng = np.random.default_rng(1)
    model = gs.families.Truncated(gs.families.Normal(np.zeros(domain.dim)), domain)
    x = np.abs(rng.standard_normal((150, domain.dim)))
    x[:, 0] /= x[:, 0].max()
    ax = gs.ksd_test(x, model, rng=1).plot()
    assert ax.get_xlim()[0] == 0.0


def test_outlines():
    square = boundary(gs.Box(0, [2, 1]))
    np.testing.assert_allclose(square[0], [[0, 0], [2, 0], [2, 1], [0, 1]])
    ring, hole = boundary(polygon().domain)
    assert len(ring) == 5 and len(hole) == 3
    # A triangle as three inequalities, one more that cuts nothing off.
    corners = boundary(gs.Polytope([[-1, 0], [0, -1], [1, 1], [1, 1]], [0, 0, 1, 5]))[0]
    assert {tuple(np.round(corner, 12) + 0.0) for corner in corners} == {(0, 0), (1, 0), (0, 1)}
    ball = boundary(gs.Ball(2, radius=2.0, center=[1.0, 0.0]))[0]
    np.testing.assert_allclose(np.linalg.norm(ball - [1.0, 0.0], axis=1), 2.0)
    assert boundary(gs.Euclidean(2)) == []


def test_the_triangle_is_a_plane():
    x = np.random.default_rng(1).dirichlet(np.ones(3), 20)
    np.testing.assert_allclose(composition(place(x)), x, atol=1e-12)
    # Equal distances: each corner is as far from the others.
    corners = place(np.eye(3))
    gaps = [np.linalg.norm(corners[i] - corners[j]) for i, j in ((0, 1), (1, 2), (0, 2))]
    np.testing.assert_allclose(gaps, 1.0)


def test_the_map_of_the_sphere_keeps_areas():
    lon, lat, h = np.array([0.3, -2.0, 3.0]), np.array([0.2, 1.1, -1.4]), 1e-6
    east = (np.array(hammer(lon + h, lat)) - hammer(lon - h, lat)) / (2 * h)
    north = (np.array(hammer(lon, lat + h)) - hammer(lon, lat - h)) / (2 * h)
    area = east[0] * north[1] - east[1] * north[0]
    np.testing.assert_allclose(area, np.cos(lat), rtol=1e-6)


# --- durations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("last_is_event", [False, True])
def test_kaplan_meier_and_its_limits_are_those_of_lifelines(last_is_event):
    lifelines = pytest.importorskip("lifelines")
    rng = np.random.default_rng(1)
    t, ended = np.round(rng.exponential(2.0, 60), 1) + 0.1, rng.random(60) < 0.7
    t[0], ended[0] = 20.0, last_is_event
    fit = lifelines.KaplanMeierFitter(alpha=0.1).fit(t, ended)
    times, survival, low, high = kaplan_meier(gs.Censored(t, ended), 0.9)
    inner = times[1:-1] if not last_is_event else times[1:-2]
    limits = fit.confidence_interval_survival_function_.loc[inner].to_numpy()
    np.testing.assert_allclose(survival[1 : 1 + len(inner)], fit.predict(inner), rtol=1e-10)
    np.testing.assert_allclose(low[1 : 1 + len(inner)], limits[:, 0], rtol=1e-6)
    np.testing.assert_allclose(high[1 : 1 + len(inner)], limits[:, 1], rtol=1e-6)
    assert times[0] == 0.0 and survival[0] == 1.0 and times[-1] == 20.0
    assert (low <= survival + 1e-12).all() and (survival <= high + 1e-12).all()


def test_durations_show_who_is_at_risk():
    result = durations()
    ax = result.plot()
    data = result.asked[0].data
    for tick, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True):
        assert label.get_text() == f"{tick:g}\n{(data.durations >= tick).sum()}"
    (model,) = [line for line in ax.lines if line.get_label() == "model"]
    np.testing.assert_allclose(model.get_ydata(), np.exp(-model.get_xdata() / 3.0), atol=1e-6)
    assert {"Kaplan–Meier", "censored", "model"} <= set(legend(ax))


def test_operators_that_count_who_is_at_risk_still_draw_the_curves():
    data = durations().asked[0].data
    result = gs.ksd_test(data, gs.families.Exponential(3.0), operator=gs.ProportionalHazards(), rng=1)
    ax = result.plot()
    assert "Kaplan–Meier" in legend(ax)
    assert "counts who is at risk" in caption(ax)


# --- graphs ---------------------------------------------------------------------------------------


def test_residuals_of_nodes_are_those_of_independent_edges():
    adjacency = np.zeros((6, 6))
    adjacency[0, 1:] = adjacency[1:, 0] = 1.0
    p = 0.3
    found = residuals(np.full((6, 6), np.log(p / (1 - p))), adjacency)
    np.testing.assert_allclose(found[0], (5 - 5 * p) / np.sqrt(5 * p * (1 - p)))
    np.testing.assert_allclose(found[1:], (1 - 5 * p) / np.sqrt(5 * p * (1 - p)))


def test_the_node_with_too_many_edges_is_marked():
    ax = graph_case().plot()
    assert "more edges than the model allows" in legend(ax)
    assert "more" in texts(ax)


def test_nodes_stand_on_a_circle_where_nothing_places_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    spots = layout(np.eye(5, k=1) + np.eye(5, k=-1))
    np.testing.assert_allclose(np.linalg.norm(spots, axis=1), 1.0)
    assert len(np.unique(spots.round(9), axis=0)) == 5


# --- simultaneous bands ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "trials"), [(1, 4000), (7, 4000), (60, 4000), (2500, 1500)])
def test_a_true_model_stays_in_the_bands_as_often_as_they_say(n, trials):
    rng = np.random.default_rng(n)
    z, low, high = bands(n, 0.9)
    inside = 0
    for _ in range(trials):
        share = np.searchsorted(np.sort(rng.random(n)), z, side="right") / n
        inside += bool(((share >= low - 1e-9) & (share <= high + 1e-9)).all())
    error = 4.0 * np.sqrt(0.9 * 0.1 / trials)
    assert inside / trials > 0.9 - error
    if n > 7:  # with few observations the chances make large steps
        assert inside / trials < 0.9 + error + 0.01


def test_bands_know_that_quantiles_are_draws_too():
    rng, n, m, trials = np.random.default_rng(1), 40, 120, 4000
    z, low, high = bands(n, 0.9, m)
    _, known_low, known_high = bands(n, 0.9)
    at = ranks(n, m).astype(int) - 1
    inside = careless = 0
    for _ in range(trials):
        share = np.searchsorted(np.sort(rng.random(n)), np.sort(rng.random(m))[at], side="right") / n
        inside += bool(((share >= low - 1e-9) & (share <= high + 1e-9)).all())
        careless += bool(((share >= known_low - 1e-9) & (share <= known_high + 1e-9)).all())
    assert len(z) == len(at)
    assert abs(inside / trials - 0.9) < 4.0 * np.sqrt(0.09 / trials) + 0.01
    assert careless / trials < 0.85


def test_coverage_of_two_observations_by_hand():
    # Places 1/3 and 2/3: exactly one observation below each, so one below 1/3 and one above 2/3.
    np.testing.assert_allclose(places(2), [1 / 3, 2 / 3])
    found = coverage(2, np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    np.testing.assert_allclose(found, 2 * (1 / 3) ** 2)
    np.testing.assert_allclose(coverage(2, np.zeros(2), np.full(2, 2.0)), 1.0)


def test_bands_are_narrower_with_more_data_and_at_the_ends():
    widths = [np.ptp(np.stack(bands(n)[1:]), axis=0) for n in (200, 2000, 5000)]
    assert (widths[0] > widths[1]).all() and (widths[1] > widths[2]).all()
    assert all(width[0] < width[PLACES // 2] for width in widths)


def test_an_envelope_holds_its_share_of_curves():
    rng = np.random.default_rng(1)
    walks = np.cumsum(rng.standard_normal((4000, 30)), axis=1)
    low, high = envelope(walks[:2000], 0.9)
    inside = ((walks[2000:] >= low) & (walks[2000:] <= high)).all(axis=1).mean()
    assert abs(inside - 0.9) < 0.04


def test_the_transform_shows_what_fails_and_names_it():
    x = np.random.default_rng(2).normal([0.0, 1.0], 1.0, (200, 2))
    result = gs.ksd_test(pd.DataFrame(x, columns=["good", "bad"]), gs.families.Normal([0.0, 0.0]), rng=1)
    assert result.plot("transform").get_title(loc="left") == "Beyond the bands: bad"
    model = gs.SurvivalModel(hazard=lambda t: 1 + 0 * t, cumulative_hazard=lambda t: t, name="unit")
    data = gs.Censored(np.random.default_rng(1).exponential(1.0, 100))
    assert gs.ksd_test(data, model, rng=1).plot("transform").get_title(loc="left") == "Within the bands"


def test_the_transform_needs_continuous_data_and_a_sampler():
    with pytest.raises(gs.errors.InputError, match="no probability transform"):
        states().plot("transform")
    x = np.random.default_rng(1).standard_normal((50, 2))
    with pytest.raises(gs.errors.InputError, match="cannot be sampled"):
        gs.ksd_test(x, gs.Model(score=lambda x: -x), rng=1).plot("transform")
    for wrong in (np.array([0.5, 1.5]), np.zeros((3, 2)), np.array([0.5, np.nan])):
        with pytest.raises(gs.errors.InputError, match="from 0 to 1"):
            gs.plot.transform(wrong)


# --- contributions, members, findings -------------------------------------------------------------


def test_contributions_are_all_there_and_flagged_ones_marked():
    parts = triangle().contributions()
    ax = gs.plot.contributions(parts)
    points = np.concatenate([cloud.get_offsets() for cloud in ax.collections[1:]])
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(parts.contribution))
    assert f"{parts.flagged.sum()} of 60" in ax.get_title(loc="left")


def test_members_are_ranked_by_their_evidence():
    result = collection()
    ax = result.plot("members")
    assert len(ax.get_yticklabels()) == len(result.members)
    best = max(result.members, key=lambda member: member.evidence)
    assert ax.get_yticklabels()[0].get_text().startswith(best.looks_at)
    assert f"Seen by the member that looks at {result.local_best.looks_at}." in caption(result.plot())
    with pytest.raises(gs.errors.InputError, match="no members"):
        axis().plot("members")


def test_findings_are_drawn_from_anything_with_their_interface():
    ax = gs.plot.findings(explanation())
    assert len(ax.containers) == 3
    assert ax.get_title(loc="left") == "What fails"
    assert "the model fails here" in legend(ax)
    assert {"the mean is higher than the model says", "p = 0.012"} <= texts(ax)
    # The first interval leaves out what the model says, 0.5, and the last one does not.
    ends = [container.lines[2][0].get_segments()[0][:, 0] for container in ax.containers]
    assert ends[0].min() > 0 and ends[2].min() < 0 < ends[2].max()
    np.testing.assert_allclose(ends[0], [(0.9 - 0.5) / 0.5, (1.9 - 0.5) / 0.5])
    assert axis().plot("findings").get_title(loc="left") == "What fails"
    nothing = gs.plot.findings(explanation(0))
    assert nothing.get_title(loc="left") == "Nothing fails that was looked at"


# --- choosing -------------------------------------------------------------------------------------


def test_a_wrong_kind_is_answered_with_those_that_there_are():
    with pytest.raises(gs.errors.InputError) as error:
        axis().plot("histogram")
    assert all(repr(kind) in str(error.value) for kind in KINDS)
    with pytest.raises(gs.errors.InputError, match="`kind` must be"):
        axis().plot(3)
    with pytest.raises(gs.errors.InputError, match="`level`"):
        gs.plot.where(axis(), level=2.0)
    with pytest.raises(gs.errors.InputError, match="must be axes or a figure"):
        gs.plot.svg(3)


def test_results_without_their_data_show_the_null_distribution():
    bare = dataclasses.replace(axis(), asked=())
    assert "KSD" in bare.plot().get_xlabel()
    assert dataclasses.replace(collection(), asked=()).plot().get_xlabel() == "p-value"
    for kind in ("where", "pairs", "transform", "contributions"):
        with pytest.raises(gs.errors.InputError):
            bare.plot(kind)


def test_given_axes_are_used_for_every_shape():
    for name, make in WHERE.items():
        figure, (left, right) = plt.subplots(1, 2)
        assert make().plot(ax=left) is left, name
        assert not right.has_data()
        figure.canvas.draw()
    with pytest.raises(gs.errors.InputError, match="Leave `ax` out"):
        several().plot("pairs", ax=plt.subplots()[1])


def test_settings_of_matplotlib_are_respected_and_left_as_they_were():
    before = dict(plt.rcParams)
    axis().plot()
    assert dict(plt.rcParams) == before
    with plt.style.context("dark_background"):
        ax = axis().plot()
        assert ax.get_facecolor() == (0.0, 0.0, 0.0, 1.0) and ax.xaxis.label.get_color() == "white"


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_without_matplotlib_every_kind_says_what_to_install(monkeypatch, kind):
    result = (collection if kind == "members" else several)()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'^Plots need matplotlib: pip install "goodstein\[plot\]"\.$'):
        result.plot(kind)


# --- large data and strangers' names --------------------------------------------------------------


def test_many_points_are_thinned_by_a_fixed_rule():
    rows = drawn_rows(100_000)
    assert len(rows) == MOST_POINTS and rows[0] == 0 and rows[-1] == 99_999
    assert np.diff(rows).max() - np.diff(rows).min() <= 1
    np.testing.assert_array_equal(drawn_rows(10), np.arange(10))
    assert len(drawn_rows(0)) == 0
    x = np.random.default_rng(1).standard_normal((100_000, 2))
    with drawing() as (_, colours):
        _, ax = plt.subplots()
        scatter(ax, x[:, 0], x[:, 1], colours)
    assert len(ax.collections[0].get_offsets()) == MOST_POINTS
    assert len(gs.plot.svg(ax).encode()) < LARGEST_FILE


def test_a_large_sample_has_a_small_file_that_says_so():
    x = np.random.default_rng(1).standard_normal((2100, 6)) * 1.2
    test = {"null": gs.WildBootstrap(19), "rng": 1}
    ax = gs.ksd_test(x[:, :2], gs.families.Normal(np.zeros(2)), **test).plot()
    assert "2000 of 2100 observations are drawn" in caption(ax)
    assert len(gs.plot.svg(ax).encode()) < LARGEST_FILE
    figure = gs.ksd_test(x[:600], gs.families.Normal(np.zeros(6)), **test).plot()
    said = figure._supxlabel.get_text()
    assert "300 of 600 observations are drawn" in said and "Of 6 columns the 5 that differ most" in said
    assert len(gs.plot.svg(figure).encode()) < LARGEST_FILE


HOSTILE = ["a$b$", r"$\frac{1}{0}$", "x\x1b[31m\u202e", "--><script>alert(1)</script>", "n\n" * 50, "$" * 7]


@pytest.mark.parametrize("names", [HOSTILE[:3], HOSTILE[3:]], ids=["formulas", "programs"])
def test_names_are_neither_formulas_nor_programs(names):
    x = np.random.default_rng(1).standard_normal((40, 3))
    result = gs.ksd_test(pd.DataFrame(x, columns=names), gs.families.Normal(np.zeros(3)), rng=1)
    for kind in ("pairs", "transform"):
        content = gs.plot.svg(result.plot(kind))
        root = ET.fromstring(content)
        assert not [part for part in root.iter() if str(part.tag).endswith("script")]
        assert "\x1b" not in content and "\u202e" not in content
    for name in names:
        assert not matplotlib.cbook.is_math_text(safe(name))
        assert len(safe(name).replace(r"\$", "$")) <= 40


def test_the_dollar_is_seen():
    assert safe("a$b$") == r"a\$b\$"
    text = plt.figure().text(0, 0, safe("a$b$"))
    assert text._preprocess_math(text.get_text())[0] == "a$b$"


def test_sites_of_few_levels_are_told_by_what_fails():
    # A cloud of −1 and 1 says nothing of a chain whose neighbours do not depend on each other.
    chain = 0.6 * (np.eye(4, k=1) + np.eye(4, k=-1))
    x = np.where(np.random.default_rng(1).random((80, 4)) < 0.5, -1.0, 1.0)
    result = gs.ksd_test(x, gs.families.Ising(chain), rng=1)
    assert shape_of(result) == "findings"
    ax = result.plot()
    assert ax.get_title(loc="left") == "What fails"
    assert any("associations are weaker" in text.get_text() for text in ax.texts)
    few = gs.ksd_test(x[:15], gs.families.Ising(chain), null=gs.MonteCarlo(99), rng=1)
    assert len(few.plot().axes) > 4  # too few rows for an explanation: in pairs


def test_the_legend_of_two_columns_stays_in_the_figure():
    x = np.random.default_rng(1).normal(0.5, 1.2, (100, 2))
    figure = gs.ksd_test(x, gs.families.Normal([0, 0]), rng=1).plot("pairs")
    figure.canvas.draw()
    box, paper = figure.legends[0].get_window_extent(), figure.bbox
    assert paper.x0 <= box.x0 and box.x1 <= paper.x1


def test_pairs_of_many_columns_are_those_that_differ():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 30))
    x[:, 17] *= 1.6
    x[:, 22] = 0.7 * x[:, 9] + np.sqrt(0.51) * x[:, 22]
    data = pd.DataFrame(x, columns=[f"gene {j}" for j in range(30)])
    model = gs.families.Normal(np.zeros(30), np.eye(30))
    figure = gs.plot.pairs(gs.ksd_test(data, model, null=gs.WildBootstrap(19), rng=1))
    names = {ax.get_xlabel() for ax in figure.axes}
    assert {"gene 9", "gene 17", "gene 22"} <= names
    assert "that differ most from the model" in figure.get_supxlabel()
    unknown = gs.plot.pairs(gs.ksd_test(data, lambda x: -x, null=gs.WildBootstrap(19), rng=1))
    assert "The first 5 of 30 columns." in unknown.get_supxlabel()
