"""Functions made by transforms can be pickled, and compute the same in another process."""

import copy
import functools
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

X = np.array([[2.0, 1.0], [0.5, 3.0]])
# Transforms of functions that can be imported and take a matrix.
MADE: dict[str, Callable[[Any], Any]] = {
    "grad": fg.grad,
    "value_and_grad": fg.value_and_grad,
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
    "jacobian": fg.jacobian,
    "hessian": fg.hessian,
    "checkpoint": fg.checkpoint,
    "make_graph": fg.make_graph,
    "jit": fg.jit,
    "jit on NumPy": functools.partial(fg.jit, engine="numpy"),
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
    "named": lambda f: fg.grad(fg.named("block")(f)),
    "to_jax": fg.to_jax,
}


def same(a: Any, b: Any) -> None:
    for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("name", MADE)
def test_a_function_that_can_be_imported_is_pickled(name: str) -> None:
    made = MADE[name](np.linalg.det)
    loaded = pickle.loads(pickle.dumps(made))
    assert loaded is not made
    if name == "make_graph":
        assert loaded(X) == made(X)
    else:
        same(loaded(X), made(X))
    assert copy.deepcopy(made) is made
    assert copy.copy(made) is made


@pytest.mark.parametrize("name", [*MADE, "vmap"])
def test_closures_are_pickled_by_cloudpickle(name: str) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    scale = np.array(3.0)
    made = {**MADE, "vmap": fg.vmap}[name](lambda x: scale * np.sum(np.sin(x) ** 2))
    loaded = cloudpickle.loads(cloudpickle.dumps(made))
    if name == "make_graph":
        assert loaded(X) == made(X)
    else:
        same(loaded(X), made(X))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(made)


def test_what_is_made_is_a_function_to_those_who_ask() -> None:
    def loss(w: Any, *, scale: float = 1.0) -> Any:
        """Return half of the square."""
        return scale * w * w / 2

    gradient = fg.grad(loss)
    assert (gradient.__name__, gradient.__doc__, gradient.__module__) == (
        "grad_loss",
        "Return half of the square.",
        __name__,
    )
    assert inspect.signature(gradient) == inspect.signature(loss)
    assert inspect.unwrap(gradient) is loss
    assert repr(gradient).startswith("<function grad_loss")
    assert gradient(3.0, scale=2.0) == 6.0
    assert functools.partial(gradient, scale=3.0)(1.0) == 3.0

    class Model:
        power = 3

        def cost(self, x: Any) -> Any:
            return x**self.power

        slope = fg.grad(cost, argnums=1)
        again = fg.checkpoint(cost)

    assert Model().slope(2.0) == 12.0
    assert Model().again(2.0) == 8.0


def test_pickled_functions_run_in_another_process() -> None:
    functions = [fg.grad(np.linalg.det), fg.jit(fg.hessian(np.linalg.det), engine="numpy"), fg.vmap(np.sum)]
    read = "import pickle, sys; fs, x = pickle.load(sys.stdin.buffer); "
    read += "sys.stdout.buffer.write(pickle.dumps([f(x) for f in fs]))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {read}"],
        input=pickle.dumps((functions, X)),
        capture_output=True,
        check=True,
    )
    same(pickle.loads(done.stdout), [f(X) for f in functions])
