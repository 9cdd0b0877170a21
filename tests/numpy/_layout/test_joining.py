"""Arrays joined, cut and padded: NumPy's values, JAX's gradients."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import TracerAssignmentError
from tests.numpy._surface import check_surface, same

CASES: dict[str, tuple[Any, tuple]] = {
    "concatenate": (lambda m, x, y: m.concatenate([x, y, x]), ((2, 3), (1, 3))),
    "concatenate the last axis": (lambda m, x, y: m.concatenate((x, y), axis=-1), ((2, 3), (2, 1))),
    "concatenate flat": (lambda m, x, y: m.concatenate([x, y], axis=None), ((2, 3), (4,))),
    "concatenate with nothing": (lambda m, x, y: m.concatenate([x, y]), ((0, 3), (1, 3))),
    "concatenate one": (lambda m, x: m.concatenate([x]), ((2, 3),)),
    "concatenate with an array": (lambda m, x: m.concatenate([np.ones((1, 3), np.float32), x]), ((2, 3),)),
    "concatenate the rows of an array": (lambda m, x: m.concatenate(x), ((2, 3),)),
    "stack": (lambda m, x, y: m.stack([x, y]), ((2, 3), (2, 3))),
    "stack along the last axis": (lambda m, x, y: m.stack([x, y], axis=-1), ((2, 3), (2, 3))),
    "stack scalars": (lambda m, x, y: m.stack([x, y, x]), ((), ())),
    "vstack": (lambda m, x, y: m.vstack([x, y]), ((3,), (2, 3))),
    "hstack of vectors": (lambda m, x, y: m.hstack([x, y]), ((3,), (2,))),
    "hstack of matrices": (lambda m, x, y: m.hstack([x, y]), ((2, 3), (2, 1))),
    "dstack": (lambda m, x, y: m.dstack([x, y]), ((2, 3), (2, 3))),
    "column_stack": (lambda m, x, y: m.column_stack([x, y]), ((2,), (2, 3))),
    "block": (lambda m, x, y: m.block([[x, m.ones((2, 1))], [y, m.zeros((1, 1))]]), ((2, 3), (1, 3))),
    "block of a row": (lambda m, x, y: m.block([x, y]), ((2,), (3,))),
    "append": (lambda m, x, y: m.append(x, y), ((2, 3), (2,))),
    "append along an axis": (lambda m, x, y: m.append(x, y, axis=0), ((2, 3), (1, 3))),
    "split": (lambda m, x: m.split(x, 3, axis=1)[1], ((2, 6),)),
    "split at places": (lambda m, x: m.concatenate(m.split(x, [1, 3])[::-1]), ((4, 2),)),
    "array_split": (lambda m, x: m.stack([m.sum(part) for part in m.array_split(x, 3)]), ((7, 2),)),
    "vsplit": (lambda m, x: m.vsplit(x, 2)[1], ((4, 2),)),
    "hsplit": (lambda m, x: m.hsplit(x, 2)[0], ((3, 4),)),
    "hsplit of a vector": (lambda m, x: m.hsplit(x, 2)[0], ((4,),)),
    "dsplit": (lambda m, x: m.dsplit(x, 2)[1], ((2, 3, 4),)),
    "pad": (lambda m, x: m.pad(x, 1), ((2, 3),)),
    "pad by axis": (lambda m, x: m.pad(x, ((0, 1), (2, 0))), ((2, 3),)),
    "pad with a number": (lambda m, x: m.pad(x, (1, 2), constant_values=3.0), ((2, 3),)),
    "pad with numbers": (
        lambda m, x: m.pad(x, 1, constant_values=np.array([[1.0, 2.0], [3.0, 4.0]])),
        ((2, 3),),
    ),
    "pad with the edge": (lambda m, x: m.pad(x, (2, 1), mode="edge"), ((2, 3),)),
    "pad by reflection": (lambda m, x: m.pad(x, ((1, 1), (2, 5)), mode="reflect"), ((2, 3),)),
    "pad symmetrically": (lambda m, x: m.pad(x, (1, 4), mode="symmetric"), ((3,),)),
    "pad around": (lambda m, x: m.pad(x, (1, 4), mode="wrap"), ((3,),)),
    "delete": (lambda m, x: m.delete(x, 1), ((4,),)),
    "delete rows": (lambda m, x: m.delete(x, np.array([0, 2]), axis=0), ((4, 2),)),
    "insert": (lambda m, x, v: m.insert(x, 2, v), ((4,), ())),
    "insert a row": (lambda m, x, v: m.insert(x, 1, v, axis=0), ((2, 3), (3,))),
    "insert columns": (lambda m, x, v: m.insert(x, np.array([0, 2]), v, axis=1), ((2, 3), (2, 2))),
}


@pytest.mark.parametrize(("f", "shapes"), CASES.values(), ids=CASES)
def test_surface(f: Any, shapes: tuple, rng: np.random.Generator) -> None:
    check_surface(f, [rng.normal(size=shape) for shape in shapes])


def test_a_split_beyond_the_end_leaves_nothing() -> None:
    parts, pullback = fg.vjp(lambda x: np.split(x, [2, 9]), np.arange(4.0))
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3], []]
    np.testing.assert_array_equal(pullback([np.ones(2), 2 * np.ones(2), np.ones(0)])[0], [1, 1, 2, 2])


def test_unstack(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3))
    parts = fnp.unstack(x, axis=1)
    assert len(parts) == 3
    np.testing.assert_array_equal(parts[2], x[:, 2])
    got = fg.grad(lambda x: np.sum(fnp.unstack(x, axis=1)[2] ** 2))(x)
    same(got, np.stack([0 * x[:, 0], 0 * x[:, 1], 2 * x[:, 2]], 1), 0)


def test_dtypes_are_promoted_as_by_numpy() -> None:
    x = np.ones(2, np.float32)
    for other in (np.ones(2, np.int8), np.ones(2), np.ones(2, complex), [1.0, 2.0]):
        graph = fg.make_graph(lambda x, other=other: np.concatenate([x, other]))(x)
        assert graph.outputs[0].aval.dtype == np.concatenate([x, other]).dtype
    assert fg.vjp(lambda x: np.stack([x, x], dtype=np.float64), x)[0].dtype == np.float64


def test_pad_with_a_traced_number() -> None:
    got = fg.grad(lambda c: np.sum(fnp.pad(np.ones((2, 2)), 1, constant_values=c)))(2.0)
    assert got == 12.0


def test_a_split_costs_one_buffer() -> None:
    # Each part with a buffer of its own would fill 1,000 times 80 MB.
    x = np.ones((1000, 10_000))
    got = fg.grad(lambda x: sum(part[0, 0] for part in np.split(x, 1000)))(x)
    assert got.sum() == 1000


def test_a_long_concatenation_is_linear() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.concatenate([x[i : i + 1] for i in range(3000)]) ** 2)

    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(fg.grad(f)(x) ** 2))(np.ones(3000)), 8.0)


def test_a_stack_of_many_is_one_node() -> None:
    graph = fg.make_graph(lambda x: np.stack([x] * 5))(np.ones(3))
    assert [equation.primitive.name for equation in graph.equations] == ["stack"]


def test_jax_arrays_stay_on_their_engine() -> None:
    x = jax.numpy.arange(6.0)
    for y in (fnp.concatenate([x, np.ones(2, np.float32)]), fnp.stack([x, x]), fnp.split(x, 2)[1], fnp.pad(x, 1)):
        assert isinstance(y, jax.Array)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: np.concatenate([x, x[0]]), ValueError, r"f64\[2,3\] and array 1 is f64\[3\]"),
        (lambda x: np.concatenate([x[0, 0], x[0, 0]]), ValueError, "zero-dimensional"),
        (lambda x: np.concatenate([x, x], axis=2), np.exceptions.AxisError, "out of bounds"),
        (lambda x: np.concatenate([x, x], out=np.ones((4, 3))), TracerAssignmentError, "out="),
        (lambda x: fnp.concatenate([]), ValueError, "at least one"),
        (lambda x: np.stack([x, x[0]]), ValueError, "same shape"),
        (lambda x: np.split(x, 3), ValueError, "equal division"),
        (lambda x: np.array_split(x, 0), ValueError, "larger than 0"),
        (lambda x: np.dsplit(x, 1), ValueError, "3 or more"),
        (lambda x: np.block([[x], x]), ValueError, "mismatched"),
        (lambda x: np.pad(x, 1, mode="edge", constant_values=1), ValueError, "unsupported keyword"),
        (lambda x: np.pad(x, -1), ValueError, "negative"),
    ],
)
def test_refusals(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fg.vjp(f, np.ones((2, 3)))


def test_delete_by_an_empty_list() -> None:
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(fg.vjp(lambda x: np.delete(x, [], axis=0), x)[0], x)
    with pytest.raises(IndexError):
        fnp.delete(x, np.array([]), axis=0)


@pytest.mark.parametrize("axis", [0, None])
def test_out_and_dtype_are_refused_together(axis: int | None) -> None:
    def joined(x: Any) -> Any:
        return np.sum(np.concatenate((x, x), axis=axis, out=np.zeros(4, like=x), dtype=float))

    with pytest.raises(TypeError, match="only takes `out` or `dtype` as an argument"):
        fg.grad(joined)(np.ones(2))
