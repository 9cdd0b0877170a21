"""Integrals of samples: the functions of ``funcgrad.scipy.integrate`` with JAX's arrays."""

from funcgrad.jax._names import publish_as_jax as _publish

# fmt: off
from funcgrad.scipy.integrate import (
    trapezoid as trapezoid,
)
# fmt: on

__dir__, __getattr__ = _publish(__name__)
