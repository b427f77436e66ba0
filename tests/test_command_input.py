"""Bad input at the command line: one line with what is wrong, where and the remedy, code 2, no traceback."""

from __future__ import annotations

import builtins
import json
import os
import pickle

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import goodstein as gs
from goodstein.command.main import cli
from goodstein.command.read_text import LONGEST_LINE
from goodstein.command.strings import parse

ROWS = [(0.1, -0.3), (0.4, 0.2), (-1.1, 0.6), (0.9, -0.2), (0.3, 1.4), (-0.6, -0.9)]
NORMAL = "normal:mean=0,0"


def run(*arguments: str, **options) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], **options)


def refused(*arguments: str, **options) -> str:
    """The one line that a bad call prints."""
    result = run(*arguments, **options)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    line, end = result.stderr.split("\n")
    assert end == "" and line.startswith("goodstein: ") and "Traceback" not in line
    assert len(line) < 1300
    return line.removeprefix("goodstein: ")


@pytest.fixture
def table(tmp_path):
    """A function that writes a CSV file with two columns, or the text that it is given."""

    def write(text: str | None = None, name: str = "data.csv"):
        lines = ["height,weight", *(f"{a},{b}" for a, b in ROWS)]
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n" if text is None else text, encoding="utf-8")
        return path

    return write


# --- the list of the ways in which files are wrong ---------------------------------------------------


def test_a_wrong_column_name_offers_the_nearest(table):
    said = refused("test", table(), "normal:mean=0", "--columns", "hieght")
    assert "has no column 'hieght'. Did you mean 'height'?" in said


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_a_wrong_delimiter_is_recognised_and_the_remedy_works(table, mark, word):
    path = table("\n".join([f"a{mark}b", *(f"{a}{mark}{b}" for a, b in ROWS)]))
    said = refused("test", path, NORMAL)
    assert word in said and "--delimiter" in said
    assert run("test", path, NORMAL, "--delimiter", mark).exit_code == 0


def test_text_in_a_column_of_numbers_names_the_first_cells_and_their_lines(table):
    rows = ["a,b", "1,2", "oops,3", "2,3", "x,4", "y,5", "z,6"]
    said = refused("test", table("\n".join(rows)), NORMAL)
    assert "column 'a' holds text" in said
    assert "'oops' in line 3, 'x' in line 5, 'y' in line 6 and 1 more" in said
    assert "--columns" in said


def test_a_column_of_words_is_left_to_the_user(table):
    path = table("\n".join(["kind,a", *(f"fox,{a}" for a, _ in ROWS)]))
    assert "Name the columns of numbers: --columns 'a'." in refused("test", path, "normal:mean=0")
    assert run("test", path, "normal:mean=0", "--columns", "a").exit_code == 0


def test_decimal_commas_are_recognised(table):
    said = refused("test", table("a;b\n1,5;2\n2,5;3\n"), NORMAL, "--delimiter", ";")
    assert "Write decimal points instead of commas." in said


def test_missing_values_are_counted_and_left_out_only_on_request(table):
    path = table("a,b\n0.1,0.2\n,0.3\n0.4,NA\n0.5,nan\n0.6,0.1\n-0.2,0.3\n")
    said = refused("test", path, NORMAL)
    assert "3 of 6 rows have missing values, the first is line 3; by column: 'a' 1, 'b' 2." in said
    assert "--drop-missing" in said
    result = run("test", path, NORMAL, "--drop-missing", "--json")
    assert "Left out 3 of 6 rows" in result.stderr
    found = json.loads(result.stdout)
    assert found["data"]["n"] == 3 and "Left out 3 of 6 rows" in found["notes"][0]


def test_rows_that_the_library_refuses_are_named_by_their_lines(table):
    path = table("a,b\n0.1,0.2\n\n0.4,0.4\n7,0.3\n0.5,0.2\n")
    said = refused("test", path, "uniform", "--domain", "box:0,1")
    assert "1 of 4 rows (row 2) lie outside" in said and "Row 2 is line 5 of the file." in said
    assert "the right --domain" in said


