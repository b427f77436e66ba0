"""Model: recognising functions, differentiating them, errors, sampling, pickling."""

from __future__ import annotations

import functools
import itertools
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from goodstein.adapters import as_model
from goodstein.domains import Ball, Box, Euclidean, Orthant, Simplex
from goodstein.domains.base import Domain
from goodstein.errors import DomainError, InputError, NumericalScoreWarning, SamplingError, ScoreError
from goodstein.families import Normal, Truncated
from goodstein.models import Model
from goodstein.models.callables import Convention, Kind, recognise
from goodstein.models.kde import GaussianKDE
from goodstein.numerics.differentiate import gradient

# Module-level functions, so that models made of them can be pickled.


def normal_score(x):
    return -x


def normal_logpdf(x):
    return -0.5 * (x**2).sum(axis=-1)


def normal_sample(n, rng):
    return rng.standard_normal((n, 2))


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def precision(d):
    return np.eye(d) + 0.3 * (np.eye(d, k=1) + np.eye(d, k=-1))


# --- construction -------------------------------------------------------------------------


def test_needs_score_or_logpdf():
    with pytest.raises(InputError, match=r"needs a `score` or a `logpdf`, got neither. Pass at least one"):
        Model(sample=normal_sample)


@pytest.mark.parametrize("argument", ["score", "logpdf", "sample", "weighted_score"])
def test_functions_must_be_callable(argument):
    arguments = {"score": normal_score, argument: np.ones(3)}
    with pytest.raises(InputError, match=f"`{argument}` of Model must be a function, got an array"):
        Model(**arguments)


def test_domain_must_be_a_domain():
    with pytest.raises(
        InputError,
        match=r"`domain` of Model must be a domain such as Box\(lower, upper\), or None, got \(0, 1\)",
    ):
        Model(score=normal_score, domain=(0, 1))


def test_what_is_known():
    bare = Model(score=normal_score)
    assert (bare.has_score, bare.has_logpdf, bare.has_sample, bare.domain) == (True, False, False, None)
    full = Model(logpdf=normal_logpdf, sample=normal_sample, domain=Euclidean(2))
    assert (full.has_score, full.has_logpdf, full.has_sample) == (False, True, True)
    assert full.domain == Euclidean(2)


def test_names():
    assert Model(score=normal_score).name == "score=normal_score"
    assert Model(logpdf=lambda x: x).name == "logpdf=<lambda>"
    assert Model(score=functools.partial(normal_score)).name == "score=partial"
    assert Model(score=normal_score, name="mine").name == "mine"
    assert repr(Model(score=normal_score, name="mine")) == "Model(mine)"
    assert repr(Model(score=normal_score, domain=Euclidean(2))) == (
        "Model(score=normal_score, domain=Euclidean(2))"
    )


# --- recognition: every convention, also where n == d -------------------------------------

SCORES = {
    "batch": lambda a: lambda x: -x @ a,
    "batch that rejects points": lambda a: lambda x: -np.einsum("ni,ij->nj", x, a),
    "point": lambda a: lambda x: -a @ x,
    "point that rejects batches": lambda a: lambda x: -np.einsum("i,ij->j", x, a),
    "point returning a list": lambda a: lambda x: [float(v) for v in -a @ x],
}

LOGPDFS = {
    "batch": lambda a: lambda x: -0.5 * ((x @ a) * x).sum(axis=-1),
    "batch with a column": lambda a: lambda x: -0.5 * np.einsum("ni,ij,nj->n", x, a, x)[:, None],
    "point": lambda a: lambda x: -0.5 * x @ a @ x,
    "point as an array": lambda a: lambda x: np.array([-0.5 * np.einsum("i,ij,j", x, a, x)]),
    "point whose sum swallows a batch": lambda a: lambda x: -0.5 * ((x @ a) * x).sum(),
    "point by the first axis": lambda a: lambda x: -0.5 * ((x @ a) * x).sum(axis=0),
}


SHAPES = list(itertools.product([1, 2, 3, 4, 9], [1, 2, 3]))


