"""The Stein matrix against its definition, and the fast paths against the slow ones.

The definition is h(u, v) = Σ_j T_j^u T_j^v k(u, v) with (T_j f)(u) = q(u)⁻¹ Σ_i ∂_i(q(u) G_ij(u) f(u)), where
q·G·f is differentiated by JAX in double precision; none of the library's formulas is used.
"""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import goodstein as gs
import goodstein.stein.tiles
from cases import RADIAL, KernelCase
from definitions import CASES, Case, assert_same, double_precision, evaluated
from goodstein.kernels import IMQ, Gaussian, Matern52, RationalQuadratic
from goodstein.kernels.base import Kernel, as_kernel
from goodstein.stein.features import SteinFeatures, SteinForm

NAMES = [case.name for case in CASES]
WHITENED = next(kernel for kernel in RADIAL if kernel.whitened)

LITERAL = [
    "diagonal g",
    "distance, polygon with a hole",
    "G not symmetric",
    "G with J = 3 > d",
    "LogRatio, Dirichlet",
]
"""One case of each kind; the others are differentiated twice by `make test-all`."""


# --- the definition ----------------------------------------------------------------------------


def twice_differentiated(case: Case, kernel: KernelCase):
    """h(u, v) word for word: q·G·f differentiated in u of what q·G·k, differentiated in v, has become."""
    linear_map = kernel.linear_map(case.m)
    back = np.linalg.inv(linear_map).T if kernel.whitened and case.square else None

    def G(u):
        # Test functions of a whitened kernel that belong to coordinates are f(u) = L⁻ᵀ f̃(Lᵀu).
        return case.G(u) if back is None else case.G(u) @ back

    def stein(f, u):
        """(T_j f_j)(u) for every j, f with values (J,); q relative to q(u), against overflow."""
        here = jax.lax.stop_gradient(case.logq(u))
        flux = jax.jacfwd(lambda w: jnp.exp(case.logq(w) - here) * G(w) * f(w))(u)
        return jnp.einsum("iji->j", flux)

    def h(u, v):
        def section(w):
            def k(y):
                return kernel.profile(jnp.sum((linear_map.T @ (w - y)) ** 2))

            return stein(k, v)

        return jnp.sum(stein(section, u))

    return h


@cache
def action(case: Case) -> np.ndarray:
    """T_j f at every point for f(w) = 1 and f(w) = w_i − u_i, (n, J, 1 + m).

    A first-order operator is known when these are, since it sees of f only the value and the gradient.
    """

    def at(u):
        here = case.logq(u)

        def flux(w):
            f = jnp.concatenate([jnp.ones(1), w - u])
            return jnp.exp(case.logq(w) - here) * case.G(w)[:, :, None] * f

        return jnp.einsum("ijfi->jf", jax.jacfwd(flux)(u))

    return evaluated(jax.vmap(at), case.coordinates(case.data))


@cache
def _jets(n: int, m: int):
    """For all kernels at once k, ∂k, ∂′k and ∂∂′k, as a function of n points u and n points v."""

    def k(u, v):
        z = [kernel.linear_map(m).T @ (u - v) for kernel in RADIAL]
        return jnp.stack([kernel.profile(jnp.sum(r**2)) for kernel, r in zip(RADIAL, z, strict=True)])

    def jets(u, v):
        # f(u + s) = f(u) + s·∂f(u) + …: the coefficients of s = (1, 0, …), (0, 1, …), … in both arguments.
        right = jax.jacfwd(k, argnums=1)
        top = jnp.concatenate([k(u, v)[:, None], right(u, v)], axis=1)
        below = jnp.concatenate(
            [jax.jacfwd(k)(u, v)[:, :, None], jnp.swapaxes(jax.jacfwd(right)(u, v), 1, 2)], axis=2
        )
        return jnp.concatenate([top[:, None, :], below], axis=1)

    return jax.jit(jax.vmap(jax.vmap(jets, (None, 0)), (0, None)))


