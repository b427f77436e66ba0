"""The members of an aggregated test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.errors import InputError
from goodstein.plot.style import bare, canvas, draws, finish, safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.results.member import Member
    from goodstein.results.result import TestResult


@draws("members")
def members(result: TestResult, *, ax: Axes | None = None) -> Axes:
    """p-values of the members, alone and adjusted for all others, the strongest evidence at the top.

    Parameters
    ----------
    result
        What :func:`goodstein.aggregated_test` returned.
    ax
        As in :func:`null_distribution`.
    """
    if not result.members:
        raise InputError(
            "is of a single test, which has no members.",
            argument="result",
            predicate=True,
            remedy='Use aggregated_test, or plot(kind="null").',
        )
    ranked = sorted(result.members, key=lambda member: -member.evidence)
    at = np.arange(len(ranked))
    with canvas(ax, (6.8, 1.7 + 0.34 * len(ranked))) as (ax, colours):
        adjusted = np.array([member.adjusted_pvalue for member in ranked])
        alone = np.array([member.pvalue for member in ranked])
        ax.axvspan(1e-12, 0.05, color=colours.data, alpha=0.35, linewidth=0, label="below 0.05")
        ax.hlines(at, alone, adjusted, color=colours.faint, linewidth=1.0)
        ax.plot(alone, at, "o", markerfacecolor="none", color=colours.faint, markersize=5, label="alone")
        small = adjusted <= 0.05
        for mask, colour, label in (
            (small, colours.more, "adjusted for all members, evidence"),
            (~small, colours.ink, "adjusted for all members"),
        ):
            if mask.any():
                ax.plot(adjusted[mask], at[mask], "D", color=colour, markersize=6, label=label)
        ax.set_xscale("log")
        lowest = min(0.01, float(alone.min()), float(adjusted.min()))
        ax.set_xlim(0.6 * lowest, 1.5)
        ax.set_ylim(len(ranked) - 0.4, -0.6)
        ax.set_yticks(at, [_name(member) for member in ranked], fontsize=6.5)
        ax.set_xlabel("p-value")
        bare(ax)
        return finish(ax, f"{result.model}, n = {result.n}, p = {result.pvalue:.3g} of all together")


def _name(member: Member) -> str:
    """What a member looks at, and below it its operator and kernel."""
    looks_at, operator, kernel = member.line()[:3]
    return f"{safe(looks_at, 60)}\n{safe(operator, 40)}  {safe(kernel, 24)}"