@pytest.mark.parametrize("form", SCORES)
def test_score_conventions(form):
    for n, d in SHAPES:
        x, a = points(n, d), precision(d)
        assert_allclose(Model(score=SCORES[form](a)).score(x), -x @ a, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("form", LOGPDFS)
def test_logpdf_conventions(form):
    for n, d in SHAPES:
        x, a = points(n, d), precision(d)
        model = Model(logpdf=LOGPDFS[form](a))
        assert_allclose(model.logpdf(x), -0.5 * np.einsum("ni,ij,nj->n", x, a, x), rtol=1e-13)
        assert_allclose(model.score(x), -x @ a, rtol=1e-11, atol=1e-12)


def test_point_function_that_merely_broadcasts():
    # On a batch this returns the right shape and wrong numbers.
    x = points(3, 3)
    got = Model(score=lambda x: -x / np.linalg.norm(x)).score(x)
    assert_allclose(got, -x / np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-15)


def test_broadcasting_is_seen_whichever_row_is_largest():
    x = np.array([[5.0, 1.0], [1.0, 2.0], [0.5, 0.1], [0.3, 0.4]])
    for rows in (x, x[::-1]):
        got = Model(score=lambda x: -x / np.max(x)).score(rows)
        assert_allclose(got, -rows / rows.max(axis=1, keepdims=True))


ON_THE_LINE = {
    Convention.BATCH: lambda x: -0.5 * x**2,
    Convention.FLAT: lambda x: np.array([-0.5 * v**2 + 0 * math.exp(v) for v in x]) if x.ndim == 1 else None,
    Convention.NUMBER: lambda x: -0.5 * x**2 if np.ndim(x) == 0 else math.exp("no arrays"),
    Convention.POINT: lambda x: -0.5 * x[0] ** 2 if x.shape == (1,) else None,
}


@pytest.mark.parametrize("convention", ON_THE_LINE)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_conventions_on_the_line(convention, n):
    x = points(n, 1)
    function = ON_THE_LINE[convention]
    assert recognise(function, Kind.LOGPDF, x, "f").convention is convention
    assert_allclose(Model(logpdf=function).score(x), -x, rtol=1e-12)


def test_score_on_the_line_may_be_flat():
    x = points(5, 1)
    assert_allclose(Model(score=lambda x: -x[:, 0]).score(x), -x)
    assert_allclose(Model(score=lambda x: -np.interp(x, [-9, 9], [-9, 9])).score(x), -x)
    assert_allclose(Model(score=lambda x: -math.copysign(abs(x), x)).score(x), -x)


def test_scipy_function_that_drops_axes_for_one_row():
    from scipy.stats import multivariate_normal

    model = Model(logpdf=multivariate_normal([0, 0], np.eye(2)).logpdf)
    for n in (1, 2, 5):
        assert model.logpdf(points(n, 2)).shape == (n,)
        assert_allclose(model.score(points(n, 2)), -points(n, 2), rtol=1e-11, atol=1e-12)


def test_recognised_once():
    calls = []

    def score(x):
        calls.append(x.shape)
        return -x

    model = Model(score=score)
    model.score(points(50, 2))
    probing = len(calls) - 1
    assert probing == 4
    assert max(rows for rows, _ in calls[:-1]) == 3  # never all of the data
    model.score(points(50, 2))
    assert len(calls) == probing + 2


def test_equal_rows_settle_nothing():
    # One row cannot tell these conventions apart; the next data can.
    model = Model(score=lambda x: -(x - x.mean()))
    one = np.array([[1.0, 3.0]])
    assert_allclose(model.score(one), [[1.0, -1.0]])
    assert_allclose(model.score(np.array([[1.0, 3.0], [5.0, 9.0]])), [[1.0, -1.0], [2.0, -2.0]])


def test_functions_may_work_in_place():
    def score(x):
        x *= -1
        return x

    x = points(6, 2)
    before = x.copy()
    assert_array_equal(Model(score=score).score(x), -before)
    assert_array_equal(x, before)


def test_warnings_of_probing_are_not_repeated():
    def score(x):
        warnings.warn("mine", UserWarning, stacklevel=1)
        return -x

    with pytest.warns(UserWarning, match="mine") as caught:
        Model(score=score).score(points(5, 2))
    assert len(caught) == 1


# --- errors about functions ---------------------------------------------------------------


def test_score_that_is_a_log_density():
    with pytest.raises(ScoreError) as caught:
        as_model(lambda x: (x**2).sum(axis=1)).score(points(5, 3))
    message = str(caught.value)
    assert "`score` of <lambda> cannot be used as a score in 3 dimensions" in message
    assert "must map points (n, 3) to (n, 3), or one point (3,) to (3,)" in message
    assert "numpy, shape (4, 3): returned shape (4,)" in message
    assert "numpy, shape (3,): AxisError" in message
    assert "This looks like a log density: pass Model(logpdf=...)." in message


def test_log_density_that_is_a_score():
    with pytest.raises(
        ScoreError, match=r"returned shape \(3, 2\)[\s\S]*This looks like a score: pass Model\(sc"
    ):
        Model(logpdf=normal_score).score(points(5, 2))


def test_function_that_always_fails():
    def broken(x):
        raise KeyError("sigma")

    with pytest.raises(ScoreError, match="KeyError: 'sigma'") as caught:
        Model(score=broken).score(points(5, 2))
    assert isinstance(caught.value.__cause__, KeyError)


def test_long_error_messages_are_cut():
    def broken(x):
        raise KeyError("x" * 1000)

    with pytest.raises(ScoreError) as caught:
        Model(score=broken).score(points(5, 2))
    assert max(map(len, str(caught.value).splitlines())) < 250


def test_random_score():
    rng = np.random.default_rng()
    with pytest.raises(ScoreError, match="a row's result is random, or depends on the other rows"):
        Model(score=lambda x: -x * rng.random()).score(points(5, 2))


@pytest.mark.parametrize("values", [1j, "text", None])
def test_values_that_are_not_real(values):
    with pytest.raises(ScoreError, match=r"TypeError: returned .* values where real numbers are expected"):
        Model(score=lambda x: np.full(x.shape, values)).score(points(5, 2))


def test_shape_that_changes_later():
    with pytest.raises(ScoreError, match=r"returned shape \(9, 2\) for 10 points.*expected \(10, 2\)"):
        Model(score=lambda x: -x[:9]).score(points(10, 2))


def test_errors_of_our_own_pass_through():
    def score(x):
        raise InputError("`x`: negative parts.")

    with pytest.raises(InputError, match=r"^`x`: negative parts.$"):
        Model(score=score).score(points(5, 2))


def test_score_that_is_not_finite():
    x = points(5, 2)
    x[3] = np.nan
    with pytest.raises(
        ScoreError, match=r"score of mine is not finite at 1 of 5 rows \(row 3\). Remove or move"
    ):
        Model(score=normal_score, name="mine").score(x)


def test_score_that_is_not_finite_at_the_boundary():
    x = np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0], [0.2, 0.8]])
    model = Model(
        score=lambda x: np.divide(1.0, x, out=np.full(x.shape, np.inf), where=x > 0), domain=Simplex(2)
    )
    with pytest.raises(ScoreError) as caught:
        model.score(x)
    assert "at 2 of 4 rows (the first is row 1). Of these, 2 lie on the boundary of Simplex(2)." in str(
        caught.value
    )
    assert "weighted_score=" in str(caught.value)


