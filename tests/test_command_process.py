"""The command line as a process: codes, pipes, an interruption, and what an import costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[1] / "src"
CALL = [sys.executable, "-W", "error", "-m", "goodstein.command.main"]


def environment():
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}


def run(*arguments, **options):
    return subprocess.run(
        [*CALL, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
        **options,
    )


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    np.savetxt(path, np.random.default_rng(0).normal(size=(50, 2)), delimiter=",", header="a,b", comments="")
    return path


def test_a_test_through_a_pipe_writes_nothing_but_its_result(data):
    done = run("test", "-", "normal:mean=0,0", "--seed", 1, input=data.read_text())
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Kernel Stein discrepancy test\n")


def test_bad_input_ends_with_two_and_one_line(data):
    done = run("test", data, "nromal")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "Did you mean 'normal'?" in done.stderr


def test_no_arguments_show_the_commands():
    done = run()
    assert done.returncode == 2 and "check" in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_went_away(data):
    call = [*CALL, "datasets"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        process.stdout.close()  # before anything is written
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_an_interruption_ends_with_130_and_leaves_nothing(data, tmp_path):
    slow = tmp_path / "slow.py"
    started = tmp_path / "started"
    slow.write_text(
        "import pathlib, time\n"
        "class Slow:\n"
        "    def score(self, x):\n"
        f"        pathlib.Path({str(started)!r}).touch()\n"
        "        time.sleep(60)\n"
        "model = Slow()\n"
    )
    report = tmp_path / "report.html"
    report.write_text("old")
    call = [*CALL, "check", str(data), f"{slow}:model", "--output", str(report)]
    process = subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    until = time.monotonic() + 30
    while not started.exists() and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and out == ""
    assert err.splitlines()[-1] == "goodstein: interrupted; nothing was written." and "Traceback" not in err
    assert report.read_text() == "old"
    left = {path.name for path in tmp_path.iterdir()} - {"__pycache__"}
    assert left == {"data.csv", "slow.py", "started", "report.html"}


UNUSED = {
    # other people's
    *("pandas", "polars", "pyarrow", "narwhals", "matplotlib", "jinja2", "tqdm", "scipy"),
    # and what of the library says more than a test does
    *(f"goodstein.{room}" for room in ("checking", "explain", "plot", "report", "power", "estimate")),
    "goodstein.tests_of_fit.aggregated",
    *(
        "goodstein.graphs",
        "goodstein.patterns.operator",
        "goodstein.datasets",
        "goodstein.survival.martingale",
    ),
}
"""What `goodstein test` must not import: a short test would take twice as long."""


def test_the_library_does_without_click_and_a_test_without_what_it_does_not_need(data):
    program = (
        "import sys, goodstein as gs; gs.ksd_test([[0.0], [1.0], [2.0]], gs.families.Normal()); "
        "assert 'click' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=environment(), timeout=60)
    program = (
        "import sys\nfrom goodstein.command.main import cli\n"
        f"try:\n    cli.main(['test', {str(data)!r}, 'normal:mean=0,0'])\nexcept SystemExit as end:\n"
        "    assert not end.code\n"
        f"assert not {UNUSED} & set(sys.modules), {UNUSED} & set(sys.modules)"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, env=environment(), timeout=60, capture_output=True
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("stream", ["> /dev/full", ">&-", "<&-"])
def test_streams_that_are_closed_or_full(stream):
    source = ["test", "-", "normal:mean=0,0"] if "<" in stream else ["datasets", "skye_lavas"]
    call = " ".join([*CALL, *source, stream])
    done = subprocess.run(call, shell=True, capture_output=True, text=True, env=environment(), timeout=60)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "standard" in done.stderr and "inside" not in done.stderr


def test_an_array_without_rows(tmp_path):
    np.save(tmp_path / "empty.npy", np.zeros((0, 2)))
    done = run("test", tmp_path / "empty.npy", "normal:mean=0,0")
    assert done.returncode == 2 and "no rows" in done.stderr
