"""float16 and bfloat16 stay what they are beside Python numbers: eagerly, staged and compiled, on either engine.

NumPy knows that of float16. Of ml_dtypes' bfloat16 it does not, and makes float32 of a bare ``x * 2.0``; wherever our
functions compute, the rule is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.numpy._base.dispatch import ufuncs

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [BFLOAT16, np.dtype(np.float16)]
# Functions that compute in double precision in any case, or have no derivative.
OTHERS = {"float_power", "nextafter", "ldexp"}
OF_TWO = [u for u in ufuncs if u.nin == 2 and u.nout == 1 and u.signature is None]
# Functions of floats.
BINARY = sorted({u.__name__ for u in OF_TWO if any(kind.startswith("dd") for kind in u.types)} - OTHERS)
VALUES = [0.5, 1.5, 0.75]
Function = Callable[[Any], Any]

# How a function is run, of one result or of several; each gives its value.
ROUTES: dict[str, Callable[[Function, Any], Any]] = {
    "reverse": lambda f, x: fg.vjp(f, x)[0],
    "forward": lambda f, x: fg.jvp(f, (x,), (x,))[0],
    "vmap": lambda f, x: fg.vmap(f)(x),
    "graph": lambda f, x: fg.make_graph(f)(x)(x),
    "jit on NumPy": lambda f, x: fg.jit(f, engine="numpy")(x),
    "jit": lambda f, x: fg.jit(f)(x),
    "reverse on XLA": lambda f, x: fg.vjp(f, jnp.asarray(x))[0],
    "jit of vmap": lambda f, x: fg.jit(fg.vmap(f))(x),
}


def check(functions: Sequence[Function], x: np.ndarray, dtype: np.dtype) -> None:
    """The dtypes by every route, and the values, rounded once for each operation; all of them in one program."""
    with np.errstate(all="ignore"):
        wanted = [np.float64(f(x.astype(np.float64))) for f in functions]
        for name, route in ROUTES.items():
            for i, got in enumerate(route(lambda z: [f(z) for f in functions], x)):
                assert got.dtype == dtype, (name, i)
                tolerance = 4 * float(ml_dtypes.finfo(x.dtype).eps)
                np.testing.assert_allclose(
                    np.float64(got), wanted[i], rtol=tolerance, atol=tolerance, err_msg=f"{name}, {i}"
                )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_beside_python_numbers(name: str, dtype: np.dtype) -> None:
    function, ufunc = getattr(np, name), getattr(fnp, name)
    x = np.array(VALUES, dtype)
    is_predicate = np.dtype(bool) == function(np.ones(1), np.ones(1)).dtype
    numbers = 2, 1.25
    functions = [lambda z, c=c: function(z, c) for c in numbers] + [lambda z, c=c: function(c, z) for c in numbers]
    check(functions, x, np.dtype(bool) if is_predicate else dtype)
    for number in numbers:
        # The function itself, on bare arrays of either engine.
        assert ufunc(x, number).dtype == ufunc(jnp.asarray(x), number).dtype == (bool if is_predicate else dtype)


OPERATORS: dict[str, Function] = {
    "add": lambda x: x + 0.25,
    "subtract": lambda x: 1.25 - x,
    "multiply": lambda x: x * 2.0,
    "divide": lambda x: x / 3.0,
    "reciprocal": lambda x: 1.0 / x,
    "floor divide": lambda x: x // 0.5,
    "modulo": lambda x: x % 0.375,
    "square": lambda x: x**2,
    "power": lambda x: x**1.5,
    "Python base": lambda x: 2.0**x,
    "NumPy's ints": lambda x: x * np.int8(2),
    "where": lambda x: np.where(x < 1.25, x, 0.25),
    "clip": lambda x: np.clip(x, 0.625, 1.0),
    "clip on one side": lambda x: np.clip(x, 0.625, None),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=0.5),
    "mean": lambda x: np.mean(x, keepdims=True) * 0.5 + x,
}


@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_and_their_derivatives(name: str, dtype: np.dtype) -> None:
    x = np.array(VALUES, dtype)
    f = OPERATORS[name]
    if name != "mean":
        check([f], x, dtype)

    def loss(z: Any) -> Any:
        return np.sum(f(z) * f(z))

    slope = fg.grad(loss)(x.astype(np.float64))
    tolerance = 16 * float(ml_dtypes.finfo(dtype).eps)
    gradients = [
        fg.grad(loss)(x),
        fg.jit(fg.grad(loss))(x),
        fg.jit(fg.grad(loss), engine="numpy")(x),
        fg.grad(fg.jit(loss))(x),
        fg.grad(loss)(jnp.asarray(x)),
        fg.vmap(fg.grad(loss))(np.stack([x, x]))[1],
        fg.jacfwd(loss)(x),
    ]
    for got in gradients:
        assert got.dtype == dtype
        np.testing.assert_allclose(np.float64(got), slope, rtol=tolerance, atol=tolerance)
    tangent = fg.jvp(loss, (x,), (np.ones_like(x),))[1]
    assert tangent.dtype == dtype
    np.testing.assert_allclose(float(tangent), np.sum(slope), rtol=tolerance, atol=tolerance)
    assert fg.hvp(loss, (x,), (np.ones_like(x),)).dtype == dtype


@pytest.mark.parametrize("route", ROUTES)
def test_wider_arrays_widen(route: str) -> None:
    """Strong operands are promoted as NumPy promotes them; only Python's numbers give way."""
    x = np.array(VALUES, BFLOAT16)
    run = ROUTES[route]
    assert run(lambda z: z * np.float32(2.0), x).dtype == np.float32
    assert run(lambda z: z * np.float64(2.0), x).dtype == np.float64
    assert run(lambda z: (z + 1.5) * np.full((), 1.5, np.float32) * 2.0, x).dtype == np.float32
    assert run(lambda z: z + 2j, x).dtype == np.complex64


def test_a_number_that_is_no_operand() -> None:
    """``ldexp`` takes an exponent, which no float dtype holds."""
    x = np.array(VALUES, BFLOAT16)
    y, pull = fg.vjp(lambda z: np.ldexp(z, 2), x)
    np.testing.assert_array_equal(np.float64(y), 4 * np.array(VALUES))
    assert pull(np.ones_like(y))[0].dtype == BFLOAT16
