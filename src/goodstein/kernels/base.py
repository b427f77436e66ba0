"""What a kernel is, what all kernels can do without saying so, and sums of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from goodstein.constraints import answered, asked, number
from goodstein.errors import InputError, must, shown
from goodstein.kernels.bandwidth import Median
from goodstein.kernels.frames import Located
from goodstein.kernels.tile import Parts, Tile
from goodstein.numerics.distances import squared_distances
from goodstein.types import Array, Single


class Kernel:
    """A positive semidefinite function of two observations.

    A kernel of points that is a function of their distance has :meth:`profiles`, from which all else
    follows; it derives from :class:`RadialKernel`, or names itself :attr:`radial`. Any other kernel has
    :meth:`__call__`. The rest has defaults.
    """

    @property
    def radial(self) -> bool:
        """Whether k(x, y) = φ(‖x − y‖²), with φ and its derivatives in :meth:`profiles`."""
        return False

    @property
    def analytic(self) -> bool | None:
        """Whether it is real analytic, which tests at finitely many locations need; None: not declared."""
        return None

    @property
    def terms(self) -> tuple[Kernel, ...]:
        """The kernels of which it is the sum: itself."""
        return (self,)

    @property
    def given(self) -> Any:
        """What the user handed in."""
        return self

    def coordinates(self, points: Array) -> Array:
        """Points (n, m) where the kernel looks at them: as they are."""
        return points

    @property
    def plain(self) -> Kernel:
        """The kernel in its own coordinates: itself."""
        return self

    @property
    def bandwidths(self) -> float | list[Any] | None:
        """The bandwidth, as reports show it: a list for a sum, None where there is none, or none yet."""
        return None

    @property
    def shortest_length(self) -> float:
        """The shortest bandwidth; a kernel that names none is taken to have unit length."""
        return min(float(term.bandwidths or 1.0) for term in self.terms)  # type: ignore[arg-type]

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """φ(ρ), φ′(ρ), …, up to the derivative of the given order, each in an array of its own."""
        raise InputError(
            f"{self!r} is no function of a distance with derivatives, which are needed here. Use IMQ() or "
            "Gaussian()."
        )

    def __call__(self, x: Any, y: Any) -> Array:
        """k(x_i, y_j) for the rows of x (n, m) and y (k, m), an (n, k) array."""
        return self.profiles(squared_distances(np.asarray(x, float), np.asarray(y, float)), order=0)[0]

    def fitted(self, points: Any) -> Kernel:
        """The same kernel with everything that it takes from the data fixed."""
        return self

    def fitted_to(self, features: Any) -> Kernel:
        """The same with everything fixed that it takes from features, which know more than their points."""
        return self.fitted(features.points)

    def in_metric_of(self, features: Any) -> Kernel:
        """The same with the metric of these features, where it takes one; its bandwidth stays open."""
        return self

    def scaled(self, factor: float) -> Kernel:
        """The same kernel with those bandwidths that are numbers multiplied by a factor."""
        return self

    def at_scales(self, scales: Sequence[float], rates: Sequence[float]) -> list[Kernel]:
        """The kernel at multiples of the bandwidth that it takes from the data, or at several rates.

        Itself alone if it has neither, or if its bandwidth was given as a number.
        """
        return [self]

    def stein_tile(self, tile: Tile) -> Array:
        """One tile of the Stein matrix, φ∘P + φ′∘Q + φ″∘R; kernels override it only to be faster."""
        rho = tile.rho()
        # Rounding may leave a squared distance a hair below zero, where a profile need not be defined.
        phi, slope, curvature = self.profiles(np.maximum(rho, 0.0, out=rho))
        out = tile.combine(1.0, 0.0, 0.0) * phi
        out += tile.combine(0.0, 1.0, 0.0) * slope
        out += tile.combine(0.0, 0.0, 1.0) * curvature
        return out

    def functions(self, rho: Array, order: int = 2) -> list[tuple[Any, Sequence[float]]]:
        """Functions f(ρ) of which φ, φ′, … are sums, and the multiples of each that they take.

        For sums over many pairs, in which rounding errors of f average out but those of constants do not: f
        may be in single precision, and its multiples are not.
        """
        profiles = self.profiles(np.maximum(rho, 0.0), order)
        return list(zip(profiles, np.eye(order + 1).tolist(), strict=True))

    @property
    def shares_parts(self) -> bool:
        """Whether :meth:`stein_parts` may be used."""
        return False

    @property
    def parts_kind(self) -> Any:
        """Kernels of which this is the same are made together."""
        return type(self)

    def stein_parts(self, kernels: Sequence[Any], parts: Parts, out: Single) -> None:
        """Tiles of kernels of this kind, (kernels, entries), from parts that they share.

        Each is divided by its :meth:`parts_scale`.
        """
        raise NotImplementedError

    def parts_scale(self, unit: float) -> float:
        """A factor that is the same for all pairs."""
        return 1.0

    def __add__(self, other: Any) -> Sum:
        return Sum((self, other))


@dataclass(frozen=True)
class RadialKernel(Kernel, ABC):
    """A kernel k(x, y) = φ(‖x − y‖²) with a length scale.

    A kernel of your own is a frozen dataclass that inherits from this one and implements
    :meth:`profiles`, the function φ of ρ = ‖x − y‖² and its derivatives with respect to ρ. If φ is real
    analytic, say so: ``analytic = True``.

    Parameters
    ----------
    bandwidth
        A positive number; a rule that takes it from the data, such as ``Median(scale=0.5)``;
        or None, which means ``Median()``.
    """

    bandwidth: float | Median | None = None
    radial = True  # no annotation: not a field

    def __post_init__(self) -> None:
        if self.bandwidth is None or (callable(self.bandwidth) and not isinstance(self.bandwidth, type)):
            return
        wanted = "a positive number, a rule such as Median(), or None"
        width = number(self.bandwidth, "bandwidth", above=0.0, of=type(self).__name__, wanted=wanted)
        object.__setattr__(self, "bandwidth", width)

    @abstractmethod
    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """φ(ρ), φ′(ρ), …, up to the derivative of the given order, each in an array of its own."""

    def fitted(self, points: Array) -> Self:
        if isinstance(self.bandwidth, float):
            return self
        found = asked(self._rule, f"The rule {self._rule!r} of {type(self).__name__}", points)
        return replace(self, bandwidth=number(found, "bandwidth", above=0.0, of=repr(self)))

    def fitted_to(self, features: Any) -> Self:
        """The median distance, of which several kernels take multiples, is found only once."""
        multiple = self.median_multiple
        if multiple is None or not isinstance(features, Located):
            return self.fitted(features.points)
        return replace(self, bandwidth=multiple * features.median_distance)

    @property
    def _rule(self) -> Any:
        return Median() if self.bandwidth is None else self.bandwidth

    @property
    def length(self) -> float:
        """The bandwidth as a number; an error before :meth:`fitted`."""
        if not isinstance(self.bandwidth, float):
            raise InputError(f"{self!r} has no bandwidth yet: call .fitted(points) first.")
        return self.bandwidth

    @property
    def bandwidths(self) -> float | None:
        return self.bandwidth if isinstance(self.bandwidth, float) else None

    @property
    def median_multiple(self) -> float | None:
        """The factor on the median distance that becomes the bandwidth; None if it is found otherwise."""
        usual = type(self).fitted is RadialKernel.fitted and type(self._rule) is Median
        return self._rule.scale if usual else None

    def scaled(self, factor: float) -> Self:
        return replace(self, bandwidth=factor * self.bandwidth) if isinstance(self.bandwidth, float) else self

    def at_scales(self, scales: Sequence[float], rates: Sequence[float]) -> list[Kernel]:
        """The kernel at multiples of its bandwidth; itself alone if that is a number or has another rule."""
        if not isinstance(self._rule, Median):
            return [self]
        return [replace(self, bandwidth=Median(self._rule.scale * scale)) for scale in scales]


@dataclass(frozen=True)
class Sum(Kernel):
    """k₁ + k₂ + …, each with its own bandwidth; written ``Gaussian() + IMQ()``.

    Examples
    --------
    >>> from goodstein.kernels import IMQ, Gaussian
    >>> Gaussian(bandwidth=1.0) + IMQ(bandwidth=2.0)
    Gaussian(bandwidth=1.0) + IMQ(bandwidth=2.0, exponent=-0.5)
    """

    kernels: tuple[Kernel, ...]
    radial = True

    def __post_init__(self) -> None:
        if not isinstance(self.kernels, list | tuple):
            raise must("kernels", "a tuple of kernels such as (IMQ(), Gaussian())", self.kernels, "Sum")
        given = [as_kernel(kernel, "kernels") for kernel in self.kernels]
        flat = tuple(term for kernel in given for term in kernel.terms)
        if not flat:
            raise InputError("A sum of kernels needs at least one kernel.")
        for kernel in given:
            if not kernel.radial:
                raise InputError(
                    f"{kernel!r} cannot be a term of a sum of kernels. "
                    "Sum plain radial kernels, and whiten the sum: Whitened(Gaussian() + IMQ())."
                )
        object.__setattr__(self, "kernels", flat)

    @property
    def terms(self) -> tuple[Kernel, ...]:
        return self.kernels

    @property
    def analytic(self) -> bool:
        return all(kernel.analytic for kernel in self.kernels)

    @property
    def bandwidths(self) -> list[Any]:
        return [kernel.bandwidths for kernel in self.kernels]

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        terms = [kernel.profiles(rho, order) for kernel in self.kernels]
        return [np.sum(parts, axis=0) for parts in zip(*terms, strict=True)]

    def fitted(self, points: Array) -> Sum:
        return Sum(tuple(kernel.fitted(points) for kernel in self.kernels))

    def fitted_to(self, features: Any) -> Sum:
        return Sum(tuple(kernel.fitted_to(features) for kernel in self.kernels))

    def in_metric_of(self, features: Any) -> Sum:
        return Sum(tuple(kernel.in_metric_of(features) for kernel in self.kernels))

    def scaled(self, factor: float) -> Sum:
        return Sum(tuple(kernel.scaled(factor) for kernel in self.kernels))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.kernels))


@dataclass(frozen=True)
class Wrapped(Kernel):
    """A plain object of a user's with some of a kernel's methods, or a function k(x, y), as a kernel."""

    thing: Any

    @property
    def radial(self) -> bool:
        return callable(getattr(self.thing, "profiles", None))

    @property
    def analytic(self) -> bool | None:
        declared: bool | None = getattr(self.thing, "analytic", None)
        return declared

    @property
    def bandwidths(self) -> float | None:
        width = getattr(self.thing, "bandwidth", None)
        return float(width) if isinstance(width, int | float) else None

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        if not self.radial:
            return super().profiles(rho, order)
        what = f"`profiles` of {self!r}"
        given = asked(partial(self.thing.profiles, order=order), what, rho)
        # Whoever needs more than two derivatives says so.
        if not isinstance(given, list | tuple) or len(given) < min(order, 2) + 1:
            wanted = f"a list of {order + 1} arrays, φ and its derivatives"
            raise InputError(f"{what} must return {wanted}, got {shown(given)}.")
        found = [answered(values, what, rho.shape) for values in given]
        if not all(np.isfinite(values).all() for values in found):
            raise InputError(f"{what} returned values that are not finite.")
        return found

    def __call__(self, x: Any, y: Any) -> Array:
        if not callable(self.thing):
            return super().__call__(x, y)
        return answered(asked(self.thing, repr(self), x, y), repr(self))

    def fitted(self, points: Any) -> Self:
        fit = getattr(self.thing, "fitted", None)
        if fit is None:
            return self
        given = asked(fit, f"`fitted` of {self!r}", points)
        if isinstance(given, type) or not _is_kernel(given):
            raise InputError(f"`fitted` of {self!r} must return a kernel, got {shown(given)}.")
        return type(self)(given)

    @property
    def given(self) -> Any:
        """The user's object."""
        return self.thing

    def __repr__(self) -> str:
        return repr(self.thing)


def as_kernel(thing: Any, name: str = "kernel") -> Kernel:
    """What was passed as the argument `name`, a plain object wrapped; raises where it is no kernel.

    A plain object needs ``fitted(points)``, and either ``profiles(rho, order)`` or ``__call__(x, y)``.
    """
    if isinstance(thing, Kernel):
        return thing
    if isinstance(thing, type) or not callable(getattr(thing, "fitted", None)):
        expected = "kernels" if name.endswith("s") else "a kernel"
        raise InputError(
            f"`{name}` must be {expected} such as IMQ() or Gaussian(bandwidth=1.0), got {shown(thing)}."
        )
    # A kernel on graphs, `form`, need not be called either.
    if not _is_kernel(thing):
        raise InputError(
            f"`{name}`: {thing!r} can neither be called, k(x, y), nor has it a method `profiles`. Use "
            "Gaussian(), IMQ() or another kernel of goodstein.kernels."
        )
    return Wrapped(thing)


def _is_kernel(thing: Any) -> bool:
    """Whether it can be called, or has one of the methods that stand for that."""
    return any(
        callable(one) for one in (thing, *(getattr(thing, name, None) for name in ("profiles", "form")))
    )