def definition(case: Case) -> dict[str, np.ndarray]:
    """The Stein matrix of a case by its definition, for every kernel."""
    u = case.coordinates(case.data)
    with double_precision():
        jets = np.asarray(_jets(*u.shape)(u, u))
    result = {}
    for number, kernel in enumerate(RADIAL):
        t = action(case)
        if kernel.whitened and case.square:
            t = np.einsum("npf,pj->njf", t, np.linalg.inv(kernel.linear_map(case.m)).T)
        result[kernel.name] = np.einsum("ajf,abfg,bjg->ab", t, jets[:, :, number], t, optimize=True)
    return result


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_stein_matrix_is_what_the_definition_says(case):
    expected = definition(case)
    for kernel in RADIAL:
        got = case.stein_matrix(kernel.make(case.m))
        assert_same(got, expected[kernel.name], case.rtol, kernel.name)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[] if c.name in LITERAL else pytest.mark.slow, id=c.name) for c in CASES],
)
def test_the_definition_is_differentiated_literally(case):
    """The same with both operators applied to k itself, by nested differentiation, at some pairs."""
    rows, cols = np.array([0, 1, 2, 3, 4, 5]), np.array([0, 3, 7, 2, 4, 6])  # (0, 0) and (4, 4) are diagonal
    kernel = WHITENED
    u = case.coordinates(case.data)
    pairs = u[rows], u[cols]
    expected = evaluated(jax.vmap(twice_differentiated(case, kernel)), *pairs)
    h = case.stein_matrix(kernel.make(case.m))
    size = np.sqrt(np.diag(h)[rows] * np.diag(h)[cols])
    np.testing.assert_allclose(h[rows, cols] / size, expected / size, rtol=0, atol=case.rtol)


# --- paths through the code that must agree ------------------------------------------------------


class Bare:
    """A kernel of which nothing but the two required methods is known, and its length."""

    def __init__(self, kernel) -> None:
        self.bandwidth, self.profiles = kernel.shortest_length, kernel.profiles

    def fitted(self, points):
        return self


PLAIN = [kernel.kernel for kernel in RADIAL if not kernel.whitened] + [
    IMQ(0.7, exponent=-1.0),
    RationalQuadratic(1.2, alpha=0.5),
    Gaussian(0.5) + Matern52(1.0) + IMQ(2.0),
]


def features(kind: str, n: int = 40, m: int = 3, seed: int = 0) -> SteinFeatures:
    """Features that come from no operator: any (y, a, G) must do."""
    rng = np.random.default_rng(seed)
    shape = {"none": None, "scalar": (n,), "diagonal": (n, m), "matrix": (n, m, m), "wide": (n, m, m + 2)}[
        kind
    ]
    components = m + 2 if kind == "wide" else m
    weight = None if shape is None else rng.standard_normal(shape)
    return SteinFeatures(rng.standard_normal((n, m)) + 3.0, rng.standard_normal((n, components)), weight)


KINDS = ["none", "scalar", "diagonal", "matrix", "wide"]


@pytest.mark.parametrize("kind", ["none", "scalar", "diagonal"])
def test_factored_and_direct_tiles_agree(kind, monkeypatch):
    with monkeypatch.context() as patch:
        patch.delattr(goodstein.stein.tiles, "_DirectTile")
        factored = [SteinForm(features(kind), kernel).matrix() for kernel in PLAIN]
    monkeypatch.delattr(goodstein.stein.tiles, "_FactoredTile")
    monkeypatch.setattr(goodstein.stein.tiles, "MAX_SPREAD", -1.0)
    for kernel, expected in zip(PLAIN, factored, strict=True):
        assert_same(SteinForm(features(kind), kernel).matrix(), expected, 1e-12, repr(kernel))


def test_factored_and_direct_tiles_agree_on_every_case(monkeypatch):
    factored = [SteinForm(case.features, IMQ(1.1)).matrix() for case in CASES]
    monkeypatch.setattr(goodstein.stein.tiles, "MAX_SPREAD", -1.0)
    for case, expected in zip(CASES, factored, strict=True):
        assert_same(SteinForm(case.features, IMQ(1.1)).matrix(), expected, 1e-12, case.name)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), IMQ(1.0), Matern52(1.0)], ids=repr)