def test_score_that_is_not_finite_outside():
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(ScoreError, match=r"Of these, 1 lie outside Orthant\(1\)."),
    ):
        Model(score=lambda x: -np.sqrt(x), domain=Orthant(1)).score([[1.0], [-1.0], [2.0]])


@pytest.mark.parametrize("x", [[1.0, 2.0], 3.0, np.ones((2, 2, 2))])
def test_points_must_be_rows(x):
    with pytest.raises(InputError, match=r"points must be an array \(n, d\), got shape"):
        Model(score=normal_score).score(x)


def test_points_must_have_the_dimension_of_the_domain():
    with pytest.raises(InputError, match=r"points have 3 columns, but Euclidean\(2\) has dimension 2"):
        Model(score=normal_score, domain=Euclidean(2)).score(np.ones((4, 3)))


def test_no_points():
    model = Model(score=normal_score, logpdf=normal_logpdf, weighted_score=normal_score)
    none = np.empty((0, 2))
    assert model.score(none).shape == model.weighted_score(none).shape == (0, 2)
    assert model.logpdf(none).shape == (0,)


# --- weighted score and log density -------------------------------------------------------


def test_weighted_score():
    x = np.array([[0.0, 1.0], [0.5, 0.5]])
    alpha = np.array([2.0, 0.5])
    given = Model(
        score=lambda x: (alpha - 1) / x, weighted_score=lambda x: np.broadcast_to(alpha - 1, x.shape)
    )
    assert_array_equal(given.weighted_score(x), [alpha - 1, alpha - 1])
    assert_allclose(Model(score=lambda x: (alpha - 1) / x).weighted_score(x[1:]), [alpha - 1])


