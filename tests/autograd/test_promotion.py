"""The dtype of a result whose operands have several dtypes is PyTorch's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autograd import no_grad, tensor
from tests._recorded import PyTorch
from tests.laws.fuzz.table import words

DTYPES = words("bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128")
NUMBERS = (True, 2, 2.5, 1j)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "truediv": operator.truediv,
}
UNARY = words("exp sqrt tanh sigmoid abs square")


def made(module: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Return a tensor of PyTorch's or of ours."""
    if module is None:
        return tensor(np.ones(shape, getattr(ml_dtypes, name, None) or name))
    return module.ones(shape, dtype=getattr(module, name))


def dtype_name(y: Any) -> str:
    return str(y.dtype).removeprefix("torch.")


def pairs(module: Any, operation: Callable[[Any, Any], Any]) -> Iterator[str]:
    """Return the dtypes of the results for all pairs of dtypes, with axes and without, and for numbers.

    PyTorch has a complex dtype of two float16 s, which NumPy lacks.
    """
    for first in DTYPES:
        for second in DTYPES:
            if {first, second} & {"float16"} and {first, second} & {"complex64", "complex128"}:
                continue
            for shape in ((2,), ()):
                for other in ((2,), ()):
                    yield dtype_name(operation(made(module, first, shape), made(module, second, other)))
        for number in NUMBERS[:-1] if first == "float16" else NUMBERS:
            for shape in ((2,), ()):
                x = made(module, first, shape)
                yield dtype_name(operation(x, number))
                yield dtype_name(operation(number, x))


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_dtypes(name: str, pytorch: PyTorch) -> None:
    assert list(pairs(None, BINARY[name])) == pytorch(lambda torch: list(pairs(torch, BINARY[name])))


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_integers_are_floats_of_the_default_dtype(name: str, pytorch: PyTorch) -> None:
    def answer(module: Any) -> list[str]:
        dtypes = [each for each in DTYPES if not (each == "bool" and name in {"abs", "square"})]
        return [dtype_name(getattr(made(module, each, (2,)), name)()) for each in dtypes]

    assert answer(None) == pytorch(answer)


@pytest.mark.parametrize("number", [np.float64(2.5), np.float32(2.5), np.int64(2), np.int8(2)], ids=repr)
def test_scalars_of_numpy_do_not_widen(number: Any) -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    for y in (x * number, number * x, x + number, np.add(x, number), np.where(x > 1, x, number)):
        assert y.dtype == np.float32
    (x / number).sum().backward()
    assert x.grad.dtype == np.float32


def test_a_comparison_of_integers_with_a_float_compares_floats() -> None:
    np.testing.assert_array_equal(tensor([1, 2, 3]) < 2.5, [True, True, False])
    np.testing.assert_array_equal(tensor([1, 2, 3]) == tensor(2.0, dtype=np.float64), [False, True, False])


def test_concatenations_and_choices() -> None:
    i, x = tensor([1, 2]), tensor([1.0, 2.0])
    assert np.concatenate([i, x]).dtype == np.float32
    assert np.stack([i, x]).dtype == np.float32
    assert np.where(x > 1, i, x).dtype == np.float32
    with pytest.raises(RuntimeError, match="must have the same dtype, but got Float, Long, and Float"):
        _ = tensor([[1, 2]]) @ x
    assert (np.array([[1, 2]]) @ x).dtype == np.float32


def test_gradients_go_through_a_conversion() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    wide = tensor([3.0, 4.0], dtype=np.float64, requires_grad=True)
    y = x * wide
    assert y.dtype == np.float64
    y.sum().backward()
    assert (x.grad.dtype, wide.grad.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(x.grad, [3.0, 4.0])


def test_arrays_outside_of_tensors_keep_numpys_rules() -> None:
    def dtypes(x: Any) -> Any:
        return x + np.int64(1), np.exp(x.astype(int)), x * np.float64(2)

    for y in fg.jit(dtypes, engine="numpy")(np.ones(2, np.float32)):
        assert y.dtype == np.float64


def test_on_jax_values() -> None:
    jnp = pytest.importorskip("jax.numpy")
    x = tensor(jnp.ones(2, "float32"))
    with no_grad():
        assert (x + tensor(jnp.arange(2))).dtype == np.float32
        assert (x * np.float64(2)).dtype == np.float32
