"""Primitives that hold programs, and primitives that keep programs separate."""

from funcgrad._ops.program import rules as rules
