"""What befalls a long run: workers that die, full disks, exhausted memory, interruptions, two at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import goodstein as gs
from goodstein.engine import shares
from goodstein.families import Normal
from goodstein.kernels import RadialKernel

NULL = Normal(0, 1)
FOUND = gs.power_study([gs.Cell(NULL, None, 9)], {"z": lambda data, model, *, rng: 0.5}, trials=3)
X = np.random.default_rng(0).normal(size=(30, 1))
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def z_test(data, model, *, rng):
    return float(ndtr(-np.sqrt(len(data)) * data.mean()))


def study(tests=None, **options):
    cell = gs.Cell(NULL, Normal(0.5, 1), 9, name="shift")
    options = {"trials": 40, "bound": False, **options}
    return gs.power_study([cell], tests or {"z": z_test}, **options)


def same(one, other):
    return all(np.array_equal(one.pvalues[key], other.pvalues[key]) for key in one.pvalues)


def script(tmp_path, text):
    """Run a script of its own, with everything that processes of their own need; what it printed."""
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    done = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- workers that die -----------------------------------------------------------------------------


class Fails(Executor):
    """Fails at its first task, while all others wait."""

    def __init__(self, error):
        self.error, self.asked = error, []

    def submit(self, function, /, *arguments):
        future = Future()
        self.asked.append(future)
        if len(self.asked) == 1:
            future.set_exception(self.error)
        return future


class KilledWorker(Exception):
    """As Dask calls it."""


FITTED = Normal.fit(X)
CALLS = {
    "bootstrap": lambda **options: gs.ksd_test(X, NULL, null=gs.WildBootstrap(99), rng=1, **options),
    "simulated": lambda **options: gs.ksd_test(X, NULL, null=gs.MonteCarlo(19), rng=1, **options),
    "refitted": lambda **options: gs.ksd_test(X, FITTED, null=gs.ParametricBootstrap(None, 19), **options),
    "aggregated": lambda **options: gs.aggregated_test(X, NULL, null=gs.MonteCarlo(19), rng=1, **options),
    "relative": lambda **options: gs.relative_ksd_test(X, NULL, Normal(1, 1), **options),
    "samples": lambda **options: gs.mmd_test(X, NULL, rng=1, **options),
    "study": lambda **options: study(**options),
    "size": lambda **options: gs.sample_size(NULL, Normal(1, 1), trials=60, rng=1, **options),
}
CALL = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@CALL
@pytest.mark.parametrize("error", [BrokenProcessPool(), CancelledError(), KilledWorker()], ids=repr)
def test_workers_that_die_are_explained(call, error):
    pool = Fails(error)
    said = r"The worker processes died\. .*call again, with a new pool or fewer workers"
    with pytest.raises(gs.ResourceError, match=said) as caught:
        call(workers=pool)
    assert isinstance(caught.value, RuntimeError)
    assert all(future.cancelled() for future in pool.asked[1:])


@CALL
def test_an_interruption_cancels_what_waits(call):
    pool = Fails(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        call(workers=pool)
    assert all(future.cancelled() for future in pool.asked[1:])


@CALL
def test_a_pool_that_was_shut_down_is_named(call):
    with ProcessPoolExecutor(1) as pool:
        pass
    with pytest.raises(gs.InputError, match=r"`workers` is a pool that was shut down\. Call inside"):
        call(workers=pool)


def test_workers_hand_back_their_share_in_time(monkeypatch):
    """So that an interruption never waits for a whole share; the result is the same."""
    null = gs.MonteCarlo(170)
    whole = gs.ksd_test(X, NULL, null=null, rng=1)
    taken = []

    class Here(Executor):
        def submit(self, function, task, items, seconds):
            future = Future()
            future.set_result(function(task, items, seconds))
            taken.append(len(future.result()))
            return future

    for seconds, most in ((0.0, 1), (60.0, 2)):  # 17 batches of ten samples in 16 shares
        monkeypatch.setattr(shares.Pool, "seconds", seconds)
        taken.clear()
        again = gs.ksd_test(X, NULL, null=null, workers=Here(), rng=1)
        np.testing.assert_array_equal(again.null_distribution, whole.null_distribution)
        assert max(taken) == most


def test_what_cannot_be_sent_to_processes_is_named():
    lock = threading.Lock()

    def sample(n, rng):
        with lock:
            return drawn(n, rng)

    class Here(Executor):
        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*arguments))
            return future

    model, said = gs.Model(score=minus, sample=sample), r"`workers`: .* cannot be sent .* or use threads"
    with pytest.raises(gs.InputError, match=said):
        gs.ksd_test(X, model, null=gs.MonteCarlo(19), workers=Here(), rng=1)


class Deadly:
    """A sampler that ends every process but the first."""

    def __init__(self):
        self.owner = os.getpid()

    def __call__(self, n, rng):
        if os.getpid() != self.owner:
            os._exit(9)
        return rng.normal(size=(n, 1))


def minus(x):
    return -x


def test_a_process_of_a_pool_that_dies_is_explained():
    model = gs.Model(score=minus, sample=Deadly())
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(gs.ResourceError, match="worker processes died"),
    ):
        gs.ksd_test(X, model, null=gs.MonteCarlo(19), workers=pool, rng=1)


class DiesAt:
    """A z-test that ends a process of its own at some data, once."""

    def __init__(self, mark):
        self.mark, self.owner = mark, os.getpid()

    def __call__(self, data, model, *, rng):
        if os.getpid() != self.owner and data[0] > 0.5 and rng.random() < 0.3 and not self.mark.exists():
            self.mark.touch()
            os._exit(9)
        return z_test(data, model, rng=rng)


def test_a_study_whose_process_died_goes_on(tmp_path):
    path, tests = tmp_path / "study", {"z": DiesAt(tmp_path / "died")}
    with pytest.raises(gs.ResourceError, match=r"processes died.* is in .*study.* goes on from there"):
        study(tests, workers=2, path=path)
    assert same(study(tests, path=path), study())


@pytest.mark.filterwarnings("ignore")  # of Dask, about itself
def test_a_worker_of_dask_that_dies_is_explained():
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    model = gs.Model(score=minus, sample=Deadly())
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(gs.ResourceError, match="worker processes died"),
    ):
        gs.ksd_test(X, model, null=gs.MonteCarlo(19), workers=client, rng=1)


# --- interruptions, in processes ------------------------------------------------------------------

SLOW = """
    import os, signal, sys, threading, time
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    from pathlib import Path

    import numpy as np
    import goodstein as gs
    from goodstein.families import Normal

    def minus(x):
        return -x

    def sample(n, rng):
        with open("calls", "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(0.02)
        return rng.normal(size=(n, 1))

    def slow(data, model, *, rng):
        with open("calls", "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(60 if os.getpid() != OWNER and Path("calls").read_text().count("\\n") > 4 else 0)
        return 0.5

    def once_it_runs(signal_):
        while not Path("calls").exists() or Path("calls").read_text().count("\\n") < 5:
            time.sleep(0.01)
        os.kill(OWNER, signal_)

    OWNER = os.getppid() if __name__ == "__mp_main__" else os.getpid()
"""


def calls(tmp_path):
    return (tmp_path / "calls").read_text().split()


@POSIX
def test_an_interrupted_test_leaves_a_pool_soon(tmp_path):
    out = script(
        tmp_path,
        SLOW
        + """
    if __name__ == "__main__":
        model = gs.Model(score=minus, sample=sample)
        x = np.random.default_rng(0).normal(size=(20, 1))
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            threading.Thread(target=once_it_runs, args=(signal.SIGINT,)).start()
            try:
                gs.ksd_test(x, model, null=gs.MonteCarlo(1999), workers=pool, audit=False, rng=1)
            except KeyboardInterrupt:
                print("interrupted")
    """,
    )
    assert out == "interrupted\n"
    # What a pool has taken up by then: two shares under way and three that wait inside it.
    assert len(calls(tmp_path)) < 400


@POSIX
def test_an_interrupted_study_ends_its_processes(tmp_path):
    out = script(
        tmp_path,
        SLOW
        + """
    if __name__ == "__main__":
        threading.Thread(target=once_it_runs, args=(signal.SIGINT,)).start()
        try:
            cell = gs.Cell(Normal(0, 1), Normal(1, 1), 9)
            gs.power_study([cell], {"slow": slow}, bound=False, workers=2)
        except KeyboardInterrupt:
            print("interrupted")
    """,
    )
    assert out == "interrupted\n"
    assert gone(calls(tmp_path))


@POSIX
def test_a_killed_study_leaves_no_orphans(tmp_path):
    file = tmp_path / "script.py"
    rest = """
    if __name__ == "__main__":
        threading.Thread(target=once_it_runs, args=(signal.SIGKILL,)).start()
        cell = gs.Cell(Normal(0, 1), Normal(1, 1), 9)
        gs.power_study([cell], {"slow": slow}, bound=False, workers=2, path="study")
    """
    file.write_text(textwrap.dedent(SLOW + rest), encoding="utf-8")
    done = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert gone(calls(tmp_path))
    study(path=tmp_path / "study")  # what it left holds nobody up


def gone(processes):
    """Whether all of them end, within a time that is long enough for a busy machine."""
    for _ in range(300):
        if not any(alive(int(process)) for process in set(processes)):
            return True
        time.sleep(0.1)
    return False


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not (state.exists() and ") Z" in state.read_text())


# --- memory ---------------------------------------------------------------------------------------


class Greedy:
    """A function that asks for too much, for more than a few rows."""

    def __init__(self, function, most=0):
        self.function, self.most = function, most

    def __call__(self, x, *arguments):
        if (x if isinstance(x, int) else len(x)) > self.most:
            np.empty((10**7, 10**7))
        return self.function(x, *arguments)


def drawn(n, rng):
    return rng.normal(size=(n, 1))


@pytest.mark.parametrize("most", [0, 10])
@pytest.mark.parametrize("workers", [None, 2])
def test_a_score_that_exhausts_the_memory(most, workers):
    with pytest.raises(gs.ResourceError, match=r"score function.* ran out of memory \(Unable to allocate"):
        gs.ksd_test(X, Greedy(minus, most), workers=workers, rng=1)
    with pytest.raises(gs.ResourceError, match=r"log density function.* ran out of memory"):
        gs.ksd_test(X, gs.Model(logpdf=Greedy(lambda x: -0.5 * (x**2).sum(axis=1), most)), rng=1)


@pytest.mark.parametrize(
    "call",
    [
        gs.aggregated_test,
        partial(gs.equivalence_test, margin=0.5),
        gs.fssd_test,
        gs.regularised_test,
        lambda x, model, **options: gs.relative_ksd_test(x, minus, model, **options),
        lambda x, model, **options: gs.select(x, model, operators=[gs.Langevin()], **options),
        lambda x, model, rng: gs.stein_matrix(x, model),
        lambda x, model, rng: gs.audit(model, data=x, domain=gs.Box(-9, 9), rng=rng),
    ],
)
def test_every_test_says_so(call):
    with pytest.raises(gs.ResourceError, match=r"score function.* ran out of memory"):
        call(np.random.default_rng(0).normal(size=(100, 1)), Greedy(minus, 10), rng=1)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_sampler_that_exhausts_the_memory(workers):
    model = gs.Model(score=minus, sample=Greedy(drawn))
    with pytest.raises(gs.ResourceError, match=r"sampler of .* ran out of memory.*Use fewer workers"):
        gs.ksd_test(X, model, null=gs.MonteCarlo(19), workers=workers, audit=False, rng=1)


@dataclass(frozen=True)
class Wide(RadialKernel):
    """A kernel that runs out of memory where a tile is larger than a few rows."""

    def profiles(self, rho, order=2):
        if np.size(rho) > 2000:
            raise MemoryError
        return gs.Gaussian(self.length).profiles(rho, order)


@pytest.mark.parametrize("workers", [None, 2, ThreadPoolExecutor])
@pytest.mark.parametrize("call", [gs.ksd_test, gs.mmd_test, gs.aggregated_test])
def test_a_tile_that_exhausts_the_memory(workers, call):
    x = np.random.default_rng(0).normal(size=(1200, 1))
    named = {"kernels": [Wide(1.0)]} if call is gs.aggregated_test else {"kernel": Wide(1.0)}
    with ThreadPoolExecutor(2) as pool:
        given = pool if workers is ThreadPoolExecutor else workers
        with pytest.raises(gs.ResourceError, match=r"ran out of memory\. Data and model are as they were"):
            call(x, NULL, **named, workers=given, rng=1)


def test_a_fit_that_exhausts_the_memory_is_no_failure_of_the_fit():
    def fit(x):
        if not np.array_equal(x, X):
            raise MemoryError
        return Normal.fit(x)

    with pytest.raises(gs.ResourceError, match="ran out of memory"):
        gs.ksd_test(X, FITTED, null=gs.ParametricBootstrap(fit, 19), rng=1)


def test_a_study_that_exhausts_the_memory_goes_on(tmp_path):
    path, left = tmp_path / "study", [50]

    def hungry(data, model, *, rng):
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError
        return z_test(data, model, rng=rng)

    said = r" \| null \| z, trial \d+: memory is exhausted\. .* is in .*study.* goes on from there"
    with pytest.raises(gs.ResourceError, match=said):
        study({"z": hungry}, path=path)
    assert same(study({"z": hungry}, path=path), study())
    left[0] = 50
    with pytest.raises(gs.ResourceError, match="With `path` what is finished would be kept"):
        study({"z": hungry})


# --- disks ----------------------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("room", [20, 200, 600, 1000])
def test_a_full_disk_costs_nothing_that_was_finished(tmp_path, room):
    import resource

    path, whole = tmp_path / "study", study()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))  # in the middle of a file
    try:
        with pytest.raises(gs.ResourceError, match=r"cannot be written: File too large\. Make room"):
            study(path=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = {file.name: len(file.read_bytes()) for file in path.iterdir()}
    assert all(name.endswith(".json") and 0 < size <= room for name, size in kept.items())
    assert bool(kept) == (room > 200)
    assert same(study(path=path), whole)
    assert kept.keys() <= {file.name for file in path.iterdir()}


@pytest.mark.parametrize("write", [lambda path: study(path=path), lambda path: FOUND.to_csv(path)])
@pytest.mark.parametrize("path", [Path(os.devnull), 3, "", "a\0b", "a" * 300, b"\0"], ids=repr)
def test_what_no_file_can_be_called_is_refused(path, write):
    with pytest.raises(gs.InputError) as caught:
        write(path)
    assert caught.value.argument == "path"


def test_progress_that_nobody_reads_does_not_end_a_study(monkeypatch):
    with open(os.devnull, "w", encoding="utf-8") as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    assert same(study(progress=True), study())


def test_warnings_that_nobody_reads_do_not_end_a_test(tmp_path):
    out = script(
        tmp_path,
        """
        import sys
        import numpy as np
        import goodstein as gs

        x = np.cumsum(np.random.default_rng(1).normal(size=(200, 1)), axis=0)
        sys.stderr.close()
        result = gs.ksd_test(x, lambda x: -x / 100, null=gs.Spectral(99), rng=1)
        print(any("depend on each other" in note for note in result.notes))
        """,
    )
    assert out == "True\n"


def test_a_record_survives_a_change_of_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    def moving(data, model, *, rng):
        os.chdir(tmp_path / "elsewhere")
        return z_test(data, model, rng=rng)

    assert same(study({"z": moving}, path="study"), study())
    assert not list((tmp_path / "elsewhere").iterdir())
    assert same(study(path=tmp_path / "study"), study())


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    found, path = study(), tmp_path / "study.json"
    found.to_json(path)
    before = path.read_bytes()

    def full(self, *arguments, **options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(gs.ResourceError, match=r"study.json' cannot be written: No space left on device"):
            found.to_json(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["study.json"]
    with pytest.raises(gs.InputError, match="there is no folder"):
        found.to_csv(tmp_path / "nowhere" / "study.csv")


SHARES = gs.ksd_test(X, NULL, rng=1).contributions()


@pytest.mark.parametrize("write", [FOUND.to_csv, FOUND.to_json, SHARES.to_csv])
def test_writers_keep_what_was_there(tmp_path, monkeypatch, write):
    """On a full disk the old file stays; links are followed where they are the user's own, and modes kept."""
    path, link = tmp_path / "table", tmp_path / "link"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    link.symlink_to(path)

    def full(file):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(gs.ResourceError, match="No space left"):
            write(path)
    assert path.read_text(encoding="utf-8") == "old" and len(list(tmp_path.iterdir())) == 2
    text = write(link)
    assert (
        link.is_symlink()
        and path.read_text(encoding="utf-8") == text
        and path.stat().st_mode & 0o777 == 0o640
    )
    assert len(list(tmp_path.iterdir())) == 2


@POSIX
def test_a_temporary_name_that_is_taken_is_not_written_through(tmp_path, monkeypatch):
    """Somebody who guessed the name has put a link to a file of the user's in its place."""
    precious = tmp_path / "precious"
    precious.write_text("important", encoding="utf-8")
    monkeypatch.setattr("os.urandom", lambda count: bytes(count))
    (tmp_path / f".goodstein-{bytes(8).hex()}").symlink_to(precious)
    with pytest.raises(gs.ResourceError, match="File exists"):
        FOUND.to_csv(tmp_path / "table.csv")
    assert precious.read_text(encoding="utf-8") == "important" and not (tmp_path / "table.csv").exists()


@POSIX
def test_permissions_are_those_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        FOUND.to_csv(tmp_path / "table.csv")
    finally:
        os.umask(before)
    assert (tmp_path / "table.csv").stat().st_mode & 0o777 == 0o640


def test_words_that_a_spreadsheet_would_run_are_quoted(tmp_path):
    """Names of columns as well as values; numbers stay numbers."""
    table = gs.ksd_test({"=cmd|' /C calc'!A0": X[:, 0]}, NULL, rng=1).contributions()
    header, *lines = table.to_csv(tmp_path / "table.csv").splitlines()
    assert "'=cmd|" in header and ",=" not in header
    assert any(cell.startswith("-") for line in lines for cell in line.split(","))
    study = gs.power_study([gs.Cell(NULL, None, 9, name="@SUM(A1)")], {"+z": z_test}, trials=3)
    assert study.to_csv().splitlines()[1].startswith("'@SUM(A1),'+z,9,")


# --- two at once ----------------------------------------------------------------------------------


@POSIX
def test_studies_of_one_folder_do_each_other_no_harm(tmp_path):
    """Eight processes write to the same new folder at the same moment."""
    out = script(
        tmp_path,
        """
        import os, time
        import numpy as np
        import goodstein as gs
        from goodstein.families import Normal

        cell = gs.Cell(Normal(0, 1), Normal(0.5, 1), 9, name="shift")

        def mean(data, model, *, rng):
            return float(np.exp(-abs(data.mean())))

        def study(path=None):
            return gs.power_study([cell], {"mean": mean}, trials=40, bound=False, path=path)

        def good(found):
            return all((found.pvalues[key] == whole.pvalues[key]).all() for key in whole.pvalues)

        whole = study()
        for k in range(5):
            start, children = time.time() + 0.05, []
            for _ in range(8):
                child = os.fork()
                if not child:
                    code = 3
                    try:
                        time.sleep(max(0, start - time.time()))
                        code = 0 if good(study(f"{k}")) else 4
                    finally:
                        os._exit(code)
                children.append(child)
            codes = {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}
            assert codes == {0}, codes
            before = {name: open(f"{k}/{name}").read() for name in os.listdir(f"{k}")}
            assert len(before) == 2 and good(study(f"{k}"))  # no part is left, and each file is whole
            assert before == {name: open(f"{k}/{name}").read() for name in os.listdir(f"{k}")}
        print("good")
        """,
    )
    assert out == "good\n"


def test_a_study_inside_a_study_of_the_same_folder(tmp_path):
    path, inner = tmp_path / "study", []

    def nested(data, model, *, rng):
        if not inner:
            inner.append(True)
            assert same(study(path=path), study())
        return z_test(data, model, rng=rng)

    assert same(study({"z": nested}, path=path), study())
    assert same(study(path=path), study())


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: content[:-4] + bytes([content[-4] ^ 1]) + content[-3:],
        lambda content: content.partition(b"\n")[2],
        lambda content: b"\xff\n" + content,
    ],
)
def test_a_damaged_file_is_refused_and_left(tmp_path, damage):
    path = tmp_path / "study"
    study(path=path, bound=True, bound_draws=(200, 100))
    files = sorted(path.iterdir())
    assert len(files) == 3  # the null, the alternative, the bound
    for file in files:
        content = file.read_bytes()
        file.write_bytes(damage(content))
        with pytest.raises(gs.InputError, match=rf"{file.name}' is damaged.*Remove the file") as caught:
            study(path=path, bound=True, bound_draws=(200, 100))
        assert caught.value.argument == "path" and file.read_bytes() == damage(content)
        file.unlink()
        assert same(study(path=path), study())  # as the remedy said
        file.write_bytes(content)