def test_degrees_for_radians(table):
    path = table("heading\n10\n350\n180\n90\n45\n")
    assert "up to 350" in (said := refused("test", path, "von_mises:mean=0,kappa=1")) and "--degrees" in said
    assert run("test", path, "von_mises:mean=0,kappa=1", "--degrees").exit_code == 0
    assert run("test", path, "von_mises:mean=0,kappa=1", "--radians").exit_code == 0


def test_percentages_for_proportions(table):
    path = table("A,F,M\n52,42,6\n52,44,4\n47,48,4.9\n45,49,6\n40,50,10\n")
    said = refused("test", path, "dirichlet:alpha=1,1,1")
    assert "they look like percentages" in said and "--close" in said
    assert refused("test", path, "dirichlet", "--fit") == said
    result = run("test", path, "dirichlet:alpha=1,1,1", "--close")
    assert result.exit_code == 0 and "which was from 99.9 to 100." in result.stderr


def test_swapped_longitudes_and_latitudes(table):
    path = table("x,y\n10,120\n-20,150\n30,-100\n40,170\n")
    model = "von_mises_fisher:mu=0,0,1;kappa=1"
    said = refused("test", path, model, "--lon", "x", "--lat", "y")
    assert "beyond a pole" in said and "Exchange them: --lon 'y' --lat 'x'." in said
    assert run("test", path, model, "--lon", "y", "--lat", "x").exit_code == 0


def test_names_of_the_other_coordinate_are_noted_where_values_fit_either(table):
    path = table("Latitude,Longitude\n50,10\n51,12\n48,9\n49,11\n")
    model = "von_mises_fisher:mu=0,0,1;kappa=1"
    said = run("test", path, model, "--lon", "Latitude", "--lat", "Longitude").stderr
    assert "Longitudes are taken from 'Latitude'" in said and "--lon 'Longitude' --lat 'Latitude'." in said
    assert "taken from" not in run("test", path, model, "--lon", "Longitude", "--lat", "Latitude").stderr
    # A file in which the names are exchanged: its values leave no doubt.
    far = table("lat,lon\n150,10\n-151,12\n48,9\n49,11\n", "far.csv")
    assert "taken from" not in run("test", far, model, "--lon", "lat", "--lat", "lon").stderr


def test_an_unfitted_model(table):
    said = refused("test", table(), "normal")
    assert "Give its parameters, normal:mean=…,cov=…, or fit it: --fit." in said
    assert run("test", table(), "normal", "--fit").exit_code == 0


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("data.parquet", b"a,b\n1,2\n", "it is text"),
        ("data.npy", b"a,b\n1,2\n", "it is text"),
        ("data.csv", b"PAR1....", "it is parquet"),
        ("data.csv", b'[{"a": 1}]', "it is json"),
        ("data.json", b"a,b\n1,2\n", "it is text"),
        ("data.csv", b"PK\x03\x04rest", "a zip archive"),
        ("data.csv", b"\x1f\x8b\x08rest", "compressed with gzip"),
        ("data.csv", b"\x00\x01\x02\x03", "zero bytes"),
        ("data.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("data.csv", b"<html><body>", "HTML"),
        ("data.csv", b"a,b\n1,\xff\xfe\n2,3\n", "UTF-8"),
        ("data.xlsx", b"a,b\n1,2\n", "end in .xlsx"),
        ("data.csv", pickle.dumps([1.0]), "a pickle"),
        ("data.arrow", b"ARROW1\x00\x00", "an Arrow file"),
        ("data.json", b'{"a": [1, 2', "no valid JSON"),
    ],
)
def test_a_file_that_is_not_what_its_ending_says(tmp_path, name, content, what):
    path = tmp_path / name
    path.write_bytes(content)
    assert what in refused("test", path, NORMAL)


@pytest.mark.parametrize("content", ["", "\n\n", "a,b\n", "a,b\n1,2\n"])
def test_an_empty_file(table, content):
    said = refused("test", table(content), NORMAL)
    assert "is empty" in said or "rows of data" in said or "1 row of data" in said


