"""The XLA engine, and the only door to JAX."""
