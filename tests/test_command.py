"""The command line says what the library says: the same data, models and numbers by every way in."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import goodstein as gs
from goodstein.command.main import COMMANDS, cli
from goodstein.command.models import names
from goodstein.command.observations import Observed
from goodstein.command.speech import renamed, spoken
from goodstein.command.strings import parse
from goodstein.data.points import Points
from goodstein.nulls.holm import holm

pytestmark = pytest.mark.usefixtures("few_samples")

X = np.random.default_rng(5).normal(0.2, 1.1, size=(40, 2)).round(4)
NORMAL = "normal:mean=0,0"
NUMBER = r"-?\d+\.?\d*(?:e-?\d+)?"
EXPECTED = gs.ksd_test(X, gs.families.Normal([0, 0]), rng=3).pvalue


def run(*arguments, **options):
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], **options)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def record(*arguments, **options):
    return json.loads(run(*arguments, "--json", **options).stdout)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in X))
    return path


# --- the same numbers by every way in ----------------------------------------------------------------


def as_csv(path):
    path.write_text("kind,b,a\n" + "".join(f"x,{b},{a}\n" for a, b in X))


def as_tsv(path):
    path.write_text("a\tb\n" + "".join(f"{a}\t{b}\n" for a, b in X))


def as_records(path):
    path.write_text(json.dumps([{"a": a, "b": b, "note": "x"} for a, b in X.tolist()]))


def as_columns(path):
    path.write_text(json.dumps({"a": X[:, 0].tolist(), "b": X[:, 1].tolist()}))


def as_geojson(path):
    points = [{"type": "Point", "coordinates": point} for point in X.tolist()]
    features = [{"type": "Feature", "geometry": point, "properties": {"id": 1}} for point in points]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def as_structured(path):
    table = np.zeros(len(X), [("b", "f4"), ("a", "f8"), ("c", "U3")])
    table["a"], table["b"] = X.T
    np.save(path, table)


def as_parquet(path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": X[:, 0], "note": ["x"] * len(X), "b": X[:, 1]})
    frame.write_parquet(path)


@pytest.mark.parametrize(
    ("name", "write", "columns"),
    [
        ("d.csv", as_csv, "a,b"),
        ("d.tsv", as_tsv, None),
        ("d.json", as_records, "a,b"),
        ("d.json", as_columns, None),
        ("d.geojson", as_geojson, "x,y"),
        ("d.npy", lambda path: np.save(path, np.asfortranarray(X)), None),
        ("d.npy", lambda path: np.save(path, np.column_stack([X[:, 1], X[:, 0]])), "1,0"),
        ("d.npy", as_structured, "a,b"),
        ("d.parquet", as_parquet, "a,b"),
    ],
)
def test_every_kind_of_file_gives_the_same_p_value(tmp_path, name, write, columns):
    path = tmp_path / name
    write(path)
    options = () if columns is None else ("--columns", columns)
    found = record("test", path, NORMAL, "--seed", 3, *options)
    tolerance = 1e-5 if write is as_structured else 1e-12  # one of its columns has single precision
    expected = gs.ksd_test(X, gs.families.Normal([0, 0]), rng=3)
    assert found["result"]["statistic"] == pytest.approx(expected.statistic, rel=tolerance)
    assert found["result"]["pvalue"] == pytest.approx(EXPECTED, abs=1e-9)


@pytest.mark.parametrize("name", ["d.csv", "d.json", "d.npy", "d.parquet"])
def test_standard_input(tmp_path, name):
    path = tmp_path / name
    {"csv": as_tsv, "json": as_columns, "npy": lambda p: np.save(p, X), "parquet": as_parquet}[name[2:]](path)
    options = ("--delimiter", "tab") if name == "d.csv" else ()
    columns = ("--columns", "a,b") if name == "d.parquet" else ()
    found = record("test", "-", NORMAL, "--seed", 3, *options, *columns, input=path.read_bytes())
    assert found["result"]["pvalue"] == EXPECTED and found["data"]["source"] == "standard input"


def test_blocks_of_rows_make_one_table(data, monkeypatch):
    monkeypatch.setattr("goodstein.command.read_text.BLOCK", 7)
    assert record("test", data, NORMAL, "--seed", 3)["result"]["pvalue"] == EXPECTED


def test_rows_takes_the_first(data):
    expected = gs.ksd_test(X[:15], gs.families.Normal([0, 0]), rng=3).pvalue
    assert record("test", data, NORMAL, "--seed", 3, "--rows", 15)["result"]["pvalue"] == expected


def test_a_seed_that_was_drawn_gives_the_same_again(data):
    first = record("test", data, NORMAL)
    again = record("test", data, NORMAL, "--seed", first["seed"], "--workers", 2)
    assert first["result"] == again["result"]
    assert f"Seed {first['seed']}." in run("test", data, NORMAL, "--seed", first["seed"]).stdout


def test_durations(tmp_path):
    table = gs.datasets.about("lung").table()
    path = tmp_path / "lung.csv"
    lines = zip(table["time"], table["status"], strict=True)
    path.write_text("t,e\n" + "".join(f"{t},{int(e)}\n" for t, e in lines))
    lung = gs.datasets.lung()
    expected = gs.ksd_test(lung, gs.families.Weibull.fit(lung), rng=1).pvalue
    own = record("test", path, "weibull", "--fit", "--duration", "t", "--event", "e", "--seed", 1)
    shipped = record("test", "dataset:lung", "weibull", "--fit", "--seed", 1)
    columns = ("--duration", "time", "--event", "status")
    named = record("test", "dataset:lung", "weibull", "--fit", "--seed", 1, *columns)
    assert own["result"]["pvalue"] == shipped["result"]["pvalue"] == named["result"]["pvalue"] == expected


def test_directions_and_angles(tmp_path):
    path = tmp_path / "places.csv"
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(-180, 180, 30), rng.uniform(-60, 80, 30)
    table = np.column_stack([lat, lon, np.radians(lon), np.radians(lat)])
    path.write_text("lat,lon,x,y\n" + "".join(f"{a!r},{b!r},{c!r},{d!r}\n" for a, b, c, d in table.tolist()))
    expected = gs.ksd_test(gs.from_lonlat(lon, lat), gs.families.UniformOnSphere(3), rng=1).statistic
    options = ("--seed", 1)
    by_degrees = record("test", path, "uniform_on_sphere", "--lon", "lon", "--lat", "lat", *options)
    assert by_degrees["result"]["statistic"] == pytest.approx(expected)
    by_radians = record("test", path, "uniform-on-sphere", "--lon", "x", "--lat", "y", "--radians", *options)
    assert by_radians["result"]["statistic"] == pytest.approx(expected)
    expected = gs.ksd_test(np.radians(lon), gs.families.VonMises(0, 1), rng=1).statistic
    call = ("test", path, "von_mises:mean=0,kappa=1", "--columns", "lon", "--degrees", *options)
    assert record(*call)["result"]["statistic"] == pytest.approx(expected)


def test_regions(data, tmp_path):
    corners = [[-500.0, -5.0], [6.0, -5.0], [5.0, 7.0], [-5.0, 5.0]]
    expected = gs.ksd_test(X, gs.families.Normal([0, 0]), domain=gs.Polygon(corners), rng=1).statistic
    as_json = tmp_path / "region.geojson"
    as_json.write_text(json.dumps({"type": "Polygon", "coordinates": [[*corners, corners[0]]]}))
    as_table = tmp_path / "region.csv"
    as_table.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in corners))
    for options in (("--region", as_json), ("--region", as_table)):
        found = record("test", data, NORMAL, *options, "--seed", 1)
        assert found["result"]["statistic"] == pytest.approx(expected)
    boxed = record("test", data, NORMAL, "--domain", "box:-5,6;-5,7", "--seed", 1)
    expected = gs.ksd_test(X, gs.families.Normal([0, 0]), domain=gs.Box([-5, -5], [6, 7]), rng=1).statistic
    assert boxed["result"]["statistic"] == pytest.approx(expected)


def test_a_fit_on_a_region_allows_for_its_edge(tmp_path):
    region = gs.Box(0.0, 3.0)
    x = gs.families.Truncated(gs.families.Normal(-1.0, 1.0), region).sample(2000, rng=1)
    np.save(tmp_path / "cut.npy", x)
    found = record("fit", tmp_path / "cut.npy", "normal", "--domain", "box:0,3", "--seed", 1)
    expected = gs.estimate.TruncatedScoreMatching().fit(x, gs.estimate.AnyNormal(), domain=region, rng=1)
    assert found["method"] == "truncated score matching"
    np.testing.assert_allclose(found["parameters"]["mean"], expected.parameters["mean"], rtol=1e-6)
    assert found["parameters"]["mean"][0] < -0.5 < 0.4 < x.mean()


# --- strings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("normal:mean=0,0;cov=1,0.5;0.5,2", {"mean": [0, 0], "cov": [[1, 0.5], [0.5, 2]]}),
        ("normal:mean=[0,0],cov=[[1,0.5],[0.5,2]]", {"mean": [0, 0], "cov": [[1, 0.5], [0.5, 2]]}),
        ("normal: mean = -1e-3 , cov = 2.", {"mean": -1e-3, "cov": 2.0}),
        ("ising:method=likelihood,penalty=.5", {"method": "likelihood", "penalty": 0.5}),
        ("box:lower=-inf,0,upper=0,inf", {"lower": [-np.inf, 0], "upper": [0, np.inf]}),
        ("x:a=1;2", {"a": [[1], [2]]}),
        ("x:a=true,b=null", {"a": True, "b": None}),
    ],
)
def test_parameters_of_a_string(text, expected):
    assert parse(text).parameters == expected


def test_what_stands_alone_belongs_to_the_first_parameter(data):
    one = record("test", data, "normal:0,0", "--seed", 3)
    assert one["result"]["pvalue"] == EXPECTED


def test_every_family_has_a_name():
    known = {"ERGM", "Product", "StochasticBlockModel", "Truncated", "ZeroInflated"}
    assert {*names().values()} | known == {name for name in dir(gs.families) if not name.startswith("_")}
    assert {"normal", "student_t", "von_mises_fisher", "gaussian_mixture"} <= set(names())


@pytest.mark.filterwarnings("ignore:40 observations are few")
def test_a_fit_prints_the_string_of_the_model_that_it_found(data):
    text = run("fit", data, "normal", "--quiet").stdout.strip()
    fitted = gs.families.Normal.fit(X)
    given = record("test", data, text, "--seed", 1)["result"]
    assert given["statistic"] == pytest.approx(gs.ksd_test(X, fitted, rng=1).statistic, rel=1e-6)
    # The string does not say that it was fitted to these rows, and --fit does.
    assert given["null"].startswith("WildBootstrap")
    fitted = record("test", data, "normal", "--fit", "--seed", 1)["result"]["null"]
    assert fitted.startswith("ParametricBootstrap")  # of 40 rows and five parameters


def test_options_of_a_fit(data):
    fixed = record("fit", data, "student_t:df=5")
    assert fixed["parameters"]["df"] == 5
    mixture = record("fit", data, "gaussian_mixture:n_components=2", "--seed", 1)
    assert len(mixture["parameters"]["weights"]) == 2


@pytest.mark.parametrize(
    ("options", "null"),
    [
        (("--resamples", 50), "WildBootstrap(n_resamples=50"),
        (("--null", "spectral"), "Spectral"),
        (("--null", "montecarlo", "--resamples", 19), "MonteCarlo(n_resamples=19"),
        (("--null", "auto"), "MonteCarlo(n_resamples=99"),
    ],
)
def test_null_distributions(data, options, null):
    assert record("test", data, NORMAL, *options, "--rows", 10)["result"]["null"].startswith(null)


def test_the_parametric_bootstrap_of_a_fitted_model(data):
    found = record("test", data, "normal", "--fit", "--null", "parametric", "--resamples", 19)
    assert "ParametricBootstrap" in found["result"]["null"]


@pytest.mark.filterwarnings("ignore:40 observations are few")
def test_a_model_of_ones_own(data, tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "import numpy as np\nimport goodstein as gs\n\n"
        "class Bell:\n    domain = gs.Euclidean(2)\n\n    def score(self, x):\n        return -x\n\n"
        "bell = Bell()\n\n"
        "def fitted(x):\n    return gs.families.Normal.fit(x)\n"
    )
    result = run("test", data, f"{own}:bell", "--seed", 3, "--json")
    assert "Running" in result.stderr and "own.py" in result.stderr
    assert json.loads(result.stdout)["result"]["pvalue"] == EXPECTED
    result = run("test", data, f"{own}:bell", "--quiet")
    assert result.stderr == ""
    found = record("test", data, f"{own}:fitted", "--fit", "--seed", 1)
    assert found["result"]["statistic"] == pytest.approx(
        gs.ksd_test(X, gs.families.Normal.fit(X), rng=1).statistic
    )


# --- commands ----------------------------------------------------------------------------------------


def test_compare_adjusts_for_the_number_of_models(data):
    models = ("normal:fit", NORMAL, "laplace:loc=0,0", "normal:mean=1,1")
    found = record("compare", data, *models, "--seed", 3)["models"]
    alone = [one["pvalue"] for one in found]
    assert alone[1] == EXPECTED and "ParametricBootstrap" in found[0]["result"]["null"]
    # Holm's procedure by its definition: reject in order of p while p ≤ level/(number that is left).
    for level in (0.01, 0.05, 0.2, 0.7):
        rejected, left = set(), sorted(range(4), key=alone.__getitem__)
        while left and alone[left[0]] <= level / len(left):
            rejected.add(left.pop(0))
        assert {k for k in range(4) if found[k]["adjusted_pvalue"] <= level} == rejected
    assert "adjusted by Holm" in run("compare", data, *models, "--seed", 3).stdout


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.02, 0.3]), [0.03, 0.04, 0.3])
    np.testing.assert_allclose(holm([0.5, 0.6, 0.2]), [1.0, 1.0, 0.6])


def test_the_code_is_zero_whatever_the_verdict(data):
    for mean, rejected in ((0.2, False), (3, True)):
        found = record("test", data, f"normal:mean={mean},{mean}", "--seed", 1)
        assert found["reject"] is rejected
        assert run("test", data, f"normal:mean={mean},{mean}", "--seed", 1).exit_code == 0
    strict = record("test", data, "normal:mean=3,3", "--seed", 1, "--level", 1e-9)
    assert strict["reject"] is False and strict["level"] == 1e-9
    shown = run("test", data, "normal:mean=3,3", "--seed", 1, "--level", 1e-9).stdout
    assert "At level 1e-09 nothing is decided." in shown


def test_check_and_its_report(data, tmp_path):
    report, copy = tmp_path / "report.html", tmp_path / "copy.json"
    call = ("check", data, NORMAL, "--seed", 3, "--null", "wild", "--resamples", 99)
    found = record(*call, "--output", report)
    assert (
        found["result"]["pvalue"]
        == gs.check(X, gs.families.Normal([0, 0]), null=gs.WildBootstrap(99), rng=3).pvalue
    )
    assert "<" in report.read_text(encoding="utf-8")
    shown = run(*call, "--output", copy, "--explain").stdout
    assert str(gs.check(X, gs.families.Normal([0, 0]), null=gs.WildBootstrap(99), rng=3).verdict) in shown
    assert len(shown.splitlines()) > len(run(*call).stdout.splitlines()) + 2
    assert json.loads(copy.read_text())["result"]["pvalue"] == found["result"]["pvalue"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.json", "data.csv", "report.html"]


def test_a_column_may_be_called_like_an_argument():
    assert spoken("too few near `x` = 0.3, `data` = 1") == "too few near `x` = 0.3, `data` = 1"
    assert renamed("`workers` must be 1.") == "--workers must be 1."


def test_audit_with_and_without_data(data):
    found = record("audit", "dirichlet:alpha=0.5,0.5,0.5", "--seed", 1)
    assert found["valid"] is True and found["data"] is None and found["result"]["checks"]
    assert "is valid" in run("audit", data, NORMAL).stdout


def test_power_and_sample_size():
    call = ("power", "normal:mean=0", "normal:mean=1", "--seed", 1)
    found = record(*call, "--n", 20, "--trials", 20)["result"]
    cell = gs.Cell(gs.families.Normal(0), gs.families.Normal(1), 20)
    study = gs.power_study([cell], {"ksd": gs.ksd_test}, trials=20, seed=1)
    assert found["pvalues"] == study.to_dict()["pvalues"]
    size = record(*call, "--power", 0.7, "--trials", 60)["result"]
    models = gs.families.Normal(0), gs.families.Normal(1)
    assert size["n"] == gs.sample_size(*models, gs.ksd_test, power=0.7, trials=60, rng=1).n
    cut = record("power", "uniform", "normal:mean=0", "--domain", "box:-1,1", "--n", 10, "--trials", 10)
    assert "Truncated(Normal" in cut["result"]["cells"][0]["name"]


def test_pictures(data, tmp_path):
    pytest.importorskip("matplotlib")
    for ending, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        said = run("test", data, NORMAL, "--plot", tmp_path / f"null{ending}").stderr
        assert f"Wrote {tmp_path / f'null{ending}'}." in said
        assert (tmp_path / f"null{ending}").read_bytes().startswith(start)


def test_a_picture_of_another_kind_is_refused_by_its_option(data, tmp_path):
    result = CliRunner().invoke(cli, ["test", str(data), NORMAL, "--plot", str(tmp_path / "null.bmp")])
    assert result.exit_code == 2 and "goodstein: --plot: " in result.stderr


def test_datasets(tmp_path):
    assert {one["name"] for one in record("datasets")["datasets"]} == set(gs.datasets.names())
    assert "Isle of Skye" in run("datasets", "skye_lavas").stdout
    run("datasets", "skye_lavas", "--output", tmp_path / "lavas.csv")
    own = record("test", tmp_path / "lavas.csv", "dirichlet", "--fit", "--close", "--seed", 1)
    shipped = record("test", "dataset:skye_lavas", "dirichlet", "--fit", "--seed", 1)
    assert own["result"]["pvalue"] == shipped["result"]["pvalue"]
    assert own["data"]["columns"] == shipped["data"]["columns"] == ["A", "F", "M"]
    assert run("datasets", "aml", "--output", "-").stdout.startswith("time,status,x\n9,1,Maintained\n")


def test_a_region_that_ships_is_used(tmp_path):
    found = record("test", "dataset:redwood", "uniform", "--seed", 1)
    about = gs.datasets.about("redwood")
    assert found["result"]["domain"] == repr(about.domain)
    assert (
        found["result"]["pvalue"]
        == gs.ksd_test(about.load(), gs.families.Uniform(about.domain), rng=1).pvalue
    )


def test_every_command_has_help():
    for name in COMMANDS:
        shown = run(name, "--help").stdout
        assert shown.startswith("Usage: cli ") and "Options:" in shown
    assert run("--version").stdout == f"goodstein {gs.__version__}\n"


def test_the_record_has_a_version_and_no_draws(data):
    found = record("test", data, NORMAL)
    assert list(found) == [
        "schema",
        "goodstein",
        "command",
        "seed",
        "level",
        "data",
        "notes",
        "reject",
        "result",
    ]
    assert found["schema"] == 1 and "null_distribution" not in found["result"]


def test_the_sessions_of_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text(encoding="utf-8")
    sessions = re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL)
    calls = [call for session in sessions for call in re.split(r"^\$ goodstein ", session, flags=re.M)[1:]]
    assert len(calls) >= 6
    for call in calls:
        line, _, said = call.partition("\n")
        result = CliRunner().invoke(cli, shlex.split(line))
        assert result.exit_code == (2 if "Pass --close" in said else 0)
        printed = result.stderr + result.stdout
        assert re.sub(NUMBER, "#", printed).split() == re.sub(NUMBER, "#", said).split()
        found, expected = ([float(x) for x in re.findall(NUMBER, text)] for text in (printed, said))
        np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.01)


def test_the_order_of_shuffled_rows_is_not_looked_at():
    """Chance makes a random order look dependent in one of sixty calls."""
    walk = np.cumsum(np.random.default_rng(0).normal(size=200)) / 10
    observed = Observed(Points(walk[:, None]), "walk.csv")
    shuffled = observed.shuffled(1).data
    shuffled.observations[:] = walk[:, None]  # what chance may do
    first, second = (
        [check.name for check in gs.ksd_test(found, gs.families.Normal(), rng=1).audit.checks]
        for found in (observed.data, shuffled)
    )
    assert "independent rows" in first and "independent rows" not in second


@pytest.mark.parametrize(
    "text",
    [
        "Use null=FittedWildBootstrap() or ParametricBootstrap().",
        "Pass Censored(durations, event_observed), or an array (n,) of durations.",
        "The rows are sorted. Draws of a Markov chain are Chains([data]).",
        "If each row is a chain of one parameter, pass Chains(list(data)); else data.ravel().",
    ],
)
def test_the_shell_speaks_no_python(text):
    assert not re.search(r"\w\(", spoken(text))


def test_shuffled_rows_are_the_same_rows(data):
    found = record("test", data, NORMAL, "--shuffle", "--seed", 3)
    expected = gs.ksd_test(X, gs.families.Normal([0, 0]), rng=3).statistic
    assert found["result"]["statistic"] == pytest.approx(expected) and "random order" in found["notes"][0]


def test_shells_complete_models_and_tables():
    context = cli.make_context("goodstein", ["test", "x", "y"])
    command = cli.get_command(context, "test")
    data, model = command.params[0], command.params[1]
    assert [one.value for one in model.shell_complete(context, "von_m")] == ["von_mises", "von_mises_fisher"]
    assert [one.value for one in data.shell_complete(context, "dataset:skye")] == ["dataset:skye_lavas"]
    assert data.shell_complete(context, "my")[0].type == "file"


# --- progress ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["test", "check", "compare", "power", "sample size"])
def test_commands_tell_how_far_they_are(command, data, monkeypatch):
    told = []
    bar = "goodstein.engine.progress._bar"
    monkeypatch.setattr(bar, lambda what: nullcontext(lambda done, total: told.append((what, done, total))))
    few = ["--null", "montecarlo", "--resamples", 19]
    power = ["power", "normal:mean=0", "normal:mean=1", "--trials", 10]
    calls = {
        "test": ["test", data, NORMAL, *few],
        "check": ["check", data, NORMAL, *few],
        "compare": ["compare", data, NORMAL, "normal:mean=1,1", *few],
        "power": [*power, "--n", 9],
        "sample size": [*power, "--trials", 60, "--power", 0.5],
    }
    record(*calls[command], "--seed", 1)
    whats, done, total = zip(*told, strict=True)
    words = {"test": "Testing", "check": "Checking", "compare": "Testing", "power": "Simulating"}
    assert set(whats) == {words.get(command, "Seeking the sample size")} and done[-1] == total[-1] > 1
    told.clear()
    record(*calls[command], "--seed", 1, "--quiet")
    assert not told
