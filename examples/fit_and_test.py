"""Fit a model whose normalising constant nobody knows, then test whether it fits.

Two questions. First, points in a region with a crooked boundary: a normal distribution, cut off at the
boundary, is fitted by truncated score matching to one half of the points, and tested on the other half with
the same weight, the distance to the boundary. Points from a mixture of two are found out.

Second, the lavas of the Isle of Skye: a Dirichlet distribution is fitted by three estimators. Each is tested
on the data that it was fitted to, and the parametric bootstrap, which fits every simulated sample anew by
the same estimator, keeps the level all the same.

Run it with `python examples/fit_and_test.py`; it needs `pip install "goodstein[spatial]"`, for polygons.
"""

import numpy as np

import goodstein as gs
from goodstein.estimate import AnyDirichlet, AnyNormal, MinimumStein, TruncatedScoreMatching

LEVEL = 0.05
HARBOUR = gs.Polygon([(0, 0), (6, 0), (6, 4), (4, 4), (3.5, 2), (2.5, 2), (2, 4), (0, 3)])
TRUTHS = {
    "a normal distribution": gs.families.Normal([3.0, 1.0], [[4.0, 0.5], [0.5, 1.5]]),
    "a mixture of two": gs.families.GaussianMixture([0.5, 0.5], [[3.0, 1.0], [3.0, 1.0]], [4.0, 0.3]),
}

ESTIMATORS = {
    "truncated score matching": TruncatedScoreMatching(),
    "minimum Stein discrepancy, log-ratios": MinimumStein(),
    "minimum Stein discrepancy, mirrored": MinimumStein(gs.Mirrored()),
}


def main() -> None:
    operator = gs.Standardised(gs.BoundaryDistance())
    for name, truth in TRUTHS.items():
        points = gs.families.Truncated(truth, HARBOUR).sample(2000, rng=1)
        train, test = points[:1000], points[1000:]
        fit = TruncatedScoreMatching().fit(train, AnyNormal(), domain=HARBOUR)
        print(f"2000 points from {name}\n\n{fit}\n")
        if isinstance(truth, gs.families.Normal):
            error = np.abs(fit.parameters["mean"] - truth.mean) / fit.standard_errors["mean"]
            print(f"The largest error of the mean is {error.max():.1f} standard errors.")
        p = gs.ksd_test(test, fit.model, operator=operator, rng=1).pvalue
        words = "contradict" if p <= LEVEL else "do not contradict"
        print(f"Points from {name} that were held out {words} the normal family, p = {p:.3f}.\n")

    lavas = gs.datasets.skye_lavas()
    print(f"{len(lavas)} lavas from the Isle of Skye and the Dirichlet family\n")
    for name, estimator in ESTIMATORS.items():
        fit = estimator.fit(lavas, AnyDirichlet())
        alpha = ", ".join(f"{value:.1f}" for value in fit.parameters["alpha"])
        result = gs.ksd_test(lavas, fit.model, null=gs.ParametricBootstrap(fit.refit, 199), rng=1)
        print(f"{name:<38} alpha = {alpha:<15} p = {result.pvalue:.3f}")


if __name__ == "__main__":
    main()
