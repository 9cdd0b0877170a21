"""Random numbers from explicit keys, with the bits of ``jax.random``, under every transform and without JAX.

A key is an array, ``uint32[2]``; the same key gives the same numbers on every engine, eagerly and compiled. dtypes
default to float64 and int64, as ``jax.random``'s do in JAX's 64-bit mode.
"""

from funcgrad._public import publish_lazily

__getattr__, __dir__, __all__ = publish_lazily(__name__, __file__)
