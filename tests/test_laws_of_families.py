"""Laws that every family obeys: scores against differences of log densities, samples, values, messages."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import goodstein as gs
from cases import CONTINUOUS, COUNTS, DIRECTIONAL, DISCRETE, FAMILIES, LIFETIMES, PROCESSES
from goodstein.errors import InputError, ScoreError
from goodstein.families import PiecewiseExponential

DENSITIES = CONTINUOUS + DIRECTIONAL + LIFETIMES + DISCRETE + COUNTS
SMOOTH = [q for q in CONTINUOUS + DIRECTIONAL + LIFETIMES if not isinstance(q, PiecewiseExponential)]


def named(family) -> str:
    return f"{type(family).__name__}-{FAMILIES.index(family)}"


def same(one, other) -> bool:
    """Whether two samples are equal, of points or of patterns."""
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("family", FAMILIES, ids=named)
def test_samples_depend_on_the_seed_alone_and_lie_in_the_domain(family):
    first = family.sample(50, rng=4)
    assert len(first) == 50 and same(first, family.sample(50, rng=np.random.default_rng(4)))
    generator = np.random.default_rng(4)
    twice = [family.sample(50, generator) for _ in range(2)]
    assert same(first, twice[0]) and not same(*twice) and not same(first, family.sample(50, rng=5))
    assert len(family.sample(0, rng=1)) == 0
    for points in first if family in PROCESSES else [first]:
        assert points.shape[1:] == (family.domain.dim,) and family.domain.contains(points).all()
    for n in (-1, 2.5, "3"):
        with pytest.raises(InputError, match="`n` must be an integer of at least 0"):
            family.sample(n)


@pytest.mark.parametrize("family", FAMILIES, ids=named)
def test_families_are_immutable_values(family):
    for twin in (pickle.loads(pickle.dumps(family)), copy.copy(family), copy.deepcopy(family)):
        assert twin == family and hash(twin) == hash(family) and repr(twin) == repr(family)
        assert same(twin.sample(5, rng=1), family.sample(5, rng=1))
    assert all((family == other) is (family is other) for other in FAMILIES)
    assert family != "something else" and type(family).__name__ in repr(family)
    with pytest.raises(AttributeError):
        family.domain = gs.Euclidean(1)
    with pytest.raises(AttributeError):
        del family.domain


@pytest.mark.parametrize("family", DENSITIES, ids=named)
def test_models_shapes_and_single_rows(family):
    x, model = family.sample(7, rng=3), gs.as_model(family)
    assert family.logpdf(x).shape == (7,) and family.logpdf(x[:0]).shape == (0,)
    assert model.domain == family.domain
    np.testing.assert_array_equal(model.sample(7, 3), x)
    np.testing.assert_array_equal(model.logpdf(x), family.logpdf(x))
    rows = np.concatenate([family.logpdf(row[None]) for row in x])
    np.testing.assert_allclose(family.logpdf(x), rows, rtol=1e-12, atol=1e-12)
    scored = family in SMOOTH + DISCRETE + COUNTS
    for method in (family.logpdf, family.score)[: 1 + scored]:
        with pytest.raises(InputError, match=rf"`x`.*\(n, {family.dim}\), got \(4, 19\)"):
            method(np.full((4, 19), 0.5))
    if not scored:
        return
    assert family.score(x).shape == x.shape and family.score(x[:0]).shape == (0, family.dim)
    np.testing.assert_array_equal(family.score(x.tolist()), family.score(x))
    np.testing.assert_array_equal(model.score(x), family.score(x))
    rows = np.concatenate([family.score(row[None]) for row in x])
    np.testing.assert_allclose(family.score(x), rows, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", SMOOTH, ids=named)
def test_the_score_is_the_gradient_of_the_log_density(family):
    """By central differences of order four, along the domain where it is flat."""
    x = family.sample(200, rng=1)
    x = x[family.domain.boundary_distance(x) > 1e-3] if family.domain.flat else x
    assert len(x) > 100
    directions = np.eye(family.dim) if family.domain.basis is None else family.domain.basis
    size = (
        np.minimum(1e-5, 1e-3 * family.domain.boundary_distance(x))[:, None] if family.domain.flat else 1e-5
    )
    steps = (1, -1, 2, -2)
    for v in directions:
        above, below, far_above, far_below = (family.logpdf(x + k * size * v) for k in steps)
        slope = (8 * (above - below) - far_above + far_below) / (12 * np.ravel(size))
        np.testing.assert_allclose(family.score(x) @ v, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("family", [q for q in SMOOTH if not q.domain.has_boundary], ids=named)
def test_the_score_has_mean_zero_without_boundary(family):
    """Along the domain: on a sphere the tangential part, with the volume's own drift (d − 1) taken out."""
    x = family.sample(20_000, rng=2)
    s = family.score(x)
    if isinstance(family.domain, gs.Sphere):
        s = s - np.einsum("ni,ni->n", s, x)[:, None] * x - (family.dim - 1) * x
    assert (np.abs(s.mean(axis=0)) < 4 * s.std(axis=0) / np.sqrt(len(s)) + 1e-12).all()


@pytest.mark.parametrize("family", DISCRETE, ids=named)
def test_the_score_of_a_lattice_is_one_minus_the_ratio_at_the_next_level(family):
    states = family.domain.states()
    q = np.exp(family.logpdf(states))
    levels = list(family.domain.levels)
    place = {tuple(x): k for k, x in enumerate(states)}
    for k, (x, s) in enumerate(zip(states, family.score(states), strict=True)):
        for i in range(family.dim):
            y = x.copy()
            y[i] = levels[(levels.index(x[i]) + 1) % len(levels)]
            assert s[i] == pytest.approx(1 - q[place[tuple(y)]] / q[k], rel=1e-9, abs=1e-12)
    try:
        assert family.logpdf(np.full((1, family.dim), 99.0)) == -np.inf
    except InputError as error:
        assert "`x`: 1 of 1 rows (row 0) hold states outside" in str(error)


@pytest.mark.parametrize("family", [q for q in PROCESSES if hasattr(q, "papangelou")], ids=named)
def test_intensities_of_two_points_do_not_depend_on_their_order(family):
    """ρ(u | φ) ρ(v | φ + u) = ρ(v | φ) ρ(u | φ + v), both the density of φ + u + v over that of φ."""
    rng = np.random.default_rng(1)
    for pattern in family.sample(5, rng=2):
        u, v = pattern[:1] + 0.02 * rng.uniform(size=(1, 2)), rng.uniform(size=(1, 2))
        u = np.clip(u, 0, 1)

        def rho(point, others):
            return family.papangelou(point, others)[0]

        one = rho(u, pattern) * rho(v, np.vstack([pattern, u]))
        assert one == pytest.approx(rho(v, pattern) * rho(u, np.vstack([pattern, v])), rel=1e-12)
        assert one > 0 and rho(u, pattern[::-1]) == pytest.approx(rho(u, pattern), rel=1e-12)


def test_a_family_whose_density_jumps_has_no_score():
    (family,) = [q for q in FAMILIES if isinstance(q, PiecewiseExponential)]
    with pytest.raises(ScoreError, match="jumps at its breakpoints"):
        family.score(family.sample(3, rng=1))
