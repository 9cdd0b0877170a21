"""Names for the types of arguments in signatures.

Type checkers take all of these names as ``Any``. A function accepts every array that implements NumPy's protocols, and
no type of Python's covers those of NumPy, JAX, PyTorch, pandas and traced values together. The names tell a reader
what a function accepts.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Array: TypeAlias = Any
"""An array: ``numpy.ndarray``, ``jax.Array``, a traced value, or an array of another library."""

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
