"""What the documents show runs, and says what they say."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import goodstein as gs

ROOT = Path(__file__).parents[1]
NUMBER = r"-?\d+\.?\d*(?:e-?\d+)?"


def blocks_of(page: str) -> list[tuple[str, str]]:
    """The Python of a page, and what each block is said to print; empty if nothing is said."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```(?:\n```text\n(.*?)```)?", text, flags=re.DOTALL)


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
    assert len(blocks) == 2
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


def test_the_operator_of_the_guide_is_valid(own_operator):
    report = gs.audit(own_operator["model"], operator=own_operator["along"], rng=1)
    assert report.valid
    assert any("simulation" in check.name and check.status == "pass" for check in report.checks)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("page", ["README.md", "docs/which_test.md"])
def test_pages_run_with_a_few_draws(page):
    """What they print is compared by `make test-all`, which plans a sample, too."""
    names: dict[str, object] = {}
    for code, said in blocks_of(page):
        runs = said or "import goodstein" in code or page != "README.md"
        if runs and "sample_size(" not in code:
            exec(compile(code, page, "exec"), names)
    assert 0 < names["result"].pvalue <= 1


@pytest.mark.slow
def test_the_readme_prints_what_it_says(capsys):
    first, *others = blocks_of("README.md")
    (code, said), *more = [block for block in others if block[1]]
    assert not more
    names: dict[str, object] = {}
    exec(compile(first[0], "README.md", "exec"), names)
    assert names["result"].pvalue <= 0.01  # the lavas do not follow a Dirichlet distribution
    capsys.readouterr()
    exec(compile(code, "README.md", "exec"), names)
    assert_prints(capsys.readouterr().out, said)


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
    plan, study = names["plan"], names["study"]
    assert plan.bound <= plan.n
    assert not any(study.size_mark(cell, test) for cell in study.cells for test in study.tests)


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


PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
