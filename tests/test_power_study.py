"""The power harness: what it counts, what it depends on, how it goes on after an interruption."""

from __future__ import annotations

import csv
import io
import json
import threading
import zlib
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, binomtest, norm

import goodstein as gs
from goodstein.families import Dirichlet, Exponential, Normal, Weibull
from goodstein.power import Rate
from goodstein.power.rates import rejections, size_mark, wilson
from goodstein.power.runner import Runner
from goodstein.power.trials import CHUNK, FIRST, fingerprint

NULL = Normal(0, 1)
DRAWS = (2000, 500)


def z_test(data, model, *, rng):
    """One-sided test of the mean: most powerful against larger means."""
    return float(ndtr(-np.sqrt(len(data)) * data.mean()))


def coin(data, model, *, rng):
    """A test that looks only at its own random numbers."""
    return rng.random()


TESTS = {"z": z_test, "coin": coin}


def shift(mean, n=9, **options):
    return gs.Cell(NULL, Normal(mean, 1), n, **{"name": f"shift {mean:g}", "effect": mean, **options})


def study(cells=None, tests=TESTS, **options):
    options = {"trials": 40, "bound_draws": DRAWS, **options}
    return gs.power_study([shift(0.5), shift(1.0)] if cells is None else cells, tests, **options)


def same(one, other) -> bool:
    """Whether two studies have the same p-values."""
    return one.pvalues.keys() == other.pvalues.keys() and all(
        np.array_equal(one.pvalues[key], other.pvalues[key]) for key in one.pvalues
    )


# --- rates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(("count", "trials"), [(0, 10), (1, 10), (5, 10), (10, 10), (26, 500), (499, 500)])
def test_wilson_is_that_of_scipy(count, trials, confidence):
    expected = binomtest(count, trials).proportion_ci(confidence, method="wilson")
    assert wilson(count / trials, trials, confidence) == pytest.approx(tuple(expected), abs=1e-12)


def test_a_pvalue_that_is_the_level_but_for_rounding_is_a_rejection():
    assert rejections([0.05, 0.05 + 1e-12, 1 - 0.95, 0.0500001], 0.05) == 3
    found = study([shift(0.5)], {"edge": lambda data, model, *, rng: 1 - 0.95}, bound=False, trials=5)
    assert found.power("shift 0.5", "edge").value == 1.0


def test_sizes_are_marked_where_the_binomial_distribution_says_so():
    lower, upper = binom.ppf([0.0005, 0.9995], 500, 0.05)
    assert [size_mark(count, 500, 0.05) for count in (lower - 1, lower, upper, upper + 1)] == [
        "↓",
        "",
        "",
        "↑",
    ]


# --- what is measured -----------------------------------------------------------------------------


def test_power_size_and_bound_of_a_test_that_is_known():
    found = study(tests={"z": z_test}, trials=800, level=(0.05, 0.01), bound_draws=(8000, 4000))
    for effect in (0.5, 1.0):
        name = f"shift {effect:g}"
        for level in (0.05, 0.01, 0.2):  # p-values are kept, so any level can be asked
            expected = norm.cdf(3 * effect - norm.isf(level))
            for rate in (found.power(name, "z", level), found.bound(name, level)):
                low, high = rate.interval
                assert rate.value - 2.1 * (rate.value - low) <= expected
                assert expected <= rate.value + 2.1 * (high - rate.value)
            assert binomtest(round(found.size(name, "z", level).value * 800), 800, level).pvalue > 1e-4
        assert found.of_bound(name, "z") == pytest.approx(1.0, abs=0.08)
    assert found.size("shift 0.5", "z").value == found.size("shift 1", "z").value  # one null, one n
    assert float(found.power("shift 1", "z")) == found.power("shift 1", "z").value


def test_draws_are_seeded_by_names_and_numbers_alone():
    seen = {}

    def spy(data, model, *, rng):
        seen[len(seen)] = data
        return 0.5

    study([shift(0.5)], {"spy": spy}, trials=5, bound=False, size=False, seed=7)
    name = zlib.crc32(b"shift 0.5|alternative")
    for k in range(FIRST):
        expected = Normal(0.5, 1).sample(9, np.random.default_rng([7, name, k]))
        np.testing.assert_array_equal(seen[k], expected)


