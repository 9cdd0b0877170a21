"""Images of other sizes: JAX's own functions, each as one operation with JAX's derivatives."""

from __future__ import annotations

from funcgrad.jax._bridge import of_jax
from funcgrad.jax._names import publish_as_jax

__all__ = ["resize", "scale_and_translate"]

resize = of_jax("image.resize", "image")
scale_and_translate = of_jax("image.scale_and_translate", "image", "scale", "translation")

__dir__, __getattr__ = publish_as_jax(__name__, jaxs=("ResizeMethod",))
