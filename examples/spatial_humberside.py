"""Do the homes of children spread evenly over North Humberside?

62 children with leukaemia or lymphoma, and 141 other children drawn from the birth register (Cuzick &
Edwards 1990), at their homes in a region with an irregular border. The model is the uniform distribution
on that polygon. Where people live is far from uniform, so the test should say so of both groups: it is
the comparison of cases with controls, not with a map of the land, that speaks of a disease.

    python examples/spatial_humberside.py FOLDER
"""

import csv
import json
from pathlib import Path

import numpy as np

import goodstein as gs
from data_folder import data_folder


def homes(data: Path) -> tuple[gs.Polygon, dict[str, np.ndarray]]:
    """The region, and the homes of cases and controls, in units of 100 metres."""
    window = json.loads((data / "spatial" / "windows.json").read_text())["humberside"]
    region = gs.Polygon(window["rings"][0], holes=window["rings"][1:])
    with (data / "spatial" / "humberside.csv").open() as file:
        rows = list(csv.DictReader(file))
    groups = {
        mark: np.array([[float(row["x"]), float(row["y"])] for row in rows if row["mark"] == mark])
        for mark in ("case", "control")
    }
    return region, groups


def main(data: Path) -> None:
    region, groups = homes(data)
    model = gs.families.Uniform(region)
    pvalues = {}
    for name, points in groups.items():
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
    main(data_folder("spatial/windows.json", "spatial/humberside.csv"))
