"""Sparse linear algebra: the solvers of ``jax.scipy.sparse.linalg``."""

from funcgrad.jax._names import publish_as_jax as _publish
from funcgrad.jax.scipy.sparse import linalg as linalg

__dir__, __getattr__ = _publish(__name__, arrays=False)
