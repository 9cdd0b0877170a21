"""Object arrays that NumPy makes from traced arrays, and how the library knows that NumPy asks because of brackets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest
import scipy.ndimage

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import (
    ConcretizationTypeError,
    ObjectArrayWarning,
    TracerArrayConversionError,
    TracerAssignmentError,
    UnsupportedFunctionError,
)

ARRAY = np.arange(3.0)
# NumPy, whose stubs know no iteration over one array.
UNTYPED: Any = np


def read(array: Any, i: Any) -> Any:
    return array[i]


def write(array: Any, i: Any) -> Any:
    array[i] = 1.0
    return array


def read_part(array: Any, i: Any) -> Any:
    return array[0, i] + 0


def augment(array: Any, i: Any) -> Any:
    array[i] += 1.0
    return array


@pytest.mark.parametrize("f", [read, augment], ids=lambda f: f.__name__)
def test_a_plain_array_at_a_traced_index(f: Any) -> None:
    with pytest.raises(TracerArrayConversionError, match=r"an index was asked.*funcgrad\.numpy\.take"):
        fg.vmap(lambda i: f(ARRAY.copy(), i))(np.array([[0, 1]]))


# The results of NumPy's generators for an array of three rows of two.
SHUFFLED: dict[str, Any] = {
    "permutation": lambda rng, x: rng.permutation(x),
    "permutation of columns": lambda rng, x: rng.permutation(x, axis=1),
    "permutation of a vector": lambda rng, x: rng.permutation(x.reshape(-1)),
    "permuted": lambda rng, x: rng.permuted(x, axis=0),
    "choice": lambda rng, x: rng.choice(x, 4),
    "choice without repeats": lambda rng, x: rng.choice(x.reshape(-1), 3, replace=False),
}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("shuffle", SHUFFLED.values(), ids=SHUFFLED)
def test_numpys_generators_draw_from_traced_arrays(shuffle: Any) -> None:
    x = np.array([[0.5, 2.0], [-1.0, 3.0], [0.25, 1.5]])

    def weighted(x: Any) -> Any:
        y = shuffle(np.random.default_rng(3), x)
        return np.sum(y * np.cos(np.arange(np.size(y))).reshape(np.shape(y)))

    def written(x: Any) -> Any:
        """Writes of traced values into an array that holds plain numbers."""
        y = np.zeros_like(x)
        y[:] = ARRAY[:2]
        return weighted(y) * x[0, 0]

    expected = np.array([weighted(one) for one in np.eye(6).reshape(6, 3, 2)]).reshape(3, 2)
    for gradient in (fg.grad(weighted), fg.jit(fg.grad(weighted), engine="numpy")):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(fg.grad(written)(x)[0, 0], written(x) / x[0, 0], rtol=1e-12)


def iterated(x: Any) -> Any:
    return sum(UNTYPED.nditer(x))


def iterated_and_written(x: Any) -> Any:
    y = np.zeros_like(x)
    with UNTYPED.nditer(y, op_flags=[["readwrite"]]) as each:
        for one in each:
            one[...] = x[0]
    return np.sum(y)


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("f", [iterated, iterated_and_written], ids=lambda f: f.__name__)
def test_what_to_write_for_nditer(f: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        fg.grad(f)(ARRAY)
    assert "Write into x itself, as in for i in np.ndindex(x.shape)" in raised.value.__notes__[0]


def test_only_errors_of_what_is_read_only_are_told_so() -> None:
    def f(x: Any) -> Any:
        np.asarray(np.zeros_like(x))
        raise ValueError("something else")

    with pytest.raises(ValueError, match="something else") as raised:
        fg.grad(f)(ARRAY)
    assert not hasattr(raised.value, "__notes__")


def test_which_arrays_may_share_memory() -> None:
    def shared(x: Any) -> Any:
        y = x * 1
        part = y[1:]
        kept = [np.may_share_memory(y, part), np.may_share_memory(part, y.copy()), np.may_share_memory(x, y)]
        part[0] = x[2]
        return np.sum(y), [*kept, np.may_share_memory(y, part), np.may_share_memory(y, y.copy())]

    assert fg.vjp(shared, ARRAY, has_aux=True)[2] == shared(ARRAY)[1] == [True, False, False, True, False]


def test_loops_in_c_get_no_objects() -> None:
    """SciPy's filters would read the addresses of objects as if they were numbers."""
    x = np.array([1.0, 0.0, 2.0])
    for f in (scipy.ndimage.distance_transform_edt, lambda x: scipy.ndimage.gaussian_filter(x, 1.0)):
        for engine in ("numpy", "xla"):
            with pytest.raises((TypeError, NotImplementedError), match="own code reads plain numbers only"):
                fg.jit(f, engine=engine)(x)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("index", [lambda x: x > 1, np.argmax], ids=["mask", "position"])