@pytest.mark.parametrize("kind", ["none", "scalar", "diagonal"])
def test_factored_tiles_keep_their_digits_as_long_as_they_are_used(kind, kernel, monkeypatch):
    """At the largest spread that is factored, 3000 bandwidths, 1e-16·1e7 is what rounding may cost."""
    near = features(kind)
    points = near.points.copy()
    points[21:] += 0.99 * np.sqrt(
        goodstein.stein.tiles.MAX_SPREAD / 3
    )  # the smaller half of the points, far away
    far = SteinFeatures(points, near.value, near.weight)
    with monkeypatch.context() as patch:
        patch.delattr(goodstein.stein.tiles, "_DirectTile")
        factored = SteinForm(far, kernel).matrix()
    monkeypatch.setattr(goodstein.stein.tiles, "MAX_SPREAD", -1.0)
    assert_same(factored, SteinForm(far, kernel).matrix(), 1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_fast_tiles_of_kernels_agree_with_their_profiles(kind):
    for kernel in PLAIN:
        bare = as_kernel(Bare(kernel))
        assert type(bare).stein_tile is Kernel.stein_tile
        expected = SteinForm(features(kind), bare).matrix()
        assert_same(SteinForm(features(kind), kernel).matrix(), expected, 1e-12, repr(kernel))


@pytest.mark.parametrize("kernel", [Gaussian(1.3), IMQ(1.1), Matern52(1.3)], ids=repr)
@pytest.mark.parametrize("kind", ["none", "scalar", "diagonal"])
def test_scalar_diagonal_and_matrix_weights_agree(kind, kernel):
    given = features(kind)
    n, m = given.points.shape
    weight = np.ones(n) if given.weight is None else given.weight
    diagonal = np.repeat(weight[:, None], m, axis=1) if weight.ndim == 1 else weight
    matrix = diagonal[:, :, None] * np.eye(m)
    expected = SteinForm(given, kernel).matrix()
    for same in (weight, diagonal, matrix):
        other = SteinForm(SteinFeatures(given.points, given.value, same), kernel)
        assert_same(other.matrix(), expected, 1e-12)


@pytest.mark.parametrize("domain", [gs.Euclidean(2), gs.Box(-9, [9, 9]), gs.Simplex(3)], ids=repr)
def test_a_scalar_function_equals_a_diagonal_and_a_matrix_one(domain):
    """On a simplex, where diagonal functions are refused, the derivatives are tangential."""

    def g(x):
        return 1 + x[:, 0] ** 2 * x[:, 1]

    def gradient(x):
        result = np.zeros_like(x)
        result[:, 0], result[:, 1] = 2 * x[:, 0] * x[:, 1], x[:, 0] ** 2
        return result

    def matrix(x):
        return g(x)[:, None, None] * np.eye(x.shape[1])

    def divergence(x):
        return gradient(x) if domain.basis is None else gradient(x) @ domain.basis.T @ domain.basis

    operators = [gs.Standardised(gs.Auxiliary(g, gradient)), gs.MatrixStandardised(matrix, divergence)]
    if domain.basis is None:
        diagonal = gs.Auxiliary(lambda x: np.repeat(g(x)[:, None], 2, axis=1), gradient)
        operators.append(gs.Standardised(diagonal))
        data, score = np.random.default_rng(0).standard_normal((9, 2)), lambda x: np.sin(3 * x)
    else:
        data, score = np.random.default_rng(0).dirichlet(np.ones(3), 9), lambda x: 0.5 / x
    model = gs.Model(score=score, domain=domain)
    matrices = [gs.stein_matrix(data, model, operator=o, kernel=IMQ(0.7)) for o in operators]
    for other in matrices[1:]:
        assert_same(other, matrices[0], 1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(1.3), IMQ(1.1), Matern52(1.3)], ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_pieces_of_the_matrix(kind, kernel):
    form = SteinForm(features(kind, n=600), kernel)
    whole = form.matrix()
    size = np.diag(whole).max()
    for rows, cols in [
        (slice(0, 600), slice(0, 600)),
        (slice(3, 5), slice(590, 600)),
        (slice(300, 600), slice(0, 257)),
        (slice(7, 8), slice(7, 8)),
    ]:
        block = form.block(rows, cols)
        np.testing.assert_allclose(block, whole[rows, cols], rtol=0, atol=1e-12 * size)
        transposed = form.block(cols, rows).T.copy()
        np.testing.assert_allclose(transposed, form.block(rows, cols), rtol=0, atol=1e-12 * size)
    some = np.array([5, 6, 300, 599])
    found = form.columns(some)
    form.block(slice(0, 600), slice(0, 4))  # which overwrites scratch, but not this
    np.testing.assert_allclose(found, whole[:, some], rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("kind", KINDS)
def test_the_diagonal_is_that_of_a_block(kind):
    """matrix() takes its diagonal from diagonal(), so a block is what it has to be compared with."""
    for kernel in PLAIN:
        form = SteinForm(features(kind), kernel)
        block = form.block(slice(0, form.n), slice(0, form.n))
        # Matérn: √ρ turns a rounding error of 1e-15 in ρ into 3e-8 of its third derivative.
        rtol = 1e-6 if "Matern52" in repr(kernel) else 1e-12
        np.testing.assert_allclose(np.diag(block), form.diagonal(), rtol=rtol)


@pytest.mark.parametrize("kind", KINDS)
def test_far_clusters_do_not_cancel(kind):
    """Two clusters 1e9 bandwidths apart: within each H is that of the cluster alone."""
    near = features(kind, n=10)
    points = near.points - near.points.mean(axis=0)
    points = np.round(points * 1024) / 1024  # so that adding 2^30 loses no digits
    far = points.copy()
    far[5:] += 2.0**30
    together = SteinForm(SteinFeatures(far, near.value, near.weight), IMQ(1.1)).matrix()
    for part in (slice(0, 5), slice(5, 10)):
        weight = None if near.weight is None else near.weight[part]
        alone = SteinForm(SteinFeatures(points[part], near.value[part], weight), IMQ(1.1)).matrix()
        assert_same(together[part, part], alone, 1e-9)
