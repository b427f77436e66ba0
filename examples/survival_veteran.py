"""Do proportional hazards describe how veterans with lung cancer survive, and if not, what does?

137 patients of a trial (veteran), with their performance status (the Karnofsky score, in per cent), their age
and their treatment. Regressions are fitted by lifelines and tested with the very data frame that they were
fitted to, which the tests take account of: Cox's model, whatever its baseline is, by who of those at risk
dies; accelerated failure times of three kinds, by their hazards.

Run it with `python examples/survival_veteran.py`; it needs `goodstein[survival]`.
"""

import warnings

import numpy as np
import pandas as pd

import goodstein as gs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import lifelines


def main() -> dict[str, float]:
    """Print the tests and what they mean; return the p-values."""
    table = pd.DataFrame(gs.datasets.about("veteran").table())
    # The table is sorted by treatment and kind of cell, which would look like dependence.
    table = table.iloc[np.random.default_rng(1).permutation(len(table))].reset_index(drop=True)
    patients = table[["time", "status", "karno", "age", "trt"]]
    fitters = [
        lifelines.CoxPHFitter(),
        lifelines.WeibullAFTFitter(),
        lifelines.LogNormalAFTFitter(),
        lifelines.LogLogisticAFTFitter(),
    ]
    found = {}
    for fitter in fitters:
        fitter.fit(patients, "time", "status")
        result = gs.ksd_test(patients, fitter, rng=1)
        found[type(fitter).__name__] = result
        print(f"{type(fitter).__name__:<22} p = {result.pvalue:.3f}   {verdict(result.pvalue)}")
    fades = found["CoxPHFitter"].explain(rng=1).findings[0]
    print(f"\nMost suspicious in Cox's model: {fades.statement}.")
    print("Proportional hazards do not describe these patients; effects that fade with time do.")
    return {name: result.pvalue for name, result in found.items()}


def verdict(pvalue: float) -> str:
    """A p-value in words."""
    return "does not fit" if pvalue <= 0.05 else "no evidence against it"


if __name__ == "__main__":
    main()