def test_a_file_of_five_gigabytes_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.csv"
    with open(path, "wb") as file:
        file.write(b"a,b\n" + 2000 * b"1,2\n2,3\n4,1\n")
        file.truncate(5 << 30)
    said = refused("test", path, NORMAL)
    assert "is 5.0 GB, more than the 1.0 GB that are read" in said
    assert "Parquet" in said and "--rows" in said
    assert run("test", path, NORMAL, "--rows", "3").exit_code == 0


def test_no_permission_to_write(table, tmp_path, monkeypatch):
    assert "there is no folder" in refused("check", table(), NORMAL, "--output", tmp_path / "no" / "r.html")
    for name in ("a\0b.html", "a" * 300 + ".html"):
        assert "no file can have the name" in refused("check", table(), NORMAL, "--output", name)

    # The tests may run as root, who may write everywhere.
    monkeypatch.setattr("goodstein.engine.files.os.access", lambda *_: False)
    said = refused("check", table(), NORMAL, "--output", tmp_path / "report.html")
    assert "may not be written" in said


def test_many_columns_take_time_in_proportion(tmp_path):
    """A hundred thousand took half a minute and more when each was compared with all others."""
    twice = tmp_path / "twice.json"
    twice.write_text("[{" + ",".join(f'"c{k}": 1' for k in range(100_000)) + ', "c5": 2}]')
    assert "'c5' twice" in refused("test", twice, NORMAL)
    np.save(tmp_path / "wide.npy", np.ones((2, 100_000)))
    assert "100000 columns" in refused("test", tmp_path / "wide.npy", NORMAL)
    assert "no column 'c'" in refused("test", tmp_path / "wide.npy", NORMAL, "--columns", "c")


def test_no_permission_to_read(table, monkeypatch):
    path, real = table(), builtins.open

    def denied(file, *arguments, **options):
        if str(file) == str(path):
            raise PermissionError(13, "Permission denied")
        return real(file, *arguments, **options)

    monkeypatch.setattr(builtins, "open", denied)
    assert "may not be read" in refused("test", path, NORMAL)


