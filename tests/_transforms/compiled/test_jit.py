"""Results of compiled functions keep 64 bits outside JAX's 64-bit mode, and stay on the device otherwise."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X = np.array([0.5, 2.0, -1.0])

WIDE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "float64": (lambda x: 2 * x, X),
    "complex128": (lambda x: x * 1j, X),
    "int64": (np.argsort, X.astype(np.float32)),
    "uint64": (lambda x: x + x, np.array([1, 2], np.uint64)),
    "a number": (np.sum, X),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_result_is_a_numpy_array_or_number_of_its_own(name: str) -> None:
    f, x = WIDE[name]
    y = fg.jit(f)(x)
    assert type(y) is type(f(x))
    assert y.dtype == f(x).dtype
    assert y.flags.writeable == isinstance(y, np.ndarray)
    assert (y + np.ones(())).dtype.itemsize >= 8
    np.testing.assert_allclose(y, f(x), rtol=1e-14)


def test_a_jitted_gradient_descends_as_far_as_the_eager_one() -> None:
    def loss(w: Any) -> Any:
        return np.sum((w - X) ** 2)

    w, gradient = np.zeros(3), fg.jit(fg.grad(loss))
    for _ in range(60):
        w = w - 0.25 * gradient(w)
    np.testing.assert_allclose(w, X, rtol=1e-14)


def test_narrow_results_stay_and_arguments_come_back() -> None:
    narrow = X.astype(np.float32)
    same, wide, kept = fg.jit(lambda x, y: (x, {"y": 2 * x}, 2 * y))(X, narrow)
    assert same is X
    assert type(wide["y"]) is np.ndarray
    assert isinstance(kept, jax.Array)
    assert isinstance(fg.jit(lambda y: (y + 1, np.sum(y)))(narrow)[1], jax.Array)


def test_in_the_64_bit_mode_and_in_other_traces_results_stay() -> None:
    f = fg.jit(lambda x: (x, 2 * x))
    with jax.enable_x64(True):
        assert all(isinstance(y, jax.Array) for y in f(X))
        assert jax.jit(lambda x: f(x)[1])(X).dtype == np.float64
    assert all(type(y) is np.ndarray for y in f(X))
    assert jax.grad(lambda x: f(x)[1].sum())(jax.numpy.ones(2)).dtype == np.float32


def test_donated_wide_arguments() -> None:
    f = fg.jit(lambda s, x: (s, s * x), donate_argnums=(0, 1))
    with jax.enable_x64(True):
        ours = jax.numpy.arange(3.0)
    kept, product = f(ours, jax.numpy.ones(3))
    np.testing.assert_array_equal(kept, np.arange(3.0))
    np.testing.assert_array_equal(product, np.arange(3.0))
    kept, product = f(X, X + 1)
    assert kept is X
    np.testing.assert_array_equal(product, X * (X + 1))


def test_hyperparameters_come_back_from_a_step_as_they_were() -> None:
    params = {"w": jax.numpy.ones(3)}
    state = fg.sgd_init(params, lr=0.1, momentum=0.9)
    params, new = fg.jit(fg.sgd_update, donate_argnums=(1, 2))({"w": jax.numpy.ones(3)}, state, params)
    assert type(new.lr) is type(state.lr)
    assert new.lr == state.lr
    assert isinstance(params["w"], jax.Array)
    assert isinstance(new.buffers["w"], jax.Array)


def test_lowered_programs_have_plain_results() -> None:
    f: Any = fg.jit(lambda x: (x, 2 * x))
    assert f.lower(X).compile().out_tree.num_leaves == 2


def test_eager_operations_do_not_widen_what_jax_holds() -> None:
    integers = jax.numpy.arange(3)
    assert type(fnp.exp(integers)) is np.ndarray
    assert type(fnp.linspace(integers[0], 1, 3)) is np.ndarray
    assert isinstance(fnp.exp(jax.numpy.ones(2)), jax.Array)
    value, gradient = fg.value_and_grad(lambda x: np.sum(x * X))(jax.numpy.ones(3))
    assert type(value) is np.float64
    assert gradient.dtype == np.float32
    with jax.enable_x64(True):
        wide = jax.numpy.arange(3.0)
    assert isinstance(fg.grad(lambda x: np.sum(x**2))(wide), jax.Array)
    assert isinstance(fnp.exp(wide), jax.Array)


class Model:
    """A class that is not a pytree."""

    @fg.jit
    def method(self, x: Any) -> Any:
        return x


WORDS: dict[str, tuple[Callable[[], Any], str]] = {
    "a str": (lambda: fg.jit(lambda x, s: x)(X, "a"), r"argument 1 \(s\) of <lambda> is a str; .* static_argnums"),
    "a keyword": (lambda: fg.jit(lambda x, s: x)(X, s="a"), r"argument s of <lambda> is a str"),
    "a method": (lambda: Model().method(X), r"argument 0 \(self\) of method is a Model; .* fg.jit\(obj.step\)"),
    "functions in a model": (
        lambda: fg.jit(lambda m, x: x)({"w": X, "act": np.tanh}, X),
        r"argument 0 \(m\) of <lambda> at \['act'\] is a ufunc; .* eqx.partition",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_what_is_no_array_is_refused_in_our_words(name: str) -> None:
    call, message = WORDS[name]
    with pytest.raises(TypeError, match=f"jit: {message}"):
        call()


WITHOUT_JAX = """
import sys
sys.modules["jax"] = None
import numpy as np
import funcgrad as fg
assert fg.grad(fg.jit(lambda x: np.sum(x**2), engine="numpy"))(np.ones(2)).tolist() == [2.0, 2.0]
try:
    fg.jit(np.sin)(np.ones(2))
except ModuleNotFoundError as error:
    assert "pip install jax" in str(error) and 'engine="numpy"' in str(error), error
else:
    raise AssertionError
"""


def test_without_jax_all_but_its_engine_works() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_JAX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
