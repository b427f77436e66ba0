"""How many sources make the water of a river? Latent components, tested and compared.

Concentrations of eight major ions in the lower Llobregat, a Catalan river, on 135 days. Probabilistic
principal components explain their logarithms by a few latent sources and noise of equal variance. The model
is fitted to half of the days, taken at random, and tested on the other half, so that its parameters are
fixed. The test sees the latent sources only through draws from their posterior, as it would in a model
without a closed form.

Then two numbers of sources are compared: the relative test asks which model is closer to the held-out days,
whether or not either of them is true. Both tests take the days for independent.

The river and the two numbers of sources were chosen after a look at all four rivers of the table, so this
shows how the tests are used and is no finding about rivers.

    python examples/latent_rivers.py FOLDER
"""

import csv
import math
from pathlib import Path

import numpy as np

import goodstein as gs
from data_folder import data_folder

IONS = ("Na", "K", "Mg", "Ca", "Sr", "Cl", "SO4", "HCO3")
FEW, MANY = 2, 5
LEVEL = 0.05


def read(folder: Path) -> np.ndarray:
    """Logarithms of the concentrations, (days, ions)."""
    with open(folder / "compositional" / "hydrochem.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["River"] == "LowerLLobregat"]
    return np.log([[float(row[ion]) for ion in IONS] for row in rows])


def main(data: Path) -> None:
    x = read(data)
    order = np.random.default_rng(1).permutation(len(x))
    fitted, held_out = x[order[::2]], x[order[1::2]]
    # Units of the half that is fitted, so that the noise may have one variance.
    centre, scale = fitted.mean(axis=0), fitted.std(axis=0)
    fitted, held_out = (fitted - centre) / scale, (held_out - centre) / scale
    print(f"{len(x)} days, {len(IONS)} ions; fitted to {len(fitted)}, tested on {len(held_out)}")

    models, pvalues = {}, {}
    for sources in (FEW, MANY):
        models[sources] = gs.families.ProbabilisticPCA.fit(fitted, sources).latent()
        result = gs.ksd_test(held_out, models[sources], operator=gs.Latent(draws=200), rng=1)
        pvalues[sources] = result.pvalue
        print(f"\nH0: {sources} latent sources\n\n{result}")
    relative = gs.relative_ksd_test(held_out, models[FEW], models[MANY], operator=gs.Latent(draws=200), rng=1)
    print(f"\nH0: {FEW} sources (P) fit at least as well as {MANY} (Q)\n\n{relative}")
    print(f"\n{verdict(pvalues, relative.pvalue)}")
    print("(River and numbers of sources were chosen after a look at the data: this is an illustration.)")


def verdict(pvalues: dict[int, float], relative: float) -> str:
    """Say in one sentence what the three p-values mean."""
    parts = [
        f"{sources} sources {'contradict' if p <= LEVEL else 'are compatible with'} the held-out days "
        f"(p = {p:.3f})"
        for sources, p in pvalues.items()
    ]
    if math.isnan(relative):
        comparison = "the two models are too alike to be compared"
    elif relative <= LEVEL:
        comparison = f"{MANY} sources are closer to them than {FEW} (p = {relative:.2g})"
    else:
        comparison = f"nothing shows that {MANY} sources are closer to them than {FEW} (p = {relative:.2g})"
    return f"At the {LEVEL:.0%} level {', '.join(parts)}, and {comparison}."


if __name__ == "__main__":
    main(data_folder("compositional/hydrochem.csv"))
