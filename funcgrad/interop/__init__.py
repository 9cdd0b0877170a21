"""Other libraries: use their functions inside funcgrad's transforms, and funcgrad's functions in theirs."""

from funcgrad._public import publish
from funcgrad.interop.jax import from_jax, to_jax

__all__ = ["from_jax", "to_jax"]

__dir__ = publish(__name__)
