"""Point patterns: the operator against its definition, the identity against simulation, bad input."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.spatial
import scipy.special
import scipy.stats

import goodstein as gs
from goodstein.families import PoissonProcess, Strauss
from goodstein.kernels.base import as_kernel
from goodstein.patterns import ConfigurationKernel, Papangelou, Patterns, quadrature
from goodstein.patterns.operator import PatternFeatures
from goodstein.patterns.process import as_process
from levels import check_level, trials

SQUARE = gs.Box([0, 0], [1, 1])
LINE = gs.Box(0, 2)
ELL = gs.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
POISSON = PoissonProcess(30.0, SQUARE)


def slope(u):
    """Intensity that grows to the right; a function of the module, so that it can be pickled."""
    return 40.0 * (0.5 + u[:, 0])


def stein(patterns, model, kernel, nodes=None):
    """The Stein matrix as the test makes it."""
    process = as_process(model, None)
    data = Patterns(patterns, process.domain.dim)
    return PatternFeatures(data, process, process.domain, nodes).form(as_kernel(kernel).fitted(data)).matrix()


def by_definition(phi, psi, model, kernel, u, w):
    """A^φ A^ψ k, every configuration written out."""

    def operated(pattern, f):
        rho = model.papangelou(u, pattern)
        births = sum(w[a] * rho[a] * (f(np.vstack([pattern, u[a]])) - f(pattern)) for a in range(len(u)))
        return births + sum(f(np.delete(pattern, b, axis=0)) - f(pattern) for b in range(len(pattern)))

    return operated(phi, lambda a: operated(psi, lambda b: kernel(a, b)))


def configuration_kernel(bandwidth, scale, normalised):
    """The kernel of the docstring, from pairwise distances."""

    def inner(a, b):
        if not (len(a) and len(b)):
            return 0.0
        values = np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * bandwidth**2))
        return values.mean() if normalised else values.sum()

    def k(a, b):
        if normalised and not (len(a) and len(b)):
            return float(len(a) == len(b))
        return math.exp(-(inner(a, a) + inner(b, b) - 2 * inner(a, b)) / (2 * scale**2))

    return k


class Counts:
    """k(φ, ψ) = |φ||ψ|, a kernel of a user."""

    def fitted(self, patterns):
        return self

    def __call__(self, phi, psi):
        return np.outer([len(a) for a in phi], [len(b) for b in psi])


# The Stein matrix


@pytest.mark.parametrize("normalised", [False, True], ids=["sum", "mean"])
@pytest.mark.parametrize("scale", [0.7, 0.1], ids=["wide", "narrow"])  # the narrow one takes the direct way
@pytest.mark.parametrize(
    "model", [PoissonProcess(slope, SQUARE), Strauss(20.0, 0.4, 0.3, SQUARE)], ids=["poisson", "strauss"]
)
def test_the_stein_matrix_is_the_operator_applied_twice(model, scale, normalised):
    rng = np.random.default_rng(3)
    patterns = [rng.uniform(size=(k, 2)) for k in (3, 0, 1, 4)]
    u, w = quadrature(SQUARE, 9)
    got = stein(patterns, model, ConfigurationKernel(0.4, scale, normalised), nodes=9)
    k = configuration_kernel(0.4, scale, normalised)
    expected = np.array([[by_definition(a, b, model, k, u, w) for b in patterns] for a in patterns])
    size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs((got - expected) / size).max() < 1e-10
    assert np.linalg.eigvalsh(got)[0] > -1e-10 * np.trace(got)


def test_a_wide_kernel_compares_intensities():
    # As s grows, s²h(φ, ψ) tends to ⟨ν_φ, ν_ψ⟩ with ν_φ = ∫ρ(u) l(u, ·)du − Σ l(x, ·): no exponentials left.
    model = PoissonProcess(slope, SQUARE)
    patterns = model.sample(5, rng=2)
    u, w = quadrature(SQUARE, 25)
    places = [np.vstack([u, pattern]) for pattern in patterns]
    signed = [np.concatenate([w * slope(u), -np.ones(len(pattern))]) for pattern in patterns]

    def inner(i, j):
        squared = scipy.spatial.distance.cdist(places[i], places[j]) ** 2
        return signed[i] @ np.exp(-squared / (2 * 0.3**2)) @ signed[j]

    expected = np.array([[inner(i, j) for j in range(5)] for i in range(5)])
    got = 1e10 * stein(patterns, model, ConfigurationKernel(0.3, 1e5), nodes=25)
    assert np.allclose(got, expected, rtol=1e-5, atol=1e-5 * np.trace(expected))


def test_the_kernel_itself_and_the_generic_way_to_a_stein_matrix():
    rng = np.random.default_rng(4)
    patterns = [rng.uniform(size=(k, 2)) for k in (3, 0, 2)]
    fitted = ConfigurationKernel(0.4, 0.9)
    k = configuration_kernel(0.4, 0.9, False)
    assert np.allclose(fitted(patterns, patterns), [[k(a, b) for b in patterns] for a in patterns])

    class Wrapped:
        def fitted(self, data):
            return self

        def __call__(self, phi, psi):
            return fitted(phi, psi)

    model = PoissonProcess(slope, SQUARE)
    assert np.allclose(stein(patterns, model, Wrapped(), 9), stein(patterns, model, fitted, 9), rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [PoissonProcess(5.0, SQUARE), PoissonProcess(lambda u: u[:, 0], LINE), PoissonProcess(7.0, ELL)],
    ids=["square", "line", "polygon"],
)
def test_a_kernel_of_counts_sees_the_excess_of_points(model):
    # k = |φ||ψ| gives h = (Λ − |φ|)(Λ − |ψ|); the measure of the window enters Λ.
    mass = {SQUARE: 5.0, LINE: 2.0, ELL: 21.0}[model.domain]
    patterns = [model.domain.sample_uniform(k, np.random.default_rng(k)) for k in (2, 0, 5)]
    excess = np.array([mass - len(pattern) for pattern in patterns])
    assert np.allclose(stein(patterns, model, Counts(), nodes=50), np.outer(excess, excess), rtol=1e-9)


def test_the_kernel_sees_counts_unless_it_is_normalised():
    few, many = np.full((2, 2), 0.5), np.full((20, 2), 0.5)
    assert ConfigurationKernel(0.3, 1.0)([few], [many])[0, 0] < 1e-10
    assert ConfigurationKernel(0.3, 1.0, normalised=True)([few], [many])[0, 0] == 1.0


def test_an_offset_of_the_window_changes_nothing():
    patterns = POISSON.sample(5, rng=1)
    far = PoissonProcess(30.0, gs.Box([1e6, -1e6], [1e6 + 1, 1 - 1e6]))
    moved = [pattern + np.array([1e6, -1e6]) for pattern in patterns]
    near, there = stein(patterns, POISSON, ConfigurationKernel()), stein(moved, far, ConfigurationKernel())
    assert np.allclose(near, there, rtol=1e-6, atol=1e-6 * np.trace(near))


# Quadrature


@pytest.mark.parametrize("length", [math.inf, 0.05], ids=["default", "short"])
def test_nodes_integrate_over_boxes(length):
    u, w = quadrature(gs.Box([0, -1], [1, 3]), None, length)
    expected = math.sin(1) * (math.exp(3) - math.exp(-1))
    assert math.isclose(w @ (np.cos(u[:, 0]) * np.exp(u[:, 1])), expected, rel_tol=1e-12)
    assert math.isclose(w.sum(), 4.0, rel_tol=1e-12)
    assert len(u) >= (144 if length == math.inf else 4.0 / (0.75 * 0.05) ** 2)


def test_nodes_integrate_over_polygons():
    u, w = quadrature(ELL)
    assert ELL.contains(u).all() and (w > 0).all()
    assert math.isclose(w.sum(), 3.0, rel_tol=1e-12)
    assert math.isclose(w @ u[:, 0], 2.0 + 0.5, rel_tol=1e-3)  # ∫ x over the two parts of the L
    triangle, weight = quadrature(gs.Polygon([(0, 0), (1, 0), (0, 1)]))
    assert math.isclose(weight @ triangle[:, 0], 1 / 6, rel_tol=1e-12)  # without a notch exact

    def bump(x, y):
        return np.exp(-((x - 0.7) ** 2 + (y - 0.9) ** 2) / (2 * 0.4**2))

    parts = [(0, 2, 0, 1), (0, 1, 1, 2)]
    exact = sum(scipy.integrate.dblquad(lambda y, x: bump(x, y), a, b, c, d)[0] for a, b, c, d in parts)
    assert math.isclose(w @ bump(*u.T), exact, rel_tol=5e-3)


# Stein's identity, by simulation


IDENTITY = {
    "poisson": POISSON,
    "slope": PoissonProcess(slope, SQUARE),
    "polygon": PoissonProcess(10.0, ELL),
    "line": PoissonProcess(8.0, LINE),
    "strauss": Strauss(50.0, 0.3, 0.08, SQUARE),
    "hard core": Strauss(40.0, 0.0, 0.05, SQUARE),
}


@pytest.mark.parametrize("name", IDENTITY)
def test_steins_identity_by_simulation(name):
    # E h(φ, ψ) = 0 over φ at every ψ. An error of the nodes of four tenths of a standard deviation of one
    # observation would show here; what there is of it is measured in the next test.
    model = IDENTITY[name]
    patterns = model.sample(108, rng=11)
    h = stein(patterns, model, ConfigurationKernel())[:8, 8:]
    z = h.mean(axis=1) / (h.std(axis=1) / math.sqrt(h.shape[1]))
    assert np.abs(z).max() < 4.0


@pytest.mark.parametrize("name", ["poisson", "slope", "polygon"])
def test_the_error_of_the_nodes_is_small_against_the_noise(name):
    # For a Poisson process both integrals are known as sums over nodes, so the default nodes can be
    # compared with many more: what they change of the matrix is small against its diagonal.
    model = IDENTITY[name]
    patterns = model.sample(6, rng=5)
    default, fine = (stein(patterns, model, ConfigurationKernel(), n) for n in (None, 4000))
    assert np.abs(default - fine).max() < 0.01 * fine.diagonal().mean()


def test_a_wrong_intensity_breaks_the_identity():
    h = stein(PoissonProcess(36.0, SQUARE).sample(108, rng=11), POISSON, ConfigurationKernel())[:8, 8:]
    z = h.mean(axis=1) / (h.std(axis=1) / math.sqrt(h.shape[1]))
    assert np.abs(z).max() > 4.5


# Models


def test_the_poisson_sampler_has_the_right_counts_and_places():
    model = PoissonProcess(slope, SQUARE)
    assert math.isclose(model.mass, 40.0, rel_tol=1e-12)
    patterns = model.sample(2000, rng=1)
    counts = np.array([len(pattern) for pattern in patterns])
    assert abs(counts.mean() - 40) < 4 * math.sqrt(40 / 2000)
    assert abs(counts.var() - 40) < 4 * 40 * math.sqrt(2 / 2000)
    x = np.concatenate(patterns)[:, 0]
    assert scipy.stats.kstest(x, lambda t: 0.5 * t + 0.5 * t**2).pvalue > 1e-3


def test_the_strauss_sampler_where_everything_interacts():
    # In a window smaller than R all pairs are close: P(n) ∝ (β|W|)ⁿ/n! γ^(n(n−1)/2).
    window = gs.Box([0, 0], [0.5, 0.5])
    model = Strauss(24.0, 0.6, 1.0, window)
    counts = np.bincount([len(p) for p in model.sample(800, rng=2)], minlength=30)
    n = np.arange(30)
    log = n * math.log(6.0) - scipy.special.gammaln(n + 1) + n * (n - 1) / 2 * math.log(0.6)
    p = np.exp(log - scipy.special.logsumexp(log))
    kept = p * 800 > 5
    found = np.append(counts[kept], counts[~kept].sum())
    expected = 800 * np.append(p[kept], p[~kept].sum())
    assert scipy.stats.chisquare(found, expected).pvalue > 1e-3


def test_the_strauss_sampler_against_metropolis_hastings():
    # An independent sampler: birth–death moves, started from nothing.
    model = Strauss(60.0, 0.2, 0.1, SQUARE)
    rng = np.random.default_rng(8)
    x, counts, pairs = np.empty((0, 2)), [], []
    for step in range(6_000):
        if rng.uniform() < 0.5:
            u = rng.uniform(size=(1, 2))
            if rng.uniform() < model.papangelou(u, x)[0] / (len(x) + 1):
                x = np.vstack([x, u])
        elif len(x):
            k = rng.integers(len(x))
            rest = np.delete(x, k, axis=0)
            if rng.uniform() < len(x) / model.papangelou(x[[k]], rest)[0]:
                x = rest
        if step > 800 and step % 20 == 0:
            counts.append(len(x))
            pairs.append((scipy.spatial.distance.pdist(x) <= 0.1).sum())
    exact = model.sample(120, rng=9)
    own = [(scipy.spatial.distance.pdist(p) <= 0.1).sum() for p in exact]
    # About four standard errors, with the chain's worth thirty independent patterns.
    assert abs(np.mean([len(p) for p in exact]) - np.mean(counts)) < 2.6
    assert abs(np.mean(own) - np.mean(pairs)) < 2.2


def test_a_hard_core_and_no_interaction():
    for pattern in Strauss(60.0, 0.0, 0.07, SQUARE).sample(20, rng=1):
        assert scipy.spatial.distance.pdist(pattern).min() > 0.07
    free = [len(p) for p in Strauss(30.0, 1.0, 0.1, SQUARE).sample(200, rng=1)]
    assert abs(np.mean(free) - 30) < 4 * math.sqrt(30 / 200)


# The test


def test_the_result_and_its_words():
    result = gs.point_pattern_ksd_test(POISSON.sample(10, rng=1), POISSON, domain=SQUARE, rng=1)
    text = str(result)
    assert text.startswith("Point pattern kernel Stein test")
    assert "10 point patterns with" in text and "PoissonProcess(30, Box([0, 1]^2))" in text
    assert result.n == 10 and result.audit.valid and result.notes == ()


def test_a_fitted_intensity_with_the_parametric_bootstrap():
    patterns = POISSON.sample(12, rng=2)
    fit = partial(PoissonProcess.fit, domain=SQUARE)
    null = gs.ParametricBootstrap(fit, 39)
    result = gs.point_pattern_ksd_test(patterns, fit(patterns), null=null, rng=1)
    assert result.pvalue > 0.05 and result.notes == ()
    assert math.isclose(fit(patterns).intensity, np.mean([len(p) for p in patterns]))


@pytest.mark.parametrize("kind", ["intensity", "place", "clusters", "repulsion"])
def test_alternatives_are_rejected(kind):
    rng = np.random.default_rng(7)
    if kind == "intensity":
        patterns = PoissonProcess(45.0, SQUARE).sample(20, rng)
    elif kind == "place":
        patterns = PoissonProcess(lambda u: 60.0 * u[:, 0], SQUARE).sample(20, rng)
    elif kind == "clusters":
        parents = PoissonProcess(15.0, SQUARE).sample(20, rng)
        patterns = [np.clip(np.vstack([p, p + rng.normal(0, 0.02, p.shape)]), 0, 1) for p in parents]
    else:
        patterns = Strauss(60.0, 0.05, 0.08, SQUARE).sample(40, rng)
    assert gs.point_pattern_ksd_test(patterns, POISSON, rng=1).pvalue <= 0.01


@trials(80, 200)
def test_the_level_is_kept(trials):
    rng = np.random.default_rng(12)
    kernel, operator = ConfigurationKernel(0.15), Papangelou(64)
    found = [
        gs.point_pattern_ksd_test(
            PoissonProcess(10.0, SQUARE).sample(15, rng),
            PoissonProcess(10.0, SQUARE),
            kernel=kernel,
            operator=operator,
            null=gs.WildBootstrap(99),
            rng=rng,
        ).pvalue
        for _ in range(trials)
    ]
    check_level(found, 0.1, 0.2)


def test_a_model_of_ones_own():
    class Area:
        """More intensity near the centre; only a conditional intensity."""

        def papangelou(self, u, pattern):
            return 30.0 + 0.0 * len(pattern) * u[:, 0]

    patterns = POISSON.sample(10, rng=1)
    own = gs.point_pattern_ksd_test(patterns, Area(), domain=SQUARE, rng=1)
    assert own.pvalue == gs.point_pattern_ksd_test(patterns, POISSON, rng=1).pvalue
    with pytest.raises(gs.InputError, match="has no sampler"):
        gs.point_pattern_ksd_test(patterns, Area(), domain=SQUARE, null=gs.MonteCarlo(9))


def test_empty_patterns_frames_and_lists_are_accepted():
    patterns = [np.empty((0, 2)), [], pd.DataFrame({"x": [0.1, 0.2], "y": [0.3, 0.9]}), [[0.5, 0.5]]]
    result = gs.point_pattern_ksd_test(patterns, PoissonProcess(1.0, SQUARE), rng=1)
    assert "4 point patterns with 0 to 2 points, 3 in all" in str(result)


def test_values_of_a_dictionary_are_patterns():
    named = {"first": GOOD[0], "second": GOOD[1]}
    results = [gs.point_pattern_ksd_test(form, POISSON, rng=1) for form in (named, [*named.values()])]
    assert results[0].statistic == results[1].statistic


def test_many_nodes_on_one_axis_are_a_composite_rule():
    u, w = quadrature(gs.Box(0, 2), 4096)
    assert len(u) >= 4096 and (np.diff(u[:, 0]) > 0).all() and (w > 0).all()
    np.testing.assert_allclose(w @ np.sin(3 * u[:, 0]), (1 - np.cos(6)) / 3, rtol=1e-13)
    np.testing.assert_allclose(w.sum(), 2.0, rtol=1e-13)
    u, w = quadrature(gs.Box([0, 0], [100, 0.1]), 1000)
    np.testing.assert_allclose(w @ np.cos(u[:, 0] / 3), 0.3 * np.sin(100 / 3), rtol=1e-11)


def test_notes_on_what_the_model_cannot_produce():
    patterns = [
        np.array([[0.5, 0.5], [0.5, 0.51]]),
        np.array([[0.2, 0.2]]),
        np.array([[0.3, 0.1], [0.3, 0.1]]),
    ]
    result = gs.point_pattern_ksd_test(patterns, Strauss(3.0, 0.0, 0.1, SQUARE), rng=1)
    assert "2 of 3 patterns (the first is pattern 0) hold points whose intensity" in result.notes[0]
    assert "1 of 3 patterns (the first is pattern 2) hold points that coincide" in result.notes[1]


def test_a_note_on_an_intensity_that_is_too_rough():
    rough = PoissonProcess(lambda u: 30.0 + 29.0 * np.sin(200 * u[:, 0]), SQUARE)
    result = gs.point_pattern_ksd_test(
        rough.sample(30, rng=1), rough, operator=Papangelou(nodes=9), kernel=ConfigurationKernel(0.2), rng=1
    )
    assert any("too rough for the nodes" in note for note in result.notes)


# Bad input

GOOD = [np.full((2, 2), 0.5), np.full((1, 2), 0.25)]


class NoSampler:
    domain = SQUARE

    def papangelou(self, u, pattern):
        return np.ones(len(u))


@pytest.mark.parametrize(
    ("patterns", "match"),
    [
        ([], "holds 0 patterns; a test needs at least 2"),
        (gs.Patterns([np.zeros((5, 2))]), "holds 1 pattern; a test needs at least 2"),
        (3, "must be a sequence of arrays"),
        ([np.empty((0, 2)), []], "all 2 patterns are empty"),
        ([GOOD[0], np.zeros((4, 3))], r"pattern 1 has shape \(4, 3\), but Box\(\[0, 1\]\^2\) needs \(k, 2\)"),
        ([GOOD[0], np.array([["a", "b"]])], "pattern 1 must hold real numbers"),
        ([GOOD[0], [[0.5, 0.5], [0.5]]], "pattern 1: is not a rectangular array|pattern 1:"),
        ([GOOD[0], [[0.5, np.nan]]], r"pattern 1: 1 of 1 rows \(row 0\) hold NaN"),
        (
            [GOOD[0], [[0.5, 0.5], [0.5, 1.5], [2, 0]]],
            r"pattern 1: 2 of 3 rows \(the first is row 1\) lie outside Box\(\[0, 1\]\^2\)",
        ),
    ],
    ids=["none", "one", "number", "empty", "columns", "text", "ragged", "nan", "outside"],
)
def test_bad_patterns(patterns, match):
    with pytest.raises(gs.InputError, match=match):
        gs.point_pattern_ksd_test(patterns, POISSON)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: gs.point_pattern_ksd_test(GOOD, gs.families.Normal([0, 0])),
            "must be a point process such as",
        ),
        (lambda: gs.point_pattern_ksd_test(GOOD, PoissonProcess), "is the class PoissonProcess"),
        (
            lambda: gs.point_pattern_ksd_test(GOOD, POISSON, domain=gs.Box(0, [2, 2])),
            "is another model: make it on that",
        ),
        (lambda: gs.point_pattern_ksd_test(GOOD, POISSON, domain="square"), "`domain` must be a domain"),
        (lambda: gs.point_pattern_ksd_test(GOOD, POISSON, operator=gs.Langevin()), r"must be Papangelou\(\)"),
        (
            lambda: gs.point_pattern_ksd_test(GOOD, POISSON, operator=gs.SecondOrder()),
            r"must be Papangelou\(\), got SecondOrder",
        ),
        (lambda: gs.point_pattern_ksd_test(GOOD, POISSON, kernel=3), "`kernel` must be a kernel"),
        (
            lambda: gs.point_pattern_ksd_test(GOOD, POISSON, kernel=gs.Gaussian(0.2)),
            "must be a kernel on point patterns such as .* which compares points",
        ),
        (lambda: gs.point_pattern_ksd_test(GOOD, POISSON, kernel=gs.IMQ()), "must be a kernel on point pat"),
        (
            lambda: gs.point_pattern_ksd_test(GOOD, POISSON, kernel=gs.Whitened(gs.IMQ())),
            "must be a kernel on point pat",
        ),
        (
            lambda: gs.point_pattern_ksd_test(GOOD[0], POISSON, operator=Papangelou()),
            "is one array of shape .* the test needs several independent",
        ),
        (lambda: gs.as_model(POISSON), r"is a point process.*Use point_pattern_ksd_test\(patterns"),
        (
            lambda: gs.point_pattern_ksd_test(GOOD, NoSampler(), null=gs.MonteCarlo(9)),
            r"Give the model a method sample\(n, rng\) that returns a list .* or use null=WildBootstrap",
        ),
        (lambda: gs.point_pattern_ksd_test(GOOD, POISSON, null=3), "`null` must be a null method"),
        (lambda: PoissonProcess(0.0, SQUARE), "`intensity` must be a positive number"),
        (lambda: PoissonProcess(lambda u: u, SQUARE), r"`intensity` must return an array of shape \(4096,\)"),
        (
            lambda: PoissonProcess(lambda u: u[:, 0] - 0.5, SQUARE),
            "`intensity` is -0.* it must be finite and at",
        ),
        (lambda: PoissonProcess(lambda u: 0 * u[:, 0], SQUARE), "`intensity` is zero at all nodes"),
        (
            lambda: PoissonProcess(lambda u: 9 + u[:, 0], SQUARE, bound=9.5),
            "`bound` is 9.5, but the intensity",
        ),
        (lambda: PoissonProcess(3.0, gs.Ball(2)), "need a bounded Box or a Polygon"),
        (lambda: PoissonProcess(3.0, gs.Orthant(2)), "need a bounded Box or a Polygon"),
        (lambda: PoissonProcess(3.0, "square"), "`domain` must be a domain such as Box or Ball"),
        (lambda: Strauss(3.0, 1.5, 0.1, SQUARE), r"`gamma` must be a number in \[0, 1\]"),
        (lambda: Strauss(3.0, 0.5, 0.0, SQUARE), "`radius` must be a positive number"),
        (lambda: ConfigurationKernel(-1.0), "`bandwidth` of Gaussian must be a positive"),
        (lambda: ConfigurationKernel(scale=0.0), "`scale` of ConfigurationKernel must be"),
        (lambda: Papangelou(1), "`nodes` must be an integer of at least 2"),
        (lambda: quadrature(SQUARE, None, 1e-4), "needs 1.8e.08 nodes to resolve a bandwidth"),
        (lambda: gs.point_pattern_ksd_test([[[0.5, 0.5]], []], POISSON), "hold 1 points in all, too few"),
        (lambda: gs.point_pattern_ksd_test([GOOD[0], GOOD[0]], POISSON), "all 4 points are equal"),
        (
            lambda: gs.point_pattern_ksd_test([GOOD[0], GOOD[0]], POISSON, kernel=ConfigurationKernel(0.1)),
            "all patterns are equal to this kernel",
        ),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_bad_arguments(call, match):
    with pytest.raises(gs.InputError, match=match):
        call()


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (lambda u, p: -np.ones(len(u)), "is -1 at the point .* must be finite and not negative"),
        (lambda u, p: np.full(len(u), np.nan), "is nan at the point"),
        (lambda u, p: np.ones(3), r"has shape \(3,\) at"),
    ],
    ids=["negative", "nan", "shape"],
)
def test_bad_conditional_intensities(value, match):
    class Model:
        papangelou = staticmethod(value)

    with pytest.raises(gs.ScoreError, match=match):
        gs.point_pattern_ksd_test(GOOD, Model(), domain=SQUARE)
    with pytest.raises(gs.InputError, match="does not say where it lives: pass `domain`"):
        gs.point_pattern_ksd_test(GOOD, Model())


@pytest.mark.parametrize(
    ("drawn", "match"),
    [
        (
            lambda n: [np.full((1, 2), 0.5)] * (n + 1),
            "must return 2 patterns inside .* it returned 3 of them",
        ),
        (lambda n: 3.0, "a list of arrays .* it returned float"),
        (lambda n: [np.full((2, 3), 0.5)] * n, r"pattern 0 has shape \(2, 3\), but Box.* needs \(k, 2\)"),
        (lambda n: [np.full(4, 0.5)] * n, r"pattern 0 has shape \(4,\)"),
        (lambda n: [np.full((2, 2), np.nan)] * n, "pattern 0: 2 of 2 rows .* hold NaN"),
        (lambda n: [np.full((2, 2), 0.5), np.full((1, 2), 7.0)], "pattern 1: 1 of 1 rows .* lie outside"),
    ],
    ids=["count", "number", "columns", "flat", "NaN", "outside"],
)
def test_samplers_of_ones_own_are_checked(drawn, match):
    class Model(NoSampler):
        def sample(self, n, rng):
            return drawn(n)

    with pytest.raises(gs.SamplingError, match=match):
        gs.point_pattern_ksd_test(GOOD, Model(), kernel=ConfigurationKernel(0.1), null=gs.MonteCarlo(9))


def test_samplers_say_when_they_cannot(monkeypatch):
    monkeypatch.setattr("goodstein.families.strauss.MOST_POINTS", 1000)
    with pytest.raises(gs.SamplingError, match="repels too strongly"):
        Strauss(300.0, 0.0, 0.3, SQUARE).sample(1, rng=1)
    spike = PoissonProcess(lambda u: 1.0 + 99.0 * (np.abs(u[:, 0] - 0.5) < 1e-3), SQUARE)
    with pytest.raises(gs.SamplingError, match="more than the bound"):
        spike.sample(2000, rng=1)

    class Outside:
        domain = SQUARE

        def papangelou(self, u, pattern):
            return np.ones(len(u))

        def sample(self, n, rng):
            return [np.full((1, 2), 2.0)] * n

    with pytest.raises(gs.SamplingError, match="must return 2 patterns inside"):
        gs.point_pattern_ksd_test(GOOD, Outside(), kernel=ConfigurationKernel(0.1), null=gs.MonteCarlo(9))


@pytest.mark.parametrize(
    "model",
    [
        gs.families.PoissonProcess(lambda u: 30.0 * u[:, 0], gs.Box([0, 0], [1, 1])),
        gs.families.Strauss(60.0, 0.3, 0.2, gs.Box([0, 0], [1, 1])),
        gs.families.Strauss(60.0, 0.0, 0.05, gs.Box([0, 0], [1, 1])),
    ],
)
def test_the_intensity_within_a_pattern_is_that_given_the_other_points(model):
    pattern = np.random.default_rng(1).random((25, 2))
    one_by_one = [model.papangelou(pattern[[k]], np.delete(pattern, k, axis=0))[0] for k in range(25)]
    np.testing.assert_array_equal(model.papangelou_within(pattern), one_by_one)
    assert model.papangelou_within(np.empty((0, 2))).shape == (0,)
