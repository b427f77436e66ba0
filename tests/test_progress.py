"""Progress is told by every long call, the same whoever works, and changes nothing."""

from __future__ import annotations

import io
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.stats import norm

import cases
import goodstein as gs
from goodstein.engine import watching as module
from goodstein.engine.executors import run
from goodstein.engine.progress import Progress
from goodstein.engine.triangle import areas
from goodstein.engine.watching import begin, unwatched, watching
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
    "select": partial(gs.select, X, PLANE, [gs.Langevin(), gs.Dilation()], rng=1),
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


@pytest.mark.parametrize("progress", ["yes", 3, print.__class__, object(), [print], gs.Gaussian()])
def test_what_cannot_be_told_is_refused_before_anything_else(progress):
    for call in CALLS.values():
        with pytest.raises(gs.InputError, match="`progress` must be True, False, a function"):
            call(progress=progress)


# --- the line ----------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    """Everybody wants to know at once, and there is no bar."""
    monkeypatch.setattr("goodstein.engine.progress.PATIENCE", 0.0)
    monkeypatch.setattr("goodstein.engine.progress.INTERVAL", 0.005)
    monkeypatch.setattr("goodstein.engine.progress.LOGGED", 0.005)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setitem(sys.modules, "rich", None)


def test_true_is_silent_where_nobody_looks_and_a_stream_is_not(impatient, monkeypatch):
    piped, terminal, file = io.StringIO(), Terminal(), io.StringIO()
    slow = partial(run, square, range(30), 1, size=1)
    monkeypatch.setattr(sys, "stderr", piped)
    with watching(True):
        slow()
    with watching(file, "Counting"):
        slow()
    monkeypatch.setattr(sys, "stderr", terminal)
    with watching(True):
        slow()
    assert piped.getvalue() == ""
    lines = file.getvalue().splitlines()
    assert all(line.startswith("Counting … ") for line in lines) and any("left" in line for line in lines)
    shown = terminal.getvalue().split("\r")
    assert "Testing … " in shown[1] and shown[-1] == "" and shown[-2].strip() == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, gs.InputError])
def test_the_terminal_is_clean_after_an_error(error, impatient, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(error), watching(True):
        while not terminal.getvalue():
            time.sleep(0.001)
        raise error("too long")
    written = terminal.getvalue()
    assert written.endswith("\r") and written.split("\r")[-2].strip() == ""


def test_a_bar_of_rich_leaves_nothing(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("goodstein.engine.progress.PATIENCE", 0.0)
    monkeypatch.setattr("goodstein.engine.progress.INTERVAL", 0.005)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with watching(True):
        while "Testing" not in terminal.getvalue():
            run(square, range(10), 1, size=1)
    assert terminal.getvalue().rstrip("\n").endswith("\x1b[2K")  # it clears its line


def test_a_short_test_shows_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    CALLS["wild"](progress=True)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [None, "closed"])
def test_without_a_stream_nothing_is_shown(stream, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed if stream else None)
    assert str(CALLS["wild"](progress=True)) == str(CALLS["wild"]())


def test_the_estimate_is_that_of_the_present_step():
    line = Progress("Testing")
    assert line.line(3.0) == "Testing … 3 s"
    line.update(0, 10)
    line.update(10, 10)
    line.update(10, 110)
    line._step = (10, 50.0)  # it began after 50 seconds
    line.update(35, 110)
    assert line.line(60.0) == "Testing … 25 %, 1 min 0 s, about 30 s left"


def test_nobody_hears_of_what_is_inside():
    told = []
    with watching(lambda *now: told.append(now)), unwatched(), watching(lambda *now: told.append(now)):
        begin(3)(3)
    assert told == []


def test_corrections_for_a_fit_of_many_rows_are_told(monkeypatch):
    monkeypatch.setattr("goodstein.nulls.fitted.MANY_ROWS", 300)
    monkeypatch.setattr("goodstein.engine.watching.PAUSE", 0.0)
    x = gs.families.Normal(0, 1).sample(600, rng=1)
    steps = []
    told = gs.ksd_test(
        x, gs.families.Normal.fit(x), rng=1, progress=lambda done, total: steps.append((done, total))
    )
    # A hundred pieces of the corrections come before those of the random signs.
    assert steps[0] == (0, 100) and any(0 < done < 100 == total for done, total in steps)
    assert steps[-1][0] == steps[-1][1] > 100
    assert told.pvalue == gs.ksd_test(x, gs.families.Normal.fit(x), rng=1).pvalue
