"""Python's numbers beside arrays of every dtype: values and dtypes are NumPy's, on every route."""

from __future__ import annotations

import copy
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy._base.dispatch import ufuncs
from funcgrad.tree import leaves

CONDITION = np.array([True, False, True])
ARRAYS = {
    "bool": np.array([True, False, True]),
    "int8": np.array([1, 0, 3], np.int8),
    "int64": np.array([1, 0, 3]),
    "float16": np.array([0.5, 2.0, -1.0], np.float16),
    "float32": np.array([0.5, 2.0, -1.0], np.float32),
    "float64": np.array([0.5, 2.0, -1.0]),
    "complex64": np.array([0.5 + 1j, 2 - 1j, -1], np.complex64),
    "complex128": np.array([0.5 + 1j, 2 - 1j, -1]),
}
NUMBERS = {"a bool": True, "an int": 2, "a float": 0.5, "a complex": 1j}
Function = Callable[[Any, Any, Any], Any]


def _named(name: str) -> Function:
    return lambda xp, a, b: getattr(xp, name)(a, b)


# Functions of two operands. Each operand is a number once.
BOTH: dict[str, Function] = {
    **{
        u.__name__: _named(u.__name__)
        for u in ufuncs
        if u.nin == 2 and u.signature is None and hasattr(fnp, u.__name__)
    },
    **{name: _named(name) for name in ("dot", "inner", "vdot", "outer", "kron", "isclose", "array_equal", "append")},
    **{
        f"operator {name}": lambda xp, a, b, name=name: getattr(operator, name)(a, b)
        for name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "and_", "lshift", "lt", "ge", "eq")
    },
    "multiply.outer": lambda xp, a, b: np.multiply.outer(a, b),
    "tensordot": lambda xp, a, b: xp.tensordot(a, b, axes=0),
    "einsum": lambda xp, a, b: xp.einsum("...,...->...", a, b),
    "where": lambda xp, a, b: xp.where(CONDITION, a, b),
    "select": lambda xp, a, b: xp.select([CONDITION], [a], b),
    "concatenate": lambda xp, a, b: xp.concatenate([xp.atleast_1d(a), xp.atleast_1d(b)]),
    "hstack": lambda xp, a, b: xp.hstack([a, b]),
    "linspace": lambda xp, a, b: xp.linspace(a, b, 3),
    "clip": lambda xp, a, b: xp.clip(a, 0, b),
}
# Functions of an array and a number.
ONE: dict[str, Function] = {
    "where of numbers": lambda xp, a, b: xp.where(a != 0, b, 3.0),
    "where of a number": lambda xp, a, b: xp.where(a, b, b),
    "select of numbers": lambda xp, a, b: xp.select([a != 0], [b], 7),
    "piecewise": lambda xp, a, b: xp.piecewise(a, [a != 0], [b, 3]),
    "choose": lambda xp, a, b: xp.choose(np.array([0, 1, 0]), [a, b]),
    "searchsorted": lambda xp, a, b: xp.searchsorted(xp.sort(a), b),
    "argmax": lambda xp, a, b: xp.argmax(a * b),
    "clip from below": lambda xp, a, b: xp.clip(a, b, None),
    "ediff1d": lambda xp, a, b: xp.ediff1d(a, to_begin=b, to_end=b),
    "sum": lambda xp, a, b: xp.sum(a, initial=b),
    "sum where": lambda xp, a, b: xp.sum(a, where=b),
    "nan_to_num": lambda xp, a, b: xp.nan_to_num(a, nan=b),
    "insert": lambda xp, a, b: xp.insert(a, 1, b),
    "pad": lambda xp, a, b: xp.pad(a, 1, constant_values=b),
}


