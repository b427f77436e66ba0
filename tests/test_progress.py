"""Progress is told by every long call, the same whoever works, and changes nothing."""

from __future__ import annotations

import io
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import redirect_stderr
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.stats import norm

import cases
import goodstein as gs
from goodstein.engine import progress as module
from goodstein.engine.executors import run
from goodstein.engine.progress import begin, unwatched, watching
from goodstein.engine.triangle import areas
from goodstein.estimate import AnyNormal, ScoreMatching
from goodstein.families import Normal
from goodstein.numerics.ranges import cut

X = np.random.default_rng(1).normal(size=(60, 2))
PLANE, LINE = Normal([0, 0]), Normal(0.0, 1.0)
FEW, SIMULATED = gs.WildBootstrap(19), gs.MonteCarlo(19)


def z_test(data, model, *, rng):
    return norm.sf(np.sqrt(len(data)) * data.mean())


CALLS = {
    "wild": partial(gs.ksd_test, X, PLANE, null=FEW, rng=1),
    "many rows": partial(gs.ksd_test, np.tile(X, (20, 1)) + 1e-3, PLANE, null=FEW, workers=2, rng=1),
    "monte carlo": partial(gs.ksd_test, X, PLANE, null=SIMULATED, rng=1),
    "refits": partial(gs.ksd_test, X, Normal.fit(X), null=gs.ParametricBootstrap(Normal.fit, 19), rng=1),
    "fitted": partial(gs.ksd_test, X, Normal.fit(X), rng=1),
    "tolerance": partial(gs.ksd_test, X, PLANE, tolerance=0.1, null=FEW, rng=1),
    "aggregated": partial(gs.aggregated_test, X, PLANE, null=SIMULATED, rng=1),
    "regularised": partial(gs.regularised_test, X, PLANE, null=FEW, rng=1),
    "mmd": partial(gs.mmd_test, X, PLANE, n_resamples=19, rng=1),
    "m3d": partial(gs.m3d_test, X, PLANE, n_resamples=19, rng=1),
    "relative": partial(gs.relative_ksd_test, X, PLANE, Normal([1, 0]), rng=1),
    "equivalence": partial(gs.equivalence_test, X, PLANE, shift=0.5, null=FEW, rng=1),
    "conditional": partial(
        gs.conditional_ksd_test, X[:, 0], X[:, 1], gs.ConditionalModel.gaussian(np.abs, 1.0), null=FEW, rng=1
    ),
    "patterns": partial(gs.point_pattern_ksd_test, cases.DATA[4].data, cases.DATA[4].model, null=FEW, rng=1),
    "graph": partial(gs.graph_ksd_test, cases.DATA[5].data, cases.GRAPH, null=SIMULATED, rng=1),
    "selection": partial(gs.select(X, PLANE, rng=1).test, null=FEW, rng=1),
    "select": partial(gs.select, X, PLANE, operators=[gs.Langevin(), gs.Dilation()], rng=1),
    "check": partial(gs.check, X[:30], PLANE, null=FEW, rng=1),
    "power": partial(gs.power_study, [gs.Cell(LINE, Normal(1.0, 1.0), 9)], {"z": z_test}, trials=20),
    "sample size": partial(
        gs.sample_size,
        LINE,
        Normal(0.5, 1.0),
        z_test,
        power=0.5,
        trials=60,
        bounds=(5, 40),
        bound=False,
        rng=1,
    ),
    "bootstrap": partial(ScoreMatching().fit(X, AnyNormal()).bootstrap, 10, rng=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_long_call_tells_how_far_it_is_and_finds_the_same(name, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    told = []
    found = CALLS[name](progress=lambda done, total: told.append((done, total)))
    done, total = np.array(told).T
    assert done[0] == 0 and done[-1] == total[-1] > 0
    assert (np.diff(done) >= 0).all() and (np.diff(total) >= 0).all() and (done <= total).all()
    again = CALLS[name]()
    if name == "power":  # which also says how long it took
        found, again = found.pvalues, again.pvalues
    assert str(found) == str(again)


def test_counted_is_the_outermost_work_alone(monkeypatch):
    """Ten simulated samples are one piece, whatever happens inside; the statistic of 60 rows is one strip."""
    monkeypatch.setattr(module, "PAUSE", 0.0)
    told, inner = [], []
    CALLS["monte carlo"](progress=lambda *now: told.append(now))
    assert told == [(0, 1), (1, 1), (1, 3), (2, 3), (3, 3)]
    test = partial(gs.ksd_test, null=FEW, progress=lambda *now: inner.append(now))
    gs.power_study([gs.Cell(LINE, None, 9)], {"KSD": test}, trials=12, progress=lambda *now: told.append(now))
    # One source of first trials, of which there are three, then the nine that are left.
    assert told[-1] == (10, 10) and not inner


def square(k):
    time.sleep(0.001)
    return k * k


@pytest.mark.parametrize("workers", ["one", "threads", "thread pool", "processes"])
def test_whoever_works_the_waiting_thread_is_told(workers, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 0.0)
    told = []
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(1, get_context("spawn")) as processes:
        chosen = {"one": 1, "threads": 2, "thread pool": threads, "processes": processes}[workers]
        with watching(lambda *now: told.append(now)):
            assert run(square, range(30), chosen, size=1) == [k * k for k in range(30)]
    assert told == [(k, 30) for k in range(31)]


def test_dask_tells_too():
    distributed = pytest.importorskip("distributed")
    told = []
    local = {"processes": False, "n_workers": 1, "dashboard_address": None}
    with distributed.Client(**local) as client, watching(lambda *now: told.append(now)):
        assert run(square, range(30), client, size=1) == [k * k for k in range(30)]
    assert told[0] == (0, 30) and told[-1] == (30, 30) and told == sorted(told)


def test_strips_count_by_what_there_is_to_do_in_them(monkeypatch):
    """The first half of the rows has three quarters of the triangle."""
    monkeypatch.setattr(module, "PAUSE", 0.0)
    told, strips = [], cut(0, 1000, 10)
    with watching(lambda *now: told.append((*now, len(seen)))):
        seen = []
        run(seen.append, strips, 1, size=1000, costs=areas(strips, 1000))
    halfway = next(done for done, _, strips_seen in told if strips_seen == 50)
    assert told[-1][:2] == (100, 100) and halfway == 75


def test_functions_are_not_called_more_often_than_anybody_reads():
    told = []
    with watching(lambda *now: told.append(now)):
        run(abs, range(5000), 1, size=1)
    assert told[0] == (0, 5000) and told[-1] == (5000, 5000) and len(told) < 100


def test_a_step_that_was_given_up_is_over():
    told = []
    with watching(lambda *now: told.append(now)):
        begin(5)(2)
        begin(3)(3)
    assert told == [(0, 5), (5, 8), (8, 8)]


def test_a_function_that_fails_costs_no_result():
    calls = []

    def broken(done, total):
        calls.append(done)
        raise OSError("no such terminal")

    with pytest.warns(
        RuntimeWarning, match=r"`progress` raised OSError: no such terminal. It was not called"
    ):
        found = gs.ksd_test(X, PLANE, null=SIMULATED, progress=broken, rng=1)
    assert calls == [0] and str(found) == str(CALLS["monte carlo"]())


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_ends_the_work_and_the_watch(workers):
    def interrupt(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gs.ksd_test(X, PLANE, null=SIMULATED, workers=workers, progress=interrupt, rng=1)
    assert module._watch.get() is None


@pytest.mark.parametrize("progress", ["yes", 3, print.__class__, object(), [print], io.StringIO()])
def test_what_cannot_be_told_is_refused_before_anything_else(progress):
    for call in CALLS.values():
        with pytest.raises(gs.InputError, match="`progress` must be True, False or a function"):
            call(progress=progress)


# --- the bar -----------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Everybody wants to know at once."""
    monkeypatch.setattr(module, "PATIENCE", 1e-6)


def test_a_terminal_has_a_bar_and_is_clean_afterwards():
    with redirect_stderr(Terminal()) as terminal, watching(True, "Counting"):
        run(lambda k: time.sleep(0.02), range(30), 1, size=1)
    shown = terminal.getvalue().split("\r")
    assert shown[1].startswith("Counting:") and any("/30 [" in line for line in shown)
    assert shown[-1] == "" and shown[-2].strip() == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, gs.InputError])
def test_the_terminal_is_clean_after_an_error(error):
    with pytest.raises(error), redirect_stderr(Terminal()) as terminal, watching(True):
        finished = begin(5)
        time.sleep(0.15)
        finished(1)
        assert "1/5" in terminal.getvalue()
        raise error("too long")
    written = terminal.getvalue()
    assert written.endswith("\r") and written.split("\r")[-2].strip() == ""


def test_nothing_is_shown_where_nobody_looks():
    with redirect_stderr(io.StringIO()) as file, watching(True):
        begin(3)(3)
    assert file.getvalue() == ""


def test_a_bar_that_cannot_be_drawn_costs_no_result(monkeypatch):
    def broken(self, text):
        raise OSError("no such terminal")

    monkeypatch.setattr(Terminal, "write", broken)
    with redirect_stderr(Terminal()):
        found = CALLS["monte carlo"](progress=True)
    assert str(found) == str(CALLS["monte carlo"]())


def test_a_short_test_shows_nothing(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 2.0)
    with redirect_stderr(Terminal()) as terminal:
        CALLS["wild"](progress=True)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [None, "closed"])
def test_without_a_stream_nothing_is_shown(stream, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed if stream else None)
    assert str(CALLS["wild"](progress=True)) == str(CALLS["wild"]())


def test_nobody_hears_of_what_is_inside():
    told = []
    with watching(lambda *now: told.append(now)), unwatched(), watching(lambda *now: told.append(now)):
        begin(3)(3)
    assert told == []


def test_corrections_for_a_fit_of_many_rows_are_told(monkeypatch):
    monkeypatch.setattr("goodstein.nulls.fitted.MANY_ROWS", 300)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    x = gs.families.Normal(0, 1).sample(600, rng=1)
    steps = []
    told = gs.ksd_test(
        x, gs.families.Normal.fit(x), rng=1, progress=lambda done, total: steps.append((done, total))
    )
    # A hundred pieces of the corrections come before those of the random signs.
    assert steps[0] == (0, 100) and any(0 < done < 100 == total for done, total in steps)
    assert steps[-1][0] == steps[-1][1] > 100
    assert told.pvalue == gs.ksd_test(x, gs.families.Normal.fit(x), rng=1).pvalue