# --- an audit that was switched off, or has much to look at ---------------------------------------


def test_nothing_is_drawn_where_the_audit_is_off():
    called = []

    def never(n, rng):
        called.append(n)
        raise AssertionError("the sampler was called")

    model = gs.Model(score=minus, sample=never, batched=True)
    null = gs.WildBootstrap(99)
    gs.ksd_test(X, model, null=null, rng=1)
    assert called
    called.clear()
    result = gs.ksd_test(X, model, null=null, rng=1, audit=False)
    assert result.pvalue == gs.ksd_test(X, minus, null=null, rng=1).pvalue
    assert not called


def chain(d):
    """Spins that are coupled to their neighbours, and exact draws."""
    coupling = np.diag(np.full(d - 1, 0.2), 1)
    rng = np.random.default_rng(1)
    same_sign = rng.random((100, d)) < 1 / (1 + np.exp(-0.4))
    same_sign[:, 0] = rng.random(100) < 0.5
    return gs.families.Ising(coupling + coupling.T), np.cumprod(np.where(same_sign, 1.0, -1.0), axis=1)


@pytest.mark.parametrize("audit", [True, False])
def test_the_audit_of_many_spins_looks_at_no_more_than_the_test_does(audit, monkeypatch):
    """No chains are drawn, and of all neighbours of all rows, n·d, only some of each column are looked at."""
    d, seen = 1000, []
    model, x = chain(d)
    weigh = gs.families.Ising._log_weight

    def counted(self, codes):
        seen.append(len(codes))
        return weigh(self, codes)

    monkeypatch.setattr(gs.families.Ising, "_log_weight", counted)
    monkeypatch.setattr(gs.families.Ising, "_gibbs", lambda *_: pytest.fail("chains were drawn"))
    result = gs.ksd_test(x, model, rng=1, audit=audit)
    assert result.audit.valid
    assert result.pvalue > 0.01
    assert sum(seen) <= 2 * d


