"""Eight threads that transform at once, each on data of its own, get what NumPy gives by closed forms."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines import XLA

THREADS = 8
ROOT = Path(__file__).parents[2]


class Case(NamedTuple):
    """A transform of a program, and what it should give, written in NumPy."""

    name: str
    ours: Callable[[Any], Any]
    wanted: Callable[[np.ndarray], Any]


def wave(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


def wave_slope(x: Any) -> Any:
    return np.sin(x) + x * np.cos(x)


def wave_curvature(x: Any) -> Any:
    return 2 * np.cos(x) - x * np.sin(x)


def product(x: Any) -> Any:
    return fg.scan(lambda c, row: (c * row, None), 1.0, x)[0]


def product_slope(x: Any) -> Any:
    return np.prod(x) / x


def bent(x: Any) -> Any:
    return fg.cond(x > 1.0, np.exp, lambda x: x**3, x)


def bent_slope(x: Any) -> Any:
    return np.where(x > 1.0, np.exp(x), 3 * x**2)


def tower(x: Any) -> Any:
    return fg.while_loop(lambda y: np.all(y < 1e3), lambda y: y * (y + 1.0), x)


def tower_dot(x: Any) -> Any:
    y_dot = np.ones_like(x)
    while np.all(x < 1e3):
        x, y_dot = x * (x + 1.0), y_dot * (2 * x + 1)
    return y_dot


def chained(x: Any) -> Any:
    return fg.fori_loop(0, 4, lambda i, y: np.sum(fg.checkpoint(np.sin)(x)) * y + i, 1.0)


def chained_slope(x: Any) -> Any:
    s = np.sum(np.sin(x))
    return (4 * s**3 + 2 * s + 2) * np.cos(x)


@fg.custom_vjp
def tripled(x: Any) -> Any:
    return np.sum(x**2)


tripled.defvjp(lambda x: (np.sum(x**2), x), lambda x, y_bar: (3 * x * y_bar,))


@fg.custom_jvp
def doubled(x: Any) -> Any:
    return np.sum(x**2)


doubled.defjvp(lambda primals, tangents: (doubled(*primals), 2 * np.sum(primals[0] * tangents[0])))


def nested(x: Any) -> Any:
    """A derivative inside of a derivative, whose levels must not be taken for another thread's."""
    return np.sum(x * fg.grad(lambda y: np.sum(x * y**3))(x))


