"""Cosine transforms: the functions of ``funcgrad.scipy.fft`` with JAX's arrays."""

from funcgrad.jax._names import publish_as_jax as _publish

# fmt: off
from funcgrad.scipy.fft import (
    dct as dct, dctn as dctn, idct as idct, idctn as idctn,
)
# fmt: on

__dir__, __getattr__ = _publish(__name__)
