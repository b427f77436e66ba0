"""The two sample distributions of the paper: a mixture in the disc and a Dirichlet law on the simplex."""

from __future__ import annotations

from typing import Any

import numpy as np
from claims import Finding, listed
from setting import Row, Setting
from verdicts import DIFFERS, REPRODUCED
from writing import figure, table

import goodstein as gs
from goodstein.auditing.boundary import exponents
from goodstein.families import Dirichlet, GaussianMixture, Truncated
from goodstein.pipeline.compose import compose_model

PART = "samples"
TITLE = "The sample distributions"
ALPHA = (0.2, 0.5, 0.5)
NEAR = 0.01
SHOWN = 600
"""Draws in the figure."""
EDGE = "least density on the boundary / at the centre"
MIXTURE, DIRICHLET = "mixture in the disc", "Dirichlet(.2, .5, .5)"


def mixture() -> Truncated:
    """½N(−e₁, I) + ½N(e₁, I) in the unit disc."""
    return Truncated(GaussianMixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], [np.eye(2)] * 2), gs.Ball(2))


def run(setting: Setting) -> None:
    draws = setting.choose(200_000, 20_000)
    setting.write(PART, [*_mixture_rows(draws), *_dirichlet_rows(draws)])


def _row(law: str, what: str, value: float, exact: float | None, draws: int) -> Row:
    return {"law": law, "quantity": what, "measured": value, "exact": exact, "draws": draws}


def _mixture_rows(draws: int) -> list[Row]:
    law = mixture()
    x = law.sample(draws, rng=0)
    near = law.domain.boundary_distance(x) < NEAR
    # Over the radius and the angle; the density of the mixture without truncation.
    r, angle = np.meshgrid(_middles(1000), np.pi * _middles(200), indexing="ij")
    points = np.column_stack([(r * np.cos(angle)).ravel(), (r * np.sin(angle)).ravel()])
    weight = (np.exp(law.logpdf(points)).reshape(r.shape) * r).sum(axis=1)
    mass = 2.0 * np.pi * weight.sum() / r.size
    share = weight[_middles(1000) > 1.0 - NEAR].sum() / weight.sum()
    angle = 2.0 * np.pi * _middles(4000)
    edge = law.model.logpdf(np.column_stack([np.cos(angle), np.sin(angle)]))
    mean, centre = law.logpdf([[1.0, 0.0], [0.0, 0.0]])
    return [
        _row(
            MIXTURE,
            "draws of the mixture that fall into the disc",
            law.acceptance_rate(draws, rng=1),
            mass,
            draws,
        ),
        _row(MIXTURE, "draws within .01 of the boundary", float(near.mean()), share, draws),
        _row(MIXTURE, EDGE, float(np.exp(edge.min() - centre)), np.exp(-0.5), 0),
        _row(
            MIXTURE,
            "density at a mean / at the centre",
            float(np.exp(mean - centre)),
            np.cosh(1) / np.exp(0.5),
            0,
        ),
    ]


def _dirichlet_rows(draws: int) -> list[Row]:
    law = Dirichlet(ALPHA)
    x = law.sample(draws, rng=0)
    near = law.domain.boundary_distance(x) < NEAR
    rows = [_row(DIRICHLET, "draws within .01 of the boundary", float(near.mean()), None, draws)]
    # x₁ follows Beta(.2, 1), whose distribution function is x^.2.
    rows.append(
        _row(DIRICHLET, "draws with x₁ < .01", float((x[:, 0] < NEAR).mean()), NEAR ** ALPHA[0], draws)
    )
    model, domain, operator = compose_model(law, None, gs.Standardised(gs.ProductOfParts()))
    found = exponents(model, domain, operator, None, np.random.default_rng(0))
    for i, (face, alpha) in enumerate(zip(found, ALPHA, strict=True), 1):
        rows.append(_row(DIRICHLET, f"exponent of the density at x_{i} = 0", face.density, alpha - 1.0, 0))
    return rows


def _middles(count: int) -> np.ndarray:
    return (np.arange(count) + 0.5) / count


# What is drawn and said


def draw(setting: Setting) -> None:
    import mpltern  # noqa: F401 - makes the ternary projection known
    from style import canvas

    with canvas(setting, PART, nrows=1, ncols=2, figsize=(9.0, 4.2)) as (fig, axes):
        _draw_disc(fig, axes[0])
        axes[1].remove()
        _draw_simplex(fig, fig.add_subplot(1, 2, 2, projection="ternary"))