def test_weighted_score_that_is_not_finite():
    model = Model(score=normal_score, weighted_score=lambda x: x * np.nan, name="mine")
    with pytest.raises(ScoreError, match="The weighted score of mine is not finite at 5 of 5 rows"):
        model.weighted_score(points(5, 2))


def test_logpdf_missing():
    with pytest.raises(ScoreError, match=r"mine has no log density, only a score. Pass Model\(logpdf"):
        Model(score=normal_score, name="mine").logpdf(points(5, 2))


def test_logpdf_nan_and_infinite():
    outside = Model(logpdf=lambda x: np.where(x[:, 0] > 0, 0.0, -np.inf))
    assert_array_equal(outside.logpdf([[1.0], [-1.0]]), [0.0, -np.inf])
    with pytest.raises(ScoreError, match=r"is NaN at 1 of 2 rows \(row 1\). It must return -inf"):
        Model(logpdf=lambda x: np.where(x[:, 0] > 0, 0.0, np.nan)).logpdf([[1.0], [-1.0]])


# --- numerical differentiation ------------------------------------------------------------


def relative_error(got, expected):
    return np.max(np.abs(got - expected) / (1 + np.abs(expected)))


# Distribution in scipy.stats, its arguments, the derivative of its log density, and its domain.
ON_A_LINE = {
    "normal": ("norm", (1, 2), lambda x: -(x - 1) / 4, None),
    "far away": ("norm", (1e6, 2), lambda x: -(x - 1e6) / 4, None),
    "small units": ("norm", (0, 1e-9), lambda x: -x / 1e-18, None),
    "t": ("t", (3,), lambda x: -4 * x / (3 + x**2), Euclidean(1)),
    "cauchy": ("cauchy", (), lambda x: -2 * x / (1 + x**2), None),
    "exponential": ("expon", (), lambda x: -np.ones_like(x), Orthant(1)),
    "gamma": ("gamma", (0.5,), lambda x: -0.5 / x - 1, Orthant(1)),
    "beta": ("beta", (0.7, 2), lambda x: -0.3 / x - 1 / (1 - x), Box(0, 1)),
    "uniform": ("uniform", (), np.zeros_like, Box(0, 1)),
}


@pytest.mark.parametrize("case", ON_A_LINE)
def test_numerical_score_on_the_line(case):
    from scipy import stats

    name, arguments, derivative, domain = ON_A_LINE[case]
    rv = getattr(stats, name)(*arguments)
    x = rv.rvs(size=(400, 1), random_state=1)
    assert relative_error(Model(logpdf=rv.logpdf, domain=domain).score(x), derivative(x)) < 1e-8


@pytest.mark.parametrize("d", [2, 10])
def test_numerical_score_of_a_normal(d):
    x, a = points(300, d), precision(d)
    model = Model(logpdf=lambda x: -0.5 * ((x @ a) * x).sum(axis=1))
    assert_allclose(model.score(x), -x @ a, rtol=1e-10, atol=1e-11)


def test_numerical_score_of_a_narrow_mixture():
    # The components are a thousand times narrower than the data are spread.
    width = 1e-3
    rng = np.random.default_rng(0)
    centre = rng.choice([-1.0, 1.0], size=(200, 1))
    x = centre + width * rng.standard_normal((200, 1))

    def logpdf(x):
        return np.logaddexp(*(-0.5 * ((x[:, 0] - m) / width) ** 2 for m in (-1, 1)))

    assert_allclose(Model(logpdf=logpdf).score(x), -(x - centre) / width**2, rtol=1e-9, atol=1e-6)