def test_a_write_into_a_plain_array_by_a_traced_index_says_how_to_make_the_array(index: Any, engine: Any) -> None:
    def plain(x: Any) -> Any:
        out = np.zeros(3)
        out[index(x)] = 1.0
        return np.sum(out * x)

    def taking(x: Any) -> Any:
        out = np.zeros(3, like=x)
        out[index(x)] = 1.0
        return np.sum(out * x)

    x = np.array([0.5, 1.5, 2.5])
    with pytest.raises(
        TracerAssignmentError, match=r"the index is a value .* traced under jit.*np\.zeros\(n, like=x\)"
    ):
        fg.jit(plain, engine=engine)(x)
    assert fg.jit(taking, engine=engine)(x) == plain(x)


def test_a_plain_array_read_by_a_traced_mask_says_where() -> None:
    with pytest.raises(TracerArrayConversionError, match=r"np\.where\(mask, array, 0\) for array\[mask\]"):
        fg.make_graph(lambda x: np.sum(np.arange(3.0)[x > 1]))(np.ones(3))


LISTS: dict[str, Callable[[Any], Any]] = {
    "a list": lambda x: [x[0], 1.0],
    "a tuple": lambda x: (x[0], x[1]),
    "an array": lambda x: np.array([x[0], x[1]]),
}
# NumPy's loops over objects give one of the two operands: Python's ``and`` and ``or``, whose truth is right alone.
_PYTHONS = (np.logical_and, np.logical_or)
_FUNCTIONS = (np.angle, np.isposinf, np.i0, np.sinc, np.cov, np.mean, np.round, np.nanmean, np.unwrap)


def _called() -> Iterator[tuple[Any, int]]:
    """Functions that take lists of floats, each with the number of its operands."""
    for each in {id(each): each for each in vars(np).values() if isinstance(each, np.ufunc)}.values():
        if each not in _PYTHONS and not each.signature and "d" in {loop[0] for loop in each.types}:
            yield each, each.nin
    yield from ((np.isclose, 2), (np.allclose, 2), *[(each, 1) for each in _FUNCTIONS])


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize(("function", "count"), [pytest.param(*each, id=each[0].__name__) for each in _called()])
def test_lists_of_traced_numbers_are_computed_or_refused_in_words(function: Any, count: int, kind: str) -> None:
    """NumPy tells us of no list: its loops compute with the elements, or fail, and then our note says what to write."""
    x, make = np.array([0.3, 0.5]), LISTS[kind]
    last = [3] if function is np.ldexp else [make(x)] * (count - 1)
    expected = function(make(x), *last)

    def call(x: Any) -> Any:
        return 0.0 * np.sum(x), function(make(x), *([3] if function is np.ldexp else [make(x)] * (count - 1)))

    try:
        y = fg.value_and_grad(call, has_aux=True)(x)[0][1]
    except (TypeError, ValueError, AttributeError) as error:
        words = [str(error), *getattr(error, "__notes__", ())]
        assert any(text in " ".join(words) for text in ("NumPy (or pandas) made an array of objects", "traced"))
    else:
        for ours, theirs in zip(fg.tree.leaves(y), fg.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=1e-15)


