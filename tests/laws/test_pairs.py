"""Every transform, and every pair of transforms nested, on programs that are not trivial, against JAX in 64 bits.

A transform is written as a map from scalar functions of a tree to such functions, so that any two compose; what it
makes of a program is compared as one number, along directions that differ from level to level.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import funcgrad as fg
from tests.laws._programs import PROGRAMS

pytestmark = pytest.mark.long

Function = Callable[[Any], Any]

RNG = np.random.default_rng(21)


class Ours(NamedTuple):
    """The names under which programs and transforms find what JAX spreads over ``jax`` and ``jax.lax``."""

    np: Any = np
    tree: Any = fg.tree
    grad: Any = fg.grad
    jvp: Any = fg.jvp
    vmap: Any = fg.vmap
    linearize: Any = fg.linearize
    checkpoint: Any = fg.checkpoint
    jit: Any = fg.jit
    scan: Any = fg.scan
    fori_loop: Any = fg.fori_loop
    cond: Any = fg.cond


THEIRS = Ours(
    jax.numpy,
    jax.tree,
    jax.grad,
    jax.jvp,
    jax.vmap,
    jax.linearize,
    jax.checkpoint,
    jax.jit,
    jax.lax.scan,
    jax.lax.fori_loop,
    jax.lax.cond,
)


def rnn_by_scan(np: Any, lib: Any, params: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, total = carry
        h = np.tanh(params["w"] @ h + np.exp(params["u"]) * x)
        return (h, total + np.sum(h * x)), h**2

    (h, total), squares = lib.scan(step, (params["u"], 0.0), params["xs"])
    return np.sum(squares) * total + np.sum(h)


def ode_by_fori_loop(np: Any, lib: Any, params: Any) -> Any:
    def slope(t: Any, y: Any) -> Any:
        return np.sin(params["w"] @ y + t * params["u"])

    def heun(i: Any, y: Any) -> Any:
        k = slope(0.1 * i, y)
        return y + 0.05 * (k + slope(0.1 * (i + 1), y + 0.1 * k))

    return np.sum(lib.fori_loop(0, 5, heun, params["u"]) ** 2)


def branching_scan(np: Any, lib: Any, params: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = lib.cond(np.sum(x) > 0, lambda c: np.sin(c) * params["u"], lambda c: np.exp(-(c**2)) + x, c)
        return c, np.sum(c * x)

    return np.sum(lib.scan(step, params["u"], params["xs"])[1] ** 2)


LOOPED = {"w": RNG.normal(size=(3, 3)), "u": RNG.normal(size=3), "xs": RNG.normal(size=(4, 3))}


def straight(name: str) -> tuple[Callable[[Any, Any, Any], Any], Any]:
    program = PROGRAMS[name]
    return lambda np, lib, point: program.loss(np, point), program.point


TABLE: dict[str, tuple[Callable[[Any, Any, Any], Any], Any]] = {
    "rnn-by-scan": (rnn_by_scan, LOOPED),
    "ode-by-fori-loop": (ode_by_fori_loop, LOOPED),
    "branching-scan": (branching_scan, LOOPED),
    **{name: straight(name) for name in ("nested-trees", "logsumexp", "attention", "kernel", "gaussian-process")},
}


def directions(level: int, point: Any) -> Any:
    """Some direction, the same for all who ask."""
    return fg.tree.map(lambda x: np.cos(level + 1.7 * np.arange(1.0, np.size(x) + 1).reshape(np.shape(x))), point)


def inner(lib: Ours, a: Any, b: Any) -> Any:
    pairs = zip(lib.tree.leaves(a), lib.tree.leaves(b), strict=True)
    return sum(lib.np.sum(lib.np.multiply(x, y)) for x, y in pairs)


def by_gradient(lib: Ours, f: Function, dot: Any) -> Function:
    return lambda x: inner(lib, lib.grad(f)(x), dot)


def by_tangent(lib: Ours, f: Function, dot: Any) -> Function:
    return lambda x: lib.jvp(f, (x,), (dot,))[1]


def by_linear_function(lib: Ours, f: Function, dot: Any) -> Function:
    return lambda x: lib.linearize(f, x)[1](dot)


def by_batch(lib: Ours, f: Function, dot: Any) -> Function:
    """Three points along the direction, mapped; the point itself is the same for all three."""
    steps, weights = np.array([0.0, 0.1, -0.2]), np.array([1.0, 0.5, -2.0])

    def mean(x: Any) -> Any:
        values = lib.vmap(lambda t: f(lib.tree.map(lambda x, x_dot: x + t * x_dot, x, dot)))(steps)
        return lib.np.sum(lib.np.multiply(values, weights))

    return mean


TRANSFORMS: dict[str, Callable[[Any, Function, Any], Function]] = {
    "grad": by_gradient,
    "jvp": by_tangent,
    "linearize": by_linear_function,
    "vmap": by_batch,
    "checkpoint": lambda lib, f, dot: lib.checkpoint(f),
    "jit-numpy": lambda lib, f, dot: lib.jit(f, engine="numpy"),
    "jit-xla": lambda lib, f, dot: lib.jit(f),
}
# The meaning of each transform for the numbers: none, or the same as another one.
MEANING = {"linearize": "jvp", "checkpoint": None, "jit-numpy": None, "jit-xla": None}


# The transforms, and the pairs of them with the outer one first.
CHAINS = [*[(name,) for name in TRANSFORMS], *itertools.product(TRANSFORMS, repeat=2)]


def meaning(chain: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Remove the transforms that change no number from a chain, with their levels."""
    levels = zip([MEANING.get(name, name) for name in chain], range(len(chain)), strict=True)
    return tuple([(name, level) for name, level in levels if name is not None])


