"""Interpolation: the functions of ``funcgrad.scipy.interpolate`` with JAX's arrays."""

from funcgrad.jax._names import publish_as_jax as _publish

# fmt: off
from funcgrad.scipy.interpolate import (
    RegularGridInterpolator as RegularGridInterpolator,
)
# fmt: on

__dir__, __getattr__ = _publish(__name__)
