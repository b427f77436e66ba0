"""Statistics without matrices are those of the matrices, and what was drawn once serves all samples."""

from dataclasses import replace

import numpy as np
import pytest

import goodstein as gs
from cases import OPERATORS
from goodstein.engine.reduce import quadratic_forms
from goodstein.nulls.montecarlo import MonteCarlo
from goodstein.pipeline.compose import compose, draw_seeds
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
    "half-line": gs.families.Gamma(2.0),
    "torus": gs.families.Uniform(gs.Torus(2)),
    "counts": gs.families.Poisson([2.0, 5.0]),
    "spins": gs.families.Ising(np.diag(np.full(3, 0.4), 1) + np.diag(np.full(3, 0.4), -1)),
    "table": gs.families.CategoricalTable(np.arange(1.0, 28.0).reshape(3, 3, 3)),
    "mixture": gs.families.GaussianMixture([0.5, 0.5], [[-6.0, 0.0], [6.0, 0.0]], np.eye(2)),
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
    task(range(1))
    again = task(range(1, 2))
    fresh = MonteCarlo(9).task(collection(name, 30), 3)(range(1, 2))
    assert again == pytest.approx(fresh, rel=1e-9, abs=1e-9 * np.abs(fresh).max())


def one_by_one(observed: Collection, samples) -> np.ndarray:
    return np.array([observed.with_data(sample).statistics() for sample in samples])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [30, 300])
def test_samples_together_give_what_they_give_one_by_one(name, n):
    """Every member of the default collection on every kind of domain; what is left is rounding."""
    observed = collection(name, n)
    samples = [observed.simulate(np.random.default_rng([2, k])) for k in range(3)]
    expected = one_by_one(observed, samples)
    scale = np.sqrt((expected**2).mean(axis=0))
    assert (np.abs(observed.statistics_of(samples) - expected) <= 1e-9 * scale).all()
    assert observed.statistics_of(samples[1:2])[0] == pytest.approx(
        expected[1], rel=1e-6, abs=1e-9 * scale.max()
    )


@pytest.mark.parametrize("case", OPERATORS, ids=lambda case: case.name)
@pytest.mark.parametrize("scale", [None, 0.5])
def test_every_operator_sees_samples_together_as_it_sees_one(case, scale):
    """Also where it says nothing of it."""
    kernel = None if scale is None else gs.Gaussian(gs.kernels.Median(scale))
    try:
        problem = compose(case.data(), case.model, operator=case.operator, kernel=kernel, seeds=(1, 2, 3))
        assert problem.form.n
    except gs.InputError:
        pytest.skip("takes no such kernel")
    observed = Collection(((problem, (problem.kernel,)),))
    others = [compose(case.data(seed=k), case.model, seeds=(1, 2, 3), operator=case.operator) for k in (1, 2)]
    samples = [problem.data, *(other.data for other in others)]
    expected = one_by_one(observed, samples)
    scale = np.abs(expected).max()
    assert observed.statistics_of(samples) == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("name", ["space", "simplex", "box", "sphere", "spins", "table", "durations"])
def test_the_default_collection_looks_at_samples_together(name, monkeypatch):
    """Else the test above would compare a loop with itself."""
    observed = collection(name, 30)
    samples = [observed.simulate(np.random.default_rng(k)) for k in range(2)]
    monkeypatch.setattr(Collection, "with_data", None)
    assert np.isfinite(observed.statistics_of(samples)).all()


def test_features_of_a_subclass_are_not_taken_for_those_of_its_base():
    class Shifted(gs.Langevin):
        def features(self, model, domain, data):
            return super().features(model, domain, data - data.mean(axis=0))

    assert gs.Langevin().pointwise
    assert not Shifted().pointwise
    assert Shifted().stacked(None, None, np.zeros((4, 1)), 2) is None


def test_a_sample_in_which_nothing_is_seen_is_told_of_by_its_number():
    """Where samples are looked at together, the one that is at fault is named all the same."""
    model = gs.Model(score=lambda x: -x, sample=lambda n, rng: np.full((n, 1), rng.uniform(1.0, 2.0)))
    problem = compose(np.arange(8.0)[:, None], model, kernel=gs.Gaussian(), seeds=(1, 2, 3))
    task = MonteCarlo(9).task(Collection(((problem, (problem.kernel,)),)), 3)
    found = task(range(4))
    assert np.isfinite(found).all(), "equal points take the bandwidth of the data"
    weightless = compose(np.arange(8.0)[:, None] / 8, gs.families.Uniform(gs.Box(0, 1)), seeds=(1, 2, 3))
    blind = gs.Standardised(
        gs.Auxiliary(lambda x: np.where(x[:, 0] < 2, 0.0, 1.0), lambda x: np.zeros_like(x))
    )
    groups = (((replace(weightless, operator=blind)), (gs.Gaussian(1.0),)),)
    with pytest.raises(gs.InputError, match="Simulated sample 5"):
        MonteCarlo(9).task(Collection(groups, (gs.Gaussian(1.0),)), 3)(range(5, 7))


def test_many_forms_share_columns_that_are_fewer_than_the_rows_of_a_strip():
    """Rows whose columns all lie beyond those that are held add nothing to the draws."""
    model = MODELS["sphere"]
    x = model.sample(900, rng=1)
    found = gs.aggregated_test(x, model, null=gs.WildBootstrap(99), workers=1, rng=1)
    for member in found.members[:5]:  # of the second-order operator, with a kernel each
        h = gs.stein_matrix(x, model, operator=member.operator, kernel=member.kernel)
        np.fill_diagonal(h, 0.0)
        assert member.statistic == pytest.approx(h.sum() / (900 * 899), rel=1e-6)
        # Var Σ_{i≠j} w_i w_j H_ij = 2 ΣH_ij² for random signs w; 99 draws know it to a third.
        assert member.spread == pytest.approx(np.sqrt(2 * (h**2).sum()) / (900 * 899), rel=0.35)


@pytest.mark.parametrize("operator", [gs.Martingale(None), gs.Martingale("hazard"), gs.Timing(2)], ids=repr)
@pytest.mark.parametrize("kind", ["censored", "late", "with covariates"])
def test_samples_of_durations_together_give_what_they_give_one_by_one(operator, kind):
    """Those with late entries or covariates are looked at by themselves."""
    rng = np.random.default_rng(3)
    time, end, entry = rng.weibull(1.5, 40), rng.exponential(2.0, 40), rng.uniform(0.0, 0.05, 40)
    kept = np.minimum(time, end) > entry
    time, end, entry = time[kept], end[kept], entry[kept]
    more = {"late": {"entry": entry}, "with covariates": {"covariates": rng.normal(size=(len(time), 1))}}
    data = gs.Censored(np.minimum(time, end), time <= end, **more.get(kind, {}))
    problem = compose(data, MODELS["durations"], operator=operator, seeds=(1, 2, 3))
    observed = Collection(((problem, (problem.kernel,)),))
    samples = [observed.simulate(np.random.default_rng([2, k])) for k in range(3)]
    expected = one_by_one(observed, samples)
    found = observed.statistics_of(samples)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
    assert MonteCarlo(9).together(data) == (10 if kind == "censored" else 1)