def test_the_plot_extra_is_not_installed(table, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    said = refused("test", table(), NORMAL, "--plot", tmp_path / "null.svg")
    assert 'pip install "goodstein[plot]"' in said
    report = tmp_path / "report.html"
    told = run("check", table(), NORMAL, "--null", "wild", "--resamples", 19, "--output", report).stderr
    assert f"Wrote {report}. It has no pictures" in told and "No pictures" in report.read_text(
        encoding="utf-8"
    )


def test_neither_polars_nor_pyarrow_is_installed(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1")
    for name in ("polars", "pyarrow"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert 'pip install "goodstein[io]"' in refused("test", path, NORMAL)


# --- other files -------------------------------------------------------------------------------------


def test_a_row_of_another_length_is_named(table):
    assert "line 3 has 3 cells, the first line has 2" in refused("test", table("a,b\n1,2\n1,2,3\n"), NORMAL)


def test_a_first_line_of_numbers_is_no_header(table):
    path = table("\n".join(f"{a},{b}" for a, b in ROWS))
    assert "--no-header" in refused("test", path, NORMAL)
    found = json.loads(run("test", path, NORMAL, "--no-header", "--json").stdout)
    assert found["data"]["n"] == len(ROWS) and found["data"]["columns"] is None


def test_two_columns_of_one_name(table):
    assert "two columns 'a'" in refused("test", table("a,a\n1,2\n2,3\n"), NORMAL)


def test_a_line_without_end(table):
    path = table("a,b\n" + "1" * (LONGEST_LINE + 5))
    assert "longer than a row" in refused("test", path, NORMAL)


def test_a_file_that_is_not_there_offers_the_nearest(table, tmp_path):
    table()
    said = refused("test", tmp_path / "dota.csv", NORMAL)
    assert "Did you mean" in said and "data.csv" in said
    assert "is a folder" in refused("test", tmp_path, NORMAL)


def test_options_that_exclude_each_other(table):
    path = table()
    assert "both --lon and --lat" in refused("test", path, NORMAL, "--lon", "height")
    assert "Pass one" in refused("test", path, NORMAL, "--columns", "height", "--duration", "weight")
    assert "--event needs --duration" in refused("test", path, NORMAL, "--event", "weight")
    for option in ("--entry", "--covariates"):
        assert f"{option} needs --duration" in refused("test", path, NORMAL, option, "weight")
    assert "Pass one" in refused("test", path, NORMAL, "--domain", "box:0,1", "--region", "x.geojson")
    assert "--level" in refused("test", path, NORMAL, "--level", "1.5")


def test_late_entries_and_covariates(table):
    path = table("time,status,start,age\n5,1,0,1\n8,0,2,2\n12,1,0,3\n20,1,4,1\n3,1,0,2\n")
    call = ("test", path, "exponential:scale=10", "--duration", "time", "--event", "status")
    found = run(*call, "--entry", "start", "--covariates", "age", "--seed", "1")
    assert "2 entered late, 1 covariate" in found.output
    assert "--entry" in refused(*call, "--entry", "time")


def test_events_in_other_codes(table):
    path = table("time,status\n5,1\n8,2\n12,2\n20,1\n3,2\n")
    call = ("test", path, "exponential:scale=10", "--duration", "time", "--event")
    assert "--event status=2" in refused(*call, "status")
    assert (
        "4 durations" not in (shown := run(*call, "status=2").stdout)
        and "5 durations, 40 % censored" in shown
    )
    assert "is '7' nowhere" in refused(*call, "status=7")
    words = table("time,status\n5,alive\n8,dead\n12,dead\n20,alive\n", "words.csv")
    call = ("test", words, "exponential:scale=10", "--duration", "time", "--event")
    assert "4 durations, 50 % censored" in run(*call, "status=dead").stdout
    assert "Did you mean 'dead'?" in refused(*call, "status=deda")
    assert "holds text" in refused(*call, "status")


# --- strangers' files --------------------------------------------------------------------------------


def test_names_from_files_do_not_reach_the_terminal_as_they_are(table):
    evil = "a\x1b[31m\u202eb"
    path = table(f"{evil},b\n" + "\n".join(f"{a},{b}" for a, b in ROWS))
    said = refused("test", path, NORMAL, "--columns", "c")
    assert "\x1b" not in said and "\u202e" not in said and "a\\x1b[31m\\u202eb" in said
    for options in ((), ("--json",)):
        shown = run("test", path, NORMAL, *options).stdout
        assert "\x1b" not in shown and "\u202e" not in shown
    assert "\x1b" not in refused("test", path, "norm\x1b[31mal:mean=0")


def test_a_message_quotes_little_of_a_file(table):
    secret = "s" * 5000
    assert len(refused("test", table(f"a,b\n1,{secret}\n2,3\n"), NORMAL)) < 400
    assert len(refused("test", table(f"{secret},b\n1,2\n2,3\n"), NORMAL, "--columns", "q")) < 400


def test_nothing_is_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    array = np.array([Bomb(), Bomb()], dtype=object)
    np.save(tmp_path / "data.npy", array, allow_pickle=True)
    assert "not unpickled" in refused("test", tmp_path / "data.npy", NORMAL)
    assert not (tmp_path / "exploded").exists()


def test_an_array_that_says_it_is_larger_than_its_file(tmp_path):
    from numpy.lib import format as npy

    for count, what in ((1000, "more numbers than there are bytes"), (1 << 40, "more than the")):
        with open(tmp_path / "data.npy", "wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": (count, 2)}
            npy.write_array_header_1_0(file, header)
        assert what in refused("test", tmp_path / "data.npy", NORMAL)


def test_json_that_is_too_deep_or_repeats_names(table):
    assert "nested too deeply" in refused("test", table("[" * 200_000, "deep.json"), NORMAL)
    assert "no columns of equal length" in refused("test", table('{"a": {"$ref": "#"}}', "ref.json"), NORMAL)
    assert "twice" in refused("test", table('{"a": [1, 2], "a": [3, 4]}', "twice.json"), NORMAL)
    assert "no valid JSON" in refused("test", table(f"[[{'9' * 6000}, 1], [1, 2]]", "long.json"), NORMAL)


def test_a_model_string_is_not_evaluated(table, tmp_path):
    path = table()
    for text in ("normal:mean=__import__('os')", "normal:mean=(1,2)", "normal:mean=1+1", "os.system:x=1"):
        assert "in 'normal" in (said := refused("test", path, text)) or "no name of a model" in said


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.text("normal:=,;[]0.1e-", max_size=40))
def test_any_string_is_understood_or_refused(text):
    try:
        found = parse(text)
    except gs.InputError as error:
        assert len(str(error)) < 500
    else:
        assert found.name and found.name in text


# --- models and domains ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "what"),
    [
        ("nromal:mean=0", "Did you mean 'normal'?"),
        ("normal:maen=0", "has no parameter 'maen'. Did you mean 'mean'?"),
        ("normal:mean=0,0,mean=1", "gives mean twice"),
        ("normal:mean=[0,0", "brackets"),
        ("normal:mean=0,0;cov=1,0;0", "different lengths"),
        ("normal:mean=", "nothing in"),
        ("normal:mean=a", "must"),
        ("student_t:loc=0,0", "needs df"),
        ("dirichlet:alpha=-1,1,1", "positive"),
        ("normal:mean=0,0,0", "2 columns"),
        ("uniform", "--domain"),
        ("uniform --fit", "no name of a model"),
    ],
)
def test_models_that_are_none(table, model, what):
    assert what in refused("test", table(), model)


def test_what_cannot_be_fitted(table):
    assert "nothing to fit" in refused("test", table(), "uniform", "--fit", "--domain", "box:-2,2")
    assert "needs n_components" in refused("test", table(), "gaussian_mixture", "--fit")
    said = refused("test", table(), "laplace", "--fit", "--domain", "box:-2,2")
    assert "as if the data were not cut off" in said and "normal" in said


@pytest.mark.parametrize(
    ("domain", "what"),
    [
        ("bax:0,1", "Did you mean 'box'?"),
        ("box:0,1,2", "no box"),
        ("box:1,0", "--domain: box:1,0: "),
        ("ball:raduis=2", "Did you mean 'radius'?"),
        ("lattice", "needs levels"),
    ],
)
def test_domains_that_are_none(table, domain, what):
    said = refused("test", table(), "uniform", "--domain", domain)
    assert what in said


def test_regions_that_are_none(table, tmp_path):
    path = table()
    square = {"type": "Polygon", "coordinates": [[[-2, -2], [2, -2], [2, 2], [-2, 2], [-2, -2]]]}
    region = table(json.dumps(square), "square.geojson")
    assert "save the vertices as a CSV file" in refused("test", path, "uniform", "--region", region)
    vertices = table("x,y\n-2,-2\n2,-2\n2,2\n-2,2\n", "square.csv")
    assert run("test", path, "uniform", "--region", vertices).exit_code == 0
    assert "no GeoJSON" in refused("test", path, "uniform", "--region", table("[1]", "list.json"))
    assert "there is no file" in refused("test", path, "uniform", "--region", tmp_path / "none.geojson")
    assert "cannot be read" in refused("test", path, "uniform", "--region", tmp_path / "none.shp")
    shape = table("x", "odd.shp")
    assert "geopandas" in refused("test", path, "uniform", "--region", shape)


def test_a_model_of_ones_own_that_fails(table):
    path = table()
    broken = table("raise RuntimeError('no luck')\n", "broken.py")
    assert (
        "raised RuntimeError: no luck"
        in CliRunner().invoke(cli, ["test", str(path), f"{broken}:model"]).stderr
    )
    fine = table("modle = 3\n", "fine.py")
    assert "Did you mean 'modle'?" in CliRunner().invoke(cli, ["test", str(path), f"{fine}:model"]).stderr
    assert "cannot be read" in refused("test", path, "nowhere.py:model")


def test_commands_and_options_that_are_not_there(table):
    assert "Did you mean 'check'?" in refused("chekc")
    assert "--colums" in refused("test", table(), NORMAL, "--colums", "a")
    assert "Missing argument" in refused("test", table())
    said = refused("check")
    assert said.endswith("For example: goodstein check dataset:skye_lavas dirichlet --fit")
    assert "at least two models" in refused("compare", table(), NORMAL)
    assert "Did you mean 'redwood'?" in refused("test", "dataset:redwod", "uniform")
    assert "Did you mean 'redwood'?" in refused("datasets", "redwod")
