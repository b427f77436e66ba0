"""Hostile calls end in a clear error or in a right answer; see ``battery.py``."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import battery
import goodstein as gs
from doors import DOORS, FAST, N
from goodstein import families
from goodstein.errors import Explained
from goodstein.families import ERGM, Normal, Strauss, VonMises
from goodstein.kernels import IMQ, Whitened

SHARE = 0.02
X = np.random.default_rng(3).standard_normal((N, 2))
PLANE = Normal([0.0, 0.0])
SQUARE = gs.Box(0, [1, 1])
CORNERS = [(0, 0), (1, 0), (1, 1)]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_valid_calls_have_a_right_answer(door):
    """Otherwise a battery of refusals would prove nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert battery.complaint(door.call(dict(door.arguments))) == ""


def test_a_sample_of_hostile_calls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some hostile values are names of files
    rng = np.random.default_rng(20_261)
    chosen = [call for call in battery.calls(DOORS) if rng.random() < SHARE]
    results = [(call, battery.run(call)) for call in chosen]
    wrong = [f"{call}: {outcome}" for call, outcome in results if outcome.kind in battery.BAD]
    assert len(chosen) > 3000
    assert not wrong, "\n".join([battery.table(results), *wrong])


@pytest.mark.slow
def test_all_hostile_calls(tmp_path):
    """In a process of its own, whose memory is limited."""
    command = [sys.executable, str(Path(battery.__file__)), "--report", str(tmp_path / "doors.md")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    total = next(line for line in done.stdout.splitlines() if line.startswith("| all"))
    assert int(total.split("|")[2].replace(",", "")) > 100_000


# --- calls that people made ------------------------------------------------------------------


@pytest.mark.parametrize("family", [door.function for door in DOORS if door.name.endswith(".sample")])
@pytest.mark.parametrize("rng", ["a", -1, 3.5, True, [], b"x"], ids=repr)
def test_a_generator_that_is_none_is_refused_by_every_sampler(family, rng):
    first = X if "x" in family.__code__.co_varnames[:2] else 3
    with pytest.raises(
        gs.InputError, match="`rng` must be None, a non-negative integer or a numpy random Gen"
    ):
        family(first, rng=rng)


def test_a_legacy_random_state_is_the_generator_of_its_bits():
    one, other = np.random.RandomState(5), np.random.RandomState(5)
    assert np.array_equal(
        Normal().sample(3, rng=one), np.random.Generator(other._bit_generator).normal(size=(3, 1))
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gs.Polygon(CORNERS, holes=None), "`holes` must be a list of holes, .* got None"),
        (
            lambda: gs.conditional_ksd_test(X[:, 0], X[:, 1], lambda y, x: x - y, operator=gs.Martingale()),
            r"`operator` of Conditional must be an operator in y such as Langevin\(\), got Martingale",
        ),
        (lambda: Whitened("imq"), r"`kernel` must be a kernel such as IMQ\(\).*got 'imq'"),
        (lambda: IMQ(1e-81), "`bandwidth` of IMQ must be a positive number.* from 1e-75 to 1e.75"),
        (
            lambda: gs.Cell(Normal(), Normal(1.0), 9, effect="a"),
            "`effect` of Cell must be a finite number, got 'a'",
        ),
        (lambda: gs.Cell(Normal(), Normal(1.0), 9, tests=3), "`tests` of Cell must be a list of names"),
        (
            lambda: gs.power_study([gs.Cell(Normal(), None, 9)], {"KSD": gs.ksd_test}, path=3),
            "`path` must be the name of a folder, got 3",
        ),
        (lambda: gs.ksd_test(pd.DataFrame(X).groupby(0), PLANE), "`data`"),
        (lambda: PLANE.score([[1.0, 2.0], [3.0]]), "`x` is not a rectangular array .* rows differ in length"),
        (lambda: gs.Paired([[1.0, 2.0], [3.0]], [1.0, 2.0]), "`x` is not a rectangular array"),
        (lambda: Strauss(9.0, "a", 0.1, SQUARE), r"`gamma` must be a number in \[0, 1\].*, got 'a'"),
        (lambda: gs.ksd_test(X, PLANE, workers=ThreadPoolExecutor), "`workers` must be a positive number"),
        (
            lambda: gs.power_study(
                [gs.Cell(Normal(), None, 9)], {"KSD": gs.ksd_test}, workers=ThreadPoolExecutor
            ),
            "`workers` must be None, a positive number of processes",
        ),
        (lambda: gs.ksd_test(1e100 * X, PLANE), "`data`: values of magnitude .* Rescale the data"),
        (lambda: gs.ksd_test(1e200 * X, PLANE), "with scores of magnitude .* beyond the range"),
        (lambda: Normal.fit(np.ma.array(X, mask=X > 1)), "`x`: .* rows .* hold masked values"),
        (lambda: Normal(np.ma.array([0.0, -999.0], mask=[False, True])), "`mean`: .* hold masked values"),
        (lambda: Normal(True), "`mean` must be real numbers, got True"),
        (lambda: Normal(np.array(["2020-01-01"], "M8[D]")), "`mean` must be real numbers, .* Dates become"),
        (lambda: Normal().sample(10**30), "`n` must be an integer from 0 to 2147483647"),
        (lambda: gs.Lattice(10**30, 2), "`levels` must be an integer from 2 to 1000000"),
        (lambda: gs.Sphere(10**30), "`d` must be an integer from 2 to 1000000"),
        (lambda: gs.WildBootstrap(10**30), "`n_resamples` must be an integer from 1"),
        (lambda: ERGM(10**30), "`nodes` must be an integer from"),
        (lambda: gs.ksd_test(X, PLANE, audit="no"), "`audit` must be True or False, got 'no'"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_people_passed_by_mistake(call, message):
    with pytest.raises(Explained, match=message):
        call()


class Shapeless(gs.domains.Domain):
    dim, bounded = 2, True

    def contains(self, x):
        return None


TABLE = X.reshape(-1, 2, 1)
"""Rows with an axis too many."""


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: gs.ksd_test(TABLE, PLANE), "data"),
        (lambda: gs.check(np.ones((N, 1, 1)), families.Poisson(3.0)), "data"),
        (lambda: gs.ksd_test(TABLE.tolist(), PLANE), "data"),
        (lambda: gs.ksd_test(X, PLANE, kernel=battery.Unspeakable()), None),
        (lambda: gs.ksd_test(X, PLANE, workers=battery.Unspeakable()), None),
        (lambda: gs.ksd_test(X, PLANE, null=gs.Nystrom(9)), "null"),
        (lambda: Normal([0.0, 0.0], np.diag([5e-324, 1.0])), None),
        (lambda: families.LogNormal(-1e30), "mu"),
        (lambda: families.LogLogistic().hazard(1.7e308), "t"),
        (lambda: families.PoissonProcess.fit([X, X]), "domain"),
        (lambda: families.PoissonProcess(5.0, gs.Box(0, [1e-200, 1e-200])).sample(2), None),
        (lambda: families.StochasticBlockModel([[1.0, 2.0], [3.0]], 0.5), "blocks"),
        (lambda: gs.SurvivalModel(hazard=np.ones_like), "cumulative_hazard"),
        (lambda: gs.Regularised(strength=Fraction(1, 2)), "strength"),
        (lambda: Whitened(IMQ(1.0), 1e-200 * np.eye(2)), "metric"),
        (lambda: gs.Polygon(CORNERS, holes=np.array(1.0)), "holes"),
        (lambda: gs.Polygon(CORNERS).boundary_distance(np.full((2, 2), np.nan)), "x"),
        (lambda: gs.Dilation(centre=np.rec.fromarrays(X.T)), "centre"),
        (lambda: gs.ksd_test(X, PLANE, null=FAST, rng=1).witness(np.full((1, 2), 1.79e308)), "points"),
        (lambda: gs.plot.where(3), "result"),
        (lambda: gs.plot.where(gs.ksd_test(X, PLANE, null=FAST, rng=1), ax="a"), "ax"),
        (lambda: gs.plot.pairs(gs.ksd_test(X, PLANE, null=FAST, rng=1), level=True), "level"),
        (lambda: gs.ksd_test(X, lambda x: -x, domain=Shapeless(), rng=1), "contains"),
        (lambda: gs.power_study(np.array(1.0), {"KSD": gs.ksd_test}), None),
        (lambda: gs.power_study([gs.Cell(Normal(), None, 9)], {"KSD": gs.ksd_test}, path="a\0b"), "path"),
        (lambda: gs.power_study([gs.Cell(Normal(), None, 9)], {"KSD": gs.ksd_test}, path="a" * 300), "path"),
        (lambda: gs.from_numpyro(lambda x, y: None, (X, X)), "model"),
    ],
)
def test_what_ended_in_another_error_or_in_none(call, argument):
    with pytest.raises(Explained) as caught:
        call()
    assert caught.value.argument == argument


