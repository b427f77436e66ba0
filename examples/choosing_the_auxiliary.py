"""Which test of a logistic-normal model sees most, and what does it see in the make-up of schools?

Californian school districts (STAR 1998; Gill 2000) by the shares of their pupils who are Asian, Hispanic and
others, as a composition. A logistic-normal distribution, the usual model of such shares, is fitted to 100
districts. Of the others some serve to find an auxiliary function g; the rest goes to a selection, which
chooses operator, g and bandwidth on a part of it and tests on what is left. Rows that had a part in a choice
are refused.

Log-ratios need shares above zero: districts without any pupil of a group are left out, which is said. The
null distribution is simulated, because a few districts carry most of the statistic. These groups are one of
five ways to form three parts that were looked at, so the result is an illustration and no finding.

Run it with `python examples/choosing_the_auxiliary.py`; it needs `pip install "goodstein[examples]"`, for the
data that come with statsmodels.
"""

import numpy as np
from statsmodels.datasets import star98

import goodstein as gs

GROUPS = ("Asian", "Hispanic", "others")


def main() -> None:
    x, left_out = compositions()
    print(f"{len(x)} districts, {left_out} without any pupil of a group left out; {', '.join(GROUPS)}\n")
    order = np.random.default_rng(1).permutation(len(x))
    fitted, first, rest = np.split(x[order], [100, 140])
    model = gs.families.LogisticNormal.fit(fitted)

    learnt = gs.auxiliary.learn(first, model, rng=1)
    auxiliaries = [gs.ProductOfParts(), gs.BoundaryDistance(), gs.GeometricMean(), learnt]
    selection = gs.select(rest, model, operators=[gs.LogRatio(), gs.Mirrored(), *auxiliaries], rng=1)
    print(f"{selection}\n")
    result = selection.test(null=gs.MonteCarlo(), rng=1)
    print(result)

    try:
        selection.test(rest)
    except gs.InputError as error:
        print(f"\nNo p-value on rows that had a part in the choice: {error}")

    print(
        f"\nIf the shares were logistic-normal, the chosen test, {selection.operator}, would "
        f"show a discrepancy as large as this with probability p = {result.pvalue:.4f}."
    )


def compositions() -> tuple[np.ndarray, int]:
    """Shares of the groups in each district, (n, 3), and how many districts are left out."""
    known = star98.load_pandas().data[["PERASIAN", "PERHISP"]].to_numpy() / 100
    shares = np.column_stack([known, 1 - known.sum(axis=1)])
    mixed = (shares > 0).all(axis=1)
    return shares[mixed], int((~mixed).sum())


if __name__ == "__main__":
    main()