def test_a_trial_depends_on_no_other_test_or_cell():
    whole = study()
    for cells, tests in (
        ([shift(1.0)], {"coin": coin}),
        ([shift(1.0), shift(0.5)], {"coin": coin, "z": z_test}),
    ):
        part = study(cells, tests, trials=25)
        for key, values in part.pvalues.items():
            np.testing.assert_array_equal(values, whole.pvalues[key][:25])
        assert part.bound("shift 1").value == whole.bound("shift 1").value
    assert not same(whole, study(seed=1))


def test_tests_see_the_same_draws_and_cannot_spoil_them():
    def spoils(data, model, *, rng):
        data[:] = 100.0
        return 0.5

    alone = study(tests={"z": z_test})
    after = study(tests={"spoils": spoils, "z": z_test})
    for key, values in alone.pvalues.items():
        np.testing.assert_array_equal(values, after.pvalues[key])


def test_cells_share_the_size_of_their_null():
    calls = []

    def counted(data, model, *, rng):
        calls.append(1)
        return 0.5

    study([shift(0.1), shift(0.2), shift(0.2, n=12, name="more")], {"t": counted}, trials=10, bound=False)
    assert len(calls) == (3 + 2) * 10  # three alternatives, nulls with n = 9 and n = 12
    calls.clear()
    study([shift(0.1)], {"t": counted}, trials=10, bound=False, size=False)
    assert len(calls) == 10


def test_results_of_any_kind_are_understood():
    tests = {
        "goodstein": partial(gs.ksd_test, null=gs.WildBootstrap(99)),
        "scipy": lambda data, model, *, rng: SimpleNamespace(pvalue=np.float64(0.25)),
        "array": lambda data, model, *, rng: np.array(0.75),
        "number": lambda data, model, *, rng: 1,
    }
    found = study([shift(0.5)], tests, trials=4, bound=False, size=False)
    first = [found.pvalues["shift 0.5", "alternative", name][0] for name in tests]
    assert first[1:] == [0.25, 0.75, 1.0]
    data = Normal(0.5, 1).sample(9, np.random.default_rng([0, zlib.crc32(b"shift 0.5|alternative"), 0]))
    rng = np.random.default_rng([0, zlib.crc32(b"goodstein|shift 0.5|alternative"), 0])
    assert first[0] == gs.ksd_test(data, NULL, null=gs.WildBootstrap(99), rng=rng).pvalue


def test_laws_that_are_functions_and_laws_with_censoring():
    durations = gs.Cell(Exponential(1), Weibull(1, 3), 60, name="ageing", censoring=Exponential(2), level=0.1)
    functions = gs.Cell(
        lambda x: -x,
        lambda n, rng: rng.normal(1.0, size=(n, 1)),
        20,
        name="score",
        sample_null=lambda n, rng: rng.normal(size=(n, 1)),
        log_ratio=lambda x: x.sum(),
    )
    nothing = gs.Cell(Dirichlet([1, 1, 1]), None, 10, name="size only")
    found = study(
        [durations, functions, nothing], {"KSD": partial(gs.ksd_test, null=gs.WildBootstrap(99))}, trials=20
    )
    assert found.power("ageing", "KSD").value > 0.5
    assert found.power("score", "KSD").value > 0.5
    expected = norm.cdf(np.sqrt(20) - norm.isf(0.05))
    assert found.bound("score").interval[0] - 0.01 <= expected
    assert found.bound("ageing").value > found.power("ageing", "KSD").value - 0.2
    assert found.level("ageing") == 0.1
    assert found.bound("size only") is None
    assert found.best("size only") is None
    assert found.size("size only", "KSD").trials == 20


def test_a_cell_without_ratio_has_no_bound():
    found = study([gs.Cell(NULL, lambda n, rng: rng.normal(size=n), 9, name="function")])
    assert found.bound("function") is None
    assert np.isnan(found.of_bound("function", "z"))
    assert "Neyman" not in found.to_markdown()


def test_only_tests_that_apply_are_run():
    found = study([shift(0.5, tests=["z"]), shift(1.0)])
    assert {(cell, test) for cell, _, test in found.pvalues} == {
        ("shift 0.5", "z"),
        ("shift 1", "z"),
        ("shift 1", "coin"),
    }
    assert len(found.table()) == 3
    assert "| shift 0.5 |" in found.to_markdown()


# --- where it runs --------------------------------------------------------------------------------

