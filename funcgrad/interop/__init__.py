"""Other libraries: functions written in JAX inside funcgrad's transforms, and the reverse."""

from funcgrad._public import publish
from funcgrad.interop.jax import from_jax, to_jax

__all__ = ["from_jax", "to_jax"]

__dir__ = publish(__name__)