def _draw_disc(fig: Any, ax: Any) -> None:
    law = mixture()
    angle, r = np.linspace(0.0, 2.0 * np.pi, 241), np.linspace(0.0, 1.0, 81)
    x, y = r[:, None] * np.cos(angle), r[:, None] * np.sin(angle)
    points = np.column_stack([x.ravel(), y.ravel()])
    density = np.exp(law.model.logpdf(points)).reshape(x.shape) / law.acceptance_rate(rng=1)
    shades = ax.contourf(x, y, density, levels=12, cmap="Blues", vmin=0.2, vmax=0.6)
    drawn = law.sample(SHOWN, rng=0)
    ax.plot(*drawn.T, ".", color="black", ms=2.0, alpha=0.6)
    ax.plot(np.cos(angle), np.sin(angle), color="black", lw=1.0)
    ax.plot([-1, 1], [0, 0], "x", color="#D55E00", ms=7, mew=2, clip_on=False)
    ax.set(aspect="equal", xlabel="x₁", ylabel="x₂", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    ax.set(xlim=(-1.06, 1.06), ylim=(-1.06, 1.06))
    ax.set_title("Mixture of N(±e₁, I) in the unit disc", pad=14)
    fig.colorbar(shades, ax=ax, label="density", shrink=0.8)


def _draw_simplex(fig: Any, ax: Any) -> None:
    law = Dirichlet(ALPHA)
    grid = triangle(120)
    shades = ax.tricontourf(*grid.T, law.logpdf(grid) / np.log(10.0), levels=12, cmap="Blues")
    ax.plot(*law.sample(SHOWN, rng=0).T, ".", color="black", ms=2.0, alpha=0.6)
    ax.set_tlabel("x₁")
    ax.set_llabel("x₂")
    ax.set_rlabel("x₃")
    ax.set_title("Dirichlet(.2, .5, .5) on the simplex", pad=10)
    fig.colorbar(shades, ax=ax, label="log₁₀ density", shrink=0.8, pad=0.12)


def triangle(count: int) -> np.ndarray:
    """Points of a triangular grid inside the simplex."""
    i, j = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    inside = i + j < count
    parts = np.stack([i, j, count - 1 - i - j], axis=-1)[inside]
    return (parts + 1.0 / 3.0) / count


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    return "\n\n".join(
        [
            f"## {TITLE}",
            "The paper's Figure 1 shows a two-component Gaussian mixture truncated to the unit disc, without "
            "its parameters, and Dirichlet(.2, .5, .5). We take the means ±e₁ and the identity, as in the "
            "paper's simulations.",
            figure(
                PART,
                f"{SHOWN} draws from each law over its density. Crosses: the means of the two components, "
                "which lie on the boundary. The density of the Dirichlet law is infinite on all three edges.",
            ),
            table(
                ["", "measured", "exact", "draws"],
                [
                    [
                        f"{row['law']}: {_subscript(row['quantity'])}",
                        _short(row["measured"]),
                        _short(row["exact"]),
                        row["draws"] or "–",
                    ]
                    for row in rows
                ],
            ),
            "Two components do not make two modes: means no further than two standard deviations apart give "
            "one mode, here at the centre of the disc.",
            listed(PART, findings(rows)),
        ]
    )


def findings(rows: list[Row]) -> dict[tuple[str, str], Finding]:
    found = {(row["law"], row["quantity"]): row for row in rows}
    faces = [found[DIRICHLET, f"exponent of the density at x_{i} = 0"]["measured"] for i in (1, 2, 3)]
    edge = found[MIXTURE, EDGE]["measured"]
    poles = all(exponent < -0.1 for exponent in faces)
    return {
        (MIXTURE, "boundary"): Finding(
            REPRODUCED if edge > 0 else DIFFERS,
            f"The least density on the boundary is {edge:.2f} times that at the centre.",
        ),
        (DIRICHLET, "boundary"): Finding(
            REPRODUCED if min(faces) <= 0 else DIFFERS,
            "Near the three faces the density behaves like "
            + ", ".join(f"δ^{exponent:.2f}".replace("-", "−") for exponent in faces)
            + (
                ": it does not vanish. With αᵢ < 1 it is infinite, so that g has to vanish fast enough."
                if poles
                else "."
            ),
        ),
    }


def _subscript(text: str) -> str:
    for plain, low in (("x_1", "x₁"), ("x_2", "x₂"), ("x_3", "x₃")):
        text = text.replace(plain, low)
    return text


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}".replace("-", "−")
