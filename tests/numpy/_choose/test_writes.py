"""NumPy's functions and methods that write into an array: its value, its aliases, its errors, and the derivatives."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerAssignmentError, UnsupportedFunctionError
from tests.numpy._ways import X, check

# NumPy, whose stubs know neither all that it takes nor what is refused here.
UNTYPED: Any = np
REPEATED = np.array([0, 0, 2, 1, 0])
WEIGHTS = np.cos(np.arange(15.0)).reshape(3, 5)


def sums_at(x: Any) -> Any:
    c = np.zeros_like(x, shape=(3, 2))
    UNTYPED.add.at(c, (REPEATED, 0), x)
    np.subtract.at(c[:, 1], [0, 0, 2], x[:3] ** 2)
    UNTYPED.add.at(c, slice(0, 2), x[:2])
    UNTYPED.add.at(c, (slice(None), [0, 0]), np.ones((3, 2)))
    return np.sum(c**2 * WEIGHTS[:, :2])


def others_at(x: Any) -> Any:
    c = np.ones_like(x, shape=3)
    np.multiply.at(c, REPEATED, x + 2)
    np.maximum.at(c, [[0, 1], [0, 2]], x[:2] * np.ones((2, 1)))
    np.power.at(c, [1, 1], 2)
    np.exp.at(c, [2, 2])
    np.divide.at(c, np.array([True, False, True]), x[4])
    np.negative.at(c, 0)
    return np.sum(c * WEIGHTS[0, :3])


def sums_at_traced_indices(x: Any) -> Any:
    c = np.zeros_like(x, shape=3)
    np.add.at(c, np.argsort(x) % 3, x)
    return np.sum(c**2)


def copied_to(x: Any) -> Any:
    c = np.zeros_like(x, shape=(2, 5))
    kept = c[1]
    np.copyto(c, x, where=x > 0.4)
    np.copyto(c[:, :2], [[1.0], [x[1]]])
    np.copyto(c[:, 3], 2, where=[True, False])
    return np.sum(c**2 * WEIGHTS[:2]) + np.sum(kept**3)


def put_into(x: Any) -> Any:
    c = np.zeros_like(x, shape=(2, 3))
    np.put(c, [0, -1, 2], x)
    np.put(c.T, [1, 2, 1], x[3:])
    c.put([[9, -9]], x[0] * 2, "clip")
    np.put(c, [7], x[1], mode="wrap")
    c.put([], [])
    return np.sum(c**2 * WEIGHTS[:2, :3])


def put_along_axis(x: Any) -> Any:
    c = np.zeros_like(x, shape=(2, 3))
    np.put_along_axis(c, np.array([[0], [-1]]), x[:2, None], 1)
    np.put_along_axis(c, np.argsort(c, 0)[:1], x[2:], 0)
    np.put_along_axis(c, np.array([4, -2]), x[4], None)
    return np.sum(c**2 * WEIGHTS[:2, :3])


def masks(x: Any) -> Any:
    c = np.zeros_like(x, shape=(3, 5)) + x
    np.putmask(c, c > 0.4, x[:2])
    np.place(c.T, WEIGHTS.T > 0.2, x[2:])
    np.place(c, c < 0.2, x[:1] * 3)
    return np.sum(c**2 * WEIGHTS)


def diagonals(x: Any) -> Any:
    c, d = np.zeros_like(x, shape=(5, 2)), np.zeros_like(x, shape=(3, 3, 3))
    np.fill_diagonal(c, x, wrap=True)
    np.fill_diagonal(c.T, x[3:])
    np.fill_diagonal(d, x[1])
    return np.sum(c**2 * WEIGHTS[:2].T) + np.sum(d * x[:3])


def without_nan(x: Any) -> Any:
    c = x**2
    c[1:3] = [-np.inf, np.nan]
    assert np.nan_to_num(c, copy=False, neginf=2.0, posinf=7.0) is c
    return np.sum(c * x)


def by_methods(x: Any) -> Any:
    c, d = x * 1, np.stack([x * x, x])
    view = c[::-1]
    c.sort()
    d.sort(axis=0)
    d[1:, 3:].fill(x[0])
    d[0, :2].partition(1)
    d[1].fill(np.array(3))
    return np.sum(view * np.arange(5)) + np.sum(d * x)


def flat_places(x: Any) -> Any:
    c: Any = np.zeros_like(x, shape=(2, 3))
    total = 0
    c.flat[1:5] = x[:2]
    c.T.flat[0] = x[4]
    c.flat[[2, -1]] = x[3]
    c.flat[WEIGHTS[:2, :3].ravel() < -0.9] = 5.0
    for i, element in enumerate(c.flat):
        total += i * element**2
    copied = c.T.flat[1:]
    c.flat = x[:4]
    return total + np.sum(copied**3) + np.sum(c.flat[:2]) + len(c.flat) + np.sum(np.sin(c.flat.copy()))


def parts(x: Any) -> Any:
    c = x * (1 + 2j)
    c.real = x**2
    c.imag[1:] = 3 * x[1:]
    c.imag *= x[0]
    np.conj(c, out=c)
    real = x * 1
    real.real = 2 * x[::-1]
    return np.sum(np.abs(c) ** 2) + np.sum(c).imag + np.sum(real**3)


def traced_masks(x: Any) -> Any:
    y = np.zeros_like(x, shape=(2, 5)) + x
    y[:, x > 0.4] = 0
    y[1, x < 0] = x[0]
    y[..., x > 1] = x[:1]
    y[:1, x < 0.45] = np.ones((1, 1)) * x[2]
    z = np.zeros_like(x, shape=(5, 2))
    z[x > 0.4, :] = x[:2]
    z[x > 0.4, 1] = x[2]
    z[x < 0.4] = [[1.0, x[3]]]
    z[np.abs(z) > 1, None] = x[3]
    return np.sum(y**2 * WEIGHTS[:2]) + np.sum(z**2 * WEIGHTS[:2].T)


def shown_diagonals(x: Any) -> Any:
    y = np.outer(x[:3], x[2:]) + np.zeros((2, 3, 3))
    every = np.einsum("iaa->ia", y)
    every *= x[:3]
    turned = np.einsum("ii->i", y[1].T[::-1])
    turned[1:] = every[0, :2]
    same, _ = np.broadcast_arrays(y, y)
    same[0, 0] = x[3]
    return np.sum(y * np.cos(np.arange(18.0)).reshape(y.shape)) + np.sum(turned**2)


def without_axes(x: Any) -> Any:
    one = np.squeeze(x[:1]).copy()
    one[...] = x[1] ** 2
    narrow = x[2, ...].astype(float)
    narrow += x[3]
    of_number = np.copy(x[4])
    np.multiply(of_number, x[0], out=of_number)
    again = copy.copy(x[1, ...])
    again[...] *= 2
    tiled = np.tile(x[3, ...], ())
    tiled.fill(x[2])
    return np.sum(x) * one + narrow * of_number + again * tiled


def differences_of_order_zero(x: Any) -> Any:
    same = np.diff(x, n=0, prepend=1.0)
    same[1] = x[0] ** 2
    return np.sum(x**2) + np.diff(np.sum(x), n=0) ** 2


PROGRAMS = [
    shown_diagonals,
    without_axes,
    differences_of_order_zero,
    sums_at,
    others_at,
    sums_at_traced_indices,
    copied_to,
    put_into,
    put_along_axis,
    masks,
    diagonals,
    without_nan,
    by_methods,
    flat_places,
    parts,
    traced_masks,
]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f: Callable[[Any], Any]) -> None:
    check(f, on_xla=f in (sums_at, masks, flat_places))


def into(x: Any, write: Callable[[Any, Any], Any], dtype: Any = float, shape: Any = 3) -> Any:
    y = np.zeros_like(x, dtype, shape=shape)
    write(y, x)
    return np.sum(y)


# Writes that NumPy refuses for plain arrays are refused for traced ones in NumPy's words, except for numbers that NumPy
# would cut.
ALIKE: dict[str, Callable[[Any, Any], Any]] = {
    "at: shape": lambda y, x: np.add.at(y, [0, 1], x),
    "at: bounds": lambda y, x: np.multiply.at(y, [5], 1.0),
    "at: product": lambda y, x: UNTYPED.matmul.at(y, [0], x),
    "at: results": lambda y, x: UNTYPED.divmod.at(y, [0], x),
    "at: operands": lambda y, x: UNTYPED.add.at(y, [0]),
    "copyto: shape": lambda y, x: np.copyto(y, x[:2]),
    "copyto: rank": lambda y, x: np.copyto(y, np.ones((2, 3)) * x),
    "put: bounds": lambda y, x: np.put(y, [0, 9], x),
    "put: mode": lambda y, x: UNTYPED.put(y, [0, 9], x, mode="no"),
    "put_along_axis": lambda y, x: np.put_along_axis(y, np.array([[0]]), x, 0),
    "putmask": lambda y, x: np.putmask(y, [True], x),
    "place": lambda y, x: np.place(y, y == 0, []),
    "fill_diagonal": lambda y, x: np.fill_diagonal(y, x),
    "imag": lambda y, x: setattr(y, "imag", x),
    "flat": lambda y, x: y.flat.__setitem__((0, 0), x),
}


def error_of(call: Callable[[], Any]) -> Exception:
    try:
        call()
    except (TypeError, ValueError, IndexError) as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("write", ALIKE.values(), ids=ALIKE)
def test_numpys_mistakes(write: Callable[[Any, Any], Any]) -> None:
    x = np.array([0.5, 1.0, 2.0])
    numpys, ours = error_of(lambda: into(x, write)), error_of(lambda: fg.grad(lambda x: into(x, write))(x))
    assert type(numpys) is type(ours)
    if type(numpys) is not TypeError:
        assert str(ours) == str(numpys)


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "plain: at": (
        lambda y, x: np.add.at(np.zeros(3), [0], x),
        TracerAssignmentError,
        r"add\.at.*np\.zeros\(n, like=x\)",
    ),
    "plain: copyto": (lambda y, x: np.copyto(np.zeros(3), x), TracerAssignmentError, r"copyto.*f64\[3\].*like=x"),
    "plain: put": (lambda y, x: np.put(np.zeros(3), [0], x), TracerAssignmentError, "like=x"),
    "plain: place": (lambda y, x: np.place(np.zeros(3), [True] * 3, x), TracerAssignmentError, "like=x"),
    "cut: put": (lambda y, x: np.put(y.astype(int), [0], x), TracerAssignmentError, "would be cut"),
    "cut: at": (lambda y, x: np.add.at(y.astype(int), [0], x[0]), TracerAssignmentError, "would be cut"),
    "cut: fill": (lambda y, x: y.astype(int).fill(x[0]), TracerAssignmentError, "would be cut"),
    "resize": (lambda y, x: y.resize(4), TracerAssignmentError, r"np\.resize"),
    "setflags": (lambda y, x: y.setflags(write=False), TracerAssignmentError, "Leave the call out"),
    "a number": (lambda y, x: np.copyto(np.sum(x), 1.0), TypeError, "must be an array"),
    "a staged index": (
        lambda y, x: fg.jit(lambda x: np.maximum.at(np.zeros_like(x), np.argsort(x), x))(x),
        UnsupportedFunctionError,
        "indices are traced",
    ),
    "masks": (
        lambda y, x: fg.jit(lambda x: (x * 1).__setitem__(x > 0, x))(x),
        TracerAssignmentError,
        r"np\.where\(mask, values, x\)",
    ),
    "two masks": (
        lambda y, x: fg.jit(lambda x: np.outer(x, x).__setitem__((x > 0, x > 0), 1.0))(x),
        TracerAssignmentError,
        "the index has other index arrays",
    ),
}


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize(("write", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(write: Callable[[Any, Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fg.grad(lambda x: into(x, write))(np.array([0.5, 1.0, 2.0]))


def test_plain_numbers_are_cut_as_numpy_cuts_them() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x, int)
        np.put(y, [0], 1.7)
        np.add.at(y, [0, 0, 1], [1.2, 1, 2])
        np.putmask(y, y == 0, [5.5])
        y[:1].fill(9.9)
        assert y.dtype == int
        return np.sum(y * np.arange(5) * x)

    plain = np.zeros(5, int)
    np.put(plain, [0], 1.7)
    np.add.at(plain, [0, 0, 1], [1.2, 1, 2])
    np.putmask(plain, plain == 0, [5.5])
    plain[:1].fill(9.9)
    np.testing.assert_array_equal(fg.grad(f)(X), plain * np.arange(5))


# Results of NumPy without axes: numbers, which a write through another name does not change, and arrays.
WITHOUT_AXES: dict[str, Callable[[Any, Any], Any]] = {
    "median": lambda x, z: np.median(x),
    "quantile": lambda x, z: np.quantile(x, 0.3),
    "nanmax": lambda x, z: np.nanmax(x),
    "nanmedian": lambda x, z: np.nanmedian(x),
    "nanvar": lambda x, z: np.nanvar(x),
    "inner": lambda x, z: np.inner(x, x),
    "einsum": lambda x, z: np.einsum("i,i->", x, x),
    "vecdot": lambda x, z: np.vecdot(x, x),
    "multi_dot": lambda x, z: np.linalg.multi_dot([x, np.eye(5), x]),
    "nan_to_num": lambda x, z: np.nan_to_num(z),
    "interp": lambda x, z: np.interp(z, [0.0, 3.0], [0.0, 1.0]),
    "sum": lambda x, z: np.sum(x),
    "flip": lambda x, z: np.flip(z) * 1,
    "where": lambda x, z: np.where(z > 1, z, 1.0),
    "select": lambda x, z: np.select([z > 1], [z]),
    "piecewise": lambda x, z: np.piecewise(z, [z > 1], [lambda t: t * 2]),
    "tensordot": lambda x, z: np.tensordot(x, x, 1),
    "i0": lambda x, z: np.i0(z),
    "copy": lambda x, z: np.copy(z),
    "put": lambda x, z: _put_into_a_copy(z, x),
}


def _put_into_a_copy(z: Any, x: Any) -> Any:
    y = np.copy(z)
    np.put(y, [0, -1, 0], x[:3])
    np.put(y, [], 9.0)
    return y


@pytest.mark.parametrize("name", WITHOUT_AXES)
def test_numbers_and_arrays_without_axes(name: str) -> None:
    def f(x: Any, z: Any) -> Any:
        y = WITHOUT_AXES[name](x, z)
        other = y
        other += 1
        return y

    z = np.array(2.0)
    expected = f(X, z)
    pairs = np.stack([X, X]), np.stack([z, z])
    for way in (fg.vjp, fg.linearize):
        np.testing.assert_allclose(way(f, X, z)[0], expected)
    for y in (fg.jit(f, engine="numpy")(X, z), fg.make_graph(f)(X, z)(X, z), fg.vmap(f)(*pairs)[1]):
        np.testing.assert_allclose(y, expected)


def test_what_is_written_stays_as_it_lies_in_memory() -> None:
    def f(x: Any) -> Any:
        y = np.outer(x, x).T * 1
        y *= np.ones((5, 5))
        z = np.zeros_like(y)
        np.ravel(z)[1] = x[0]
        return np.sum(z**2)

    assert fg.value_and_grad(f)(X)[0] == f(X) == 0


def shifted(x: Any) -> Any:
    """Parts of themselves, elsewhere, and then axes of length 1, across which XLA would move the writes."""
    y, z, w = x * 1, x * 2, np.outer(x, x)
    y[1:] = y[:-1] * 0.5
    z[::-1][:-1] = z[:-1] * 0.3
    w[1:, 1:] = w[:-1, :-1] * 0.5
    return y[:, None], z[None], w[:, None]


def test_what_reads_what_it_overwrites_on_xla() -> None:
    for found, expected in zip(fg.jit(shifted)(X), shifted(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    total = lambda x: sum(np.sum(y**2) for y in shifted(x))
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(jax.grad(fg.to_jax(total)))(X), fg.grad(total)(X), rtol=1e-12)


def test_nothing_is_written_into_or_from_an_empty_array() -> None:
    def placed(x: Any) -> Any:
        y = x * 2
        np.place(y, np.zeros(3), [])
        return y

    np.testing.assert_array_equal(fg.vjp(placed, X[:3])[0], 2 * X[:3])

    def put(x: Any) -> Any:
        y = x[:0] * 2
        np.put(y, [0], 1.0, mode="wrap")
        return y

    for run in (put, fg.jit(put, engine="numpy"), lambda x: fg.vjp(put, x)):
        with pytest.raises(IndexError, match="cannot replace elements of an empty array"):
            run(X)
