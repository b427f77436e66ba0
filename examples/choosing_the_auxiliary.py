"""Which test of a logistic-normal model sees most, and what does it see in river water?

485 samples of the rivers Llobregat, Cardener and Anoia in Catalonia, here their three major cations,
calcium, magnesium and sodium, as a composition. A logistic-normal distribution, the usual model of such
shares, is fitted to one half of the samples. Of the other half some rows serve to find an auxiliary function
g and to look at it beside others; the rest goes to a selection, which chooses operator, g and bandwidth on
a part of it and tests on what is left. Rows that had a part in a choice are refused.

The samples are monthly series at several stations, so they are less than independent, which the p-value
takes them to be.

Run it with `python examples/choosing_the_auxiliary.py FOLDER`.
"""

import csv
from pathlib import Path

import numpy as np

import goodstein as gs
from data_folder import data_folder

CATIONS = ("Ca", "Mg", "Na")


def main(data: Path) -> None:
    x = compositions(data / "compositional" / "hydrochem.csv")
    order = np.random.default_rng(1).permutation(len(x))
    model = gs.families.LogisticNormal.fit(x[order[: len(x) // 2]])
    first, second, rest = np.split(x[order[len(x) // 2 :]], [40, 80])

    ratio = gs.auxiliary.density_ratio(first, model, rng=1)
    auxiliaries = [gs.ProductOfParts(), gs.BoundaryDistance(), gs.GeometricMean(), ratio]
    print(gs.diagnose_auxiliary(second, model, auxiliaries, rng=1))

    selection = gs.select(rest, model, operators=[gs.LogRatio(), gs.Mirrored(), *auxiliaries], rng=1)
    print(f"\n{selection}\n")
    result = selection.test(rng=1)
    print(result)

    try:
        selection.test(rest)
    except gs.InputError as error:
        print(f"\nNo p-value on rows that had a part in the choice: {error}")

    print(
        f"\nIf {', '.join(CATIONS)} were logistic-normal, the chosen test, {selection.operator}, would "
        f"show a discrepancy as large as this with probability p = {result.pvalue:.4f}."
    )


def compositions(path: Path) -> np.ndarray:
    """Shares of the cations in each sample, (n, 3)."""
    with path.open(encoding="utf-8") as file:
        amounts = np.array([[float(row[ion]) for ion in CATIONS] for row in csv.DictReader(file)])
    return amounts / amounts.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main(data_folder("compositional/hydrochem.csv"))