CASES = [
    Case("grad", fg.grad(wave), wave_slope),
    Case("jvp", lambda x: fg.jvp(wave, (x,), (x,))[1], lambda x: wave_slope(x) @ x),
    Case("linearize", lambda x: fg.linearize(wave, x)[1](x), lambda x: wave_slope(x) @ x),
    Case("hessian", fg.hessian(wave), lambda x: np.diag(wave_curvature(x))),
    Case("hvp", lambda x: fg.hvp(wave, (x,), (x,)), lambda x: wave_curvature(x) * x),
    Case("vmap of grad", fg.vmap(fg.grad(lambda x: np.sin(x) * x)), wave_slope),
    Case("jit", fg.jit(fg.grad(wave)), wave_slope),
    Case("jit on NumPy", fg.jit(fg.grad(wave), engine="numpy"), wave_slope),
    Case(
        "a jit of its own",
        lambda x: fg.jit(fg.grad(lambda y: wave(x * y)), engine="numpy")(x),
        lambda x: x * wave_slope(x * x),
    ),
    Case("scan", fg.grad(product), product_slope),
    Case(
        "vmap of scan",
        lambda x: fg.vmap(lambda scale: fg.grad(product)(x * scale))(np.array([1.0, 2.0])),
        lambda x: np.stack([product_slope(x), product_slope(2 * x)]),
    ),
    Case("cond", fg.vmap(fg.grad(bent)), bent_slope),
    Case("while_loop", lambda x: fg.jvp(tower, (x,), (np.ones_like(x),))[1], tower_dot),
    Case("fori_loop and checkpoint", fg.grad(chained), chained_slope),
    Case("custom_vjp", fg.grad(tripled), lambda x: 3 * x),
    Case(
        "custom_vjp in jit",
        fg.grad(fg.jit(lambda x: tripled(np.sin(x)), engine="numpy")),
        lambda x: 3 * np.sin(x) * np.cos(x),
    ),
    Case("custom_jvp", lambda x: fg.jvp(doubled, (x,), (x,))[1], lambda x: 2 * np.sum(x**2)),
    Case("nested", fg.grad(nested), lambda x: 12 * x**3),
    Case("grad of grad", lambda x: fg.grad(lambda y: np.sum(fg.grad(wave)(y) * x))(x), lambda x: wave_curvature(x) * x),
]


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Let Python go from thread to thread a thousand times as often, in the middle of everything."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(work: Callable[[int], None]) -> None:
    """Run ``work(0)`` to ``work(7)`` in threads that start at once; what one of them raises is raised here."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> None:
        barrier.wait()
        work(number)

    with frequent_switches(), ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(run, number) for number in range(THREADS)]:
            done.result()


def as_engine(x: np.ndarray, engine: str) -> Any:
    with XLA.scope():
        return jnp.asarray(x) if engine == "xla" else x


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_threads_transform_their_own_data(engine: str) -> None:
    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        for _ in range(2):
            # Each thread goes its own way through the cases, so that all kinds meet all kinds.
            for i in rng.permutation(len(CASES)):
                x = rng.uniform(0.5, 1.5, 3)
                case = CASES[i]
                got = np.asarray(case.ours(as_engine(x, engine)))
                np.testing.assert_allclose(got, case.wanted(x), rtol=1e-10, atol=1e-12, err_msg=case.name)

    together(work)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_threads_meet_in_one_transform(case: Case) -> None:
    """All threads run the same code at once. One of them fills the caches, and the others read them."""

    def work(number: int) -> None:
        for scale in (1.0, 0.5):
            x = scale * np.random.default_rng(number).uniform(0.5, 1.5, 2)
            np.testing.assert_allclose(np.asarray(case.ours(x)), case.wanted(x), rtol=1e-10, atol=1e-12)

    together(work)


def test_first_calls_of_one_compiled_function() -> None:
    """Eight first calls: of a step that donates, where the first one decides the order of the arguments."""
    for _ in range(5):
        # Gradients of one result and state of another are paired by position, so the order is not the given one.
        step = fg.jit(lambda grads, state, params: (params - grads, state * 2), donate_argnums=(1, 2))

        def work(number: int, step: Callable[..., Any] = step) -> None:
            size = 3 + number % 2
            params, state = step(np.ones(size), np.full(size, float(number)), np.full(size, 5.0))
            np.testing.assert_array_equal(params, np.full(size, 4.0))
            np.testing.assert_array_equal(state, np.full(size, 2.0 * number))

        together(work)


def test_threads_started_inside_a_transform() -> None:
    """A new thread has no active transform, but tracers that are passed to it know their trace."""
    with ThreadPoolExecutor(THREADS) as pool:

        def parts(x: Any) -> Any:
            return sum(pool.map(lambda i: np.sum(x[i] ** (i + 1)), range(4)))

        x = np.array([1.5, 2.0, 0.5, 3.0])
        np.testing.assert_allclose(fg.grad(parts)(x), np.arange(1, 5) * x ** np.arange(4))
        np.testing.assert_allclose(fg.grad(fg.jit(parts, engine="numpy"))(x), np.arange(1, 5) * x ** np.arange(4))


def test_jax_functions_from_many_threads() -> None:
    """A function from JAX is derived for all of them at once."""
    softplus = fg.from_jax(lambda x: jnp.sum(jnp.logaddexp(x, 0.0)))

    def work(number: int) -> None:
        x = np.random.default_rng(number).normal(size=3)
        np.testing.assert_allclose(fg.grad(softplus)(x), 1 / (1 + np.exp(-x)), rtol=1e-12)

    together(work)


FIRST_USE = """
import threading
import numpy as np
import funcgrad as fg

wrong = []
barrier = threading.Barrier(8)
ways = [
    lambda x: fg.jit(lambda x: np.sum(x**2))(x),
    lambda x: fg.jit(lambda x: np.sum(x * x))(x),
    lambda x: fg.value_and_grad(lambda x: np.sum(x**2))(x)[0],
    lambda x: fg.sgd_update(np.zeros(2), fg.sgd_init(x, lr=1.0), x)[0] @ x,
    lambda x: fg.linear_operator(lambda x: np.sum(x**2), x).matvec(x)[0] / 2,
    lambda x: __import__("jax").jit(lambda x: (x**2).sum())(x),
    lambda x: fg.from_jax(lambda x: (x**2).sum())(x),
    lambda x: fg.linear_operator(lambda x: np.sum(x**2), x, "hessian").matvec(x) @ x / 2,
]

def run(number):
    x = np.array([number + 1.0, 2.0])
    barrier.wait()
    try:
        got = float(ways[number](x))
        if not np.isclose(got, x @ x, rtol=1e-5):
            wrong.append((number, got))
    except BaseException as error:
        wrong.append((number, repr(error)))

threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(120)
assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
assert not wrong, wrong
"""


def test_engines_are_loaded_by_eight_threads_at_once() -> None:
    command, environment = [sys.executable, "-c", FIRST_USE], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