def transformed(lib: Ours, f: Function, chain: tuple[tuple[str, int], ...], point: Any) -> Function:
    for name, level in reversed(chain):
        f = TRANSFORMS[name](lib, f, directions(level, point))
    return f


@functools.cache
def wanted(name: str) -> dict[Any, float]:
    """JAX's number for each chain that means something of its own."""
    program, point = TABLE[name]
    f = partial(program, jax.numpy, THEIRS)
    distinct = list(dict.fromkeys([meaning(chain) for chain in CHAINS]))
    functions = [transformed(THEIRS, f, chain, point) for chain in distinct]
    with jax.enable_x64(True):
        values = jax.jit(lambda x: [f(x) for f in functions])(jax.tree.map(jax.numpy.asarray, point))
    return {chain: float(value) for chain, value in zip(distinct, values, strict=True)}


def check(name: str, chain: tuple[str, ...], value: Any) -> None:
    assert value.dtype == np.float64
    assert value.shape == ()
    np.testing.assert_allclose(float(value), wanted(name)[meaning(chain)], rtol=1e-9, atol=1e-9, err_msg=str(chain))


@pytest.mark.parametrize("chain", CHAINS, ids="-of-".join)
@pytest.mark.parametrize("name", TABLE)
def test_on_numpy_values(name: str, chain: tuple[str, ...]) -> None:
    program, point = TABLE[name]
    levels = tuple(zip(chain, range(len(chain)), strict=True))
    f = transformed(Ours(), partial(program, np, Ours()), levels, point)
    check(name, chain, f(point))


STAGED = [chain for chain in CHAINS if len(chain) == 2 and not any(name.startswith("jit") for name in chain)]


@pytest.mark.parametrize("name", TABLE)
def test_as_one_xla_program(name: str) -> None:
    """Compile all pairs in one function, which takes far less time than compiling each pair."""
    program, point = TABLE[name]
    f = partial(program, np, Ours())
    functions = [transformed(Ours(), f, tuple(zip(chain, range(2), strict=True)), point) for chain in STAGED]
    values = fg.jit(lambda x: [f(x) for f in functions])(point)
    for chain, value in zip(STAGED, values, strict=True):
        check(name, chain, value)
