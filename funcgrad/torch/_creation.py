"""Functions that make tensors, with PyTorch's arguments. The numbers are NumPy's, and random ones PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import autograd
from funcgrad._core.words import shown
from funcgrad._types import Array, DeviceLike, DTypeLike, ScalarLike, ShapeLike, Tensor
from funcgrad.autograd.extend import (
    TRACE,
    array_of,
    default_dtype,
    device,
    is_lifted,
    is_tensor,
    is_torchs,
    number_dtype,
    rebuild,
    type_name,
)
from funcgrad.torch._functions import as_tensor_argument, written

Made = Callable[..., Any]
# Arguments that choose the device and layout of a tensor. There is only one choice.
_PLACES = ("layout", "pin_memory", "memory_format", "names")


def finished(name: str, array: Array, options: dict[str, Any]) -> Tensor:
    """Return a made array as a tensor, with the options that all functions share."""
    place = options.pop("device", None)
    if place is not None:
        _check_device(name, place)
    for each in _PLACES:
        options.pop(each, None)
    out, requires_grad = options.pop("out", None), options.pop("requires_grad", False)
    options.pop("generator", None)
    if options:
        raise TypeError(f"{name}() got an unexpected keyword argument '{min(options)}'")
    made = TRACE.constant(np.asarray(array))
    if out is not None:
        return written(name, (), out, lambda: made)
    if requires_grad:
        if made.dtype.kind in "biu":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made.requires_grad_()
    return made


def _check_device(name: str, place: Any) -> None:
    if hasattr(place, "platform") or str(device(place)).partition(":")[0] != "cpu":
        raise RuntimeError(
            f"{name}: the device {shown(str(place))} was asked for; tensors are made on 'cpu'. For another device make "
            "them of a JAX array: torch.tensor(jax.device_put(array, device))."
        )


def sizes_of(name: str, given: tuple[Any, ...], options: dict[str, Any]) -> tuple[int, ...]:
    """Return a shape that was given as numbers, or as one sequence, perhaps by its name."""
    if not given and "size" in options:
        given = (options.pop("size"),)
    first = given[0] if len(given) == 1 else None
    sizes = tuple(first) if isinstance(first, list | tuple) else given
    for i, n in enumerate(sizes):
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(
                f"{name}(): argument 'size' (position {i + 1}) must be tuple of ints, but found element of type "
                f"{type(n).__name__} at pos {i}"
            )
    shape = tuple([int(n) for n in sizes])
    if min(shape, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def dtype_of(name: str, options: dict[str, Any], default: Any = None) -> np.dtype:
    """Return the dtype that was asked for; by default that of floats."""
    dtype = options.pop("dtype", None)
    if dtype is not None:
        return number_dtype(name, dtype)
    return default_dtype() if default is None else np.dtype(default)


def _of_shape(name: str, make: Callable[[tuple[int, ...], np.dtype], Any]) -> Made:
    def function(*size: Any, **options: Any) -> Any:
        shape, dtype = sizes_of(name, size, options), dtype_of(name, options)
        return finished(name, make(shape, dtype), options)

    return titled(function, name, f"return a tensor of a shape, as ``numpy.{name}`` does.")


def titled(function: Made, name: str, text: str) -> Made:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.{name}``: {text}"
    return function


def _number_dtype(x: Array) -> np.dtype:
    """Return the dtype of a tensor of one number."""
    if is_tensor(x):
        return x.dtype
    kind = np.asarray(x).dtype.kind
    if kind in "biu":
        return np.dtype(bool if kind == "b" else np.int64)
    return default_dtype() if kind == "f" else np.result_type(default_dtype(), np.complex64)


def full(size: ShapeLike, fill_value: ScalarLike, **options: Any) -> Tensor:
    """``torch.full``: return a tensor of a shape, filled with a number."""
    shape = sizes_of("full", (size,), {})
    if isinstance(fill_value, str):
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not str")
    value = fill_value.item() if is_tensor(fill_value) else fill_value
    return finished("full", np.full(shape, value, dtype_of("full", options, _number_dtype(fill_value))), options)


def like(name: str, make: Callable[..., Any]) -> Made:
    def function(input: Array, *args: Any, **options: Any) -> Any:  # noqa: A002  (PyTorch's name)
        x = as_tensor_argument(name, input)
        dtype = dtype_of(name, options, x.dtype)
        keys = {key: options.pop(key) for key in ("fill_value", "low", "high") if key in options}
        made = finished(name, make(options.get("generator"), x.shape, dtype, *args, **keys), options)
        if x is not input or not is_lifted(x) or made.requires_grad:
            return made
        # Inside of a transform, traced values can be written into it, as into ``x.new_zeros(shape)``.
        return x._owner.constant(made._value)

    return titled(function, name, "return a tensor of another one's shape and dtype.")


def arange(*args: Any, **options: Any) -> Tensor:
    """``torch.arange``: return the numbers from ``start``, 0 by default, to ``end``, in steps of ``step``."""
    names = [name for name in ("start", "end", "step") if name in options]
    given = [options.pop(name) for name in names]
    start, end, step = _bounds([plain(x) for x in (*args, *given)], names, len(args))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(x, int | np.integer) for x in (start, end, step))
    dtype = dtype_of("arange", options, np.int64 if whole else None)
    count = math.ceil((end - start) / step)
    wide = np.int64 if whole else np.float64
    return finished("arange", (start + np.arange(count, dtype=wide) * step).astype(dtype), options)


def _bounds(given: list[Any], names: list[str], count: int) -> tuple[Any, Any, Any]:
    named = dict(zip(names, given[count:], strict=True))
    order = ["end"] if count == 1 and "end" not in named else ["start", "end", "step"]
    found = {**dict(zip(order, given[:count], strict=False)), **named}
    if "end" not in found:
        raise TypeError("arange() received an invalid combination of arguments: needed an end. Pass torch.arange(5).")
    return found.get("start", 0), found["end"], found.get("step", 1)


def plain(x: Array) -> Any:
    return x.item() if is_tensor(x) else x


def range(start: float = 0, end: float | None = None, step: float = 1, **options: Any) -> Any:  # noqa: A001  (PyTorch's name)
    """``torch.range``: return the numbers from ``start`` to ``end``, which is included."""
    if end is None:
        start, end = 0, start
    count = math.floor((end - start) / step) + 1
    return finished("range", (start + np.arange(count) * step).astype(dtype_of("range", options)), options)


def linspace(start: ScalarLike, end: ScalarLike, steps: int, **options: Any) -> Any:
    """``torch.linspace``: return ``steps`` numbers at equal distances, from ``start`` to ``end``."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    dtype = dtype_of("linspace", options)
    return finished("linspace", np.linspace(plain(start), plain(end), steps).astype(dtype), options)


