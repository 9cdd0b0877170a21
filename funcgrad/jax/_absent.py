"""JAX's public names that are not here, by module, with the reason."""

from __future__ import annotations

NEVER = {
    "primitive": "it is one of JAX's primitives. funcgrad has its own; fg.extend.Primitive declares one.",
}

_NUMPY = {
    "int1": "NumPy has no integers of one bit. Write bool.",
    "uint1": "NumPy has no integers of one bit. Write bool.",
    "fromfile": "JAX's raises NotImplementedError. Write jnp.asarray(np.fromfile(file)).",
    "fromiter": "JAX's raises NotImplementedError. Write jnp.asarray(np.fromiter(values, dtype)).",
    "frompyfunc": "NumPy's makes arrays of objects. Write jnp.vectorize(f).",
    "ufunc": "functions are no ufunc objects here. Write np.add.reduce(x) for jnp.add.reduce(x), which works on traced "
    "values too.",
}

ABSENT: dict[str, dict[str, str]] = {"jax.numpy": _NUMPY}
