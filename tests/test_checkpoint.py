"""A test that was interrupted goes on from its file, to the same bits; a file of another test is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

import goodstein as gs
from goodstein.engine import checkpoint as module
from goodstein.families import Normal
from goodstein.pipeline.identity import digest

X = np.random.default_rng(0).normal(size=(700, 2))
PLANE = Normal([0.0, 0.0])
FITTED = Normal.fit(X[:40])
CALLS = {
    "orthogonal": partial(gs.ksd_test, X, PLANE, rng=1),
    "iid": partial(gs.ksd_test, X, PLANE, null=gs.WildBootstrap(99, signs="iid"), rng=1),
    "simulated": partial(gs.ksd_test, X[:40], PLANE, null=gs.MonteCarlo(29), rng=1),
    "refitted": partial(gs.ksd_test, X[:40], FITTED, null=gs.ParametricBootstrap(None, 19), rng=1),
    "spectral": partial(gs.ksd_test, X, PLANE, null=gs.Spectral(99), rng=1),
    "tolerance": partial(gs.ksd_test, X, PLANE, tolerance=0.1, null=gs.WildBootstrap(99), rng=1),
    "censored": partial(
        gs.ksd_test,
        gs.Censored(np.arange(1, 61) / 20, np.arange(60) % 3 > 0),
        gs.families.Exponential(1.0),
        null=gs.WildBootstrap(99),
        rng=1,
    ),
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Progress is told, and files are written, after every piece."""
    monkeypatch.setattr("goodstein.engine.watching.PAUSE", 0.0)
    monkeypatch.setattr(module, "EVERY", 0.0)


def interrupt(done, total):
    if done >= 2:
        raise KeyboardInterrupt


def interrupted(call, path, **options):
    with pytest.raises(KeyboardInterrupt):
        call(checkpoint=path, progress=interrupt, **options)


def header(path):
    with np.load(path) as file:
        return json.loads(file["header"].tobytes())


def same(one, other):
    assert (one.pvalue, one.statistic) == (other.pvalue, other.statistic)
    np.testing.assert_array_equal(one.null_distribution, other.null_distribution)
    return True


def test_an_interrupted_test_goes_on_to_the_same_bits(tmp_path):
    for name in ("orthogonal", "iid", "simulated", "refitted"):
        path = tmp_path / name
        interrupted(CALLS[name], path)
        kept = sum(len(step["pieces"]) for step in header(path)["steps"])
        found = CALLS[name](checkpoint=path, workers=2)
        assert 0 < kept < sum(step["count"] for step in header(path)["steps"])
        assert same(found, CALLS[name](workers=1))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["iid", "orthogonal", "refitted", "simulated"]


@pytest.mark.parametrize("name", CALLS)
def test_a_file_changes_nothing_and_holds_the_whole_in_the_end(name, tmp_path, monkeypatch):
    path = tmp_path / "kept"
    plain = CALLS[name]()
    assert same(CALLS[name](checkpoint=str(path)), plain)
    assert all(len(step["pieces"]) == step["count"] > 0 for step in header(path)["steps"])
    known = module.Checkpoint(path)
    monkeypatch.setattr(known, "_now_and_then", lambda: pytest.fail("a piece was computed twice"))
    monkeypatch.setattr("goodstein.tests_of_fit.ksd.Checkpoint", lambda path: known)
    assert same(CALLS[name](checkpoint=path), plain)


def test_without_a_seed_that_of_the_file_is_taken(tmp_path):
    test = partial(gs.ksd_test, X[:100], PLANE, null=gs.WildBootstrap(19))
    first = test(checkpoint=tmp_path / "kept")
    assert same(test(checkpoint=tmp_path / "kept"), first)
    assert not np.array_equal(test().null_distribution, first.null_distribution)


def minus(x):
    return -x


def draws(x, rng, scale=1.0):
    return rng.normal(scale=scale, size=(x, 2))


OTHERS = {
    "the seed differs": partial(CALLS["simulated"], rng=2),
    "the data, the model differ": partial(gs.ksd_test, X[1:41], PLANE, null=gs.MonteCarlo(29), rng=1),
    "the model differs": partial(gs.ksd_test, X[:40], Normal([0.1, 0.0]), null=gs.MonteCarlo(29), rng=1),
    "the model, the settings differ": partial(CALLS["simulated"], operator=gs.Dilation()),
    "the settings differs": partial(CALLS["simulated"], kernel=gs.Gaussian(1.0)),
}


@pytest.mark.parametrize("said", OTHERS)
def test_the_work_of_another_test_is_refused(said, tmp_path):
    path = tmp_path / "kept"
    interrupted(CALLS["simulated"], path)
    before = path.read_bytes()
    with pytest.raises(gs.InputError, match=rf"`checkpoint`: .*kept holds .* another test: {said}\. Pass"):
        OTHERS[said](checkpoint=path)
    assert path.read_bytes() == before


def test_a_sampler_that_has_changed_behind_the_same_score_is_found(tmp_path):
    """One piece is computed anew, which finds what no description of a function tells."""
    path = tmp_path / "kept"

    def test(scale, **options):
        model = gs.Model(score=minus, sample=partial(draws, scale=scale), batched=True, name="mine")
        return gs.ksd_test(X[:40], model, null=gs.MonteCarlo(29), audit=False, rng=1, **options)

    interrupted(partial(test, 1.0), path)
    with pytest.raises(gs.InputError, match="the model, its sampler or the machine's arithmetic differs"):
        test(1.1, checkpoint=path)
    assert same(test(1.0, checkpoint=path), test(1.0))


