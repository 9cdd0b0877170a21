"""Keys, and the checks of samplers' arguments: keys, shapes and dtypes, before any number is drawn."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of, type_text
from funcgrad._core.bind import is_value
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.random import bits as ops
from funcgrad._types import Array, ArrayLike, DTypeLike, Key
from funcgrad.numpy.extend import as_value

Shape = Sequence[int] | int
FLOATS = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64), ops.BFLOAT16)
_WORD = np.dtype(np.uint32)


def key(seed: ArrayLike) -> Array:
    """Make a key from a seed. The same key always gives the same numbers. It is the data of ``jax.random.key(seed)``.

    Args:
        seed: an integer, or a 0-d integer array; all bits of a 64-bit integer are used.

    Returns:
        ``uint32[2]``, an ordinary array: every transform accepts it, and ``vmap`` maps over an array of keys. Samplers
        accept typed keys of JAX (``threefry2x32``) too.

    Raises:
        TypeError: ``seed`` is not an integer, or it is an array with axes.
        OverflowError: ``seed`` does not fit into 64 bits.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.key(42)
        array([ 0, 42], dtype=uint32)
        >>> fg.random.normal(fg.random.key(42), (3,)).round(6)
        array([-0.184712, -2.169825,  0.186936])
    """
    seed = np.int64(seed) if issubclass(type(seed), int) else as_value(seed)
    aval = aval_of(seed) if is_value(seed) else None
    if aval is None or aval.shape or aval.dtype.kind not in "iu":
        what = str(aval) if aval else f"a {type(seed).__name__}"
        raise TypeError(
            f"random.key: the seed is {what}; needed one integer. Make keys of several seeds with "
            "fg.vmap(fg.random.key)(seeds), and further keys of one with fg.random.split(key)."
        )
    low = cast(seed & _mask(aval.dtype), _WORD)
    high = cast(seed >> 32 & 0xFFFFFFFF, _WORD) if aval.dtype.itemsize == 8 else np.uint32(0)
    return fnp.stack([high, low])


def _mask(dtype: np.dtype) -> int:
    """Return a mask of the low word. A negative integer of a narrow dtype has all ones in the high word."""
    return 0xFFFFFFFF if dtype.itemsize == 8 else -1 if dtype.kind == "i" else np.iinfo(dtype).max


def split(key: Key, num: int | Sequence[int] = 2) -> Array:
    """Make new keys, independent of each other; do not use the old key afterwards.

    Args:
        key: ``uint32[2]``.
        num: the number of keys, or the shape of the array of keys.

    Returns:
        ``uint32[num, 2]``, the data of ``jax.random.split(key, num)``.

    Raises:
        TypeError: ``key`` is no key, or ``num`` no shape.
        ValueError: ``key`` is an array of keys.

    Example:
        >>> import funcgrad as fg
        >>> key, noise = fg.random.split(fg.random.key(0))
        >>> noise
        array([ 928981903, 3453687069], dtype=uint32)
        >>> fg.vmap(lambda each: fg.random.uniform(each))(fg.random.split(key, 3)).shape
        (3,)
    """
    return ops.split(as_key("split", key), as_shape("split", num))


def fold_in(key: Key, data: ArrayLike) -> Array:
    """Make a new key from a key and an integer, for example the number of a step.

    Args:
        key: ``uint32[2]``.
        data: an integer from 0 to 2**32 - 1; an integer array is cut to its lower 32 bits.

    Returns:
        ``uint32[2]``, the data of ``jax.random.fold_in(key, data)``.

    Raises:
        TypeError: ``key`` is no key, or ``data`` no integer.
        OverflowError: ``data`` is a Python integer that does not fit into 32 bits.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> key = fg.random.key(0)
        >>> fg.scan(lambda x, i: (x, fg.random.normal(fg.random.fold_in(key, i))), 0.0, np.arange(3))[1].shape
        (3,)
    """
    key = as_key("fold_in", key)
    data = np.uint32(data) if type(data) is int else as_value(data)
    aval = aval_of(data) if is_value(data) else None
    if aval is None or aval.shape or aval.dtype.kind not in "iu":
        what = str(aval) if aval else f"a {type(data).__name__}"
        raise TypeError(
            f"random.fold_in: data is {what}; needed one integer. Fold in several with fg.vmap(fg.random.fold_in, "
            "(None, 0))(key, data)."
        )
    return ops.fold_in(key, cast(data, _WORD))


def as_key(name: str, key: Key) -> Array:
    """Return one key in the form that primitives accept."""
    key = as_value(ops.untyped(key))
    if not is_value(key):
        _refuse(name, key)
    aval = aval_of(key)
    if aval.dtype != _WORD or not aval.shape or aval.shape[-1] != 2:
        _refuse(name, key)
    if len(aval.shape) > 1:
        raise ValueError(
            f"random.{name}: an array of keys {aval} was given; needed one key, u32[2]. Draw from each with fg.vmap, "
            "or pick one: keys[0]."
        )
    return key


def _refuse(name: str, key: Key) -> NoReturn:
    what = str(aval_of(key)) if is_value(key) else f"a {type(key).__name__}"
    raise TypeError(
        f"random.{name}: the key is {what}; needed {type_text((2,), _WORD)}. Make one with fg.random.key(seed)."
    )


def as_shape(name: str, shape: Any, argument: str = "shape") -> tuple[int, ...]:
    """Return a shape as a tuple; an integer becomes a shape with one axis."""
    sizes = (shape,) if hasattr(shape, "__index__") and not np.shape(shape) else shape
    try:
        found = tuple([operator.index(n) for n in sizes])
    except TypeError:
        raise TypeError(
            f"random.{name}: {argument} is {shown(shape)}; needed integers that are known when the function is "
            "traced. Take them from the shape of an argument, or pass them as static arguments."
        ) from None
    if any(n < 0 for n in found):
        raise ValueError(f"random.{name}: {argument} is {found}; needed sizes of 0 or more. Pass other sizes.")
    return found


def parameter_shape(name: str, shape: Shape | None, *parameters: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of samples for parameters of these shapes: the given shape, or their common one."""
    together = np.broadcast_shapes(*parameters)
    if shape is None:
        return together
    shape = as_shape(name, shape)
    try:
        fits = np.broadcast_shapes(shape, together) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"random.{name}: the shape is {shape}, that of the parameters {together}; needed parameters that "
            "broadcast to the shape. Omit the shape to draw one sample for each of them."
        )
    return shape


def float_dtype(name: str, dtype: DTypeLike) -> np.dtype:
    """Return a floating-point dtype, float64 by default."""
    dtype = np.dtype(float if dtype is None else dtype)
    if dtype not in FLOATS:
        names = ", ".join(each.name for each in FLOATS)
        raise ValueError(f"random.{name}: the dtype is {dtype.name}; needed one of {names}. Omit it for float64.")
    return dtype


def real_parameter(name: str, x: ArrayLike, dtype: np.dtype) -> Array:
    """Return a parameter as an array of the samples' dtype."""
    x = as_value(x)
    kind = aval_of(x).dtype
    if kind.kind not in "biuf" and kind != ops.BFLOAT16:
        raise TypeError(
            f"random.{name}: a parameter is {aval_of(x)}; needed real numbers. Take the real part, or convert it first."
        )
    return cast(x, dtype)
