r"""Views of directions: where they point to, how closely they agree, and what shape they have about that.

All quantities are smooth functions h of the mean μ = E u and of the second moments M = E uuᵀ of unit vectors
u; an angle θ is (cos θ, sin θ), whose second moments are its second harmonics. The influence of a row is that
of (u − μ, uuᵀ − M) along the gradient of h, by differences where h is not linear. With m = μ/‖μ‖ the mean
direction of the *data*,

* the angles between m and axes across the model's mean direction say whether it points elsewhere;
* ‖μ‖ is the concentration, one where all directions agree;
* mᵀMm is that of axes, and eᵀMe, e′ᵀMe, mᵀMe for axes e, e′ across m are oval, twisted, leaning shapes.

Where the model has no mean direction to speak of, as axial and uniform ones, μ and M are looked at as they
are, in the axes of the model's own M.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from goodstein.explain.views import Look, Sentence, Told, View, figure, value_of
from goodstein.types import Array

POINTING = 0.15
"""Mean resultant length from which a model has a mean direction."""

DISTINCT = 0.03
"""Difference of second moments from which axes are the model's own."""

STEP = 1e-6

COUNTER_CLOCKWISE = "larger angles"
"""What is across the mean direction of one angle."""

Embedded = Callable[[Array], Array]


class Directions(Look):
    """Unit vectors, made of the observations by `embedded`; `name` is how sentences call them."""

    def __init__(self, draws: Array, embedded: Embedded, name: str, columns: Sequence[str]) -> None:
        self._embedded, self._columns, self._name = embedded, tuple(columns), name
        u = embedded(draws)
        mean, second = u.mean(axis=0), u.T @ u / len(u)
        self._points = bool(np.linalg.norm(mean) > POINTING)
        self._axes = _axes(mean if self._points else None, second)
        self.views = self._pointing() if self._points else self._axial()

    def measure(self, observations: Array, *, influence: bool = True) -> tuple[Array, Array]:
        u = self._embedded(observations)
        n, d = u.shape
        mean, second = u.mean(axis=0), u.T @ u / n

        def h(at: Array) -> Array:
            frame = self._frame(at)
            return np.concatenate([self._first(at), self._second(frame @ second @ frame.T)])

        values = h(mean)
        if not influence:
            return values, np.empty((0, len(values)))
        # h is linear in the second moments; the mean moves the frame too.
        w = u @ self._frame(mean).T
        rows = self._second(w[:, :, None] * w[:, None, :])
        psi = np.hstack([np.zeros((n, len(values) - rows.shape[1])), rows - rows.mean(axis=0)])
        slopes = np.array([(h(mean + move) - h(mean - move)) / (2 * STEP) for move in STEP * np.eye(d)])
        return values, psi + (u - mean) @ slopes

    def _frame(self, mean: Array) -> Array:
        """The model's axes, or the data's mean direction and what is across it."""
        if not self._points:
            return self._axes
        towards = mean / max(float(np.linalg.norm(mean)), 1e-12)
        across = self._axes[1:] - np.outer(self._axes[1:] @ towards, towards)
        return np.vstack([towards, across / np.linalg.norm(across, axis=1, keepdims=True)])

    def _first(self, mean: Array) -> Array:
        """What the mean says."""
        if not self._points:
            return np.asarray(self._axes @ mean)
        length = float(np.linalg.norm(mean))
        tilts = np.arcsin(np.clip(self._axes[1:] @ mean / max(length, 1e-12), -1.0, 1.0))
        return np.append(np.degrees(tilts), length)

    def _second(self, seen: Array) -> Array:
        """What second moments in the frame say, (..., d, d) to (..., v)."""
        d, own = seen.shape[-1], np.diagonal(seen, axis1=-2, axis2=-1)
        if not self._points:
            j, k = np.triu_indices(d, 1)
            return np.concatenate([own, seen[..., j, k]], axis=-1)
        j, k = (1 + side for side in np.triu_indices(d - 1, 1))
        oval = own[..., 1:-1] - own[..., -1:]
        return np.concatenate([own[..., :1], seen[..., 0, 1:], oval, seen[..., j, k]], axis=-1)

    def _pointing(self) -> list[View]:
        name, d = self._name, len(self._axes)
        across = [_shown(axis) for axis in self._axes[1:]] if d > 2 else [COUNTER_CLOCKWISE]
        views = [
            self._view(f"mean direction of {name}, towards {a}", "direction", _tilt(name, a), "degrees")
            for a in across
        ]
        views.append(self._view(f"concentration of {name}", "concentration", _concentration(name)))
        views.append(self._view(f"peakedness of {name}", "shape", value_of(f"peakedness of {name}")))
        views += [self._view(f"lean of {name} to {a}", "shape", _tail(name, a)) for a in across]
        views += [
            self._view(
                f"width of {name} along {a}",
                "shape",
                value_of(f"width of {name} along {a}, not {across[-1]},"),
            )
            for a in across[:-1]
        ]
        pairs = zip(*np.triu_indices(d - 1, 1), strict=True)
        views += [
            self._view(
                f"twist of {name} between {across[j]}, {across[k]}", "shape", value_of(f"twist of {name}")
            )
            for j, k in pairs
        ]
        return views

    def _axial(self) -> list[View]:
        name, axes = self._name, [_shown(axis) for axis in self._axes]
        views = [
            self._view(f"lean of {name} to {a}", "direction", _lean(name, a), "mean cosine") for a in axes
        ]
        views += [
            self._view(f"axis {a} of {name}", "axes", _along(name, a), "mean squared cosine") for a in axes
        ]
        pairs = zip(*np.triu_indices(len(axes), 1), strict=True)
        views += [
            self._view(
                f"turn of {name} from {axes[j]} to {axes[k]}",
                "axes",
                value_of(f"turn of {name} from {axes[j]} to {axes[k]}"),
            )
            for j, k in pairs
        ]
        return views

    def _view(self, name: str, kind: str, sentence: Sentence, unit: str = "") -> View:
        return View(name, kind, self._columns, sentence, unit or "mean product of cosines")