def test_other_versions_and_broken_files_are_refused(tmp_path):
    path = tmp_path / "kept"
    interrupted(CALLS["simulated"], path)
    whole = path.read_bytes()
    found = header(path)
    found["identity"]["the versions of packages"] = "goodstein 0.0.1"
    with np.load(path) as file:
        values = file["values"]
    with path.open("wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps(found).encode(), np.uint8), values=values)
    with pytest.raises(gs.InputError, match="another test: the versions of packages differs"):
        CALLS["simulated"](checkpoint=path)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    for content in (whole[: len(whole) // 2], b"", b"my thesis", bytes(damaged)):
        path.write_bytes(content)
        with pytest.raises(gs.InputError, match=r"kept cannot be read as a checkpoint of this version"):
            CALLS["simulated"](checkpoint=path)
        assert path.read_bytes() == content
    np.savez(tmp_path / "array.npz", x=X)
    with pytest.raises(gs.InputError, match=r"array.npz cannot be read as a checkpoint"):
        CALLS["simulated"](checkpoint=tmp_path / "array.npz")


@pytest.mark.parametrize("path", [3, b"kept", True, "", X], ids=str)
def test_paths_that_are_none_are_refused(path):
    with pytest.raises(gs.InputError, match="`checkpoint` must be None or the path of a file"):
        CALLS["orthogonal"](checkpoint=path)


def test_paths_that_cannot_be_written_are_refused_before_the_work(tmp_path, monkeypatch):
    with pytest.raises(gs.InputError, match="is a folder"):
        CALLS["orthogonal"](checkpoint=tmp_path)
    with pytest.raises(gs.InputError, match="in a folder that does not exist"):
        CALLS["orthogonal"](checkpoint=tmp_path / "no" / "kept")

    def full(file, **arrays):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    told = []
    with pytest.raises(gs.InputError, match=r"kept cannot be written \(No space left on device\)"):
        CALLS["orthogonal"](checkpoint=tmp_path / "kept", progress=lambda *now: told.append(now))
    assert told[-1][0] == 0 and not list(tmp_path.iterdir())


def test_a_disk_that_is_full_later_costs_no_result_and_no_file(tmp_path, monkeypatch):
    """A writing that fails half-way leaves what there was."""
    savez, path, sizes = np.savez, tmp_path / "kept", []

    def full(file, **arrays):
        if sizes:
            assert path.read_bytes() == sizes[0]
            file.write(b"half a file")
            raise OSError(28, "No space left on device")
        savez(file, **arrays)
        sizes.append(None)

    monkeypatch.setattr(np, "savez", full)
    replace = type(path).replace
    monkeypatch.setattr(
        type(path), "replace", lambda part, to: sizes.__setitem__(0, part.read_bytes()) or replace(part, to)
    )
    with pytest.warns(RuntimeWarning, match=r"kept could not be written \(No space left.* work goes on"):
        found = CALLS["orthogonal"](checkpoint=path)
    assert same(found, CALLS["orthogonal"]())
    assert [file.name for file in tmp_path.iterdir()] == ["kept"]
    monkeypatch.undo()
    assert same(CALLS["orthogonal"](checkpoint=path), found)


SCRIPT = """
    import os, signal, sys, threading, time
    import numpy as np
    import goodstein as gs
    from goodstein.engine import checkpoint

    def minus(x):
        return -x

    calls = []

    def sample(n, rng):
        calls.append(n)
        if os.path.exists("slow"):  # ever more, so that it is not over before anybody stops it
            time.sleep(0.01 if len(calls) < 20 else 0.1)
        return rng.normal(size=(n, 1))

    checkpoint.EVERY = 0.05
    x = np.random.default_rng(0).normal(size=(20, 1))
    model = gs.Model(score=minus, sample=sample, name="mine")
    found = gs.ksd_test(x, model, null=gs.MonteCarlo(499), audit=False, rng=1, checkpoint="kept", workers=2)
    print(repr(found.pvalue), found.null_distribution.tobytes().hex())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_process_that_is_stopped_or_killed_leaves_a_good_file(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    start = partial(
        subprocess.Popen, [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    path, slow, kept = tmp_path / "kept", tmp_path / "slow", 0
    slow.touch()
    for stop in (signal.SIGINT, signal.SIGKILL):
        with start(cwd=tmp_path) as process:
            while not path.exists() or done(path) < kept + 3:
                time.sleep(0.01)
                assert process.poll() is None
            process.send_signal(stop)
            assert process.wait() != 0
        assert kept + 3 <= done(path) < 51  # ten samples a piece
        kept = done(path)
    slow.unlink()
    found = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    path.unlink()
    whole = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout == whole.stdout != ""


def done(path):
    return sum(len(step["pieces"]) for step in header(path)["steps"])


def test_what_a_test_is_of_does_not_depend_on_memory_or_order():
    @dataclass
    class Own:
        values: np.ndarray
        options: dict

    one = Own(np.arange(6.0).reshape(2, 3), {"a": 1, "b": [minus, None]})
    two = Own(np.asfortranarray(one.values), {"b": [minus, None], "a": 1})
    assert digest(one) == digest(two)
    others = [Own(one.values.T, one.options), Own(one.values, {"a": 2}), Own(one.values + 1e-16, {"a": 1})]
    assert len({digest(own) for own in (one, *others)}) == 4
