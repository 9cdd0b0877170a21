"""Names for the types of arguments in signatures.

Type checkers take the names of arrays as ``Any``. A function accepts every array that implements NumPy's protocols, and
no type of Python's covers those of NumPy, JAX, PyTorch, pandas and traced values together. A union such as
``np.ndarray | jax.Array`` does not serve for results either: a user's function that is annotated to return one of them
would fail its check. The names tell a reader what a function accepts and returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Array: TypeAlias = Any
"""An array: ``numpy.ndarray``, ``jax.Array``, a traced value, or an array of another library.

A result may also be a number of NumPy's, where NumPy's function returns one.
"""

ArrayLike: TypeAlias = Any
"""An array, a number, or nested lists of numbers."""

DTypeLike: TypeAlias = Any
"""All that ``numpy.dtype`` takes, such as ``np.float32`` or ``"float32"``; often ``None`` for the default."""

PyTree: TypeAlias = Any
"""Nested containers, such as dictionaries and tuples, with arrays or other leaves; also a single leaf."""

Params: TypeAlias = Any
"""A pytree of parameters."""

Grads: TypeAlias = Any
"""A pytree of gradients, with the structure of the parameters; ``None`` for a parameter that has none."""

Value: TypeAlias = Any
"""An operand or a result of a primitive: an engine's array, a tracer, or a Python number."""

Tensor: TypeAlias = Any
"""A ``funcgrad.autograd.Tensor``, in modules that its class imports."""

Key: TypeAlias = Any
"""A key for random numbers: ``uint32[2]``, or a typed key of JAX. Keys may have leading axes."""

Lax: TypeAlias = Any
"""The operations that an XLA implementation of a primitive calls: ``jax.lax``, with a few of the engine's own."""

ScalarLike: TypeAlias = Any
"""A Python or NumPy number, or an array of shape ``[]``, also a traced one."""

IndexLike: TypeAlias = Any
"""An index, as in ``x[index]``: integers, slices, arrays, ``None``, ``...``, or a tuple of these."""

ShapeLike: TypeAlias = int | Sequence[int]
"""The lengths of axes, or the length of one axis."""

PerAxis: TypeAlias = int | Sequence[int]
"""An integer for all spatial axes, or one for each, such as the stride of a convolution."""

OutputSize: TypeAlias = int | Sequence[int | None] | None
"""The lengths of the spatial axes of a result; ``None`` stands for the length in the input."""

Padding: TypeAlias = int | Sequence[int] | str
"""The elements added at both ends of spatial axes: an integer, one for each axis, ``"same"`` or ``"valid"``."""

AxesLike: TypeAlias = int | Sequence[int] | None
"""An axis or several axes; ``None`` often stands for all of them."""

DeviceLike: TypeAlias = Any
"""The name of a device, such as ``"cpu"``, a device of JAX, or ``None``."""

Hyper: TypeAlias = Any
"""The hyperparameters of one step: an attribute for each, which is ``None`` for a term that is turned off."""

Arguments: TypeAlias = Any
"""Further arguments that SciPy passes to a function of the user: a tuple, or a single argument."""
