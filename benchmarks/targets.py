"""The measurements behind each target; every function yields rows of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import psutil
from peers import coreax_value, stein_thinning_test
from reference import full_matrix_test, matrix_product, per_draw_test
from report import Bound, Row
from scaling import exponents
from simulated import simulated_nulls
from subjects import SEED, aggregated, engine, points, public, v_statistic
from timing import (
    Action,
    Ratio,
    by_turns,
    command_seconds,
    peak_megabytes,
    ratio,
    ratio_of_minima,
    seconds_and_megabytes,
    with_blas,
)

import goodstein as gs

D = 10
IMQ = gs.IMQ(1.0)
GAUSSIAN = gs.Gaussian(3.0)


@dataclass(frozen=True)
class Sizes:
    """How large the problems are and how often they are measured."""

    draws: int = 1000
    many_draws: int = 10_000
    small: int = 200
    medium: int = 4000
    large: tuple[int, ...] = (8000, 10_000)
    memory: int = 30_000
    huge: int = 100_000
    largest: int = 200_000
    linear: int = 1_000_000
    rounds: int = 9
    slow_rounds: int = 5
    slowest_rounds: int = 3
    least: float = 0.2


QUICK = Sizes(
    draws=200,
    many_draws=1000,
    medium=1000,
    large=(1500,),
    memory=2000,
    huge=6000,
    largest=8000,
    linear=20_000,
    rounds=2,
    slow_rounds=2,
    slowest_rounds=2,
    least=0.02,
)


@dataclass(frozen=True)
class Plan:
    """What every measurement needs to know."""

    sizes: Sizes
    threads: int
    progress: Callable[[str], None]


def close(ours: float, theirs: float, who: str) -> None:
    """Raise unless two statistics agree: nothing is timed that computes something else."""
    if not math.isclose(ours, theirs, rel_tol=1e-10):
        raise AssertionError(f"{who} has the statistic {theirs!r}, goodstein {ours!r}.")


def limits(plan: Plan) -> Iterator[Row]:
    """Targets 1, 2 and 4: the bootstrap against the matrix product, and two threads against one."""
    n = plan.sizes.medium
    yield from _against_limit(plan, n, 3, IMQ)
    yield from _against_limit(plan, n, D, IMQ, one_thread=True, through_api=True)
    yield from _against_limit(plan, n, D, GAUSSIAN, through_api=True)
    yield from _against_limit(plan, n, 50, IMQ)
    for n in plan.sizes.large:
        yield from _against_limit(plan, n, D, IMQ, one_thread=True, through_api=True)
    yield from _against_limit(plan, plan.sizes.large[0], D, GAUSSIAN)


def _against_limit(
    plan: Plan, n: int, d: int, kernel: Any, *, one_thread: bool = False, through_api: bool = False
) -> Iterator[Row]:
    label = type(kernel).__name__
    plan.progress(f"sgemm, iid, orthogonal and statistic alone: n={n}, d={d}, {label}")
    sizes, x = plan.sizes, points(n, d)
    counts = [1, plan.threads] if one_thread and plan.threads > 1 else [plan.threads]
    actions: dict[str, Action] = {}
    for t in counts:
        actions[f"sgemm{t}"] = matrix_product(n, sizes.draws, t)
        for scheme in ("iid", "orthogonal"):
            actions[f"{scheme}{t}"] = engine(x, kernel, scheme, sizes.draws, t)
        actions[f"statistic{t}"] = engine(x, kernel, None, sizes.draws, t)
    rules = {"fixed bandwidth": kernel, "median rule": type(kernel)()} if through_api else {}
    for rule, chosen in rules.items():
        for scheme in ("iid", "orthogonal"):
            actions[f"{scheme} {rule}"] = public(x, chosen, scheme, sizes.draws, plan.threads)
    rounds = sizes.rounds if n <= sizes.medium else sizes.slow_rounds
    times = by_turns(actions, rounds, least=sizes.least)

    case = f"n={n}, d={d}, {label}"
    asked = Bound(2.5 if d == 50 else 1.7)
    is_large = n > sizes.medium and d == D
    for t in counts:
        with_threads = case if t == plan.threads else f"{case}, one thread"
        limit = times[f"sgemm{t}"]
        iid, orthogonal, alone = (times[f"{name}{t}"] for name in ("iid", "orthogonal", "statistic"))
        yield Row("1", f"engine iid ÷ sgemm, {with_threads}", ratio(iid, limit), asked)
        share = Bound(0.65) if is_large else None
        yield Row("2", f"engine orthogonal ÷ sgemm, {with_threads}", ratio(orthogonal, limit), share)
        extra = Bound(1.35) if is_large else None
        yield Row(
            "2", f"engine orthogonal ÷ statistic alone, {with_threads}", ratio(orthogonal, alone), extra
        )
    limit = times[f"sgemm{plan.threads}"]
    for rule in rules:
        yield Row("1", f"ksd_test iid ÷ sgemm, {case}, {rule}", ratio(times[f"iid {rule}"], limit), asked)
        share = Bound(0.65) if is_large else None
        what = f"ksd_test orthogonal ÷ sgemm, {case}, {rule}"
        yield Row("2", what, ratio(times[f"orthogonal {rule}"], limit), share)
    if len(counts) == 2:
        for name, bound in (
            ("iid", Bound(1.6, at_least=True)),
            ("orthogonal", Bound(1.6, at_least=True)),
            ("statistic", Bound(1.6, at_least=True)),
            ("sgemm", None),
        ):
            gain = ratio(times[f"{name}1"], times[f"{name}{plan.threads}"])
            yield Row("4", f"{name}, one thread ÷ {plan.threads} threads, {case}", gain, bound)


def plain_versions(plan: Plan) -> Iterator[Row]:
    """Target 3: against a loop per draw and against a full matrix."""
    sizes, threads = plan.sizes, plan.threads
    n, draws = sizes.medium, sizes.draws
    x = points(n, D)
    plan.progress(f"plain NumPy, full matrix: n={n}")
    full = with_blas(threads, lambda: full_matrix_test(x, -x, draws))
    close(engine(x, IMQ, None, 0, threads)()[0], full()[0], "full_matrix_test")
    ours = {scheme: engine(x, IMQ, scheme, draws, threads) for scheme in ("iid", "orthogonal")}
    times = by_turns({"full": full, **ours}, sizes.slow_rounds, least=sizes.least)
    for scheme, least in (("iid", 4), ("orthogonal", 11)):
        gain = ratio(times["full"], times[scheme])
        yield Row("3", f"full matrix ÷ engine {scheme}, n={n}", gain, Bound(least, at_least=True))

    plan.progress(f"plain NumPy, loop per draw: n={n}")
    loop = with_blas(threads, lambda: per_draw_test(x, -x, draws, 3.0))
    reference = per_draw_test(x, -x, 1, 3.0)[0]
    close(engine(x, GAUSSIAN, None, 0, threads)()[0], reference, "per_draw_test")
    ours = {scheme: engine(x, GAUSSIAN, scheme, draws, threads) for scheme in ("iid", "orthogonal")}
    for action in ours.values():
        action()
    times = by_turns({"loop": loop, **ours}, sizes.slowest_rounds, least=sizes.least, warm=False)
    for scheme, least in (("iid", 30), ("orthogonal", 80)):
        gain = ratio(times["loop"], times[scheme])
        yield Row("3", f"loop per draw ÷ engine {scheme}, n={n}, Gaussian", gain, Bound(least, at_least=True))


_IMPORT_AND_DATA = f"""
import numpy as np
import goodstein as gs
x = np.random.default_rng({SEED}).standard_normal(({{n}}, {{d}}))
"""

_TEST = """
null = gs.WildBootstrap({draws}, signs="{scheme}")
gs.ksd_test(x, gs.families.Normal(np.zeros({d})), null=null, rng=1)
"""


def memory(plan: Plan) -> Iterator[Row]:
    """Target 5: peak memory above what the interpreter, the imports and the data take."""
    n, draws = plan.sizes.memory, plan.sizes.draws
    before = _IMPORT_AND_DATA.format(n=n, d=D)
    for scheme in ("orthogonal", "iid"):
        plan.progress(f"peak memory: n={n}, {scheme}")
        after = before + _TEST.format(draws=draws, scheme=scheme, d=D)
        used = [peak_megabytes(after) - peak_megabytes(before) for _ in range(2)]
        peak = Ratio(max(used), min(used), max(used))
        yield Row("5", f"peak memory of ksd_test, {scheme}, n={n}", peak, Bound(200, unit="MB"), unit="MB")


def start_up(plan: Plan) -> Iterator[Row]:
    """Target 6: a test from the shell, and the time of the import."""
    plan.progress("start-up from the shell")
    test = _IMPORT_AND_DATA + _TEST
    codes = {
        "bare": "pass",
        "numpy": "import numpy",
        "goodstein": "import goodstein",
        "test": test.format(n=plan.sizes.small, d=D, draws=plan.sizes.draws, scheme="orthogonal"),
    }
    for code in codes.values():
        command_seconds(code)
    rounds = 2 * plan.sizes.rounds
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(rounds):
        for name, code in codes.items():
            times[name].append(command_seconds(code))
    bare = min(times["bare"])
    net = {name: [t - bare for t in times[name]] for name in ("numpy", "goodstein")}
    imports = ratio_of_minima(net["goodstein"], net["numpy"])
    yield Row(
        "6",
        "import goodstein ÷ import numpy, CPU time beyond that of the bare interpreter",
        imports,
        Bound(1.5),
    )
    whole = ratio_of_minima(times["test"], times["numpy"])
    yield Row("6", f"shell test, n={plan.sizes.small} ÷ shell import numpy, CPU time", whole)
    seconds = Ratio(min(times["test"]), min(times["test"]), max(times["test"]))
    what = f"shell test, n={plan.sizes.small}, CPU time"
    yield Row("6", what, seconds, Bound(0.3, unit="s"), unit="s", judged=False)


def small_tests(plan: Plan) -> Iterator[Row]:
    """Target 7: many small tests in one process."""
    sizes = plan.sizes
    n, draws = sizes.small, sizes.draws
    plan.progress(f"small tests: n={n}")
    x = points(n, D)
    close(engine(x, GAUSSIAN, None, 0, None)()[0], per_draw_test(x, -x, 1, 3.0)[0], "per_draw_test")
    loop = with_blas(plan.threads, lambda: per_draw_test(x, -x, draws, 3.0))
    ours: dict[str, Action] = {}
    for scheme in ("iid", "orthogonal"):
        ours[f"engine {scheme}, Gaussian"] = engine(x, GAUSSIAN, scheme, draws, None)
        ours[f"ksd_test {scheme}, Gaussian"] = public(x, GAUSSIAN, scheme, draws, None)
        ours[f"ksd_test {scheme}, IMQ"] = public(x, IMQ, scheme, draws, None)
        ours[f"ksd_test {scheme}, IMQ, median rule"] = public(x, None, scheme, draws, None)
    times = by_turns({"loop": loop, **ours}, sizes.rounds, least=sizes.least)
    for name in ours:
        gain = ratio(times["loop"], times[name])
        yield Row("7", f"loop per draw ÷ {name}, n={n}", gain, Bound(20, at_least=True))
    for name in ours:
        spent = [1e3 * t for t in times[name]]
        measured = Ratio(median(spent), min(spent), max(spent))
        yield Row("7", f"one {name}, n={n}", measured, Bound(2, unit="ms"), unit="ms", judged=False)


def growth(plan: Plan) -> Iterator[Row]:
    """Target 8: a hundred thousand points and more."""
    sizes = plan.sizes
    plan.progress(f"orthogonal at n={sizes.memory} and n={sizes.huge}: this takes minutes")
    actions = {
        str(n): engine(points(n, D), IMQ, "orthogonal", sizes.draws, plan.threads)
        for n in (sizes.memory, sizes.huge)
    }
    times = by_turns(actions, 2, least=sizes.least, warm=False)
    what = f"engine orthogonal, n={sizes.huge} ÷ n={sizes.memory}"
    yield Row("8", what, ratio(times[str(sizes.huge)], times[str(sizes.memory)]), Bound(12))
    for n in (sizes.huge, sizes.largest):
        plan.progress(f"time and peak memory: n={n}")
        before = _IMPORT_AND_DATA.format(n=n, d=D)
        test = _TEST.format(draws=sizes.draws, scheme="orthogonal", d=D)
        seconds, peak = seconds_and_megabytes(before, test)
        used = peak - peak_megabytes(before)
        yield Row("8", f"one ksd_test, orthogonal, n={n}", Ratio(seconds, seconds, seconds), unit="s")
        what = f"peak memory of ksd_test, orthogonal, n={n}"
        yield Row("8", what, Ratio(used, used, used), unit="MB")


_LINEAR = {
    "ksd_test by Nystrom()": "gs.ksd_test(x, model, approximate=gs.Nystrom(), rng=1)",
    "fssd_test": "gs.fssd_test(x, model, rng=1)",
    "Monitor": "gs.Monitor(model, rng=1).update(x)",
}


def near_linear(plan: Plan) -> Iterator[Row]:
    """Target 12: a million points in two minutes and a gigabyte, all that the process takes."""
    n = plan.sizes.linear
    before = _IMPORT_AND_DATA.format(n=n, d=D) + f"model = gs.families.Normal(np.zeros({D}))\n"
    for name, code in _LINEAR.items():
        plan.progress(f"{name}: n={n}")
        seconds, peak = seconds_and_megabytes(before, code)
        time, memory = Bound(120, unit="s"), Bound(1000, unit="MB")
        yield Row("12", f"one {name}, n={n}", Ratio(seconds, seconds, seconds), time, unit="s", judged=False)
        yield Row("12", f"peak memory of all, {name}, n={n}", Ratio(peak, peak, peak), memory, unit="MB")


def many_draws(plan: Plan) -> Iterator[Row]:
    """Target 9: ten thousand draws."""
    sizes = plan.sizes
    n, draws = sizes.medium, sizes.many_draws
    plan.progress(f"B={draws}: n={n}")
    x = points(n, D)
    actions = {scheme: engine(x, IMQ, scheme, draws, plan.threads) for scheme in ("orthogonal", "iid")}
    times = by_turns(actions, sizes.slow_rounds, least=sizes.least)
    share = ratio(times["orthogonal"], times["iid"])
    yield Row("9", f"engine orthogonal ÷ iid, B={draws}, n={n}", share, Bound(0.15))


def collections(plan: Plan) -> Iterator[Row]:
    """Target 10: ten bandwidths in one aggregated test, against one test."""
    sizes = plan.sizes
    n = sizes.medium
    x = points(n, D)
    scales = [2.0 ** (k / 2) for k in range(-6, 4)]
    for family in (gs.Gaussian, gs.IMQ):
        plan.progress(f"ten bandwidths, {family.__name__}: n={n}")
        kernels = [family(gs.Median(scale)) for scale in scales]
        actions: dict[str, Action] = {}
        counts = sorted({1, plan.threads})
        for t in counts:
            actions[f"one{t}"] = public(x, family(), "orthogonal", sizes.draws, t)
            actions[f"ten{t}"] = aggregated(x, kernels, sizes.draws, t)
        times = by_turns(actions, sizes.slow_rounds, least=sizes.least)
        for t in counts:
            threads = "one thread" if t == 1 else f"{t} threads"
            what = f"aggregated_test of ten bandwidths ÷ one ksd_test, n={n}, {family.__name__}, {threads}"
            yield Row("10", what, ratio(times[f"ten{t}"], times[f"one{t}"]), Bound(3))


def growing(plan: Plan) -> Iterator[Row]:
    """Target 11: exponents."""
    sizes = plan.sizes
    steps = tuple(sizes.medium // part for part in (4, 2, 1)) + sizes.large[:1]
    yield from exponents(steps, plan.threads, sizes.slow_rounds, sizes.least, plan.progress)


def simulating(plan: Plan) -> Iterator[Row]:
    """Target 13: simulated null distributions of whole collections."""
    yield from simulated_nulls(plan.threads, plan.sizes.slow_rounds, plan.sizes.least, plan.progress)


def dask_workers(plan: Plan) -> Iterator[Row]:
    """Processes of a local Dask cluster against as many threads, the same numbers in the end."""
    n = 5 * plan.sizes.medium
    plan.progress(f"Dask: n={n}")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        yield Row("dask", "two Dask workers", None, remark="not available")
        return
    x = points(n, D)
    workers = plan.threads
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        actions = {
            "dask": public(x, IMQ, "orthogonal", plan.sizes.draws, client),
            "threads": public(x, IMQ, "orthogonal", plan.sizes.draws, workers),
        }
        if actions["dask"]().pvalue != actions["threads"]().pvalue:
            raise AssertionError("Dask gives another p-value than threads.")
        times = by_turns(actions, plan.sizes.slowest_rounds, least=plan.sizes.least)
    what = f"ksd_test on {workers} Dask workers ÷ {workers} threads, n={n}, wall time"
    yield Row("dask", what, ratio(times["dask"], times["threads"]), Bound(1.25))


def peer_packages(plan: Plan) -> Iterator[Row]:
    """Packages of others, with the number of threads that they choose."""
    sizes = plan.sizes
    # The matrix of stein-thinning takes some 300 bytes an entry on the way.
    fits = 300 * sizes.medium**2 < psutil.virtual_memory().available / 2
    n = sizes.medium if fits else sizes.medium // 2
    x = points(n, D)
    value = v_statistic(engine(x, IMQ, None, 0, plan.threads)()[0], x, IMQ)
    plan.progress(f"stein-thinning: n={n}")
    try:
        theirs = stein_thinning_test(x, -x, sizes.draws)
    except ImportError:
        yield Row("peers", "stein-thinning", None, remark="not available")
    else:
        close(value, theirs(), "stein-thinning")
        actions = {
            "theirs": theirs,
            "iid": engine(x, IMQ, "iid", sizes.draws, plan.threads),
            "orthogonal": engine(x, IMQ, "orthogonal", sizes.draws, plan.threads),
        }
        times = by_turns(actions, sizes.slowest_rounds, least=sizes.least, warm=False)
        for scheme in ("iid", "orthogonal"):
            what = f"stein-thinning's matrix and a bootstrap ÷ engine {scheme}, n={n}"
            yield Row("peers", what, ratio(times["theirs"], times[scheme]))
    plan.progress(f"coreax: n={n}")
    try:
        theirs = coreax_value(x)
    except ImportError:
        yield Row("peers", "coreax", None, remark="not available")
    else:
        close(value, theirs(), "coreax")
        actions = {"theirs": theirs, "statistic": engine(x, IMQ, None, 0, plan.threads)}
        times = by_turns(actions, sizes.slow_rounds, least=sizes.least)
        what = f"coreax's discrepancy, compiled ÷ engine, statistic alone, n={n}"
        yield Row("peers", what, ratio(times["theirs"], times["statistic"]))


MEASUREMENTS: dict[Callable[[Plan], Iterator[Row]], tuple[str, ...]] = {
    # Memory and start-up come first, before this process has grown.
    memory: ("5",),
    start_up: ("6",),
    small_tests: ("7",),
    limits: ("1", "2", "4"),
    many_draws: ("9",),
    collections: ("10",),
    plain_versions: ("3",),
    growth: ("8",),
    near_linear: ("12",),
    growing: ("11",),
    simulating: ("13",),
    dask_workers: ("dask",),
    peer_packages: ("peers",),
}
"""Every measurement with the targets that it is about, in the order in which they are made."""
