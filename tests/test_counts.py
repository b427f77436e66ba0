"""Counts and other states with neighbours: the operator against sums over all states."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from scipy.special import gammaln

import goodstein as gs
from goodstein.adapters.conditional import as_conditional
from goodstein.errors import SteinIdentityError
from goodstein.numerics.distances import placed
from goodstein.operators.jump_form import JumpForm
from goodstein.stein.forms import LowRankForm
from goodstein.stein.pairwise import Pairwise

F = gs.families
RNG = np.random.default_rng(0)


def tables(margins_of):
    """All 2×3 tables of whole numbers with the margins of one, row by row."""
    rows, columns = np.sum(margins_of, axis=1), np.sum(margins_of, axis=0)
    found = []
    for first in itertools.product(*(range(c + 1) for c in columns)):
        if sum(first) == rows[0]:
            found.append([*first, *(columns - np.array(first))])
    return np.array(found, float)


def exchanges(order):
    moved = [order.copy() for _ in range(3)]
    for i, one in enumerate(moved):
        one[[i, i + 1]] = one[[i + 1, i]]
    return np.array(moved)


def inversions(x):
    first, second = np.triu_indices(4, 1)
    return (x[:, first] > x[:, second]).sum(axis=1)


def hypergeometric(x):
    return -gammaln(x + 1).sum(axis=1)


KINDS = np.array([[a, b, 6.0 - a - b] for a in range(7) for b in range(7 - a)])
GRID = np.array(list(itertools.product(np.arange(16.0), np.arange(22.0))))
SPACES = {
    "Poisson": (F.Poisson(3.0), np.arange(60.0)[:, None]),
    "two counts": (F.Poisson([0.8, 2.0]), GRID),
    "binomial": (F.Binomial(7, 0.3), np.arange(8.0)[:, None]),
    "zero-inflated": (F.ZeroInflated(F.NegativeBinomial(1.5, 3.0), 0.3), np.arange(120.0)[:, None]),
    "from one": (scipy.stats.geom(0.4), np.arange(1.0, 90.0)[:, None]),
    "multinomial": (F.Multinomial(6, [0.5, 0.3, 0.2]), KINDS),
    "Dirichlet-multinomial": (F.DirichletMultinomial(6, [0.5, 0.3, 2.0]), KINDS),
    "tables": (
        gs.Model(logpdf=hypergeometric, domain=gs.Naturals.fixed_margins(2, 3)),
        tables([[3, 2, 1], [1, 2, 4]]),
    ),
    "orders": (
        gs.Model(logpdf=lambda x: -0.7 * inversions(x), domain=gs.StateSpace(4, exchanges)),
        np.array(list(itertools.permutations(range(4))), float),
    ),
}
CASES = [(name, how) for name in SPACES for how in ("edges", "states") if (name, how) != ("orders", "edges")]


def probabilities(model, states):
    logs = gs.as_model(model).logpdf(states)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.parametrize(("name", "how"), [*CASES, ("two counts", "root"), ("multinomial", "root")])
def test_steins_identity_over_all_states(name, how):
    model, states = SPACES[name]
    q = probabilities(model, states)
    kernel = gs.Gaussian(0.9) + gs.IMQ(1.3)
    operator = gs.Jumps("edges", units="root") if how == "root" else gs.Jumps(how)
    h = gs.stein_matrix(states, model, operator=operator, kernel=kernel)
    np.testing.assert_allclose(q @ h, 0.0, atol=1e-13)
    other = q**0.5 / (q**0.5).sum()
    assert other @ h @ other > 1e-5
    assert np.linalg.eigvalsh(h).min() > -1e-12 * np.trace(h)


def definition(model, x, y, how, k, moves):
    """h(x, y) by the sum over pairs of neighbours, with a test function for each move or one for all."""

    def steps(state):
        for i, move in enumerate(moves):
            for sign in (1, -1):
                other = state + sign * move
                if (other >= 0).all():
                    t = math.exp(float(np.diff(model.logpdf(np.stack([state, other])))[0]))
                    yield i, sign, other, t / (1 + t)

    total, root = 0.0, np.sqrt
    for i, sign, u, a in steps(x):
        for j, other_sign, v, b in steps(y):
            if how == "edges":
                at, there = (root(x) + root(u)) / 2, (root(y) + root(v)) / 2
                total += a * b * sign * other_sign * k(at, there) * (i == j)
            else:
                x_, y_, u_, v_ = map(root, (x, y, u, v))
                total += a * b * (k(u_, v_) - k(u_, y_) - k(x_, v_) + k(x_, y_))
    return total


@pytest.mark.parametrize("how", ["edges", "states"])
@pytest.mark.parametrize(
    ("model", "moves"),
    [
        (F.Poisson([0.7, 3.0]), np.eye(2)),
        (F.Multinomial(9, [0.2, 0.3, 0.5]), np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]])),
    ],
    ids=["two counts", "kinds"],
)
def test_the_matrix_is_that_of_the_definition_whether_places_are_few_or_many(model, moves, how):
    x = model.sample(12, rng=3)
    features = gs.Jumps(how).features(gs.as_model(model), model.domain, x)
    kernel = gs.Gaussian(0.8)

    def k(a, b):
        return math.exp(-((a - b) ** 2).sum() / (2 * 0.8**2))

    wanted = np.array([[definition(model, a, b, how, k, moves) for b in x] for a in x])
    many = features.joined([features] * 50)
    places = [
        [placed(features.places[:, g, a], 0.0) for a in range(features.places.shape[2])]
        for g in range(len(features.places[0]))
    ]
    forms = JumpForm(Pairwise(kernel, features.points), places, features.weights), many.form(kernel)
    assert isinstance(forms[1], LowRankForm)
    for form in forms:
        np.testing.assert_allclose(form.block(slice(0, 12), slice(0, 12)), wanted, atol=1e-13)
        np.testing.assert_allclose(form.diagonal()[:12], wanted.diagonal(), atol=1e-13)
        np.testing.assert_allclose(
            form.take(np.array([5, 2])).matrix(), wanted[np.ix_([5, 2], [5, 2])], atol=1e-13
        )


@pytest.mark.parametrize("kernel", [gs.Gaussian(0.7), gs.IMQ(1.1)], ids=["Gaussian", "IMQ"])
def test_a_sum_of_all_pairs_is_that_of_the_matrix(kernel):
    """By matrices of places in the place of blocks, in more than one strip; kernels in single precision."""
    model = F.Product([F.Poisson(2.0), F.Geometric(0.4), F.Binomial(6, 0.3)])
    x = model.sample(150, rng=5)
    features = gs.Jumps("edges").features(gs.as_model(model), model.domain, x)
    form = features.form(kernel)
    assert isinstance(form, JumpForm)
    h = form.matrix()
    np.testing.assert_allclose(form.diagonal(), h.diagonal(), rtol=1e-12)
    inner, factor, rest = form.reduced()
    assert inner is None and factor == 0.0
    np.testing.assert_allclose(rest, h.sum() - h.trace(), atol=1e-6 * np.abs(h).sum())


def test_a_large_mean_loses_no_digits():
    """Against sums in extended precision: κ(up) − κ(down) is of the order of 1/√mean."""
    x = np.array([[1e6], [1e6 + 1234.0]])
    model = F.Poisson(1e6)
    h = gs.stein_matrix(x, model, kernel=gs.Gaussian(0.5))
    z, ell = x[:, 0].astype(np.longdouble), np.longdouble(0.5)
    up, down = 1 / (1 + (z + 1) / 1e6), 1 / (1 + 1e6 / z)
    mid = [(np.sqrt(z) + np.sqrt(z + s)) / 2 for s in (1, -1)]
    wanted = np.zeros((2, 2), np.longdouble)
    for a, (w, p) in enumerate(zip((up, -down), mid, strict=True)):
        for v, r in zip((up, -down), mid, strict=True):
            wanted += np.outer(w, v) * np.exp(-((p[:, None] - r) ** 2) / (2 * ell**2))
        assert a < 2
    np.testing.assert_allclose(h, wanted.astype(float), rtol=1e-4)


# --- families --------------------------------------------------------------------------------

K = np.arange(25.0)[:, None]
REFERENCES = [
    (F.Poisson(3.0), scipy.stats.poisson(3.0)),
    (F.NegativeBinomial(3.0, 2.5), scipy.stats.nbinom(2.5, 2.5 / 5.5)),
    (F.Binomial(9, 0.3), scipy.stats.binom(9, 0.3)),
    (F.Geometric(0.3), scipy.stats.geom(0.3, loc=-1)),
]


@pytest.mark.parametrize(("family", "reference"), REFERENCES, ids=lambda q: type(q).__name__)
def test_log_probabilities_are_those_of_scipy(family, reference):
    np.testing.assert_allclose(family.logpdf(K), reference.logpmf(K[:, 0]), rtol=1e-12)
    assert family.logpdf([[-1.0], [0.5]]).tolist() == [-np.inf, -np.inf]
    model = gs.as_model(reference)
    assert model.domain == gs.Naturals(1)
    np.testing.assert_allclose(model.logpdf(K), family.logpdf(K), rtol=1e-12)
    assert gs.Naturals(1).contains(model.sample(20, 1)).all()


def test_log_probabilities_of_the_others():
    inflated = F.ZeroInflated(F.Poisson(2.0), 0.3)
    pmf = 0.7 * scipy.stats.poisson(2.0).pmf(K[:, 0])
    pmf[0] += 0.3
    np.testing.assert_allclose(np.exp(inflated.logpdf(K)), pmf, rtol=1e-12)
    mult = scipy.stats.multinomial(6, [0.5, 0.3, 0.2])
    np.testing.assert_allclose(
        F.Multinomial(6, [0.5, 0.3, 0.2]).logpdf(KINDS), mult.logpmf(KINDS), rtol=1e-12
    )
    ours, theirs = (
        F.DirichletMultinomial(6, [0.5, 0.3, 2.0]),
        scipy.stats.dirichlet_multinomial([0.5, 0.3, 2], 6),
    )
    np.testing.assert_allclose(ours.logpdf(KINDS), theirs.logpmf(KINDS.astype(int)), rtol=1e-12)
    np.testing.assert_array_equal(gs.as_model(theirs).logpdf(KINDS), ours.logpdf(KINDS))
    near = F.DirichletMultinomial(6, [5e11, 3e11, 2e11])  # tends to the multinomial law
    np.testing.assert_allclose(near.logpdf(KINDS), mult.logpmf(KINDS), atol=1e-9)
    two, beta = F.DirichletMultinomial(6, [0.7, 2.0]), F.BetaBinomial(6, 0.7, 2.0)
    k = np.arange(7.0)
    np.testing.assert_allclose(two.logpdf(np.column_stack([k, 6.0 - k])), beta.logpdf(k), rtol=1e-12)
    both = F.Product([F.Poisson(2.0), F.Geometric(0.4)])
    got = both.logpdf([[1.0, 2.0]])[0]
    assert got == pytest.approx(scipy.stats.poisson(2).logpmf(1) + scipy.stats.geom(0.4, loc=-1).logpmf(2))


@pytest.mark.parametrize(
    "family",
    [
        F.NegativeBinomial(3.0, 2.0),
        F.ZeroInflated(F.Poisson(2.0), 0.3),
        F.Binomial(7, 0.3),
    ],
    ids=repr,
)
def test_samples_have_the_probabilities(family):
    x = family.sample(20_000, rng=1)[:, 0]
    p = np.exp(family.logpdf(K))
    counts = np.bincount(x.astype(int), minlength=25)[:25]
    seen = p * len(x) > 5
    expected = len(x) * p[seen]
    assert scipy.stats.chi2.sf(((counts[seen] - expected) ** 2 / expected).sum(), seen.sum() - 1) > 1e-4


FITS = [
    (F.NegativeBinomial, F.NegativeBinomial(3.0, 2.0), {}),
    (F.ZeroInflated, F.ZeroInflated(F.Poisson(2.0), 0.3), {}),
    (F.ZeroInflated, F.ZeroInflated(F.NegativeBinomial(4.0, 3.0), 0.3), {"family": F.NegativeBinomial}),
    (F.Binomial, F.Binomial(7, 0.3), {"count": 7}),
    (F.Geometric, F.Geometric(0.3), {}),
    (F.Multinomial, F.Multinomial(6, [0.5, 0.3, 0.2]), {}),
    (F.DirichletMultinomial, F.DirichletMultinomial(9, [0.5, 1.3, 2.0]), {}),
    (F.Poisson, F.Poisson([2.0, 5.0]), {}),
    (F.Product, F.Product([F.Poisson(2.0), F.Geometric(0.4)]), {"families": [F.Poisson, F.Geometric]}),
]


@pytest.mark.parametrize(
    ("cls", "truth", "options"), FITS, ids=lambda v: getattr(v, "__name__", None) or str(v)[:40]
)
def test_fits_maximise_the_likelihood_and_know_the_influence_of_each_row(cls, truth, options):
    x = truth.sample(400, rng=5)
    fitted = cls.fit(x, **options)
    best = fitted.logpdf(x).mean()
    influence = fitted.provenance.influence(x)
    size = len(influence.names)
    for step in 1e-3 * np.vstack([np.eye(size), -np.eye(size)]):
        assert influence.model(step).logpdf(x).mean() < best
    # Leaving one row out moves the fit by −IF/n, whatever the coordinates: seen in the log probabilities.
    row = int(np.argmax(np.abs(influence.values[:, 0])))
    without = cls.fit(np.delete(x, row, axis=0), **options)
    moved = influence.model(-influence.values[row] / len(x))
    change = without.logpdf(x) - fitted.logpdf(x)
    assert np.abs(change).max() > 1e-4
    np.testing.assert_allclose(moved.logpdf(x) - fitted.logpdf(x), change, atol=0.12 * np.abs(change).max())


def test_the_negative_binomial_fit_is_that_of_statsmodels():
    discrete = pytest.importorskip("statsmodels.discrete.discrete_model")
    x = F.NegativeBinomial(3.0, 2.0).sample(300, rng=2)
    theirs = discrete.NegativeBinomial(x[:, 0], np.ones(300)).fit(disp=0)
    ours = F.NegativeBinomial.fit(x)
    assert ours.mean == pytest.approx(math.exp(theirs.params[0]), rel=1e-4)
    assert ours.size == pytest.approx(1 / theirs.params[1], rel=1e-3)
    assert ours.logpdf(x).sum() == pytest.approx(theirs.llf, rel=1e-8)


# --- the whole path --------------------------------------------------------------------------


def test_all_null_distributions_agree_for_a_true_model_and_find_a_wrong_one():
    true, wrong = F.Poisson(3.0), F.Poisson(4.5)
    x = true.sample(150, rng=1)
    for null in (gs.WildBootstrap(199), gs.MonteCarlo(99), gs.Spectral(199)):
        assert gs.ksd_test(x, true, null=null, rng=1).pvalue > 0.05
        assert gs.ksd_test(x, wrong, null=null, rng=1).pvalue < 0.02
    fitted, over = F.Poisson.fit(x), F.NegativeBinomial(3.0, 1.5).sample(150, rng=4)
    for null in (gs.FittedWildBootstrap(199), gs.ParametricBootstrap(F.Poisson.fit, 49)):
        assert gs.ksd_test(x, fitted, null=null, rng=1).pvalue > 0.05
        assert gs.ksd_test(over, F.Poisson.fit(over), null=null, rng=1).pvalue < 0.05


def test_counts_may_be_whole_numbers_frames_and_may_lie_far_apart():
    x = RNG.poisson(3.0, 60)
    assert (
        gs.ksd_test(x, F.Poisson(3.0), rng=1).pvalue
        == gs.ksd_test(x[:, None] * 1.0, F.Poisson(3.0), rng=1).pvalue
    )
    far = np.concatenate([x, [10**9]])
    assert gs.ksd_test(far, F.NegativeBinomial(3.0, 0.1), rng=1).pvalue < 0.1
    two = np.column_stack([RNG.poisson(1.0, 80), RNG.poisson(1e4, 80)])
    assert gs.ksd_test(two, F.Poisson([1.0, 1e4]), rng=1).pvalue > 0.05
    assert gs.ksd_test(two, F.Poisson([1.7, 1e4]), rng=1).pvalue < 0.05
    assert gs.ksd_test(two, F.Poisson([1.0, 1.01e4]), rng=1).pvalue < 0.05


def test_what_no_move_changes_is_taken_as_given():
    """Rows with totals of their own: the law of the kinds given the total."""
    p, rng = np.array([0.5, 0.3, 0.2]), np.random.default_rng(7)
    x = np.array([rng.multinomial(total, p) for total in rng.integers(1, 30, 150)])

    def given_total(shares):
        return gs.Model(
            logpdf=lambda x: (x * np.log(shares)).sum(axis=1) - gammaln(x + 1).sum(axis=1),
            domain=gs.Naturals.fixed_total(3),
        )

    assert gs.ksd_test(x, given_total(p), rng=1).pvalue > 0.05
    assert gs.ksd_test(x, given_total(p[::-1]), rng=1).pvalue < 0.01
    (said,) = [c.message for c in gs.audit(given_total(p), data=x, rng=1).checks if c.name == "neighbours"]
    assert "What no move changes is taken as given" in said


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: gs.ksd_test([1.0, 2.5, 3.0], F.Poisson(2.0)),
            r"1 of 3 rows \(row 1\) hold no counts 0, .*: column 0 of row 1 holds 2.5",
        ),
        (lambda: gs.ksd_test([1.0, -2.0, 3.0], F.Poisson(2.0)), r"row 1 holds -2"),
        (lambda: gs.ksd_test([1.0, 8.0, 3.0], F.Binomial(7, 0.5)), r"log probability -inf at 1 of 3 rows"),
        (
            lambda: gs.ksd_test([1.0, 2.0], F.Poisson(2.0), operator=gs.Langevin()),
            "is discrete, so there are no derivatives",
        ),
        (
            lambda: gs.ksd_test([1.0, 2.0], F.Normal(2.0), operator=gs.Jumps()),
            "is for counts and other states",
        ),
        (lambda: gs.Jumps("nodes"), "`functions` of Jumps must be"),
        (lambda: gs.Jumps("edges").on(gs.StateSpace(1, np.atleast_2d)), "needs the moves of Naturals"),
        (lambda: gs.Naturals(2, [[1, 0.5]]), "`moves` of Naturals must be whole numbers"),
        (lambda: F.NegativeBinomial.fit([[1], [2], [2]]), "vary no more than Poisson counts do. Fit Poisson"),
        (lambda: F.ZeroInflated.fit(F.Binomial(6, 0.4).sample(60, rng=2)), "no more zeros than Poisson has"),
        (lambda: F.DirichletMultinomial(3, [1.0]), "two numbers or more"),
        (lambda: F.DirichletMultinomial.fit([[1, 2], [2, 1]]), "vary no more than multinomial counts do"),
        (lambda: F.DirichletMultinomial.fit([[1, 2], [3, 1]]), "do not add up to 3, as row 0 does"),
        (lambda: F.Poisson.fit([[0], [0]]), "all counts of column 0 are zero"),
        (lambda: F.Multinomial(3, [0.5, 0.4]), "these add up to 0.9. Divide them by their sum"),
        (lambda: gs.ksd_test([[1.0, 2.0]] * 5, F.Poisson(2.0)), "1"),
    ],
)
def test_messages(call, message):
    with pytest.raises(gs.InputError, match=message):
        call()


def test_neighbours_must_be_mutual_and_lead_on():
    one_way = gs.StateSpace(1, lambda x: [x + 1])
    with pytest.raises(
        SteinIdentityError, match=r"\(1\) is a neighbour of \(0\), but \(0\) is none of \(1\)"
    ):
        gs.ksd_test([0.0, 1.0, 2.0], gs.Model(logpdf=lambda x: -x[:, 0], domain=one_way))
    even = gs.Model(logpdf=lambda x: np.where(x[:, 0] % 2 == 0, 0.0, -np.inf), domain=gs.Naturals(1))
    with pytest.raises(SteinIdentityError, match="probability zero at 1 and not on both sides"):
        gs.ksd_test([0.0, 2.0, 4.0], even)
    with pytest.raises(SteinIdentityError, match="has a score only"):
        gs.ksd_test([1.0, 8.0, 3.0], lambda x: -x, domain=gs.Naturals(1))
    with pytest.raises(gs.DomainError, match=r"must return finite numbers \(m, 1\)"):
        gs.StateSpace(1, lambda x: np.zeros((2, 3))).neighbours(np.zeros((1, 1)))


# --- explanations, pictures, the command line ------------------------------------------------


def test_explanations_speak_of_zeros_and_dispersion():
    x = F.ZeroInflated(F.Poisson(3.0), 0.15).sample(300, rng=1)
    found = gs.ksd_test(x, F.Poisson(3.0), null=gs.WildBootstrap(99), rng=1).explain(rng=1)
    first = found.findings[0]
    share = (x == 0).mean() / math.exp(-3.0)
    assert first.statement.startswith("too many zeros in `column 0`: ") and first.effect == pytest.approx(
        share, rel=0.05
    )
    over = F.NegativeBinomial(20.0, 10.0).sample(300, rng=2)
    found = gs.ksd_test(over, F.Poisson(20.0), null=gs.WildBootstrap(99), rng=1).explain(rng=1)
    (said,) = [one for one in found.findings if one.kind == "dispersion"]
    assert said.fails and said.effect == pytest.approx(over.var() / 20.0, rel=0.03)
    assert "counts of `column 0` vary too much: their variance is" in said.statement


def test_hanging_roots_stay_within_their_limits_and_show_zeros():
    from goodstein.plot.counts import bars, longest

    p = scipy.stats.poisson(3).pmf(np.arange(12))
    p[-1] += 1 - p.sum()
    limit, rng = longest(p, 100, 0.95), np.random.default_rng(5)
    roots = np.sqrt(rng.multinomial(100, p, 4000)) - np.sqrt(100 * p)
    assert 0.94 < (np.abs(roots).max(axis=1) <= limit).mean() < 0.99
    edges = bars(np.array([9000.0, 11000.0]), np.array([9500.0, 10500.0]))
    assert len(edges) <= 41 and (edges == np.round(edges)).all() and edges[-1] > 11000
    x = F.ZeroInflated(F.Poisson(3.0), 0.2).sample(200, rng=1)
    result = gs.ksd_test(x, F.Poisson(3.0), null=gs.WildBootstrap(99), rng=1)
    said = [text.get_text() for text in result.plot().figure.legends[0].get_texts()]
    assert "limits, 95%" in said and "more data than the model allows" in said


def test_the_command_line_knows_counts(tmp_path):
    from click.testing import CliRunner

    from goodstein.command.main import cli

    path = tmp_path / "visits.csv"
    path.write_text("visits\n" + "\n".join(map(str, RNG.poisson(3.0, 80))))
    for model in (["poisson:rate=3"], ["negative-binomial:mean=3,size=50"], ["poisson", "--fit"]):
        done = CliRunner().invoke(cli, ["test", str(path), *model, "--seed", "1"])
        assert done.exit_code == 0 and "Jumps('edges')" in done.output, done.output


# --- regressions -----------------------------------------------------------------------------


def regression(n=250, seed=3):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    mean = np.exp(x @ [0.9, 0.4, -0.3])
    return x, mean, rng


def results():
    sm = pytest.importorskip("statsmodels.api")
    x, mean, rng = regression()
    y, over = rng.poisson(mean), rng.poisson(mean * rng.gamma(2, 0.5, len(x)))
    zeros = np.where(rng.uniform(size=len(x)) < 0.3, 0, y)
    more = np.where(rng.uniform(size=len(x)) < 0.3, 0, over)
    offset = rng.uniform(0, 1, len(x))
    options = {"disp": 0, "maxiter": 500}
    family = sm.families
    return {
        "GLM": sm.GLM(y, x, family=family.Poisson()).fit(),
        "GLM, exposure": sm.GLM(y, x, family=family.Poisson(), exposure=np.exp(offset)).fit(),
        "GLM, NB": sm.GLM(over, x, family=family.NegativeBinomial(alpha=0.5)).fit(),
        "Poisson": sm.Poisson(y, x, offset=offset).fit(**options),
        "NB2": sm.NegativeBinomial(over, x).fit(**options),
        "NB1": sm.NegativeBinomial(over, x, loglike_method="nb1").fit(**options),
        "NBP": sm.NegativeBinomialP(over, x, p=2).fit(**options),
        "ZIP": sm.ZeroInflatedPoisson(zeros, x, exog_infl=x[:, :2], exposure=np.exp(offset)).fit(**options),
        "ZINB": sm.ZeroInflatedNegativeBinomialP(more, x, p=2).fit(**options),
    }


def test_regressions_of_statsmodels_have_their_likelihoods_scores_and_draws():
    numdiff = pytest.importorskip("statsmodels.tools.numdiff")
    for name, found in results().items():
        pairs, model = gs.Paired.of_fit(found), as_conditional(found)
        assert model.logpdf(pairs.y, pairs.x).sum() == pytest.approx(found.llf, rel=1e-9), name
        influence = model.provenance.influence(pairs)
        psi = found.model.score_obs(found.params)
        # By differences: their own Hessian of extra zeros with an exposure is another matrix.
        hessian = numdiff.approx_hess(found.params, found.model.loglike)
        theirs = -psi @ np.linalg.inv(hessian / len(pairs)).T
        np.testing.assert_allclose(
            influence.values, theirs, rtol=0.02, atol=0.02 * np.abs(theirs).max(), err_msg=name
        )
        drawn = np.array([model.sample(pairs.x, k) for k in range(400)]).mean()
        assert drawn == pytest.approx(np.mean(found.predict()), rel=0.05), name


def test_regressions_of_outcomes_0_and_1_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    x, mean, rng = regression(200)
    y = (rng.random(len(x)) < mean / (1.0 + mean)).astype(float)
    binomial = sm.families.Binomial()
    offset = rng.normal(size=len(x))
    fits = [
        sm.Logit(y, x).fit(disp=0),
        sm.Probit(y, x).fit(disp=0),
        sm.GLM(y, x, family=binomial).fit(),
        sm.GLM(y, x, family=binomial, offset=offset).fit(),
    ]
    for found in fits:
        pairs, model = gs.Paired.of_fit(found), as_conditional(found)
        assert model.logpdf(pairs.y, pairs.x).sum() == pytest.approx(found.llf, rel=1e-10)
        result = gs.ksd_test(pairs, found, rng=1)
        assert "takes account of the fit" in str(result)
    drawn = as_conditional(fits[0]).sample(np.repeat(x[:1], 4000, axis=0), 1)
    assert drawn.mean() == pytest.approx(fits[0].predict(x[:1])[0], abs=4 * 0.5 / 4000**0.5)
    bent = (rng.random(len(x)) < 1.0 / (1.0 + np.exp(3.0 - 3.0 * x[:, 1] ** 2))).astype(float)
    wrong = sm.Logit(bent, x).fit(disp=0)
    assert gs.ksd_test(gs.Paired.of_fit(wrong), wrong, rng=1).pvalue < 0.01
    several = sm.GLM(np.column_stack([y, 3.0 - y]), x, family=binomial).fit()
    for call, message in [
        (lambda: gs.ksd_test((x, y), several), "must be 0 or 1, one trial each"),
        (lambda: gs.ksd_test((x[:, 1:], y), fits[0]), "has 2 columns, and the regression 3"),
    ]:
        with pytest.raises(gs.InputError, match=message):
            call()


def test_regressions_of_statsmodels_are_tested_with_their_fit_taken_account_of():
    sm = pytest.importorskip("statsmodels.api")
    x, mean, rng = regression(200)
    right = sm.GLM(rng.poisson(mean), x, family=sm.families.Poisson()).fit()
    wrong = sm.GLM(rng.poisson(mean * rng.gamma(1.5, 1 / 1.5, len(x))), x, family=sm.families.Poisson()).fit()
    good, bad = (gs.ksd_test(gs.Paired.of_fit(one), one, rng=1) for one in (right, wrong))
    assert good.pvalue > 0.05 and bad.pvalue < 0.01
    assert "takes account of the fit" in str(good)
    again = gs.conditional_ksd_test(
        x, right.model.endog, right, null=gs.ParametricBootstrap(right, 39), rng=1
    )
    assert again.pvalue > 0.05
    order = rng.permutation(200)
    permuted = gs.ksd_test(
        (x[order], right.model.endog[order]), right, null=gs.ParametricBootstrap(right, 39), rng=1
    )
    assert 0.05 < permuted.pvalue < 1.0  # 1.0 where samples were fitted to the covariates of other rows
    with pytest.raises(gs.InputError, match="other covariates"):
        gs.ksd_test((x[:100], right.model.endog[:100]), right, null=gs.ParametricBootstrap(right, 9), rng=1)
    operator = gs.Jumps("edges", units="root")
    assert gs.conditional_ksd_test(x, wrong.model.endog, wrong, operator=operator, rng=1).pvalue < 0.05
    for call, message in [
        (
            lambda: gs.ksd_test((x, x[:, 0]), sm.OLS(x[:, 1], x).fit()),
            "OLS is no regression that is known here",
        ),
        (lambda: gs.ksd_test((x, x[:, 0]), sm.GLM(x[:, 0], x)), "statsmodels' GLM is not fitted"),
        (lambda: gs.ksd_test((x[:, 1:], right.model.endog), right), "has 2 columns, and the regression 3"),
        (lambda: gs.ksd_test(right.model.endog, right), r"model of y given x.*Paired.of_fit\(results\)"),
        (lambda: gs.Paired.of_fit(3), "`results` must be what fit"),
    ]:
        with pytest.raises(gs.InputError, match=message):
            call()


def test_what_a_fit_needs_beside_the_counts_is_asked_for():
    x = np.random.default_rng(1).binomial(10, 0.3, (50, 2))
    with pytest.raises(
        gs.InputError, match=r"`families`: Binomial.fit needs `count` too.*Product\(\[\.\.\., "
    ):
        F.Product.fit(x, [F.Poisson, F.Binomial])
    with pytest.raises(gs.InputError, match=r"`family`: Binomial.fit needs `count` too. Pass it: "):
        F.ZeroInflated.fit(x[:, 0], F.Binomial)
    zeros = np.where(np.arange(50) % 3 > 0, x[:, 0], 0)
    assert F.ZeroInflated.fit(zeros, F.Binomial, count=10).share > 0.1


def test_no_share_of_counts_is_negative_in_an_explanation():
    x = F.Binomial(5, 0.6).sample(200, rng=1)
    told = str(gs.ksd_test(x, F.Poisson.fit(x), rng=1).explain(rng=1))
    assert "too few zeros" in told
    assert "(-" not in told
