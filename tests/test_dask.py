"""A Dask client as `workers`: the bits of one thread whatever befalls its workers, and data sent once.

One cluster of separate processes for all tests; it begins with one worker, and each test that needs another
number of them says so.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import goodstein as gs
from goodstein.engine import cluster as module
from goodstein.engine import shares
from goodstein.engine.executors import run
from goodstein.engine.progress import watching
from goodstein.engine.schemes import OrthogonalSigns
from goodstein.engine.triangle import areas
from goodstein.families import Normal

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of Dask, about itself
    pytest.mark.skipif(os.name != "posix", reason="signals of POSIX"),
]

X = np.random.default_rng(0).normal(size=(1200, 3))
SPACE, LINE = Normal(np.zeros(3)), Normal(0.0, 1.0)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def sized(client, workers):
    """Have so many workers."""
    client.cluster.scale(workers)
    for _ in range(6000):
        if len(client.scheduler_info()["workers"]) == workers:
            return
        time.sleep(0.02)
    pytest.fail(f"there are no {workers} workers after two minutes")


def processes(client):
    return list(client.run(os.getpid).values())


class Slow:
    """A square and the process that made it, after a while; from some item on not before a file is there."""

    def __init__(self, seconds, mark=None, until=0):
        self.seconds, self.mark, self.until = seconds, mark, until
        self.payload = np.zeros(10**5)

    def __call__(self, k):
        while self.mark is not None and k >= self.until and not self.mark.exists():
            time.sleep(0.02)
        time.sleep(self.seconds)
        return k * k, os.getpid()


def once(action, when):
    """A function for progress that does something when enough is done."""
    acted = []

    def tell(done, total):
        if done >= when and not acted:
            acted.append(done)
            action()

    tell.acted = acted
    return tell


# --- workers that die and that come -----------------------------------------------------------------


def test_the_only_worker_is_killed_and_the_data_are_sent_again(client, monkeypatch):
    sized(client, 1)
    kept = []
    keep = module.Cluster.keep
    monkeypatch.setattr(module.Cluster, "keep", lambda self, thing: kept.append(1) or keep(self, thing))
    (first,) = processes(client)
    kill = once(lambda: os.kill(first, signal.SIGKILL), 5)
    with watching(kill):
        found = run(Slow(0.02), range(40), client, size=1)
    assert [square for square, _ in found] == [k * k for k in range(40)]
    assert kill.acted and len(kept) == 2
    assert first in {process for _, process in found} and len({process for _, process in found}) == 2


def test_a_worker_that_joins_late_takes_its_part(client, tmp_path):
    sized(client, 1)
    mark = tmp_path / "joined"

    def join():
        sized(client, 2)
        mark.touch()

    threading.Thread(target=join).start()
    found = run(Slow(0.05, mark, until=10), range(60), client, size=1)
    assert [square for square, _ in found] == [k * k for k in range(60)]
    assert {process for _, process in found} == set(processes(client))


@pytest.fixture(scope="module")
def alone():
    return gs.ksd_test(X, SPACE, null=gs.WildBootstrap(199), workers=1, rng=1)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_any_number_of_workers_gives_the_same_bits(client, alone, workers):
    sized(client, workers)
    found = gs.ksd_test(X, SPACE, null=gs.WildBootstrap(199), workers=client, rng=1)
    assert (found.pvalue, found.statistic) == (alone.pvalue, alone.statistic)
    np.testing.assert_array_equal(found.null_distribution, alone.null_distribution)


def sleepy(n, rng):
    time.sleep(0.02)
    return rng.normal(size=(n, 3))


def minus(x):
    return -x


def test_a_worker_that_is_killed_in_the_middle_costs_nothing_but_time(client):
    sized(client, 4)
    model, null = gs.Model(score=minus, sample=sleepy, batched=True), gs.MonteCarlo(99)
    test = partial(gs.ksd_test, X[:40], model, null=null, audit=False, rng=1)
    alone = test(workers=1)
    kill = once(lambda: os.kill(processes(client)[0], signal.SIGKILL), 3)
    found = test(workers=client, progress=kill)
    assert kill.acted and kill.acted[0] < 9  # of eleven pieces
    assert found.pvalue == alone.pvalue
    np.testing.assert_array_equal(found.null_distribution, alone.null_distribution)


# --- errors -----------------------------------------------------------------------------------------


def broken(n, rng):
    raise OSError("the sampler's disk is full")


def test_a_task_that_raises_says_so_and_the_client_goes_on(client, alone):
    model = gs.Model(score=minus, sample=broken, batched=True)
    with pytest.raises(Exception, match="the sampler's disk is full") as elsewhere:
        gs.ksd_test(X[:40], model, null=gs.MonteCarlo(19), workers=client, audit=False, rng=1)
    with pytest.raises(Exception, match="the sampler's disk is full") as here:
        gs.ksd_test(X[:40], model, null=gs.MonteCarlo(19), workers=1, audit=False, rng=1)
    assert type(elsewhere.value) is type(here.value) and str(elsewhere.value) == str(here.value)
    again = gs.ksd_test(X, SPACE, null=gs.WildBootstrap(199), workers=client, rng=1)
    assert again.pvalue == alone.pvalue


CLOSED = r"`workers` is a Dask client that was closed\. Call inside its `with` block"


@pytest.mark.parametrize(
    "call",
    [
        partial(gs.ksd_test, X[:50], SPACE, rng=1),
        partial(gs.power_study, [gs.Cell(LINE, None, 9)], {"KSD": gs.ksd_test}, trials=20),
    ],
)
def test_a_client_that_was_closed_is_refused(cluster, call):
    with distributed.Client(cluster, set_as_default=False) as closed:
        pass
    with pytest.raises(gs.InputError, match=CLOSED):
        call(workers=closed)


def test_a_client_that_is_closed_in_the_middle_is_named(cluster):
    with distributed.Client(cluster, set_as_default=False) as other:
        close = once(other.close, 5)
        with pytest.raises(gs.InputError, match=CLOSED), watching(close):
            run(Slow(0.02), range(60), other, size=1)
    assert close.acted


def test_clients_that_cannot_be_used_are_refused(client, monkeypatch):
    class Asynchronous:
        asynchronous, status = True, "running"

        def submit(self):
            """Never called."""

        get_executor = submit

    with pytest.raises(gs.InputError, match="`workers` is an asynchronous Dask client"):
        gs.ksd_test(X[:50], SPACE, workers=Asynchronous())
    lock = threading.Lock()
    with pytest.raises(gs.InputError, match=r"`workers`: .* cannot be sent to other processes"):
        run(lambda k: lock, range(3), client, size=1)

    def never(count, timeout):
        raise TimeoutError

    monkeypatch.setattr(client, "wait_for_workers", never)
    with pytest.raises(gs.ResourceError, match=r"had no worker for 60 s\. Start some"):
        gs.ksd_test(X[:50], SPACE, workers=client)


# --- everything else that takes workers ---------------------------------------------------------------

FITTED = Normal.fit(X[:60])
FEW = {"operators": [gs.Langevin(), gs.Dilation()], "kernels": [gs.IMQ(), gs.Gaussian()]}
CALLS = {
    "simulated": partial(gs.ksd_test, X[:60], SPACE, null=gs.MonteCarlo(39), rng=1),
    "refitted": partial(gs.ksd_test, X[:60], FITTED, null=gs.ParametricBootstrap(None, 19), rng=1),
    "aggregated": partial(gs.aggregated_test, X[:60], SPACE, **FEW, null=gs.MonteCarlo(19), rng=1),
    "aggregated, wild": partial(gs.aggregated_test, X[:60], SPACE, **FEW, null=gs.WildBootstrap(99), rng=1),
    "relative": partial(gs.relative_ksd_test, X[:60], SPACE, FITTED, rng=1),
    "mmd": partial(gs.mmd_test, X[:60], SPACE, n_resamples=19, rng=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_test_runs_on_the_same_client(client, name):
    told = []
    found = CALLS[name](workers=client, progress=lambda *now: told.append(now))
    here = CALLS[name](workers=1)
    assert str(found) == str(here) and found.pvalue == here.pvalue
    assert told[-1][0] == told[-1][1] > 0 and told == sorted(told)


def test_a_study_runs_on_the_same_client_and_is_sent_once(client, monkeypatch):
    sizes = []
    submit = module.Cluster.submit

    def weighed(self, function, *arguments):
        sizes.append(len(pickle.dumps([a for a in arguments if not isinstance(a, distributed.Future)])))
        return submit(self, function, *arguments)

    monkeypatch.setattr(module.Cluster, "submit", weighed)
    cells = [gs.Cell(LINE, Normal(0.5, 1.0), 20, name="shift")]
    study = partial(gs.power_study, cells, {"KSD": quick}, trials=30, bound=False)
    found, here = study(workers=client), study()
    assert all(np.array_equal(found.pvalues[key], here.pvalues[key]) for key in here.pvalues)
    assert sizes and max(sizes) < 2000


def quick(data, model, *, rng):
    return gs.ksd_test(data, model, null=gs.WildBootstrap(19), rng=rng)


def test_the_example_of_the_guide_runs(client, monkeypatch, capsys):
    page = (Path(__file__).parents[1] / "docs" / "cluster.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    for block in code:
        compile(block, "cluster.md", "exec")

    @contextmanager
    def ours(*_, **options):
        yield client

    monkeypatch.setattr("dask.distributed.LocalCluster", ours)
    monkeypatch.setattr("dask.distributed.Client", ours)
    exec(code[0], {"__name__": "__main__"})
    x = np.random.default_rng(1).normal(size=(3000, 2))
    assert float(capsys.readouterr().out) == gs.ksd_test(x, Normal([0.0, 0.0]), workers=1, rng=1).pvalue


# --- the size of the graph ---------------------------------------------------------------------------


def test_the_data_are_sent_once_and_shares_are_small(client, monkeypatch):
    kept, sizes = [], []
    keep, submit = module.Cluster.keep, module.Cluster.submit
    monkeypatch.setattr(module.Cluster, "keep", lambda self, thing: kept.append(thing) or keep(self, thing))

    def weighed(self, function, *arguments):
        sizes.append(len(pickle.dumps([a for a in arguments if not isinstance(a, distributed.Future)])))
        return submit(self, function, *arguments)

    monkeypatch.setattr(module.Cluster, "submit", weighed)
    gs.ksd_test(X, SPACE, null=gs.WildBootstrap(199), workers=client, rng=1)
    assert len(kept) == 1 and len(pickle.dumps(kept[0])) > X.nbytes
    assert len(sizes) == len(OrthogonalSigns(0, len(X), 199).strips()) and max(sizes) < 1000


@pytest.mark.parametrize("n", [20_000, 100_000, 1_000_000, 3_000_000])
@pytest.mark.parametrize("hands", [2, 64])
def test_the_graph_stays_small_however_many_rows(n, hands):
    """A thousand tasks, or eight for each worker, whose work differs by little and whose items are few."""
    strips = OrthogonalSigns(0, n, 1000).strips()
    costs = np.array(areas(strips, n), float)
    planned = shares.plan(len(strips), hands)
    assert sorted(k for places in planned for k in places) == list(range(len(strips)))
    assert len(planned) <= max(1000, 8 * hands)
    assert len(planned) >= min(len(strips), 8 * hands)
    work = np.array([costs[list(places)].sum() for places in planned])
    assert work.max() < 1.3 * work.mean() or len(planned) == len(strips)
    sent = sum(len(pickle.dumps([strips[k] for k in places])) for places in planned)
    assert sent < 1e6
