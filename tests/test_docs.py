"""What the documents show runs, and says what they say."""

from __future__ import annotations

import re
import sys
import types
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import goodstein as gs

ROOT = Path(__file__).parents[1]
NUMBER = r"-?\d+\.?\d*(?:e-?\d+)?"


DOCS = ROOT / "docs"
MADE = {"_build", "brought", "generated"}
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if not MADE & set(page.relative_to(DOCS).parts)]


def blocks_of(page: str) -> list[tuple[str, str]]:
    """The Python of a page, and what each block is said to print; empty if nothing is said."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", text, flags=re.DOTALL)


def cells_of(page: Path) -> list[str]:
    """The code cells of a page that the documentation executes, without their options."""
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [re.sub(r"^:.*\n", "", cell) for cell in cells]


def assert_prints(printed: str, said: str) -> None:
    """The same words in the same order, and the same numbers but for rounding."""
    assert re.sub(NUMBER, "#", printed).split() == re.sub(NUMBER, "#", said).split()
    found, expected = ([float(x) for x in re.findall(NUMBER, text)] for text in (printed, said))
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.01)


@pytest.fixture(scope="module")
def own_operator():
    """The names that docs/your_own_operator.md defines."""
    text = (ROOT / "docs" / "your_own_operator.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    lines = [line for line in blocks[0].splitlines() if line.strip()]
    assert len(lines) <= 32, "the worked example is meant to be short"
    module = types.ModuleType("your_own_operator")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)  # dataclasses look up their module
        for block in blocks:
            exec(compile(block, "your_own_operator.md", "exec"), vars(module))
        yield vars(module)


def test_the_operator_of_the_guide_finds_what_the_default_test_misses(own_operator):
    assert own_operator["sliced"].pvalue <= 0.01 < 0.05 < own_operator["everywhere"].pvalue


def test_the_operator_of_the_guide_is_the_sum_of_tests_on_the_line(own_operator):
    rng = np.random.default_rng(3)
    x, directions = rng.normal(size=(25, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    model, kernel = gs.families.Normal(np.zeros(3)), gs.IMQ(1.2)
    operator = own_operator["Sliced"](tuple(map(tuple, directions)))
    # Along a unit vector a standard normal vector is standard normal.
    expected = sum(gs.stein_matrix(x @ r, gs.families.Normal(), kernel=kernel) for r in directions)
    np.testing.assert_allclose(
        gs.stein_matrix(x, model, operator=operator, kernel=kernel), expected, atol=1e-12
    )


def test_the_gradient_free_operator_of_the_guide_is_that_of_the_definition(own_operator):
    """E_q[T f] = 0 by quadrature, and Langevin's operator where the proposal is the model."""
    model = gs.as_model(gs.Model(logpdf=lambda x: -(abs(x[:, 0]) ** 3) / 2, domain=gs.Euclidean(1)))
    x = np.linspace(-6, 6, 20_001)[:, None]
    features = own_operator["GradientFree"](gs.families.Normal(0.1, 0.5)).features(model, model.domain, x)
    values = features.value[:, 0] * np.sin(x[:, 0] + 1) + features.weight * np.cos(x[:, 0] + 1)
    q = np.exp(model.logpdf(x))
    assert abs(q @ values) < 1e-9 * (q @ abs(values))
    normal = gs.families.Normal([0.0, 1.0])
    x = normal.sample(20, rng=1)
    same = gs.stein_matrix(x, normal, operator=own_operator["GradientFree"](normal), kernel=gs.IMQ(1.0))
    np.testing.assert_allclose(same, gs.stein_matrix(x, normal, kernel=gs.IMQ(1.0)), rtol=1e-10, atol=1e-12)


def test_the_operator_of_the_guide_is_valid(own_operator):
    report = gs.audit(own_operator["model"], operator=own_operator["along"], rng=1)
    assert report.valid
    assert any("simulation" in check.name and check.status == "pass" for check in report.checks)


def test_the_readme_prints_what_it_says(capsys):
    (code, said), *more = blocks_of("README.md")
    assert not more and said
    exec(compile(code, "README.md", "exec"), {})
    assert_prints(capsys.readouterr().out, said)


@pytest.mark.usefixtures("few_draws")
def test_the_guide_to_the_tests_runs_with_a_few_draws():
    """What it prints is compared by `make test-all`."""
    names: dict[str, object] = {}
    for code, _ in blocks_of("docs/which_test.md"):
        exec(compile(code, "which_test.md", "exec"), names)
    assert isinstance(names["result"], gs.TestResult)


@pytest.mark.slow
def test_the_guide_to_the_tests_runs_and_finds_what_it_says(capsys):
    names: dict[str, object] = {}
    for code, said in blocks_of("docs/which_test.md"):
        exec(compile(code, "which_test.md", "exec"), names)
        printed = capsys.readouterr().out
        if said:
            assert_prints(printed, said)
    one = gs.ksd_test(names["x"], names["model"], rng=1)
    assert names["result"].pvalue <= 0.01 < 0.05 < one.pvalue
    assert names["exact"].pvalue <= 0.01
    assert names["chosen"].pvalue <= 0.01
    assert "training rows" in str(names["refusal"])