def test_assertions_of_numpys_compare_the_numbers() -> None:
    def asserted(x: Any) -> Any:
        np.testing.assert_allclose(x, ARRAY, rtol=1e-7)
        np.testing.assert_array_equal(x * 2, ARRAY * 2)
        np.testing.assert_almost_equal(x, ARRAY)
        np.testing.assert_array_less(x, ARRAY + 1)
        with pytest.raises(AssertionError, match="Mismatched elements: 3 / 3"):
            np.testing.assert_allclose(x, ARRAY + 1)
        return np.sum(x**2)

    np.testing.assert_array_equal(fg.grad(asserted)(ARRAY), 2 * ARRAY)
    np.testing.assert_array_equal(fg.hessian(asserted)(ARRAY), 2 * np.eye(3))
    with pytest.raises(ConcretizationTypeError, match=r"^numpy\.testing needs the numbers of a value f64\[3\]"):
        fg.jit(asserted)(ARRAY)


@pytest.mark.parametrize("name", ["assert_equal", "assert_almost_equal"])
def test_what_to_write_for_assertions_about_numbers(name: str) -> None:
    """NumPy compares what is no ``ndarray`` as a number."""
    check = getattr(np.testing, name)

    def asserted(x: Any) -> Any:
        check(x[0], x[0])
        check(x, x)
        return np.sum(x)

    with pytest.raises(ValueError, match="truth value") as raised:
        fg.grad(asserted)(ARRAY)
    assert "Write assert_array_equal or assert_allclose, which compare all" in raised.value.__notes__[0]
    with pytest.raises(ValueError, match="truth value") as plain:
        fg.grad(lambda x: x if x > 0 else -x)(ARRAY)
    assert not any("assert" in each for each in getattr(plain.value, "__notes__", ()))


def test_a_number_in_r_does_not_widen() -> None:
    x = np.ones(2, np.float32)
    joined = lambda x: fnp.asarray(np.r_[x, 1.0])
    assert joined(x).dtype == np.float32
    with pytest.raises(UnsupportedFunctionError, match=r"np\.r_.*which NumPy converts to float32.*np\.concatenate"):
        fg.jvp(joined, (x,), (x,))
    with pytest.warns(ObjectArrayWarning, match=r"np\.max, np\.clip and np\.sort refuse it"):
        y, _ = fg.jvp(lambda x: fnp.asarray(np.r_[x, x.dtype.type(1.0)]), (x,), (x,))
    assert y.dtype == np.float32


# The comparisons of NumPy's loops over objects, as functions of a traced number.
ORDERED: dict[str, Callable[[Any], Any]] = {
    "fmax.reduce": lambda x: np.fmax.reduce([x, np.nan]),
    "fmin.reduce": lambda x: np.fmin.reduce([np.nan, x]),
    "max": lambda x: np.max([np.float64(np.nan), x]),
    "max of an array": lambda x: np.max([x, np.array(np.nan)]),
    "maximum": lambda x: np.maximum([np.nan, x], [x, np.nan]),
    "argmax": lambda x: np.argmax([0.0, x, np.nan]),
    "sort": lambda x: np.sort([np.nan, x, 0.0]),
    "median": lambda x: np.median([x, np.nan, 3.0]),
    "a product": lambda x: np.max(np.array([x, 2.0]) * np.array([np.nan, 1.0])),
    "max of numbers": lambda x: np.max([np.nan, 1.0, x]),
    "min of rows": lambda x: np.min([[1.0, np.float32("nan")], [x, 2.0]]),
    "max of an array of objects": lambda x: np.array([np.nan, 1.0, x]).max(),
    "max along an axis": lambda x: np.max([[np.nan, x], [1.0, 2.0]], axis=0),
    "clip": lambda x: np.clip([x, np.nan], 0.0, 1.0),
    "sort of numbers": lambda x: np.sort([2.0, np.nan, 1.0, x]),
    "argmin of numbers": lambda x: np.argmin([2.0, np.nan, 1.0, x]),
    "a traced NaN": lambda x: np.min([x * np.nan, x]),
}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("name", ORDERED)
def test_nan_among_objects_is_not_ordered(name: str) -> None:
    with pytest.raises(TracerArrayConversionError, match=r"^a traced value was compared with NaN, after NumPy"):
        fg.vjp(ORDERED[name], 1.5)


def _held(x: Any) -> Any:
    objects, extreme = np.array([np.nan, x]), np.fmax
    return extreme(objects, 0.0)