def test_numerical_score_does_not_depend_on_the_other_rows():
    def logpdf(x):
        return -np.log1p((x**2).sum(axis=1))

    x = points(50, 2)
    model = Model(logpdf=logpdf)
    assert_allclose(model.score(x[:1]), model.score(x)[:1], rtol=1e-9)
    tight = x[:1] + 1e-12 * points(20, 2, seed=1)
    assert_allclose(model.score(tight), -2 * tight / (1 + (tight**2).sum(axis=1, keepdims=True)), rtol=1e-7)


def test_numerical_score_in_chunks(monkeypatch):
    x = points(37, 3)
    whole = gradient(normal_logpdf, x, None, name="logpdf", remedy="")
    monkeypatch.setattr("goodstein.numerics.differentiate.CHUNK_ELEMENTS", 500)
    largest = 0

    def logpdf(points):
        nonlocal largest
        largest = max(largest, points.size)
        return normal_logpdf(points)

    assert_allclose(gradient(logpdf, x, None, name="logpdf", remedy=""), whole, rtol=1e-12, atol=1e-13)
    assert largest <= 500


def test_numerical_score_near_a_corner_of_a_box():
    # Close to the edge x_1 = 0 the step along x_2 need not be short; only then are there digits left.
    x = np.column_stack([np.geomspace(1e-12, 0.5, 30), np.linspace(0.2, 0.8, 30)])
    alpha = np.array([0.5, 3.0])
    model = Model(logpdf=lambda x: ((alpha - 1) * np.log(x)).sum(axis=1), domain=Box([0, 0], [1, 1]))
    assert_allclose(model.score(x), (alpha - 1) / x, rtol=1e-9)


def test_numerical_score_in_a_ball():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    x *= ((1 - np.geomspace(1e-6, 1, 200)) / np.linalg.norm(x, axis=1))[:, None]
    model = Model(logpdf=lambda x: 0.5 * np.log1p(-(x**2).sum(axis=1)), domain=Ball(3))
    assert relative_error(model.score(x), -x / (1 - (x**2).sum(axis=1, keepdims=True))) < 1e-8


@pytest.mark.parametrize("alpha", [[1.0, 2.0, 3.0], [0.5, 0.5, 0.5, 4.0]])
def test_numerical_score_on_the_simplex(alpha):
    # scipy's dirichlet raises off the simplex, so this also shows that no step leaves it.
    from scipy.stats import dirichlet

    x = np.random.default_rng(2).dirichlet(alpha, size=30)
    model = Model(logpdf=dirichlet(alpha).logpdf, domain=Simplex(len(alpha)))
    exact = (np.array(alpha) - 1) / x
    got = model.score(x)
    assert relative_error(got, exact - exact.mean(axis=1, keepdims=True)) < 1e-8
    assert_allclose(got.sum(axis=1) / np.abs(got).sum(axis=1), 0, atol=1e-14)


def test_undeclared_support_is_reported_where_it_matters():
    from scipy.stats import expon

    x = np.array([[1e-7], [0.5], [1.0], [2.0]])
    with pytest.raises(
        ScoreError, match=r"1 of 4 rows \(row 0\): it is not finite there or nearby. Pass Model\(..., domain"
    ):
        Model(logpdf=expon.logpdf).score(x)
    assert_allclose(Model(logpdf=expon.logpdf, domain=Orthant(1)).score(x), -np.ones((4, 1)), rtol=1e-9)
    # A row near the edge, but not within a thousandth of the data's spread, is retried with a finer step.
    assert_allclose(Model(logpdf=expon.logpdf).score(x[1:] - 0.45), -np.ones((3, 1)), rtol=1e-9)


def test_log_density_that_is_not_finite_inside():
    with pytest.raises(ScoreError, match=r"Check that it is finite throughout Orthant\(1\)"):
        Model(logpdf=lambda x: np.full(len(x), -np.inf), domain=Orthant(1)).score([[1.0], [2.0]])


