"""Warnings under concurrency: notes belong to their own test, and Python's warnings are left as they were."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import goodstein as gs
from goodstein.errors import NumericalScoreWarning, heard, quiet, warn

X = np.random.default_rng(1).standard_normal((30, 1))


def noisy(k):
    """A model whose score gives a warning of its own, as another library would."""

    def score(x):
        warnings.warn(f"warning of model {k}", RuntimeWarning, stacklevel=1)
        return -x

    return gs.Model(score=score, batched=True, name=f"model {k}")


@pytest.mark.filterwarnings("ignore")
def test_notes_of_tests_in_several_threads_are_not_mixed_up():
    before = list(warnings.filters), warnings.showwarning

    def run(k):
        null = gs.ParametricBootstrap(lambda x: noisy(k), 5)
        model = gs.Model(score=lambda x: -x, sample=lambda n, rng: rng.normal(size=n), name=f"model {k}")
        return gs.ksd_test(X, model, null=null, rng=k).notes

    with ThreadPoolExecutor(8) as pool:
        notes = list(pool.map(run, range(40)))
    for k, told in enumerate(notes):
        about = [note for note in told if note.startswith("warning of model")]
        assert about == [f"warning of model {k}"]
    assert (list(warnings.filters), warnings.showwarning) == before


def test_workers_of_a_test_are_heard_and_other_threads_are_not():
    from goodstein.engine.executors import run

    with ThreadPoolExecutor(1) as other, heard() as told:
        run(lambda k: warn(f"from worker {k}"), range(4), 2, size=10_000)
        with pytest.warns(gs.CalibrationWarning, match="elsewhere"):
            other.submit(warn, "elsewhere").result()
    assert sorted(str(w.message) for w in told) == [f"from worker {k}" for k in range(4)]


def test_what_is_ignored_is_ignored_here_only():
    with quiet(NumericalScoreWarning), heard() as told:
        warn("numerical", NumericalScoreWarning)
        warn("another")
    assert [w.message for w in told] == ["another"]
    with pytest.warns(NumericalScoreWarning):
        warn("numerical", NumericalScoreWarning)
