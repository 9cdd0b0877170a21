"""Primitives that hold programs, and what keeps programs apart."""
