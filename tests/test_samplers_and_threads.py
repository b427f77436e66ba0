"""What is expected of a user's model: draws by the generator it is given, and nothing kept between calls."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import scipy.special
import scipy.stats

import goodstein as gs
from goodstein.errors import CalibrationWarning, InputError, SamplingError
from goodstein.models.repeatable import repeatable

X = np.random.default_rng(0).normal(size=(40, 2))
POOL = np.random.default_rng(5).normal(size=(5000, 2))
NAME = "repeatable draws"

FIXED = {
    "random_state": lambda n, rng: scipy.stats.norm.rvs(size=(n, 2), random_state=0),
    "a pool in order": lambda n, rng: POOL[:n],
    "a seed by n": lambda n, rng: np.random.default_rng(n).normal(size=(n, 2)),
}
GOOD = {
    "the generator": lambda n, rng: rng.normal(size=(n, 2)),
    "a pool by the generator": lambda n, rng: POOL[rng.integers(len(POOL), size=n)],
}


def model(sample):
    return gs.Model(score=lambda x: -x, domain=gs.Euclidean(2), sample=sample)


def study(m):
    return gs.power_study(
        [gs.Cell(m, m, 20, name="c")],
        {"one": lambda x, m, *, rng: 1.0},
        trials=4,
        bound=False,
    )


DOORS = {
    "MonteCarlo": lambda m: gs.ksd_test(X, m, null=gs.MonteCarlo(19), rng=1),
    "ParametricBootstrap": lambda m: gs.ksd_test(X, m, null=gs.ParametricBootstrap(lambda x: m, 19), rng=1),
    "auto": lambda m: gs.ksd_test(X, m, null="auto", rng=1),
    "check": lambda m: gs.check(X, m, rng=1),
    "aggregated": lambda m: gs.aggregated_test(X, m, null=gs.MonteCarlo(19), rng=1),
    "aggregated by default": lambda m: gs.aggregated_test(X, m, rng=1),
    "mmd": lambda m: gs.mmd_test(X, m, rng=1),
    "m3d": lambda m: gs.m3d_test(X, m, n_resamples=19, rng=1),
    "audit": lambda m: gs.audit(m, rng=1),
    "audit of data": lambda m: gs.audit(m, data=X, rng=1),
    "explain": lambda m: gs.ksd_test(X, m, rng=1).explain(),
    "drawn moments": lambda m: gs.ksd_test(X, m, operator=gs.DrawnMoments(1), rng=1),
    "mean embedding": lambda m: gs.ksd_test(X, m, operator=gs.MeanEmbedding(), rng=1),
    "relative": lambda m: gs.relative_ksd_test(
        X, m, gs.families.Normal([1.0, 0.0]), operator=gs.MeanEmbedding()
    ),
    "truncated": lambda m: gs.families.Truncated(m, gs.Box([-9, -9], [9, 9])).sample(5, rng=1),
    "power_study": study,
}


@pytest.mark.parametrize("kind", FIXED)
@pytest.mark.parametrize("door", DOORS)
def test_a_sampler_that_ignores_its_generator_is_refused_at_every_door(door, kind):
    with pytest.raises(SamplingError) as caught:
        DOORS[door](model(FIXED[kind]))
    assert caught.value.argument == "rng"


def test_it_is_not_in_the_way_of_a_test_without_draws():
    for kind in FIXED:
        result = gs.ksd_test(X, model(FIXED[kind]), rng=1)
        assert result.pvalue == gs.ksd_test(X, model(GOOD["the generator"]), rng=1).pvalue


def checks_of(result):
    return [check.name for check in getattr(result, "audit", result).checks]


@pytest.mark.parametrize("door", ["MonteCarlo", "ParametricBootstrap", "aggregated", "mmd", "m3d", "audit"])
def test_random_numbers_of_its_own_are_said(door):
    own = np.random.default_rng()  # as np.random's own functions, which no test may touch
    with pytest.warns(CalibrationWarning) if door != "audit" else pytest.MonkeyPatch.context():
        found = DOORS[door](model(lambda n, rng: own.normal(size=(n, 2))))
    assert checks_of(found).count(NAME) == 1
    for kind in GOOD:
        assert NAME not in checks_of(DOORS[door](model(GOOD[kind])))


def test_a_study_says_so():
    own = np.random.default_rng()
    with pytest.warns(CalibrationWarning):
        study(model(lambda n, rng: own.normal(size=(n, 2))))
    with pytest.raises(SamplingError):
        gs.Cell(gs.families.Normal([0.0, 0.0]), FIXED["a pool in order"], 20)


def test_draws_of_good_samplers_are_those_of_the_generator_alone():
    """Whether they are asked first or not, and by which copy of the model."""
    sample = GOOD["the generator"]
    first, again = model(sample), model(sample)
    again.sample(3, rng=7)
    np.testing.assert_array_equal(first.sample(50, rng=1), again.sample(50, rng=1))
    np.testing.assert_array_equal(first.sample(50, rng=1), sample(50, np.random.default_rng(1)))


LAWS = {
    "rare events": lambda n, rng: (rng.random((n, 1)) < 0.001).astype(float),
    "seldom events": lambda n, rng: (rng.random((n, 1)) < 0.06).astype(float),
    "coins": lambda n, rng: rng.integers(0, 2, (n, 1)).astype(float),
    "a point": lambda n, rng: np.full((n, 1), 3.0),
    "small counts": lambda n, rng: rng.poisson(0.05, (n, 1)).astype(float),
    "empty patterns": lambda n, rng: [rng.random((rng.poisson(0.01), 2)) for _ in range(n)],
}


@pytest.mark.parametrize("law", LAWS)
def test_laws_of_few_values_are_not_refused(law):
    """Each 50 times with other random numbers behind the seeds, of which none may be refused."""
    for k in range(50):
        other = lambda n, rng, k=k: LAWS[law](n, np.random.default_rng([k, *rng.integers(0, 2**31, 2)]))  # noqa: E731
        assert repeatable(other, law)


@pytest.mark.parametrize("chance", [0.5, 1 / 16, 0.03, 1e-3])
def test_the_bound_on_false_refusals(chance):
    """Of 16 events that are not all equal the likeliest outcome is one alone, p(1 − p)¹⁵ or q(1 − q)¹⁵."""
    counts = np.arange(1, 16)
    likeliest = (chance**counts * (1 - chance) ** (16 - counts)).max()
    assert likeliest <= (15 / 16) ** 15 / 16 + 1e-12 < 0.024


def conditional(sample):
    return gs.ConditionalModel(score=lambda y, x: x - y, sample=sample)


CONDITIONAL = {
    "seed": (lambda x, rng: x + np.random.default_rng(0).normal(size=len(x)), SamplingError),
    "generator": (lambda x, rng: x + rng.normal(size=len(x)), None),
    # At all x but a few y is known for certain.
    "nearly certain": (
        lambda x, rng: (rng.random(len(x)) < scipy.special.expit(2000 * x)).astype(float),
        None,
    ),
    "certain": (lambda x, rng: np.sign(x), None),
}


@pytest.mark.parametrize("kind", CONDITIONAL)
def test_samplers_given_covariates(kind):
    sample, error = CONDITIONAL[kind]
    x = np.linspace(-2, 2, 31)
    if error is None:
        assert len(conditional(sample).sample(x, rng=1)) == 31
        return
    data = gs.Paired(x, x + np.random.default_rng(1).normal(size=31))
    for call in (
        lambda m: m.sample(x, rng=1),
        lambda m: gs.ksd_test(data, m, null=gs.MonteCarlo(19), rng=1),
        lambda m: gs.check(data, m, rng=1),
    ):
        with pytest.raises(error) as caught:
            call(conditional(sample))
        assert caught.value.argument == "rng"


@pytest.mark.parametrize("fixed", [True, False])
def test_draws_of_latent_variables(fixed):
    def posterior(x, draws, rng):
        rng = np.random.default_rng(0) if fixed else rng
        return rng.normal(x[:, None] / 2, np.sqrt(0.5), (len(x), draws, 1))

    latent = gs.LatentModel(lambda x, z: z - x, posterior, gs.Euclidean(1))
    x = X[:, :1]
    if not fixed:
        assert gs.ksd_test(x, latent, operator=gs.Latent(draws=5), rng=1).pvalue > 0
        return
    with pytest.raises(SamplingError) as caught:
        gs.ksd_test(x, latent, operator=gs.Latent(draws=5), rng=1)
    assert caught.value.argument == "rng"


class Scatter:
    """A point process of a user's."""

    domain = gs.Box([0, 0], [1, 1])

    def __init__(self, fixed):
        self.fixed = fixed

    def papangelou(self, u, pattern):
        return np.full(len(u), 20.0)

    def sample(self, n, rng):
        rng = np.random.default_rng(0) if self.fixed else rng
        return [rng.random((rng.poisson(20), 2)) for _ in range(n)]