KSD = {
    "KSD": partial(gs.ksd_test, null=gs.WildBootstrap(49)),
    "Gaussian": partial(gs.ksd_test, kernel=gs.Gaussian(), null=gs.WildBootstrap(49)),
}


def test_two_processes_give_what_one_gives(tmp_path):
    here = study([shift(0.5)], KSD, trials=25)
    there = study([shift(0.5)], KSD, trials=25, workers=2, path=tmp_path / "two")
    assert same(here, there)
    assert here.bound("shift 0.5") == there.bound("shift 0.5")
    # And what other processes have written is taken up here.
    again = study([shift(0.5)], KSD, trials=25, path=tmp_path / "two")
    assert same(here, again)
    assert here.bound("shift 0.5") == again.bound("shift 0.5")


def test_threads_of_an_executor_give_what_one_gives():
    with ThreadPoolExecutor(3) as pool:
        assert same(study(), study(workers=pool))
        pool.submit(int).result()  # it is still open
    assert same(study(), study(workers=1))


@pytest.mark.filterwarnings("ignore")
def test_dask_gives_what_one_process_gives():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert same(study(), study(workers=client.get_executor()))
        assert same(study(), study(workers=client))


def test_the_runner_ends_its_tasks_with_the_first_error():
    def task(k):
        if k == 3:
            raise ValueError("three")
        return k

    with Runner() as runner:
        assert runner.all(task, [(0,), (1,)]) == [0, 1]
        with pytest.raises(ValueError, match="three"):
            list(runner.results(task, [(k,) for k in range(5)]))


def test_processes_that_die_are_explained():
    class Dying(Executor):
        def submit(self, *_):
            raise BrokenProcessPool

    with pytest.raises(RuntimeError, match=r"worker processes died\. In a script the call must stand under"):
        study(workers=Dying())


# --- interruptions --------------------------------------------------------------------------------


class Breaks:
    """A z-test that stops at some call, as a full disk or a power cut would."""

    def __init__(self, after=np.inf):
        self.after, self.calls = after, 0

    def __call__(self, data, model, *, rng):
        self.calls += 1
        if self.calls > self.after:
            raise KeyboardInterrupt
        return z_test(data, model, rng=rng)


def test_a_study_goes_on_where_it_was_stopped(tmp_path):
    path = tmp_path / "study"
    whole = study()
    with pytest.raises(KeyboardInterrupt):
        study(tests={"z": Breaks(75), "coin": coin}, path=path)
    again = Breaks()
    resumed = study(tests={"z": again, "coin": coin}, path=path)
    assert same(whole, resumed)
    assert resumed.bound("shift 1") == whole.bound("shift 1")
    first = 3 * FIRST  # of two alternatives and the null, to see whether anything has changed
    assert again.calls <= first + 3 * 40 - (75 - first) + CHUNK
    # Now everything is known, and more trials add to it.
    done = Breaks()
    assert same(study(tests={"z": done, "coin": coin}, path=path), whole)
    assert done.calls == first
    more = Breaks()
    longer = study(tests={"z": more, "coin": coin}, path=path, trials=50)
    assert more.calls == first + 3 * 10
    assert np.array_equal(longer.pvalues["shift 1", "null", "z"][:40], whole.pvalues["shift 1", "null", "z"])
    assert same(study(path=path, trials=20), study(trials=20))


def test_what_has_changed_is_measured_anew(tmp_path):
    path = tmp_path / "study"
    kept = Breaks()
    study(tests={"z": kept, "coin": coin}, path=path)
    kept.calls = 0
    changed = study(tests={"z": kept, "coin": lambda data, model, *, rng: rng.random() / 2}, path=path)
    assert kept.calls == 3 * FIRST
    assert changed.pvalues["shift 1", "null", "coin"].max() <= 0.5
    # Another alternative under the same name.
    kept.calls = 0
    moved = [shift(0.5), shift(2.0, name="shift 1")]
    other = study(moved, {"z": kept, "coin": coin}, path=path)
    assert kept.calls == 3 * FIRST + 40 - FIRST
    assert same(other, study(moved))
    assert other.bound("shift 1").value == study(moved).bound("shift 1").value


