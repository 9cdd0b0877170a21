"""`jax.jit`, devices and settings of `funcgrad.jax`."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.jax as ours
import funcgrad.jax.numpy as jnp

X = np.array([0.5, -1.0, 2.0])


def wave(x: Any) -> Any:
    return jnp.sin(x) * 2.0


def test_lowered_programs_are_compiled_and_called_outside_of_64_bit_mode() -> None:
    lowered = ours.jit(wave).lower(jnp.asarray(X))
    assert "sine" in lowered.as_text()
    y = lowered.compile()(jnp.asarray(X))
    assert type(y) is ours.Array
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, 2 * np.sin(X))


def test_types_are_enough_to_lower() -> None:
    executable = ours.jit(lambda p: {"y": p["x"] + 1}).lower({"x": ours.ShapeDtypeStruct((3,), jnp.float32)}).compile()
    y = executable({"x": np.ones(3, np.float32)})["y"]
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, [2, 2, 2])


def test_decorators_with_and_without_options() -> None:
    @functools.partial(ours.jit, static_argnums=1)
    def power(x: Any, n: int) -> Any:
        return x**n if n else x

    @ours.jit(static_argnames="n", keep_unused=True)
    def other(x: Any, n: int = 2) -> Any:
        return x**n if n else x

    np.testing.assert_allclose(power(X, 2), X**2)
    np.testing.assert_allclose(other(X, n=3), X**3)
    assert power.__name__ == "power"


def test_methods_are_compiled() -> None:
    class Model:
        scale = 3.0

        @functools.partial(ours.jit, static_argnums=0)
        def __call__(self, x: Any) -> Any:
            return self.scale * x

    np.testing.assert_allclose(Model()(X), 3 * X)


def test_disable_jit_runs_the_lines() -> None:
    seen = []
    f = ours.jit(lambda x: seen.append(type(x)) or x * 2)
    with ours.disable_jit():
        f(jnp.asarray(X))
    assert seen == [ours.Array]
    f(X)
    assert issubclass(seen[1], fg.Tracer)


def test_narrow_results_stay_arrays_of_jax() -> None:
    y = ours.jit(wave)(np.float32(X))
    assert isinstance(y, jax.Array)
    assert isinstance(y, ours.Array)
    assert y.dtype == np.float32


@pytest.mark.parametrize("f", [ours.jit(wave), ours.grad(lambda x: wave(x).sum()), ours.vmap(wave)])
def test_made_functions_are_pickled_and_copied(f: Any) -> None:
    np.testing.assert_allclose(copy.deepcopy(f)(X), f(X))
    if "lambda" not in repr(f):
        np.testing.assert_allclose(pickle.loads(pickle.dumps(f))(X), f(X))


def test_settings() -> None:
    before = jax.config.read("jax_enable_x64")
    try:
        ours.config.update("jax_enable_x64", True)
        assert ours.config.jax_enable_x64
    finally:
        jax.config.update("jax_enable_x64", before)
    with pytest.raises(ValueError, match="always works as in JAX's 64-bit mode"):
        ours.config.update("jax_enable_x64", False)
    with pytest.raises(ValueError, match=r"Write with fg.debug_nans\(\)"):
        ours.config.update("jax_debug_nans", True)
    with ours.enable_x64(True), ours.ensure_compile_time_eval():
        assert jnp.ones(2).dtype == np.float64
    with pytest.raises(ValueError, match="stay float32"):
        ours.enable_x64(False)
    with ours.debug_nans(True), pytest.raises(FloatingPointError), np.errstate(all="ignore"):
        ours.jit(lambda x: jnp.log(x))(np.array([-1.0]))


def test_devices_are_jaxs() -> None:
    assert ours.devices() == jax.devices()
    assert ours.local_devices() == jax.local_devices()
    assert ours.device_count() == jax.device_count() >= ours.local_device_count()
    assert ours.default_backend() == jax.default_backend()
    assert (ours.process_index(), ours.process_count()) == (jax.process_index(), jax.process_count())
    tree = ours.device_put({"x": X, "n": 2})
    assert type(tree["x"]) is ours.Array
    assert isinstance(ours.device_put(np.float32(X), ours.devices()[0]), jax.Array)
    assert type(ours.device_get(tree)["x"]) is np.ndarray
    assert ours.block_until_ready(tree) is tree
    assert ours.copy_to_host_async(tree) is tree


def test_names_stand_in_graphs() -> None:
    @ours.named_scope("inner")
    def inner(x: Any) -> Any:
        return jnp.sin(x)

    graph = ours.make_jaxpr(ours.named_call(lambda x: inner(x), name="outer"))(1.0)
    assert [block.name for block in graph.equations[0].source.blocks] == ["outer", "inner"]


def test_callbacks() -> None:
    spec = ours.ShapeDtypeStruct((3,), np.float64)
    found = ours.jit(lambda x: ours.pure_callback(lambda x, k: k * x, spec, x, k=np.float64(3.0)))(X)
    np.testing.assert_allclose(found, 3 * X)
    assert ours.typeof(jnp.ones((2, 3))).shape == (2, 3)


def test_debug_prints_and_calls(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        ours.debug.print("x = {x:.2f}", x=x)
        ours.debug.callback(lambda v, tag: seen.append((float(v), tag)), x, tag="t")
        return x * 2

    f(1.5)
    fg.jit(f, engine="numpy")(2.5)
    assert capsys.readouterr().out == "x = 1.50\nx = 2.50\n"
    assert seen == [(1.5, "t"), (2.5, "t")]


def test_rules_with_symbolic_zeros_are_refused() -> None:
    f = ours.custom_jvp(lambda x: x)
    with pytest.raises(NotImplementedError, match="symbolic_zeros"):
        f.defjvp(lambda p, t: (p[0], t[0]), symbolic_zeros=True)


def test_generators_other_than_threefry_are_refused() -> None:
    with pytest.raises(ValueError, match="threefry2x32"):
        ours.random.key(0, impl="rbg")


def test_contexts_of_settings(caplog: pytest.LogCaptureFixture) -> None:
    with ours.checking_leaks(), ours.check_tracer_leaks(), ours.log_compiles():
        f = ours.jit(lambda x: x * 2.5)
        f(X)
    assert "compiled" in caplog.text
    assert f.cache_size() == 1
    ours.clear_caches()
    assert f.cache_size() == 0
    with ours.debug_infs(), pytest.raises(FloatingPointError), np.errstate(all="ignore"):
        ours.grad(lambda x: jnp.sum(1.0 / x))(np.zeros(2))
    widens = ours.grad(lambda x: jnp.sum(x * np.ones(2)))
    with ours.numpy_dtype_promotion("standard"):
        widens(np.ones(2, np.float32))
    with ours.numpy_dtype_promotion("strict"), pytest.raises(TypeError, match="strict"):
        widens(np.ones(2, np.float32))


def test_transforms_with_options() -> None:
    y, aux = ours.vjp(lambda x: (x * 2, x + 1), X, has_aux=True)[::2]
    np.testing.assert_allclose(y, 2 * X)
    np.testing.assert_allclose(aux, X + 1)
    assert ours.grad(lambda x: x**2, holomorphic=True)(1.0 + 2.0j) == 2 + 4j
    spec = ours.linear_transpose(lambda x: 3.0 * x, ours.ShapeDtypeStruct((3,), np.float64))(X)[0]
    np.testing.assert_allclose(spec, 3 * X)
    assert ours.checkpoint(prevent_cse=False)(wave)(X).shape == (3,)


def test_policies_of_checkpoints_keep_the_numbers() -> None:
    w, x = np.linspace(-1.0, 1.0, 9).reshape(3, 3), np.array([0.2, -0.4, 0.9])

    def loss(jax: Any, policy: str) -> Any:
        found = getattr(jax.checkpoint_policies, policy)
        kept = jax.checkpoint(lambda w, x: jax.numpy.sum(jax.numpy.tanh(w @ jax.numpy.sin(w @ x))), policy=found)
        return jax.grad(kept)

    for policy in ("dots_saveable", "checkpoint_dots", "everything_saveable", "nothing_saveable"):
        with jax.enable_x64(True):
            wanted = loss(jax, policy)(w, x)
        np.testing.assert_allclose(loss(ours, policy)(w, x), wanted, rtol=1e-12)