def _cases(number: Any) -> Iterator[tuple[str, str, Callable[[Any, Any], Any], Any]]:
    """Cases that NumPy accepts: the text, the dtype, the function of a module and an array, the answer."""
    sides = [(name, f"{name}(array, number)", f, False) for name, f in (BOTH | ONE).items()]
    sides += [(name, f"{name}(number, array)", f, True) for name, f in BOTH.items()]
    for _, text, f, swapped in sides:
        for dtype, x in ARRAYS.items():
            call = (lambda xp, a, f=f: f(xp, number, a)) if swapped else (lambda xp, a, f=f: f(xp, a, number))
            try:
                answer = call(np, x)
            except (TypeError, ValueError, np.exceptions.ComplexWarning):
                continue
            yield text, dtype, call, answer


def _on_xla(calls: list, dtypes: list[str]) -> list[Any]:
    return fg.jit(lambda arrays: [call(fnp, arrays[dtype]) for call, dtype in zip(calls, dtypes, strict=True)])(ARRAYS)


def _compiled(calls: list, dtypes: list[str]) -> list[Any]:
    run = fg.jit(
        lambda arrays: [call(fnp, arrays[dtype]) for call, dtype in zip(calls, dtypes, strict=True)], engine="numpy"
    )
    return run(ARRAYS)


def _mapped(calls: list, dtypes: list[str]) -> list[Any]:
    batches = {dtype: np.stack([x, x]) for dtype, x in ARRAYS.items()}
    run = fg.vmap(lambda arrays: [call(fnp, arrays[dtype]) for call, dtype in zip(calls, dtypes, strict=True)])
    return fg.tree.map(lambda y: y[1], run(batches))


