"""Axes and elements rearranged: NumPy's values, JAX's gradients."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ConcretizationTypeError, UnsupportedFunctionError
from tests.numpy._surface import check_surface

CASES: dict[str, tuple[Any, tuple]] = {
    "reshape": (lambda m, x: m.reshape(x, (4, -1)), ((2, 3, 2),)),
    "reshape to one axis": (lambda m, x: m.reshape(x, 6), ((2, 3),)),
    "reshape, first axis fastest": (lambda m, x: m.reshape(x, (3, 4), order="F"), ((2, 3, 2),)),
    "reshape of nothing": (lambda m, x: m.reshape(x, (3, 0, 2)), ((0, 4),)),
    "the reshape method": (lambda m, x: x.reshape(3, 2), ((2, 3),)),
    "the reshape method of a tuple": (lambda m, x: x.reshape((3, -1)), ((2, 3),)),
    "the reshape method to a scalar": (lambda m, x: x.reshape(()), ((1, 1),)),
    "ravel": (lambda m, x: m.ravel(x), ((2, 3),)),
    "ravel, first axis fastest": (lambda m, x: m.ravel(x, order="F"), ((2, 3),)),
    "ravel of nothing": (lambda m, x: m.ravel(x), ((0, 3),)),
    "the ravel method": (lambda m, x: x.ravel(), ((2, 3),)),
    "the flatten method": (lambda m, x: x.flatten(), ((2, 3),)),
    "transpose": (lambda m, x: m.transpose(x), ((2, 3, 4),)),
    "transpose by axes": (lambda m, x: m.transpose(x, (1, -1, 0)), ((2, 3, 4),)),
    "the transpose method": (lambda m, x: x.transpose(2, 0, 1), ((2, 3, 4),)),
    "the transpose method of a tuple": (lambda m, x: x.transpose((2, 0, 1)), ((2, 3, 4),)),
    "permute_dims": (lambda m, x: m.permute_dims(x, (1, 0)), ((2, 3),)),
    "T": (lambda m, x: x.T, ((2, 3, 4),)),
    "T of a vector": (lambda m, x: x.T, ((3,),)),
    "mT": (lambda m, x: x.mT, ((2, 3, 4),)),
    "matrix_transpose": (lambda m, x: m.matrix_transpose(x), ((2, 3, 4),)),
    "swapaxes": (lambda m, x: m.swapaxes(x, 0, -1), ((2, 3, 4),)),
    "the swapaxes method": (lambda m, x: x.swapaxes(1, 0), ((2, 3, 4),)),
    "moveaxis": (lambda m, x: m.moveaxis(x, 0, -1), ((2, 3, 4),)),
    "moveaxis of two": (lambda m, x: m.moveaxis(x, (0, 2), (-1, 0)), ((2, 3, 4),)),
    "rollaxis": (lambda m, x: m.rollaxis(x, 2), ((2, 3, 4),)),
    "rollaxis to the end": (lambda m, x: m.rollaxis(x, 0, 3), ((2, 3, 4),)),
    "squeeze": (lambda m, x: m.squeeze(x), ((1, 3, 1),)),
    "squeeze one axis": (lambda m, x: m.squeeze(x, axis=-1), ((1, 3, 1),)),
    "the squeeze method": (lambda m, x: x.squeeze(0), ((1, 3, 1),)),
    "expand_dims": (lambda m, x: m.expand_dims(x, -1), ((2, 3),)),
    "expand_dims by two": (lambda m, x: m.expand_dims(x, (0, -1)), ((2, 3),)),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (4, 2, 3)), ((2, 1),)),
    "broadcast_arrays": (lambda m, x, y: m.concatenate(m.broadcast_arrays(x, y)), ((2, 1), (3,))),
    "atleast_1d": (lambda m, x: m.atleast_1d(x), ((),)),
    "atleast_2d": (lambda m, x: m.atleast_2d(x), ((3,),)),
    "atleast_3d of a vector": (lambda m, x: m.atleast_3d(x), ((3,),)),
    "atleast_3d of a matrix": (lambda m, x: m.atleast_3d(x), ((2, 3),)),
    "atleast_2d of two": (lambda m, x, y: m.concatenate(m.atleast_2d(x, y)), ((3,), (2, 3))),
    "flip": (lambda m, x: m.flip(x), ((2, 3),)),
    "flip one axis": (lambda m, x: m.flip(x, axis=-1), ((2, 3),)),
    "fliplr": (lambda m, x: m.fliplr(x), ((2, 3),)),
    "flipud": (lambda m, x: m.flipud(x), ((2, 3),)),
    "rot90": (lambda m, x: m.rot90(x), ((2, 3),)),
    "rot90 by two": (lambda m, x: m.rot90(x, 2), ((2, 3),)),
    "rot90 back": (lambda m, x: m.rot90(x, -1, axes=(1, 2)), ((2, 3, 4),)),
    "roll": (lambda m, x: m.roll(x, 2), ((2, 3),)),
    "roll an axis": (lambda m, x: m.roll(x, -4, axis=1), ((2, 3),)),
    "roll two axes": (lambda m, x: m.roll(x, (1, 2), axis=(0, 1)), ((2, 3),)),
    "roll of nothing": (lambda m, x: m.roll(x, 1, axis=0), ((0, 3),)),
    "tile": (lambda m, x: m.tile(x, 3), ((2, 3),)),
    "tile more axes": (lambda m, x: m.tile(x, (2, 1, 2)), ((2, 3),)),
    "tile fewer axes": (lambda m, x: m.tile(x, (2,)), ((2, 3),)),
    "tile a scalar": (lambda m, x: m.tile(x, (2, 2)), ((),)),
    "repeat": (lambda m, x: m.repeat(x, 2), ((2, 3),)),
    "repeat along an axis": (lambda m, x: m.repeat(x, 3, axis=-1), ((2, 3),)),
    "repeat by number": (lambda m, x: m.repeat(x, np.array([0, 2, 1]), axis=1), ((2, 3),)),
    "the repeat method": (lambda m, x: x.repeat(2, axis=0), ((2, 3),)),
}


@pytest.mark.parametrize(("f", "shapes"), CASES.values(), ids=CASES)
def test_surface(f: Any, shapes: tuple, rng: np.random.Generator) -> None:
    check_surface(f, [rng.normal(size=shape) for shape in shapes])


@pytest.mark.parametrize("name", ["reshape", "flip_and_roll"])
def test_single_precision_and_complex_are_kept(name: str, rng: np.random.Generator) -> None:
    def f(m: Any, x: Any) -> Any:
        return m.reshape(x, (3, 2)) if name == "reshape" else m.roll(m.flip(x, 0), 1, axis=1)

    x = rng.normal(size=(2, 3))
    check_surface(f, [x.astype(np.float32)], tolerance=1e-6)
    check_surface(f, [x + 1j])


def test_jax_arrays_stay_on_their_engine() -> None:
    x = jax.numpy.arange(6.0)
    for y in (fnp.reshape(x, (2, 3)), fnp.roll(x, 1), fnp.tile(x, 2), fnp.flip(x)):
        assert isinstance(y, jax.Array)


def test_plain_values_are_taken() -> None:
    np.testing.assert_array_equal(fnp.reshape([1, 2, 3, 4], (2, 2)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(fnp.atleast_2d(1.0), [[1.0]])
    assert fnp.shape([[1, 2, 3]]) == (1, 3)
    assert (fnp.ndim(2.0), fnp.size([[1, 2]]), fnp.size([[1, 2]], 1)) == (0, 2, 2)


def test_questions_about_the_shape_of_a_tracer() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((np.shape(x), np.ndim(x), np.size(x), np.size(x, -1), x.itemsize, x.nbytes, x.size, x.ndim))
        return np.sum(x)

    fg.grad(f)(np.ones((2, 3)))
    assert seen == [((2, 3), 2, 6, 3, 8, 48, 6, 2)]


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: np.reshape(x, (4, 2)), ValueError, r"cannot reshape array of size 6 into shape \(4, 2\)"),
        (lambda x: np.reshape(x, (-1, -1)), ValueError, "one unknown dimension"),
        (lambda x: np.reshape(x, (4, -1)), ValueError, "cannot reshape"),
        (lambda x: np.reshape(x, (6,), copy=False), UnsupportedFunctionError, "copy=False"),
        (lambda x: x.reshape(2.5), TypeError, "integer"),
        (lambda x: np.transpose(x, (0, 0)), ValueError, "repeated axis"),
        (lambda x: np.transpose(x, (0,)), ValueError, "axes don't match"),
        (lambda x: np.swapaxes(x, 0, 5), np.exceptions.AxisError, "out of bounds"),
        (lambda x: np.moveaxis(x, (0, 1), 0), ValueError, "same number"),
        (lambda x: np.squeeze(x, 0), ValueError, "not equal to one"),
        (lambda x: np.expand_dims(x, 4), np.exceptions.AxisError, "out of bounds"),
        (lambda x: np.broadcast_to(x, (3, 2)), ValueError, "could not be broadcast"),
        (lambda x: np.matrix_transpose(x[0]), ValueError, "2-dimensional"),
        (lambda x: np.fliplr(x[0]), ValueError, "2-d"),
        (lambda x: np.repeat(x, -1), ValueError, "negative"),
    ],
)
def test_refusals(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fg.vjp(f, np.ones((2, 3)))


def test_a_number_of_repeats_without_numbers_is_refused() -> None:
    with pytest.raises(ConcretizationTypeError, match=r"numpy\.repeat"):
        fg.make_graph(lambda x, n: np.repeat(x, n))(np.ones(3), np.array([1, 2, 3]))


def test_ravel_copies_what_does_not_lie_in_one_piece() -> None:
    x = np.arange(6.0)
    for y in (x, x[::2], x[::-1], x.reshape(2, 3).T, np.broadcast_to(np.array(1.0), (2,))):
        for order in ("C", "F", "A", "K"):
            assert np.shares_memory(fnp.ravel(y, order), y) == np.shares_memory(np.ravel(y, order), y)
            np.testing.assert_array_equal(fnp.ravel(y, order), np.ravel(y, order))


@pytest.mark.parametrize("new", [np.conj, np.positive, lambda x: +x, np.copy, lambda x: x.astype(float)])
def test_new_arrays_lie_in_memory_as_numpys(new: Any) -> None:
    """Whether ravel gives a view of them depends on it."""

    def f(x: Any) -> Any:
        y = new(x.T)
        flat = y.ravel()
        y[0] = 0
        return np.sum(flat * np.arange(6.0))

    x = np.arange(1.0, 7.0).reshape(2, 3)
    assert fg.vjp(f, x)[0] == f(x)
    np.testing.assert_array_equal(fg.grad(f)(x), [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]])


def test_a_number_has_one_axis_to_repeat_and_take_along_and_none_to_pad() -> None:
    def f(x: Any) -> Any:
        total = np.sum(x)
        padded = np.pad(np.copy(total), 1)
        padded[...] = np.sin(padded)
        kept = number = np.nan_to_num(total * 1j)
        number += 1
        return np.take(total, [0, 0], axis=0), np.repeat(total, 2, axis=-1), padded, kept, number

    x = np.array([1.0, 2.0])
    for got in (fg.vjp(f, x)[0], fg.jit(f, engine="numpy")(x), fg.jit(f)(x)):
        for y, expected in zip(got, f(x), strict=True):
            np.testing.assert_allclose(y, expected)
    with pytest.raises(np.exceptions.AxisError):
        fg.grad(lambda x: np.take(np.sum(x), 0, axis=1))(x)
