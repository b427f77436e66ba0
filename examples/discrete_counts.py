"""Are these counts Poisson?

Deaths by horse kick in the corps of the Prussian army, the classic example of Poisson counts, and articles
published by biochemists during their doctorate. The Poisson model is put on the lattice 0, …, L − 1, with
L far beyond the largest count, and its mean is estimated; the parametric bootstrap repeats that.

    python examples/discrete_counts.py FOLDER
"""

import csv
from pathlib import Path

import numpy as np
import scipy.stats

import goodstein as gs
from data_folder import data_folder

LEVEL = 0.05


class Poisson:
    """Fits Poisson counts below a limit, as a table of probabilities."""

    def __init__(self, levels: int) -> None:
        self.levels = levels

    def __repr__(self) -> str:
        return f"Poisson({self.levels})"

    def __call__(self, x: np.ndarray) -> gs.families.CategoricalTable:
        return gs.families.CategoricalTable(scipy.stats.poisson(x.mean()).pmf(np.arange(self.levels)))


def main(data: Path) -> None:
    folder = data / "discrete"
    for name, file, column in [
        ("deaths by horse kick", "prussian_horse_kicks.csv", "y"),
        ("articles of biochemists", "biochemists_articles.csv", "art"),
    ]:
        x = read_column(folder / file, column)
        print(
            f"\n{len(x)} counts, {name}: mean {x.mean():.2f}, variance {x.var():.2f}, largest {x.max():.0f}\n"
        )
        fit = Poisson(3 * int(x.max()))
        result = gs.ksd_test(x, fit(x), null=gs.ParametricBootstrap(fit, 199), rng=1)
        print(f"{result}\n\n{verdict(name, result.pvalue)}")


def read_column(path: Path, column: str) -> np.ndarray:
    with path.open(newline="") as file:
        return np.array([float(row[column]) for row in csv.DictReader(file)])


def verdict(name: str, pvalue: float) -> str:
    """Say in one sentence what the p-value means."""
    if pvalue <= LEVEL:
        return f"At the {LEVEL:.0%} level the {name} are not Poisson counts with one mean (p = {pvalue:.3f})."
    return f"At the {LEVEL:.0%} level nothing speaks against Poisson counts of {name} (p = {pvalue:.3f})."


if __name__ == "__main__":
    main(data_folder("discrete/prussian_horse_kicks.csv", "discrete/biochemists_articles.csv"))