SAID = {
    "how_large_a_sample": [
        "plan.bound <= plan.n",
        "not any(study.size_mark(cell, test) for cell in study.cells for test in study.tests)",
    ],
    "is_my_test_valid": ["sum(rejected) == 20", "'Fitted' in type(known.null).__name__", "len(said) == 1"],
    "migrating": ["several.pvalue <= 0.01"],
    "scenarios/compositions": ["result.pvalue <= 0.05 < 0.1 < better.pvalue"],
    "scenarios/counts": [
        "result.pvalue <= 0.05",
        "gs.ksd_test(accidents, gs.families.NegativeBinomial.fit(accidents), rng=1).pvalue > 0.1",
        "gs.ksd_test(votes, multinomial, rng=1).pvalue > 0.05",
    ],
    "scenarios/directions": ["result.pvalue <= 0.05", "round_.pvalue <= 0.05"],
    "scenarios/durations": [
        "result.pvalue <= 0.05",
        "gs.ksd_test(lung, weibull, rng=1).pvalue > 0.1",
        "found.pvalue <= 0.05",  # the hazard that grows linearly, the last of two
    ],
    "scenarios/euclidean": [
        "result.pvalue <= 0.01",
        "gs.ksd_test(x, gs.families.GaussianMixture.fit(x, 2), rng=1).pvalue <= 0.005",
    ],
    "scenarios/large": ["result.pvalue <= 0.01", "close.pvalue <= 0.05", "robust.pvalue > 0.5"],
    "scenarios/latent": ["result.pvalue <= 0.05"],
    "scenarios/networks": ["result.pvalue <= 0.05", "club.sum() == 2 * 78"],
    "scenarios/patterns": ["result.pvalue <= 0.05", "found.pvalue > 0.1"],  # of the bricks; of the last map
    "scenarios/posterior": ["wrong.pvalue <= 0.05", "same.pvalue > 0.05", "result.pvalue <= 0.05"],
    "scenarios/regions": ["result.pvalue <= 0.01"],
    "scenarios/regression": ["result.pvalue <= 0.01", "right.pvalue > 0.1", "pvalue > 0.05"],
    "small_p_value": ["wrong.pvalue <= 0.05", "share > 0.01", "robust > 0.5", "enough <= 0.01"],
    "start": ["result.rejected", "not better.rejected"],
    "the_papers_numbers": ["rates['geometric mean'] > 0.2", "rates['product of parts'] <= 0.15"],
}
"""What the words of each executed page say, in its names; with 19 simulated samples p is .05 or more."""

LONG = {
    "how_large_a_sample",
    *(f"scenarios/{name}" for name in ("patterns", "large", "euclidean", "posterior")),
}
"""Pages that take long, which `make docs` runs as well."""


def test_every_executed_page_is_here():
    executed = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES if cells_of(page)}
    assert executed == set(SAID)


def run(page: str) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names: dict[str, object] = {}
    for cell in cells_of(DOCS / f"{page}.md"):
        exec(compile(cell, page, "exec"), names)
    pyplot.close("all")
    for words in SAID[page]:
        assert eval(words, names), words


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("page", sorted(set(SAID) - LONG))
def test_executed_pages_find_what_they_say(page):
    run(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(LONG))
def test_long_pages_find_what_they_say(page):
    run(page)


def test_every_public_name_stands_in_the_reference():
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    sections = re.findall(
        r"currentmodule:: (\S+)\n\n\.\. autosummary::\n.*?\n\n((?:   \w+\n)+)", text, flags=re.DOTALL
    )
    listed = {f"{module}.{name}" for module, names in sections for name in names.split()}
    rooms = {"auxiliary", "datasets", "estimate", "families", "graphs", "patterns", "plot", "testing"}
    public = {f"goodstein.{name}" for name in set(gs.__all__) - rooms - {"__version__"}}
    assert public <= listed
    for room in sorted(rooms - {"datasets"}):
        names = {name for name in getattr(gs, room).__all__ if not hasattr(gs, name)}
        assert {f"goodstein.{room}.{name}" for name in names} <= listed
    for name in listed:
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last), name


def test_the_fits_of_the_guide_to_estimation(capsys):
    names = {}
    for code, said in blocks_of("docs/estimation.md"):
        exec(compile(code, "estimation.md", "exec"), names)
        assert_prints(capsys.readouterr().out, said)
    # The last fit is of a law that is known.
    for name, value in {"a": 1.0, "b": 0.5}.items():
        assert abs(names["fit"].parameters[name] - value) < 3 * names["fit"].standard_errors[name]


def test_the_page_of_the_front_door(capsys):
    ((code, said),) = blocks_of("docs/check.md")
    exec(compile(code, "check.md", "exec"), {})
    assert_prints(capsys.readouterr().out, said)


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_links_within_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
