"""What is wrong with a model? Data with a known defect each, and what `explain()` names first.

Eleven samples are drawn from laws that differ from the model in one thing: a variance, a correlation, the
tails, the skewness of a column, a mean, a cluster, a part of a composition, a girdle of directions, a hazard,
a coupling, an edge. The explanation lists the views in which data and model differ, with a family-wise error
of 5 %; the first should be the defect.

Run it with `make demo` or `python examples/explanations.py`; it needs no extra.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import goodstein as gs
from goodstein.families import Bingham, Dirichlet, Exponential, Ising, Normal, StudentT, Uniform


class Case(NamedTuple):
    """A defect in words, data that have it, the model, and the view that is about it."""

    defect: str
    data: Any
    model: Any
    view: str


def cases(seed: int = 0) -> Iterator[Case]:
    """The defects; another seed makes other data."""
    five = Normal(np.zeros(5))

    x = five.sample(200, rng=seed + 1)
    x[:, 2] *= 1.25
    yield Case("the standard deviation of column 2 is 1.25, not 1", x, five, "spread of column 2")

    x = five.sample(200, rng=seed + 3)
    x[:, 1] = 0.35 * x[:, 0] + np.sqrt(1 - 0.35**2) * x[:, 1]
    view = "correlation of column 0, column 1"
    yield Case("the correlation of columns 0 and 1 is .35, not 0", x, five, view)

    x = StudentT(5.0, np.zeros(5), 0.6 * np.eye(5)).sample(200, rng=seed + 4)
    yield Case("a t distribution with 5 degrees of freedom, of the same variances", x, five, "tails of all")

    x = five.sample(200, rng=seed + 5)
    x[:, 4] = (np.random.default_rng(seed + 5).gamma(4, size=200) - 4) / 2
    yield Case(
        "column 4 is a Gamma(4) variable, of the same mean and variance", x, five, "skewness of column 4"
    )

    x = five.sample(200, rng=seed + 6)
    x[:, 3] += 0.4
    yield Case("the mean of column 3 is .4, not 0", x, five, "mean of column 3")

    rng = np.random.default_rng(seed + 7)
    two = Normal([0.0, 0.0])
    x = two.sample(300, rng)
    x[rng.random(300) < 0.1] = [0.9, 0.4]
    x += 0.1 * rng.standard_normal(x.shape) * (x == [0.9, 0.4])
    yield Case("one row in ten comes from near (.9, .4)", x, two, "place")

    x = Dirichlet([3.0, 3.0, 4.0]).sample(200, rng=seed + 8)
    yield Case(
        "the parameter of part 0 is 3, not 2", x, Dirichlet([2.0, 3.0, 4.0]), "mean of log(part 0/others)"
    )

    girdle = Bingham(np.diag([0.0, 0.0, -4.0]))
    view = "axis (0, 0, 1)"
    yield Case(
        "a narrower girdle", girdle.sample(200, rng=seed + 9), Bingham(np.diag([0.0, 0.0, -2.0])), view
    )

    rng = np.random.default_rng(seed + 10)
    event, end = rng.exponential(size=300), rng.uniform(0, 5, 300)
    event = np.where(event > 1.2, 1.2 + 0.4 * (event - 1.2), event)
    durations = gs.Censored(np.minimum(event, end), event <= end)
    yield Case("after 1.2 the hazard is 2.5, not 1", durations, Exponential(1.0), "hazard after")

    theta = 0.3 * (np.eye(6, k=1) + np.eye(6, k=-1))
    more = theta.copy()
    more[0, 3] = more[3, 0] = 0.5
    x = Ising(more).sample(300, rng=seed + 11)
    yield Case("sites 0 and 3 are coupled", x, Ising(theta), "association of site 0, site 3")

    rng = np.random.default_rng(seed + 12)
    x = rng.uniform(size=(300, 2))
    x[rng.random(300) < 0.08, 1] *= 0.04
    yield Case(
        "one row in twelve is close to 0 in column 1", x, Uniform(gs.Box(0, [1, 1])), "lower edge of column 1"
    )


def explain(case: Case) -> Any:
    return gs.ksd_test(case.data, case.model, rng=1).explain()


def names_it(case: Case, found: Any) -> bool:
    """Whether the first finding is the defect."""
    first = found.findings[0]
    return bool(first.fails and first.view.startswith(case.view))


def main() -> None:
    named = total = 0
    for case in cases():
        explanation = explain(case)
        total += 1
        named += names_it(case, explanation)
        print(f"Known defect: {case.defect}\n\n{explanation}\n")
    print(f"{named} of {total} explanations name the defect first.")


if __name__ == "__main__":
    main()
