"""Everything that reports something speaks alike: as text, as HTML for a notebook, and as JSON."""

from __future__ import annotations

import html
import json
import re

import jax.numpy as jnp
import numpy as np
import pytest

import goodstein as gs
from goodstein.estimate import AnyDirichlet, ScoreMatching, TruncatedScoreMatching
from goodstein.text import Table, plain

X = gs.families.Normal(0, 2).sample(120, rng=1)
MODEL, OTHER = gs.families.Normal(0, 1), gs.families.Normal(0.5, 1)
COMPOSITIONS = gs.families.Dirichlet([1.5, 2.0, 3.0]).sample(80, rng=5)


def mean_test(data, model, *, rng):
    return 0.01 if data.mean() > 0.4 else 0.5


def study():
    cells = [gs.Cell(MODEL, OTHER, 20, name="a < b"), gs.Cell(MODEL, None, 10, name="size")]
    return gs.power_study(cells, {"mean": mean_test}, trials=5, bound_draws=(400, 100))


REPORTS = {
    "audit": lambda: gs.audit(gs.families.Dirichlet([0.5, 0.5, 0.5]), operator=gs.Langevin(), rng=1),
    "selection": lambda: gs.select(X, MODEL, rng=1),
    "fit": lambda: TruncatedScoreMatching().fit(COMPOSITIONS, AnyDirichlet()),
    "fit of a score": lambda: ScoreMatching().fit(
        X, gs.estimate.Parametric(score=lambda x, t: -jnp.tanh(x - t), start=[0.0])
    ),
    "bootstrap": lambda: TruncatedScoreMatching().fit(COMPOSITIONS, AnyDirichlet()).bootstrap(5, rng=1),
    "bound": lambda: gs.neyman_pearson_power(MODEL, OTHER, 5, n_null=400, n_alternative=100, rng=1),
    "sample size": lambda: gs.sample_size(MODEL, OTHER, mean_test, power=0.5, trials=60, rng=1),
    "study": study,
}


@pytest.fixture(scope="module", params=REPORTS)
def report(request):
    return REPORTS[request.param]()


def test_json_is_the_dictionary_and_valid(report):
    found = json.loads(report.to_json(indent=1), parse_constant=lambda name: pytest.fail(name))
    assert found == report.to_dict()
    assert report.to_json(indent=1).count("\n") > 3


def test_the_page_holds_what_the_text_holds(report):
    page = report._repr_html_()
    assert page.count("<table>") == page.count("</table>") >= 1
    # Nothing that was not escaped.
    assert not re.search(r"<(?!/?(div|strong|table|thead|tbody|tr|th|td|p)\b)", page)
    words = html.unescape(re.sub(r"<[^>]+>", " ", page)).split()
    assert set(str(report).split()) <= set(words)


def test_no_line_of_the_text_ends_in_blanks(report):
    lines = str(report).splitlines()
    assert lines[0].strip() and all(line == line.rstrip() for line in lines)


def test_the_dictionaries_hold_the_numbers():
    bound = REPORTS["bound"]()
    assert bound.to_dict() == {
        "power": bound.power,
        "interval": list(bound.interval),
        "level": 0.05,
        "n": 5,
        "threshold": bound.threshold,
        "draws": [400, 100],
        "model": "Normal(mean=[0], cov=[[1]])",
        "alternative": "Normal(mean=[0.5], cov=[[1]])",
    }
    size = REPORTS["sample size"]()
    record = size.to_dict()
    assert record["n"] == size.n and record["test"] == "mean_test"
    assert [point["power"] for point in record["curve"]] == [rate.value for _, rate in size.curve]
    fit = REPORTS["fit"]()
    record = fit.to_dict()
    assert record["parameters"] == {"alpha": fit.parameters["alpha"].tolist()}
    assert record["standard_errors"] == {"alpha": fit.standard_errors["alpha"].tolist()}
    assert record["family"] == "AnyDirichlet()" and record["converged"] is True
    assert not any(name.startswith("_") for name in record)


def test_plain_values():
    assert plain({"a": np.array([1.0, np.nan, np.inf]), 2: (np.int64(3), True)}) == {
        "a": [1.0, None, None],
        "2": [3, True],
    }
    assert plain(MODEL) == repr(MODEL)


def test_words_stand_to_the_left_and_numbers_to_the_right():
    table = Table(["name", "n", "kind"], [["1", "10", "abc"], ["22", "5", "d"]])
    assert table.text() == ["  name   n  kind", "  1     10  abc", "  22     5  d"]
    assert Table((), [("a", "1"), ("long", "22")]).text() == ["  a     1", "  long  22"]
