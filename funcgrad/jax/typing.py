"""Types for annotations: the names of ``jax.typing``, which are NumPy's."""

from numpy.typing import ArrayLike, DTypeLike

from funcgrad.jax._names import publish_as_jax

__all__ = ["ArrayLike", "DTypeLike"]

__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