def _recorded(calls: list, dtypes: list[str]) -> list[Any]:
    inexact = {dtype: x for dtype, x in ARRAYS.items() if x.dtype.kind in "fc"}
    out, _ = fg.vjp(
        lambda arrays: [call(fnp, (ARRAYS | arrays)[dtype]) for call, dtype in zip(calls, dtypes, strict=True)], inexact
    )
    return out


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS.keys())
@pytest.mark.parametrize("route", [_recorded, _compiled, _mapped, _on_xla], ids=["vjp", "numpy", "vmap", "xla"])
def test_numbers_are_numpys(route: Callable[..., list[Any]], number: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        # XLA takes 20 ms for each case, and what is special about a dtype is decided before it.
        dtypes = ("int8", "float64") if route is _on_xla else ARRAYS
        refused = "nextafter(" if route is _recorded else "-"
        cases = [case for case in _cases(number) if case[1] in dtypes and not case[0].startswith(refused)]
    texts, dtypes, calls, answers = (list(each) for each in zip(*cases, strict=True))
    wrong = []
    for text, dtype, y, answer in zip(texts, dtypes, route(calls, dtypes), answers, strict=True):
        for mine, numpys in zip(*[each if type(each) is tuple else (each,) for each in (y, answer)], strict=True):
            mine, numpys = np.asarray(mine), np.asarray(numpys)  # noqa: PLW2901  (as arrays)
            tolerance = {"f2": 4e-3, "f4": 1e-5, "c8": 1e-5}.get(numpys.dtype.str[1:], 1e-10)
            same = mine.shape == numpys.shape and np.allclose(mine, numpys, tolerance, tolerance, equal_nan=True)
            if mine.dtype != numpys.dtype or not same:
                wrong.append(f"{text} of {dtype}: {mine!r}, needed {numpys!r}")
    assert not wrong, "\n".join(wrong)


FLOATS = {
    "sqrt": (np.sqrt, np.inf),
    "log": (np.log, np.inf),
    "cbrt": (np.cbrt, np.inf),
    "power": (lambda x: x**0.5, np.inf),
    "arcsin": (lambda x: np.arcsin(x + 1), np.inf),
    "std": (lambda x: np.std(np.stack([x, x])), 0.0),
    "tensordot": (lambda x: np.tensordot(x, 3 * x, axes=0), 0.0),
    "einsum": (lambda x: np.einsum(",", x, 3 * x), 0.0),
    "scan": (lambda x: fg.scan(lambda c, t: (c, c * t), x, np.array([0.25, 0.75]))[1].sum(), 1.0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("f", "slope"), FLOATS.values(), ids=FLOATS.keys())
def test_a_python_float_is_differentiated(f: Callable[[Any], Any], slope: float) -> None:
    y = fg.grad(f)(0.0)
    assert type(y) is np.float64
    np.testing.assert_equal(float(y), slope)
    np.testing.assert_equal(float(fg.jvp(f, (0.0,), (1.0,))[1]), slope)


X = np.ones(3, np.float32)
PROMOTIONS = {
    "a quotient without derivative": lambda s: np.sum((s + s // 2 + 7 // s) * X * (s // 2) * (s // s)),
    "both results of divmod": lambda s: np.sum(sum(divmod(s, 2)) * X * divmod(7.0, s)[0]),
    "rounded": lambda s: np.sum((s + round(s, 1)) * X * round(s)),
    "rounded down and up": lambda s: np.sum(s * X * math.floor(s) * math.ceil(s) * math.trunc(s)),
    "a constant": lambda s: np.sum(s * X * fg.stop_gradient(s)),
    "a copy": lambda s: np.sum(copy.copy(s) * X * copy.deepcopy(s)),
    "a checkpoint": lambda s: np.sum(fg.checkpoint(lambda x: 2 * x)(s) * X),
    "a number": lambda s: np.sum(s * X),
    "what operators make of it": lambda s: np.sum((-((2 * s) ** 2) + 1) * X),
    "what functions make of it": lambda s: np.sum(np.exp(s) * X),
    "beside functions that take arrays": lambda s: np.sum(np.dot(s, X)),
}


@pytest.mark.parametrize("f", PROMOTIONS.values(), ids=PROMOTIONS.keys())
def test_a_python_float_promotes_as_in_numpy(f: Callable[[Any], Any]) -> None:
    value, slope = fg.value_and_grad(f)(0.5)
    assert (type(value), type(slope)) == (type(f(0.5)), np.float64)
    assert fg.vjp(f, 0.5)[0].dtype == fg.jvp(f, (0.5,), (1.0,))[0].dtype == f(0.5).dtype
    assert fg.jit(f, engine="numpy")(0.5).dtype == f(0.5).dtype


def test_functions_of_numbers_alone_give_numpys_numbers() -> None:
    assert type(fnp.exp(2.5)) is np.float64
    assert type(fnp.add(2, 3)) is np.int64
    assert type(fg.value_and_grad(lambda x: x * x)(0.5)[0]) is np.float64


OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    **{u.__name__: lambda n, u=u: u(n, n) for u in (np.add, np.subtract, np.multiply, np.floor_divide, np.power)},
    **{u.__name__: lambda n, u=u: u(n) for u in (np.negative, np.absolute, np.positive, np.conjugate)},
    "power of a number": lambda n: np.power(n, 2),
    "operators": lambda n: divmod(abs(-n) ** 2 + n * 3, n)[1] - +n.conjugate(),
    "reshape": lambda n: np.reshape(n, ()),
    "imag": lambda n: np.imag(n),
    "bits": lambda n: (~n & 7 | 8 ^ n) << 1 >> n,
}


@pytest.mark.parametrize("f", OF_NUMBERS.values(), ids=OF_NUMBERS.keys())
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_of_numbers_alone_ufuncs_are_strong_and_operators_weak(f: Callable[[Any], Any], engine: Any) -> None:
    beside = lambda n: f(n) * np.int8(1)
    expected, got = beside(2), fg.jit(beside, engine=engine)(2)
    assert np.asarray(got).dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_number_that_does_not_fit_is_wrapped_by_select(engine: Any) -> None:
    x = np.array([1, 2, 3], np.uint8)
    f = lambda x: np.select([x > 1, x > 0], [x, np.uint8(7)], -2)
    for y in (f(x + 2), f(x)):
        assert y.dtype == np.uint8
    np.testing.assert_array_equal(fg.jit(f, engine=engine)(np.zeros(2, np.uint8)), [254, 254])


def test_numbers_beyond_the_dtype_bound_nothing() -> None:
    x = np.array([0, 3, 200], np.uint8)
    for low, high in ((-2, 3), (1, 300), (None, 256), (-1, None)):
        got = fg.jit(lambda x, low=low, high=high: (np.clip(x, low, high), x.clip(low, high)), engine="numpy")(x)
        for y in (*got, fnp.clip(x, low, high)):
            assert y.dtype == np.uint8
            np.testing.assert_array_equal(y, np.clip(x, low, high))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, bool])
def test_numbers_in_functional_updates_on_xla(dtype: Any) -> None:
    y = fg.jit(lambda x: (x.at[0].set(1), x.at[1:].add(1), x.at[[0, 0]].add(1)))(np.zeros(3, dtype))
    assert [each.dtype for each in y] == [dtype] * 3
    np.testing.assert_array_equal(np.array(y, float), [[1, 0, 0], [0, 1, 1], [1 if dtype is bool else 2, 0, 0]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex_numbers_have_numpys_order_on_xla() -> None:
    x = np.array([1 + 2j, 1 + 3j, complex(0, np.nan), 2 - 1j, complex(np.nan, 1), 2 - 1j])
    y = x[::-1].copy()
    got = fg.jit(lambda x, y: (x > y, x >= y, x < y, np.argmax(x), np.argmin(x[:2]), np.argmax(x[3:4])))(x, y)
    for mine, numpys in zip(
        got, (x > y, x >= y, x < y, np.argmax(x), np.argmin(x[:2]), np.argmax(x[3:4])), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(mine), numpys)


BEYOND = {
    "greater": lambda x: x > -1,
    "less from the left": lambda x: np.less(300, x),
    "equal": lambda x: x == 2**70,
    "not equal": lambda x: np.not_equal(x, -5),
    "select": lambda x: np.select([x > -1], [x], 1),
}


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_integers_beyond_a_dtype_are_compared(name: str, engine: str) -> None:
    for dtype in (np.uint8, np.uint64):
        x = np.array([0, 200], dtype)
        np.testing.assert_array_equal(fg.jit(BEYOND[name], engine=engine)(x), BEYOND[name](x))


STRONG = {
    "copy": np.copy,
    "reshape": lambda x: np.reshape(x, (1,)),
    "tile": lambda x: np.tile(x, ()),
    "einsum": lambda x: np.einsum(",->", x, x),
    "tensordot": lambda x: np.tensordot(x, x, axes=0),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [lambda t: t * t, 1.0]),
    "round of a comparison": lambda x: np.around(x <= abs(x)),
}


@pytest.mark.parametrize("name", STRONG)
@pytest.mark.parametrize("x", [2, 1.5])
def test_a_python_argument_becomes_an_array_of_its_own(name: str, x: Any) -> None:
    f = lambda x: STRONG[name](x) * np.float32(2)
    expected, got = f(x), fg.jit(f, engine="numpy")(x)
    assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(expected).dtype, np.shape(expected))
    np.testing.assert_array_equal(got, expected)


def test_a_checkpoint_hands_python_numbers_through() -> None:
    value, pullback = fg.vjp(fg.checkpoint(lambda x: [x, True]), 1.5)
    assert value == [1.5, True]
    assert pullback([1.0, False])[0] == 1.0


def test_a_complex_exponent_keeps_the_precision() -> None:
    x = np.array([1.25, 0.5], np.float32)
    f = lambda x: x**2j
    value, tangent = fg.jvp(f, (x,), (x,))
    assert (value.dtype, tangent.dtype) == (np.complex64, np.complex64)
    np.testing.assert_allclose(tangent, 2j * x**2j, rtol=1e-6)
    np.testing.assert_allclose(fg.jit(lambda x: fg.jvp(f, (x,), (x,))[1], engine="numpy")(x), tangent, rtol=1e-6)


X8, X32 = np.array([1, 2, 3], np.int8), np.ones(3, np.float32)
# Functions of an array and a number that is an argument of a jitted function.
GIVEN: dict[str, tuple[Callable[[Any, Any], Any], Any, Any]] = {
    "times a float": (lambda n, x: n * 0.5 * x, 3, X32),
    "halved": (lambda n, x: 1 + n / 2 + x, 3, X32),
    "complex": (lambda n, x: (n + 1j) * x, 0.5, X32),
    "to a power": (lambda n, x: n**0.5 * x, 4, X32),
    "less": (lambda n, x: x < n, 300, X8),
    "computed and compared": (lambda n, x: (n * n >= x, x != n * n), 20, X8),
    "in range": (lambda n, x: n * n + x, 11, X8),
    "out of range": (lambda n, x: x + n, 300, X8),
    "negative beside unsigned": (lambda n, x: x + n, -1, X8.astype(np.uint8)),
    "computed and out of range": (lambda n, x: np.maximum(n * n, x), 20, X8),
    "out of range and differentiated": (lambda n, x: fg.grad(lambda s: np.sum(s * (x + n)))(1.0), 300, X8),
}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_number_given_to_a_jitted_function_is_weak_and_is_not_wrapped(name: str, engine: str) -> None:
    f, n, x = GIVEN[name]
    try:
        expected = f(n, x)
    except OverflowError:
        with pytest.raises(OverflowError, match=r"out of bounds for u?int8"):
            fg.jit(f, engine=engine)(n, x)
    else:
        for got, each in zip(leaves(fg.jit(f, engine=engine)(n, x)), leaves(expected), strict=True):
            assert got.dtype == each.dtype
            np.testing.assert_allclose(got, each, rtol=1e-6)


COMPARED = {"300": 300, "-300": -300, "2**70": 2**70, "-2**70": -(2**70)}


@pytest.mark.parametrize("n", COMPARED.values(), ids=COMPARED.keys())
@pytest.mark.parametrize("dtype", [np.int8, np.uint64])
def test_integers_are_compared_with_any_integer(n: int, dtype: Any) -> None:
    x = np.array([0, 1, 44], dtype)
    f = lambda x: (x < n, x <= n, n > x, x >= n, x == n, n != x)
    for engine in ("numpy", "xla") if n == 300 else ("numpy",):
        np.testing.assert_array_equal(fg.jit(f, engine=engine)(x), f(x))


def test_a_number_is_not_wrapped_in_a_call_that_is_differentiated() -> None:
    f = fg.jit(lambda s, n, x: np.sum(s * (x + n)))
    assert float(fg.grad(f)(1.0, 3, X8)) == 15
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        fg.grad(f)(1.0, 300, X8)


def test_comparisons_of_python_numbers_count() -> None:
    f = lambda x, y: ((x > y) + (x <= 0.5) + (x == 0.5)) * x
    value, pullback = fg.vjp(f, 0.5, 0.25)
    assert value == f(0.5, 0.25) == 1.5
    assert pullback(1.0)[0] == 3.0


OPERATORS = ["add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"]


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", OPERATORS)
def test_a_bool_beside_a_python_number_is_counted(name: str, engine: str) -> None:
    op = getattr(operator, name)
    for f in (lambda n: op(n, True), lambda n: op(True, n), lambda n: op(n, 2)):
        expected = f(3) * np.array([1], np.int8 if name != "truediv" else np.float32)
        got = fg.jit(lambda n, x, f=f: f(n) * x, engine=engine)(3, np.ones_like(expected))
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


BOOLS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda n: ((n > 1) + (n > 2)) * 2.0,
    "difference": lambda n: (n > 1) - (n > 7),
    "products": lambda n: (n > 1) * (n > 2) + (n > 1) * (n > 2),
    "negative": lambda n: -(n > 1),
    "with bools": lambda n: True - (n > 1) + ((n > 2) + True),
    "quotients": lambda n: (n > 1) // (n > 2) * 300 + (n > 1) % (n > 2),
    "powers": lambda n: 300 * ((n > 1) ** (n > 2)) + ((n > 1) << (n > 2)),
    "logic": lambda n: ((n > 1) & (n > 2)) + ((n > 1) | (n > 7)) + ((n > 1) ^ True),
    "with integers": lambda n: (n > 1) + n + ((n > 1) & 3),
    "inverted": lambda n: ~n + 7 * n,
    "with a bool of NumPy's": lambda n: ((n > 1) + np.True_) * 2.0,
}


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
@pytest.mark.parametrize("name", BOOLS)
def test_comparisons_of_python_numbers_count_when_staged(name: str, engine: str) -> None:
    f = BOOLS[name]
    got = fg.jit(f, engine=engine)(5)
    assert got == f(5)
    narrow = fg.jit(lambda n, x: f(n) * x, engine=engine)(5, np.ones(2, np.float32))
    assert narrow.dtype == (f(5) * np.ones(2, np.float32)).dtype


