"""What the paper states and the library takes for granted, checked with nothing of the library.

Where the printed statement is wrong, the check shows that it fails; numbers as in docs/theory.md. How the
library agrees with the corrected statements is in tests/test_unification.py.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, quad
from scipy.stats import norm

from definitions import double_precision
from test_unification import (
    SM_MEAN,
    SM_VARIANCE,
    TIMES,
    censoring,
    derivative,
    hazard,
    log_density,
    log_normal,
    log_survival,
    omega,
    standardised,
)


def test_the_survival_function_of_the_censoring_time_recovers_the_censored_operator():
    """Theorem 1: E_μ[T_{μ,S_C} ω] = E₀[T₀ω] = 0; observed events have the density μ S_C."""

    def log_censoring(x):
        return -0.5 * x

    sf = standardised(log_density, lambda x: jnp.exp(log_censoring(x)) * omega(x))

    # δ (ω S_C μ)′/(S_C μ), at δ = 1.
    dedicated = standardised(lambda y: log_density(y) + log_censoring(y), omega)
    for x in TIMES:
        assert sf(x) == pytest.approx(censoring(x) * dedicated(x))

    def mean(function, weight):
        return quad(lambda x: function(x) * weight(x), 0, 12, limit=200)[0]

    density = np.vectorize(lambda x: float(hazard(x) * np.exp(log_survival(x))))
    assert mean(sf, density) == pytest.approx(0, abs=1e-7)
    assert mean(dedicated, lambda x: density(x) * censoring(x)) == pytest.approx(0, abs=1e-7)


def test_the_posterior_mean_of_the_conditional_score_is_the_score():
    """x | z ~ N(z, 1), z ~ N(0, 1), so that x ~ N(0, 2) and z | x ~ N(x/2, ½)."""
    for x in (-1.0, 0.3, 2.0):
        mean = quad(lambda z, x=x: (z - x) * norm.pdf(z, x / 2, np.sqrt(0.5)), -12, 12)[0]
        assert mean == pytest.approx(-x / 2)


def test_a_fixed_latent_draw_breaks_the_identity():
    """E_q[T_{q(x|z)} f] is zero on average over z ~ π and x | z, not for the z that was drawn."""

    def mean(z):
        f = lambda x: np.exp(-0.5 * x**2)  # noqa: E731
        return quad(lambda x: ((z - x) * f(x) - x * f(x)) * norm.pdf(x, 0, np.sqrt(2)), -15, 15)[0]

    assert mean(1.0) == pytest.approx(0.577, abs=1e-3)


def test_the_logarithmic_derivative_gives_the_second_order_operator():
    """g = (log f)′ where f > 0; as g depends on f, this is an identity, not an auxiliary function."""

    def f(x):
        return jnp.exp(-0.5 * (x - 0.4) ** 2)

    def second_order(x):
        with double_precision():
            first, second = jax.grad(f), jax.grad(jax.grad(f))
            return float(second(x) - x * first(x))

    for x in (-1.3, 0.2, 2.0):
        product = standardised(log_normal, lambda y: jax.grad(lambda t: jnp.log(f(t)))(y) * f(y))
        assert product(x) == pytest.approx(second_order(x))
    with double_precision():
        assert np.isnan(jnp.log(jnp.sin(-1.0)))  # a test function that changes sign has no such g


def test_coordinates_need_the_volume_element_not_its_logarithm():
    """On S², uniform q, θ the polar angle, f = cos θ: J = sin θ works, log J does not."""

    def mean(product, weight):
        slope = derivative(product)
        return quad(lambda t: slope(t) * weight(t), 1e-9, np.pi - 1e-9)[0] / 2

    corrected = mean(lambda t: jnp.sin(t) * jnp.cos(t), lambda t: 1.0)
    printed = mean(lambda t: jnp.log(jnp.sin(t)) * jnp.cos(t), np.sin)
    assert corrected == pytest.approx(0, abs=1e-8)
    assert printed == pytest.approx(np.pi / 8 + np.pi / 4 * np.log(2), rel=1e-4)


def test_the_drift_of_the_diffusion_has_a_plus_sign():
    """dX = b dt + √2 σ dB has the stationary law π for b = σ²(log π)′ + 2σσ′: E_π[b f′ + σ² f″] = 0."""
    sigma, slope = (lambda x: 1 + 0.5 * np.sin(x)), (lambda x: 0.5 * np.cos(x))

    def mean(sign):
        def integrand(x):
            b = sign * sigma(x) ** 2 * -x + 2 * sigma(x) * slope(x)
            f1, f2 = np.cos(x), -np.sin(x)
            return (b * f1 + sigma(x) ** 2 * f2) * norm.pdf(x)

        return quad(integrand, -12, 12)[0]

    assert mean(+1) == pytest.approx(0, abs=1e-9)
    assert abs(mean(-1)) > 0.1


def test_the_standardised_operator_is_the_generator_of_that_diffusion():
    """T_q(g u′) with g = σ² is b u′ + σ² u″."""

    def u(x):
        return jnp.sin(1.3 * x)

    def square(x):
        return (1 + 0.5 * jnp.sin(x)) ** 2

    for x in (-0.8, 0.5, 1.9):
        b = float(square(x)) * -x + derivative(square)(x)
        with double_precision():
            second = float(jax.grad(jax.grad(u))(x))
        expected = b * derivative(u)(x) + float(square(x)) * second
        assert standardised(log_normal, lambda y: square(y) * jax.grad(u)(y))(x) == pytest.approx(
            expected, rel=1e-6
        )


def test_the_optimality_condition_is_no_stationarity():
    """p = N(0, 1.6), q = N(0, 1), g = 1: E_p[g s_q] = 0, yet E_p[T_q f] is not zero for f = x."""
    p = norm(0, np.sqrt(1.6))
    assert p.expect(lambda x: -x) == pytest.approx(0, abs=1e-12)
    first_variation = p.expect(lambda x: -x * x + 1.0)
    assert first_variation == pytest.approx(-0.6)
    # It is E_p[g (s_q − s_p) f], which vanishes for all f only where the scores agree.
    assert first_variation == pytest.approx(p.expect(lambda x: (-x + x / 1.6) * x))


def test_a_bounded_auxiliary_function_is_not_enough():
    """Exp(1), g = 1: E[T f] = −f(0) q(0)."""
    f = lambda x: np.exp(-((x - 0.3) ** 2))  # noqa: E731
    slope = lambda x: -2 * (x - 0.3) * f(x)  # noqa: E731
    mean = quad(lambda x: (-f(x) + slope(x)) * np.exp(-x), 0, 50)[0]
    assert mean == pytest.approx(-f(0.0))


def test_the_printed_objective_of_score_matching_is_another_number():
    """J = E_p[s² + 2s′] + E_p s_p², not E_p[(log q)′ + ½(log q)″]."""
    p = norm(SM_MEAN, np.sqrt(SM_VARIANCE))
    exact = p.expect(lambda x: (-(x - SM_MEAN) / SM_VARIANCE + x) ** 2)
    fisher = p.expect(lambda x: ((x - SM_MEAN) / SM_VARIANCE) ** 2)
    assert p.expect(lambda x: x**2 - 2.0) + fisher == pytest.approx(exact)
    assert abs(p.expect(lambda x: -x - 0.5) - exact) > 0.5


def test_the_mean_of_all_subsets_is_the_full_score():
    """The stochastic operator is unbiased over subsets: the printed form is right."""
    rng = np.random.default_rng(2)
    observations, theta, size = rng.normal(1, 1, 5), 0.4, 2
    full = -theta + np.sum(observations - theta)
    means = [
        -theta + 5 / size * sum(observations[list(subset)] - theta)
        for subset in itertools.combinations(range(5), size)
    ]
    assert np.mean(means) == pytest.approx(full)


def test_only_tangential_derivatives_integrate_to_zero_on_the_simplex():
    """Dir(2, 1.5, 3), g = ∏x, f = k(·, c): ambient differentiation is biased, the projection is not (E2)."""
    alpha, centre = np.array([2.0, 1.5, 3.0]), np.array([0.2, 0.5, 0.3])

    def flux(x, extension):
        log_q = jnp.sum((alpha - 1) * jnp.log(x)) + extension * (1 - jnp.sum(x))
        k = jnp.exp(-0.5 * jnp.sum((x - centre) ** 2) / 0.4**2)
        return jnp.exp(log_q) * jnp.prod(x) * k

    def mean(extension):
        gradient = jax.jit(jax.grad(flux))

        def component(i):
            def integrand(b, a):
                return float(gradient(jnp.array([a, b, 1 - a - b]), extension)[i])

            return dblquad(integrand, 0, 1, 0, lambda a: 1 - a, epsabs=1e-5, epsrel=1e-4)[0]

        return np.array([component(i) for i in range(3)])

    with double_precision():
        normaliser = dblquad(
            lambda b, a: a ** (alpha[0] - 1) * b ** (alpha[1] - 1) * (1 - a - b) ** (alpha[2] - 1),
            0, 1, 0, lambda a: 1 - a,
        )[0]  # fmt: skip
        plain, other = mean(0.0) / normaliser, mean(1.0) / normaliser
    assert_allclose(plain, 0.117, atol=6e-4)
    assert_allclose(other, 0.103, atol=6e-4)
    assert_allclose(plain - plain.mean(), 0, atol=1e-4)  # P = I − 11ᵀ/3
