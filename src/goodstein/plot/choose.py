"""Where a model fails, and which picture a result has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from goodstein.conditional.data import Paired
from goodstein.constraints import check_share
from goodstein.data.points import Points
from goodstein.domains.circle import Torus
from goodstein.domains.lattice import Lattice
from goodstein.domains.naturals import Naturals
from goodstein.domains.simplex import Simplex
from goodstein.domains.sphere import Sphere
from goodstein.errors import Explained, InputError, must
from goodstein.graphs.data import Graph
from goodstein.patterns.data import Patterns
from goodstein.patterns.single import Pattern
from goodstein.plot.axis import along_axis
from goodstein.plot.cells import over_states
from goodstein.plot.collection import members
from goodstein.plot.counts import over_counts
from goodstein.plot.directions import around_circle, over_sphere
from goodstein.plot.durations import over_time
from goodstein.plot.effects import findings
from goodstein.plot.graph import over_graph
from goodstein.plot.matrix import pairs
from goodstein.plot.null import null_distribution
from goodstein.plot.observations import contributions
from goodstein.plot.one_pattern import over_pattern
from goodstein.plot.patterns import over_patterns
from goodstein.plot.plane import over_plane
from goodstein.plot.style import canvas, drawing, draws
from goodstein.plot.triangle import over_triangle
from goodstein.plot.uniform import transform
from goodstein.survival.data import Censored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.results.result import TestResult

SHAPES: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "axis": (along_axis, (6.4, 4.0)),
    "plane": (over_plane, (6.0, 5.6)),
    "triangle": (over_triangle, (6.0, 6.0)),
    "circle": (around_circle, (5.6, 6.2)),
    "sphere": (over_sphere, (7.2, 4.7)),
    "time": (over_time, (6.4, 4.8)),
    "states": (over_states, (6.4, 4.2)),
    "counts": (over_counts, (6.4, 4.4)),
    "graph": (over_graph, (6.0, 6.2)),
    "pattern": (over_pattern, (6.0, 5.6)),
}
"""How each kind of data is drawn, and the size of its figure in inches."""

FEW_LEVELS = 6
"""Levels of sites of which a cloud of points shows nothing."""


@draws("asked")
def where(result: TestResult, *, ax: Axes | None = None, level: float = 0.95) -> Any:
    """Where the model fails: regions with more data than it allows, and with less.

    Over an axis, a plane region with its outline, a triangle, a circle, a sphere, time, the states of a
    lattice or the nodes of a graph, whatever the data are. Several dimensions are drawn in pairs, point
    patterns one by one. Durations with covariates, and sites of a lattice with a few levels, whose places say
    nothing, are told as :func:`findings`.

    Parameters
    ----------
    result
        A result that holds its data.
    ax
        Axes to draw on; None makes a new figure.
    level
        Level of confidence of the limits, for all places together.

    Returns
    -------
    matplotlib Axes, or a Figure where there are several.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal(0, 1)
    >>> result = gs.ksd_test(gs.families.Normal(0.5, 1).sample(200, rng=1), model, rng=1)
    >>> [text.get_text() for text in gs.plot.where(result).figure.legends[0].get_texts()]
    ['data', 'model', 'more data than the model allows', 'less data than the model allows']
    """
    check_share(level, "level")
    shape = shape_of(result)
    problem = result.asked[0]
    if shape == "patterns":
        if ax is not None:
            return contributions(result, ax=ax, level=level)
        with drawing() as (plt, colours):
            return over_patterns(plt, result, problem, level, colours)
    if shape == "findings":
        try:
            return findings(result.explain(level=1.0 - level), ax=ax)
        except InputError:  # there are too few rows for that, or they have weights
            shape = "pairs" if isinstance(problem.data, Points) else "rows"
    if shape == "pairs":
        if ax is not None:
            return contributions(result, ax=ax, level=level)
        return pairs(result, level=level)
    if shape == "rows":
        return contributions(result, ax=ax, level=level)
    draw, size = SHAPES[shape]
    with canvas(ax, size) as (ax, colours):
        return draw(ax, result, problem, level, colours)


def shape_of(result: TestResult) -> str:
    """Over what the failure of a model is drawn; "rows" where nothing has a place."""
    if not result.asked:
        raise InputError(
            "This result does not hold the data any more, or no discrepancy that has a place.",
            remedy='Plot it before it is stored or sent to another process, or use plot(kind="null").',
        )
    data, domain = result.asked[0].data, result.asked[0].domain
    if isinstance(data, Censored) and data.covariates is not None:
        return "findings"
    kinds = {Censored: "time", Graph: "graph", Patterns: "patterns", Pattern: "pattern"}
    for kind, shape in kinds.items():
        if isinstance(data, kind):
            return shape
    if isinstance(data, Paired):
        widths = data.covariates.shape[1], data.outcomes.shape[1]
        return "plane" if widths == (1, 1) and not domain.discrete else "rows"
    if not isinstance(data, Points) or domain is None:
        return "rows"
    return _of_domain(domain)


def _of_domain(domain: Any) -> str:
    d = domain.dim
    if isinstance(domain, Lattice):
        several = "findings" if len(domain.levels) <= FEW_LEVELS else "pairs"
        return "states" if d == 1 else several
    if isinstance(domain, Naturals):
        return "counts" if d == 1 else "pairs"
    if domain.discrete:
        return "rows"
    if isinstance(domain, Simplex):
        return {2: "axis", 3: "triangle"}.get(d, "pairs")
    if isinstance(domain, Torus):
        return {1: "circle", 2: "plane"}.get(d, "pairs")
    if isinstance(domain, Sphere):
        return {2: "circle", 3: "sphere"}.get(d, "pairs")
    return {1: "axis", 2: "plane"}.get(d, "pairs")


def _findings(result: Any, **options: Any) -> Any:
    return findings(result.explain(), **options)


def _pairs(result: Any, *, ax: Any = None, **options: Any) -> Any:
    if ax is not None:
        raise InputError(
            "fill a figure of their own.", argument="pairs", predicate=True, remedy="Leave `ax` out."
        )
    return pairs(result, **options)


KINDS: dict[str, Callable[..., Any]] = {
    "where": where,
    "null": null_distribution,
    "contributions": contributions,
    "pairs": _pairs,
    "members": members,
    "transform": transform,
    "findings": _findings,
}


def picture(result: TestResult, kind: str | None = None, *, ax: Axes | None = None) -> Any:
    """The picture of this kind; None: where the model fails if that is seen, else members, else the null."""
    if kind is not None:
        if not isinstance(kind, str) or kind not in KINDS:
            raise must("kind", f"one of {', '.join(map(repr, KINDS))}, or None", kind)
        return KINDS[kind](result, ax=ax)
    rest = members if result.members else null_distribution
    if not result.asked or result.undefined:
        return rest(result, ax=ax)
    try:
        return where(result, ax=ax)
    except Explained:  # some operators see nothing but what was observed
        return rest(result, ax=ax)
