"""Functions that are compiled: ``jit``."""
