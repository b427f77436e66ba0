"""Are trees scattered at random? That depends on the scale at which one looks.

Five maps of trees or cells from the R package spatstat. If places were taken at random, they would be
independent and uniform on the map. Seedlings grow near the trees from which they come, in clumps much
smaller than the median distance between two of them, which is the usual bandwidth: with it a test sees
nothing. The aggregated test looks at several scales at once. Its own collection serves all kinds of
departures; whoever expects clumps names small bandwidths, before looking at the data.

A test of uniformity finds maps that are more uneven than chance. Where trees compete, or cells have a size,
they are more even than chance, and p is large; `gs.point_pattern_ksd_test` tests models of that.

Run it with `python examples/aggregated_seedlings.py FOLDER`.
"""

import csv
import json
from pathlib import Path

import numpy as np

import goodstein as gs
from data_folder import data_folder

MAPS = {
    "redwood": "redwood seedlings",
    "finpines": "young Finnish pines",
    "japanesepines": "Japanese black pines",
    "nztrees": "trees in New Zealand",
    "cells": "cells, seen from above",
}
SMALL = [gs.IMQ(gs.Median(scale)) for scale in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)]
"""From clumps of a sixteenth of the median distance on."""


def main(data: Path) -> None:
    folder = data / "spatial"
    windows = json.loads((folder / "windows.json").read_text(encoding="utf-8"))
    print("p-values of the hypothesis that places are random:\n")
    print(f"{'':<24}{'n':>5}{'one bandwidth':>17}{'aggregated':>14}{'small scales':>16}")
    clumps = {}
    for name, title in MAPS.items():
        x = points(folder / f"{name}.csv")
        (left, right), (bottom, top) = windows[name]["xrange"], windows[name]["yrange"]
        random = gs.families.Uniform(gs.Box([left, bottom], [right, top]))
        one = gs.ksd_test(x, random, rng=1)
        several = gs.aggregated_test(x, random, rng=1)
        clumps[name] = gs.aggregated_test(x, random, kernels=SMALL, rng=1)
        values = f"{one.pvalue:>17.3f}{several.pvalue:>14.3f}{clumps[name].pvalue:>16.4f}"
        print(f"{title:<24}{len(x):>5}{values}")

    redwood, pines = clumps["redwood"], clumps["japanesepines"]
    print(f"\nThe redwood seedlings at small scales:\n\n{redwood.table()}")
    print(
        f"\nThey do not stand at random places (p = {redwood.pvalue:.4f}), and it is at the bandwidth "
        f"{redwood.kernel.bandwidth:.2f} that this shows most, on a map whose side is 1. The Japanese pines "
        f"show nothing of the kind at any scale (p = {pines.pvalue:.3f})."
    )


def points(path: Path) -> np.ndarray:
    """Where they are, (n, 2)."""
    with path.open(newline="", encoding="utf-8") as file:
        return np.array([[float(row["x"]), float(row["y"])] for row in csv.DictReader(file)])


if __name__ == "__main__":
    main(data_folder("spatial/windows.json", *(f"spatial/{name}.csv" for name in MAPS)))
