"""Fit a model whose normalising constant nobody knows, then test whether it fits.

Two questions. First, points in a region with a crooked boundary: a mixture of normal distributions, cut off
at the boundary, is fitted by truncated score matching to one half of the points, and tested on the other
half with the same weight, the distance to the boundary. One component too few is found out.

Second, the lavas of the Isle of Skye: a Dirichlet distribution is fitted by three estimators. Each is tested
on the data that it was fitted to, and the parametric bootstrap, which fits every simulated sample anew by
the same estimator, keeps the level all the same.

Run it with `python examples/fit_and_test.py`; it needs `pip install "goodstein[spatial]"`, for polygons.
"""

import numpy as np

import goodstein as gs
from goodstein.estimate import AnyDirichlet, MinimumStein, Mixture, TruncatedScoreMatching

LEVEL = 0.05
HARBOUR = gs.Polygon([(0, 0), (6, 0), (6, 4), (4, 4), (3.5, 2), (2.5, 2), (2, 4), (0, 3)])
TRUTH = gs.families.GaussianMixture([0.3, 0.3, 0.4], [[0.5, 2.5], [5.5, 3.0], [3.0, 0.0]], 0.8)

ESTIMATORS = {
    "truncated score matching": TruncatedScoreMatching(),
    "minimum Stein discrepancy, log-ratios": MinimumStein(),
    "minimum Stein discrepancy, mirrored": MinimumStein(gs.Mirrored()),
}


def main() -> None:
    points = gs.families.Truncated(TRUTH, HARBOUR).sample(2000, rng=1)
    train, test = points[:1000], points[1000:]
    operator = gs.Standardised(gs.BoundaryDistance())
    pvalues = {}
    for components in (2, 3):
        fit = TruncatedScoreMatching().fit(train, Mixture(components), domain=HARBOUR, rng=1)
        print(fit, end="\n\n")
        pvalues[components] = gs.ksd_test(test, fit.model, operator=operator, rng=1).pvalue
    error = np.abs(fit.parameters["means"] - TRUTH.means[np.argsort(TRUTH.means[:, 0])])
    print(
        f"The largest error of a mean is {(error / fit.standard_errors['means']).max():.1f} standard errors."
    )
    for components, p in pvalues.items():
        words = "contradict" if p <= LEVEL else "do not contradict"
        print(f"The points that were held out {words} {components} components, p = {p:.3f}.")

    lavas = gs.datasets.skye_lavas()
    print(f"\n{len(lavas)} lavas from the Isle of Skye and the Dirichlet family\n")
    for name, estimator in ESTIMATORS.items():
        fit = estimator.fit(lavas, AnyDirichlet())
        alpha = ", ".join(f"{value:.1f}" for value in fit.parameters["alpha"])
        result = gs.ksd_test(lavas, fit.model, null=gs.ParametricBootstrap(fit.refit, 199), rng=1)
        print(f"{name:<38} alpha = {alpha:<15} p = {result.pvalue:.3f}")


if __name__ == "__main__":
    main()