def test_equal_pvalues_do_not_hide_another_statistic(tmp_path):
    path = tmp_path / "study"

    def sure(statistic, later):
        calls = []

        def test(data, model, *, rng):
            calls.append(1)
            return SimpleNamespace(pvalue=0.001 if len(calls) <= 100 else later, statistic=statistic)

        return test, calls

    one, _ = sure(1.0, 0.001)
    study([shift(0.5)], {"t": one}, path=path, bound=False)
    two, calls = sure(2.0, 0.001)
    study([shift(0.5)], {"t": two}, path=path, bound=False)
    assert len(calls) == 2 * 40


def test_only_a_folder_of_its_own_is_written_to(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes", encoding="utf-8")
    with pytest.raises(gs.InputError, match=r"notes.txt' is no folder") as caught:
        study(path=notes)
    assert caught.value.argument == "path" and notes.read_text(encoding="utf-8") == "my notes"
    with pytest.raises(gs.InputError, match="there is no folder"):
        study(path=tmp_path / "nowhere" / "study")
    # Neither names beside it nor files inside it that are not its own are touched.
    for name in ("study.lock", "study.part"):
        (tmp_path / name).write_text("precious", encoding="utf-8")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "mine.json").write_text("mine", encoding="utf-8")
    study(path=tmp_path / "study", trials=5, bound=False)
    assert all((tmp_path / name).read_text() == "precious" for name in ("study.lock", "study.part"))
    assert (tmp_path / "study" / "mine.json").read_text() == "mine"
    # One file for each of three laws and two tests.
    assert len(list((tmp_path / "study").iterdir())) == 1 + 3 * 2


def test_progress_counts_trials_and_blocks_of_draws(tmp_path):
    path, told = tmp_path / "study", []
    study(trials=20, path=path, progress=lambda *now: told.append(now))
    # Three laws, of which each has 3 first trials and 17 more; two likelihood ratios, then 2 + 1 blocks each.
    assert [total for _, total in dict.fromkeys(told)][::-1][0] == 3 + 3 * 17 + 2 + 6 == told[-1][0]
    told.clear()
    study(trials=20, path=path, progress=lambda *now: told.append(now))
    assert told[-1] == (3 + 2, 3 + 2)  # what is known is not counted again


# --- what it says ---------------------------------------------------------------------------------


def always(data, model, *, rng):
    return 0.0


FOUND = study(tests={**TESTS, "always": always}, trials=100, level=(0.05, 0.01))


def test_the_best_test_keeps_its_level():
    assert FOUND.size_mark("shift 1", "always") == "↑"
    assert FOUND.best("shift 1") == "z"
    assert FOUND.power("shift 1", "always").value == 1.0
    assert study([shift(1.0)], {"always": always}, trials=30).best("shift 1") is None
    assert study([shift(1.0)], {"always": always}, size=False).best("shift 1") == "always"  # nobody knows


def test_rows_hold_plain_numbers():
    rows = FOUND.table()
    assert [(row["cell"], row["test"]) for row in rows[:3]] == [
        ("shift 0.5", "z"),
        ("shift 0.5", "coin"),
        ("shift 0.5", "always"),
    ]
    row = rows[3]
    assert row["power"] == FOUND.power("shift 1", "z").value
    assert row["power_lower"], row["power_upper"] == FOUND.power("shift 1", "z").interval
    assert row["bound"] == FOUND.bound("shift 1").value
    assert row["of_bound"] == row["power"] / row["bound"]
    assert row["best"] is True and rows[5]["size_mark"] == "↑"
    assert 0 < row["seconds"] < 0.1
    assert FOUND.time("z") < 0.1
    assert FOUND.table(0.01)[3]["power"] < row["power"]


def test_markdown(tmp_path):
    text = FOUND.to_markdown()
    line = next(line for line in text.splitlines() if line.startswith("| shift 1 | **"))
    bound = FOUND.bound("shift 1")
    power = FOUND.power("shift 1", "z")
    assert f"**{power.value:.3f} [".replace("**0", "**") in line
    assert "| 1.000 [.96, 1.00] ↑ |" in line
    assert line.split(" | ")[-1].startswith(f"{bound.value:.3f} [".removeprefix("0"))
    assert "**Power at level 0.05**" in text and "**Size at level 0.05**" in text
    assert "**Power at level 0.01**" in FOUND.to_markdown(0.01)
    assert "µs" in text or "ms" in text
    mixed = study([shift(0.5), shift(1.0, level=0.01)], trials=10)
    assert "| cell | level | z | coin |" in mixed.to_markdown()
    piped = study([shift(0.5, name="a|b")], trials=5, bound=False)
    assert r"| a\|b |" in piped.to_markdown()


