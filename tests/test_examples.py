"""Every example runs from an empty folder, with the data that come with it, and says what it should find."""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
BROUGHT = {
    "survival": "lifelines",
    "spatial": "shapely",
    "sklearn": "sklearn",
    "network": "networkx",
    "examples": "statsmodels",
    "io": "polars",
}
"""The package for which an example asks for an extra."""

FOUND = {
    "aggregated_lavas": [
        r"No evidence against the logistic normal family, p = 0\.[2-9]",
        r"The lavas contradict the Dirichlet family, p = 0\.050",
    ],
    "aggregated_seedlings": [
        r"redwood seedlings +62 ",
        r"young Finnish pines +126 .* 0\.0500\n",
        r"They do not stand at random places \(p = 0\.05",
        r"The Japanese pines show nothing of the kind at any scale \(p = 0\.[3-9]",
    ],
    "choosing_the_auxiliary": [
        r"298 districts, 5 without any pupil of a group left out",
        r"No p-value on rows that had a part in the choice: `data`: 47 of 158 rows",
        r"with probability p = (0\.[1-9]|1)",
    ],
    "conditional_visits": [
        r"1000 people: \d\.\d\d visits on average",
        r"Poisson p = 0\.001, zero-inflated Poisson p = 0\.00\d, negative binomial p = 0\.[01]",
    ],
    "directional_irises": [
        r"contradict uniform \(p = 0\.001\) and von Mises-Fisher \(p = 0\.050\)",
        r"and hold no evidence against Kent",
    ],
    "directional_turtles": [
        r"The headings of turtles are not von Mises distributed \(p = 0\.050\)",
        r"41 bearings of pigeons",
        r"The bearings of pigeons hold no evidence against a von Mises distribution \(p = 0\.[1-9]",
    ],
    "discrete_counts": [
        r"200 counts, deaths by horse kick: mean 0\.61, variance 0\.61, largest 4",
        r"nothing speaks against Poisson counts of deaths by horse kick \(p = 0\.[3-9]",
        r"647 counts, accidents of workers: mean 0\.47, variance 0\.69, largest 5",
        r"the accidents of workers are not Poisson counts with one mean \(p = 0\.00\d\)",
        r"counts of `accidents of workers` vary too much: their variance is 1\.4",
        r"whose rates vary: p = 0\.[1-9]",
    ],
    "discrete_votes": [
        r"\[fail\]  positive probabilities: .* probability zero at 2 of 512 states",
        r"the votes contradict independent votes \(p = 0\.050\)",
        r"the votes contradict an Ising model of all cases \(p = 0\.050\)",
        r"no evidence against an Ising model of divided cases \(p = (0\.[1-9]|1)",
    ],
    "explanations": [
        r"1\. +spread of `column 2` is 1\.",
        r"1\. +hazard after 0\.\d+ is too high",
        r"(9|10|11) of 11 explanations name the defect first",
    ],
    "fit_and_test": [
        r"a normal distribution that were held out do not contradict the normal family, p = 0\.[1-9]",
        r"a mixture of two that were held out contradict the normal family, p = 0\.00",
        r"truncated score matching .* p = ",
    ],
    "fssd_nuclei": [
        r"284 tumours to fit to, 285 to test on",
        r"probability p = 0\.00\d+; for a mixture of 2, one for each diagnosis, it is p = 0\.[2-9]",
    ],
    "graphs_karate": [
        r"34 members, 78 ties, 1 to 17 each",
        r"from the data: .*\b561\b",  # the complete graph, where chains of the second model end
        r"contradicts independent edges \(p = 0\.050\) and is compatible with edges, two-stars and triangles",
    ],
    "large_parquet": [
        r"20000 rows of 10 sensors",
        r"approximation 566 landmarks \(Nyström\)",
        r"contradict the model, p = 0\.00\d\. Whoever watches chunk by chunk, .* after (5|10|15)000 of",
    ],
    "latent_nuclei": [
        r"357 tumours, 8 measurements",
        r"contradict 1 latent factor \(p = 0\.00\d\), they contradict 3 latent factors \(p = 0\.0\d\d\)",
        r"the model with 3 is closer to them than that with 1 \(p = 0\.00",
    ],
    "mcmc_posterior": [
        r"the exact draws may well be from it \(p = 0\.[1-9]",
        r"the draws of independent normals are not from it \(p = 0\.00",
    ],
    "patterns_osteocytes": [
        r"40 bricks of bone, 1 to 15 osteocytes each\nmean 8\.22, variance 7\.87",
        r"pairs less than 16 microns apart: 7; [67]\d if Poisson",
        r"contradicts osteocytes that are scattered independently and evenly \(p = 0\.050\)",
    ],
    "pattern_seedlings": [
        r"redwood: 62 points, Poisson p = 0\.\d+; what fails first is where points are",
        r"cells: 42 points, Poisson p = 0\.\d+; what fails first is how near each other points are",
        r"japanese_pines: .* nothing speaks against chance",
    ],
    "planning_a_sample_size": [r"A simulated expedition that brings \d+ ends with p = "],
    "sampler_in_a_test_suite": [
        r"with the Jacobian once: passed",
        r"with it twice: failed\.\nThe draws are not from posterior of .*: p = .e-0[89] \(false alarms",
        r"1\. location of `log τ`: the score implies a shift",
    ],
    "skye_lavas": [
        r"contradict the Dirichlet family \(p = 0\.050\)",
        r"no evidence against the logistic normal family",
    ],
    "spatial_humberside": [
        r"data +62 observations on Polygon\(102 vertices\)",
        r"homes of the cases are not uniform \(p = 0\.00.* homes of the controls are not uniform \(p = 0\.00",
    ],
    "survival_lung": [
        r"aml \(23 durations, 22 % censored\): the data hold no evidence against a constant hazard",
        r"ovarian \(26 durations, 54 % censored\): .* contradict a hazard that grows linearly",
        r"the data contradict the exponential family \(p = 0\.050",
        r"the data hold no evidence against the Weibull family \(p = 0\.[2-9]",
    ],
    "survival_veteran": [
        r"CoxPHFitter +p = 0\.0[0-4]\d +does not fit",
        r"LogLogisticAFTFitter +p = 0\.[2-9]\d+ +no evidence against it",
        r"Most suspicious in Cox's model: .*karno",
    ],
}
"""What is said with 19 simulated samples, whose smallest p-value is 0.05; numbers may move a little."""


def extras(name):
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    return re.findall(r"goodstein\[(\w+)\]", ast.get_docstring(tree)), tree


def test_every_example_is_here():
    assert sorted(FOUND) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("few_draws")
def test_example_runs_and_says_what_it_found(name, monkeypatch, capsys, tmp_path):
    for extra in extras(name)[0]:
        pytest.importorskip(BROUGHT[extra])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    output = capsys.readouterr().out
    for found in FOUND[name]:
        assert re.search(found, output), found
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_example_says_which_extra_it_needs(name):
    asked, tree = extras(name)
    text = ast.get_docstring(tree)
    assert f"python examples/{name}.py" in text
    assert ("needs no extra" in text) == (not asked)
    roots = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    roots |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    used = {root.split(".")[0] for root in roots} - {
        *sys.stdlib_module_names,
        "goodstein",
        "numpy",
        "scipy",
        "pandas",
    }
    assert used == {BROUGHT[extra] for extra in asked} - {"shapely"}  # which is used inside the library