# Nobody sees these comparisons of NaN, so that the calls are refused whatever their numbers are.
EXTREMES: dict[str, Callable[[Any], Any]] = {
    "maximum": lambda x: np.maximum([np.nan, x], 0.0),
    "minimum of numbers": lambda x: np.minimum([1.0, x], 0.0),
    "fmax of a variable": _held,
    "maximum.reduce": lambda x: np.maximum.reduce([np.nan, 1.0, x]),
    "fmin.accumulate": lambda x: np.fmin.accumulate([np.nan, 1.0, x]),
}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_of_lists_are_refused(name: str) -> None:
    with pytest.raises(TracerArrayConversionError, match=r"loses NaN without a word\. Write np\.stack"):
        fg.vjp(EXTREMES[name], 1.5)


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
def test_comparisons_of_the_users_own_code_stay() -> None:
    def f(x: Any) -> Any:
        first, second = np.array([x, 2.0])
        ordered = sorted([second, first, 0.5])
        return max(first, second) + ordered[0] * first + np.maximum(first, 1.0) + np.max([first, second])

    assert fg.value_and_grad(f)(3.0) == (3.0 + 1.5 + 3.0 + 3.0, 1.0 + 0.5 + 1.0 + 1.0)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_an_empty_array_of_objects_has_the_dtype_of_the_other(engine: str) -> None:
    empty = np.array([], object)
    f = fg.jit(lambda x: (x ^ empty, np.left_shift(empty, x), x + empty), engine=engine)
    assert [y.dtype for y in f(np.zeros(0, int))] == [int, int, int]


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
def test_nan_is_compared_where_no_objects_are() -> None:
    nan = np.nan
    assert fg.grad(lambda x: x if x > nan else 2 * x)(1.0) == 2
    assert fg.grad(lambda x: np.where(x < nan, x, 3 * x))(1.0) == 3
    # Our own code compares inside of functions, and gives NumPy's NaN.
    assert np.isnan(fg.vjp(lambda x: np.sum(np.array([x, x])) * np.maximum(x, np.nan), 1.0)[0])
    assert fg.grad(lambda x: np.max(np.array([x, 2.0])))(3.0) == 1


def _set(out: Any, i: int, value: Any) -> Any:
    out[i] = value
    return out


MEMORY: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an element by flat": (lambda x: _set(np.zeros(3).flat, 1, x[0]), "np.zeros(n, like=x)"),
    "an element of a memoryview": (lambda x: _set(memoryview(cast(Any, np.zeros(3))), 1, x[0]), "np.zeros(n, like=x)"),
    "a memoryview": (memoryview, "no memory that memoryview"),
    "a buffer": (np.frombuffer, "no memory that memoryview"),
}


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, fg.vmap])
@pytest.mark.parametrize("name", MEMORY)
def test_errors_of_c_code_say_what_to_write(name: str, transform: Any) -> None:
    f, advice = MEMORY[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        transform(lambda x: np.sum(f(x)))(np.ones((2, 3)) if transform is fg.vmap else np.ones(3))
    assert any(advice in note for note in caught.value.__notes__)


@pytest.mark.parametrize("transform", [fg.jit, fg.vmap])
def test_a_staged_value_written_into_an_array_of_bools(transform: Any) -> None:
    with pytest.raises(ValueError, match=r"^out\[i\] = value: a traced value was written into an array of plain"):
        transform(lambda x: _set(np.zeros(3, bool), 0, x[0]))(np.ones((2, 3)) if transform is fg.vmap else np.ones(3))


def test_the_method_dot_of_a_plain_array_says_what_to_write() -> None:
    """Programs of neural nets by hand write ``x.dot(w)``, which NumPy computes with single elements."""
    data = np.arange(6.0).reshape(3, 2)

    def loss(w: Any) -> Any:
        return np.sum(np.maximum(0, data.dot(w)) ** 2)

    with pytest.warns(fg.errors.ObjectArrayWarning, match=r"a @ x instead of a\.dot\(x\)"):
        found = fg.grad(loss)(np.array([0.5, -0.2]))
    np.testing.assert_allclose(found, fg.grad(lambda w: np.sum(np.maximum(0, data @ w) ** 2))(np.array([0.5, -0.2])))
    with pytest.warns(fg.errors.ObjectArrayWarning), pytest.raises(fg.errors.TracerBoolConversionError) as caught:
        fg.jit(loss)(np.array([0.5, -0.2]))
    assert "np.dot(a, x) instead of a.dot(x)" in caught.value.__notes__[0]


def test_a_write_into_an_argument_that_is_not_differentiated_says_so() -> None:
    def moved(x: Any, v: Any) -> Any:
        v += 0.1 * x
        return np.sum(v**2)

    with fg.intercept(), pytest.raises(fg.errors.TracerAssignmentError, match="differentiate with respect to it, too"):
        fg.grad(moved)(np.ones(2), np.ones(2))
    slope = fg.grad(moved, argnums=(0, 1))(np.ones(2), np.ones(2))[0]
    np.testing.assert_allclose(slope, [0.22, 0.22])


# NumPy returns the array itself, or a view of it, where it makes another array from a traced one.
FOLLOWING: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "array without a copy": lambda y: np.array(y, copy=None),
    "asarray_chkfinite": np.asarray_chkfinite,
    "a part": lambda y: np.asarray(y)[1:],
    "of a view": lambda y: np.asarray(y.T),
    "of gaps": lambda y: np.asarray(y[::2]),
    "a copy of gaps": lambda y: np.ascontiguousarray(y[::2]),
    "a copy of another order": lambda y: np.ascontiguousarray(y.T),
    "a copy": np.array,
    "objects": lambda y: np.asarray(y, object),
}


