"""One point pattern: its operator, its models and its tests."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats
from scipy.spatial.distance import cdist

import goodstein as gs
from goodstein.families import Hawkes, PoissonProcess, Strauss
from goodstein.patterns import Innovations, LogLinear, Raster, quadrature
from goodstein.patterns.marks import expanded
from goodstein.pipeline.compose import compose

SQUARE, CUBE, LINE = gs.Box([0, 0], [1, 1]), gs.Box([0, 0, 0], [1, 1, 2]), gs.Box(0, 20)
ELL = gs.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
FEW = gs.MonteCarlo(19)


def slope(u):
    return 120.0 * u[:, 0]


def defined(points, model, domain, looks, order, kernel, nodes):
    """‖Σ_x k(z(x, φ∖x), ·) − (n/M) ∫ k(z(u, φ), ·)ρ(u|φ)du‖² / nM by the definition, M = ∫ρ."""
    u, w = quadrature(domain, nodes)
    rho = w * model.papangelou(u, points)
    mass, d = rho.sum(), points.shape[1]
    if looks == "number":
        return (len(points) - mass) ** 2 / (2 * mass**2)
    if looks == "locations":
        low, high = (np.zeros(2), np.full(2, 2.0)) if domain is ELL else (domain.lower, domain.upper)
        z = (np.vstack([points, u]) - low) / (high - low)
    else:
        gaps = cdist(np.vstack([points, u]), points)
        gaps[np.arange(len(points)), np.arange(len(points))] = np.inf
        ball = {1: 2.0, 2: np.pi, 3: 4 * np.pi / 3}[d]
        r = np.sort(gaps, axis=1)[:, order - 1]
        z = scipy.stats.gamma(order).cdf(mass / w.sum() * ball * r**d)[:, None]
    signed, gram = np.concatenate([np.full(len(points), 1 / len(points)), -rho / mass]), kernel(z, z)
    if looks == "neighbours":
        # Studentised by the sum over the other points, and one.
        seen = 1 + gram[:, : len(points)].sum(axis=1)
        seen[: len(points)] -= gram.diagonal()[: len(points)]
        gram = gram * mass / np.sqrt(np.outer(seen, seen)) / 3
    return len(points) / mass * (signed @ gram @ signed)


@pytest.mark.parametrize(
    ("model", "domain"),
    [
        (PoissonProcess(30.0, SQUARE), SQUARE),
        (PoissonProcess(slope, SQUARE), SQUARE),
        (Strauss(40.0, 0.3, 0.06, SQUARE), SQUARE),
        (PoissonProcess(9.0, CUBE), CUBE),
        (PoissonProcess(8.0, ELL), ELL),
        (PoissonProcess(2.0, LINE), LINE),
    ],
    ids=["constant", "slope", "Strauss", "cube", "polygon", "line"],
)
@pytest.mark.parametrize("looks", ["number", "locations", "neighbours"])
@pytest.mark.parametrize("kernel", [gs.Gaussian(0.3), gs.IMQ(0.4)], ids=["Gaussian", "IMQ"])
def test_the_statistic_is_what_its_definition_says(model, domain, looks, kernel):
    points = model.sample(1, rng=3)[0]
    order = 2 if looks == "neighbours" else 1
    operator = Innovations(looks, order=order, nodes=100)
    problem = compose(points, model, operator=operator, kernel=kernel)
    expected = defined(points, model, domain, looks, order, kernel, 100)
    assert problem.form.mean() == pytest.approx(expected, rel=1e-4, abs=1e-7)
    # Its rows are the points, and their matrix has that mean and that diagonal.
    matrix = problem.form.matrix()
    assert matrix.shape == (len(points),) * 2
    assert matrix.mean() == pytest.approx(expected, rel=1e-4, abs=1e-7)
    assert np.allclose(
        matrix.diagonal()[:5], problem.form.block(slice(0, 5), slice(0, 5)).diagonal(), atol=1e-5
    )


def test_looks_are_added():
    points = gs.datasets.redwood()
    model = PoissonProcess(62.0, gs.Box([0, -1], [1, 0]))
    parts = [
        compose(points, model, operator=Innovations(look, nodes=100)).form.mean()
        for look in ("number", "locations", "neighbours")
    ]
    both = compose(points, model, operator=Innovations(("number", "locations", "neighbours"), nodes=100))
    assert both.form.mean() == pytest.approx(sum(parts), rel=1e-9)


def test_a_gaussian_kernel_is_expanded_to_six_digits():
    rng = np.random.default_rng(1)
    for length in (0.03, 0.06, 0.125, 0.5):
        x, y = rng.uniform(size=(2, 40, 2))
        got = expanded(x, length) @ expanded(y, length).T
        assert np.allclose(got, gs.Gaussian(length)(x, y), atol=3e-6)


def test_marks_are_compared_given_the_number_of_points_which_is_looked_at_too():
    points = np.random.default_rng(1).random((60, 2))
    half, right = PoissonProcess(30.0, SQUARE), PoissonProcess(60.0, SQUARE)
    seen = [compose(points, model, operator=Innovations("locations")).form.mean() for model in (half, right)]
    assert seen[0] == pytest.approx(2 * seen[1], rel=1e-9)
    assert gs.ksd_test(points, half, operator=Innovations("locations"), null=FEW, rng=1).pvalue > 0.05
    assert gs.ksd_test(points, half, null=FEW, rng=1).pvalue <= 0.05
    assert gs.ksd_test(points, right, null=FEW, rng=1).pvalue > 0.05


@pytest.mark.parametrize("looks", ["number", "locations", "neighbours"])
def test_a_pattern_without_points_has_a_number_alone(looks):
    # Such a pattern is drawn now and then where few points are expected.
    model = compose(np.full((1, 2), 0.5), PoissonProcess(2.0, SQUARE)).model
    operator = Innovations(looks)
    form = operator.features(model, SQUARE, gs.Pattern(np.empty((0, 2)))).form(operator.default_kernel())
    assert form.mean() == pytest.approx(0.5 if looks == "number" else 0.0, abs=1e-5)
    assert form.matrix().mean() == pytest.approx(form.mean(), abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        PoissonProcess(slope, SQUARE),
        pytest.param(Strauss(40.0, 0.2, 0.08, SQUARE), marks=pytest.mark.slow),
        Hawkes(1.0, 0.6, 3.0, LINE),
    ],
    ids=["Poisson", "Strauss", "Hawkes"],
)
def test_innovations_have_mean_zero(model):
    # Georgii–Nguyen–Zessin, or the martingale of the counting process, with functions of both marks.
    operator, problem = Innovations(nodes=400), compose(model.sample(1, rng=0)[0], model)
    totals = []
    for points in model.sample(400, rng=5):
        found = operator.features(problem.model, model.domain, gs.Pattern(points))
        (places, at), (gaps, near) = found.marks[1:]
        totals.append(
            [
                f(places[:, 0], gaps[:, 0]).sum() - found.weights @ f(at[:, 0], near[:, 0])
                for f in (lambda z, v: v, lambda z, v: np.cos(2 * z) * np.sqrt(v), lambda z, v: 1.0 + 0 * v)
            ]
        )
    mean, error = np.mean(totals, axis=0), np.std(totals, axis=0) / 20
    assert (np.abs(mean) < 4 * error).all()
    assert (np.std(totals, axis=0) > 1).all()


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("redwood", "clustered"),
        ("cells", "regular"),
        ("swedish_pines", "regular"),
        ("japanese_pines", "random"),
    ],
)
def test_published_verdicts_on_classic_maps(name, verdict):
    table = gs.datasets.about(name)
    points, window = table.load(), table.domain
    null = None if name == "redwood" else gs.ParametricBootstrap(None, 99)  # the first is the default
    result = gs.ksd_test(points, PoissonProcess.fit(points, window), null=null, rng=1)
    assert (result.pvalue <= 0.01) == (verdict != "random")
    assert isinstance(result.null, gs.ParametricBootstrap)
    assert result.n == len(points)
    assert "one point pattern" in str(result)


def test_a_collection_says_what_fails():
    points = gs.datasets.cells()
    model = PoissonProcess(42.0, SQUARE)
    found = gs.check(points, model, null=gs.MonteCarlo(39), rng=1)
    assert found.rejected
    assert "how near each other points are" in " ".join(str(found).split())
    test = gs.aggregated_test(points, model, null=gs.MonteCarlo(99), rng=1)
    adjusted = {member.looks_at: member.adjusted_pvalue for member in test.members}
    assert adjusted["how many points there are"] > 0.5  # 42 of 42
    assert adjusted["how near each other points are"] <= 0.05
    more = gs.aggregated_test(points, PoissonProcess(80.0, SQUARE), null=FEW, rng=1)
    assert {m.looks_at: m.pvalue for m in more.members}["how many points there are"] <= 0.05


class Own:
    """A Strauss process without a sampler."""

    domain = SQUARE

    def papangelou(self, u, pattern):
        return 40.0 * 0.3 ** (cdist(u, pattern) <= 0.06).sum(axis=1)


def test_a_process_without_a_sampler_is_drawn_by_chains_from_the_data():
    points = Strauss(40.0, 0.3, 0.06, SQUARE).sample(1, rng=1)[0]
    assert gs.ksd_test(points, Own(), null=FEW, rng=1).pvalue > 0.05
    assert gs.ksd_test(gs.datasets.redwood() + np.array([0, 1]), Own(), null=FEW, rng=1).pvalue <= 0.05


@pytest.mark.slow
def test_chains_leave_the_process_as_it_is():
    """Numbers of points after a chain are those of exact draws."""
    exact = Strauss(40.0, 0.3, 0.06, SQUARE)
    points = exact.sample(1, rng=1)[0]
    model = compose(points, Own()).model
    rng = np.random.default_rng(2)
    counts = [len(model.walk(one, rng)) for one in exact.sample(60, rng)]
    usual = [len(one) for one in exact.sample(600, rng)]
    assert abs(np.mean(counts) - np.mean(usual)) < 4 * np.std(usual) / np.sqrt(60)


# Models.


def test_the_compensator_of_a_hawkes_process_is_the_integral_of_its_intensity():
    model = Hawkes(0.7, 0.5, 2.0, gs.Box(1, 9))
    events = np.array([1.5, 1.7, 4.0, 6.2, 6.3])
    for t in (1.2, 1.6, 5.0, 9.0):
        edges = [1.0, *events[events < t], t]
        whole = sum(
            scipy.integrate.quad(lambda s: model.intensity([s], events)[0], a + 1e-12, b)[0]
            for a, b in itertools.pairwise(edges)
        )
        assert model.compensator([t], events)[0] == pytest.approx(whole, rel=1e-8)
    logs = np.log([model.intensity([t], events)[0] for t in events]).sum()
    assert model.log_likelihood(events) == pytest.approx(logs - model.compensator([9.0], events)[0])


def test_draws_of_a_hawkes_process_have_its_mean_number_of_events():
    mu, alpha, beta, end = 1.0, 0.5, 2.0, 10.0
    rate = beta * (1 - alpha)
    mean = mu / (1 - alpha) * (end - alpha / rate * (1 - np.exp(-rate * end)))
    counts = [len(one) for one in Hawkes(mu, alpha, beta, gs.Box(0, end)).sample(2000, rng=1)]
    assert abs(np.mean(counts) - mean) < 4 * np.std(counts) / np.sqrt(2000)


def test_hawkes_is_fitted_by_maximum_likelihood():
    window = gs.Box(0, 300)
    model = Hawkes(0.8, 0.5, 3.0, window)
    events = model.sample(1, rng=2)[0]
    fit = Hawkes.fit(events, window)
    best = fit.log_likelihood(events)
    assert best >= model.log_likelihood(events)
    for name in ("base", "branching", "decay"):
        for factor in (0.98, 1.02):
            values = {key: getattr(fit, key) for key in ("base", "branching", "decay")}
            values[name] *= factor
            assert Hawkes(**values, domain=window).log_likelihood(events) < best
    assert abs(fit.branching - 0.5) < 0.2


def test_a_test_of_a_hawkes_process():
    window = gs.Box(0, 60)
    model = Hawkes(1.0, 0.6, 4.0, window)
    events = model.sample(1, rng=7)[0]
    assert gs.ksd_test(events, model, null=FEW, rng=1).pvalue > 0.05
    fit = PoissonProcess.fit(events, window)
    assert gs.ksd_test(events[:, 0], fit, null=gs.ParametricBootstrap(None, 59), rng=1).pvalue <= 0.02
    result = gs.aggregated_test(events, Hawkes(2.5, 0.0, 1.0, window), null=gs.MonteCarlo(39), rng=1)
    assert result.pvalue <= 0.05


def test_a_log_linear_intensity_solves_the_equations_of_the_likelihood():
    points = PoissonProcess(slope, SQUARE).sample(1, rng=1)[0]
    covariates = {"x": lambda u: u[:, 0], "xy": lambda u: u[:, 0] * u[:, 1]}
    fit = PoissonProcess.fit(points, SQUARE, covariates)
    assert isinstance(fit.intensity, LogLinear)
    for z in (lambda x, y: 1.0, lambda x, y: x, lambda x, y: x * y):

        def integrand(y, x, z=z):
            return z(x, y) * fit.intensity(np.array([[x, y]]))[0]

        expected = scipy.integrate.dblquad(integrand, 0, 1, 0, 1, epsabs=1e-6)[0]
        assert sum(z(*point) for point in points) == pytest.approx(expected, rel=1e-5)
    several = PoissonProcess.fit([points, points[:0], points], SQUARE, covariates)
    assert several.mass == pytest.approx(2 * len(points) / 3)


def test_a_raster_is_constant_on_its_cells():
    raster = Raster([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], gs.Box([0, 0], [2, 3]))
    assert raster([[0.0, 0.0], [1.5, 2.5], [2.0, 3.0], [0.9, 1.1]]).tolist() == [1, 6, 6, 2]
    points = PoissonProcess(40.0, SQUARE).sample(1, rng=1)[0]
    cells = Raster([[0.0], [1.0]], SQUARE)
    fit = PoissonProcess.fit(points, SQUARE, [cells])
    left = (points[:, 0] < 0.5).sum()
    assert fit.intensity([[0.2, 0.5], [0.8, 0.5]]) == pytest.approx([2 * left, 2 * (len(points) - left)])
    with pytest.raises(gs.InputError, match="outside"):
        raster([[3.0, 0.0]])


def test_strauss_is_fitted_by_maximum_pseudo_likelihood():
    points = Strauss(90.0, 0.5, 0.06, SQUARE).sample(1, rng=1)[0]
    fit = Strauss.fit(points, SQUARE, 0.06)
    grid = (np.stack(np.meshgrid(np.arange(150), np.arange(150)), axis=-1).reshape(-1, 2) + 0.5) / 150
    near = (cdist(grid, points) <= 0.06).sum(axis=1)
    own = (cdist(points, points) <= 0.06).sum() - len(points)

    def negative(theta):
        return -(len(points) * theta[0] + own * theta[1] - np.exp(theta[0] + theta[1] * near).mean())

    best = scipy.optimize.minimize(negative, [np.log(60), -1.0]).x
    assert np.log([fit.beta, fit.gamma]) == pytest.approx(best, abs=0.03)
    assert Strauss.fit(gs.datasets.redwood() + np.array([0, 1]), SQUARE, 0.06).gamma == 1.0
    assert Strauss.fit(gs.datasets.cells(), SQUARE, 0.05).gamma == 0.0


# What comes in.


def test_one_pattern_comes_in_many_forms():
    import pandas as pd
    import shapely

    points = gs.datasets.cells()
    model = PoissonProcess(42.0, gs.Polygon(shapely.box(0, 0, 1, 1)))
    forms = [
        points,
        gs.Pattern(points),
        [points],
        pd.DataFrame(points, columns=["east", "north"]),
        shapely.MultiPoint(points),
        [shapely.Point(*one) for one in points],
    ]
    try:
        import geopandas

        forms.append(geopandas.GeoSeries(geopandas.points_from_xy(*points.T)))
    except ImportError:
        pass
    found = {gs.point_pattern_ksd_test(one, model, null=FEW, rng=1).statistic for one in forms}
    assert len(found) == 1


def test_several_patterns_are_still_several():
    model = PoissonProcess(20.0, SQUARE)
    result = gs.ksd_test(model.sample(5, rng=1), model, rng=1)
    assert result.n == 5
    assert isinstance(result.null, gs.WildBootstrap)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: gs.ksd_test(np.full((3, 2), 2.0), m), "3 of 3 rows .* lie outside"),
        (lambda m: gs.ksd_test(np.zeros((0, 2)), m), "holds no points"),
        (lambda m: gs.ksd_test(np.full((3, 3), 0.5), m), "3 columns"),
        (lambda m: gs.ksd_test(np.eye(2) / 2, m, null=gs.WildBootstrap()), "has to be simulated"),
        (lambda m: gs.ksd_test(np.eye(2) / 2, m, kernel=gs.Gaussian()), "needs a number as bandwidth"),
        (lambda m: gs.ksd_test(np.eye(2) / 2, m, operator=gs.Langevin()), "Innovations"),
        (lambda m: gs.relative_ksd_test(np.full((9, 2), 0.5), m, m), "one observation"),
        (lambda m: gs.split(gs.Pattern(np.eye(2))), "cannot be split|one observation"),
        (lambda m: Innovations("colour"), "number, locations, neighbours"),
        (
            lambda m: Innovations(units=(1.0, 2.0, 3.0)).features(
                compose(np.eye(2) / 2, m).model, SQUARE, gs.Pattern(np.eye(2) / 2)
            ),
            "one number for each",
        ),
        (lambda m: Hawkes(1.0, 1.0, 1.0, LINE), "never die out"),
        (lambda m: Hawkes(1.0, 0.5, 1.0, SQUARE), "interval"),
        (lambda m: Hawkes.fit([1.0], LINE), "at least 2 events"),
        (lambda m: gs.ksd_test([np.eye(2)] * 2, Hawkes(1.0, 0.5, 1.0, LINE)), "one sequence"),
        (lambda m: PoissonProcess.fit(np.eye(2), SQUARE, [lambda u: u[:, 0]] * 2), "too few"),
        (
            lambda m: PoissonProcess.fit(
                np.random.default_rng(1).random((9, 2)), SQUARE, [lambda u: u[:, 0]] * 2
            ),
            "linearly dependent",
        ),
        (lambda m: LogLinear([1.0], [lambda u: u[:, 0]]), "2 numbers"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises((gs.InputError, gs.DomainError), match=message):
        call(PoissonProcess(9.0, SQUARE))


def test_what_the_model_excludes_is_pointed_out():
    points = gs.datasets.redwood() + np.array([0, 1])
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        result = gs.ksd_test(points, Strauss(60.0, 0.0, 0.02, SQUARE), null=FEW, rng=1)
    assert any("the model excludes them" in note for note in result.notes)


@pytest.mark.parametrize("what", ["plane", "line", "Hawkes", "cube"])
def test_its_picture(what):
    model = {
        "plane": PoissonProcess(40.0, SQUARE),
        "line": PoissonProcess(2.0, LINE),
        "Hawkes": Hawkes(1.0, 0.5, 2.0, LINE),
        "cube": PoissonProcess(9.0, CUBE),
    }[what]
    ax = gs.ksd_test(model.sample(1, rng=1)[0], model, null=FEW, rng=1).plot()
    assert ax.get_title(loc="left") or ax.get_title()


def test_places_and_times_are_measured_in_their_own_units():
    window = gs.Box([0, 0, 0], [1, 1, 300])
    model = PoissonProcess(0.2, window)
    points = model.sample(1, rng=1)[0]
    scaled = PoissonProcess(60.0, gs.Box([0, 0, 0], [1, 1, 1]))
    found = gs.ksd_test(points, model, operator=Innovations(units=(1, 1, 300), nodes=100), null=FEW, rng=1)
    same = gs.ksd_test(points / [1, 1, 300], scaled, operator=Innovations(nodes=100), null=FEW, rng=1)
    assert found.statistic == pytest.approx(same.statistic, rel=1e-6)


def test_windows_may_be_polygons_of_shapely():
    shapely = pytest.importorskip("shapely")
    corner = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    points = PoissonProcess(30.0, gs.Polygon(corner)).sample(1, rng=1)[0]
    null = gs.ParametricBootstrap(None, 19)
    fits = {"Poisson": PoissonProcess.fit, "Strauss": lambda x, window: Strauss.fit(x, window, radius=0.05)}
    for name, fit in fits.items():
        ours, theirs = fit(points, gs.Polygon(corner)), fit(shapely.points(points), shapely.Polygon(corner))
        assert repr(theirs) == repr(ours), name
        expected = gs.ksd_test(points, ours, null=null, rng=1).pvalue
        assert gs.ksd_test(shapely.points(points), theirs, null=null, rng=1).pvalue == expected, name

    class Own:
        domain = shapely.Polygon(corner)

        def papangelou(self, u, pattern):
            return np.full(len(u), 30.0)

    assert gs.ksd_test(points, Own(), null=gs.MonteCarlo(9), rng=1).domain == gs.Polygon(corner)
    flat = gs.families.Uniform(shapely.Polygon(corner))
    plain = gs.Model(score=lambda x: np.zeros_like(x), batched=True)
    assert gs.ksd_test(points, flat, rng=1).domain == gs.Polygon(corner)
    assert gs.ksd_test(points, plain, domain=shapely.Polygon(corner), rng=1).domain == gs.Polygon(corner)
    with pytest.raises(gs.InputError, match="a domain such as"):
        PoissonProcess(30.0, shapely.Point(0, 0))


def test_points_of_one_pattern_that_coincide_are_counted():
    window = gs.Box([0, 0], [1, 1])
    points = np.random.default_rng(1).random((40, 2))
    twice = np.vstack([points, points[:3]])
    result = gs.ksd_test(twice, gs.families.PoissonProcess(40.0, window), null=gs.MonteCarlo(19), rng=1)
    assert any("3 of 43 points lie where another one does" in note for note in result.notes)
    with pytest.raises(gs.InputError, match="aggregated_test says which looks at it fail"):
        result.explain()