def test_a_score_that_is_wrong_in_one_column_of_many_is_found():
    model, x = chain(1000)

    def score(x):
        values = model.score(x)
        values[:, 777] = np.minimum(values[:, 777] + 0.3, 1.0)
        return values

    broken = gs.Model(score=score, logpdf=model.logpdf, domain=model.domain)
    with pytest.raises(gs.SteinIdentityError, match="the score of column 777 is"):
        gs.ksd_test(x, broken, rng=1)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_facets_of_a_polytope_of_many_faces(spread, monkeypatch):
    """Against Qhull: a row is a facet if it is a vertex of the hull of the polar points."""
    from scipy.spatial import ConvexHull

    from goodstein.domains import polytope

    rng = np.random.default_rng(1)
    normals = rng.normal(size=(600, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    offsets = rng.uniform(1, 1 + spread, 600)
    domain = gs.Polytope(normals, offsets)
    rows, solve = [], polytope._solve

    def counted(objective, constraints, limits, **options):
        rows.append(len(constraints))
        return solve(objective, constraints, limits, **options)

    monkeypatch.setattr(polytope, "_solve", counted)
    faces = domain.faces(rng.uniform(-0.5, 0.5, size=(50, 3)), np.random.default_rng(1))
    expected = ConvexHull(normals / offsets[:, None]).vertices
    found = [int(face.name.split(":")[0].removeprefix("row ")) for face in faces]
    assert sorted(found) == sorted(expected)
    for i, face in zip(found, faces, strict=True):
        np.testing.assert_allclose(face.points @ normals[i], offsets[i], rtol=1e-9)
        assert (face.points @ normals.T <= offsets + 1e-9).all()
        middle = face.points + 0.5 * face.reach[:, None] * face.normals
        np.testing.assert_allclose(domain.boundary_distance(middle), 0.5 * face.reach, rtol=1e-6)
    # Programmes of all rows, one for each face, are what took so long.
    assert sum(rows) < 0.2 * 600**2
