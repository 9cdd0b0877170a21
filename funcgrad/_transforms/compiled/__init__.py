"""Compiled functions: ``jit``."""
