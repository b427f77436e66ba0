"""Laws that every domain obeys: geometry against brute force with `contains` alone."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import linalg

import goodstein as gs
from cases import BOUNDED, CHARTS, CLOSED, COUNTABLE, DOMAINS, FLAT, UNBOUNDED, WITHOUT_BOUNDARY, inside
from goodstein.auxiliary import default_auxiliary

WITH_BOUNDARY = BOUNDED + UNBOUNDED


def tangent_directions(domain, count, rng):
    """Unit vectors along the domain; those of the simplex from an independent basis."""
    normal = np.ones((1, domain.dim)) if isinstance(domain, gs.Simplex) else np.zeros((0, domain.dim))
    basis = linalg.null_space(normal) if len(normal) else np.eye(domain.dim)
    if basis.shape[1] == 1:
        return np.stack([basis[:, 0], -basis[:, 0]])
    coordinates = rng.standard_normal((count, basis.shape[1]))
    return coordinates / np.linalg.norm(coordinates, axis=1, keepdims=True) @ basis.T


def exit_distance(domain, x, directions, longest):
    """How far one can go from x in each direction, by marching and bisection with `contains` alone."""
    steps = np.linspace(0, longest, 61)[1:]
    out = np.array([~domain.contains(x + t * directions) for t in steps])
    first = np.where(out.any(axis=0), out.argmax(axis=0), len(steps) - 1)
    high, low = steps[first], steps[first] - steps[0]
    for _ in range(40):
        middle = (low + high) / 2
        within = domain.contains(x + middle[:, None] * directions)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return high


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_is_an_immutable_value(domain):
    for twin in (pickle.loads(pickle.dumps(domain)), copy.deepcopy(domain), copy.copy(domain)):
        assert twin == domain and hash(twin) == hash(domain) and repr(twin) == repr(domain)
        assert type(twin) is type(domain)
    assert domain != "domain" and domain != gs.Ball(domain.dim, radius=17)
    assert sum(domain == other for other in DOMAINS) == 1
    with pytest.raises(AttributeError, match="is immutable: make a new one with another 'anything'"):
        domain.anything = 7
    with pytest.raises(AttributeError, match="'dim' cannot be deleted"):
        del domain.dim


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_points_inside_and_what_is_known_of_it(domain):
    assert domain.bounded == (domain in BOUNDED + CLOSED + CHARTS)
    assert domain.has_boundary == (domain in WITH_BOUNDARY + CHARTS)
    assert domain.discrete == (isinstance(domain, gs.Lattice) or domain in COUNTABLE)
    assert domain.flat == (domain in FLAT or domain.discrete)
    assert domain.connected is True
    x = inside(domain, 20)
    assert x.shape == (20, domain.dim) and domain.contains(x).all()
    domain.validate(x)
    with pytest.raises(gs.DomainError, match=rf"needs an array of shape \(n, {domain.dim}\), got \(20, "):
        domain.validate(np.hstack([x, x]))
    x[7] = np.nan
    np.testing.assert_array_equal(np.flatnonzero(~domain.contains(x)), [7])
    with pytest.raises(gs.DomainError, match=r"1 of 20 rows \(row 7\)"):
        domain.validate(x)
    y = domain.embedded(inside(domain, 5))
    assert y.shape[0] == 5 and np.isfinite(y).all()


@pytest.mark.parametrize("domain", BOUNDED + CLOSED, ids=repr)
def test_uniform_samplers_stay_inside_take_zero_and_repeat_with_the_seed(domain):
    assert domain.sample_uniform(0, np.random.default_rng(0)).shape == (0, domain.dim)
    first, second = (domain.sample_uniform(50, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (50, domain.dim) and domain.contains(first).all()
    assert len(np.unique(first, axis=0)) > 5


@pytest.mark.parametrize("domain", WITH_BOUNDARY, ids=repr)
def test_boundary_distance_is_the_shortest_way_out(domain):
    rng = np.random.default_rng(1)
    x = inside(domain, 4)
    # In many dimensions random directions come close to the best one too rarely to be a tight bound.
    tangent_dim = domain.dim - isinstance(domain, gs.Simplex)
    tightness = {1: 1e-6, 2: 1e-4, 3: 1e-2, 4: 1e-1}[tangent_dim]
    for point, distance in zip(x, domain.boundary_distance(x), strict=True):
        out = exit_distance(domain, point, tangent_directions(domain, 1500, rng), longest=2 * distance + 0.1)
        assert out.min() >= distance * (1 - 1e-9)
        assert out.min() <= distance * (1 + tightness)


@pytest.mark.parametrize("domain", WITH_BOUNDARY, ids=repr)
def test_boundary_gradient_is_that_of_the_distance(domain):
    x = inside(domain, 400)
    step = 1e-6
    gradient = domain.boundary_gradient(x)
    assert gradient.shape == x.shape
    same = np.ones(len(x), dtype=bool)
    for direction in tangent_directions(domain, 3, np.random.default_rng(2)):
        above, below = (domain.boundary_distance(x + s * direction) for s in (step, -step))
        same &= np.abs((above - below) / (2 * step) - gradient @ direction) < 1e-4
    # Two faces are equally near, or the boundary is nearer than the step, at few points.
    assert same.mean() > 0.99


@pytest.mark.parametrize("domain", FLAT, ids=repr)
def test_the_auxiliary_function_vanishes_with_the_distance_to_the_boundary_and_not_inside(domain):
    x = inside(domain, 5)
    g, dg = default_auxiliary(domain).fitted(x, domain).evaluate(x, domain)
    assert g.shape in ((5,), (5, domain.dim)) and dg.shape == (5, domain.dim)
    assert (g > 0).all()
    for face in domain.faces(x, np.random.default_rng(3)) if domain.has_boundary else ():
        near = face.points + 1e-9 * face.reach[:, None] * face.normals
        weight, _ = default_auxiliary(domain).fitted(x, domain).evaluate(near, domain)
        across = weight[:, None] * face.normals if weight.ndim == 1 else weight * face.normals
        assert np.abs(across).max() < 1e-6


@pytest.mark.parametrize("domain", WITHOUT_BOUNDARY + CLOSED, ids=repr)
def test_without_boundary(domain):
    x = inside(domain, 3)
    assert np.all(domain.boundary_distance(x) == np.inf)
    assert np.all(domain.boundary_gradient(x) == 0)
    assert len(domain.faces(x, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("domain", WITH_BOUNDARY, ids=repr)
def test_faces(domain):
    some, none = (domain.faces(points, np.random.default_rng(3)) for points in (inside(domain, 50), None))
    names = [face.name for face in some]
    assert names == [face.name for face in none] and len(set(names)) == len(names) > 0
    for face in [*some, *none]:
        assert len(face.points) == len(face.normals) == len(face.reach) > 0
        assert np.all(np.isfinite(face.reach)) and np.all(face.reach > 1e-4)
        assert domain.contains(face.points).all()
        assert not domain.contains(face.points - 0.05 * face.normals).any()
        np.testing.assert_allclose(domain.boundary_distance(face.points), 0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(face.normals, axis=1), 1, rtol=1e-12)
        if isinstance(domain, gs.Simplex):
            np.testing.assert_allclose(face.normals.sum(axis=1), 0, atol=1e-12)
        for share in (1e-3, 0.3, 0.7, 1.0):
            t = share * face.reach
            walked = face.points + t[:, None] * face.normals
            assert domain.contains(walked).all()
            np.testing.assert_allclose(domain.boundary_distance(walked), t, rtol=1e-9, atol=1e-12)
        # The first step off the boundary goes straight away from it.
        nearby = face.points + 1e-3 * face.reach[:, None] * face.normals
        slope = np.einsum("nd,nd->n", domain.boundary_gradient(nearby), face.normals)
        np.testing.assert_allclose(slope, 1, rtol=1e-6)