def logspace(start: ScalarLike, end: ScalarLike, steps: int, base: float = 10.0, **options: Any) -> Any:
    """``torch.logspace``: return powers of ``base`` with exponents at equal distances."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    dtype = dtype_of("logspace", options)
    return finished("logspace", np.logspace(plain(start), plain(end), steps, base=base).astype(dtype), options)


def eye(n: int, m: int | None = None, **options: Any) -> Tensor:
    """``torch.eye``: return a matrix with ones on the diagonal."""
    if min(n, n if m is None else m) < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(n, n if m is None else m)}")
    return finished("eye", np.eye(n, m, dtype=dtype_of("eye", options)), options)


def scalar_tensor(s: Any, **options: Any) -> Any:
    """``torch.scalar_tensor``: return a tensor without axes."""
    return finished("scalar_tensor", np.asarray(s, dtype_of("scalar_tensor", options)), options)


def tensor(
    data: Any, *, dtype: DTypeLike = None, device: DeviceLike = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """``torch.tensor``: return a tensor of a copy of data."""
    if device is not None:
        _check_device("tensor", device)
    options.pop("pin_memory", None)
    if options:
        raise TypeError(f"tensor() got an unexpected keyword argument '{min(options)}'")
    if isinstance(data, list | tuple) and not len(data):
        data = np.zeros(np.shape(data), default_dtype())
    return autograd.tensor(data, dtype, requires_grad)


def as_tensor(data: Any, dtype: DTypeLike = None, device: DeviceLike = None) -> Any:
    """``torch.as_tensor``: return data as a tensor, which shares the memory of an array of the same dtype."""
    if device is not None:
        _check_device("as_tensor", device)
    if is_tensor(data):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and type(data) is np.ndarray and data.dtype.kind in "biufcV":
        made = from_numpy(data)
        return made if dtype is None else made.to(dtype)
    return autograd.tensor(data, dtype)


def asarray(
    obj: Any,
    *,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """``torch.asarray``: return an object as a tensor, a copy only if it is asked for or needed."""
    made = as_tensor(obj, dtype, device)
    made = made.clone() if copy and made is not obj else made.detach().clone() if copy else made
    return made.requires_grad_() if requires_grad else made


def from_numpy(ndarray: Array) -> Any:
    """``torch.from_numpy``: return a tensor that shares the memory of an array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if ndarray.dtype.kind not in "biufc" and ndarray.dtype.name != "bfloat16":
        raise TypeError(
            f"can't convert np.ndarray of type {ndarray.dtype}. The only supported types are: float64, float32, "
            "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    return rebuild(ndarray if type(ndarray) is np.ndarray else ndarray.view(np.ndarray), False)


def frombuffer(buffer: Any, *, dtype: DTypeLike, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """``torch.frombuffer``: return a tensor of one axis that shares the memory of a buffer."""
    return rebuild(np.frombuffer(buffer, number_dtype("frombuffer", dtype), count, offset), requires_grad)


def from_dlpack(ext_tensor: Array) -> Any:
    """``torch.from_dlpack``: return a tensor that shares the memory of another library's array."""
    if is_torchs(ext_tensor):
        return rebuild(array_of(ext_tensor), False)
    return rebuild(np.from_dlpack(ext_tensor), False)


def complex(real: Array, imag: Array) -> Any:  # noqa: A001  (PyTorch's name)
    """``torch.complex``: return a complex tensor of real and imaginary parts."""
    if real.dtype != imag.dtype or real.dtype.kind != "f":
        raise RuntimeError(
            f"Expected object of scalar type {type_name(real.dtype)} but got scalar type {type_name(imag.dtype)} for "
            "second argument"
        )
    y = real + imag * np.complex64(1j)
    return y.to(np.complex128) if real.dtype == np.float64 else y


def polar(abs: Any, angle: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """``torch.polar``: return a complex tensor of absolute values and angles."""
    return complex(abs * angle.cos(), abs * angle.sin())


def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Any:
    """``torch.tril_indices``: return the rows and columns of the elements on and below a diagonal."""
    dtype = dtype_of("tril_indices", options, np.int64)
    return finished("tril_indices", np.stack(np.tril_indices(row, offset, col)).astype(dtype), options)


def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Any:
    """``torch.triu_indices``: return the rows and columns of the elements on and above a diagonal."""
    dtype = dtype_of("triu_indices", options, np.int64)
    return finished("triu_indices", np.stack(np.triu_indices(row, offset, col)).astype(dtype), options)


def _window(name: str, values: Callable[..., np.ndarray]) -> Made:
    def function(window_length: int, periodic: bool = True, *args: Any, **options: Any) -> Any:
        dtype = dtype_of(name, options)
        numbers = {key: options.pop(key) for key in ("alpha", "beta") if key in options}
        if window_length < 2:
            return finished(name, np.ones(window_length, dtype), options)
        count = window_length - 1 + bool(periodic)
        found = values(np.arange(window_length) / count, *args, **numbers)
        return finished(name, found.astype(dtype), options)

    return titled(function, name, "return the window of a length.")


def _kaiser(x: np.ndarray, beta: float = 12.0) -> np.ndarray:
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * x - 1) ** 2, 0))) / np.i0(beta)