def _axes(mean: Array | None, second: Array) -> Array:
    """Orthonormal rows: the mean direction first if there is one, others by the second moments."""
    d = len(second)
    if mean is None:
        values, vectors = np.linalg.eigh(second)
        if np.ptp(values) < DISTINCT:
            return np.eye(d)
        return _signed(vectors.T[::-1])
    first = mean / np.linalg.norm(mean)
    # A basis of what is across, then turned to the second moments there.
    if d == 2:
        return np.array([first, [-first[1], first[0]]])
    across = np.linalg.svd(np.eye(d) - np.outer(first, first))[0][:, : d - 1].T
    values, turn = np.linalg.eigh(across @ second @ across.T)
    if np.ptp(values) < DISTINCT:
        # No axis is preferred: take those of the coordinates as far as they go.
        turn = np.linalg.qr(across @ np.eye(d)[:, np.argsort(np.abs(first))[: d - 1]])[0]
    return np.vstack([first, _signed((turn.T @ across)[::-1])])


def _signed(axes: Array) -> Array:
    """With the largest coordinate positive."""
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return np.asarray(axes * np.sign(largest))


def _shown(axis: Array) -> str:
    return f"({', '.join(figure(round(float(part), 1) + 0.0) for part in axis)})"


def _tilt(name: str, axis: str) -> Sentence:
    def sentence(told: Told) -> str:
        off = told.figure(told.effect - told.model)
        return f"mean direction of {name} is {off}° off the model's towards {axis} {told.interval}"

    return sentence


def _concentration(name: str) -> Sentence:
    def sentence(told: Told) -> str:
        head = f"{'more' if told.more else 'less'} concentrated: " if told.fails else ""
        return f"concentration of {name}: {head}mean resultant length {told.against}"

    return sentence


def _tail(name: str, axis: str) -> Sentence:
    """Most rows lean to one side of their mean direction where the others trail far off to the other."""

    def sentence(told: Told) -> str:
        which = "away from" if told.more else "towards"
        head = f"longer tail {which} {axis}" if told.fails else f"tail towards {axis}"
        return f"shape of {name}: {head}, mean product of cosines {told.against}"

    return sentence


def _lean(name: str, axis: str) -> Sentence:
    def sentence(told: Told) -> str:
        head = f"leans {'towards' if told.more else 'away from'} {axis}" if told.fails else f"along {axis}"
        return f"direction of {name} {head}: mean cosine {told.against}"

    return sentence


def _along(name: str, axis: str) -> Sentence:
    def sentence(told: Told) -> str:
        head = (
            f"too {'close to' if told.more else 'far from'} the axis {axis}" if told.fails else f"axis {axis}"
        )
        return f"{name}: {head}, mean squared cosine {told.against}"

    return sentence
