"""Warnings under concurrency: notes belong to their own test, and Python's warnings are left as they were."""

from __future__ import annotations

import threading
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_warnings_caught_in_another_thread_are_left_to_it(first):
    """Whoever begins first, and although the other ends in between."""
    before = list(warnings.filters), warnings.showwarning
    caught, noted, done = threading.Event(), threading.Event(), threading.Event()

    def other():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            caught.set()
            noted.wait(10)
            warnings.warn("theirs", UserWarning, stacklevel=1)
        done.set()
        return [str(w.message) for w in told]

    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(other) if first == "theirs" else None
        if theirs is not None:
            caught.wait(10)
        with heard() as ours:
            theirs = pool.submit(other) if theirs is None else theirs
            caught.wait(10)
            warnings.warn("ours", UserWarning, stacklevel=1)
            noted.set()
            if first == "ours":
                done.wait(10)
                warnings.warn("ours again", UserWarning, stacklevel=1)
        assert theirs.result() == ["theirs"]
    assert [str(w.message) for w in ours] == ["ours", "ours again"][: 1 + (first == "ours")]
    assert (list(warnings.filters), warnings.showwarning) == before


def test_errors_made_of_warnings_are_those_of_one_thread():
    """With ``-W error`` every test raises its own warning, and one that gives none returns."""

    def run(k):
        model = noisy(k) if k % 2 else gs.families.Normal()
        try:
            return gs.ksd_test(X, model, rng=k).notes
        except RuntimeWarning as warning:
            return str(warning)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(run, range(40)))
    assert found == [f"warning of model {k}" if k % 2 else () for k in range(40)]


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