_WINDOWS: dict[str, Callable[..., np.ndarray]] = {
    "hann_window": lambda x: 0.5 - 0.5 * np.cos(2 * np.pi * x),
    "hamming_window": lambda x, alpha=0.54, beta=0.46: alpha - beta * np.cos(2 * np.pi * x),
    "blackman_window": lambda x: 0.42 - 0.5 * np.cos(2 * np.pi * x) + 0.08 * np.cos(4 * np.pi * x),
    "bartlett_window": lambda x: 1 - np.abs(2 * x - 1),
    "kaiser_window": _kaiser,
}
FUNCTIONS: dict[str, Made] = {
    **{name: _of_shape(name, getattr(np, name)) for name in ("zeros", "ones")},
    "empty": _of_shape("empty", np.zeros),
    "empty_like": like("empty_like", lambda _, shape, dtype: np.zeros(shape, dtype)),
    "zeros_like": like("zeros_like", lambda _, shape, dtype: np.zeros(shape, dtype)),
    "ones_like": like("ones_like", lambda _, shape, dtype: np.ones(shape, dtype)),
    "full_like": like("full_like", lambda _, shape, dtype, fill_value: np.full(shape, plain(fill_value), dtype)),
    **{name: _window(name, values) for name, values in _WINDOWS.items()},
}
PUBLIC = (
    *(arange, as_tensor, asarray, complex, eye, from_dlpack, from_numpy, frombuffer, full, linspace, logspace),
    *(polar, range, scalar_tensor, tensor, tril_indices, triu_indices),
)
