"""Vector quantization: ``jax.scipy.cluster.vq``."""

from funcgrad.jax._bridge import of_jax
from funcgrad.jax._names import publish_as_jax

__all__ = ["vq"]

vq = of_jax("scipy.cluster.vq.vq", "obs", "code_book")

__dir__, __getattr__ = publish_as_jax(__name__)
