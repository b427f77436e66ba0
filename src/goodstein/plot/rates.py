"""The power of tests over cells, effects or sample sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from goodstein.plot.style import MARKERS, SERIES, bare, canvas, draws, safe, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.power.planning import SampleSize
    from goodstein.power.rates import Rate
    from goodstein.power.result import PowerStudy


@draws("cells")
def power_curves(
    study: PowerStudy, *, ax: Axes | None = None, level: float | None = None, theme: str | None = None
) -> Axes:
    """Power of every test with Wilson's intervals, and the Neyman–Pearson bound above them.

    The horizontal axis is the effect where all cells have one, or n where cells differ in it alone. Otherwise
    the cells stand below each other. A study without alternatives shows sizes.

    Parameters
    ----------
    study
        What :func:`goodstein.power_study` returned.
    ax, theme
        As in :func:`null_distribution`.
    level
        At which level; None takes that of each cell.
    """
    cells = [cell for cell in study.cells if cell.alternative is not None]
    kind = "alternative" if cells else "null"
    what = "power" if cells else "size"
    measure = study.power if cells else study.size
    cells = cells or list(study.cells)
    places, label = _axis(cells)
    upright = label is not None
    own, size = ax is None, (6.4, 4.0 if upright else 1.6 + 0.5 * len(cells))
    gap = 0.012 * (max(places) - min(places)) if upright else min(0.1, 0.6 / len(study.tests))
    with canvas(ax, theme, size) as (ax, colours):
        for number, test in enumerate(study.tests):
            here = [i for i, cell in enumerate(cells) if (cell.name, kind, test) in study.pvalues]
            # Tests stand beside each other, so that no interval hides another.
            shift = gap * (number - (len(study.tests) - 1) / 2)
            rates = [measure(cells[i], test, level) for i in here]
            _points(
                ax, [places[i] + shift for i in here], rates, number, test, upright=upright, joined=upright
            )
        known = [(place, study.bound(cell, level)) for place, cell in zip(places, cells, strict=True)]
        points = sorted((place, bound.value) for place, bound in known if bound is not None)
        _bound(ax, points, upright, colours.ink)
        levels = {study.level(cell, level) for cell in cells}
        if len(levels) == 1:
            (at,) = levels
            draw = ax.axhline if upright else ax.axvline
            draw(at, color=colours.ink, linestyle=":", linewidth=0.9, label=f"level {at:g}")
        if label is not None:
            ax.set(xlabel=label, ylabel=what)
        else:
            ax.set(xlabel=what, yticks=places, yticklabels=[safe(cell.name) for cell in cells])
            ax.set_ylim(len(cells) - 0.5, -0.5)
        if kind == "alternative":
            (ax.set_ylim if upright else ax.set_xlim)(-0.03, 1.03)
        return _finished(ax, f"{study.trials} trials", own)


def sample_size_curve(result: SampleSize, *, ax: Axes | None = None, theme: str | None = None) -> Axes:
    """The power at every n that was tried, with the wanted power and the n that has it.

    Parameters
    ----------
    result
        What :func:`goodstein.sample_size` returned.
    ax, theme
        As in :func:`null_distribution`.
    """
    own = ax is None
    with canvas(ax, theme) as (ax, colours):
        points = sorted(result.curve, key=lambda point: point[0])
        x, rates = [float(n) for n, _ in points], [rate for _, rate in points]
        _points(ax, x, rates, 0, result.test, upright=True, joined=False)
        ink, (low, high) = colours.ink, result.interval
        ax.axhline(result.power, color=ink, linestyle=":", linewidth=0.9, label=f"power {result.power:g}")
        ax.axvspan(low, high, color=SERIES[0], alpha=0.12, linewidth=0)
        ax.axvline(result.n, color=SERIES[0], linewidth=1.5, label=f"n = {result.n} [{low}, {high}]")
        if result.bound is not None:
            name = f"Neyman–Pearson, n = {result.bound}"
            ax.axvline(result.bound, color=ink, linestyle="--", linewidth=1.2, label=name)
        ax.set_xscale("log")
        ax.set_xticks(ticks := _ticks([n for n, _ in points]), [str(n) for n in ticks])
        ax.minorticks_off()
        ax.set(xlabel="n", ylabel="power", ylim=(-0.03, 1.03))
        return _finished(ax, f"{result.alternative}, level {result.level:g}", own)


def _axis(cells: list[Any]) -> tuple[list[float], str | None]:
    """Where the cells stand, and on which scale; None: below each other."""
    effects = [cell.effect for cell in cells]
    sizes = [float(cell.n) for cell in cells]
    if None not in effects and len(set(effects)) == len(cells) > 1:
        return [float(effect) for effect in effects], "effect"
    first = cells[0].alternative
    alike = all(one.alternative is first or one.alternative == first for one in cells)
    if alike and len(set(sizes)) == len(cells) > 1:
        return sizes, "n"
    return [float(i) for i in range(len(cells))], None


def _points(
    ax: Axes, places: list[float], rates: list[Rate], number: int, label: str, *, upright: bool, joined: bool
) -> None:
    order = sorted(range(len(places)), key=lambda i: places[i])
    where, rates = [places[i] for i in order], [rates[i] for i in order]
    values = [rate.value for rate in rates]
    errors = [[abs(rate.value - rate.interval[end]) for rate in rates] for end in (0, 1)]
    style: dict[str, Any] = {"linewidth": 1.2, "elinewidth": 1.0, "markersize": 5, "capsize": 2}
    style |= {"color": SERIES[number % len(SERIES)], "marker": MARKERS[number % len(MARKERS)]}
    style |= {"linestyle": "-" if joined else "none", "label": safe(label)}
    if upright:
        ax.errorbar(where, values, yerr=errors, **style)
    else:
        ax.errorbar(values, where, xerr=errors, **style)


def _bound(ax: Axes, points: list[tuple[float, float]], upright: bool, ink: Any) -> None:
    if not points:
        return
    name = "Neyman–Pearson bound"
    places, values = zip(*points, strict=True)
    if upright:
        ax.plot(places, values, color=ink, linestyle="--", linewidth=1.4, label=name)
    else:
        low, high = ([place + end for place in places] for end in (-0.35, 0.35))
        ax.vlines(values, low, high, color=ink, linewidth=1.4, label=name)


def _ticks(tried: list[int]) -> list[int]:
    """A few of the numbers, far enough apart to be read."""
    ticks = [tried[0]]
    for n in tried[1:]:
        if n >= 1.35 * ticks[-1]:
            ticks.append(n)
    return ticks


def _finished(ax: Axes, title: str, own: bool) -> Axes:
    set_title(ax, title)
    bare(ax)
    if own:
        # Below the axes: curves may be anywhere inside them.
        ax.figure.legend(frameon=False, loc="outside lower center", ncol=3)
    else:
        ax.legend(frameon=False, fontsize="small")
    return ax
