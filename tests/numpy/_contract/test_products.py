"""Products summed over axes: NumPy's values, JAX's gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import TracerAssignmentError, UnsupportedFunctionError
from tests.numpy._surface import check_surface

CASES: dict[str, tuple[Any, tuple]] = {
    "matmul of matrices": (lambda m, a, b: m.matmul(a, b), ((2, 3), (3, 4))),
    "the operator": (lambda m, a, b: a @ b, ((2, 3), (3, 4))),
    "the operator with an array on the left": (lambda m, b: np.arange(6.0).reshape(2, 3) @ b, ((3, 4),)),
    "matmul of vectors": (lambda m, a, b: a @ b, ((3,), (3,))),
    "matmul of matrix and vector": (lambda m, a, b: a @ b, ((2, 3), (3,))),
    "matmul of vector and matrix": (lambda m, a, b: a @ b, ((3,), (3, 4))),
    "matmul of stacks": (lambda m, a, b: a @ b, ((5, 2, 3), (5, 3, 4))),
    "matmul of stack and matrix": (lambda m, a, b: a @ b, ((5, 2, 3), (3, 4))),
    "matmul of matrix and stack": (lambda m, a, b: a @ b, ((2, 3), (5, 3, 4))),
    "matmul of stack and vector": (lambda m, a, b: a @ b, ((5, 2, 3), (3,))),
    "matmul of vector and stack": (lambda m, a, b: a @ b, ((3,), (5, 3, 4))),
    "matmul of stacks that broadcast": (lambda m, a, b: a @ b, ((5, 1, 2, 3), (4, 3, 2))),
    "matmul of stacks that broadcast both ways": (lambda m, a, b: a @ b, ((5, 1, 1, 2, 3), (1, 4, 1, 3, 2))),
    "dot of matrices": (lambda m, a, b: m.dot(a, b), ((2, 3), (3, 4))),
    "dot of vectors": (lambda m, a, b: m.dot(a, b), ((3,), (3,))),
    "dot with a scalar": (lambda m, a, b: m.dot(a, b), ((), (3, 4))),
    "dot of stacks": (lambda m, a, b: m.dot(a, b), ((2, 3, 4), (5, 4, 2))),
    "the dot method": (lambda m, a, b: a.dot(b), ((2, 3), (3, 4))),
    "vdot": (lambda m, a, b: m.vdot(a, b), ((2, 3), (2, 3))),
    "inner": (lambda m, a, b: m.inner(a, b), ((2, 3), (4, 3))),
    "outer": (lambda m, a, b: m.outer(a, b), ((2, 3), (4,))),
    "tensordot by number": (lambda m, a, b: m.tensordot(a, b), ((2, 3, 4), (3, 4, 2))),
    "tensordot by axes": (lambda m, a, b: m.tensordot(a, b, axes=((0, 2), (-1, 0))), ((2, 3, 4), (4, 3, 2))),
    "tensordot of nothing": (lambda m, a, b: m.tensordot(a, b, 0), ((2,), (3,))),
    "kron": (lambda m, a, b: m.kron(a, b), ((2, 3), (3, 2))),
    "kron of different depths": (lambda m, a, b: m.kron(a, b), ((2,), (3, 2, 2))),
    "cross": (lambda m, a, b: m.cross(a, b), ((4, 3), (3,))),
    "cross along an axis": (lambda m, a, b: m.cross(a, b, axis=0), ((3, 2), (3, 2))),
    "cross with the result elsewhere": (lambda m, a, b: m.cross(a, b, 0, 1, 1), ((3, 2, 4), (2, 3, 4))),
    "vecdot": (lambda m, a, b: m.vecdot(a, b), ((4, 3), (3,))),
    "vecdot along an axis": (lambda m, a, b: m.linalg.vecdot(a, b, axis=0), ((4, 3), (4, 3))),
    "matvec": (lambda m, a, b: m.matvec(a, b), ((4, 2, 3), (3,))),
    "vecmat": (lambda m, a, b: m.vecmat(a, b), ((4, 2), (2, 3))),
    "trace": (lambda m, x: m.trace(x), ((3, 4),)),
    "trace with an offset": (lambda m, x: m.trace(x, offset=-1, axis1=2, axis2=0), ((3, 2, 4),)),
    "the trace method": (lambda m, x: x.trace(1), ((3, 4),)),
    "diagonal": (lambda m, x: m.diagonal(x, 1), ((3, 4, 2),)),
    "multi_dot": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), ((2, 30), (30, 3), (3, 4))),
    "multi_dot of vectors": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), ((2,), (2, 3), (3,))),
    "nothing to sum": (lambda m, a, b: a @ b, ((2, 0), (0, 3))),
}
EINSUMS: dict[str, tuple] = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,jk": ((2, 3), (3, 4)),
    "ij,jk->ki": ((2, 3), (3, 4)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 2)),
    "bqhd,bkhd->bhqk": ((2, 3, 2, 4), (2, 5, 2, 4)),
    "bhqk,bkhd->bqhd": ((2, 2, 3, 5), (2, 5, 2, 4)),
    "i,j->ij": ((2,), (3,)),
    "i,i->": ((3,), (3,)),
    "i,i->i": ((3,), (3,)),
    "ij->ji": ((2, 3),),
    "ij->": ((2, 3),),
    "ij->j": ((2, 3),),
    "ba": ((2, 3),),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "iji->j": ((3, 2, 3),),
    "iii->i": ((3, 3, 3),),
    "iij,jk->ik": ((2, 2, 3), (3, 4)),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 2)),
    "ij,ik,il->jkl": ((2, 3), (2, 4), (2, 2)),
    "ij,kl->": ((2, 3), (2, 2)),
    "i,,j->ji": ((2,), (), (3,)),
    "...ij,...jk->...ik": ((5, 1, 2, 3), (4, 3, 2)),
    "...i,i": ((2, 3, 4), (4,)),
    "i...->...": ((3, 2, 2),),
    "ij,ij->i": ((2, 3), (1, 3)),
    " a b , b c -> a c ": ((2, 3), (3, 4)),
    "ij,j->i": ((0, 3), (3,)),
}


def drawn(rng: np.random.Generator, shapes: tuple, dtype: str = "float64") -> list[Any]:
    xs = [rng.normal(size=shape) for shape in shapes]
    return [np.asarray(x + 1j * rng.normal(size=x.shape) if dtype.startswith("c") else x, dtype) for x in xs]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_products(name: str, dtype: str, rng: np.random.Generator) -> None:
    f, shapes = CASES[name]
    check_surface(f, drawn(rng, shapes, dtype))


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(subscripts: str, rng: np.random.Generator) -> None:
    check_surface(lambda m, *xs: m.einsum(subscripts, *xs), drawn(rng, EINSUMS[subscripts]))


def test_einsum_with_axes_as_lists(rng: np.random.Generator) -> None:
    args = drawn(rng, ((2, 3, 4), (4, 5)))
    check_surface(lambda m, a, b: m.einsum(a, [Ellipsis, 7], b, [7, 3], [3, Ellipsis]), args)
    check_surface(lambda m, a, b: m.einsum(a, [0, 1, 2], b, [2, 3]), args)


@pytest.mark.parametrize(
    "optimize", [False, True, "greedy", ["einsum_path", (1, 2), (0, 1)], ["einsum_path", (0, 1, 2)]]
)
def test_einsum_in_any_order(optimize: Any, rng: np.random.Generator) -> None:
    args = drawn(rng, ((2, 3), (3, 4), (4, 2)))
    check_surface(lambda m, *xs: m.einsum("ij,jk,kl->il", *xs, optimize=m is not np or optimize), args)


def test_single_precision_stays(rng: np.random.Generator) -> None:
    for f, shapes in (CASES["matmul of stacks that broadcast"], CASES["cross"], CASES["kron"]):
        check_surface(f, drawn(rng, shapes, "float32"), tolerance=1e-5)


def test_dtypes_mix_as_in_numpy(rng: np.random.Generator) -> None:
    check_surface(lambda m, a: a @ np.arange(6).reshape(3, 2), drawn(rng, ((2, 3),), "float32"), tolerance=1e-5)
    check_surface(lambda m, a: np.arange(6).reshape(3, 2) @ a, drawn(rng, ((2, 3),)))


def test_products_are_one_operation() -> None:
    """No operand is turned or repeated before the product."""

    def names(f: Any, *shapes: tuple) -> list[str]:
        return [equation.primitive.name for equation in fg.make_graph(f)(*map(np.ones, shapes)).equations]

    assert names(lambda a, b: a @ b, (2, 3), (3, 4)) == ["matmul"]
    assert names(lambda a, b: a @ b, (5, 2, 3), (3, 4)) == ["dot_general"]
    assert names(lambda a, b: np.einsum("bqhd,bkhd->bhqk", a, b), (2, 3, 2, 4), (2, 5, 2, 4)) == ["dot_general"]
    assert names(fg.grad(lambda a, b: np.sum(a @ b)), (2, 3), (3, 4))[-1] == "dot_general"


def test_mistakes(rng: np.random.Generator) -> None:
    a, b = drawn(rng, ((2, 3), (4, 2)))
    with pytest.raises(ValueError, match="scalar"):
        fg.vjp(lambda a: a @ 2.0, a)
    with pytest.raises(ValueError, match=r"f64\[2,3\] with f64\[4,2\]"):
        fg.make_graph(lambda a, b: a @ b)(a, b)
    with pytest.raises(ValueError, match="tensordot: axes"):
        fg.vjp(lambda a, b: np.tensordot(a, b, 1), a, b)
    with pytest.raises(ValueError, match="label 'j'"):
        fg.vjp(lambda a, b: np.einsum("ij,jk", a, b), a, b)
    with pytest.raises(ValueError, match="2 axes, its subscripts name 3"):
        fg.vjp(lambda a: np.einsum("ijk->", a), a)
    with pytest.raises(ValueError, match="needed 2 or 3"):
        fg.vjp(lambda a: np.cross(a, np.ones(4)), b)
    with pytest.raises(ValueError, match="needed at least two"):
        fg.vjp(lambda a: np.diagonal(a[0] if hasattr(a, "__getitem__") else a.sum(0)), a)
    with pytest.raises(TracerAssignmentError, match="out="):
        fg.vjp(lambda a: np.dot(b, a, out=np.empty((4, 3))), a)
    with pytest.raises(UnsupportedFunctionError, match="signature"):
        fg.vjp(lambda a: np.matmul(a, a.T, signature="dd->d"), a)


def test_plain_arrays_and_numbers() -> None:
    assert fnp.dot(2.0, 3.0) == 6.0
    np.testing.assert_array_equal(fnp.matmul([[1, 2]], [[3], [4]]), [[11]])


@pytest.mark.parametrize("lengths", [(2, 2), (2, 3), (3, 2)])
def test_cross_of_vectors_in_a_plane(lengths: tuple[int, int], rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(4, lengths[0])), rng.normal(size=lengths[1])
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        for f in (np.cross, lambda a, b: fg.vjp(np.cross, a, b)):
            with pytest.raises(ValueError, match=r"dimensional vectors|needed 3, since NumPy 2"):
                f(a, b)
        return
    deprecated = {"match": "2-dimensional vectors are deprecated", "expected_warning": DeprecationWarning}
    with pytest.warns(**deprecated):
        expected = np.cross(a, b)
    with pytest.warns(**deprecated) as seen:
        got, pullback = fg.vjp(np.cross, a, b)
    assert seen[0].filename == __file__
    np.testing.assert_allclose(got, expected, rtol=1e-15)
    whole = [np.append(x, np.zeros((*x.shape[:-1], 3 - x.shape[-1])), axis=-1) for x in (a, b)]
    bar = rng.normal(size=got.shape)
    bars = fg.vjp(lambda a, b: np.cross(a, b)[..., -1] if lengths == (2, 2) else np.cross(a, b), *whole)[1](bar)
    for found, x, x_bar in zip(pullback(bar), (a, b), bars, strict=True):
        np.testing.assert_allclose(found, x_bar[..., : x.shape[-1]], rtol=1e-12)
    with pytest.raises(ValueError, match=r"linalg\.cross: the vectors have"):
        fg.vjp(np.linalg.cross, a, b)
    with pytest.raises(ValueError, match="cross: the vectors have 4 and 4 components"):
        fg.vjp(np.cross, np.ones(4), np.ones(4))


def test_lengths_of_no_products() -> None:
    """Operands that do not fit are refused where there is nothing to multiply, too."""
    for shapes in (((0, 1), (0, 3)), ((0, 2), (0, 1))):
        x, y = map(np.ones, shapes)
        for f in (np.vecdot, lambda x, y: fg.vjp(np.vecdot, x, y), fg.jit(np.vecdot)):
            with pytest.raises(ValueError, match="mismatch in its core dimension"):
                f(x, y)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 1), (2, 3), (2, 1, 1)], ids=str)
@pytest.mark.parametrize("number", [-1.0, -1 - 1j], ids=str)
def test_products_by_a_number_have_numpys_signs_of_zero(number: complex, shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    for f in (lambda x: np.dot(x, number), lambda x: np.dot(number, x), lambda x: np.inner(x, number)):
        expected = np.asarray(f(x), complex)
        for got in (fg.vjp(f, x)[0], fg.jit(f, engine="numpy")(x)):
            found = np.asarray(got, complex)
            for part in (np.real, np.imag):
                assert np.array_equal(np.signbit(part(found)), np.signbit(part(expected)))