def test_text():
    text = str(FOUND)
    assert text.startswith("Power at level 0.05")
    assert "100 trials" in text
    lines = [line for line in text.splitlines() if line.startswith("  shift")]
    assert len({len(line) for line in lines[:2]}) == 1
    assert str(Rate.of(1, 4)) == "0.250 [0.046, 0.699]"


def test_csv_and_json(tmp_path):
    text = FOUND.to_csv(tmp_path / "study.csv")
    assert (tmp_path / "study.csv").read_text(encoding="utf-8") == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 2 * 2 * 3  # levels, cells, tests
    assert float(rows[0]["power"]) == FOUND.power("shift 0.5", "z").value
    content = json.loads(FOUND.to_json(tmp_path / "study.json"))
    assert json.loads((tmp_path / "study.json").read_text(encoding="utf-8")) == content
    assert content["trials"] == 100 and len(content["rows"]) == 12
    kept = {(entry["cell"], entry["law"], entry["test"]): entry["pvalues"] for entry in content["pvalues"]}
    np.testing.assert_array_equal(kept["shift 1", "null", "z"], FOUND.pvalues["shift 1", "null", "z"])
    assert list(tmp_path.glob("*.part")) == []


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"cells": []}, "`cells` must be one or more gs.Cell"),
        ({"cells": shift(1.0)}, "`cells` must be one or more.*got Cell"),
        ({"cells": [(NULL, NULL, 5)]}, "got list with a tuple"),
        ({"cells": [shift(1.0), shift(1.0)]}, "two of them are called 'shift 1'"),
        ({"cells": [shift(1.0, tests=["w"])]}, "names tests that are not among `tests`: w"),
        (
            {"tests": {}},
            r"`tests` must be names with functions \(data, model, \*, rng\)",
        ),
        (
            {"tests": [gs.ksd_test]},
            r"`tests` must be names with functions \(data, model, \*, rng\)",
        ),
        (
            {"tests": {"z": 3}},
            r"`tests` must be names with functions \(data, model, \*, rng\)",
        ),
        ({"tests": {3: z_test}}, "their names must be strings"),
        ({"trials": 2}, "`trials` must be an integer of at least 3"),
        ({"level": 0}, "`level` must be a number between 0 and 1, got 0"),
        ({"level": []}, r"`level` must be a number between 0 and 1, got \[\]"),
        ({"level": (0.05, 2)}, "got 2"),
        ({"seed": -1}, "`seed` must be a non-negative integer"),
        ({"seed": np.random.default_rng(1)}, "`seed` must be a non-negative integer"),
        ({"bound_draws": 100}, "`bound_draws` must be two numbers"),
        ({"bound_draws": (100, 10)}, "`bound_draws` must be an integer of at least 100"),
        ({"bound_draws": (1000, 100), "level": 0.001}, "only 1 would lie beyond the threshold"),
        ({"workers": 0}, "`workers` must be None, a positive number of processes"),
        ({"workers": "two"}, "`workers` must be None"),
        ({"workers": True}, "`workers` must be None"),
    ],
    ids=range(21),
)
def test_bad_studies_are_refused(arguments, match):
    with pytest.raises(gs.InputError, match=match):
        study(**arguments)


def test_where_there_is_no_bound_no_draws_are_too_few_for_it():
    null = gs.Cell(NULL, None, 9, level=0.001, name="null")
    assert study([null], {"z": z_test}, bound_draws=(1000, 100)).size("null", "z").trials == 40
    study([shift(0.5)], {"z": z_test}, bound_draws=(1000, 100), bound=False, level=0.001)


