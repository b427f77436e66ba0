"""Laws that every kernel, operator, kind of data, null distribution and estimator obeys.

Each runs over all instances of ``cases.py``. Domains and families have laws of their own kind in
``test_laws_of_domains.py`` and ``test_laws_of_families.py``.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import goodstein as gs
from cases import DATA, DOMAINS, ESTIMATORS, FAMILIES, KERNELS, NULLS, OPERATORS, POINTS, RADIAL, Words
from definitions import CASES, assert_same, check_form, double_precision
from goodstein.data import Data
from goodstein.data.base import OwnData
from goodstein.domains import Domain
from goodstein.engine.reduce import quadratic_forms
from goodstein.engine.schemes import OrthogonalSigns
from goodstein.estimate.base import ModelFamily
from goodstein.estimate.estimator import Estimator
from goodstein.kernels.base import Kernel
from goodstein.models.base import AnyModel
from goodstein.nulls import Null
from goodstein.operators.base import Operator
from goodstein.pipeline.compose import compose
from goodstein.problems.problem import Collection


def named(case) -> str:
    return case.name


# --- nothing is left out -----------------------------------------------------------------------

ROOMS = [gs, gs.families, gs.patterns, gs.graphs, gs.auxiliary, gs.estimate, gs.kernels, gs.operators]
ROOMS += [gs.domains, gs.nulls]
LISTED = {
    Kernel: [case.make() for case in KERNELS],
    Operator: [case.operator for case in OPERATORS],
    Domain: DOMAINS,
    Null: list(NULLS.values()),
    Data: [case.data for case in DATA],
    ModelFamily: [case.family for case in ESTIMATORS],
    Estimator: [case.estimator for case in ESTIMATORS],
}


def public_classes() -> dict[str, type]:
    found = {
        name: getattr(room, name) for room in ROOMS for name in room.__all__ if not name.startswith("__")
    }
    return {name: item for name, item in found.items() if inspect.isclass(item)}


@pytest.mark.parametrize("concept", LISTED, ids=lambda concept: concept.__name__)
def test_every_public_class_is_among_the_instances(concept):
    classes = [c for c in public_classes().values() if issubclass(c, concept) and not inspect.isabstract(c)]
    bases = [c for c in classes if any(c in other.__mro__[1:] for other in classes)]
    missing = {c.__name__ for c in classes if c not in bases} - {type(x).__name__ for x in LISTED[concept]}
    assert classes and not missing, f"give {missing} a line in cases.py"


def test_every_family_is_among_the_instances():
    assert {type(family).__name__ for family in FAMILIES} == set(gs.families.__all__)


# --- kernels -----------------------------------------------------------------------------------


def fitted(case):
    points = POINTS if case.at is None else case.at
    return case.make().fitted(points if case.fit is None else case.fit), points


@pytest.mark.parametrize("case", KERNELS, ids=named)
def test_kernels_are_symmetric_and_positive_semidefinite(case):
    kernel, at = fitted(case)
    gram = kernel(at, at)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-12)
    eigenvalues = np.linalg.eigvalsh(gram)
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]
    assert eigenvalues[-2] > 1e-6 * eigenvalues[-1]  # and it tells observations apart


@pytest.mark.parametrize("case", RADIAL, ids=named)
def test_values_are_those_of_the_textbooks_and_derivatives_those_of_the_values(case):
    x = POINTS @ case.linear_map(2)
    distances = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    with double_precision():
        expected = np.asarray(case.profile(distances))
    np.testing.assert_allclose(case.make()(POINTS, POINTS), expected, rtol=1e-12)
    kernel, rho = case.make().plain, np.array([1e-3, 0.2, 1.0, 3.7, 20.0])
    step = 1e-6 * rho
    assert len(kernel.profiles(rho, 0)) == 1
    for order in (1, 2, 3, 4):
        try:
            found = kernel.profiles(rho, order)
        except gs.InputError as error:  # a kernel with less says so
            assert order > 2 and "derivatives" in str(error)
            continue
        assert len(found) == order + 1
        above, below = (kernel.profiles(rho + s, order)[order - 1] for s in (step, -step))
        np.testing.assert_allclose(found[order], (above - below) / (2 * step), rtol=1e-6)


@pytest.mark.parametrize("case", KERNELS, ids=named)
def test_kernels_are_frozen_values_and_fitted_once(case):
    kernel, at = fitted(case)
    for twin in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert repr(twin) == repr(kernel)
        assert case.whitened or (twin == kernel and hash(twin) == hash(kernel))  # a metric has no hash
        np.testing.assert_array_equal(twin(at, at), kernel(at, at))
    other = 3.0 * POINTS[::-1] if case.at is None else at
    again = kernel.fitted(other if case.fit is None else gs.Graph(at[-1]))
    np.testing.assert_array_equal(again(at, at), kernel(at, at))
    with pytest.raises(AttributeError):
        kernel.bandwidth = 3.0


@pytest.mark.parametrize("make", [gs.Gaussian, gs.IMQ, gs.RationalQuadratic, gs.Matern52, gs.Whitened])
def test_a_bandwidth_from_the_data_does_not_depend_on_their_unit(make):
    units = [make().fitted(unit * POINTS)(unit * POINTS, unit * POINTS) for unit in (1.0, 1e-6, 1e6)]
    np.testing.assert_allclose(units[1:], units[:1] * 2, rtol=1e-9)


# --- operators ---------------------------------------------------------------------------------


def problem_of(case, data):
    return compose(data, case.model, operator=case.operator, seeds=(1, 2, 3))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_forms_of_points_are_pieces_of_one_positive_matrix(case):
    for kernel in RADIAL:
        if case.square or not kernel.whitened:
            check_form(case.features.form(kernel.make(case.m)))


@pytest.mark.parametrize("case", OPERATORS, ids=named)
def test_forms_are_pieces_of_one_positive_matrix_and_make_the_statistic(case):
    problem = problem_of(case, case.data())
    h, n = check_form(problem.form), problem.form.n
    u = h.mean() if problem.operator.diagonal_counts else (h.sum() - np.trace(h)) / (n * (n - 1))
    assert problem.statistic() == pytest.approx(u, rel=1e-9, abs=1e-12)
    assert problem.v_statistic(u) == pytest.approx(h.mean(), rel=1e-9)
    copied = pickle.loads(pickle.dumps(problem))
    assert copied.statistic() == problem.statistic()
    signs = OrthogonalSigns(3, n, 20)
    statistic, draws = quadratic_forms(problem.form, signs)
    for tile in (7, 16):
        other = quadratic_forms(problem.form, signs, tile=tile)
        assert other[0] == pytest.approx(statistic, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(other[1], draws, rtol=0, atol=1e-4 * np.abs(draws).max())


def largest_mean(case, data) -> float:
    """|mean| of h(y, ·) over draws, in standard errors, the largest of eight y."""
    form = problem_of(case, data).form
    seen = form.block(slice(0, 8), slice(8, form.n))
    seen = seen[seen.any(axis=1)]  # an observation may tell nothing, such as one that was censored at once
    return float((np.abs(seen.mean(axis=1)) / (seen.std(axis=1) / np.sqrt(form.n - 8))).max())


@pytest.mark.parametrize("case", [case for case in OPERATORS if case.null is None], ids=named)
def test_the_stein_kernel_has_mean_zero_under_the_model_and_not_under_another(case):
    n = {"Papangelou": 80, "Distances": 400, "CoxResiduals": 2000}.get(case.name, 20_000)
    assert largest_mean(case, case.data(n, seed=1)) < 4.5
    assert largest_mean(case, case.wrong_data(n, seed=1)) > 6


def run(case, data, **options):
    null = {} if case.null is None else {"null": case.null}
    return gs.ksd_test(data, case.model, operator=case.operator, **null | {"rng": 1} | options)


@pytest.mark.parametrize("case", OPERATORS, ids=named)
def test_only_the_seed_decides(case):
    data = case.data()
    first = run(case, data)
    count = len(first.null_distribution)
    assert first.audit.valid and first.notes == ()
    assert 0 < first.pvalue <= 1
    assert first.pvalue * (count + 1) == pytest.approx(round(first.pvalue * (count + 1)))
    with ThreadPoolExecutor(2) as pool:
        for same in (run(case, data), run(case, data, workers=1), run(case, data, workers=pool)):
            assert (same.statistic, same.pvalue) == (first.statistic, first.pvalue)
            np.testing.assert_array_equal(same.null_distribution, first.null_distribution)
    other = run(case, data, rng=2)
    assert not np.array_equal(first.null_distribution, other.null_distribution)
    # Operators that draw something take it from the same seed.
    assert case.draws == (other.statistic != pytest.approx(first.statistic, rel=1e-9))


@pytest.mark.parametrize("case", OPERATORS, ids=named)
def test_another_law_is_found(case):
    assert run(case, case.wrong_data()).pvalue <= 0.05


@pytest.mark.parametrize("case", OPERATORS, ids=named)
def test_operators_are_values_and_audited(case):
    assert repr(pickle.loads(pickle.dumps(case.operator))) == repr(case.operator)
    with pytest.raises(AttributeError):
        case.operator.anything = 3
    assert gs.audit(case.model, operator=case.operator, data=case.data(), rng=1).valid


# --- kinds of data -----------------------------------------------------------------------------


def problem_of_data(case, data):
    return compose(data, case.model, operator=case.operator)


@pytest.mark.parametrize("case", DATA, ids=named)
def test_drawn_data_are_of_the_same_kind_and_size(case):
    problem = problem_of_data(case, case.data)
    drawn = [problem.simulate(np.random.default_rng(seed)) for seed in (1, 1, 2)]
    # One pattern is one observation, whose number of points is random.
    assert case.name == "pattern" or all(len(data) == len(case.data) for data in drawn)
    # What a user's model draws is the user's kind, which need not be wrapped.
    assert all(
        type(data) in (type(case.data), Words if isinstance(case.data, OwnData) else None) for data in drawn
    )
    first, again, other = (replace(problem, data=data).statistic() for data in drawn)
    assert first == again != other
    assert 0 < gs.ksd_test(drawn[0], case.model, operator=case.operator, rng=1).pvalue <= 1


@pytest.mark.parametrize("case", DATA, ids=named)
def test_data_describe_themselves_and_can_be_copied(case):
    result = gs.ksd_test(case.data, case.model, operator=case.operator, rng=1)
    assert (case.data.describe() or str(len(case.data))) in str(result)
    copied = pickle.loads(pickle.dumps(case.data))
    assert len(copied) == len(case.data)
    assert problem_of_data(case, copied).statistic() == problem_of_data(case, case.data).statistic()


@pytest.mark.parametrize("case", [case for case in DATA if case.data.replicated], ids=named)
def test_rows_taken_are_those_rows_in_that_order(case):
    data, rng = case.data, np.random.default_rng(1)
    h = problem_of_data(case, data).form.matrix()
    problem = problem_of_data(case, data)
    fixed = replace(problem, kernel=problem.fitted_kernel, operator=problem.fitted_operator)
    for rows in (rng.permutation(len(data)), np.array([3, 0, 7, 7])):
        taken = data.take(rows)
        assert type(taken) is type(data) and len(taken) == len(rows)
        assert_same(replace(fixed, data=taken).form.matrix(), h[np.ix_(rows, rows)], 1e-9)
        assert len(taken.take(np.array([1, 2]))) == 2
    order = rng.permutation(len(data))
    statistic = problem.statistic()
    assert problem_of_data(case, data.take(order)).statistic() == pytest.approx(statistic, rel=1e-9)


@pytest.mark.parametrize("case", DATA, ids=named)
def test_rows_can_be_told_apart_or_the_data_say_that_they_cannot(case):
    try:
        rows = case.data.as_rows()
    except gs.InputError as error:
        assert "cannot be told apart" in str(error) or "as_rows" in str(error)
        return
    if not case.data.replicated:
        assert rows.shape[0] == (len(case.data) if case.name == "pattern" else 1)  # its points
        return
    assert rows.shape[0] == len(case.data)
    picked = np.array([2, 0])
    np.testing.assert_array_equal(case.data.take(picked).as_rows(), rows[picked])


# --- null distributions ------------------------------------------------------------------------

X = np.random.default_rng(7).standard_normal((80, 1))
FITTED, FIXED = gs.families.Normal.fit(X), gs.families.Normal(-0.2, 0.8)


def model_of(name):
    """A model that was fitted to X for methods that take account of it, another one for the others."""
    return FITTED if NULLS[name].refits else FIXED


def with_null(name, **options):
    return gs.ksd_test(X, model_of(name), null=NULLS[name], **options)


@pytest.mark.parametrize("name", NULLS)
def test_every_method_returns_the_u_statistic_and_as_many_draws_as_asked_for(name):
    null, n = NULLS[name], len(X)
    result = with_null(name, rng=1)
    h = gs.stein_matrix(X, model_of(name))
    # Simulated statistics, and so that of the data, come from functions of the distances in single precision.
    rel = 1e-6 if null.simulates else 1e-9
    assert result.statistic == pytest.approx((h.sum() - np.trace(h)) / (n * (n - 1)), rel=rel)
    assert result.null_distribution.shape == (null.n_resamples,)
    assert np.isfinite(result.null_distribution).all()
    exceed = np.count_nonzero(result.null_distribution >= result.statistic)
    assert result.pvalue == (1 + exceed) / (1 + null.n_resamples)
    single = replace(null, n_resamples=1)
    assert gs.ksd_test(X, model_of(name), null=single, rng=1).pvalue in (0.5, 1.0)


@pytest.mark.parametrize("name", NULLS)
def test_seeds_generators_and_workers_of_a_null_method(name):
    first = with_null(name, rng=3)
    with ThreadPoolExecutor(2) as pool:
        for options in (
            {"rng": 3},
            {"rng": np.random.default_rng(3)},
            {"rng": np.random.SeedSequence(3)},
            {"rng": 3, "workers": 1},
            {"rng": 3, "workers": 2},
            {"rng": 3, "workers": pool},
        ):
            same = with_null(name, **options)
            assert (same.statistic, same.pvalue) == (first.statistic, first.pvalue)
            np.testing.assert_array_equal(same.null_distribution, first.null_distribution)
    generator = np.random.default_rng(3)
    twice = [with_null(name, rng=generator).null_distribution for _ in range(2)]
    unseeded = [with_null(name).null_distribution for _ in range(2)]
    others = [with_null(name, rng=4).null_distribution, twice[1], *unseeded]
    draws = [first.null_distribution, *others]
    assert not any(np.array_equal(a, b) for k, a in enumerate(draws) for b in draws[:k])
    np.testing.assert_array_equal(twice[0], first.null_distribution)


@pytest.mark.parametrize("name", NULLS)
def test_a_wrong_model_is_rejected_by_every_method(name):
    x = np.random.default_rng(1).exponential(size=80)
    model = gs.families.Normal.fit(x) if NULLS[name].refits else gs.families.Normal(1.0, 1.0)
    assert gs.ksd_test(x, model, null=NULLS[name], rng=1).pvalue <= 0.05


@pytest.mark.parametrize("name", NULLS)
def test_one_member_is_calibrated_jointly_as_it_is_alone(name):
    null, problem = NULLS[name], compose(X, model_of(name))
    alone = null.calibrate(problem, workers=1, rng=np.random.default_rng(5))
    if isinstance(null, gs.Spectral):
        with pytest.raises(gs.InputError, match="cannot draw the statistics of several tests jointly"):
            null.calibrate_jointly(Collection.of(problem), workers=1, rng=np.random.default_rng(5))
        return
    joint = null.calibrate_jointly(Collection.of(problem), workers=1, rng=np.random.default_rng(5))
    assert joint.statistics.shape == (1,) and joint.draws.shape == (1, null.n_resamples)
    assert joint[0].statistic == pytest.approx(alone.statistic, rel=1e-5)
    np.testing.assert_allclose(joint[0].draws, alone.draws, rtol=0, atol=1e-4 * np.abs(alone.draws).max())
    assert joint[0].pvalue == alone.pvalue


@pytest.mark.parametrize("name", NULLS)
def test_null_methods_are_frozen_values(name):
    null = NULLS[name]
    assert repr(null).startswith(type(null).__name__ + "(") and "0x" not in repr(null)
    assert str(null.n_resamples) in repr(null)
    assert pickle.loads(pickle.dumps(null)) == null == copy.deepcopy(null)
    with pytest.raises(AttributeError):
        null.n_resamples = 5


# --- estimators --------------------------------------------------------------------------------


def fit(case, data=None, rng=1):
    return case.estimator.fit(case.data if data is None else data, case.family, domain=case.domain, rng=rng)


@pytest.mark.parametrize("case", ESTIMATORS, ids=named)
def test_fits_find_the_parameters_whatever_the_order_and_number_of_copies_of_the_rows(case):
    found = fit(case)
    for name, value in case.truth.items():
        error = np.abs(np.asarray(found.parameters[name]) - value)
        assert (error < 4 * np.asarray(found.standard_errors[name])).all(), name
        assert (np.asarray(found.standard_errors[name]) < 0.5 * (1 + np.abs(value))).all()
    turned, doubled = fit(case, case.data[::-1]), fit(case, np.vstack([case.data, case.data]))
    for name, value in found.parameters.items():
        np.testing.assert_allclose(turned.parameters[name], value, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(doubled.parameters[name], value, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            np.asarray(doubled.standard_errors[name]) * np.sqrt(2), found.standard_errors[name], rtol=1e-3
        )


@pytest.mark.parametrize("case", ESTIMATORS, ids=named)
def test_fits_depend_on_the_seed_alone_and_can_be_tested_and_copied(case):
    found, again = fit(case), pickle.loads(pickle.dumps(fit(case)))
    np.testing.assert_array_equal(again.theta, found.theta)
    assert again.objective == found.objective and str(again) == str(found)
    with pytest.raises(AttributeError):
        found.objective = 0.0
    assert isinstance(found.model, AnyModel) or hasattr(found.model, "score")
    half = case.data[: len(case.data) // 2]
    with pytest.warns(gs.errors.CalibrationWarning, match="was fitted to"):
        gs.ksd_test(half, found.model, domain=case.domain, rng=1, audit=False)
