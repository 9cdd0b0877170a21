"""``torch.testing``: comparison of tensors in tests."""

from typing import Any as _Any

import numpy as np

from funcgrad._public import publish as _publish
from funcgrad.autograd.extend import is_tensor as _is_tensor

__all__ = ["assert_close"]

# PyTorch's relative and absolute tolerances by dtype. Other dtypes are compared exactly.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
_TOLERANCES |= {"complex64": _TOLERANCES["float32"], "complex128": _TOLERANCES["float64"]}


def assert_close(
    actual: _Any,
    expected: _Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | None = None,
    **_: _Any,
) -> None:
    """``torch.testing.assert_close``: raise ``AssertionError`` unless two tensors, or containers of them, are close.

    Args:
        actual: a tensor, an array, a number, or lists and dicts of them.
        expected: values of the same structure.
        rtol: the relative tolerance; by default PyTorch's for the dtype.
        atol: the absolute tolerance; given together with ``rtol``.
        equal_nan: whether NaN equals NaN.
        check_dtype: whether the dtypes must be equal.
        msg: the message, in place of the one that counts differences.

    Raises:
        AssertionError: shapes, dtypes or values differ.
        ValueError: only one tolerance is given.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
    """
    if (rtol is None) != (atol is None):
        given = "rtol" if atol is None else "atol"
        raise ValueError(f"rtol and atol must both be specified or both be unspecified, but only {given} was given.")
    options = {"equal_nan": equal_nan, "check_dtype": check_dtype, "msg": msg}
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or set(actual) != set(expected):
            raise AssertionError(msg or "The keys of the mappings do not match.")
        for key in expected:
            assert_close(actual[key], expected[key], rtol=rtol, atol=atol, **options)
        return
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(actual) != len(expected):
            raise AssertionError(msg or "The length of the sequences mismatch.")
        for x, y in zip(actual, expected, strict=True):
            assert_close(x, y, rtol=rtol, atol=atol, **options)
        return
    _compare(_array(actual), _array(expected), (rtol, atol), options)


def _array(x: _Any) -> np.ndarray:
    return np.asarray(x.detach()._value if _is_tensor(x) else x)


def _compare(x: np.ndarray, y: np.ndarray, given: tuple[float | None, float | None], options: dict[str, _Any]) -> None:
    msg = options["msg"]
    if x.shape != y.shape:
        raise AssertionError(
            msg or f"The values for attribute 'shape' do not match: {_size(x.shape)} != {_size(y.shape)}."
        )
    if options["check_dtype"] and x.dtype != y.dtype:
        raise AssertionError(
            msg or f"The values for attribute 'dtype' do not match: torch.{x.dtype} != torch.{y.dtype}."
        )
    defaults = [_TOLERANCES.get(a.dtype.name, (0.0, 0.0)) for a in (x, y)]
    tolerances: tuple[_Any, ...] = given
    if given[0] is None:
        tolerances = tuple([max(pair) for pair in zip(*defaults, strict=True)])
    rtol, atol = tolerances
    close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=options["equal_nan"])
    if not close.all():
        wrong, share = int(close.size - close.sum()), 100 * (close.size - close.sum()) / close.size
        what = "Scalars are not close!" if not x.shape else "Tensor-likes are not close!"
        raise AssertionError(msg or f"{what}\n\nMismatched elements: {wrong} / {close.size} ({share:.1f}%)")


def _size(shape: tuple[int, ...]) -> str:
    return f"torch.Size({list(shape)})"


__dir__ = _publish(__name__)
