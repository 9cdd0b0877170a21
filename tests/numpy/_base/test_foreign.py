"""Foreign arrays that meet a traced value: arrays of numbers are used, others are unwrapped by element or refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.autograd import tensor
from funcgrad.errors import ForeignArrayError

X = np.array([0.5, 2.0, -1.0])
NUMBERS = np.array([0.5, 3, True])
OBJECTS = NUMBERS.astype(object)
MASKED: Any = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
MATRIX = np.diag([1.0, 2.0, 3.0]).view(np.matrix)
TEXT = np.array(["a", None, 1.0], object)

objects = pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")


class Labelled(np.ndarray):
    """A subclass with an attribute: it computes as NumPy does."""

    label = "of a column"


def _reversed_product(self: np.ndarray, other: Any) -> Any:
    return np.asarray(self)[::-1] * other


# A subclass that computes in its own way.
Reversed: Any = type("Reversed", (np.ndarray,), {"__mul__": _reversed_product, "__rmul__": _reversed_product})

# Functions of ``x`` and of an array of numbers, which the test converts to an array of objects.
MEETS: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda x, c: x * c,
    "reflected times": lambda x, c: c * x,
    "power": lambda x, c: np.abs(x) ** c,
    "matmul": lambda x, c: c.reshape(1, 3) @ x,
    "dot": np.dot,
    "where": lambda x, c: np.where(c > 1, x, c),
    "where by objects": lambda x, c: np.where(c - 0.5, x, 0.0),
    "concatenate": lambda x, c: np.concatenate([x, c]),
    "stack": lambda x, c: np.stack([c, x]),
    "maximum": np.maximum,
    "einsum": lambda x, c: np.einsum("i,i", x, c),
    "average": lambda x, c: np.average(x, weights=c),
    "interp": lambda x, c: np.interp(x, [-1.0, 1.0, 3.0], c),
    "solve": lambda x, c: np.linalg.solve(np.diag(x), c),
    "in a list": lambda x, c: np.stack([x[0], c[0], c[1]]),
    "set": lambda x, c: x.at[:].set(x * x).at[1:].add(c[1:]),
    "taken": lambda x, c: np.take(x, (c > 1).astype(c.dtype).astype(int)),
}


@pytest.mark.parametrize("name", MEETS)
def test_an_array_of_objects_that_are_numbers_is_the_array_of_them(name: str) -> None:
    def f(c: np.ndarray) -> Callable[[Any], Any]:
        return lambda x: np.sum(MEETS[name](x, c) * 1.5)

    expected = fg.grad(f(NUMBERS))(X)
    np.testing.assert_array_equal(fg.grad(f(OBJECTS))(X), expected)
    assert fg.grad(f(OBJECTS))(X).dtype == np.float64
    np.testing.assert_allclose(fg.jvp(f(OBJECTS), (X,), (np.ones(3),))[1], expected.sum())
    np.testing.assert_allclose(fg.make_graph(fg.grad(f(OBJECTS)))(X)(X), expected)


def test_regression_on_a_table_with_a_column_of_text() -> None:
    rows = np.array([[1.0, 2.0, "a"], [3.0, 4.0, "b"]], object)
    got = fg.grad(lambda w: np.mean((rows[:, :2] @ w - 1.0) ** 2))(np.zeros(2))
    np.testing.assert_array_equal(got, [-4.0, -6.0])
    with pytest.raises(ForeignArrayError, match=r"matmul|dtype object.*\.astype\(float\)"):
        fg.grad(lambda w: np.sum(rows @ w))(np.zeros(3))


SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda x, c: x * c,
    "reflected times": lambda x, c: c * x,
    "minus": lambda x, c: x - c,
    "reflected minus": lambda x, c: c - x,
    "over": lambda x, c: x / c,
    "reflected over": lambda x, c: c / x,
    "power": lambda x, c: abs(x) ** c,
    "reflected power": lambda x, c: c ** abs(x),
    "modulo": lambda x, c: x % c,
    "floor": lambda x, c: x * (x // c),
    "compared": lambda x, c: x * (x < c) + x * (c > x) + x * (x == c),
    "maximum": np.maximum,
    "clip": lambda x, c: np.clip(x, -c, c),
    "full_like": lambda x, c: np.full_like(x, c) * x,
    "where": lambda x, c: np.where(x > 0, x, c),
}


@pytest.mark.parametrize("scalar", [Fraction(1, 2), Decimal("0.5")], ids=["Fraction", "Decimal"])
@pytest.mark.parametrize("name", SCALARS)
def test_fractions_and_decimals_are_python_floats(name: str, scalar: Any) -> None:
    f = SCALARS[name]
    for x in (X, X.astype(np.float32)):
        value, pullback = fg.vjp(lambda x: f(x, scalar), x)
        expected, expected_pullback = fg.vjp(lambda x: f(x, 0.5), x)
        np.testing.assert_array_equal(value, expected)
        assert value.dtype == expected.dtype == x.dtype
        np.testing.assert_array_equal(pullback(np.ones_like(x))[0], expected_pullback(np.ones_like(x))[0])


@pytest.mark.parametrize(
    ("elements", "dtype"),
    [
        ([1, 2], np.int64),
        ([True, False], np.bool_),
        ([1, Fraction(1, 2)], np.float64),
        ([Decimal(1), 2.0], np.float64),
        ([1j, 2], np.complex128),
        ([10**30, 1], np.float64),
        ([np.float32(1), np.float32(2)], np.float32),
        ([np.array(1.0), np.array(2.0, object)], np.float64),
        ([], np.float64),
    ],
    ids=str,
)
def test_the_dtype_of_objects(elements: list[Any], dtype: type) -> None:
    whole = np.empty(len(elements), object)
    whole[:] = elements
    assert fnp.concatenate([whole, whole]).dtype == dtype


@objects
def test_traced_values_in_object_arrays() -> None:
    y = np.array(0.2)
    seed = np.array([1.0, 0.0])
    _, pullback = fg.vjp(lambda y: np.array([np.asarray(y * 2), np.asarray(y)]), y)
    assert pullback(seed)[0] == 2.0

    def nested(y: Any) -> Any:
        whole = np.empty(2, object)
        whole[0], whole[1] = np.asarray(y * 2), Fraction(1, 2)
        return whole

    assert fg.vjp(nested, y)[1](seed)[0] == 2.0
    assert fg.jvp(nested, (y,), (np.array(1.0),))[1][0] == 2.0
    np.testing.assert_array_equal(fg.vmap(nested)(np.ones(2)), [[2.0, 0.5]] * 2)
    np.testing.assert_array_equal(fg.make_graph(nested)(y)(y), [0.4, 0.5])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x.astype(object) * x))(X), 2 * X)
    assert fg.jvp(lambda y: np.asarray(y).view(Labelled), (y,), (np.array(1.0),))[1] == 1.0


@objects
def test_lists_in_object_arrays_are_refused() -> None:
    def f(y: Any) -> Any:
        whole = np.empty(2, object)
        whole[0], whole[1] = [y, y], 1.0
        return np.stack([whole, whole])

    with pytest.raises(ForeignArrayError, match=r"object\[2,2\] holds traced values.*is a list.*np\.stack"):
        fg.vjp(f, np.array(0.2))


TRANSFORMED: dict[str, Callable[[], Any]] = {
    "vjp": lambda: fg.vjp(lambda x: OBJECTS, X)[0],
    "cotangent": lambda: fg.vjp(lambda x: 2 * x, X)[1](OBJECTS)[0],
    "jvp": lambda: fg.jvp(lambda x: OBJECTS, (X,), (OBJECTS,))[0],
    "vmap": lambda: fg.vmap(lambda x: 2 * x)(OBJECTS),
    "vmap of a constant": lambda: fg.vmap(lambda x: OBJECTS, out_axes=None)(X),
    "make_graph": lambda: fg.make_graph(lambda x: OBJECTS)(OBJECTS)(X),
    "jit on numpy": lambda: fg.jit(lambda x: x, engine="numpy")(OBJECTS),
    "jit on xla": lambda: fg.jit(lambda x: x)(OBJECTS),
    "scan": lambda: fg.scan(lambda c, x: (c + x, OBJECTS), 0.0, OBJECTS)[1],
    "cond": lambda: fg.jit(lambda p: fg.cond(p, lambda x: OBJECTS, lambda x: x, OBJECTS), engine="numpy")(True),
    "checkpoint": lambda: fg.grad(lambda x: np.sum(fg.checkpoint(lambda x, c: x * c)(x, OBJECTS)))(X),
    "custom_jvp": lambda: fg.grad(lambda x: np.sum(_cubed(x) * OBJECTS))(X),
    "grad's aux": lambda: fg.grad(lambda x: (np.sum(x), OBJECTS), has_aux=True)(X)[1],
}


@fg.custom_jvp
def _cubed(x: Any) -> Any:
    return x**3


_cubed.defjvps(lambda x_dot, y, x: 3 * x**2 * x_dot * np.array([1, 1, Fraction(1)], object))


@pytest.mark.parametrize("name", TRANSFORMED)
def test_no_objects_leave_a_transform(name: str) -> None:
    dtype = np.asarray(TRANSFORMED[name]()).dtype
    assert dtype == np.float64


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: fg.vjp(f, X),
        lambda f: fg.jvp(f, (X,), (X,)),
        lambda f: fg.vmap(f)(X),
        lambda f: fg.make_graph(f)(X),
        lambda f: fg.jit(f, engine="numpy")(X),
        lambda f: fg.scan(lambda c, x: (c, f(x)), 0.0, X),
        lambda f: fg.grad(lambda x: np.sum(fg.checkpoint(f)(x)))(X),
    ],
    ids=["vjp", "jvp", "vmap", "make_graph", "jit", "scan", "checkpoint"],
)
@pytest.mark.parametrize("result", [TEXT, MASKED, MATRIX], ids=["text", "masked", "matrix"])
def test_what_is_no_array_of_numbers_leaves_no_transform(transformed: Any, result: Any) -> None:
    with pytest.raises(ForeignArrayError, match=r"array of objects object\[3\]|met a traced value, or a function"):
        transformed(lambda x: result)


def test_the_truth_of_text_and_objects_is_python_s() -> None:
    for condition in (TEXT, np.array(["a", "", "b"])):
        got = fg.grad(lambda x, condition=condition: np.sum(np.where(condition, x, 0.0)))(X)
        np.testing.assert_array_equal(got, [1.0, 0.0, 1.0])


def test_conversions_to_what_is_no_number_are_refused() -> None:
    for refused in (lambda x: x.astype(str), lambda x: np.concatenate([x, TEXT]), lambda x: np.where(x > 0, x, TEXT)):
        with pytest.raises(ForeignArrayError, match=r"a traced value f64.* dtype (str|object)"):
            fg.grad(lambda x, refused=refused: np.sum(refused(x)))(X)
    for refused in (lambda x: x * TEXT, lambda x: None + x, lambda x: x * np.ones(3, "m8[s]")):
        with pytest.raises(ForeignArrayError, match="a traced value met what is no array of numbers"):
            fg.grad(lambda x, refused=refused: np.sum(refused(x)))(X)


@pytest.mark.parametrize("shape", [(3,), ()], ids=str)
def test_a_subclass_that_computes_as_numpy_does_is_an_array(shape: tuple[int, ...]) -> None:
    c = np.full(shape, 3.0).view(Labelled)
    for f in (lambda x: x * c, lambda x: c * x, lambda x: np.multiply(c, x), lambda x: np.where(x > 5, c, c * x)):
        got = fg.grad(lambda x, f=f: np.sum(f(x)))(X)
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, np.full(3, 3.0))
    assert type(fg.grad(lambda x: np.sum(x * x))(X.view(Labelled))) is np.ndarray


OWN_WAY = {"masked": MASKED, "matrix": MATRIX, "own": X.view(Reversed)}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "multiply": np.multiply,
    "reflected multiply": lambda x, m: np.multiply(m, x),
    "power": lambda x, m: np.power(x, m),
    "mixed dtypes": lambda x, m: np.multiply(x, m.astype(np.float32)),
    "dot": np.dot,
    "where": lambda x, m: np.where(m, x, 0.0),
    "stack": lambda x, m: np.stack([x, m]),
}


@pytest.mark.parametrize("kind", OWN_WAY)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_array_that_computes_its_own_way_is_refused(name: str, kind: str) -> None:
    with pytest.raises(ForeignArrayError, match=f"{type(OWN_WAY[kind]).__name__} met a traced value.*(Take|Write)"):
        fg.grad(lambda x: np.sum(OPERATIONS[name](x, OWN_WAY[kind])))(X)
    with pytest.raises(ForeignArrayError):
        fg.grad(lambda m: np.sum(m))(OWN_WAY[kind])


@objects
def test_both_orders_of_an_operator_are_the_other_array_s() -> None:
    for f in (lambda x: x * MASKED, lambda x: MASKED * x):
        np.testing.assert_array_equal(fg.grad(lambda x, f=f: np.sum(f(x)))(X), [1.0, 0.0, 3.0])
    own = X.view(Reversed)
    for f in (lambda x: x * own, lambda x: own * x):
        np.testing.assert_array_equal(fg.grad(lambda x, f=f: np.sum(f(x)))(X), X[::-1])
    for f in (lambda x: x * MATRIX, lambda x: MATRIX * x):
        with pytest.raises(ForeignArrayError, match=r"matrix met.*write @ where"):
            fg.grad(lambda x, f=f: np.sum(f(x)))(X)


def test_tensors_meet_them_too() -> None:
    t = tensor(X, requires_grad=True)
    (t * Fraction(1, 2) + t * OBJECTS).sum().backward()
    assert t.grad is not None
    np.testing.assert_array_equal(t.grad.numpy(), NUMBERS + 0.5)
    with pytest.raises(ForeignArrayError, match=r"numpy\.matrix"):
        np.multiply(t, MATRIX)


def test_bare_values_are_numpys_affair() -> None:
    masked: Any = fnp.exp(MASKED)
    assert isinstance(masked, np.ma.MaskedArray)
    assert np.ma.getmaskarray(masked)[1]
    assert type(fnp.add(MATRIX, MATRIX)) is np.matrix
    fractions = np.array([Fraction(1, 2), Fraction(1, 3)], object)
    assert fnp.add(fractions, fractions)[1] == Fraction(2, 3)
    with pytest.raises(ForeignArrayError, match="MaskedArray"):
        fnp.mean(MASKED)


@objects
def test_errors_of_numpys_say_where_the_objects_came_from() -> None:
    with pytest.raises(TypeError) as caught:
        fg.grad(lambda x: np.linalg.det(np.array([[x[0], x[1]], [x[2], 1.0]])))(X)
    assert "np.stack([...]) or fnp.array([...])" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match=r"numpy\.mean: the array is one of objects.*np\.stack"):
        fg.grad(lambda x: np.mean(np.array([x[0], x[1]])))(X)


LABELLED: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda x, s: np.sum(x * s),
    "reflected times": lambda x, s: np.sum(s * x),
    "ufunc": lambda x, s: np.sum(np.subtract(s, x) * np.multiply(x, s)),
    "method": lambda x, s: (s * x).sum(),
    "dot": lambda x, s: np.dot(s, x),
    "where": lambda x, s: np.sum(np.where(s > 1, s * x, x)),
    "mask": lambda x, s: np.sum(x[s > 1]),
}


@pytest.mark.parametrize("library", ["pandas", "xarray"])
@pytest.mark.parametrize("name", LABELLED)
def test_labelled_arrays_are_arrays(name: str, library: str) -> None:
    module = pytest.importorskip(library)
    series = module.Series(NUMBERS) if library == "pandas" else module.DataArray(NUMBERS, dims="i")
    f = LABELLED[name]
    expected = fg.grad(lambda x: f(x, NUMBERS))(X)
    np.testing.assert_array_equal(fg.grad(lambda x: f(x, series))(X), expected)
    np.testing.assert_array_equal(fg.make_graph(fg.grad(lambda x: f(x, series)))(X)(X), expected)


@objects
def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "name": ["x", "y"]})
    numbers = table[["a", "b"]]
    w = np.array([0.5, 2.0])
    np.testing.assert_array_equal(fg.grad(lambda w: np.sum(np.dot(numbers, w)))(w), [3.0, 7.0])
    np.testing.assert_array_equal(fg.grad(lambda w: np.sum(w[pd.Series([1, 1])]))(w), [0.0, 2.0])
    np.testing.assert_array_equal(fg.grad(lambda w: np.sum(table[["a", "b"]].astype(object).values @ w))(w), [3.0, 7.0])
    exponentials = fnp.exp(table["a"])
    assert isinstance(exponentials, pd.Series)
    with pytest.raises(ForeignArrayError, match="numbers"):
        fg.grad(lambda w: np.sum(w * table["name"]))(w)
    with pytest.raises(TypeError) as caught:
        fg.grad(lambda w: np.mean(numbers @ w))(w)
    assert "df.to_numpy() @ x" in caught.value.__notes__[0]


def test_pint() -> None:
    pint = pytest.importorskip("pint")
    lengths = NUMBERS * pint.UnitRegistry().metre
    for f in (lambda x: x * lengths, lambda x: lengths * x, lambda x: np.multiply(x, lengths)):
        with pytest.raises(ForeignArrayError, match=r"pint\.Quantity.*x\.magnitude"):
            fg.grad(lambda x, f=f: np.sum(f(x)))(X)
        with pytest.raises(ForeignArrayError, match=r"pint\.Quantity.*x\.magnitude"):
            fg.vjp(f, X)


FOREIGN_ARRAYS = {
    "masked": np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], np.eye(2, dtype=bool)),
    "matrix": np.ones((2, 2)).view(np.matrix),
}
TAKEN: dict[str, Callable[[Any], Any]] = {
    "tensor": fg.autograd.tensor,
    "parameter": fg.nn.Parameter,
    "copied into a tensor": lambda m: fg.autograd.tensor(np.ones((2, 2))).copy_(m),
    "backward": lambda m: fg.autograd.tensor(np.ones((2, 2)), requires_grad=True).sin().backward(m),
    "gradient of a step": lambda m: fg.optim.sgd_update(m, fg.optim.sgd_init(np.ones((2, 2)), lr=0.1), np.ones((2, 2))),
    "graph": fg.make_graph(lambda x: x * x)(np.ones((2, 2))),
    "tangent": fg.linearize(lambda x: x * x, np.ones((2, 2)))[1],
    "jit": fg.jit(lambda x: x * x),
    "jit of a number too": lambda m: fg.jit(lambda n, x: n * x)(2.0, m),
}


@pytest.mark.parametrize("kind", FOREIGN_ARRAYS)
@pytest.mark.parametrize("name", TAKEN)
def test_no_door_takes_a_foreign_array_that_computes_its_own_way(name: str, kind: str) -> None:
    with pytest.raises((ForeignArrayError, fg.errors.TreeMismatchError), match=type(FOREIGN_ARRAYS[kind]).__name__):
        TAKEN[name](FOREIGN_ARRAYS[kind])
