"""Do the homes of children spread evenly over North Humberside?

62 children with leukaemia or lymphoma, and 141 other children drawn from the birth register (Cuzick &
Edwards 1990), at their homes in a region with an irregular border. The model is the uniform distribution
on that polygon. Where people live is far from uniform, so the test should say so of both groups: it is
the comparison of cases with controls, not with a map of the land, that speaks of a disease.

Run it with `python examples/spatial_humberside.py`; it needs `pip install "goodstein[spatial]"`, for
polygons.
"""

import numpy as np

import goodstein as gs


def main() -> None:
    homes, table = gs.datasets.humberside(), gs.datasets.about("humberside")
    model = gs.families.Uniform(table.domain)
    group = table.table()["group"]
    pvalues, rng = {}, np.random.default_rng(1)
    for name in ("case", "control"):
        points = rng.permutation(homes[group == name])  # the order of the list means nothing
        result = gs.ksd_test(points, model, rng=1)
        print(f"H0: the homes of the {name}s are uniform on the region\n")
        print(result)
        print()
        pvalues[name] = result.pvalue
    print(verdict(pvalues))


def verdict(pvalues: dict[str, float]) -> str:
    """Say in one sentence what the p-values mean."""
    said = []
    for name, p in pvalues.items():
        found = "not uniform" if p <= 0.05 else "what uniform homes would look like"
        said.append(f"the homes of the {name}s are {found} (p = {p:.3f})")
    return f"On the region of North Humberside {' and '.join(said)}."


if __name__ == "__main__":
    main()
