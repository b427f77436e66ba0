"""Settings for the whole test suite."""

import os
from functools import partial
from importlib.util import find_spec

# JAX functions are compiled for a few calls each, which takes longer than running them.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"

import pytest
from hypothesis import settings

import goodstein as gs


def pytest_configure(config):
    """Fewer examples in the fast run."""
    examples = 20 if config.getoption("markexpr").startswith("not slow") else 100
    # No deadline: a loaded machine is not a failing test. Derandomised: a run can be repeated.
    settings.register_profile("goodstein", deadline=None, derandomize=True, max_examples=examples)
    settings.load_profile("goodstein")


LONG = {
    "test_charts",
    "test_dask",
    "test_estimate",
    "test_estimate_robustness",
    "test_large",
    "test_posteriors",
    "test_same_bits",
    "test_survival_regression",
}
"""Files that `.ci/run` and `make test-all` run and `make test` does not, which is to take five minutes."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in LONG:
            item.add_marker("long")
    if find_spec("torch") is None:
        skip = pytest.mark.skip(reason="PyTorch is not installed (make test-all installs it)")
        for item in items:
            if item.get_closest_marker("torch"):
                item.add_marker(skip)


FEWER = {
    "ParametricBootstrap": {"n_resamples": 19},
    "MonteCarlo": {"n_resamples": 19},
    "power_study": {"trials": 10, "bound_draws": (400, 200)},
    "sample_size": {"trials": 60, "power": 0.5, "bound": False},
}


@pytest.fixture
def few_samples(monkeypatch):
    """Fewer simulated samples where the library chooses their number."""
    monkeypatch.setattr("goodstein.pipeline.choice.SAMPLES", (99,))


@pytest.fixture
def few_draws(monkeypatch, few_samples):
    """Draws and trials enough to see that a program runs, whatever it asks for."""
    for name, few in FEWER.items():
        monkeypatch.setattr(gs, name, partial(_shortened, getattr(gs, name), few), raising=False)


def _shortened(function, few, *arguments, **options):
    # The number of draws may be an argument without a name, too.
    named = {"ParametricBootstrap": 1, "MonteCarlo": 0}.get(function.__name__, len(arguments))
    return function(*arguments[:named], **options | few)
