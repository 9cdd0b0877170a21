"""Functions that make, shape, join and rearrange arrays."""