@pytest.mark.parametrize("x", [[[0.0], [0.5]], [[-0.5], [0.5]]])
def test_points_on_the_boundary(x):
    with pytest.raises(
        ScoreError, match=r"1 of 2 rows \(row 0\) lie on the boundary of Box\(\[0, 1\]\) or outside"
    ):
        Model(logpdf=lambda x: np.log(x[:, 0]), domain=Box(0, 1)).score(x)


DOUBTFUL = {
    "kink": lambda x: -np.abs(x - 0.2).sum(axis=1),
    "offset": lambda x: 1e10 + normal_logpdf(x),
    "single precision": lambda x: normal_logpdf(x).astype(np.float32),
    "noise": lambda x: normal_logpdf(x) + 1e-6 * np.sin(1e9 * x).sum(axis=1),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_doubtful_rows_are_reported(case):
    x = points(40, 2)
    x[7] = 0.2 + 1e-7
    message = (
        r"the numerical derivatives are doubtful at \d+ of 40 rows.*error of up to .*pass Model\(score=...\)"
    )
    with pytest.warns(NumericalScoreWarning, match=message) as caught:
        Model(logpdf=DOUBTFUL[case]).score(x)
    assert caught[0].filename == __file__
    if case == "kink":
        assert "1 of 40 rows (row 7)" in str(caught[0].message)


def test_numbers_with_few_digits_are_not_mistaken_for_single_precision():
    x = np.arange(10.0)[:, None]
    assert_allclose(Model(logpdf=lambda x: -0.5 * x[:, 0] ** 2).score(x), -x, atol=1e-12)
    assert_array_equal(Model(logpdf=lambda x: np.full(len(x), -1.0)).score(x), np.zeros_like(x))


# --- another domain -----------------------------------------------------------------------


def test_on():
    from scipy.stats import expon

    model = Model(logpdf=expon.logpdf, sample=lambda n, rng: rng.exponential(size=n), name="exponential")
    moved = model.on(Orthant(1))
    assert (model.domain, moved.domain, moved.name) == (None, Orthant(1), "exponential")
    near = [[1e-9], [1.0]]
    assert_allclose(moved.score(near), [[-1.0], [-1.0]], rtol=1e-6)
    with pytest.raises(ScoreError, match="not finite there or nearby"):
        model.score(near)
    assert moved.on(None).domain is None
    assert moved.sample(3, rng=0).shape == (3, 1)


def test_on_another_dimension():
    with pytest.raises(DomainError, match=r"lives in 2 dimensions, Euclidean\(3\) in 3"):
        Model(score=normal_score, domain=Euclidean(2)).on(Euclidean(3))
    with pytest.raises(
        InputError, match=r"`domain` must be a domain such as Box\(lower, upper\), or None, got 3"
    ):
        Model(score=normal_score).on(3)


def test_domain_of_ones_own():
    class HalfPlane(Domain):
        dim = 2

        def contains(self, x):
            return x[:, 0] >= 0

        def boundary_distance(self, x):
            return x[:, 0]

    x = np.abs(points(20, 2))
    model = Model(logpdf=lambda x: np.log(x[:, 0]) - x.sum(axis=1), domain=HalfPlane())
    assert_allclose(model.score(x), np.column_stack([1 / x[:, 0] - 1, -np.ones(20)]), rtol=1e-9)


# --- sampling -----------------------------------------------------------------------------


def keyword_sampler(n, *, rng):
    return rng.standard_normal((n, 2))


def scipy_sampler(size, random_state=None):
    return random_state.standard_normal((size, 2))


def catch_all_sampler(*args):
    n, rng = args
    return rng.standard_normal((n, 2))


def other_name(how_many, generator):
    return generator.standard_normal((how_many, 2))


@pytest.mark.parametrize(
    "sampler", [normal_sample, keyword_sampler, scipy_sampler, catch_all_sampler, other_name]
)
def test_sampler_conventions(sampler):
    model = Model(score=normal_score, sample=sampler)
    assert_array_equal(model.sample(4, rng=3), np.random.default_rng(3).standard_normal((4, 2)))


def test_sampling_is_reproducible():
    model = Model(score=normal_score, sample=normal_sample)
    assert_array_equal(model.sample(5, rng=1), model.sample(5, rng=1))
    assert not np.array_equal(model.sample(5, rng=1), model.sample(5, rng=2))
    generator = np.random.default_rng(1)
    first, second = model.sample(5, rng=generator), model.sample(5, rng=generator)
    assert_array_equal(first, model.sample(5, rng=1))
    assert not np.array_equal(first, second)
    assert model.sample(5).dtype == np.float64


def test_sampler_without_signature():
    class Unknown:
        __signature__ = "none"

        def __call__(self, n, rng):
            return rng.standard_normal((n, 2))

    assert Model(score=normal_score, sample=Unknown()).sample(3, rng=0).shape == (3, 2)


def test_flat_sampler_is_one_column():
    assert Model(score=normal_score, sample=lambda n, rng: rng.random(n)).sample(4).shape == (4, 1)


def test_sampler_errors():
    for n in (-1, 2.5):
        with pytest.raises(InputError, match=rf"`n` must be an integer of at least 0, got {n}"):
            Model(score=normal_score, sample=normal_sample).sample(n)

    def model(sample, **more):
        return Model(score=normal_score, sample=sample, name="mine", **more)

    with pytest.raises(SamplingError, match=r"score=normal_score has no sampler. Pass Model\(sample=...\)"):
        Model(score=normal_score).sample(3)
    with pytest.raises(SamplingError, match=r"takes no random number generator.*sample\(n, rng\)"):
        model(lambda n: np.ones((n, 2))).sample(3)
    with pytest.raises(SamplingError, match=r"sampler of mine returned shape \(2, 3\); expected \(3, d\)"):
        model(lambda n, rng: np.ones((2, n))).sample(3)
    with pytest.raises(SamplingError, match=r"returned shape \(3, 2\); expected \(3, 1\)"):
        model(lambda n, rng: np.ones((n, 2)), domain=Euclidean(1)).sample(3)
    with pytest.raises(SamplingError, match=r"returned shape \(\); expected \(3, d\)"):
        model(lambda n, rng: 1.0).sample(3)
    with pytest.raises(SamplingError, match=r"not finite in 3 of 3 rows \(the first is row 0\)"):
        model(lambda n, rng: np.full((n, 2), np.inf)).sample(3)


# --- pickling, kernel density, imports ----------------------------------------------------


def test_pickle():
    model = Model(
        score=normal_score,
        logpdf=normal_logpdf,
        sample=normal_sample,
        domain=Euclidean(2),
        name="standard normal",
    )
    x = points(5, 2)
    model.score(x)  # fills what is remembered, which must not get in the way
    again = pickle.loads(pickle.dumps(model))
    assert repr(again) == repr(model)
    assert_array_equal(again.score(x), model.score(x))
    assert_array_equal(again.sample(3, rng=0), model.sample(3, rng=0))


def test_gaussian_kde_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    kde = GaussianKDE(rng.standard_normal((30, 2)) + 100, precision(2), rng.random(30))
    x = rng.standard_normal((11, 2)) + 100
    score, logpdf = kde.score(x), kde.logpdf(x)
    assert_allclose(score, Model(logpdf=kde.logpdf).score(x), rtol=1e-8, atol=1e-10)
    monkeypatch.setattr("goodstein.models.kde.BLOCK_ELEMENTS", 70)
    assert_allclose(kde.score(x), score, rtol=1e-12)
    assert_allclose(kde.logpdf(x), logpdf, rtol=1e-12)


def test_gaussian_kde_without_weight():
    all_points = GaussianKDE(np.array([[0.0], [5.0], [1.0]]), np.eye(1), np.array([2.0, 0.0, 2.0]))
    x = points(5, 1)
    assert_allclose(all_points.score(x), GaussianKDE(np.array([[0.0], [1.0]]), np.eye(1)).score(x))


def test_gaussian_kde_far_out():
    kde = GaussianKDE(np.array([[0.0], [1.0]]), np.eye(1))
    assert_allclose(kde.score(np.array([[1e3]])), [[-999.0]])
    assert_allclose(kde.logpdf(np.array([[1e3]])), -0.5 * 999**2 - 0.5 * np.log(2 * np.pi) - np.log(2))


def test_import_is_light():
    code = (
        "import sys, goodstein.models; "
        "heavy = {'jax', 'torch', 'sklearn', 'scipy.stats', 'scipy.differentiate'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("score", [lambda x: x.mean(axis=0) - x, lambda x: -x / x.std(axis=0)])
def test_a_batch_score_that_looks_at_other_rows_is_not_read_as_one_of_a_point(score):
    x = np.random.default_rng(1).standard_normal((20, 3))
    with pytest.raises(ScoreError, match="depends on the other rows"):
        Model(score=score).score(x)


def jax_about_the_mean(x):
    import jax.numpy as jnp

    return jnp.mean(x, axis=0) - x


@pytest.mark.parametrize(
    "functions",
    [
        {"score": lambda x: x.mean(axis=0) - x},
        {"score": lambda x: -(x - x.mean(axis=0)) / x.std(axis=0)},
        {"logpdf": lambda x: -0.5 * ((x - x.mean(axis=0)) ** 2).sum(axis=-1)},
        {"logpdf": lambda x: -0.5 * x[:, 0] ** 2 - np.log(np.exp(-0.5 * x**2).sum())},
        {"score": jax_about_the_mean},
    ],
)
def test_on_the_line_one_point_is_not_taken_for_the_mean_of_all(functions):
    """There x.mean(axis=0) works for every shape; p was .001 for a score that is zero everywhere."""
    x = np.random.default_rng(1).standard_normal((20, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 0/0
        with pytest.raises(ScoreError, match=r"at every point; write it for all points at once|other rows"):
            Model(**functions).score(x)


@pytest.mark.parametrize("d", [1, 3])
def test_a_function_of_one_point_may_sum_over_its_coordinates(d):
    x = np.random.default_rng(1).standard_normal((20, d))
    got = Model(score=lambda x: -x * (3 + d) / (3 + np.sum(x**2))).score(x)
    assert_allclose(got, -x * (3 + d) / (3 + (x**2).sum(axis=1, keepdims=True)))


def test_a_score_of_one_point_that_broadcasts_is_one_of_a_point():
    x = np.random.default_rng(1).standard_normal((20, 3))
    got = Model(score=lambda x: -x / np.linalg.norm(x)).score(x)
    assert_allclose(got, -x / np.linalg.norm(x, axis=1, keepdims=True))


def test_a_distribution_of_the_library_keeps_little():
    family = Normal([0.0, 1.0])
    model = as_model(family)
    assert model.closed_form
    calls = []
    for key in (1, 1, 2, 3, 4, 5, 5, 1):
        assert model.on(Euclidean(2)).kept(key, lambda key=key: calls.append(key) or [key]) == [key]
    assert calls == [1, 2, 3, 4, 5, 1]
    # Others share what is kept, and nothing that one of them is told.
    other = as_model(family)
    assert other.kept(1, lambda: "anew") == [1]
    told = other.provenance
    model.remember(Normal.fit(np.random.default_rng(0).standard_normal((9, 2))).provenance)
    assert other.provenance is told is as_model(family).provenance
    again = pickle.loads(pickle.dumps(model))
    assert again.closed_form
    assert again.kept(1, lambda: "anew") == "anew"


def test_a_family_that_remembers_a_fit_is_wrapped_anew():
    family = Normal([0.0, 1.0])
    as_model(family)
    fitted = Normal.fit(np.random.default_rng(0).standard_normal((9, 2)))
    family.remember(fitted.provenance)
    assert as_model(family).provenance is fitted.provenance


@pytest.mark.parametrize("model", [lambda x: -x, Truncated(lambda x: -x, Box(0, 1))], ids=["function", "cut"])
def test_of_functions_of_a_user_nothing_is_kept(model):
    wrapped = as_model(model)
    assert not wrapped.closed_form
    assert [wrapped.kept(1, iter([k]).__next__) for k in (1, 2)] == [1, 2]