def durations(fixed):
    return gs.SurvivalModel(
        hazard=lambda t: np.ones(len(t)),
        cumulative_hazard=lambda t: 1.0 * t,
        sample=lambda n, rng: (np.random.default_rng(0) if fixed else rng).exponential(size=n),
    )


class Own:
    """A kind of data of a user's, and a model of it."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def take(self, rows):
        return Own(self.values[rows])


class OwnCoins:
    def __init__(self, fixed):
        self.fixed = fixed

    def sample(self, n, rng):
        return Own((np.random.default_rng(0) if self.fixed else rng).normal(size=n))


class OwnOperator:
    def features(self, model, domain, data):
        value = data.values[:, None]
        return gs.SteinFeatures(np.zeros(value.shape), value, weight=np.zeros(len(value)))

    def default_kernel(self):
        return gs.Gaussian(1.0)


RNG = np.random.default_rng(3)
PATTERNS = [RNG.random((20, 2)) for _ in range(6)]
KINDS = {
    "one pattern": lambda f: gs.ksd_test(PATTERNS[0], Scatter(f), null=gs.MonteCarlo(19), rng=1),
    "patterns": lambda f: gs.ksd_test(PATTERNS, Scatter(f), null=gs.MonteCarlo(19), rng=1),
    "durations": lambda f: gs.ksd_test(
        gs.Censored(RNG.exponential(size=30)), durations(f), null=gs.MonteCarlo(19), rng=1
    ),
    "own": lambda f: gs.ksd_test(
        Own(RNG.normal(size=30)), OwnCoins(f), operator=OwnOperator(), null=gs.MonteCarlo(19), rng=1
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_of_data(kind):
    assert 0 < KINDS[kind](False).pvalue <= 1
    with pytest.raises(SamplingError) as caught:
        KINDS[kind](True)
    assert caught.value.argument == "rng"


def test_a_mixture_of_scikit_learn_with_a_fixed_state_is_drawn_from():
    mixture = pytest.importorskip("sklearn.mixture").GaussianMixture(1, random_state=0).fit(X[:20])
    assert gs.mmd_test(X[20:], mixture, rng=1).pvalue > 0.01


def test_an_intensity_in_another_unit_is_refused_before_the_work():
    window = gs.Box([0, 0], [5000, 2000])
    points = np.random.default_rng(0).uniform([0, 0], [5000, 2000], (60, 2))
    for data in (points, [points[:30], points[30:]]):
        with pytest.raises(InputError) as caught:
            gs.ksd_test(data, gs.families.PoissonProcess(1.0, window), null=gs.MonteCarlo(19), rng=1)
        assert caught.value.argument == "model"
    # Ten times too many are for the test to find.
    tenfold = gs.families.PoissonProcess(600 / 1e7, window)
    assert gs.ksd_test(points, tenfold, null=gs.MonteCarlo(19), rng=1).pvalue == 0.05


# --- threads and forks ----------------------------------------------------------------------------


class Buffer:
    """A score that keeps its argument between two steps."""

    def __call__(self, x):
        self.x = np.array(x)
        time.sleep(0.001)
        return -self.x


def test_a_model_that_is_not_safe_in_threads_is_simulated_by_one():
    def test(score, workers):
        m = gs.Model(score=score, domain=gs.Euclidean(2), sample=GOOD["the generator"])
        return gs.ksd_test(X, m, null=gs.MonteCarlo(39), rng=1, workers=workers)

    alone = test(Buffer(), 1)
    with pytest.warns(CalibrationWarning):
        found = test(Buffer(), 2)
    np.testing.assert_array_equal(found.null_distribution, alone.null_distribution)
    safe = test(lambda x: -x, 2)  # without a warning
    np.testing.assert_array_equal(safe.null_distribution, alone.null_distribution)


def test_tests_in_threads_do_not_wait_for_each_other():
    """Each score waits until the other test asks for one as well."""
    both, pvalues = threading.Barrier(2, timeout=20), []

    def score(x):
        both.wait()
        return -x

    def test():
        m = gs.Model(score=score, domain=gs.Euclidean(2))
        pvalues.append(gs.ksd_test(X, m, rng=1).pvalue)

    threads = [threading.Thread(target=test) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pvalues) == 2 and len(set(pvalues)) == 1


FORK = """
import os, threading, time
import numpy as np
import goodstein as gs
from goodstein.engine import blas
from goodstein.errors import _switchboard

X = np.random.default_rng(0).normal(size=(40, 2))
inside, done = threading.Event(), threading.Event()

def waiting(x):
    inside.set()
    done.wait(30)
    return -x

def ask(score):
    return gs.ksd_test(X, gs.Model(score=score, domain=gs.Euclidean(2)), rng=1).pvalue

def hold():
    with blas._blas_lock, _switchboard._lock:
        inside.set()
        time.sleep(0.3)

ask(lambda x: -x)
for other in (lambda: ask(waiting), hold):
    inside.clear()
    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(30)
    child = os.fork()
    if child == 0:
        ask(lambda x: -x)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    done.set()
    thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are those of POSIX")
def test_a_child_that_is_forked_while_another_thread_tests_does_not_hang(tmp_path):
    file = tmp_path / "fork.py"
    file.write_text(textwrap.dedent(FORK), encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "ignore", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
