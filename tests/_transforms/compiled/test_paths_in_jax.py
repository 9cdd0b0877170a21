"""``fg.jit(f, paths=n)`` inside of JAX's transforms: known numbers are followed, others are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

ENGINES = ["numpy", "xla"]
X = np.array([0.5, -1.0, 2.0], np.float32)


def branching(x: Any) -> Any:
    return np.sin(x) if np.sum(x) > 0 else x * 2


@pytest.fixture(params=ENGINES)
def compiled(request: pytest.FixtureRequest) -> Any:
    f = fg.jit(branching, paths=8, engine=request.param)
    f(X)
    return f


REFUSED: dict[str, Callable[[Any], Any]] = {
    "jit": lambda f: jax.jit(f)(X),
    "jit of a gradient": lambda f: jax.jit(fg.grad(lambda x: np.sum(f(x))))(X),
    "vmap": lambda f: jax.vmap(f)(jnp.ones((2, 3))),
    "scan": lambda f: jax.lax.scan(lambda s, x: (f(s), x), X, jnp.arange(3.0)),
    "jaxpr": lambda f: jax.make_jaxpr(f)(X),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_branch_on_unknown_numbers_is_refused(name: str, compiled: Any) -> None:
    message = (
        r"np\.where \(or fg\.cond\).*The option paths= of branching follows a branch where the numbers .* are known"
    )
    with pytest.raises(errors.TracerBoolConversionError, match=message):
        REFUSED[name](compiled)


@pytest.mark.parametrize("engine", ENGINES)
def test_lengths_and_masks_of_unknown_numbers_are_refused(engine: str) -> None:
    head = lambda x, n: np.sum(x[: int(n)])
    with pytest.raises(errors.TracerIntegerConversionError, match="The option paths= of"):
        jax.jit(fg.jit(head, paths=8, engine=engine))(X, 2)
    with pytest.raises(errors.NonConcreteBooleanIndexError, match="The option paths= of"):
        jax.jit(fg.jit(lambda x: x[x > 0], paths=8, engine=engine))(X)
    # The length is known, and the array is not.
    assert float(jax.jit(lambda x: fg.jit(head, paths=8, engine=engine)(x, 2))(X)) == -0.5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_without_a_branch_is_a_part_of_jaxs(engine: str) -> None:
    f = fg.jit(lambda x: np.sin(x) * 2, paths=8, engine=engine)
    for g in (f, jax.jit(f), jax.vmap(f)):
        np.testing.assert_allclose(g(X), np.sin(X) * 2, 1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_higher_derivatives_closures_and_effects(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        fg.debug_print("seen")
        return np.sum(np.sin(x)) if np.sum(x) > 0 else np.sum(x * x)

    compiled = fg.jit(f, paths=4, engine=engine)
    x = jnp.asarray(X)
    np.testing.assert_allclose(jax.hessian(compiled)(x), np.diag(-np.sin(X)), 1e-6)
    np.testing.assert_allclose(jax.vjp(compiled, -x)[1](1.0)[0], -2 * X, 1e-6)
    np.testing.assert_allclose(jax.linearize(compiled, x)[1](x), np.sum(np.cos(X) * X), 1e-6)
    assert capsys.readouterr().out.split() == ["seen"] * 3
    closing = lambda y: fg.jit(lambda x: x * y * y if y > x else y, paths=4, engine=engine)(1.0)
    assert [float(jax.grad(closing)(y)) for y in (2.0, 0.5)] == [4.0, 1.0]


def test_numbers_that_are_known_are_followed(compiled: Any) -> None:
    inner = fg.grad(lambda x: np.sum(compiled(x)))
    for x in (X, -X, 2 * X):
        slope = np.cos(x) if np.sum(x) > 0 else np.full(3, 2.0)
        np.testing.assert_allclose(jax.jit(lambda y, x=x: y * compiled(x))(X), X * branching(x), 1e-6)
        np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(compiled(x)))(jnp.asarray(x)), slope, 1e-6)
        np.testing.assert_allclose(jax.jit(lambda y, x=x: y * inner(x))(X), X * slope, 1e-6)
        np.testing.assert_allclose(compiled(x), branching(x), 1e-6)
