"""Values of other elements of a named axis of ``vmap``, compared with JAX: derivatives, loops, branches, nests."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

X = np.arange(3.0) + 0.5
M = np.arange(6.0).reshape(3, 2) + 0.1
LAX = ["psum", "pmean", "pmax", "pmin", "all_gather", "axis_index", "scan", "cond", "while_loop", "fori_loop"]
OURS = SimpleNamespace(
    **{name: getattr(fg, name) for name in ["vmap", "grad", "jit", "jvp", "hessian", "checkpoint"]},
    lax=SimpleNamespace(**{name: getattr(fg, name) for name in LAX}),
)


def recurrence(lib: Any, np: Any) -> Callable[[Any], Any]:
    def step(c: Any, t: Any) -> Any:
        return lib.lax.pmean(np.sin(c) * X[0], "i") + t * c, c

    return lambda x: lib.lax.scan(step, x, np.arange(4.0))[1].sum()


# Each function takes JAX or funcgrad, and ``jax.numpy`` or ``numpy``.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "psum": lambda lib, np: lib.vmap(lambda x: lib.lax.psum(x**2, "i") * x, axis_name="i")(X),
    "pmean of a tree": lambda lib, np: lib.vmap(lambda x: lib.lax.pmean({"a": x, "b": 3.0}, "i"), axis_name="i")(X),
    "extrema": lambda lib, np: lib.vmap(lambda x: (lib.lax.pmax(x, "i"), lib.lax.pmin(x, "i")), axis_name="i")(M),
    "length": lambda lib, np: lib.vmap(lambda x: x * lib.lax.psum(1, "i"), axis_name="i")(X),
    "bools": lambda lib, np: lib.vmap(lambda x: lib.lax.psum(x > 1, "i") * 1.0, axis_name="i")(X),
    "float32": lambda lib, np: lib.vmap(lambda x: lib.lax.pmean(x.astype("float32"), "i"), axis_name="i")(X),
    "int32": lambda lib, np: lib.vmap(lambda x: lib.lax.psum(x, "i"), axis_name="i")(np.arange(3, dtype="int32")),
    "tiled": lambda lib, np: lib.vmap(lambda x: lib.lax.all_gather(x, "i", axis=1, tiled=True), axis_name="i")(
        np.ones((3, 2, 4))
    ),
    "gathered along axis 1": lambda lib, np: lib.vmap(lambda x: lib.lax.all_gather(x, "i", axis=1), axis_name="i")(M),
    "index": lambda lib, np: lib.vmap(lambda: lib.lax.axis_index("i") * 1.0, axis_size=3, axis_name="i")(),
    "other axes": lambda lib, np: lib.vmap(lambda x: lib.lax.psum(x, "i"), in_axes=1, out_axes=1, axis_name="i")(M),
    "no axis": lambda lib, np: lib.vmap(lambda x: lib.lax.psum(x, "i"), out_axes=None, axis_name="i")(M),
    "two names": lambda lib, np: lib.vmap(
        lib.vmap(
            lambda x: (
                lib.lax.psum(x, "i"),
                lib.lax.psum(x, "j"),
                lib.lax.psum(x, ("i", "j")),
                1.0 * lib.lax.axis_index(("i", "j")),
            ),
            axis_name="j",
        ),
        axis_name="i",
    )(M),
    "one name twice": lambda lib, np: lib.vmap(lib.vmap(lambda x: lib.lax.psum(x, "i"), axis_name="i"), axis_name="i")(
        M
    ),
    "inside of a vmap": lambda lib, np: lib.vmap(
        lambda r: lib.vmap(lib.grad(lambda a: lib.lax.psum(a**2 * r[0], "i") * a))(r), axis_name="i"
    )(M),
    "gradient": lambda lib, np: lib.vmap(lib.grad(lambda x: lib.lax.psum(x**2, "i") * x), axis_name="i")(X),
    "gradient of what is gathered": lambda lib, np: lib.vmap(
        lib.grad(lambda x: (lib.lax.all_gather(x, "i") ** 2 * np.arange(3)).sum() * x), axis_name="i"
    )(X),
    "gradient of what is the same": lambda lib, np: lib.vmap(
        lib.grad(lambda w, x: lib.lax.psum(w, "i") * x + lib.lax.all_gather(w, "i").sum()), (None, 0), axis_name="i"
    )(2.0, X),
    "gradient by the mapping": lambda lib, np: lib.grad(
        lambda x: (lib.vmap(lambda x: lib.lax.psum(x**2, "i") * x, axis_name="i")(x) ** 2).sum()
    )(X),
    "tangent": lambda lib, np: lib.vmap(
        lambda x: lib.jvp(lambda x: lib.lax.psum(np.sin(x), "i") * x, (x,), (1.0,)), axis_name="i"
    )(X),
    "hessian": lambda lib, np: lib.vmap(lib.hessian(lambda x: lib.lax.psum(np.sin(x), "i") * x), axis_name="i")(X),
    "checkpoint": lambda lib, np: lib.vmap(
        lib.grad(lib.checkpoint(lambda x: lib.lax.psum(np.sin(x), "i") * x)), axis_name="i"
    )(X),
    "jit inside": lambda lib, np: lib.vmap(lib.grad(lib.jit(lambda x: lib.lax.psum(x**2, "i") * x)), axis_name="i")(X),
    "jit outside": lambda lib, np: lib.jit(lib.vmap(lib.grad(lambda x: lib.lax.psum(x**2, "i") * x), axis_name="i"))(X),
    "scan": lambda lib, np: lib.vmap(recurrence(lib, np), axis_name="i")(X),
    "gradient of scan": lambda lib, np: lib.vmap(lib.grad(recurrence(lib, np)), axis_name="i")(X),
    "gradient of scan by the mapping": lambda lib, np: lib.grad(
        lambda x: lib.vmap(recurrence(lib, np), axis_name="i")(x).sum()
    )(X),
    "compiled gradient of scan": lambda lib, np: lib.jit(lib.vmap(lib.grad(recurrence(lib, np)), axis_name="i"))(X),
    "fori_loop": lambda lib, np: lib.vmap(
        lambda x: lib.lax.fori_loop(0, 3, lambda i, c: c - 0.1 * lib.lax.psum(c, "i"), x), axis_name="i"
    )(X),
    "while_loop": lambda lib, np: lib.vmap(
        lambda x: lib.lax.while_loop(lambda s: lib.lax.psum(s, "i") < 100.0, lambda s: s * 2, x), axis_name="i"
    )(X),
    "gradient of cond": lambda lib, np: lib.vmap(
        lib.grad(
            lambda x: lib.lax.cond(lib.lax.psum(x, "i") > 0, lambda x: lib.lax.psum(x**2, "i") * x, lambda x: x, x)
        ),
        axis_name="i",
    )(X),
    "cond inside of a vmap": lambda lib, np: lib.vmap(
        lambda r: lib.vmap(
            lib.grad(lib.jit(lambda a: lib.lax.cond(a > 1.0, lambda a: lib.lax.psum(a**2, "i"), lambda a: a * 3, a)))
        )(r),
        axis_name="i",
    )(M),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_jax(name: str) -> None:
    with jax.enable_x64(True):
        expected = jax.tree.leaves(PROGRAMS[name](jax, jax.numpy))
    got = fg.tree.leaves(PROGRAMS[name](OURS, np))
    for y, y_jax in zip(got, expected, strict=True):
        assert (np.shape(y), np.asarray(y).dtype) == (y_jax.shape, y_jax.dtype)
        np.testing.assert_allclose(y, y_jax, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", ["jit inside", "jit outside", "compiled gradient of scan", "cond inside of a vmap"])
def test_on_other_engines(name: str, engine: str) -> None:
    jit = SimpleNamespace(**{**vars(OURS), "jit": lambda f: fg.jit(f, engine=engine)})
    for y, y_xla in zip(fg.tree.leaves(PROGRAMS[name](jit, np)), fg.tree.leaves(PROGRAMS[name](OURS, np)), strict=True):
        np.testing.assert_allclose(y, y_xla, rtol=1e-12)


def test_pmax_has_a_derivative() -> None:
    slopes = fg.vmap(fg.grad(lambda x: fg.pmax(x, "i") * 2.0), axis_name="i")(X)
    np.testing.assert_array_equal(slopes, [0.0, 0.0, 6.0])


def test_a_compiled_function_keeps_to_its_axis() -> None:
    """The numbers depend on the mapping around the call, so a program of another mapping is not used."""
    for engine in ("xla", "numpy"):
        total = fg.jit(lambda x: fg.psum(x, "i"), engine=engine)
        for size in (3, 5):
            np.testing.assert_array_equal(
                fg.vmap(lambda x, total=total: total(2.0) * x, axis_name="i")(np.ones(size)), [2.0 * size] * size
            )
        with pytest.raises(NameError, match=r"psum: the axis 'i' was asked for, and no vmap around it has a name"):
            total(2.0)


def test_lengths() -> None:
    assert np.array_equal(fg.vmap(lambda: 1.0, axis_size=2)(), [1.0, 1.0])
    assert fg.vmap(lambda x: 2 * x, in_axes=None, axis_size=2)(3.0).tolist() == [6.0, 6.0]
    assert fg.vmap(lambda x: fg.psum(x, "i"), axis_name="i")(np.ones((0, 2))).shape == (0, 2)
    with pytest.raises(fg.errors.TreeMismatchError, match=r"axis_size is 4, and axis 0 of .* length 3"):
        fg.vmap(lambda x: x, axis_size=4)(X)
    for size in (-1, 2.0, "2"):
        with pytest.raises(ValueError, match=r"axis_size of .* needed a length from 0 on"):
            fg.vmap(lambda x: x, axis_size=size)  # pyright: ignore[reportArgumentType]  (refused)


def test_what_is_refused() -> None:
    with pytest.raises(NameError, match="no vmap around it has a name"):
        fg.psum(1.0, "i")
    with pytest.raises(NameError, match="the axis 'j' was asked for, and the names around it are 'i'"):
        fg.vmap(lambda x: fg.axis_index("j") + x, axis_name="i")(X)
    with pytest.raises(ValueError, match=r"all_gather: axis is 3 for a value f64\[\]; needed an axis from -1 to 0"):
        fg.vmap(lambda x: fg.all_gather(x, "i", axis=3), axis_name="i")(X)