@pytest.mark.parametrize(
    ("arguments", "options", "match"),
    [
        ((NULL, NULL, 1), {}, "`n` must be an integer of at least 2"),
        ((NULL, NULL, 5), {"level": 5}, "`level` must be"),
        ((NULL, NULL, 5), {"effect": np.inf}, "`effect` of Cell must be a finite number"),
        (
            (NULL, NULL, 5),
            {"tests": "z"},
            "`tests` of Cell must be a list of names of tests, or None, got 'z'",
        ),
        ((NULL, NULL, 5), {"name": 5}, "`name` of Cell must be a string"),
        ((NULL, NULL, 5), {"log_ratio": 5}, "`log_ratio` must be a function"),
        (
            (NULL, NULL, 5),
            {"sample_null": NULL},
            r"`sample_null` of Cell must be a function \(n, rng\) -> data",
        ),
        (
            (Exponential(1), None, 5),
            {"sample_null": lambda n, rng: 0, "censoring": Exponential(1)},
            "Pass one of them",
        ),
        ((lambda x: -x, NULL, 5), {}, "`model`: <lambda> is a function.*Pass a model with a sampler, or"),
        ((NULL, gs.Model(score=lambda x: -x, name="mine"), 5), {}, "`alternative`: mine has no sampler"),
        ((NULL, 5, 5), {}, "`alternative`: cannot use 5"),
        ((NULL, Normal([0, 0]), 5), {}, "data of one are no data of the other"),
        ((NULL, None, 5), {"censoring": Exponential(1)}, "`model`: Normal.* has no hazard"),
    ],
    ids=range(13),
)
def test_bad_cells_are_refused(arguments, options, match):
    with pytest.raises(gs.InputError, match=match):
        gs.Cell(*arguments, **options)


def test_errors_name_cell_test_and_trial():
    def broken(data, model, *, rng):
        raise ZeroDivisionError("nothing there")

    with pytest.raises(
        RuntimeError, match=r"shift 1 \| alternative \| broken, trial 0: ZeroDivisionError: nothing there"
    ):
        study([shift(1.0)], {"broken": broken})
    for value, match in (
        (np.nan, "nan is no p-value"),
        (1.5, "1.5 is no p-value"),
        ("p", "must return a p-value.*got str"),
        (True, "got bool"),
        (None, "got NoneType"),
        (np.ones(2), "got ndarray"),
    ):
        with pytest.raises(RuntimeError, match=match):
            study([shift(1.0)], {"odd": lambda data, model, *, rng, value=value: value})

    def empty(n, rng):
        raise OSError("no data")

    with pytest.raises(
        RuntimeError,
        match=r"draws \| alternative, draw 0: InputError: The sampler empty raised OSError: no data",
    ):
        study([gs.Cell(NULL, empty, 5, name="draws")])
    with pytest.raises(RuntimeError, match=r"ratio \| Neyman–Pearson bound: .*one number"):
        study([shift(1.0, name="ratio", log_ratio=lambda x: x)])


def test_what_cannot_be_pickled_is_named():
    lock = threading.Lock()

    def locked(data, model, *, rng):
        with lock:
            return 0.5

    with pytest.raises(gs.InputError, match=r"`tests`: 'locked' cannot be sent.*workers=None"):
        study(tests={"locked": locked}, workers=2)

    def sampler(n, rng):
        with lock:
            return rng.normal(size=n)

    with pytest.raises(gs.InputError, match=r"`cells`: 'lock' cannot be sent"):
        study([gs.Cell(NULL, sampler, 5, name="lock")], KSD, workers=2)


def test_questions_about_what_is_not_there():
    with pytest.raises(gs.InputError, match=r"no cell 'shift 3'.*'shift 0.5', 'shift 1'"):
        FOUND.power("shift 3", "z")
    with pytest.raises(gs.InputError, match=r"no test 'w' in this study\. It has z, coin, always"):
        FOUND.power("shift 1", "w")
    with pytest.raises(gs.InputError, match="`level` must be"):
        FOUND.power("shift 1", "z", 3)
    with pytest.raises(gs.InputError, match="The size of 'z' in the cell 'shift 1' was not measured"):
        study([shift(1.0)], size=False, trials=3).size("shift 1", "z")
    with pytest.raises(gs.InputError, match="The power of 'z'"):
        study([gs.Cell(NULL, None, 9, name="null")], trials=3).power("null", "z")


def test_names_hold_no_addresses():
    class Odd:
        def score(self, x):
            return -x

        def sample(self, n, rng):
            return rng.normal(size=(n, 1))

    cell = gs.Cell(Odd(), partial(np.full, fill_value=1.0), 5)
    assert cell.name == "Odd against full, n = 5"
    assert fingerprint("a", [0.1]) == fingerprint("a", [0.1 + 1e-12]) != fingerprint("b", [0.1])


def test_a_sampler_that_returns_another_number_of_rows_is_named():
    cell = gs.Cell(NULL, lambda n, rng: rng.normal(size=n - 1), 20)
    with pytest.raises(Exception, match="asked for 20 observations and returned 19"):
        gs.power_study([cell], {"z": z_test}, trials=4)
