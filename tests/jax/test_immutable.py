"""Functions of JAX inside functions that our transforms call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax as theirs
import numpy as np
import pytest

import funcgrad.jax as ours
from funcgrad import errors

jnp = ours.numpy
X = np.array([0.3, -0.4, 1.2])


def loss(x: Any) -> Any:
    """Functions of ours and of JAX: one asks traced values for their array, one does not, and one closes over them."""
    scaled = ours.vmap(lambda y: theirs.lax.exp(y) * theirs.numpy.sum(x))(jnp.arange(3.0))
    return jnp.sum(theirs.nn.softplus(x) * jnp.sin(x)) + jnp.mean(scaled)


def expected(transform: Callable[..., Any]) -> Any:
    with theirs.enable_x64(True):
        return np.asarray(transform(loss)(theirs.numpy.asarray(X)))


@pytest.mark.parametrize("name", ["grad", "hessian", "jacfwd", "jit"])
def test_a_function_of_jaxs_meets_a_traced_value(name: str) -> None:
    y = getattr(ours, name)(loss)(X)
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, expected(getattr(theirs, name)), rtol=1e-12)


def test_in_a_compiled_step_and_in_a_scan() -> None:
    def run(jax: Any) -> Any:
        def body(x: Any, _: Any) -> Any:
            x = x - 0.1 * jax.grad(lambda x: theirs.numpy.sum(theirs.nn.gelu(x) ** 2))(x)
            return x, x

        return jax.jit(lambda x: jax.lax.scan(body, x, None, length=3)[1])(jax.numpy.asarray(X))

    with theirs.enable_x64(True):
        wanted = np.asarray(run(theirs))
    np.testing.assert_allclose(run(ours), wanted, rtol=1e-12)


def test_the_error_of_a_mistake_is_the_first_one() -> None:
    calls = []

    def mistaken(x: Any) -> Any:
        calls.append(x)
        raise TypeError(f"call {len(calls)}")

    with pytest.raises(TypeError, match="call 1"):
        ours.grad(mistaken)(X)
    with pytest.raises(errors.ConcretizationTypeError, match=r"bool\(\) was asked of a value"):
        ours.jit(lambda x: x if x[0] > 0 else -x)(X)
    # Plain values cause no second call.
    calls.clear()
    with ours.disable_jit(), pytest.raises(TypeError, match="call 1"):
        ours.jit(mistaken)(X)
    assert len(calls) == 1


def test_new_arrays_of_a_traced_function_are_numpys() -> None:
    def f(x: Any) -> Any:
        assert isinstance(jnp.zeros(3), np.ndarray)
        return jnp.sum(theirs.numpy.zeros(3) + jnp.linspace(0.0, 1.0, 3) * x)

    np.testing.assert_allclose(ours.grad(f)(X), [0.0, 0.5, 1.0])


def test_effects_of_a_compiled_program_happen_once(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        ours.debug.print("x is {}", x[0])
        return theirs.nn.softplus(x)

    g = ours.jit(f)
    for _ in range(2):
        g(X)
    ours.block_until_ready(g(X))
    theirs.effects_barrier()
    assert capfd.readouterr().out.count("x is 0.3") == 3


def test_eager_calls_read_what_the_function_closes_over() -> None:
    scale = np.ones(3)
    gradient = ours.grad(lambda x: jnp.sum(theirs.nn.softplus(x) * scale))
    first = gradient(X)
    scale[:] = 2.0
    np.testing.assert_allclose(gradient(X), 2 * first)
