"""Operations that funcgrad does not have: JAX's own, each as one operation with JAX's derivatives."""

from __future__ import annotations

from funcgrad.jax._bridge import of_jax

_SCATTERED = "operand", "scatter_indices", "updates"

approx_max_k = of_jax("lax.approx_max_k", "operand")
approx_min_k = of_jax("lax.approx_min_k", "operand")
conv_general_dilated_local = of_jax("lax.conv_general_dilated_local", "lhs", "rhs")
conv_general_dilated_patches = of_jax("lax.conv_general_dilated_patches", "lhs")
fft = of_jax("lax.fft", "x")
gather = of_jax("lax.gather", "operand", "start_indices")
igamma_grad_a = of_jax("lax.igamma_grad_a", "a", "x")
mulhi = of_jax("lax.mulhi", "x", "y")
ragged_dot = of_jax("lax.ragged_dot", "lhs", "rhs", "group_sizes")
reduce_precision = of_jax("lax.reduce_precision", "operand")
scatter = of_jax("lax.scatter", *_SCATTERED)
scatter_add = of_jax("lax.scatter_add", *_SCATTERED)
scatter_max = of_jax("lax.scatter_max", *_SCATTERED)
scatter_min = of_jax("lax.scatter_min", *_SCATTERED)
scatter_mul = of_jax("lax.scatter_mul", *_SCATTERED)
scatter_sub = of_jax("lax.scatter_sub", *_SCATTERED)