def test_chains_that_are_said_to_be_chains_may_be_short():
    assert (
        gs.ksd_test(gs.Chains(TABLE), Normal(), null=FAST, rng=1, audit=False).data == "40 chains of 2 draws"
    )
    one_draw = gs.Chains(np.abs(TABLE[:, :1]))
    assert 0 < gs.ksd_test(one_draw, families.Weibull(), null=FAST, rng=1).pvalue <= 1


def test_what_stands_far_out_has_an_answer():
    assert families.VonMisesFisher([0.0, 0.0, 1.0], 5e-324).logpdf(np.eye(3)) == pytest.approx(
        -math.log(4 * math.pi)
    )
    assert np.array_equal(families.Uniform().domain.upper, [1.0])


def test_an_object_without_repr_is_a_model_like_any_other():
    class Own(battery.Unspeakable):
        def score(self, x):
            return -x

    result = gs.ksd_test(X, Own(), rng=1)
    assert result.pvalue == gs.ksd_test(X, lambda x: -x, rng=1).pvalue
    assert "Own" in str(result) and "Own" in result.to_json()


def test_the_sign_of_a_zero_does_not_matter():
    assert np.array_equal(VonMises(0, -0.0).sample(5, rng=1), VonMises(0, 0.0).sample(5, rng=1))


def test_tiny_data_have_the_p_value_of_the_same_data_in_other_units():
    here = gs.ksd_test(X, PLANE, kernel=IMQ(1.0), rng=1)
    tiny = 1e-40
    there = gs.ksd_test(tiny * X, Normal([0, 0], tiny**2), kernel=IMQ(tiny), rng=1)
    assert there.pvalue == here.pvalue


@pytest.mark.parametrize("wrong", [lambda n, rng: 1 / 0, lambda n, rng: None, lambda n: np.zeros((n, 2))])
def test_a_sampler_that_fails_is_named(wrong):
    model = gs.Model(score=lambda x: -x, sample=wrong, domain=gs.Euclidean(2), name="mine")
    with pytest.raises(gs.SamplingError, match=r"[Tt]he sampler"):
        gs.ksd_test(X, model, null=gs.MonteCarlo(3), rng=1)
