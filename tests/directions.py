"""Points on spheres for the tests of directions."""

from __future__ import annotations

import numpy as np

import goodstein as gs


def from_angles(theta, xp=np):
    """x = (cos θ₁, sin θ₁ cos θ₂, …), the last two with cosine and sine of the last angle."""
    parts, product = [], 1.0
    for i in range(theta.shape[-1]):
        parts.append(product * xp.cos(theta[..., i]))
        product = product * xp.sin(theta[..., i])
    return xp.stack([*parts, product], axis=-1)


def angles(n, m, seed=1):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(0.3, np.pi - 0.3, size=(n, m))
    theta[:, -1] = rng.uniform(-np.pi, np.pi, size=n)
    return theta


def against(model, operator, kernel, y, x):
    """h(y, x) for a few y and very many x, (len(y), len(x)), without the square."""
    features = operator.features(gs.as_model(model), model.domain, np.vstack([y, x]))
    k = len(y)
    return np.array(features.form(kernel).block(slice(0, k), slice(k, k + len(x))))


def polar_metric(u):
    return np.diag([1.0, np.sin(u[0]) ** 2])


def polar_embedding(u):
    return from_angles(u)


def polar_jacobian(u):
    (a, b), s, c = u, np.sin, np.cos
    return [[-s(a), 0], [c(a) * c(b), -s(a) * s(b)], [c(a) * s(b), s(a) * c(b)]]
