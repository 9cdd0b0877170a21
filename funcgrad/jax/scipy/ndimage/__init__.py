"""Images: the functions of ``funcgrad.scipy.ndimage`` with JAX's arrays."""

from funcgrad.jax._names import publish_as_jax as _publish

# fmt: off
from funcgrad.scipy.ndimage import (
    map_coordinates as map_coordinates,
)
# fmt: on

__dir__, __getattr__ = _publish(__name__)
