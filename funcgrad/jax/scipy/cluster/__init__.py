"""Clusters: ``jax.scipy.cluster``."""

from funcgrad.jax._names import publish_as_jax as _publish
from funcgrad.jax.scipy.cluster import vq as vq

__dir__, __getattr__ = _publish(__name__, arrays=False)