def test_an_inverted_comparison_is_an_integer() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        expected = ~(5 > 1)  # noqa: PLR0133  (Python's bool)
    assert fg.jit(lambda n: ~(n > 1), engine="numpy")(5) == expected == -2


@pytest.mark.parametrize("divide", [operator.floordiv, operator.mod, operator.truediv, divmod])
def test_a_python_integer_is_not_divided_by_zero(divide: Callable[[Any, Any], Any]) -> None:
    for paths in (1, 2):
        with pytest.raises(ZeroDivisionError):
            fg.jit(lambda n: divide(n, 0), engine="numpy", paths=paths)(10)
    with np.errstate(all="ignore"):
        fg.jit(lambda n: divide(n, 0), engine="numpy")(np.int64(10))


def test_a_power_of_three_arguments_is_refused() -> None:
    with pytest.raises(UnsupportedFunctionError, match=r"needed two arguments.*\(x \*\* y\) % z"):
        fg.jit(lambda n: pow(n, 3, 5), engine="numpy")(10)


def test_the_text_of_a_known_number_is_the_numbers() -> None:
    found: list[str] = []

    def f(x: Any) -> Any:
        found.extend([str(x), f"{x}", f"{x:.2f}", str(x * np.float32(2)), str(np.sin(x) * 0)])
        return x

    fg.grad(f)(2.5)
    fg.jvp(f, (2.5,), (1.0,))
    assert found == 2 * ["2.5", "2.5", "2.50", "5.0", "0.0"]


LOGIC: dict[str, Any] = {
    "and": lambda a, b: (a > 0) & (b > 0),
    "or": lambda a, b: (a > 0) | (b > 3),
    "xor": lambda a, b: (a > 0) ^ (b > 0),
    "and True": lambda a, b: True & (a > 0),
    "and a number": lambda a, b: (a > 0) & 1,
    "not": lambda a, b: ~((a > 0) & (b > 0)),
    "times a number": lambda a, b: ((a > 0) & (b > 0)) * 2.0,
    "sum": lambda a, b: ((a > 0) & (b > 0)) + ((a > 0) | (b > 0)),
    "beside an array": lambda a, b: (a > 0) & np.array([True, False]),
}


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
@pytest.mark.parametrize("name", LOGIC)
def test_logic_of_staged_python_bools(name: str, engine: str) -> None:
    expected, found = LOGIC[name](1.0, 2.0), fg.jit(LOGIC[name], engine=engine)(1.0, 2.0)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected)