def _written(y: Any) -> None:
    """Write in several ways, by an index, an array of them, ufuncs and a view."""
    y[1] = 5.0
    y[np.array([1, 0])] -= 1.0
    np.add.at(y, [0, 0], 0.5)
    np.multiply(y, 2.0, out=y)
    y.T[0] += 3.0


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("shape", [(4,), (2, 3)], ids=len)
@pytest.mark.parametrize("make", FOLLOWING.values(), ids=FOLLOWING)
def test_an_array_that_numpy_takes_for_the_traced_one_follows_writes(make: Any, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        y = x * 1.5
        other = make(y)
        number = other.reshape(-1)[-1]
        _written(y)
        return np.sum(other * other) + 100.0 * number + np.sum(y)

    def of_plain_numbers(x: Any) -> Any:
        y = fnp.zeros(shape)
        other = make(y)
        y[...] = 1.0
        _written(y)
        return np.sum(other * other) + np.sum(y) + np.sum(x)

    x = np.linspace(0.5, 3.0, int(np.prod(shape))).reshape(shape)
    for function in (f, of_plain_numbers):
        for run in (
            fg.jit(function),
            fg.jit(function, engine="numpy"),
            lambda x, f=function: fg.value_and_grad(f)(x)[0],
        ):
            np.testing.assert_allclose(run(x), function(x), rtol=1e-12)
    fg.check_grads(f, (x,), order=1)


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
def test_ndenumerate_shows_elements_that_the_loop_has_written() -> None:
    def f(x: Any) -> Any:
        y, total = x * 1.0, 0.0
        for (i,), v in np.ndenumerate(y):
            total = total + v * v
            y[(i + 1) % 4] = v * 3.0
        return total + np.sum(y)

    x = np.arange(1.0, 5.0)
    for run in (fg.jit(f), lambda x: fg.value_and_grad(f)(x)[0], lambda x: fg.vmap(f)(x[None])[0]):
        np.testing.assert_allclose(run(x), f(x.copy()), rtol=1e-12)
    fg.check_grads(f, (x,), order=1)


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
def test_an_array_of_numbers_holds_no_traced_value() -> None:
    def f(x: Any) -> Any:
        y = fnp.zeros(3)
        other = np.asarray(y)
        y[1] = x[0]
        return np.sum(other)

    with pytest.raises(TracerAssignmentError, match=r"of plain numbers.*np\.asarray"):
        fg.grad(f)(np.ones(3))
    with pytest.raises(UnsupportedFunctionError, match=r"numpy\.require"):
        fg.grad(lambda x: np.sum(np.require(x * 2.0, requirements="W")))(np.ones(3))
