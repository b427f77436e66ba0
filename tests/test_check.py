"""The front door: one call, one object, for every kind of data."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cases
import goodstein as gs
from goodstein.checking.result import WIDTH
from goodstein.nulls import Null

pytestmark = pytest.mark.usefixtures("few_samples")

DOCS = Path(__file__).parents[1] / "docs" / "check.md"
FAST = gs.WildBootstrap(199)
MODEL = gs.families.Normal([0.0, 0.0])
GOOD = MODEL.sample(120, rng=1)
BAD = GOOD + np.array([0.6, 0.0])

LINE, NORMAL = BAD[:40, :1], gs.families.Normal(0.0)

KEYS = [
    "schema",
    "decision",
    "verdict",
    "level",
    "pvalue",
    "model",
    "data",
    "audit",
    "test",
    "explanation",
    "tolerance",
    "detectable",
    "missing",
    "notes",
    "reproduce",
]


@dataclass(frozen=True)
class Forbidden(Null):
    """A null distribution that must not be reached."""

    def calibrate(self, problem, *, workers, rng):
        pytest.fail("heavy work was begun")

    def calibrate_jointly(self, collection, *, workers, rng):
        pytest.fail("heavy work was begun")


@pytest.fixture(scope="module")
def bad():
    return gs.check(pd.DataFrame(BAD, columns=["height", "weight"]), MODEL, null=FAST, rng=1)


def test_the_parts_are_those_of_the_functions_themselves(bad):
    alone = gs.aggregated_test(BAD, MODEL, null=FAST, rng=1)
    assert bad.pvalue == bad.test.pvalue == alone.pvalue
    one = gs.ksd_test(BAD, MODEL, null=FAST, rng=1)
    assert bad.tolerance.share == one.tolerance(0.95, rng=1).share > 0
    assert [m.size for m in bad.detectable.moves] == [m.size for m in alone.detectable().moves]
    assert set(bad.audit.checks) >= set(alone.audit.checks)
    thorough = {check.name for check in gs.audit(MODEL, data=BAD, rng=1).checks}
    assert thorough <= {check.name for check in bad.audit.checks}


def test_a_shift_is_found_and_the_columns_have_their_names(bad):
    assert bad.rejected and bad.decision == "rejected"
    text = str(bad)
    assert text.startswith("The model does not fit: p = 0.005 (level 0.05).")
    assert "height" in text and "weight" in text and "column 0" not in text


def test_what_fails_is_said(bad):
    failing = bad.explain().failing
    assert failing[0].columns == ("height",)
    assert not any(finding.columns == ("weight",) for finding in failing)
    assert failing[0].statement in " ".join(str(bad).split())


def test_no_evidence_is_not_a_fit():
    found = gs.check(GOOD[:80, :1], NORMAL, null=FAST, rng=1)
    assert found.decision == "not rejected" and not found.rejected
    assert str(found).startswith("No evidence against the model: p = ")
    assert found.tolerance.share == 0 and "perhaps not at all" in str(found)


def test_too_few_draws_cannot_decide():
    found = gs.check(LINE, NORMAL, null=gs.WildBootstrap(9), rng=1)
    assert found.decision == "undecided" and found.verdict.startswith("Cannot decide at level 0.05: 9 draws")
    found = gs.check(LINE, NORMAL, null=FAST, level=0.001, rng=1)
    assert found.decision == "undecided" and "0.005" in found.verdict


def test_the_level_decides():
    x = GOOD[:40, :1]
    p = gs.check(x, NORMAL, null=FAST, rng=1).pvalue
    found = gs.check(x, NORMAL, null=FAST, level=min(p + 0.01, 0.99), rng=1)
    assert found.pvalue == p and found.rejected
    assert found.tolerance.level == pytest.approx(1 - found.level)


def test_what_the_audit_refuses_is_refused_unless_it_is_overruled():
    model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    asked = {"data": model.sample(60, rng=1), "model": model, "operators": [gs.Langevin()], "rng": 1}
    with pytest.raises(gs.SteinIdentityError, match=r"audit=False"):
        gs.check(**asked, null=Forbidden())
    found = gs.check(**asked, null=FAST, audit=False)
    assert found.decision == "invalid" and not found.rejected
    assert str(found).startswith("The p-value is not valid")


def test_a_score_that_is_not_that_of_the_log_density_is_refused_before_heavy_work():
    wrong = gs.Model(
        score=lambda x: -2 * x, logpdf=lambda x: -0.5 * (x**2).sum(axis=1), domain=gs.Euclidean(2)
    )
    with pytest.raises(gs.SteinIdentityError, match="One of the two is wrong"):
        gs.check(GOOD, wrong, null=Forbidden(), rng=1)


def test_a_sampler_of_another_model_is_refused_before_heavy_work():
    wrong = gs.Model(
        score=lambda x: -x,
        sample=lambda n, rng: rng.normal(0.5, 1.0, (n, 2)),
        domain=gs.Euclidean(2),
    )
    with pytest.raises(gs.SteinIdentityError, match="Sampler and score disagree"):
        gs.check(GOOD, wrong, null=Forbidden(), rng=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": np.where(GOOD > 2, np.nan, GOOD)}, "NaN"),
        ({"data": None}, "`data` is None"),
        ({"data": GOOD[:, :1]}, "column"),
        ({"domain": gs.Box(0, [1, 1])}, "lie outside"),
        ({"level": 1.5}, "`level`"),
        ({"rng": -1}, "`rng`"),
        ({"workers": -3}, "`workers`"),
        ({"audit": "no"}, "`audit`"),
        ({"operators": gs.Langevin()}, "`operators` must be a list"),
        ({"model": "normal"}, "model"),
    ],
)
def test_bad_input_is_refused_before_heavy_work(options, message):
    with pytest.raises(gs.InputError, match=message):
        gs.check(**{"data": GOOD, "model": MODEL, "null": Forbidden(), "rng": 1} | options)


@pytest.mark.parametrize("case", cases.DATA, ids=lambda case: case.name)
def test_every_kind_of_data_is_checked_and_what_is_missing_has_a_reason(case):
    operators = None if case.operator is None else iter([case.operator])
    null = FAST if case.data.replicated else gs.MonteCarlo(19)
    found = gs.check(case.data, case.model, operators=operators, null=null, rng=1)
    for name in ("explanation", "tolerance", "detectable"):
        assert (getattr(found, name) is None) == (name in found.missing)
        assert "\n" not in found.missing.get(name, "")
    assert " ".join(str(found).split()).startswith(found.verdict)
    assert max(map(len, str(found).splitlines())) <= WIDTH
    assert json.loads(found.to_json(allow_nan=False))["decision"] == found.decision
    assert found.verdict in found._repr_html_()


def test_the_same_seed_gives_the_same_answer_and_a_seed_is_told_where_none_was_given():
    first = gs.check(LINE, NORMAL, null=FAST)
    again = gs.check(LINE, NORMAL, null=FAST, rng=first.seed)
    assert first.to_json() == again.to_json()
    seeds = {gs.check(LINE, NORMAL, null=FAST, rng=np.random.default_rng(5)).seed for _ in range(2)}
    assert len(seeds) == 1 and first.seed not in seeds


def test_the_record_has_these_names_and_the_documentation_knows_them(bad):
    found = json.loads(bad.to_json(), parse_constant=lambda name: pytest.fail(name))
    assert list(found) == KEYS and found["schema"] == 1
    assert found["reproduce"]["seed"] == 1
    assert "null_distribution" not in found["test"]
    assert not {f"{value}" for value in BAD.ravel()} & set(bad.to_json().replace("]", ",").split(","))
    text = DOCS.read_text(encoding="utf-8")
    names = [*KEYS, *found["audit"], *found["reproduce"], *found["detectable"]]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_names_from_files_do_not_reach_the_terminal(bad):
    hostile = "a\x1b[31m\u202eb\nc"
    test = replace(bad.test, model=hostile, data=hostile, notes=(hostile,))
    text = str(replace(bad, test=test))
    assert all(line.isprintable() for line in text.split("\n")) and "\\x1b[31m\\u202eb\\nc" in text


def test_a_long_name_is_cut(bad):
    text = str(replace(bad, test=replace(bad.test, model="x" * 10_000)))
    assert len(text) < 5_000


def test_wide_data_are_told_in_few_words():
    model = gs.families.Normal(np.zeros(22))
    found = gs.check(model.sample(30, rng=1), model, operators=[gs.Langevin()], null=FAST, rng=1)
    assert len(found.detectable.moves) == 10
    assert len(str(found).splitlines()) < 25


def test_a_result_that_was_stored_speaks_as_before(bad):
    import pickle

    again = pickle.loads(pickle.dumps(bad))
    assert str(again) == str(bad) and again.to_json() == bad.to_json()


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.123, "at least 12.3% of"), (4.2e-5, "at least 0.004% of"), (2e-155, "no lower bound above zero")],
)
def test_a_small_share_is_not_told_as_none(share, said):
    found = gs.check(BAD, MODEL, null=FAST, rng=1)
    assert said in str(replace(found, tolerance=replace(found.tolerance, share=share)))
