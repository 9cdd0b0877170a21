"""Products of arrays."""
