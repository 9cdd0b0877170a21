"""The gradients of NPBench's programs, beside JAX's versions of the same programs."""
