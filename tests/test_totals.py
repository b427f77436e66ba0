"""Statistics without matrices are those of the matrices, and what was drawn once serves all samples."""

import numpy as np
import pytest

import goodstein as gs
from goodstein.engine.reduce import quadratic_forms
from goodstein.nulls.montecarlo import MonteCarlo
from goodstein.pipeline.compose import draw_seeds
from goodstein.problems.problem import Collection
from goodstein.tests_of_fit.aggregated import _groups

MODELS = {
    "line": gs.families.Normal(0.0, 1.0),
    "space": gs.families.Normal(np.zeros(5)),
    "simplex": gs.families.Dirichlet([2.0, 1.0, 0.5]),
    "box": gs.families.Uniform(gs.Box(0, [1, 1])),
    "sphere": gs.families.VonMisesFisher([0, 0, 1.0], 2.0),
    "circle": gs.families.VonMises(0.0, 2.0),
    "lattice": gs.families.BetaBinomial(10, 2.0, 3.0),
    "durations": gs.families.Weibull(1.5, 1.0),
}


def collection(name: str, n: int) -> Collection:
    model, rng = MODELS[name], np.random.default_rng(1)
    data = model.sample(n, rng=rng)
    if name == "durations":
        time, end = rng.weibull(1.5, n), rng.exponential(2.0, n)
        data = gs.Censored(np.minimum(time, end), time <= end)
    groups, _ = _groups(data, model, None, None, None, draw_seeds(rng), simulated=True, shared=True)
    return Collection(tuple(groups))


@pytest.mark.parametrize("name", MODELS)
def test_statistics_alone_are_those_of_the_matrices(name):
    """One strip and several of them; what is left is single precision."""
    for n in (40, 300):
        both = collection(name, n)
        expected = np.array([quadratic_forms(form, None, workers=1)[0] for form in both.forms])
        matrices = [form.matrix() for form in both.forms]
        off = [np.sqrt(2.0 * (np.sum(h**2) - np.sum(h.diagonal() ** 2))) / (n * (n - 1)) for h in matrices]
        assert (np.abs(both.statistics() - expected) <= 1e-5 * np.array(off)).all()


@pytest.mark.parametrize("name", ["line", "box", "simplex", "lattice"])
def test_a_simulated_sample_gives_what_it_gives_alone(name):
    """What is kept between samples changes nothing: neither draws nor factors nor bandwidths."""
    observed = collection(name, 30)
    task = MonteCarlo(9).task(observed, 3)
    task(0)
    again = task(1)
    fresh = MonteCarlo(9).task(collection(name, 30), 3)(1)
    assert again == pytest.approx(fresh, rel=1e-9, abs=1e-9 * np.abs(fresh).max())
